/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leader - leaders of pollers, and the watchdog that replaces them
 *
 * This is the Leader/Followers pattern. A poller has one leader at a time. The lead is
 * passed on by putting the poller's token into ntirpc's queue. From then on another worker
 * may lead, so the former leader uses only `running` and `kept` of the poller.
 *
 * Several short Calls are queued before the leader runs them, one at a time. So if one of
 * them hangs, the others are in no thread's hands: the watchdog wakes a worker for them. The
 * Replies so far wait for rt_run(), whoever calls that next.
 *
 * A Call that the leader runs itself needs neither a wake-up nor a context switch, but
 * nobody runs the poller meanwhile. So a watchdog looks each TICK_US while leaders run
 * Calls. If a leader has run one Call for three ticks, the watchdog replaces it: it queues
 * the poller's token, and the former leader finds, after its Call, that it leads no more. So
 * a Call that blocks, on a slow file system or for a lock, delays others by three ticks at
 * most. If that happens again, the kind of Call is slow: for SLOW_MS a leader passes the lead
 * on before it runs one. It does not count if the thread had no processor: then the Call is
 * not to blame, and more runnable threads make it worse.
 *
 * If a tick finds no Call, the watchdog sleeps, and the next Call arms a timer for the next
 * tick. Where Calls are rare the leader cancels the timer after the Call: two system calls,
 * but no wake-up. Otherwise it lets the timer expire: one system call and one wake-up for all
 * Calls until then.
 *
 * One exchange of `running` decides who has the lead: the leader's, from the number of its
 * Call to 0, or the watchdog's, to GR_REPLACED. A Call that is found while the leader runs
 * one waits in `kept`, and goes to the queue if the leader is replaced.
 *
 * The watchdog is not missed when it falls asleep, nor when the timer is cancelled: the
 * leader writes `running`, whoever leaves a Call in the queue writes `backlog`, and whoever
 * ends the watchdog writes `stop`, each before it reads `state`. Who lets the watchdog sleep
 * writes `state` and then reads the others. The watchdog's lock, which is taken last, keeps
 * the timer as `state` says. A timer that expires in vain does no harm.
 */
#include "ganesha/serve/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define TICK_US 500
/* Calls are rare if the timer was last set longer ago. */
#define RARE_NS (TICK_US * 1250ull)
#define SLOW_MS 1000
/* After so many short Calls, or so long, a leader sends their Replies, and looks for more. */
#define BATCH_CALLS 16
#define BATCH_NS 200000

/* The Calls that a leader has found in one rt_run(). It runs the first one itself, without the queue,
 * if there is no other. */
struct leader {
	struct gr_poller *p;
	struct svc_req *first;
	bool more;
	bool left; /* there are Calls in the queue that no worker was woken for */
	bool looking; /* in rt_run() */
	uint64_t running; /* otherwise: the number of the Call that it runs */
};
static __thread struct leader *leading;

/* ---- Calls that are found ---------------------------------------------- */

static void enqueue(struct leader *l, struct svc_req *req)
{
	struct gr_workers *w = l->p->w;
	bool is_short = gr_workers_is_short(w, req);

	gr_workers_enqueue(w, req, !is_short);
	l->left |= is_short;
}

static void collect_call(struct leader *l, struct svc_req *req)
{
	if (l->more) {
		enqueue(l, req);
	} else if (!l->first) {
		l->first = req;
	} else {
		enqueue(l, l->first);
		enqueue(l, req);
		l->first = NULL;
		l->more = true;
	}
}

/* The leader runs a Call. Keep @req until that is done. Returns false if it leads no more, or has
 * kept one already. */
static bool keep_call(struct leader *l, struct svc_req *req)
{
	struct gr_poller *p = l->p;
	struct svc_req *none = NULL, *mine = req;

	if (atomic_load(&p->running) != l->running ||
	    !atomic_compare_exchange_strong(&p->kept, &none, req))
		return false;
	return atomic_load(&p->running) == l->running ||
	       !atomic_compare_exchange_strong(&p->kept, &mine, NULL);
}

bool gr_leader_takes(struct svc_req *req)
{
	struct leader *l = leading;

	if (!l)
		return false;
	if (!l->looking)
		return keep_call(l, req);
	collect_call(l, req);
	return true;
}

/* ---- Leading ------------------------------------------------------------ */

