/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a connection has of its own (receives.c): when all memory of the server
 * is taken, one that is there goes on within its credits, and a new one is
 * refused without the others' noticing. By both versions. And what it gives back of
 * what it has taken meanwhile.
 */
#include <errno.h>

#include "rt_raw1.h"
#include "test_clock.h"
#include "transport/responder/responder.h"
#include "unit.h"

#define CREDITS 8
#define MANY 40

static const struct rt_config little = { .max_memory = RT_MIN(max_memory),
					 .credits = CREDITS };
static struct fab_buf *taken;
static struct rt_rpc v[MANY];
/* Of this pool, so many more buffers are there, and then none. */
static struct fab_pool *short_pool;
static unsigned int short_in;

struct fab_buf *__wrap_fab_pool_get_spare(struct fab_pool *pool, size_t size);
struct fab_buf *__real_fab_pool_get_spare(struct fab_pool *pool, size_t size);

struct fab_buf *__wrap_fab_pool_get_spare(struct fab_pool *pool, size_t size)
{
	if (pool == short_pool && !short_in)
		return NULL;
	short_in -= pool == short_pool;
	return __real_fab_pool_get_spare(pool, size);
}

/* All of the server's memory that this gives. */
static void fill_by(struct rt_pair *p,
		    struct fab_buf *(*get)(struct fab_pool *, size_t))
{
	struct fab_pool *pool = rt_instance_pool(p->server_inst);
	struct fab_buf *b;

	for (size_t size = 4u << 20; size >= 4096; size /= 4)
		while ((b = get(pool, size))) {
			b->next = taken;
			taken = b;
		}
}

/* All but what is promised. */
static void fill(struct rt_pair *p)
{
	fill_by(p, fab_pool_get);
}

/* What is kept for the server's connections. */
static unsigned int kept(struct rt_pair *p)
{
	struct fab_buf *b, *list = NULL;
	unsigned int n = 0;

	while ((b = fab_pool_get_promised(rt_instance_pool(p->server_inst)))) {
		b->next = list;
		list = b;
		n++;
	}
	while ((b = list)) {
		list = b->next;
		fab_pool_put(b);
	}
	return n;
}

static void give_back(void)
{
	while (taken) {
		struct fab_buf *b = taken;

		taken = b->next;
		fab_pool_put(b);
	}
}

static bool lives(const struct rt_pair *p)
{
	return !p->client_closed && !p->server_closed;
}

static bool start(struct rt_pair *p, const struct rt_config *vers)
{
	struct rt_config client = *vers, server = little;

	client.credits = 2 * CREDITS;
	server.versions = vers->versions;
	/* Shared Receives are the domain's. */
	return rt_pair_open(p, &client, &server, NULL);
}

/* With @data octets each way by chunks. */
static void submit_data(struct rt_pair *p, unsigned int from, unsigned int to,
			uint32_t len, uint32_t data)
{
	for (unsigned int i = from; i < to; i++) {
		rt_rpc_init(p, p->client, &v[i], 100 + i, data, true, len,
			    data != 0, data, data != 0, data);
		rt_rpc_submit(p->client, &v[i]);
	}
	rt_pair_run(p);
}

static void submit(struct rt_pair *p, unsigned int from, unsigned int to,
		   uint32_t len)
{
	submit_data(p, from, to, len, 0);
}

static void all_done(struct rt_pair *p, unsigned int n)
{
	rt_rpc_finish(v, n);
	CU_ASSERT_TRUE(lives(p));
}

/* One after the other, and many at once, long ones too where there are. */
static void goes_on(const struct rt_config *vers)
{
	bool v1 = vers->versions == 1u << WIRE_VERS1;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(start(&p, vers));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 16, 0, 0, 0, 0));
	fill(&p);
	CU_ASSERT_EQUAL(kept(&p), RT_PROMISED);
	for (uint32_t xid = 2; xid < 50; xid++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid, 0, false, 16, 0,
					   0, 0, 0));
	submit(&p, 0, MANY, 16);
	all_done(&p, MANY);
	if (!v1) {
		submit(&p, 0, MANY, 20000);
		all_done(&p, MANY);
	}
	give_back();
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 60, 0, false, 16, 0, 0, 0, 0));
	rt_pair_close(&p);
}

