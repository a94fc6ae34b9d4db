/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls go through a gate one by one, nobody is forgotten there, and no worker
 * waits: for another Call, or for what Ganesha says of a client.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "ganesha/serve/host.h"
#include "test_clock.h"
#include "unit.h"

#define CALLS 64

static struct gr_hosts hosts;
static struct gr_host *host;
static atomic_bool here, ended;

/* Stands for a Call. */
static struct call {
	struct svc_req req;
	struct gr_waiter waiter;
	atomic_uint resumed;
} calls[CALLS];

/* Those that were handed on, in order. */
static atomic_uint nresumed;
static struct call *resumed[CALLS];

static void submit(struct gr_hosts *g, struct svc_req *req)
{
	struct call *c = (struct call *)(void *)req;

	CU_ASSERT_PTR_EQUAL(g, &hosts);
	resumed[atomic_fetch_add(&nresumed, 1) % CALLS] = c;
	atomic_fetch_add(&c->resumed, 1);
}

static struct sockaddr_storage address(const char *text, uint16_t port)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in6 *in6 = (void *)&ss;
	struct sockaddr_in *in = (void *)&ss;

	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		ss.ss_family = AF_INET6;
		in6->sin6_port = htons(port);
	} else {
		ss.ss_family = AF_INET;
		in->sin_port = htons(port);
		CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, text, &in->sin_addr),
				      1);
	}
	return ss;
}

static struct gr_host *host_of(const char *text, uint16_t port)
{
	struct sockaddr_storage ss = address(text, port);
	struct gr_host *h = gr_host_get(&hosts, &ss);

	CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	return h;
}

static unsigned int count(const struct cds_list_head *table)
{
	struct cds_list_head *at;
	unsigned int n = 0;

	for (unsigned int i = 0; i < GR_HOST_BUCKETS; i++)
		cds_list_for_each(at, &table[i]) n++;
	return n;
}

/* Of those that are of one host, by whatever address and port. */
static void same(const char *one, const char *other, bool are)
{
	struct gr_host *a = host_of(one, 7), *b = host_of(other, 900);

	CU_ASSERT_EQUAL(a == b, are);
	CU_ASSERT_EQUAL(count(hosts.buckets), are ? 1 : 2);
	gr_host_put(b);
	CU_ASSERT_EQUAL(count(hosts.buckets), 1);
	gr_host_put(a);
	CU_ASSERT_EQUAL(count(hosts.buckets), 0);
}

/* A host has its own gate however many there are, as long as it is there. */
static void whose(void)
{
	static struct gr_host *h[1000];
	char text[32];

	same("10.0.0.1", "10.0.0.1", true);
	same("10.0.0.1", "10.0.0.2", false);
	same("10.0.0.1", "fe80::1", false);
	/* A host of IPv6 has as many addresses as it likes. */
	same("2001:db8::1", "2001:db8::ffff:1", true);
	same("2001:db8::1", "2001:db8:0:1::1", false);
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "10.1.%u.%u", i / 250, i % 250);
		h[i] = host_of(text, 1);
		for (unsigned int j = 0; j < i; j++)
			if (h[j] == h[i])
				CU_FAIL("two hosts share a gate");
	}
	CU_ASSERT_EQUAL(count(hosts.buckets), 1000);
	for (unsigned int i = 0; i < 1000; i++)
		gr_host_put(h[i]);
	CU_ASSERT_EQUAL(count(hosts.buckets), 0);
}

static void begin(void)
{
	memset(calls, 0, sizeof(calls));
	atomic_store(&nresumed, 0);
	atomic_store(&ended, false);
	host = host_of("10.0.0.1", 1);
}

static void finish(void)
{
	CU_ASSERT_FALSE(host->busy);
	CU_ASSERT_TRUE(cds_list_empty(&host->queue));
	gr_host_put(host);
	CU_ASSERT_EQUAL(count(hosts.buckets), 0);
}

static enum gr_entry enter_of(unsigned int i, const void *of,
			      const atomic_bool *over)
{
	return gr_host_enter(host, &calls[i].waiter, &calls[i].req, of, over);
}

static enum gr_entry enter(unsigned int i)
{
	return enter_of(i, &here, &ended);
}

static void leave(unsigned int i)
{
	gr_host_leave(&calls[i].waiter);
}

/* One by one, in order; whatever thread one leaves by, and no thread waits. */
static void *leave_0(void *arg)
{
	leave(0);
	return NULL;
}

