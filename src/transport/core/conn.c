/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn - life of a connection and its strand
 *
 * The strand: @pending counts reasons to run. Who raises it from zero is the
 * runner and works until it can bring it back to zero; everybody else only
 * raises it. (With a provider that is bound, who raises it from zero may have
 * to hand the connection over to its poller, see run.c.) Mail from other
 * threads lies in @inbox, a lock-free stack that the runner takes as a whole.
 *
 * Locks: info_lock is a leaf. The instance's lock is never taken while it is
 * held.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "transport/internal.h"

uint64_t rt_now_ms(void)
{
	return fab_now_ms();
}

void rt_conn_fail(struct rt_conn *c, int error, const char *fmt, ...)
{
	va_list ap;

	if (c->end_reason)
		return;
	va_start(ap, fmt);
	vsnprintf(c->end_text, sizeof(c->end_text), fmt, ap);
	va_end(ap);
	c->end_reason = c->end_text;
	c->end_error = error;
}

void rt_conn_set_name(struct rt_conn *c, const struct sockaddr *peer)
{
	char name[sizeof(c->peer_name)] = "";

	fab_addr_name(peer, name, sizeof(name));
	c->log_host = fab_addr_host(peer);
	snprintf(c->name, sizeof(c->name), "%s#%llu", name,
		 (unsigned long long)c->id);
	/* It is in the instance's list already. */
	pthread_mutex_lock(&c->info_lock);
	memcpy(c->peer_name, name, sizeof(c->peer_name));
	pthread_mutex_unlock(&c->info_lock);
}

int rt_conn_new(struct rt_instance *inst, unsigned int poller, bool server,
		const struct rt_ops *ops, struct rt_conn **out)
{
	struct rt_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->max_errors = inst->cfg.credits + RT_ERROR_SLACK;
	c->errors = calloc(c->max_errors, sizeof(*c->errors));
	if (!c->errors) {
		free(c);
		return -ENOMEM;
	}
	c->inst = inst;
	c->ops = ops;
	c->server = server;
	c->poller = poller;
	c->state = server ? RT_ACCEPTING : RT_CONNECTING;
	/* It goes out before anybody has said who he is: it tells nothing. */
	c->next_xid = arc4random();
	c->last_active = rt_now_ms();
	atomic_init(&c->refs, 1);
	atomic_init(&c->pending, 1);
	pthread_mutex_init(&c->info_lock, NULL);
	rt_alarm_init(c);
	CDS_INIT_LIST_HEAD(&c->calls);
	CDS_INIT_LIST_HEAD(&c->starved);
	CDS_INIT_LIST_HEAD(&c->waiting);
	CDS_INIT_LIST_HEAD(&c->replies);
	CDS_INIT_LIST_HEAD(&c->calls_out);
	CDS_INIT_LIST_HEAD(&c->requests);
	CDS_INIT_LIST_HEAD(&c->lent);
	CDS_INIT_LIST_HEAD(&c->inst_link);
	c->chain_tail = &c->chain;
	c->info.state = rt_state_names[c->state];
	RT_EACH_PART(c->inst, init, c);

	pthread_mutex_lock(&inst->lock);
	c->id = ++inst->next_id;
	atomic_fetch_add_explicit(&inst->refs, 1, memory_order_relaxed);
	cds_list_add_tail(&c->inst_link, &inst->conns);
	inst->nconns++;
	pthread_mutex_unlock(&inst->lock);
	snprintf(c->name, sizeof(c->name), "#%llu", (unsigned long long)c->id);
	*out = c;
	return 0;
}

/* The last reference is gone; nobody runs it and the fabric has ended. */
static void conn_free(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	/* One that never had the fabric's. */
	rt_instance_forget(c);
	rt_conn_ended(c);
	rt_host_leave(c);
	pthread_mutex_destroy(&c->info_lock);
	free(c);
	rt_instance_put(inst);
}

