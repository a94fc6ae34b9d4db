/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr_messages - rtrext, the round-trip extension: its messages and hooks
 *
 * A message of the extension is accepted if the extension is enabled and both ends have
 * sent their CONNPROP_FINAL [M2]; otherwise it is answered as an unknown header type.
 *
 * Context: the runner.
 */
#include <errno.h>
#include <string.h>

#include "transport/ext/rtr/rtr.h"

static bool rtr_accepts(const struct rt_conn *c, uint32_t htype)
{
	const struct rt_rtr *x = rtr(c);

	if (!x->enabled || !c->props_sent || !c->theirs.complete)
		return false;
	switch (htype) {
	case RDMA2_X_XMTREQ:
		/* Without that bit there could be no answer [M2]. */
		return x->theirs.support & RTRS_XRESP && !x->refused;
	case RDMA2_X_XMTRESP:
	case RDMA2_X_XMTCONT:
	case RDMA2_X_REPTERR:
		/* A peer that has never announced the extension was sent none of its
		 * messages, and need not know REPTERR. */
		return x->peer_announced;
	default:
		return false;
	}
}

static enum rt_event rtr_event(uint32_t htype)
{
	switch (htype) {
	case RDMA2_X_XMTREQ:
		return EV_MSG_CALL;
	case RDMA2_X_XMTRESP:
		return EV_MSG_REPLY;
	case RDMA2_X_XMTCONT:
		return EV_MSG_CALL;
	default:
		return EV_MSG_ERROR;
	}
}

static void receive_repterr(struct rt_conn *c, const struct rt_in *in)
{
	struct wire_repterr r;

	if (wire_repterr_decode(in->buf, in->len, &r) != WIRE_OK) {
		rt_error_code(c, in->p.xid, RDMA2_ERR_BAD_XDR);
		return;
	}
	RT_COUNT(c, repterrs_received, 1);
	rt_log(c, LOG_NOTICE, "REPTERR %s received, %s %08x, transmission %u",
	       wire_optrerr_name(r.code),
	       r.bad.dir == XMSI_REPLY ? "response" : "request", r.bad.xid,
	       r.bad.seq);
	/* A refused response is not sent again [R13]. */
	if (r.bad.dir == XMSI_CALL)
		rt_rtr_request_refused(c, r.bad.xid);
	/* The group that the message interrupted was dropped too. */
	if (r.has_lead && r.lead.dir == XMSI_CALL && r.lead.xid != r.bad.xid)
		rt_rtr_request_refused(c, r.lead.xid);
}

static void rtr_receive(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in)
{
	struct wire_xmt m;

	if (in->p.htype == RDMA2_X_REPTERR) {
		receive_repterr(c, in);
		return;
	}
	if (wire_xmt_decode(in->buf, in->len, &m) != WIRE_OK) {
		rt_log(c, LOG_WARNING, "%s with xid %08x: malformed header",
		       wire_htype_name(in->p.htype), in->p.xid);
		rt_error_code(c, in->p.xid, RDMA2_ERR_BAD_XDR);
		/* While a group is open, only an XMTCONT is passed on to here. */
		if (rtr(c)->group.active)
			rt_rtr_group_abandon(c);
		else
			rt_rtr_discard(c, in->p.xid);
		if (in->p.htype == RDMA2_X_XMTRESP)
			rt_refuse_reply(c, in->p.xid);
		return;
	}
	if (m.p.htype == RDMA2_X_XMTCONT)
		rt_rtr_continued(c, w, in, &m);
	else
		rt_rtr_initial(c, w, in, &m);
}

static int rtr_init(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;
	struct rt_rtr *x = rtr(c);

	x->theirs.reqrxlim = x->theirs.respsxlim = 1;
	x->enabled = cfg->extensions & RT_EXT_RTR;
	if (!x->enabled)
		return 0;
	c->in_order = rt_rtr_in_order;
	c->ext_format = &rt_format_xmtreq;
	if (cfg->no_placement)
		return 0;
	x->ours.targets = cfg->placement_size / RT_RTR_SEGMENT;
	x->ours.ngroups = 2;
	x->ours.group[0] = (struct wire_rbgroup){ 1, RT_RTR_HEAD, 1, 0 };
	x->ours.group[1] =
		(struct wire_rbgroup){ x->ours.targets, RT_RTR_SEGMENT,
				       RT_RTR_SEGMENT, XMRSFLAG_PLT };
	/* 8.3: RBSIZ must agree with the structure. */
	c->ours.recv_size = RT_RTR_HEAD + cfg->placement_size;
	c->recv_fixed = true;
	rt_connprop_threshold(c);
	return 0;
}

