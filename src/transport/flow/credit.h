/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit - version 2 flow control, section 4.2.1
 *
 * Pure arithmetic on the counts of one connection. All values are modulo 2^32 and
 * compared as signed differences ([A4]); limits stay under 2^31 - 1.
 *
 * The limit that is announced to the peer is Received message count + Advertised credits
 * ([A1]: the draft says Sent message count, which is only right in lock-step traffic).
 *
 * A complete Call holds its credit until its Reply is posted, which bounds the Calls in
 * progress ([A5] rule 6). There are two exceptions. While a Call of ours is outstanding,
 * Calls hold no credits, since the peer may have to send some before it can answer ours
 * ([G3]). While a Reply goes in fragments, there is one credit for the GRANTs that draw
 * them. Calls in excess of the credits are charged as memory (incoming_call.c).
 */
#ifndef RPCRDMA_TRANSPORT_CREDIT_H
#define RPCRDMA_TRANSPORT_CREDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/param.h>

#include "rpcrdma/config.h"
#include "transport/core/room_state.h"

/* More outstanding Calls than fit into the memory of any machine. */
#define RT_CALLS_OUT_MAX (1 << 30)

static inline void rt_credit_init(struct rt_credit *c, uint32_t max)
{
	max = MAX(max, RT_CREDIT_MIN);
	*c = (struct rt_credit){ .limit = 1, .max = max };
}

/*
 * Returns whether the counts can be those of a connection: the differences that are
 * compared as signed numbers stay far under 2^31. rt_credit_overrun() has found a peer
 * that exceeds its credits before, which ends the connection.
 */
static inline bool rt_credit_is_valid(const struct rt_credit *c)
{
	int32_t open = (int32_t)(c->announced - c->received);

	return c->max >= RT_CREDIT_MIN && c->max <= RT_CREDITS_MAX &&
	       c->reverse <= RT_CALLS_OUT_MAX &&
	       (!c->has_announced ||
		(open >= -RT_CREDIT_BEYOND &&
		 (int64_t)open + c->grants <=
			 RT_CREDITS_MAX + RT_CALLS_OUT_MAX));
}

/* Returns true if one ordinary message may be posted. It counts itself [A2]. */
static inline bool rt_credit_may_send(const struct rt_credit *c)
{
	return (int32_t)(c->limit - c->sent) > 0;
}

/* Returns how many messages may be posted now. */
static inline uint32_t rt_credit_available(const struct rt_credit *c)
{
	int32_t d = (int32_t)(c->limit - c->sent);

	return d > 0 ? (uint32_t)d : 0;
}

/* Take rdma_credit of a message that was received. The newest value counts [A6]. */
static inline void rt_credit_take(struct rt_credit *c, uint32_t limit)
{
	c->limit = limit;
	if (rt_credit_available(c) >= 2)
		c->peer_multi_credit = true;
}

/* Returns true if a GRANT may be posted. It may use the extra Receive, [A5] rules 2,
 * 7. */
static inline bool rt_credit_may_grant(const struct rt_credit *c)
{
	return (int32_t)(c->limit - c->sent) >= (c->received ? 0 : 1);
}

/* Returns how many credits may be advertised. */
static inline uint32_t rt_credit_allowed(const struct rt_credit *c)
{
	if (c->withheld)
		return 0;
	if (c->reverse || c->forward)
		return c->max + c->reverse;
	if (c->holding < c->max)
		return c->max - c->holding;
	/* One is for the GRANTs that draw the fragments, however many Calls there are:
	 * after the case above they may be more than max. */
	return c->reply_in_fragments ? 1 : 0;
}

/* Returns how many credits are advertised now: none without its Receive. */
static inline uint32_t rt_credit_advertised(const struct rt_credit *c)
{
	uint32_t n = rt_credit_allowed(c), most = c->max + c->reverse;

	most = most > c->lacking ? most - c->lacking : 0;
	return MIN(n, most);
}

