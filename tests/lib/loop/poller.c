/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poller - who is ready, who has asked to connect, who may be freed
 *
 * One thread at a time runs a poller; the rest of this file is for any thread.
 * poller->lock is never held while a callback runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop/loop_priv.h"

static void earlier_timer(void *poller)
{
	loop_poller_wake(poller);
}

int loop_poller_create(struct fab_domain *dom, struct fab_poller **out)
{
	struct loop_poller *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;

	LOOP_FAMILY(dom);
	if (!p)
		return -ENOMEM;
	p->base.ops = dom->ops;
	p->base.dom = dom;
	p->ready_tail = &p->ready;
	base_timers_init(&p->base.timers, earlier_timer, &p->base);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->cond, &attr);
	pthread_condattr_destroy(&attr);
	atomic_fetch_add(&((struct loop_domain *)dom)->users, 1);
	*out = &p->base;
	return 0;
}

/* ---- Connections in the poller's queues ------------------------------ */

/* Poller lock held. */
static void queue_locked(struct loop_poller *p, struct loop_conn *c)
{
	if (c->queued || c->dying || !c->ready)
		return;
	c->queued = true;
	c->queue_next = NULL;
	*p->ready_tail = c;
	p->ready_tail = &c->queue_next;
	pthread_cond_broadcast(&p->cond);
}

/* Poller lock held. */
static void unqueue_locked(struct loop_poller *p, struct loop_conn *c)
{
	struct loop_conn **link = &p->ready;

	if (!c->queued)
		return;
	while (*link != c)
		link = &(*link)->queue_next;
	*link = c->queue_next;
	if (p->ready_tail == &c->queue_next)
		p->ready_tail = link;
	c->queued = false;
}

void loop_queue_ready(struct loop_conn *c)
{
	struct loop_poller *p = loop_poller_of(c);

	pthread_mutex_lock(&p->lock);
	queue_locked(p, c);
	pthread_mutex_unlock(&p->lock);
}

void loop_kick(struct fab_conn *c)
{
	loop_queue_ready(loop_conn_of(c));
}

void loop_conn_set_ready(struct fab_conn *fc, fab_ready_fn ready, void *user)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_poller *p = loop_poller_of(c);

	pthread_mutex_lock(&p->lock);
	c->ready = ready;
	c->user = user;
	pthread_mutex_unlock(&p->lock);
}

void loop_timer_start(struct loop_conn *c, unsigned int ms)
{
	base_timer_set(&c->base.poller->timers, &c->timer, base_now_ms() + ms,
		       0);
}

void loop_timer_stop(struct loop_conn *c)
{
	base_timer_stop(&c->base.poller->timers, &c->timer);
}

void loop_poller_retire(struct loop_conn *c, void (*done)(void *user),
			void *user)
{
	struct loop_poller *p = loop_poller_of(c);

	pthread_mutex_lock(&p->lock);
	LOOP_CHECK(!c->dying, "the connection was destroyed before");
	unqueue_locked(p, c);
	loop_timer_stop(c);
	c->dying = true;
	c->done = done;
	c->done_user = user;
	c->queue_next = p->dead;
	p->dead = c;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
}

/* ---- Running --------------------------------------------------------- */

/* No callback of this poller is running. Lock held, and dropped meanwhile. */
static int run_dead(struct loop_poller *p)
{
	struct loop_conn *c;
	int n = 0;

	while ((c = p->dead)) {
		p->dead = c->queue_next;
		pthread_mutex_unlock(&p->lock);
		if (c->done)
			c->done(c->done_user);
		c->free(c);
		n++;
		pthread_mutex_lock(&p->lock);
	}
	return n;
}

/*
 * What is ready now; what becomes ready meanwhile is left to the next run, so
 * that a callback that kicks its own connection does not keep us here.
 */
static int run_ready(struct loop_poller *p)
{
	struct loop_conn *c;
	size_t left = 0;
	int n = 0;

	for (c = p->ready; c; c = c->queue_next)
		left++;
	for (; left && (c = p->ready); left--) {
		fab_ready_fn ready = c->ready;
		void *user = c->user;

		unqueue_locked(p, c);
		pthread_mutex_unlock(&p->lock);
		ready(&c->base, user);
		n++;
		pthread_mutex_lock(&p->lock);
	}
	return n;
}

static struct loop_listener *asked_listener(struct loop_poller *p)
{
	struct loop_listener *l = p->listeners;

	while (l && !l->pending)
		l = l->poller_next;
	return l;
}

static int run_requests(struct loop_poller *p)
{
	struct loop_listener *l;
	int n = 0;

	while ((l = asked_listener(p))) {
		struct loop_conn *c = l->pending;
		uint8_t priv[LOOP_MAX_PRIV];
		size_t len = c->priv_len;

		l->pending = c->queue_next;
		if (!l->pending)
			l->pending_tail = &l->pending;
		memcpy(priv, c->priv, len);
		l->in_callback = true;
		pthread_mutex_unlock(&p->lock);
		/* From here on the connection is the callee's. */
		l->fn(&l->base, &c->base, priv, len, l->user);
		n++;
		pthread_mutex_lock(&p->lock);
		l->in_callback = false;
		pthread_cond_broadcast(&p->cond);
	}
	return n;
}

static int run_timers(struct loop_poller *p)
{
	int n;

	pthread_mutex_unlock(&p->lock);
	n = base_timers_run(&p->base.timers);
	pthread_mutex_lock(&p->lock);
	return n;
}

static bool something(struct loop_poller *p)
{
	return p->wake || p->ready || p->dead || asked_listener(p);
}

static void wait_locked(struct loop_poller *p, int timeout_ms)
{
	struct timespec end;

	/* Who arms an earlier timer wakes. */
	timeout_ms = base_timers_wait(&p->base.timers, timeout_ms);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_ms / 1000;
	end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	while (timeout_ms && !something(p)) {
		if (timeout_ms < 0)
			pthread_cond_wait(&p->cond, &p->lock);
		else if (pthread_cond_timedwait(&p->cond, &p->lock, &end))
			break;
	}
}

int loop_poller_run(struct fab_poller *fp, int timeout_ms)
{
	struct loop_poller *p = (struct loop_poller *)fp;
	int n;

	LOOP_FAMILY(fp->dom);
	pthread_mutex_lock(&p->lock);
	n = run_dead(p);
	if (!n && timeout_ms)
		wait_locked(p, timeout_ms);
	p->wake = false;
	n += run_dead(p);
	n += run_timers(p);
	n += run_requests(p);
	n += run_ready(p);
	pthread_mutex_unlock(&p->lock);
	return n;
}

void loop_poller_wake(struct fab_poller *fp)
{
	struct loop_poller *p = (struct loop_poller *)fp;

	pthread_mutex_lock(&p->lock);
	p->wake = true;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
}

void loop_poller_destroy(struct fab_poller *fp)
{
	struct loop_poller *p = (struct loop_poller *)fp;
	struct loop_domain *dom = (struct loop_domain *)fp->dom;

	LOOP_FAMILY(fp->dom);
	pthread_mutex_lock(&p->lock);
	run_dead(p);
	pthread_mutex_unlock(&p->lock);
	LOOP_CHECK(!atomic_load(&p->users), "the poller is still in use");
	pthread_cond_destroy(&p->cond);
	pthread_mutex_destroy(&p->lock);
	base_timers_fini(&p->base.timers);
	free(p);
	atomic_fetch_sub(&dom->users, 1);
}
