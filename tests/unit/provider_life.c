/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider_life - connections begin and end
 *
 * Threads: one.
 */
#include <dirent.h>

#include <dirent.h>

#include "provider_util.h"

static struct world w;

/* ---- Start ----------------------------------------------------------- */

static void test_connect(void)
{
	uint8_t ask[40], answer[100];
	struct fab_conn_params p = { .priv = ask, .priv_len = sizeof(ask) };
	struct fab_conn_info a, b;

	fill_random(ask, sizeof(ask), 1);
	fill_random(answer, sizeof(answer), 2);
	world_open(&w);
	w.accept = (struct fab_conn_params){ .priv = answer,
					     .priv_len = sizeof(answer) };
	world_join(&w, &p);
	CU_ASSERT_EQUAL(w.requests, 1);
	/* Some managers of connections pad with zeros. */
	CU_ASSERT_TRUE(w.req_priv_len >= sizeof(ask));
	CU_ASSERT_EQUAL(memcmp(w.req_priv, ask, sizeof(ask)), 0);
	for (size_t i = sizeof(ask); i < w.req_priv_len; i++)
		CU_ASSERT_EQUAL(w.req_priv[i], 0);
	CU_ASSERT_TRUE(w.cli.priv_len >= sizeof(answer));
	CU_ASSERT_EQUAL(memcmp(w.cli.priv, answer, sizeof(answer)), 0);
	fab_conn_info(w.cli.c, &a);
	fab_conn_info(w.srv.c, &b);
	CU_ASSERT_STRING_EQUAL(a.provider, subject.cli_ops->name);
	CU_ASSERT_EQUAL(memcmp(&a.peer, &w.addr, subject.addrlen), 0);
	CU_ASSERT_EQUAL(a.local.ss_family, subject.addr.ss_family);
	CU_ASSERT_EQUAL(b.local.ss_family, subject.addr.ss_family);
	CU_ASSERT_EQUAL(b.peer.ss_family, subject.addr.ss_family);
	CU_ASSERT_TRUE(a.read_depth > 0);
	CU_ASSERT_TRUE(b.read_depth > 0);
	CU_ASSERT_TRUE(a.read_depth <= w.limits.max_read_depth);
	world_close(&w);
}

/* How many descriptors this process has. */
static unsigned int descriptors(void)
{
	unsigned int n = 0;
	DIR *d = opendir("/proc/self/fd");

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* All of them are closed again, but what a library keeps from the first use. */
static void test_descriptors(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < 2; i++) {
		world_open(&w);
		world_join(&w, NULL);
		world_close(&w);
		if (!i)
			n = descriptors();
	}
	CU_ASSERT_EQUAL(descriptors(), n);
}

static void test_depth(void)
{
	struct fab_conn_params p = { .read_depth = 3 };
	struct fab_conn_info a, b;
	unsigned int most;

	world_open(&w);
	w.accept.read_depth = 2;
	world_join(&w, &p);
	fab_conn_info(w.cli.c, &a);
	fab_conn_info(w.srv.c, &b);
	/* siw takes as many as it is asked for. */
	most = w.limits.max_read_depth < 2 ? w.limits.max_read_depth : 2;
	CU_ASSERT_EQUAL(a.read_depth,
			subject.siw && a.read_depth == 3 ? 3 : most);
	CU_ASSERT_EQUAL(b.read_depth, most);
	world_close(&w);
}

static void test_reject(void)
{
	uint8_t no[33] = "no";

	world_open(&w);
	w.reject = true;
	w.accept =
		(struct fab_conn_params){ .priv = no, .priv_len = sizeof(no) };
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_FALSE(w.cli.established);
	CU_ASSERT_EQUAL(w.cli.error, -EPERM);
	/* No event follows on the side that refused. */
	w.srv.disconnected = true;
	world_close(&w);
}

static void test_nobody(void)
{
	world_open(&w);
	fab_listener_close(w.listener);
	w.listener = NULL;
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ECONNREFUSED);
	CU_ASSERT_EQUAL(w.requests, 0);
	world_close(&w);
}

