/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xcharext between two real ends: Receives that change under load, one end
 * without it, together with rtrext, what is done for busy and idle peers, and
 * that the memory comes back. rt_watch looks at every message.
 */
#include "rt_pair.h"
#include "test_clock.h"
#include "unit.h"
#include "rpcrdma/xchar.h"

#define BATCH 24
#define LOOK 256
#define IDLE_MS 1000

static const struct rt_config on = { .extensions = RT_EXT_XCHAR,
				     .credits = 8,
				     .reverse = RDMA2_RVRSDIR_GENL,
				     .busy_recv_size = 65536,
				     .idle_recv_ms = IDLE_MS,
				     .request_user_size = 8 };

static uint32_t rng(uint32_t *s)
{
	*s = *s * 1664525 + 1013904223;
	return *s >> 8;
}

static struct rt_conn_info info(struct rt_conn *c)
{
	struct rt_conn_info i;

	rt_conn_info(c, &i);
	return i;
}

/* Messages of the extension that both ends have sent. */
static uint64_t messages(const struct rt_pair *p)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < p->watch.nends; i++)
		for (unsigned int k = WATCH_INITXCH; k <= WATCH_UPDXCH; k++)
			n += p->watch.end[i].xcount[k];
	return n;
}

/* Many Calls of all sizes at a time, in both directions; are all right? */
static bool load(struct rt_pair *p, uint32_t *xid, uint32_t *seed)
{
	static const size_t size[] = { 0,    100,   1000,  3000,
				       5000, 20000, 60000, 100000 };
	static struct rt_rpc r[BATCH];
	bool ok = true;

	for (unsigned int i = 0; i < BATCH; i++) {
		struct rt_conn *c = i % 6 == 5 ? p->server : p->client;
		uint32_t len = (uint32_t)size[rng(seed) % 8];
		unsigned int items = rng(seed) % 3;

		rt_rpc_init(p, c, &r[i], ++*xid, size[rng(seed) % 8],
			    rng(seed) % 2, 64 + size[rng(seed) % 8], items, len,
			    rng(seed) % (items + 1), len);
		rt_rpc_submit(c, &r[i]);
	}
	rt_pair_run(p);
	for (unsigned int i = 0; i < BATCH; i++) {
		ok = rt_rpc_check(&r[i]) && ok;
		rt_rpc_free(&r[i]);
	}
	return ok;
}

/* So long that both ends ask for shorter Receives: one that is asked is not idle. */
static void do_nothing(struct rt_pair *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		test_clock_pass(2 * IDLE_MS);
		rt_pair_run(p);
	}
}

/* Receives of both ends grow while there is much to do, and then there is not. */
static void under_load(void)
{
	uint32_t xid = 0, seed = 7;
	struct rt_stats s;
	struct rt_pair p;

	test_clock_hold(); /* A look that took too long would tell nothing. */
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &on, &on, NULL));
	CU_ASSERT_EQUAL(info(p.client).extensions, RT_EXT_XCHAR);
	for (unsigned int i = 0; i < 200; i++) {
		if (i % 20 == 19)
			do_nothing(&p);
		CU_ASSERT_TRUE_FATAL(load(&p, &xid, &seed));
		/* What one has announced is what the other knows. */
		CU_ASSERT_EQUAL(info(p.client).ours.recv_size,
				info(p.server).theirs.recv_size);
		CU_ASSERT_EQUAL(info(p.server).ours.recv_size,
				info(p.client).theirs.recv_size);
	}
	s = rt_pair_stats(p.server_inst);
	CU_ASSERT_TRUE(s.xchar_requests_sent >= 10);
	CU_ASSERT_TRUE(s.xchar_requests_received >= 5);
	CU_ASSERT_TRUE(s.xchar_updates_sent >= 5);
	CU_ASSERT_TRUE(s.xchar_updates_received >= 5);
	CU_ASSERT_EQUAL(s.errors_sent + s.errors_received, 0);
	rt_pair_close(&p);
}

/* One end has it, or neither, or both and rtrext besides. */
static void mixed(void)
{
	static const unsigned int ext[][2] = {
		{ 0, 0 },
		{ RT_EXT_XCHAR, 0 },
		{ 0, RT_EXT_XCHAR },
		{ RT_EXT_XCHAR | RT_EXT_RTR, RT_EXT_RTR },
		{ RT_EXT_XCHAR, RT_EXT_XCHAR | RT_EXT_RTR },
		{ RT_EXT_XCHAR | RT_EXT_RTR, RT_EXT_XCHAR | RT_EXT_RTR },
	};

	for (unsigned int k = 0; k < sizeof(ext) / sizeof(ext[0]); k++) {
		struct rt_config cfg[2] = { on, on };
		uint32_t xid = 0, seed = k;
		struct rt_pair p;

		cfg[0].extensions = ext[k][0];
		cfg[1].extensions = ext[k][1];
		test_clock_hold();
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg[0], &cfg[1], NULL));
		for (unsigned int i = 0; i < 30; i++) {
			if (i % 15 == 14)
				do_nothing(&p);
			CU_ASSERT_TRUE_FATAL(load(&p, &xid, &seed));
		}
		CU_ASSERT_EQUAL(info(p.client).extensions & RT_EXT_XCHAR,
				ext[k][0] & ext[k][1] & RT_EXT_XCHAR);
		if (!(ext[k][0] & ext[k][1] & RT_EXT_XCHAR))
			CU_ASSERT_EQUAL(messages(&p), 0);
		/* Receives with a structure keep their size. */
		if (ext[k][0] & RT_EXT_RTR)
			CU_ASSERT_EQUAL(info(p.client).ours.recv_size, 65536);
		if (ext[k][1] & RT_EXT_RTR)
			CU_ASSERT_EQUAL(info(p.server).ours.recv_size, 65536);
		rt_pair_close(&p);
	}
}

