/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_share - the gateway's policy: shares, the line, clocks, who is ended */
#include <pthread.h>
#include <string.h>

#include "gateway/share.h"
#include "unit.h"

#define MB ((size_t)1 << 20)
#define SEC 1000000000ull
#define LIMIT (512 * MB)
#define MOST 256

static struct gw_shares all;
static struct gw_share m[MOST];
static struct gw_share *evicted[MOST];
static unsigned int nevicted; /* the lock of all held */

static void evict(struct gw_share *victim)
{
	evicted[nevicted++ % MOST] = victim;
}

static void begin(size_t limit, unsigned int n)
{
	gw_shares_init(&all, limit, 0);
	for (unsigned int i = 0; i < n; i++) {
		gw_share_join(&all, &m[i]);
		m[i].urgent = true;
	}
	nevicted = 0;
}

/* All give back what they have; then there must be nothing left. */
static void end(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		gw_share_leave(&m[i]);
		gw_share_done_in(&m[i], 0);
		gw_share_give(&m[i], atomic_load(&m[i].used));
	}
	CU_ASSERT_EQUAL(atomic_load(&all.used), 0);
	CU_ASSERT_EQUAL(atomic_load(&all.in_used), 0);
	CU_ASSERT_EQUAL(atomic_load(&all.holders), 0);
	CU_ASSERT_PTR_NULL(atomic_load(&all.first));
	CU_ASSERT_PTR_NULL(all.last);
	CU_ASSERT_TRUE(cds_list_empty(&all.all));
	gw_shares_fini(&all);
}

/* Each of @n takes what it can get, in turns of @step. */
static void greedy(unsigned int from, unsigned int n, size_t step)
{
	bool any = true;

	while (any) {
		any = false;
		for (unsigned int i = from; i < from + n; i++)
			any |= gw_share_take(&m[i], step);
	}
}

static void test_shares(void)
{
	static const unsigned int counts[] = { 1, 2, 9, 100, 250 };

	for (unsigned int k = 0; k < 5; k++) {
		unsigned int n = counts[k];
		size_t most, open, fair;

		begin(LIMIT, n + 1);
		most = LIMIT - all.reserve;
		open = most / 3;
		fair = (most - open) / (n + 1);
		greedy(0, 1, 65536);
		/* Who was first has an even part, or the third: so idle ones
		 * take nothing from it. */
		CU_ASSERT(m[0].used <= (fair > open ? fair : open));
		CU_ASSERT(m[0].used + 65536 > (fair > open ? fair : open));
		greedy(1, n - 1, 65536);
		for (unsigned int i = 0; i < n; i++)
			CU_ASSERT(m[i].used + 65536 >= fair);
		/* One more has as much, whoever came before, piece by piece. */
		for (size_t got = 0; got + 65536 <= fair; got += 65536)
			CU_ASSERT_TRUE(gw_share_take(&m[n], 65536));
		/* Who gives up something may take it again, and no more. */
		gw_share_give(&m[0], m[0].used);
		CU_ASSERT_TRUE(gw_share_take(&m[0], fair / 2));
		CU_ASSERT_FALSE(gw_share_take(&m[0], fair));
		/* That of those that have gone is for the others. */
		for (unsigned int i = 0; i < n; i++) {
			gw_share_leave(&m[i]);
			gw_share_give(&m[i], m[i].used);
		}
		CU_ASSERT_TRUE(gw_share_take(&m[n], most - open - fair));
		end(n + 1);
	}
}

static void test_limit(void)
{
	begin(LIMIT, 2);
	CU_ASSERT_FALSE(gw_share_take(&m[0], LIMIT + 1));
	CU_ASSERT_FALSE(gw_share_take(&m[0], SIZE_MAX));
	CU_ASSERT_FALSE(gw_share_take(&m[0], LIMIT - all.reserve + 1));
	CU_ASSERT_FALSE(gw_share_force(&m[0], LIMIT + 1, true));
	CU_ASSERT_TRUE(gw_share_force(&m[0], LIMIT, true));
	CU_ASSERT_FALSE(gw_share_force(&m[1], 1, true));
	CU_ASSERT_TRUE(gw_share_force(&m[1], MB, false));
	CU_ASSERT_FALSE(gw_share_take(&m[1], 1));
	CU_ASSERT_EQUAL(all.used, LIMIT + MB);
	CU_ASSERT_FALSE(gw_share_alone(&m[0]));
	gw_share_give(&m[1], MB);
	CU_ASSERT_TRUE(gw_share_alone(&m[0]));
	end(2);
}

