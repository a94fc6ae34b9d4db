/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider whose connections not every thread may touch (FAB_CAP_BOUND), and
 * an upper layer with threads that may not. The loop provider ends the program
 * when one of those comes to it; the first test shows that it does.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt_pair.h"
#include "unit.h"

static const struct rt_config cfg = {
	.request_user_size = 8,
	.reverse = RDMA2_RVRSDIR_GENL,
	.call_read_chunks = 2,
	.call_write_chunks = 2,
};

static void bound(struct fab_domain *dom)
{
	struct loop_settings s;

	loop_get_settings(dom, &s);
	s.limits.caps |= FAB_CAP_BOUND;
	loop_set_settings(dom, &s);
}

static bool open_bound(struct rt_pair *p)
{
	return rt_pair_open(p, &cfg, &cfg, bound) &&
	       rt_instance_bound(p->server_inst);
}

struct job {
	void (*fn)(void *arg);
	void *arg;
};

static void *foreign_main(void *arg)
{
	struct job *j = arg;

	loop_make_foreign();
	j->fn(j->arg);
	return NULL;
}

static void by_foreign(void (*fn)(void *arg), void *arg)
{
	struct job j = { fn, arg };
	pthread_t t;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, foreign_main, &j), 0);
	pthread_join(t, NULL);
}

/* What all the others rely on. */
static void seen(void)
{
	struct rt_pair p;
	int status = 0;
	pid_t pid;

	CU_ASSERT_TRUE_FATAL(open_bound(&p));
	pid = fork();
	if (!pid) {
		signal(SIGABRT, SIG_DFL);
		loop_make_foreign();
		rt_run(p.server_inst, 0, 0);
		_exit(0);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	rt_pair_close(&p);
}

/* ---- Calls ------------------------------------------------------------ */

static void answer_held(void *arg)
{
	struct rt_pair *p = arg;

	while (p->nheld)
		rt_pair_answer(p, p->held[--p->nheld]);
}

static void drop_held(void *arg)
{
	struct rt_pair *p = arg;

	while (p->nheld)
		rt_call_drop(p->held[--p->nheld]);
}

static void refuse_held(void *arg)
{
	struct rt_pair *p = arg;

	while (p->nheld)
		rt_call_refuse(p->held[--p->nheld], RDMA2_ERR_SYSTEM);
}

/* Inline; a Read chunk; Write chunks; a continued or a special Reply. */
static void submit_some(struct rt_pair *p, struct rt_conn *c, struct rt_rpc *r)
{
	rt_rpc_init(p, c, &r[0], 1, 100, false, 64, 0, 0, 0, 0);
	rt_rpc_init(p, c, &r[1], 2, 60000, true, 64, 0, 0, 0, 0);
	rt_rpc_init(p, c, &r[2], 3, 0, false, 64, 1, 50000, 1, 50000);
	rt_rpc_init(p, c, &r[3], 4, 0, false, 30000, 0, 0, 0, 0);
	for (unsigned int i = 0; i < 4; i++)
		rt_rpc_submit(c, &r[i]);
}

static void replies(void)
{
	struct rt_rpc r[4];
	struct rt_pair p;
	uint64_t before;

	CU_ASSERT_TRUE_FATAL(open_bound(&p));
	p.hold = true;
	submit_some(&p, p.client, r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 4);
	before = rt_pair_sent(p.server);
	by_foreign(answer_held, &p);
	/* Handed over, and done by the poller alone. */
	CU_ASSERT_EQUAL(rt_pair_sent(p.server), before);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_pair_sent(p.server) > before);
	rt_rpc_finish(r, 4);
	CU_ASSERT_EQUAL(p.dones, 4);
	rt_pair_close(&p);
}

