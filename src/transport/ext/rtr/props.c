/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * props - the properties of rtrext, section 8: what is announced here, and what
 * the peer's say of its Receives
 *
 * Runner only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "transport/ext/rtr/rtr.h"

unsigned int rt_rtr_props(struct rt_conn *c, struct wire_prop *to, void *buf,
			  size_t room)
{
	const struct rt_rtr *x = rtr(c);
	uint32_t lim = htonl(c->inst->cfg.max_transmissions);
	uint32_t all = htonl(RTRS_XREQ | RTRS_XRESP | RTRS_XCONT);
	uint8_t *at = buf;
	unsigned int n = 0;

	rt_assert_strand(c);
	if (!x->on)
		return 0;
	memcpy(at, &all, 4);
	to[n++] = (struct wire_prop){ RDMA2_PROPID_X_RTRSUPP, at, 4 };
	memcpy(at + 4, &lim, 4);
	to[n++] = (struct wire_prop){ RDMA2_PROPID_X_REQRXLIM, at + 4, 4 };
	to[n++] = (struct wire_prop){ RDMA2_PROPID_X_RESPSXLIM, at + 4, 4 };
	if (x->ours.ngroups) {
		to[n].which = RDMA2_PROPID_X_RBSTRUCT;
		to[n].data = at + 8;
		to[n].len = (uint32_t)wire_encode_rbstruct(at + 8, room - 8,
							   c->ours.recv_size,
							   x->ours.group,
							   x->ours.ngroups);
		n++;
	}
	return n;
}

/* A number; none stands for the default [F1]. */
static bool number(const struct wire_prop *v, uint32_t dflt, uint32_t *n)
{
	*n = wire_prop_u32(v, dflt);
	return !v->len || v->len == 4;
}

bool rt_rtr_prop(struct rt_conn *c, struct rt_properties *unused,
		 const struct wire_prop *v)
{
	struct rt_rtr_peer *p = &rtr(c)->next;
	struct wire_rbstruct b;

	rt_assert_strand(c);
	if (!rtr(c)->on)
		return true;
	switch (v->which) {
	case RDMA2_PROPID_RBSIZ:
		p->size_given = true;
		return true;
	case RDMA2_PROPID_X_RTRSUPP:
		return number(v, 0, &p->support);
	case RDMA2_PROPID_X_REQRXLIM:
		if (!number(v, 1, &p->reqrxlim))
			return false;
		p->reqrxlim += !p->reqrxlim; /* 0 counts as 1 [R6] */
		return true;
	case RDMA2_PROPID_X_RESPSXLIM:
		if (!number(v, 1, &p->respsxlim))
			return false;
		p->respsxlim += !p->respsxlim;
		return true;
	case RDMA2_PROPID_X_RBSTRUCT:
		p->has_struct = v->len;
		if (!v->len)
			return true;
		if (!wire_rbstruct_decode(v->data, v->len, &b) ||
		    b.length < WIRE_FIRST_MESSAGE_MAX)
			return false;
		p->length = b.length;
		rt_rtr_layout_set(&p->layout, &b);
		p->targets = p->layout.targets;
		return true;
	default:
		return true;
	}
}

void rt_rtr_begin(struct rt_conn *c)
{
	rt_assert_strand(c);
	rtr(c)->next = rtr(c)->theirs;
}

bool rt_rtr_changed(const struct rt_conn *c)
{
	const struct rt_rtr_peer *a = &rtr(c)->next, *b = &rtr(c)->theirs;

	rt_assert_strand(c);
	return a->support != b->support || a->reqrxlim != b->reqrxlim ||
	       a->respsxlim != b->respsxlim || a->has_struct != b->has_struct ||
	       a->length != b->length ||
	       !rt_rtr_same_layout(&a->layout, &b->layout);
}

void rt_rtr_taken(struct rt_conn *c, struct rt_properties *next)
{
	const struct rt_rtr_peer *p = &rtr(c)->next;

	rt_assert_strand(c);
	if (!rtr(c)->on)
		return;
	rtr(c)->theirs = *p;
	c->peer_recv_fixed = p->has_struct;
	/* 8.3: the one is derived from the other, and gone with it. */
	if (!p->size_given)
		next->recv_size = p->has_struct ? p->length :
						  WIRE_DEFAULT_INLINE;
	/* The peer's FINAL has been here before. */
	if (c->theirs.complete)
		rt_rtr_use(c);
}

/* The plan of our group that is on its way, if there is one. */
static const struct rt_rtr_plan *under_way(const struct rt_conn *c)
{
	const struct rt_call_priv *call = rt_reply_begun(c);
	const struct rt_request_priv *rq = rt_request_begun(c);

	if (call && call->format == &rt_format_xmtresp)
		return &rtr_in(call)->plan;
	return rq && rq->format ? &rtr_out(rq)->plan : NULL;
}

void rt_rtr_resized(struct rt_conn *c)
{
	struct rt_rtr_peer *p = &rtr(c)->theirs;
	const struct rt_rtr_plan *plan = under_way(c);

	rt_assert_strand(c);
	/* [R10]: of two sizes, the structure is the one not relied upon; it is
	 * again when they agree again [R15]. */
	if (c->theirs.complete)
		p->layout.targets =
			p->has_struct && p->length == c->theirs.recv_size ?
				p->targets :
				0;
	/* [R15]: it goes on as its first message said, or not at all. */
	if (!plan || (plan->room <= c->send_threshold &&
		      (!plan->nbs || !rt_rtr_moved(c, plan))))
		return;
	rt_conn_stop(c, EV_VIOLATION, -EPROTO,
		     "the peer's Receive Buffer Size has become %u, or their "
		     "structure another, amid a message that was cut for what "
		     "it was",
		     c->theirs.recv_size);
}
