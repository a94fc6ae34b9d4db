/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call_wait - Calls that wait while their host does not take its Replies, or
 * memory is short
 *
 * More may be asked for at once than the network carries: then what has been
 * read from storage piles up. So no more is executed for a host that has too
 * much of it, neither what arrives nor, as far as the upper layer asks here
 * before it begins, what it already has. Nothing ends because of it: a peer
 * that never takes its Replies meets the limits on those.
 *
 * A Call waits only behind a Reply of its own connection that has not gone, or
 * behind another Call that does. So there is always something to come that has
 * the connection run, and these looked at again.
 *
 * Runner only, but for rt_call_wait() and rt_conn_crowded().
 */
#include "transport/responder/responder.h"

/* One at a time goes on even so. */
static bool taken_up(struct rt_conn *c)
{
	return rt_replies_wait(c, c->calls_executing + c->calls_reading);
}

/* Nobody overtakes those that wait. */
static bool must_wait(struct rt_conn *c)
{
	return c->state < RT_CLOSING &&
	       (!cds_list_empty(&c->waiting) || taken_up(c));
}

static void hand_up(struct rt_conn *c, struct rt_call_priv *call)
{
	rt_executing_add(c, 1);
	/* It has been there already. */
	if (call->stage == RT_CALL_UPPER) {
		c->ops->resume(c, &call->pub);
		return;
	}
	call->stage = RT_CALL_UPPER;
	c->calls_upper++;
	if (!c->server)
		RT_COUNT(c, reverse_calls_received, 1);
	else
		RT_COUNT(c, calls_received, 1);
	rt_conn_get(c);
	c->ops->call(c, &call->pub);
}

static bool unread(const struct rt_call_priv *call)
{
	return call->reads_begun < call->nreads;
}

static void wait_for(struct rt_conn *c, struct rt_call_priv *call)
{
	struct cds_list_head *before = &c->waiting;
	struct rt_call_priv *other;

	if (!c->replies_told)
		rt_log(c, LOG_NOTICE, "Calls wait: %s", rt_replies_why(c));
	c->replies_told = true;
	RT_COUNT(c, reply_waits, 1);
	call->waiting = true;
	/* What has its items goes first: it keeps memory that those without
	 * would take. */
	cds_list_for_each_entry(other, &c->waiting, queue)
	{
		if (call->nreads && !unread(call) && unread(other)) {
			before = &other->queue;
			break;
		}
	}
	cds_list_add_tail(&call->queue, before);
}

bool rt_call_held_up(struct rt_conn *c, struct rt_call_priv *call)
{
	/* It would keep the memory for them from others. */
	if (call->nreads == call->nplaced || !must_wait(c))
		return false;
	wait_for(c, call);
	return true;
}

void rt_call_hand_up(struct rt_conn *c, struct rt_call_priv *call)
{
	if (call->stage == RT_CALL_UPPER)
		rt_executing_add(c, -1);
	if (must_wait(c))
		wait_for(c, call);
	else
		hand_up(c, call);
}

void rt_calls_let(struct rt_conn *c)
{
	while (!cds_list_empty(&c->waiting) &&
	       (c->state >= RT_CLOSING || !taken_up(c))) {
		struct rt_call_priv *call = cds_list_first_entry(
			&c->waiting, struct rt_call_priv, queue);

		call->waiting = false;
		cds_list_del(&call->queue);
		if (unread(call))
			rt_call_read_items(c, call);
		else
			hand_up(c, call);
	}
}

/* The upper layer still has it. */
static void mail_wait(struct rt_conn *c, struct rt_mail *m)
{
	rt_call_hand_up(c, caa_container_of(m, struct rt_call_priv, mail));
}

void rt_call_wait(struct rt_call *pub)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);

	rt_inbox_put(pub->conn, &call->mail, mail_wait);
}

bool rt_conn_crowded(struct rt_conn *c)
{
	unsigned int executing =
		atomic_load_explicit(&c->calls_executing, memory_order_relaxed);

	/* One of them is the one that asks. */
	return rt_replies_wait(c, executing > 1);
}
