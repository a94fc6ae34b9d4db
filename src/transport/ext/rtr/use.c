/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * use - is rtrext used with this peer, and how are its Receives laid out?
 *
 * Context: the runner.
 */
#include <string.h>

#include "transport/ext/rtr/rtr.h"

bool rt_rtr_same_layout(const struct rt_rtr_layout *a,
			const struct rt_rtr_layout *b)
{
	return a->targets == b->targets && a->ngroups == b->ngroups &&
	       !memcmp(a->group, b->group, a->ngroups * sizeof(*a->group));
}

bool rt_rtr_moved(const struct rt_conn *c, const struct rt_rtr_plan *p)
{
	rt_assert_strand(c);
	return p->room != c->send_threshold ||
	       !rt_rtr_same_layout(&p->layout, &rtr(c)->theirs.layout);
}

void rt_rtr_use(struct rt_conn *c)
{
	struct rt_rtr *x = rtr(c);

	rt_assert_strand(c);
	x->met |= x->on && x->theirs.support;
	x->send = x->on && x->theirs.support && !x->refused &&
		  x->refusals < RT_RTR_REFUSALS;
	c->extensions &= ~RT_EXT_RTR;
	if (x->send)
		c->extensions |= RT_EXT_RTR;
}

void rt_rtr_off(struct rt_conn *c)
{
	rt_assert_strand(c);
	if (rtr(c)->refused)
		return;
	if (rtr(c)->on)
		rt_log(c, LOG_NOTICE, "rtrext is not used with this peer");
	rtr(c)->refused = true;
	rt_rtr_use(c);
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
		/* Nor is REPTERR for it [M2]. */
		rt_error_code(c, xid, RDMA2_ERR_INVAL_HTYPE);
		return;
	}
	rt_xids_add(&rtr(c)->sent, xid);
	rt_repterr_send(c, err);
}
