/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr_props - the properties of rtrext, section 8: whether the extension is used with a
 * peer, and how its Receives are laid out
 *
 * Context: the runner.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "transport/ext/rtr/rtr.h"

static bool same_layout(const struct rt_rtr_layout *a,
			const struct rt_rtr_layout *b)
{
	return a->targets == b->targets && a->ngroups == b->ngroups &&
	       !memcmp(a->group, b->group, a->ngroups * sizeof(*a->group));
}

bool rt_rtr_plan_outdated(const struct rt_conn *c, const struct rt_rtr_plan *p)
{
	rt_assert_strand(c);
	return p->room != c->send_threshold ||
	       !same_layout(&p->layout, &rtr(c)->theirs.layout);
}

void rt_rtr_update(struct rt_conn *c)
{
	struct rt_rtr *x = rtr(c);

	rt_assert_strand(c);
	x->peer_announced |= x->enabled && x->theirs.support;
	x->usable = x->enabled && x->theirs.support && !x->refused &&
		    x->refusals < RT_RTR_REFUSALS;
	c->extensions &= ~RT_EXT_RTR;
	if (x->usable)
		c->extensions |= RT_EXT_RTR;
}

void rt_rtr_disable(struct rt_conn *c)
{
	rt_assert_strand(c);
	if (rtr(c)->refused)
		return;
	if (rtr(c)->enabled)
		rt_log(c, LOG_NOTICE, "rtrext is not used with this peer");
	rtr(c)->refused = true;
	rt_rtr_update(c);
}

void rt_rtr_report(struct rt_conn *c, struct wire_repterr *err, uint32_t xid,
		   bool reply, uint32_t seq)
{
	rt_assert_strand(c);
	err->bad =
		(struct wire_xmsid){ xid, reply ? XMSI_REPLY : XMSI_CALL, seq };
	rt_log(c, LOG_WARNING, "%s %08x, transmission %u: %s",
	       reply ? "XMTRESP" : "XMTREQ", xid, seq,
	       wire_optrerr_name(err->code));
	if (rtr(c)->refused) {
		/* [M2]: the peer does not accept REPTERR either. */
		rt_error_code(c, xid, RDMA2_ERR_INVAL_HTYPE);
		return;
	}
	rt_xids_add(&rtr(c)->sent, xid);
	rt_repterr_send(c, err);
}

/* ---- Properties -------------------------------------------------------- */

unsigned int rt_rtr_props(struct rt_conn *c, struct wire_prop *to, void *buf,
			  size_t room)
{
	const struct rt_rtr *x = rtr(c);
	uint32_t lim = htonl(c->inst->cfg.max_transmissions);
	uint32_t all = htonl(RTRS_XREQ | RTRS_XRESP | RTRS_XCONT);
	uint8_t *at = buf;
	unsigned int n = 0;

	rt_assert_strand(c);
	if (!x->enabled)
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

/* Read a number. Zero length means the default [F1]. Returns false if it is invalid. */
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
	if (!rtr(c)->enabled)
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
	       a->length != b->length || !same_layout(&a->layout, &b->layout);
}

void rt_rtr_taken(struct rt_conn *c, struct rt_properties *next)
{
	const struct rt_rtr_peer *p = &rtr(c)->next;

	rt_assert_strand(c);
	if (!rtr(c)->enabled)
		return;
	rtr(c)->theirs = *p;
	c->peer_recv_fixed = p->has_struct;
	/* 8.3: RBSIZ follows from the structure if it was not announced. */
	if (!p->size_given)
		next->recv_size = p->has_struct ? p->length :
						  WIRE_DEFAULT_INLINE;
	/* After CONNPROP_FINAL only xcharext changes properties. */
	if (c->theirs.complete)
		rt_rtr_update(c);
}

/* Returns the plan of the group that is being sent, or NULL. */
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
	/* [R10]: if the structure and RBSIZ disagree, the structure is not used, until
	 * they agree again [R15]. */
	if (c->theirs.complete)
		p->layout.targets =
			p->has_struct && p->length == c->theirs.recv_size ?
				p->targets :
				0;
	/* [R15]: the rest of a group must be sent as its first message says. */
	if (!plan || (plan->room <= c->send_threshold &&
		      (!plan->nbs || !rt_rtr_plan_outdated(c, plan))))
		return;
	rt_conn_stop(c, EV_VIOLATION, -EPROTO,
		     "the peer's Receive Buffer Size has become %u, or their "
		     "structure another, amid a message that was cut for what "
		     "it was",
		     c->theirs.recv_size);
}
