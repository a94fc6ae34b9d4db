/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrong - who sends what makes no sense has less of the server's time
 *
 * Each message that comes alone wakes the poller, is looked at and told of: and so
 * costs more than to send it. So a client may have max_wrong messages that are
 * wrong at once, and then one in RT_WRONG_MS; until it may have another, nothing
 * that came on its connection is looked at. What it sends meanwhile is taken
 * together, and soon its credits and its TCP window hold it up. An honest one
 * errs once or twice, about a version or an extension.
 *
 * A GRANT costs as much as any message, and is nothing wrong. But no more are of
 * use than other messages go, one way or the other; so what goes beyond that by
 * GRANTS is counted as if it were wrong.
 *
 * It counts for the connection and not for its host, which may be a gateway or
 * a NAT of many clients; a host's connections are counted elsewhere.
 *
 * Runner only.
 */
#include <sys/param.h>

#include "transport/flow/flow.h"

#define GRANTS 64

static uint64_t burst_ms(const struct rt_conn *c)
{
	return (uint64_t)c->inst->cfg.max_wrong * RT_WRONG_MS;
}

void rt_wrong(struct rt_conn *c)
{
	uint64_t now;

	rt_assert_strand(c);
	if (!c->server)
		return;
	now = rt_now_ms();
	c->flow.wrong_until = MAX(c->flow.wrong_until, now);
	c->flow.wrong_until += RT_WRONG_MS;
	/* By then the strand looks again (rt_looks_later()). */
	if (c->flow.wrong_until > burst_ms(c))
		rt_look_from(c, c->flow.wrong_until - burst_ms(c));
}

void rt_granted(struct rt_conn *c)
{
	uint32_t all = c->credit.received + c->credit.sent;
	uint32_t others = all - c->flow.grants_at - 1;

	rt_assert_strand(c);
	c->flow.grants_at = all;
	c->flow.grants -= MIN(others, c->flow.grants);
	if (c->flow.grants < GRANTS)
		c->flow.grants++;
	else
		rt_wrong(c);
}
