/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recv - version 2 messages: credits, continuation, dispatch
 *
 * Runner only. Order of the checks on one message, after those of version.c:
 * credit word, place in a continuation sequence [D2, D3], header
 * (wire_decode), then by header type.
 */
#include <errno.h>
#include <string.h>

#include "transport/internal.h"

/* ---- Continuation, 6.6.2 ---------------------------------------------- */

void rt_sequence_reset(struct rt_conn *c)
{
	struct rt_sequence *s = &c->seq;

	rt_memory_give(c, s->memory);
	rt_bufs_put(&s->bufs);
	memset(s, 0, sizeof(*s));
}

/* Swallow what is still to come of a message, [D3] step 3 and 7.1.4. */
void rt_sequence_discard(struct rt_conn *c, uint32_t xid, bool reply)
{
	c->discard[1] = c->discard[0];
	c->discard[0] = (struct rt_discard){ true, reply, xid };
}

/* Give up a continued message; @more of it may be under way. */
static void give_up(struct rt_conn *c, uint32_t xid, bool reply, bool more)
{
	rt_sequence_reset(c);
	if (more)
		rt_sequence_discard(c, xid, reply);
	if (reply)
		rt_refuse_reply(c, xid);
}

/* The buffers of a reassembled message are this long: few pieces, little
 * memory before the octets have really come [D6]. */
static size_t fragment_room(const struct rt_conn *c)
{
	size_t n = 65536;

	while (c->inst->cfg.max_message / n > RT_MAX_PIECES / 2)
		n *= 4;
	return n;
}

static bool sequence_append(struct rt_conn *c, const uint8_t *data, size_t len)
{
	struct rt_sequence *s = &c->seq;
	size_t room = fragment_room(c);

	s->len += len;
	while (len) {
		struct rt_piece *p;
		size_t n;

		if (!s->tail || s->tail_used == s->tail->size ||
		    s->tail_used == room) {
			struct fab_buf *b;

			if (s->npieces == RT_MAX_PIECES / 2 + 1)
				return false;
			b = rt_memory_get(c, s->memory, room);
			if (!b)
				return false;
			s->memory += b->size;
			rt_bufs_add(&s->bufs, b);
			s->tail = b;
			s->tail_used = 0;
			s->piece[s->npieces++] =
				(struct rt_piece){ b->addr, 0, b->mr };
		}
		p = &s->piece[s->npieces - 1];
		n = room - s->tail_used;
		if (n > len)
			n = len;
		memcpy((uint8_t *)p->addr + p->len, data, n);
		p->len += n;
		s->tail_used += n;
		data += n;
		len -= n;
	}
	return true;
}

/*
 * rdma_remaining against what has come so far [D1]: the octets after this
 * message, or those of this message too. Which of them it is the first fragment
 * tells that does not fit both; in each series every fragment brings the end
 * nearer by its length, which is not zero.
 */
static bool remaining_ok(struct rt_conn *c, const struct wire_msg *m,
			 bool middle)
{
	struct rt_sequence *s = &c->seq;
	const uint64_t most = c->inst->cfg.max_message;
	const uint64_t len = m->payload_len, all = s->len + len;
	const uint64_t left = middle ? m->remaining : 0;

	if (s->active) {
		s->without &= s->remaining == len + left;
		s->with &= s->remaining == s->last + (middle ? left : len);
	} else {
		s->without = s->with = true;
	}
	if (middle) {
		s->without &= left && all + left <= most;
		s->with &= left > len && s->len + left <= most;
	}
	return s->without || s->with;
}

static bool is_reply(uint32_t htype)
{
	return htype == RDMA2_REPLY_EXTERNAL || htype == RDMA2_REPLY_MIDDLE ||
	       htype == RDMA2_REPLY_INLINE;
}

static bool is_call(uint32_t htype)
{
	return htype == RDMA2_CALL_EXTERNAL || htype == RDMA2_CALL_MIDDLE ||
	       htype == RDMA2_CALL_INLINE;
}

static bool is_middle(uint32_t htype)
{
	return htype == RDMA2_CALL_MIDDLE || htype == RDMA2_REPLY_MIDDLE;
}

/* Can this message be a fragment, or the end, of that one? */
static bool belongs(const struct wire_prefix *p, uint32_t xid, bool reply)
{
	uint32_t middle = reply ? RDMA2_REPLY_MIDDLE : RDMA2_CALL_MIDDLE;
	uint32_t last = reply ? RDMA2_REPLY_INLINE : RDMA2_CALL_INLINE;

	return p->xid == xid && (p->htype == middle || p->htype == last);
}

/* Does this message go on with the sequence in progress? */
static bool continues(const struct rt_conn *c, const struct wire_prefix *p)
{
	return c->seq.active && belongs(p, c->seq.xid, c->seq.reply);
}

/* Is it for that direction? Of rtrext's XMTCONT its group says so. */
static bool directed(const struct rt_conn *c, uint32_t htype, bool reply)
{
	if (rt_rtr_takes(c, htype))
		return htype == (reply ? RDMA2_X_XMTRESP : RDMA2_X_XMTREQ) ||
		       (htype == RDMA2_X_XMTCONT && !c->rtr.group.active);
	return reply ? is_reply(htype) : is_call(htype);
}

