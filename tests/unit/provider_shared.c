/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider_shared - Receives that all connections have in common
 *
 * With --shared alone, on a device that has such queues. Several connections to
 * one listener; each side of each is looked at when it is ready, and only then.
 *
 * Threads: one.
 */
#include "provider_util.h"

#define PAIRS 48
#define MSGS 64
#define LEN 256

struct pair {
	struct ep cli, srv;
	struct msg recv[MSGS], send[MSGS];
	unsigned int nrecv;
};

static struct world w;
static struct pair *pairs[PAIRS];
static unsigned int npairs, naccepted;
static unsigned int early; /* Receives that each one accepted gets */

/* @n Receives more of @p's server. */
static int post(struct pair *p, unsigned int n, size_t len)
{
	int rc = 0;

	for (unsigned int i = 0; i < n && !rc; i++) {
		struct msg *m = &p->recv[p->nrecv % MSGS];

		msg_init(&w, m, FAB_RECV, 8u << 20, len);
		rc = fab_post_recv(p->srv.c, ep_own(&p->srv, &m->wr));
		p->nrecv++;
	}
	return rc;
}

static void request(struct fab_listener *l, struct fab_conn *c,
		    const void *priv, size_t priv_len, void *user)
{
	struct pair *p = pairs[naccepted++];
	int rc;

	p->srv.c = c;
	fab_conn_set_ready(c, ep_ready, &p->srv);
	CU_ASSERT_EQUAL(post(p, early, LEN), 0);
	rc = fab_accept(c, NULL);
	if (!rc)
		return;
	fab_reject(c, NULL, 0);
	p->srv.error = rc;
	fab_conn_destroy_deferred(c, ep_gone, &p->srv);
	p->srv.c = NULL;
}

static void turn(void)
{
	fab_poller_run(w.poller, 10);
	for (unsigned int i = 0; i < npairs; i++) {
		if (pairs[i]->cli.ready)
			ep_poll(&pairs[i]->cli);
		if (pairs[i]->srv.ready)
			ep_poll(&pairs[i]->srv);
	}
}

#define UNTIL(cond)                                 \
	do {                                        \
		uint64_t end_ = util_ms() + 60000;  \
		while (!(cond) && util_ms() < end_) \
			turn();                     \
		CU_ASSERT_TRUE(!!(cond));           \
	} while (0)

static void begin(unsigned int most, size_t memory, unsigned int receives)
{
	subject.share_most = most;
	subject.share_memory = memory;
	npairs = naccepted = 0;
	early = receives;
	world_domain(&w, 0);
	CU_ASSERT_EQUAL_FATAL(listen_anywhere(&w, &subject.addr,
					      subject.addrlen, request, NULL,
					      &w.listener),
			      0);
	fab_listener_addr(w.listener, &w.addr);
}

static struct pair *join(void)
{
	struct pair *p = calloc(1, sizeof(*p));

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	p->cli.done = p->srv.done = share_done;
	p->cli.mr = p->srv.mr = w.mr;
	pairs[npairs++] = p;
	CU_ASSERT_EQUAL_FATAL(
		fab_conn_create(w.poller, ep_ready, &p->cli, &p->cli.c), 0);
	CU_ASSERT_EQUAL(fab_connect(p->cli.c, (struct sockaddr *)&w.addr,
				    subject.addrlen, NULL),
			0);
	UNTIL((p->cli.established && p->srv.established) ||
	      p->cli.disconnected);
	return p;
}

/* The last one, and its place. */
static void part(bool abort)
{
	struct pair *p = pairs[npairs - 1];

	if (!p->cli.disconnected)
		fab_disconnect(p->cli.c, abort);
	if (p->srv.c && abort && !p->srv.disconnected)
		fab_disconnect(p->srv.c, true);
	UNTIL(p->cli.disconnected && (!p->srv.c || p->srv.disconnected));
	fab_conn_destroy_deferred(p->cli.c, ep_gone, &p->cli);
	p->cli.c = NULL;
	if (p->srv.c) {
		fab_conn_destroy_deferred(p->srv.c, ep_gone, &p->srv);
		p->srv.c = NULL;
	}
	UNTIL(p->cli.gone && p->srv.gone);
	free(p);
	npairs--;
	naccepted--;
}

static void end(void)
{
	while (npairs)
		part(true);
	world_close(&w);
	subject.share_most = subject.share_memory = 0;
}

static void say(struct pair *p, unsigned int n, size_t len)
{
	for (unsigned int i = 0; i < n; i++) {
		msg_init(&w, &p->send[i], FAB_SEND, (size_t)i * LEN, len);
		ep_post(&p->cli, &p->send[i].wr);
	}
}

