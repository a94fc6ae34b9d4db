/* SPDX-License-Identifier: BSD-3-Clause */
/* The reverse direction (4.6, 5.2.5, [F4], [G1] to [G5]), with raw peers. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "endpoint.h"
#include "rt_raw.h"
#include "test_clock.h"
#include "unit.h"

static const struct rt_config with_user = { .request_user_size = 8,
					    .call_read_chunks = 2,
					    .call_write_chunks = 2 };

#define RESULTS (1u << 20)

/* Calls with every kind of chunk to a client of each level [G1]. */
static void chunks_refused(void)
{
	struct rt_config cfg = with_user;

	for (uint32_t level = 0; level <= RDMA2_RVRSDIR_GENL; level++) {
		bool general = level == RDMA2_RVRSDIR_GENL;
		struct wire_read_segment s;
		struct wire_segment seg;
		struct wire_chunk_desc w = { &seg, 1 }, empty = { &seg, 0 };
		struct wire_call_desc d;
		struct rt_raw r;
		uint8_t pay[128];

		cfg.reverse = level;
		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		rt_raw_call(&r, 1, NULL, NULL, 8);
		/* At the lowest there is no Responder at all. */
		CU_ASSERT_TRUE(
			level ? rt_raw_is_reply(&r, 1) :
				rt_raw_is_error(&r, 1, RDMA2_ERR_SYSTEM));
		rt_raw_payload(r.mem, 2, 8, 0, 0, 0);
		rt_raw_payload(pay, 2, 8, 0, 0, 0);
		s.position = 0;
		s.target = rt_raw_expose(&r, 0, 68, false);
		seg = rt_raw_expose(&r, RESULTS, 4096, true);
		/* A Call chunk. */
		d = (struct wire_call_desc){ .call = &s, .ncall = 1 };
		rt_raw_call(&r, 2, &d, NULL, 0);
		if (general) {
			CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
		} else {
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, 2, RDMA2_ERR_READ_CHUNKS));
			CU_ASSERT_EQUAL(r.m.error.max_chunks, 0);
		}
		/* A data item, and results too: the Read chunk first. */
		s.position = 20;
		s.target.length = 4;
		d = (struct wire_call_desc){ .reads = &s,
					     .nreads = 1,
					     .writes = &w,
					     .nwrites = 1,
					     .reply = &w };
		rt_raw_call(&r, 2, &d, pay, 68);
		if (general) {
			CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
		} else {
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, 2, RDMA2_ERR_READ_CHUNKS));
			CU_ASSERT_EQUAL(r.m.error.max_chunks, 0);
		}
		/* A Write chunk; a Reply chunk; an empty Write chunk. */
		for (unsigned int i = 0; i < 3; i++) {
			d = (struct wire_call_desc){ 0 };
			if (i == 1) {
				d.reply = &w;
			} else {
				d.writes = i ? &empty : &w;
				d.nwrites = 1;
			}
			rt_raw_call(&r, 3, &d, NULL, 8);
			if (general) {
				CU_ASSERT_TRUE(rt_raw_is_reply(&r, 3));
				continue;
			}
			/* 7.3.2: without continuation nothing is left. */
			CU_ASSERT_TRUE(rt_raw_is_error(
				&r, 3,
				level == RDMA2_RVRSDIR_CONT ?
					RDMA2_ERR_WRITE_CHUNKS :
					RDMA2_ERR_REPLY_RESOURCE));
			CU_ASSERT_EQUAL(r.m.error.max_chunks, 0);
			CU_ASSERT_EQUAL(r.m.error.length_needed, 0);
		}
		CU_ASSERT_EQUAL(r.p.reverse_calls, general ? 6 : level > 0);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		rt_raw_close(&r);
	}
}

/* The level bounds Replies too [F4]. */
static void replies(void)
{
	struct rt_config cfg = with_user;

	for (uint32_t level = 1; level <= RDMA2_RVRSDIR_GENL; level++) {
		struct rt_raw r;
		unsigned int n = 0;

		cfg.reverse = level;
		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		rt_raw_call(&r, 1, NULL, NULL, 4096 - 20);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		CU_ASSERT_EQUAL(r.msg_len, 4096);
		rt_raw_call(&r, 2, NULL, NULL, 9000);
		if (level == RDMA2_RVRSDIR_SIMPLE) {
			CU_ASSERT_TRUE(rt_raw_is_error(
				&r, 2, RDMA2_ERR_REPLY_RESOURCE));
			CU_ASSERT_EQUAL(r.m.error.length_needed, 9000);
		} else {
			while (rt_raw_next(&r) == RDMA2_REPLY_MIDDLE)
				n++;
			CU_ASSERT_EQUAL(n, 2);
			CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
		}
		if (level == RDMA2_RVRSDIR_GENL) {
			struct wire_segment seg =
				rt_raw_expose(&r, RESULTS, 9000, true);
			struct wire_chunk_desc w = { &seg, 1 };
			struct wire_call_desc d = { .reply = &w };

			rt_raw_call(&r, 3, &d, NULL, 9000);
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_EXTERNAL);
		}
		rt_raw_close(&r);
	}
}

