/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport with many threads: each instance has two pollers with a thread
 * each, worker threads answer Calls and make Calls of their own in the reverse
 * direction, pollers do so between two runs (rt_run_later()), others connect, call
 * and close, and one reads the statistics. On the loop provider and on iWARP over the
 * loopback interface, in both versions.
 * To be run with the thread sanitizer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "rt_pair.h"
#include "transport/core/core.h"
#include "unit.h"

#define POLLERS 2
#define WORKERS 3
#define CALLERS 3
#define CONNECTIONS 12
#define RPCS 10
#define QUEUE 4096

static const struct rt_config cfg = {
	.busy_poll_us = 20,
	.request_user_size = 8,
	.credits = 6,
	.reverse = RDMA2_RVRSDIR_GENL,
	.reverse_credits = 3,
	.call_read_chunks = 2,
	.call_write_chunks = 2,
};

static struct {
	struct rt_pair answers; /* only its counts are used */
	struct rt_instance *inst[2];
	struct sockaddr_storage addr;
	bool bound; /* only pollers and callers may touch the fabric */
	struct fab_pool *pool; /* of shared Receives, or NULL */
	atomic_bool stop_pollers, stop_workers, stop_stats;
	atomic_uint reverse_out, reverse_done, xid;
	atomic_uint ok, lost, wrong;

	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct rt_call *queue[QUEUE];
	unsigned int head, count;
} t;

/* Of all connections; see rt_config. */
static unsigned int extensions;

static uint32_t rng(uint32_t *s)
{
	*s = *s * 1664525 + 1013904223;
	return *s >> 8;
}

/* A wait that ends the test program if it should never end. */
static void wait_for(sem_t *s)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 300;
	while (sem_timedwait(s, &ts))
		if (errno != EINTR) {
			fprintf(stderr, "stuck\n");
			abort();
		}
}

/* ---- Server ----------------------------------------------------------- */

static void *server_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	return ctx;
}

static void on_call(struct rt_conn *c, struct rt_call *call)
{
	pthread_mutex_lock(&t.lock);
	if (t.count == QUEUE)
		abort();
	t.queue[(t.head + t.count++) % QUEUE] = call;
	pthread_cond_signal(&t.cond);
	pthread_mutex_unlock(&t.lock);
}

static void server_closed(struct rt_conn *c, int error, const char *reason)
{
	rt_conn_put(c);
}

static void reverse_done(struct rt_request *rq)
{
	struct rt_rpc *r = *(struct rt_rpc **)rt_request_user(rq);

	r->done = true;
	if (!rq->status)
		atomic_fetch_add(rt_rpc_check(r) ? &t.reverse_done : &t.wrong,
				 1);
	rt_rpc_free(r);
	free(r);
	atomic_fetch_sub(&t.reverse_out, 1);
}

static void call_back(struct rt_conn *c, uint32_t *seed)
{
	static const size_t size[] = { 0, 500, 6000, 25000 };
	struct rt_rpc *r = malloc(sizeof(*r));

	rt_rpc_init(&t.answers, c, r, atomic_fetch_add(&t.xid, 1),
		    size[rng(seed) % 4], rng(seed) % 2,
		    12 + size[rng(seed) % 4], 0, 0, 0, 0);
	r->rq->done = reverse_done;
	atomic_fetch_add(&t.reverse_out, 1);
	rt_rpc_submit(c, r);
}

static const struct rt_ops server_ops = {
	.open = server_open,
	.call = on_call,
	.closed = server_closed,
};

/* Serve a Call. Returns false if there is none: with @waits, not before the end. */
static bool serve_one(uint32_t *seed, bool waits)
{
	struct rt_call *call = NULL;

	pthread_mutex_lock(&t.lock);
	while (waits && !t.count && !t.stop_workers)
		pthread_cond_wait(&t.cond, &t.lock);
	if (t.count) {
		call = t.queue[t.head];
		t.head = (t.head + 1) % QUEUE;
		t.count--;
	}
	pthread_mutex_unlock(&t.lock);
	if (!call)
		return false;
	if (!call->reverse && rng(seed) % 4 == 0 &&
	    rt_conn_can_call(call->conn))
		call_back(call->conn, seed);
	if (rng(seed) % 128 == 0)
		rt_conn_close(call->conn, rng(seed) % 2);
	if (rng(seed) % 4)
		rt_call_begin(call);
	rt_pair_answer(&t.answers, call);
	return true;
}

