/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers - the queue of Calls, and the threads
 *
 * The token of the queue of Calls is in ntirpc's queue at most once, while `waking`. ntirpc
 * does not touch a token after it has called its callback, which returns XPRT_SUSPEND.
 *
 * Where pollers have threads of their own, one worker that has emptied the queue waits there
 * for a while, as standby. It is woken with one system call. ntirpc's pool wakes a thread
 * with the pool's lock held, which the thread then wants: that takes two or three system
 * calls, and with few processors two needless context switches. With leaders, or more than
 * one standby, this does not help (docs/notes/measurements.md).
 *
 * Nothing is called with `lock` held but sem_post() and gr_watchdog_wake().
 */
#include "ganesha/serve/workers.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <rpc/svc_auth.h>

#include "base/clock.h"

#define STANDBY_MS 200
#define STALLED_TICKS 10
/* Octets: Calls that cost more are not short, whatever others of their kind are. */
#define SMALL_COST 32768
/* A leader runs short Calls if all that are queued take no longer than AHEAD_NS, divided by the
 * processors that might share them, or LEAST_AHEAD_NS, about what it takes to wake two workers. */
#define AHEAD_NS 1000000u
#define LEAST_AHEAD_NS 100000u

static struct svc_req *req_of(struct poolq_entry *e)
{
	return (struct svc_req *)((char *)e -
				  offsetof(struct svc_req, rq_wpe.pqe));
}

/* ---- Waking a worker --------------------------------------------------- */

/* A worker that waits for a Call. */
struct gr_standby {
	sem_t sem;
	/* Protected by w->lock: it shall wake up; it shall also leave. */
	bool woken, leave;
};

static struct gr_standby *take_standby(struct gr_workers *w)
{
	struct gr_standby *s = w->standby;

	w->standby = NULL;
	if (s)
		s->woken = true;
	return s;
}

static struct svc_req *first_of(const struct gr_flow *f)
{
	return req_of(f->first);
}

/* Returns true if the first Call of @f may be run: a processor is free for it, or it blocks. Caller
 * holds w->lock. */
static bool may_run(struct gr_workers *w, const struct gr_flow *f)
{
	return w->computing < w->max_computing ||
	       gr_blocking_is(&w->blocking, w->kind_of(first_of(f))) ||
	       gr_workers_stopping(w);
}

/* Wake a worker for the queue, unless that is empty, a worker has been woken already, or the running
 * ones will dequeue the Call. Caller holds w->lock, which is released. */
static void wake_one(struct gr_workers *w)
{
	struct gr_flow *f = gr_fair_queue_next(&w->queue);
	struct gr_standby *s = NULL;
	bool wake = false;

	if (f && !w->waking) {
		wake = may_run(w, f);
		if (wake) {
			w->waking = true;
			s = take_standby(w);
		} else {
			atomic_store(&w->backlog, true);
			gr_watchdog_wake(&w->watchdog);
		}
	}
	pthread_mutex_unlock(&w->lock);
	if (s)
		sem_post(&s->sem);
	else if (wake)
		svc_resume(&w->token);
}

/* Wait for a Call. Returns true if woken for one. Caller holds w->lock, which is released meanwhile.
 * Do not wait while `waking`: the token may be in ntirpc's queue until a worker returns there. */
static bool wait_as_standby(struct gr_workers *w)
{
	struct gr_standby s = { .woken = false };
	struct timespec until;
	int rc;

	if (w->by_workers || w->standby || w->waking ||
	    gr_workers_stopping(w) || sem_init(&s.sem, 0, 0))
		return false;
	w->standby = &s;
	w->nstandby++;
	pthread_mutex_unlock(&w->lock);
	base_deadline(&until, STANDBY_MS);
	do
		rc = sem_clockwait(&s.sem, CLOCK_MONOTONIC, &until);
	while (rc && errno == EINTR);
	pthread_mutex_lock(&w->lock);
	if (!s.woken) {
		w->standby = NULL;
	} else if (rc) {
		/* Whoever took it is about to post. */
		pthread_mutex_unlock(&w->lock);
		while (sem_wait(&s.sem) && errno == EINTR)
			;
		pthread_mutex_lock(&w->lock);
	}
	w->nstandby--;
	sem_destroy(&s.sem);
	return s.woken && !s.leave;
}

