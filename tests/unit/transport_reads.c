/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many RDMA Reads are under way: until a thread takes the Calls, a host has so many and
 * no more. Hosts are told apart by the connection, which loop does not do.
 */
#include <arpa/inet.h>
#include <string.h>

#include "rt_pair.h"
#include "test_clock.h"
#include "transport/core/core.h"
#include "unit.h"

#define KIB 1024u
#define DATA (64 * KIB)
#define LEAST (8 * (size_t)DATA) /* what a host alone may have */
#define CALLS 16

static struct rt_pair p;
static unsigned int hosts,
	accepted; /* connections are of these hosts in turn */

struct in6_addr __real_base_addr_host(const struct sockaddr *a);
struct in6_addr __wrap_base_addr_host(const struct sockaddr *a);

struct in6_addr __wrap_base_addr_host(const struct sockaddr *a)
{
	struct in6_addr host = __real_base_addr_host(a);

	host.s6_addr[15] = (uint8_t)(1 + accepted % hosts);
	return host;
}

/* The server's end whose RDMA Reads do not complete, once it has posted some. */
static struct fab_conn *stuck;
static bool sticks;

int __real_fab_post(struct fab_conn *c, struct fab_wr *chain);
int __wrap_fab_post(struct fab_conn *c, struct fab_wr *chain);
int __real_fab_poll(struct fab_conn *c, struct fab_wc *wc, int n);
int __wrap_fab_poll(struct fab_conn *c, struct fab_wc *wc, int n);

int __wrap_fab_post(struct fab_conn *c, struct fab_wr *chain)
{
	if (sticks && chain->op == FAB_READ) {
		sticks = false;
		stuck = c;
	}
	return __real_fab_post(c, chain);
}

int __wrap_fab_poll(struct fab_conn *c, struct fab_wc *wc, int n)
{
	return c == stuck ? 0 : __real_fab_poll(c, wc, n);
}

/* The host has too many Replies to take. */
static bool full;

bool __wrap_rt_replies_over_limit(struct rt_conn *c, unsigned int others);

bool __wrap_rt_replies_over_limit(struct rt_conn *c, unsigned int others)
{
	return full;
}

/* A connection, and the Calls that it has made. */
struct end {
	struct rt_conn *client, *server;
	struct rt_rpc rpc[CALLS];
	unsigned int n;
};

static void open_server(unsigned int nhosts, size_t max_memory)
{
	const struct rt_config client = { .request_user_size = sizeof(void *) };
	const struct rt_config server = { .max_memory = max_memory,
					  .max_message = 4 * LEAST };

	hosts = nhosts;
	accepted = 0;
	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &client, &server, NULL));
	p.server_inst->reads.least = LEAST;
	p.hold = true;
}

static void connect_end(struct end *e)
{
	CU_ASSERT_TRUE_FATAL(rt_pair_connect(&p));
	accepted++;
	*e = (struct end){ .client = p.client, .server = p.server };
}

/* @n Calls with @data octets in a Read chunk. */
static void prepare(struct end *e, unsigned int n, size_t data)
{
	for (; n; n--, e->n++)
		rt_rpc_init(&p, e->client, &e->rpc[e->n], e->n + 1, data, true,
			    16, 0, 0, 0, 0);
}

static void submit(struct end *e, unsigned int n, size_t data)
{
	prepare(e, n, data);
	while (n)
		rt_rpc_submit(e->client, &e->rpc[e->n - n--]);
	rt_pair_run(&p);
}

static void pass(unsigned int ms)
{
	test_clock_pass(ms);
	rt_wake(p.server_inst, 0);
	rt_pair_run(&p);
}

static uint64_t under_way(void)
{
	struct rt_totals t;

	rt_totals(p.server_inst, &t);
	return t.reads_under_way;
}

static uint64_t waits(void)
{
	return rt_pair_stats(p.server_inst).read_waits;
}

/* Returns the first Call of @e that is held, or NULL. */
static struct rt_call **held(const struct end *e)
{
	for (unsigned int i = 0; i < p.nheld; i++)
		if (p.held[i]->conn == e->server)
			return &p.held[i];
	return NULL;
}

static unsigned int nheld(const struct end *e)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < p.nheld; i++)
		n += p.held[i]->conn == e->server;
	return n;
}

