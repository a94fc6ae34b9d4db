/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leaders and workers, without a transport and without Ganesha: what they ask of
 * both is here. Calls one by one are run by the leader, several are queued; a
 * leader sleeps at once only where a Call wants its processor; at the end each
 * poller is woken once and each thread joined. Calls that compute are run by as many
 * workers as there are processors; those that block, or hang, by any number.
 */
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "ganesha/serve/workers.h"
#include "unit.h"

#define POLLERS 2
#define RACES 20000

static struct gr_workers w;
static struct rt_instance *const inst = (struct rt_instance *)&w;

/* ---- The transport ------------------------------------------------------ */

static unsigned int runs, last_runs, promises, wakes[POLLERS];
static sem_t awake[POLLERS]; /* of pollers on threads of their own */
static bool on_threads;
static int slept; /* what the last rt_run() was told that may wait */
static void (*turn)(unsigned int run); /* in rt_run() */

unsigned int rt_instance_pollers(const struct rt_instance *of)
{
	CU_ASSERT_PTR_EQUAL(of, inst);
	return POLLERS;
}

int rt_run(struct rt_instance *of, unsigned int n, int timeout_ms)
{
	if (on_threads) {
		/* CUnit is for one thread. */
		if (of != inst || n >= POLLERS || timeout_ms != -1)
			abort();
		while (sem_wait(&awake[n]))
			;
		return 0;
	}
	CU_ASSERT_PTR_EQUAL(of, inst);
	CU_ASSERT_TRUE_FATAL(n < POLLERS);
	if (timeout_ms)
		slept = timeout_ms;
	/* A leader that ends sends what it has promised to. */
	if (atomic_load(&w.stop))
		last_runs++;
	else
		turn(runs++);
	return 0;
}

void rt_run_later(struct rt_instance *of, unsigned int n)
{
	CU_ASSERT_PTR_EQUAL(of, inst);
	CU_ASSERT_TRUE_FATAL(n < POLLERS);
	promises++;
}

void rt_wake(struct rt_instance *of, unsigned int n)
{
	CU_ASSERT_PTR_EQUAL(of, inst);
	CU_ASSERT_TRUE_FATAL(n < POLLERS);
	wakes[n]++;
	sem_post(&awake[n]);
}

/* ---- ntirpc ------------------------------------------------------------- */

static unsigned int resumed, queue_resumed;
static sem_t leader_resumed;

void svc_resume(struct svc_req *token)
{
	if (token == &w.token) {
		queue_resumed++;
		return;
	}
	resumed++;
	sem_post(&leader_resumed);
}

static void free_req(struct svc_req *req, enum xprt_stat stat)
{
	CU_FAIL("a request that was resumed is freed");
}

#define CALLS 6

static struct svc_req calls[CALLS];
static unsigned int kinds[CALLS];

static unsigned int kind_of(struct svc_req *req)
{
	return kinds[req - calls];
}

/* ---- The C library ------------------------------------------------------ */

static unsigned int joins;
int __wrap_pthread_join(pthread_t thread, void **value);
int __real_pthread_join(pthread_t thread, void **value);

int __wrap_pthread_join(pthread_t thread, void **value)
{
	joins++;
	/* More of them than there were. */
	return joins > POLLERS ? 0 : __real_pthread_join(thread, value);
}

/* So many threads can be made yet; no limit below 0. */
static int threads_left = -1;
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	if (!threads_left)
		return EAGAIN;
	if (threads_left > 0)
		threads_left--;
	return __real_pthread_create(t, attr, fn, arg);
}

/* The watchdog. With @unset no timer that is set expires, and it sleeps until let_tick().
 * With @races its ticks take no time. With @holds it reads its timer only when it has been
 * told of the end. With @interrupts another Call begins while a timer is cancelled. */
static bool unset, races, holds, interrupts;
static atomic_uint sets, cancels, ticks; /* of timers; without a timer */
static pthread_t interrupter;
static void *begin_other(void *arg);
static sem_t asleep; /* it reads the timer */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *in,
			   struct itimerspec *old);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *in,
			   struct itimerspec *old);
ssize_t __wrap_read(int fd, void *to, size_t len);
ssize_t __real_read(int fd, void *to, size_t len);

