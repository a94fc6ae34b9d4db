/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vdev_transport - the transport over an emulated device
 *
 * Both versions: Calls without data, with Read and with Write chunks, many at
 * once, and in the reverse direction. What crosses the wire is not looked at;
 * that each Reply is right, octet by octet, is. The device is the one that
 * RPCRDMA_VERBS_ADDR names (over_vdev); its requests may find no room, and its
 * commands may take long.
 *
 * Threads: one.
 */
#include <arpa/inet.h>
#include <time.h>

#include "rt_pair.h"
#include "rt_raw1.h"

#define MANY 24u
#define MOST_MS 20000u

static struct rt_pair p;

static uint64_t now_ms(void)
{
	struct timespec ts;

	timespec_get(&ts, TIME_UTC);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

#define UNTIL(cond)                                               \
	do {                                                      \
		uint64_t end_ = now_ms() + MOST_MS;               \
		while (!(cond) && now_ms() < end_) {              \
			rt_run(p.server_inst, 0, 1);              \
			rt_run(p.client_inst, 0, 1);              \
		}                                                 \
		if (!(cond))                                      \
			printf("\n    client: %s, server: %s\n",  \
			       p.client_reason, p.server_reason); \
		CU_ASSERT_TRUE_FATAL(!!(cond));                   \
	} while (0)

static void begin(const struct rt_config *only, unsigned int reverse)
{
	struct rt_config client = *only,
			 server = { .request_user_size = sizeof(void *) };

	client.reverse = server.reverse = reverse;
	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &client, &server, NULL));
	CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
	UNTIL(p.client_up || p.client_closed);
	CU_ASSERT_TRUE_FATAL(p.client_up);
}

static void trip(struct rt_conn *from, uint32_t xid, size_t data, bool reduce,
		 size_t reply, unsigned int nitems, uint32_t item)
{
	struct rt_rpc r;

	rt_rpc_init(&p, from, &r, xid, data, reduce, reply, nitems, item,
		    nitems, item);
	rt_rpc_submit(from, &r);
	UNTIL(r.done);
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	rt_rpc_free(&r);
}

/* ---- One after the other ------------------------------------------------- */

static void sizes(const struct rt_config *only)
{
	static const size_t size[] = { 4,     220,   221,    1024,   4095,
				       16384, 65540, 262144, 1000000 };
	struct rt_stats s;
	uint32_t xid = 1;

	begin(only, 0);
	for (unsigned int i = 0; i < 50; i++)
		trip(p.client, xid++, 0, false, 12, 0, 0);
	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		trip(p.client, xid++, size[i], true, 12, 0, 0);
		trip(p.client, xid++, 4, false, 64, 1, (uint32_t)size[i]);
		trip(p.client, xid++, size[i], true, 64, 2, (uint32_t)size[i]);
		/* Without a chunk for it: continued, or a special format. */
		trip(p.client, xid++, size[i], false, 12 + (size[i] & ~3u), 0,
		     0);
	}
	s = rt_pair_stats(p.client_inst);
	CU_ASSERT_EQUAL(s.errors_received + s.errors_sent, 0);
	CU_ASSERT_FALSE(p.client_closed || p.server_closed);
	rt_pair_close(&p);
}

static void test_sizes1(void)
{
	sizes(&rt_only1);
}

static void test_sizes2(void)
{
	sizes(&rt_only2);
}

/* ---- Many at once -------------------------------------------------------- */

static void many(const struct rt_config *only)
{
	static struct rt_rpc r[MANY];
	unsigned int done;

	begin(only, 0);
	trip(p.client, 1, 0, false, 12, 0, 0);
	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < MANY; i++) {
			rt_rpc_init(&p, p.client, &r[i], 100 + i, i * 4000,
				    i & 1, 64, i % 3, 40000, i % 3, 40000);
			rt_rpc_submit(p.client, &r[i]);
		}
		done = 0;
		UNTIL((done = 0, ({
			       for (unsigned int i = 0; i < MANY; i++)
				       done += r[i].done;
			       done == MANY;
		       })));
		for (unsigned int i = 0; i < MANY; i++) {
			CU_ASSERT_TRUE(rt_rpc_check(&r[i]));
			rt_rpc_free(&r[i]);
		}
	}
	CU_ASSERT_FALSE(p.client_closed || p.server_closed);
	rt_pair_close(&p);
}

