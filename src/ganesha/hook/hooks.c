/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hooks - functions of ntirpc and Ganesha that are interposed to start and end the server
 *
 * The loader binds Ganesha's calls of these functions here (next.h). Each calls the original
 * function, and does more only in the Ganesha that this library was built for:
 *
 *   nfs_set_param_from_conf  has the parsed ganesha.conf: read the RDMA block, and decide
 *                            whether to serve RDMA
 *   config_ParseFile         before that, with --check-config: check the file, and exit;
 *                            on reload: refuse a file that cannot be read, apply what
 *                            can change, and report what needs a restart
 *   svc_init                 has Ganesha's request allocator
 *   svc_rqst_evchan_reg      has the NFS/TCP listener: start the server
 *   svc_reg                  registers NFS with rpcbind: register it for RDMA
 *   svc_rqst_qos_suspend_socket, svc_rqst_qos_resume_socket
 *                            stop reading from a client's socket, which there is not
 *   svc_shutdown             end the server
 *
 * back_hooks.c has those of the back channel. ntirpc's own calls of its functions come
 * here, too, from any thread. Those that concern no connection of ours are passed on.
 *
 * Context: Ganesha's main thread changes `hook` before there are others, its admin thread
 * at the end. Any thread may read the state. Whatever belongs to a file that is read again
 * has a lock (file.h). The daemon forks before svc_init(), so no thread is started and no
 * device opened before svc_rqst_evchan_reg().
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rpc/svc_rqst.h>

#include "base/text.h"
#include "ganesha/config/exports.h"
#include "ganesha/hook/check.h"
#include "ganesha/hook/file.h"
#include "ganesha/hook/hooks.h"
#include "ganesha/hook/manager.h"
#include "ganesha/hook/rados.h"
#include "ganesha/hook/read_hooks.h"
#include "ganesha/bind/next.h"
#include "ganesha/quirks/context.h"
#include "ganesha/serve/listeners.h"
#include "ganesha/serve/server.h"
#include "ganesha/serve/xprt.h"

GR_EXPORT int nfs_set_param_from_conf(struct gsh_config *tree,
				      struct gsh_start_info *info,
				      struct gsh_config_errors *e);
GR_EXPORT struct gsh_config *config_ParseFile(char *path,
					      struct gsh_config_errors *e);
/* Of ntirpc since 7. */
GR_EXPORT void svc_rqst_qos_suspend_socket(SVCXPRT *xprt);
GR_EXPORT void svc_rqst_qos_resume_socket(SVCXPRT *xprt);

#define HOOKED(X)                      \
	X(config_ParseFile)            \
	X(nfs_set_param_from_conf)     \
	X(svc_init)                    \
	X(svc_rqst_evchan_reg)         \
	X(svc_rqst_qos_suspend_socket) \
	X(svc_rqst_qos_resume_socket)  \
	X(svc_reg)                     \
	X(svc_shutdown)

GR_NEXT(HOOKED)

enum hook_state {
	HOOK_IDLE, /* not Ganesha, or RDMA is not wanted */
	HOOK_ARMED, /* waits for the NFS listener */
	HOOK_SERVING,
	HOOK_ENDED,
};

static void describe_state(char text[GR_STATE_ROOM]);
static bool is_alive(void);

static struct {
	_Atomic enum hook_state state;
	struct gsh gsh;
	struct gr_server server;
	struct gr_file file;
	SVCXPRT *nfs_udp; /* the NFS/UDP listener; only compared */
	char unreachable[256]; /* exports, as they were logged last */
	struct gr_manager manager;
} hook = { .server.liveness.lock = PTHREAD_MUTEX_INITIALIZER,
	   .file = { .gsh = &hook.gsh, .lock = PTHREAD_MUTEX_INITIALIZER },
	   .manager = { .describe = describe_state,
			.alive = is_alive,
			.lock = PTHREAD_MUTEX_INITIALIZER } };

static enum hook_state state(void)
{
	return atomic_load_explicit(&hook.state, memory_order_acquire);
}

static void set_state(enum hook_state to)
{
	atomic_store_explicit(&hook.state, to, memory_order_release);
}

/* ---- The state ----------------------------------------------------------- */

static bool is_alive(void)
{
	return gr_liveness_check(&hook.server.liveness);
}

/* All listeners exist now. Report a fault if none of them is for NFS over TCP. */
static void check_parent(struct gr_server *s)
{
	if (state() != HOOK_ARMED)
		return;
	set_state(HOOK_ENDED);
	gr_server_fault_tcp(
		s, "NFS is not served over TCP, and RDMA uses its "
		   "addresses: look for warnings about NFS_Core_Param, and "
		   "set its Protocols = 3, 4");
}