static void *worker(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	if (t.bound)
		loop_make_foreign();
	while (serve_one(&seed, true))
		;
	return NULL;
}

/* ---- Client ----------------------------------------------------------- */

struct caller {
	sem_t up, closed, rpcs;
};

static void client_up(struct rt_conn *c)
{
	sem_post(&((struct caller *)rt_conn_user(c))->up);
}

static void client_closed(struct rt_conn *c, int error, const char *reason)
{
	struct caller *k = rt_conn_user(c);

	sem_post(&k->up);
	sem_post(&k->closed);
}

static const struct rt_ops client_ops = {
	.established = client_up,
	.call = on_call,
	.closed = client_closed,
};

struct call {
	struct rt_rpc r; /* first */
	struct caller *caller;
};

static void rpc_done(struct rt_request *rq)
{
	struct call *c = *(struct call **)rt_request_user(rq);

	c->r.done = true;
	sem_post(&c->caller->rpcs);
}

static void use_connection(struct caller *k, struct rt_conn *c, uint32_t *seed)
{
	static const size_t size[] = { 0, 100, 3000, 5000, 20000, 70000 };
	struct call *calls = calloc(RPCS, sizeof(*calls));

	for (unsigned int i = 0; i < RPCS; i++) {
		struct rt_rpc *r = &calls[i].r;
		unsigned int items = rng(seed) % 3;
		uint32_t len = (uint32_t)size[rng(seed) % 6];

		rt_rpc_init(&t.answers, c, r, atomic_fetch_add(&t.xid, 1),
			    size[rng(seed) % 6], rng(seed) % 2,
			    64 + size[rng(seed) % 6], items, len,
			    rng(seed) % (items + 1), len);
		r->rq->done = rpc_done;
		calls[i].caller = k;
		rt_rpc_submit(c, r);
		if (rng(seed) % 4 == 0)
			sched_yield();
	}
	if (rng(seed) % 4 == 0)
		rt_conn_close(c, rng(seed) % 2);
	for (unsigned int i = 0; i < RPCS; i++)
		wait_for(&k->rpcs);
	for (unsigned int i = 0; i < RPCS; i++) {
		if (calls[i].r.rq->status)
			atomic_fetch_add(&t.lost, 1);
		else
			atomic_fetch_add(rt_rpc_check(&calls[i].r) ? &t.ok :
								     &t.wrong,
					 1);
		rt_rpc_free(&calls[i].r);
	}
	free(calls);
}

static void *caller(void *arg)
{
	uint32_t seed = 77 + (uint32_t)(uintptr_t)arg;

	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		struct caller k;
		struct rt_conn *c;

		sem_init(&k.up, 0, 0);
		sem_init(&k.closed, 0, 0);
		sem_init(&k.rpcs, 0, 0);
		if (rt_connect(t.inst[0], rng(&seed) % POLLERS,
			       (struct sockaddr *)&t.addr,
			       sizeof(struct sockaddr_in), &client_ops, &k,
			       &c)) {
			atomic_fetch_add(&t.wrong, 1);
			continue;
		}
		if (rng(&seed) % 8)
			wait_for(&k.up);
		use_connection(&k, c, &seed);
		rt_conn_close(c, rng(&seed) % 3 == 0);
		wait_for(&k.closed);
		rt_conn_put(c);
		sem_destroy(&k.up);
		sem_destroy(&k.closed);
		sem_destroy(&k.rpcs);
	}
	return NULL;
}

/* ---- Others ----------------------------------------------------------- */