/* What our server sends to a client of each level. */
static void calls(void)
{
	for (uint32_t level = 0; level <= 4; level++) {
		struct rt_rpc a;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &with_user));
		rt_raw_prop(&r, true, RDMA2_PROPID_BRS, level);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		/* It cannot know yet that the client has its limit. */
		CU_ASSERT_FALSE(rt_conn_can_call(r.p.server));
		rt_raw_call(&r, 1, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		CU_ASSERT_EQUAL(rt_conn_can_call(r.p.server),
				level >= 1 && level <= 3);

		rt_rpc_init(&r.p, r.p.server, &a, 0x50, 20000, true, 20000, 1,
			    5000, 1, 5000);
		rt_rpc_submit(r.p.server, &a);
		switch (level) {
		case 0:
		case 4:
			CU_ASSERT_TRUE(rt_raw_silent(&r));
			CU_ASSERT_TRUE(a.done);
			CU_ASSERT_EQUAL(a.rq->status, -EOPNOTSUPP);
			break;
		case RDMA2_RVRSDIR_SIMPLE:
			CU_ASSERT_TRUE(rt_raw_silent(&r));
			CU_ASSERT_TRUE(a.done);
			CU_ASSERT_EQUAL(a.rq->status, -E2BIG);
			break;
		case RDMA2_RVRSDIR_CONT:
			for (unsigned int i = 0; i < 4; i++)
				CU_ASSERT_EQUAL(rt_raw_next(&r),
						RDMA2_CALL_MIDDLE);
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
			CU_ASSERT_EQUAL(r.m.reads.count, 0);
			CU_ASSERT_EQUAL(r.m.writes.count, 0);
			CU_ASSERT_FALSE(r.m.has_reply);
			break;
		case RDMA2_RVRSDIR_GENL:
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
			CU_ASSERT_EQUAL(r.m.reads.bytes, 20000);
			CU_ASSERT_EQUAL(r.m.writes.count, 1);
			CU_ASSERT_TRUE(r.m.inv_handle != 0);
			break;
		}
		if (!a.done) {
			CU_ASSERT_EQUAL(r.m.p.xid, 0x50);
			/* One credit more for its Reply [G3]. */
			CU_ASSERT_EQUAL(r.m.p.credit, r.sent + 64 + 1);
			/* An error of the client ends it, and only it. */
			rt_raw_error(&r, 0x50, RDMA2_ERR_SYSTEM);
			rt_raw_run(&r);
			CU_ASSERT_TRUE(a.done);
			CU_ASSERT_EQUAL(a.rq->status, -EREMOTEIO);
		}
		rt_rpc_free(&a);
		rt_raw_call(&r, 2, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
		rt_raw_close(&r);
	}
}

/* At level 3 there are chunks only if the client's upper layer takes longer Calls
 * than the threshold [F4], whatever else could be reduced. */
static void call_max(void)
{
	static const struct {
		uint32_t recv_size, call_max;
		bool chunks;
	} rows[] = {
		{ 4096, 0, false },    { 4096, 4096, false },
		{ 4096, 4097, true },  { 4096, UINT32_MAX, true },
		{ 8192, 4097, false }, { 8192, 8192, false },
		{ 8192, 8193, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned int items = 0; items < 2; items++) {
			uint32_t level = htonl(RDMA2_RVRSDIR_GENL);
			uint32_t size = htonl(rows[i].recv_size);
			const struct wire_prop props[] = {
				{ RDMA2_PROPID_BRS, (uint8_t *)&level, 4 },
				{ RDMA2_PROPID_RBSIZ, (uint8_t *)&size, 4 },
			};
			unsigned int n = 0;
			struct rt_rpc a;
			struct rt_raw r;
			uint32_t htype;

			CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &with_user));
			rt_raw_connprop(&r, true, props, 2);
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
			rt_raw_call(&r, 1, NULL, NULL, 8);
			CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
			rt_rpc_init(&r.p, r.p.server, &a, 0x50, 80000, items,
				    80000, items, 80000, items, 5000);
			a.rq->call_max = rows[i].call_max;
			rt_rpc_submit(r.p.server, &a);
			do {
				htype = rt_raw_next(&r);
				n++;
			} while (htype == RDMA2_CALL_MIDDLE);
			CU_ASSERT_EQUAL(htype, rows[i].chunks && !items ?
						       RDMA2_CALL_EXTERNAL :
						       RDMA2_CALL_INLINE);
			CU_ASSERT_EQUAL(n == 1, rows[i].chunks);
			CU_ASSERT_EQUAL(r.m.reads.count > 0,
					rows[i].chunks && items);
			CU_ASSERT_EQUAL(r.m.writes.count > 0,
					rows[i].chunks && items);
			CU_ASSERT_EQUAL(r.m.has_reply, rows[i].chunks);
			rt_raw_error(&r, 0x50, RDMA2_ERR_SYSTEM);
			rt_raw_run(&r);
			rt_rpc_free(&a);
			rt_raw_close(&r);
		}
	}
}

