/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timers - the timers of a poller
 *
 * Each poller has one set (struct fab_poller in fabric.h) for all that it runs: start-up
 * and end of a provider's connections, pauses of its listeners, deadlines of the
 * transport's connections. The thread in fab_poller_run() fires them, and sleeps until the
 * earliest is due.
 *
 * The set is a pairing heap, linked through the timers. It allocates no memory, a turn in
 * which nothing is due costs one load, and arming and stopping touch a few timers.
 *
 * Fairness: the earliest timer is fired first, and no more of them in one turn than turn.h
 * says. A timer that is armed meanwhile, for however early a time, comes behind all that
 * are due already. So one that always arms itself again delays no other.
 *
 * Life: a timer must live until it has been stopped, and until its function returns if that
 * has begun. Either the thread that fires it also frees it, as with a provider's timers. Or
 * it is part of a counted object, and holds a reference from a base_timer_set() that
 * returned true until a base_timer_stop() that returned true, or the end of its function.
 *
 * Context: base_timers_wait() and base_timers_run() the poller's thread; base_timer_set()
 * and base_timer_stop() any thread, one at a time for each timer. The lock is a leaf, and
 * no callback is called under it. base_timer_set() calls @wake, which may take locks of the
 * provider.
 */
#ifndef RPCRDMA_BASE_TIMERS_H
#define RPCRDMA_BASE_TIMERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/turn.h"

struct base_timer;

/* @what is that of base_timer_set(). The timer is no longer armed, and may be armed again.
 * Context: the poller's thread. */
typedef void (*base_timer_fn)(struct base_timer *t, unsigned int what);

struct base_timer {
	base_timer_fn fire;
	_Atomic uint64_t at; /* base_now_ms() when it is due; 0: not armed */
	unsigned int what;
	/* In the heap: its previous sibling, or its parent; its next sibling; its first
	 * child. */
	struct base_timer *prev, *next, *child;
};

struct base_timers {
	void (*wake)(void *ctx);
	void *ctx;
	_Atomic uint64_t first; /* when the earliest is due; UINT64_MAX: none */
	_Atomic uint64_t
		asleep; /* until when the poller sleeps; 0: it is awake */

	pthread_mutex_t
		lock; /* protects what follows, and all of a timer but @at */
	struct base_timer *root;
	uint64_t fired; /* the latest time for which timers have been fired */
};

/* @wake makes the poller call base_timers_wait() again. Context of @wake: any thread. */
void base_timers_init(struct base_timers *ts, void (*wake)(void *ctx),
		      void *ctx);
/* No timer may be armed. */
void base_timers_fini(struct base_timers *ts);

static inline void base_timer_init(struct base_timer *t, base_timer_fn fire)
{
	t->fire = fire;
	atomic_init(&t->at, 0);
}

/* Arm @t for @at, instead of the time that it was armed for before. Returns true if it was
 * not armed. */
bool base_timer_set(struct base_timers *ts, struct base_timer *t, uint64_t at,
		    unsigned int what);
/* Returns true if @t was armed; then it is not fired. Takes no lock if it was not. */
bool base_timer_stop(struct base_timers *ts, struct base_timer *t);
/* Returns when @t is due; 0: it is not armed. To postpone a deadline without a lock, leave
 * the timer armed for the earlier time, and arm it again when it is fired. */
static inline uint64_t base_timer_at(const struct base_timer *t)
{
	return atomic_load_explicit(&t->at, memory_order_acquire);
}

/* Returns for how many ms the poller may sleep, at most @timeout_ms; -1 for ever. From now
 * on until base_timers_run(), arming an earlier timer calls @wake. */
int base_timers_wait(struct base_timers *ts, int timeout_ms);
/* Fire the timers that are due, at most one turn of them. Returns how many. */
int base_timers_run(struct base_timers *ts);

#endif /* RPCRDMA_BASE_TIMERS_H */
