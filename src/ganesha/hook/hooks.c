/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hooks - the functions of ntirpc and Ganesha that start and end the server
 *
 * This library stands before them (next.h). Each passes on to the function that
 * would have been called without it, and does more only in the server it was
 * built for:
 *
 *   nfs_set_param_from_conf  hands over the parsed ganesha.conf: the moment
 *                            to read the RDMA block and to decide whether
 *                            anything is to be done at all
 *   config_ParseFile         once the server runs, on SIGHUP: the moment to keep
 *                            Ganesha from a file that it cannot read, and to say
 *                            what of the RDMA block is not taken over
 *   load_config_from_parse   then: how many exports are served now
 *   load_config_from_node    of --check-config: the items of an FSAL's own
 *   svc_init                 hands over Ganesha's request allocator
 *   svc_rqst_evchan_reg      shows the NFS/TCP listener: the moment to listen
 *   svc_reg                  registers NFS with rpcbind: so do we
 *   svc_shutdown             the moment to end
 *
 * Those of the back channel are in back_hooks.c. ntirpc's own calls of its
 * functions come here too, from any thread; what is not ours goes through
 * untouched.
 *
 * Threads: `hook` is changed only by Ganesha's main thread before there are
 * others, and by its admin thread at the end; but for the state, for which any
 * thread may ask, and for what belongs to a file that is read again, by SIGHUP or
 * D-Bus (file.h). The daemon forks before svc_init(), so nothing makes
 * a thread or opens a device before svc_rqst_evchan_reg().
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rpc/svc_rqst.h>

#include "ganesha/hook/check.h"
#include "ganesha/quirks/context.h"
#include "ganesha/hook/file.h"
#include "ganesha/fsal.h"
#include "ganesha/logs.h"
#include "ganesha/hook/manager.h"
#include "ganesha/bind/next.h"
#include "ganesha/serve/reach.h"
#include "ganesha/serve/server.h"
#include "ganesha/serve/xprt.h"

GR_EXPORT gr_file_set_fn nfs_set_param_from_conf;
GR_EXPORT struct gsh_config *config_ParseFile(char *path,
					      struct gsh_config_errors *e);
GR_EXPORT gsh_node_fn load_config_from_node;
GR_EXPORT int load_config_from_parse(struct gsh_config *tree,
				     const struct gsh_config_block *block,
				     void *param, bool unique,
				     struct gsh_config_errors *e);

#define HOOKED(X)                  \
	X(config_ParseFile)        \
	X(load_config_from_node)   \
	X(load_config_from_parse)  \
	X(nfs_set_param_from_conf) \
	X(svc_init)                \
	X(svc_rqst_evchan_reg)     \
	X(svc_reg)                 \
	X(svc_shutdown)

GR_NEXT(HOOKED)

enum hook_state {
	HOOK_IDLE, /* not Ganesha, or RDMA is not wanted */
	HOOK_ARMED, /* waits for the NFS listener */
	HOOK_SERVING,
	HOOK_ENDED,
};

static void describe(char text[RPCRDMA_STATE]);

static struct {
	_Atomic enum hook_state state;
	struct gsh gsh;
	struct gr_server server;
	struct gr_file file;
	/* What has been read again, until the exports are taken over from it; only
	 * compared. */
	struct gsh_config *_Atomic reloaded;
	/* Behind the line of state: what waits for a restart. Of the thread that reads
	 * the file again, and takes the exports over. */
	char waits[GR_REFUSED_ROOM + 2];
	atomic_bool refused; /* the manager was told that the file is */
	SVCXPRT *nfs_udp; /* the NFS/UDP listener; only compared */
	struct gsh_cleanup cleanup;
	struct gr_manager manager;
} hook = { .file = { .gsh = &hook.gsh, .lock = PTHREAD_MUTEX_INITIALIZER },
	   .manager = { .describe = describe,
			.lock = PTHREAD_MUTEX_INITIALIZER } };

static enum hook_state state(void)
{
	return atomic_load_explicit(&hook.state, memory_order_acquire);
}

static void set_state(enum hook_state to)
{
	atomic_store_explicit(&hook.state, to, memory_order_release);
}

/* ---- What the launcher asks --------------------------------------------- */

GR_EXPORT void rpcrdma_ganesha_syntax(const struct gsh_config_errors *e,
				      void (*tell)(void *ctx, const char *text),
				      void *ctx)
{
	hook.file.syntax_ours = gr_file_look(e, hook.file.syntax, tell, ctx);
}

static void complain(char *msg, void *dest, struct gsh_config_errors *e)
{
	gr_file_complain(&hook.file, msg, dest, e);
}