/* ---- The queue of Calls ----------------------------------------------- */

/* The cost of a Call is about the octets that it moves. */
static size_t cost_of(struct gr_workers *w, struct svc_req *req)
{
	size_t cost;

	(void)w->flow_of(req, &cost);
	return cost;
}

static bool is_small(struct gr_workers *w, struct svc_req *req)
{
	return cost_of(w, req) <= SMALL_COST;
}

void gr_workers_enqueue(struct gr_workers *w, struct svc_req *req, bool wake)
{
	size_t cost;
	struct gr_flow *f = w->flow_of(req, &cost);

	atomic_fetch_add_explicit(&w->outstanding, 1, memory_order_relaxed);
	pthread_mutex_lock(&w->lock);
	gr_fair_queue_add(&w->queue, f ? f : &w->no_host, &req->rq_wpe.pqe);
	atomic_fetch_add_explicit(&w->queued, 1, memory_order_relaxed);
	if (wake)
		wake_one(w);
	else
		pthread_mutex_unlock(&w->lock);
}

void gr_workers_wake(struct gr_workers *w)
{
	pthread_mutex_lock(&w->lock);
	wake_one(w);
}

/* Do what ntirpc's own task does with a request, in the same order. */
void gr_workers_run(struct gr_workers *w, struct svc_req *req)
{
	enum xprt_stat stat = req->rq_resume_cb(req);

	/* It may have been resumed and freed already. */
	if (stat == XPRT_SUSPEND)
		return;
	if (req->rq_auth)
		SVCAUTH_RELEASE(req);
	XDR_DESTROY(req->rq_xdrs);
	w->free_cb(req, stat);
}

void gr_workers_run_outstanding(struct gr_workers *w, struct svc_req *req)
{
	gr_workers_run(w, req);
	atomic_fetch_sub_explicit(&w->outstanding, 1, memory_order_relaxed);
}

/* Caller holds w->lock. */
static struct svc_req *dequeue_first(struct gr_workers *w, struct gr_flow *f)
{
	struct svc_req *req = first_of(f);

	gr_fair_queue_remove(&w->queue, f, cost_of(w, req));
	atomic_fetch_sub_explicit(&w->queued, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&w->dequeued, 1, memory_order_relaxed);
	if (gr_fair_queue_empty(&w->queue))
		atomic_store_explicit(&w->backlog, false, memory_order_relaxed);
	return req;
}

/* Count a Call of @kind that is about to run, if it only computes. Returns whether it does. Caller
 * holds w->lock. */
static bool count_computing(struct gr_workers *w, unsigned int kind)
{
	if (gr_blocking_is(&w->blocking, kind))
		return false;
	w->computing++;
	w->of_kind[kind]++;
	return true;
}

/* Run queued Calls until the queue is empty. @woken: this worker was woken for it. */
static void run_queue(struct gr_workers *w, bool woken)
{
	struct svc_req *req;
	struct gr_flow *f;
	struct gr_sample look;
	bool counted = false;
	unsigned int kind = 0, era = 0;

	for (;;) {
		pthread_mutex_lock(&w->lock);
		if (counted && era == w->era) {
			w->computing--;
			w->of_kind[kind]--;
		}
		do {
			if (woken)
				w->waking = false;
			f = gr_fair_queue_next(&w->queue);
			woken = !f && wait_as_standby(w);
		} while (woken);
		/* There may be more workers than may run Calls. */
		req = f && may_run(w, f) ? dequeue_first(w, f) : NULL;
		if (req) {
			kind = w->kind_of(req);
			counted = count_computing(w, kind);
			era = w->era;
		} else {
			pthread_cond_broadcast(&w->ended);
		}
		/* The Call of this worker may block. */
		wake_one(w);
		if (!req)
			return;
		gr_blocking_begin(&w->blocking, kind, is_small(w, req), &look);
		gr_workers_run_outstanding(w, req);
		gr_blocking_end(&w->blocking, kind, &look);
	}
}

/* ---- Short Calls ------------------------------------------------------ */

bool gr_workers_is_short(struct gr_workers *w, struct svc_req *req)
{
	unsigned int kind = w->kind_of(req);
	uint64_t mean = gr_blocking_mean(&w->blocking, kind);

	return mean && mean < GR_SHORT_NS && is_small(w, req) &&
	       !gr_blocking_is(&w->blocking, kind) &&
	       !gr_watchdog_is_slow(&w->watchdog, kind);
}

