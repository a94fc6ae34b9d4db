/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - how much memory each client may hold: memory.h has the policy
 */
#include "gateway/policy/memory.h"

#include <string.h>
#include <sys/param.h>

#define SEC 1000000000ull
/* What a client that was evicted holds comes back within this time. */
#define EVICT_PAUSE (SEC / 10)
#define BORROW_PART 4

static size_t surplus(size_t max_memory)
{
	return MAX(max_memory / 2 / 3, GW_SURPLUS_MIN);
}

static size_t allowances(size_t max_memory)
{
	return max_memory / 2 - surplus(max_memory);
}

unsigned int gw_memory_clients(size_t max_memory)
{
	size_t n = allowances(max_memory) / GW_ALLOWANCE_MIN;

	return (unsigned int)MIN(n, (size_t)UINT32_MAX);
}

void gw_memory_init(struct gw_memory *m, size_t max_memory,
		    unsigned int clients,
		    void (*evict)(struct gw_account *victim))
{
	memset(m, 0, sizeof(*m));
	m->allowance = allowances(max_memory) / clients;
	m->surplus = surplus(max_memory);
	m->lone = max_memory / 2 - m->allowance;
	m->evict = evict;
	CDS_INIT_LIST_HEAD(&m->accounts);
	CDS_INIT_LIST_HEAD(&m->line);
	pthread_mutex_init(&m->lock, NULL);
}

void gw_memory_destroy(struct gw_memory *m)
{
	pthread_mutex_destroy(&m->lock);
}

void gw_account_open(struct gw_memory *m, struct gw_account *a)
{
	memset(a, 0, sizeof(*a));
	a->memory = m;
	pthread_mutex_lock(&m->lock);
	cds_list_add(&a->account, &m->accounts);
	pthread_mutex_unlock(&m->lock);
}

/* Caller holds the lock. */
static void line_changed(struct gw_memory *m)
{
	atomic_store(&m->first,
		     cds_list_empty(&m->line) ?
			     NULL :
			     cds_list_first_entry(&m->line, struct gw_account,
						  line));
}

/* Caller holds the lock. */
static void line_leave(struct gw_account *a)
{
	if (!a->in_line)
		return;
	a->in_line = false;
	cds_list_del(&a->line);
	line_changed(a->memory);
}

void gw_account_close(struct gw_account *a)
{
	pthread_mutex_lock(&a->memory->lock);
	line_leave(a);
	cds_list_del(&a->account);
	pthread_mutex_unlock(&a->memory->lock);
	atomic_store(&a->waits, false);
	gw_account_break_promise(a);
}

/* ---- Taking and giving -------------------------------------------------- */

static size_t loan(const struct gw_memory *m, size_t used)
{
	return used > m->allowance ? used - m->allowance : 0;
}

/* Returns the sum that is lent then. Each change of used adds the change of the
 * loan to lent, so lent is the sum of all loans whatever the order. */
static size_t add(struct gw_account *a, size_t n)
{
	struct gw_memory *m = a->memory;
	size_t was = atomic_fetch_add(&a->used, n);
	size_t more = loan(m, was + n) - loan(m, was);

	if (!more)
		return 0;
	/* gcc 12 with -fsanitize makes twice the old value of its sum with more. */
	atomic_fetch_add(&m->lent, more);
	return atomic_load(&m->lent);
}

void gw_account_give(struct gw_account *a, size_t n)
{
	struct gw_memory *m = a->memory;
	size_t was = atomic_fetch_sub(&a->used, n);
	size_t less = loan(m, was) - loan(m, was - n);

	if (less)
		atomic_fetch_sub(&m->lent, less);
}

void gw_account_force(struct gw_account *a, size_t n)
{
	add(a, n);
}

/* Returns true if @a may have a loan of @mine when @lent is the sum of all. */
static bool may_borrow(const struct gw_account *a, size_t mine, size_t lent)
{
	const struct gw_memory *m = a->memory;

	if (atomic_load(&m->first) == a)
		return lent <= (lent == mine ? m->lone : m->surplus);
	return lent <= m->surplus &&
	       mine <= (m->surplus - lent + mine) / BORROW_PART;
}

