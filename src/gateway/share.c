/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share - which client may hold how much, and which one is ended when
 *
 * Policy, threads and locks: share.h.
 */
#include "gateway/share.h"

#include <string.h>
#include <sys/param.h>

#define SEC 1000000000ull
#define MSEC 1000000ull
/* For the first in line: a record of 2 MiB and results of 16 MiB in whole
 * buffers are 24 MiB, and more would be of no use to it. */
#define RESERVE_PART 8
#define IN_PART 2
/* Of what is not the reserve: who comes first has it. */
#define FREE_PART 3
/* Calls that have less than this of what is held will not make room. */
#define CALLS_PART 8
/* The server that has answered no Call for so long stands still. */
#define ANSWERS_NS SEC
#define RESERVE_MOST ((size_t)24 << 20)

void gw_shares_init(struct gw_shares *s, size_t limit, size_t record)
{
	memset(s, 0, sizeof(*s));
	s->limit = limit;
	s->reserve = limit / RESERVE_PART;
	s->reserve = MIN(s->reserve, RESERVE_MOST);
	if (s->reserve < record)
		s->reserve = record < limit / 2 ? record : limit / 2;
	CDS_INIT_LIST_HEAD(&s->all);
	pthread_mutex_init(&s->lock, NULL);
}

void gw_shares_fini(struct gw_shares *s)
{
	pthread_mutex_destroy(&s->lock);
}

void gw_share_join(struct gw_shares *s, struct gw_share *m)
{
	memset(m, 0, sizeof(*m));
	m->of = s;
	pthread_mutex_lock(&s->lock);
	cds_list_add(&m->link, &s->all);
	m->joined = true;
	atomic_fetch_add(&s->joined, 1);
	pthread_mutex_unlock(&s->lock);
}

/* Lock held. */
static void line_leave(struct gw_share *m)
{
	struct gw_shares *s = m->of;
	struct gw_share *i = atomic_load(&s->first);

	if (!m->queued)
		return;
	m->queued = false;
	if (i == m) {
		atomic_store(&s->first, m->wait_next);
		i = NULL;
	} else {
		while (i->wait_next != m)
			i = i->wait_next;
		i->wait_next = m->wait_next;
	}
	if (s->last == m)
		s->last = i;
	m->wait_next = NULL;
}

static void line_enter(struct gw_share *m)
{
	struct gw_shares *s = m->of;

	m->queued = true;
	m->tries = 0;
	m->wait_next = NULL;
	if (s->last)
		s->last->wait_next = m;
	else
		atomic_store(&s->first, m);
	s->last = m;
}

void gw_share_leave(struct gw_share *m)
{
	struct gw_shares *s = m->of;

	pthread_mutex_lock(&s->lock);
	line_leave(m);
	atomic_store(&m->waiting, false);
	if (m->joined) {
		cds_list_del(&m->link);
		atomic_fetch_sub(&s->joined, 1);
	}
	m->joined = false;
	pthread_mutex_unlock(&s->lock);
}

/* ---- Shares ------------------------------------------------------------- */

/* Adds; what was there before comes back. */
static size_t share_add(struct gw_share *m, size_t n, size_t *total)
{
	size_t was =
		atomic_fetch_add_explicit(&m->used, n, memory_order_relaxed);

	if (!was && n)
		atomic_fetch_add_explicit(&m->of->holders, 1,
					  memory_order_relaxed);
	*total = n + atomic_fetch_add_explicit(&m->of->used, n,
					       memory_order_relaxed);
	return was;
}

void gw_shares_answered(struct gw_shares *s)
{
	atomic_fetch_add_explicit(&s->answered, 1, memory_order_relaxed);
}

void gw_share_give(struct gw_share *m, size_t n)
{
	struct gw_shares *s = m->of;

	if (!n)
		return;
	atomic_fetch_sub_explicit(&s->used, n, memory_order_relaxed);
	if (atomic_fetch_sub_explicit(&m->used, n, memory_order_relaxed) == n)
		atomic_fetch_sub_explicit(&s->holders, 1, memory_order_relaxed);
}

static bool is_first(const struct gw_share *m)
{
	return m->urgent &&
	       atomic_load_explicit(&m->of->first, memory_order_relaxed) == m;
}

