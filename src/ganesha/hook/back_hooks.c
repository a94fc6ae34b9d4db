/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * back_hooks - functions of ntirpc that are interposed for back channels
 *
 * They create and use a CLIENT. For an SVCXPRT or a CLIENT of ours, ntirpc/back does so.
 * ntirpc has clnt_vc_get_client_xprt() since 6.
 *
 * Context: any thread.
 */
#include <errno.h>
#include <stdatomic.h>
#include <syslog.h>

#include <rpc/clnt.h>

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
		rt_log(c, LOG_WARNING,
		       "a session without a back channel, as its host has too many in use");
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
	/* If another thread has ended the back channel, the request was never set up.
	 * ntirpc's function would look for its CLIENT. */
	return !cc->cc_clnt || bc_is_client(cc->cc_clnt) ?
		       bc_req_release(cc) :
		       next.clnt_req_release(cc);
}
