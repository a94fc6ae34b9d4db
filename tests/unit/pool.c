/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool, over a provider that only counts registrations and can refuse
 * them. The linker turns the pool's allocation calls to the counters here.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "rpcrdma/pool.h"
#include "test_clock.h"
#include "unit.h"

#define MiB ((size_t)1 << 20)
#define KiB ((size_t)1 << 10)

/* ---- Counters -------------------------------------------------------- */

static atomic_int allocs, frees, maps, unmaps, regs, deregs;
static atomic_bool refuse_reg, no_huge;
static atomic_int huge_tries;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_aligned_alloc(size_t a, size_t n);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off);
int __real_munmap(void *addr, size_t len);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_aligned_alloc(size_t a, size_t n);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off);
int __wrap_munmap(void *addr, size_t len);
void __wrap_free(void *p);

void *__wrap_malloc(size_t n)
{
	allocs++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	allocs++;
	return __real_calloc(n, m);
}

void *__wrap_aligned_alloc(size_t a, size_t n)
{
	allocs++;
	return __real_aligned_alloc(a, n);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd,
		  off_t off)
{
	if (flags & MAP_HUGETLB) {
		huge_tries++;
		if (no_huge) {
			errno = ENOMEM;
			return MAP_FAILED;
		}
	}
	void *p = __real_mmap(addr, len, prot, flags, fd, off);

	if (p != MAP_FAILED)
		maps++;
	return p;
}

int __wrap_munmap(void *addr, size_t len)
{
	int rc = __real_munmap(addr, len);

	if (!rc)
		unmaps++;
	return rc;
}

void __wrap_free(void *p)
{
	if (p)
		frees++;
	__real_free(p);
}

/* ---- A provider that registers --------------------------------------- */

static int test_reg(struct fab_domain *dom, void *addr, size_t len,
		    struct fab_mr **mr)
{
	struct fab_mr *m;

	if (refuse_reg)
		return -ENOMEM;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->dom = dom;
	m->addr = addr;
	m->len = len;
	regs++;
	*mr = m;
	return 0;
}

static bool holds_on; /* the device, to what it has */

static bool test_dereg(struct fab_mr *mr)
{
	deregs++;
	free(mr);
	return !holds_on;
}

static const struct fab_ops test_ops = {
	.name = "test",
	.reg = test_reg,
	.dereg = test_dereg,
};

static char said[512];

static void test_log(void *ctx, int level, const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

static struct fab_domain test_dom = { .ops = &test_ops,
				      .params = { .log = test_log } };

static struct fab_pool *pool_new(size_t max, bool huge)
{
	struct fab_pool_params p = { .max_bytes = max, .huge_pages = huge };
	struct fab_pool *pool = NULL;

	allocs = frees = maps = unmaps = regs = deregs = 0;
	refuse_reg = no_huge = false;
	huge_tries = 0;
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	return pool;
}

static void pool_end(struct fab_pool *pool)
{
	fab_pool_destroy(pool);
	CU_ASSERT_EQUAL(allocs, frees);
	CU_ASSERT_EQUAL(maps, unmaps);
	CU_ASSERT_EQUAL(regs, deregs);
}

static struct fab_pool_stats stats(struct fab_pool *pool)
{
	struct fab_pool_stats s;

	fab_pool_get_stats(pool, &s);
	return s;
}

/* ---- Tests ----------------------------------------------------------- */

static void test_classes(void)
{
	static const struct {
		size_t ask, get;
	} t[] = {
		{ 0, 4 * KiB },
		{ 1, 4 * KiB },
		{ 4 * KiB, 4 * KiB },
		{ 4 * KiB + 1, 16 * KiB },
		{ 16 * KiB, 16 * KiB },
		{ 16 * KiB + 1, 64 * KiB },
		{ 64 * KiB + 1, 256 * KiB },
		{ 256 * KiB + 1, MiB },
		{ MiB, MiB },
		{ MiB + 1, 4 * MiB },
		{ 4 * MiB, 4 * MiB },
	};
	struct fab_pool *pool = pool_new(0, false);

	CU_ASSERT_EQUAL(stats(pool).limit, 1024 * MiB);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fab_buf *b = fab_pool_get(pool, t[i].ask);

		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		CU_ASSERT_EQUAL(b->size, t[i].get);
		CU_ASSERT_EQUAL((uintptr_t)b->addr % 4096, 0);
		CU_ASSERT_PTR_NULL(b->next);
		CU_ASSERT_PTR_EQUAL(b->pool, pool);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b->mr);
		CU_ASSERT(b->addr >= b->mr->addr);
		CU_ASSERT((char *)b->addr + b->size <=
			  (char *)b->mr->addr + b->mr->len);
		memset(b->addr, 0x5a, b->size);
		fab_pool_put(b);
	}
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4 * MiB + 1));
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, SIZE_MAX));
	CU_ASSERT_EQUAL(stats(pool).refused, 2);
	CU_ASSERT_EQUAL(stats(pool).gets, sizeof(t) / sizeof(t[0]));
	CU_ASSERT_EQUAL(stats(pool).bytes_in_use, 0);
	CU_ASSERT_EQUAL(stats(pool).bytes_in_use_peak, 4 * MiB);
	fab_pool_put(NULL);
	pool_end(pool);
}

