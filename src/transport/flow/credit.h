/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit - version 2 flow control, section 4.2.1
 *
 * Pure arithmetic on one connection's counts. All values are modulo 2^32 and
 * compared as signed differences ([A4]); limits stay under 2^31 - 1.
 *
 * The limit told to the peer is Received message count + Advertised credits
 * ([A1]: the draft's text says Sent message count, which is only right in
 * lock-step traffic). A complete Call keeps its credit until its Reply is
 * posted, which bounds the Calls in progress ([A5] rule 6), but not while a
 * Call of ours is outstanding, which it may wait for ([G3]), and with one to
 * spare for each fragment of a Reply: what comes beyond counts as memory.
 */
#ifndef RPCRDMA_TRANSPORT_CREDIT_H
#define RPCRDMA_TRANSPORT_CREDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/param.h>

#include "rpcrdma/config.h"
#include "transport/core/room_state.h"

/* More Calls of ours than the memory of this machine holds. */
#define RT_CALLS_OUT_MAX (1 << 30)

static inline void rt_credit_init(struct rt_credit *c, uint32_t max)
{
	max = MAX(max, RT_CREDIT_MIN);
	*c = (struct rt_credit){ .limit = 1, .max = max };
}

/*
 * Returns whether the counts can be those of a connection: the differences that are
 * compared as signed numbers stay far under 2^31. A peer that goes beyond what is
 * borne has been found by rt_credit_overrun() before, and has lost its connection.
 */
static inline bool rt_credit_is_valid(const struct rt_credit *c)
{
	int32_t open = (int32_t)(c->announced - c->received);

	return c->max >= RT_CREDIT_MIN && c->max <= RT_CREDITS_MAX &&
	       c->reverse <= RT_CALLS_OUT_MAX &&
	       (!c->told || (open >= -RT_CREDIT_BEYOND &&
			     (int64_t)open + c->grants <=
				     RT_CREDITS_MAX + RT_CALLS_OUT_MAX));
}

/* May one ordinary message be posted? The message counts itself [A2]. */
static inline bool rt_credit_may_send(const struct rt_credit *c)
{
	return (int32_t)(c->limit - c->sent) > 0;
}

/* Messages that may be posted now. */
static inline uint32_t rt_credit_available(const struct rt_credit *c)
{
	int32_t d = (int32_t)(c->limit - c->sent);

	return d > 0 ? (uint32_t)d : 0;
}

/* A new value of Received credits: the newest counts, [A6]. */
static inline void rt_credit_take(struct rt_credit *c, uint32_t limit)
{
	c->limit = limit;
	if (rt_credit_available(c) >= 2)
		c->roomy = true;
}

/* May a GRANT be posted? It may use the extra Receive, [A5] rules 2 and 7. */
static inline bool rt_credit_may_grant(const struct rt_credit *c)
{
	return (int32_t)(c->limit - c->sent) >= (c->received ? 0 : 1);
}

/* What may be advertised. */
static inline uint32_t rt_credit_allowed(const struct rt_credit *c)
{
	if (c->stopped)
		return 0;
	if (c->reverse || c->forward)
		return c->max + c->reverse;
	if (c->holding < c->max)
		return c->max - c->holding;
	/* One for the GRANTs that draw the fragments, however many Calls
	 * there are (they may be more than max after the case above). */
	return c->drawing ? 1 : 0;
}

/* Advertised credits now: none without its Receive. */
static inline uint32_t rt_credit_advertised(const struct rt_credit *c)
{
	uint32_t n = rt_credit_allowed(c), most = c->max + c->reverse;

	most = most > c->lacking ? most - c->lacking : 0;
	return MIN(n, most);
}

/*
 * rdma_credit of a message built now. Never below what was announced: the
 * peer may have used it already ([A6]).
 */
static inline uint32_t rt_credit_value(const struct rt_credit *c)
{
	uint32_t v = c->received + rt_credit_advertised(c);

	if (c->told && (int32_t)(v - c->announced) < 0)
		v = c->announced;
	return v;
}

/* A message with rt_credit_value() has been posted. */
static inline void rt_credit_announce(struct rt_credit *c)
{
	c->announced = rt_credit_value(c);
	c->told = true;
	c->grants = 0;
	c->sent++;
}

/*
 * Receives that should be posted, so that everything announced can arrive and
 * what is borne beyond ([A5] rule 3). If some are lacking, so much less is
 * announced; for what was announced before there are enough.
 */
static inline uint32_t rt_credit_receives(const struct rt_credit *c)
{
	uint32_t n = c->max + c->reverse;
	uint32_t open = c->announced - c->received;

	if (c->told && (int32_t)open > (int32_t)n)
		n = open;
	return n + RT_CREDIT_BEYOND;
}

/* Has the peer used all that was announced (or the reserve as well)? */
static inline bool rt_credit_exhausted(const struct rt_credit *c)
{
	return (int32_t)(c->received - c->announced) >= 0;
}

/* Has it sent more than is borne? Who has not been told anything sends one
 * message, or two if it reads 4.2.1 as it stands. */
static inline bool rt_credit_overrun(const struct rt_credit *c)
{
	return c->told &&
	       (int32_t)(c->received - c->announced) > RT_CREDIT_BEYOND;
}

/*
 * Is a GRANT due? When what was given back and not announced reaches half of
 * the Advertised credits ([A5] rule 6), and at once if the peer has used all
 * that was announced, since it may have nothing left to ask with. Of GRANTs
 * received two make one piece of news (rule 5): who sends nothing else gets
 * its credits back, and two ends that answer each other come to rest.
 */
static inline bool rt_credit_grant_due(const struct rt_credit *c)
{
	int32_t back, news;
	uint32_t half;

	/* The peer began with one message (4.3); a Call is answered. */
	if (!c->told)
		return c->received != c->grants && !c->holding;
	back = (int32_t)(rt_credit_value(c) - c->announced);
	news = back - (int32_t)(c->grants - c->grants / 2);
	if (news <= 0)
		return false;
	half = rt_credit_advertised(c) / 2;
	return rt_credit_exhausted(c) || (uint32_t)back >= half;
}

/*
 * Would a GRANT now leave both sides able to go on? It costs a credit like any
 * message, and one alone is not answered by a GRANT ([A5] rule 5), so that its
 * credit may come back only with a message that the peer sends for another
 * reason.
 *
 * With two credits or more there is no question. The last one may go when the
 * peer has none left. For then it has also sent all it could since our last
 * GRANT, and by that announced it: of the two or more messages of ours that it
 * has not announced at most this one is a GRANT, and the others are news for
 * it. A peer that advertises but one credit must be known to go on by itself
 * (@active).
 *
 * Without a credit the GRANT uses the extra Receive. Only one side may do so
 * at a time, and only if nothing of the peer can be under way: two GRANTs that
 * cross would use up each other's credit. The client has the @reserve first,
 * since a server may have all its credits held by Calls while it needs one
 * for a fragment.
 */
static inline bool rt_credit_grant_safe(const struct rt_credit *c, bool reserve,
					bool active)
{
	uint32_t n = rt_credit_available(c);

	if (!c->told || n >= 2)
		return true;
	if (!rt_credit_exhausted(c))
		return false;
	return n ? c->roomy || active : reserve;
}

#endif /* RPCRDMA_TRANSPORT_CREDIT_H */
