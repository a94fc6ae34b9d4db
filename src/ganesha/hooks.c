/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hooks - the functions of ntirpc and Ganesha that this library stands before
 *
 * The loader binds Ganesha's calls of these names to the definitions here,
 * because this library comes before ntirpc and the server library in the order
 * of search. Each passes on to the function that would have been called
 * without it, and does more only in the server it was built for:
 *
 *   nfs_set_param_from_conf  hands over the parsed ganesha.conf: the moment
 *                            to read the RDMA block and to decide whether
 *                            anything is to be done at all
 *   config_ParseFile         once the server runs, on SIGHUP: the moment to say
 *                            what of the RDMA block is not taken over
 *   svc_init                 hands over Ganesha's request allocator
 *   svc_rqst_evchan_reg      shows the NFS/TCP listener: the moment to listen
 *   svc_reg                  registers NFS with rpcbind: so do we
 *   svc_shutdown             the moment to end
 *   clnt_vc_ncreate_svc,     the back channel, when the SVCXPRT or the CLIENT
 *   clnt_vc_get_client_xprt, is one of ours; the second is there since ntirpc 6
 *   clnt_req_*
 *
 * ntirpc's own calls of its functions come here too, from any thread; what is
 * not ours goes through untouched.
 *
 * Threads: `hook` is changed only by Ganesha's main thread before there are
 * others, and by its admin thread at the end; the state is atomic because any
 * thread may ask for it. The daemon forks before svc_init(), so nothing makes
 * a thread or opens a device before svc_rqst_evchan_reg().
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rpc/clnt.h>
#include <rpc/svc_rqst.h>

#include "base/clock.h"
#include "ganesha/check.h"
#include "ganesha/near.h"
#include "ganesha/server.h"
#include "ganesha/syntax.h"
#include "ganesha/xprt.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int nfs_set_param_from_conf(struct gsh_config *tree,
				   struct gsh_start_info *info,
				   struct gsh_config_errors *e);
EXPORT SVCXPRT *clnt_vc_get_client_xprt(const CLIENT *clnt);
EXPORT struct gsh_config *config_ParseFile(char *path,
					   struct gsh_config_errors *e);

/* Those that we stand before. */
#define HOOKED(X)                  \
	X(config_ParseFile)        \
	X(nfs_set_param_from_conf) \
	X(svc_init)                \
	X(svc_rqst_evchan_reg)     \
	X(svc_reg)                 \
	X(svc_shutdown)            \
	X(clnt_vc_ncreate_svc)     \
	X(clnt_vc_get_client_xprt) \
	X(clnt_req_setup)          \
	X(clnt_req_callback)       \
	X(clnt_req_refresh)        \
	X(clnt_req_reset)          \
	X(clnt_req_wait_reply)     \
	X(clnt_req_release)

enum hook_state {
	HOOK_IDLE, /* not Ganesha, or RDMA is not wanted */
	HOOK_ARMED, /* waits for the NFS listener */
	HOOK_SERVING,
	HOOK_ENDED,
};

static struct {
	_Atomic enum hook_state state;
	struct gsh gsh;
	struct gr_server server;

	SVCXPRT *nfs_udp; /* the NFS/UDP listener; only compared */
	struct gsh_cleanup cleanup;

	char syntax[256]; /* where the file could not be read; or "" */
	bool syntax_ours; /* that is in a block that is read here */
	bool was_read; /* the configuration, at the start */
	enum gr_config_result config; /* and how that was */
	unsigned int complaints; /* of the configuration that is checked */

	void *another; /* Ganesha's library, if of another release */

	/* Those that come after ours. */
	struct {
#define FIELD(name) __typeof__(name) *name;
		HOOKED(FIELD)
	} next;
} hook;

/*
 * In a Ganesha of another release, the ntirpc that this library was built with
 * has come along and may be found before the one that Ganesha uses. Then only
 * what Ganesha's own library was linked to will do. NULL: it is the right one,
 * or no Ganesha at all.
 */
