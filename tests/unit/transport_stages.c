/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which Calls each stage's histogram counts, and how long (stage.h).
 */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "rt_pair.h"
#include "unit.h"

#define WAIT_NS 3000000

/* rt_rpc keeps its own pointer there. */
static const struct rt_config client = { .request_user_size = 8 };

static uint64_t count(const struct rt_histogram *h)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < RT_STAGE_BUCKETS; i++)
		n += h->bucket[i];
	return n;
}

/* How many Calls @stage has counted in all of @inst. */
static uint64_t of(struct rt_instance *inst, enum rt_stage stage)
{
	struct rt_totals t;

	rt_totals(inst, &t);
	return count(&t.stages.stage[stage]);
}

static uint64_t sum(struct rt_instance *inst, enum rt_stage stage)
{
	struct rt_totals t;

	rt_totals(inst, &t);
	return t.stages.stage[stage].sum;
}

static void pause_ns(void)
{
	struct timespec ts = { .tv_nsec = WAIT_NS };
	uint64_t end = base_now_ns() + WAIT_NS;

	while (base_now_ns() < end)
		nanosleep(&ts, NULL);
}

/* Each duration is in one bucket, and buckets have no gaps. */
static void buckets(void)
{
	struct rt_histogram h = { 0 }, total = { 0 };

	CU_ASSERT_EQUAL(rt_stage_bucket(0), 0);
	CU_ASSERT_EQUAL(rt_stage_bound(0), 1023);
	for (unsigned int i = 0; i < RT_STAGE_BUCKETS - 1; i++) {
		CU_ASSERT_EQUAL(rt_stage_bucket(rt_stage_bound(i)), i);
		CU_ASSERT_EQUAL(rt_stage_bucket(rt_stage_bound(i) + 1), i + 1);
	}
	CU_ASSERT_EQUAL(rt_stage_bound(RT_STAGE_BUCKETS - 1), UINT64_MAX);
	CU_ASSERT_EQUAL(rt_stage_bucket(UINT64_MAX), RT_STAGE_BUCKETS - 1);

	rt_histogram_add(&h, 1000);
	rt_histogram_add(&h, 1500);
	rt_histogram_sum(&total, &h);
	rt_histogram_sum(&total, &h);
	CU_ASSERT_EQUAL(total.sum, 5000);
	CU_ASSERT_EQUAL(total.bucket[0], 2);
	CU_ASSERT_EQUAL(total.bucket[1], 2);
	CU_ASSERT_EQUAL(count(&total), 4);
}

/* Short Calls need no RDMA Read, and no fragments. */
static void simple(void)
{
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, NULL, NULL));
	for (uint32_t xid = 1; xid <= 5; xid++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, xid, 0, false, 100, 0,
					   0, 0, 0));
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_receive), 0);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_read), 0);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_dispatch), 0);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_execute), 5);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_write), 5);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_send), 5);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_submit), 0);
	CU_ASSERT_EQUAL(of(p.client_inst, RT_STAGE_submit), 5);
	CU_ASSERT_EQUAL(of(p.client_inst, RT_STAGE_answer), 5);
	CU_ASSERT_EQUAL(of(p.client_inst, RT_STAGE_execute), 0);
	/* The Requester waits for at least what the Responder needs. */
	CU_ASSERT_TRUE(sum(p.client_inst, RT_STAGE_answer) >=
		       sum(p.server_inst, RT_STAGE_execute));
	rt_pair_close(&p);
}

/* Chunks, and Calls and Replies in fragments. */
static void formats(void)
{
	struct rt_config small = { .recv_size = 1024 };
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, &small, NULL));
	/* Data by RDMA Read. */
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 1, 50000, true, 100, 0, 0, 0, 0));
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_read), 1);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_receive), 0);
	/* Too long for one message, with nothing that could be reduced. */
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 2, 3000, false, 100, 0, 0, 0, 0));
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_receive) +
				of(p.server_inst, RT_STAGE_read),
			2);
	/* A result by RDMA Write: one Reply like all. */
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 3, 0, false, 100, 1, 20000, 1,
				   20000));
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_write), 3);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_send), 3);
	CU_ASSERT_EQUAL(of(p.client_inst, RT_STAGE_submit), 3);
	CU_ASSERT_EQUAL(of(p.client_inst, RT_STAGE_answer), 3);
	rt_pair_close(&p);
}

