/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * send - what goes out, in which order, and with whose credit
 *
 * Runner only. rt_pump() posts as much as credits and the state allow, in one
 * chain: ERRORs, our properties, the rest of a continued message, Replies,
 * Calls; and a GRANT if one is due and nothing else has carried the news.
 * Between the fragments of a message only ERRORs and GRANTs may go (4.1 [D2]).
 */
#include <errno.h>

#include "transport/internal.h"

/* The credit word of a message that is about to be posted. */
uint32_t rt_credit_word(struct rt_conn *c)
{
	return rt_credit_value(&c->credit);
}

void rt_send_work(struct rt_conn *c, struct rt_work *w, size_t hlen)
{
	w->wr.op = w->wr.op == FAB_SEND_INV ? FAB_SEND_INV : FAB_SEND;
	w->wr.flags = FAB_F_SIGNALED;
	w->sge[0] = (struct fab_sge){ w->buf->addr, hlen, w->buf->mr };
	rt_credit_announce(&c->credit);
	/* An ERR_VERS is not yet a message of the connection's version: the
	 * one message of 4.3 is still to come. */
	if (c->state != RT_AWAITING)
		c->first_sent = true;
	rt_chain_add(c, w);
}

void rt_error_send(struct rt_conn *c, uint32_t xid, uint32_t vers,
		   const struct wire_error *err)
{
	struct rt_error_out *e;

	if (c->nerrors == c->max_errors) {
		/* 7.4, [E6]: it cannot be transmitted. */
		rt_conn_fail(c, -EPROTO, "too many errors wait for credits");
		rt_event(c, EV_ABORT);
		return;
	}
	e = &c->errors[(c->errors_at + c->nerrors++) % c->max_errors];
	e->xid = xid;
	e->vers = vers;
	e->err = *err;
}

void rt_error_code(struct rt_conn *c, uint32_t xid, uint32_t code)
{
	struct wire_error err = { .code = code };

	rt_error_send(c, xid, WIRE_VERS2, &err);
}

static bool post_error(struct rt_conn *c)
{
	struct rt_error_out *e = &c->errors[c->errors_at];
	struct rt_work *w = rt_work_get(c, RT_WORK_SEND);
	size_t n;

	if (!w)
		return false;
	n = wire_encode_error(w->buf->addr, RT_HEADER_ROOM, e->xid, e->vers,
			      rt_credit_word(c), &e->err);
	rt_log(c, LOG_INFO, "ERROR %s for xid %08x",
	       wire_errcode_name(e->err.code), e->xid);
	c->errors_at = (c->errors_at + 1) % c->max_errors;
	c->nerrors--;
	w->wr.op = FAB_SEND;
	w->wr.nsge = 1;
	rt_send_work(c, w, n);
	RT_COUNT(c, errors_sent, 1);
	return true;
}

static bool post_props(struct rt_conn *c)
{
	struct rt_work *w = rt_work_get(c, RT_WORK_SEND);
	size_t n;

	if (!w)
		return false;
	n = rt_connprop_encode(c, w->buf->addr,
			       c->first_sent ? WIRE_DEFAULT_INLINE :
					       WIRE_FIRST_MESSAGE_MAX);
	w->wr.op = FAB_SEND;
	w->wr.nsge = 1;
	rt_send_work(c, w, n);
	c->props_due = false;
	c->props_sent = true;
	return true;
}

static bool post_grant(struct rt_conn *c)
{
	struct rt_work *w = rt_work_get(c, RT_WORK_SEND);
	size_t n;

	if (!w)
		return false;
	n = wire_encode_grant(w->buf->addr, RT_HEADER_ROOM, rt_credit_word(c));
	w->wr.op = FAB_SEND;
	w->wr.nsge = 1;
	rt_send_work(c, w, n);
	RT_COUNT(c, grants_sent, 1);
	return true;
}

/*
 * A new Call needs a credit beyond those for the Replies to reverse Calls that
 * are being worked on ([G3] rule 2), and, on a client, the properties.
 */
static bool may_call(const struct rt_conn *c)
{
	if (c->state != RT_OPEN && c->state != RT_DRAINING)
		return false;
	if (!c->server && !c->established)
		return false;
	return rt_credit_available(&c->credit) > c->calls_reverse;
}

static bool post_next(struct rt_conn *c)
{
	bool wanted;

	if (c->nerrors) {
		/*
		 * Without a version there are no credits: one answer for each
		 * message that came, [B2].
		 */
		if (c->state == RT_AWAITING ||
		    (rt_state_may_send(c) && rt_credit_may_send(&c->credit)))
			return post_error(c);
	}
	if (c->cont_reply || c->cont_call) {
		/* [A7]: fragments may follow in ANSWERED too. */
		if (!rt_credit_may_send(&c->credit))
			goto wait;
		return c->cont_reply ? rt_reply_send(c, c->cont_reply) :
				       rt_request_send(c, c->cont_call);
	}
	if (!rt_state_may_send(c))
		return false;
	wanted = c->props_due || !cds_list_empty(&c->replies) ||
		 !cds_list_empty(&c->calls_out);
	if (!wanted)
		return false;
	if (!rt_credit_may_send(&c->credit))
		goto wait;
	if (c->props_due)
		return post_props(c);
	if (!cds_list_empty(&c->replies))
		return rt_reply_send(
			c, cds_list_first_entry(&c->replies,
						struct rt_call_priv, queue));
	if (may_call(c))
		return rt_request_send(
			c, cds_list_first_entry(&c->calls_out,
						struct rt_request_priv, queue));
	return false;
wait:
	RT_COUNT(c, credit_waits, 1);
	return false;
}

/*
 * Will the peer go on when it gets a credit? A message of several is on its
 * way, or a Reply has to come; a client of which no Call is here can only go
 * on with new ones.
 */
static bool peer_active(struct rt_conn *c)
{
	return c->seq.active || c->props_open || c->requests_out ||
	       (c->server && cds_list_empty(&c->calls));
}

/* A GRANT, if one is due and nothing else has carried the news. */
static void pump_grant(struct rt_conn *c)
{
	const struct rt_credit *k = &c->credit;
	uint64_t now;

	if (!rt_state_may_send(c) || !rt_credit_grant_due(k) ||
	    !rt_credit_may_grant(k)) {
		c->reserve_deadline = 0;
		return;
	}
	now = rt_now_ms();
	if (rt_credit_grant_safe(k,
				 !c->server || (c->reserve_deadline &&
						c->reserve_deadline <= now),
				 peer_active(c))) {
		c->reserve_deadline = 0;
		post_grant(c);
	} else if (c->server && !c->reserve_deadline &&
		   !rt_credit_available(k) && rt_credit_exhausted(k)) {
		/* Both are without credits. If the client does not end that,
		 * it is not one that knows that rule. */
		c->reserve_deadline = now + RT_RESERVE_MS;
	}
}

void rt_pump(struct rt_conn *c)
{
	if (!c->fab)
		return;
	while (c->state < RT_CLOSING && post_next(c))
		;
	if (c->state < RT_CLOSING)
		pump_grant(c);
	rt_chain_post(c);
}
