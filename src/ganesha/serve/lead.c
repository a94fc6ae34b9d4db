/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lead - leaders of pollers, and the watchdog that relieves them
 *
 * A poller has one leader at a time; leading is passed on by putting the poller's
 * token into ntirpc's queue. Once it is there another worker may already lead, so
 * the former leader does not use the poller any more, except `running` and `kept`.
 *
 * A Call that the leader runs itself costs no wake-up and no change of thread;
 * but nothing else of this poller is looked at meanwhile. So there is a watchdog,
 * which looks each TICK_US as long as leaders run Calls, and sleeps otherwise. Of
 * a Call that it sees three times it takes the lead away: the poller's token goes
 * to another worker, and the former leader finds, when its Call is done, that it
 * leads no more. So Calls that block, on a slow file system or for a lock, hold
 * up others by three ticks at most; and not even that if it happens again: for
 * SLOW_MS the lead is passed on before a Call of such a kind is run. Not if its
 * thread had no processor meanwhile: then no Call is to blame, and to wake others
 * for all that follow makes it worse.
 *
 * Who has the lead is decided by one exchange of `running`: the leader's, from the
 * number of its Call to 0, or the watchdog's, to GR_RELIEVED. What the connection's
 * strand finds while it is run by the Call's own thread waits in `kept`, and goes
 * to the queue when the lead is taken away.
 *
 * Awake or not: the leader writes `running`, whoever leaves a Call in the queue writes
 * `backlog`, and whoever ends the watchdog writes `stop`, each before it reads `awake`;
 * the watchdog the other way round before it sleeps.
 */
#include "ganesha/serve/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define TICK_US 500
#define SLOW_MS 1000

/* What a leader has found in one rt_run(). It runs the first Call itself if that stays the only
 * one. */
struct lead {
	struct gr_poller *p;
	struct svc_req *first;
	bool more;
	bool looking; /* in rt_run() */
	uint64_t running; /* otherwise: the number of the Call that it runs */
};
static __thread struct lead *leading;

/* ---- What is found ------------------------------------------------------ */

static void found(struct lead *l, struct svc_req *req)
{
	struct gr_workers *w = l->p->w;

	if (l->more) {
		gr_workers_enqueue(w, req);
	} else if (!l->first) {
		l->first = req;
	} else {
		gr_workers_enqueue(w, l->first);
		gr_workers_enqueue(w, req);
		l->first = NULL;
		l->more = true;
	}
}

/* Keep @req, found while the leader runs a Call, until that is done. Returns false if it leads no
 * more, or has one already. */
static bool keep(struct lead *l, struct svc_req *req)
{
	struct gr_poller *p = l->p;
	struct svc_req *none = NULL, *mine = req;

	if (atomic_load(&p->running) != l->running ||
	    !atomic_compare_exchange_strong(&p->kept, &none, req))
		return false;
	return atomic_load(&p->running) == l->running ||
	       !atomic_compare_exchange_strong(&p->kept, &mine, NULL);
}

bool gr_lead_takes(struct svc_req *req)
{
	struct lead *l = leading;

	if (!l)
		return false;
	if (!l->looking)
		return keep(l, req);
	found(l, req);
	return true;
}

/* ---- Leading ------------------------------------------------------------ */

void gr_watchdog_wake(struct gr_watchdog *watchdog)
{
	if (atomic_load(&watchdog->awake) ||
	    atomic_exchange(&watchdog->awake, true))
		return;
	sem_post(&watchdog->wake);
}

/* Run @req as the leader. Returns true if this worker still leads. */
static bool run_here(struct lead *l, struct svc_req *req, unsigned int kind)
{
	struct gr_poller *p = l->p;
	struct gr_workers *w = p->w;
	uint64_t n = atomic_load_explicit(&p->calls, memory_order_relaxed) + 1;

	l->running = n;
	atomic_store_explicit(&p->calls, n, memory_order_relaxed);
	atomic_store_explicit(&p->kind, kind, memory_order_relaxed);
	atomic_store(&p->running, n);
	gr_watchdog_wake(&w->watchdog);
	gr_workers_run(w, req);
	return atomic_compare_exchange_strong(&p->running, &n, 0);
}

/* Let the watchdog know this thread. */
static void publish_thread(struct gr_poller *p)
{
	clockid_t clock = CLOCK_MONOTONIC;

	pthread_getcpuclockid(pthread_self(), &clock);
	atomic_store_explicit(&p->clock, clock, memory_order_relaxed);
	atomic_store_explicit(&p->tid, gettid(), memory_order_relaxed);
}

static bool is_slow(struct gr_watchdog *watchdog, unsigned int kind)
{
	uint64_t until = atomic_load_explicit(&watchdog->slow_until[kind],
					      memory_order_relaxed);

	return until && until > base_now_ns();
}

static unsigned int away(struct gr_workers *w)
{
	return atomic_load_explicit(&w->away, memory_order_relaxed);
}

/* Returns true if other workers have Calls, so that there are more than one worker can do. A Call
 * that is the only one is run here, even if it came before the last one was done. */
static bool others_run(struct gr_workers *w)
{
	return away(w) != 0;
}

/* Returns the time-out for rt_run(). A leader that polls takes a processor, so it sleeps if a Call
 * that waits, or is run by another worker, may need it. */
static int patience(struct gr_workers *w)
{
	unsigned int n = away(w);

	if (w->processors == 1)
		return RT_SLEEP;
	return n && n + w->npollers >= w->processors ? RT_SLEEP : -1;
}

enum xprt_stat gr_lead(struct svc_req *token)
{
	struct gr_poller *p = (struct gr_poller *)token;
	struct gr_workers *w = p->w;
	struct lead here = { .p = p };
	bool leads = true;

