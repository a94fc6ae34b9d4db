/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn - what the runner of a connection does in one turn
 *
 * A turn takes the mail, polls the fabric for completions, handles the deadlines that
 * have passed, and calls the `turn` hooks of the connection's parts, flow control's last:
 * that posts what is to be sent. While something was posted it polls again, until its
 * budget of events or time is used up. rt_event() changes the connection's state by the
 * table of state_table.c.
 *
 * Deadlines: each turn ends by working out the connection's next deadline. The connection
 * has one alarm among the timers of its poller, which runs the strand. A deadline that
 * moves to a later time leaves the alarm as it is, and the alarm then runs the strand
 * once for nothing: so Calls that put off the same deadline again and again take no lock.
 * An alarm that is set holds a reference to the connection.
 *
 * Idle connections free memory, and close after idle_ms; a connection that is never idle
 * frees once a second what it has not used since.
 *
 * Context: the runner. Only alarm_expired() is the poller's.
 */
#include <errno.h>
#include <string.h>

#include "transport/core/core.h"

/* ---- The alarm ----------------------------------------------------------- */

static void alarm_expired(struct base_timer *t, unsigned int unused)
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
	base_timer_init(&c->strand.alarm, alarm_expired);
}

void rt_alarm_set(struct rt_conn *c, uint64_t d)
{
	uint64_t armed = base_timer_at(&c->strand.alarm), now;

	rt_assert_strand(c);
	if (!d || !c->fab || (armed && armed <= d))
		return;
	now = rt_now_ms();
	/* What is overdue and could not be done is tried again at the next tick. */
	if (d <= now)
		d = now + 1;
	d += RT_TICK_MS - 1;
	d -= d % RT_TICK_MS;
	if (armed && armed <= d)
		return;
	/* The alarm may expire and drop its reference before base_timer_set() returns. */
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

/* ---- Events ------------------------------------------------------------- */

static void fabric_gone(void *user)
{
	rt_instance_remove_conn(user);
	rt_conn_put(user);
}

static void fabric_ended(struct rt_conn *c)
{
	struct fab_conn *fab = c->fab;

	atomic_store(&c->strand.can_call, false);
	/* The chain can no longer be posted. */
	c->chain_posted = NULL;
	rt_chain_refused(c, rt_chain_take(c));
	RT_EACH_PART(c->inst, disconnected, c);
	/* Mail may complete requests, whose done callbacks may submit more. */
	while (!base_stack_empty(&c->strand.inbox))
		rt_inbox_take(c);
	rt_conn_publish(c);
	rt_log(c,
	       c->ops->logs_end				   ? LOG_DEBUG :
	       c->end_error && c->end_error != -ECONNRESET ? LOG_WARNING :
							     LOG_INFO,
	       "closed: %s", c->end_reason ? c->end_reason : "in order");
	if (c->ops->closed)
		c->ops->closed(c, c->end_error,
			       c->end_reason ? c->end_reason : "in order");
	rt_alarm_stop(c);
	c->fab = NULL;
	rt_conn_release(c);
	/* fabric_gone() drops the fabric's reference after the last callback. */
	fab_conn_destroy_deferred(fab, fabric_gone, c);
}

static void apply_effect(struct rt_conn *c, enum rt_effect e)
{
	const struct rt_config *cfg = &c->inst->cfg;

	switch (e) {
	case RT_DO_NOTHING:
		return;
	case RT_DO_DISCONNECT:
	case RT_DO_ABORT:
		if (c->fab)
			fab_disconnect(c->fab, e == RT_DO_ABORT);
		return;
	case RT_DO_DOWN:
		fabric_ended(c);
		return;
	case RT_DO_DRAIN:
		c->state_deadline = rt_now_ms() + rt_drain_ms(c->inst);
		return;
	case RT_DO_AWAIT:
		c->state_deadline = rt_now_ms() + cfg->first_message_ms;
		return;
	case RT_DO_SECOND_DRAINING:
		c->strand.awaits_second = false;
		return;
	case RT_DO_GREET:
		c->state_deadline = rt_now_ms() + cfg->first_message_ms;
		break;
	case RT_DO_FIRST:
	case RT_DO_ANSWER:
		c->strand.awaits_second = c->server;
		break;
	case RT_DO_SECOND:
		c->strand.awaits_second = false;
		break;
	case RT_DO_VERSION1:
		break;
	}
	RT_EACH_PART(c->inst, effect, c, e);
	/* With the first Call the upper layer may send reverse Calls. */
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
			atomic_store(&c->strand.is_closing, true);
		c->state_deadline = 0;
	}
	apply_effect(c, t->effect);
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
		return !c->strand.awaits_second || !c->first_sent;
	default:
		return false;
	}
}

