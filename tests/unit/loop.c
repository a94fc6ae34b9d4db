/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop provider: start-up, end, listeners, pollers. */
#include <pthread.h>

#include "loop_util.h"

static void test_startup(void)
{
	struct fab_conn_params params = { .priv = "question", .priv_len = 8 };
	struct world *w = world_open(NULL);
	struct fab_conn_info ia, ip;

	world_listen(w);
	CU_ASSERT_EQUAL(((struct sockaddr_in *)&w->addr)->sin_family, AF_INET);
	CU_ASSERT_NOT_EQUAL(((struct sockaddr_in *)&w->addr)->sin_port, 0);
	world_start(w, &params);
	pump(w);
	CU_ASSERT_TRUE(w->a.established);
	CU_ASSERT_TRUE(w->p.established);
	CU_ASSERT_EQUAL(w->requests, 1);
	CU_ASSERT_EQUAL(w->req_priv_len, 8);
	CU_ASSERT_EQUAL(memcmp(w->req_priv, "question", 8), 0);
	CU_ASSERT_EQUAL(w->a.priv_len, 6);
	CU_ASSERT_EQUAL(memcmp(w->a.priv, "answer", 6), 0);
	CU_ASSERT_EQUAL(w->p.priv_len, 0);
	CU_ASSERT_EQUAL(w->a.n, 1);
	CU_ASSERT_EQUAL(w->p.n, 1);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_CONNECT), 1);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_ACCEPT), 1);

	fab_conn_info(w->a.c, &ia);
	fab_conn_info(w->p.c, &ip);
	CU_ASSERT_STRING_EQUAL(ia.provider, "loop");
	CU_ASSERT_EQUAL(memcmp(&ia.local, &ip.peer, sizeof(ia.local)), 0);
	CU_ASSERT_EQUAL(memcmp(&ia.peer, &ip.local, sizeof(ia.local)), 0);
	CU_ASSERT_EQUAL(memcmp(&ia.peer, &w->addr, sizeof(ia.local)), 0);
	CU_ASSERT_EQUAL(ia.read_depth, 16);
	CU_ASSERT_EQUAL(fab_connect(w->a.c, (struct sockaddr *)&w->addr,
				    sizeof(struct sockaddr_in), NULL),
			-EISCONN);
	world_close(w);
}

static void test_read_depth(void)
{
	struct fab_domain_params dp = { .read_depth = 8 };
	static const struct {
		unsigned int ask, depth;
	} t[] = { { 0, 8 }, { 3, 3 }, { 9, 8 } };

	for (unsigned int i = 0; i < 3; i++) {
		struct fab_conn_params params = { .read_depth = t[i].ask };
		struct world *w = world_open(&dp);
		struct fab_conn_info ia, ip;

		world_listen(w);
		world_start(w, &params);
		pump(w);
		fab_conn_info(w->a.c, &ia);
		fab_conn_info(w->p.c, &ip);
		CU_ASSERT_EQUAL(ia.read_depth, t[i].depth);
		CU_ASSERT_EQUAL(ip.read_depth, t[i].depth);
		world_close(w);
	}
}

