/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pump - which messages are sent, in which order, and with which credits
 *
 * Each turn posts as many messages as credits and state allow, in one chain and in this
 * order: the remaining fragments of a continued message, ERRORs, our properties and
 * tokens, messages of an extension, Replies, Calls. A GRANT follows if one is still due.
 * Between the fragments of a message only GRANTs may be sent (6.3.6, 6.3.9 [D2]). Version
 * 1 has only ERRORs, Replies and Calls, and credits for Calls alone.
 *
 * Responder and Requester queue their Replies and Calls, and encode and post them when
 * they are called back (struct rt_outgoing).
 *
 * Context: the runner.
 */
#include <endian.h>

#include "transport/flow/flow.h"

/* The first words of a header are the same in all versions. */
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
	rt_assert_strand(c);
	w->sge[0] = (struct fab_sge){ w->buf->addr, hlen, w->buf->mr };
	assert(c->sends_inflight < c->works_inflight + 1);
	c->v->posted(c);
	/* The one message of 4.3 has the connection's version, which an ERR_VERS in
	 * this state has not. */
	if (c->state != RT_AWAITING)
		c->first_sent = true;
	/* If there are several [A7], the time begins with the last one. */
	if (c->state == RT_ANSWERED && !c->props_due && !c->props_sent)
		c->state_deadline = rt_now_ms() + RT_SETTLE_MS;
	rt_chain_add(c, w);
	probe_sent(c, w, hlen);
}

static void post_grant(struct rt_conn *c)
{
	struct rt_work *w = rt_send_get(c);
	size_t n;

	if (!w)
		return;
	n = wire_encode_grant(w->buf->addr, RT_HEADER_ROOM,
			      c->v->credit_word(c, RT_OUT_CONTROL));
	rt_send_work(c, w, n);
	RT_COUNT(c, grants_sent, 1);
}

static bool may_call(const struct rt_conn *c)
{
	if (c->state != RT_OPEN && c->state != RT_DRAINING)
		return false;
	if (!c->established)
		return false;
	if (c->server && c->requests_out >= c->inst->cfg.reverse_credits)
		return false;
	return c->v->may_send(c, RT_OUT_CALL);
}

/* [B2]: before a version is settled there are no credits, and one ERROR for each message
 * received. In version 1 ERRORs need no credit: they wait while Sends do not complete. */
static bool may_error(const struct rt_conn *c)
{
	return c->nerrors && c->sends_inflight < rt_max_uncompleted(c) &&
	       (c->state == RT_AWAITING ||
		(rt_state_may_send(c) && c->v->may_send(c, RT_OUT_CONTROL)));
}

static bool may_reply(struct rt_conn *c)
{
	if (!c->v->may_send(c, RT_OUT_REPLY))
		return false;
	c->flow.credit_deadline = 0;
	return true;
}

static bool send_first(struct rt_conn *c, struct cds_list_head *queue)
{
	struct rt_outgoing *o =
		cds_list_first_entry(queue, struct rt_outgoing, queue);

	return o->send(c, o);
}

static bool post_next(struct rt_conn *c)
{
	bool props = c->token_due || (c->props_due && !c->props_held);
	bool wanted;

	if (c->sending) {
		/* [A7]: fragments may follow in ANSWERED too. */
		if (!may_reply(c))
			goto wait;
		return c->sending->send(c, c->sending);
	}
	if (may_error(c))
		return c->traffic->error(c);
	/* So may the other parts of a token. */
	if (!rt_state_may_send(c) &&
	    !(c->state == RT_ANSWERED && c->token_begun))
		return false;
	if (!props && c->sender && c->sender->due(c) &&
	    c->v->may_send(c, RT_OUT_CALL))
		return c->sender->send(c);
	wanted = props || !cds_list_empty(&c->reply_queue) ||
		 !cds_list_empty(&c->call_queue);
	if (!wanted)
		return false;
	if (!may_reply(c))
		goto wait;
	if (props)
		return c->traffic->props(c);
	if (!cds_list_empty(&c->reply_queue))
		return send_first(c, &c->reply_queue);
	if (may_call(c))
		return send_first(c, &c->call_queue);
	return false;
wait:
	/* A Call may have to wait for other Calls. A Reply waits only for the peer, and
	 * holds memory meanwhile, so it has a deadline. */
	if (!c->flow.credit_deadline &&
	    ((c->sending && c->sending->kind == RT_OUT_REPLY) ||
	     !cds_list_empty(&c->reply_queue)))
		c->flow.credit_deadline =
			rt_now_ms() + c->inst->cfg.continuation_ms;
	RT_COUNT(c, credit_waits, 1);
	RT_PROBE(credit__wait, c, c->requests_out, c->calls_upper);
	return false;
}