static void *poller(void *arg)
{
	unsigned int n = (unsigned int)(uintptr_t)arg;
	uint32_t seed = 100 + n;

	while (!t.stop_pollers) {
		rt_run(t.inst[n / POLLERS], n % POLLERS, -1);
		if (t.bound)
			continue;
		rt_run_later(t.inst[n / POLLERS], n % POLLERS);
		for (unsigned int i = 0; i < 3; i++)
			(void)serve_one(&seed, false);
	}
	return NULL;
}

static void look(const struct rt_conn_info *info, void *arg)
{
	size_t *sum = arg;

	*sum += strlen(info->state) + strlen(info->peer_name) + info->sent;
}

static void *reader(void *arg)
{
	size_t sum = 0;

	if (t.bound)
		loop_make_foreign();
	while (!t.stop_stats) {
		for (unsigned int i = 0; i < 2; i++) {
			struct rt_totals totals;

			rt_for_each_conn(t.inst[i], look, &sum);
			rt_totals(t.inst[i], &totals);
		}
		usleep(1000);
	}
	return NULL;
}

static struct rt_instance *instance(const struct fab_ops *provider,
				    struct fab_domain *dom, unsigned int vers)
{
	struct rt_params params = { .provider = provider,
				    .shared_domain = dom,
				    .pollers = POLLERS,
				    .foreign_threads = t.bound,
				    .config = cfg };
	struct rt_instance *inst = NULL;

	params.config.versions = 1u << vers;
	params.config.extensions = extensions;
	params.config.busy_recv_size = 65536;
	params.config.share_receives = t.pool;
	rt_instance_create(&params, &inst);
	return inst;
}

static void run(const struct fab_ops *provider, struct fab_domain *dom,
		unsigned int vers, bool bound, struct fab_pool *pool)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	pthread_t pollers[2 * POLLERS], workers[WORKERS], callers[CALLERS];
	pthread_t stats;
	struct rt_listener *l;
	struct rt_totals totals;
	uintptr_t i;

	memset(&t, 0, sizeof(t));
	pthread_mutex_init(&t.lock, NULL);
	pthread_cond_init(&t.cond, NULL);
	t.answers.v1 = vers == WIRE_VERS1;
	t.bound = bound;
	t.pool = pool;
	t.inst[0] = instance(provider, dom, vers);
	t.inst[1] = instance(provider, dom, vers);
	CU_ASSERT_TRUE_FATAL(t.inst[0] && t.inst[1]);
	/* Few, so that Calls of all threads wait for each other's. */
	t.inst[1]->reads.least = 5000;
	CU_ASSERT_EQUAL_FATAL(rt_listen(t.inst[1], (struct sockaddr *)&in,
					sizeof(in), &server_ops, &t, &l),
			      0);
	rt_listener_addr(l, &t.addr);
	for (i = 0; i < 2 * POLLERS; i++)
		pthread_create(&pollers[i], NULL, poller, (void *)i);
	for (i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, (void *)i);
	for (i = 0; i < CALLERS; i++)
		pthread_create(&callers[i], NULL, caller, (void *)i);
	pthread_create(&stats, NULL, reader, NULL);

	for (i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	CU_ASSERT_EQUAL(rt_instance_shutdown(t.inst[0], 200000, false), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(t.inst[1], 200000, false), 0);
	CU_ASSERT_EQUAL(t.reverse_out, 0);
	t.stop_stats = true;
	pthread_join(stats, NULL);
	pthread_mutex_lock(&t.lock);
	t.stop_workers = true;
	pthread_cond_broadcast(&t.cond);
	pthread_mutex_unlock(&t.lock);
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	t.stop_pollers = true;
	for (i = 0; i < 2 * POLLERS; i++) {
		rt_wake(t.inst[i / POLLERS], i % POLLERS);
		pthread_join(pollers[i], NULL);
	}
	CU_ASSERT_EQUAL(t.wrong, 0);
	CU_ASSERT_EQUAL(t.ok + t.lost, CALLERS * CONNECTIONS * RPCS);
	CU_ASSERT_TRUE(t.ok > CALLERS * CONNECTIONS * RPCS / 4);
	CU_ASSERT_TRUE(t.reverse_done > 0);
	CU_ASSERT_EQUAL(t.answers.answers, t.answers.dones);
	rt_totals(t.inst[1], &totals);
	CU_ASSERT_EQUAL(totals.reads_under_way, 0);
	/* Both also check that nothing is left. */
	rt_instance_destroy(t.inst[0]);
	rt_instance_destroy(t.inst[1]);
	pthread_mutex_destroy(&t.lock);
	pthread_cond_destroy(&t.cond);
}

