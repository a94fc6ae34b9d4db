/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtrext between two ends of ours: what goes by Send and what does not,
 * groups, several items, mixed pairs. rt_watch looks at the order of
 * the messages and at every octet of padding.
 */
#include <stdlib.h>
#include <string.h>

#include "rt_pair.h"
#include "unit.h"

#define USER sizeof(void *)

static const struct rt_config plain = { .request_user_size = USER };
static const struct rt_config on = { .extensions = RT_EXT_RTR,
				     .request_user_size = USER };

/* No RDMA, and no memory opened for it, at either end. */
static bool no_rdma(struct rt_pair *p)
{
	struct rt_stats c = rt_pair_stats(p->client_inst);
	struct rt_stats s = rt_pair_stats(p->server_inst);

	return !c.read_bytes && !c.write_bytes && !s.read_bytes &&
	       !s.write_bytes && !c.read_chunks && !s.write_chunks;
}

static struct rt_watch_end *end_of(struct rt_pair *p, bool active)
{
	for (unsigned int i = 0; i < p->watch.nends; i++)
		if (p->watch.end[i].active == active)
			return &p->watch.end[i];
	return NULL;
}

/* Arguments and results of all lengths, in one transmission each. */
static void single(void)
{
	static const uint32_t len[] = { 1,    2,     3,	    1023, 1024,
					1025, 4093,  4096,  4097, 8192,
					8193, 32768, 61439, 61440 };
	struct rt_pair p;
	struct rt_stats c, s;
	uint32_t xid = 100;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &on, &on, NULL));
	for (unsigned int i = 0; i < 14; i++) {
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, len[i], true,
					   128, 0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 128,
					   1, len[i], 1, len[i]));
		/* Both, and a sink that is longer than the result. */
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, len[i], true,
					   128, 1, len[i], 1, 61440));
	}
	CU_ASSERT_TRUE(no_rdma(&p));
	c = rt_pair_stats(p.client_inst);
	s = rt_pair_stats(p.server_inst);
	CU_ASSERT(c.xmt_calls_sent > 28 &&
		  c.xmt_calls_sent == s.xmt_calls_received);
	CU_ASSERT(c.placed_bytes_sent > 100000 &&
		  c.placed_bytes_sent == s.placed_bytes_received);
	CU_ASSERT(s.placed_bytes_sent > 100000 &&
		  s.placed_bytes_sent == c.placed_bytes_received);
	CU_ASSERT(c.inline_bytes_sent > 0 &&
		  c.inline_bytes_sent == s.inline_bytes_received);
	CU_ASSERT(s.inline_bytes_sent > 0 &&
		  s.inline_bytes_sent == c.inline_bytes_received);
	CU_ASSERT_EQUAL(c.repterrs_received + s.repterrs_received, 0);
	CU_ASSERT_EQUAL(c.fragments_sent + s.fragments_sent, 0);
	/* There was padding to look at, of both. */
	CU_ASSERT(end_of(&p, true)->padding > 10000);
	CU_ASSERT(end_of(&p, false)->padding > 10000);
	CU_ASSERT(rt_pair_classes_match(&p));
	rt_pair_close(&p);
}

/* Longer ones, in groups; and what does not fit by base messages. */
static void groups(void)
{
	struct rt_pair p;
	struct rt_stats c, s;
	uint32_t xid = 100;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &on, &on, NULL));
	for (uint32_t len = 61441; len <= 4 * 61440; len += 40000) {
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, len, true, 128,
					   0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 128,
					   1, len, 1, len));
		/* A payload of several transmissions before the item. */
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 70000,
					   1, 5000, 1, 5000));
	}
	CU_ASSERT_TRUE(no_rdma(&p));
	c = rt_pair_stats(p.client_inst);
	s = rt_pair_stats(p.server_inst);
	CU_ASSERT_EQUAL(c.xmt_calls_sent, 15);
	CU_ASSERT_EQUAL(c.placed_bytes_sent, s.placed_bytes_received);
	CU_ASSERT(end_of(&p, true)->xcount[7] >= 5);
	CU_ASSERT(end_of(&p, false)->xcount[7] >= 10);
	/* Too long for four. */
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 300000, true, 128, 0, 0,
				   0, 0));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 128, 1,
				   300000, 1, 300000));
	CU_ASSERT_FALSE(no_rdma(&p));
	c = rt_pair_stats(p.client_inst);
	CU_ASSERT_EQUAL(c.xmt_calls_sent, 15);
	rt_pair_close(&p);
}

