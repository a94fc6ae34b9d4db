/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_memory - allowances, loans, the line, stalls and who is evicted */
#include <pthread.h>
#include <string.h>

#include "gateway/policy/memory.h"
#include "unit.h"

#define MB ((size_t)1 << 20)
#define SEC 1000000000ull
#define MEMORY (1024 * MB)
#define MOST 256

static struct gw_memory m;
static struct gw_account a[MOST];
static struct gw_account *evicted[MOST];
static unsigned int nevicted;

static void evict(struct gw_account *victim)
{
	evicted[nevicted++ % MOST] = victim;
}

static void begin(size_t memory, unsigned int n)
{
	gw_memory_init(&m, memory, n, evict);
	for (unsigned int i = 0; i < n; i++)
		gw_account_open(&m, &a[i]);
	nevicted = 0;
}

/* All give back what they have; then there must be nothing left. */
static void end(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		gw_account_close(&a[i]);
		gw_account_give(&a[i], atomic_load(&a[i].used));
	}
	CU_ASSERT_EQUAL(atomic_load(&m.lent), 0);
	CU_ASSERT_PTR_NULL(atomic_load(&m.first));
	CU_ASSERT_TRUE(cds_list_empty(&m.line));
	CU_ASSERT_TRUE(cds_list_empty(&m.accounts));
	gw_memory_destroy(&m);
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
	gw_memory_init(&m, 16 * MB, 42, evict);
	CU_ASSERT(m.allowance >= GW_ALLOWANCE_MIN);
	gw_memory_destroy(&m);
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
	gw_account_undo(&a[0], some, 0);
	CU_ASSERT_EQUAL(a[0].used, 0);
	CU_ASSERT_TRUE(gw_account_take(&a[0], some, 3 * MB));
	CU_ASSERT_EQUAL(a[0].used, 3 * MB);
	gw_account_stop_waiting(&a[0]);
	/* Others cannot have it, not even the first in line. */
	gw_account_wait(&a[1], true, 1);
	CU_ASSERT_FALSE(gw_account_take(&a[1], MB, 3 * MB));
	CU_ASSERT_TRUE(take(0, MB));
	gw_account_undo(&a[0], MB, 3 * MB - some);
	CU_ASSERT_EQUAL(a[0].used, 3 * MB);
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

static void test_line(void)
{
	begin(16 * MB, 25);
	/* In the order they came; who has Calls outstanding is not there. */
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT_FALSE(take(i, 3 * MB));
		gw_account_wait(&a[i], i != 3, i + 1);
		gw_account_wait(&a[i], i != 3, i + 10);
		CU_ASSERT_TRUE(gw_account_waits(&a[i]));
	}
	for (unsigned int i = 0; i < 5; i++) {
		if (i == 3)
			continue;
		for (unsigned int k = 0; k < 5; k++)
			if (k != i)
				CU_ASSERT_FALSE(take(k, 3 * MB));
		CU_ASSERT_PTR_EQUAL(atomic_load(&m.first), &a[i]);
		CU_ASSERT_TRUE(take(i, 3 * MB));
		gw_account_stop_waiting(&a[i]);
		CU_ASSERT_FALSE(gw_account_waits(&a[i]));
		gw_account_give(&a[i], 3 * MB);
	}
	CU_ASSERT_PTR_NULL(atomic_load(&m.first));
	/* From the middle, from both ends, and again. */
	for (unsigned int i = 0; i < 5; i++)
		gw_account_wait(&a[i], true, 1);
	gw_account_stop_waiting(&a[2]);
	gw_account_stop_waiting(&a[0]);
	gw_account_stop_waiting(&a[4]);
	CU_ASSERT_PTR_EQUAL(atomic_load(&m.first), &a[1]);
	gw_account_wait(&a[1], false, 1);
	CU_ASSERT_PTR_EQUAL(atomic_load(&m.first), &a[3]);
	end(25);
}

static void test_stalls(void)
{
	struct gw_stall *in = &a[0].in, *out = &a[0].out;

	begin(MEMORY, 1);
	/* Octets count only while the client is waited for. */
	gw_stall_progress(in, MB, 5 * SEC);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 9 * SEC), 0);
	gw_stall_start(in, 10 * SEC);
	gw_stall_start(in, 11 * SEC);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 20 * SEC), 10 * SEC);
	/* Few octets are none; together they are some. */
	gw_stall_progress(in, GW_PROGRESS - 1, 20 * SEC);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 21 * SEC), 11 * SEC);
	gw_stall_progress(in, 1, 21 * SEC);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 22 * SEC), SEC);
	/* The next record begins anew. */
	gw_stall_progress(in, GW_PROGRESS - 1, 22 * SEC);
	gw_stall_stop(in);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 99 * SEC), 0);
	gw_stall_start(in, 100 * SEC);
	gw_stall_progress(in, 1, 101 * SEC);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 102 * SEC), 2 * SEC);
	/* The longer one is what counts. */
	gw_stall_start(out, 99 * SEC);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 102 * SEC), 3 * SEC);
	gw_stall_stop(out);
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 102 * SEC), 2 * SEC);
	/* One that was set meanwhile by another thread. */
	CU_ASSERT_EQUAL(gw_account_stalled(&a[0], 99 * SEC), 0);
	end(1);
}