/* ---- Posting -------------------------------------------------------------- */

void rt_chain_post(struct rt_conn *c)
{
	struct fab_wr *chain = rt_chain_take(c);
	void (*posted)(struct rt_conn *) = c->chain_posted;
	int rc;

	rt_assert_strand(c);
	if (!chain)
		return;
	rc = fab_post(c->fab, chain);
	c->work.posted = true;
	c->chain_posted = NULL;
	if (posted)
		posted(c);
	if (!rc)
		return;
	if (rc != -ENOTCONN)
		rt_conn_stop(c, EV_ABORT, rc, "posting: %s", strerror(-rc));
	rt_chain_refused(c, chain);
}

/* ---- Completions -------------------------------------------------------- */

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
		if (c->state == RT_ACCEPTING &&
		    (wc->error == -ENOSPC || wc->error == -ENOMEM))
			rt_count_refused(c->inst, RT_REFUSED_other,
					 &c->info.peer);
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

static bool conn_busy(struct rt_conn *c)
{
	uint32_t m = c->strand.parts_on & c->inst->hooks.busy;

	for (; m; m &= m - 1)
		if (c->inst->parts[__builtin_ctz(m)]->busy(c))
			return true;
	return false;
}

/* Returns when an idle connection is to be closed, 0 for never. The end of the last Call
 * runs the strand, and so this function again. */
static uint64_t close_at(const struct rt_conn *c)
{
	bool open = c->state == RT_OPEN || c->state == RT_ANSWERED;
	unsigned int idle_ms = RT_CURRENT(c->inst, idle_ms);

	if (!c->server || !idle_ms || !open)
		return 0;
	return c->last_active + idle_ms;
}

/* Returns when an idle connection is to free memory, 0 for never. */
static uint64_t shrink_at(const struct rt_conn *c)
{
	if (!c->used_since_idle || c->state >= RT_CLOSING || !c->fab ||
	    c->sends_inflight)
		return 0;
	return c->last_active + RT_IDLE_MS;
}

static bool is_due(uint64_t at, uint64_t now)
{
	return at && at <= now;
}

static void go_idle(struct rt_conn *c)
{
	c->used_since_idle = false;
	c->strand.trim_at = 0;
	rt_works_shrink(c);
	RT_EACH_PART(c->inst, on_idle, c);
	fab_conn_trim(c->fab);
}

/* Free what was not used in the last second, while messages keep coming. Otherwise a
 * connection that is never idle would keep for ever what it needed when it was
 * busiest. */
