/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that wait while their host does not take its Replies: none of them is
 * executed then, and none is lost.
 */
#include <errno.h>
#include <string.h>

#include "rt_raw.h"
#include "rt_raw1.h"
#include "unit.h"

#define LONG 40000u /* three of them are too much */

static const struct rt_config cfg = { .max_message = 65536,
				      .max_host_memory = 100000 };

/* A raw client that takes no Replies until it gives credits, with three of
 * them there. */
static bool client_waits(struct rt_raw *r)
{
	if (!rt_raw_client(r, &cfg) || !rt_raw_greet(r))
		return false;
	r->credits = 0;
	for (uint32_t xid = 1; xid <= 3; xid++)
		rt_raw_call(r, xid, NULL, NULL, LONG);
	return rt_raw_silent(r) && r->p.calls == 3;
}

/* Give credits until nothing comes for them; how many Replies, and that they
 * came in order from @first. */
static unsigned int take(struct rt_raw *r, uint32_t first)
{
	unsigned int n = 0;
	uint32_t htype;

	for (;;) {
		r->credits = 20;
		rt_raw_grant(r);
		rt_raw_run(r);
		if (!r->queued)
			return n;
		while ((htype = rt_raw_next(r))) {
			CU_ASSERT_EQUAL(r->m.p.xid, first + n);
			if (htype == RDMA2_REPLY_INLINE)
				n++;
			else
				CU_ASSERT_EQUAL(htype, RDMA2_REPLY_MIDDLE);
		}
	}
}

static uint64_t waits(struct rt_raw *r)
{
	return rt_pair_stats(r->p.server_inst).reply_waits;
}

/* Those that come; be they ever so small. */
static void arriving(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client_waits(&r));
	CU_ASSERT_EQUAL(waits(&r), 0);
	rt_raw_call(&r, 4, NULL, NULL, LONG);
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.calls, 3);
	CU_ASSERT_EQUAL(waits(&r), 2);
	/* However long. */
	for (int i = 0; i < 1000; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.calls, 3);
	CU_ASSERT_EQUAL(take(&r, 1), 5);
	CU_ASSERT_EQUAL(r.p.calls, 5);
	/* And all is as before. */
	rt_raw_call(&r, 6, NULL, NULL, LONG);
	CU_ASSERT_EQUAL(take(&r, 6), 1);
	CU_ASSERT_EQUAL(waits(&r), 2);
	rt_raw_close(&r);
}

/* Those that the upper layer has not begun. */
static void queued(void)
{
	struct rt_call *call;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE_FATAL(rt_raw_greet(&r));
	r.credits = 0;
	r.p.hold = true;
	for (uint32_t xid = 1; xid <= 6; xid++)
		rt_raw_call(&r, xid, NULL, NULL, LONG);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 6);
	CU_ASSERT_FALSE(rt_conn_replies_full(r.p.server));
	/* With no reason to, it comes back at once. */
	call = r.p.held[--r.p.nheld];
	rt_call_wait(call);
	CU_ASSERT_EQUAL(r.p.resumes, 1);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 6);
	CU_ASSERT_PTR_EQUAL(r.p.held[5], call);
	CU_ASSERT_EQUAL(waits(&r), 0);

	for (int i = 0; i < 3; i++)
		rt_pair_answer(&r.p, r.p.held[i]);
	CU_ASSERT_TRUE(rt_conn_replies_full(r.p.server));
	for (int i = 3; i < 6; i++)
		rt_call_wait(r.p.held[i]);
	/* One more, which is behind them. */
	rt_raw_call(&r, 7, NULL, NULL, 8);
	r.p.hold = false;
	r.p.nheld = 0;
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.resumes, 1);
	CU_ASSERT_EQUAL(r.p.calls, 6);
	CU_ASSERT_EQUAL(waits(&r), 4);
	CU_ASSERT_EQUAL(take(&r, 1), 7);
	CU_ASSERT_EQUAL(r.p.resumes, 4);
	CU_ASSERT_EQUAL(r.p.calls, 7);
	rt_raw_close(&r);
}

/* The end comes: what the upper layer had is its own again, before it hears of
 * the end; what it had not, it does not get. */
