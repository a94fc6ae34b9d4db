/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that has promised to run the poller (rt_run_later()) leaves its Replies to that
 * run. Those of other threads go at once; and if another thread runs the poller first, that
 * sends what was left, and the promise no longer holds.
 */
#include <pthread.h>

#include "rt_pair.h"
#include "unit.h"

#define CALLS 3

int __wrap_fab_poller_run(struct fab_poller *p, int timeout_ms);
int __real_fab_poller_run(struct fab_poller *p, int timeout_ms);

static int waited; /* the longest that a poller was told to */

int __wrap_fab_poller_run(struct fab_poller *p, int timeout_ms)
{
	if (timeout_ms)
		waited = timeout_ms;
	return __real_fab_poller_run(p, 0);
}

static void by_other(void *(*fn)(void *arg), void *arg)
{
	pthread_t t;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, fn, arg), 0);
	pthread_join(t, NULL);
}

/* Answer one of those that are held. */
static void *answer_one(void *arg)
{
	struct rt_pair *p = arg;

	rt_pair_answer(p, p->held[--p->nheld]);
	return NULL;
}

static void *run(void *arg)
{
	struct rt_pair *p = arg;

	rt_run(p->server_inst, 0, -1);
	return NULL;
}

static void open_with_calls(struct rt_pair *p, struct rt_rpc *r)
{
	static const struct rt_config cfg = { .call_read_chunks = 2 };

	CU_ASSERT_TRUE_FATAL(rt_pair_open(p, &cfg, &cfg, NULL));
	p->hold = true;
	for (unsigned int i = 0; i < CALLS; i++) {
		rt_rpc_init(p, p->client, &r[i], 1 + i, 100, false, 64, 0, 0, 0,
			    0);
		rt_rpc_submit(p->client, &r[i]);
	}
	rt_pair_run(p);
	CU_ASSERT_EQUAL_FATAL(p->nheld, CALLS);
	waited = 0;
}

static void close_with_replies(struct rt_pair *p, struct rt_rpc *r)
{
	rt_pair_run(p);
	rt_rpc_finish(r, CALLS);
	CU_ASSERT_EQUAL(p->dones, CALLS);
	rt_pair_close(p);
}

static void together(void)
{
	struct rt_rpc r[CALLS];
	struct rt_pair p;
	uint64_t before;

	open_with_calls(&p, r);
	before = rt_pair_sent(p.server);
	rt_run_later(p.server_inst, 0);
	for (unsigned int i = 0; i < CALLS; i++)
		answer_one(&p);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before);
	/* Nobody has woken the poller, which does not wait. */
	run(&p);
	CU_ASSERT_EQUAL(waited, 0);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + CALLS);
	/* There is nothing now. */
	run(&p);
	CU_ASSERT_EQUAL(waited, -1);
	close_with_replies(&p, r);
}

static void others(void)
{
	struct rt_rpc r[CALLS];
	struct rt_pair p;
	uint64_t before;

	open_with_calls(&p, r);
	before = rt_pair_sent(p.server);
	rt_run_later(p.server_inst, 0);
	by_other(answer_one, &p);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + 1);
	answer_one(&p);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + 1);
	/* Behind the one that waits for the run: in order. */
	by_other(answer_one, &p);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + 1);
	run(&p);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + CALLS);
	close_with_replies(&p, r);
}

static void replaced(void)
{
	struct rt_rpc r[CALLS];
	struct rt_pair p;
	uint64_t before;

	open_with_calls(&p, r);
	before = rt_pair_sent(p.server);
	rt_run_later(p.server_inst, 0);
	answer_one(&p);
	by_other(run, &p);
	CU_ASSERT_EQUAL(waited, 0);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + 1);
	answer_one(&p);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + 2);
	answer_one(&p);
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before + CALLS);
	close_with_replies(&p, r);
}

static const struct unit_test tests[] = {
	{ "Replies go together", together },
	{ "other threads do not wait", others },
	{ "another thread runs the poller", replaced },
	{ NULL, NULL },
};

UNIT_MAIN("transport-run-later", tests)