/* It becomes full while as many Calls are executed as there are credits. */
static void amid(const struct rt_config *vers)
{
	struct rt_conn_info info;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(start(&p, vers));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 16, 0, 0, 0, 0));
	p.hold = true;
	submit(&p, 0, CREDITS, 16);
	CU_ASSERT_EQUAL(p.nheld, CREDITS);
	fill(&p);
	submit(&p, CREDITS, MANY, 16);
	CU_ASSERT_EQUAL(p.nheld, CREDITS);
	for (unsigned int turns = 0; p.nheld && turns < 2 * MANY; turns++) {
		rt_pair_answer(&p, p.held[--p.nheld]);
		rt_pair_run(&p);
		CU_ASSERT_TRUE(lives(&p));
		CU_ASSERT_TRUE(p.nheld < CREDITS);
	}
	p.hold = false;
	all_done(&p, MANY);
	give_back();
	/* All credits are there again. */
	for (uint32_t xid = 2; xid < 10; xid++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid, 0, false, 16, 0,
					   0, 0, 0));
	rt_conn_info(p.server, &info);
	CU_ASSERT_EQUAL(info.advertised, CREDITS);
	rt_pair_close(&p);
}

/* New ones are refused, and leave nothing. */
static void refused(const struct rt_config *vers)
{
	struct fab_pool_stats was, is;
	struct rt_conn *first, *last;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(start(&p, vers));
	first = p.client;
	fill(&p);
	fab_pool_get_stats(rt_instance_pool(p.server_inst), &was);
	for (unsigned int i = 0; i < 20; i++) {
		CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
		rt_pair_run(&p);
		CU_ASSERT_TRUE(p.client_closed);
		CU_ASSERT_FALSE(p.server_up || p.server_closed);
		p.client = first;
		p.client_closed = false;
		CU_ASSERT_TRUE(rt_rpc_trip(&p, first, 10 + i, 0, false, 16, 0,
					   0, 0, 0));
	}
	fab_pool_get_stats(rt_instance_pool(p.server_inst), &is);
	CU_ASSERT_EQUAL(was.bytes_in_use, is.bytes_in_use);
	give_back();
	CU_ASSERT_TRUE(rt_pair_connect(&p));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 99, 0, false, 16, 0, 0, 0, 0));
	last = p.client;
	rt_conn_close(first, false);
	rt_pair_run(&p);
	p.client = last;
	rt_pair_close(&p);
}

/* The same wherever it comes short. */
static void refused_late(void)
{
	struct fab_pool_stats was, is;
	struct rt_conn *first, *last;
	struct fab_pool *pool;
	struct rt_pair p;
	unsigned int n;

	CU_ASSERT_TRUE_FATAL(start(&p, &rt_only2));
	first = p.client;
	pool = rt_instance_pool(p.server_inst);
	fab_pool_get_stats(pool, &was);
	for (n = 0; n < 1000; n++) {
		CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
		short_pool = pool;
		short_in = n;
		rt_pair_run(&p);
		short_pool = NULL;
		if (!p.client_closed)
			break;
		CU_ASSERT_FALSE(p.server_up || p.server_closed);
		fab_pool_get_stats(pool, &is);
		CU_ASSERT_EQUAL(was.bytes_in_use, is.bytes_in_use);
		p.client = first;
		p.client_closed = false;
	}
	CU_ASSERT_TRUE(n > RT_RESERVED_SENDS && n < 1000);
	last = p.client;
	CU_ASSERT_TRUE(rt_rpc_trip(&p, last, 99, 0, false, 16, 0, 0, 0, 0));
	rt_conn_close(first, false);
	rt_pair_run(&p);
	p.client = last;
	rt_pair_close(&p);
}

/* A Call the other way has the Receive for its Reply from what is promised, and
 * gives it back. */
static void calls_back_by(uint32_t recv_size)
{
	struct fab_pool_stats was, is;
	struct rt_config client = rt_only2, server = little;
	struct rt_pair p;

	client.reverse = RDMA2_RVRSDIR_CONT;
	client.credits = 2 * CREDITS;
	server.versions = client.versions;
	server.recv_size = recv_size;
	server.request_user_size = sizeof(void *);
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, &server, NULL));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 16, 0, 0, 0, 0));
	rt_rpc_init(&p, p.server, &v[0], 2, 0, false, 16, 0, 0, 0, 0);
	fill(&p);
	fab_pool_get_stats(rt_instance_pool(p.server_inst), &was);
	rt_rpc_submit(p.server, &v[0]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&v[0]));
	fab_pool_get_stats(rt_instance_pool(p.server_inst), &is);
	CU_ASSERT_EQUAL(was.bytes_in_use, is.bytes_in_use);
	rt_rpc_free(&v[0]);
	give_back();
	rt_pair_close(&p);
}