static bool is_inline(uint32_t htype)
{
	return htype == RDMA2_CALL_INLINE || htype == RDMA2_REPLY_INLINE;
}

bool rt_sequence_discards(const struct rt_conn *c, const struct wire_prefix *p)
{
	for (unsigned int i = 0; i < 2; i++)
		if (c->discard[i].on &&
		    belongs(p, c->discard[i].xid, c->discard[i].reply))
			return true;
	return false;
}

/*
 * Is this of a message that was refused before (7.1.4)? Its INLINE is the end
 * of it, and so is a payload message of another XID. EXTERNAL is of no
 * continued message [D5], nor is what rtrext has, but they may not be taken for
 * it either.
 */
static bool discarded(struct rt_conn *c, const struct wire_prefix *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct rt_discard *d = &c->discard[i];

		if (d->on && p->xid == d->xid &&
		    directed(c, p->htype, d->reply)) {
			d->on = !is_inline(p->htype);
			return true;
		}
	}
	if (is_call(p->htype) || is_reply(p->htype))
		memset(c->discard, 0, sizeof(c->discard));
	return false;
}

/* Refuse a message for where it stands between others. */
static void misplaced(struct rt_conn *c, const struct wire_prefix *p)
{
	rt_error_code(c, p->xid, RDMA2_ERR_INVAL_CONT);
	if (is_middle(p->htype))
		rt_sequence_discard(c, p->xid, is_reply(p->htype));
	if ((p->htype == RDMA2_X_XMTREQ || p->htype == RDMA2_X_XMTRESP) &&
	    rt_rtr_takes(c, p->htype))
		rt_rtr_discard(c, p->xid);
	if (is_reply(p->htype) ||
	    (p->htype == RDMA2_X_XMTRESP && rt_rtr_takes(c, p->htype)))
		rt_refuse_reply(c, p->xid);
}

/*
 * Is the message allowed where it stands between others? If not, it has been
 * answered and must be dropped.
 */
static bool in_order(struct rt_conn *c, const struct wire_prefix *p)
{
	if (p->htype == RDMA2_GRANT || p->htype == RDMA2_ERROR)
		return true;
	if (discarded(c, p)) {
		RT_COUNT(c, dropped, 1);
		return false;
	}
	if (c->seq.active && !continues(c, p)) {
		uint32_t broken = c->seq.xid;

		rt_log(c, LOG_WARNING, "%s inside a continued message",
		       wire_htype_name(p->htype));
		give_up(c, broken, c->seq.reply, true);
		misplaced(c, p);
		if (broken != p->xid)
			rt_error_code(c, broken, RDMA2_ERR_INVAL_CONT);
		return false;
	}
	if (p->htype == RDMA2_CONNPROP_MIDDLE ||
	    p->htype == RDMA2_CONNPROP_FINAL) {
		if (!c->theirs.complete) {
			/* 6.3.3 is about the header type, so also by one that
			 * is refused for what is in it [F2]. */
			c->props_open |= p->htype == RDMA2_CONNPROP_MIDDLE;
			return true;
		}
		/* 6.3.4: nothing after FINAL. */
		misplaced(c, p);
		return false;
	}
	if (c->props_open) {
		/* 6.3.3; the sequence stays open for a FINAL [D3]. */
		misplaced(c, p);
		return false;
	}
	return true;
}

/* ---- One message ------------------------------------------------------ */

static void fragment(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w)
{
	struct rt_sequence *s = &c->seq;
	bool middle = is_middle(m->p.htype);
	bool reply = is_reply(m->p.htype);

	if ((middle || s->active) && !remaining_ok(c, m, middle)) {
		rt_log(c, LOG_WARNING, "rdma_remaining %u does not fit",
		       m->remaining);
		rt_error_code(c, m->p.xid, RDMA2_ERR_INVAL_CONT);
		give_up(c, m->p.xid, reply, middle);
		return;
	}
	if (middle && !s->active) {
		s->active = true;
		s->reply = reply;
		s->xid = m->p.xid;
		s->deadline = rt_now_ms() + c->inst->cfg.continuation_ms;
		s->began = rt_now_ns();
	}
	if (s->active) {
		if (!sequence_append(c, m->payload, m->payload_len)) {
			rt_log(c, LOG_WARNING,
			       "no memory for a continued message");
			rt_error_code(c, m->p.xid,
				      reply ? RDMA2_ERR_INVAL_CONT :
					      RDMA2_ERR_SYSTEM);
			give_up(c, m->p.xid, reply, middle);
			return;
		}
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
	if (reply)
		rt_response_receive(c, m, w, s->active);
	else
		rt_call_receive(c, m, w, s->active);
	if (s->active)
		rt_sequence_reset(c);
}

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
		/* What is not known has not been decoded. */
		return EV_MSG_EXT;
	}
}

