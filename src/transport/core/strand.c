/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strand - one thread at a time runs a connection
 *
 * Running: `pending` counts the reasons to run a connection. The thread that raises it
 * from zero has the strand and is the runner: it takes turns (turn.c) until it can
 * lower `pending` to zero again. All other threads only raise it, and go on with their
 * own work.
 *
 * Mail: work that other threads have for a connection lies in `inbox`, a lock-free
 * stack. The runner takes the whole stack at once. Each mail holds a reference to the
 * connection.
 *
 * Handing over: a thread that has the strand may pass it to the connection's poller by
 * putting the connection into the poller's queue. Some threads do so:
 *
 *   - in a bound instance (FAB_CAP_BOUND in fabric.h), every thread that is not in
 *     rt_run(), since only that one may run connections;
 *   - a thread that will call rt_run() itself (rt_run_later()), so that all that it has for
 *     connections is sent together. It wakes nobody;
 *   - in any instance, a thread that has run a connection for RT_TURNS while the peer
 *     went on sending, or that only leaves mail (rt_inbox_put_deferred()) or a reason
 *     (rt_strand_defer()).
 *
 * The poller is woken while the queue's lock is held: once it is released, connection
 * and poller may be gone.
 *
 * Context: any thread calls rt_conn_hold() to rt_conn_close(), rt_strand_run() and
 * rt_inbox_put*(); the runner calls the rest. The queue's lock is a leaf, except for the
 * locks that fab_poller_wake() takes.
 */
#include <errno.h>
#include <limits.h>

#include "transport/core/core.h"

/* ---- Mail --------------------------------------------------------------- */

void rt_inbox_take(struct rt_conn *c)
{
	struct base_stack_node *n = base_stack_take_in_order(&c->strand.inbox),
			       *next;

	rt_assert_strand(c);
	for (; n; n = next) {
		struct rt_mail *m = caa_container_of(n, struct rt_mail, node);

		next = n->next;
		m->run(c, m);
	}
}

/* ---- Running -------------------------------------------------------------- */

/* Returns true if this thread will call rt_run(). */
static bool is_returning(const struct rt_poller_state *t)
{
	return atomic_load_explicit(&t->returning, memory_order_relaxed) ==
	       pthread_self();
}

/* Pass the strand, which this thread has, to the connection's poller. */
static void pass_to_poller(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;
	struct rt_poller_state *t = &inst->poller_states[c->strand.poller];
	bool first;

	rt_conn_get(c);
	c->strand.handed_next = NULL;
	pthread_mutex_lock(&t->lock);
	first = !t->handed;
	*t->handed_tail = c;
	t->handed_tail = &c->strand.handed_next;
	atomic_store_explicit(&t->any_handed, true, memory_order_relaxed);
	if (first && !is_returning(t))
		fab_poller_wake(inst->pollers[c->strand.poller]);
	pthread_mutex_unlock(&t->lock);
}

/*
 * Hand the connection, whose strand this thread has, over to its poller, if a thread is
 * in rt_run() or, with @patient, even if none is now. Returns false if this thread must
 * go on itself.
 */
static bool hand_over(struct rt_conn *c, bool patient)
{
	pthread_t runner;

	/* Without the fabric any thread may run it. */
	runner = atomic_load_explicit(
		&c->inst->poller_states[c->strand.poller].runner,
		memory_order_relaxed);
	if (!c->fab || runner == pthread_self())
		return false;
	if (!patient && !runner)
		return false;
	pass_to_poller(c);
	return true;
}

void rt_strand_release(struct rt_conn *c)
{
	uint64_t now = rt_now_ms(), until = now + BASE_TURN_MS;
	unsigned int turns = 0;
	uint32_t n = 1;

	rt_conn_get(c);
	do {
		rt_strand_set_runner(c, pthread_self());
		rt_turn_run(c, n, now);
		rt_strand_set_runner(c, 0);
		n = atomic_fetch_sub_explicit(&c->strand.pending, n,
					      memory_order_acq_rel) -
		    n;
		now = n ? rt_now_ms() : 0;
	} while (n && ((++turns < RT_TURNS && now < until) ||
		       !hand_over(c, c->inst->bound)));
	rt_conn_put(c);
}

int rt_strand_run_handed(struct rt_poller_state *t)
{
	struct rt_conn *c, *next;
	int n = 0;

	/* Whoever queues the first connection wakes the poller. */
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

static void run_or_hand_over(struct rt_conn *c)
{
	const struct rt_poller_state *t =
		&c->inst->poller_states[c->strand.poller];

	if ((!c->inst->bound && !is_returning(t)) || !hand_over(c, true))
		rt_strand_release(c);
}

/* Returns true if this thread has the strand now. */
static bool add_reason(struct rt_conn *c)
{
	return !atomic_fetch_add_explicit(&c->strand.pending, 1,
					  memory_order_acq_rel);
}

void rt_strand_run(struct rt_conn *c)
{
	if (add_reason(c))
		run_or_hand_over(c);
}

void rt_strand_defer(struct rt_conn *c)
{
	if (!add_reason(c))
		return;
	if (c->fab)
		pass_to_poller(c);
	else
		rt_strand_release(c);
}

/* Take a second reference for the caller, since the runner may drop the mail's at
 * once. */
static void push_mail(struct rt_conn *c, struct rt_mail *mail,
		      void (*run)(struct rt_conn *c, struct rt_mail *m))
{
	rt_conn_get(c);
	mail->run = run;
	base_stack_push(&c->strand.inbox, &mail->node);
}

void rt_inbox_put(struct rt_conn *c, struct rt_mail *mail,
		  void (*run)(struct rt_conn *c, struct rt_mail *m))
{
	push_mail(c, mail, run);
	rt_strand_run(c);
	rt_conn_put(c);
}

void rt_inbox_put_deferred(struct rt_conn *c, struct rt_mail *mail,
			   void (*run)(struct rt_conn *c, struct rt_mail *m))
{
	push_mail(c, mail, run);
	if (add_reason(c) && !hand_over(c, true))
		rt_strand_release(c);
	rt_conn_put(c);
}

bool rt_conn_hold(struct rt_conn *c)
{
	uint32_t idle = 0;

	if (!atomic_compare_exchange_strong_explicit(&c->strand.pending, &idle,
						     1, memory_order_acq_rel,
						     memory_order_relaxed))
		return false;
	rt_strand_set_runner(c, pthread_self());
	return true;
}

void rt_conn_unhold(struct rt_conn *c)
{
	run_or_hand_over(c);
}

int rt_conn_silent_ms(struct rt_conn *c)
{
	unsigned int ms;

	if (c->inst->bound || !rt_conn_hold(c))
		return -EBUSY;
	ms = c->fab ? fab_conn_silent_ms(c->fab) : 0;
	rt_conn_unhold(c);
	return (int)MIN(ms, (unsigned int)INT_MAX);
}

void rt_conn_ready(struct fab_conn *f, void *user)
{
	rt_strand_run(user);
}

bool rt_conn_is_closing(struct rt_conn *c)
{
	return atomic_load(&c->strand.is_closing);
}

void rt_conn_close(struct rt_conn *c, bool abort)
{
	int want = abort ? 2 : 1;
	int old = atomic_load(&c->strand.close_wanted);

	while (old < want && !atomic_compare_exchange_weak(
				     &c->strand.close_wanted, &old, want))
		;
	rt_strand_run(c);
}
