/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part - messages, as a part of their connection
 *
 * Runner only, but for what comes before it runs.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/message/message.h"

static const struct rt_traffic traffic = {
	.received = rt_receive,
	.error = rt_error_post,
	.props = rt_connprop_post,
};

/* An extension may have been left out of the build. */
static int prepare(struct rt_instance *inst, const struct rt_params *p)
{
	unsigned int bits = 0;
	bool gate = false;

	for (const struct rt_ext *const *x = inst->exts; *x; x++) {
		bits |= (*x)->bit;
		gate |= (*x)->admits != NULL;
	}
	if (inst->cfg.extensions & (RT_EXT_XCHAR | RT_EXT_RTR) & ~bits)
		return -EINVAL;
	return inst->cfg.auth != RT_AUTH_NONE && !gate ? -EINVAL : 0;
}

static int init(struct rt_conn *c)
{
	c->traffic = &traffic;
	/* It goes out before anybody has said who he is: it tells nothing. */
	c->msg.next_xid = arc4random();
	rt_connprop_init(c);
	rt_version_init(c);
	return 0;
}

static size_t hello(struct rt_conn *c, void *buf)
{
	_Static_assert(WIRE_CM_LEN <= RT_HELLO_ROOM, "private data fits");
	rt_private_data(c->inst, c->server, buf);
	return WIRE_CM_LEN;
}

static void effect(struct rt_conn *c, enum rt_effect e)
{
	switch (e) {
	case RT_DO_GREET:
		if (c->props_held)
			return;
		/* [A8]: the first message is our CONNPROP_FINAL. */
		c->props_due = true;
		c->unanswered = true;
		return;
	case RT_DO_FIRST:
		if (c->server)
			return;
		rt_version_answered(c);
		if (!c->props_held)
			c->state_deadline = rt_now_ms() + RT_SETTLE_MS;
		return;
	case RT_DO_ANSWER:
		c->props_due = true;
		return;
	case RT_DO_SECOND:
		if (!c->props_sent)
			c->props_due = true;
		return;
	case RT_DO_VERSION1:
		rt_version1_settled(c);
		return;
	default:
		return;
	}
}

static void tell(struct rt_conn *c, struct rt_conn_info *i)
{
	i->version = c->msg.version;
	i->ours = c->ours;
	i->ours.complete = c->props_sent;
	i->theirs = c->theirs;
	i->extensions = c->extensions;
	i->call_inline = c->server ? c->from_peer : c->to_peer;
	i->reply_inline = c->server ? c->to_peer : c->from_peer;
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
	return c->msg.seq.active ? c->msg.seq.deadline : 0;
}

static void expire(struct rt_conn *c, uint64_t now)
{
	if (!c->msg.seq.active || c->msg.seq.deadline > now)
		return;
	rt_log(c, LOG_WARNING, "a continued message was not completed in time");
	rt_error_code(c, c->msg.seq.xid, RDMA2_ERR_INVAL_CONT);
	rt_sequence_give_up(c, c->msg.seq.xid, c->msg.seq.reply, true);
}

static void down(struct rt_conn *c)
{
	rt_sequence_reset(c);
	rt_version_ended(c);
}

const struct rt_part rt_part_message = {
	.prepare = prepare,
	.init = init,
	.hello = hello,
	.greeted = rt_private_take,
	.up = up,
	.effect = effect,
	.tell = tell,
	.due = due,
	.expire = expire,
	.down = down,
};