static void over_loop(unsigned int vers, bool bound)
{
	struct fab_srq_params share = { .size = 65536, .each = 4096 };
	struct fab_domain_params dp = { 0 };
	struct fab_pool *pool = NULL;
	struct fab_pool_stats used;
	static struct rt_watch watch;
	struct loop_settings s;
	struct fab_domain *dom;

	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, &dp, &dom), 0);
	loop_get_settings(dom, &s);
	if (bound)
		s.limits.caps |= FAB_CAP_BOUND;
	loop_set_settings(dom, &s);
	rt_watch_start(&watch, dom, LOOP_ACTIVE | LOOP_PASSIVE);
	if (getenv("RPCRDMA_TEST_SHARED")) {
		CU_ASSERT_EQUAL_FATAL(fab_pool_create(dom, NULL, &pool), 0);
		fab_pool_srq_memory(pool, &share);
		CU_ASSERT_EQUAL_FATAL(fab_srq_enable(dom, &share), 0);
	}
	run(&fab_loop_ops, dom, vers, bound, pool);
	CU_ASSERT_EQUAL(watch.faults, 0);
	if (pool) {
		fab_pool_get_stats(pool, &used);
		CU_ASSERT_EQUAL(used.bytes_in_use, 0);
		CU_ASSERT_TRUE(used.gets > 0);
		fab_pool_destroy(pool);
	}
	fab_domain_close(dom);
}

static void loop(void)
{
	over_loop(WIRE_VERS2, false);
}

static void loop_bound(void)
{
	over_loop(WIRE_VERS2, true);
}

static void loop_bound_v1(void)
{
	over_loop(WIRE_VERS1, true);
}

static void loop_v1(void)
{
	over_loop(WIRE_VERS1, false);
}

static void iwarp(void)
{
	run(fab_provider("iwarp"), NULL, WIRE_VERS2, false, NULL);
}

static void iwarp_v1(void)
{
	run(fab_provider("iwarp"), NULL, WIRE_VERS1, false, NULL);
}

static void loop_xcharext(void)
{
	extensions = RT_EXT_XCHAR;
	over_loop(WIRE_VERS2, false);
	extensions = 0;
}

static void iwarp_xcharext(void)
{
	extensions = RT_EXT_XCHAR;
	run(fab_provider("iwarp"), NULL, WIRE_VERS2, false, NULL);
	extensions = 0;
}

static void loop_rtrext(void)
{
	extensions = RT_EXT_RTR;
	over_loop(WIRE_VERS2, false);
	extensions = 0;
}

static void iwarp_both(void)
{
	extensions = RT_EXT_RTR | RT_EXT_XCHAR;
	run(fab_provider("iwarp"), NULL, WIRE_VERS2, false, NULL);
	extensions = 0;
}

static const struct unit_test tests[] = {
	{ "loop", loop },
	{ "loop v1", loop_v1 },
	{ "loop bound", loop_bound },
	{ "loop bound v1", loop_bound_v1 },
	{ "iwarp", iwarp },
	{ "iwarp v1", iwarp_v1 },
	{ "loop xcharext", loop_xcharext },
	{ "iwarp xcharext", iwarp_xcharext },
	{ "loop rtrext", loop_rtrext },
	{ "iwarp both", iwarp_both },
	{ NULL, NULL },
};

UNIT_MAIN("transport-threads", tests)
