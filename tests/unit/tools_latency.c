/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_latency - the histogram of durations, and what it tells of them */
#include "tools/latency.h"
#include "unit.h"

static void test_none(void)
{
	struct latency l;

	lat_init(&l);
	CU_ASSERT_EQUAL(lat_at(&l, 500), 0);
	CU_ASSERT_EQUAL(lat_avg(&l), 0);
}

/* Of each short duration there is a count of its own. */
static void test_short(void)
{
	struct latency l;

	lat_init(&l);
	for (unsigned int ns = 1; ns <= 50; ns++)
		lat_add(&l, ns);
	for (unsigned int ns = 1; ns <= 50; ns++)
		CU_ASSERT_EQUAL(lat_at(&l, 20 * ns), ns);
	CU_ASSERT_EQUAL(lat_at(&l, 0), 1);
	CU_ASSERT_EQUAL(lat_at(&l, 1), 1);
	CU_ASSERT_EQUAL(lat_at(&l, 21), 2);
	CU_ASSERT_EQUAL(lat_avg(&l), 25);
}

/* A percentile is never less than the sample, nor more by a sixty-fourth. */
static void test_exact(void)
{
	const uint64_t most = 1ull << 46;

	for (uint64_t ns = 1; ns < most; ns += ns / 7 + 1) {
		struct latency l;

		lat_init(&l);
		lat_add(&l, ns);
		CU_ASSERT_EQUAL(lat_at(&l, 500), ns);
		lat_add(&l, most);
		CU_ASSERT(lat_at(&l, 500) >= ns);
		CU_ASSERT(lat_at(&l, 500) - ns <= ns / LAT_STEPS);
		CU_ASSERT_EQUAL(lat_at(&l, 1000), most);
		CU_ASSERT_EQUAL(l.min, ns);
	}
}

/* Whatever is too long for all others is in the last one, and nowhere else. */
static void test_too_long(void)
{
	const uint64_t ends = 1ull << 47;
	const uint64_t ns[] = { ends - 1, ends, 2 * ends, UINT64_MAX };

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		struct latency l[2];

		lat_init(&l[0]);
		lat_init(&l[1]);
		lat_add(&l[0], ns[i]);
		CU_ASSERT_EQUAL(l[0].bucket[LAT_BUCKETS - 1], 1);
		CU_ASSERT_EQUAL(lat_at(&l[0], 500), ends - 1);
		CU_ASSERT_EQUAL(l[0].max, ns[i]);
		CU_ASSERT_EQUAL(l[1].count, 0);
	}
}

static const struct unit_test tests[] = {
	{ "none", test_none },	 { "short", test_short },
	{ "exact", test_exact }, { "too long", test_too_long },
	{ NULL, NULL },
};

UNIT_MAIN("tools-latency", tests)