static void in_order(void)
{
	struct gr_host *other = host_of("10.0.0.2", 1);
	struct gr_waiter waiter = { 0 };
	pthread_t thread;

	begin();
	CU_ASSERT_EQUAL(enter(0), GR_ENTERED);
	for (unsigned int i = 1; i < CALLS; i++)
		CU_ASSERT_EQUAL(enter(i), GR_QUEUED);
	/* Another host does not notice. */
	CU_ASSERT_EQUAL(gr_host_enter(other, &waiter, NULL, &here, &ended),
			GR_ENTERED);
	gr_host_leave(&waiter);
	gr_host_put(other);
	CU_ASSERT_EQUAL(nresumed, 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, leave_0, NULL), 0);
	pthread_join(thread, NULL);
	/* Twice is once. */
	leave(0);
	for (unsigned int i = 1; i < CALLS; i++) {
		CU_ASSERT_EQUAL(nresumed, i);
		CU_ASSERT_PTR_EQUAL(resumed[i - 1], &calls[i]);
		/* It asks again, and is inside. */
		CU_ASSERT_EQUAL(enter(i), GR_ENTERED);
		leave(i);
	}
	finish();
}

/* A connection that ends keeps nothing at the gate. */
static void ends(void)
{
	static const atomic_bool lives;
	int there;

	begin();
	CU_ASSERT_EQUAL(enter(0), GR_ENTERED);
	CU_ASSERT_EQUAL(enter(1), GR_QUEUED);
	CU_ASSERT_EQUAL(enter_of(2, &there, &lives), GR_QUEUED);
	CU_ASSERT_EQUAL(enter(3), GR_QUEUED);
	atomic_store(&ended, true);
	gr_host_flush(host, &here);
	CU_ASSERT_EQUAL(nresumed, 2);
	CU_ASSERT_EQUAL(calls[2].resumed, 0);
	CU_ASSERT_EQUAL(enter(1), GR_CLOSED);
	CU_ASSERT_EQUAL(enter(3), GR_CLOSED);
	leave(1);
	leave(3);
	/* One that was about to wait. */
	CU_ASSERT_EQUAL(enter(4), GR_CLOSED);
	leave(4);
	/* The other connection's has nobody before it any more. */
	leave(0);
	CU_ASSERT_EQUAL(calls[2].resumed, 1);
	CU_ASSERT_EQUAL(enter_of(2, &there, &lives), GR_ENTERED);
	leave(2);
	finish();
}

/* ---- Greeting --------------------------------------------------------- */

static SVCXPRT xprt[2];
static atomic_int known[2];
static atomic_uint asked;
static sem_t asking, answer;
static enum xprt_stat says;

/* Ganesha takes its time. */
static enum xprt_stat ask(SVCXPRT *of)
{
	atomic_fetch_add(&asked, 1);
	sem_post(&asking);
	sem_wait(&answer);
	return says;
}

static enum gr_admission greet(unsigned int i, unsigned int conn)
{
	return gr_host_admit(&xprt[conn], &known[conn], host, &calls[i].waiter,
			     &calls[i].req, &ended, ask);
}

static void *first(void *arg)
{
	*(enum gr_admission *)arg = greet(0, 0);
	return NULL;
}

/* While one worker asks, the Calls behind come back at once; the client's other
 * connection asks by itself, later. */
static void greets(enum xprt_stat stat, enum gr_admission what)
{
	enum gr_admission got = GR_PENDING;
	pthread_t thread;

	begin();
	says = stat;
	atomic_store(&known[0], GR_NOT_ASKED);
	atomic_store(&known[1], GR_NOT_ASKED);
	atomic_store(&asked, 0);
	sem_init(&asking, 0, 0);
	sem_init(&answer, 0, 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, first, &got), 0);
	sem_wait(&asking);
	for (unsigned int i = 1; i < CALLS; i++)
		CU_ASSERT_EQUAL(greet(i, i & 1), GR_PENDING);
	CU_ASSERT_EQUAL(nresumed, 0);
	sem_post(&answer);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(got, what);
	/* The first that goes on is of the other connection. */
	sem_post(&answer);
	for (unsigned int i = 1; i < CALLS; i++) {
		CU_ASSERT_EQUAL(nresumed, i);
		CU_ASSERT_PTR_EQUAL(resumed[i - 1], &calls[i]);
		CU_ASSERT_EQUAL(greet(i, i & 1), what);
	}
	CU_ASSERT_EQUAL(asked, 2);
	/* From now on at once. */
	CU_ASSERT_EQUAL(greet(0, 0), what);
	CU_ASSERT_EQUAL(asked, 2);
	sem_destroy(&asking);
	sem_destroy(&answer);
	finish();
}

static void welcome(void)
{
	greets(XPRT_IDLE, GR_ADMITTED);
}

static void declined(void)
{
	greets(XPRT_DIED, GR_DECLINED);
}