static void test_listen(void)
{
	struct sockaddr_in other = { .sin_family = AF_INET };
	struct fab_listener *l;

	/* TEST-NET-1, which nobody has. */
	other.sin_addr.s_addr = htonl(0xc0000201);
	world_open(&w);
	CU_ASSERT_EQUAL(fab_listen(w.poller, (struct sockaddr *)&w.addr,
				   subject.addrlen, world_request, &w, &l),
			-EADDRINUSE);
	CU_ASSERT_EQUAL(fab_listen(w.poller, (struct sockaddr *)&other,
				   sizeof(other), world_request, &w, &l),
			-EADDRNOTAVAIL);
	/* The port is free again at once, and not before. */
	fab_listener_close(w.listener);
	CU_ASSERT_EQUAL(fab_listen(w.poller, (struct sockaddr *)&w.addr,
				   subject.addrlen, world_request, &w,
				   &w.listener),
			0);
	world_join(&w, NULL);
	/* A connection outlives its listener. */
	fab_listener_close(w.listener);
	w.listener = NULL;
	world_hello(&w);
	world_close(&w);
}

/* Of the pollers that a listener was given the last count. */
static void test_spread(void)
{
	struct fab_poller *other;

	world_open(&w);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(w.dom, &other), 0);
	CU_ASSERT_EQUAL(fab_listener_spread(w.listener, &other, 1), 0);
	CU_ASSERT_EQUAL(fab_listener_spread(w.listener, &w.poller, 1), 0);
	world_join(&w, NULL);
	CU_ASSERT_PTR_EQUAL(w.srv.c->poller, w.poller);
	fab_poller_destroy(other);
	world_close(&w);
}

static void test_no_answer(void)
{
	world_domain(&w, subject.patience_ms);
	world_listen(&w);
	w.no_answer = true;
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ETIMEDOUT);
	CU_ASSERT_EQUAL(w.requests, 1);
	/* Neither accepted nor rejected: may be destroyed. */
	w.srv.disconnected = true;
	world_close(&w);
}

static void test_late_answer(void)
{
	world_open(&w);
	w.no_answer = true;
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.srv.c);
	CU_ASSERT_FALSE(w.cli.established);
	CU_ASSERT_EQUAL(fab_accept(w.srv.c, &w.accept), 0);
	PUMP_UNTIL(&w, w.cli.established && w.srv.established);
	world_hello(&w);
	world_close(&w);
}

static void test_give_up(void)
{
	world_open(&w);
	w.no_answer = true;
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.srv.c);
	fab_disconnect(w.cli.c, false);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ECONNABORTED);
	ep_destroy(&w, &w.cli);
	/* Whether it is noticed now or later, it ends. */
	if (!fab_accept(w.srv.c, &w.accept)) {
		PUMP_UNTIL(&w, w.srv.disconnected);
	} else {
		w.srv.disconnected = true;
	}
	world_close(&w);
}

/* ---- End ------------------------------------------------------------- */

#define NMSG 50

/* All that was posted before an orderly end arrives. */
static void orderly(bool signaled, bool by_server)
{
	static struct msg s[NMSG], r[NMSG];
	struct ep *from, *to;
	int sent = 0;

	world_pair(&w);
	from = by_server ? &w.srv : &w.cli;
	to = by_server ? &w.cli : &w.srv;
	for (int i = 0; i < NMSG; i++) {
		size_t at = (size_t)i * 4096;

		CU_ASSERT_EQUAL(ep_recv(to, msg_init(&w, &r[i], FAB_RECV,
						     at + (1 << 20), 3000)),
				0);
		msg_init(&w, &s[i], FAB_SEND, at, 3000);
		fill_random(w.arena + at, 3000, (uint32_t)i);
		if (!signaled)
			s[i].wr.flags = 0;
		ep_post(from, &s[i].wr);
	}
	fab_disconnect(from->c, false);
	fab_disconnect(from->c, false);
	CU_ASSERT_EQUAL(ep_try_post(from, &s[0].wr), -ENOTCONN);
	PUMP_UNTIL(&w, to->disconnected && from->disconnected);
	CU_ASSERT_EQUAL(to->error, 0);
	CU_ASSERT_EQUAL(to->nwc, NMSG);
	CU_ASSERT_EQUAL(ep_count(to, FAB_OK), NMSG);
	for (int i = 0; i < NMSG; i++)
		sent += ep_find(from, &s[i].wr) != NULL;
	CU_ASSERT_EQUAL(sent, signaled ? NMSG : 0);
	CU_ASSERT_EQUAL(ep_count(from, FAB_OK), from->nwc);
	CU_ASSERT_EQUAL(memcmp(w.arena, w.arena + (1 << 20), NMSG * 4096), 0);
	world_close(&w);
}