/* Records that are not whole leave the other half to whoever reads. */
static void test_records(void)
{
	size_t before;

	begin(LIMIT, MOST);
	for (bool any = true; any;) {
		any = false;
		for (unsigned int i = 0; i < 250; i++)
			any |= gw_share_take_in(&m[i], 65536);
	}
	CU_ASSERT(all.in_used <= LIMIT / 2 + 250 * 65536);
	/* The first in line, until there is no more. */
	gw_share_wait(&m[7], 1);
	while (gw_share_take_in(&m[7], 65536))
		;
	gw_share_leave(&m[7]);
	CU_ASSERT(all.used <= LIMIT / 2 + all.reserve + 250 * 65536);
	/* A reader has a buffer for its Call, and eight results of 1 MiB. */
	CU_ASSERT_TRUE(gw_share_take_in(&m[250], 65536));
	gw_share_done_in(&m[250], 0);
	for (unsigned int i = 0; i < 8; i++)
		CU_ASSERT_TRUE(gw_share_take(&m[250], MB));
	/* A writer has its turn beside that half. */
	gw_share_done_in(&m[7], 65536);
	gw_share_give(&m[7], m[7].used - 65536);
	CU_ASSERT_TRUE(gw_share_take_in(&m[251], 65536));
	CU_ASSERT_FALSE(gw_share_take_in(&m[251], 2 * MB));
	gw_share_wait(&m[251], 1);
	CU_ASSERT_TRUE(gw_share_take_in(&m[251], 2 * MB));
	before = all.in_used;
	gw_share_served(&m[251]);
	gw_share_done_in(&m[251], 65536);
	CU_ASSERT_EQUAL(all.in_used, before - 2 * MB);
	end(MOST);
	/* A record that is more than half of all is taken from one alone. */
	begin(8 * MB, 2);
	CU_ASSERT_TRUE(gw_share_take_in(&m[0], 5 * MB));
	end(2);
}

static void test_line(void)
{
	begin(LIMIT, 20);
	/* All of it is held, but for the reserve. */
	CU_ASSERT_TRUE(gw_share_take(&m[0], LIMIT - all.reserve));
	m[4].urgent = false;
	for (unsigned int i = 1; i < 6; i++) {
		CU_ASSERT_FALSE(gw_share_take(&m[i], MB));
		gw_share_wait(&m[i], i);
		gw_share_wait(&m[i], i + 10);
	}
	/* One after the other, in the order that they came in; who has Calls
	 * outstanding waits for them instead. */
	for (unsigned int i = 1; i < 6; i++) {
		if (i == 4)
			continue;
		for (unsigned int k = 1; k < 6; k++)
			if (k != i)
				CU_ASSERT_FALSE(gw_share_take(&m[k], MB));
		CU_ASSERT_PTR_EQUAL(atomic_load(&all.first), &m[i]);
		CU_ASSERT_TRUE(gw_share_take(&m[i], MB));
		gw_share_served(&m[i]);
		CU_ASSERT_FALSE(atomic_load(&m[i].waiting));
		/* Its second Call is not in the first's place. */
		CU_ASSERT_FALSE(gw_share_take(&m[i], MB));
		gw_share_give(&m[i], MB);
	}
	/* Who is first and cannot be helped lets others try. */
	gw_share_wait(&m[1], 1);
	gw_share_wait(&m[2], 1);
	for (unsigned int i = 0; i < GW_FIRST_TRIES; i++) {
		CU_ASSERT_PTR_EQUAL(atomic_load(&all.first), &m[1]);
		CU_ASSERT_FALSE(gw_share_take(&m[1], 2 * all.reserve));
		gw_share_wait(&m[1], 1);
	}
	CU_ASSERT_PTR_EQUAL(atomic_load(&all.first), &m[2]);
	CU_ASSERT_PTR_EQUAL(all.last, &m[1]);
	gw_share_served(&m[2]);
	for (unsigned int i = 0; i <= GW_FIRST_TRIES; i++)
		gw_share_wait(&m[1], 1);
	CU_ASSERT_PTR_EQUAL(atomic_load(&all.first), &m[1]);
	CU_ASSERT_PTR_EQUAL(all.last, &m[1]);
	gw_share_served(&m[1]);
	/* From the middle, from both ends, and again. */
	for (unsigned int i = 1; i < 6; i++) {
		m[i].urgent = true;
		gw_share_wait(&m[i], 1);
	}
	gw_share_leave(&m[3]);
	gw_share_served(&m[1]);
	gw_share_served(&m[5]);
	CU_ASSERT_PTR_EQUAL(atomic_load(&all.first), &m[2]);
	CU_ASSERT_PTR_EQUAL(all.last, &m[4]);
	m[2].urgent = false;
	gw_share_wait(&m[2], 1);
	CU_ASSERT_PTR_EQUAL(atomic_load(&all.first), &m[4]);
	gw_share_wait(&m[5], 1);
	CU_ASSERT_PTR_EQUAL(all.last, &m[5]);
	end(20);
}