/* Equal XIDs in both directions do not meet [G2]. */
static void same_xid(void)
{
	struct rt_config cfg = with_user;
	struct rt_rpc f, v;
	struct rt_pair p;

	cfg.reverse = RDMA2_RVRSDIR_GENL;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &with_user, NULL));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 8, 0, 0, 0, 0));
	p.hold = true;
	rt_rpc_init(&p, p.client, &f, 7, 30000, false, 30000, 0, 0, 0, 0);
	rt_rpc_init(&p, p.server, &v, 7, 20000, false, 20000, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &f);
	rt_rpc_submit(p.server, &v);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(p.nheld, 2);
	while (p.nheld)
		rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&f));
	CU_ASSERT_TRUE(rt_rpc_check(&v));
	/* Twice at a time on one side is refused. */
	p.hold = true;
	rt_rpc_submit(p.client, &f);
	rt_pair_run(&p);
	{
		struct rt_rpc again;

		rt_rpc_init(&p, p.client, &again, 7, 0, false, 8, 0, 0, 0, 0);
		rt_rpc_submit(p.client, &again);
		rt_pair_run(&p);
		CU_ASSERT_TRUE(again.done);
		CU_ASSERT_EQUAL(again.rq->status, -EEXIST);
		rt_rpc_free(&again);
	}
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&f));
	rt_rpc_free(&f);
	rt_rpc_free(&v);
	rt_pair_close(&p);
}

/* A pair whose server has called back @n times; the client answers none. */
static bool called_back(struct rt_pair *p, const struct rt_config *server,
			struct rt_rpc *v, uint32_t n)
{
	struct rt_config c = with_user;

	c.reverse = RDMA2_RVRSDIR_SIMPLE;
	if (!rt_pair_open(p, &c, server, NULL) ||
	    !rt_rpc_trip(p, p->client, 1, 0, false, 8, 0, 0, 0, 0))
		return false;
	p->hold = true;
	for (uint32_t i = 0; i < n; i++) {
		rt_rpc_init(p, p->server, &v[i], i, 0, false, 8, 0, 0, 0, 0);
		rt_rpc_submit(p->server, &v[i]);
	}
	rt_pair_run(p);
	return true;
}

/* As many as configured at once; the others wait, and none is lost. */
static void bound(void)
{
	struct rt_config s = with_user;
	struct rt_rpc v[8];
	struct rt_pair p;

	s.reverse_credits = 3;
	CU_ASSERT_TRUE_FATAL(called_back(&p, &s, v, 8));
	for (unsigned int left = 8; left; left--) {
		CU_ASSERT_EQUAL_FATAL(p.nheld, left < 3 ? left : 3);
		rt_pair_answer(&p, p.held[--p.nheld]);
		rt_pair_run(&p);
	}
	rt_rpc_finish(v, 8);
	rt_pair_close(&p);
}

static void pass(struct rt_pair *p, unsigned int ms)
{
	for (; ms; ms -= 10) {
		test_clock_pass(10);
		rt_pair_run(p);
	}
}

/* One that is never answered ends the connection, and with it those that wait
 * for its credit. */
