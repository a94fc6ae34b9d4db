/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Call belongs to the connection on which it came first, until that is closed in
 * order.
 */
#include "ntirpc/replay.h"

#include "unit.h"

#define MOST (NRT_REPLAY_SETS * NRT_REPLAY_WAYS)

static struct nrt_replay replay;

static uint64_t conn_of(uint64_t sum, uint64_t conn)
{
	return nrt_replay_conn(&replay, sum, conn);
}

static void first(void)
{
	nrt_replay_init(&replay);
	CU_ASSERT_TRUE(nrt_replay_empty(&replay));
	CU_ASSERT_EQUAL(conn_of(10, 1), 1);
	CU_ASSERT_EQUAL(conn_of(10, 1), 1);
	CU_ASSERT_EQUAL(conn_of(10, 2), 1);
	CU_ASSERT_EQUAL(conn_of(11, 2), 2);
	CU_ASSERT_EQUAL(conn_of(11, 3), 2);
	/* The same set, another Call. */
	CU_ASSERT_EQUAL(conn_of(10 + NRT_REPLAY_SETS, 3), 3);
	CU_ASSERT_EQUAL(conn_of(0, 3), 3);
	CU_ASSERT_EQUAL(conn_of(0, 4), 3);
	CU_ASSERT_FALSE(nrt_replay_empty(&replay));
	nrt_replay_destroy(&replay);
}

static void closed(void)
{
	nrt_replay_init(&replay);
	nrt_replay_close(&replay, 1);
	CU_ASSERT_EQUAL(conn_of(10, 1), 1);
	CU_ASSERT_EQUAL(conn_of(11, 1), 1);
	CU_ASSERT_EQUAL(conn_of(12, 2), 2);
	/* This one has been sent again, so it may be once more. */
	CU_ASSERT_EQUAL(conn_of(11, 2), 1);
	nrt_replay_close(&replay, 1);
	CU_ASSERT_EQUAL(conn_of(10, 3), 3);
	CU_ASSERT_EQUAL(conn_of(11, 3), 1);
	CU_ASSERT_EQUAL(conn_of(12, 3), 2);
	nrt_replay_close(&replay, 3);
	CU_ASSERT_FALSE(nrt_replay_empty(&replay));
	nrt_replay_destroy(&replay);
	/* With the last Call nothing is left. */
	nrt_replay_init(&replay);
	for (uint64_t sum = 0; sum < 2 * MOST; sum++)
		CU_ASSERT_EQUAL(conn_of(sum, 7), 7);
	CU_ASSERT_FALSE(nrt_replay_empty(&replay));
	nrt_replay_close(&replay, 7);
	CU_ASSERT_TRUE(nrt_replay_empty(&replay));
	nrt_replay_destroy(&replay);
}

/* The newest are known, and only the oldest of a set are not. */
static void full(void)
{
	uint64_t sum;

	nrt_replay_init(&replay);
	for (sum = 0; sum < MOST + NRT_REPLAY_SETS; sum++)
		conn_of(sum, 1);
	for (sum = NRT_REPLAY_SETS; sum < MOST + NRT_REPLAY_SETS; sum++)
		CU_ASSERT_EQUAL(conn_of(sum, 2), 1);
	CU_ASSERT_EQUAL(conn_of(0, 2), 2);
	CU_ASSERT_EQUAL(conn_of(NRT_REPLAY_SETS, 3), 3);
	nrt_replay_destroy(&replay);
}

static const struct unit_test tests[] = {
	{ "first", first },
	{ "closed", closed },
	{ "full", full },
	{ NULL, NULL },
};

UNIT_MAIN("ntirpc-replay", tests)