static const struct itimerspec at_once = { .it_value.tv_nsec = 1 };
static const struct itimerspec later = { .it_value.tv_nsec = 50000000 };

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	atomic_fetch_add(&ticks, 1);
	return races ? 0 : __real_nanosleep(time, left);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *in,
			   struct itimerspec *old)
{
	const struct timespec while_begun = { .tv_nsec = 5000000 };

	if (fd != w.watchdog.timer || flags || in->it_interval.tv_nsec ||
	    in->it_value.tv_sec || in->it_value.tv_nsec % 500000)
		abort();
	if (!in->it_value.tv_nsec) {
		atomic_fetch_add(&cancels, 1);
		if (interrupts) {
			__real_pthread_create(&interrupter, NULL, begin_other,
					      NULL);
			__real_nanosleep(&while_begun, NULL);
		}
		return __real_timerfd_settime(fd, flags, in, old);
	}
	atomic_fetch_add(&sets, 1);
	if (unset)
		return 0;
	return __real_timerfd_settime(fd, flags,
				      races	 ? &at_once :
				      interrupts ? &later :
						   in,
				      old);
}

ssize_t __wrap_read(int fd, void *to, size_t len)
{
	const struct timespec while_told = { .tv_nsec = 20000000 };

	if (fd != w.watchdog.timer)
		return __real_read(fd, to, len);
	sem_post(&asleep);
	if (holds) {
		while (!atomic_load(&w.watchdog.stop))
			__real_nanosleep(&while_told, NULL);
		__real_nanosleep(&while_told, NULL);
	}
	return __real_read(fd, to, len);
}

static void await_sleep(void)
{
	while (sem_wait(&asleep))
		;
}

static void let_tick(void)
{
	CU_ASSERT_EQUAL(
		__real_timerfd_settime(w.watchdog.timer, 0, &at_once, NULL), 0);
}

/* A worker stands by for the next Call. */
static int (*stands_by)(unsigned int time);
static unsigned int stood_by;
int __wrap_sem_clockwait(sem_t *sem, clockid_t clock,
			 const struct timespec *until);
int __real_sem_clockwait(sem_t *sem, clockid_t clock,
			 const struct timespec *until);

int __wrap_sem_clockwait(sem_t *sem, clockid_t clock,
			 const struct timespec *until)
{
	errno = stands_by(stood_by++);
	return errno ? -1 : __real_sem_clockwait(sem, clock, until);
}

/* ---- Calls -------------------------------------------------------------- */

static unsigned int ran;
/* What another worker does while a Call is run. */
static void (*meanwhile)(void);

/* The Calls in the order in which they shall be run; NULL: as they came. Those from
 * @second on are another host's. */
static const unsigned int *order;
static unsigned int second;
static struct gr_flow flows[2];
static size_t costs[2];

static struct gr_flow *flow_of(struct svc_req *req, size_t *cost)
{
	bool of = (unsigned int)(req - calls) >= second;

	*cost = costs[of];
	return second ? &flows[of] : NULL;
}

static enum xprt_stat run_call(struct svc_req *req)
{
	CU_ASSERT_PTR_EQUAL(req, &calls[order ? order[ran] : ran]);
	ran++;
	if (meanwhile)
		meanwhile();
	return XPRT_SUSPEND;
}

static void prepare(bool by_workers)
{
	on_threads = !by_workers;
	runs = last_runs = promises = resumed = queue_resumed = joins = ran = 0;
	slept = 0;
	sets = cancels = ticks = 0;
	sem_init(&asleep, 0, 0);
	for (unsigned int i = 0; i < POLLERS; i++) {
		wakes[i] = 0;
		sem_init(&awake[i], 0, 0);
	}
	meanwhile = NULL;
	order = NULL;
	second = 0;
	memset(flows, 0, sizeof(flows));
	memset(kinds, 0, sizeof(kinds));
	memset(costs, 0, sizeof(costs));
	for (unsigned int i = 0; i < CALLS; i++)
		calls[i] = (struct svc_req){ .rq_resume_cb = run_call };
}

static void begin(bool by_workers)
{
	prepare(by_workers);
	CU_ASSERT_EQUAL_FATAL(gr_workers_start(&w, inst, free_req, kind_of,
					       flow_of, by_workers),
			      0);
	CU_ASSERT_EQUAL(resumed, by_workers ? POLLERS : 0);
}

static void stop(unsigned int run)
{
	atomic_store(&w.stop, true);
}