static void test_refused(void)
{
	struct world *w = world_open(NULL);
	struct sockaddr_in sin;

	world_listen(w);
	/* Nobody there. */
	memcpy(&sin, &w->addr, sizeof(sin));
	sin.sin_port = htons((uint16_t)(ntohs(sin.sin_port) + 1));
	CU_ASSERT_EQUAL(fab_conn_create(w->poller, on_ready, &w->a, &w->a.c),
			0);
	CU_ASSERT_EQUAL(end_recv(&w->a, 2, 10), 0);
	CU_ASSERT_EQUAL(fab_connect(w->a.c, (struct sockaddr *)&sin,
				    sizeof(sin), NULL),
			0);
	CU_ASSERT_EQUAL(w->a.n, 0);
	pump(w);
	CU_ASSERT_EQUAL(w->a.n, 3);
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[0], FAB_FLUSHED));
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[1], FAB_FLUSHED));
	CU_ASSERT_EQUAL(w->a.log[2].kind, FAB_WC_DISCONNECTED);
	CU_ASSERT_EQUAL(w->a.error, -ECONNREFUSED);
	CU_ASSERT_EQUAL(w->requests, 0);
	world_close(w);

	/* Rejected. */
	w = world_open(NULL);
	w->refuse = true;
	world_listen(w);
	world_start(w, NULL);
	pump(w);
	CU_ASSERT_EQUAL(w->requests, 1);
	CU_ASSERT_TRUE(w->a.ended);
	CU_ASSERT_FALSE(w->a.established);
	CU_ASSERT_EQUAL(w->a.error, -EPERM);
	CU_ASSERT_EQUAL(w->p.n, 0);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_REJECT), 1);
	world_close(w);

	/* Wrong kind of address. */
	w = world_open(NULL);
	world_listen(w);
	sin.sin_family = AF_UNIX;
	CU_ASSERT_EQUAL(fab_conn_create(w->poller, on_ready, &w->a, &w->a.c),
			0);
	CU_ASSERT_EQUAL(fab_connect(w->a.c, (struct sockaddr *)&sin,
				    sizeof(sin), NULL),
			-EAFNOSUPPORT);
	world_close(w);
}

/* Receives posted before the answer; a Send before it is refused. */
static void test_late_accept(void)
{
	struct world *w = world_open(NULL);
	struct req r;

	w->hold = true;
	world_listen(w);
	world_start(w, NULL);
	CU_ASSERT_EQUAL(end_recv(&w->a, 1, 100), 0);
	pump(w);
	CU_ASSERT_EQUAL(w->requests, 1);
	CU_ASSERT_FALSE(w->a.established);
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 100), 0);
	CU_ASSERT_EQUAL(end_send(&w->p, &r, "early"), -ENOTCONN);
	CU_ASSERT_EQUAL(end_send(&w->a, &r, "early"), -ENOTCONN);
	CU_ASSERT_EQUAL(fab_accept(w->p.c, NULL), 0);
	CU_ASSERT_EQUAL(fab_accept(w->p.c, NULL), -EINVAL);
	/* Not before it has been told that it may. */
	CU_ASSERT_EQUAL(end_send(&w->p, &r, "early"), -ENOTCONN);
	pump(w);
	CU_ASSERT_TRUE(w->a.established && w->p.established);
	CU_ASSERT_EQUAL(end_send(&w->p, &r, "now"), 0);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[0], FAB_OK));
	world_close(w);
}

/* The active side gives up before the passive one has answered. */
static void test_gone_before_accept(void)
{
	for (int how = 0; how < 3; how++) {
		struct world *w = world_open(NULL);

		w->hold = true;
		world_listen(w);
		world_start(w, NULL);
		pump(w);
		CU_ASSERT_EQUAL(end_recv(&w->p, 1, 100), 0);
		fab_disconnect(w->a.c, how == 1);
		pump(w);
		CU_ASSERT_TRUE(w->a.ended);
		CU_ASSERT_EQUAL(w->a.error, -ECONNABORTED);
		CU_ASSERT_FALSE(w->p.ended);
		if (how < 2) {
			CU_ASSERT_EQUAL(fab_accept(w->p.c, NULL), 0);
			pump(w);
			CU_ASSERT_TRUE(w->p.ended);
			CU_ASSERT_FALSE(w->p.established);
			CU_ASSERT_EQUAL(w->p.error, -ECONNRESET);
			CU_ASSERT_TRUE(
				end_done(&w->p, &w->p.wr[0], FAB_FLUSHED));
		} else {
			fab_reject(w->p.c, NULL, 0);
			pump(w);
			CU_ASSERT_EQUAL(w->p.n, 0);
		}
		world_close(w);
	}
}

static void test_never_answered(void)
{
	struct fab_domain_params dp = { .startup_timeout_ms = 1 };
	struct world *w = world_open(&dp);

	w->hold = true;
	world_listen(w);
	world_start(w, NULL);
	CU_ASSERT_EQUAL(end_recv(&w->a, 1, 10), 0);
	while (!w->a.ended) {
		fab_poller_run(w->poller, -1); /* comes back for the timer */
		drain(&w->a);
	}
	CU_ASSERT_EQUAL(w->a.error, -ETIMEDOUT);
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[0], FAB_FLUSHED));
	pump(w);
	/* Destroyed unanswered. */
	CU_ASSERT_EQUAL(w->requests, 1);
	world_close(w);
}

