/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * v1 - what is of version 1 alone: RFC 8166, RFC 8797, RFC 8167
 *
 * Runner only. Version 1 has no properties: thresholds and remote invalidation come
 * from the private data, everything else is given values that any peer takes,
 * in the form of properties, so that the roles need not know the difference.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/message/message.h"

void rt_version1_settled(struct rt_conn *c)
{
	struct wire_cm_private ours;

	rt_assert_strand(c);
	rt_private_ours(c->inst, c->server, &ours);
	c->msg.version = WIRE_VERS1;
	c->v = &rt_version1;
	/* RFC 8797 4.1: both, or nobody. */
	c->remote_invalidation = ours.remote_invalidation &&
				 c->msg.private.remote_invalidation;
	/* RFC 8797 4.2, each way. */
	c->to_peer = MIN(ours.send_size, c->msg.private.recv_size) &
		     ~(uint32_t)3;
	c->from_peer = MIN(ours.recv_size, c->msg.private.send_size);
	c->ours.send_size = ours.send_size;
	c->ours.recv_size = ours.recv_size;
	rt_receives_size(c, c->ours.recv_size);
	c->theirs.send_size = c->msg.private.send_size;
	c->theirs.recv_size = c->msg.private.recv_size;
	/*
	 * RFC 8167 5.3, 6: reverse Calls go inline; whether the client can take
	 * one is for the upper layers to know [G5].
	 */
	c->ours.reverse = MIN(c->ours.reverse, RDMA2_RVRSDIR_SIMPLE);
	c->theirs.reverse = c->server ? RDMA2_RVRSDIR_SIMPLE :
					RDMA2_RVRSDIR_NONE;
	c->theirs.complete = true;
	rt_log(c, LOG_INFO, "version 1, inline %u out, %u in%s", c->to_peer,
	       c->from_peer,
	       c->remote_invalidation ? ", remote invalidation" : "");
	rt_conn_tell_established(c);
}

/* ---- Flow control ----------------------------------------------------- */

static uint32_t receives(const struct rt_conn *c)
{
	return rt_credit1_receives(&c->credit1, !c->server, c->requests_out);
}

static uint32_t credit_word(const struct rt_conn *c, enum rt_out_kind kind)
{
	if (kind == RT_OUT_CALL)
		return c->credit1.request;
	return rt_credit1_grant(&c->credit1, c->credit.holding);
}

static bool may_send(const struct rt_conn *c, enum rt_out_kind kind)
{
	const struct rt_credit1 *k = &c->credit1;

	if (kind != RT_OUT_CALL)
		return rt_credit1_may_reply(k, c->credit.holding -
						       (kind == RT_OUT_REPLY));
	return rt_credit1_may_call(k, c->requests_out) &&
	       (c->server || c->requests_out + k->lacking < k->request);
}

static void posted(struct rt_conn *c)
{
	assert(rt_credit1_is_valid(&c->credit1));
	c->credit1.sent++;
}

static bool grant_due(struct rt_conn *c)
{
	return false;
}

static void tell(const struct rt_conn *c, struct rt_conn_info *i)
{
	i->sent = c->credit1.sent;
	i->received = c->credit1.received;
	i->credit_limit = c->credit1.limit;
	i->advertised = c->credit1.grant;
}

/* ---- Receiving -------------------------------------------------------- */

/* The own Call that waits for a Reply with that XID. */
static const struct rt_own *awaited(struct rt_conn *c, uint32_t xid)
{
	const struct rt_own *own = rt_xid_find(c, xid);

	return own && own->posted ? own : NULL;
}

/*
 * Where the header does not say what it is, who waits for this XID takes it for
 * the Reply: RDMA_ERROR could be taken to be about another Call, as both
 * directions may use one XID (RFC 8167 2.4.1). But a procedure that is not
 * supported must be refused to a server that calls back, and to it an
 * RDMA_ERROR says nothing of a forward Call.
 */
static bool for_reply(struct rt_conn *c, const struct wire_msg *m,
		      enum wire_status status)
{
	if (m->role != WIRE_CONTROL)
		return m->role == WIRE_REPLY;
	if (status == WIRE_BAD_HTYPE && !c->server && c->ours.reverse)
		return false;
	return awaited(c, m->p.xid);
}

/*
 * RFC 8166 4.5: a Responder answers a bad Call, a Requester drops a bad Reply
 * in silence.
 */