/* No two buffers overlap, whatever their classes. */
static void test_disjoint(void)
{
	enum { N = 600 };
	static struct fab_buf *b[N];
	static const size_t sizes[] = { 100, 5000, 20000, 70000, 300000 };
	struct fab_pool *pool = pool_new(0, false);

	for (size_t i = 0; i < N; i++) {
		b[i] = fab_pool_get(pool, sizes[i % 5]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b[i]);
		memset(b[i]->addr, (int)(i % 251), b[i]->size);
	}
	for (size_t i = 0; i < N; i++) {
		const unsigned char *p = b[i]->addr;

		CU_ASSERT_EQUAL(p[0], i % 251);
		CU_ASSERT_EQUAL(memcmp(p, p + 1, b[i]->size - 1), 0);
	}
	for (size_t i = 0; i < N; i++)
		fab_pool_put(b[i]);
	pool_end(pool);
}

static void test_reuse(void)
{
	struct fab_pool *pool = pool_new(0, false);
	struct fab_buf *b[100];
	int a0, r0, m0;

	for (int round = 0; round < 3; round++) {
		if (round == 1) {
			a0 = allocs;
			r0 = regs;
			m0 = maps;
		}
		for (int i = 0; i < 100; i++) {
			b[i] = fab_pool_get(pool, 4 * KiB << i % 9);
			CU_ASSERT_PTR_NOT_NULL_FATAL(b[i]);
		}
		for (int i = 0; i < 100; i++)
			fab_pool_put(b[i]);
	}
	CU_ASSERT_EQUAL(allocs, a0);
	CU_ASSERT_EQUAL(regs, r0);
	CU_ASSERT_EQUAL(maps, m0);
	CU_ASSERT_EQUAL(frees, 0);
	CU_ASSERT_EQUAL(stats(pool).slabs, (uint64_t)regs);
	pool_end(pool);
}

static void test_limit(void)
{
	struct fab_pool *pool = pool_new(MiB + 100, false);
	struct fab_buf *list = NULL, *b;
	size_t n = 0;

	while ((b = fab_pool_get(pool, 4096))) {
		b->next = list;
		list = b;
		n++;
		CU_ASSERT_FATAL(n <= 256);
	}
	CU_ASSERT_EQUAL(n, 256);
	CU_ASSERT_EQUAL(stats(pool).bytes_held, MiB);
	CU_ASSERT_EQUAL(stats(pool).bytes_in_use, MiB);
	CU_ASSERT_EQUAL(stats(pool).refused, 1);
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 2 * MiB));

	b = list;
	list = b->next;
	fab_pool_put(b);
	b = fab_pool_get(pool, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	fab_pool_put(b);
	while ((b = list)) {
		list = b->next;
		fab_pool_put(b);
	}
	pool_end(pool);

	/* A limit below the smallest buffer refuses everything. */
	pool = pool_new(4095, false);
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 1));
	CU_ASSERT_EQUAL(stats(pool).bytes_held, 0);
	pool_end(pool);

	/* One buffer fits exactly, though a whole slab would not. */
	pool = pool_new(16 * KiB, false);
	b = fab_pool_get(pool, 16 * KiB);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 1));
	fab_pool_put(b);
	pool_end(pool);
}