static int rtr_prepare(struct rt_instance *inst, const struct rt_params *p)
{
	inst->call_room = sizeof(struct rt_rtr_in);
	inst->request_room = sizeof(struct rt_rtr_out);
	return 0;
}

static int rtr_start(struct rt_instance *inst)
{
	if (!(inst->cfg.extensions & RT_EXT_RTR))
		return 0;
	inst->zeros = fab_pool_get(inst->pool, RT_RTR_ZEROS);
	if (!inst->zeros)
		return -ENOMEM;
	memset(inst->zeros->addr, 0, inst->zeros->size);
	return 0;
}

static void rtr_destroy(struct rt_instance *inst)
{
	fab_pool_put(inst->zeros);
}

static uint64_t rtr_due(struct rt_conn *c)
{
	return rtr(c)->group.active ? rtr(c)->group.deadline : 0;
}

static void rtr_expire(struct rt_conn *c, uint64_t now)
{
	if (!rtr_due(c) || rtr_due(c) > now)
		return;
	rt_log(c, LOG_WARNING, "a group was not completed in time");
	rt_error_code(c, rtr(c)->group.head.p.xid, RDMA2_ERR_INVAL_CONT);
	rt_rtr_group_abandon(c);
}

/* An XMTCONT outside of a group may be of either direction. */
static bool rtr_is_of(const struct rt_conn *c, uint32_t htype, bool reply)
{
	return htype == (reply ? RDMA2_X_XMTRESP : RDMA2_X_XMTREQ) ||
	       (htype == RDMA2_X_XMTCONT && !rtr(c)->group.active);
}

static void rtr_misplaced(struct rt_conn *c, const struct wire_prefix *p)
{
	if (p->htype == RDMA2_X_XMTREQ || p->htype == RDMA2_X_XMTRESP)
		rt_rtr_discard(c, p->xid);
	if (p->htype == RDMA2_X_XMTRESP)
		rt_refuse_reply(c, p->xid);
}

static void rtr_props_complete(struct rt_conn *c)
{
	struct rt_rtr *x = rtr(c);

	rt_rtr_update(c);
	if (x->usable)
		rt_log(c, LOG_INFO,
		       "rtrext: operations %u, %u target segments, requests of "
		       "%u, responses of %u transmissions",
		       x->theirs.support, x->theirs.layout.targets,
		       x->theirs.reqrxlim, x->theirs.respsxlim);
}

static bool rtr_error(struct rt_conn *c, uint32_t xid,
		      const struct wire_error *err)
{
	if (err->code != RDMA2_ERR_INVAL_HTYPE ||
	    !rt_xids_contain(&rtr(c)->sent, xid))
		return false;
	rt_rtr_disable(c);
	return true;
}

const struct rt_ext rt_ext_rtr = {
	.bit = RT_EXT_RTR,
	.first = RDMA2_X_XMTREQ,
	.last = RDMA2_X_REPTERR,
	.anywhere = RDMA2_X_REPTERR,
	.carries_rpc = true,
	.accepts = rtr_accepts,
	.event = rtr_event,
	.receive = rtr_receive,
	.is_of = rtr_is_of,
	.misplaced = rtr_misplaced,
	.error = rtr_error,
	.props = rt_rtr_props,
	.read_begin = rt_rtr_begin,
	.read_prop = rt_rtr_prop,
	.props_changed = rt_rtr_changed,
	.props_applied = rt_rtr_taken,
	.thresholds_changed = rt_rtr_resized,
	.props_complete = rtr_props_complete,
	.props_refused = rt_rtr_disable,
};

const struct rt_part rt_part_rtr = {
	.size = sizeof(struct rt_rtr),
	.slot = RT_SLOT_RTR,
	.optional = true,
	.prepare = rtr_prepare,
	.init = rtr_init,
	.start = rtr_start,
	.destroy = rtr_destroy,
	.due = rtr_due,
	.expire = rtr_expire,
	.disconnected = rt_rtr_group_reset,
};
