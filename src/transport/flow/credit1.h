/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit1 - version 1 flow control, RFC 8166 3.3.1 and RFC 8167 4
 *
 * Pure arithmetic. A credit is a Call that the Responder accepts. The Requester asks for
 * a number of credits in each Call and is granted a number in each Reply; it has at most
 * that many Calls outstanding, and one before the first Reply. A Reply needs no credit,
 * since its Receive was posted with the Call. Each direction has its own credits ([G3]),
 * so one object has the counts of an end as Requester and as Responder.
 */
#ifndef RPCRDMA_TRANSPORT_CREDIT1_H
#define RPCRDMA_TRANSPORT_CREDIT1_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/param.h>

#include "rpcrdma/config.h"
#include "transport/core/room_state.h"

static inline void rt_credit1_init(struct rt_credit1 *c, uint32_t request,
				   uint32_t grant)
{
	*c = (struct rt_credit1){ .request = request,
				  .limit = 1,
				  .grant = grant };
}

/* Returns whether the counts can be those of a connection. */
static inline bool rt_credit1_is_valid(const struct rt_credit1 *c)
{
	return c->request <= RT_CREDITS_MAX && c->grant <= RT_CREDITS_MAX &&
	       c->limit && c->limit <= MAX(c->request, 1);
}

/* Take the grant @n of a Reply. With 0 no Call could ever be sent, so it counts as 1. */
static inline void rt_credit1_granted(struct rt_credit1 *c, uint32_t n)
{
	n = MIN(n, c->request);
	c->limit = n ? n : 1;
}

/* Returns true if a Call may be sent while @out are outstanding. */
static inline bool rt_credit1_may_call(const struct rt_credit1 *c, uint32_t out)
{
	return out < c->limit;
}

/*
 * Returns true if a Call may be accepted while @taken are in progress. A Requester may
 * abandon a Call and use its credit for another while the first is still executed, so
 * more than the grant are tolerated.
 */
static inline bool rt_credit1_may_take(const struct rt_credit1 *c,
				       uint32_t taken)
{
	return taken < 2 * (c->grant ? c->grant : 1);
}

/*
 * Returns the grant while @taken Calls are in progress. Some of the Receives for `grant`
 * Calls may be lacking. A Call in progress needs no Receive, so as many may lack without
 * effect: of what the peer has been granted it has used @taken, and the Receives that
 * there are suffice for the others.
 */
static inline uint32_t rt_credit1_grant(const struct rt_credit1 *c,
					uint32_t taken)
{
	uint32_t n = c->grant + taken;

	n = n > c->lacking ? n - c->lacking : 0;
	n = MIN(n, c->grant);
	return n ? n : 1; /* RFC 8166 3.3.1: never 0 */
}

/*
 * Returns true if a Reply (or an ERROR) may be sent that leaves @taken Calls in progress.
 * It grants at least one credit, for which there is an additional Receive.
 */
static inline bool rt_credit1_may_reply(const struct rt_credit1 *c,
					uint32_t taken)
{
	return c->lacking <= c->grant + taken;
}

/*
 * Returns how many Receives should be posted (RFC 8167 4.3): for the Calls granted, for
 * the Replies expected, and one so that a message in excess is answered and does not end
 * the connection. A @client posts Receives for the Replies to all the Calls that it asked
 * for at once, a server for each of its @out Calls when it sends it.
 */
static inline uint32_t rt_credit1_receives(const struct rt_credit1 *c,
					   bool client, uint32_t out)
{
	return c->grant + (client ? c->request : out) + 1;
}

#endif /* RPCRDMA_TRANSPORT_CREDIT1_H */