/* The first poller's, until @what ends it. */
static void lead(void (*what)(unsigned int run))
{
	turn = what;
	CU_ASSERT_EQUAL(gr_leader_run(&w.poller[0].token), XPRT_SUSPEND);
}

/* All pollers have led, the last of them to the end. */
static void end(void)
{
	turn = stop;
	if (w.by_workers)
		for (unsigned int i = 1; i < POLLERS; i++)
			CU_ASSERT_EQUAL(gr_leader_run(&w.poller[i].token),
					XPRT_SUSPEND);
	CU_ASSERT_TRUE(gr_workers_stop(&w, 10000));
	for (unsigned int i = 0; i < POLLERS; i++) {
		CU_ASSERT_EQUAL(wakes[i], 1);
		sem_destroy(&awake[i]);
	}
	/* The watchdog's, or the pollers'. */
	CU_ASSERT_EQUAL(joins, w.by_workers ? 1 : POLLERS);
	gr_workers_free(&w);
}

/* ---- Tests -------------------------------------------------------------- */

static void threads(void)
{
	begin(false);
	end();
}

static void cannot_begin(bool by_workers, int threads_there)
{
	prepare(by_workers);
	threads_left = threads_there;
	CU_ASSERT_EQUAL(gr_workers_start(&w, inst, free_req, kind_of, flow_of,
					 by_workers),
			-EAGAIN);
	threads_left = -1;
	CU_ASSERT_EQUAL(joins, threads_there);
	CU_ASSERT_EQUAL(resumed, 0);
}

/* The second poller has no thread: the first one's ends. */
static void no_thread(void)
{
	cannot_begin(false, 1);
}

/* Nobody leads without one: a Call that blocks would hold up all others. */
static void no_watchdog(void)
{
	cannot_begin(true, 0);
}

/* The first look may have taken the wake-up of the end: no second one. */
static void ends_while_looking(void)
{
	begin(true);
	lead(stop);
	CU_ASSERT_EQUAL(runs, 1);
	CU_ASSERT_EQUAL(slept, 0);
	end();
}

/* The end comes when the watchdog has looked for it for the last time before it
 * sleeps. */
static void ends_while_falling_asleep(void)
{
	holds = true;
	begin(true);
	await_sleep();
	lead(stop);
	end();
	holds = false;
}

/* Without a Call it sleeps, until it is told of the end. */
static void sleeps(void)
{
	const struct timespec a_while = { .tv_nsec = 20000000 };

	begin(true);
	await_sleep();
	__real_nanosleep(&a_while, NULL);
	CU_ASSERT_EQUAL(atomic_load(&w.watchdog.state), GR_ASLEEP);
	CU_ASSERT_EQUAL(ticks, 0);
	CU_ASSERT_EQUAL(sets, 0);
	lead(stop);
	end();
	CU_ASSERT_EQUAL(sets, 1);
}

static void stop_at_second(unsigned int run)
{
	if (run)
		stop(run);
}

static void patience(void)
{
	static const struct {
		unsigned int processors, outstanding;
		int want;
	} t[] = {
		/* The client may want the only one. */
		{ 1, 0, RT_SLEEP },
		/* Nobody wants another. */
		{ 2, 0, -1 },
		{ 8, 0, -1 },
		/* There is one for each poller and each Call, or not. */
		{ 4, 1, -1 },
		{ 3, 1, RT_SLEEP },
		{ 2, 1, RT_SLEEP },
		{ 1, 1, RT_SLEEP },
		{ 5, 2, -1 },
		{ 4, 2, RT_SLEEP },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		begin(true);
		w.processors = t[i].processors;
		atomic_store(&w.outstanding, t[i].outstanding);
		lead(stop_at_second);
		CU_ASSERT_EQUAL(runs, 2);
		CU_ASSERT_EQUAL(slept, t[i].want);
		end();
	}
}

static void submit_one(unsigned int run)
{
	if (run)
		stop(run);
	else
		gr_workers_submit(&w, &calls[0]);
}

static void one(void)
{
	begin(true);
	lead(submit_one);
	CU_ASSERT_EQUAL(ran, 1);
	CU_ASSERT_EQUAL(queue_resumed, 0);
	CU_ASSERT_EQUAL(resumed, POLLERS);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), 0);
	end();
}

static void submit_two(unsigned int run)
{
	if (run) {
		stop(run);
		return;
	}
	gr_workers_submit(&w, &calls[0]);
	gr_workers_submit(&w, &calls[1]);
}