/* By all together. */
static unsigned int received(void)
{
	unsigned int got = 0;

	for (unsigned int i = 0; i < npairs; i++)
		got += (unsigned int)ep_count(&pairs[i]->srv, FAB_OK);
	return got;
}

static struct fab_srq_stats stats(void)
{
	struct fab_srq_stats st;

	fab_srq_stats(w.dom, &st);
	return st;
}

static bool wanted(void)
{
	if (!subject.shared)
		printf("(without --shared) ");
	return subject.shared;
}

/* The queue has what was promised, and what little is to spare. */
static void test_promised(void)
{
	struct fab_srq_stats st;

	if (!wanted())
		return;
	begin(0, 0, 10);
	CU_ASSERT_EQUAL(stats().queues, 0);
	join();
	join();
	CU_ASSERT_EQUAL(post(pairs[1], 20, LEN), 0);
	st = stats();
	CU_ASSERT_EQUAL(st.queues, 1);
	CU_ASSERT_EQUAL(st.connections, 2);
	CU_ASSERT_EQUAL(st.promised, 40);
	CU_ASSERT_TRUE(st.posted >= 40 && st.posted <= 40 + 32);
	say(pairs[0], 10, 100);
	say(pairs[1], 7, LEN);
	UNTIL(ep_count(&pairs[0]->srv, FAB_OK) == 10 &&
	      ep_count(&pairs[1]->srv, FAB_OK) == 7);
	/* In order, whichever memory they have come in. */
	for (int i = 0; i < 10; i++)
		CU_ASSERT_PTR_EQUAL(pairs[0]->srv.wc[i].wr,
				    &pairs[0]->recv[i].wr);
	CU_ASSERT_EQUAL(stats().promised, 23);
	part(false);
	CU_ASSERT_EQUAL(stats().connections, 1);
	CU_ASSERT_EQUAL(stats().promised, 0);
	CU_ASSERT_EQUAL(stats().queues, 1);
	part(false);
	CU_ASSERT_EQUAL(stats().queues, 0);
	CU_ASSERT_EQUAL(stats().posted, 0);
	end();
}

/* A peer that sends more than it was promised takes nothing from another: each
 * message of that one arrives. */
static void test_greedy(void)
{
	if (!wanted())
		return;
	begin(0, 0, 4);
	join();
	join();
	CU_ASSERT_EQUAL(post(pairs[1], 36, LEN), 0);
	say(pairs[0], MSGS, LEN);
	UNTIL(pairs[0]->srv.disconnected);
	/* It has left as many as are promised, though nobody else has looked. */
	CU_ASSERT_TRUE(stats().posted >= 40);
	say(pairs[1], 40, LEN);
	UNTIL(ep_count(&pairs[1]->srv, FAB_OK) == 40);
	CU_ASSERT_EQUAL(pairs[0]->srv.error, -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(pairs[0]->srv.reason, "without a Receive"));
	CU_ASSERT_EQUAL(ep_count(&pairs[0]->srv, FAB_OK), 4);
	CU_ASSERT_FALSE(pairs[1]->srv.disconnected);
	CU_ASSERT_FALSE(pairs[1]->cli.disconnected);
	UNTIL(ep_count(&pairs[1]->cli, FAB_OK) == 40);
	end();
}

/* The memory would have room; the promise has not. */
static void test_too_long_for_promise(void)
{
	if (!wanted())
		return;
	begin(0, 0, 2);
	join();
	say(pairs[0], 1, LEN + 1);
	UNTIL(pairs[0]->srv.disconnected);
	CU_ASSERT_EQUAL(pairs[0]->srv.error, -EPROTO);
	CU_ASSERT_EQUAL(ep_count(&pairs[0]->srv, FAB_ERROR), 1);
	CU_ASSERT_EQUAL(ep_count(&pairs[0]->srv, FAB_FLUSHED), 1);
	end();
}

/* Fewer Receives than are promised: all messages arrive even so, and it shows
 * that there were few. */
static void test_few(void)
{
	const unsigned int most = 24, each = 40, n = 6;
	struct fab_srq_stats st;

	if (!wanted())
		return;
	begin(most, 0, each);
	for (unsigned int i = 0; i < n; i++)
		join();
	st = stats();
	CU_ASSERT_EQUAL(st.promised, n * each);
	CU_ASSERT_EQUAL(st.posted, most);
	for (unsigned int i = 0; i < n; i++)
		say(pairs[i], each, LEN);
	UNTIL(received() == n * each);
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_FALSE(pairs[i]->srv.disconnected);
	CU_ASSERT_TRUE(stats().low > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "shared Receives"));
	CU_ASSERT_EQUAL(stats().promised, 0);
	end();
}

