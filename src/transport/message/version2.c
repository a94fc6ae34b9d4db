/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * version2 - receiving messages of version 2, and when a GRANT is due
 *
 * A message is checked in this order: the use of credits, whether it may come between the
 * fragments of another [D2, D3], its header (wire_decode), and what its header type
 * allows.
 *
 * Context: the runner.
 */
#include <errno.h>
#include <string.h>

#include "transport/message/message.h"

/* ---- Header types ------------------------------------------------------ */

static enum rt_event classify(uint32_t htype)
{
	switch (htype) {
	case RDMA2_ERROR:
		return EV_MSG_ERROR;
	case RDMA2_GRANT:
		return EV_MSG_GRANT;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		return EV_MSG_PROPS;
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_MIDDLE:
	case RDMA2_CALL_INLINE:
		return EV_MSG_CALL;
	case RDMA2_REPLY_EXTERNAL:
	case RDMA2_REPLY_MIDDLE:
	case RDMA2_REPLY_INLINE:
		return EV_MSG_REPLY;
	default:
		/* wire_decode() has refused unknown types. */
		return EV_MSG_EXT;
	}
}

static bool is_reply(uint32_t htype)
{
	return classify(htype) == EV_MSG_REPLY;
}

static bool is_call(uint32_t htype)
{
	return classify(htype) == EV_MSG_CALL;
}

static bool is_middle(uint32_t htype)
{
	return htype == RDMA2_CALL_MIDDLE || htype == RDMA2_REPLY_MIDDLE;
}

static bool is_inline(uint32_t htype)
{
	return htype == RDMA2_CALL_INLINE || htype == RDMA2_REPLY_INLINE;
}

/* Returns the extension with the header type, or NULL if none accepts it now. */
static const struct rt_ext *ext_of(const struct rt_conn *c, uint32_t htype)
{
	if (htype < RT_EXT_HTYPES)
		return NULL;
	for (const struct rt_ext *const *x = c->inst->exts; *x; x++)
		if (htype >= (*x)->first && htype <= (*x)->last &&
		    (*x)->accepts(c, htype))
			return *x;
	return NULL;
}

/* ---- Order of messages ------------------------------------------------- */

static bool is_of(const struct rt_conn *c, uint32_t htype, bool reply)
{
	const struct rt_ext *x = ext_of(c, htype);

	if (x && x->is_of)
		return x->is_of(c, htype, reply);
	return reply ? is_reply(htype) : is_call(htype);
}

/*
 * Returns true if the message is a fragment of one that was refused before (7.1.4). That
 * one ends with its INLINE, or when a payload message of another XID is received.
 * EXTERNAL and the messages of rtrext are not fragments [D5], but end it as well.
 */
static bool is_discarded(struct rt_conn *c, const struct wire_prefix *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct rt_discard *d = &c->msg.discard[i];

		if (d->on && p->xid == d->xid && is_of(c, p->htype, d->reply)) {
			d->on = !is_inline(p->htype);
			return true;
		}
	}
	if (is_call(p->htype) || is_reply(p->htype))
		memset(c->msg.discard, 0, sizeof(c->msg.discard));
	return false;
}

/* Refuse a message that may not come here. */
static void refuse_misplaced(struct rt_conn *c, const struct wire_prefix *p)
{
	const struct rt_ext *x = ext_of(c, p->htype);

	rt_error_code(c, p->xid, RDMA2_ERR_INVAL_CONT);
	if (is_middle(p->htype))
		rt_sequence_discard(c, p->xid, is_reply(p->htype));
	if (x && x->misplaced)
		x->misplaced(c, p);
	if (is_reply(p->htype))
		rt_refuse_reply(c, p->xid);
}

/* Returns true if the message may come here. If not, it has been answered. */
static bool is_in_order(struct rt_conn *c, const struct wire_prefix *p)
{
	if (p->htype == RDMA2_GRANT || p->htype == RDMA2_ERROR)
		return true;
	if (is_discarded(c, p)) {
		RT_COUNT(c, dropped, 1);
		return false;
	}
	/* The peer need not send the remaining fragments of a Reply that was refused. */
	if (c->msg.seq.discarding && !rt_sequence_continues(c, p))
		rt_sequence_abandon(c, c->msg.seq.xid, true, false);
	if (c->msg.seq.active && !rt_sequence_continues(c, p)) {
		uint32_t broken = c->msg.seq.xid;

		rt_log(c, LOG_WARNING, "%s inside a continued message",
		       wire_htype_name(p->htype));
		rt_sequence_abandon(c, broken, c->msg.seq.reply, true);
		refuse_misplaced(c, p);
		if (broken != p->xid)
			rt_error_code(c, broken, RDMA2_ERR_INVAL_CONT);
		return false;
	}
	if (p->htype == RDMA2_CONNPROP_MIDDLE ||
	    p->htype == RDMA2_CONNPROP_FINAL) {
		if (!c->theirs.complete) {
			/* 6.3.3 looks at the header type, and not at the
			 * properties [F2]. */
			c->msg.props_open |= p->htype == RDMA2_CONNPROP_MIDDLE;
			return true;
		}
		/* 6.3.4: nothing after FINAL. */
		refuse_misplaced(c, p);
		return false;
	}
	if (c->msg.props_open) {
		/* 6.3.3; the sequence stays open for a FINAL [D3]. */
		refuse_misplaced(c, p);
		return false;
	}
	return true;
}

