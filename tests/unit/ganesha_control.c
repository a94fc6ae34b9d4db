/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread: its jobs run by one thread of its own, one at a time, without the
 * signals of the process; who asks waits for the end of the job. Stopped, it has
 * no thread, and can be started again. What it does every now and then it also does when asked to.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "ganesha/serve/control.h"
#include "unit.h"

struct seen {
	unsigned int jobs;
	pthread_t thread;
	bool blocked;
	char name[16];
};

static void look(void *arg)
{
	struct seen *s = arg;
	sigset_t set;

	/* The caller would be back by then if it did not wait. */
	usleep(20000);
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	s->blocked = sigismember(&set, SIGTERM) == 1 &&
		     sigismember(&set, SIGHUP) == 1 &&
		     sigismember(&set, SIGUSR1) == 1;
	pthread_getname_np(pthread_self(), s->name, sizeof(s->name));
	s->thread = pthread_self();
	s->jobs++;
}

static unsigned int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned int n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* One that has been joined is seen for a moment more. */
static unsigned int threads_but(unsigned int most)
{
	unsigned int n = threads();

	for (int i = 0; i < 10000 && n > most; i++) {
		usleep(1000);
		n = threads();
	}
	return n;
}

static void jobs(void)
{
	struct gr_control k = { 0 };
	struct seen s = { 0 };
	unsigned int before;
	pthread_t first;
	sigset_t mask;

	/* With the first thread of all, ThreadSanitizer starts one of its own. */
	CU_ASSERT_EQUAL_FATAL(gr_control_start(&k), 0);
	gr_control_stop(&k);
	usleep(100000);
	before = threads();
	for (unsigned int again = 0; again < 2; again++) {
		CU_ASSERT_EQUAL_FATAL(gr_control_start(&k), 0);
		CU_ASSERT_TRUE(k.running);
		CU_ASSERT_EQUAL(threads_but(before + 1), before + 1);
		/* Our own signals are as they were. */
		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		CU_ASSERT_EQUAL(sigismember(&mask, SIGTERM), 0);
		gr_control_do(&k, look, &s);
		CU_ASSERT_EQUAL_FATAL(s.jobs, 1);
		CU_ASSERT_TRUE(s.blocked);
		CU_ASSERT_STRING_EQUAL(s.name, "rdma-control");
		CU_ASSERT_FALSE(pthread_equal(s.thread, pthread_self()));
		first = s.thread;
		gr_control_do(&k, look, &s);
		CU_ASSERT_EQUAL(s.jobs, 2);
		CU_ASSERT_TRUE(pthread_equal(s.thread, first));
		gr_control_stop(&k);
		CU_ASSERT_FALSE(k.running);
		CU_ASSERT_EQUAL(threads_but(before), before);
		/* Nothing is left to stop. */
		gr_control_stop(&k);
		s.jobs = 0;
	}
}

/* A job that is asked for at once, before the thread has begun to wait, is done. */
static void at_once(void)
{
	struct gr_control k = { 0 };
	struct seen s = { 0 };

	for (unsigned int i = 1; i <= 20; i++) {
		CU_ASSERT_EQUAL_FATAL(gr_control_start(&k), 0);
		gr_control_do(&k, look, &s);
		gr_control_stop(&k);
		CU_ASSERT_EQUAL(s.jobs, i);
	}
}

/* What it does every now and then: by the same thread, beside jobs and not during one, until
 * it is told not to. A job does not wait for the next time. */
struct looks {
	struct gr_control *k;
	atomic_uint n;
	unsigned int most;
	pthread_t thread;
};

static void look_again(void *arg)
{
	struct looks *l = arg;

	l->thread = pthread_self();
	if (atomic_fetch_add(&l->n, 1) + 1 == l->most)
		gr_control_every(l->k, 0, NULL, NULL);
}

static void begin_looking(void *arg)
{
	struct looks *l = arg;

	gr_control_every(l->k, 1, look_again, l);
}

static void look_late(void *arg)
{
	struct looks *l = arg;

	gr_control_every(l->k, 3600000, look_again, l);
}

static void every(void)
{
	struct gr_control k = { 0 };
	struct looks l = { .k = &k, .most = 5 };
	struct seen s = { 0 };

	CU_ASSERT_EQUAL_FATAL(gr_control_start(&k), 0);
	gr_control_do(&k, begin_looking, &l);
	for (int i = 0; i < 10000 && atomic_load(&l.n) < l.most; i++)
		usleep(1000);
	CU_ASSERT_EQUAL(atomic_load(&l.n), l.most);
	/* Meanwhile it would have been called more often. */
	gr_control_do(&k, look, &s);
	CU_ASSERT_EQUAL(atomic_load(&l.n), l.most);
	CU_ASSERT_TRUE(pthread_equal(s.thread, l.thread));
	gr_control_do(&k, look_late, &l);
	usleep(50000);
	gr_control_do(&k, look, &s);
	CU_ASSERT_EQUAL(s.jobs, 2);
	CU_ASSERT_EQUAL(atomic_load(&l.n), l.most);
	gr_control_stop(&k);
	/* Nothing of it is left. */
	CU_ASSERT_EQUAL_FATAL(gr_control_start(&k), 0);
	CU_ASSERT_PTR_NULL(k.tick);
	gr_control_stop(&k);
}

static void look_when_asked(void *arg)
{
	struct looks *l = arg;

	gr_control_every(l->k, 0, look_again, l);
}

static void await_looks(struct looks *l, unsigned int n)
{
	for (int i = 0; i < 10000 && atomic_load(&l->n) < n; i++)
		usleep(1000);
	CU_ASSERT_EQUAL(atomic_load(&l->n), n);
}

/* Once for each time it is asked, or for several, and never by itself. */
static void asked(void)
{
	struct gr_control k = { 0 };
	struct looks l = { .k = &k, .most = 4 };
	struct seen s = { 0 };

	CU_ASSERT_EQUAL_FATAL(gr_control_start(&k), 0);
	/* There is nothing to do yet; it is not forgotten. */
	gr_control_ask(&k);
	gr_control_do(&k, look, &s);
	CU_ASSERT_EQUAL(atomic_load(&l.n), 0);
	gr_control_do(&k, look_when_asked, &l);
	await_looks(&l, 1);
	CU_ASSERT_FALSE(pthread_equal(l.thread, pthread_self()));
	usleep(50000);
	CU_ASSERT_EQUAL(atomic_load(&l.n), 1);
	gr_control_ask(&k);
	await_looks(&l, 2);
	/* Before the next time by itself. */
	gr_control_do(&k, look_late, &l);
	gr_control_ask(&k);
	await_looks(&l, 3);
	/* The fourth one is the last. */
	gr_control_ask(&k);
	await_looks(&l, 4);
	gr_control_ask(&k);
	gr_control_do(&k, look, &s);
	CU_ASSERT_EQUAL(atomic_load(&l.n), 4);
	gr_control_stop(&k);
}

static const struct unit_test tests[] = {
	{ "jobs", jobs },   { "at once", at_once }, { "every", every },
	{ "asked", asked }, { NULL, NULL },
};

UNIT_MAIN("ganesha-control", tests)
