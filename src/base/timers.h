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
 * reference from base_timer_set() that said true to base_timer_stop() that said
 * true, or to the end of its function.
 *
 * Threads: base_timers_wait() and base_timers_run() the poller's; any may set and
 * stop a timer, one at a time for each. The lock in here is a leaf; no function
 * of others is called with it held. base_timer_set() wakes the poller, which may
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

struct base_timer;

/* Poller thread; @what: as it was set. It is no longer armed, and may be armed
 * again. */
typedef void (*base_timer_fn)(struct base_timer *t, unsigned int what);

struct base_timer {
	base_timer_fn fire;
	_Atomic uint64_t at; /* base_now_ms() when it is due; 0: not armed */
	unsigned int what;
	/* The heap's: its parent or the one before it among its siblings, the
	 * one behind it, the first that is later than it. */
	struct base_timer *prev, *next, *child;
};

struct base_timers {
	void (*wake)(void *ctx);
	void *ctx;
	_Atomic uint64_t first; /* when the earliest is due; UINT64_MAX: none */
	_Atomic uint64_t asleep; /* the poller is, until then; 0: it is not */

	pthread_mutex_t lock; /* what follows, and the timers' but for @at */
	struct base_timer *root;
	uint64_t fired; /* what was due at this time had its turn, or has it */
};

/* @wake: has the poller of these timers look at them again. Any thread. */
void base_timers_init(struct base_timers *ts, void (*wake)(void *ctx),
		      void *ctx);
/* None is armed. */
void base_timers_fini(struct base_timers *ts);

static inline void base_timer_init(struct base_timer *t, base_timer_fn fire)
{
	t->fire = fire;
	atomic_init(&t->at, 0);
}

/*
 * Fire @t at @at, and not at the time that it was armed for before. True: it
 * was not armed.
 */
bool base_timer_set(struct base_timers *ts, struct base_timer *t, uint64_t at,
		    unsigned int what);
/* Whether it was armed: then it does not fire. Without a lock if it was not. */
bool base_timer_stop(struct base_timers *ts, struct base_timer *t);
/*
 * When it fires, 0: not armed. Who only moves a deadline on leaves the timer at
 * its earlier time, and arms it for the rest when it fires: that takes no lock.
 */
static inline uint64_t base_timer_at(const struct base_timer *t)
{
	return atomic_load_explicit(&t->at, memory_order_acquire);
}

/*
 * Before the poller sleeps: for how long at most, not beyond @timeout_ms (-1:
 * for ever). Who arms an earlier timer from now on until base_timers_run() wakes
 * it.
 */
int base_timers_wait(struct base_timers *ts, int timeout_ms);
/* Fire what is due, or a turn of it. How many. */
int base_timers_run(struct base_timers *ts);

#endif /* RPCRDMA_BASE_TIMERS_H */