/* Take the first Call of @e. Returns it. */
static struct rt_call *take(const struct end *e)
{
	struct rt_call **at = held(e), *call;

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	call = *at;
	p.nheld--;
	memmove(at, at + 1, (size_t)(&p.held[p.nheld] - at) * sizeof(*at));
	rt_call_begin(call);
	rt_pair_run(&p);
	return call;
}

static void answer(struct rt_call *call)
{
	rt_pair_answer(&p, call);
	rt_pair_run(&p);
}

/* Take and answer all of @e, which come in their order, from @xid. */
static void finish(struct end *e, uint32_t xid)
{
	for (; xid <= e->n; xid++) {
		struct rt_call *call = take(e);

		CU_ASSERT_EQUAL(call->xid, xid);
		answer(call);
	}
	for (unsigned int i = 0; i < e->n; i++)
		CU_ASSERT_TRUE(rt_rpc_check(&e->rpc[i]));
}

static void release(struct end *e)
{
	for (unsigned int i = 0; i < e->n; i++)
		rt_rpc_free(&e->rpc[i]);
	rt_conn_close(e->client, false);
	rt_pair_run(&p);
}

static void end_all(struct end *e, unsigned int n)
{
	CU_ASSERT_EQUAL(under_way(), 0);
	for (unsigned int i = 0; i < n; i++)
		release(&e[i]);
	p.client = p.server = NULL;
	rt_pair_close(&p);
}

/* A host alone has the limit. Calls that a thread has taken do not count, also if they are
 * never answered. */
static void alone(void)
{
	struct rt_call *hung;
	struct end e;

	open_server(1, 0);
	connect_end(&e);
	submit(&e, CALLS, DATA);
	CU_ASSERT_EQUAL(p.nheld, 8);
	CU_ASSERT_EQUAL(under_way(), LEAST);
	CU_ASSERT_EQUAL(waits(), CALLS - 8);
	hung = take(&e);
	CU_ASSERT_EQUAL(hung->xid, 1);
	CU_ASSERT_EQUAL(p.nheld, 8);
	CU_ASSERT_EQUAL(under_way(), LEAST);
	for (uint32_t xid = 2; xid <= CALLS; xid++)
		answer(take(&e));
	CU_ASSERT_EQUAL(under_way(), 0);
	CU_ASSERT_FALSE(e.rpc[0].done);
	answer(hung);
	finish(&e, CALLS + 1);
	end_all(&e, 1);
}

/* Each host has one Call under way, be it longer than the limit. */
static void longer(void)
{
	struct end e[2];

	open_server(2, 0);
	connect_end(&e[0]);
	connect_end(&e[1]);
	for (unsigned int i = 0; i < 2; i++)
		submit(&e[i], 4, 3 * LEAST);
	CU_ASSERT_EQUAL(nheld(&e[0]), 1);
	CU_ASSERT_EQUAL(nheld(&e[1]), 1);
	CU_ASSERT_EQUAL(under_way(), 6 * LEAST);
	finish(&e[0], 1);
	finish(&e[1], 1);
	end_all(e, 2);
}

/* A server with the least memory: a host alone has an eighth of it. */
static void little_memory(void)
{
	struct end e;

	open_server(1, RT_MIN(max_memory));
	connect_end(&e);
	p.server_inst->reads.least = SIZE_MAX / 4;
	submit(&e, 8, RT_MIN(max_memory) / 16);
	CU_ASSERT_EQUAL(p.nheld, 2);
	CU_ASSERT_EQUAL(under_way(), RT_MIN(max_memory) / 8);
	finish(&e, 1);
	end_all(&e, 1);
}

/* The connections of a host take turns. */
static void in_turn(void)
{
	struct end e[2];

	open_server(1, 0);
	connect_end(&e[0]);
	connect_end(&e[1]);
	submit(&e[0], CALLS, DATA);
	submit(&e[1], 4, DATA);
	CU_ASSERT_EQUAL(nheld(&e[0]), 8);
	CU_ASSERT_EQUAL(nheld(&e[1]), 0);
	for (unsigned int i = 1; i <= 8; i++) {
		answer(take(&e[0]));
		CU_ASSERT_EQUAL(nheld(&e[1]), i / 2);
		CU_ASSERT_EQUAL(under_way(), LEAST);
	}
	finish(&e[1], 1);
	finish(&e[0], 9);
	end_all(e, 2);
}