/* Waiting for a thread is told from executing by rt_call_begin(). */
static void begin(void)
{
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, NULL, NULL));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 1, 0, false, 100, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	pause_ns();
	rt_call_begin(p.held[0]);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_dispatch), 0);
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done && rt_rpc_check(&r));
	rt_rpc_free(&r);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_dispatch), 1);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_execute), 1);
	CU_ASSERT_TRUE(sum(p.server_inst, RT_STAGE_dispatch) >= WAIT_NS);

	/* The Call's memory is used again: nothing of the first is left. */
	rt_rpc_init(&p, p.client, &r, 2, 0, false, 100, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	pause_ns();
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done && rt_rpc_check(&r));
	rt_rpc_free(&r);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_dispatch), 1);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_execute), 2);
	CU_ASSERT_TRUE(sum(p.server_inst, RT_STAGE_execute) >= WAIT_NS);
	rt_pair_close(&p);
}

/* What has no Reply is not counted; what ended connections counted stays. */
static void totals(void)
{
	struct rt_conn_info info;
	struct rt_totals before, after;
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, NULL, NULL));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 100, 0, 0, 0, 0));
	/* A Reply that needs more than its Write chunk has: an ERROR. */
	rt_rpc_init(&p, p.client, &r, 2, 0, false, 100, 1, 2000, 1, 1000);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(r.rq->status, -EREMOTEIO);
	rt_rpc_free(&r);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_execute), 1);
	CU_ASSERT_EQUAL(of(p.server_inst, RT_STAGE_send), 1);
	CU_ASSERT_EQUAL(of(p.client_inst, RT_STAGE_submit), 2);
	CU_ASSERT_EQUAL(of(p.client_inst, RT_STAGE_answer), 1);

	rt_conn_info(p.server, &info);
	rt_totals(p.server_inst, &before);
	CU_ASSERT_FALSE(
		memcmp(&info.stages, &before.stages, sizeof(info.stages)));
	rt_conn_close(p.client, false);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.server_closed);
	rt_totals(p.server_inst, &after);
	CU_ASSERT_FALSE(
		memcmp(&before.stages, &after.stages, sizeof(info.stages)));
	rt_pair_close(&p);
}

static const struct rt_class *class_in(struct rt_instance *inst,
				       unsigned int op_class)
{
	static struct rt_totals t;

	rt_totals(inst, &t);
	return &t.classes.of[op_class];
}

static void counted(struct rt_instance *inst, unsigned int op_class, uint64_t n,
		    uint64_t in, uint64_t rdma_in, uint64_t out,
		    uint64_t rdma_out)
{
	const struct rt_class *k = class_in(inst, op_class);

	CU_ASSERT_EQUAL(rt_histogram_count(&k->turn), n);
	CU_ASSERT_EQUAL(k->octets_received, in);
	CU_ASSERT_EQUAL(k->rdma_received, rdma_in);
	CU_ASSERT_EQUAL(k->octets_sent, out);
	CU_ASSERT_EQUAL(k->rdma_sent, rdma_out);
}

/* One Call and its Reply, in class @op_class of both ends. */
static void classed(struct rt_pair *p, unsigned int op_class, uint32_t xid,
		    size_t data, bool reduce, size_t reply, uint32_t item)
{
	struct rt_rpc r;

	p->op_class = op_class;
	rt_rpc_init(p, p->client, &r, xid, data, reduce, reply, item ? 1 : 0,
		    item, item ? 1 : 0, item);
	r.rq->op_class = op_class;
	rt_rpc_submit(p->client, &r);
	rt_pair_run(p);
	CU_ASSERT_TRUE(r.done && rt_rpc_check(&r));
	rt_rpc_free(&r);
}

