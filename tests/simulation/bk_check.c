/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bk_check - what must hold of the back channels after every step
 *
 * Threads: one.
 */
#include <stdio.h>
#include <string.h>

#include "bk.h"
#include "transport/core/conn.h"

/* ---- Which events have come in which states ---------------------------------- */

static const char *const states[NRT_BACK_STATES] = {
	[NRT_FRESH] = "fresh",	       [NRT_LONE] = "lone",
	[NRT_LONE_DOWN] = "lone down", [NRT_UP] = "up",
	[NRT_DOWN] = "down",	       [NRT_ENDED] = "ended",
	[NRT_GONE] = "gone",
};

static const char *const events[NRT_BACK_EVENTS] = {
	[NRT_ANSWERED] = "answered", [NRT_NAMED] = "named",
	[NRT_BOUND] = "bound",	     [NRT_LOST] = "lost",
	[NRT_IDLE] = "idle",	     [NRT_DONE] = "done",
	[NRT_GIVEN_UP] = "given up",
};

void __real_nrt_back_event(struct nrt_clnts *n, struct nrt_back *b,
			   enum nrt_back_event event);
void __wrap_nrt_back_event(struct nrt_clnts *n, struct nrt_back *b,
			   enum nrt_back_event event);

void __wrap_nrt_back_event(struct nrt_clnts *n, struct nrt_back *b,
			   enum nrt_back_event event)
{
	if (b->state == NRT_GONE)
		sim_fail("state: an event %s of what is gone", events[event]);
	sim_counts[(unsigned int)b->state * NRT_BACK_EVENTS + event]++;
	__real_nrt_back_event(n, b, event);
}

/* Has the table an entry for it? */
static bool changes(enum nrt_back_state state, enum nrt_back_event event)
{
	static struct nrt_clnts n;
	struct nrt_back b = { .state = state };

	__real_nrt_back_event(&n, &b, event);
	return b.state != state;
}

const char *bks_count_name(unsigned int i, bool *never)
{
	unsigned int s = i / NRT_BACK_EVENTS;
	static char name[40];

	if (s == NRT_SAME || s >= NRT_BACK_STATES)
		return NULL;
	*never = !changes(s, i % NRT_BACK_EVENTS);
	snprintf(name, sizeof(name), "%s: %s", states[s],
		 events[i % NRT_BACK_EVENTS]);
	return name;
}

/* ---- One back channel ------------------------------------------------------- */

struct sums {
	unsigned int fresh, troubled, in_bucket, parked, flying;
};

static void broken(const struct nrt_back *b, const char *what, uint64_t is,
		   uint64_t should)
{
	sim_fail("%s: %llu, %llu; %s", what, (unsigned long long)is,
		 (unsigned long long)should, states[b->state]);
}

#define SAME(b, what, is, should)                          \
	do {                                               \
		uint64_t is_ = (is), should_ = (should);   \
		if (is_ != should_)                        \
			broken((b), (what), is_, should_); \
	} while (0)

static bool has_ended(const struct rt_conn *rc)
{
	for (unsigned int i = 0; i < BKS_CONNS; i++)
		if (bks.conn[i].s == rc)
			return false;
	return true;
}

/* Nothing moves, and it would be sent if somebody looked. */
static bool could_be_sent(struct nrt_back *b)
{
	return b->nparked && cds_list_empty(&b->flying) && !b->held &&
	       !b->announced && !b->pause && b->conn &&
	       (b->state == NRT_UP || b->state == NRT_LONE) &&
	       rt_conn_can_call(b->conn);
}

static void check_back(struct nrt_back *b, bool named, bool quiet,
		       struct sums *s)
{
	unsigned int parked = 0, flying = 0;
	const struct rcall *c;
	uint64_t last = 0;