void rt_conn_get(struct rt_conn *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void rt_conn_put(struct rt_conn *c)
{
	if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		conn_free(c);
}

void *rt_conn_user(struct rt_conn *c)
{
	return c->user;
}

struct rt_instance *rt_conn_instance(struct rt_conn *c)
{
	return c->inst;
}

uint64_t rt_conn_id(const struct rt_conn *c)
{
	return c->id;
}

const char *rt_conn_name(const struct rt_conn *c)
{
	return c->name;
}

bool rt_conn_can_call(struct rt_conn *c)
{
	return atomic_load_explicit(&c->can_call, memory_order_acquire);
}

bool rt_conn_xid_busy(struct rt_conn *c, uint32_t xid)
{
	return atomic_load_explicit(&c->xids[xid % RT_XIDS],
				    memory_order_relaxed);
}

void rt_conn_tell_established(struct rt_conn *c)
{
	if (c->established)
		return;
	c->established = true;
	if (!c->server)
		c->state_deadline = 0;
	rt_conn_publish(c);
	if (c->ops->established)
		c->ops->established(c);
}

/* ---- The strand ------------------------------------------------------- */

/* Make what rt_conn_info() tells current. */
void rt_conn_publish(struct rt_conn *c)
{
	struct rt_conn_info *i = &c->info;
	bool reverse_ok = c->state == RT_OPEN && c->server &&
			  c->theirs.complete &&
			  c->theirs.reverse > RDMA2_RVRSDIR_NONE &&
			  c->theirs.reverse <= RDMA2_RVRSDIR_GENL;

	atomic_store_explicit(&c->can_call,
			      reverse_ok ||
				      (!c->server && c->state == RT_OPEN &&
				       c->established),
			      memory_order_release);
	pthread_mutex_lock(&c->info_lock);
	i->state = rt_state_names[c->state];
	i->version = c->version;
	i->ours = c->ours;
	i->ours.complete = c->props_sent;
	i->theirs = c->theirs;
	i->extensions = (c->xchar.peer ? RT_EXT_XCHAR : 0) |
			(c->rtr.send ? RT_EXT_RTR : 0);
	c->v->tell(c, i);
	i->call_inline = c->server ? c->from_peer : c->to_peer;
	i->reply_inline = c->server ? c->to_peer : c->from_peer;
	i->calls_in_progress = c->calls_upper;
	i->requests_outstanding = c->requests_out;
	pthread_mutex_unlock(&c->info_lock);
}

void rt_conn_info(struct rt_conn *c, struct rt_conn_info *info)
{
	pthread_mutex_lock(&c->info_lock);
	*info = c->info;
	memcpy(info->peer_name, c->peer_name, sizeof(info->peer_name));
	pthread_mutex_unlock(&c->info_lock);
	info->id = c->id;
	info->server = c->server;
	info->poller = c->poller;
#define LOAD(name, help) \
	info->stats.name = __atomic_load_n(&c->stats.name, __ATOMIC_RELAXED);
	RT_STATS(LOAD)
#undef LOAD
	memset(&info->stages, 0, sizeof(info->stages));
	for (unsigned int i = 0; i < RT_NSTAGES; i++)
		rt_histogram_sum(&info->stages.stage[i], &c->stages.stage[i]);
	memset(&info->classes, 0, sizeof(info->classes));
	rt_classes_sum(&info->classes, &c->classes);
}

static void take_mail(struct rt_conn *c)
{
	struct rt_mail *m =
		atomic_exchange_explicit(&c->inbox, NULL, memory_order_acquire);
	struct rt_mail *first = NULL;

	/* Oldest first. */
	while (m) {
		struct rt_mail *next = m->next;

		m->next = first;
		first = m;
		m = next;
	}
	while (first) {
		m = first;
		first = m->next;
		m->run(c, m);
	}
}

void rt_inbox_put(struct rt_conn *c, struct rt_mail *mail,
		  void (*run)(struct rt_conn *c, struct rt_mail *m))
{
	/* The runner may drop the mail's own reference at once. */
	rt_conn_get(c);
	mail->run = run;
	mail->next = atomic_load_explicit(&c->inbox, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&c->inbox, &mail->next, mail, memory_order_release,
		memory_order_relaxed))
		;
	rt_strand_run(c);
	rt_conn_put(c);
}

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
		RT_EACH_PART(c->inst, up, c, wc->priv, wc->priv_len);
		return;
	}
	case FAB_WC_CLOSED:
		((struct rt_closing *)wc->user)->closed(c, wc->user);
		return;
	case FAB_WC_DISCONNECTED:
		if (wc->error && c->state == RT_CONNECTING)
			/* What to do depends on which error it was. */
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