/* Who sends, what, and which way; each end sees the other's. */
static void classes(void)
{
	struct rt_config small = { .recv_size = 1024 };
	struct rt_conn_info info;
	struct rt_totals before, after;
	uint64_t call, head;
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, &small, NULL));
	classed(&p, 1, 1, 0, false, 100, 0);
	/* The octets of a Call without data, of one item. */
	call = class_in(p.server_inst, 1)->octets_received;
	CU_ASSERT(call > 24 && call < 200);
	counted(p.server_inst, 1, 1, call, 0, 100, 0);
	counted(p.client_inst, 1, 1, 100, 0, call, 0);
	/* Data by RDMA Read. */
	classed(&p, 2, 2, 50000, true, 100, 0);
	counted(p.server_inst, 2, 1, call + 50000, 50000, 100, 0);
	counted(p.client_inst, 2, 1, 100, 0, call + 50000, 50000);
	/* A result by RDMA Write. */
	classed(&p, 3, 3, 0, false, 100, 20000);
	head = class_in(p.server_inst, 3)->octets_received;
	counted(p.server_inst, 3, 1, head, 0, 20100, 20000);
	counted(p.client_inst, 3, 1, 20100, 20000, head, 0);
	/* Too long for one message, with nothing to reduce: whole by chunks,
	 * or in fragments. */
	classed(&p, 4, 4, 3000, false, 100, 0);
	classed(&p, 5, 5, 0, false, 9000, 0);
	for (unsigned int k = 4; k <= 5; k++) {
		const struct rt_class *c = class_in(p.client_inst, k);

		counted(p.server_inst, k, 1, c->octets_sent, c->rdma_sent,
			c->octets_received, c->rdma_received);
	}
	CU_ASSERT_EQUAL(class_in(p.client_inst, 4)->octets_sent, call + 3000);
	CU_ASSERT_EQUAL(class_in(p.client_inst, 5)->octets_received, 9000);

	CU_ASSERT(rt_pair_classes_match(&p));

	/* A number that is none; none of an end without an answer. */
	classed(&p, RT_CLASSES, 6, 0, false, 100, 0);
	counted(p.server_inst, 0, 1, call, 0, 100, 0);
	counted(p.client_inst, 0, 1, 100, 0, call, 0);
	p.drop = true;
	rt_rpc_init(&p, p.client, &r, 7, 0, false, 100, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	for (unsigned int k = 6; k < RT_CLASSES; k++)
		counted(p.server_inst, k, 0, 0, 0, 0, 0);

	rt_conn_info(p.server, &info);
	rt_totals(p.server_inst, &before);
	CU_ASSERT_FALSE(
		memcmp(&info.classes, &before.classes, sizeof(info.classes)));
	rt_conn_close(p.client, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.server_closed && r.done);
	rt_rpc_free(&r);
	rt_totals(p.server_inst, &after);
	CU_ASSERT_FALSE(
		memcmp(&before.classes, &after.classes, sizeof(info.classes)));
	rt_pair_close(&p);
}

/* The turn has all stages in it. */
static void turn(void)
{
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, NULL, NULL));
	p.hold = true;
	p.op_class = 9;
	rt_rpc_init(&p, p.client, &r, 1, 0, false, 100, 0, 0, 0, 0);
	r.rq->op_class = 8;
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	pause_ns();
	rt_call_begin(p.held[0]);
	pause_ns();
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done && rt_rpc_check(&r));
	rt_rpc_free(&r);
	CU_ASSERT(class_in(p.server_inst, 9)->turn.sum >= 2 * WAIT_NS);
	CU_ASSERT(class_in(p.client_inst, 8)->turn.sum >=
		  class_in(p.server_inst, 9)->turn.sum);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "buckets", buckets }, { "simple", simple }, { "formats", formats },
	{ "begin", begin },	{ "totals", totals }, { "classes", classes },
	{ "turn", turn },	{ NULL, NULL },
};

UNIT_MAIN("transport-stages", tests)