/* Log the exports that cannot be reached over RDMA, if the list has changed since the last line. */
static void log_unreachable(void)
{
	const struct gr_server *s = &hook.server;
	bool (*match)(uint16_t id) = s->cfg.dialect ? gr_exports_lacks_rdma :
						      gr_exports_rdma_only;
	char text[sizeof(hook.unreachable)];

	gr_exports_list(match, text, sizeof(text));
	if (!strcmp(text, hook.unreachable))
		return;
	memcpy(hook.unreachable, text, sizeof(text));
	if (s->cfg.dialect)
		gsh_log(s->gsh, GSH_EVENT,
			"not over RDMA, as their Transports or those of a CLIENT block lack RDMA: Export_Id %s",
			*text ? text : "none any more");
	else if (*text)
		gsh_log(s->gsh, GSH_WARN, GR_RDMA_ONLY, text);
}

void gr_hooks_exports(struct gsh_config *tree, char text[GR_EXPORTS_ROOM])
{
	struct gr_exports x;

	if (state() == HOOK_ARMED) {
		log_unreachable();
		gr_exports_warn(&hook.gsh, tree);
	}
	*text = '\0';
	if (!hook.file.was_read)
		return;
	gr_exports_count(&hook.gsh, tree, &x);
	if (!x.served)
		snprintf(text, GR_EXPORTS_ROOM, "; no exports");
	else if (x.served < x.blocks)
		snprintf(text, GR_EXPORTS_ROOM, "; %u of %u exports", x.served,
			 x.blocks);
}

void gr_hooks_exports_read(struct gsh_config *tree)
{
	char text[GR_EXPORTS_ROOM];

	/* When it starts gr_hooks_ready() reports them. */
	if (state() != HOOK_SERVING)
		return;
	gr_hooks_exports(tree, text);
	if (*text)
		gr_manager_add(&hook.manager, text);
}

static void describe_state(char text[GR_STATE_ROOM])
{
	const struct gr_server *s = &hook.server;

	pthread_mutex_lock(&hook.file.lock);
	if (state() == HOOK_SERVING) {
		gr_listeners_text(&s->source, text, GR_STATE_ROOM);
		base_append(
			text, GR_STATE_ROOM, "%s%s%s%s",
			atomic_load(&s->admin.draining) ?
				"; drained: no new connections until rpcrdma-ctl undrain" :
				"",
			atomic_load(&s->device_came) ?
				"; there is an RDMA device now: restart to use it" :
				"",
			*hook.file.syntax ? "; syntax error at " : "",
			hook.file.syntax);
	} else if (*s->fault) {
		snprintf(text, GR_STATE_ROOM, "RDMA is not served: %s",
			 s->fault);
	} else {
		snprintf(text, GR_STATE_ROOM, "RDMA is not served: %s",
			 !hook.file.was_read ?
				 "see Ganesha's log" :
			 s->cfg.native_port ?
				 "Ganesha does it, as NFS_Core_Param says" :
			 hook.file.config == GR_CONFIG_ABSENT ?
				 "no RDMA block in ganesha.conf" :
				 "Enable = false in the RDMA block");
	}
	pthread_mutex_unlock(&hook.file.lock);
}

void gr_hooks_ready(const char *exports)
{
	struct gr_server *s = &hook.server;

	if (hook.gsh.init_wait)
		hook.gsh.init_wait();
	check_parent(s);
	gr_manager_ready(&hook.manager, exports, *s->fault);
	gr_manager_watch(&hook.manager);
}

/* Context: any thread. */
static void state_changed(void)
{
	gr_manager_refresh(&hook.manager);
}

/* ---- What Ganesha calls ------------------------------------------------- */

GR_EXPORT int nfs_set_param_from_conf(struct gsh_config *tree,
				      struct gsh_start_info *info,
				      struct gsh_config_errors *e)
{
	int res;

	if (!next.nfs_set_param_from_conf)
		abort(); /* called without Ganesha */
	res = next.nfs_set_param_from_conf(tree, info, e);
	if (res || state() != HOOK_IDLE ||
	    !gr_file_start(&hook.file, &hook.server, tree))
		return res;
	set_state(HOOK_ARMED);
	return res;
}

GR_EXPORT struct gsh_config *config_ParseFile(char *path,
					      struct gsh_config_errors *e)
{
	char why[GR_REFUSED_ROOM], more[GR_REFUSED_ROOM + 16] = "";
	const char *check = getenv(GR_ENV_CHECK);
	struct gr_exports x;
	struct gsh_config *tree;