/* Returns true if a leader is to run the first Call of @f. If it could not run all soon, or workers are
 * at it already, it had better lead. Caller holds w->lock. */
static bool is_for_leader(struct gr_workers *w, const struct gr_flow *f)
{
	struct svc_req *req = first_of(f);
	uint64_t all = gr_blocking_mean(&w->blocking, w->kind_of(req)) *
		       atomic_load_explicit(&w->queued, memory_order_relaxed);

	return gr_workers_is_short(w, req) && !w->computing && !w->waking &&
	       all <= MAX(AHEAD_NS / w->processors, LEAST_AHEAD_NS);
}

struct svc_req *gr_workers_begin_short(struct gr_workers *w, unsigned int *kind,
				       struct gr_sample *sample)
{
	struct svc_req *req;
	struct gr_flow *f;

	pthread_mutex_lock(&w->lock);
	f = gr_fair_queue_next(&w->queue);
	if (!f || !is_for_leader(w, f)) {
		wake_one(w);
		return NULL;
	}
	req = dequeue_first(w, f);
	pthread_mutex_unlock(&w->lock);
	atomic_fetch_sub_explicit(&w->outstanding, 1, memory_order_relaxed);
	*kind = w->kind_of(req);
	gr_blocking_begin(&w->blocking, *kind, true, sample);
	return req;
}

/* No worker has dequeued a Call for long. So those that run one hang. Count them no more, and let their
 * kinds count as blocking. */
static void discount_hung(struct gr_workers *w)
{
	struct gr_flow *f;

	pthread_mutex_lock(&w->lock);
	f = gr_fair_queue_next(&w->queue);
	/* Otherwise a worker has been woken. */
	if (f && !w->waking && !may_run(w, f)) {
		for (unsigned int i = 0; i < GR_KINDS; i++) {
			if (w->of_kind[i])
				gr_blocking_assume(&w->blocking, i);
			w->of_kind[i] = 0;
		}
		w->computing = 0;
		w->era++;
	}
	wake_one(w);
}

void gr_workers_tick(struct gr_workers *w)
{
	unsigned int taken =
		atomic_load_explicit(&w->dequeued, memory_order_relaxed);
	bool backlog = atomic_load(&w->backlog);

	w->stalled = backlog && taken == w->dequeued_seen ? w->stalled + 1 : 0;
	w->dequeued_seen = taken;
	if (w->stalled >= STALLED_TICKS) {
		w->stalled = 0;
		discount_hung(w);
	}
}

void gr_workers_drain(struct gr_workers *w)
{
	run_queue(w, false);
}

static enum xprt_stat run_token(struct svc_req *token)
{
	run_queue((struct gr_workers *)token, true);
	return XPRT_SUSPEND;
}

void gr_workers_submit(struct gr_workers *w, struct svc_req *req)
{
	if (!gr_leader_takes(req))
		gr_workers_enqueue(w, req, true);
}

/* ---- Pollers ---------------------------------------------------------- */

void gr_workers_poller_ended(struct gr_workers *w)
{
	pthread_mutex_lock(&w->lock);
	w->running--;
	pthread_cond_broadcast(&w->ended);
	pthread_mutex_unlock(&w->lock);
}

static void *poller_main(void *arg)
{
	struct gr_poller *p = arg;
	struct gr_workers *w = p->w;
	/* Others may need the only processor. */
	int timeout = w->processors == 1 ? RT_SLEEP : -1;

	while (!gr_workers_stopping(w))
		rt_run(w->inst, p->n, timeout);
	gr_workers_poller_ended(w);
	return NULL;
}