static bool is_running(struct gr_workers *w)
{
	for (unsigned int i = 0; i < w->npollers; i++) {
		uint64_t n = atomic_load(&w->poller[i].running);

		if (n && n != GR_REPLACED)
			return true;
	}
	return false;
}

/* Returns true if a Call runs or waits, or the watchdog shall end. */
static bool is_needed(struct gr_workers *w)
{
	return atomic_load(&w->watchdog.stop) || atomic_load(&w->backlog) ||
	       is_running(w);
}

/* 0 cancels the timer. Caller holds the watchdog's lock. */
static void set_timer(struct gr_watchdog *watchdog, long us)
{
	const struct itimerspec ts = { .it_value.tv_nsec = us * 1000 };

	timerfd_settime(watchdog->timer, 0, &ts, NULL);
}

bool gr_watchdog_wake(struct gr_watchdog *watchdog)
{
	bool rare = false;
	uint64_t now;

	if (atomic_load(&watchdog->state) != GR_ASLEEP)
		return false;
	now = base_now_ns();
	pthread_mutex_lock(&watchdog->lock);
	if (atomic_load(&watchdog->state) == GR_ASLEEP) {
		rare = now > watchdog->set_at + RARE_NS;
		watchdog->set_at = now;
		set_timer(watchdog, TICK_US);
		atomic_store(&watchdog->state, GR_ARMED);
	}
	pthread_mutex_unlock(&watchdog->lock);
	return rare;
}

/* Let the watchdog sleep on, unless it is needed. */
static void cancel_timer(struct gr_workers *w)
{
	struct gr_watchdog *watchdog = &w->watchdog;

	pthread_mutex_lock(&watchdog->lock);
	if (atomic_load(&watchdog->state) == GR_ARMED) {
		atomic_store(&watchdog->state, GR_ASLEEP);
		if (is_needed(w))
			atomic_store(&watchdog->state, GR_ARMED);
		else
			set_timer(watchdog, 0);
		atomic_fetch_add(&watchdog->progress, 1);
	}
	pthread_mutex_unlock(&watchdog->lock);
}

/* Run @req as the leader. Returns true if this worker still leads. */
static bool run_here(struct leader *l, struct svc_req *req, unsigned int kind)
{
	struct gr_poller *p = l->p;
	struct gr_workers *w = p->w;
	uint64_t n = ++p->calls;
	bool rare, leads;

	l->running = n;
	atomic_store_explicit(&p->kind, kind, memory_order_relaxed);
	atomic_store(&p->running, n);
	rare = gr_watchdog_wake(&w->watchdog);
	gr_workers_run(w, req);
	leads = atomic_compare_exchange_strong(&p->running, &n, 0);
	if (rare)
		cancel_timer(w);
	return leads;
}

/* Let the watchdog know this thread. */
static void publish_thread(struct gr_poller *p)
{
	clockid_t clock = CLOCK_MONOTONIC;

	pthread_getcpuclockid(pthread_self(), &clock);
	atomic_store_explicit(&p->clock, clock, memory_order_relaxed);
	atomic_store_explicit(&p->tid, gettid(), memory_order_relaxed);
}

bool gr_watchdog_is_slow(struct gr_watchdog *watchdog, unsigned int kind)
{
	uint64_t until = atomic_load_explicit(&watchdog->slow_until[kind],
					      memory_order_relaxed);

	return until && until > base_now_ns();
}

static unsigned int outstanding(struct gr_workers *w)
{
	return atomic_load_explicit(&w->outstanding, memory_order_relaxed);
}

/* Returns true if other workers have Calls. If not, one worker is enough, and the leader runs the
 * next Call, even if it did not have to wait for it. */
static bool others_have_calls(struct gr_workers *w)
{
	return outstanding(w) != 0;
}

/* Returns the time-out for rt_run(). A leader that polls uses a processor, so it sleeps if an
 * outstanding Call may need that. */
static int poll_timeout(struct gr_workers *w)
{
	unsigned int n = outstanding(w);

	if (w->processors == 1)
		return RT_SLEEP;
	return n && n + w->npollers >= w->processors ? RT_SLEEP : -1;
}

/* Run short Calls of the queue as the leader. Their Replies wait for rt_run(), which sends them
 * together. Returns true if this worker still leads. */