void rt_pump_errors(struct rt_conn *c)
{
	rt_assert_strand(c);
	if (!c->fab || c->sending)
		return;
	while (c->state < RT_CLOSING && may_error(c) && c->traffic->error(c))
		;
	rt_chain_post(c);
}

static void pump(struct rt_conn *c)
{
	rt_assert_strand(c);
	if (!c->fab)
		return;
	while (c->state < RT_CLOSING && post_next(c))
		;
	if (c->state < RT_CLOSING && c->v->grant_due(c))
		post_grant(c);
	rt_chain_post(c);
}

/* ---- The hooks of struct rt_part ---------------------------------------- */

static uint64_t flow_due(struct rt_conn *c)
{
	uint64_t d = rt_earlier(c->reserve_deadline, c->flow.credit_deadline);

	return c->flow.device_full ? rt_earlier(rt_now_ms() + RT_TICK_MS, d) :
				     d;
}

static void flow_expire(struct rt_conn *c, uint64_t now)
{
	rt_end_if_late(c, c->flow.credit_deadline, now,
		       "no credits for Replies");
}

static void flow_turn(struct rt_conn *c)
{
	if (c->state >= RT_CLOSING)
		return;
	if (rt_post_receives(c))
		rt_event(c, EV_ABORT);
	pump(c);
}

static int flow_init(struct rt_conn *c)
{
	CDS_INIT_LIST_HEAD(&c->reply_queue);
	CDS_INIT_LIST_HEAD(&c->call_queue);
	CDS_INIT_LIST_HEAD(&c->flow.posted);
	CDS_INIT_LIST_HEAD(&c->flow.unauthenticated_link);
	return 0;
}

static int flow_admit(struct rt_conn *c, const struct sockaddr_storage *peer)
{
	int rc = peer ? rt_host_join(c, peer) : 0;

	return rc ? rc : rt_reserve(c);
}

static void flow_removed(struct rt_conn *c)
{
	rt_host_removed(c);
	rt_host_ended(c);
	rt_unauthenticated_leave_locked(c);
}

static void flow_fill_info(struct rt_conn *c, struct rt_conn_info *info)
{
	c->v->fill_info(c, info);
}

static void flow_release(struct rt_conn *c)
{
	/* The fabric does not flush the Receives of a connection that was never
	 * started. */
	if (atomic_load(&c->fabric_gone))
		rt_reclaim_receives(c);
	rt_reserve_release(c);
}

static int flow_prepare(struct rt_instance *inst, const struct rt_params *p)
{
	rt_hosts_init(inst);
	rt_reads_init(inst);
	CDS_INIT_LIST_HEAD(&inst->unauthenticated);
	return 0;
}

static void flow_destroy(struct rt_instance *inst)
{
	rt_reads_destroy(inst);
	rt_hosts_destroy(inst);
}

const struct rt_part rt_part_flow = {
	.prepare = flow_prepare,
	.start = rt_share_receives,
	.init = flow_init,
	.admit = flow_admit,
	.open = rt_post_receives,
	.refused = rt_host_refused,
	.accepted = rt_host_opened,
	.removed = flow_removed,
	.fill_info = flow_fill_info,
	.due = flow_due,
	.expire = flow_expire,
	.turn = flow_turn,
	.release = flow_release,
	.destroyed = rt_host_leave,
	.destroy = flow_destroy,
};