static void test_destroy_unanswered(void)
{
	struct world *w = world_open(NULL);

	w->hold = true;
	world_listen(w);
	world_start(w, NULL);
	pump(w);
	fab_conn_destroy_deferred(w->p.c, NULL, NULL);
	w->p.c = NULL;
	pump(w);
	CU_ASSERT_TRUE(w->a.ended);
	CU_ASSERT_EQUAL(w->a.error, -EPERM);
	world_close(w);
}

static void test_disconnect(void)
{
	for (int abort = 0; abort < 2; abort++) {
		struct world *w = world_connect();
		struct req r[2];

		CU_ASSERT_EQUAL(end_recv(&w->a, 2, 100), 0);
		CU_ASSERT_EQUAL(end_recv(&w->p, 3, 100), 0);
		CU_ASSERT_EQUAL(end_send(&w->a, &r[0], "last"), 0);
		fab_disconnect(w->a.c, abort);
		fab_disconnect(w->a.c, abort);
		CU_ASSERT_EQUAL(end_send(&w->a, &r[1], "more"), -ENOTCONN);
		CU_ASSERT_EQUAL(end_recv(&w->a, 1, 100), -ENOTCONN);
		pump(w);
		CU_ASSERT_TRUE(w->a.ended && w->p.ended);
		CU_ASSERT_EQUAL(w->a.error, abort ? -ECONNABORTED : 0);
		CU_ASSERT_EQUAL(w->p.error, abort ? -ECONNRESET : 0);
		CU_ASSERT_TRUE(end_done(&w->a, &r[0].wr, FAB_OK));
		CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[0], FAB_OK));
		CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[1], FAB_FLUSHED));
		CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[2], FAB_FLUSHED));
		CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[0], FAB_FLUSHED));
		CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[1], FAB_FLUSHED));
		/* 1 Send, 2 Receives, the end; 3 Receives, the end. */
		CU_ASSERT_EQUAL(w->a.n, 4);
		CU_ASSERT_EQUAL(w->p.n, 4);
		CU_ASSERT_EQUAL(end_send(&w->p, &r[1], "late"), -ENOTCONN);
		CU_ASSERT_EQUAL(events(w, LOOP_EV_END), 1);
		world_close(w);
	}
}

static void test_listeners(void)
{
	struct world *w = world_open(NULL), *v = world_open(NULL);
	struct fab_listener *l;
	struct sockaddr_storage other;

	world_listen(w);
	CU_ASSERT_EQUAL(fab_listen(w->poller, (struct sockaddr *)&w->addr,
				   sizeof(struct sockaddr_in), on_request, w,
				   &l),
			-EADDRINUSE);
	/* Ports are names within a domain. */
	world_listen(v);
	CU_ASSERT_EQUAL(memcmp(&w->addr, &v->addr, sizeof(w->addr)), 0);
	other = w->addr;
	((struct sockaddr_in *)&other)->sin_port = 0;
	CU_ASSERT_EQUAL(fab_listen(w->poller, (struct sockaddr *)&other,
				   sizeof(struct sockaddr_in), on_request, w,
				   &l),
			0);
	fab_listener_addr(l, &other);
	CU_ASSERT_NOT_EQUAL(memcmp(&w->addr, &other, sizeof(other)), 0);
	fab_listener_close(l);
	/* Its port is free again. */
	CU_ASSERT_EQUAL(fab_listen(w->poller, (struct sockaddr *)&other,
				   sizeof(struct sockaddr_in), on_request, w,
				   &l),
			0);
	fab_listener_close(l);
	world_close(w);
	world_close(v);
}