static bool run_queued(struct leader *l)
{
	struct gr_workers *w = l->p->w;
	uint64_t until = base_now_ns() + BATCH_NS;
	struct gr_sample sample = { .begun = 0 };
	struct svc_req *req;
	unsigned int kind;
	bool leads;

	rt_run_later(w->inst, l->p->n);
	for (unsigned int n = 0; n < BATCH_CALLS && sample.begun < until; n++) {
		req = gr_workers_begin_short(w, &kind, &sample);
		l->left = req;
		if (!req)
			return true;
		leads = run_here(l, req, kind);
		gr_blocking_end(&w->blocking, kind, &sample);
		if (!leads)
			return false;
	}
	l->left = atomic_load_explicit(&w->queued, memory_order_relaxed);
	return true;
}

/* Look for Calls, and wait if there is nothing to do. Returns true if it had to. */
static bool find_calls(struct leader *l)
{
	struct gr_poller *p = l->p;
	struct gr_workers *w = p->w;
	bool waits;

	l->first = atomic_exchange(&p->kept, NULL);
	l->more = false;
	l->looking = true;
	rt_run(w->inst, p->n, 0);
	waits = !l->first && !l->more && !l->left;
	/* The first rt_run() may have consumed the wake-up of a stop. */
	if (waits && !gr_workers_stopping(w))
		rt_run(w->inst, p->n, poll_timeout(w));
	l->looking = false;
	if (l->first && l->left) {
		enqueue(l, l->first);
		l->first = NULL;
	}
	return waits;
}

enum xprt_stat gr_leader_run(struct svc_req *token)
{
	struct gr_poller *p = (struct gr_poller *)token;
	struct gr_workers *w = p->w;
	struct leader here = { .p = p };
	bool leads = true;

	leading = &here;
	publish_thread(p);
	while (leads && !gr_workers_stopping(w)) {
		bool waited = find_calls(&here);
		unsigned int kind;

		if (here.left)
			leads = run_queued(&here);
		if (!here.first)
			continue;
		/* Calls that wait for a worker come first. */
		if (atomic_load(&w->backlog)) {
			gr_workers_enqueue(w, here.first, true);
			here.first = NULL;
			continue;
		}
		kind = w->kind_of(here.first);
		if ((!waited && others_have_calls(w)) ||
		    gr_watchdog_is_slow(&w->watchdog, kind)) {
			leading = NULL;
			atomic_fetch_add_explicit(&w->outstanding, 1,
						  memory_order_relaxed);
			svc_resume(token);
			gr_workers_run_outstanding(w, here.first);
			leads = false;
		} else {
			leads = run_here(&here, here.first, kind);
		}
		here.first = NULL;
	}
	leading = NULL;
	if (leads) {
		/* Replies may wait for it. */
		rt_run(w->inst, p->n, 0);
		here.first = atomic_exchange(&p->kept, NULL);
		if (here.first)
			gr_workers_enqueue(w, here.first, true);
		if (here.left)
			gr_workers_wake(w);
		gr_workers_poller_ended(w);
	} else {
		gr_workers_drain(w);
	}
	return XPRT_SUSPEND;
}

/* ---- The watchdog ------------------------------------------------------- */