/* Does anything go on that an orderly end has to wait for? */
static bool busy(struct rt_conn *c)
{
	for (const struct rt_part *const *p = c->inst->parts; *p; p++)
		if ((*p)->busy && (*p)->busy(c))
			return true;
	return false;
}

/* Is this a connection that ends when nothing comes, and does nothing? Whatever
 * ends the last Call comes by here. */
static bool may_idle(struct rt_conn *c)
{
	return c->server && c->inst->cfg.idle_ms &&
	       (c->state == RT_OPEN || c->state == RT_ANSWERED) && !busy(c);
}

/* Is nothing going on, and has it not given back what it had for that? */
static bool may_rest(struct rt_conn *c)
{
	return c->restless && c->state < RT_CLOSING && c->fab &&
	       !c->sends_inflight && !busy(c);
}

static void rest(struct rt_conn *c)
{
	c->restless = false;
	RT_EACH_PART(c->inst, rest, c);
	rt_works_rest(c);
	fab_rest(c->fab);
}

void rt_give_up(struct rt_conn *c, uint64_t at, uint64_t now, const char *why)
{
	if (!at || at > now || c->state >= RT_CLOSING)
		return;
	rt_conn_fail(c, -ETIMEDOUT, "%s", why);
	rt_event(c, EV_ABORT);
}

/* What the time has come for; before anything is posted. */
static void expire(struct rt_conn *c)
{
	uint64_t now = rt_now_ms();

	RT_EACH_PART(c->inst, expire, c, now);
	if (may_rest(c) && c->last_active + RT_REST_MS <= now)
		rest(c);
	if (c->state_deadline && c->state_deadline <= now) {
		c->state_deadline = 0;
		if (c->state == RT_OPEN) {
			/* [A9]: no CONNPROP_FINAL, so the defaults hold. */
			rt_conn_tell_established(c);
		} else if (c->state == RT_ANSWERED) {
			rt_event(c, EV_SETTLED);
		} else {
			rt_conn_fail(c, -ETIMEDOUT, "%s",
				     c->state == RT_DRAINING ?
					     "not drained in time" :
					     "no first message in time");
			rt_event(c, EV_TIMEOUT);
		}
	}
}

/* What has come by now is no idleness, however late this thread comes to it: so
 * after it has been looked at. */
static void expire_idle(struct rt_conn *c)
{
	if (may_idle(c) &&
	    c->last_active + c->inst->cfg.idle_ms <= rt_now_ms()) {
		rt_conn_fail(c, 0, "idle for %u ms", c->inst->cfg.idle_ms);
		rt_event(c, EV_TIMEOUT);
	}
}

/* When expire() has to be called next. */
static void set_deadline(struct rt_conn *c)
{
	uint64_t d = 0;

	if (c->state != RT_CLOSED) {
		d = c->state_deadline;
		for (const struct rt_part *const *p = c->inst->parts; *p; p++)
			if ((*p)->due)
				d = rt_earlier((*p)->due(c), d);
		d = rt_earlier(rt_wrong_deadline(c), d);
		if (may_idle(c))
			d = rt_earlier(c->last_active + c->inst->cfg.idle_ms,
				       d);
		if (may_rest(c))
			d = rt_earlier(c->last_active + RT_REST_MS, d);
	}
	rt_alarm_set(c, d);
}