static void test_orderly(void)
{
	orderly(true, false);
	orderly(false, false);
	orderly(true, true);
	orderly(false, true);
}

static void test_both_end(void)
{
	world_pair(&w);
	fab_disconnect(w.cli.c, false);
	fab_disconnect(w.srv.c, false);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	fab_disconnect(w.cli.c, true);
	world_turn(&w, 0);
	world_close(&w);
}

/* Everything lent comes back once, flushed, and the end is the last event. */
static void test_flush(void)
{
	static struct msg r[NMSG], s[NMSG];
	struct msg more;
	uint32_t handle;
	uint64_t off;

	world_pair(&w);
	for (int i = 0; i < NMSG; i++)
		CU_ASSERT_EQUAL(ep_recv(&w.cli, msg_init(&w, &r[i], FAB_RECV,
							 (size_t)i * 64, 64)),
				0);
	CU_ASSERT_EQUAL(ep_expose(&w.cli, w.arena, 100, FAB_REMOTE_READ,
				  &handle, &off),
			0);
	/* Reads that are waiting inside, some of them. */
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena, 1 << 20, FAB_REMOTE_READ,
				  &handle, &off),
			0);
	w.srv.ready = true;
	world_turn(&w, 0);
	for (int i = 0; i < NMSG; i++) {
		msg_init(&w, &s[i], FAB_READ, 2 << 20, 1 << 20);
		s[i].wr.handle = handle;
		s[i].wr.offset = off;
		ep_post(&w.cli, &s[i].wr);
	}
	fab_disconnect(w.cli.c, true);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ECONNABORTED);
	CU_ASSERT_EQUAL(w.cli.nwc, 2 * NMSG);
	for (int i = 0; i < NMSG; i++) {
		const struct fab_wc *wc = ep_find(&w.cli, &r[i].wr);

		CU_ASSERT_PTR_NOT_NULL_FATAL(wc);
		CU_ASSERT_EQUAL(wc->status, FAB_FLUSHED);
		CU_ASSERT_PTR_NOT_NULL(ep_find(&w.cli, &s[i].wr));
	}
	CU_ASSERT_EQUAL(ep_try_post(&w.cli,
				    msg_init(&w, &more, FAB_SEND, 0, 1)),
			-ENOTCONN);
	CU_ASSERT_EQUAL(ep_recv(&w.cli, msg_init(&w, &more, FAB_RECV, 0, 1)),
			-ENOTCONN);
	CU_ASSERT_EQUAL(ep_expose(&w.cli, w.arena, 1, FAB_REMOTE_READ, &handle,
				  &off),
			-ENOTCONN);
	fab_unexpose(w.cli.c, handle, NULL);
	/* Nothing comes behind the end. */
	w.cli.ready = w.srv.ready = true;
	fab_conn_schedule(w.cli.c);
	world_turn(&w, 0);
	world_turn(&w, 0);
	CU_ASSERT_EQUAL(w.cli.nwc, 2 * NMSG);
	world_close(&w);
}

/* Receives posted before there is a connection come back as well. */
static void test_flush_unstarted(void)
{
	struct msg r;

	world_open(&w);
	fab_listener_close(w.listener);
	w.listener = NULL;
	world_create(&w);
	CU_ASSERT_EQUAL(ep_recv(&w.cli, msg_init(&w, &r, FAB_RECV, 0, 64)), 0);
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.nwc, 1);
	CU_ASSERT_EQUAL(w.cli.wc[0].status, FAB_FLUSHED);
	world_close(&w);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

#define CYCLES 40

/* Over and over, ended in all ways, nothing stays behind. */
static void test_cycles(void)
{
	static struct msg r[8];
	int fds = 0;

	world_open(&w);
	for (int i = 0; i < CYCLES; i++) {
		world_join(&w, NULL);
		for (int k = 0; k < 8; k++)
			CU_ASSERT_EQUAL(ep_recv(&w.srv,
						msg_init(&w, &r[k], FAB_RECV,
							 (size_t)k * 64, 64)),
					0);
		if (i % 2)
			world_hello(&w);
		if (i % 4 < 2)
			fab_disconnect(i % 3 ? w.cli.c : w.srv.c, i % 5 == 0);
		else
			fab_disconnect(w.srv.c, true);
		PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
		world_unpair(&w);
		if (i == 3)
			fds = open_fds();
	}
	CU_ASSERT_EQUAL(open_fds(), fds);
	CU_ASSERT_EQUAL(w.requests, CYCLES);
	world_close(&w);
}

