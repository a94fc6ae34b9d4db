/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport against itself over the loop provider. */
#include <errno.h>

#include "rt_pair.h"
#include "unit.h"

static const struct rt_config with_user = {
	.request_user_size = sizeof(void *),
	.call_read_chunks = 4,
	.call_write_chunks = 4,
};

static void simple(void)
{
	struct rt_pair p;
	struct rt_stats s;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &with_user, NULL));
	for (uint32_t i = 0; i < 300; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 100 + i, i, false,
					   8 + i * 4, 0, 0, 0, 0));
	s = rt_pair_stats(p.client_inst);
	CU_ASSERT_EQUAL(s.calls_sent, 300);
	CU_ASSERT_EQUAL(s.inline_sent, 300);
	CU_ASSERT_EQUAL(s.replies_received, 300);
	CU_ASSERT_EQUAL(s.errors_received, 0);
	/* Calls and Replies carry the credits. */
	CU_ASSERT_EQUAL(s.grants_sent + s.grants_received, 0);
	rt_pair_close(&p);
}

static void formats(const struct rt_config *client,
		    const struct rt_config *server, uint64_t *special,
		    uint64_t *continued)
{
	static const size_t size[] = { 0,     1,     3700,  4000,   4090,
				       4096,  4100,  8000,  8176,   16384,
				       20000, 33333, 65536, 262144, 1000000 };
	struct rt_pair p;
	struct rt_stats s;
	uint32_t xid = 1;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, client, server, NULL));
	for (unsigned int i = 0; i < sizeof(size) / sizeof(*size); i++) {
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, size[i], false,
					   8, 0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, size[i], true,
					   8, 0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 4, false,
					   8 + (size[i] & ~3u), 0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 4, false, 64, 1,
					   (uint32_t)size[i], 1,
					   (uint32_t)size[i]));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, size[i], true,
					   64, 3, (uint32_t)size[i] / 4, 3,
					   (uint32_t)size[i]));
	}
	s = rt_pair_stats(p.client_inst);
	*special = s.special_sent + s.special_received;
	*continued = s.continued_sent + s.continued_received;
	CU_ASSERT_EQUAL(s.errors_received, 0);
	CU_ASSERT_TRUE(s.write_bytes > 0);
	CU_ASSERT_TRUE(s.read_bytes > 0);
	CU_ASSERT_TRUE(s.invalidations_received > 0);
	rt_pair_close(&p);
}

/* Of a message's header where a fragment follows. */
#define MIDDLE_LEN 20

/* [D8]: as many octets as the fragments of a Call have room for, no more. */
static void longest_continued(void)
{
	struct rt_config c = with_user;
	struct rt_stats s;
	struct rt_pair p;
	uint32_t xid = 1;

	for (unsigned int most = 1; most < 10; most += 4) {
		size_t len = (4096 - MIDDLE_LEN) * most - 17 * 4;

		c.max_fragments = most;
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &with_user, NULL));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, len, false, 8,
					   0, 0, 0, 0));
		s = rt_pair_stats(p.client_inst);
		CU_ASSERT_EQUAL(s.continued_sent, 1);
		CU_ASSERT_EQUAL(s.special_sent, 0);
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, len + 1, false,
					   8, 0, 0, 0, 0));
		s = rt_pair_stats(p.client_inst);
		CU_ASSERT_EQUAL(s.continued_sent, 1);
		CU_ASSERT_EQUAL(s.special_sent, 1);
		rt_pair_close(&p);
	}
}

static void every_format(void)
{
	struct rt_config c = with_user;
	uint64_t special, continued;

	formats(&c, &with_user, &special, &continued);
	CU_ASSERT_TRUE(special > 0 && continued > 0);
	c.call_format = RT_FORMAT_CONTINUED;
	formats(&c, &with_user, &special, &continued);
	CU_ASSERT_TRUE(special == 0 && continued > 0);
	c.call_format = RT_FORMAT_SPECIAL;
	formats(&c, &with_user, &special, &continued);
	CU_ASSERT_TRUE(special > 0 && continued == 0);
	/* Small segments: chunks of many of them. */
	c.call_format = RT_FORMAT_AUTO;
	c.max_segment_size = 131072;
	c.max_segments = 64;
	formats(&c, &c, &special, &continued);
	/* One credit each way: everything goes one by one. */
	c.credits = 1;
	formats(&c, &c, &special, &continued);
}