/* Is that not too much for one, when @total is held? */
static bool fair(const struct gw_shares *s, size_t mine, size_t total)
{
	size_t most = s->limit - s->reserve, open = most / FREE_PART;
	size_t in = atomic_load_explicit(&s->in_used, memory_order_relaxed);
	unsigned int n = atomic_load_explicit(&s->joined, memory_order_relaxed);

	if (mine <= (most - open) / (n ? n : 1))
		return true;
	/* Nobody else has any: then all of what is free is for one. */
	if (total == mine)
		return mine <= open;
	/* Records have a limit of their own. */
	total -= MIN(in, total);
	return total <= open && mine <= open - total;
}

bool gw_share_take(struct gw_share *m, size_t n)
{
	struct gw_shares *s = m->of;
	size_t was, total, most = s->limit - s->reserve;
	bool first = is_first(m);

	if (n > s->limit)
		return false;
	was = share_add(m, n, &total);
	atomic_store_explicit(&m->in_blocked, false, memory_order_relaxed);
	if (first && total <= s->limit)
		return true;
	if (total <= most && (!was || fair(s, was + n, total)))
		return true;
	gw_share_give(m, n);
	return false;
}

bool gw_share_take_in(struct gw_share *m, size_t n)
{
	struct gw_shares *s = m->of;
	size_t most = s->limit / IN_PART;
	size_t was =
		atomic_fetch_add_explicit(&m->in_used, n, memory_order_relaxed);
	size_t total = n + atomic_fetch_add_explicit(&s->in_used, n,
						     memory_order_relaxed);
	bool good = is_first(m) ?
			    total <= most + s->reserve :
			    total <= most && (!was || was + n <= most - total);

	if (!was && n <= GW_FIRST_BUFFER)
		good = true;
	/* One record, however large, can always be brought to its end. */
	good |= total <= was + n;
	if (good && gw_share_take(m, n))
		return true;
	if (!good)
		atomic_store_explicit(&m->in_blocked, true,
				      memory_order_relaxed);
	atomic_fetch_sub_explicit(&m->in_used, n, memory_order_relaxed);
	atomic_fetch_sub_explicit(&s->in_used, n, memory_order_relaxed);
	return false;
}

void gw_share_more_in(struct gw_share *m, size_t n)
{
	atomic_fetch_add_explicit(&m->in_used, n, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->of->in_used, n, memory_order_relaxed);
}

void gw_share_done_in(struct gw_share *m, size_t left)
{
	size_t was = atomic_load_explicit(&m->in_used, memory_order_relaxed);

	if (was <= left)
		return;
	atomic_fetch_sub_explicit(&m->in_used, was - left,
				  memory_order_relaxed);
	atomic_fetch_sub_explicit(&m->of->in_used, was - left,
				  memory_order_relaxed);
}

bool gw_share_force(struct gw_share *m, size_t n, bool hard)
{
	size_t total;

	if (hard && n > m->of->limit)
		return false;
	share_add(m, n, &total);
	if (!hard || total <= m->of->limit)
		return true;
	gw_share_give(m, n);
	return false;
}

bool gw_shares_plenty(const struct gw_shares *s)
{
	return atomic_load_explicit(&s->used, memory_order_relaxed) <
	       s->limit / 2;
}

bool gw_share_alone(const struct gw_share *m)
{
	return atomic_load_explicit(&m->of->used, memory_order_relaxed) <=
	       atomic_load_explicit(&m->used, memory_order_relaxed);
}

void gw_share_wait(struct gw_share *m, uint64_t now)
{
	struct gw_shares *s = m->of;

	atomic_store(&m->waiting, true);
	pthread_mutex_lock(&s->lock);
	if (!m->urgent) {
		line_leave(m);
	} else if (!m->queued) {
		m->queued_at = now;
		line_enter(m);
	} else if (atomic_load(&s->first) == m &&
		   ++m->tries >= GW_FIRST_TRIES) {
		line_leave(m);
		line_enter(m);
	}
	pthread_mutex_unlock(&s->lock);
}

void gw_share_served(struct gw_share *m)
{
	if (!atomic_load_explicit(&m->waiting, memory_order_relaxed))
		return;
	pthread_mutex_lock(&m->of->lock);
	line_leave(m);
	atomic_store(&m->waiting, false);
	pthread_mutex_unlock(&m->of->lock);
}

/* ---- Progress ----------------------------------------------------------- */

void gw_share_in(struct gw_share *m, uint64_t now, size_t octets)
{
	if (!atomic_load_explicit(&m->in_since, memory_order_relaxed))
		return;
	m->in_octets += octets;
	if (m->in_octets < GW_PROGRESS_LEAST)
		return;
	m->in_octets = 0;
	atomic_store_explicit(&m->in_since, now, memory_order_relaxed);
}