static void ended(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client_waits(&r));
	rt_raw_call(&r, 4, NULL, NULL, LONG);
	rt_raw_call(&r, 5, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(waits(&r), 2);
	rt_conn_close(r.p.server, true);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.p.calls, 3);
	CU_ASSERT_EQUAL(r.p.resumes, 0);
	rt_raw_close(&r);

	for (int late = 0; late < 2; late++) {
		struct rt_conn *c;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
		CU_ASSERT_TRUE_FATAL(rt_raw_greet(&r));
		r.credits = 0;
		r.p.hold = true;
		for (uint32_t xid = 1; xid <= 5; xid++)
			rt_raw_call(&r, xid, NULL, NULL, LONG);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_EQUAL_FATAL(r.p.nheld, 5);
		for (int i = 0; i < 3; i++)
			rt_pair_answer(&r.p, r.p.held[i]);
		r.p.nheld = 0;
		r.p.drop = true;
		if (!late)
			for (int i = 3; i < 5; i++)
				rt_call_wait(r.p.held[i]);
		c = r.p.server;
		CU_ASSERT_FALSE(rt_conn_is_closing(c));
		rt_conn_get(c);
		rt_conn_close(c, true);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rt_conn_is_closing(c));
		CU_ASSERT_TRUE(r.p.server_closed);
		/* Even if it asks only then. */
		if (late)
			for (int i = 3; i < 5; i++)
				rt_call_wait(r.p.held[i]);
		CU_ASSERT_EQUAL(r.p.resumes, 2);
		CU_ASSERT_EQUAL(r.p.resumes_late, late ? 2 : 0);
		rt_conn_put(c);
		rt_raw_close(&r);
	}
}

/* An end in order waits for them. */
static void drained(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client_waits(&r));
	rt_raw_call(&r, 4, NULL, NULL, LONG);
	rt_raw_call(&r, 5, NULL, NULL, 8);
	rt_raw_run(&r);
	rt_conn_close(r.p.server, false);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(take(&r, 1), 5);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.p.server_error, 0);
	rt_raw_close(&r);
}

/* Another connection of the host, which takes its Replies, goes on, with one
 * Call at a time. */
static void one_by_one(struct rt_raw *r, struct rt_conn *stuck)
{
	uint64_t before = waits(r);
	struct rt_rpc v[3];

	CU_ASSERT_TRUE_FATAL(rt_pair_connect(&r->p));
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(r->p.server, stuck);
	for (uint32_t xid = 1; xid <= 3; xid++)
		CU_ASSERT_TRUE(rt_rpc_trip(&r->p, r->p.client, xid, 0, false,
					   LONG, 0, 0, 0, 0));
	CU_ASSERT_EQUAL(waits(r), before);
	CU_ASSERT_TRUE(rt_conn_replies_full(stuck));
	r->p.hold = true;
	for (uint32_t i = 0; i < 3; i++) {
		rt_rpc_init(&r->p, r->p.client, &v[i], 10 + i, 0, false, LONG,
			    0, 0, 0, 0);
		rt_rpc_submit(r->p.client, &v[i]);
	}
	for (unsigned int i = 0; i < 3; i++) {
		rt_pair_run(&r->p);
		CU_ASSERT_EQUAL(waits(r), before + 2);
		CU_ASSERT_EQUAL_FATAL(r->p.nheld, 1);
		/* It may be executed, being the only one. */
		CU_ASSERT_FALSE(rt_conn_replies_full(r->p.server));
		rt_pair_answer(&r->p, r->p.held[--r->p.nheld]);
	}
	rt_pair_run(&r->p);
	rt_rpc_finish(v, 3);
	r->p.hold = false;
}

static void neighbour(void)
{
	struct rt_conn *stuck;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client_waits(&r));
	stuck = r.p.server;
	one_by_one(&r, stuck);
	rt_raw_call(&r, 4, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(take(&r, 1), 4);
	rt_conn_close(stuck, true);
	rt_raw_close(&r);
}

/* Each in its turn. That of one whose items are not here yet is to have them read;
 * those that wait go on meanwhile. */
static void in_turn(void)
{
	static const uint32_t order[] = { 10, 12, 13, 11 };
	struct rt_conn *stuck;
	struct rt_rpc v[4];
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client_waits(&r));
	stuck = r.p.server;
	CU_ASSERT_TRUE_FATAL(rt_pair_connect(&r.p));
	r.p.hold = true;
	for (uint32_t i = 0; i < 4; i++) {
		rt_rpc_init(&r.p, r.p.client, &v[i], 10 + i, i == 1 ? 6000 : 0,
			    i == 1, 8, 0, 0, 0, 0);
		rt_rpc_submit(r.p.client, &v[i]);
	}
	for (uint32_t i = 0; i < 4; i++) {
		rt_pair_run(&r.p);
		CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
		CU_ASSERT_EQUAL(r.p.held[0]->xid, order[i]);
		CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).read_chunks,
				i >= 1);
		rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	}
	rt_pair_run(&r.p);
	rt_rpc_finish(v, 4);
	rt_conn_close(stuck, true);
	rt_raw_close(&r);
}

