/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A poller's timers: order, moving and stopping them, also while they fire;
 * fairness; when the poller is woken; several threads.
 */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "base/timers.h"
#include "test_clock.h"
#include "unit.h"

#define MANY 5000

struct entry {
	struct base_timer t;
	unsigned int fired, what;
	uint64_t due, when; /* as armed; when it fired */
	/* What its function does. */
	struct entry *stop, *move;
	uint64_t again; /* arm it so much later, or, MANY, for long ago */
};

static struct base_timers ts;
static unsigned int wakes;
static uint64_t last; /* due of the one that fired last */
static bool disorder;
static struct entry e[MANY];

static void wake(void *ctx)
{
	CU_ASSERT_PTR_EQUAL(ctx, e);
	wakes++;
}

static void set(struct entry *x, uint64_t at)
{
	x->due = at;
	base_timer_set(&ts, &x->t, at, 7);
}

static void fire(struct base_timer *t, unsigned int what)
{
	struct entry *x =
		(struct entry *)((char *)t - offsetof(struct entry, t));

	CU_ASSERT_EQUAL(base_timer_at(t), 0);
	x->fired++;
	x->what = what;
	x->when = base_now_ms();
	disorder |= x->due < last;
	last = x->due;
	if (x->stop)
		CU_ASSERT_TRUE(base_timer_stop(&ts, &x->stop->t));
	if (x->move)
		set(x->move, base_now_ms() + 1000);
	if (x->again)
		base_timer_set(&ts, t,
			       x->again == MANY ? 1 : base_now_ms() + x->again,
			       7);
}

static void begin(void)
{
	test_clock_hold();
	memset(e, 0, sizeof(e));
	wakes = 0;
	last = 0;
	disorder = false;
	base_timers_init(&ts, wake, (struct fab_poller *)e);
	for (unsigned int i = 0; i < MANY; i++)
		base_timer_init(&e[i].t, fire);
}

static void end(void)
{
	CU_ASSERT_FALSE(disorder);
	for (unsigned int i = 0; i < MANY; i++)
		base_timer_stop(&ts, &e[i].t);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), -1);
	base_timers_fini(&ts);
	test_clock_release();
}

/* Some order that repeats: a linear congruence. */
static uint64_t some(unsigned int i)
{
	return (uint64_t)i * 7919 % MANY;
}

/* Turns until nothing is due. How many fired. */
static unsigned int run(void)
{
	unsigned int all = 0;
	int n;

	while ((n = base_timers_run(&ts))) {
		CU_ASSERT_TRUE(n <= BASE_TURN);
		all += (unsigned int)n;
	}
	return all;
}

static void order(void)
{
	uint64_t now;

	begin();
	now = base_now_ms();
	CU_ASSERT_EQUAL(base_timers_run(&ts), 0);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), -1);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, 30), 30);
	for (unsigned int i = 0; i < MANY; i++)
		set(&e[i], now + 1 + some(i));
	CU_ASSERT_EQUAL(run(), 0);
	for (unsigned int ms = 1; ms <= MANY; ms++) {
		test_clock_pass(1);
		CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), 0);
		CU_ASSERT_EQUAL(run(), 1);
		if (ms < MANY)
			CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), 1);
	}
	for (unsigned int i = 0; i < MANY; i++)
		if (e[i].fired != 1 || e[i].when != e[i].due || e[i].what != 7)
			CU_FAIL("fired at another time");
	/* All at once, in turns. */
	for (unsigned int i = 0; i < MANY; i++)
		set(&e[i], now + 10000 + some(i));
	test_clock_pass(100000);
	last = 0;
	CU_ASSERT_EQUAL(base_timers_run(&ts), BASE_TURN);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), 0);
	CU_ASSERT_EQUAL(run(), MANY - BASE_TURN);
	end();
}