/* A kilobyte in each window is enough for ever; an octet a second is not. */
static void test_slow(void)
{
	uint64_t longest = 0;

	begin(MEMORY, 1);
	gw_stall_start(&a[0].in, SEC);
	for (uint64_t t = 1; t < 3700; t++) {
		gw_stall_progress(&a[0].in, t < 3600 ? 20 : 1, t * SEC);
		if (gw_account_stalled(&a[0], t * SEC) > longest)
			longest = gw_account_stalled(&a[0], t * SEC);
		if (t < 3600)
			CU_ASSERT(longest < GW_STALL_SECONDS * SEC);
	}
	CU_ASSERT(longest >= GW_STALL_SECONDS * SEC);
	end(1);
}

static void test_evictions(void)
{
	uint64_t now = 1000 * SEC;

	begin(16 * MB, 25);
	for (unsigned int i = 0; i < 6; i++)
		gw_account_force(&a[i], MB);
	gw_account_wait(&a[8], true, now);
	gw_account_wait(&a[9], true, now);
	/* They wait for the server. */
	gw_account_wait(&a[8], true, now + 20 * SEC);
	CU_ASSERT_EQUAL(nevicted, 0);
	gw_stall_start(&a[0].out, now);
	gw_stall_start(&a[1].out, now + 5 * SEC);
	gw_stall_start(&a[2].in, now + 3 * SEC);
	gw_stall_start(&a[3].out, now + 19 * SEC); /* not for long */
	gw_stall_start(&a[7].out, now - 9 * SEC); /* has borrowed nothing */
	/* The first in line alone, and not before it has waited. */
	gw_account_wait(&a[9], true, now + 20 * SEC);
	gw_account_wait(&a[8], true, now + 9 * SEC);
	CU_ASSERT_EQUAL(nevicted, 0);
	/* The longest stall first; what was held needs time to come back. */
	now += 20 * SEC;
	gw_account_wait(&a[8], true, now);
	gw_account_wait(&a[8], true, now + 1);
	CU_ASSERT_EQUAL(nevicted, 1);
	for (unsigned int i = 1; i < 9; i++)
		gw_account_wait(&a[8], true, now + i * SEC / 10);
	CU_ASSERT_EQUAL(nevicted, 3);
	CU_ASSERT_PTR_EQUAL(evicted[0], &a[0]);
	CU_ASSERT_PTR_EQUAL(evicted[1], &a[2]);
	CU_ASSERT_PTR_EQUAL(evicted[2], &a[1]);
	/* One that has gone on meanwhile can be asked again. */
	gw_account_spare(&a[2]);
	/* The next in line has waited as long: it need not wait again. */
	gw_account_stop_waiting(&a[8]);
	gw_account_wait(&a[9], true, now + SEC);
	CU_ASSERT_EQUAL(nevicted, 4);
	CU_ASSERT_PTR_EQUAL(evicted[3], &a[2]);
	gw_account_wait(&a[9], true, now + 2 * SEC);
	CU_ASSERT_EQUAL(nevicted, 5);
	CU_ASSERT_PTR_EQUAL(evicted[4], &a[3]);
	end(25);
}

/* It is not the policy that refuses: many small buffers are in the way. */
static void test_fragments(void)
{
	uint64_t now = 1000 * SEC;

	begin(16 * MB, 25);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_TRUE(take(i, 65536));
		gw_account_wait(&a[i], true, now);
	}
	gw_account_wait(&a[0], true, now + 9 * SEC);
	CU_ASSERT_EQUAL(nevicted, 0);
	for (unsigned int i = 10; i < 14; i++)
		gw_account_wait(&a[0], true, now + i * SEC);
	CU_ASSERT_EQUAL(nevicted, 1);
	CU_ASSERT_PTR_EQUAL(evicted[0], &a[2]);
	gw_account_stop_waiting(&a[2]);
	gw_account_wait(&a[0], true, now + 15 * SEC);
	CU_ASSERT_PTR_EQUAL(evicted[1], &a[1]);
	gw_account_stop_waiting(&a[1]);
	gw_account_wait(&a[0], true, now + 16 * SEC);
	CU_ASSERT_EQUAL(nevicted, 2);
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
			gw_account_wait(mine, true, i * SEC);
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
	{ "line", test_line },
	{ "stalls", test_stalls },
	{ "slow", test_slow },
	{ "evictions", test_evictions },
	{ "fragments", test_fragments },
	{ "threads", test_threads },
	{ 0 },
};

UNIT_MAIN("gateway-memory", tests)
