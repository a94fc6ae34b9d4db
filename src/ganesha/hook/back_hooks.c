/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * back_hooks - the functions of ntirpc's that make and use a back channel
 *
 * As in hooks.c. What is done here is for an SVCXPRT or a CLIENT of ours;
 * clnt_vc_get_client_xprt() is there since ntirpc 6.
 *
 * Threads: any.
 */
#include <errno.h>
#include <stdatomic.h>

#include <rpc/clnt.h>

#include "base/clock.h"
#include "ganesha/quirks/context.h"
#include "ganesha/bind/next.h"
#include "ganesha/serve/server.h"
#include "ganesha/serve/xprt.h"

GR_EXPORT SVCXPRT *clnt_vc_get_client_xprt(const CLIENT *clnt);

#define HOOKED(X)                  \
	X(clnt_vc_ncreate_svc)     \
	X(clnt_vc_get_client_xprt) \
	X(clnt_req_setup)          \
	X(clnt_req_callback)       \
	X(clnt_req_refresh)        \
	X(clnt_req_reset)          \
	X(clnt_req_wait_reply)     \
	X(clnt_req_release)

GR_NEXT(HOOKED)

/* Once in a while, however often it happens. */
static void log_full(struct gr_server *s, const char *name)
{
	uint64_t now = base_now_ns(), at = atomic_load(&s->full_logged);
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

GR_EXPORT CLIENT *clnt_vc_ncreate_svc(const SVCXPRT *xprt, const rpcprog_t prog,
				      const rpcvers_t vers,
				      const uint32_t flags)
{
	struct gr_xprt *x = gr_xprt_of(xprt);
	struct gr_server *s;
	struct rt_conn *c;
	CLIENT *clnt;

	if (!x)
		return next.clnt_vc_ncreate_svc(xprt, prog, vers, flags);
	s = x->srv;
	c = gr_xprt_conn(x);
	atomic_fetch_add(&s->clients, 1);
	clnt = bc_client_create(s->back, c, &x->xprt, prog, vers);
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

GR_EXPORT SVCXPRT *clnt_vc_get_client_xprt(const CLIENT *clnt)
{
	if (bc_is_client(clnt))
		return bc_client_xprt(clnt);
	return next.clnt_vc_get_client_xprt ?
		       next.clnt_vc_get_client_xprt(clnt) :
		       NULL;
}

GR_EXPORT enum clnt_stat clnt_req_setup(struct clnt_req *cc,
					struct timespec timeout)
{
	return bc_is_client(cc->cc_clnt) ? bc_req_setup(cc, timeout) :
					   next.clnt_req_setup(cc, timeout);
}

GR_EXPORT enum clnt_stat clnt_req_callback(struct clnt_req *cc)
{
	gr_context_call(cc);
	return bc_is_client(cc->cc_clnt) ? bc_req_callback(cc) :
					   next.clnt_req_callback(cc);
}

GR_EXPORT enum clnt_stat clnt_req_refresh(struct clnt_req *cc)
{
	return bc_is_client(cc->cc_clnt) ? bc_req_refresh(cc) :
					   next.clnt_req_refresh(cc);
}

GR_EXPORT void clnt_req_reset(struct clnt_req *cc)
{
	if (bc_is_client(cc->cc_clnt))
		bc_req_reset(cc);
	else
		next.clnt_req_reset(cc);
}

GR_EXPORT enum clnt_stat clnt_req_wait_reply(struct clnt_req *cc)
{
	return bc_is_client(cc->cc_clnt) ? bc_req_wait_reply(cc) :
					   next.clnt_req_wait_reply(cc);
}

GR_EXPORT int clnt_req_release(struct clnt_req *cc)
{
	/* That of a back channel which another thread has ended meanwhile was
	 * never filled; ntirpc's own would look for its CLIENT. */
	return !cc->cc_clnt || bc_is_client(cc->cc_clnt) ?
		       bc_req_release(cc) :
		       next.clnt_req_release(cc);
}
