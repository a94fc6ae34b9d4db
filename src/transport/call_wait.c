/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call_wait - Calls that wait while their host does not take its Replies
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
 * Runner only, but for rt_call_wait().
 */
#include "transport/internal.h"

static void hand_up(struct rt_conn *c, struct rt_call_priv *call)
{
	/* It has been there already. */
	if (call->stage == RT_CALL_UPPER) {
		c->ops->resume(c, &call->pub);
		return;
	}
	call->stage = RT_CALL_UPPER;
	c->calls_upper++;
	c->calls_executing++;
	if (!c->server)
		RT_COUNT(c, reverse_calls_received, 1);
	else
		RT_COUNT(c, calls_received, 1);
	rt_conn_get(c);
	c->ops->call(c, &call->pub);
}

static void put_back(struct rt_conn *c, struct rt_call_priv *call)
{
	if (!c->replies_told)
		rt_log(c, LOG_NOTICE,
		       "Calls wait: this host has more Replies to take than "
		       "Max_Host_Memory");
	c->replies_told = true;
	RT_COUNT(c, reply_waits, 1);
	call->waiting = true;
	cds_list_add_tail(&call->queue, &c->waiting);
}

void rt_call_hand_up(struct rt_conn *c, struct rt_call_priv *call)
{
	/* Nobody overtakes those that wait. */
	if (c->state < RT_CLOSING &&
	    (!cds_list_empty(&c->waiting) || rt_conn_crowded(c)))
		put_back(c, call);
	else
		hand_up(c, call);
}

void rt_calls_let(struct rt_conn *c)
{
	while (!cds_list_empty(&c->waiting) &&
	       (c->state >= RT_CLOSING || !rt_conn_crowded(c))) {
		struct rt_call_priv *call = cds_list_first_entry(
			&c->waiting, struct rt_call_priv, queue);

		call->waiting = false;
		cds_list_del(&call->queue);
		hand_up(c, call);
	}
}

void rt_call_wait(struct rt_call *pub)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);

	rt_inbox_put(pub->conn, &call->mail, RT_MAIL_WAIT);
}