/* Who can do without does not get what is reserved, neither as new memory nor
 * by taking what others have given back. */
static void test_reserve(void)
{
	struct fab_pool_params p = { .max_bytes = 4 * MiB, .reserve = MiB };
	struct fab_pool *pool = pool_new(MiB, false);
	struct fab_buf *big[4] = { NULL }, *list = NULL, *b;
	size_t n = 0;

	pool_end(pool);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	for (int i = 0; i < 3; i++) {
		big[i] = fab_pool_get_spare(pool, 600 * KiB);
		CU_ASSERT_PTR_NOT_NULL_FATAL(big[i]);
	}
	CU_ASSERT_PTR_NULL(fab_pool_get_spare(pool, 600 * KiB));
	CU_ASSERT_PTR_NULL(fab_pool_get_spare(pool, 1));
	CU_ASSERT_EQUAL(stats(pool).bytes_held, 3 * MiB);
	CU_ASSERT_EQUAL(stats(pool).refused, 2);
	/* Small ones, as many as there are; not a large one for each. */
	while ((b = fab_pool_get(pool, 1))) {
		CU_ASSERT_EQUAL(b->size, 4 * KiB);
		b->next = list;
		list = b;
		n++;
	}
	CU_ASSERT_EQUAL(n, 256);
	fab_pool_put(big[2]);
	CU_ASSERT_PTR_NULL(fab_pool_get_spare(pool, 600 * KiB));
	CU_ASSERT_PTR_NULL(fab_pool_get_spare(pool, 1));
	big[2] = fab_pool_get(pool, 600 * KiB);
	CU_ASSERT_PTR_NOT_NULL(big[2]);
	while ((b = list)) {
		list = b->next;
		fab_pool_put(b);
	}
	for (int i = 1; i < 3; i++)
		fab_pool_put(big[i]);
	/* What is free serves it, and what is free as a whole makes room. */
	big[1] = fab_pool_get_spare(pool, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(big[1]);
	CU_ASSERT_EQUAL(big[1]->size, 4 * KiB);
	big[2] = fab_pool_get_spare(pool, 600 * KiB);
	CU_ASSERT_PTR_NOT_NULL(big[2]);
	for (int i = 0; i < 3; i++)
		fab_pool_put(big[i]);
	fab_pool_destroy(pool);

	/* A reserve of all of it is none. */
	p.reserve = p.max_bytes;
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	b = fab_pool_get_spare(pool, 1);
	CU_ASSERT_PTR_NOT_NULL(b);
	fab_pool_put(b);
	pool_end(pool);
}

/* Where the limit stands in the way, memory to spare is made of slabs that are free
 * as a whole; a larger buffer serves only if there are none. */
static void test_spare_small(void)
{
	struct fab_pool_params p = { .max_bytes = 5 * MiB, .reserve = MiB };
	struct fab_pool *pool = pool_new(MiB, false);
	struct fab_buf *large[4], *small;

	pool_end(pool);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	for (int i = 0; i < 4; i++) {
		large[i] = fab_pool_get_spare(pool, MiB);
		CU_ASSERT_PTR_NOT_NULL_FATAL(large[i]);
	}
	for (int i = 1; i < 4; i++)
		fab_pool_put(large[i]);
	small = fab_pool_get_spare(pool, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(small);
	CU_ASSERT_EQUAL(small->size, MiB);
	fab_pool_put(small);
	fab_pool_put(large[0]);
	small = fab_pool_get_spare(pool, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(small);
	CU_ASSERT_EQUAL(small->size, 4 * KiB);
	fab_pool_put(small);
	pool_end(pool);
}

/* At the limit, a free larger buffer serves a smaller request. */
static void test_larger(void)
{
	struct fab_pool *pool = pool_new(4 * MiB, false);
	struct fab_buf *b = fab_pool_get(pool, 4 * MiB);

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4096));
	fab_pool_put(b);
	b = fab_pool_get(pool, 4096);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_EQUAL(b->size, 4 * MiB);
	fab_pool_put(b);
	CU_ASSERT_EQUAL(regs, 1);
	pool_end(pool);
}

/* What small ones hold, and do not use, makes room for a large one. */
static void test_reclaim(void)
{
	struct fab_pool *pool = pool_new(4 * MiB, false);
	struct fab_buf *b[1024], *big;

	for (int i = 0; i < 1024; i++) {
		b[i] = fab_pool_get(pool, 4096);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b[i]);
		memset(b[i]->addr, i, 4096);
	}
	CU_ASSERT_EQUAL(stats(pool).bytes_held, 4 * MiB);
	for (int i = 1; i < 1024; i++)
		fab_pool_put(b[i]);
	/* One is still in use: its slab stays, and so 4 MiB do not fit. */
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4 * MiB));
	CU_ASSERT_EQUAL(*(unsigned char *)b[0]->addr, 0);
	big = fab_pool_get(pool, MiB);
	CU_ASSERT_PTR_NOT_NULL_FATAL(big);
	memset(big->addr, 1, MiB);
	CU_ASSERT(stats(pool).bytes_held <= 4 * MiB);
	fab_pool_put(big);
	fab_pool_put(b[0]);
	big = fab_pool_get(pool, 4 * MiB);
	CU_ASSERT_PTR_NOT_NULL_FATAL(big);
	memset(big->addr, 1, 4 * MiB);
	CU_ASSERT_EQUAL(stats(pool).bytes_held, 4 * MiB);
	CU_ASSERT_EQUAL(stats(pool).bytes_in_use, 4 * MiB);
	fab_pool_put(big);
	pool_end(pool);
}