static void two(void)
{
	begin(true);
	lead(submit_two);
	CU_ASSERT_EQUAL(ran, 0);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), 2);
	/* One worker is woken; it runs both, and so wakes another for the last. */
	CU_ASSERT_EQUAL(queue_resumed, 1);
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, 2);
	CU_ASSERT_EQUAL(queue_resumed, 2);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), 0);
	/* Who was woken for the last finds nothing. */
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	end();
}

/* One Call comes as it begins to, one when it is about to go; then none. */
static int two_come(unsigned int time)
{
	CU_ASSERT_EQUAL(w.nstandby, 1);
	if (time == 1)
		return EINTR;
	if (time > 2)
		return ETIMEDOUT;
	gr_workers_enqueue(&w, &calls[ran], true);
	CU_ASSERT_EQUAL(queue_resumed, 1);
	return time ? ETIMEDOUT : 0;
}

/* Beside pollers on threads of their own a worker that has emptied the queue takes
 * what comes next, without having gone back. */
static void standing_by(void)
{
	begin(false);
	stands_by = two_come;
	stood_by = 0;
	gr_workers_enqueue(&w, &calls[0], true);
	CU_ASSERT_EQUAL(queue_resumed, 1);
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, 3);
	CU_ASSERT_EQUAL(stood_by, 4);
	CU_ASSERT_EQUAL(w.nstandby, 0);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), 0);
	/* It has gone: the next is told by ntirpc. */
	gr_workers_enqueue(&w, &calls[3], true);
	CU_ASSERT_EQUAL(queue_resumed, 2);
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, 4);
	end();
}

/* ---- How many run at once ------------------------------------------------ */

/* The watchdog sleeps until the end. */
static void begin_unwatched(unsigned int most)
{
	unset = true;
	begin(true);
	await_sleep();
	w.max_computing = most;
}

static void end_unwatched(void)
{
	unset = false;
	/* What this thread has done the watchdog sees after its tick. */
	pthread_mutex_lock(&w.watchdog.lock);
	pthread_mutex_unlock(&w.watchdog.lock);
	let_tick();
	lead(stop);
	end();
}

/* Others, each woken while the last one runs a Call. */
static unsigned int others, most_others;

static void another(void)
{
	if (queue_resumed < 2 + others)
		return;
	others++;
	if (others > most_others)
		most_others = others;
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
}

/* The first worker is woken, and whoever is woken while it runs. */
static void run_all(void)
{
	others = most_others = 0;
	meanwhile = another;
	for (unsigned int i = 0; i < CALLS; i++)
		gr_workers_enqueue(&w, &calls[i], true);
	CU_ASSERT_EQUAL(queue_resumed, 1);
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, CALLS);
	CU_ASSERT_EQUAL(w.computing, 0);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), 0);
}

static void computing(void)
{
	begin_unwatched(2);
	run_all();
	CU_ASSERT_EQUAL(most_others, 1);
	CU_ASSERT_FALSE(atomic_load(&w.backlog));
	/* The watchdog was told that one waits. */
	CU_ASSERT_EQUAL(atomic_load(&w.watchdog.state), GR_ARMED);
	end_unwatched();
}

static void blocking(void)
{
	begin_unwatched(2);
	gr_blocking_assume(&w.blocking, 0);
	run_all();
	CU_ASSERT_EQUAL(most_others, CALLS - 1);
	end_unwatched();
}

/* ---- Calls that a leader runs --------------------------------------------- */

/* A Call that comes alone cancels the timer that it has set. If others came shortly before,
 * the timer is set once until it expires, and then the watchdog sleeps again. */
static void short_calls(void)
{
	begin_unwatched(2);
	for (unsigned int i = 1; i < 4; i++) {
		lead(submit_one);
		CU_ASSERT_EQUAL(ran, 1);
		CU_ASSERT_EQUAL(sets, i < 2 ? i : 2);
		CU_ASSERT_EQUAL(cancels, 1);
		CU_ASSERT_EQUAL(atomic_load(&w.watchdog.state),
				i == 1 ? GR_ASLEEP : GR_ARMED);
		w.watchdog.set_at = base_now_ns() + 1000000000000;
		atomic_store(&w.stop, false);
		w.running++;
		runs = ran = 0;
	}
	let_tick();
	await_sleep();
	CU_ASSERT_EQUAL(ticks, 0);
	CU_ASSERT_EQUAL(atomic_load(&w.watchdog.state), GR_ASLEEP);
	end_unwatched();
}