static void unanswered(void)
{
	struct rt_config s = with_user;
	struct rt_rpc v[2];
	struct rt_pair p;

	s.reverse_credits = 1;
	s.reverse_ms = 300;
	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(called_back(&p, &s, v, 2));
	CU_ASSERT_EQUAL(p.nheld, 1);
	pass(&p, 200);
	CU_ASSERT_FALSE(p.server_closed);
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&v[0]));
	CU_ASSERT_EQUAL(p.nheld, 1);
	/* The other has waited as long. */
	CU_ASSERT_FALSE(p.server_closed);
	pass(&p, 300);
	CU_ASSERT_TRUE(p.server_closed);
	CU_ASSERT_EQUAL(p.server_error, -ETIMEDOUT);
	CU_ASSERT_TRUE(v[1].done);
	CU_ASSERT_EQUAL(v[1].rq->status, -ECONNRESET);
	for (uint32_t i = 0; i < 2; i++)
		rt_rpc_free(&v[i]);
	rt_pair_close(&p);
}

/* The answer has come in time, and is found after the deadline: the server's thread
 * is late. */
static void late(void)
{
	struct rt_config s = with_user;
	struct rt_pair p;
	struct rt_rpc v;

	s.reverse_ms = 300;
	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(called_back(&p, &s, &v, 1));
	pass(&p, 200);
	rt_pair_answer(&p, p.held[--p.nheld]);
	test_clock_pass(1000);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&v));
	CU_ASSERT_FALSE(p.server_closed);
	rt_rpc_free(&v);
	rt_pair_close(&p);
}

/* While one of its own Calls is outstanding, a server holds nobody's credits
 * back [G3], however many Calls it has. */
static void many_meanwhile(void)
{
	struct rt_config s = with_user;
	uint32_t n, most = 150;
	struct rt_rpc a;
	struct rt_raw r;

	s.credits = 4;
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &s));
	rt_raw_prop(&r, true, RDMA2_PROPID_BRS, RDMA2_RVRSDIR_SIMPLE);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_rpc_init(&r.p, r.p.server, &a, 0x50, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r.p.server, &a);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	r.p.hold = true;
	for (n = 0; n < most && !r.down; n++) {
		rt_raw_call(&r, 100 + n, NULL, NULL, 8);
		rt_raw_run(&r);
		rt_raw_flush(&r);
	}
	CU_ASSERT_FALSE(r.down);
	CU_ASSERT_EQUAL(r.p.nheld, most);
	CU_ASSERT_TRUE(most > 4 * s.credits + 64);
	while (r.p.nheld)
		rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	rt_raw_run(&r);
	rt_rpc_free(&a);
	rt_raw_close(&r);
}

/* A server with a Call of its own outstanding, and @n Calls of the client's. */
static bool meanwhile(struct rt_raw *r, const struct rt_config *s,
		      struct rt_rpc *a, uint32_t n)
{
	if (!rt_raw_client(r, s))
		return false;
	rt_raw_prop(r, true, RDMA2_PROPID_BRS, RDMA2_RVRSDIR_SIMPLE);
	rt_raw_next(r);
	rt_raw_call(r, 1, NULL, NULL, 8);
	rt_raw_run(r);
	rt_raw_flush(r);
	rt_rpc_init(&r->p, r->p.server, a, 0x50, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r->p.server, a);
	if (rt_raw_next(r) != RDMA2_CALL_INLINE)
		return false;
	r->p.hold = true;
	for (uint32_t i = 0; i < n; i++) {
		rt_raw_call(r, 100 + i, NULL, NULL, 8);
		rt_raw_run(r);
		while (rt_raw_next(r) == RDMA2_GRANT)
			;
	}
	return !r->down;
}

/* All of them are refused at once, and the client has no credit to give: they wait,
 * however many, and nothing is granted meanwhile [E6]. */
static void many_refused(void)
{
	struct rt_config s = with_user;
	struct rt_conn_info info;
	const uint32_t most = 60;
	struct rt_rpc a;
	struct rt_raw r;

	s.credits = 4;
	CU_ASSERT_TRUE_FATAL(meanwhile(&r, &s, &a, most));
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, most);
	r.credits = 0;
	rt_raw_grant(&r);
	for (uint32_t i = 0; i < most; i++)
		rt_call_refuse(r.p.held[i], RDMA2_ERR_SYSTEM);
	r.p.nheld = 0;
	rt_raw_run(&r);
	rt_raw_flush(&r);
	CU_ASSERT_FALSE_FATAL(r.down);
	rt_conn_info(r.p.server, &info);
	CU_ASSERT_EQUAL(info.advertised, 0);
	r.credits = 200;
	rt_raw_grant(&r);
	for (uint32_t i = 0; i < most; i++)
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 100 + i, RDMA2_ERR_SYSTEM));
	rt_conn_info(r.p.server, &info);
	CU_ASSERT_EQUAL(info.advertised, 5);
	rt_rpc_free(&a);
	rt_raw_close(&r);
}

