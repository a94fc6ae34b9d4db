/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strand - one thread at a time runs a connection
 *
 * Running: `pending` counts reasons to run. The thread that raises it from zero is
 * the runner: it takes turns until it can lower it to zero again. All others only
 * raise it, and go on with their own work.
 *
 * A turn takes the mail, polls the fabric, handles what is due, and calls the parts
 * of the connection. rt_event() changes its state by the table of state.c.
 *
 * Mail: what other threads have for a connection lies in `inbox`, a lock-free stack,
 * which the runner takes as a whole. Each mail holds a reference.
 *
 * Handing over: the runner puts the connection, still holding its strand, into the
 * queue of its poller. In a bound instance (FAB_CAP_BOUND in fabric.h) only the
 * thread in rt_run() may run connections, so all others do that. In any instance
 * those do that have run a connection for RT_TURNS and find that the peer goes on, or
 * that only leave mail (rt_inbox_leave()). The poller is woken under the queue's lock:
 * afterwards connection and poller may be gone.
 *
 * Timers: a connection has one alarm among the timers of its poller. It runs the
 * strand, which handles what is due and sets the alarm again. A deadline that moves
 * away leaves the alarm where it is, and that rings once in vain: so Calls that put
 * off the same deadline again and again take no lock. An alarm that is set holds a
 * reference until the connection has ended.
 *
 * Context: rt_conn_hold() to rt_conn_close(), rt_strand_run() and rt_inbox_*() any
 * thread; the rest the runner. The queue's lock is a leaf, but for what
 * fab_poller_wake() takes.
 */
#include <errno.h>
#include <string.h>

#include "transport/core/core.h"

/* ---- The alarm ----------------------------------------------------------- */

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

void rt_alarm_init(struct rt_conn *c)
{
	rt_assert_strand(c);
	base_timer_init(&c->strand.alarm, ring);
}