bool gw_account_take(struct gw_account *a, size_t n, size_t all)
{
	struct gw_memory *m = a->memory;
	size_t used = atomic_load(&a->used), want, lent, mine, more;

	if (a->promised >= n) {
		a->promised -= n;
		return true;
	}
	want = used - a->promised + n <= m->allowance ? n : all;
	mine = loan(m, used + want - a->promised);
	more = mine - loan(m, used);
	/* Asked before it is added, too: what will be refused must not be in the
	 * sum for others, of whom one may be the first in line. */
	if (more && !may_borrow(a, mine, atomic_load(&m->lent) + more))
		goto refuse;
	lent = add(a, want - a->promised);
	if (lent && !may_borrow(a, loan(m, atomic_load(&a->used)), lent)) {
		gw_account_give(a, want - a->promised);
		goto refuse;
	}
	a->promised = want - n;
	a->refused = 0;
	return true;
refuse:
	a->refused = mine;
	return false;
}

void gw_account_undo(struct gw_account *a, size_t n, size_t promised)
{
	gw_account_give(a, n + a->promised - promised);
	a->promised = promised;
}

void gw_account_break_promise(struct gw_account *a)
{
	gw_account_give(a, a->promised);
	a->promised = 0;
}

bool gw_account_never(const struct gw_account *a)
{
	return a->refused > a->memory->lone;
}

bool gw_memory_is_plenty(const struct gw_memory *m)
{
	return atomic_load(&m->lent) < m->surplus / 2;
}

/* ---- Waiting ------------------------------------------------------------ */

/* Caller holds the lock. */
static struct gw_account *longest_stall(const struct gw_memory *m, uint64_t now)
{
	struct gw_account *victim = NULL, *a;
	uint64_t longest = GW_EVICT_SECONDS * SEC - 1;

	cds_list_for_each_entry(a, &m->accounts, account)
	{
		uint64_t stalled = gw_account_stalled(a, now);

		if (stalled <= longest || a->evicted ||
		    !loan(m, atomic_load(&a->used)))
			continue;
		longest = stalled;
		victim = a;
	}
	return victim;
}

/* Caller holds the lock. */
static struct gw_account *last_in_line(const struct gw_memory *m)
{
	struct gw_account *a =
		cds_list_entry(m->line.prev, struct gw_account, line);

	return a->evicted || a == atomic_load(&m->first) ? NULL : a;
}

void gw_account_wait(struct gw_account *a, bool lone, uint64_t now)
{
	struct gw_memory *m = a->memory;
	struct gw_account *victim = NULL;

	atomic_store(&a->waits, true);
	pthread_mutex_lock(&m->lock);
	if (!lone) {
		line_leave(a);
	} else if (!a->in_line) {
		a->in_line = true;
		a->in_line_since = now;
		cds_list_add_tail(&a->line, &m->line);
		line_changed(m);
	}
	if (atomic_load(&m->first) == a &&
	    now - a->in_line_since >= GW_LINE_SECONDS * SEC &&
	    now - m->evicted_at >= EVICT_PAUSE) {
		victim = longest_stall(m, now);
		if (!victim && !a->refused && gw_memory_is_plenty(m))
			victim = last_in_line(m);
	}
	if (victim) {
		victim->evicted = true;
		m->evicted_at = now;
		m->evict(victim);
	}
	pthread_mutex_unlock(&m->lock);
}

void gw_account_spare(struct gw_account *a)
{
	pthread_mutex_lock(&a->memory->lock);
	a->evicted = false;
	pthread_mutex_unlock(&a->memory->lock);
}

void gw_account_stop_waiting(struct gw_account *a)
{
	if (!gw_account_waits(a))
		return;
	pthread_mutex_lock(&a->memory->lock);
	line_leave(a);
	pthread_mutex_unlock(&a->memory->lock);
	atomic_store(&a->waits, false);
}

bool gw_account_waits(const struct gw_account *a)
{
	return atomic_load(&a->waits);
}

/* ---- Stalls ------------------------------------------------------------- */

void gw_stall_start(struct gw_stall *s, uint64_t now)
{
	if (atomic_load(&s->since))
		return;
	s->octets = 0;
	atomic_store(&s->since, now);
}

void gw_stall_stop(struct gw_stall *s)
{
	atomic_store(&s->since, 0);
}

bool gw_stall_runs(const struct gw_stall *s)
{
	return atomic_load(&s->since);
}

void gw_stall_progress(struct gw_stall *s, size_t n, uint64_t now)
{
	s->octets += n;
	if (s->octets < GW_PROGRESS || !atomic_load(&s->since))
		return;
	s->octets = 0;
	atomic_store(&s->since, now);
}

static uint64_t stalled_for(const struct gw_stall *s, uint64_t now)
{
	uint64_t since = atomic_load(&s->since);

	return since && since < now ? now - since : 0;
}

uint64_t gw_account_stalled(const struct gw_account *a, uint64_t now)
{
	uint64_t in = stalled_for(&a->in, now), out = stalled_for(&a->out, now);

	return MAX(in, out);
}
