/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * send - what goes out, in which order, and with whose credit
 *
 * Runner only. rt_pump() posts as much as credits and the state allow, in one
 * chain: the rest of a continued message, ERRORs, our properties and tokens,
 * extensions' own, Replies, Calls; and a GRANT if one is due and nothing else
 * has carried the news.
 * Between the fragments of a message only GRANTs may go (6.3.6, 6.3.9 [D2]).
 * Version 1 has only ERRORs, Replies and Calls, and credits for Calls alone.
 */
#include <endian.h>
#include <errno.h>

#include "transport/internal.h"

/* The header is in network order; its first words are every version's. */
static inline void probe_sent(struct rt_conn *c, struct rt_work *w, size_t hlen)
{
#ifdef RPCRDMA_PROBES
	const uint32_t *head = w->buf->addr;
	size_t len = hlen;

	for (unsigned int i = 1; i < w->wr.nsge; i++)
		len += w->sge[i].len;
	RT_PROBE(message__sent, c, be32toh(head[0]), be32toh(head[1]),
		 be32toh(head[3]), be32toh(head[2]), len);
#endif
}

void rt_send_work(struct rt_conn *c, struct rt_work *w, size_t hlen)
{
	w->wr.op = w->wr.op == FAB_SEND_INV ? FAB_SEND_INV : FAB_SEND;
	w->wr.flags = FAB_F_SIGNALED;
	w->sge[0] = (struct fab_sge){ w->buf->addr, hlen, w->buf->mr };
	c->v->posted(c);
	/* An ERR_VERS is not yet a message of the connection's version: the
	 * one message of 4.3 is still to come. */
	if (c->state != RT_AWAITING)
		c->first_sent = true;
	/* Counted from the last of them, where they are several [A7]. */
	if (c->state == RT_ANSWERED && !c->props_due && !c->props_sent)
		c->state_deadline = rt_now_ms() + RT_SETTLE_MS;
	rt_chain_add(c, w);
	probe_sent(c, w, hlen);
}

void rt_error_send(struct rt_conn *c, uint32_t xid, uint32_t vers,
		   const struct wire_error *err)
{
	struct rt_error_out *e;

	/* The others are about what this side has, or cannot. */
	if (err->code >= RDMA2_ERR_VERS && err->code <= RDMA2_ERR_INVAL_CONT)
		rt_wrong(c);
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
	e->rep.code = 0;
}

void rt_repterr_send(struct rt_conn *c, const struct wire_repterr *rep)
{
	struct wire_error err = { 0 };
	unsigned int n = c->nerrors;

	rt_error_send(c, rep->bad.xid, WIRE_VERS2, &err);
	if (c->nerrors > n)
		c->errors[(c->errors_at + n) % c->max_errors].rep = *rep;
}

void rt_error_code(struct rt_conn *c, uint32_t xid, uint32_t code)
{
	struct wire_error err = { .code = code };

	rt_error_about(c, xid, &err);
}

void rt_error_about(struct rt_conn *c, uint32_t xid,
		    const struct wire_error *err)
{
	rt_error_send(c, xid, c->v->number, err);
}

/* What is said about versions looks the same in all of them [B1, B3]. */
static size_t encode_error(struct rt_conn *c, const struct rt_error_out *e,
			   void *buf)
{
	uint32_t credit = c->v->credit_word(c, RT_OUT_CONTROL);

	if (e->rep.code)
		return wire_encode_repterr(buf, RT_HEADER_ROOM, credit,
					   &e->rep);
	if (e->err.code == RDMA2_ERR_VERS ||
	    e->err.code == RDMA2_ERR_VERS_MISMATCH)
		return wire_encode_error(buf, RT_HEADER_ROOM, e->xid, e->vers,
					 credit, &e->err);
	return c->v->encode_error(buf, RT_HEADER_ROOM, e->xid, e->vers, credit,
				  &e->err);
}

static bool post_error(struct rt_conn *c)
{
	struct rt_error_out *e = &c->errors[c->errors_at];
	struct rt_work *w = rt_send_get(c);
	size_t n;

	if (!w)
		return false;
	n = encode_error(c, e, w->buf->addr);
	if (e->rep.code)
		RT_COUNT(c, repterrs_sent, 1);
	else
		RT_COUNT(c, errors_sent, 1);
	rt_log(c, LOG_INFO, "ERROR %s for xid %08x",
	       e->rep.code ? wire_optrerr_name(e->rep.code) :
			     wire_errcode_name(e->err.code),
	       e->xid);
	c->errors_at = (c->errors_at + 1) % c->max_errors;
	c->nerrors--;
	w->wr.op = FAB_SEND;
	w->wr.nsge = 1;
	rt_send_work(c, w, n);
	return true;
}