/* Another leader's Call. */
static void *begin_other(void *arg)
{
	atomic_store(&w.poller[1].running, 7);
	gr_watchdog_wake(&w.watchdog);
	return arg;
}

static void begin_other_here(void)
{
	begin_other(NULL);
}

/* One Call, and when that has ended the other's leader is replaced. */
static void submit_beside_other(unsigned int run)
{
	if (!run) {
		submit_one(run);
		return;
	}
	while (atomic_load(&w.poller[1].running) != GR_REPLACED)
		sched_yield();
	await_sleep();
	CU_ASSERT_EQUAL(resumed, POLLERS + 1);
	stop(run);
}

/* The timer is needed for another Call that has begun before the end of this one ... */
static void others_timer(void)
{
	begin(true);
	await_sleep();
	meanwhile = begin_other_here;
	lead(submit_beside_other);
	CU_ASSERT_EQUAL(cancels, 0);
	CU_ASSERT_EQUAL(sets, 1);
	end();
}

/* ... or since. */
static void others_new_timer(void)
{
	begin(true);
	await_sleep();
	interrupts = true;
	lead(submit_beside_other);
	interrupts = false;
	CU_ASSERT_EQUAL(__real_pthread_join(interrupter, NULL), 0);
	CU_ASSERT_EQUAL(cancels, 1);
	CU_ASSERT_EQUAL(sets, 2);
	end();
}

static void await_replacement(void)
{
	while (atomic_load(&w.poller[0].running) != GR_REPLACED)
		sched_yield();
	/* The timer's, and two more. */
	CU_ASSERT_EQUAL(sets, 1);
	CU_ASSERT_EQUAL(ticks, 2);
}

/* The third tick with the same Call replaces the leader. */
static void long_call(void)
{
	begin(true);
	await_sleep();
	meanwhile = await_replacement;
	lead(submit_one);
	CU_ASSERT_EQUAL(ran, 1);
	CU_ASSERT_FALSE(atomic_load(&w.stop));
	await_sleep();
	CU_ASSERT_EQUAL(resumed, POLLERS + 1);
	lead(stop);
	end();
}

/* No Call is missed that begins when the watchdog falls asleep. */
static void misses_none(void)
{
	const uint64_t until = base_now_ns() + 30000000000;
	struct gr_poller *p;

	races = true;
	begin(true);
	p = &w.poller[0];
	for (uint64_t n = 1; n <= RACES; n++) {
		atomic_store(&p->running, n);
		gr_watchdog_wake(&w.watchdog);
		while (atomic_load(&p->running) != GR_REPLACED &&
		       base_now_ns() < until)
			;
		/* Try each moment. */
		for (unsigned int i = 0; i < n % 400; i++)
			atomic_load(&p->running);
	}
	lead(stop);
	end();
	races = false;
	CU_ASSERT_EQUAL(resumed, POLLERS + RACES);
}

/* ---- Short Calls that a leader runs ----------------------------------------- */

/* Whatever this machine has made of it so far. */
static void set_mean(unsigned int us)
{
	atomic_store(&w.blocking.kind[0].mean, us * 1000);
	atomic_store(&w.blocking.kind[0].slept, 0);
}

static void begin_short(void)
{
	begin_unwatched(2);
	w.processors = 2;
	set_mean(10);
}

static void submit_all(unsigned int run)
{
	if (run) {
		stop(run);
		return;
	}
	for (unsigned int i = 0; i < CALLS; i++)
		gr_workers_submit(&w, &calls[i]);
}

static void run_woken(void)
{
	while (w.waking)
		CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
}

/* The first leader has ended. */
static void end_short(void)
{
	run_woken();
	CU_ASSERT_EQUAL(ran, CALLS);
	CU_ASSERT_EQUAL(w.computing, 0);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), 0);
	CU_ASSERT_EQUAL(last_runs, 1);
	atomic_store(&w.stop, false);
	w.running++;
	end_unwatched();
}

/* The leader runs all. */
static void submit_till_done(unsigned int run)
{
	if (!run)
		submit_all(run);
	else if (ran == CALLS)
		stop(run);
}

