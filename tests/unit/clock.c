/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two clocks say the same. Deadlines: never with a second in the nanoseconds,
 * which no wait takes.
 */
#include "base/clock.h"
#include "test_clock.h"
#include "unit.h"

static void deadlines(void)
{
	/* The clock stands at a whole second. */
	static const struct {
		unsigned int past, ms;
		time_t sec;
		long nsec;
	} t[] = {
		{ 0, 0, 0, 0 },
		{ 0, 999, 0, 999000000 },
		{ 0, 1000, 1, 0 },
		{ 0, 2001, 2, 1000000 },
		{ 800, 199, 0, 999000000 },
		{ 0, 200, 1, 0 },
		{ 0, 201, 1, 1000000 },
		{ 0, 4200, 5, 0 },
	};
	struct timespec start, at;

	test_clock_hold();
	clock_gettime(CLOCK_MONOTONIC, &start);
	CU_ASSERT_EQUAL(start.tv_nsec, 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		test_clock_pass(t[i].past);
		base_deadline(&at, t[i].ms);
		CU_ASSERT_EQUAL(at.tv_sec - start.tv_sec, t[i].sec);
		CU_ASSERT_EQUAL(at.tv_nsec, t[i].nsec);
	}
	test_clock_release();
}

static void clocks(void)
{
	uint64_t ns, ms;

	test_clock_hold();
	ns = base_now_ns();
	ms = base_now_ms();
	CU_ASSERT_EQUAL(ns / 1000000, ms);
	test_clock_pass(1700);
	CU_ASSERT_EQUAL(base_now_ns() - ns, 1700 * UINT64_C(1000000));
	CU_ASSERT_EQUAL(base_now_ms() - ms, 1700);
	test_clock_release();
}

static const struct unit_test tests[] = {
	{ "clocks", clocks },
	{ "deadlines", deadlines },
	{ NULL, NULL },
};

UNIT_MAIN("clock", tests)
