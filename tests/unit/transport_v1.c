/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport against itself in version 1, over the loop provider. */
#include <errno.h>

#include "rt_raw1.h"
#include "unit.h"

static const struct rt_config server_cfg = { .request_user_size =
						     sizeof(void *) };

static uint32_t version(struct rt_conn *c)
{
	struct rt_conn_info info;

	rt_conn_info(c, &info);
	return info.version;
}

static void simple(void)
{
	struct rt_pair p;
	struct rt_stats s;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &rt_only1, &server_cfg, NULL));
	CU_ASSERT_EQUAL(version(p.client), 1);
	CU_ASSERT_EQUAL(version(p.server), 0);
	for (uint32_t i = 0; i < 300; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 100 + i, i, false,
					   12 + i * 4, 0, 0, 0, 0));
	CU_ASSERT_EQUAL(version(p.server), 1);
	CU_ASSERT_TRUE(p.server_up);
	s = rt_pair_stats(p.client_inst);
	CU_ASSERT_EQUAL(s.calls_sent, 300);
	CU_ASSERT_EQUAL(s.replies_received, 300);
	CU_ASSERT_EQUAL(s.errors_received, 0);
	CU_ASSERT_EQUAL(s.grants_sent + s.grants_received, 0);
	s = rt_pair_stats(p.server_inst);
	CU_ASSERT_EQUAL(s.grants_sent, 0);
	CU_ASSERT_EQUAL(s.continued_sent, 0);
	CU_ASSERT_EQUAL(s.errors_sent, 0);
	rt_pair_close(&p);
}

static void formats(const struct rt_config *client,
		    const struct rt_config *server, bool invalidate)
{
	static const size_t size[] = { 0,      1,      900,   1000,  1023,
				       1024,   1025,   3700,  4096,  8000,
				       8191,   8192,   16384, 33333, 65536,
				       262144, 1000000 };
	struct rt_pair p;
	struct rt_stats s;
	uint32_t xid = 1;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, client, server, NULL));
	for (unsigned int i = 0; i < sizeof(size) / sizeof(*size); i++) {
		/* Long Call; reduced Call; long Reply; Write chunk; all. */
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, size[i], false,
					   12, 0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, size[i], true,
					   12, 0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 4, false,
					   12 + (size[i] & ~3u), 0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 4, false, 64, 1,
					   (uint32_t)size[i], 1,
					   (uint32_t)size[i]));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, size[i], true,
					   64, 3, (uint32_t)size[i] / 4, 3,
					   (uint32_t)size[i]));
	}
	s = rt_pair_stats(p.client_inst);
	CU_ASSERT_TRUE(s.special_sent > 0 && s.special_received > 0);
	CU_ASSERT_EQUAL(s.continued_sent + s.continued_received, 0);
	CU_ASSERT_EQUAL(s.errors_received + s.errors_sent, 0);
	CU_ASSERT_TRUE(s.write_bytes > 0 && s.read_bytes > 0);
	CU_ASSERT_EQUAL(s.invalidations_received > 0, invalidate);
	rt_pair_close(&p);
}

static void every_format(void)
{
	struct rt_config c = rt_only1, s = server_cfg;

	formats(&c, &s, true);
	/* Whatever is wished, there is no continuation. */
	c.call_format = RT_FORMAT_CONTINUED;
	formats(&c, &s, true);
	c.call_format = RT_FORMAT_SPECIAL;
	formats(&c, &s, true);
	/* Larger buffers on one side, on both. */
	c.call_format = RT_FORMAT_AUTO;
	c.recv_size = 16384;
	formats(&c, &s, true);
	s.recv_size = 32768;
	formats(&c, &s, true);
	/* A sender with little room. */
	s.send_size = 1024;
	c.send_size = 2000;
	formats(&c, &s, true);
	/* R is missing on one side. */
	c.no_remote_invalidation = true;
	formats(&c, &s, false);
	c.no_remote_invalidation = false;
	s.no_remote_invalidation = true;
	formats(&c, &s, false);
	/* One credit: everything goes one by one. */
	c = rt_only1;
	c.credits = 1;
	formats(&c, &server_cfg, true);
}

