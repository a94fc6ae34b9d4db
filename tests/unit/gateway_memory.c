/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_memory - allowances, loans, and whose turn it is */
#include <pthread.h>
#include <string.h>

#include "gateway/policy/memory.h"
#include "unit.h"

#define MB ((size_t)1 << 20)
#define MEMORY (1024 * MB)
#define MOST 256

static struct gw_memory m;
static struct gw_account a[MOST];
static void begin(size_t memory, unsigned int n)
{
	gw_memory_init(&m, memory, n);
	memset(a, 0, sizeof(a));
	for (unsigned int i = 0; i < n; i++)
		a[i].memory = &m;
}

/* All give back what they have; then there must be nothing left. */
static void end(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		gw_account_stop_waiting(&a[i]);
		gw_account_give(&a[i], atomic_load(&a[i].used));
	}
	CU_ASSERT_EQUAL(atomic_load(&m.lent), 0);
	CU_ASSERT_PTR_NULL(atomic_load(&m.turn));
}

static bool take(unsigned int i, size_t n)
{
	return gw_account_take(&a[i], n, n);
}

/* Whatever the others hold, each has its allowance. */
static void test_allowance(void)
{
	static const unsigned int counts[] = { 1, 2, 9, 100, 256 };

	for (unsigned int k = 0; k < 5; k++) {
		unsigned int n = counts[k];

		begin(MEMORY, n);
		CU_ASSERT(n * m.allowance + m.surplus <= MEMORY / 2);
		for (unsigned int i = 0; i + 1 < n; i++)
			while (take(i, 65536))
				;
		for (unsigned int i = 0; i + 1 < n; i++) {
			gw_account_wait(&a[i], true, 1);
			while (gw_account_take(&a[i], 65536, 65536))
				;
			gw_account_stop_waiting(&a[i]);
		}
		CU_ASSERT(m.lent <= (n == 2 ? m.lone : m.surplus));
		CU_ASSERT_TRUE(take(n - 1, m.allowance / 2));
		CU_ASSERT_TRUE(take(n - 1, m.allowance / 2));
		end(n);
	}
}

static void test_clients(void)
{
	CU_ASSERT_EQUAL(gw_memory_clients(16 * MB), 42);
	CU_ASSERT_EQUAL(gw_memory_clients(MEMORY), 3640);
	gw_memory_init(&m, 16 * MB, 42);
	CU_ASSERT(m.allowance >= GW_ALLOWANCE_MIN);
}

/* A quarter of what is not lent, so that who comes later finds something. */
static void test_loans(void)
{
	size_t last = SIZE_MAX;

	begin(MEMORY, MOST);
	for (unsigned int i = 0; i < 10; i++) {
		size_t free = m.surplus - m.lent, loan;

		while (take(i, 65536))
			;
		loan = a[i].used - m.allowance;
		CU_ASSERT(loan <= free / 4 && loan + 65536 > free / 4);
		CU_ASSERT(loan < last);
		last = loan;
	}
	/* Who gives back may borrow again. */
	gw_account_give(&a[0], a[0].used);
	CU_ASSERT_TRUE(take(0, m.allowance + last));
	/* Of what is forced nothing is asked, but others are. */
	gw_account_force(&a[11], m.surplus + m.allowance);
	CU_ASSERT(m.lent > m.surplus);
	CU_ASSERT_FALSE(take(12, m.allowance + 1));
	CU_ASSERT_TRUE(take(12, m.allowance));
	end(MOST);
}

