/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit1 - version 1 flow control, RFC 8166 3.3.1 and RFC 8167 4
 *
 * Pure arithmetic. A credit is a Call that the Responder takes: the Requester
 * asks for a number in each Call and is granted one in each Reply, and has at
 * most that many Calls outstanding; before the first Reply it has one. A Reply
 * needs no credit, since its Receive was posted with the Call. The directions
 * are accounted apart: each end is Requester in one and Responder in the other
 * ([G3]), so one object has a Requester's and a Responder's half.
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

/* A Reply has granted @n. None at all would be the end of all Calls. */
static inline void rt_credit1_granted(struct rt_credit1 *c, uint32_t n)
{
	n = MIN(n, c->request);
	c->limit = n ? n : 1;
}

/* May a Call be sent when @out are outstanding? */
static inline bool rt_credit1_may_call(const struct rt_credit1 *c, uint32_t out)
{
	return out < c->limit;
}

/*
 * May one more Call be in progress when @taken are? A Requester may give up a
 * Call and use its credit for another while the first is still worked on, so
 * that the grant is not quite the limit.
 */
static inline bool rt_credit1_may_take(const struct rt_credit1 *c,
				       uint32_t taken)
{
	return taken < 2 * (c->grant ? c->grant : 1);
}

/*
 * What is granted now that @taken Calls are in progress. Of the Receives for
 * `grant` Calls some may be lacking; a Call in progress needs none any more, so
 * that as many may be lacking. Whatever the peer has been granted before, it
 * has sent as many Calls as are in progress, and the Receives that are left are
 * enough for the others.
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
 * May a Reply (or an ERROR) go that leaves @taken Calls in progress? It grants
 * one more at least, which the Receive to spare is for.
 */
static inline bool rt_credit1_may_reply(const struct rt_credit1 *c,
					uint32_t taken)
{
	return c->lacking <= c->grant + taken;
}

/*
 * Receives that should be posted (RFC 8167 4.3): for the Calls granted, for the
 * Replies to come, and one so that a message too many, which will be answered,
 * does not end the connection. A @client posts for all the Calls it asked for
 * at once, a server when it sends one.
 */
static inline uint32_t rt_credit1_receives(const struct rt_credit1 *c,
					   bool client, uint32_t out)
{
	return c->grant + (client ? c->request : out) + 1;
}

#endif /* RPCRDMA_TRANSPORT_CREDIT1_H */