static void reverse(void)
{
	struct rt_config c = rt_only1;
	struct rt_rpc big;
	struct rt_pair p;

	for (unsigned int level = 0; level <= RDMA2_RVRSDIR_GENL; level++) {
		c.reverse = level;
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &server_cfg, NULL));
		CU_ASSERT_FALSE(rt_conn_can_call(p.server));
		CU_ASSERT_TRUE(
			rt_rpc_trip(&p, p.client, 1, 0, false, 12, 0, 0, 0, 0));
		/* Version 1 says nothing of it: the upper layers know. */
		CU_ASSERT_TRUE(rt_conn_can_call(p.server));
		if (level) {
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.server, 7, 100, false,
						   100, 0, 0, 0, 0));
			/* The same XID in both directions at a time. */
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.server, 1, 8, true, 12,
						   0, 0, 0, 0));
			CU_ASSERT_EQUAL(p.reverse_calls, 2);
		}
		rt_rpc_init(&p, p.server, &big, 9, level ? 20000 : 4, true, 12,
			    0, 0, 0, 0);
		rt_rpc_submit(p.server, &big);
		rt_pair_run(&p);
		CU_ASSERT_TRUE(big.done);
		/* Inline only; and a client without it refuses. */
		CU_ASSERT_EQUAL(big.rq->status, level ? -E2BIG : -EREMOTEIO);
		if (!level)
			CU_ASSERT_EQUAL(big.rq->error.code, RDMA1_ERR_CHUNK);
		rt_rpc_free(&big);
		CU_ASSERT_TRUE(
			rt_rpc_trip(&p, p.client, 2, 0, false, 12, 0, 0, 0, 0));
		rt_pair_close(&p);
	}
}

/* Many Calls at once, held and answered in another order. */
static void credits(void)
{
	struct rt_config c = rt_only1, s = server_cfg;
	struct rt_rpc r[60];
	struct rt_pair p;

	for (unsigned int n = 1; n <= 4; n++) {
		unsigned int answered = 0, rounds = 0, most = 0;

		for (unsigned int mine = 1; mine <= 4; mine++) {
			c.credits = mine;
			s.credits = n;
			answered = rounds = most = 0;
			CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
			p.hold = true;
			for (uint32_t i = 0; i < 60; i++) {
				rt_rpc_init(&p, p.client, &r[i], 1000 + i,
					    i * 97, i % 2, 400, i % 3, 5000,
					    i % 3, 5000);
				rt_rpc_submit(p.client, &r[i]);
			}
			while (answered < 60 && rounds++ < 300) {
				rt_pair_run(&p);
				if (p.nheld > most)
					most = p.nheld;
				if (p.nheld) {
					unsigned int k = answered * 5 % p.nheld;
					struct rt_call *call = p.held[k];

					p.held[k] = p.held[--p.nheld];
					rt_pair_answer(&p, call);
					answered++;
				}
			}
			rt_pair_run(&p);
			CU_ASSERT_EQUAL(most, n < mine ? n : mine);
			rt_rpc_finish(r, 60);
			rt_pair_close(&p);
		}
	}
}

/*
 * [G3]: each direction has its own credits. With all forward Calls waiting for
 * a reverse one, both complete.
 */