GR_EXPORT enum rpcrdma_verdict rpcrdma_ganesha_check(struct gsh_config *tree,
						     const char *path,
						     FILE *out,
						     unsigned int *complaints)
{
	return gr_file_check(&hook.file, next.nfs_set_param_from_conf, complain,
			     tree, path, out, complaints);
}

GR_EXPORT bool rpcrdma_ganesha_fsals(struct gsh_config *tree)
{
	return !gsh_bind(&hook.gsh) && gr_fsal_load(&hook.gsh, tree);
}

GR_EXPORT unsigned int rpcrdma_ganesha_items(struct gsh_config *tree)
{
	return gr_file_items(&hook.file, next.nfs_set_param_from_conf, complain,
			     tree);
}

/* All listeners are there: is none of them for NFS over TCP? */
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

GR_EXPORT void rpcrdma_ganesha_exports(struct gsh_config *tree,
				       unsigned int served,
				       char text[RPCRDMA_EXPORTS])
{
	unsigned int of = hook.file.was_read ?
				  gr_config_blocks(&hook.gsh, tree, "EXPORT") :
				  0;

	*text = '\0';
	if (!served)
		snprintf(text, RPCRDMA_EXPORTS, "; no exports");
	else if (served < of)
		snprintf(text, RPCRDMA_EXPORTS, "; %u of %u exports", served,
			 of);
}

static void describe(char text[RPCRDMA_STATE])
{
	const struct gr_server *s = &hook.server;
	size_t n;

	pthread_mutex_lock(&hook.file.lock);
	if (state() == HOOK_SERVING) {
		gr_reach_text(&s->source, text, RPCRDMA_STATE);
		n = strlen(text);
		snprintf(
			text + n, RPCRDMA_STATE - n, "%s%s%s",
			atomic_load(&s->device_came) ?
				"; there is an RDMA device now: restart to use it" :
				"",
			*hook.file.syntax ? "; syntax error at " : "",
			hook.file.syntax);
	} else if (*s->fault) {
		snprintf(text, RPCRDMA_STATE, "RDMA is not served: %s",
			 s->fault);
	} else {
		snprintf(text, RPCRDMA_STATE, "RDMA is not served: %s",
			 !hook.file.was_read ?
				 "see Ganesha's log" :
			 hook.file.config == GR_CONFIG_ABSENT ?
				 "no RDMA block in ganesha.conf" :
				 "Enable = false in the RDMA block");
	}
	pthread_mutex_unlock(&hook.file.lock);
}

GR_EXPORT void rpcrdma_ganesha_ready(const char *exports)
{
	struct gr_server *s = &hook.server;

	if (hook.gsh.init_wait)
		hook.gsh.init_wait();
	check_parent(s);
	gr_manager_ready(&hook.manager, exports, *s->fault);
}

/* By the control thread. */
static void reach_changed(void)
{
	gr_manager_again(&hook.manager);
}

/* ---- What Ganesha calls ------------------------------------------------- */

/* Ganesha ends because something is fatal to it; by any thread. */
static void clean_up(void)
{
	gr_rpcbind_withdraw(&hook.server.rpcbind);
}

GR_EXPORT int nfs_set_param_from_conf(struct gsh_config *tree,
				      struct gsh_start_info *info,
				      struct gsh_config_errors *e)
{
	int res;

	if (!next.nfs_set_param_from_conf)
		abort(); /* no Ganesha, yet somebody calls its function */
	res = next.nfs_set_param_from_conf(tree, info, e);
	if (res || state() != HOOK_IDLE ||
	    !gr_file_start(&hook.file, &hook.server, tree))
		return res;
	/* It leaves by _exit(): nothing else would be called. */
	hook.cleanup.clean = clean_up;
	if (hook.gsh.register_cleanup)
		hook.gsh.register_cleanup(&hook.cleanup);
	set_state(HOOK_ARMED);
	return res;
}

GR_EXPORT struct gsh_config *config_ParseFile(char *path,
					      struct gsh_config_errors *e)
{
	char why[GR_REFUSED_ROOM], more[GR_REFUSED_ROOM + 16];
	struct gsh_config *tree;