static void *another_ganesha(void)
{
	void *theirs = dlsym(RTLD_NEXT, "nfs_set_param_from_conf");
	Dl_info info;

	if (!theirs || gsh_defined_by(theirs, GSH_SONAME) ||
	    !dladdr(theirs, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* By version where there is one, else whatever would be called without us. */
static void find(void *slot, const char *name)
{
	void *f = hook.another ? dlsym(hook.another, name) :
				 dlvsym(RTLD_NEXT, name, NTIRPC_NODE);

	*(void **)slot = f ? f : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void find_next(void)
{
	hook.another = another_ganesha();
#define FIND(name) find(&hook.next.name, #name);
	HOOKED(FIND)
}

static enum hook_state state(void)
{
	return atomic_load_explicit(&hook.state, memory_order_acquire);
}

static void set_state(enum hook_state to)
{
	atomic_store_explicit(&hook.state, to, memory_order_release);
}

/* ---- Start ------------------------------------------------------------ */

/* Ganesha ends because something is fatal to it; by any thread. */
static void clean_up(void)
{
	gr_rpcbind_withdraw(&hook.server.rpcbind);
}

static void warn(void *ctx, const char *text)
{
	gsh_log(&hook.gsh, GSH_WARN, "%s", text);
}

/* Ganesha's. NULL: not known. */
static const char *config_path(void)
{
	char **path = dlsym(RTLD_DEFAULT, "nfs_config_path");

	return path ? *path : NULL;
}

/* Of the messages of a parse: syntax_look(). */
static bool look_at(const struct gsh_config_errors *e,
		    char first[sizeof(hook.syntax)], near_fn *tell, void *ctx)
{
	*first = '\0';
	return e->fp && !fflush(e->fp) && e->diag_buf &&
	       syntax_look(e->diag_buf, first, sizeof(hook.syntax), tell, ctx);
}

EXPORT void rpcrdma_ganesha_syntax(const struct gsh_config_errors *e,
				   void (*tell)(void *ctx, const char *text),
				   void *ctx)
{
	hook.syntax_ours = look_at(e, hook.syntax, tell, ctx);
}

/* What the parser cannot read it passes over, and sometimes the block that it is in;
 * and that may be what keeps others out. So RDMA is not served with such a block. */
static bool is_lost(const struct near_text *text, char *fault)
{
	bool absent = hook.config == GR_CONFIG_ABSENT;

	if (!*hook.syntax || (absent ? !text->block : !hook.syntax_ours))
		return false;
	snprintf(fault, GR_FAULT_ROOM, "%ssyntax error at %s: correct it",
		 absent ? "no RDMA block could be read: " : "", hook.syntax);
	return true;
}

static void read_config(struct gsh_config *tree)
{
	struct gr_server *s = &hook.server;
	const char *wrong = gsh_bind(&hook.gsh);
	char fault[GR_FAULT_ROOM];
	struct near_text text;

	s->gsh = &hook.gsh;
	if (wrong) {
		if (hook.gsh.log)
			gsh_log(&hook.gsh, GSH_CRIT,
				"%s: install the rpcrdma-ganesha of this "
				"Ganesha's release. NFS is served without RDMA",
				wrong);
		else
			fprintf(stderr, "rpcrdma: %s\n", wrong);
		return;
	}
	hook.was_read = true;
	near_look(config_path(), warn, NULL, &text);
	hook.config = gr_config_load(&hook.gsh, tree, &s->cfg);
	/* The item itself may be lost as well. */
	if (*hook.syntax && text.required)
		s->cfg.required = true;
	if (is_lost(&text, fault)) {
		gr_server_fault(s, fault);
		return;
	}
	switch (hook.config) {
	case GR_CONFIG_ABSENT:
		gsh_log(&hook.gsh, GSH_EVENT,
			"no RDMA block in ganesha.conf: not serving RDMA");
		return;
	case GR_CONFIG_BAD:
		snprintf(fault, sizeof(fault),
			 "the RDMA block of ganesha.conf cannot be used: %s: "
			 "correct it (--check-config lists all faults) and "
			 "start again",
			 *s->cfg.fault ? s->cfg.fault : "see Ganesha's log");
		gr_server_fault(s, fault);
		return;
	case GR_CONFIG_GOOD:
		break;
	}
	if (!s->cfg.enable) {
		gsh_log(&hook.gsh, GSH_EVENT,
			"Enable = false in the RDMA block: not serving RDMA");
		return;
	}
	/* It leaves by _exit(): nothing else would be called. */
	hook.cleanup.clean = clean_up;
	if (hook.gsh.register_cleanup)
		hook.gsh.register_cleanup(&hook.cleanup);
	set_state(HOOK_ARMED);
}

static void complain_to_log(char *msg, void *dest, struct gsh_config_errors *e)
{
	void (*log)(char *, void *, struct gsh_config_errors *);

	hook.complaints++;
	*(void **)&log = dlsym(RTLD_DEFAULT, "config_errs_to_log");
	log(msg, dest, e);
}

static void complain(void *ctx, const char *text)
{
	hook.complaints++;
	fprintf(stderr, "%s\n", text);
}

/* What Ganesha would say of its own blocks; it starts nothing by that. */
static bool check_others(struct gsh_config *tree)
{
	struct gsh_start_info info = { 0 };
	struct gsh_config_errors e;
	int *level = hook.gsh.log_level ? *hook.gsh.log_level : NULL;
	int was = level ? level[GSH_INIT] : 0;
	bool good;

	if (!hook.gsh.init_error_type(&e))
		return false;
	/* That they are right is not worth a line. */
	if (level && was > GSH_WARN)
		level[GSH_INIT] = GSH_WARN;
	good = !hook.next.nfs_set_param_from_conf(tree, &info, &e);
	if (level)
		level[GSH_INIT] = was;
	hook.gsh.report_config_errors(&e, NULL, hook.gsh.config_errs_to_log);
	return good;
}

/* Would RDMA be served? */
static bool check(struct gsh_config *tree, const struct near_text *text,
		  FILE *out)
{
	const char *wrong = gsh_bind(&hook.gsh);
	struct sockaddr_storage tcp;
	char fault[GR_FAULT_ROOM];
	struct gr_config cfg;
	bool good;

	if (wrong) {
		fprintf(stderr, "rpcrdma: %s\n", wrong);
		return false;
	}
	hook.gsh.config_errs_to_log = complain_to_log;
	if (!check_others(tree)) {
		fputs("rpcrdma: Ganesha itself would not start with it\n",
		      stderr);
		return false;
	}
	hook.config = gr_config_load(&hook.gsh, tree, &cfg);
	if (is_lost(text, fault)) {
		fprintf(stderr, "rpcrdma: %s\n", fault);
		return false;
	}
	switch (hook.config) {
	case GR_CONFIG_ABSENT:
		fputs("# No RDMA block: NFS is served over TCP alone.\n", out);
		return false;
	case GR_CONFIG_BAD:
		return false;
	case GR_CONFIG_GOOD:
		break;
	}
	gr_config_print(out, &cfg);
	if (!cfg.enable)
		return false;
	good = gr_check_tcp(&hook.gsh, tree, &tcp, stderr);
	/* One fault does not hide the other. */
	return gr_check_machine(&hook.gsh, &cfg, &tcp, out, stderr,
				&hook.complaints) &&
	       good;
}

EXPORT bool rpcrdma_ganesha_check(struct gsh_config *tree, const char *path,
				  FILE *out, unsigned int *complaints)
{
	struct near_text text;
	bool served;

	hook.complaints = 0;
	near_look(path, complain, NULL, &text);
	served = check(tree, &text, out);
	*complaints = hook.complaints;
	return served;
}

/* Is that the file that Ganesha was started with? Exports that are added by D-Bus
 * may come from another, which has no RDMA block. */
static bool is_same_file(const char *path)
{
	const char *started = config_path();

	return !started || (path && !strcmp(path, started));
}

/* What the parser passes over may go beyond the block where it began: it is nothing
 * but ours if the tree has all exports that the text has. */
static bool has_exports(struct gsh_config *tree,
			const struct gsh_config_errors *e)
{
	struct near_text text;

	if (!syntax_only_ours(e->diag_buf))
		return false;
	near_look(config_path(), NULL, NULL, &text);
	return !text.more && !text.open_line &&
	       gr_config_blocks(&hook.gsh, tree, "EXPORT") == text.exports;
}

/* What cannot be read has neither been removed nor changed. Of most errors Ganesha
 * sets no flag, and takes what it could read for all there is. */
static bool tell_syntax(struct gsh_config *tree, struct gsh_config_errors *e)
{
	const char *then = "exports that could not be read are no longer "
			   "served. Correct it and reload";
	char at[sizeof(hook.syntax)] = "";

	if (e)
		(void)look_at(e, at, warn, NULL);
	if (!*at)
		return false;
	if (e->scan || e->parse)
		then = "nothing was changed. Correct it and reload";
	else if (has_exports(tree, e))
		then = "exports are not affected, and RDMA goes on as before, "
		       "but it would not be served after a restart. Correct it";
	gsh_log(&hook.gsh, GSH_WARN, "reload: syntax error at %s: %s", at,
		then);
	return true;
}

/* Of the same file, while the server runs. */
static void tell_changes(struct gsh_config *tree, struct gsh_config_errors *e)
{
	struct gr_server *s = &hook.server;
	struct gsh quiet = hook.gsh;
	enum gr_config_result now;
	struct gr_config cfg;
	char *names = NULL;
	unsigned int n = 0;
	size_t len;
	FILE *f;

	if (tell_syntax(tree, e))
		return;
	quiet.config_errs_to_log = gr_config_silent;
	now = gr_config_load(&quiet, tree, &cfg);
	if (now == GR_CONFIG_BAD) {
		gsh_log(&hook.gsh, GSH_WARN,
			"reload: the RDMA block of ganesha.conf has errors now, and "
			"RDMA would not start with it: --check-config says "
			"why. Nothing changes before a restart");
		return;
	}
	if ((now == GR_CONFIG_ABSENT) != (hook.config == GR_CONFIG_ABSENT)) {
		gsh_log(&hook.gsh, GSH_WARN,
			"reload: the RDMA block has been %s; restart the server to "
			"apply that",
			now == GR_CONFIG_ABSENT ? "removed" : "added");
		return;
	}
	f = hook.config == GR_CONFIG_GOOD ? open_memstream(&names, &len) : NULL;
	if (f) {
		n = gr_config_differences(f, &s->cfg, &cfg);
		fclose(f);
	}
	if (n && names)
		gsh_log(&hook.gsh, GSH_WARN,
			"reload: the RDMA block is read only at the start: restart "
			"the server to apply %s",
			names);
	free(names);
}

EXPORT struct gsh_config *config_ParseFile(char *path,
					   struct gsh_config_errors *e)
{
	struct gsh_config *tree;

	if (!hook.next.config_ParseFile)
		abort(); /* as below */
	tree = hook.next.config_ParseFile(path, e);
	if (tree && hook.was_read && is_same_file(path))
		tell_changes(tree, e);
	return tree;
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

EXPORT unsigned int rpcrdma_ganesha_exports(struct gsh_config *tree)
{
	return hook.was_read ? gr_config_blocks(&hook.gsh, tree, "EXPORT") : 0;
}

EXPORT bool rpcrdma_ganesha_state(char text[RPCRDMA_STATE])
{
	struct gr_server *s = &hook.server;
	size_t n;

	if (hook.gsh.init_wait)
		hook.gsh.init_wait();
	check_parent(s);
	if (state() == HOOK_SERVING) {
		n = (size_t)snprintf(text, RPCRDMA_STATE, "RDMA is served on");
		for (unsigned int i = 0; i < s->source.nlisteners; i++)
			if (n < RPCRDMA_STATE)
				n += (size_t)snprintf(text + n,
						      RPCRDMA_STATE - n,
						      "%s %s", i ? "," : "",
						      s->source.listener[i]);
		if (n < RPCRDMA_STATE)
			n += (size_t)snprintf(text + n, RPCRDMA_STATE - n,
					      ", provider %s", s->provider);
		if (n < RPCRDMA_STATE && *hook.syntax)
			snprintf(text + n, RPCRDMA_STATE - n,
				 "; syntax error at %s", hook.syntax);
	} else if (*s->fault) {
		snprintf(text, RPCRDMA_STATE, "RDMA is not served: %s",
			 s->fault);
	} else {
		snprintf(text, RPCRDMA_STATE, "RDMA is not served: %s",
			 !hook.was_read ? "see Ganesha's log" :
			 hook.config == GR_CONFIG_ABSENT ?
					  "no RDMA block in ganesha.conf" :
					  "Enable = false in the RDMA block");
	}
	return *s->fault;
}

EXPORT int nfs_set_param_from_conf(struct gsh_config *tree,
				   struct gsh_start_info *info,
				   struct gsh_config_errors *e)
{
	int res;

	if (!hook.next.nfs_set_param_from_conf)
		abort(); /* no Ganesha, yet somebody calls its function */
	res = hook.next.nfs_set_param_from_conf(tree, info, e);
	if (!res && state() == HOOK_IDLE)
		read_config(tree);
	return res;
}

EXPORT bool svc_init(struct svc_init_params *params)
{
	struct svc_init_params ours;

	if (state() != HOOK_ARMED || !params || !params->alloc_cb ||
	    !params->free_cb)
		return hook.next.svc_init(params);
	hook.server.alloc_cb = params->alloc_cb;
	hook.server.free_cb = params->free_cb;
	ours = *params;
	/* Workers that lead, or the one that stands by, are missing for
	 * Ganesha's work. */
	ours.ioq_thrd_max +=
		hook.server.cfg.worker_polling ? hook.server.cfg.pollers : 1;
	return hook.next.svc_init(&ours);
}

EXPORT int svc_rqst_evchan_reg(uint32_t chan_id, SVCXPRT *xprt, uint32_t flags)
{
	struct gr_server *s = &hook.server;
	const char *wrong;
	int res;

	/* Ours have no descriptor that an event channel could watch. */
	if (gr_xprt_of(xprt))
		return 0;
	res = hook.next.svc_rqst_evchan_reg(chan_id, xprt, flags);
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
EXPORT bool svc_reg(SVCXPRT *xprt, const rpcprog_t prog, const rpcvers_t vers,
		    void (*dispatch)(struct svc_req *req),
		    const struct netconfig *nconf)
{
	struct gr_server *s = &hook.server;
	bool res = hook.next.svc_reg(xprt, prog, vers, dispatch, nconf);

	if (state() == HOOK_SERVING && xprt &&
	    (xprt == s->parent || xprt == hook.nfs_udp))
		gr_rpcbind_set(&s->rpcbind, prog, vers);
	return res;
}

EXPORT int svc_shutdown(u_long flags)
{
	bool serving = state() == HOOK_SERVING;
	int res;

	if (serving) {
		/* Of a signal that came early: Ganesha's main thread still makes
		 * what its end takes apart. It waits for nothing here. */
		if (hook.gsh.init_wait)
			hook.gsh.init_wait();
		set_state(HOOK_ENDED);
		gr_rpcbind_withdraw(&hook.server.rpcbind);
		gr_server_drain(&hook.server);
	}
	res = hook.next.svc_shutdown(flags);
	if (serving)
		gr_server_free(&hook.server);
	return res;
}

/* ---- Back channel ----------------------------------------------------- */

/* Once in a while, however often it happens. */
static void log_full(struct gr_server *s, const char *name)
{
	uint64_t now = fab_now_ns(), at = atomic_load(&s->full_logged);
	unsigned int n = atomic_fetch_add(&s->full, 1) + 1;

	if ((at && now - at < 10000000000u) ||
	    !atomic_compare_exchange_strong(&s->full_logged, &at, now))
		return;
	atomic_fetch_sub(&s->full, n);
	gsh_log(s->gsh, GSH_WARN,
		"%s: a session without a back channel, as its host has too "
		"many in use; %u such sessions since the last message",
		name, n);
}

EXPORT CLIENT *clnt_vc_ncreate_svc(const SVCXPRT *xprt, const rpcprog_t prog,
				   const rpcvers_t vers, const uint32_t flags)
{
	struct gr_xprt *x = gr_xprt_of(xprt);
	struct gr_server *s;
	struct rt_conn *c;
	CLIENT *clnt;

	if (!x)
		return hook.next.clnt_vc_ncreate_svc(xprt, prog, vers, flags);
	s = x->srv;
	c = gr_xprt_conn(x);
	atomic_fetch_add(&s->clients, 1);
	clnt = nrt_clnt_create(s->clnts, c, &x->xprt, prog, vers);
	if (clnt && !s->cfg.reverse_direction)
		clnt->cl_error.re_status = RPC_UNKNOWNPROTO;
	if (c && clnt && clnt->cl_error.re_errno == EUSERS)
		log_full(s, rt_conn_name(c));
	gsh_log(s->gsh, GSH_DEBUG, "%s: back channel %s",
		c ? rt_conn_name(c) : "ended",
		clnt && clnt->cl_error.re_status == RPC_SUCCESS ? "made" :
								  "refused");
	if (c)
		rt_conn_put(c);
	return clnt;
}

EXPORT SVCXPRT *clnt_vc_get_client_xprt(const CLIENT *clnt)
{
	if (nrt_clnt_is_ours(clnt))
		return nrt_clnt_xprt(clnt);
	return hook.next.clnt_vc_get_client_xprt ?
		       hook.next.clnt_vc_get_client_xprt(clnt) :
		       NULL;
}

EXPORT enum clnt_stat clnt_req_setup(struct clnt_req *cc,
				     struct timespec timeout)
{
	return nrt_clnt_is_ours(cc->cc_clnt) ?
		       nrt_req_setup(cc, timeout) :
		       hook.next.clnt_req_setup(cc, timeout);
}

EXPORT enum clnt_stat clnt_req_callback(struct clnt_req *cc)
{
	return nrt_clnt_is_ours(cc->cc_clnt) ? nrt_req_callback(cc) :
					       hook.next.clnt_req_callback(cc);
}

EXPORT enum clnt_stat clnt_req_refresh(struct clnt_req *cc)
{
	return nrt_clnt_is_ours(cc->cc_clnt) ? nrt_req_refresh(cc) :
					       hook.next.clnt_req_refresh(cc);
}

EXPORT void clnt_req_reset(struct clnt_req *cc)
{
	if (nrt_clnt_is_ours(cc->cc_clnt))
		nrt_req_reset(cc);
	else
		hook.next.clnt_req_reset(cc);
}

EXPORT enum clnt_stat clnt_req_wait_reply(struct clnt_req *cc)
{
	return nrt_clnt_is_ours(cc->cc_clnt) ?
		       nrt_req_wait_reply(cc) :
		       hook.next.clnt_req_wait_reply(cc);
}

EXPORT int clnt_req_release(struct clnt_req *cc)
{
	/* That of a back channel which another thread has ended meanwhile was
	 * never filled; ntirpc's own would look for its CLIENT. */
	return !cc->cc_clnt || nrt_clnt_is_ours(cc->cc_clnt) ?
		       nrt_req_release(cc) :
		       hook.next.clnt_req_release(cc);
}