/* Returns rdma_credit of a message that is built now. It is never less than what was
 * announced, since the peer may have used that already ([A6]). */
static inline uint32_t rt_credit_value(const struct rt_credit *c)
{
	uint32_t v = c->received + rt_credit_advertised(c);

	if (c->has_announced && (int32_t)(v - c->announced) < 0)
		v = c->announced;
	return v;
}

/* Count a message that was posted with rt_credit_value(). */
static inline void rt_credit_announce(struct rt_credit *c)
{
	c->announced = rt_credit_value(c);
	c->has_announced = true;
	c->grants = 0;
	c->sent++;
}

/*
 * Returns how many Receives should be posted: one for each message that was announced,
 * and RT_CREDIT_BEYOND ([A5] rule 3). If some are lacking, as many credits less are
 * announced; for those that were announced before there are Receives.
 */
static inline uint32_t rt_credit_receives(const struct rt_credit *c)
{
	uint32_t n = c->max + c->reverse;
	uint32_t open = c->announced - c->received;

	if (c->has_announced && (int32_t)open > (int32_t)n)
		n = open;
	return n + RT_CREDIT_BEYOND;
}

/* Returns true if the peer has used all credits that were announced. */
static inline bool rt_credit_exhausted(const struct rt_credit *c)
{
	return (int32_t)(c->received - c->announced) >= 0;
}

/* Returns true if the peer has sent more messages than are tolerated. Before anything is
 * announced it sends one, or two if it takes 4.2.1 literally. */
static inline bool rt_credit_overrun(const struct rt_credit *c)
{
	return c->has_announced &&
	       (int32_t)(c->received - c->announced) > RT_CREDIT_BEYOND;
}

/*
 * Returns true if a GRANT is due: when the credits that were returned and not announced
 * reach half of the Advertised credits ([A5] rule 6), or at once if the peer has used all
 * that was announced, since it may have none left to ask with.
 *
 * Two GRANTs received count as one returned credit (rule 5): a peer that sends nothing
 * but GRANTs gets its credits back, and two ends that answer each other's stop.
 */
static inline bool rt_credit_grant_due(const struct rt_credit *c)
{
	int32_t back, news;
	uint32_t half;

	/* The peer began with one message (4.3); a Call is answered. */
	if (!c->has_announced)
		return c->received != c->grants && !c->holding;
	back = (int32_t)(rt_credit_value(c) - c->announced);
	news = back - (int32_t)(c->grants - c->grants / 2);
	if (news <= 0)
		return false;
	half = rt_credit_advertised(c) / 2;
	return rt_credit_exhausted(c) || (uint32_t)back >= half;
}

/*
 * Returns true if both sides can go on after a GRANT now. A GRANT costs a credit like any
 * message, and one alone is not answered by a GRANT ([A5] rule 5), so its credit may
 * return only with a message that the peer sends for another reason.
 *
 * With two credits or more both can. The last credit may be spent when the peer has none
 * left: it has then sent all it could since our last GRANT, and so announced that one. Of
 * the two or more messages of ours that it has not announced, at most this one is a
 * GRANT, and the peer returns the credits of the others. A peer that advertises only one
 * credit must be known to send something by itself (@active).
 *
 * Without a credit the GRANT uses the extra Receive (@reserve). Only one side may do so
 * at a time, and only if no message of the peer can be under way: two GRANTs that cross
 * would use up each other's credit. The client comes first, since Calls may hold all
 * credits of a server that needs one for a fragment.
 */
static inline bool rt_credit_grant_safe(const struct rt_credit *c, bool reserve,
					bool active)
{
	uint32_t n = rt_credit_available(c);

	if (!c->has_announced || n >= 2)
		return true;
	if (!rt_credit_exhausted(c))
		return false;
	return n ? c->peer_multi_credit || active : reserve;
}

#endif /* RPCRDMA_TRANSPORT_CREDIT_H */