static void recall(void)
{
	struct rt_config c = rt_only1, s = server_cfg;
	struct rt_rpc fwd[3], rev[3];
	struct rt_call *held[3];
	struct rt_pair p;

	c.reverse = RDMA2_RVRSDIR_SIMPLE;
	for (unsigned int n = 1; n <= 2; n++) {
		c.credits = n;
		s.credits = n;
		c.reverse_credits = n;
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
		CU_ASSERT_TRUE(
			rt_rpc_trip(&p, p.client, 1, 0, false, 12, 0, 0, 0, 0));
		p.hold = true;
		for (unsigned int i = 0; i < 3; i++) {
			rt_rpc_init(&p, p.client, &fwd[i], 10 + i, 0, false, 64,
				    0, 0, 0, 0);
			rt_rpc_submit(p.client, &fwd[i]);
		}
		rt_pair_run(&p);
		CU_ASSERT_EQUAL_FATAL(p.nheld, n);
		memcpy(held, p.held, sizeof(held));
		p.nheld = 0;
		p.hold = false;
		for (unsigned int i = 0; i < 3; i++) {
			rt_rpc_init(&p, p.server, &rev[i], 10 + i, 0, false, 64,
				    0, 0, 0, 0);
			rt_rpc_submit(p.server, &rev[i]);
		}
		rt_pair_run(&p);
		rt_rpc_finish(rev, 3);
		for (unsigned int i = 0; i < n; i++)
			rt_pair_answer(&p, held[i]);
		rt_pair_run(&p);
		rt_rpc_finish(fwd, 3);
		rt_pair_close(&p);
	}
}

/* Chunks that are too small: RDMA_ERROR, and the connection goes on. */
static void resources(void)
{
	struct rt_config c = rt_only1;
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &server_cfg, NULL));
	rt_rpc_init(&p, p.client, &r, 1, 0, false, 64, 2, 1001, 2, 1000);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done);
	CU_ASSERT_EQUAL(r.rq->status, -EREMOTEIO);
	CU_ASSERT_EQUAL(r.rq->error.code, RDMA1_ERR_CHUNK);
	rt_rpc_free(&r);
	/* The upper layer has said too little. */
	rt_rpc_init(&p, p.client, &r, 2, 0, false, 9000, 0, 0, 0, 0);
	r.rq->reply_max = 12;
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(r.rq->status, -EREMOTEIO);
	CU_ASSERT_EQUAL(r.rq->error.code, RDMA1_ERR_CHUNK);
	rt_rpc_free(&r);
	/* It does not know: then the longest. */
	rt_rpc_init(&p, p.client, &r, 3, 0, false, 900000, 0, 0, 0, 0);
	r.rq->reply_max = 0;
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	rt_rpc_free(&r);
	/* More results than Write chunks may be used: the rest is inline. */
	rt_pair_close(&p);
	c.call_write_chunks = 1;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &server_cfg, NULL));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 4, 10, false, 64, 3, 5000, 3, 5000));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 5, 10, false, 64, 0, 0, 0, 0));
	rt_pair_close(&p);
}

static void disconnect_under_load(void)
{
	struct rt_pair p;
	struct rt_rpc r[20];

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &rt_only1, &server_cfg, NULL));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 900, 0, false, 12, 0, 0, 0, 0));
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
	for (uint32_t i = 0; i < 10; i++)
		rt_pair_answer(&p, p.held[--p.nheld]);
	CU_ASSERT_EQUAL(p.dones, 11);
	rt_pair_close(&p);
}

/* An orderly end: Calls in progress are answered, new ones are not. */
static void drain(void)
{
	struct rt_pair p;
	struct rt_rpc a, b;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &rt_only1, &server_cfg, NULL));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 9, 0, false, 12, 0, 0, 0, 0));
	p.hold = true;
	rt_rpc_init(&p, p.client, &a, 1, 0, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &a);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	rt_conn_close(p.server, false);
	rt_pair_run(&p);
	/* No error that would end the RPC: it can be had elsewhere. */
	rt_rpc_init(&p, p.client, &b, 2, 0, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &b);
	rt_pair_run(&p);
	CU_ASSERT_FALSE(b.done);
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&a));
	CU_ASSERT_TRUE(b.done);
	CU_ASSERT_EQUAL(b.rq->status, -ECONNRESET);
	CU_ASSERT_TRUE(p.client_closed && p.server_closed);
	rt_rpc_free(&a);
	rt_rpc_free(&b);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "simple", simple },
	{ "every format", every_format },
	{ "reverse", reverse },
	{ "credits", credits },
	{ "recall", recall },
	{ "resources", resources },
	{ "disconnect under load", disconnect_under_load },
	{ "drain", drain },
	{ NULL, NULL },
};

UNIT_MAIN("transport-v1", tests)