static void test_many1(void)
{
	many(&rt_only1);
}

static void test_many2(void)
{
	many(&rt_only2);
}

/* ---- The reverse direction ----------------------------------------------- */

static void test_reverse1(void)
{
	begin(&rt_only1, RDMA2_RVRSDIR_SIMPLE);
	trip(p.client, 1, 0, false, 12, 0, 0);
	for (uint32_t i = 0; i < 20; i++)
		trip(p.server, 100 + i, 100, false, 64, 0, 0);
	CU_ASSERT_EQUAL(p.reverse_calls, 20);
	rt_pair_close(&p);
}

static void test_reverse2(void)
{
	begin(&rt_only2, RDMA2_RVRSDIR_GENL);
	trip(p.client, 1, 0, false, 12, 0, 0);
	for (uint32_t i = 0; i < 20; i++) {
		trip(p.server, 100 + i, 100, false, 64, 0, 0);
		/* With chunks: memory that the other end opens. */
		trip(p.server, 200 + i, 20000, true, 64, 1, 30000);
	}
	CU_ASSERT_EQUAL(p.reverse_calls, 40);
	rt_pair_close(&p);
}

/* ---- The end, with much under way ------------------------------------------ */

static void test_end(void)
{
	static struct rt_rpc r[MANY];
	unsigned int done = 0;

	for (int abort = 0; abort < 2; abort++) {
		begin(&rt_only2, 0);
		trip(p.client, 1, 0, false, 12, 0, 0);
		for (unsigned int i = 0; i < MANY; i++) {
			rt_rpc_init(&p, p.client, &r[i], 100 + i, 100000, true,
				    64, 1, 100000, 1, 100000);
			rt_rpc_submit(p.client, &r[i]);
		}
		for (int i = 0; i < 2 * abort; i++)
			rt_run(p.client_inst, 0, 1);
		rt_conn_close(p.client, abort);
		UNTIL(p.client_closed);
		for (unsigned int i = 0; i < MANY; i++) {
			UNTIL(r[i].done);
			done += r[i].ndone;
			rt_rpc_free(&r[i]);
		}
		rt_pair_close(&p);
	}
	CU_ASSERT_EQUAL(done, 2 * MANY);
}

/* The device has queues for one pair and a half: a second client is refused, which the
 * server counts and gives a reason for. */
static void test_refused(void)
{
	const char *devices = getenv("VDEV");
	struct rt_conn *client, *server;
	struct rt_totals before, after;

	if (!devices || !strstr(devices, "few-pairs"))
		return;
	begin(&rt_only2, 0);
	trip(p.client, 1, 4, false, 12, 0, 0);
	client = p.client;
	server = p.server;
	rt_totals(p.server_inst, &before);
	CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
	UNTIL(p.client_closed && p.server_closed);
	CU_ASSERT_EQUAL(p.client_error, -EPERM);
	CU_ASSERT_EQUAL(p.server_error, -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(p.server_reason, "has no completion queue left"));
	rt_totals(p.server_inst, &after);
	CU_ASSERT_EQUAL(after.refused[RT_REFUSED_other],
			before.refused[RT_REFUSED_other] + 1);
	/* The first one goes on. */
	p.client_closed = p.server_closed = false;
	p.client = client;
	p.server = server;
	trip(p.client, 2, 4, false, 12, 0, 0);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "sizes1", test_sizes1 },
	{ "sizes2", test_sizes2 },
	{ "many1", test_many1 },
	{ "many2", test_many2 },
	{ "reverse1", test_reverse1 },
	{ "reverse2", test_reverse2 },
	{ "end", test_end },
	{ "refused", test_refused },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	const char *addr = getenv("RPCRDMA_VERBS_ADDR");

	rt_pair_provider = fab_provider("verbs");
	if (!rt_pair_provider || !addr ||
	    inet_pton(AF_INET, addr, &rt_pair_host) != 1) {
		printf("no provider verbs, or no RPCRDMA_VERBS_ADDR\n");
		return 77;
	}
	return unit_run("vdev_transport", tests, argc, argv);
}
