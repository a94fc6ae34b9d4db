/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deadlines of connections hold, whatever others do; and what they cost.
 */
#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "rt_pair.h"
#include "test_clock.h"
#include "unit.h"

#define MANY 130u
#define LONG 40000u

static struct rt_pair p;

static void run_server(void)
{
	for (int quiet = 0; quiet < 3;)
		quiet = rt_run(p.server_inst, 0, 0) ? 0 : quiet + 1;
}

static unsigned int server_conns(void)
{
	struct rt_totals t;

	rt_totals(p.server_inst, &t);
	return t.connections;
}

/*
 * Connections whose Calls wait, which looks every 100 ms whether they still
 * have to, and one that has not sent its first message: that ends in its time.
 */
static void many(void)
{
	static const struct rt_config client = {
		.credits = 2, .request_user_size = sizeof(void *)
	};
	static const struct rt_config server = { .max_message = 65536,
						 .max_host_memory = 100000 };
	static struct rt_rpc rpc[MANY][2];
	static struct rt_conn *conn[MANY];

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &client, &server, NULL));
	for (unsigned int i = 0; i < MANY; i++) {
		CU_ASSERT_TRUE_FATAL(rt_pair_connect(&p));
		conn[i] = p.client;
	}
	/* From here on the clients take nothing: there are no credits for more
	 * than the beginning of a Reply. */
	for (unsigned int i = 0; i < MANY; i++) {
		for (unsigned int j = 0; j < 2; j++) {
			rt_rpc_init(&p, conn[i], &rpc[i][j], 1 + 2 * i + j, 8,
				    false, LONG, 0, 0, 0, 0);
			/* No chunk for it: it is to be continued. */
			rpc[i][j].rq->reply_max = 8;
			rt_rpc_submit(conn[i], &rpc[i][j]);
		}
		run_server();
	}
	CU_ASSERT_TRUE(rt_pair_stats(p.server_inst).reply_waits > 64);
	CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
	run_server();
	CU_ASSERT_EQUAL(server_conns(), MANY + 1);
	for (unsigned int i = 0; !p.server_closed && i < 300; i++) {
		test_clock_pass(100);
		run_server();
	}
	CU_ASSERT_TRUE(p.server_closed);
	CU_ASSERT_EQUAL(p.server_error, -ETIMEDOUT);
	CU_ASSERT_STRING_EQUAL(p.server_reason, "no first message in time");
	CU_ASSERT_EQUAL(server_conns(), MANY);
	rt_pair_run(&p);
	/* The others go on, as far as they can. */
	for (unsigned int i = 0; i < MANY; i++)
		rt_conn_close(conn[i], true);
	rt_pair_run(&p);
	for (unsigned int i = 0; i < MANY; i++)
		for (unsigned int j = 0; j < 2; j++) {
			CU_ASSERT_EQUAL(rpc[i][j].ndone, 1);
			rt_rpc_free(&rpc[i][j]);
		}
	rt_pair_close(&p);
}

/* Of connections that have done nothing for a while the last ends with the
 * first. */
static void idle(void)
{
	static const struct rt_config server = { .idle_ms = 5000 };
	static const struct rt_config client = { .request_user_size =
							 sizeof(void *) };
	const unsigned int n = 200;

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &client, &server, NULL));
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_TRUE_FATAL(rt_pair_connect(&p));
	test_clock_pass(3000);
	/* One puts its end off. */
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 8, false, 100, 0, 0, 0, 0));
	CU_ASSERT_EQUAL(server_conns(), n);
	test_clock_pass(2000 + 100);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(server_conns(), 1);
	test_clock_pass(2000);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(server_conns(), 1);
	test_clock_pass(1000);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(server_conns(), 0);
	rt_pair_close(&p);
}

/* A server that stood still for longer than that finds a Call: it is answered. */
static void stood_still(void)
{
	static const struct rt_config server = { .idle_ms = 5000 };
	static const struct rt_config client = { .request_user_size =
							 sizeof(void *) };
	struct rt_rpc rpc;

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, &server, NULL));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 8, false, 100, 0, 0, 0, 0));
	rt_rpc_init(&p, p.client, &rpc, 2, 8, false, 100, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &rpc);
	rt_run(p.client_inst, 0, 0);
	test_clock_pass(20000);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(rpc.ndone, 1);
	CU_ASSERT_EQUAL(rpc.rq->status, 0);
	CU_ASSERT_EQUAL(server_conns(), 1);
	/* And with nothing there it ends as before. */
	test_clock_pass(6000);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(server_conns(), 0);
	rt_rpc_free(&rpc);
	rt_pair_close(&p);
}

/* Printed, not judged. */
static void cost_with(unsigned int n)
{
	const struct rt_config cfg = { .credits = 2,
				       .idle_ms = 3600000,
				       .max_connections = n + 2,
				       .max_host_connections = n + 2 };
	clock_t begin;

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &cfg, &cfg, NULL));
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_TRUE_FATAL(rt_pair_connect(&p));
	/* The alarm that was set for their start rings once. */
	test_clock_pass(20000);
	rt_pair_run(&p);
	begin = clock();
	for (unsigned int i = 0; i < 1000; i++) {
		test_clock_pass(100);
		rt_run(p.server_inst, 0, 0);
	}
	printf("# a tick with %u idle connections: %.2f us\n", n,
	       (double)(clock() - begin) * 1e6 / CLOCKS_PER_SEC / 1000);
	CU_ASSERT_EQUAL(server_conns(), n);
	rt_instance_shutdown(p.client_inst, 0, false);
	rt_pair_run(&p);
	rt_pair_close(&p);
}

static void cost(void)
{
	const char *more = getenv("RPCRDMA_TICK_CONNS");

	printf("\n");
	cost_with(0);
	cost_with(1000);
	if (more)
		cost_with((unsigned int)atoi(more));
}

static const struct unit_test tests[] = {
	{ "many connections", many },
	{ "idle", idle },
	{ "stood still", stood_still },
	{ "cost", cost },
	{ NULL, NULL },
};

UNIT_MAIN("transport-timers", tests)
