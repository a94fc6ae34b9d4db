/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vdev_events - what devices do to the provider verbs, and what they lack
 *
 * Over the emulated devices that VDEV names (over_vdev), of which each has two:
 * events that are to end a connection, or nothing; links and devices that go
 * and come back while there is traffic; commands that take long; and devices
 * that are of no use, which must be refused with a reason.
 *
 * Threads: one.
 */
#include <unistd.h>

#define EP_MAX_WC 512
#include "vdev_world.h"

#define MSGS 32
#define LEN 4096u

static struct ibv_qp *qp_of(struct fab_conn *c)
{
	return vb_conn(c)->id->qp;
}

/* Receives at both ends, and messages under way in both directions. */
static void load(void)
{
	static struct msg r[2][MSGS], s[2][MSGS];

	w.cli.nwc = w.srv.nwc = 0;
	for (size_t i = 0; i < MSGS; i++) {
		struct ep *e[] = { &w.cli, &w.srv };

		for (size_t k = 0; k < 2; k++) {
			size_t at = (k * MSGS + i) * LEN;

			msg_init(&w, &r[k][i], FAB_RECV, at, LEN);
			CU_ASSERT_EQUAL(ep_recv(e[k], &r[k][i].wr), 0);
		}
	}
	for (size_t i = 0; i < MSGS; i++) {
		msg_init(&w, &s[0][i], FAB_SEND, (8u << 20) + i * LEN, LEN);
		msg_init(&w, &s[1][i], FAB_SEND, (12u << 20) + i * LEN, LEN);
		ep_try_post(&w.cli, &s[0][i].wr);
		ep_try_post(&w.srv, &s[1][i].wr);
	}
}

/* All that was lent has come back, once each. */
static void all_came_back(void)
{
	CU_ASSERT_EQUAL(w.cli.nwc, 2 * MSGS);
	CU_ASSERT_EQUAL(w.srv.nwc, 2 * MSGS);
}

/* ---- Events of queue pairs and queues ------------------------------------- */

static void test_qp_events(void)
{
	static const enum ibv_event_type type[] = { IBV_EVENT_QP_FATAL,
						    IBV_EVENT_QP_REQ_ERR,
						    IBV_EVENT_QP_ACCESS_ERR,
						    IBV_EVENT_PATH_MIG_ERR };

	for (size_t i = 0; i < sizeof(type) / sizeof(*type); i++) {
		world_pair(&w);
		load();
		vdev_break_qp(qp_of(w.srv.c), type[i]);
		PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
		/* An iWARP peer may close before the event is read. */
		CU_ASSERT_TRUE(w.srv.error || vb_conn(w.srv.c)->dev->iwarp);
		all_came_back();
		world_close(&w);
	}
}

/* It means nothing to us: the connection ends by other signs. A probe looks for these where
 * the peer may be cut off for long. */
static void test_harmless_events(void)
{
	static const struct {
		enum ibv_event_type type;
		bool probe;
		const char *what;
	} events[] = {
		{ IBV_EVENT_LID_CHANGE, true, "has another LID" },
		{ IBV_EVENT_PKEY_CHANGE, true, "has other P_Keys" },
		{ IBV_EVENT_SM_CHANGE, false, "has another subnet manager" },
		{ IBV_EVENT_CLIENT_REREGISTER, false,
		  "is to register with its subnet manager again" },
		{ IBV_EVENT_GID_CHANGE, false, "has other GIDs" },
		{ IBV_EVENT_PORT_ACTIVE, false, "is up" },
		/* Of another port, or not for long. */
		{ IBV_EVENT_PORT_ERR, true, "is down" },
	};
	struct vb_conn *c;

	world_pair(&w);
	c = vb_conn(w.cli.c);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		PUMP_UNTIL(&w, !c->probe_out);
		c->probed_at = 0;
		listen_to_log();
		vdev_event(0, events[i].type);
		PUMP_UNTIL(&w, said(events[i].what));
		world_hello(&w);
		CU_ASSERT_EQUAL(c->probed_at != 0, events[i].probe);
	}
	load();
	PUMP_UNTIL(&w, w.cli.nwc == 2 * MSGS && w.srv.nwc == 2 * MSGS);
	CU_ASSERT_EQUAL(ep_count(&w.cli, FAB_OK), 2 * MSGS);
	CU_ASSERT_FALSE(w.cli.disconnected || w.srv.disconnected);
	world_close(&w);
}

static void test_cq_event(void)
{
	world_pair(&w);
	load();
	vdev_break_cq(vb_conn(w.srv.c)->cq);
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -EIO);
	all_came_back();
	world_close(&w);
}

