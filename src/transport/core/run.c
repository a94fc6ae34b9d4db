/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run - a turn of a poller: what is ready, and what is due
 *
 * Deadlines: a connection has one alarm among its poller's timers (timers.h),
 * which runs the strand, and that looks what is due and sets the alarm anew. A
 * deadline that moves on, or away, leaves the alarm where it is: it rings once
 * in vain. So Calls that put off the same end again and again take no lock. An
 * alarm that is set holds a reference to the connection, until that has ended.
 *
 * Busy polling: to be woken takes a thread as long as many a Call takes to be
 * answered, more so on a virtual machine, whose processor stops when it has
 * nothing to do. So before the poller sleeps it looks again and again for a
 * while, but only as long as that is of use: a few times in vain, and it
 * sleeps at once until an event has come soon after one such sleep began.
 *
 * While the parts of a long RDMA Read come it does not spin: it naps, and looks when
 * that is over. An event does not end a nap, or the sender would have to wake the
 * poller, part by part, while it has the next to send. Not where a device reads.
 *
 * Handing over: in a bound instance (FAB_CAP_BOUND in fabric.h) only the thread
 * in rt_run() may run a connection. Another that has its strand puts it, strand
 * and all, into the queue of its poller. In any instance a thread does so that
 * wanted to give one answer, and finds that the peer goes on and on; and one
 * that has only something to leave there. It wakes the poller before it lets go
 * of the queue's lock: afterwards the connection, and then the poller, may be
 * gone.
 *
 * Threads: rt_run() one at a time for each poller, rt_wake() and rt_hand_over()
 * any. A turn's lock is a leaf but for what fab_poller_wake() takes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "transport/core/core.h"

/* So often may busy polling be in vain. */
#define TRIES 4
/* A part of 64 KiB takes about as long. */
#define NAP_NS 20000
/* What has not come by then is late: for others' sake it spins again. */
#define NAPS_NS 20000000

/* ---- Deadlines --------------------------------------------------------- */

static void ring(struct base_timer *t, unsigned int unused)
{
	struct rt_conn *c = caa_container_of(t, struct rt_conn, strand.alarm);

	rt_strand_run(c);
	rt_conn_put(c);
}

static struct base_timers *timers(const struct rt_conn *c)
{
	return fab_poller_timers(c->inst->pollers[c->strand.poller]);
}

static int init(struct rt_conn *c)
{
	base_timer_init(&c->strand.alarm, ring);
	return 0;
}

void rt_alarm_set(struct rt_conn *c, uint64_t d)
{
	uint64_t armed = base_timer_at(&c->strand.alarm), now;

	rt_assert_strand(c);
	if (!d || !c->fab || (armed && armed <= d))
		return;
	now = rt_now_ms();
	/* What nobody has dealt with, although it was time, is looked at with
	 * the next step. */
	if (d <= now)
		d = now + 1;
	d += RT_TICK_MS - 1;
	d -= d % RT_TICK_MS;
	if (armed && armed <= d)
		return;
	/* It may ring, and drop its reference, before this returns. */
	rt_conn_get(c);
	if (!base_timer_set(timers(c), &c->strand.alarm, d, 0))
		rt_conn_put(c);
}

void rt_alarm_stop(struct rt_conn *c)
{
	rt_assert_strand(c);
	if (base_timer_stop(timers(c), &c->strand.alarm))
		rt_conn_put(c);
}

/* Lines that were left out: how many, as soon as that may be said. */
static void tell_counts(struct base_timer *t, unsigned int unused)
{
	base_log_tick(caa_container_of(t, struct rt_turn, counts)->inst->log);
}

static void counts_due(struct rt_instance *inst, unsigned int n)
{
	struct rt_turn *t = &inst->turns[n];

	if (base_log_owes(inst->log) && !base_timer_at(&t->counts))
		base_timer_set(fab_poller_timers(inst->pollers[n]), &t->counts,
			       rt_now_ms() + RT_COUNTS_MS, 0);
}

/* ---- Handing over ----------------------------------------------------- */

static int prepare(struct rt_instance *inst, const struct rt_params *p)
{
	inst->turns = calloc(inst->npollers, sizeof(*inst->turns));
	if (!inst->turns)
		return -ENOMEM;
	for (unsigned int i = 0; i < inst->npollers; i++) {
		struct rt_turn *t = &inst->turns[i];

		pthread_mutex_init(&t->lock, NULL);
		t->handed_tail = &t->handed;
		t->inst = inst;
		base_timer_init(&t->counts, tell_counts);
	}
	return 0;
}

/* Before the pollers are destroyed. */
static void stop(struct rt_instance *inst)
{
	for (unsigned int i = 0; inst->pollers && i < inst->npollers; i++)
		if (inst->pollers[i])
			base_timer_stop(fab_poller_timers(inst->pollers[i]),
					&inst->turns[i].counts);
}

static void destroy(struct rt_instance *inst)
{
	for (unsigned int i = 0; inst->turns && i < inst->npollers; i++)
		pthread_mutex_destroy(&inst->turns[i].lock);
	free(inst->turns);
}

bool rt_hand_over(struct rt_conn *c, bool patient)
{
	struct rt_instance *inst = c->inst;
	struct rt_turn *t = &inst->turns[c->strand.poller];
	pthread_t runner;
	bool first;

	/* What has no fabric any more, anybody may run. */
	runner = atomic_load_explicit(&t->runner, memory_order_relaxed);
	if (!c->fab || runner == pthread_self())
		return false;
	/* Nobody may be about to look. */
	if (!patient && !runner)
		return false;
	rt_conn_get(c);
	c->strand.handed_next = NULL;
	pthread_mutex_lock(&t->lock);
	first = !t->handed;
	*t->handed_tail = c;
	t->handed_tail = &c->strand.handed_next;
	atomic_store_explicit(&t->any_handed, true, memory_order_relaxed);
	if (first)
		fab_poller_wake(inst->pollers[c->strand.poller]);
	pthread_mutex_unlock(&t->lock);
	return true;
}

/* Run what has been handed over. How many. */
static int run_handed(struct rt_turn *t)
{
	struct rt_conn *c, *next;
	int n = 0;

	/* A wake-up comes with the first. */
	if (!atomic_load_explicit(&t->any_handed, memory_order_relaxed))
		return 0;
	pthread_mutex_lock(&t->lock);
	atomic_store_explicit(&t->any_handed, false, memory_order_relaxed);
	c = t->handed;
	t->handed = NULL;
	t->handed_tail = &t->handed;
	pthread_mutex_unlock(&t->lock);
	for (; c; c = next, n++) {
		next = c->strand.handed_next;
		rt_strand_release(c);
		rt_conn_put(c);
	}
	return n;
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

	return found + run_handed(&inst->turns[n]);
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

const struct rt_part rt_part_poller = {
	.prepare = prepare,
	.stop = stop,
	.destroy = destroy,
	.init = init,
};