static uint64_t used_cpu(struct gr_poller *p)
{
	struct timespec ts = { 0 };

	clock_gettime(atomic_load_explicit(&p->clock, memory_order_relaxed),
		      &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Returns true if the leader's thread is runnable: it may lack a processor (proc(5)). */
static bool is_runnable(struct gr_poller *p)
{
	char path[64], text[256], *at;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
		 (int)atomic_load_explicit(&p->tid, memory_order_relaxed));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	text[n] = 0;
	/* The name, in parentheses, may be anything. */
	at = strrchr(text, ')');
	return at && !strncmp(at, ") R", 3);
}

/* Returns true if the Call takes long only because its thread waits for a processor, and had one for
 * less than two ticks. */
static bool is_starved(struct gr_poller *p)
{
	return used_cpu(p) - p->cpu < (uint64_t)TICK_US * 2000 &&
	       is_runnable(p);
}

/* A Call of that kind takes long. Once is no reason to call the kind slow. */
static void note_slow(struct gr_workers *w, unsigned int kind)
{
	struct gr_watchdog *watchdog = &w->watchdog;
	const uint64_t ns = (uint64_t)SLOW_MS * 1000000;
	uint64_t now = base_now_ns();
	uint64_t last = atomic_exchange(&watchdog->long_at[kind], now);

	gr_blocking_note_long(&w->blocking, kind);
	if (last && now - last < ns)
		atomic_store(&watchdog->slow_until[kind], now + ns);
}

static void replace_leader(struct gr_workers *w, struct gr_poller *p,
			   uint64_t n)
{
	unsigned int kind = atomic_load(&p->kind);
	bool starved = is_starved(p);
	struct svc_req *req;

	if (!atomic_compare_exchange_strong(&p->running, &n, GR_REPLACED))
		return;
	req = atomic_exchange(&p->kept, NULL);
	if (req)
		gr_workers_enqueue(w, req, true);
	/* For those that it has left in the queue. */
	gr_workers_wake(w);
	if (gr_workers_stopping(w)) {
		gr_workers_poller_ended(w);
		return;
	}
	if (!starved)
		note_slow(w, kind);
	svc_resume(&p->token);
}

/* Replace leaders that have run one Call for three ticks. */
static void check_leaders(struct gr_workers *w)
{
	for (unsigned int i = 0; i < w->npollers; i++) {
		struct gr_poller *p = &w->poller[i];
		uint64_t n = atomic_load(&p->running);

		if (!n || n == GR_REPLACED)
			continue;
		if (n != p->seen) {
			p->seen = n;
			p->ticks = 0;
			p->cpu = used_cpu(p);
		}
		if (++p->ticks >= 3 || gr_workers_stopping(w))
			replace_leader(w, p, n);
	}
}

/* Wait for the next tick, and sleep before it until that is needed. */
static void await_tick(struct gr_workers *w)
{
	const struct timespec tick = { .tv_nsec = TICK_US * 1000 };
	struct gr_watchdog *watchdog = &w->watchdog;
	uint64_t expired;
	bool needed;

	pthread_mutex_lock(&watchdog->lock);
	atomic_store(&watchdog->state, GR_ASLEEP);
	needed = is_needed(w);
	if (needed)
		atomic_store(&watchdog->state, GR_TICKING);
	pthread_mutex_unlock(&watchdog->lock);
	if (needed) {
		nanosleep(&tick, NULL);
		return;
	}
	while (read(watchdog->timer, &expired, sizeof(expired)) < 0 &&
	       errno == EINTR)
		;
	pthread_mutex_lock(&watchdog->lock);
	atomic_store(&watchdog->state, GR_TICKING);
	pthread_mutex_unlock(&watchdog->lock);
}

static void *watch(void *arg)
{
	struct gr_workers *w = arg;

	while (!atomic_load(&w->watchdog.stop)) {
		await_tick(w);
		gr_workers_tick(w);
		check_leaders(w);
		atomic_fetch_add(&w->watchdog.progress, 1);
	}
	return NULL;
}

void gr_watchdog_init(struct gr_workers *w)
{
	struct gr_watchdog *watchdog = &w->watchdog;

	pthread_mutex_init(&watchdog->lock, NULL);
	atomic_init(&watchdog->state, GR_TICKING);
	watchdog->set_at = 0;
	atomic_init(&watchdog->progress, 0);
	atomic_init(&watchdog->stop, false);
	for (unsigned int i = 0; i < GR_KINDS; i++) {
		atomic_init(&watchdog->long_at[i], 0);
		atomic_init(&watchdog->slow_until[i], 0);
	}
	watchdog->timer = -1;
	watchdog->running = false;
}

int gr_watchdog_start(struct gr_workers *w)
{
	struct gr_watchdog *watchdog = &w->watchdog;
	int err;

	watchdog->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (watchdog->timer < 0)
		return errno;
	err = pthread_create(&watchdog->thread, NULL, watch, w);
	if (err) {
		close(watchdog->timer);
		return err;
	}
	pthread_setname_np(watchdog->thread, "rdma-watch");
	watchdog->running = true;
	return 0;
}

void gr_watchdog_stop(struct gr_workers *w)
{
	struct gr_watchdog *watchdog = &w->watchdog;

	if (!watchdog->running)
		return;
	atomic_store(&watchdog->stop, true);
	gr_watchdog_wake(watchdog);
	pthread_join(watchdog->thread, NULL);
	watchdog->running = false;
}

void gr_watchdog_free(struct gr_workers *w)
{
	if (w->watchdog.timer >= 0)
		close(w->watchdog.timer);
	pthread_mutex_destroy(&w->watchdog.lock);
}