static void bad_message(struct rt_conn *c, const struct wire_msg *m,
			enum wire_status status)
{
	rt_log(c, LOG_WARNING, "%s with xid %08x: %s",
	       wire1_proc_name(m->p.htype), m->p.xid, wire_status_name(status));
	rt_wrong(c);
	if (!for_reply(c, m, status)) {
		rt_error_code(c, m->p.xid, RDMA1_ERR_CHUNK);
		return;
	}
	RT_COUNT(c, dropped, 1);
	if (awaited(c, m->p.xid))
		rt_refuse_reply(c, m->p.xid);
}

/*
 * RFC 8167 4.1: the credit value of a message that may be of either direction is
 * ignored. Without an RPC message in it, it is a Reply for certain only if it
 * answers a Call that had a Reply chunk.
 */
static bool grants(struct rt_conn *c, const struct wire_msg *m)
{
	const struct rt_own *own = awaited(c, m->p.xid);

	return !m->external || (own && own->reply_chunk);
}

static void call(struct rt_conn *c, struct rt_work *w, const struct wire_msg *m)
{
	if (!rt_credit1_may_take(&c->credit1, c->credit.holding)) {
		rt_conn_stop(c, EV_ABORT, -EPROTO,
			     "%u Calls in progress, %u were granted",
			     c->credit.holding, c->credit1.grant);
		return;
	}
	c->responder->call(c, m, w, NULL);
}

static void receive(struct rt_conn *c, struct rt_work *w,
		    const struct rt_in *in)
{
	enum wire_status status;
	struct wire_msg m;
	enum rt_event ev = EV_MSG_BAD;

	status = wire1_decode(in->buf, in->len, &m);
	if (status == WIRE_OK)
		ev = m.role == WIRE_CALL  ? EV_MSG_CALL :
		     m.role == WIRE_REPLY ? EV_MSG_REPLY :
					    EV_MSG_ERROR;
	if (in->invalidated && !rt_invalidation_ok(c, in, ev == EV_MSG_REPLY))
		return;
	if (!rt_event(c, ev))
		return;
	switch (status) {
	case WIRE_OK:
		break;
	case WIRE_BAD_HTYPE:
	case WIRE_BAD_XDR:
		bad_message(c, &m, status);
		return;
	default:
		rt_log(c, LOG_INFO, "%s with xid %08x: %s",
		       wire1_proc_name(m.p.htype), m.p.xid,
		       wire_status_name(status));
		RT_COUNT(c, dropped, 1);
		return;
	}
	c->msg.messages++;
	c->unanswered = false;
	if (m.surplus)
		RT_COUNT(c, surplus, 1);
	switch (m.role) {
	case WIRE_CALL:
		RT_COUNT(c, inline_bytes_received, m.payload_len);
		call(c, w, &m);
		break;
	case WIRE_REPLY:
		RT_COUNT(c, inline_bytes_received, m.payload_len);
		if (grants(c, &m))
			rt_credit1_granted(&c->credit1, m.p.credit);
		c->requester->reply(c, &m, w, NULL);
		break;
	case WIRE_CONTROL:
		RT_COUNT(c, errors_received, 1);
		rt_error_received(c, m.p.xid, &m.error);
		break;
	}
}

/*
 * RDMA_ERROR is for good: the Requester ends the RPC (RFC 8166 4.5). It is all that
 * can be said where there is no memory at all. What this client itself keeps, by
 * not taking its Replies, is to be had on another connection.
 */
static void refuse_call(struct rt_conn *c, uint32_t xid)
{
	if (!rt_memory_held(c)) {
		rt_error_code(c, xid, RDMA1_ERR_CHUNK);
		return;
	}
	RT_COUNT(c, dropped, 1);
	rt_conn_stop(c, EV_VIOLATION, -ENOMEM, "no memory for Call %08x", xid);
}

const struct rt_version rt_version1 = {
	.number = WIRE_VERS1,
	.receives = receives,
	.credit_word = credit_word,
	.may_send = may_send,
	.posted = posted,
	.grant_due = grant_due,
	.tell = tell,
	.call_len = wire1_call_len,
	.reply_len = wire1_reply_len,
	.encode_call = wire1_encode_call,
	.encode_reply = wire1_encode_reply,
	.encode_error = wire1_encode_error,
	.receive = receive,
	.refuse_call = refuse_call,
};