/* The leader has run none, and woken one worker, as always. */
static void end_by_workers(void)
{
	CU_ASSERT_EQUAL(ran, 0);
	CU_ASSERT_EQUAL(queue_resumed, 1);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), CALLS);
	end_short();
}

static void before_next_run(void)
{
	CU_ASSERT_EQUAL(runs, promises);
	CU_ASSERT_EQUAL(w.computing, 0);
	CU_ASSERT_EQUAL(atomic_load(&w.poller[0].running), ran);
	CU_ASSERT_EQUAL(atomic_load(&w.outstanding), CALLS - ran);
	/* It may take any time. */
	set_mean(10);
}

/* They run one after the other, and then their Replies go. No worker is woken. */
static void short_ones(void)
{
	unsigned int together = 0;

	/* This thread may lose its processor for longer than Replies may wait. */
	for (unsigned int i = 0; i < 10 && !together; i++) {
		begin_short();
		meanwhile = before_next_run;
		lead(submit_till_done);
		CU_ASSERT_EQUAL(queue_resumed, 0);
		/* That which found the Calls, and that which sends the Replies. */
		together += runs == 2;
		end_short();
	}
	CU_ASSERT_EQUAL(together, 1);
}

static void take_long(void)
{
	const struct timespec longer = { .tv_nsec = 250000 };

	__real_nanosleep(&longer, NULL);
	set_mean(10);
}

static void submit_for_pauses(unsigned int run)
{
	CU_ASSERT_TRUE(ran >= run && ran <= 2 * run);
	submit_till_done(run);
}

/* Replies do not wait for long. */
static void pauses(void)
{
	begin_short();
	meanwhile = take_long;
	lead(submit_for_pauses);
	CU_ASSERT_EQUAL(queue_resumed, 0);
	end_short();
}

static void stop_now(void)
{
	set_mean(10);
	stop(0);
}

/* Replies are sent at the end, too, and workers run what is left. */
static void ends_among_them(void)
{
	begin_short();
	meanwhile = stop_now;
	lead(submit_all);
	CU_ASSERT_EQUAL(queue_resumed, ran < CALLS);
	end_short();
}

/* Workers run those of a kind that is long, that blocks or that has held up leaders, and
 * large ones. */
static void not_short(void)
{
	begin_short();
	set_mean(100);
	lead(submit_all);
	end_by_workers();

	begin_short();
	gr_blocking_assume(&w.blocking, 0);
	lead(submit_all);
	CU_ASSERT_EQUAL(ran, 0);
	meanwhile = another;
	others = most_others = 0;
	end_by_workers();

	begin_short();
	atomic_store(&w.watchdog.slow_until[0], base_now_ns() + 60000000000);
	lead(submit_all);
	end_by_workers();

	begin_short();
	costs[1] = 32769;
	lead(submit_all);
	end_by_workers();
}

/* If one leader is not enough, it leads on: the sooner, the more processors there are. */
static void many(void)
{
	begin_short();
	set_mean(90);
	lead(submit_all);
	end_by_workers();

	begin_short();
	w.processors = 64;
	set_mean(17);
	lead(submit_all);
	end_by_workers();

	begin_short();
	w.processors = 64;
	meanwhile = before_next_run;
	lead(submit_till_done);
	CU_ASSERT_EQUAL(queue_resumed, 0);
	end_short();
}

/* Nor does it take Calls from workers that are running some. */
static void beside_workers(void)
{
	begin_short();
	w.computing = 1;
	lead(submit_all);
	w.computing = 0;
	end_by_workers();
}

/* Another is among them, for which a worker is woken: workers run all. */
static void one_long(void)
{
	begin_short();
	kinds[2] = 1;
	lead(submit_all);
	end_by_workers();
}

/* Hosts take turns for the leader, too. */
static void leader_is_fair(void)
{
	static const unsigned int expected[CALLS] = { 5, 0, 1, 2, 3, 4 };

	begin_short();
	second = 5;
	costs[0] = costs[1] = 1000;
	order = expected;
	meanwhile = before_next_run;
	lead(submit_till_done);
	CU_ASSERT_EQUAL(queue_resumed, 0);
	end_short();
}