/* Later, earlier, away, in any order. */
static void moves(void)
{
	unsigned int stopped = 0;
	uint64_t now;

	begin();
	now = base_now_ms();
	for (unsigned int i = 0; i < MANY; i++)
		CU_ASSERT_TRUE(
			base_timer_set(&ts, &e[i].t, now + some(i) + 1, 1));
	/* So that it is more than a list. */
	test_clock_pass(100);
	run();
	last = 0;
	for (unsigned int i = 0; i < MANY; i++) {
		bool armed = base_timer_at(&e[i].t) != 0;

		CU_ASSERT_EQUAL(armed, !e[i].fired);
		if (i % 3 == 0) {
			CU_ASSERT_EQUAL(base_timer_stop(&ts, &e[i].t), armed);
			CU_ASSERT_FALSE(base_timer_stop(&ts, &e[i].t));
			stopped++;
		} else {
			e[i].due = now + 200 + some(MANY - i);
			CU_ASSERT_EQUAL(base_timer_set(&ts, &e[i].t, e[i].due,
						       2),
					!armed);
			CU_ASSERT_EQUAL(base_timer_at(&e[i].t), e[i].due);
		}
		e[i].fired = 0;
	}
	test_clock_pass(2 * MANY);
	CU_ASSERT_EQUAL(run(), MANY - stopped);
	for (unsigned int i = 0; i < MANY; i++)
		if (e[i].fired != (i % 3 != 0) || (i % 3 && e[i].what != 2))
			CU_FAIL("not as it was armed last");
	end();
}

/* By the function of one that fires. */
static void within(void)
{
	uint64_t now;

	begin();
	now = base_now_ms();
	for (unsigned int i = 0; i < 10; i++)
		set(&e[i], now + 1 + i);
	e[0].stop = &e[1];
	e[2].move = &e[3]; /* later */
	e[4].again = 5;
	set(&e[10], now + 2000);
	e[5].stop = &e[10];
	test_clock_pass(100);
	CU_ASSERT_EQUAL(run(), 8);
	CU_ASSERT_EQUAL(e[1].fired + e[3].fired + e[10].fired, 0);
	CU_ASSERT_EQUAL(e[4].fired, 1);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), 5);
	e[4].again = 0;
	test_clock_pass(5);
	last = 0;
	CU_ASSERT_EQUAL(run(), 1);
	CU_ASSERT_EQUAL(e[4].fired, 2);
	test_clock_pass(1000);
	CU_ASSERT_EQUAL(run(), 1);
	CU_ASSERT_EQUAL(e[3].fired, 1);
	end();
}

/* Hundreds that are always overdue, since each arms itself at once, and for
 * long ago; one that is due once. */
static void fair(void)
{
	uint64_t now;
	unsigned int turns = 0;

	begin();
	now = base_now_ms();
	for (unsigned int i = 0; i < 300; i++) {
		set(&e[i], now);
		e[i].again = i % 2 ? MANY : 1;
	}
	set(&e[300], now + 3);
	while (!e[300].fired && turns++ < 100) {
		test_clock_pass(1);
		CU_ASSERT_TRUE(base_timers_run(&ts) <= BASE_TURN);
	}
	CU_ASSERT_EQUAL(e[300].fired, 1);
	/* Nor does one of them go twice before all others have gone once. */
	for (unsigned int i = 0; i < 300; i++)
		if (e[i].fired > 5 || !e[i].fired)
			CU_FAIL("some are before others");
	disorder = false;
	end();
}

/* Only what is earlier than the poller sleeps, and once. */
static void woken(void)
{
	uint64_t now;

	begin();
	now = base_now_ms();
	set(&e[0], now + 500);
	CU_ASSERT_EQUAL(wakes, 0);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), 500);
	set(&e[1], now + 600);
	set(&e[1], now + 500);
	CU_ASSERT_EQUAL(wakes, 0);
	set(&e[2], now + 100);
	CU_ASSERT_EQUAL(wakes, 1);
	set(&e[3], now + 200);
	CU_ASSERT_EQUAL(wakes, 1);
	CU_ASSERT_EQUAL(base_timers_run(&ts), 0);
	set(&e[3], now + 10);
	CU_ASSERT_EQUAL(wakes, 1);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, 5), 5);
	set(&e[4], now + 6);
	CU_ASSERT_EQUAL(wakes, 1);
	set(&e[4], now + 1);
	CU_ASSERT_EQUAL(wakes, 2);
	test_clock_pass(1);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), 0);
	set(&e[5], now + 1);
	CU_ASSERT_EQUAL(wakes, 2);
	last = 0;
	CU_ASSERT_EQUAL(run(), 2);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, 0), 0);
	base_timer_set(&ts, &e[6].t, UINT64_MAX - 1, 0);
	for (unsigned int i = 0; i < 6; i++)
		base_timer_stop(&ts, &e[i].t);
	CU_ASSERT_EQUAL(base_timers_wait(&ts, -1), INT32_MAX);
	end();
}

