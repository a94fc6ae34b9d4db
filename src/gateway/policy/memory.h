/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - how much memory each client may hold
 *
 * Half of --max-memory is shared out; the other half is the transport's. A client's
 * account counts the buffers that its records are received into, the memory for the
 * results of its Calls, the Calls themselves, and their Replies until the client has
 * taken them. A client that is refused memory is not read until it gets some: TCP
 * does the rest.
 *
 * Allowance  Two thirds are divided evenly among --max-clients. A client may always
 *            use its allowance, whatever the others hold; but see Turn.
 * Surplus    The rest is lent. A client may borrow up to a quarter of what is not
 *            lent. It borrows all that its next Call needs, or nothing: so whoever
 *            waits for memory has begun nothing that it cannot end, and no two wait
 *            for each other.
 * Turn       One of those who wait with no Call outstanding has its turn. It may
 *            borrow all that is left, and what allowances leave if nobody else has a
 *            loan. So every client brings one Call after the other to its end, up to
 *            half of --max-memory. A client that has Calls outstanding gets memory
 *            back when these are answered, and takes no turn.
 *
 * Context: an account belongs to its client's worker, which calls all functions but
 * those marked "any thread". There are no locks.
 */
#ifndef RPCRDMA_GATEWAY_POLICY_MEMORY_H
#define RPCRDMA_GATEWAY_POLICY_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough to receive small Calls into, and for a few of them. */
#define GW_ALLOWANCE_MIN ((size_t)96 << 10)
/* With an allowance, enough for the largest Call. */
#define GW_SURPLUS_MIN ((size_t)4 << 20)

struct gw_memory {
	size_t allowance, surplus; /* octets */
	size_t lone; /* the largest loan, while there is no other */
	atomic_size_t lent; /* of the surplus */
	_Atomic(struct gw_account *) turn;
};

/* Zeroed at first. */
struct gw_account {
	struct gw_memory *memory;
	atomic_size_t used;
	size_t promised; /* part of used that is not taken yet */
	size_t refused; /* the loan that was refused last; 0: it was granted */
	atomic_uint_least64_t waits_since; /* ns; 0: it does not wait */
};

/* How many clients half of @max_memory has allowances for. */
unsigned int gw_memory_clients(size_t max_memory);
/* Share half of @max_memory out to @clients. */
void gw_memory_init(struct gw_memory *m, size_t max_memory,
		    unsigned int clients);
/* Returns true if more than half of the surplus is not lent. Any thread. */
bool gw_memory_is_plenty(const struct gw_memory *m);

static inline void gw_account_open(struct gw_account *a, struct gw_memory *m)
{
	a->memory = m;
}

/*
 * Take @n octets. If these exceed the allowance, borrow @all (@n or more), which
 * is what the next Call still needs: the rest is promised, and later takes come
 * from it. Returns false if refused; then nothing has changed.
 */
bool gw_account_take(struct gw_account *a, size_t n, size_t all);
/* Take @n octets whatever the policy says: nothing else can be done. Any thread. */
void gw_account_force(struct gw_account *a, size_t n);
/* Give @n octets back. Any thread. */
void gw_account_give(struct gw_account *a, size_t n);
/* Give back what was promised and not taken. */
void gw_account_break_promise(struct gw_account *a);
/* Returns the octets that are borrowed. Any thread. */
size_t gw_account_loan(const struct gw_account *a);
/* Returns true if the last take was refused. */
static inline bool gw_account_is_refused(const struct gw_account *a)
{
	return a->refused;
}

/* Returns true if what was refused last is more than can ever be lent. */
static inline bool gw_account_never(const struct gw_account *a)
{
	return a->refused > a->memory->lone;
}

/*
 * The client was refused, and waits. It takes the turn if nobody has it and @lone is
 * true, which means that it has no Calls outstanding whose end would help. To be
 * called again as long as it is refused. Returns true if it has its turn.
 */
bool gw_account_wait(struct gw_account *a, bool lone, uint64_t now);
void gw_account_stop_waiting(struct gw_account *a);
/* Returns since when the client waits for memory, ns; 0: it does not. Any thread. */
static inline uint64_t gw_account_waits(const struct gw_account *a)
{
	return atomic_load(&a->waits_since);
}

#endif /* RPCRDMA_GATEWAY_POLICY_MEMORY_H */
