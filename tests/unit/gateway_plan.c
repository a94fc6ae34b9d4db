/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rpcrdma-gateway plans for a Call: which result has memory of its own, and
 * how much there has to be for the Reply.
 */
#include "base/be.h"
#include "gateway/client.h"
#include "unit.h"

/* ---- In the place of the rest of the gateway ---------------------------- */

static size_t most = 1 << 20, sink_len[ULB_MAX_ITEMS];
static unsigned int released;
static bool no_memory;
static int64_t taken;

void gw_shorten_counts(struct gw_call *call)
{
}

size_t gw_sinks_most(const struct gateway *gw)
{
	return most;
}

bool gw_sink_get(struct gw_call *call, unsigned int i, size_t len, bool must)
{
	if (!no_memory)
		sink_len[i] = len;
	return !no_memory;
}

void gw_sinks_release(struct gw_call *call)
{
	released++;
}

bool gw_account_take(struct gw_account *a, size_t n, size_t all)
{
	taken += (int64_t)n;
	return true;
}

void gw_account_force(struct gw_account *a, size_t n)
{
	taken += (int64_t)n;
}

void gw_account_give(struct gw_account *a, size_t n)
{
	taken -= (int64_t)n;
}

/* ---- Calls -------------------------------------------------------------- */

static struct gateway gw;
static struct gw_client client = { .gw = &gw };
static struct rt_request rq;
static struct gw_call call;

static uint8_t *word(uint8_t *at, uint32_t v)
{
	be32_put(at, v);
	return at + 4;
}

/* A READ of NFSv3 of @count octets. */
static bool plan_read(uint32_t count)
{
	static uint8_t msg[256];
	const uint32_t head[] = { 7, 0, 2, 100003, 3, 6, 0, 0, 0, 0 };
	uint8_t *at = msg;
	struct iovec iov;

	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		at = word(at, head[i]);
	at = word(at, 4);
	at = word(at, 0x12345678); /* file handle */
	at = word(at, 0);
	at = word(at, 0);
	at = word(at, count);
	memset(&call, 0, sizeof(call));
	memset(&rq, 0, sizeof(rq));
	memset(sink_len, 0, sizeof(sink_len));
	call.c = &client;
	call.rq = &rq;
	call.rec.len = (size_t)(at - msg);
	call.rec.npieces = 1;
	call.rec.piece[0] =
		(struct rt_piece){ .addr = msg, .len = call.rec.len };
	iov = (struct iovec){ msg, call.rec.len };
	ulb_call_head(&iov, 1, &call.head);
	CU_ASSERT_TRUE_FATAL(call.head.readable);
	return gw_call_plan(&call);
}

static void begin(void)
{
	struct gw_options *o = &gw.opt;

	memset(o, 0, sizeof(*o));
	rt_config_defaults(&o->rdma.config);
	o->rdma.config.max_message = 2u << 20;
	o->reduce_min = 1024;
	no_memory = false;
	released = 0;
}

/* A long one has memory of its own, a short one comes with the Reply, which has
 * to be as much longer. */
static void test_read(void)
{
	size_t head;

	begin();
	CU_ASSERT_TRUE(plan_read(100000));
	CU_ASSERT_EQUAL(rq.nsinks, 1);
	CU_ASSERT_EQUAL(sink_len[0], 100000);
	CU_ASSERT_EQUAL(rq.nitems, 0);
	CU_ASSERT_FALSE(rq.once);
	head = rq.reply_max;
	CU_ASSERT_TRUE(head > 0 && head < 1024);
	CU_ASSERT_TRUE(plan_read(1024));
	CU_ASSERT_EQUAL(rq.nsinks, 1);
	CU_ASSERT_EQUAL(rq.reply_max, head);
	CU_ASSERT_TRUE(plan_read(1023));
	CU_ASSERT_EQUAL(rq.nsinks, 0);
	CU_ASSERT_EQUAL(sink_len[0], 0);
	CU_ASSERT_EQUAL(rq.reply_max, head + 1024);
	/* As much memory as one Call may have, and no more. */
	CU_ASSERT_TRUE(plan_read((uint32_t)most));
	CU_ASSERT_EQUAL(rq.nsinks, 1);
	CU_ASSERT_TRUE(plan_read((uint32_t)most + 1));
	CU_ASSERT_EQUAL(rq.nsinks, 0);
	CU_ASSERT_EQUAL(rq.reply_max, head + most + 4);
	/* No Reply is longer than a message. */
	CU_ASSERT_TRUE(plan_read(3u << 20));
	CU_ASSERT_EQUAL(rq.reply_max, 2u << 20);
	gw.opt.rdma.config.call_write_chunks = 0;
	CU_ASSERT_TRUE(plan_read(100000));
	CU_ASSERT_EQUAL(rq.nsinks, 0);
	begin();
	no_memory = true;
	CU_ASSERT_FALSE(plan_read(100000));
	CU_ASSERT_EQUAL(released, 1);
}

/* What it is charged is what its Reply may need, then what it was. */
static void test_charge(void)
{
	int64_t longest;

	begin();
	CU_ASSERT_TRUE(plan_read(1000));
	taken = 0;
	CU_ASSERT_TRUE(gw_call_charge(&call));
	longest = taken;
	CU_ASSERT_TRUE(longest > (int64_t)rq.reply_max);
	rq.reply_len = rq.reply_max - 500;
	gw_call_recharge(&call);
	CU_ASSERT_EQUAL(taken, longest - 500);
	rq.reply_len = rq.reply_max + 300;
	gw_call_recharge(&call);
	CU_ASSERT_EQUAL(taken, longest + 300);
	CU_ASSERT_EQUAL(call.charge, (size_t)taken);
}

static const struct unit_test tests[] = {
	{ "read", test_read },
	{ "charge", test_charge },
	{ NULL, NULL },
};

UNIT_MAIN("gateway-plan", tests)