/* Hosts have equal shares, whoever was first; one that has nothing does not wait. */
static void fair(void)
{
	struct end e[3];

	open_server(3, 0);
	for (unsigned int i = 0; i < 3; i++)
		connect_end(&e[i]);
	submit(&e[0], CALLS, DATA);
	CU_ASSERT_EQUAL(nheld(&e[0]), 8);
	submit(&e[1], CALLS, DATA);
	CU_ASSERT_EQUAL(nheld(&e[1]), 4);
	/* As the first one's are taken, the second has as many. */
	for (unsigned int i = 0; i < 6; i++) {
		answer(take(&e[0]));
		answer(take(&e[1]));
		CU_ASSERT_TRUE(under_way() < 2 * LEAST);
	}
	CU_ASSERT_TRUE(nheld(&e[0]) >= 5 && nheld(&e[0]) <= 6);
	CU_ASSERT_TRUE(nheld(&e[1]) >= 5 && nheld(&e[1]) <= 6);
	submit(&e[2], 1, DATA);
	CU_ASSERT_EQUAL(nheld(&e[2]), 1);
	/* What they leave is the third's, at the latest after a tick. */
	submit(&e[2], CALLS - 1, DATA);
	finish(&e[0], 7);
	finish(&e[1], 7);
	pass(RT_TICK_MS);
	CU_ASSERT_EQUAL(nheld(&e[2]), 8);
	finish(&e[2], 1);
	end_all(e, 3);
}

/* The limit is what has lately been answered. */
static void follows(void)
{
	struct end e[4];

	open_server(1, 0);
	for (unsigned int i = 0; i < 4; i++)
		connect_end(&e[i]);
	for (unsigned int i = 0; i < 2; i++) {
		submit(&e[i], CALLS - 1, DATA);
		for (unsigned int n = 1; n < CALLS; n++)
			answer(take(&e[i]));
	}
	test_clock_pass(20);
	submit(&e[0], 1, DATA);
	submit(&e[1], 1, DATA);
	/* 31 in 20 ms. */
	answer(take(&e[0]));
	submit(&e[2], CALLS, DATA);
	CU_ASSERT_EQUAL(p.nheld, 16);
	finish(&e[1], CALLS);
	finish(&e[2], 1);
	/* And nothing in a second. */
	test_clock_pass(1000);
	submit(&e[3], 1, DATA);
	answer(take(&e[3]));
	submit(&e[3], CALLS - 1, DATA);
	CU_ASSERT_EQUAL(p.nheld, 8);
	finish(&e[3], 2);
	end_all(e, 4);
}

/* Nobody overtakes, also where another host has left room. */
static void newcomer(void)
{
	struct end e[3];

	open_server(2, 0);
	for (unsigned int i = 0; i < 3; i++)
		connect_end(&e[i]);
	submit(&e[0], CALLS, DATA);
	submit(&e[1], 4, DATA);
	for (unsigned int i = 0; i < 3; i++)
		answer(take(&e[0]));
	CU_ASSERT_EQUAL(nheld(&e[0]), 6);
	finish(&e[1], 1);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 6);
	submit(&e[2], 1, DATA);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 8);
	CU_ASSERT_PTR_EQUAL(p.held[6]->conn, e[0].server);
	CU_ASSERT_PTR_EQUAL(p.held[7]->conn, e[2].server);
	finish(&e[2], 1);
	finish(&e[0], 4);
	end_all(e, 3);
}

