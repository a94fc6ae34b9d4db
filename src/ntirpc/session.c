/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session - what the Replies to NFSv4.1 Calls say of sessions
 */
#include <string.h>

#include <rpc/rpc.h>
#include <rpc/svc.h>

#include "ntirpc/session.h"

#include "ntirpc/call.h"
#include "ntirpc/back/back.h"
#include "ntirpc/quirks/bound.h"
#include "ntirpc/quirks/withheld.h"

bool nrt_session_looks(const struct nrt_call *nc)
{
	const struct ulb_call *head = &nc->head;

	return nc->clnts && head->nfs && head->vers == 4 &&
	       (head->op_class == ULB_CLASS_session ||
		head->op_class == ULB_CLASS_protected || nc->is_stray ||
		nc->is_withheld || bc_has_flags(nc->clnts) ||
		(nc->bound && head->sequence &&
		 !nrt_bound_has(nc->bound, head->session)));
}

/*
 * Ganesha 4.3 says that any connection is bound as it was asked for. If there
 * is nothing that could be bound, it carries the fore channel alone.
 */
static bool says_too_much(const struct nrt_call *nc,
			  const struct ulb_session *s)
{
	return s->event == ULB_SESSION_BACK && s->given == ULB_DIR_BOTH &&
	       s->wanted == ULB_DIR_FORE_OR_BOTH &&
	       !bc_can_bind(nc->clnts, s->id, nc->call->conn);
}

bool nrt_session_encode(XDR *xdrs, void *results)
{
	struct nrt_results *r = results;
	struct nrt_call *nc = r->nc;
	struct ulb_session session, *s = &session;
	struct xs_encode *e = xs_encode_of(xdrs);
	u_int at = XDR_GETPOS(xdrs);
	struct iovec in[RT_MAX_PIECES], out[2];
	uint32_t flags;
	unsigned int n;

	if (!r->proc(xdrs, r->where))
		return false;
	if (!e)
		return true;
	if (nc->is_stray && !nrt_bound_correct(nc, xdrs, at))
		return false;
	if (nc->is_withheld && !nrt_withheld_correct(nc, xdrs, at))
		return false;
	n = rt_to_iov(nc->call->pieces, nc->call->npieces, in);
	/* A COMPOUND's head and two operations are in the first octets. */
	if (ulb_read_session(&nc->head, in, n, out,
			     xs_encode_look(e, at, out, 2), s))
		return true;
	if (nc->bound && s->sequence)
		nrt_bound_add(nc->bound, s->of);
	if (nc->bound && s->bound)
		nrt_bound_add(nc->bound, s->id);
	if (s->sequence) {
		flags = s->flags | bc_session_flags(nc->clnts, s->of);
		if (flags != s->flags &&
		    !xs_encode_patch(xdrs, at + s->flags_at, flags))
			return false;
	}
	if (says_too_much(nc, s))
		return xs_encode_patch(xdrs, at + s->given_at, ULB_DIR_FORE);
	nc->news.event = s->event;
	nc->news.call_max = s->call_max;
	memcpy(nc->news.id, s->id, ULB_SESSION_ID);
	return true;
}