void rt_alarm_set(struct rt_conn *c, uint64_t d)
{
	uint64_t armed = base_timer_at(&c->strand.alarm), now;

	rt_assert_strand(c);
	if (!d || !c->fab || (armed && armed <= d))
		return;
	now = rt_now_ms();
	/* What is overdue and was left undone is tried at the next tick. */
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

/* ---- Mail --------------------------------------------------------------- */

static void take_mail(struct rt_conn *c)
{
	struct base_stack_node *n = base_stack_take_in_order(&c->strand.inbox),
			       *next;

	for (; n; n = next) {
		struct rt_mail *m = caa_container_of(n, struct rt_mail, node);

		next = n->next;
		m->run(c, m);
	}
}

/* ---- Events ------------------------------------------------------------- */

static void fabric_gone(void *user)
{
	rt_instance_forget(user);
	rt_conn_put(user);
}

static void down(struct rt_conn *c)
{
	struct fab_conn *fab = c->fab;

	atomic_store(&c->strand.can_call, false);
	/* The end came before the chain was posted. */
	c->chain_posted = NULL;
	rt_chain_refused(c, rt_chain_take(c));
	RT_EACH_PART(c->inst, disconnected, c);
	/* Requests under way to the strand, and those that their done submits. */
	while (!base_stack_empty(&c->strand.inbox))
		take_mail(c);
	rt_conn_publish(c);
	rt_log(c,
	       c->ops->tells_end			   ? LOG_DEBUG :
	       c->end_error && c->end_error != -ECONNRESET ? LOG_WARNING :
							     LOG_INFO,
	       "closed: %s", c->end_reason ? c->end_reason : "in order");
	if (c->ops->closed)
		c->ops->closed(c, c->end_error,
			       c->end_reason ? c->end_reason : "in order");
	rt_alarm_stop(c);
	c->fab = NULL;
	rt_conn_ended(c);
	/* The fabric's reference goes when no callback can come any more. */
	fab_conn_destroy_deferred(fab, fabric_gone, c);
}

static void disconnect(struct rt_conn *c, bool abort)
{
	if (c->fab)
		fab_disconnect(c->fab, abort);
}

static void carry_out(struct rt_conn *c, enum rt_effect e)
{
	const struct rt_config *cfg = &c->inst->cfg;

	switch (e) {
	case RT_DO_NOTHING:
		return;
	case RT_DO_DISCONNECT:
	case RT_DO_ABORT:
		disconnect(c, e == RT_DO_ABORT);
		return;
	case RT_DO_DOWN:
		down(c);
		return;
	case RT_DO_DRAIN:
		c->state_deadline = rt_now_ms() + cfg->drain_ms;
		return;
	case RT_DO_AWAIT:
		c->state_deadline = rt_now_ms() + cfg->first_message_ms;
		return;
	case RT_DO_HEARD:
		c->strand.one_only = false;
		return;
	case RT_DO_GREET:
		c->state_deadline = rt_now_ms() + cfg->first_message_ms;
		break;
	case RT_DO_FIRST:
	case RT_DO_ANSWER:
		c->strand.one_only = c->server;
		break;
	case RT_DO_SECOND:
		c->strand.one_only = false;
		break;
	case RT_DO_VERSION1:
		break;
	}
	RT_EACH_PART(c->inst, effect, c, e);
	/* The upper layer may call back as soon as it has the first Call. */
	if (e == RT_DO_SECOND)
		rt_conn_publish(c);
}

bool rt_event(struct rt_conn *c, enum rt_event ev)
{
	const struct rt_transition *t = &rt_transitions[c->state][ev];

	rt_assert_strand(c);
	if (!t->allowed)
		return false;
	if (c->state != t->next) {
		RT_PROBE(state, c, rt_state_names[c->state],
			 rt_state_names[t->next]);
		rt_log(c, LOG_DEBUG, "%s -> %s", rt_state_names[c->state],
		       rt_state_names[t->next]);
		c->state = t->next;
		if (c->state >= RT_CLOSING)
			atomic_store(&c->strand.over, true);
		c->state_deadline = 0;
	}
	carry_out(c, t->effect);
	return t->process;
}

void rt_conn_stop(struct rt_conn *c, enum rt_event ev, int error,
		  const char *fmt, ...)
{
	va_list ap;

	rt_assert_strand(c);
	va_start(ap, fmt);
	rt_conn_vfail(c, error, fmt, ap);
	va_end(ap);
	rt_event(c, ev);
}

bool rt_state_may_send(const struct rt_conn *c)
{
	rt_assert_strand(c);
	switch (c->state) {
	case RT_GREETING:
	case RT_ANSWERED:
		return !c->first_sent;
	case RT_OPEN:
		return true;
	case RT_DRAINING:
		return !c->strand.one_only || !c->first_sent;
	default:
		return false;
	}
}

/* ---- Posting -------------------------------------------------------------- */

void rt_chain_post(struct rt_conn *c)
{
	struct fab_wr *chain = rt_chain_take(c);
	void (*told)(struct rt_conn *) = c->chain_posted;
	int rc;

	rt_assert_strand(c);
	if (!chain)
		return;
	rc = fab_post(c->fab, chain);
	c->work.posted = true;
	c->chain_posted = NULL;
	if (told)
		told(c);
	if (!rc)
		return;
	if (rc != -ENOTCONN)
		rt_conn_stop(c, EV_ABORT, rc, "posting: %s", strerror(-rc));
	rt_chain_refused(c, chain);
}

/* ---- What comes --------------------------------------------------------- */

static void completion(struct rt_conn *c, const struct fab_wc *wc)
{
	switch (wc->kind) {
	case FAB_WC_ESTABLISHED: {
		struct fab_conn_info fi;

		fab_conn_info(c->fab, &fi);
		pthread_mutex_lock(&c->info_lock);
		c->info.local = fi.local;
		c->info.peer = fi.peer;
		c->info.crc = fi.crc;
		pthread_mutex_unlock(&c->info_lock);
		RT_EACH_PART(c->inst, connected, c, wc->priv, wc->priv_len);
		return;
	}
	case FAB_WC_CLOSED:
		((struct rt_closing *)wc->user)->closed(c, wc->user);
		return;
	case FAB_WC_DISCONNECTED:
		if (wc->error && c->state == RT_CONNECTING)
			/* The upper layer tells errors apart. */
			rt_conn_fail(c, wc->error, "%s: %s",
				     wc->reason ? wc->reason : "not connected",
				     strerror(-wc->error));
		else if (wc->error || !c->end_reason)
			rt_conn_fail(c, wc->error, "%s",
				     wc->reason ? wc->reason : "disconnected");
		rt_event(c, EV_DOWN);
		return;
	case FAB_WC_WORK:
		rt_work_complete(c, wc->wr->user, wc);
		return;
	}
}

static bool busy(struct rt_conn *c)
{
	uint32_t m = c->strand.parts_on & c->inst->hooks.busy;

	for (; m; m &= m - 1)
		if (c->inst->parts[__builtin_ctz(m)]->busy(c))
			return true;
	return false;
}

/* Returns when an idle connection ends, 0 for never. The end of the last Call runs the
 * strand, so that this is looked at again. */
static uint64_t close_at(const struct rt_conn *c)
{
	bool open = c->state == RT_OPEN || c->state == RT_ANSWERED;

	if (!c->server || !c->inst->cfg.idle_ms || !open)
		return 0;
	return c->last_active + c->inst->cfg.idle_ms;
}

/* Returns when an idle connection frees what it needs no more, 0 for never. */
static uint64_t shrink_at(const struct rt_conn *c)
{
	if (!c->used || c->state >= RT_CLOSING || !c->fab || c->sends_inflight)
		return 0;
	return c->last_active + RT_IDLE_MS;
}

static bool is_time(uint64_t at, uint64_t now)
{
	return at && at <= now;
}

static void go_idle(struct rt_conn *c)
{
	c->used = false;
	c->strand.trim_at = 0;
	rt_works_shrink(c);
	RT_EACH_PART(c->inst, on_idle, c);
	fab_rest(c->fab);
}

/* Once a second while messages come: a connection that is never idle would keep for ever
 * what it needed when it was busiest. */
static void trim(struct rt_conn *c, uint64_t now)
{
	bool some = rt_works_trim(c);

	for (const struct rt_part *const *p = c->inst->parts; *p; p++)
		if ((*p)->trim)
			some |= (*p)->trim(c);
	if (some && c->fab)
		fab_rest(c->fab);
	/* What is not used until then is freed the next time. */
	c->strand.trim_at =
		c->last_active + 2 * RT_IDLE_MS > now ? now + RT_IDLE_MS : 0;
}

/* ---- Deadlines ---------------------------------------------------------- */

void rt_end_if_late(struct rt_conn *c, uint64_t at, uint64_t now,
		    const char *why)
{
	rt_assert_strand(c);
	if (!at || at > now || c->state >= RT_CLOSING)
		return;
	rt_conn_stop(c, EV_ABORT, -ETIMEDOUT, "%s", why);
}

/*
 * Handle what is due, before anything is posted. This thread may be late, and what the
 * peer has sent in time must count: so unless everything that has come is @read, another
 * round follows first. After RT_TURNS rounds everything that had come before the first
 * has been read.
 */
static void expire(struct rt_conn *c, uint64_t now, bool read)
{
	if (c->state == RT_CLOSED || !is_time(c->strand.deadline, now))
		return;
	if (!read && ++c->strand.unread < RT_TURNS)
		return;
	c->strand.unread = 0;
	RT_EACH_HOOK(c, expire, c, now);
	if (is_time(shrink_at(c), now) && !busy(c))
		go_idle(c);
	if (is_time(c->strand.trim_at, now))
		trim(c, now);
	if (is_time(c->state_deadline, now)) {
		c->state_deadline = 0;
		if (c->state == RT_OPEN) {
			/* [A9]: no CONNPROP_FINAL, so the defaults hold. */
			rt_conn_tell_established(c);
		} else if (c->state == RT_ANSWERED) {
			rt_event(c, EV_SETTLED);
		} else {
			rt_conn_stop(c, EV_TIMEOUT, -ETIMEDOUT, "%s",
				     c->state == RT_DRAINING ?
					     "not drained in time" :
					     "no first message in time");
		}
	}
	if (is_time(close_at(c), now) && !busy(c) && !rt_poll_delayed(c))
		rt_conn_stop(c, EV_TIMEOUT, 0, "idle for %u ms",
			     c->inst->cfg.idle_ms);
}

/* Work out when expire() is wanted next. */
static void set_deadline(struct rt_conn *c, uint64_t now)
{
	uint32_t m = c->strand.parts_on & c->inst->hooks.due;
	uint64_t d = 0, unless_busy;

	if (c->state != RT_CLOSED) {
		if (!c->strand.trim_at && c->used &&
		    c->last_active + RT_IDLE_MS > now)
			c->strand.trim_at = now + RT_IDLE_MS;
		d = rt_earlier(c->strand.trim_at, c->state_deadline);
		for (; m; m &= m - 1)
			d = rt_earlier(c->inst->parts[__builtin_ctz(m)]->due(c),
				       d);
		if (rt_poll_delayed(c))
			d = rt_earlier(c->strand.poll_from, d);
		unless_busy = rt_earlier(close_at(c), shrink_at(c));
		if (unless_busy && !busy(c))
			d = rt_earlier(unless_busy, d);
	}
	c->strand.deadline = d;
	rt_alarm_set(c, d);
}

static bool drained(struct rt_conn *c)
{
	if (busy(c) || c->sends_inflight)
		return false;
	for (const struct rt_part *const *p = c->inst->parts; *p; p++)
		if ((*p)->drained && !(*p)->drained(c))
			return false;
	return true;
}

/* Set the deadline and publish the state, unless another round follows at once, which
 * does so. Since rounds may go on and on, it is done once in each step of the clock. */
static void end_round(struct rt_conn *c, uint64_t now, bool again)
{
	if (again && c->strand.settled == now)
		return;
	c->strand.settled = now;
	set_deadline(c, now);
	rt_conn_publish(c);
}

/* A round, for @n reasons of c->strand.pending. It began @now. */
static void conn_work(struct rt_conn *c, uint32_t n, uint64_t now)
{
	struct fab_wc wc[16];
	uint64_t until = base_now_ns() + RT_TURN_NS;
	int got, want, budget = BASE_TURN;
	bool waits;

	take_mail(c);
	do {
		c->work.posted = false;
		while (c->fab && budget > 0 && !rt_poll_delayed(c) &&
		       (got = fab_poll(c->fab, wc, 16)) > 0) {
			for (int i = 0; i < got; i++)
				completion(c, &wc[i]);
			/* Many octets may come that complete nothing. */
			budget = base_now_ns() < until ? budget - got : 0;
		}
		waits = rt_poll_delayed(c);
		expire(c, now, budget > 0 || waits);
		want = atomic_load_explicit(&c->strand.close_wanted,
					    memory_order_relaxed);
		if (want && c->state != RT_CLOSED) {
			c->ended_here = true;
			if (want == 2) {
				RT_EACH_PART(c->inst, on_abort, c);
				if (c->state != RT_CLOSING)
					rt_conn_fail(c, -ECONNABORTED,
						     "ended by this side");
				atomic_store(&c->strand.close_wanted, 0);
				rt_event(c, EV_ABORT);
			} else if (c->state < RT_DRAINING) {
				rt_conn_stop(c, EV_CLOSE, 0,
					     "ended by this side");
			}
		}
		RT_EACH_HOOK(c, turn, c);
		if (c->state == RT_DRAINING && drained(c))
			rt_event(c, EV_DRAINED);
	} while (c->work.posted && budget > 0);
	if (c->state == RT_CLOSED)
		rt_conn_ended(c);
	end_round(c, now,
		  atomic_load_explicit(&c->strand.pending,
				       memory_order_relaxed) != n);
	if (c->fab && waits != c->strand.quiet) {
		c->strand.quiet = waits;
		fab_quiet(c->fab, waits);
	}
	/* The fabric does not report again what was not polled. */
	if (c->fab && (budget <= 0 || (waits && !rt_poll_delayed(c))))
		fab_kick(c->fab);
}

/* ---- Running -------------------------------------------------------------- */

/*
 * Have the poller run the connection, whose strand this thread holds: soon, or if
 * @patient as soon as any thread is in rt_run(). Returns false if this thread must go
 * on itself.
 */
static bool hand_over(struct rt_conn *c, bool patient)
{
	struct rt_instance *inst = c->inst;
	struct rt_turn *t = &inst->turns[c->strand.poller];
	pthread_t runner;
	bool first;

	/* Without the fabric any thread may run it. */
	runner = atomic_load_explicit(&t->runner, memory_order_relaxed);
	if (!c->fab || runner == pthread_self())
		return false;
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

void rt_strand_release(struct rt_conn *c)
{
	uint64_t now = rt_now_ms(), until = now + BASE_TURN_MS;
	unsigned int turns = 0;
	uint32_t n = 1;

	rt_conn_get(c);
	do {
		rt_strand_is(c, pthread_self());
		conn_work(c, n, now);
		rt_strand_is(c, 0);
		n = atomic_fetch_sub_explicit(&c->strand.pending, n,
					      memory_order_acq_rel) -
		    n;
		now = n ? rt_now_ms() : 0;
	} while (n && ((++turns < RT_TURNS && now < until) ||
		       !hand_over(c, c->inst->bound)));
	rt_conn_put(c);
}

int rt_strand_run_handed(struct rt_turn *t)
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

/* This thread has the strand. */
static void run_or_hand_over(struct rt_conn *c)
{
	if (!c->inst->bound || !hand_over(c, true))
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

/* The caller gets a reference, since the runner may drop the mail's at once. */
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

void rt_inbox_leave(struct rt_conn *c, struct rt_mail *mail,
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
	rt_strand_is(c, pthread_self());
	return true;
}

void rt_conn_unhold(struct rt_conn *c)
{
	run_or_hand_over(c);
}

void rt_conn_ready(struct fab_conn *f, void *user)
{
	rt_strand_run(user);
}

bool rt_conn_over(struct rt_conn *c)
{
	return atomic_load(&c->strand.over);
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