/* ---- Threads ----------------------------------------------------------- */

#define ROUNDS 20000
#define COUNTED 64

/* One that holds a reference while it is armed, as a connection does. */
struct counted {
	struct base_timer t;
	atomic_long refs;
	atomic_uint fired;
};

static struct counted counted[COUNTED];
static atomic_bool over;
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_cond = PTHREAD_COND_INITIALIZER;
static bool roused;

static void rouse(void *ctx)
{
	pthread_mutex_lock(&sleep_lock);
	roused = true;
	pthread_cond_signal(&sleep_cond);
	pthread_mutex_unlock(&sleep_lock);
}

static void fire_counted(struct base_timer *t, unsigned int what)
{
	struct counted *c =
		(struct counted *)((char *)t - offsetof(struct counted, t));

	atomic_fetch_add(&c->fired, 1);
	atomic_fetch_sub(&c->refs, 1);
}

static void *runner(void *arg)
{
	while (!atomic_load(&over)) {
		int ms;

		pthread_mutex_lock(&sleep_lock);
		ms = base_timers_wait(&ts, -1);
		/* If one that is earlier did not wake it, for ever. */
		while (ms && !roused)
			pthread_cond_wait(&sleep_cond, &sleep_lock);
		roused = false;
		pthread_mutex_unlock(&sleep_lock);
		base_timers_run(&ts);
	}
	return NULL;
}

/* Half of them each. */
static void *armer(void *arg)
{
	unsigned int first = *(unsigned int *)arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct counted *c = &counted[first + i % (COUNTED / 2)];

		if (i % 7 == 3) {
			if (base_timer_stop(&ts, &c->t))
				atomic_fetch_sub(&c->refs, 1);
			continue;
		}
		atomic_fetch_add(&c->refs, 1);
		if (!base_timer_set(&ts, &c->t,
				    i % 5 ? 1 : base_now_ms() + 3600000, 0))
			atomic_fetch_sub(&c->refs, 1);
	}
	return NULL;
}

static void threads(void)
{
	unsigned int half[2] = { 0, COUNTED / 2 };
	pthread_t run_thread, arm_thread[2];

	base_timers_init(&ts, rouse, NULL);
	for (unsigned int i = 0; i < COUNTED; i++)
		base_timer_init(&counted[i].t, fire_counted);
	atomic_store(&over, false);
	pthread_create(&run_thread, NULL, runner, NULL);
	for (unsigned int i = 0; i < 2; i++)
		pthread_create(&arm_thread[i], NULL, armer, &half[i]);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(arm_thread[i], NULL);
	/* It may not have had a processor until now. */
	atomic_fetch_add(&counted[0].refs, 1);
	if (!base_timer_set(&ts, &counted[0].t, 1, 0))
		atomic_fetch_sub(&counted[0].refs, 1);
	while (!atomic_load(&counted[0].fired)) {
		rouse(NULL);
		usleep(1000);
	}
	atomic_store(&over, true);
	rouse(NULL);
	pthread_join(run_thread, NULL);
	for (unsigned int i = 0; i < COUNTED; i++) {
		if (base_timer_stop(&ts, &counted[i].t))
			atomic_fetch_sub(&counted[i].refs, 1);
		CU_ASSERT_EQUAL(counted[i].refs, 0);
	}
	base_timers_fini(&ts);
}

static const struct unit_test tests[] = {
	{ "order", order }, { "moves", moves }, { "within", within },
	{ "fair", fair },   { "woken", woken }, { "threads", threads },
	{ NULL, NULL },
};

UNIT_MAIN("timers", tests)