/* FINAL, unless something has to be said before. */
static bool post_props(struct rt_conn *c)
{
	struct rt_work *w = rt_send_get(c);
	bool final = !rt_auth_due(c);
	size_t n;

	if (!w)
		return false;
	n = rt_connprop_encode(c, w->buf->addr, final);
	w->wr.op = FAB_SEND;
	w->wr.nsge = 1;
	rt_send_work(c, w, n);
	if (final) {
		c->props_due = false;
		c->props_sent = true;
	} else {
		rt_auth_sent(c);
	}
	return true;
}

static bool post_grant(struct rt_conn *c)
{
	struct rt_work *w = rt_send_get(c);
	size_t n;

	if (!w)
		return false;
	n = wire_encode_grant(w->buf->addr, RT_HEADER_ROOM,
			      c->v->credit_word(c, RT_OUT_CONTROL));
	w->wr.op = FAB_SEND;
	w->wr.nsge = 1;
	rt_send_work(c, w, n);
	RT_COUNT(c, grants_sent, 1);
	return true;
}

/* A new Call needs a credit and, on a client, the properties; a reverse one
 * waits until there are not as many outstanding as there may be. */
static bool may_call(const struct rt_conn *c)
{
	if (c->state != RT_OPEN && c->state != RT_DRAINING)
		return false;
	if (!c->server && !c->established)
		return false;
	if (c->server && c->requests_out >= c->inst->cfg.reverse_credits)
		return false;
	return c->v->may_send(c, RT_OUT_CALL);
}

/* Without a version there are no credits: one answer for each message that
 * came, [B2]. Version 1 has none for ERRORs: they wait while the peer takes
 * nothing. */
static bool may_error(const struct rt_conn *c)
{
	return c->nerrors && c->sends_inflight < rt_conn_most(c) &&
	       (c->state == RT_AWAITING ||
		(rt_state_may_send(c) && c->v->may_send(c, RT_OUT_CONTROL)));
}

/* Is there a credit for more than ERRORs and GRANTs? */
static bool may_reply(struct rt_conn *c)
{
	if (!c->v->may_send(c, RT_OUT_REPLY))
		return false;
	c->credit_deadline = 0;
	return true;
}

static bool post_next(struct rt_conn *c)
{
	bool props = rt_auth_due(c) || (c->props_due && !rt_auth_holds(c));
	bool wanted;

	if (c->cont_reply || c->cont_call) {
		/* [A7]: fragments may follow in ANSWERED too. */
		if (!may_reply(c))
			goto wait;
		return c->cont_reply ? rt_reply_send(c, c->cont_reply) :
				       rt_request_send(c, c->cont_call);
	}
	if (may_error(c))
		return post_error(c);
	/* Likewise the parts of a token. */
	if (!rt_state_may_send(c) &&
	    !(c->state == RT_ANSWERED && rt_auth_inside(c)))
		return false;
	if (!props && rt_xchar_due(c) && c->v->may_send(c, RT_OUT_CALL))
		return rt_xchar_send(c);
	wanted = props || !cds_list_empty(&c->replies) ||
		 !cds_list_empty(&c->calls_out);
	if (!wanted)
		return false;
	if (!may_reply(c))
		goto wait;
	if (props)
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
	/* Calls may have to wait for as long as others take. A Reply waits for
	 * nothing but the peer's readiness, and holds memory. */
	if (!c->credit_deadline &&
	    (c->cont_reply || !cds_list_empty(&c->replies)))
		c->credit_deadline = rt_now_ms() + c->inst->cfg.continuation_ms;
	RT_COUNT(c, credit_waits, 1);
	RT_PROBE(credit__wait, c, c->requests_out, c->calls_upper);
	return false;
}

void rt_pump_errors(struct rt_conn *c)
{
	if (!c->fab || c->cont_reply || c->cont_call)
		return;
	while (c->state < RT_CLOSING && may_error(c) && post_error(c))
		;
	rt_chain_post(c);
}

void rt_pump(struct rt_conn *c)
{
	if (!c->fab)
		return;
	while (c->state < RT_CLOSING && post_next(c))
		;
	if (c->state < RT_CLOSING && c->v->grant_due(c))
		post_grant(c);
	rt_chain_post(c);
}

/* ---- As a part of the connection ---------------------------------------- */

static uint64_t due(struct rt_conn *c)
{
	return rt_earlier(c->reserve_deadline, c->credit_deadline);
}

static void expire(struct rt_conn *c, uint64_t now)
{
	rt_give_up(c, c->credit_deadline, now, "no credits for Replies");
}

static void turn(struct rt_conn *c)
{
	if (c->state >= RT_CLOSING)
		return;
	if (rt_post_receives(c))
		rt_event(c, EV_ABORT);
	rt_pump(c);
}

static void down(struct rt_conn *c)
{
	c->nerrors = 0;
}

const struct rt_part rt_part_flow = {
	.start = rt_share_receives,
	.due = due,
	.expire = expire,
	.turn = turn,
	.down = down,
};