static void bad_message(struct rt_conn *c, const struct wire_prefix *p,
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
		/* Nothing is ever answered to an ERROR [E1, E10]. */
		rt_wrong(c);
		RT_COUNT(c, dropped, 1);
		return;
	}
	/* 7.1.4 is about any problem with a message of a sequence, so it goes
	 * before 7.2.1, which is about messages in general [D9]. */
	rt_error_code(c, p->xid,
		      is_middle(p->htype) || continues(c, p) ?
			      RDMA2_ERR_INVAL_CONT :
			      code[status]);
	/* in_order() let it pass, so a sequence in progress is its own. */
	if (is_call(p->htype) || is_reply(p->htype))
		give_up(c, p->xid, is_reply(p->htype), is_middle(p->htype));
}

/* 6.5: all but the control plane's types may invalidate [C11]. */
static bool may_invalidate(uint32_t htype)
{
	return is_reply(htype) || htype == RDMA2_X_XMTRESP ||
	       htype == RDMA2_X_XMTCONT;
}

void rt_receive2(struct rt_conn *c, struct rt_work *w, const struct rt_in *in)
{
	const struct wire_prefix *p = &in->p;
	enum wire_status status;
	bool xmt = rt_rtr_takes(c, p->htype);
	struct wire_msg m;
	enum rt_event ev;

	if (in->invalidated &&
	    !rt_invalidation_ok(c, in, may_invalidate(p->htype)))
		return;
	if (rt_credit_overrun(&c->credit) && c->state < RT_CLOSING) {
		/* 4.2.1, [A5]: who does not keep to its credits would not be
		 * held by them either from filling the memory with Calls. */
		rt_conn_fail(c, -EPROTO, "%u messages came, %u were granted",
			     c->credit.received, c->credit.announced);
		rt_event(c, EV_ABORT);
		return;
	}
	status = rt_xchar_mine(c, p->htype) ?
			 rt_xchar_check(in) :
			 wire_decode(in->buf, in->len, !continues(c, p), &m);
	ev = xmt	       ? rt_rtr_event(p->htype) :
	     status == WIRE_OK ? classify(p->htype) :
				 EV_MSG_BAD;
	if (c->state < RT_CLOSING) {
		c->messages++;
		rt_credit_take(&c->credit, p->credit);
	}
	if (!rt_event(c, ev)) {
		rt_wrong(c);
		RT_COUNT(c, dropped, 1);
		return;
	}
	if (c->rtr.on && !rt_rtr_in_order(c, p))
		return;
	if (!(xmt && p->htype == RDMA2_X_REPTERR) && !in_order(c, p))
		return;
	if (c->auth.phase == RT_AUTH_REFUSING ||
	    ((is_call(p->htype) || is_reply(p->htype) || xmt) &&
	     !rt_auth_admits(c))) {
		RT_COUNT(c, dropped, 1);
		return;
	}
	if (xmt) {
		rt_rtr_receive(c, w, in);
		return;
	}
	if (status != WIRE_OK) {
		bad_message(c, p, status);
		return;
	}
	if (rt_xchar_mine(c, p->htype)) {
		rt_xchar_receive(c, in);
		return;
	}
	if (m.surplus)
		RT_COUNT(c, surplus, 1);
	switch (m.p.htype) {
	case RDMA2_GRANT:
		c->credit.grants++;
		RT_COUNT(c, grants_received, 1);
		break;
	case RDMA2_ERROR:
		RT_COUNT(c, errors_received, 1);
		rt_response_error(c, m.p.xid, &m.error);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		status = rt_connprop_receive(c, &m);
		if (status != WIRE_OK)
			bad_message(c, p, status);
		break;
	case RDMA2_CALL_EXTERNAL:
		rt_call_receive(c, &m, w, false);
		break;
	case RDMA2_REPLY_EXTERNAL:
		rt_response_receive(c, &m, w, false);
		break;
	default:
		fragment(c, &m, w);
		break;
	}
}

/* ---- As a part of the connection ---------------------------------------- */

static void init(struct rt_conn *c)
{
	rt_connprop_init(c);
	rt_version_init(c);
}

static void up(struct rt_conn *c, const void *priv, size_t len)
{
	if (!c->server)
		rt_private_take(c, priv, len);
	/* Version 1 has no first message of its own. */
	rt_event(c, !c->server && c->v == &rt_version1 ? EV_VERSION1 : EV_UP);
}

static uint64_t due(struct rt_conn *c)
{
	return c->seq.active ? c->seq.deadline : 0;
}

static void expire(struct rt_conn *c, uint64_t now)
{
	if (!c->seq.active || c->seq.deadline > now)
		return;
	rt_log(c, LOG_WARNING, "a continued message was not completed in time");
	rt_error_code(c, c->seq.xid, RDMA2_ERR_INVAL_CONT);
	give_up(c, c->seq.xid, c->seq.reply, true);
}

static void down(struct rt_conn *c)
{
	rt_sequence_reset(c);
	rt_version_ended(c);
}

const struct rt_part rt_part_message = {
	.init = init,
	.up = up,
	.due = due,
	.expire = expire,
	.down = down,
};
