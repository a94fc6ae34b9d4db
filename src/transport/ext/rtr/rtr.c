/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr - the round-trip extension: properties, order of messages, groups
 *
 * Runner only. A message of the extension is taken if it is switched on here
 * and both ends have sent their CONNPROP_FINAL [M2]; else it is answered as
 * an unknown header type. A group is one XMTREQ or XMTRESP and its XMTCONTs;
 * when all of it is here, call.c or request.c takes it. What is wrong
 * is answered by REPTERR, or by BAD_XDR where that has no code [R9].
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "transport/ext/rtr/rtr.h"

/* ---- Properties, section 8 -------------------------------------------- */

static unsigned int props(struct rt_conn *c, struct wire_prop *to, void *buf,
			  size_t room)
{
	const struct rt_rtr *x = rtr(c);
	uint32_t lim = htonl(c->inst->cfg.max_transmissions);
	uint32_t all = htonl(RTRS_XREQ | RTRS_XRESP | RTRS_XCONT);
	uint8_t *at = buf;
	unsigned int n = 0;

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

static bool prop(struct rt_conn *c, struct rt_properties *unused,
		 const struct wire_prop *v)
{
	struct rt_rtr_peer *p = &rtr(c)->next;
	struct wire_rbstruct b;

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

static void begin(struct rt_conn *c)
{
	rtr(c)->next = rtr(c)->theirs;
}

static bool changed(const struct rt_conn *c)
{
	const struct rt_rtr_peer *a = &rtr(c)->next, *b = &rtr(c)->theirs;

	return a->support != b->support || a->reqrxlim != b->reqrxlim ||
	       a->respsxlim != b->respsxlim || a->has_struct != b->has_struct ||
	       a->length != b->length ||
	       !rt_rtr_same_layout(&a->layout, &b->layout);
}

static void taken(struct rt_conn *c, struct rt_properties *next)
{
	const struct rt_rtr_peer *p = &rtr(c)->next;

	if (!rtr(c)->on)
		return;
	rtr(c)->theirs = *p;
	c->theirs_fixed = p->has_struct;
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

	if (call && call->format)
		return &rtr_in(call)->plan;
	return rq && rq->format ? &rtr_out(rq)->plan : NULL;
}

static void resized(struct rt_conn *c)
{
	struct rt_rtr_peer *p = &rtr(c)->theirs;
	const struct rt_rtr_plan *plan = under_way(c);

	/* [R10]: of two sizes, the structure is the one not relied upon; it is
	 * again when they agree again [R15]. */
	if (c->theirs.complete)
		p->layout.targets =
			p->has_struct && p->length == c->theirs.recv_size ?
				p->targets :
				0;
	/* [R15]: it goes on as its first message said, or not at all. */
	if (!plan || (plan->room <= c->to_peer &&
		      (!plan->nbs || !rt_rtr_moved(c, plan))))
		return;
	rt_conn_stop(c, EV_VIOLATION, -EPROTO,
		     "the peer's Receive Buffer Size has become %u, or their "
		     "structure another, amid a message that was cut for what "
		     "it was",
		     c->theirs.recv_size);
}

static void settled(struct rt_conn *c)
{
	struct rt_rtr *x = rtr(c);

	rt_rtr_use(c);
	if (x->send)
		rt_log(c, LOG_INFO,
		       "rtrext: operations %u, %u target segments, requests of "
		       "%u, responses of %u transmissions",
		       x->theirs.support, x->theirs.layout.targets,
		       x->theirs.reqrxlim, x->theirs.respsxlim);
}

/* ---- Errors, 9.5 ------------------------------------------------------ */

static void expected(struct rt_conn *c, const struct wire_xmsid *bad,
		     const struct wire_xmsid *lead, uint32_t code,
		     uint32_t expect, uint32_t current)
{
	struct wire_repterr err = { .code = code,
				    .expect = expect,
				    .current = current,
				    .has_lead = lead };

	if (lead)
		err.lead = *lead;
	rt_rtr_report(c, &err, bad->xid, bad->dir == XMSI_REPLY, bad->seq);
}

/* ---- Groups ----------------------------------------------------------- */

static void group_reset(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;

	for (uint32_t i = 0; g->active && i < g->next; i++) {
		struct fab_buf *b = g->part[i].buf;

		/* Perhaps it has gone to a Call. */
		if (!b)
			continue;
		b->next = NULL;
		rt_receive_back(c, &b);
	}
	rt_memory_give(c, g->memory);
	g->memory = 0;
	g->active = false;
	c->partial = false;
}

/* Swallow what is still to come of a group. */
static void discard(struct rt_conn *c, uint32_t xid)
{
	rtr(c)->discard[1] = rtr(c)->discard[0];
	rtr(c)->discard[0].on = true;
	rtr(c)->discard[0].xid = xid;
}

static bool discarded(const struct rt_conn *c, uint32_t xid)
{
	for (unsigned int i = 0; i < 2; i++)
		if (rtr(c)->discard[i].on && rtr(c)->discard[i].xid == xid)
			return true;
	return false;
}

/* Drop the group; what is under way of it is to be swallowed. */
static void give_up(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;
	uint32_t xid = g->head.p.xid;
	bool reply = g->reply;

	group_reset(c);
	discard(c, xid);
	if (reply)
		rt_refuse_reply(c, xid);
}

static bool is_extension(uint32_t htype)
{
	return htype >= RT_EXT_HTYPES;
}

/* A type of rtrext. */
static bool is_ours(uint32_t htype)
{
	return htype >= RDMA2_X_XMTREQ && htype <= RDMA2_X_REPTERR;
}

static bool is_response(uint32_t htype)
{
	return htype == RDMA2_X_XMTRESP || htype == RDMA2_REPLY_EXTERNAL ||
	       htype == RDMA2_REPLY_MIDDLE || htype == RDMA2_REPLY_INLINE;
}

/* Something else amid a group [R7]: both are dropped. */
static void intruder(struct rt_conn *c, const struct wire_prefix *p)
{
	const struct rt_rtr_group *g = &rtr(c)->group;
	struct wire_xmsid bad = {
		p->xid, is_response(p->htype) ? XMSI_REPLY : XMSI_CALL, 0
	};
	struct wire_xmsid lead = { g->head.p.xid,
				   g->reply ? XMSI_REPLY : XMSI_CALL,
				   g->next - 1 };

	expected(c, &bad, &lead,
		 is_extension(p->htype) ? OPTRERR_BADOMT : OPTRERR_BADHMT,
		 RDMA2_X_XMTCONT, p->htype);
	give_up(c);
	if (p->htype == RDMA2_X_XMTREQ || p->htype == RDMA2_X_XMTRESP)
		discard(c, p->xid);
	if (p->htype == RDMA2_CALL_MIDDLE || p->htype == RDMA2_REPLY_MIDDLE)
		rt_sequence_discard(c, p->xid, p->htype == RDMA2_REPLY_MIDDLE);
	if (is_response(p->htype))
		rt_refuse_reply(c, p->xid);
}

static bool in_order(struct rt_conn *c, const struct wire_prefix *p)
{
	/* Before the properties are known [M2]. */
	if (is_ours(p->htype) && (!c->props_sent || !c->theirs.complete)) {
		rt_error_code(c, p->xid, RDMA2_ERR_INVAL_CONT);
		return false;
	}
	if (p->htype == RDMA2_GRANT || p->htype == RDMA2_ERROR ||
	    p->htype == RDMA2_X_REPTERR || p->htype == RDMA2_X_XMTCONT)
		return true;
	/* A new message: the rest of what was dropped has gone by. */
	if (!rt_sequence_discards(c, p))
		memset(rtr(c)->discard, 0, sizeof(rtr(c)->discard));
	if (!rtr(c)->group.active)
		return true;
	intruder(c, p);
	return false;
}

/* The part's payload, [R12]. Where no length would be right there is no range
 * to tell. */
static bool part_ok(struct rt_conn *c, const struct wire_xmt *m, size_t len,
		    bool reply, uint32_t seq)
{
	uint32_t min = m->p.htype == RDMA2_X_XMTCONT ? 0 : 4;
	uint32_t max = (uint32_t)(len - m->header_len) & ~3u;
	struct wire_repterr err = {
		.code = OPTRERR_BADPL, .value = m->pslen, .min = min, .max = max
	};

	if (m->pslen >= min && m->pslen <= max && !(m->pslen & 3))
		return true;
	if (max < min)
		rt_error_code(c, m->p.xid, RDMA2_ERR_BAD_XDR);
	else
		rt_rtr_report(c, &err, m->p.xid, reply, seq);
	return false;
}

static void take_part(struct rt_rtr_group *g, const struct wire_xmt *m,
		      struct rt_work *w, size_t len)
{
	g->part[g->next++] = (struct rt_rtr_part){ .buf = w->buf,
						   .len = len,
						   .payload = m->header_len,
						   .pslen = m->pslen };
	w->buf = NULL;
}

static void completed(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;

	if (g->next < g->count)
		return;
	if (g->reply)
		rt_rtr_response_receive(c);
	else
		rt_rtr_call_receive(c);
	/* What was not taken along. */
	group_reset(c);
}

static void initial(struct rt_conn *c, struct rt_work *w,
		    const struct rt_in *in, const struct wire_xmt *m)
{
	struct rt_rtr_group *g = &rtr(c)->group;
	bool reply = m->p.htype == RDMA2_X_XMTRESP;
	struct wire_xmsid id = { m->p.xid, reply ? XMSI_REPLY : XMSI_CALL, 0 };
	uint32_t limit = c->inst->cfg.max_transmissions;
	const uint8_t *first;

	if (reply && !rt_rtr_response_limit(c, m->p.xid, &limit)) {
		/* [R11] */
		expected(c, &id, NULL, OPTRERR_BADXID, 0, m->p.xid);
		if (m->count > 1)
			discard(c, m->p.xid);
		return;
	}
	if (!m->count || m->count > limit) {
		/* [R6] */
		expected(c, &id, NULL, OPTRERR_BADSEQ, m->count ? limit : 1,
			 m->count);
		goto refuse;
	}
	if (!part_ok(c, m, in->len, reply, 0))
		goto refuse;
	first = in->buf + m->header_len;
	if (m->p.xid != be32_get(first)) {
		/* 7.2 of version 2. */
		rt_error_code(c, m->p.xid, RDMA2_ERR_BAD_XDR);
		goto refuse;
	}
	g->active = true;
	c->partial = true;
	g->reply = reply;
	g->head = *m;
	g->count = m->count;
	g->next = 0;
	g->memory = 0;
	g->deadline = rt_now_ms() + c->inst->cfg.continuation_ms;
	g->began = rt_now_ns();
	take_part(g, m, w, in->len);
	completed(c);
	return;
refuse:
	if (m->count > 1)
		discard(c, m->p.xid);
	if (reply)
		rt_refuse_reply(c, m->p.xid);
}

static void continued(struct rt_conn *c, struct rt_work *w,
		      const struct rt_in *in, const struct wire_xmt *m)
{
	struct rt_rtr_group *g = &rtr(c)->group;
	uint32_t itype = g->reply ? RDMA2_X_XMTRESP : RDMA2_X_XMTREQ;
	struct wire_xmsid id = { m->p.xid,
				 m->itype == RDMA2_X_XMTRESP ? XMSI_REPLY :
							       XMSI_CALL,
				 m->xnum };
	struct wire_xmsid lead = { g->head.p.xid,
				   g->reply ? XMSI_REPLY : XMSI_CALL,
				   g->next - 1 };

	if (!g->active) {
		if (discarded(c, m->p.xid)) {
			RT_COUNT(c, dropped, 1);
			return;
		}
		expected(c, &id, NULL, OPTRERR_BADCONT, 0, 0);
		return;
	}
	if (m->p.xid != g->head.p.xid) {
		expected(c, &id, &lead, OPTRERR_BADXID, g->head.p.xid,
			 m->p.xid);
	} else if (m->itype != itype) {
		/* [R5] */
		expected(c, &id, &lead, OPTRERR_BADOMT, itype, m->itype);
	} else if (m->xnum != g->next) {
		expected(c, &id, &lead, OPTRERR_BADSEQ, g->next, m->xnum);
	} else if (!part_ok(c, m, in->len, g->reply, m->xnum)) {
		/* It has been said. */
	} else if (!rt_memory_take(c, g->memory, w->buf->size)) {
		rt_log(c, LOG_WARNING, "no memory for a group");
		rt_error_code(c, m->p.xid,
			      g->reply ? RDMA2_ERR_INVAL_CONT :
					 RDMA2_ERR_SYSTEM);
	} else {
		g->memory += w->buf->size;
		take_part(g, m, w, in->len);
		completed(c);
		return;
	}
	give_up(c);
}

/* ---- Messages --------------------------------------------------------- */

static bool takes(const struct rt_conn *c, uint32_t htype)
{
	const struct rt_rtr *x = rtr(c);

	if (!x->on || !c->props_sent || !c->theirs.complete)
		return false;
	switch (htype) {
	case RDMA2_X_XMTREQ:
		/* Without that bit there could be no answer [M2]. */
		return x->theirs.support & RTRS_XRESP && !x->refused;
	case RDMA2_X_XMTRESP:
	case RDMA2_X_XMTCONT:
	case RDMA2_X_REPTERR:
		/* Nothing was asked of one that has never announced it, and it
		 * need not know REPTERR. */
		return x->met;
	default:
		return false;
	}
}

static enum rt_event event(uint32_t htype)
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

static void reported(struct rt_conn *c, const struct rt_in *in)
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
	/* A response that was refused is not sent again [R13]. */
	if (r.bad.dir == XMSI_CALL)
		rt_rtr_refused(c, r.bad.xid);
	/* The group that it had come amid was dropped, too. */
	if (r.has_lead && r.lead.dir == XMSI_CALL && r.lead.xid != r.bad.xid)
		rt_rtr_refused(c, r.lead.xid);
}

static void receive(struct rt_conn *c, struct rt_work *w,
		    const struct rt_in *in)
{
	struct wire_xmt m;

	if (in->p.htype == RDMA2_X_REPTERR) {
		reported(c, in);
		return;
	}
	if (wire_xmt_decode(in->buf, in->len, &m) != WIRE_OK) {
		rt_log(c, LOG_WARNING, "%s with xid %08x: malformed header",
		       wire_htype_name(in->p.htype), in->p.xid);
		rt_error_code(c, in->p.xid, RDMA2_ERR_BAD_XDR);
		/* An XMTCONT: nothing else comes this far. */
		if (rtr(c)->group.active)
			give_up(c);
		else
			discard(c, in->p.xid);
		if (in->p.htype == RDMA2_X_XMTRESP)
			rt_refuse_reply(c, in->p.xid);
		return;
	}
	if (m.p.htype == RDMA2_X_XMTCONT)
		continued(c, w, in, &m);
	else
		initial(c, w, in, &m);
}

static int init(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;
	struct rt_rtr *x = rtr(c);

	x->theirs.reqrxlim = x->theirs.respsxlim = 1;
	x->on = cfg->extensions & RT_EXT_RTR;
	if (!x->on)
		return 0;
	c->in_order = in_order;
	c->other_format = &rt_format_xmtreq;
	if (cfg->no_placement)
		return 0;
	x->ours.targets = cfg->placement_size / RT_RTR_SEGMENT;
	x->ours.ngroups = 2;
	x->ours.group[0] = (struct wire_rbgroup){ 1, RT_RTR_HEAD, 1, 0 };
	x->ours.group[1] =
		(struct wire_rbgroup){ x->ours.targets, RT_RTR_SEGMENT,
				       RT_RTR_SEGMENT, XMRSFLAG_PLT };
	/* 8.3: in agreement with the structure. */
	c->ours.recv_size = RT_RTR_HEAD + cfg->placement_size;
	c->recv_fixed = true;
	rt_connprop_threshold(c);
	return 0;
}

static int prepare(struct rt_instance *inst, const struct rt_params *p)
{
	rt_call_room_want(inst, sizeof(struct rt_rtr_in));
	rt_request_room_want(inst, sizeof(struct rt_rtr_out));
	return 0;
}

static int start(struct rt_instance *inst)
{
	if (!(inst->cfg.extensions & RT_EXT_RTR))
		return 0;
	inst->zeros = fab_pool_get(inst->pool, RT_RTR_ZEROS);
	if (!inst->zeros)
		return -ENOMEM;
	memset(inst->zeros->addr, 0, inst->zeros->size);
	return 0;
}

static void destroy(struct rt_instance *inst)
{
	fab_pool_put(inst->zeros);
}

static uint64_t due(struct rt_conn *c)
{
	return rtr(c)->group.active ? rtr(c)->group.deadline : 0;
}

static void expire(struct rt_conn *c, uint64_t now)
{
	if (!due(c) || due(c) > now)
		return;
	rt_log(c, LOG_WARNING, "a group was not completed in time");
	rt_error_code(c, rtr(c)->group.head.p.xid, RDMA2_ERR_INVAL_CONT);
	give_up(c);
}

/* Of an XMTCONT its group says so. */
static bool directed(const struct rt_conn *c, uint32_t htype, bool reply)
{
	return htype == (reply ? RDMA2_X_XMTRESP : RDMA2_X_XMTREQ) ||
	       (htype == RDMA2_X_XMTCONT && !rtr(c)->group.active);
}

static void misplaced(struct rt_conn *c, const struct wire_prefix *p)
{
	if (p->htype == RDMA2_X_XMTREQ || p->htype == RDMA2_X_XMTRESP)
		discard(c, p->xid);
	if (p->htype == RDMA2_X_XMTRESP)
		rt_refuse_reply(c, p->xid);
}

/* Is the ERROR about an XMTRESP or REPTERR of ours? */
static bool error(struct rt_conn *c, uint32_t xid, const struct wire_error *err)
{
	if (err->code != RDMA2_ERR_INVAL_HTYPE ||
	    !rt_xids_have(&rtr(c)->sent, xid))
		return false;
	rt_rtr_off(c);
	return true;
}

const struct rt_ext rt_ext_rtr = {
	.bit = RT_EXT_RTR,
	.first = RDMA2_X_XMTREQ,
	.last = RDMA2_X_REPTERR,
	.beside = RDMA2_X_REPTERR,
	.rpc = true,
	.takes = takes,
	.event = event,
	.receive = receive,
	.directed = directed,
	.misplaced = misplaced,
	.error = error,
	.props = props,
	.begin = begin,
	.prop = prop,
	.changed = changed,
	.taken = taken,
	.resized = resized,
	.settled = settled,
	.refused = rt_rtr_off,
};

const struct rt_part rt_part_rtr = {
	.room = sizeof(struct rt_rtr),
	.slot = RT_SLOT_RTR,
	.prepare = prepare,
	.init = init,
	.start = start,
	.destroy = destroy,
	.due = due,
	.expire = expire,
	.down = group_reset,
};