/* What connections may have taken along is made up for; and when it may be too
 * much, others begin anew. */
static void test_lost(void)
{
	if (!wanted())
		return;
	begin(MSGS, 0, 8);
	join();
	for (int i = 0; i < 27; i++) {
		join();
		/* So that it ends with something under way. */
		say(pairs[1], 4, LEN);
		part(true);
	}
	CU_ASSERT_EQUAL(stats().queues, 1);
	join();
	/* Two times 8, and one for each that ended. */
	CU_ASSERT_TRUE(stats().posted >= 16 + 27);
	for (int i = 0; i < 40; i++) {
		part(true);
		join();
	}
	CU_ASSERT_EQUAL(stats().queues, 2);
	CU_ASSERT_EQUAL(stats().connections, 2);
	/* Both are of use. */
	say(pairs[0], 8, LEN);
	say(pairs[1], 8, LEN);
	UNTIL(ep_count(&pairs[0]->srv, FAB_OK) == 8 &&
	      ep_count(&pairs[1]->srv, FAB_OK) == 8);
	part(false);
	part(false);
	CU_ASSERT_EQUAL(stats().queues, 0);
	end();
}

/* Whoever keeps a connection of each, while others break off, holds the memory
 * of so many queues and of no more. */
static void test_worn(void)
{
	const unsigned int queues = 16, ends = 6; /* a quarter of 4 and 18 */

	if (!wanted())
		return;
	begin(4, 0, 2);
	for (unsigned int i = 0; i < queues; i++) {
		join();
		for (unsigned int k = 0; k < ends; k++) {
			join();
			part(true);
		}
	}
	CU_ASSERT_EQUAL(stats().queues, queues);
	join();
	CU_ASSERT_EQUAL(stats().queues, queues);
	CU_ASSERT_EQUAL(stats().connections, queues);
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "until old ones end"));
	for (unsigned int i = 0; i < npairs; i++)
		say(pairs[i], 2, LEN);
	UNTIL(received() == 2 * npairs);
	/* With the first of them, the way is free again. */
	part(false);
	part(false);
	join();
	CU_ASSERT_EQUAL(stats().queues, queues);
	CU_ASSERT_EQUAL(stats().connections, queues);
	end();
}

/* Without memory for what would be promised, there is no connection. */
static void test_no_memory(void)
{
	unsigned int up = 0;

	if (!wanted())
		return;
	/* Slabs of 64 KiB buffers have 1 MiB: room for 64 of them. */
	begin(0, 4u << 20, 20);
	for (unsigned int i = 0; i < 6; i++)
		up += join()->cli.established;
	CU_ASSERT_TRUE(up >= 1 && up <= 3);
	CU_ASSERT_EQUAL(pairs[5]->srv.error, -ENOMEM);
	/* What was not to be is promised to nobody. */
	UNTIL(stats().connections == up);
	CU_ASSERT_EQUAL(stats().promised, up * 20);
	say(pairs[0], 20, LEN);
	UNTIL(ep_count(&pairs[0]->srv, FAB_OK) == 20);
	/* And none for more than that: one is not taken, and nothing ends. */
	CU_ASSERT_EQUAL(post(pairs[0], 100, LEN), 1);
	for (int i = 0; i < 10; i++)
		world_turn(&w, 10);
	CU_ASSERT_FALSE(pairs[0]->srv.disconnected);
	say(pairs[0], 5, LEN);
	UNTIL(ep_count(&pairs[0]->srv, FAB_OK) == 25);
	end();
}

/* But with fewer Receives than are promised that is no reason to end. */
static void test_little_memory(void)
{
	const unsigned int n = 6, each = 20;

	if (!wanted())
		return;
	begin(100, 4u << 20, each);
	for (unsigned int i = 0; i < n; i++)
		join();
	CU_ASSERT_EQUAL(stats().promised, n * each);
	CU_ASSERT_TRUE(stats().posted < 100);
	for (unsigned int i = 0; i < n; i++)
		say(pairs[i], each, LEN);
	UNTIL(received() == n * each);
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_FALSE(pairs[i]->srv.disconnected);
	end();
}

const struct unit_test provider_shared_tests[] = {
	{ "shared_promised", test_promised },
	{ "shared_greedy", test_greedy },
	{ "shared_too_long", test_too_long_for_promise },
	{ "shared_few", test_few },
	{ "shared_lost", test_lost },
	{ "shared_worn", test_worn },
	{ "shared_no_memory", test_no_memory },
	{ "shared_little_memory", test_little_memory },
	{ NULL, NULL },
};