/* All hosts together have more than Max_Memory of them, this one little of
 * that: the log does not put it on the host. */
static void all_hosts(void)
{
	static const struct rt_config many = { .max_message = 2 << 20,
					       .max_memory = 16 << 20,
					       .max_host_memory = 64 << 20 };
	struct rt_raw r;
	uint32_t xid;

	CU_ASSERT_TRUE_FATAL(client_waits(&r));
	rt_raw_call(&r, 4, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_PTR_NOT_NULL(strstr(rt_pair_line, "this host has more"));
	CU_ASSERT_EQUAL(take(&r, 1), 4);
	rt_raw_close(&r);

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &many));
	CU_ASSERT_TRUE_FATAL(rt_raw_greet(&r));
	r.credits = 0;
	for (xid = 1; xid <= 17; xid++)
		rt_raw_call(&r, xid, NULL, NULL, 1 << 20);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(waits(&r), 0);
	rt_raw_call(&r, xid, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(waits(&r), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(rt_pair_line, "all hosts together"));
	rt_conn_close(r.p.server, true);
	rt_raw_close(&r);
}

/* Hosts that have more than Max_Memory of Replies together, as the only one here
 * has, have a sixteenth of their shares each; with twice that, nothing. */
static void in_all(void)
{
	static const struct {
		size_t host; /* its share */
		uint32_t replies; /* so many more than it may have */
	} few[] = {
		{ 64u << 20, 5 }, /* 16 MiB in all; then 4 are too much */
		{ 416u << 20, 7 }, /* a sixteenth: 26 MiB */
		{ 1024u << 20, 9 }, /* 32 MiB in all; a sixteenth is more */
	};

	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
		struct rt_config little = { .max_message = FAB_POOL_MAX_BUF,
					    .max_memory = RT_MIN(max_memory),
					    .max_host_memory = few[i].host };
		uint32_t n = few[i].replies;
		struct rt_conn *stuck;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &little));
		CU_ASSERT_TRUE_FATAL(rt_raw_greet(&r));
		stuck = r.p.server;
		r.credits = 0;
		for (uint32_t xid = 1; xid <= n; xid++) {
			CU_ASSERT_FALSE(rt_conn_replies_full(stuck));
			rt_raw_call(&r, xid, NULL, NULL,
				    FAB_POOL_MAX_BUF - 65536);
			CU_ASSERT_TRUE(rt_raw_silent(&r));
			CU_ASSERT_EQUAL(r.p.calls, xid);
		}
		CU_ASSERT_TRUE(rt_conn_replies_full(stuck));
		CU_ASSERT_EQUAL(waits(&r), 0);
		rt_raw_call(&r, n + 1, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_EQUAL(r.p.calls, n);
		CU_ASSERT_EQUAL(waits(&r), 1);
		one_by_one(&r, stuck);
		CU_ASSERT_EQUAL(take(&r, 1), n + 1);
		CU_ASSERT_FALSE(rt_conn_replies_full(stuck));
		rt_conn_close(stuck, true);
		rt_raw_close(&r);
	}
}

static void write_call(struct rt_raw *r, uint32_t xid, uint32_t len)
{
	struct wire_read_segment rs = { .position = 68 };
	struct wire_call_desc d = { .reads = &rs, .nreads = 1 };
	uint8_t pay[68];

	rt_raw_payload(pay, xid, 12, 0, 0, 0);
	pay[68 - 3] = (uint8_t)(len >> 16);
	pay[68 - 2] = (uint8_t)(len >> 8);
	pay[68 - 1] = (uint8_t)len;
	rs.target = rt_raw_expose(r, 0, len, false);
	rt_raw1_call(r, xid, 32, &d, pay, sizeof(pay));
	rt_raw_run(r);
}

/* Version 1: what one that waits has read keeps its memory, and that is not
 * held against those that wait for it. Those that come take none. */
