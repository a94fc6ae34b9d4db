/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - how much memory each client may hold, and who goes when it is short
 *
 * Half of --max-memory is shared out; the other half is the transport's. A
 * client's account counts the buffers that its records are received into, the
 * memory for the results of its Calls, the Calls themselves, and their Replies
 * until the client has taken them. A client that is refused memory is not read
 * until it gets some: TCP does the rest.
 *
 * Allowance  Two thirds are divided evenly among --max-clients. A client may
 *            always use its allowance, whatever the others hold; but see Line.
 * Surplus    The rest is lent to those who need more. A client may borrow up
 *            to a quarter of what is not lent. It borrows all that its next
 *            Call needs, or nothing: so whoever waits for memory has begun
 *            nothing that it cannot end, and no two wait for each other.
 * Line       A refused client with no Call outstanding waits in line. The first
 *            in line may borrow all that is left, and what allowances leave
 *            if nobody else has a loan. So every client brings one Call after
 *            the other to its end, up to half of --max-memory. A client that has
 *            Calls outstanding gets memory back when these are answered, and
 *            does not stand in line.
 * Stalls     A client stalls while the gateway waits for it: inside a record
 *            with its socket empty, or with Replies that it does not take.
 *            GW_PROGRESS octets received, or acknowledged, end a stall, and the
 *            next begins. What the server owes, and what waits for memory here,
 *            is no stall. A client that stalls for GW_STALL_SECONDS is
 *            disconnected.
 * Eviction   When the first in line has waited for GW_LINE_SECONDS, those who
 *            have borrowed and stall are disconnected, the longest stall first,
 *            until the line moves on. A stall of less than GW_EVICT_SECONDS does
 *            not count. If the first in line may borrow, but the pool has no
 *            buffer of that size because many small ones are in its way, the
 *            last in line is disconnected.
 *
 * Context: an account belongs to its client's worker, which calls all functions
 * but those marked "any thread". The lock guards the line and the list of
 * accounts; no Call takes it unless it is refused.
 */
#ifndef RPCRDMA_GATEWAY_POLICY_MEMORY_H
#define RPCRDMA_GATEWAY_POLICY_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <urcu/list.h>

#define GW_PROGRESS 1024u
#define GW_STALL_SECONDS 60
#define GW_LINE_SECONDS 10
#define GW_EVICT_SECONDS 2
/* Enough to receive small Calls into, and for a few of them. */
#define GW_ALLOWANCE_MIN ((size_t)96 << 10)
/* With an allowance, enough for the largest Call. */
#define GW_SURPLUS_MIN ((size_t)4 << 20)

struct gw_account;

struct gw_memory {
	size_t allowance, surplus; /* octets */
	size_t lone; /* the largest loan, while there is no other */
	atomic_size_t lent; /* of the surplus */
	/* Have @victim disconnected. Called with the lock held. */
	void (*evict)(struct gw_account *victim);
	_Atomic(struct gw_account *) first; /* in line */
	pthread_mutex_t lock; /* for all below */
	struct cds_list_head accounts, line;
	uint64_t evicted_at; /* ns */
};

/* A stall in one direction. Written by the worker, read by all. */
struct gw_stall {
	atomic_uint_least64_t since; /* ns; 0: the gateway waits for nothing */
	size_t octets; /* of progress, since then */
};

struct gw_account {
	struct gw_memory *memory;
	atomic_size_t used;
	size_t promised; /* part of used that is not taken yet */
	size_t refused; /* the loan that was refused last; 0: it was granted */
	atomic_bool waits;
	struct gw_stall in, out;
	/* memory->lock held. */
	struct cds_list_head account, line;
	bool in_line;
	bool evicted;
	uint64_t in_line_since; /* ns */
};

/* How many clients half of @max_memory has allowances for. */
unsigned int gw_memory_clients(size_t max_memory);
/* Share half of @max_memory out to @clients. */
void gw_memory_init(struct gw_memory *m, size_t max_memory,
		    unsigned int clients,
		    void (*evict)(struct gw_account *victim));
void gw_memory_destroy(struct gw_memory *m);

void gw_account_open(struct gw_memory *m, struct gw_account *a);
/* The client is gone: it is neither in line nor evicted from now on. What it
 * holds is given back later. */
void gw_account_close(struct gw_account *a);

/*
 * Take @n octets. If these exceed the allowance, borrow @all (@n or more), which
 * is what the next Call still needs: the rest is promised, and later takes come
 * from it. Returns false if refused; then nothing has changed.
 */
bool gw_account_take(struct gw_account *a, size_t n, size_t all);
/* Undo the last take, of @n octets; @promised is what was promised before it. */
void gw_account_undo(struct gw_account *a, size_t n, size_t promised);
/* Take @n octets whatever the policy says: nothing else can be done. Any thread. */
void gw_account_force(struct gw_account *a, size_t n);
/* Give @n octets back. Any thread. */
void gw_account_give(struct gw_account *a, size_t n);
/* Give back what was promised and not taken. */
void gw_account_break_promise(struct gw_account *a);
/* Returns true if what was refused last is more than can ever be lent. */
bool gw_account_never(const struct gw_account *a);
/* Returns true if more than half of the surplus is not lent. Any thread. */
bool gw_memory_is_plenty(const struct gw_memory *m);

/*
 * The client was refused. It waits in line if @lone, which means that it has no
 * Calls outstanding whose end would help. Evicts others if need be. To be called
 * again as long as it is refused.
 */
void gw_account_wait(struct gw_account *a, bool lone, uint64_t now);
/* It was called a victim, and has gone on meanwhile. */
void gw_account_spare(struct gw_account *a);
/* It waits no more. */
void gw_account_stop_waiting(struct gw_account *a);
/* Returns true while the client waits for memory. Any thread. */
bool gw_account_waits(const struct gw_account *a);

/* A stall begins, unless there is one already. */
void gw_stall_start(struct gw_stall *s, uint64_t now);
void gw_stall_stop(struct gw_stall *s);
/* Any thread. */
bool gw_stall_runs(const struct gw_stall *s);
/* @n octets have come, or gone. */
void gw_stall_progress(struct gw_stall *s, size_t n, uint64_t now);
/* Returns how long the client has stalled, ns. Any thread. */
uint64_t gw_account_stalled(const struct gw_account *a, uint64_t now);

#endif /* RPCRDMA_GATEWAY_POLICY_MEMORY_H */
