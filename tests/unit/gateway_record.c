/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What records of rpcrdma-gateway have of the memory.
 */
#include "gateway/client.h"
#include "loop/loop.h"
#include "unit.h"

/* ---- In the place of the rest of the gateway ---------------------------- */

void gw_client_get(struct gw_client *c)
{
}

void gw_client_put(struct gw_client *c)
{
}

/* ---- Tests -------------------------------------------------------------- */

static struct gateway gw;
static struct gw_client c = { .gw = &gw };
static struct fab_domain *dom;

static void begin(const struct fab_pool_params *params)
{
	struct fab_domain_params dp = { 0 };

	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, &dp, &dom), 0);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(dom, params, &gw.pool), 0);
	gw_memory_init(&gw.memory, 16u << 20, 2);
	c.account.memory = &gw.memory;
}

static void end(void)
{
	CU_ASSERT_EQUAL(atomic_load(&c.account.used), 0);
	CU_ASSERT_EQUAL(atomic_load(&gw.memory.lent), 0);
	fab_pool_destroy(gw.pool);
	fab_domain_close(dom);
}

/* What the account has of a buffer is its size, whichever classes the pool has, and
 * comes back with it. */
static void test_account(void)
{
	static const size_t sizes[] = { 1, 4096, 4097, 4608, 4609, 20000 };
	struct fab_pool_params params = { .also = 4608 };
	struct fab_buf *b;

	begin(&params);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		b = gw_mem_get(&c, sizes[i], 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		CU_ASSERT_EQUAL(atomic_load(&c.account.used), b->size);
		gw_mem_put(&c, b, sizes[i]);
		CU_ASSERT_EQUAL(atomic_load(&c.account.used), 0);
	}
	end();
}

/* Where there is none that is smaller the account has no more of it: else who waits
 * would have borrowed without knowing. */
static void test_large(void)
{
	struct fab_pool_params params = { .max_bytes = 8u << 20 };
	struct fab_buf *b[2];

	begin(&params);
	for (unsigned int i = 0; i < 2; i++) {
		b[i] = fab_pool_get(gw.pool, FAB_POOL_MAX_BUF);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b[i]);
	}
	/* There is none at all: nothing has changed. */
	CU_ASSERT_PTR_NULL(gw_mem_get(&c, 20000, 0));
	CU_ASSERT_EQUAL(atomic_load(&c.account.used), 0);
	fab_pool_put(b[1]);
	b[1] = gw_mem_get(&c, 20000, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b[1]);
	CU_ASSERT_EQUAL(b[1]->size, FAB_POOL_MAX_BUF);
	CU_ASSERT_EQUAL(atomic_load(&c.account.used), 65536);
	gw_mem_put(&c, b[1], 20000);
	fab_pool_put(b[0]);
	end();
}

/* Fragments of few octets, whose marks are closed up, in two buffers. */
static void test_crumbs(void)
{
	struct fab_pool_params params = { 0 };
	struct gw_record r = { 0 };
	uint8_t out[600];
	struct gw_buf *b;

	begin(&params);
	for (unsigned int k = 0; k < 2; k++) {
		b = gw_buf_get(&c, 60000, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		for (size_t i = 0; i < 3000; i++)
			b->data[i] = (uint8_t)(i / 5);
		for (size_t i = 0; i < 300; i++)
			CU_ASSERT_TRUE(
				gw_record_add(&r, b, b->data + 5 * i + 4, 1));
		gw_buf_put(b);
	}
	CU_ASSERT_EQUAL(r.len, 600);
	CU_ASSERT_EQUAL(r.npieces, 2);
	CU_ASSERT_EQUAL(r.nhold, 2);
	gw_record_peek(&r, out, 600);
	for (size_t i = 0; i < 600; i++)
		CU_ASSERT_EQUAL(out[i], (uint8_t)(i % 300));
	gw_record_release(&r);
	end();
}

static const struct unit_test tests[] = {
	{ "account", test_account },
	{ "large", test_large },
	{ "crumbs", test_crumbs },
	{ NULL, NULL },
};

UNIT_MAIN("gateway-record", tests)