static void trim_conn(struct rt_conn *c, uint64_t now)
{
	bool freed = rt_works_trim(c);

	for (const struct rt_part *const *p = c->inst->parts; *p; p++)
		if ((*p)->trim)
			freed |= (*p)->trim(c);
	if (freed && c->fab)
		fab_conn_trim(c->fab);
	/* The next call frees what stays unused until then. */
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
 * Handle the deadlines that have passed, before anything is posted. This thread may be
 * late, and messages that the peer has sent in time must count: so unless all that has
 * arrived is @read, leave the deadlines to the next turn. After RT_TURNS turns, all that
 * had arrived before the first of them has been read.
 */
static void handle_deadlines(struct rt_conn *c, uint64_t now, bool read)
{
	if (c->state == RT_CLOSED || !is_due(c->strand.deadline, now))
		return;
	if (!read && ++c->strand.deferred_turns < RT_TURNS)
		return;
	c->strand.deferred_turns = 0;
	RT_EACH_HOOK(c, expire, c, now);
	if (is_due(shrink_at(c), now) && !conn_busy(c))
		go_idle(c);
	if (is_due(c->strand.trim_at, now))
		trim_conn(c, now);
	if (is_due(c->state_deadline, now)) {
		c->state_deadline = 0;
		if (c->state == RT_OPEN) {
			/* [A9]: no CONNPROP_FINAL, so the defaults hold. */
			rt_conn_notify_established(c);
		} else if (c->state == RT_ANSWERED) {
			rt_event(c, EV_SETTLED);
		} else {
			rt_conn_stop(c, EV_TIMEOUT, -ETIMEDOUT, "%s",
				     c->state == RT_DRAINING ?
					     "not drained in time" :
					     "no first message in time");
		}
	}
	if (is_due(close_at(c), now) && !conn_busy(c) && !rt_poll_delayed(c))
		rt_conn_stop(c, EV_TIMEOUT, 0, "idle for %u ms",
			     RT_CURRENT(c->inst, idle_ms));
}

/* Work out when handle_deadlines() is to be called next. */
static void set_deadline(struct rt_conn *c, uint64_t now)
{
	uint32_t m = c->strand.parts_on & c->inst->hooks.due;
	uint64_t d = 0, unless_busy;

	if (c->state != RT_CLOSED) {
		if (!c->strand.trim_at && c->used_since_idle &&
		    c->last_active + RT_IDLE_MS > now)
			c->strand.trim_at = now + RT_IDLE_MS;
		d = rt_earlier(c->strand.trim_at, c->state_deadline);
		for (; m; m &= m - 1)
			d = rt_earlier(c->inst->parts[__builtin_ctz(m)]->due(c),
				       d);
		if (rt_poll_delayed(c))
			d = rt_earlier(c->strand.poll_not_before, d);
		unless_busy = rt_earlier(close_at(c), shrink_at(c));
		if (unless_busy && !conn_busy(c))
			d = rt_earlier(unless_busy, d);
	}
	c->strand.deadline = d;
	rt_alarm_set(c, d);
}

static bool conn_drained(struct rt_conn *c)
{
	if (conn_busy(c) || c->sends_inflight)
		return false;
	for (const struct rt_part *const *p = c->inst->parts; *p; p++)
		if ((*p)->drained && !(*p)->drained(c))
			return false;
	return true;
}

/* Set the deadline and publish the state. If another turn follows at once (@again), that
 * does so, but since turns may follow each other without end, it is done once in each
 * step of the clock. */
static void end_turn(struct rt_conn *c, uint64_t now, bool again)
{
	if (again && c->strand.deadline_set == now)
		return;
	c->strand.deadline_set = now;
	set_deadline(c, now);
	rt_conn_publish(c);
}

void rt_turn_run(struct rt_conn *c, uint32_t n, uint64_t now)
{
	struct fab_wc wc[16];
	uint64_t until = base_now_ns() + RT_TURN_NS;
	int got, want, budget = BASE_TURN;
	bool waits;

	rt_assert_strand(c);
	rt_inbox_take(c);
	do {
		c->work.posted = false;
		while (c->fab && budget > 0 && !rt_poll_delayed(c) &&
		       (got = fab_poll(c->fab, wc, 16)) > 0) {
			for (int i = 0; i < got; i++)
				completion(c, &wc[i]);
			/* Octets may arrive for long that complete nothing. */
			budget = base_now_ns() < until ? budget - got : 0;
		}
		waits = rt_poll_delayed(c);
		handle_deadlines(c, now, budget > 0 || waits);
		want = atomic_load_explicit(&c->strand.close_wanted,
					    memory_order_relaxed);
		if (want && c->state != RT_CLOSED) {
			bool again =
				atomic_exchange(&c->strand.drain_again, false);

			c->closed_locally = true;
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
			} else if (again) {
				rt_event(c, EV_CLOSE);
			}
		}
		RT_EACH_HOOK(c, turn, c);
		if (c->state == RT_DRAINING && conn_drained(c))
			rt_event(c, EV_DRAINED);
	} while (c->work.posted && budget > 0);
	if (c->state == RT_CLOSED)
		rt_conn_release(c);
	end_turn(c, now,
		 atomic_load_explicit(&c->strand.pending,
				      memory_order_relaxed) != n);
	if (c->fab && waits != c->strand.poll_paused) {
		c->strand.poll_paused = waits;
		fab_conn_mask(c->fab, waits);
	}
	/* The fabric does not report again what has been left unpolled. */
	if (c->fab && (budget <= 0 || (waits && !rt_poll_delayed(c))))
		fab_conn_schedule(c->fab);
}