/* Returns how many processors this process may use. */
static unsigned int processors(void)
{
	cpu_set_t set;

	/* This fails if the machine has more than fit into a set. */
	if (sched_getaffinity(0, sizeof(set), &set))
		return (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	return (unsigned int)CPU_COUNT(&set);
}

/* Start the watchdog before the first leader can find a Call. */
static int start_leaders(struct gr_workers *w, unsigned int n)
{
	int err;

	w->npollers = w->running = n;
	err = gr_watchdog_start(w);
	if (err) {
		w->npollers = w->running = 0;
		return err;
	}
	for (unsigned int i = 0; i < n; i++)
		svc_resume(&w->poller[i].token);
	return 0;
}

static int start_threads(struct gr_workers *w, unsigned int n)
{
	int err;

	for (unsigned int i = 0; i < n; i++) {
		struct gr_poller *p = &w->poller[i];

		pthread_mutex_lock(&w->lock);
		w->running++;
		pthread_mutex_unlock(&w->lock);
		err = pthread_create(&p->thread, NULL, poller_main, p);
		if (err) {
			gr_workers_poller_ended(w);
			return err;
		}
		w->npollers++;
		pthread_setname_np(p->thread, "rdma-poller");
	}
	return 0;
}

int gr_workers_start(struct gr_workers *w, struct rt_instance *inst,
		     svc_xprt_free_fun_t free_cb,
		     unsigned int (*kind_of)(struct svc_req *req),
		     gr_flow_of_fn flow_of, bool by_workers)
{
	pthread_condattr_t attr;
	unsigned int n = rt_instance_pollers(inst);
	int err = 0;

	w->inst = inst;
	w->free_cb = free_cb;
	w->kind_of = kind_of;
	w->flow_of = flow_of;
	w->by_workers = by_workers;
	w->processors = processors();
	atomic_init(&w->outstanding, 0);
	w->npollers = 0;
	w->running = 0;
	w->waking = false;
	/* The limit needs the watchdog. */
	w->max_computing = by_workers ? MAX(w->processors, 2) : UINT_MAX / 2;
	w->computing = w->era = w->dequeued_seen = w->stalled = 0;
	memset(w->of_kind, 0, sizeof(w->of_kind));
	gr_blocking_init(&w->blocking);
	atomic_init(&w->backlog, false);
	atomic_init(&w->dequeued, 0);
	w->token.rq_resume_cb = run_token;
	w->standby = NULL;
	w->nstandby = 0;
	gr_fair_queue_init(&w->queue);
	atomic_init(&w->queued, 0);
	w->no_host = (struct gr_flow){ 0 };
	atomic_init(&w->stop, false);
	w->poller = calloc(n, sizeof(*w->poller));
	if (!w->poller)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->ended, &attr);
	pthread_condattr_destroy(&attr);

	gr_watchdog_init(w);
	for (unsigned int i = 0; i < n; i++) {
		struct gr_poller *p = &w->poller[i];

		p->w = w;
		p->n = i;
		p->token.rq_resume_cb = gr_leader_run;
	}
	err = by_workers ? start_leaders(w, n) : start_threads(w, n);
	if (err) {
		/* Keep the lock: a worker may still run a Call that one of the
		 * started threads has found. */
		if (gr_workers_stop(w, 10000))
			free(w->poller);
		w->poller = NULL;
	}
	return -err;
}

/* Caller holds w->lock. */
static bool is_idle(const struct gr_workers *w)
{
	return !w->running && !w->waking && !w->nstandby &&
	       gr_fair_queue_empty(&w->queue);
}

bool gr_workers_stop(struct gr_workers *w, unsigned int ms)
{
	struct gr_standby *s;
	struct timespec until;
	bool done;

	if (!w->poller)
		return true;
	atomic_store_explicit(&w->stop, true, memory_order_release);
	for (unsigned int i = 0; i < w->npollers; i++)
		rt_wake(w->inst, i);

	base_deadline(&until, ms);
	pthread_mutex_lock(&w->lock);
	s = take_standby(w);
	if (s) {
		s->leave = true;
		sem_post(&s->sem);
	}
	while (!is_idle(w))
		if (pthread_cond_timedwait(&w->ended, &w->lock, &until))
			break;
	done = is_idle(w);
	pthread_mutex_unlock(&w->lock);
	if (!done)
		return false;

	gr_watchdog_stop(w);
	if (!w->by_workers)
		for (unsigned int i = 0; i < w->npollers; i++)
			pthread_join(w->poller[i].thread, NULL);
	return true;
}

void gr_workers_free(struct gr_workers *w)
{
	if (!w->poller)
		return;
	gr_watchdog_free(w);
	pthread_cond_destroy(&w->ended);
	pthread_mutex_destroy(&w->lock);
	free(w->poller);
	w->poller = NULL;
}
