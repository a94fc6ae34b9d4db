/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - the life of a back channel in one table
 *
 * back.h tells of threads and locks, and of the states. An event that has no
 * entry changes nothing.
 *
 *            ANSWERED              NAMED               ENDED
 *     FRESH ----------> LONE ---------------> UP ---------------> ENDED
 *       |                 |                 |  ^                    ^
 *       | DOWN            | DOWN       DOWN |  | BOUND, IDLE        | ENDED
 *       |                 v                 v  |                    |
 *       +-----------> LONE_DOWN ---------> DOWN --------------------+
 *                                 NAMED
 *
 * and FRESH is NAMED, too, which is the usual way: by CREATE_SESSION.
 *
 * What others ask again and again is counted: how many are FRESH, and in how
 * many sessions, of each bucket, a client has something to hear.
 */
#include "ntirpc/back/back.h"

/* clang-format off */
static const enum nrt_back_state next[NRT_BACK_STATES][NRT_BACK_EVENTS] = {
	[NRT_FRESH] = {
		[NRT_ANSWERED] = NRT_LONE,
		[NRT_NAMED]    = NRT_UP,
		/* If there is no Reply any more, nobody should wait for it. */
		[NRT_LOST]     = NRT_LONE_DOWN,
		[NRT_GIVEN_UP] = NRT_GONE,
	},
	[NRT_LONE] = {
		[NRT_NAMED]    = NRT_UP,
		[NRT_LOST]     = NRT_LONE_DOWN,
		[NRT_GIVEN_UP] = NRT_GONE,
	},
	[NRT_LONE_DOWN] = {
		[NRT_NAMED]    = NRT_DOWN,
		[NRT_GIVEN_UP] = NRT_GONE,
	},
	[NRT_UP] = {
		[NRT_LOST]     = NRT_DOWN,
		[NRT_DONE]     = NRT_ENDED,
		[NRT_GIVEN_UP] = NRT_GONE,
	},
	[NRT_DOWN] = {
		[NRT_BOUND]    = NRT_UP,
		/* Of no interest to anybody without a CLIENT. */
		[NRT_IDLE]     = NRT_UP,
		[NRT_DONE]     = NRT_ENDED,
		[NRT_GIVEN_UP] = NRT_GONE,
	},
	[NRT_ENDED] = {
		[NRT_GIVEN_UP] = NRT_GONE,
	},
};
/* clang-format on */

static void add(unsigned int *count, int one)
{
	__atomic_add_fetch(count, one, __ATOMIC_RELAXED);
}

static void count(struct nrt_clnts *n, const struct nrt_back *b, int one)
{
	if (b->state == NRT_FRESH)
		add(&n->nfresh, one);
	if (b->state == NRT_DOWN || (nrt_back_named(b) && b->fault)) {
		add(&n->troubled[b->bucket], one);
		add(&n->ntroubled, one);
	}
}

void nrt_back_begin(struct nrt_clnts *n, struct nrt_back *b, bool fresh)
{
	b->state = fresh ? NRT_FRESH : NRT_LONE;
	count(n, b, 1);
}

void nrt_back_event(struct nrt_clnts *n, struct nrt_back *b,
		    enum nrt_back_event event)
{
	enum nrt_back_state to = next[b->state][event];

	if (to == NRT_SAME)
		return;
	count(n, b, -1);
	b->state = to;
	if (to == NRT_ENDED)
		b->fault = false;
	count(n, b, 1);
}

void nrt_back_fault(struct nrt_clnts *n, struct nrt_back *b)
{
	count(n, b, -1);
	b->fault = true;
	count(n, b, 1);
}