/* Calls that wait for Replies to be taken are not under way. */
static void replies(void)
{
	struct end e;

	open_server(1, 0);
	connect_end(&e);
	submit(&e, 12, DATA);
	CU_ASSERT_EQUAL(p.nheld, 8);
	full = true;
	while (p.nheld)
		rt_call_wait(p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(p.nheld, 0);
	CU_ASSERT_EQUAL(under_way(), 0);
	full = false;
	pass(RT_TICK_MS);
	CU_ASSERT_EQUAL(p.nheld, 12);
	CU_ASSERT_EQUAL(p.resumes, 8);
	while (p.nheld)
		answer(take(&e));
	finish(&e, 13);
	end_all(&e, 1);
}

enum how { CLOSED, ABORTED, GONE };

/* A connection that ends gives back what it has, and its turn. */
static void ends(enum how how)
{
	struct end e[3];

	open_server(1, 0);
	for (unsigned int i = 0; i < 3; i++)
		connect_end(&e[i]);
	submit(&e[0], 8, DATA);
	submit(&e[1], 2, DATA);
	submit(&e[2], 2, DATA);
	CU_ASSERT_EQUAL(p.nheld, 8);
	/* It is its turn, and it waits. */
	rt_conn_close(how == ABORTED ? e[1].server : e[1].client,
		      how != CLOSED);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(nheld(&e[1]), 0);
	if (how != CLOSED) {
		answer(take(&e[0]));
		CU_ASSERT_EQUAL(nheld(&e[2]), 1);
	}
	/* The upper layer has its Calls until it returns them. */
	rt_conn_close(e[0].server, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(under_way() >= LEAST - DATA);
	while (held(&e[0])) {
		struct rt_call **at = held(&e[0]), *call = *at;

		*at = p.held[--p.nheld];
		rt_call_drop(call);
		rt_pair_run(&p);
	}
	while (p.nheld)
		answer(take(held(&e[2]) ? &e[2] : &e[1]));
	CU_ASSERT_EQUAL(under_way(), 0);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_TRUE(rt_rpc_check(&e[2].rpc[i]));
	for (unsigned int i = 0; i < 3; i++) {
		if (i == 2)
			rt_conn_close(e[i].client, false);
		rt_pair_run(&p);
		for (unsigned int n = 0; n < e[i].n; n++)
			rt_rpc_free(&e[i].rpc[n]);
	}
	p.client = p.server = NULL;
	rt_pair_close(&p);
}

static void closed(void)
{
	ends(CLOSED);
}

static void aborted(void)
{
	ends(ABORTED);
}

static void gone(void)
{
	ends(GONE);
}

/* A connection that stands still stops others of its host for a second. */
static void stands_still(void)
{
	struct end e[2];

	open_server(1, 0);
	connect_end(&e[0]);
	connect_end(&e[1]);
	sticks = true;
	submit(&e[0], CALLS, DATA);
	CU_ASSERT_PTR_NOT_NULL_FATAL(stuck);
	CU_ASSERT_EQUAL(under_way(), LEAST);
	submit(&e[1], CALLS, DATA);
	CU_ASSERT_EQUAL(p.nheld, 0);
	for (unsigned int i = 0; i < 12; i++)
		pass(RT_TICK_MS);
	CU_ASSERT_EQUAL(nheld(&e[1]), 8);
	finish(&e[1], 1);
	CU_ASSERT_EQUAL(nheld(&e[0]), 0);
	/* Once they complete they count again. */
	stuck = NULL;
	pass(RT_TICK_MS);
	CU_ASSERT_EQUAL(nheld(&e[0]), 8);
	CU_ASSERT_EQUAL(under_way(), LEAST);
	finish(&e[0], 1);
	end_all(e, 2);
}

/* Without memory nothing is under way, and those that have waited for it need not wait again. */
static void no_memory(void)
{
	struct loop_shortage *device;
	struct end e;

	open_server(1, 0);
	connect_end(&e);
	device = loop_shortage(p.dom);
	prepare(&e, 12, DATA);
	atomic_store(&device->regs, UINT32_MAX);
	for (unsigned int i = 0; i < 12; i++)
		rt_rpc_submit(e.client, &e.rpc[i]);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(p.nheld, 0);
	CU_ASSERT_EQUAL(under_way(), 0);
	atomic_store(&device->regs, 0);
	for (unsigned int i = 0; i < 20; i++)
		pass(RT_TICK_MS);
	CU_ASSERT_EQUAL(p.nheld, 12);
	CU_ASSERT_EQUAL(under_way(), 12 * DATA);
	finish(&e, 1);
	end_all(&e, 1);
}

static const struct unit_test tests[] = {
	{ "a host alone, one Call hangs", alone },
	{ "longer than the limit", longer },
	{ "little memory", little_memory },
	{ "connections of a host", in_turn },
	{ "hosts", fair },
	{ "what is answered", follows },
	{ "a newcomer", newcomer },
	{ "Replies", replies },
	{ "connections that are closed", closed },
	{ "connections that are aborted", aborted },
	{ "connections whose peer is gone", gone },
	{ "a connection that stands still", stands_still },
	{ "no memory", no_memory },
	{ NULL, NULL },
};

UNIT_MAIN("transport-reads", tests)
