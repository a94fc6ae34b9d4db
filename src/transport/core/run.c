/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - a turn of a poller
 *
 * Busy polling: to wake a sleeping thread takes as long as many a Call takes to be
 * answered, more so on a virtual machine, whose processor stops when it has nothing
 * to do. So a poller looks for events for a while before it sleeps. After a few
 * times in vain it sleeps at once, until an event comes soon after it began to.
 *
 * Naps: while the parts of a long RDMA Read come, the poller does not spin, but
 * sleeps for a moment and then looks. No event ends a nap: the sender would have to
 * wake the poller for each part while it has the next to send. Devices read by
 * themselves and need none of this.
 *
 * Context: one thread at a time calls rt_run() for a poller. Any thread calls
 * rt_wake(), and rt_long_read() with the connection's strand.
 */
#include <sys/prctl.h>
#include <time.h>

#include "transport/core/core.h"

#define TRIES 4 /* in vain, then it sleeps at once */
#define NAP_NS 20000 /* about what a part of 64 KiB takes */
#define NAPS_NS 20000000 /* of one Read; then the poller spins again */

static void counts_due(struct rt_instance *inst, unsigned int n)
{
	struct rt_turn *t = &inst->turns[n];

	if (base_log_owes(inst->log) && !base_timer_at(&t->counts))
		base_timer_set(fab_poller_timers(inst->pollers[n]), &t->counts,
			       rt_now_ms() + RT_COUNTS_MS, 0);
}

/* ---- Long Reads --------------------------------------------------------- */

void rt_long_read(struct rt_conn *c, bool begins)
{
	struct rt_turn *t = &c->inst->turns[c->strand.poller];

	rt_assert_strand(c);
	if (!begins) {
		atomic_fetch_sub(&t->long_reads, 1);
		return;
	}
	atomic_fetch_add(&t->long_reads, 1);
	atomic_store(&t->naps_until, base_now_ns() + NAPS_NS);
}

static void nap(struct rt_turn *t, uint64_t now)
{
	const struct timespec ts = { .tv_nsec = NAP_NS };

	if (!atomic_load_explicit(&t->long_reads, memory_order_relaxed) ||
	    now >= atomic_load_explicit(&t->naps_until, memory_order_relaxed))
		return;
	/* By default a thread may be left asleep for longer than that. */
	prctl(PR_SET_TIMERSLACK, 1ul);
	nanosleep(&ts, NULL);
	prctl(PR_SET_TIMERSLACK, 0ul);
}

/* ---- A turn ----------------------------------------------------------- */

static int look(struct rt_instance *inst, unsigned int n, int wait)
{
	int found = fab_poller_run(inst->pollers[n], wait);

	return found + rt_strand_run_handed(&inst->turns[n]);
}

static int events(struct rt_instance *inst, unsigned int n, int wait)
{
	struct rt_turn *t = &inst->turns[n];
	uint64_t busy = (uint64_t)inst->cfg.busy_poll_us * 1000; /* ns */
	uint64_t start, now;
	int found;

	if (!busy || !wait)
		return look(inst, n, wait);
	start = base_now_ns();
	if (t->hot) {
		do {
			found = look(inst, n, 0);
			/* A wake-up is told once, perhaps to the line above. */
			if (found || atomic_exchange(&t->woken, false)) {
				t->hot = found ? TRIES : t->hot;
				return found;
			}
			now = base_now_ns();
			nap(t, now);
		} while (now - start < busy);
		t->hot--;
		start = now;
	}
	found = look(inst, n, wait);
	if (found && base_now_ns() - start < busy)
		t->hot = TRIES;
	return found;
}

int rt_run(struct rt_instance *inst, unsigned int n, int timeout_ms)
{
	struct rt_turn *t = &inst->turns[n];
	int found;

	atomic_store_explicit(&t->runner, pthread_self(), memory_order_relaxed);
	found = timeout_ms == RT_SLEEP ? look(inst, n, -1) :
					 events(inst, n, timeout_ms);
	counts_due(inst, n);
	atomic_store_explicit(&t->runner, 0, memory_order_relaxed);
	return found;
}

void rt_wake(struct rt_instance *inst, unsigned int n)
{
	/* In this order: the poller looks at the first after the second. */
	atomic_store(&inst->turns[n].woken, true);
	fab_poller_wake(inst->pollers[n]);
}