/* Is nothing left that an orderly end has to wait for? */
static bool drained(struct rt_conn *c)
{
	return !busy(c) && !c->sends_inflight && !c->nerrors;
}

static void conn_work(struct rt_conn *c)
{
	struct fab_wc wc[16];
	uint64_t until = rt_now_ms() + RT_TURN_MS;
	int n, budget = RT_BUDGET;
	int want;
	bool waits;

	take_mail(c);
	expire(c);
	do {
		c->posted = false;
		while (c->fab && budget > 0 && !rt_wrong_waits(c) &&
		       (n = fab_poll(c->fab, wc, 16)) > 0) {
			for (int i = 0; i < n; i++)
				completion(c, &wc[i]);
			/* Of octets that complete nothing there may be many. */
			budget = rt_now_ms() < until ? budget - n : 0;
		}
		waits = rt_wrong_waits(c);
		if (budget > 0 && !waits)
			expire_idle(c);
		want = atomic_load_explicit(&c->close_wanted,
					    memory_order_relaxed);
		if (want && c->state != RT_CLOSED) {
			c->ended_here = true;
			if (want == 2) {
				RT_EACH_PART(c->inst, given_up, c);
				if (c->state != RT_CLOSING)
					rt_conn_fail(c, -ECONNABORTED,
						     "ended by this side");
				atomic_store(&c->close_wanted, 0);
				rt_event(c, EV_ABORT);
			} else if (c->state < RT_DRAINING) {
				rt_conn_fail(c, 0, "ended by this side");
				rt_event(c, EV_CLOSE);
			}
		}
		RT_EACH_PART(c->inst, turn, c);
		if (c->state == RT_DRAINING && drained(c))
			rt_event(c, EV_DRAINED);
	} while (c->posted && budget > 0);
	if (c->state == RT_CLOSED)
		rt_conn_ended(c);
	set_deadline(c);
	rt_conn_publish(c);
	/* Of what has not been looked at nothing is told again. */
	if (c->fab && (budget <= 0 || (waits && !rt_wrong_waits(c))))
		fab_kick(c->fab);
}

void rt_strand_release(struct rt_conn *c)
{
	uint64_t until = rt_now_ms() + RT_TURN_MS;
	unsigned int turns = 0;
	uint32_t n = 1;

	rt_conn_get(c);
	do {
		conn_work(c);
		/* What was raised meanwhile brings another round. */
		n = atomic_fetch_sub_explicit(&c->pending, n,
					      memory_order_acq_rel) -
		    n;
	} while (n && ((++turns < RT_TURNS && rt_now_ms() < until) ||
		       !rt_hand_over(c)));
	rt_conn_put(c);
}

/* The strand is this thread's: run it, or have it run. */
static void strand_pass(struct rt_conn *c)
{
	if (!c->inst->bound || !rt_hand_over(c))
		rt_strand_release(c);
}

void rt_strand_run(struct rt_conn *c)
{
	if (!atomic_fetch_add_explicit(&c->pending, 1, memory_order_acq_rel))
		strand_pass(c);
}

bool rt_conn_hold(struct rt_conn *c)
{
	uint32_t idle = 0;

	return atomic_compare_exchange_strong_explicit(&c->pending, &idle, 1,
						       memory_order_acq_rel,
						       memory_order_relaxed);
}

void rt_conn_unhold(struct rt_conn *c)
{
	strand_pass(c);
}

void rt_conn_ready(struct fab_conn *f, void *user)
{
	rt_strand_run(user);
}

bool rt_conn_over(struct rt_conn *c)
{
	return atomic_load(&c->over);
}

void rt_conn_close(struct rt_conn *c, bool abort)
{
	int want = abort ? 2 : 1;
	int old = atomic_load(&c->close_wanted);

	while (old < want &&
	       !atomic_compare_exchange_weak(&c->close_wanted, &old, want))
		;
	rt_strand_run(c);
}