static void test_srq_event(void)
{
	struct ibv_srq *srq;

	subject.shared = true;
	subject.longest = SHARE_SIZE;
	world_pair(&w);
	srq = qp_of(w.srv.c)->srq;
	if (srq) {
		load();
		vdev_break_srq(srq);
		PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
		CU_ASSERT_EQUAL(w.srv.error, -EIO);
		all_came_back();
		world_unpair(&w);
		/* The next one gets another. */
		world_join(&w, NULL);
		world_hello(&w);
	}
	world_close(&w);
	subject.shared = false;
	subject.longest = SIZE_MAX;
}

/* ---- Links ----------------------------------------------------------------- */

static void test_link(void)
{
	world_pair(&w);
	listen_to_log();
	vdev_link(0, false);
	load();
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	/* On iWARP one may take it for an orderly end of the other. */
	CU_ASSERT_TRUE(w.srv.error || w.cli.error);
	CU_ASSERT_TRUE(said("port 1 is down"));
	CU_ASSERT_FALSE(fab_listener_up(w.listener));
	all_came_back();
	world_unpair(&w);
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -ETIMEDOUT);
	world_unpair(&w);
	vdev_link(0, true);
	PUMP_UNTIL(&w, said("port 1 is up"));
	CU_ASSERT_TRUE(fab_listener_up(w.listener));
	world_join(&w, NULL);
	world_hello(&w);
	world_close(&w);
}

/* For a moment, which nothing notices. */
static void test_link_flaps(void)
{
	world_pair(&w);
	for (int i = 0; i < 5; i++) {
		vdev_hold(true);
		load();
		vdev_link(0, false);
		for (int k = 0; k < 3; k++)
			world_turn(&w, 1);
		vdev_link(0, true);
		vdev_hold(false);
		PUMP_UNTIL(&w, w.cli.nwc == 2 * MSGS && w.srv.nwc == 2 * MSGS);
	}
	CU_ASSERT_FALSE(w.cli.disconnected || w.srv.disconnected);
	world_close(&w);
}

/* ---- Connections that need not come to be --------------------------------- */

/* Connect, and accept when there is a request, until it is established, or has
 * failed at the client. Returns what fab_accept() has returned. */
static int try_connect(void)
{
	uint64_t end = util_ms() + 10000;
	bool answered = false;
	int rc = 0;

	w.no_answer = true;
	world_connect(&w, NULL);
	while (!w.cli.disconnected &&
	       !(w.cli.established && w.srv.established) && util_ms() < end) {
		world_turn(&w, 10);
		if (!w.srv.c || answered)
			continue;
		answered = true;
		rc = fab_accept(w.srv.c, &w.accept);
		/* Then nothing follows. */
		w.srv.disconnected |= rc;
		if (rc)
			fab_reject(w.srv.c, NULL, 0);
	}
	CU_ASSERT_TRUE(w.cli.disconnected || w.cli.established);
	w.srv.disconnected |= !answered;
	w.no_answer = false;
	return rc;
}

/* ---- Removal --------------------------------------------------------------- */

/* @fatal: first it tells of an error of its own. */
static void remove_device(bool busy, bool fatal)
{
	uint64_t end;

	world_pair(&w);
	listen_to_log();
	if (busy)
		load();
	if (fatal) {
		vdev_event(0, IBV_EVENT_DEVICE_FATAL);
		PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
		CU_ASSERT_TRUE(said("fatal error of the device"));
	}
	vdev_remove(0);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_TRUE(w.cli.error && w.srv.error);
	CU_ASSERT_TRUE(said("the device is gone"));
	if (busy)
		all_came_back();
	world_unpair(&w);
	CU_ASSERT_FALSE(fab_listener_up(w.listener));
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_FALSE(w.cli.established);
	world_unpair(&w);
	/* It comes back, and with it the listener. */
	vdev_add(0);
	for (end = util_ms() + 10000;
	     !said("a listener is up") && util_ms() < end;)
		world_turn(&w, 50);
	CU_ASSERT_TRUE(said("a listener is up"));
	world_join(&w, NULL);
	world_hello(&w);
	world_close(&w);
	CU_ASSERT_EQUAL(vdev_objects(), 0);
}

static void test_removed(void)
{
	for (int i = 0; i < 4; i++)
		remove_device(i & 1, i & 2);
}