	cds_list_for_each_entry(c, &b->parked, at)
	{
		parked++;
		if (!c->parked || c->order <= last)
			broken(b, "order: of parked Calls", c->order, last);
		last = c->order;
	}
	cds_list_for_each_entry(c, &b->flying, at)
	{
		flying++;
		if (c->parked)
			broken(b, "list: parked and flying", c->order, 0);
	}
	SAME(b, "count: parked", b->nparked, parked);
	SAME(b, "state: it is a session's", nrt_back_named(b), named);
	if (b->state == NRT_GONE)
		broken(b, "state: gone, and listed", 0, 0);
	if (quiet && could_be_sent(b))
		broken(b, "quiet: parked, and could be sent", b->nparked, 0);
	if (b->conn && has_ended(b->conn))
		broken(b, "connection: it has ended", 0, 0);
	s->fresh += b->state == NRT_FRESH;
	s->in_bucket += b->state == NRT_DOWN || (named && b->fault);
	s->parked += parked;
	s->flying += flying;
}

static void check_hosts(struct nrt_clnts *n)
{
	for (unsigned int i = 0; i < NRT_BUCKETS; i++) {
		const struct nrt_host *h;

		cds_list_for_each_entry(h, &n->hosts[i], link)
		{
			unsigned int backs = 0, parked = 0;
			const struct nrt_back *b;

			cds_list_for_each_entry(b, &h->backs, sibling)
			{
				backs++;
				parked += b->nparked;
			}
			if (backs != h->nbacks || parked != h->nparked ||
			    backs > n->host_most || parked > NRT_HOST_PARKED)
				sim_fail(
					"count: a host has %u back channels, %u, of %u; %u parked, %u",
					backs, h->nbacks, n->host_most, parked,
					h->nparked);
		}
	}
}

static void check_all(struct nrt_clnts *n, bool quiet)
{
	struct sums s = { 0 };
	struct nrt_back *b;

	cds_list_for_each_entry(b, &n->unnamed, link)
		check_back(b, false, quiet, &s);
	for (unsigned int i = 0; i < NRT_BUCKETS; i++) {
		s.in_bucket = 0;
		cds_list_for_each_entry(b, &n->bucket[i], link)
			check_back(b, true, quiet, &s);
		if (s.in_bucket != n->troubled[i])
			sim_fail("count: %u sessions are in trouble, %u",
				 s.in_bucket, n->troubled[i]);
		s.troubled += s.in_bucket;
	}
	if (s.troubled != n->ntroubled || s.fresh != n->nfresh)
		sim_fail(
			"count: %u sessions are in trouble, %u; %u are fresh, %u",
			s.troubled, n->ntroubled, s.fresh, n->nfresh);
	if (quiet && s.parked + s.flying != atomic_load(&n->nrcalls) &&
	    !bks.njobs)
		sim_fail("count: %u parked, %u flying, %u", s.parked, s.flying,
			 atomic_load(&n->nrcalls));
	check_hosts(n);
}

/* ---- What clients hear ------------------------------------------------------ */

static void check_flags(struct bks_session *s)
{
	uint32_t flags = nrt_clnts_flags(bks.clnts, s->id);

	if (s->on && s->on->s && rt_conn_can_call(s->on->s) &&
	    (flags & ULB_SEQ_CB_PATH_DOWN_SESSION))
		sim_fail(
			"flags: session %u is bound, and is told that it is not",
			(unsigned int)(s - bks.session));
	if (s->ended && flags)
		sim_fail("flags: %x of a session that is no more, %u", flags,
			 (unsigned int)(s - bks.session));
}

void bks_check(bool quiet)
{
	if (bks.w->watch.faults)
		sim_fail("wire: %s", bks.w->watch.first);
	if (platform_amid())
		return;
	check_all(bks.clnts, quiet);
	for (unsigned int i = 0; quiet && i < BKS_SESSIONS; i++)
		if (bks.session[i].used && !bks.session[i].raced)
			check_flags(&bks.session[i]);
}
