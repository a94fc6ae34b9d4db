/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poller_run - rt_run(): wait for events of a poller, and handle them
 *
 * Busy polling: to wake a sleeping thread can take as long as to answer a Call, even
 * longer on a virtual machine, whose idle processor is stopped. So a poller spins for
 * busy_poll_us before it sleeps. After SPIN_TRIES times in vain it sleeps at once, until
 * an event arrives within busy_poll_us of its falling asleep. If spinning is in vain
 * again, it does not help: perhaps it takes the processor from whoever is to send the
 * event. So the number of such events after which the poller spins again doubles each
 * time, up to SPIN_DEBT_MAX. If a spin finds events, but has lost
 * the processor meanwhile, there is none to spare, and the poller stops spinning at once.
 *
 * Naps: while the parts of a long RDMA Read arrive, the poller does not spin, but sleeps
 * NAP_NS between looks. No event ends a nap: otherwise the sender would wake the poller
 * for each part while it has the next one to send. Devices read by themselves and need no
 * naps.
 *
 * Context: one thread at a time calls rt_run() for a poller. Any thread calls rt_wake(),
 * and the runner of a connection rt_long_read().
 */
#include <sys/param.h>
#include <sys/prctl.h>
#include <time.h>

#include "transport/core/core.h"

#define SPIN_TRIES 4
#define SPIN_DEBT_MAX 1023
/* A look that takes longer has not had the processor, or much to do. */
#define LOST_NS 1000000
#define NAP_NS 20000 /* about the time that a part of 64 KiB takes */
#define NAPS_NS 20000000 /* for one Read; then the poller spins again */

static void arm_log_timer(struct rt_instance *inst, unsigned int n)
{
	struct rt_poller_state *t = &inst->poller_states[n];

	if (base_log_owes(inst->log) && !base_timer_at(&t->log_timer))
		base_timer_set(fab_poller_timers(inst->pollers[n]),
			       &t->log_timer, rt_now_ms() + RT_LOG_TICK_MS, 0);
}

/* ---- Long Reads --------------------------------------------------------- */

void rt_long_read(struct rt_conn *c, bool begins)
{
	struct rt_poller_state *t = &c->inst->poller_states[c->strand.poller];

	rt_assert_strand(c);
	if (!begins) {
		atomic_fetch_sub(&t->long_reads, 1);
		return;
	}
	atomic_fetch_add(&t->long_reads, 1);
	atomic_store(&t->naps_until, base_now_ns() + NAPS_NS);
}

/* Returns the time afterwards. */
static uint64_t nap(struct rt_poller_state *t, uint64_t now)
{
	const struct timespec ts = { .tv_nsec = NAP_NS };

	if (!atomic_load_explicit(&t->long_reads, memory_order_relaxed) ||
	    now >= atomic_load_explicit(&t->naps_until, memory_order_relaxed))
		return now;
	/* The default slack of timers is longer than a nap. */
	prctl(PR_SET_TIMERSLACK, 1ul);
	nanosleep(&ts, NULL);
	prctl(PR_SET_TIMERSLACK, 0ul);
	return base_now_ns();
}

/* ---- Waiting ------------------------------------------------------------ */

static int poll_once(struct rt_instance *inst, unsigned int n, int wait)
{
	int found = fab_poller_run(inst->pollers[n], wait);

	return found + rt_strand_run_handed(&inst->poller_states[n]);
}

/* A spin has ended. @lost: in vain, or without the processor. */
static void end_spin(struct rt_poller_state *t, bool found, bool lost)
{
	if (found && !lost) {
		t->spins_left = SPIN_TRIES;
		t->spin_debt = 0;
		return;
	}
	t->spins_left = lost ? 0 : t->spins_left - 1;
	if (!t->spins_left) {
		t->spin_debt = MIN(2 * t->spin_debt + 1, SPIN_DEBT_MAX);
		t->spin_paid = 0;
	}
}

static int poll_or_spin(struct rt_instance *inst, unsigned int n, int wait)
{
	struct rt_poller_state *t = &inst->poller_states[n];
	uint64_t busy = (uint64_t)inst->cfg.busy_poll_us * 1000; /* ns */
	uint64_t start, last, now;
	bool spins = t->spins_left;
	int found;

	if (!busy || !wait)
		return poll_once(inst, n, wait);
	now = start = base_now_ns();
	if (spins) {
		do {
			last = now;
			found = poll_once(inst, n, 0);
			now = base_now_ns();
			if (found)
				end_spin(t, true, now - last > LOST_NS);
			/* The look may have consumed the wake-up. */
			if (found || atomic_exchange(&t->woken, false))
				return found;
			now = nap(t, now);
		} while (now - start < busy);
		end_spin(t, false, false);
	}
	found = poll_once(inst, n, wait);
	if (found && !spins && base_now_ns() - start < busy &&
	    ++t->spin_paid >= t->spin_debt)
		t->spins_left = SPIN_TRIES;
	return found;
}

/* Only the thread that enters or leaves rt_run() writes. */
static void count_turn(struct rt_poller_state *t)
{
	uint64_t turns = atomic_load_explicit(&t->turns, memory_order_relaxed);

	atomic_store_explicit(&t->turns, turns + 1, memory_order_relaxed);
}

uint64_t rt_turns(const struct rt_instance *inst, unsigned int n)
{
	return atomic_load_explicit(&inst->poller_states[n].turns,
				    memory_order_relaxed);
}

static void set_returning(struct rt_poller_state *t, pthread_t thread)
{
	if (atomic_load_explicit(&t->returning, memory_order_relaxed) == thread)
		return;
	pthread_mutex_lock(&t->lock);
	atomic_store_explicit(&t->returning, thread, memory_order_relaxed);
	pthread_mutex_unlock(&t->lock);
}

void rt_run_later(struct rt_instance *inst, unsigned int n)
{
	set_returning(&inst->poller_states[n], pthread_self());
}

int rt_run(struct rt_instance *inst, unsigned int n, int timeout_ms)
{
	struct rt_poller_state *t = &inst->poller_states[n];
	int found;

	count_turn(t);
	set_returning(t, 0);
	atomic_store_explicit(&t->runner, pthread_self(), memory_order_relaxed);
	/* What was left by rt_run_later() has woken nobody. */
	found = rt_strand_run_handed(t);
	if (found)
		timeout_ms = 0;
	found += timeout_ms == RT_SLEEP ? poll_once(inst, n, -1) :
					  poll_or_spin(inst, n, timeout_ms);
	arm_log_timer(inst, n);
	atomic_store_explicit(&t->runner, 0, memory_order_relaxed);
	count_turn(t);
	return found;
}

void rt_wake(struct rt_instance *inst, unsigned int n)
{
	/* In this order, since the poller reads `woken` after it has been woken. */
	atomic_store(&inst->poller_states[n].woken, true);
	fab_poller_wake(inst->pollers[n]);
}