/* No more is given back than is asked for: what fits exactly is enough. */
static void test_reclaim_exact(void)
{
	struct fab_pool *pool = pool_new(4 * MiB, false);
	struct fab_buf *b[1024], *big;

	for (int i = 0; i < 1024; i++) {
		b[i] = fab_pool_get(pool, 4096);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b[i]);
	}
	for (int i = 0; i < 1024; i++)
		fab_pool_put(b[i]);
	CU_ASSERT_EQUAL(stats(pool).bytes_held, 4 * MiB);
	big = fab_pool_get(pool, MiB);
	CU_ASSERT_PTR_NOT_NULL_FATAL(big);
	CU_ASSERT_EQUAL(stats(pool).bytes_held, 4 * MiB);
	fab_pool_put(big);
	pool_end(pool);
}

/* If no more can be registered what is held is the limit, and a part of it stays
 * reserved, until a growth succeeds that is tried each second. */
static void test_no_registration(void)
{
	struct fab_pool_params p = { .max_bytes = 16 * MiB, .reserve = MiB };
	struct fab_pool *pool = pool_new(MiB, false);
	struct fab_buf *list = NULL, *b;
	size_t n = 0, held;

	pool_end(pool);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	test_clock_hold();
	atomic_store(&test_dom.shortages, 0);
	refuse_reg = true;
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4096));
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4096));
	CU_ASSERT_EQUAL(atomic_load(&test_dom.shortages), 1);
	CU_ASSERT_EQUAL(stats(pool).bytes_held, 0);
	CU_ASSERT_EQUAL(maps, unmaps);
	refuse_reg = false;
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4096));
	test_clock_pass(1000);
	b = fab_pool_get(pool, 4096);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	fab_pool_put(b);
	held = stats(pool).bytes_held;
	CU_ASSERT_FALSE(fab_pool_short(pool));
	refuse_reg = true;
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, MiB));
	while ((b = fab_pool_get_spare(pool, 4096))) {
		b->next = list;
		list = b;
		n++;
	}
	CU_ASSERT_EQUAL(n, held / 4096 - held / 16 / 4096);
	CU_ASSERT_TRUE(fab_pool_short(pool));
	while ((b = fab_pool_get(pool, 4096))) {
		b->next = list;
		list = b;
		n++;
	}
	CU_ASSERT_EQUAL(n, held / 4096);
	CU_ASSERT_EQUAL(atomic_load(&test_dom.shortages), 2);
	test_clock_pass(1000);
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4096));
	CU_ASSERT_EQUAL(atomic_load(&test_dom.shortages), 3);
	refuse_reg = false;
	test_clock_pass(1000);
	b = fab_pool_get_spare(pool, 4096);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_FALSE(fab_pool_short(pool));
	fab_pool_put(b);
	while ((b = list)) {
		list = b->next;
		fab_pool_put(b);
	}
	test_clock_release();
	pool_end(pool);
}