static void refusals(void)
{
	struct rt_rpc r;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(open_bound(&p));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 1, 60000, true, 64, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	by_foreign(refuse_held, &p);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done);
	CU_ASSERT_EQUAL(r.rq->status, -EREMOTEIO);
	rt_rpc_free(&r);

	rt_rpc_init(&p, p.client, &r, 2, 100, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	by_foreign(drop_held, &p);
	rt_pair_run(&p);
	CU_ASSERT_FALSE(r.done);
	rt_conn_close(p.client, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done);
	rt_rpc_free(&r);
	rt_pair_close(&p);
}

/* ---- Calls in the reverse direction ----------------------------------- */

struct reverse {
	struct rt_pair *p;
	struct rt_rpc r[3];
	bool held;
};

static void call_back(void *arg)
{
	struct reverse *v = arg;
	struct rt_pair *p = v->p;

	rt_rpc_init(p, p->server, &v->r[0], 11, 100, false, 64, 0, 0, 0, 0);
	rt_rpc_init(p, p->server, &v->r[1], 12, 30000, true, 64, 0, 0, 0, 0);
	rt_rpc_init(p, p->server, &v->r[2], 13, 100, false, 20000, 0, 0, 0, 0);
	rt_rpc_submit(p->server, &v->r[0]);
	/* The first has the strand on its way to the poller. */
	v->held = rt_conn_hold(p->server);
	rt_rpc_submit(p->server, &v->r[1]);
	rt_rpc_submit(p->server, &v->r[2]);
	if (v->held)
		rt_conn_unhold(p->server);
}

static void hold_only(void *arg)
{
	struct reverse *v = arg;

	v->held = rt_conn_hold(v->p->server);
	if (v->held)
		rt_conn_unhold(v->p->server);
}

static void reverse(void)
{
	struct reverse v;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(open_bound(&p));
	/* From its second message on the client takes more than one [A7]. */
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 1, 100, false, 64, 0, 0, 0, 0));
	v.p = &p;
	by_foreign(call_back, &v);
	CU_ASSERT_FALSE(v.held);
	CU_ASSERT_FALSE(v.r[0].done);
	rt_pair_run(&p);
	rt_rpc_finish(v.r, 3);
	CU_ASSERT_EQUAL(p.reverse_calls, 3);
	by_foreign(hold_only, &v);
	CU_ASSERT_TRUE(v.held);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 20, 100, false, 64, 0, 0, 0, 0));
	rt_pair_close(&p);
}

/* ---- The end ---------------------------------------------------------- */

static void close_server(void *arg)
{
	rt_conn_close(((struct rt_pair *)arg)->server, false);
}

static void abort_server(void *arg)
{
	rt_conn_close(((struct rt_pair *)arg)->server, true);
}

static void put_conn(void *arg)
{
	rt_conn_put(arg);
}

static void ends(void)
{
	struct rt_conn *c;
	struct rt_rpc r;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(open_bound(&p));
	by_foreign(close_server, &p);
	CU_ASSERT_FALSE(p.server_closed);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.server_closed && p.client_closed);
	CU_ASSERT_EQUAL(p.server_error, 0);

	CU_ASSERT_TRUE_FATAL(rt_pair_connect(&p));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 1, 60000, true, 64, 1, 50000, 1, 50000);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	c = p.server;
	rt_conn_get(c);
	by_foreign(abort_server, &p);
	/* Behind the end that is on its way. */
	CU_ASSERT_FALSE(p.server_closed);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.server_closed && p.client_closed && r.done);
	CU_ASSERT_EQUAL(p.server_error, -ECONNABORTED);
	rt_rpc_free(&r);
	/* What has ended, a foreign thread runs itself: nothing is of the device's
	 * any more. */
	by_foreign(answer_held, &p);
	CU_ASSERT_EQUAL(p.dones, 1);
	by_foreign(put_conn, c);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "seen", seen },	  { "replies", replies },
	{ "refusals", refusals }, { "reverse", reverse },
	{ "ends", ends },	  { NULL, NULL },
};

UNIT_MAIN("transport-bound", tests)