static void test_clocks(void)
{
	struct gw_share *s = &m[0];

	begin(LIMIT, 1);
	/* Octets count only while the client is waited for. */
	gw_share_in(s, 5 * SEC, MB);
	CU_ASSERT_EQUAL(gw_share_lack(s, 9 * SEC), 0);
	gw_share_in_start(s, 10 * SEC);
	gw_share_in_start(s, 11 * SEC);
	CU_ASSERT_EQUAL(gw_share_lack(s, 20 * SEC), 10 * SEC);
	/* Few octets are none; together they are some. */
	gw_share_in(s, 20 * SEC, GW_PROGRESS_LEAST - 1);
	CU_ASSERT_EQUAL(gw_share_lack(s, 21 * SEC), 11 * SEC);
	gw_share_in(s, 21 * SEC, 1);
	CU_ASSERT_EQUAL(gw_share_lack(s, 21 * SEC), 0);
	CU_ASSERT_EQUAL(gw_share_lack(s, 22 * SEC), SEC);
	/* The next record begins anew. */
	gw_share_in(s, 22 * SEC, GW_PROGRESS_LEAST - 1);
	gw_share_in_stop(s);
	CU_ASSERT_EQUAL(gw_share_lack(s, 99 * SEC), 0);
	gw_share_in_start(s, 100 * SEC);
	gw_share_in(s, 101 * SEC, 1);
	CU_ASSERT_EQUAL(gw_share_lack(s, 102 * SEC), 2 * SEC);
	/* The longer one is what counts. */
	gw_share_out_start(s, 99 * SEC);
	CU_ASSERT_EQUAL(gw_share_lack(s, 102 * SEC), 3 * SEC);
	gw_share_out_stop(s);
	CU_ASSERT_EQUAL(gw_share_lack(s, 102 * SEC), 2 * SEC);
	/* A clock that was set meanwhile by another thread. */
	CU_ASSERT_EQUAL(gw_share_lack(s, 99 * SEC), 0);
	end(1);
}

/* A kilobyte in each window is enough for ever; an octet a second is not. */
static void test_slow(void)
{
	struct gw_share *s = &m[0];
	uint64_t longest = 0;

	begin(LIMIT, 1);
	gw_share_in_start(s, SEC);
	for (uint64_t t = 1; t < 3600; t++) {
		gw_share_in(s, t * SEC, 20);
		if (gw_share_lack(s, t * SEC) > longest)
			longest = gw_share_lack(s, t * SEC);
	}
	CU_ASSERT(longest < GW_PROGRESS_SECONDS * SEC);
	for (uint64_t t = 3600; t < 3700; t++) {
		gw_share_in(s, t * SEC, 1);
		longest = gw_share_lack(s, t * SEC);
	}
	CU_ASSERT(longest >= GW_PROGRESS_SECONDS * SEC);
	end(1);
}

static void test_victims(void)
{
	uint64_t now = 1000 * SEC;

	begin(LIMIT, 20);
	CU_ASSERT_TRUE(gw_share_take(&m[3], 60 * MB));
	greedy(0, 9, MB);
	/* 9 to 12 have little; 9 asks. */
	for (unsigned int i = 9; i < 13; i++)
		CU_ASSERT_TRUE(gw_share_take(&m[i], MB));
	/* Nobody's clock runs: the server owes it all. */
	CU_ASSERT_FALSE(gw_share_press(&m[9], now, evict));
	/* Too short; longest of those that hold something; 12 has least. */
	gw_share_out_start(&m[0], now - 9 * SEC);
	now += GW_LOOK_MS * 1000000;
	CU_ASSERT_FALSE(gw_share_press(&m[9], now - SEC / 2, evict));
	gw_share_out_start(&m[1], now - 30 * SEC);
	gw_share_in_start(&m[2], now - 40 * SEC);
	gw_share_in_start(&m[13], now - 50 * SEC);
	gw_share_out_start(&m[9], now - 20 * SEC);
	CU_ASSERT_TRUE(gw_share_press(&m[9], now, evict));
	/* Not twice at once, and not the same one again. */
	CU_ASSERT_FALSE(gw_share_press(&m[9], now + 1, evict));
	now += GW_LOOK_MS * 1000000;
	CU_ASSERT_TRUE(gw_share_press(&m[9], now, evict));
	CU_ASSERT_EQUAL(nevicted, 2);
	CU_ASSERT_PTR_EQUAL(evicted[0], &m[2]);
	CU_ASSERT_PTR_EQUAL(evicted[1], &m[1]);
	/* One that has gone on meanwhile can be asked again. */
	gw_share_spare(&m[1]);
	now += GW_LOOK_MS * 1000000;
	CU_ASSERT_TRUE(gw_share_press(&m[9], now, evict));
	CU_ASSERT_PTR_EQUAL(evicted[2], &m[1]);
	/* Who asks and has more than is fair does not end who has less. */
	gw_share_out_stop(&m[0]);
	gw_share_out_stop(&m[9]);
	gw_share_out_start(&m[12], now - 50 * SEC);
	now += GW_LOOK_MS * 1000000;
	CU_ASSERT_FALSE(gw_share_press(&m[3], now, evict));
	now += GW_LOOK_MS * 1000000;
	CU_ASSERT_TRUE(gw_share_press(&m[10], now, evict));
	CU_ASSERT_PTR_EQUAL(evicted[3], &m[12]);
	end(20);
}