static void test_huge(void)
{
	for (int absent = 0; absent < 2; absent++) {
		struct fab_pool *pool = pool_new(0, true);
		struct fab_buf *a, *b;

		no_huge = absent;
		said[0] = 0;
		a = fab_pool_get(pool, 4096);
		b = fab_pool_get(pool, 4 * MiB);
		CU_ASSERT_PTR_NOT_NULL_FATAL(a);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		CU_ASSERT_EQUAL(huge_tries, 2);
		CU_ASSERT_EQUAL(a->mr->len % (2 * MiB), 0);
		/* The machine may have none, too. */
		if (absent)
			CU_ASSERT_EQUAL(stats(pool).bytes_huge, 0);
		if (stats(pool).bytes_huge)
			CU_ASSERT_EQUAL(stats(pool).bytes_huge, 6 * MiB);
		if (!stats(pool).bytes_huge) {
			/* Once. */
			CU_ASSERT_PTR_NOT_NULL(strstr(said, "vm.nr_hugepages"));
			CU_ASSERT_PTR_EQUAL(strchr(said, '\n'),
					    strrchr(said, '\n'));
		}
		fab_pool_put(a);
		fab_pool_put(b);
		pool_end(pool);
	}
	/* A size that does not fill them. */
	struct fab_pool_params p = { .also = 20032, .huge_pages = true };
	struct fab_pool *pool;
	struct fab_buf *a;

	maps = unmaps = 0;
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	a = fab_pool_get(pool, 20000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	CU_ASSERT_EQUAL(a->mr->len, 2 * MiB);
	fab_pool_put(a);
	fab_pool_destroy(pool);
	CU_ASSERT_EQUAL(maps, unmaps);
	/* Not asked for: not tried. */
	pool = pool_new(0, false);

	fab_pool_put(fab_pool_get(pool, 4 * MiB));
	CU_ASSERT_EQUAL(huge_tries, 0);
	pool_end(pool);
}

/* A size more has buffers of its own, as long as it says, and of no other. */
static void test_also(void)
{
	static const struct {
		size_t also, ask, get, promised;
	} t[] = {
		{ 4608, 4096, 4096, 4608 },
		{ 4608, 4097, 4608, 4608 },
		{ 4608, 4608, 4608, 4608 },
		{ 4608, 4609, 16 * KiB, 4608 },
		{ 4612, 4612, 4672, 4672 },
		{ 8 * KiB, 8 * KiB, 8 * KiB, 8 * KiB },
		{ 8256, 8256, 8256, 4 * KiB },
		{ 20000, 16 * KiB, 16 * KiB, 4 * KiB },
		{ 20000, 20000, 20032, 4 * KiB },
		{ 20000, 20033, 64 * KiB, 4 * KiB },
		{ 3 * MiB, MiB + 1, 3 * MiB, 4 * KiB },
		{ 3 * MiB, 4 * MiB, 4 * MiB, 4 * KiB },
		/* That is one already, or none can be. */
		{ 1024, 1, 4 * KiB, 4 * KiB },
		{ 4 * KiB, 1, 4 * KiB, 4 * KiB },
		{ 16 * KiB, 4097, 16 * KiB, 4 * KiB },
		{ 4 * MiB, 4 * MiB, 4 * MiB, 4 * KiB },
		{ 5 * MiB, 4 * MiB, 4 * MiB, 4 * KiB },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fab_pool_params p = { .also = t[i].also };
		struct fab_buf *a, *b, *held[3];
		struct fab_pool *pool;

		CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
		a = fab_pool_get(pool, t[i].ask);
		b = fab_pool_get(pool, t[i].ask);
		CU_ASSERT_PTR_NOT_NULL_FATAL(a);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		CU_ASSERT_EQUAL(a->size, t[i].get);
		CU_ASSERT_EQUAL(fab_pool_size(pool, t[i].ask), t[i].get);
		CU_ASSERT_EQUAL(fab_pool_promised(pool), t[i].promised);
		CU_ASSERT_EQUAL((uintptr_t)a->addr % 64, 0);
		CU_ASSERT_EQUAL(a->mr->len % 4096, 0);
		CU_ASSERT_TRUE((char *)a->addr + a->size <=
			       (char *)a->mr->addr + a->mr->len);
		CU_ASSERT_EQUAL(stats(pool).bytes_in_use, 2 * t[i].get);
		memset(a->addr, 1, a->size);
		memset(b->addr, 2, b->size);
		CU_ASSERT_EQUAL(((char *)a->addr)[a->size - 1], 1);
		fab_pool_put(a);
		fab_pool_put(b);
		CU_ASSERT_EQUAL(stats(pool).bytes_in_use, 0);
		CU_ASSERT_TRUE(fab_pool_promise(pool, 1));
		CU_ASSERT_EQUAL(stats(pool).bytes_in_use, t[i].promised);
		fab_pool_release(pool, 1);
		CU_ASSERT_EQUAL(stats(pool).bytes_held % 4096, 0);
		CU_ASSERT_EQUAL(stats(pool).gets, 3);
		fab_pool_destroy(pool);
		/* With less than a slab, all but what is no buffer. */
		p.max_bytes = (t[i].get * 3 + 4095) / 4096 * 4096;
		CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
		for (unsigned int n = 0; n < 3; n++)
			held[n] = fab_pool_get(pool, t[i].ask);
		CU_ASSERT_PTR_NOT_NULL(held[2]);
		CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4 * MiB));
		for (unsigned int n = 0; n < 3; n++)
			fab_pool_put(held[n]);
		fab_pool_destroy(pool);
	}
}