/* In each state of a connection that starts. */
static void test_removed_at_start(void)
{
	for (int turns = 0; turns < 8; turns++) {
		uint64_t end = util_ms() + 10000;

		world_domain(&w, 1000);
		world_listen(&w);
		w.no_answer = turns % 2;
		world_connect(&w, NULL);
		for (int i = 0; i < turns; i++)
			world_turn(&w, 1);
		vdev_remove(0);
		/* Nobody accepts from now on. */
		w.no_answer = true;
		while (!w.cli.disconnected && util_ms() < end)
			world_turn(&w, 20);
		CU_ASSERT_TRUE(w.cli.disconnected);
		CU_ASSERT_TRUE(w.cli.error);
		if (w.srv.c) {
			/* It may have been accepted before. */
			(void)fab_accept(w.srv.c, &w.accept);
			PUMP_UNTIL(&w, w.srv.disconnected);
			CU_ASSERT_TRUE(w.srv.error);
		}
		world_close(&w);
		vdev_add(0);
		CU_ASSERT_EQUAL(vdev_objects(), 0);
	}
}

/* ---- Commands that take long ------------------------------------------------ */

static void test_slow(void)
{
	vdev_slow(2000);
	for (int i = 0; i < 5; i++) {
		world_pair(&w);
		load();
		PUMP_UNTIL(&w, w.cli.nwc == 2 * MSGS && w.srv.nwc == 2 * MSGS);
		world_close(&w);
	}
	vdev_slow(0);
}

/* How often the first connection has sent a message and got one back; commands of the
 * device, each of which lasts for ROUNDS of these; and whether one did not let them
 * happen. */
static atomic_uint rounds, commands;
static atomic_bool stalled;

#define ROUNDS 5

static void slow_command(void)
{
	unsigned int until = atomic_load(&rounds) + ROUNDS;
	uint64_t end = util_ms() + 10000;

	atomic_fetch_add(&commands, 1);
	while (atomic_load(&rounds) < until && !atomic_load(&stalled)) {
		usleep(100);
		if (util_ms() > end)
			atomic_store(&stalled, true);
	}
}

static void round_trip(void)
{
	static struct msg r[2], s[2];

	w.cli.nwc = w.srv.nwc = 0;
	for (size_t i = 0; i < 2; i++) {
		msg_init(&w, &r[i], FAB_RECV, i * LEN, LEN);
		msg_init(&w, &s[i], FAB_SEND, (2 + i) * LEN, LEN);
	}
	CU_ASSERT_EQUAL(ep_recv(&w.srv, &r[0].wr), 0);
	CU_ASSERT_EQUAL(ep_recv(&w.cli, &r[1].wr), 0);
	ep_post(&w.cli, &s[0].wr);
	PUMP_UNTIL(&w, w.srv.nwc == 1);
	ep_post(&w.srv, &s[1].wr);
	PUMP_UNTIL(&w, w.srv.nwc == 2 && w.cli.nwc == 2);
	atomic_fetch_add(&rounds, 1);
}

#define OTHERS 4

static struct ep others[2 * OTHERS]; /* clients, then servers */
static unsigned int nserved;

static void others_request(struct fab_listener *l, struct fab_conn *c,
			   const void *priv, size_t priv_len, void *user)
{
	struct ep *e = &others[OTHERS + nserved++];

	e->c = c;
	fab_conn_set_ready(c, ep_ready, e);
	CU_ASSERT_EQUAL(fab_accept(c, NULL), 0);
}

static bool is_up(const struct ep *e)
{
	return e->established;
}

static bool is_down(const struct ep *e)
{
	return e->disconnected;
}

static bool is_gone(const struct ep *e)
{
	return e->gone;
}

/* Until all of them are so. */
static void others_until(bool (*is)(const struct ep *e))
{
	uint64_t end = util_ms() + 60000;
	unsigned int n = 0;

	while (n < 2 * OTHERS && util_ms() < end && !atomic_load(&stalled)) {
		round_trip();
		n = 0;
		for (unsigned int i = 0; i < 2 * OTHERS; i++) {
			if (others[i].ready)
				ep_poll(&others[i]);
			n += is(&others[i]);
		}
	}
	CU_ASSERT_EQUAL(n, 2 * OTHERS);
}

/* A connection is at work while others come and go: during each command of the
 * device for them its messages go on. */