/* Limits of each side: RT-5.2-01, RT-5.2-02, RT-8.4-01, RT-8.5-01. */
static void limits(void)
{
	struct rt_config few = on, size = on;
	struct rt_pair p;
	struct rt_stats c;

	few.max_transmissions = 2;
	size.placement_size = 12288;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &on, &few, NULL));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 1, 2 * 61440, true, 128, 0, 0, 0, 0));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 2, 0, false, 128, 1, 2 * 61440,
				   1, 2 * 61440));
	CU_ASSERT_TRUE(no_rdma(&p));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 3, 3 * 61440, true, 128, 0, 0, 0, 0));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 4, 0, false, 128, 1, 3 * 61440,
				   1, 3 * 61440));
	c = rt_pair_stats(p.client_inst);
	CU_ASSERT_EQUAL(c.xmt_calls_sent, 2);
	CU_ASSERT(c.read_bytes >= 3 * 61440 && c.write_bytes == 3 * 61440);
	rt_pair_close(&p);
	/* Receives of different sizes. */
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &size, &on, NULL));
	for (uint32_t len = 1000; len < 49152; len += 1500) {
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, len, len, true, 128, 0,
					   0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, len + 1, 0, false, 128,
					   1, len, 1, len));
	}
	CU_ASSERT_TRUE(no_rdma(&p));
	rt_pair_close(&p);
}

/* Without the credits for a group there is RDMA, RT-4.3-01. */
static void few_credits(void)
{
	struct rt_config one = on;
	struct rt_pair p;
	struct rt_stats c;

	one.credits = 2;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &on, &one, NULL));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 1, 32768, true, 128, 0, 0, 0, 0));
	CU_ASSERT_TRUE(no_rdma(&p));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 2, 4 * 61440, true, 128, 0, 0, 0, 0));
	c = rt_pair_stats(p.client_inst);
	CU_ASSERT(c.xmt_calls_sent == 1 && c.read_bytes >= 4 * 61440);
	/* A response in a group needs no more than GRANTs. */
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 3, 0, false, 128, 1, 4 * 61440,
				   1, 4 * 61440));
	c = rt_pair_stats(p.client_inst);
	CU_ASSERT(c.xmt_calls_sent == 2 && !c.write_bytes);
	rt_pair_close(&p);
	/* Nor where the Requester advertises few. */
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &one, &on, NULL));
	for (uint32_t i = 0; i < 20; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, i + 1, 0, false, 128,
					   1, 4 * 61440, 1, 4 * 61440));
	CU_ASSERT_TRUE(no_rdma(&p));
	rt_pair_close(&p);
}

/* Either end without it, and without target segments: RT-5.1-01, RT-5.3-01. */
static void mixed(void)
{
	struct rt_config none = on;
	const struct rt_config *c[] = { &plain, &on, &plain, &none, &on };
	const struct rt_config *s[] = { &on, &plain, &plain, &on, &none };
	struct rt_pair p;

	none.no_placement = true;
	for (unsigned int i = 0; i < 5; i++) {
		struct rt_stats st;

		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, c[i], s[i], NULL));
		for (uint32_t len = 1; len < 200000; len = len * 3 + 1) {
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, len, len, true,
						   128, 0, 0, 0, 0));
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, len + 1, 0,
						   false, 128, 1, len, 1, len));
		}
		st = rt_pair_stats(p.client_inst);
		CU_ASSERT((i < 3) == !st.xmt_calls_sent);
		CU_ASSERT(i != 4 || !st.placed_bytes_sent);
		CU_ASSERT(i != 3 || !st.placed_bytes_received);
		st = rt_pair_stats(p.server_inst);
		CU_ASSERT_EQUAL(st.errors_sent, 0);
		rt_pair_close(&p);
	}
}

/* With version 1 there is nothing of it, at either end. */
static void version1(void)
{
	struct rt_config old = plain, new = on;
	struct rt_pair p;

	old.versions = 1u << WIRE_VERS1;
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, i ? &old : &new,
						  i ? &new : &old, NULL));
		CU_ASSERT_TRUE(p.v1);
		for (uint32_t len = 1; len < 100000; len = len * 4 + 1)
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, len, len, true,
						   128, 1, len, 1, len));
		CU_ASSERT_EQUAL(rt_pair_stats(p.client_inst).xmt_calls_sent, 0);
		rt_pair_close(&p);
	}
}