	if (!next.config_ParseFile)
		abort(); /* as above */
	tree = next.config_ParseFile(path, e);
	if (check)
		_exit(gr_check(&hook.file, path, tree, e,
			       !strcmp(check, "strict")));
	if (!hook.file.was_read) {
		gr_file_parsed(&hook.file, path, e);
		if (!gsh_bind(&hook.gsh))
			(void)gr_rados_check(&hook.gsh, tree, e, stderr);
	}
	switch (gr_file_reload(&hook.file, &hook.server.cfg, &hook.server.admin,
			       path, tree, e, why)) {
	case GR_RELOAD_OTHER:
		break;
	case GR_RELOAD_GOOD:
		if (*why)
			snprintf(more, sizeof(more), "; %s", why);
		if (state() == HOOK_SERVING) {
			gr_exports_read_file(&hook.gsh, tree);
			gr_exports_count(&hook.gsh, tree, &x);
			log_unreachable();
		}
		gr_manager_tell(&hook.manager, more, NULL);
		gr_server_reload(&hook.server);
		break;
	case GR_RELOAD_REFUSED:
		/* Ganesha drops @tree, and goes on with what it has. */
		e->parse = true;
		snprintf(more, sizeof(more), "; reload: %s", why);
		gr_manager_tell(&hook.manager, more, more + 2);
		break;
	}
	return tree;
}

GR_EXPORT bool svc_init(struct svc_init_params *params)
{
	struct svc_init_params ours;

	if (state() != HOOK_ARMED || !params || !params->alloc_cb ||
	    !params->free_cb)
		return next.svc_init(params);
	hook.server.state_changed = state_changed;
	hook.server.alloc_cb = params->alloc_cb;
	hook.server.free_cb = params->free_cb;
	ours = *params;
	/* Make up for the workers that lead, or the standby one. */
	ours.ioq_thrd_max +=
		hook.server.cfg.worker_polling ? hook.server.cfg.pollers : 1;
	return next.svc_init(&ours);
}

GR_EXPORT int svc_rqst_evchan_reg(uint32_t chan_id, SVCXPRT *xprt,
				  uint32_t flags)
{
	struct gr_server *s = &hook.server;
	const char *wrong;
	int res;

	/* Ours has no descriptor to watch. */
	if (gr_xprt_of(xprt))
		return 0;
	res = next.svc_rqst_evchan_reg(chan_id, xprt, flags);
	/* Ganesha registers the NFS program's listeners before any other's. */
	if (res || !xprt || !(flags & SVC_RQST_FLAG_XPRT_UREG) ||
	    state() != HOOK_ARMED || !s->alloc_cb)
		return res;
	wrong = gsh_check_listener(&hook.gsh, xprt, s->alloc_cb, s->free_cb);
	if (wrong) {
		set_state(HOOK_ENDED);
		gr_server_fault(s, wrong);
	} else if (xprt->xp_type == XPRT_TCP_RENDEZVOUS) {
		set_state(gr_server_start(s, xprt) ? HOOK_SERVING : HOOK_ENDED);
		gr_context_serve(state() == HOOK_SERVING);
		if (state() == HOOK_SERVING)
			gr_read_hooks_start(&hook.gsh, &hook.server);
	} else if (!hook.nfs_udp) {
		hook.nfs_udp = xprt;
	}
	return res;
}

/*
 * Ganesha's QoS, where that is built in, holds up a client. Its Calls wait in Ganesha, and
 * its credits limit their number. Ganesha holds no reference meanwhile, so take one.
 */
GR_EXPORT void svc_rqst_qos_suspend_socket(SVCXPRT *xprt)
{
	if (gr_xprt_of(xprt))
		SVC_REF(xprt, SVC_REF_FLAG_NONE);
	else
		next.svc_rqst_qos_suspend_socket(xprt);
}

GR_EXPORT void svc_rqst_qos_resume_socket(SVCXPRT *xprt)
{
	if (gr_xprt_of(xprt))
		SVC_RELEASE(xprt, SVC_RELEASE_FLAG_NONE);
	else
		next.svc_rqst_qos_resume_socket(xprt);
}

/*
 * Register the programs and versions that Ganesha registers for TCP or UDP. It does so after
 * it has created the listeners, for UDP first, and without rpcbind for UDP only.
 */
GR_EXPORT bool svc_reg(SVCXPRT *xprt, const rpcprog_t prog,
		       const rpcvers_t vers,
		       void (*dispatch)(struct svc_req *req),
		       const struct netconfig *nconf)
{
	struct gr_server *s = &hook.server;
	bool res = next.svc_reg(xprt, prog, vers, dispatch, nconf);

	if (state() == HOOK_SERVING && xprt &&
	    (xprt == s->parent || xprt == hook.nfs_udp))
		gr_rpcbind_set(&s->rpcbind, prog, vers);
	return res;
}

GR_EXPORT int svc_shutdown(u_long flags)
{
	bool serving = state() == HOOK_SERVING;
	int res;

	/* After an early signal Ganesha's main thread may still be starting, and would use
	 * what is destroyed here. */
	if (serving && hook.gsh.init_wait)
		hook.gsh.init_wait();
	if (hook.file.was_read)
		gr_manager_stopping();
	if (serving) {
		set_state(HOOK_ENDED);
		gr_context_serve(false);
		gr_rpcbind_withdraw(&hook.server.rpcbind);
		gr_server_drain(&hook.server);
	}
	res = next.svc_shutdown(flags);
	if (serving)
		gr_server_free(&hook.server);
	return res;
}
