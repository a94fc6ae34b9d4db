/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * responder - Calls that have come, as a part of their connection
 *
 * Runner only.
 */
#include "transport/responder/responder.h"

static uint64_t due(struct rt_conn *c)
{
	uint64_t d = rt_calls_deadline(c);

	d = rt_earlier(c->resp.memory_deadline, d);
	/* Others may give back memory, or take Replies: look. */
	if (!cds_list_empty(&c->resp.starved) ||
	    !cds_list_empty(&c->resp.waiting) || c->resp.memory_deadline)
		d = rt_earlier(rt_now_ms() + RT_TICK_MS, d);
	return d;
}

static void expire(struct rt_conn *c, uint64_t now)
{
	/* As with a message that is not continued: it would hold memory for
	 * ever. */
	rt_give_up(c, rt_calls_deadline(c), now,
		   "an RDMA Read is not answered");
	rt_give_up(c, c->resp.memory_deadline, now,
		   "no memory to copy a Reply into");
}

static bool busy(struct rt_conn *c)
{
	return !cds_list_empty(&c->resp.calls);
}

static void turn(struct rt_conn *c)
{
	if (c->state >= RT_CLOSING)
		return;
	if (!cds_list_empty(&c->resp.starved))
		rt_calls_feed(c, c->resp.starved_deadline <= rt_now_ms());
	if (c->state < RT_CLOSING)
		rt_calls_let(c);
}

/* Replies that wait are dropped; Calls being read end here. */
static void down(struct rt_conn *c)
{
	struct rt_call_priv *call, *tmp;

	if (c->cont && c->cont->kind == RT_OUT_REPLY)
		c->cont = NULL;
	c->resp.posting = NULL;
	cds_list_for_each_entry_safe(call, tmp, &c->resp.calls, link)
	{
		if (call->stage == RT_CALL_REPLY)
			rt_reply_abandon(c, call);
		else if (call->stage != RT_CALL_UPPER)
			rt_call_free(c, call);
	}
	/* What the upper layer had begun with it is to end. */
	rt_calls_let(c);
}

static void rest(struct rt_conn *c)
{
	rt_calls_shorten(c, 1);
}

static void ended(struct rt_conn *c)
{
	rt_calls_shorten(c, 0);
	/* A host whose connections end while their Calls are being executed has
	 * not got rid of those: until they are back, its connection counts as
	 * one of the host's. */
	if (c->resp.calls_back || !cds_list_empty(&c->resp.calls))
		return;
	c->resp.calls_back = true;
	rt_host_calls_back(c);
}

static void tell(struct rt_conn *c, struct rt_conn_info *info)
{
	info->calls_in_progress = c->calls_upper;
	info->calls_unanswered = c->resp.calls_unanswered;
}

static const struct rt_responder_ops ops = {
	.call = rt_call_receive,
};

static int init(struct rt_conn *c)
{
	c->responder = &ops;
	CDS_INIT_LIST_HEAD(&c->resp.calls);
	CDS_INIT_LIST_HEAD(&c->resp.starved);
	CDS_INIT_LIST_HEAD(&c->resp.waiting);
	return 0;
}

const struct rt_part rt_part_responder = {
	.init = init,
	.tell = tell,
	.due = due,
	.expire = expire,
	.busy = busy,
	.turn = turn,
	.rest = rest,
	.trim = rt_calls_trim,
	.down = down,
	.ended = ended,
};