static size_t in_use(struct rt_instance *inst)
{
	struct fab_pool_stats s;

	fab_pool_get_stats(rt_instance_pool(inst), &s);
	return s.bytes_in_use;
}

/* Enough for all Receives to have been posted anew. */
static void turn_over(struct rt_pair *p, uint32_t *xid)
{
	for (unsigned int i = 0; i < 30; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(p, p->client, ++*xid, 0, false, 64,
					   0, 0, 0, 0));
}

static void memory(void)
{
	uint32_t xid = 0;
	struct rt_pair p;
	size_t was;

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &on, &on, NULL));
	turn_over(&p, &xid);
	was = in_use(p.server_inst);
	for (unsigned int i = 0; i < 2 * LOOK; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 8000, true, 64,
					   0, 0, 0, 0));
	CU_ASSERT_EQUAL(info(p.client).theirs.recv_size, 65536);
	CU_ASSERT_TRUE(p.pool ||
		       in_use(p.server_inst) >= was + 8 * (65536 - 4096));
	do_nothing(&p);
	turn_over(&p, &xid);
	CU_ASSERT_EQUAL(info(p.client).theirs.recv_size, 4096);
	CU_ASSERT_EQUAL(in_use(p.server_inst), was);
	rt_pair_close(&p);
}

/* ---- Policy ----------------------------------------------------------- */

/* WRITEs that a longer Receive would hold, and long Replies. */
static void busy(void)
{
	struct rt_config cfg = on;
	struct rt_stats a, b;
	struct rt_pair p;
	uint32_t xid = 0;

	cfg.busy_recv_size = 16384;
	test_clock_hold(); /* A look that took too long would tell nothing. */
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &cfg, NULL));
	/* Short ones are no reason, however many. */
	for (unsigned int i = 0; i < 2 * LOOK; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 100, true, 64,
					   0, 0, 0, 0));
	/* Nor are those that would not fit either. */
	for (unsigned int i = 0; i < 2 * LOOK; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 40000, true, 64,
					   0, 0, 0, 0));
	CU_ASSERT_EQUAL(info(p.server).ours.recv_size, 4096);
	CU_ASSERT_EQUAL(info(p.client).ours.recv_size, 4096);
	for (unsigned int i = 0; i < 2 * LOOK + 30; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 8000, true, 64,
					   0, 0, 0, 0));
	CU_ASSERT_EQUAL(info(p.server).ours.recv_size, 16384);
	CU_ASSERT_EQUAL(info(p.client).ours.recv_size, 4096);
	/* They go inline now. */
	a = rt_pair_stats(p.server_inst);
	for (unsigned int i = 0; i < 10; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 8000, true, 64,
					   0, 0, 0, 0));
	b = rt_pair_stats(p.server_inst);
	CU_ASSERT_EQUAL(a.read_chunks, b.read_chunks);
	CU_ASSERT_EQUAL(a.continued_received, b.continued_received);
	/* The same for Replies: the client is asked. */
	for (unsigned int i = 0; i < 2 * LOOK + 30; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 0, false, 9000,
					   0, 0, 0, 0));
	CU_ASSERT_EQUAL(info(p.client).ours.recv_size, 16384);
	a = rt_pair_stats(p.server_inst);
	CU_ASSERT_TRUE(a.xchar_requests_sent >= 1);
	for (unsigned int i = 0; i < 10; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 0, false, 9000,
					   0, 0, 0, 0));
	b = rt_pair_stats(p.server_inst);
	CU_ASSERT_EQUAL(a.continued_sent, b.continued_sent);
	CU_ASSERT_EQUAL(a.special_sent, b.special_sent);
	rt_pair_close(&p);
}

/* Nothing comes: both have the other lower its Receives, and raise them again
 * when there is something to do. */
static void idle(void)
{
	struct rt_config cfg = on;
	struct rt_pair p;
	uint32_t xid = 0;
	unsigned int n;

	cfg.recv_size = 16384;
	cfg.idle_recv_ms = 20;
	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &cfg, NULL));
	CU_ASSERT_EQUAL(info(p.client).theirs.recv_size, 16384);
	for (n = 0; n < 1000 && (info(p.client).theirs.recv_size != 4096 ||
				 info(p.server).theirs.recv_size != 4096);
	     n++) {
		test_clock_pass(10);
		rt_pair_run(&p);
	}
	CU_ASSERT_EQUAL(info(p.client).ours.recv_size, 4096);
	CU_ASSERT_EQUAL(info(p.server).ours.recv_size, 4096);
	for (unsigned int i = 0; i < 2 * LOOK + 30; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, ++xid, 10, false, 64,
					   0, 0, 0, 0));
	CU_ASSERT_EQUAL(info(p.client).ours.recv_size, 16384);
	CU_ASSERT_EQUAL(info(p.server).ours.recv_size, 16384);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "under load", under_load },
	{ "mixed", mixed },
	{ "memory", memory },
	{ "busy", busy },
	{ "idle", idle },
	{ NULL, NULL },
};

UNIT_MAIN("transport-xchar-pair", tests)