/* One connection's end is nothing to another. */
static void test_others_go_on(void)
{
	struct fab_conn *srv;
	static struct ep first;
	static struct msg s, r;

	world_pair(&w);
	first = w.cli;
	srv = w.srv.c;
	ep_clear(&w);
	world_join(&w, NULL);
	/* A Send without a Receive ends the second. */
	world_hello(&w);
	ep_post(&w.cli, msg_init(&w, &s, FAB_SEND, 0, 10));
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	world_unpair(&w);
	w.cli = first;
	w.srv.c = srv;
	CU_ASSERT_EQUAL(
		fab_post_recv(srv, ep_own(&w.srv,
					  msg_init(&w, &r, FAB_RECV, 64, 64))),
		0);
	CU_ASSERT_EQUAL(ep_try_post(&w.cli, msg_init(&w, &s, FAB_SEND, 0, 10)),
			0);
	/* Their ready callbacks name another place: look all the time. */
	for (uint64_t end = util_ms() + 60000;
	     (!w.cli.nwc || !w.srv.nwc) && util_ms() < end;) {
		w.cli.ready = w.srv.ready = true;
		world_turn(&w, 5);
	}
	CU_ASSERT_EQUAL(w.cli.nwc, 1);
	CU_ASSERT_EQUAL(w.srv.nwc, 1);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_OK), 1);
	CU_ASSERT_FALSE(w.cli.disconnected);
	fab_disconnect(w.cli.c, true);
	for (uint64_t end = util_ms() + 60000;
	     (!w.cli.disconnected || !w.srv.disconnected) && util_ms() < end;) {
		w.cli.ready = w.srv.ready = true;
		world_turn(&w, 5);
	}
	world_close(&w);
}

/* ---- Many at a time -------------------------------------------------- */

#define PAIRS 16

struct pair {
	struct fab_conn *srv, *cli;
	bool down;
};

/* All connections call the same two ready: what was told while others were
 * looked at is still there. */
static void look_at(const struct pair *p)
{
	ep_clear(&w);
	w.srv.c = p->srv;
	w.cli.c = p->cli;
	w.srv.ready = w.cli.ready = true;
}

static void pair_open(struct pair *p)
{
	ep_clear(&w);
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, (w.srv.established && w.cli.established) ||
			       w.cli.disconnected);
	CU_ASSERT_FALSE(w.cli.disconnected);
	p->srv = w.srv.c;
	p->cli = w.cli.c;
	p->down = w.cli.disconnected;
}

static void pair_end(struct pair *p, bool abort)
{
	look_at(p);
	fab_disconnect(p->cli, abort);
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	p->down = true;
}

static void pair_free(struct pair *p)
{
	look_at(p);
	w.srv.disconnected = w.cli.disconnected = p->down;
	world_unpair(&w);
	memset(p, 0, sizeof(*p));
}

/* Whatever others there are, in whatever state, one more can be had. */
static void test_many_pairs(void)
{
	static struct pair pairs[PAIRS];
	unsigned int seed = 1;

	memset(pairs, 0, sizeof(pairs));
	world_open(&w);
	for (int i = 0; i < subject.pair_steps; i++) {
		struct pair *p = &pairs[(unsigned int)rand_r(&seed) % PAIRS];

		if (!p->cli)
			pair_open(p);
		else if (!p->down)
			pair_end(p, rand_r(&seed) % 2);
		else
			pair_free(p);
	}
	for (int i = 0; i < PAIRS; i++)
		if (pairs[i].cli)
			pair_free(&pairs[i]);
	world_close(&w);
}

const struct unit_test provider_life_tests[] = {
	{ "connect", test_connect },
	{ "descriptors", test_descriptors },
	{ "depth", test_depth },
	{ "reject", test_reject },
	{ "nobody", test_nobody },
	{ "listen", test_listen },
	{ "spread", test_spread },
	{ "no_answer", test_no_answer },
	{ "late_answer", test_late_answer },
	{ "give_up", test_give_up },
	{ "orderly", test_orderly },
	{ "both_end", test_both_end },
	{ "flush", test_flush },
	{ "flush_unstarted", test_flush_unstarted },
	{ "cycles", test_cycles },
	{ "others_go_on", test_others_go_on },
	{ "many_pairs", test_many_pairs },
	{ NULL, NULL },
};
