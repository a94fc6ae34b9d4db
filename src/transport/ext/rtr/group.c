/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group - receiving transmission groups, 9.1 to 9.4, and the order of messages
 *
 * A group is one XMTREQ or XMTRESP and its XMTCONTs. When it is complete,
 * rtr_responder.c or rtr_requester.c takes it. Faults are answered by REPTERR, or by
 * BAD_XDR where that has no code [R9].
 *
 * Context: the runner.
 */
#include <string.h>

#include "base/be.h"
#include "transport/ext/rtr/rtr.h"

/* ---- Errors, 9.5 ------------------------------------------------------ */

static void report_expected(struct rt_conn *c, const struct wire_xmsid *bad,
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

void rt_rtr_group_reset(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;

	rt_assert_strand(c);
	for (uint32_t i = 0; g->active && i < g->next; i++) {
		struct fab_buf *b = g->part[i].buf;

		/* A Call may have taken it. */
		if (!b)
			continue;
		b->next = NULL;
		rt_receive_return(c, &b);
	}
	rt_memory_uncharge(c, g->memory);
	g->memory = 0;
	g->active = false;
	c->receiving_group = false;
	rt_part_set(c, RT_SLOT_RTR, false);
}

void rt_rtr_discard(struct rt_conn *c, uint32_t xid)
{
	rt_assert_strand(c);
	rtr(c)->discard[1] = rtr(c)->discard[0];
	rtr(c)->discard[0].on = true;
	rtr(c)->discard[0].xid = xid;
}

static bool is_discarded(const struct rt_conn *c, uint32_t xid)
{
	for (unsigned int i = 0; i < 2; i++)
		if (rtr(c)->discard[i].on && rtr(c)->discard[i].xid == xid)
			return true;
	return false;
}

void rt_rtr_group_abandon(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;
	uint32_t xid = g->head.p.xid;
	bool reply = g->reply;

	rt_assert_strand(c);
	rt_rtr_group_reset(c);
	rt_rtr_discard(c, xid);
	if (reply)
		rt_refuse_reply(c, xid);
}

static bool is_ext_type(uint32_t htype)
{
	return htype >= RT_EXT_HTYPES;
}

static bool is_rtr_type(uint32_t htype)
{
	return htype >= RDMA2_X_XMTREQ && htype <= RDMA2_X_REPTERR;
}

static bool is_response(uint32_t htype)
{
	return htype == RDMA2_X_XMTRESP || htype == RDMA2_REPLY_EXTERNAL ||
	       htype == RDMA2_REPLY_MIDDLE || htype == RDMA2_REPLY_INLINE;
}

/* A message between the transmissions of a group [R7]: drop both. */
static void refuse_intruder(struct rt_conn *c, const struct wire_prefix *p)
{
	const struct rt_rtr_group *g = &rtr(c)->group;
	struct wire_xmsid bad = {
		p->xid, is_response(p->htype) ? XMSI_REPLY : XMSI_CALL, 0
	};
	struct wire_xmsid lead = { g->head.p.xid,
				   g->reply ? XMSI_REPLY : XMSI_CALL,
				   g->next - 1 };

	report_expected(c, &bad, &lead,
			is_ext_type(p->htype) ? OPTRERR_BADOMT : OPTRERR_BADHMT,
			RDMA2_X_XMTCONT, p->htype);
	rt_rtr_group_abandon(c);
	if (p->htype == RDMA2_X_XMTREQ || p->htype == RDMA2_X_XMTRESP)
		rt_rtr_discard(c, p->xid);
	if (p->htype == RDMA2_CALL_MIDDLE || p->htype == RDMA2_REPLY_MIDDLE)
		rt_sequence_discard(c, p->xid, p->htype == RDMA2_REPLY_MIDDLE);
	if (is_response(p->htype))
		rt_refuse_reply(c, p->xid);
}

bool rt_rtr_in_order(struct rt_conn *c, const struct wire_prefix *p)
{
	rt_assert_strand(c);
	/* The properties of both ends must be known [M2]. */
	if (is_rtr_type(p->htype) && (!c->props_sent || !c->theirs.complete)) {
		rt_error_code(c, p->xid, RDMA2_ERR_INVAL_CONT);
		return false;
	}
	if (p->htype == RDMA2_GRANT || p->htype == RDMA2_ERROR ||
	    p->htype == RDMA2_X_REPTERR || p->htype == RDMA2_X_XMTCONT)
		return true;
	/* A new message: all transmissions of dropped groups have been received. */
	if (!rt_sequence_discards(c, p))
		memset(rtr(c)->discard, 0, sizeof(rtr(c)->discard));
	if (!rtr(c)->group.active)
		return true;
	refuse_intruder(c, p);
	return false;
}

/* Check the length of a transmission's payload [R12]. If no length would be right,
 * REPTERR has no range to name, so BAD_XDR answers. */
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

static void group_received(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;

	if (g->next < g->count)
		return;
	if (g->reply)
		rt_rtr_response_receive(c);
	else
		rt_rtr_call_receive(c);
	rt_rtr_group_reset(c);
}

void rt_rtr_initial(struct rt_conn *c, struct rt_work *w,
		    const struct rt_in *in, const struct wire_xmt *m)
{
	struct rt_rtr_group *g = &rtr(c)->group;
	bool reply = m->p.htype == RDMA2_X_XMTRESP;
	struct wire_xmsid id = { m->p.xid, reply ? XMSI_REPLY : XMSI_CALL, 0 };
	uint32_t limit = c->inst->cfg.max_transmissions;
	const uint8_t *first;

	rt_assert_strand(c);
	if (reply && !rt_rtr_response_limit(c, m->p.xid, &limit)) {
		/* [R11] */
		report_expected(c, &id, NULL, OPTRERR_BADXID, 0, m->p.xid);
		if (m->count > 1)
			rt_rtr_discard(c, m->p.xid);
		return;
	}
	if (!m->count || m->count > limit) {
		/* [R6] */
		report_expected(c, &id, NULL, OPTRERR_BADSEQ,
				m->count ? limit : 1, m->count);
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
	c->receiving_group = true;
	rt_part_set(c, RT_SLOT_RTR, true);
	g->reply = reply;
	g->head = *m;
	g->count = m->count;
	g->next = 0;
	g->memory = 0;
	g->deadline = rt_now_ms() + c->inst->cfg.continuation_ms;
	g->began = base_now_ns();
	take_part(g, m, w, in->len);
	group_received(c);
	return;
refuse:
	if (m->count > 1)
		rt_rtr_discard(c, m->p.xid);
	if (reply)
		rt_refuse_reply(c, m->p.xid);
}

void rt_rtr_continued(struct rt_conn *c, struct rt_work *w,
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

	rt_assert_strand(c);
	if (!g->active) {
		if (is_discarded(c, m->p.xid)) {
			RT_COUNT(c, dropped, 1);
			return;
		}
		report_expected(c, &id, NULL, OPTRERR_BADCONT, 0, 0);
		return;
	}
	if (m->p.xid != g->head.p.xid) {
		report_expected(c, &id, &lead, OPTRERR_BADXID, g->head.p.xid,
				m->p.xid);
	} else if (m->itype != itype) {
		/* [R5] */
		report_expected(c, &id, &lead, OPTRERR_BADOMT, itype, m->itype);
	} else if (m->xnum != g->next) {
		report_expected(c, &id, &lead, OPTRERR_BADSEQ, g->next,
				m->xnum);
	} else if (!part_ok(c, m, in->len, g->reply, m->xnum)) {
		/* part_ok() has answered. */
	} else if (!rt_memory_charge(c, g->memory, w->buf->size)) {
		rt_log(c, LOG_WARNING, "no memory for a group");
		rt_error_code(c, m->p.xid,
			      g->reply ? RDMA2_ERR_INVAL_CONT :
					 RDMA2_ERR_SYSTEM);
	} else {
		g->memory += w->buf->size;
		take_part(g, m, w, in->len);
		group_received(c);
		return;
	}
	rt_rtr_group_abandon(c);
}
