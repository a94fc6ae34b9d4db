/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - a turn of a poller: the connections' timers, then events
 *
 * Busy polling: to be woken takes a thread as long as many a Call takes to be
 * answered, more so on a virtual machine, whose processor stops when it has
 * nothing to do. So before the poller sleeps it looks again and again for a
 * while, but only as long as that is of use: a few times in vain, and it
 * sleeps at once until an event has come soon after one such sleep began.
 *
 * Threads: rt_run() one at a time for each poller, rt_wake() any.
 */
#include <time.h>

#include "transport/internal.h"

/* So often may busy polling be in vain. */
#define TRIES 4

static bool overdue(struct rt_conn *c, uint64_t poller)
{
	uint64_t d = atomic_load_explicit(&c->deadline, memory_order_relaxed);

	return c->poller == poller && d && d <= rt_now_ms();
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int events(struct rt_instance *inst, unsigned int n, int wait)
{
	struct rt_turn *t = &inst->turns[n];
	unsigned int busy = inst->cfg.busy_poll_us;
	uint64_t start;
	int found;

	if (!busy || !wait)
		return fab_poller_run(inst->pollers[n], wait);
	start = now_us();
	if (t->hot) {
		do {
			found = fab_poller_run(inst->pollers[n], 0);
			/* A wake-up is told once, perhaps to the line above. */
			if (found || atomic_exchange(&t->woken, false)) {
				t->hot = found ? TRIES : t->hot;
				return found;
			}
		} while (now_us() - start < busy);
		t->hot--;
		start = now_us();
	}
	found = fab_poller_run(inst->pollers[n], wait);
	if (found && now_us() - start < busy)
		t->hot = TRIES;
	return found;
}

int rt_run(struct rt_instance *inst, unsigned int n, int timeout_ms)
{
	struct rt_turn *t = &inst->turns[n];
	uint64_t now = rt_now_ms();
	int wait = timeout_ms;

	if (t->next_tick <= now) {
		rt_with_conns(inst, overdue, rt_strand_run, n);
		t->next_tick = now + RT_TICK_MS;
	}
	if (wait < 0 || (uint64_t)wait > t->next_tick - now)
		wait = (int)(t->next_tick - now);
	return events(inst, n, wait);
}

void rt_wake(struct rt_instance *inst, unsigned int n)
{
	/* In this order: the poller looks at the first after the second. */
	atomic_store(&inst->turns[n].woken, true);
	fab_poller_wake(inst->pollers[n]);
}
