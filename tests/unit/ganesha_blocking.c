/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which Calls block: those of a kind of which many slept for long. Time passes when a
 * test lets it, and a thread sleeps when a test says so.
 */
#include <sys/resource.h>

#include "ganesha/serve/blocking.h"
#include "test_clock.h"
#include "unit.h"

#define KIND 3

static struct gr_blocking l;

/* ---- The C library ------------------------------------------------------ */

static long switches;
static unsigned int asked;
int __wrap_getrusage(int who, struct rusage *usage);

int __wrap_getrusage(int who, struct rusage *usage)
{
	CU_ASSERT_EQUAL(who, RUSAGE_THREAD);
	asked++;
	memset(usage, 0, sizeof(*usage));
	usage->ru_nvcsw = switches;
	/* A processor that was lost is nobody's sleep. */
	usage->ru_nivcsw = asked;
	return 0;
}

/* ---- Calls -------------------------------------------------------------- */

static void begin(void)
{
	test_clock_hold();
	gr_blocking_init(&l);
	switches = asked = 0;
}

static void call(unsigned int kind, unsigned int ms, bool sleeps)
{
	struct gr_sample look;

	test_clock_pass(1);
	gr_blocking_begin(&l, kind, false, &look);
	test_clock_pass(ms);
	switches += sleeps;
	gr_blocking_end(&l, kind, &look);
}

static void calls(unsigned int n, unsigned int ms, bool sleeps)
{
	while (n--)
		call(KIND, ms, sleeps);
}

/* Small ones. */
static void small(unsigned int n, unsigned int us)
{
	struct gr_sample look;

	while (n--) {
		gr_blocking_begin(&l, KIND, true, &look);
		test_clock_pass_us(us);
		gr_blocking_end(&l, KIND, &look);
	}
}

/* ---- Tests -------------------------------------------------------------- */

static void quick(void)
{
	begin();
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	calls(100, 0, false);
	/* It waits for a lock now and then, but not for long. */
	calls(100, 0, true);
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	test_clock_release();
}

static void long_but_awake(void)
{
	begin();
	calls(100, 5, false);
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	test_clock_release();
}

static void sleeps(void)
{
	begin();
	calls(4, 1, true);
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	calls(1, 1, true);
	CU_ASSERT_TRUE(gr_blocking_is(&l, KIND));
	/* Others do not. */
	for (unsigned int i = 0; i < GR_KINDS; i++)
		CU_ASSERT_EQUAL(gr_blocking_is(&l, i), i == KIND);
	test_clock_pass(249);
	CU_ASSERT_TRUE(gr_blocking_is(&l, KIND));
	/* Then it is seen anew: what was before does not count. */
	test_clock_pass(1);
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	calls(4, 1, true);
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	calls(1, 1, true);
	CU_ASSERT_TRUE(gr_blocking_is(&l, KIND));
	test_clock_release();
}

/* One in four does not make them block, one in three does. */
static void some(void)
{
	begin();
	for (unsigned int i = 0; i < 100; i++)
		call(KIND, 1, i % 4 == 0);
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	for (unsigned int i = 0; i < 18; i++)
		call(KIND, 1, i % 3 == 0);
	CU_ASSERT_TRUE(gr_blocking_is(&l, KIND));
	test_clock_release();
}

/* No more than one in a millisecond is looked at, of each kind. */
static void seldom(void)
{
	struct gr_sample look;

	begin();
	test_clock_pass(1);
	for (unsigned int i = 0; i < 50; i++) {
		gr_blocking_begin(&l, KIND, false, &look);
		CU_ASSERT_EQUAL(look.sampled, i == 0);
		gr_blocking_end(&l, KIND, &look);
	}
	CU_ASSERT_EQUAL(asked, 1);
	gr_blocking_begin(&l, KIND + 1, false, &look);
	CU_ASSERT_TRUE(look.sampled);
	test_clock_release();
}

static void stuck(void)
{
	begin();
	gr_blocking_assume(&l, KIND);
	CU_ASSERT_TRUE(gr_blocking_is(&l, KIND));
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND - 1));
	/* What is seen meanwhile is of workers without a limit. */
	calls(20, 1, true);
	test_clock_pass(250 - 20 * 2);
	CU_ASSERT_FALSE(gr_blocking_is(&l, KIND));
	test_clock_release();
}

/* The mean is of small Calls. Some that take very long do not hide in it, nor does it take for
 * ever to forget them. */
static void mean(void)
{
	begin();
	CU_ASSERT_EQUAL(gr_blocking_mean(&l, KIND), 0);
	call(KIND, 5, false);
	CU_ASSERT_EQUAL(gr_blocking_mean(&l, KIND), 0);
	small(10, 20);
	CU_ASSERT_EQUAL(gr_blocking_mean(&l, KIND), 20000);
	CU_ASSERT_EQUAL(gr_blocking_mean(&l, KIND + 1), 0);
	small(1, 1000000);
	CU_ASSERT_TRUE(gr_blocking_mean(&l, KIND) < GR_SHORT_NS);
	small(1, 1000000);
	CU_ASSERT_TRUE(gr_blocking_mean(&l, KIND) >= GR_SHORT_NS);
	small(8, 20);
	CU_ASSERT_TRUE(gr_blocking_mean(&l, KIND) < GR_SHORT_NS);
	small(100, 20);
	CU_ASSERT_TRUE(gr_blocking_mean(&l, KIND) < 21000);
	gr_blocking_note_long(&l, KIND);
	CU_ASSERT_TRUE(gr_blocking_mean(&l, KIND) >= GR_SHORT_NS);
	small(16, 20);
	CU_ASSERT_TRUE(gr_blocking_mean(&l, KIND) < GR_SHORT_NS);
	test_clock_release();
}

static const struct unit_test tests[] = {
	{ "quick", quick },   { "long but awake", long_but_awake },
	{ "sleeps", sleeps }, { "some", some },
	{ "seldom", seldom }, { "stuck", stuck },
	{ "mean", mean },     { NULL, NULL },
};

UNIT_MAIN("ganesha-blocking", tests)
