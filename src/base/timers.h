/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timers - what a poller has to do at its time
 *
 * Each poller has one set of them (struct fab_poller in fabric.h), for all that
 * it runs: start-up and end of a provider's connections, pauses of its
 * listeners, deadlines of the transport's connections. They are fired by the
 * thread in fab_poller_run(), which sleeps until the earliest of them.
 *
 * It is a pairing heap, linked through the timers: no memory is allocated, a
 * turn in which nothing is due looks at one number however many there are, and
 * arming and stopping touch a few of them.
 *
 * Fairness: the earliest goes first, and no more than turn.h says in one turn.
 * Whatever is armed meanwhile, for however early a time, comes behind all that
 * are due already: so one that arms itself again and again keeps no other from
 * its turn.
 *
 * Who owns a timer sees to it that it lives until it has been stopped, and until
 * its function returns if that has begun. Either it is freed by the thread that
 * fires it, as a provider's are, or it is part of something counted, and holds a
 * reference from fab_timer_set() that said true to fab_timer_stop() that said
 * true, or to the end of its function.
 *
 * Threads: fab_timers_wait() and fab_timers_run() the poller's; any may set and
 * stop a timer, one at a time for each. The lock in here is a leaf; no function
 * of others is called with it held. fab_timer_set() wakes the poller, which may
 * take locks of its provider.
 */
#ifndef RPCRDMA_BASE_TIMERS_H
#define RPCRDMA_BASE_TIMERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/turn.h"

struct fab_timer;

/* Poller thread; @what: as it was set. It is no longer armed, and may be armed
 * again. */
typedef void (*fab_timer_fn)(struct fab_timer *t, unsigned int what);

struct fab_timer {
	fab_timer_fn fire;
	_Atomic uint64_t at; /* fab_now_ms() when it is due; 0: not armed */
	unsigned int what;
	/* The heap's: its parent or the one before it among its siblings, the
	 * one behind it, the first that is later than it. */
	struct fab_timer *prev, *next, *child;
};

struct fab_timers {
	void (*wake)(void *ctx);
	void *ctx;
	_Atomic uint64_t first; /* when the earliest is due; UINT64_MAX: none */
	_Atomic uint64_t asleep; /* the poller is, until then; 0: it is not */

	pthread_mutex_t lock; /* what follows, and the timers' but for @at */
	struct fab_timer *root;
	uint64_t fired; /* what was due at this time had its turn, or has it */
};

/* @wake: has the poller of these timers look at them again. Any thread. */
void fab_timers_init(struct fab_timers *ts, void (*wake)(void *ctx), void *ctx);
/* None is armed. */
void fab_timers_fini(struct fab_timers *ts);

static inline void fab_timer_init(struct fab_timer *t, fab_timer_fn fire)
{
	t->fire = fire;
	atomic_init(&t->at, 0);
}

/*
 * Fire @t at @at, and not at the time that it was armed for before. True: it
 * was not armed.
 */
bool fab_timer_set(struct fab_timers *ts, struct fab_timer *t, uint64_t at,
		   unsigned int what);
/* Whether it was armed: then it does not fire. Without a lock if it was not. */
bool fab_timer_stop(struct fab_timers *ts, struct fab_timer *t);
/*
 * When it fires, 0: not armed. Who only moves a deadline on leaves the timer at
 * its earlier time, and arms it for the rest when it fires: that takes no lock.
 */
static inline uint64_t fab_timer_at(const struct fab_timer *t)
{
	return atomic_load_explicit(&t->at, memory_order_acquire);
}

/*
 * Before the poller sleeps: for how long at most, not beyond @timeout_ms (-1:
 * for ever). Who arms an earlier timer from now on until fab_timers_run() wakes
 * it.
 */
int fab_timers_wait(struct fab_timers *ts, int timeout_ms);
/* Fire what is due, or a turn of it. How many. */
int fab_timers_run(struct fab_timers *ts);

#endif /* RPCRDMA_BASE_TIMERS_H */