static void others_come_and_go(bool shared)
{
	struct fab_listener *l;
	struct sockaddr_storage at;

	subject.shared = shared;
	subject.longest = shared ? SHARE_SIZE : SIZE_MAX;
	world_pair(&w);
	CU_ASSERT_EQUAL_FATAL(listen_anywhere(&w, &subject.addr,
					      subject.addrlen, others_request,
					      NULL, &l),
			      0);
	fab_listener_addr(l, &at);
	atomic_store(&commands, 0);
	atomic_store(&stalled, false);
	vdev_on_command(slow_command);
	for (int i = 0; i < 3 && !atomic_load(&stalled); i++) {
		memset(others, 0, sizeof(others));
		nserved = 0;
		for (int k = 0; k < OTHERS; k++) {
			struct ep *e = &others[k];

			CU_ASSERT_EQUAL(fab_conn_create(w.poller, ep_ready, e,
							&e->c),
					0);
			CU_ASSERT_EQUAL(fab_connect(e->c,
						    (struct sockaddr *)&at,
						    subject.addrlen, NULL),
					0);
		}
		others_until(is_up);
		for (int k = 0; k < OTHERS; k++)
			fab_disconnect(others[k].c, k % 2);
		others_until(is_down);
		for (int k = 0; k < 2 * OTHERS; k++)
			if (others[k].c)
				fab_conn_destroy_deferred(others[k].c, ep_gone,
							  &others[k]);
		others_until(is_gone);
	}
	vdev_on_command(NULL);
	CU_ASSERT_FALSE(atomic_load(&stalled));
	/* Two queues each, which were created and destroyed. */
	CU_ASSERT_TRUE(atomic_load(&commands) >= 3 * 2 * OTHERS * 4);
	fab_listener_close(l);
	world_close(&w);
	subject.shared = false;
	subject.longest = SIZE_MAX;
}

static void test_others_come_and_go(void)
{
	others_come_and_go(false);
	others_come_and_go(true);
}

/* ---- While a device is at it ------------------------------------------------ */

static atomic_bool blocks;

static void blocked_command(void)
{
	while (atomic_load(&blocks))
		usleep(100);
}

/* The next command lasts until unblock(). */
static void block(void)
{
	atomic_store(&blocks, true);
	vdev_on_command(blocked_command);
}

static void unblock(void)
{
	atomic_store(&blocks, false);
	vdev_on_command(NULL);
}

/* Only Receives can be had of a connection whose queues are being created or destroyed. */
static void nothing_else(void)
{
	static struct msg m;
	uint64_t offset;
	uint32_t handle;

	for (int i = 0; i < 3; i++)
		world_turn(&w, 1);
	CU_ASSERT_EQUAL(fab_accept(w.srv.c, NULL), -ENOTCONN);
	fab_reject(w.srv.c, NULL, 0);
	CU_ASSERT_EQUAL(ep_try_post(&w.srv, msg_init(&w, &m, FAB_SEND, 0, 64)),
			-ENOTCONN);
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena, LEN, FAB_REMOTE_READ,
				  &handle, &offset),
			-ENOTCONN);
	CU_ASSERT_EQUAL(fab_conn_silent_ms(w.srv.c), 0);
	CU_ASSERT_FALSE(w.srv.established || w.srv.disconnected);
}

/* A connection that is about to get its queues, and has a Receive meanwhile. */
static void begin_blocked(struct msg *r)
{
	world_open(&w);
	w.no_answer = true;
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.srv.c);
	block();
	CU_ASSERT_EQUAL(fab_accept(w.srv.c, NULL), 0);
	nothing_else();
	CU_ASSERT_EQUAL(ep_recv(&w.srv, msg_init(&w, r, FAB_RECV, 0, LEN)), 0);
}

static void test_blocked_start(void)
{
	static struct msg r, s;

	begin_blocked(&r);
	unblock();
	PUMP_UNTIL(&w, w.cli.established && w.srv.established);
	memset(w.arena, 0, LEN);
	fill_random(w.arena + LEN, LEN, 1);
	ep_post(&w.cli, msg_init(&w, &s, FAB_SEND, LEN, LEN));
	PUMP_UNTIL(&w, w.srv.nwc == 1);
	CU_ASSERT_PTR_EQUAL(w.srv.wc[0].wr, &r.wr);
	CU_ASSERT_EQUAL(memcmp(w.arena, w.arena + LEN, LEN), 0);
	world_close(&w);
}

/* It is to end before it was established. */
static void test_blocked_unwanted(void)
{
	static struct msg r;

	begin_blocked(&r);
	fab_disconnect(w.srv.c, false);
	unblock();
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	CU_ASSERT_FALSE(w.srv.established);
	CU_ASSERT_EQUAL(w.srv.error, -ECONNABORTED);
	CU_ASSERT_EQUAL(w.srv.nwc, 1);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_FLUSHED), 1);
	world_close(&w);
}