/* ---- One message ------------------------------------------------------ */

/*
 * There is no memory for a continued message, so it alone fails ([D3] step 3). But the
 * last fragment of a Reply may invalidate memory of its Call, and its sender may need
 * that Call's credit [G3]. So the Call remains outstanding, and the sequence open, until
 * that fragment is received. Returns true if the sequence remains open.
 */
static bool begin_discarding(struct rt_conn *c, const struct wire_msg *m)
{
	struct rt_sequence *s = &c->msg.seq;
	bool middle = is_middle(m->p.htype);

	rt_log(c, LOG_WARNING, "no memory for a continued message");
	rt_error_code(c, m->p.xid,
		      s->reply ? RDMA2_ERR_INVAL_CONT : RDMA2_ERR_SYSTEM);
	s->discarding = s->reply && middle;
	if (s->discarding)
		rt_sequence_free_buffers(c);
	else
		rt_sequence_abandon(c, m->p.xid, s->reply, middle);
	return s->discarding;
}

static void receive_fragment(struct rt_conn *c, const struct wire_msg *m,
			     struct rt_work *w)
{
	struct rt_sequence *s = &c->msg.seq;
	bool middle = is_middle(m->p.htype);
	bool reply = is_reply(m->p.htype);

	if ((middle || s->active) && !rt_sequence_remaining_ok(c, m, middle)) {
		rt_log(c, LOG_WARNING, "rdma_remaining %u does not fit",
		       m->remaining);
		if (!s->discarding)
			rt_error_code(c, m->p.xid, RDMA2_ERR_INVAL_CONT);
		rt_sequence_abandon(c, m->p.xid, reply, middle);
		return;
	}
	if (middle && !s->active) {
		s->active = true;
		rt_part_set(c, RT_SLOT_SEQUENCE, true);
		s->reply = reply;
		s->xid = m->p.xid;
		s->deadline = rt_now_ms() + c->inst->cfg.continuation_ms;
		s->began = base_now_ns();
	}
	if (s->active) {
		if (!s->discarding && !rt_sequence_append(c, m) &&
		    !begin_discarding(c, m))
			return;
		s->remaining = m->remaining;
		s->last = m->payload_len;
	}
	RT_COUNT(c, inline_bytes_received, m->payload_len);
	if (s->active)
		RT_COUNT(c, continued_bytes_received, m->payload_len);
	if (middle) {
		RT_COUNT(c, fragments_received, 1);
		return;
	}
	if (s->discarding)
		rt_sequence_abandon(c, m->p.xid, reply, false);
	else if (reply)
		c->requester->reply(c, m, w, s->active ? s : NULL);
	else
		c->responder->call(c, m, w, s->active ? s : NULL);
	if (s->active)
		rt_sequence_reset(c);
}

static void version2_bad_message(struct rt_conn *c, const struct wire_prefix *p,
				 enum wire_status status)
{
	static const uint32_t code[] = {
		[WIRE_BAD_HTYPE] = RDMA2_ERR_INVAL_HTYPE,
		[WIRE_BAD_XDR] = RDMA2_ERR_BAD_XDR,
		[WIRE_BAD_PROPVAL] = RDMA2_ERR_BAD_PROPVAL,
	};

	rt_log(c, LOG_WARNING, "%s with xid %08x: %s",
	       wire_htype_name(p->htype), p->xid, wire_status_name(status));
	if (status == WIRE_BAD_ERROR) {
		/* An ERROR is never answered [E1, E10]. */
		rt_bad_message(c);
		RT_COUNT(c, dropped, 1);
		return;
	}
	/* 7.1.4 is about any problem with a fragment, so it precedes 7.2.1, which is
	 * about messages in general [D9]. */
	rt_error_code(c, p->xid,
		      is_middle(p->htype) || rt_sequence_continues(c, p) ?
			      RDMA2_ERR_INVAL_CONT :
			      code[status]);
	if (is_call(p->htype) || is_reply(p->htype))
		rt_sequence_abandon(c, p->xid, is_reply(p->htype),
				    is_middle(p->htype));
}

/* 6.5: all header types but those of the control plane may invalidate [C11]. */
static bool may_invalidate(uint32_t htype)
{
	return is_reply(htype) || htype == RDMA2_X_XMTRESP ||
	       htype == RDMA2_X_XMTCONT;
}