/* All that a Call needs is borrowed at once. */
static void test_promise(void)
{
	const size_t some = 256 << 10;

	begin(16 * MB, 25);
	CU_ASSERT_EQUAL(m.surplus, 4 * MB);
	CU_ASSERT_FALSE(gw_account_take(&a[0], some, 3 * MB));
	CU_ASSERT_EQUAL(a[0].used, 0);
	CU_ASSERT_FALSE(gw_account_never(&a[0]));
	gw_account_wait(&a[0], true, 1);
	CU_ASSERT_TRUE(gw_account_take(&a[0], some, 3 * MB));
	CU_ASSERT_EQUAL(gw_account_loan(&a[0]), 3 * MB - m.allowance);
	CU_ASSERT_EQUAL(a[0].used, 3 * MB);
	gw_account_stop_waiting(&a[0]);
	/* Others cannot have it, not even whose turn it is. */
	gw_account_wait(&a[1], true, 1);
	CU_ASSERT_FALSE(gw_account_take(&a[1], MB, 3 * MB));
	CU_ASSERT_TRUE(take(0, MB));
	CU_ASSERT_EQUAL(a[0].used, 3 * MB);
	gw_account_break_promise(&a[0]);
	CU_ASSERT_EQUAL(a[0].used, MB + some);
	CU_ASSERT_TRUE(gw_account_take(&a[1], MB, 3 * MB - some));
	gw_account_stop_waiting(&a[1]);
	/* More than the surplus: once nobody else has a loan. */
	gw_account_wait(&a[2], true, 1);
	CU_ASSERT_FALSE(gw_account_take(&a[2], MB, 5 * MB));
	CU_ASSERT_FALSE(gw_account_never(&a[2]));
	for (unsigned int i = 0; i < 2; i++) {
		gw_account_break_promise(&a[i]);
		gw_account_give(&a[i], a[i].used);
	}
	CU_ASSERT_TRUE(gw_account_take(&a[2], MB, 5 * MB));
	CU_ASSERT_TRUE(take(3, m.allowance));
	CU_ASSERT_FALSE(take(3, 1));
	gw_account_break_promise(&a[2]);
	gw_account_give(&a[2], a[2].used);
	/* More than there is. */
	CU_ASSERT_FALSE(gw_account_take(&a[2], MB, 8 * MB + 1));
	CU_ASSERT_TRUE(gw_account_never(&a[2]));
	end(25);
}

static void test_turn(void)
{
	begin(16 * MB, 25);
	/* One after the other; who has Calls outstanding has none. */
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT_FALSE(take(i, 3 * MB));
		CU_ASSERT_EQUAL(gw_account_wait(&a[i], i != 3, i + 1), i == 0);
		CU_ASSERT_EQUAL(gw_account_wait(&a[i], i != 3, i + 10), i == 0);
		CU_ASSERT_EQUAL(gw_account_waits(&a[i]), i + 1);
	}
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(gw_account_wait(&a[i], i != 3, 9), i != 3);
		if (i == 3)
			continue;
		for (unsigned int k = 0; k < 5; k++)
			if (k != i)
				CU_ASSERT_FALSE(take(k, 3 * MB));
		CU_ASSERT_TRUE(take(i, 3 * MB));
		gw_account_stop_waiting(&a[i]);
		CU_ASSERT_FALSE(gw_account_waits(&a[i]));
		gw_account_give(&a[i], 3 * MB);
	}
	CU_ASSERT_PTR_NULL(atomic_load(&m.turn));
	/* Who has Calls outstanding again leaves it to others. */
	CU_ASSERT_TRUE(gw_account_wait(&a[1], true, 1));
	CU_ASSERT_FALSE(gw_account_wait(&a[3], true, 1));
	CU_ASSERT_FALSE(gw_account_wait(&a[1], false, 1));
	CU_ASSERT_TRUE(gw_account_wait(&a[3], true, 1));
	end(25);
}

/* Sums hold when all threads take and give at once. */
#define THREADS 4

static void *busy(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;
	struct gw_account *mine = &a[seed];
	size_t have = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		size_t n = (i * 7919u + seed) % 262144 + 1;

		if (i % 3 == 2) {
			gw_account_break_promise(mine);
			gw_account_give(mine, have);
			have = 0;
		} else if (gw_account_take(mine, n, 2 * n)) {
			have += n;
		} else {
			gw_account_wait(mine, true, i + 1);
		}
		if (i % 5 == 4)
			gw_account_stop_waiting(mine);
		gw_account_give(&a[(seed + 1) % THREADS], 0);
	}
	gw_account_break_promise(mine);
	gw_account_give(mine, have);
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[THREADS];

	begin(4 * MB, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, busy, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (size_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(a[i].used, 0);
	end(THREADS);
}

static const struct unit_test tests[] = {
	{ "allowance", test_allowance },
	{ "clients", test_clients },
	{ "loans", test_loans },
	{ "promise", test_promise },
	{ "turn", test_turn },
	{ "threads", test_threads },
	{ 0 },
};

UNIT_MAIN("gateway-memory", tests)
