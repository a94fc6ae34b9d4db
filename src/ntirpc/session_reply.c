/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rpc/rpc.h>
#include <rpc/svc.h>

#include "ntirpc/session_reply.h"

#include "ntirpc/nfs_client.h"
#include "ntirpc/svc_call.h"
#include "ntirpc/quirks/bound.h"
#include "ntirpc/quirks/withheld.h"

bool nrt_session_concerns(const struct nrt_call *nc)
{
	const struct ulb_call *head = &nc->head;

	return nc->back && head->nfs && head->vers == 4 &&
	       (head->op_class == ULB_CLASS_session ||
		head->op_class == ULB_CLASS_protected || nc->is_stray ||
		nc->is_withheld || bc_has_flags(nc->back) ||
		(nc->bound && head->sequence &&
		 !nrt_bound_has(nc->bound, head->session)) ||
		(nc->client && head->sequence &&
		 !nrt_client_has(nc->client, head->session)));
}

/* Ganesha 4.3 and 5.9 say that any connection is bound as it was asked for, even if there
 * is no back channel to bind. */
static bool claims_back_channel(const struct nrt_call *nc,
				const struct ulb_session *s)
{
	return s->event == ULB_SESSION_BACK && s->given == ULB_DIR_BOTH &&
	       s->wanted == ULB_DIR_FORE_OR_BOTH &&
	       !bc_can_bind(nc->back, s->id, nc->call->conn);
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
	/* The header of a COMPOUND and two operations are in two extents. */
	if (ulb_read_session(&nc->head, in, n, out,
			     xs_encode_look(e, at, out, 2), s))
		return true;
	nrt_client_reply(nc, s);
	if (nc->bound && s->sequence)
		nrt_bound_add(nc->bound, s->of);
	if (nc->bound && s->bound)
		nrt_bound_add(nc->bound, s->id);
	if (s->sequence) {
		flags = s->flags | bc_session_flags(nc->back, s->of);
		if (flags != s->flags &&
		    !xs_encode_patch(xdrs, at + s->flags_at, flags))
			return false;
	}
	if (claims_back_channel(nc, s))
		return xs_encode_patch(xdrs, at + s->given_at, ULB_DIR_FORE);
	nc->news.event = s->event;
	nc->news.call_max = s->call_max;
	memcpy(nc->news.id, s->id, ULB_SESSION_ID);
	return true;
}

void nrt_session_begin(const struct nrt_call *nc, struct nrt_session_news *news)
{
	news->back = nc->back;
	news->conn = NULL;
	news->reply = nc->news;
	if (!news->back || (news->reply.event == ULB_SESSION_NONE &&
			    !bc_reply_expected(news->back)))
		return;
	news->conn = nc->call->conn;
	rt_conn_get(news->conn);
	bc_reply_begin(news->back, &news->reply, news->conn);
}

void nrt_session_end(const struct nrt_session_news *news)
{
	if (!news->conn)
		return;
	bc_reply_sent(news->back, &news->reply, news->conn);
	rt_conn_put(news->conn);
}