/* There is no memory for so many: those that are too many fail alone (7.4.1). */
static void too_many(void)
{
	struct rt_config s = with_user;
	const uint32_t most = 40;
	struct rt_rpc a;
	struct rt_raw r;

	s.credits = 2;
	s.max_message = s.max_conn_memory = RT_MIN(max_message);
	CU_ASSERT_TRUE_FATAL(meanwhile(&r, &s, &a, most));
	CU_ASSERT_TRUE(r.p.nheld > 4 && r.p.nheld < most);
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).errors_sent,
			most - r.p.nheld);
	while (r.p.nheld)
		rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	rt_raw_run(&r);
	CU_ASSERT_FALSE(r.down);
	rt_rpc_free(&a);
	rt_raw_close(&r);
}

/* A Call-only procedure: no chunks, done when it has gone (4.7). */
static void call_only(void)
{
	struct rt_rpc a;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_rpc_init(&r.p, r.p.client, &a, 5, 9000, true, 100000, 1, 500, 1,
		    500);
	a.rq->call_only = true;
	rt_rpc_submit(r.p.client, &a);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_MIDDLE);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_MIDDLE);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r.m.reads.count, 0);
	CU_ASSERT_EQUAL(r.m.writes.count, 0);
	CU_ASSERT_FALSE(r.m.has_reply);
	CU_ASSERT_EQUAL(r.m.inv_handle, 0);
	CU_ASSERT_TRUE(a.done);
	CU_ASSERT_EQUAL(a.rq->status, 0);
	rt_rpc_free(&a);
	rt_raw_close(&r);
}

/* ---- Whose turn it is ------------------------------------------------- */

#define AGAIN 40

static struct {
	struct rt_pair p;
	pthread_t caller;
	atomic_uint done, by_caller;
	atomic_bool stop;
} turns;

static void again(struct rt_request *rq)
{
	if (pthread_equal(pthread_self(), turns.caller))
		atomic_fetch_add(&turns.by_caller, 1);
	if (atomic_fetch_add(&turns.done, 1) + 1 < AGAIN)
		rt_request_submit(turns.p.client, rq);
}

static void *poll_both(void *unused)
{
	while (!atomic_load(&turns.stop)) {
		rt_run(turns.p.client_inst, 0, 10);
		rt_run(turns.p.server_inst, 0, 0);
	}
	return NULL;
}

/* Whoever wanted to send one Call does not go on for ever with what the
 * connection has to do besides; the poller does, if there is one. */
static void passed_on(void)
{
	struct rt_pair *p = &turns.p;
	uint64_t end = util_ms() + 60000;
	pthread_t poller;
	struct rt_rpc a;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(p, &with_user, &with_user, NULL));
	CU_ASSERT_TRUE(rt_rpc_trip(p, p->client, 1, 0, false, 8, 0, 0, 0, 0));
	p->drop = true;
	rt_rpc_init(p, p->client, &a, 5, 0, false, 8, 0, 0, 0, 0);
	a.rq->call_only = true;
	a.rq->done = again;
	turns.caller = pthread_self();
	rt_request_submit(p->client, a.rq);
	CU_ASSERT_EQUAL(atomic_load(&turns.done), AGAIN);
	CU_ASSERT_EQUAL(atomic_load(&turns.by_caller), AGAIN);
	rt_pair_run(p);

	CU_ASSERT_EQUAL_FATAL(pthread_create(&poller, NULL, poll_both, NULL),
			      0);
	/* It may be between two turns just then. */
	do {
		turns.done = turns.by_caller = 0;
		rt_request_submit(p->client, a.rq);
		while (atomic_load(&turns.done) < AGAIN && util_ms() < end)
			sched_yield();
	} while (turns.by_caller == AGAIN && util_ms() < end);
	CU_ASSERT_EQUAL(atomic_load(&turns.done), AGAIN);
	CU_ASSERT_TRUE(atomic_load(&turns.by_caller) < AGAIN);
	turns.stop = true;
	pthread_join(poller, NULL);
	rt_pair_run(p);
	rt_rpc_free(&a);
	rt_pair_close(p);
}

static const struct unit_test tests[] = {
	{ "chunks refused", chunks_refused },
	{ "replies", replies },
	{ "calls", calls },
	{ "call max", call_max },
	{ "same xid", same_xid },
	{ "bound", bound },
	{ "unanswered", unanswered },
	{ "late", late },
	{ "many meanwhile", many_meanwhile },
	{ "many refused", many_refused },
	{ "too many", too_many },
	{ "call only", call_only },
	{ "passed on", passed_on },
	{ NULL, NULL },
};

UNIT_MAIN("transport-reverse", tests)