static void test_arguments(void)
{
	struct fab_pool *pool;

	CU_ASSERT_EQUAL(fab_pool_create(NULL, NULL, &pool), -EINVAL);
	CU_ASSERT_EQUAL(fab_pool_create(&test_dom, NULL, NULL), -EINVAL);
	CU_ASSERT_EQUAL(fab_pool_create(&test_dom, NULL, &pool), 0);
	fab_pool_destroy(pool);
	fab_pool_destroy(NULL);
}

/* ---- Threads --------------------------------------------------------- */

#define THREADS 4
#define HELD 8

struct worker {
	pthread_t thread;
	struct fab_pool *pool;
	unsigned int seed;
	size_t max_size;
	unsigned int refused, spoiled;
};

/*
 * Holds up to HELD buffers, marks each with its own mark and sees the mark
 * again when it gives it back.
 */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct fab_buf *held[HELD] = { NULL };
	uint32_t mark[HELD];

	for (int i = 0; i < 20000; i++) {
		unsigned int r = rand_r(&w->seed), slot = r % HELD;
		struct fab_buf *b = held[slot];

		if (b) {
			uint32_t *p = b->addr;

			w->spoiled += p[0] != mark[slot] || p[1] != mark[slot];
			fab_pool_put(b);
			held[slot] = NULL;
			continue;
		}
		b = fab_pool_get(w->pool, 1 + (r >> 4) % w->max_size);
		held[slot] = b;
		if (b) {
			mark[slot] = r ^ (uint32_t)(uintptr_t)w;
			((uint32_t *)b->addr)[0] = mark[slot];
			((uint32_t *)b->addr)[1] = mark[slot];
		} else {
			w->refused++;
		}
	}
	for (int i = 0; i < HELD; i++)
		fab_pool_put(held[i]);
	return NULL;
}

static void run_workers(struct fab_pool *pool, struct worker *w, size_t max)
{
	for (unsigned int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .pool = pool,
					.seed = i + 1,
					.max_size = max };
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		CU_ASSERT_EQUAL(w[i].spoiled, 0);
	}
	CU_ASSERT_EQUAL(stats(pool).bytes_in_use, 0);
	CU_ASSERT(stats(pool).bytes_in_use_peak <= stats(pool).limit);
	CU_ASSERT(stats(pool).bytes_held <= stats(pool).limit);
}