/* While the first hangs, the leader is replaced, and a worker is woken for the others. */
static void hang_among_them(void)
{
	if (ran > 1)
		return;
	while (sem_wait(&leader_resumed))
		;
	CU_ASSERT_EQUAL(atomic_load(&w.poller[0].running), GR_REPLACED);
	CU_ASSERT_EQUAL(queue_resumed, 1);
	run_woken();
	CU_ASSERT_EQUAL(ran, CALLS);
	/* The next ones are for workers, unless all that it lacked was a processor. */
	CU_ASSERT_EQUAL(gr_workers_is_short(&w, &calls[0]),
			!atomic_load(&w.watchdog.long_at[0]));
}

static void short_one_hangs(void)
{
	begin(true);
	await_sleep();
	w.max_computing = 2;
	w.processors = 2;
	set_mean(10);
	sem_init(&leader_resumed, 0, 0);
	meanwhile = hang_among_them;
	lead(submit_all);
	CU_ASSERT_EQUAL(ran, CALLS);
	CU_ASSERT_EQUAL(resumed, POLLERS + 1);
	CU_ASSERT_EQUAL(w.computing, 0);
	CU_ASSERT_FALSE(atomic_load(&w.stop));
	await_sleep();
	lead(stop);
	end();
}

/* ---- Hosts ---------------------------------------------------------------- */

/* All Calls wait, those of the first host before those of the second, and one worker
 * runs them. */
static void run_hosts(unsigned int from, size_t one, size_t other,
		      const unsigned int *expected)
{
	begin_unwatched(1);
	second = from;
	costs[0] = one;
	costs[1] = other;
	order = expected;
	for (unsigned int i = 0; i < CALLS; i++)
		gr_workers_enqueue(&w, &calls[i], true);
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, CALLS);
	CU_ASSERT_TRUE(gr_fair_queue_empty(&w.queue));
	end_unwatched();
}

static void turns(void)
{
	const size_t q = GR_FAIR_QUANTUM;

	/* One that asks for little is not behind what another has waiting. */
	run_hosts(5, q, 1, (unsigned int[]){ 5, 0, 1, 2, 3, 4 });
	/* Who has had its share is. */
	run_hosts(3, q, q, (unsigned int[]){ 3, 0, 4, 1, 5, 2 });
	run_hosts(3, q, q / 2, (unsigned int[]){ 3, 4, 0, 5, 1, 2 });
	/* By octets, not by Calls; what is large counts for the turns that it has taken
	 * from others, but not for any number of them. */
	run_hosts(4, q, 2 * q, (unsigned int[]){ 4, 0, 1, 5, 2, 3 });
	run_hosts(4, q, SIZE_MAX, (unsigned int[]){ 4, 0, 1, 2, 3, 5 });
	run_hosts(1, SIZE_MAX, q, (unsigned int[]){ 1, 0, 2, 3, 4, 5 });
}

/* What a host has had counts when it has had nothing to ask for meanwhile. */
static void comes_back(void)
{
	static const unsigned int expected[CALLS] = { 4, 0, 1, 5, 2, 3 };

	begin_unwatched(1);
	second = 4;
	costs[0] = GR_FAIR_QUANTUM / 2;
	costs[1] = GR_FAIR_QUANTUM;
	order = expected;
	gr_workers_enqueue(&w, &calls[4], true);
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	for (unsigned int i = 0; i < CALLS; i++)
		if (i != 4)
			gr_workers_enqueue(&w, &calls[i], true);
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, CALLS);
	end_unwatched();
}

static void find_one(unsigned int run)
{
	if (run)
		stop(run);
	else
		gr_workers_submit(&w, &calls[1]);
}

static void lead_meanwhile(void)
{
	meanwhile = NULL;
	for (unsigned int i = 2; i < CALLS; i++)
		gr_workers_enqueue(&w, &calls[i], true);
	CU_ASSERT_TRUE(atomic_load(&w.backlog));
	lead(find_one);
	CU_ASSERT_EQUAL(ran, 1);
	atomic_store(&w.stop, false);
}

/* A leader that finds one Call does not run it before those that wait for a worker. */
static void no_overtaking(void)
{
	static const unsigned int expected[CALLS] = { 0, 2, 3, 4, 5, 1 };

	begin_unwatched(1);
	order = expected;
	gr_workers_enqueue(&w, &calls[0], true);
	meanwhile = lead_meanwhile;
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, CALLS);
	w.running++;
	end_unwatched();
}

/* A former leader comes upon the queue while as many run as may. */
static void one_too_many(void)
{
	unsigned int before = ran;

	gr_workers_drain(&w);
	CU_ASSERT_EQUAL(ran, before);
	CU_ASSERT_TRUE(ran == CALLS || atomic_load(&w.backlog));
}

