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

static struct fab_buf fab[3] = { { .size = 4096 },
				 { .size = 65536 },
				 { .size = 1 << 20 } };
static struct gw_buf buf[3] = { { .fab = &fab[0] },
				{ .fab = &fab[1] },
				{ .fab = &fab[2] } };

/* Its buffers, and the one that is received into: each once. */
static void test_held(void)
{
	struct gw_record r = { 0 };

	/* A client that is idle has nothing, to the octet: else its next buffer
	 * would not be its first [share.h]. */
	CU_ASSERT_EQUAL(gw_record_held(&r, NULL), 0);
	CU_ASSERT_EQUAL(gw_record_held(&r, &buf[1]), 65536);
	r.hold[0] = &buf[0];
	r.hold[1] = &buf[1];
	r.nhold = 2;
	CU_ASSERT_EQUAL(gw_record_held(&r, NULL), 4096 + 65536);
	CU_ASSERT_EQUAL(gw_record_held(&r, &buf[1]), 4096 + 65536);
	CU_ASSERT_EQUAL(gw_record_held(&r, &buf[2]), 4096 + 65536 + (1 << 20));
}

/* What the share counts for a buffer is its size, whichever classes the pool has,
 * and comes back with it. */
static void test_share(void)
{
	static const size_t sizes[] = { 1, 4096, 4097, 4608, 4609, 20000 };
	struct fab_pool_params params = { .also = 4608 };
	struct fab_domain_params dp = { 0 };
	struct fab_domain *dom;
	struct gateway gw = { 0 };
	struct gw_client c = { .gw = &gw };
	struct fab_buf *b;

	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, &dp, &dom), 0);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(dom, &params, &gw.pool), 0);
	gw_shares_init(&gw.shares, 1u << 20, 65536);
	gw_share_join(&gw.shares, &c.share);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		b = gw_mem_get(&c, sizes[i], GW_MEM_CALL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		CU_ASSERT_EQUAL(atomic_load(&c.share.used), b->size);
		gw_mem_put(&c, b);
		CU_ASSERT_EQUAL(atomic_load(&c.share.used), 0);
	}
	gw_share_leave(&c.share);
	gw_shares_fini(&gw.shares);
	fab_pool_destroy(gw.pool);
	fab_domain_close(dom);
}

/* Where there is none that is smaller it is the record that has all of it. */
static void test_large(void)
{
	struct fab_pool_params params = { .max_bytes = 8u << 20 };
	struct fab_domain_params dp = { 0 };
	struct fab_domain *dom;
	struct gateway gw = { 0 };
	struct gw_client c = { .gw = &gw };
	struct fab_buf *b[2];

	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, &dp, &dom), 0);
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(dom, &params, &gw.pool), 0);
	gw_shares_init(&gw.shares, 8u << 20, 65536);
	gw_share_join(&gw.shares, &c.share);
	for (unsigned int i = 0; i < 2; i++) {
		b[i] = fab_pool_get(gw.pool, FAB_POOL_MAX_BUF);
		CU_ASSERT_PTR_NOT_NULL_FATAL(b[i]);
	}
	fab_pool_put(b[1]);
	b[1] = gw_mem_get(&c, 20000, GW_MEM_RECORD);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b[1]);
	CU_ASSERT_EQUAL(b[1]->size, FAB_POOL_MAX_BUF);
	CU_ASSERT_EQUAL(atomic_load(&c.share.used), b[1]->size);
	CU_ASSERT_EQUAL(gw_share_in_records(&c.share), b[1]->size);
	CU_ASSERT_EQUAL(atomic_load(&gw.shares.in_used), b[1]->size);
	gw_share_done_in(&c.share, 0);
	CU_ASSERT_EQUAL(atomic_load(&gw.shares.in_used), 0);
	gw_mem_put(&c, b[1]);
	fab_pool_put(b[0]);
	gw_share_leave(&c.share);
	gw_shares_fini(&gw.shares);
	fab_pool_destroy(gw.pool);
	fab_domain_close(dom);
}

static const struct unit_test tests[] = {
	{ "held", test_held },
	{ "share", test_share },
	{ "large", test_large },
	{ NULL, NULL },
};

UNIT_MAIN("gateway-record", tests)
