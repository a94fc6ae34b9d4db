/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <sys/param.h>

#include "base/timers.h"

void base_timers_init(struct base_timers *ts, void (*wake)(void *), void *ctx)
{
	ts->ctx = ctx;
	ts->wake = wake;
	ts->root = NULL;
	ts->fired = 0;
	atomic_init(&ts->first, UINT64_MAX);
	atomic_init(&ts->asleep, 0);
	pthread_mutex_init(&ts->lock, NULL);
}

void base_timers_fini(struct base_timers *ts)
{
	pthread_mutex_destroy(&ts->lock);
}

/* ---- The heap. Caller holds the lock ---------------------------------- */

static uint64_t due_at(const struct base_timer *t)
{
	return atomic_load_explicit(&t->at, memory_order_relaxed);
}

/* Meld two heaps into one. If both are due at the same time, @a goes first. */
static struct base_timer *meld(struct base_timer *a, struct base_timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (due_at(b) < due_at(a)) {
		struct base_timer *c = a;

		a = b;
		b = c;
	}
	b->prev = a;
	b->next = a->child;
	if (a->child)
		a->child->prev = b;
	a->child = b;
	return a;
}

/* Meld a list of siblings into one heap: in pairs, then from the last to the first. */
static struct base_timer *meld_all(struct base_timer *list)
{
	struct base_timer *pairs = NULL, *heap = NULL;

	while (list) {
		struct base_timer *a = list, *b = a->next;

		list = b ? b->next : NULL;
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct base_timer *next = pairs->next;

		heap = meld(pairs, heap);
		pairs = next;
	}
	if (heap)
		heap->prev = heap->next = NULL;
	return heap;
}

static void update_first(struct base_timers *ts)
{
	atomic_store(&ts->first, ts->root ? due_at(ts->root) : UINT64_MAX);
}

static void heap_remove(struct base_timers *ts, struct base_timer *t)
{
	struct base_timer *rest = meld_all(t->child);

	if (t == ts->root) {
		ts->root = rest;
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		ts->root = meld(ts->root, rest);
	}
	t->prev = t->next = t->child = NULL;
	atomic_store_explicit(&t->at, 0, memory_order_release);
}

/* ---- Arming, any thread ------------------------------------------------ */

bool base_timer_set(struct base_timers *ts, struct base_timer *t, uint64_t at,
		    unsigned int what)
{
	bool before, early;

	pthread_mutex_lock(&ts->lock);
	before = due_at(t);
	if (before)
		heap_remove(ts, t);
	/* It must not overtake those that are due already. */
	if (at <= ts->fired)
		at = ts->fired + 1;
	t->what = what;
	atomic_store_explicit(&t->at, at, memory_order_release);
	ts->root = meld(ts->root, t);
	update_first(ts);
	early = at < atomic_load(&ts->asleep);
	if (early) /* later ones need not wake the poller again */
		atomic_store(&ts->asleep, at);
	pthread_mutex_unlock(&ts->lock);
	if (early)
		ts->wake(ts->ctx);
	return !before;
}

bool base_timer_stop(struct base_timers *ts, struct base_timer *t)
{
	bool was;

	if (!base_timer_at(t))
		return false;
	pthread_mutex_lock(&ts->lock);
	was = due_at(t);
	if (was) {
		heap_remove(ts, t);
		update_first(ts);
	}
	pthread_mutex_unlock(&ts->lock);
	return was;
}

/* ---- The poller's thread ------------------------------------------------ */

int base_timers_wait(struct base_timers *ts, int timeout_ms)
{
	uint64_t first, now = base_now_ms();

	if (!timeout_ms)
		return 0;
	pthread_mutex_lock(&ts->lock);
	first = atomic_load(&ts->first);
	if (first <= now)
		timeout_ms = 0;
	else if (first != UINT64_MAX &&
		 (timeout_ms < 0 || first - now < (uint64_t)timeout_ms))
		timeout_ms = first - now < INT_MAX ? (int)(first - now) :
						     INT_MAX;
	atomic_store(&ts->asleep, timeout_ms < 0 ? UINT64_MAX :
				  timeout_ms	 ? now + (uint64_t)timeout_ms :
						   0);
	pthread_mutex_unlock(&ts->lock);
	return timeout_ms;
}

int base_timers_run(struct base_timers *ts)
{
	uint64_t now = base_now_ms();
	struct base_timer *t;
	int n = 0;

	atomic_store_explicit(&ts->asleep, 0, memory_order_relaxed);
	/* A timer that is armed meanwhile wakes this thread, or is seen by the next
	 * base_timers_wait(). */
	if (atomic_load(&ts->first) > now)
		return 0;
	pthread_mutex_lock(&ts->lock);
	ts->fired = MAX(ts->fired, now);
	while (n < BASE_TURN && (t = ts->root) && due_at(t) <= ts->fired &&
	       base_now_ms() - now <= BASE_TURN_MS) {
		base_timer_fn fire = t->fire;
		unsigned int what = t->what;

		heap_remove(ts, t);
		update_first(ts);
		pthread_mutex_unlock(&ts->lock);
		fire(t, what);
		n++;
		pthread_mutex_lock(&ts->lock);
	}
	pthread_mutex_unlock(&ts->lock);
	return n;
}
