/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * v2 - what is of version 2 alone, as version.c and the roles call it
 *
 * Runner only. Most of it stands elsewhere: credit.h, connprop.c, recv.c.
 */
#include "transport/message/message.h"

static uint32_t receives(const struct rt_conn *c)
{
	return rt_credit_receives(&c->credit);
}

static uint32_t credit_word(const struct rt_conn *c, enum rt_out_kind kind)
{
	return rt_credit_value(&c->credit);
}

static bool may_send(const struct rt_conn *c, enum rt_out_kind kind)
{
	/* The Replies to reverse Calls that are worked on keep theirs, [G3]
	 * rule 2. */
	if (kind == RT_OUT_CALL)
		return rt_credit_available(&c->credit) > c->calls_reverse;
	return rt_credit_may_send(&c->credit);
}

static void posted(struct rt_conn *c)
{
	assert(rt_credit_is_valid(&c->credit));
	rt_credit_announce(&c->credit);
}

/*
 * Will the peer go on when it gets a credit? A message of several is on its
 * way, or a Reply has to come; a client of which no Call is here can only go
 * on with new ones.
 */
static bool peer_active(struct rt_conn *c)
{
	return c->msg.seq.active || c->partial || c->msg.props_open ||
	       c->requests_out || (c->server && !c->calls_all);
}

/* A GRANT, if one is due and nothing else has carried the news. */
static bool grant_due(struct rt_conn *c)
{
	const struct rt_credit *k = &c->credit;
	uint64_t now;

	/* A first message is answered by what is being made [A7]. */
	if (!c->first_sent && c->part_made)
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
		/* Both are without credits. If the client does not end that,
		 * it is not one that knows that rule. */
		c->reserve_deadline = now + RT_RESERVE_MS;
	return false;
}

static void tell(const struct rt_conn *c, struct rt_conn_info *i)
{
	i->sent = c->credit.sent;
	i->received = c->credit.received;
	i->credit_limit = c->credit.limit;
	i->advertised = rt_credit_advertised(&c->credit);
}

static void refuse_call(struct rt_conn *c, uint32_t xid)
{
	rt_error_code(c, xid, RDMA2_ERR_SYSTEM);
}

const struct rt_version rt_version2 = {
	.number = WIRE_VERS2,
	.continuation = true,
	.answers_replies = true,
	.inv_field = true,
	.receives = receives,
	.credit_word = credit_word,
	.may_send = may_send,
	.posted = posted,
	.grant_due = grant_due,
	.tell = tell,
	.call_len = wire_call_len,
	.reply_len = wire_reply_len,
	.encode_call = wire_encode_call,
	.encode_reply = wire_encode_reply,
	.encode_error = wire_encode_error,
	.receive = rt_receive2,
	.refuse_call = refuse_call,
};