static void calls_back(void)
{
	calls_back_by(4096);
	calls_back_by(RT_DEFAULT(recv_size));
}

/* What is reserved to those that are there no new one gets, though there is
 * enough to spare for its promise. */
static void reserved(void)
{
	struct rt_conn *first;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(start(&p, &rt_only2));
	first = p.client;
	fill_by(&p, fab_pool_get_spare);
	for (unsigned int i = 0; i < RT_PROMISED; i++) {
		struct fab_buf *b = taken;

		CU_ASSERT_EQUAL(b->size, FAB_POOL_PROMISED);
		taken = b->next;
		fab_pool_put(b);
	}
	CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_FALSE(p.server_up || p.server_closed);
	CU_ASSERT_EQUAL(kept(&p), RT_PROMISED);
	p.client = first;
	p.client_closed = false;
	CU_ASSERT_TRUE(rt_rpc_trip(&p, first, 10, 0, false, 16, 0, 0, 0, 0));
	give_back();
	rt_pair_close(&p);
}

static void goes_on2(void)
{
	goes_on(&rt_only2);
}

static void goes_on1(void)
{
	goes_on(&rt_only1);
}

static void amid2(void)
{
	amid(&rt_only2);
}

static void amid1(void)
{
	amid(&rt_only1);
}

static void refused2(void)
{
	refused(&rt_only2);
}

static void refused1(void)
{
	refused(&rt_only1);
}

/* A device that sends from registered memory alone, as verbs are. */
static void must_copy(struct fab_domain *dom)
{
	struct loop_settings s;

	loop_get_settings(dom, &s);
	s.limits.caps &= ~(unsigned int)FAB_CAP_ANY_LOCAL;
	loop_set_settings(dom, &s);
}

/* Replies that have to be copied go, however long they are and however full it is,
 * part by part. */
static void copies(const struct rt_config *vers, uint32_t recv_size)
{
	struct rt_config client = *vers, server = little;
	struct fab_pool_stats was, is;
	struct rt_pair p;
	uint32_t xid = 1;

	client.credits = 2 * CREDITS;
	client.recv_size = recv_size;
	server.versions = vers->versions;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, &server, must_copy));
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, xid++, 0, false, 16, 0, 0, 0, 0));
	fill(&p);
	CU_ASSERT_EQUAL(kept(&p), RT_PROMISED);
	fab_pool_get_stats(rt_instance_pool(p.server_inst), &was);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 16, 0,
					   0, 0, 0));
		/* By Write chunks, and by a Reply chunk or in fragments. */
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 16, 1,
					   200001, 1, 200004));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 16, 2,
					   30000, 2, 40000));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 20000,
					   0, 0, 0, 0));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid++, 0, false, 20000,
					   1, 30000, 1, 30000));
		CU_ASSERT_TRUE_FATAL(lives(&p));
	}
	submit(&p, 0, MANY, 20000);
	all_done(&p, MANY);
	CU_ASSERT_EQUAL(kept(&p), RT_PROMISED);
	fab_pool_get_stats(rt_instance_pool(p.server_inst), &is);
	CU_ASSERT_EQUAL(was.bytes_in_use, is.bytes_in_use);
	give_back();
	rt_pair_close(&p);
}

static void copies2(void)
{
	copies(&rt_only2, 0);
	copies(&rt_only2, 65536);
}

static void copies1(void)
{
	copies(&rt_only1, 0);
}

static unsigned int free_calls(struct rt_pair *p)
{
	const struct rt_call_priv *call = p->server->resp.free_calls;
	unsigned int n = 0;

	for (; call; call = call->next_free)
		n++;
	return n;
}

static unsigned int works(const struct rt_work *w)
{
	unsigned int n = 0;

	for (; w; w = w->next)
		n++;
	return n;
}

/* How often the provider was told to give back what it has. */
static unsigned int rests;

void __real_fab_conn_trim(struct fab_conn *c);
void __wrap_fab_conn_trim(struct fab_conn *c);