/* Who has asked a listener that closes is refused, and no callback runs. */
static void test_close_with_requests(void)
{
	struct world *w = world_open(NULL);
	struct sockaddr_in any = { .sin_family = AF_INET };

	world_listen(w);
	world_start(w, NULL);
	fab_listener_close(w->l);
	pump(w);
	CU_ASSERT_EQUAL(w->requests, 0);
	CU_ASSERT_TRUE(w->a.ended);
	CU_ASSERT_EQUAL(w->a.error, -EPERM);
	CU_ASSERT_EQUAL(fab_listen(w->poller, (struct sockaddr *)&any,
				   sizeof(any), on_request, w, &w->l),
			0);
	world_close(w);
}

/* ---- Poller ---------------------------------------------------------- */

static void *wake_later(void *arg)
{
	fab_poller_wake(arg);
	return NULL;
}

static void test_wake(void)
{
	struct world *w = world_open(NULL);
	pthread_t t;

	world_listen(w);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 0);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 1), 0);
	fab_poller_wake(w->poller);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, -1), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, wake_later, w->poller),
			      0);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, -1), 0);
	pthread_join(t, NULL);
	world_close(w);
}

static void test_ready(void)
{
	struct world *w = world_connect();
	struct req r[3];

	/* A kick calls ready; several before the run count as one. */
	fab_conn_schedule(w->a.c);
	fab_conn_schedule(w->a.c);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 1);
	CU_ASSERT_EQUAL(w->a.readies, 1);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 0);
	w->a.readies = 0;

	/* The receiver is called once until its poll has returned 0; the
	 * sender, whose post completes, is not called. */
	CU_ASSERT_EQUAL(end_recv(&w->p, 3, 100), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r[0], "1"), 0);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 1);
	CU_ASSERT_EQUAL(w->p.readies, 1);
	CU_ASSERT_EQUAL(w->a.readies, 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r[1], "2"), 0);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 0);
	drain(&w->p);
	CU_ASSERT_EQUAL(w->p.n, 2);
	CU_ASSERT_EQUAL(end_send(&w->a, &r[2], "3"), 0);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 1);
	CU_ASSERT_EQUAL(w->p.readies, 2);
	CU_ASSERT_EQUAL(w->a.readies, 0);
	drain(&w->a);
	CU_ASSERT_EQUAL(w->a.n, 3);
	world_close(w);
}

static unsigned int dones;

static void on_done(void *user)
{
	dones++;
	*(bool *)user = true;
}

static void test_destroy(void)
{
	struct world *w = world_connect();
	bool done = false;

	dones = 0;
	fab_disconnect(w->a.c, false);
	pump(w);
	fab_conn_schedule(w->a.c);
	fab_conn_destroy_deferred(w->a.c, on_done, &done);
	w->a.c = NULL;
	CU_ASSERT_FALSE(done);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, -1), 1);
	CU_ASSERT_TRUE(done);
	/* The kick before it calls nobody any more. */
	CU_ASSERT_EQUAL(w->a.readies, 0);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 0);
	CU_ASSERT_EQUAL(dones, 1);
	world_close(w);

	/* Never started, with Receives, which give no completions. */
	w = world_open(NULL);
	world_listen(w);
	CU_ASSERT_EQUAL(fab_conn_create(w->poller, on_ready, &w->a, &w->a.c),
			0);
	CU_ASSERT_EQUAL(end_recv(&w->a, 3, 100), 0);
	fab_disconnect(w->a.c, false);
	fab_disconnect(w->a.c, true);
	loop_break(w->a.c, -EIO);
	pump(w);
	CU_ASSERT_EQUAL(w->a.n, 0);
	world_close(w);
}

static const struct unit_test tests[] = {
	{ "startup", test_startup },
	{ "read-depth", test_read_depth },
	{ "refused", test_refused },
	{ "late-accept", test_late_accept },
	{ "gone-before-accept", test_gone_before_accept },
	{ "never-answered", test_never_answered },
	{ "destroy-unanswered", test_destroy_unanswered },
	{ "disconnect", test_disconnect },
	{ "listeners", test_listeners },
	{ "close-with-requests", test_close_with_requests },
	{ "wake", test_wake },
	{ "ready", test_ready },
	{ "destroy", test_destroy },
	{ NULL, NULL },
};

UNIT_MAIN("loop", tests)