/* All wait for each other: the last gives up, when the first has waited. */
static void test_deadlock(void)
{
	uint64_t now = 1000 * SEC;

	begin(LIMIT, 10);
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_TRUE(gw_share_take_in(&m[i], 64 * MB - 1));
		CU_ASSERT_FALSE(gw_share_take_in(&m[i], 256 * MB));
		gw_share_wait(&m[i], now);
	}
	gw_share_wait(&m[5], now);
	CU_ASSERT_FALSE(gw_share_press(&m[0], now + SEC, evict));
	/* Calls that are with the server are not what the line holds. */
	CU_ASSERT_TRUE(gw_share_take(&m[6], 100 * MB));
	gw_shares_answered(&all);
	CU_ASSERT_FALSE(gw_share_press(&m[0], now + 9 * SEC, evict));
	gw_shares_answered(&all);
	/* Nor what waits to be one, its record being whole. */
	for (unsigned int i = 2; i < 4; i++) {
		CU_ASSERT_TRUE(m[i].in_blocked);
		CU_ASSERT_FALSE(gw_share_take(&m[i], 256 * MB));
		CU_ASSERT_FALSE(m[i].in_blocked);
	}
	CU_ASSERT_FALSE(gw_share_press(&m[0], now + 10 * SEC, evict));
	gw_share_give(&m[6], 90 * MB);
	CU_ASSERT_TRUE(gw_share_press(&m[0], now + 10 * SEC + SEC / 2, evict));
	CU_ASSERT_PTR_EQUAL(evicted[0], &m[3]);
	gw_share_spare(&m[3]);
	nevicted = 0;
	CU_ASSERT_TRUE(gw_share_take(&m[6], 60 * MB));
	m[2].in_blocked = m[3].in_blocked = true;
	/* It is the server that they wait for. */
	CU_ASSERT_FALSE(gw_share_press(&m[0], now + 12 * SEC, evict));
	gw_shares_answered(&all);
	CU_ASSERT_FALSE(gw_share_press(&m[0], now + 20 * SEC, evict));
	gw_shares_answered(&all);
	now += 11 * SEC;
	CU_ASSERT_TRUE(gw_share_press(&m[0], now + 11 * SEC, evict));
	CU_ASSERT_PTR_EQUAL(evicted[0], &m[3]);
	CU_ASSERT_TRUE(m[3].of_line);
	gw_share_spare(&m[3]);
	CU_ASSERT_FALSE(m[3].of_line);
	/* The first is never it, and others hold most now. */
	gw_share_leave(&m[3]);
	for (unsigned int i = 1; i < 3; i++)
		gw_share_leave(&m[i]);
	CU_ASSERT_FALSE(gw_share_press(&m[0], now + 12 * SEC, evict));
	end(10);
}

/* Sums hold when all threads take and give at once. */
#define THREADS 4

static void *busy(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;
	struct gw_share *mine = &m[seed];
	size_t have = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		size_t n = (i * 7919u + seed) % 65536 + 1;

		if (i % 3 == 2) {
			gw_share_give(mine, have);
			gw_share_done_in(mine, 0);
			have = 0;
		} else if (i % 2 ? gw_share_take(mine, n) :
				   gw_share_take_in(mine, n)) {
			have += n;
		} else {
			gw_share_wait(mine, i);
			gw_share_press(mine, i * SEC, evict);
		}
		if (i % 5 == 4)
			gw_share_served(mine);
	}
	gw_share_give(mine, have);
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[THREADS];

	begin(MB / 8, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, busy, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	end(THREADS);
}

static const struct unit_test tests[] = {
	{ "shares", test_shares },   { "limit", test_limit },
	{ "records", test_records }, { "line", test_line },
	{ "clocks", test_clocks },   { "slow", test_slow },
	{ "victims", test_victims }, { "deadlock", test_deadlock },
	{ "threads", test_threads }, { 0 },
};

UNIT_MAIN("tools-share", tests)