static void no_room(void)
{
	begin_unwatched(1);
	for (unsigned int i = 0; i < CALLS; i++)
		gr_workers_enqueue(&w, &calls[i], true);
	meanwhile = one_too_many;
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, CALLS);
	CU_ASSERT_EQUAL(queue_resumed, 1);
	end_unwatched();
}

/* While the first one hangs the watchdog looks. */
static unsigned int looks;

static void hang(void)
{
	if (ran > 1)
		return;
	CU_ASSERT_EQUAL(w.computing, 1);
	for (looks = 0; queue_resumed == 1 && looks < 100; looks++)
		gr_workers_tick(&w);
	CU_ASSERT_EQUAL(w.computing, 0);
	CU_ASSERT_TRUE(gr_blocking_is(&w.blocking, 0));
	/* Who is woken runs all the others meanwhile. */
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, CALLS);
	CU_ASSERT_FALSE(atomic_load(&w.backlog));
}

static void hanging(void)
{
	begin_unwatched(1);
	for (unsigned int i = 0; i < CALLS; i++)
		gr_workers_enqueue(&w, &calls[i], true);
	meanwhile = hang;
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	/* At the first look it sees a Call that has just been taken. */
	CU_ASSERT_EQUAL(looks, 11);
	CU_ASSERT_EQUAL(ran, CALLS);
	/* It does not count twice. */
	CU_ASSERT_EQUAL(w.computing, 0);
	/* Who was woken for the last finds nothing. */
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	end_unwatched();
}

static void await_discount(void)
{
	meanwhile = NULL;
	while (!gr_blocking_is(&w.blocking, 0))
		sched_yield();
	/* After the timer's, which may see a Call that has just been taken. */
	CU_ASSERT_TRUE(ticks >= 9);
	CU_ASSERT_EQUAL(sets, 1);
}

/* The watchdog looks while Calls wait, though no leader runs one. */
static void hang_is_seen(void)
{
	begin(true);
	await_sleep();
	w.max_computing = 1;
	for (unsigned int i = 0; i < CALLS; i++)
		gr_workers_enqueue(&w, &calls[i], true);
	meanwhile = await_discount;
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	CU_ASSERT_EQUAL(ran, CALLS);
	/* Who was woken meanwhile finds nothing. */
	CU_ASSERT_EQUAL(w.token.rq_resume_cb(&w.token), XPRT_SUSPEND);
	await_sleep();
	lead(stop);
	end();
}

/* Something is taken between two looks: nothing hangs. */
static void slow_but_going(void)
{
	begin_unwatched(1);
	for (unsigned int i = 0; i < 10; i++) {
		atomic_store(&w.backlog, true);
		atomic_fetch_add(&w.dequeued, i % 3 == 0);
		gr_workers_tick(&w);
	}
	CU_ASSERT_EQUAL(w.era, 0);
	atomic_store(&w.backlog, false);
	end_unwatched();
}

static const struct unit_test tests[] = {
	{ "threads", threads },
	{ "no thread", no_thread },
	{ "no watchdog", no_watchdog },
	{ "ends while it looks", ends_while_looking },
	{ "ends while it falls asleep", ends_while_falling_asleep },
	{ "sleeps", sleeps },
	{ "patience", patience },
	{ "one", one },
	{ "two", two },
	{ "standing by", standing_by },
	{ "computing", computing },
	{ "blocking", blocking },
	{ "short Calls", short_calls },
	{ "the timer of another's Call", others_timer },
	{ "a new timer for another's Call", others_new_timer },
	{ "a long Call", long_call },
	{ "misses no Call", misses_none },
	{ "short ones together", short_ones },
	{ "pauses", pauses },
	{ "ends among short ones", ends_among_them },
	{ "not short", not_short },
	{ "many short ones", many },
	{ "short ones beside workers", beside_workers },
	{ "one long among short ones", one_long },
	{ "a leader lets hosts take turns", leader_is_fair },
	{ "a short one hangs", short_one_hangs },
	{ "hosts take turns", turns },
	{ "a host comes back", comes_back },
	{ "a leader overtakes nobody", no_overtaking },
	{ "no room", no_room },
	{ "hanging", hanging },
	{ "a hang is seen", hang_is_seen },
	{ "slow but going", slow_but_going },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-leader", tests)
