/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What records of rpcrdma-gateway have of the memory.
 */
#include "gateway/client.h"
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

static const struct unit_test tests[] = {
	{ "held", test_held },
	{ NULL, NULL },
};

UNIT_MAIN("gateway-record", tests)