	if (!next.config_ParseFile)
		abort(); /* as above */
	/* One that was freed may have had the same address. */
	atomic_store(&hook.reloaded, NULL);
	tree = gr_file_unreadable(path, e) ? NULL :
					     next.config_ParseFile(path, e);
	switch (gr_file_reload(&hook.file, &hook.server.cfg, path, tree, e,
			       why)) {
	case GR_RELOAD_OTHER: /* at the start ready.c tells it */
		break;
	case GR_RELOAD_GOOD:
		snprintf(hook.waits, sizeof(hook.waits), "%s%s",
			 *why ? "; " : "", why);
		atomic_store(&hook.reloaded, tree);
		if (atomic_exchange(&hook.refused, false))
			gr_manager_tell(&hook.manager, "", NULL);
		break;
	case GR_RELOAD_REFUSED:
		/* Ganesha drops @tree, and goes on with what it has. */
		e->parse = true;
		atomic_store(&hook.refused, true);
		snprintf(more, sizeof(more), "; reload: %s", why);
		gr_manager_tell(&hook.manager, more, more + 2);
		break;
	}
	return tree;
}

/* Are the EXPORT blocks of what was read again taken over now? What has been read
 * again is of this Ganesha, so the block is as it is here. */
static bool takes_exports(struct gsh_config *tree,
			  const struct gsh_config_block *block)
{
	struct gsh_config *reloaded = tree;

	return tree && atomic_load(&hook.reloaded) == tree &&
	       !strcmp(block->desc.name, "EXPORT") &&
	       atomic_compare_exchange_strong(&hook.reloaded, &reloaded, NULL);
}

GR_EXPORT int load_config_from_parse(struct gsh_config *tree,
				     const struct gsh_config_block *block,
				     void *param, bool unique,
				     struct gsh_config_errors *e)
{
	char more[RPCRDMA_EXPORTS + sizeof(hook.waits)];
	char exports[RPCRDMA_EXPORTS];
	bool takes = takes_exports(tree, block);
	int n;

	if (!next.load_config_from_parse)
		abort(); /* as above */
	if (gr_logs_take(&hook.file.logs, block))
		return 0;
	if (gr_export_block_take(&hook.file.export_block, &hook.gsh, block))
		return -1;
	if (hook.file.export_block.items && !hook.file.export_block.asking)
		return gr_export_block_parse(&hook.file.export_block, &hook.gsh,
					     tree, block, param, unique, e);
	n = next.load_config_from_parse(tree, block, param, unique, e);
	if (takes && n >= 0) {
		gr_file_taken(&hook.file);
		rpcrdma_ganesha_exports(tree, (unsigned int)n, exports);
		snprintf(more, sizeof(more), "%s%s", exports, hook.waits);
		gr_manager_tell(&hook.manager, more, NULL);
	}
	return n;
}

GR_EXPORT int load_config_from_node(void *node,
				    const struct gsh_config_block *block,
				    void *param, bool unique,
				    struct gsh_config_errors *e)
{
	if (!next.load_config_from_node)
		abort(); /* as above */
	if (hook.file.export_block.items)
		return gr_export_block_node(&hook.file.export_block, &hook.gsh,
					    next.load_config_from_node, node,
					    block, param, unique);
	return next.load_config_from_node(node, block, param, unique, e);
}

GR_EXPORT bool svc_init(struct svc_init_params *params)
{
	struct svc_init_params ours;

	if (state() != HOOK_ARMED || !params || !params->alloc_cb ||
	    !params->free_cb)
		return next.svc_init(params);
	hook.server.reach_changed = reach_changed;
	hook.server.alloc_cb = params->alloc_cb;
	hook.server.free_cb = params->free_cb;
	ours = *params;
	/* Workers that lead, or the one that stands by, are missing for
	 * Ganesha's work. */
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

	/* Ours have no descriptor that an event channel could watch. */
	if (gr_xprt_of(xprt))
		return 0;
	res = next.svc_rqst_evchan_reg(chan_id, xprt, flags);
	/* Ganesha registers the NFS program's listeners before any other's. */
	if (res || !xprt || !(flags & SVC_RQST_FLAG_XPRT_UREG) ||
	    state() != HOOK_ARMED || !s->alloc_cb)
		return res;
	wrong = gsh_check_listener(xprt);
	if (wrong) {
		set_state(HOOK_ENDED);
		gr_server_fault(s, wrong);
	} else if (xprt->xp_type == XPRT_TCP_RENDEZVOUS) {
		set_state(gr_server_start(s, xprt) ? HOOK_SERVING : HOOK_ENDED);
		gr_context_serve(state() == HOOK_SERVING);
	} else if (!hook.nfs_udp) {
		hook.nfs_udp = xprt;
	}
	return res;
}

/*
 * Ganesha registers what it serves, after the listeners are there: so program
 * and versions are as it was told to serve them, and nothing is registered
 * where Ganesha is built not to. By UDP first; without rpcbind, by UDP only.
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

	/* Of a signal that came early: Ganesha's main thread still makes what its end
	 * takes apart. It waits for nothing here. */
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