static void reverse(void)
{
	struct rt_config c = with_user;
	struct rt_pair p;

	for (unsigned int level = 0; level <= RDMA2_RVRSDIR_GENL; level++) {
		c.reverse = level;
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &with_user, NULL));
		/* Not before the second client message (4.3 [A7]). */
		CU_ASSERT_FALSE(rt_conn_can_call(p.server));
		CU_ASSERT_TRUE(
			rt_rpc_trip(&p, p.client, 1, 0, false, 8, 0, 0, 0, 0));
		CU_ASSERT_EQUAL(rt_conn_can_call(p.server), level > 0);
		if (level) {
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.server, 7, 100, false,
						   100, 0, 0, 0, 0));
			CU_ASSERT_EQUAL(p.reverse_calls, 1);
		}
		if (level >= RDMA2_RVRSDIR_CONT)
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.server, 8, 20000,
						   false, 20000, 0, 0, 0, 0));
		if (level == RDMA2_RVRSDIR_GENL)
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.server, 9, 90000, true,
						   64, 1, 90000, 1, 90000));
		rt_pair_close(&p);
	}
}

/* Many Calls at once, held and answered in another order. */
static void concurrency(void)
{
	struct rt_config c = with_user;
	struct rt_rpc r[100];
	struct rt_pair p;
	unsigned int answered = 0, rounds = 0;

	c.credits = 8;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &c, NULL));
	p.hold = true;
	for (uint32_t i = 0; i < 100; i++) {
		rt_rpc_init(&p, p.client, &r[i], 1000 + i, i * 97, i % 2, 400,
			    i % 3, 5000, i % 3, 5000);
		rt_rpc_submit(p.client, &r[i]);
	}
	while (answered < 100 && rounds++ < 300) {
		rt_pair_run(&p);
		CU_ASSERT_TRUE(p.nheld <= 8);
		if (p.nheld) {
			unsigned int k = answered * 5 % p.nheld;
			struct rt_call *call = p.held[k];

			p.held[k] = p.held[--p.nheld];
			rt_pair_answer(&p, call);
			answered++;
		}
	}
	rt_pair_run(&p);
	rt_rpc_finish(r, 100);
	CU_ASSERT_EQUAL(p.dones, 100);
	rt_pair_close(&p);
}

static void resources(void)
{
	struct rt_config c = with_user;
	struct rt_config s = with_user;
	struct rt_pair p;
	struct rt_rpc r;

	s.no_continuation = true;
	c.call_format = RT_FORMAT_CONTINUED;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
	/* 7.3.4: the chunk is too short. */
	rt_rpc_init(&p, p.client, &r, 1, 0, false, 64, 2, 1001, 2, 1000);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done);
	CU_ASSERT_EQUAL(r.rq->status, -EREMOTEIO);
	CU_ASSERT_EQUAL(r.rq->error.code, RDMA2_ERR_WRITE_RESOURCE);
	CU_ASSERT_EQUAL(r.rq->error.chunk_index, 1);
	CU_ASSERT_EQUAL(r.rq->error.length_needed, 1001);
	rt_rpc_free(&r);
	/* 7.3.5 */
	rt_rpc_init(&p, p.client, &r, 2, 0, false, 9000, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(r.rq->status, -EREMOTEIO);
	CU_ASSERT_EQUAL(r.rq->error.code, RDMA2_ERR_REPLY_RESOURCE);
	CU_ASSERT_EQUAL(r.rq->error.length_needed, 9000);
	rt_rpc_free(&r);
	/* And the connection goes on. */
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 3, 10, false, 64, 0, 0, 0, 0));
	rt_pair_close(&p);
}

static void disconnect_under_load(void)
{
	struct rt_pair p;
	struct rt_rpc r[20];

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &with_user, NULL));
	p.hold = true;
	for (uint32_t i = 0; i < 20; i++) {
		rt_rpc_init(&p, p.client, &r[i], 1 + i, 5000, true, 64, 1, 5000,
			    1, 5000);
		rt_rpc_submit(p.client, &r[i]);
	}
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(p.nheld, 20);
	rt_conn_close(p.server, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed && p.server_closed);
	for (uint32_t i = 0; i < 20; i++) {
		CU_ASSERT_TRUE(r[i].done);
		CU_ASSERT_EQUAL(r[i].rq->status, -ECONNRESET);
		rt_rpc_free(&r[i]);
	}
	/* Replies after the end are dropped, their memory comes back. */
	for (uint32_t i = 0; i < 10; i++)
		rt_pair_answer(&p, p.held[--p.nheld]);
	CU_ASSERT_EQUAL(p.dones, 10);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "simple", simple },
	{ "every format", every_format },
	{ "longest continued Call", longest_continued },
	{ "reverse", reverse },
	{ "concurrency", concurrency },
	{ "resources", resources },
	{ "disconnect under load", disconnect_under_load },
	{ NULL, NULL },
};

UNIT_MAIN("transport", tests)