void __wrap_fab_conn_trim(struct fab_conn *c)
{
	rests++;
	__real_fab_conn_trim(c);
}

/* As many Calls at once as there are credits, and as many Replies in one chain:
 * then there is much to give back. */
static void burst(struct rt_pair *p)
{
	const struct rt_conn *c = p->server;

	p->hold = true;
	submit_data(p, 0, CREDITS, 16, 5000);
	/* The last may wait for a credit. */
	CU_ASSERT_TRUE(p->nheld >= CREDITS - 1);
	while (p->nheld) {
		while (p->nheld)
			rt_pair_answer(p, p->held[--p->nheld]);
		rt_pair_run(p);
	}
	p->hold = false;
	all_done(p, CREDITS);
	submit(p, 0, CREDITS, 16);
	all_done(p, CREDITS);
	CU_ASSERT_TRUE(free_calls(p) >= CREDITS - 1);
	CU_ASSERT_TRUE(works(c->work.free_sends) >= CREDITS - 1);
	CU_ASSERT_TRUE(works(c->work.free_works) >= CREDITS - 1);
}

/* What many Calls at once have needed is not kept because there is one now and
 * then; nor is it given back and taken again all the time. */
static void now_and_then(void)
{
	struct rt_pair p;

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(start(&p, &rt_only2));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 16, 0, 0, 0, 0));
	rests = 0;
	for (unsigned int i = 0; i < 5; i++) {
		burst(&p);
		test_clock_pass(900);
	}
	CU_ASSERT_EQUAL(rests, 0);
	for (uint32_t xid = 1000; xid < 1004; xid++) {
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid, 0, false, 16, 0,
					   0, 0, 0));
		test_clock_pass(900);
	}
	CU_ASSERT_TRUE(free_calls(&p) <= 2);
	CU_ASSERT_TRUE(works(p.server->work.free_sends) <=
		       RT_RESERVED_SENDS + 1);
	CU_ASSERT_TRUE(works(p.server->work.free_works) <= RT_RESERVED_SENDS);
	CU_ASSERT_TRUE(rests > 0);
	burst(&p);
	rt_pair_close(&p);
	test_clock_release();
}

/* Nor when nothing comes for a second. */
static void at_rest(void)
{
	struct rt_pair p;

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(start(&p, &rt_only2));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 16, 0, 0, 0, 0));
	rests = 0;
	for (unsigned int i = 1; i <= 2; i++) {
		burst(&p);
		test_clock_pass(RT_IDLE_MS);
		rt_pair_run(&p);
		CU_ASSERT_EQUAL(free_calls(&p), 1);
		CU_ASSERT_EQUAL(works(p.server->work.free_sends),
				RT_RESERVED_SENDS);
		CU_ASSERT_EQUAL(works(p.server->work.free_works),
				RT_RESERVED_SENDS);
		/* Of both ends. */
		CU_ASSERT_EQUAL(rests, 2 * i);
	}
	rt_pair_close(&p);
	test_clock_release();
}

/* One host cannot have more than its share by Receives alone. */
static void share(void)
{
	/* A Receive of 256 KiB, and 65 of them, would be all there is. */
	struct rt_config server = { .max_memory = RT_MIN(max_memory),
				    .credits = 2,
				    .recv_size = 262144 };
	struct rt_conn *conn[4];
	unsigned int n = 0;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, NULL, &server, NULL));
	for (unsigned int i = 0; i < 8; i++) {
		CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
		rt_pair_run(&p);
		if (!p.client_closed && n < 4)
			conn[n++] = p.client;
	}
	/* Each has 1 MiB. */
	CU_ASSERT_EQUAL(n, 4);
	while (n) {
		rt_conn_close(conn[--n], true);
		rt_pair_run(&p);
	}
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "goes on, version 2", goes_on2 },
	{ "goes on, version 1", goes_on1 },
	{ "amid Calls, version 2", amid2 },
	{ "amid Calls, version 1", amid1 },
	{ "refused, version 2", refused2 },
	{ "refused, version 1", refused1 },
	{ "refused late", refused_late },
	{ "copies, version 2", copies2 },
	{ "copies, version 1", copies1 },
	{ "calls back", calls_back },
	{ "reserved", reserved },
	{ "now and then", now_and_then },
	{ "at rest", at_rest },
	{ "share", share },
	{ NULL, NULL },
};

UNIT_MAIN("transport-reserve", tests)