	leading = &here;
	publish_thread(p);
	while (leads && !gr_workers_stopping(w)) {
		unsigned int kind;
		bool waited;

		here.first = atomic_exchange(&p->kept, NULL);
		here.more = false;
		here.looking = true;
		rt_run(w->inst, p->n, 0);
		waited = !here.first && !here.more;
		/* The first rt_run() may have consumed the wake-up of a stop. */
		if (waited && !gr_workers_stopping(w))
			rt_run(w->inst, p->n, patience(w));
		here.looking = false;
		if (!here.first)
			continue;
		/* Calls that wait for a worker come first. */
		if (atomic_load(&w->backlog)) {
			gr_workers_enqueue(w, here.first);
			here.first = NULL;
			continue;
		}
		kind = w->kind_of(here.first);
		if ((!waited && others_run(w)) || is_slow(&w->watchdog, kind)) {
			leading = NULL;
			atomic_fetch_add_explicit(&w->away, 1,
						  memory_order_relaxed);
			svc_resume(token);
			gr_workers_run_away(w, here.first);
			leads = false;
		} else {
			leads = run_here(&here, here.first, kind);
		}
		here.first = NULL;
	}
	leading = NULL;
	if (leads) {
		here.first = atomic_exchange(&p->kept, NULL);
		if (here.first)
			gr_workers_enqueue(w, here.first);
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

/* Returns true if the Call takes long only for want of a processor: its thread had one for less
 * than two of the three ticks or more, and waits for one. */
static bool is_starved(struct gr_poller *p)
{
	return used_cpu(p) - p->cpu < (uint64_t)TICK_US * 2000 &&
	       is_runnable(p);
}

/* A Call of that kind takes long. The first time may be an accident. */
static void note_slow(struct gr_watchdog *watchdog, unsigned int kind)
{
	const uint64_t ns = (uint64_t)SLOW_MS * 1000000;
	uint64_t now = base_now_ns();
	uint64_t last = atomic_exchange(&watchdog->long_at[kind], now);

	if (last && now - last < ns)
		atomic_store(&watchdog->slow_until[kind], now + ns);
}

static void relieve(struct gr_workers *w, struct gr_poller *p, uint64_t n)
{
	unsigned int kind = atomic_load(&p->kind);
	bool starved = is_starved(p);
	struct svc_req *req;

	if (!atomic_compare_exchange_strong(&p->running, &n, GR_RELIEVED))
		return;
	req = atomic_exchange(&p->kept, NULL);
	if (req)
		gr_workers_enqueue(w, req);
	if (gr_workers_stopping(w)) {
		gr_workers_poller_ended(w);
		return;
	}
	if (!starved)
		note_slow(&w->watchdog, kind);
	svc_resume(&p->token);
}

static bool is_running(struct gr_workers *w)
{
	for (unsigned int i = 0; i < w->npollers; i++) {
		uint64_t n = atomic_load(&w->poller[i].running);

		if (n && n != GR_RELIEVED)
			return true;
	}
	return false;
}

/* Relieve leaders that have run one Call for three ticks. Returns true if anything was run since the
 * last tick. */
static bool check_leaders(struct gr_workers *w)
{
	bool any = gr_workers_tick(w);

	for (unsigned int i = 0; i < w->npollers; i++) {
		struct gr_poller *p = &w->poller[i];
		uint64_t n = atomic_load(&p->running);
		uint64_t calls =
			atomic_load_explicit(&p->calls, memory_order_relaxed);

		any |= calls != p->calls_seen;
		p->calls_seen = calls;
		if (!n || n == GR_RELIEVED)
			continue;
		any = true;
		if (n != p->seen) {
			p->seen = n;
			p->ticks = 0;
			p->cpu = used_cpu(p);
		}
		if (++p->ticks >= 3 || gr_workers_stopping(w))
			relieve(w, p, n);
	}
	return any;
}

/* Sleep until a leader runs a Call, or the watchdog is stopped. */
static void sleep_on(struct gr_workers *w)
{
	struct gr_watchdog *watchdog = &w->watchdog;

	atomic_store(&watchdog->awake, false);
	/* A Call that began, or a stop, before `awake` was cleared. */
	if ((atomic_load(&watchdog->stop) || atomic_load(&w->backlog) ||
	     is_running(w)) &&
	    !atomic_exchange(&watchdog->awake, true))
		return;
	while (sem_wait(&watchdog->wake) && errno == EINTR)
		;
}

static void *watch(void *arg)
{
	const struct timespec tick = { .tv_nsec = TICK_US * 1000 };
	struct gr_workers *w = arg;
	unsigned int quiet = 0;

	while (!atomic_load(&w->watchdog.stop)) {
		nanosleep(&tick, NULL);
		quiet = check_leaders(w) ? 0 : quiet + 1;
		if (quiet >= GR_QUIET_TICKS) {
			sleep_on(w);
			quiet = 0;
		}
	}
	return NULL;
}

void gr_watchdog_init(struct gr_workers *w)
{
	struct gr_watchdog *watchdog = &w->watchdog;

	atomic_init(&watchdog->awake, true);
	atomic_init(&watchdog->stop, false);
	for (unsigned int i = 0; i < GR_KINDS; i++) {
		atomic_init(&watchdog->long_at[i], 0);
		atomic_init(&watchdog->slow_until[i], 0);
	}
	sem_init(&watchdog->wake, 0, 0);
	watchdog->running = false;
}

int gr_watchdog_start(struct gr_workers *w)
{
	struct gr_watchdog *watchdog = &w->watchdog;
	int err;

	err = pthread_create(&watchdog->thread, NULL, watch, w);
	if (err)
		return err;
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
