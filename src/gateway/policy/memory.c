/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - how much memory each client may hold: memory.h has the policy
 */
#include "gateway/policy/memory.h"

#include <string.h>
#include <sys/param.h>

#define BORROW_PART 4

static size_t surplus(size_t max_memory)
{
	return MAX(max_memory / 2 / 3, GW_SURPLUS_MIN);
}

unsigned int gw_memory_clients(size_t max_memory)
{
	size_t n = (max_memory / 2 - surplus(max_memory)) / GW_ALLOWANCE_MIN;

	return (unsigned int)MIN(n, (size_t)UINT32_MAX);
}

void gw_memory_init(struct gw_memory *m, size_t max_memory,
		    unsigned int clients)
{
	memset(m, 0, sizeof(*m));
	m->surplus = surplus(max_memory);
	m->allowance = (max_memory / 2 - m->surplus) / clients;
	m->lone = max_memory / 2 - m->allowance;
}

bool gw_memory_is_plenty(const struct gw_memory *m)
{
	return atomic_load(&m->lent) < m->surplus / 2;
}

/* ---- Taking and giving -------------------------------------------------- */

static size_t loan(const struct gw_memory *m, size_t used)
{
	return used > m->allowance ? used - m->allowance : 0;
}

size_t gw_account_loan(const struct gw_account *a)
{
	return loan(a->memory, atomic_load(&a->used));
}

/* Each change of used adds the change of the loan to lent, so lent is the sum of all
 * loans whatever the order. */
void gw_account_force(struct gw_account *a, size_t n)
{
	struct gw_memory *m = a->memory;
	size_t was = atomic_fetch_add(&a->used, n);
	size_t more = loan(m, was + n) - loan(m, was);

	if (more)
		atomic_fetch_add(&m->lent, more);
}

void gw_account_give(struct gw_account *a, size_t n)
{
	struct gw_memory *m = a->memory;
	size_t was = atomic_fetch_sub(&a->used, n);
	size_t less = loan(m, was) - loan(m, was - n);

	if (less)
		atomic_fetch_sub(&m->lent, less);
}

/* Returns true if @a may have a loan of @mine when @lent is the sum of all. */
static bool may_borrow(const struct gw_account *a, size_t mine, size_t lent)
{
	const struct gw_memory *m = a->memory;

	if (atomic_load(&m->turn) == a)
		return lent <= (lent == mine ? m->lone : m->surplus);
	return lent <= m->surplus &&
	       mine <= (m->surplus - lent + mine) / BORROW_PART;
}

bool gw_account_take(struct gw_account *a, size_t n, size_t all)
{
	struct gw_memory *m = a->memory;
	size_t used = atomic_load(&a->used), more, mine;

	if (a->promised >= n) {
		a->promised -= n;
		return true;
	}
	if (used - a->promised + n <= m->allowance)
		all = n;
	more = all - a->promised;
	mine = loan(m, used + more);
	/* Asked before it is added, too: what will be refused must not be in the
	 * sum for others, of whom one may have its turn. */
	if (mine &&
	    !may_borrow(a, mine, atomic_load(&m->lent) + mine - loan(m, used)))
		goto refuse;
	gw_account_force(a, more);
	if (mine && !may_borrow(a, gw_account_loan(a), atomic_load(&m->lent))) {
		gw_account_give(a, more);
		goto refuse;
	}
	a->promised = all - n;
	a->refused = 0;
	return true;
refuse:
	a->refused = mine;
	return false;
}

void gw_account_break_promise(struct gw_account *a)
{
	gw_account_give(a, a->promised);
	a->promised = 0;
}

/* ---- Waiting ------------------------------------------------------------ */

static void end_turn(struct gw_account *a)
{
	struct gw_account *turn = a;

	atomic_compare_exchange_strong(&a->memory->turn, &turn, NULL);
}

bool gw_account_wait(struct gw_account *a, bool lone, uint64_t now)
{
	struct gw_account *none = NULL;

	if (!gw_account_waits(a))
		atomic_store(&a->waits_since, now);
	if (!lone) {
		end_turn(a);
		return false;
	}
	return atomic_compare_exchange_strong(&a->memory->turn, &none, a) ||
	       none == a;
}

void gw_account_stop_waiting(struct gw_account *a)
{
	if (!gw_account_waits(a))
		return;
	end_turn(a);
	atomic_store(&a->waits_since, 0);
}