static void version2_receive(struct rt_conn *c, struct rt_work *w,
			     const struct rt_in *in)
{
	const struct wire_prefix *p = &in->p;
	enum wire_status status;
	const struct rt_ext *x = ext_of(c, p->htype);
	bool rpc = is_call(p->htype) || is_reply(p->htype) ||
		   (x && x->carries_rpc);
	struct wire_msg m;
	enum rt_event ev;

	if (in->invalidated &&
	    !rt_invalidation_allowed(c, in, may_invalidate(p->htype)))
		return;
	if (rt_credit_overrun(&c->credit) && c->state < RT_CLOSING) {
		/* 4.2.1, [A5]: only credits limit the memory that a peer's Calls
		 * take. */
		rt_conn_stop(c, EV_ABORT, -EPROTO,
			     "%u messages came, %u were granted",
			     c->credit.received, c->credit.announced);
		return;
	}
	assert(c->state >= RT_CLOSING || rt_credit_is_valid(&c->credit));
	if (!x)
		status = wire_decode(in->buf, in->len,
				     !rt_sequence_continues(c, p), &m);
	else
		status = x->check ? x->check(in) : WIRE_OK;
	if (status != WIRE_OK)
		ev = EV_MSG_BAD;
	else
		ev = x && x->event ? x->event(p->htype) : classify(p->htype);
	if (c->state < RT_CLOSING) {
		c->msg.messages++;
		rt_credit_take(&c->credit, p->credit);
	}
	if (!rt_event(c, ev)) {
		rt_bad_message(c);
		return;
	}
	if (c->in_order && !c->in_order(c, p))
		return;
	if (!(x && p->htype == x->anywhere) && !is_in_order(c, p))
		return;
	if (c->gate && !c->gate->admits(c, rpc)) {
		RT_COUNT(c, dropped, 1);
		return;
	}
	if (status != WIRE_OK) {
		version2_bad_message(c, p, status);
		return;
	}
	if (x) {
		x->receive(c, w, in);
		return;
	}
	if (m.surplus)
		RT_COUNT(c, surplus, 1);
	switch (m.p.htype) {
	case RDMA2_GRANT:
		c->credit.grants++;
		RT_COUNT(c, grants_received, 1);
		rt_grant_received(c);
		break;
	case RDMA2_ERROR:
		RT_COUNT(c, errors_received, 1);
		rt_error_received(c, m.p.xid, &m.error);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		status = rt_connprop_receive(c, &m);
		if (status != WIRE_OK)
			version2_bad_message(c, p, status);
		break;
	case RDMA2_CALL_EXTERNAL:
		c->responder->call(c, &m, w, NULL);
		break;
	case RDMA2_REPLY_EXTERNAL:
		c->requester->reply(c, &m, w, NULL);
		break;
	default:
		receive_fragment(c, &m, w);
		break;
	}
}

/* ---- GRANTs ---------------------------------------------------------------- */

/* Returns true if the peer is expected to send something once it has a credit: more of a
 * message, a Reply, or (a client without a Call in progress) a new Call. */
static bool peer_active(struct rt_conn *c)
{
	return c->msg.seq.active || c->receiving_group || c->msg.props_open ||
	       c->requests_out || (c->server && !c->calls_all);
}

static bool version2_grant_due(struct rt_conn *c)
{
	const struct rt_credit *k = &c->credit;
	uint64_t now;

	/* The token that is being made will be in our first message [A7]. */
	if (!c->first_sent && c->token_pending)
		return false;
	if (!rt_state_may_send(c) || !rt_credit_grant_due(k) ||
	    !rt_credit_may_grant(k)) {
		c->reserve_deadline = 0;
		return false;
	}
	now = rt_now_ms();
	if (rt_credit_grant_safe(k,
				 !c->server || (c->reserve_deadline &&
						c->reserve_deadline <= now),
				 peer_active(c))) {
		c->reserve_deadline = 0;
		return true;
	}
	if (c->server && !c->reserve_deadline && !rt_credit_available(k) &&
	    rt_credit_exhausted(k))
		/* Neither end has credits. A client that follows the rule sends a
		 * GRANT before this time. */
		c->reserve_deadline = now + RT_RESERVE_MS;
	return false;
}

static void version2_refuse_call(struct rt_conn *c, uint32_t xid)
{
	rt_error_code(c, xid, RDMA2_ERR_SYSTEM);
}

const struct rt_version rt_version2 = {
	.number = WIRE_VERS2,
	.continuation = true,
	.answers_replies = true,
	.inv_field = true,
	.receives = rt_credit2_wanted,
	.credit_word = rt_credit2_word,
	.may_send = rt_credit2_may_post,
	.posted = rt_credit2_count,
	.grant_due = version2_grant_due,
	.fill_info = rt_credit2_info,
	.call_len = wire_call_len,
	.reply_len = wire_reply_len,
	.encode_call = wire_encode_call,
	.encode_reply = wire_encode_reply,
	.encode_error = wire_encode_error,
	.receive = version2_receive,
	.refuse_call = version2_refuse_call,
};