/* What is open to the peer stays open until the end is told. */
static void test_blocked_end(void)
{
	static struct msg r[2];
	uint64_t offset;
	uint32_t handle;

	world_pair(&w);
	for (size_t i = 0; i < 2; i++)
		msg_init(&w, &r[i], FAB_RECV, i * LEN, LEN);
	CU_ASSERT_EQUAL(ep_recv(&w.srv, &r[0].wr), 0);
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena, LEN, FAB_REMOTE_READ,
				  &handle, &offset),
			0);
	w.srv.established = false; /* for nothing_else() */
	block();
	fab_disconnect(w.srv.c, true);
	nothing_else();
	CU_ASSERT_EQUAL(ep_recv(&w.srv, &r[1].wr), 0);
	CU_ASSERT_FALSE(fab_unexpose(w.srv.c, handle, NULL));
	fab_disconnect(w.srv.c, true);
	unblock();
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -ECONNABORTED);
	CU_ASSERT_EQUAL(w.srv.nwc, 2);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_FLUSHED), 2);
	CU_ASSERT_EQUAL(w.srv.closed, 0);
	world_close(&w);
}

/* ---- Devices of no use ------------------------------------------------------ */

/* Open a domain over devices of @profile. Returns what that returns. */
static int open_over(const char *profile)
{
	struct fab_domain_params p = { .log = util_log };
	struct fab_domain *dom = NULL;
	int rc;

	vdev_setup(profile, 1);
	listen_to_log();
	rc = fab_domain_open(&fab_verbs_ops, &p, &dom);
	if (!rc)
		fab_domain_close(dom);
	return rc;
}

static void test_three_sge(void)
{
	CU_ASSERT_EQUAL(open_over("three-sge"), -EOPNOTSUPP);
	CU_ASSERT_TRUE(said("three-sge_0"));
	CU_ASSERT_TRUE(said("3 elements") && said("4 are needed"));
}

static void test_no_reads(void)
{
	CU_ASSERT_EQUAL(open_over("no-reads"), -EOPNOTSUPP);
	CU_ASSERT_TRUE(said("no-reads_0"));
	CU_ASSERT_TRUE(said("no RDMA Reads"));
}

/* One of no use does not keep another from being used. */
static void test_one_of_two(void)
{
	CU_ASSERT_EQUAL(open_over("three-sge,mlx5"), 0);
	CU_ASSERT_TRUE(said("three-sge_0"));
	CU_ASSERT_EQUAL(open_over("mlx5,no-reads"), 0);
	CU_ASSERT_TRUE(said("no-reads_1"));
	CU_ASSERT_FALSE(said("mlx5_0"));
}

/* Whoever gets no queue pair is refused; the others go on, and later one can be
 * had again. */
static void test_few_pairs(void)
{
	static struct ep first_cli, first_srv;

	vdev_setup("few-pairs,few-pairs", 1);
	world_pair(&w);
	first_cli = w.cli;
	first_srv = w.srv;
	ep_clear(&w);
	listen_to_log();
	CU_ASSERT_EQUAL(try_connect(), 0);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -EPERM);
	CU_ASSERT_EQUAL(w.srv.error, -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.srv.reason, "has no completion queue"));
	world_unpair(&w);
	w.cli = first_cli;
	w.srv = first_srv;
	fab_conn_set_ready(w.cli.c, ep_ready, &w.cli);
	fab_conn_set_ready(w.srv.c, ep_ready, &w.srv);
	world_hello(&w);
	world_unpair(&w);
	world_join(&w, NULL);
	world_hello(&w);
	world_close(&w);
}

static const struct unit_test tests[] = {
	{ "qp_events", test_qp_events },
	{ "harmless_events", test_harmless_events },
	{ "cq_event", test_cq_event },
	{ "srq_event", test_srq_event },
	{ "link", test_link },
	{ "link_flaps", test_link_flaps },
	{ "removed", test_removed },
	{ "removed_at_start", test_removed_at_start },
	{ "slow", test_slow },
	{ "others_come_and_go", test_others_come_and_go },
	{ "blocked_start", test_blocked_start },
	{ "blocked_unwanted", test_blocked_unwanted },
	{ "blocked_end", test_blocked_end },
	/* These replace the devices. */
	{ "three_sge", test_three_sge },
	{ "no_reads", test_no_reads },
	{ "one_of_two", test_one_of_two },
	{ "few_pairs", test_few_pairs },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return vdev_run("vdev_events", tests, argc, argv);
}