void gw_share_in_start(struct gw_share *m, uint64_t now)
{
	if (atomic_load_explicit(&m->in_since, memory_order_relaxed))
		return;
	m->in_octets = 0;
	atomic_store_explicit(&m->in_since, now, memory_order_relaxed);
}

void gw_share_in_stop(struct gw_share *m)
{
	atomic_store_explicit(&m->in_since, 0, memory_order_relaxed);
}

void gw_share_out_start(struct gw_share *m, uint64_t now)
{
	atomic_store_explicit(&m->out_since, now, memory_order_relaxed);
}

void gw_share_out_stop(struct gw_share *m)
{
	atomic_store_explicit(&m->out_since, 0, memory_order_relaxed);
}

static uint64_t clock_ran(const atomic_uint_least64_t *since, uint64_t now)
{
	uint64_t then = atomic_load_explicit(since, memory_order_relaxed);

	return then && then < now ? now - then : 0;
}

uint64_t gw_share_lack(const struct gw_share *m, uint64_t now)
{
	uint64_t in = clock_ran(&m->in_since, now);
	uint64_t out = clock_ran(&m->out_since, now);

	return MAX(in, out);
}

void gw_share_spare(struct gw_share *m)
{
	pthread_mutex_lock(&m->of->lock);
	m->leaving = false;
	m->of_line = false;
	pthread_mutex_unlock(&m->of->lock);
}

/* Has @v more of it than is fair towards @m? */
static bool in_the_way(const struct gw_share *m, const struct gw_share *v)
{
	const struct gw_shares *s = m->of;
	size_t mine = atomic_load_explicit(&m->used, memory_order_relaxed);
	size_t his = atomic_load_explicit(&v->used, memory_order_relaxed);
	unsigned int n =
		atomic_load_explicit(&s->holders, memory_order_relaxed);

	return his && (his > mine || (n && mine <= s->limit / n));
}

/*
 * The last of those in line that has something of a record, if they have most
 * of what records have, and one of them has waited long. Lock held.
 */
static struct gw_share *line_victim(struct gw_shares *s, uint64_t now)
{
	struct gw_share *first = atomic_load(&s->first), *last = NULL;
	size_t sum = 0, mine, all = atomic_load(&s->used);
	size_t in = atomic_load(&s->in_used);
	uint64_t since = now;
	/* No Call will give anything back: what is waited for is no matter. */
	bool nearly = in >= all - all / CALLS_PART;
	unsigned long answered = atomic_load(&s->answered);

	if (answered != s->answered_seen) {
		s->answered_seen = answered;
		s->answered_at = now;
	}
	if (!nearly && now - s->answered_at > ANSWERS_NS) {
		s->still_at = now;
		return NULL;
	}

	for (struct gw_share *i = first; i; i = i->wait_next) {
		since = MIN(since, i->queued_at);
		if (!nearly && !atomic_load(&i->in_blocked))
			continue;
		mine = atomic_load(&i->in_used);
		sum += mine;
		if (mine && i != first && !i->leaving)
			last = i;
	}
	/* What they have waited for the server does not count. */
	since = MAX(since, s->still_at);
	/* The one that has waited longest need not be first just now. */
	if (!first || now - since < GW_PRESSURE_SECONDS * SEC)
		return NULL;
	return sum > in / 2 ? last : NULL;
}

bool gw_share_press(struct gw_share *m, uint64_t now,
		    void (*evict)(struct gw_share *victim))
{
	struct gw_shares *s = m->of;
	uint64_t last =
		atomic_load_explicit(&s->looked_at, memory_order_relaxed);
	uint64_t most = GW_PRESSURE_SECONDS * SEC - 1, lack;
	struct gw_share *victim = NULL, *v;

	/* The clients of all workers ask again and again. */
	if ((last && now - last < GW_LOOK_MS * MSEC) ||
	    !atomic_compare_exchange_strong(&s->looked_at, &last, now))
		return false;
	pthread_mutex_lock(&s->lock);
	cds_list_for_each_entry(v, &s->all, link)
	{
		lack = gw_share_lack(v, now);
		if (lack <= most || v->leaving || !in_the_way(m, v))
			continue;
		most = lack;
		victim = v;
	}
	if (!victim) {
		victim = line_victim(s, now);
		if (victim)
			victim->of_line = true;
	}
	if (victim) {
		victim->leaving = true;
		evict(victim);
	}
	pthread_mutex_unlock(&s->lock);
	return victim;
}