/* Neither those that wait nor the next are kept if the connection has ended. */
static void gone(void)
{
	enum gr_admission got = GR_PENDING;
	pthread_t thread;

	begin();
	says = XPRT_IDLE;
	atomic_store(&known[0], GR_NOT_ASKED);
	sem_init(&asking, 0, 0);
	sem_init(&answer, 0, 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, first, &got), 0);
	sem_wait(&asking);
	CU_ASSERT_EQUAL(greet(1, 0), GR_PENDING);
	atomic_store(&ended, true);
	gr_host_flush(host, &xprt[0]);
	CU_ASSERT_EQUAL(nresumed, 1);
	CU_ASSERT_EQUAL(greet(1, 0), GR_DECLINED);
	CU_ASSERT_EQUAL(greet(2, 0), GR_DECLINED);
	sem_post(&answer);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(got, GR_ADMITTED);
	sem_destroy(&asking);
	sem_destroy(&answer);
	finish();
}

/* ---- Many threads ------------------------------------------------------ */

#define ROUNDS 2000

static struct worker {
	struct call call; /* first */
	pthread_t thread;
	sem_t resumed;
} workers[8];
static atomic_int inside;

static void submit_to_worker(struct gr_hosts *g, struct svc_req *req)
{
	sem_post(&((struct worker *)(void *)req)->resumed);
}

/* For the test alone: a worker that has nothing else to do. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct call *c = &w->call;
	bool ok = true;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		while (gr_host_enter(host, &c->waiter, &c->req, w, &ended) ==
		       GR_QUEUED)
			sem_wait(&w->resumed);
		ok = ok && atomic_fetch_add(&inside, 1) == 0;
		atomic_fetch_sub(&inside, 1);
		gr_host_leave(&c->waiter);
	}
	return ok ? w : NULL;
}

static void threads(void)
{
	void *ok;

	begin();
	hosts.submit = submit_to_worker;
	memset(workers, 0, sizeof(workers));
	for (unsigned int i = 0; i < 8; i++) {
		sem_init(&workers[i].resumed, 0, 0);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&workers[i].thread, NULL,
						     work, &workers[i]),
				      0);
	}
	for (unsigned int i = 0; i < 8; i++) {
		pthread_join(workers[i].thread, &ok);
		CU_ASSERT_PTR_NOT_NULL(ok);
		sem_destroy(&workers[i].resumed);
	}
	hosts.submit = submit;
	finish();
}

#define KEPT (GR_HOSTS_KEPT + 100)

/* A host without connections stays as long as its Calls may come again. */
static void kept(void)
{
	struct gr_host *h;
	char text[32];

	h = host_of("10.0.0.1", 1);
	CU_ASSERT_EQUAL(nrt_replay_conn(&h->replay, 5, 1), 1);
	gr_host_put(h);
	CU_ASSERT_EQUAL(count(hosts.buckets), 1);
	test_clock_pass(GR_HOST_KEEP_MS - 1);
	CU_ASSERT_PTR_EQUAL(host_of("10.0.0.1", 1), h);
	CU_ASSERT_EQUAL(nrt_replay_conn(&h->replay, 5, 2), 1);
	/* Its time does not go on meanwhile. */
	test_clock_pass(GR_HOST_KEEP_MS);
	gr_host_put(host_of("10.0.0.2", 1));
	CU_ASSERT_EQUAL(count(hosts.buckets), 1);
	gr_host_put(h);
	test_clock_pass(GR_HOST_KEEP_MS);
	gr_host_put(host_of("10.0.0.2", 1));
	CU_ASSERT_EQUAL(count(hosts.buckets), 0);
	/* No more than may have connections, of which the oldest go first. */
	for (unsigned int i = 0; i <= KEPT; i++) {
		snprintf(text, sizeof(text), "10.1.%u.%u", i / 250, i % 250);
		h = host_of(text, 1);
		nrt_replay_conn(&h->replay, 5, 1);
		gr_host_put(h);
	}
	CU_ASSERT_EQUAL(count(hosts.buckets), KEPT);
	h = host_of("10.1.0.1", 1);
	CU_ASSERT_EQUAL(nrt_replay_conn(&h->replay, 5, 2), 1);
	gr_host_put(h);
	h = host_of("10.1.0.0", 1);
	CU_ASSERT_EQUAL(nrt_replay_conn(&h->replay, 5, 2), 2);
	gr_host_put(h);
	test_clock_pass(GR_HOST_KEEP_MS);
	gr_host_put(host_of("10.0.0.2", 1));
	CU_ASSERT_EQUAL(count(hosts.buckets), 0);
}

static void opened(void)
{
	gr_hosts_init(&hosts, 5, submit);
	CU_ASSERT_EQUAL(hosts.most_kept, GR_HOSTS_KEPT);
	gr_hosts_init(&hosts, KEPT, submit);
	test_clock_hold();
}

static const struct unit_test tests[] = {
	{ "init", opened },
	{ "one for each host", whose },
	{ "kept", kept },
	{ "in order", in_order },
	{ "connections that end", ends },
	{ "greeting: welcome", welcome },
	{ "greeting: declined", declined },
	{ "greeting: gone", gone },
	{ "threads", threads },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-host", tests)