/* Exactly as many buffers as the threads can hold: none may be refused. */
static void test_threads_exact(void)
{
	struct fab_pool *pool = pool_new(THREADS * HELD * 4 * KiB, false);
	struct worker w[THREADS];

	run_workers(pool, w, 4096);
	for (unsigned int i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(w[i].refused, 0);
	CU_ASSERT_EQUAL(stats(pool).refused, 0);
	pool_end(pool);
}

/* All classes against a tight limit: growth, refusal and reclaim at once. */
static void test_threads_tight(void)
{
	struct fab_pool *pool = pool_new(3 * MiB, false);
	struct worker w[THREADS];
	uint64_t refused = 0;

	run_workers(pool, w, 600 * KiB);
	for (unsigned int i = 0; i < THREADS; i++)
		refused += w[i].refused;
	CU_ASSERT_EQUAL(stats(pool).refused, refused);
	pool_end(pool);
}

/* What one thread takes another gives back. */
struct ring {
	struct fab_pool *pool;
	struct fab_buf *_Atomic slot[16];
	atomic_bool failed;
};

static void *give_back(void *arg)
{
	struct ring *r = arg;

	for (unsigned int i = 0; i < 50000; i++) {
		struct fab_buf *b;

		while (!(b = atomic_exchange(&r->slot[i % 16], NULL)))
			if (r->failed || sched_yield())
				return NULL;
		if (*(unsigned int *)b->addr != i)
			r->failed = true;
		fab_pool_put(b);
	}
	return NULL;
}

static void test_handover(void)
{
	struct ring r = { .pool = pool_new(32 * 4 * KiB, false) };
	pthread_t t;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, give_back, &r), 0);
	for (unsigned int i = 0; i < 50000 && !r.failed; i++) {
		struct fab_buf *b = fab_pool_get(r.pool, 4096);

		if (!b) {
			r.failed = true;
			break;
		}
		*(unsigned int *)b->addr = i;
		while (atomic_load(&r.slot[i % 16]) && !r.failed)
			sched_yield();
		atomic_store(&r.slot[i % 16], b);
	}
	pthread_join(t, NULL);
	CU_ASSERT_FALSE(r.failed);
	for (int i = 0; i < 16; i++)
		fab_pool_put(r.slot[i]);
	CU_ASSERT_EQUAL(stats(r.pool).slabs, 1);
	pool_end(r.pool);
}

/* What is promised is there, and comes back there, whoever takes all else. */
static void test_promise(void)
{
	struct fab_pool_params p = { .max_bytes = 4 * MiB, .reserve = MiB };
	struct fab_pool *pool = pool_new(MiB, false);
	static struct fab_buf *all[1024];
	struct fab_buf *b[3];
	unsigned int n = 0;

	pool_end(pool);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	CU_ASSERT_PTR_NULL(fab_pool_get_promised(pool));
	CU_ASSERT_TRUE(fab_pool_promise(pool, 3));
	CU_ASSERT_FALSE(fab_pool_short(pool));
	for (size_t size = MiB; size >= 4 * KiB; size /= 4)
		while (n < 1024 && (all[n] = fab_pool_get(pool, size)))
			n++;
	CU_ASSERT_TRUE_FATAL(n < 1024);
	CU_ASSERT_TRUE(fab_pool_short(pool));
	CU_ASSERT_FALSE(fab_pool_promise(pool, 1));
	for (unsigned int turn = 0; turn < 3; turn++) {
		for (unsigned int i = 0; i < 3; i++) {
			b[i] = fab_pool_get_promised(pool);
			CU_ASSERT_PTR_NOT_NULL_FATAL(b[i]);
			memset(b[i]->addr, 1, FAB_POOL_PROMISED);
		}
		CU_ASSERT_PTR_NULL(fab_pool_get_promised(pool));
		for (unsigned int i = 0; i < 3; i++)
			fab_pool_put(b[i]);
		/* Nobody else has had them. */
		CU_ASSERT_PTR_NULL(fab_pool_get(pool, 1));
	}
	/* Given up while it is lent. */
	b[0] = fab_pool_get_promised(pool);
	fab_pool_release(pool, 3);
	fab_pool_put(b[0]);
	CU_ASSERT_PTR_NULL(fab_pool_get_promised(pool));
	while (n)
		fab_pool_put(all[--n]);
	CU_ASSERT_EQUAL(stats(pool).bytes_in_use, 0);
	pool_end(pool);
}