static void with_memory(void)
{
	static const struct loop_faults keep = { .keep_sends = true };
	struct rt_config little = { .max_message = 65536,
				    .max_host_memory = 70000,
				    .max_conn_memory = 70000,
				    .memory_wait_ms = 300 };
	struct wire_segment seg;
	struct wire_chunk_desc chunk = { .seg = &seg, .count = 1 };
	struct wire_call_desc read = { .reply = &chunk };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &little));
	loop_set_faults(r.p.dom, LOOP_PASSIVE, &keep);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	r.p.hold = true;
	for (uint32_t xid = 1; xid <= 2; xid++) {
		seg = rt_raw_expose(&r, 0, LONG, true);
		rt_raw1_call(&r, xid, 32, &read, NULL, LONG);
	}
	for (uint32_t xid = 3; xid <= 4; xid++)
		write_call(&r, xid, 60000);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 3);
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).read_chunks, 1);
	for (int i = 0; i < 2; i++)
		rt_pair_answer(&r.p, r.p.held[i]);
	r.p.nheld = 0;
	rt_call_wait(r.p.held[2]);
	rt_raw_flush(&r);
	CU_ASSERT_EQUAL(waits(&r), 1);
	for (int i = 0; i < 100; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* As small as it is, and though it could be had. */
	write_call(&r, 5, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.calls, 3);
	CU_ASSERT_EQUAL(waits(&r), 2);
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).read_chunks, 1);
	r.p.drop = true;
	rt_raw_close(&r);
}

/* Those that wait before their items are read have them read then. */
static void unread(void)
{
	struct wire_read_segment rs = { .position = 68 };
	struct wire_call_desc d = { .reads = &rs, .nreads = 1 };
	struct rt_raw r;
	uint8_t pay[68];

	CU_ASSERT_TRUE_FATAL(client_waits(&r));
	rt_raw_payload(pay, 4, 8, 0, 0, 0);
	pay[68 - 1] = 100;
	rs.target = rt_raw_expose(&r, 0, 100, false);
	rt_raw_call(&r, 4, &d, pay, sizeof(pay));
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(waits(&r), 2);
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).read_chunks, 0);
	r.credits = 20;
	for (unsigned int n = 0; n < 10 && r.p.calls < 5; n++) {
		rt_raw_grant(&r);
		rt_raw_flush(&r);
	}
	CU_ASSERT_EQUAL(r.p.calls, 5);
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).read_chunks, 1);
	rt_raw_close(&r);
}

/* A Call for each fragment of a long Reply: not all are taken. */
static void surplus(void)
{
	struct rt_config few = { .credits = 4,
				 .max_message = 200000,
				 .max_host_memory = 400000,
				 .max_conn_memory = 200000 };
	struct rt_raw r;
	uint32_t n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &few));
	CU_ASSERT_TRUE_FATAL(rt_raw_greet(&r));
	r.credits = 1;
	rt_raw_call(&r, 1, NULL, NULL, 160000);
	rt_raw_run(&r);
	r.p.hold = true;
	for (n = 2; rt_raw_next(&r) == RDMA2_REPLY_MIDDLE; n++) {
		/* Nothing is granted any more once 12 ERRORs wait [E6]. */
		CU_ASSERT_EQUAL((int32_t)(r.limit - r.sent) > 0,
				n < 2 + r.p.nheld + 12);
		rt_raw_call(&r, n, NULL, NULL, 8);
		rt_raw_run(&r);
	}
	/* Four have credits, as many have not, and there is memory for some; the
	 * others get ERRORs, when the Reply has gone. */
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
	CU_ASSERT_TRUE(r.p.nheld > 8 + 2 && r.p.nheld < 8 + 12);
	CU_ASSERT_TRUE(n > 2 + r.p.nheld + 12);
	r.credits = 100;
	rt_raw_grant(&r);
	for (uint32_t i = 2 + r.p.nheld; i < n; i++)
		CU_ASSERT_TRUE(rt_raw_is_error(&r, i, RDMA2_ERR_SYSTEM));
	CU_ASSERT_FALSE(r.down);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "arriving", arriving },
	{ "queued", queued },
	{ "ended", ended },
	{ "drained", drained },
	{ "neighbour", neighbour },
	{ "in turn", in_turn },
	{ "all hosts", all_hosts },
	{ "in all", in_all },
	{ "with memory", with_memory },
	{ "unread", unread },
	{ "surplus", surplus },
	{ NULL, NULL },
};

UNIT_MAIN("transport-wait", tests)