/* Several items each, with ends that come short, and without target segments. */
static void several(void)
{
	struct rt_config cfg = on, chunks = on;
	struct rt_pair p;
	struct rt_stats c;

	chunks.max_segments = 32;
	cfg.call_write_chunks = 4;
	cfg.call_read_chunks = 4;
	for (unsigned int bare = 0; bare < 2; bare++) {
		cfg.no_placement = bare;
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &chunks, NULL));
		for (uint32_t n = 1; n <= 4; n++)
			for (uint32_t len = 0; len < 40000; len = len * 3 + 1)
				CU_ASSERT_TRUE(rt_rpc_trip(
					&p, p.client, 1 + n * 100000 + len, len,
					true, 200, n, len, n, 40000));
		c = rt_pair_stats(p.client_inst);
		CU_ASSERT_EQUAL(c.xmt_fallbacks, 0);
		if (bare) {
			CU_ASSERT(c.write_bytes > 0);
		} else {
			CU_ASSERT(c.xmt_calls_sent > 30);
			CU_ASSERT(c.placed_bytes_received > 0);
		}
		CU_ASSERT(rt_pair_classes_match(&p));
		rt_pair_close(&p);
	}
}

/* Absent and empty results; an empty sink. */
static void absent(void)
{
	struct rt_config cfg = on;
	struct rt_pair p;
	struct rt_rpc r;

	cfg.call_write_chunks = 4;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &on, NULL));
	/* One result where two were expected. */
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 1, 0, false, 100, 1, 9000, 2, 9000));
	/* Two where one was. */
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 2, 0, false, 100, 2, 9000, 1, 9000));
	/* None. */
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 3, 0, false, 100, 0, 0, 1, 9000));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 4, 0, false, 100, 1, 0, 1, 9000));
	/* The first is to be in the stream. */
	rt_rpc_init(&p, p.client, &r, 5, 0, false, 100, 2, 3000, 2, 3000);
	r.sink[0].addr = NULL;
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	CU_ASSERT(r.sink[0].in_stream && r.sink[1].in_stream);
	rt_rpc_free(&r);
	CU_ASSERT_TRUE(no_rdma(&p));
	rt_pair_close(&p);
}

/* More sinks than are used in one Call. */
static void beyond(void)
{
	struct rt_config cfg = on;
	struct rt_pair p;
	struct rt_rpc r;

	cfg.call_write_chunks = 1;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &on, NULL));
	rt_rpc_init(&p, p.client, &r, 1, 0, false, 100, 2, 300, 2, 300);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	CU_ASSERT(r.sink[0].in_stream && r.sink[1].in_stream);
	rt_rpc_free(&r);
	rt_pair_close(&p);
}

/* Receives that are shorter than the setting for others: what version 1 is told. */
static void version1_receives(void)
{
	struct rt_config longer = on, old = plain;
	struct rt_pair p;

	longer.recv_size = longer.send_size = 65536;
	longer.placement_size = 8192;
	old.versions = 1u << 1;
	old.recv_size = old.send_size = 65536;
	for (unsigned int server = 0; server < 2; server++) {
		CU_ASSERT_TRUE_FATAL(
			server ? rt_pair_open(&p, &old, &longer, NULL) :
				 rt_pair_open(&p, &longer, &old, NULL));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 13000, false, 13000,
					   0, 0, 0, 0));
		CU_ASSERT_FALSE(p.client_closed);
		rt_pair_close(&p);
	}
}

/* Many at a time, of all kinds, both ends with few credits or many. */
static void load(void)
{
	struct rt_config small = on;
	const struct rt_config *with[] = { &on, &small, &plain };

	small.credits = 3;
	small.placement_size = 12288;
	for (unsigned int k = 0; k < 9; k++) {
		struct rt_rpc r[40];
		struct rt_pair p;

		CU_ASSERT_TRUE_FATAL(
			rt_pair_open(&p, with[k / 3], with[k % 3], NULL));
		for (uint32_t round = 0; round < 6; round++) {
			for (uint32_t i = 0; i < 40; i++) {
				uint32_t len =
					(i * 7919 + round * 104729) % 150000;

				rt_rpc_init(&p, p.client, &r[i],
					    1000 * round + i + 1,
					    i % 3 ? len : 0, i % 3,
					    100 + i * 200, i % 2, len, i % 2,
					    len);
				rt_rpc_submit(p.client, &r[i]);
			}
			rt_pair_run(&p);
			rt_rpc_finish(r, 40);
		}
		CU_ASSERT_EQUAL(rt_pair_stats(p.client_inst).errors_received,
				0);
		CU_ASSERT_EQUAL(rt_pair_stats(p.client_inst).repterrs_received,
				0);
		rt_pair_close(&p);
	}
}

static const struct unit_test tests[] = {
	{ "single", single },
	{ "groups", groups },
	{ "limits", limits },
	{ "few_credits", few_credits },
	{ "mixed", mixed },
	{ "version1", version1 },
	{ "several", several },
	{ "absent", absent },
	{ "beyond", beyond },
	{ "load", load },
	{ "version1_receives", version1_receives },
	{ NULL, NULL },
};

UNIT_MAIN("transport rtr", tests)