/* A promised buffer of which a device does not let go: nobody gets it again, and
 * another one takes its place, as soon as there is one. */
static void test_promise_lost(void)
{
	struct fab_pool_params p = { .max_bytes = 4 * MiB, .reserve = MiB };
	struct fab_pool *pool = pool_new(MiB, false);
	static struct fab_buf *all[1024];
	struct fab_buf *lost[2], *b;
	unsigned int n = 0;

	pool_end(pool);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(&test_dom, &p, &pool), 0);
	CU_ASSERT_TRUE(fab_pool_promise(pool, 2));
	lost[0] = fab_pool_get_promised(pool);
	lost[1] = fab_pool_get_promised(pool);
	fab_mr_quarantine(lost[0]->mr, lost[0]->addr, lost[0]->size);
	fab_pool_put(lost[0]);
	b = fab_pool_get_promised(pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_PTR_NOT_EQUAL(b, lost[0]);
	fab_pool_put(b);
	/* And when all is in use. */
	for (size_t size = MiB; size >= 4 * KiB; size /= 4)
		while (n < 1024 && (all[n] = fab_pool_get(pool, size)))
			n++;
	CU_ASSERT_TRUE_FATAL(n < 1024);
	fab_mr_quarantine(lost[1]->mr, lost[1]->addr, lost[1]->size);
	fab_pool_put(lost[1]);
	b = fab_pool_get_promised(pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_PTR_NOT_EQUAL(b, lost[1]);
	CU_ASSERT_PTR_NULL(fab_pool_get_promised(pool));
	fab_pool_put(all[--n]);
	lost[0] = fab_pool_get_promised(pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(lost[0]);
	CU_ASSERT_PTR_NULL(fab_pool_get_promised(pool));
	fab_pool_put(b);
	fab_pool_put(lost[0]);
	fab_pool_release(pool, 2);
	CU_ASSERT_PTR_NULL(fab_pool_get_promised(pool));
	while (n)
		fab_pool_put(all[--n]);
	CU_ASSERT_EQUAL(stats(pool).bytes_in_use, 0);
	pool_end(pool);
}

/* A slab of which a device does not let go stays where it is, and counts. */
static void test_held(void)
{
	struct fab_pool *pool = pool_new(4 * MiB, false);
	struct fab_buf *b = fab_pool_get(pool, MiB);
	uint8_t *addr;
	size_t held;

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	addr = b->addr;
	fab_pool_put(b);
	held = stats(pool).bytes_held;
	holds_on = true;
	/* Of another class: its slab would have to go. */
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4 * MiB));
	CU_ASSERT_EQUAL(deregs, 1);
	CU_ASSERT_EQUAL(unmaps, 0);
	CU_ASSERT_EQUAL(stats(pool).bytes_held, held);
	/* It is still mapped. */
	CU_ASSERT_EQUAL(msync(addr, MiB, MS_ASYNC), 0);
	holds_on = false;
	fab_pool_destroy(pool);
}

static const struct unit_test tests[] = {
	{ "classes", test_classes },
	{ "also", test_also },
	{ "disjoint", test_disjoint },
	{ "reuse", test_reuse },
	{ "limit", test_limit },
	{ "reserve", test_reserve },
	{ "promise", test_promise },
	{ "promise lost", test_promise_lost },
	{ "held", test_held },
	{ "spare small", test_spare_small },
	{ "larger", test_larger },
	{ "reclaim", test_reclaim },
	{ "reclaim exact", test_reclaim_exact },
	{ "no-registration", test_no_registration },
	{ "huge", test_huge },
	{ "arguments", test_arguments },
	{ "threads-exact", test_threads_exact },
	{ "threads-tight", test_threads_tight },
	{ "handover", test_handover },
	{ NULL, NULL },
};

UNIT_MAIN("pool", tests)
