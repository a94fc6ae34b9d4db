/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vdev_probe - what ids are told for their packets, and the probe of quiet peers
 *
 * Over the emulated devices that VDEV names (over_vdev), and over ones that refuse
 * the probe.
 *
 * Threads: one.
 */
#define EP_MAX_WC 64
#include "vdev_world.h"

#define LEN 4096u
/* A busy machine must answer within it. */
#define KEEPALIVE_MS 400u

static void reconnect(void)
{
	world_unpair(&w);
	listen_to_log();
	world_join(&w, NULL);
}

/* As long as several probes would take. */
static void be_quiet(void)
{
	uint64_t end = util_ms() + 3 * (uint64_t)KEEPALIVE_MS;

	while (util_ms() < end)
		world_turn(&w, 10);
}

/* ---- Options of ids -------------------------------------------------------- */

static int option_of(const struct fab_conn *c, int name)
{
	return vdev_option(vb_conn((struct fab_conn *)(uintptr_t)c)->id, name);
}

static void check_options(int type, int timeout)
{
	struct vb_listener *l =
		container_of(w.listener, struct vb_listener, ev.fab);

	CU_ASSERT_EQUAL(vdev_option(l->id, RDMA_OPTION_ID_TOS), type);
	CU_ASSERT_EQUAL(option_of(w.srv.c, RDMA_OPTION_ID_TOS), type);
	CU_ASSERT_EQUAL(option_of(w.cli.c, RDMA_OPTION_ID_TOS), type);
	CU_ASSERT_EQUAL(option_of(w.srv.c, RDMA_OPTION_ID_ACK_TIMEOUT),
			timeout);
	CU_ASSERT_EQUAL(option_of(w.cli.c, RDMA_OPTION_ID_ACK_TIMEOUT),
			timeout);
}

static void test_options(void)
{
	static const struct {
		struct fab_domain_params params;
		int type, timeout;
	} rows[] = {
		{ { 0 }, -1, -1 },
		/* Without being given it is nothing. */
		{ { .service_type = 8 }, -1, -1 },
		{ { .service_type_given = true }, 0, -1 },
		{ { .service_type_given = true, .service_type = 184 }, 184, -1 },
		{ { .ack_timeout = 18 }, -1, 18 },
		{ { .service_type_given = true,
		    .service_type = 255,
		    .ack_timeout = 31 },
		  252, /* without the bits of ECN */
		  31 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		subject.params = rows[i].params;
		world_pair(&w);
		check_options(rows[i].type, rows[i].timeout);
		world_close(&w);
	}
	subject.params = (struct fab_domain_params){ 0 };
	CU_ASSERT_EQUAL(vdev_broken_rules(), 0);
}

/* ---- Probes ---------------------------------------------------------------- */

/* A peer that answers stays; one that does not is found. */
static void test_keepalive(void)
{
	subject.params.keepalive_ms = KEEPALIVE_MS;
	world_pair(&w);
	be_quiet();
	CU_ASSERT_FALSE(w.cli.disconnected || w.srv.disconnected);
	CU_ASSERT_TRUE(vb_conn(w.cli.c)->probed_at);
	vdev_hold(true);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	vdev_hold(false);
	CU_ASSERT_TRUE(w.cli.error == -ETIMEDOUT || w.srv.error == -ETIMEDOUT);
	/* That says nothing of its device. */
	CU_ASSERT_FALSE(vb_conn_unprobed(vb_conn(w.cli.c)));
	world_close(&w);
}

static void test_no_keepalive(void)
{
	subject.params.keepalive_ms = FAB_NEVER;
	world_pair(&w);
	be_quiet();
	world_hello(&w);
	CU_ASSERT_PTR_NULL(fab_poller_timers(w.poller)->root);
	CU_ASSERT_EQUAL(vb_conn(w.cli.c)->probed_at, 0);
	/* What happens to a port is another matter. */
	vdev_event(0, IBV_EVENT_LID_CHANGE);
	PUMP_UNTIL(&w, vb_conn(w.cli.c)->probed_at);
	world_close(&w);
}

/* No answer is none of an error: the next connection is probed. */
static void test_link_down(void)
{
	/* Longer than the device repeats the probe, which the event asks for. */
	subject.params.keepalive_ms = 1000;
	world_pair(&w);
	vdev_link(0, false);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	vdev_link(0, true);
	CU_ASSERT_FALSE(said("answers a probe"));
	reconnect();
	CU_ASSERT_FALSE(vb_conn_unprobed(vb_conn(w.cli.c)));
	PUMP_UNTIL(&w, vb_conn(w.cli.c)->probed_at);
	world_close(&w);
}

static unsigned int count_said(const char *what)
{
	unsigned int n = 0;

	for (const char *at = subject.said; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* The last request of a connection need not ask for a completion, and it closes
 * in order all the same. */
static void close_in_order(void)
{
	static struct msg r, s;

	w.cli.nwc = w.srv.nwc = 0;
	CU_ASSERT_EQUAL(ep_recv(&w.srv, msg_init(&w, &r, FAB_RECV, 0, LEN)), 0);
	msg_init(&w, &s, FAB_SEND, LEN, LEN);
	s.wr.flags = 0;
	ep_post(&w.cli, &s.wr);
	fab_disconnect(w.cli.c, false);
	w.cli.ready = true;
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, 0);
	CU_ASSERT_EQUAL(w.srv.error, 0);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_OK), 1);
}

static void test_refused(void)
{
	static const char *const profiles[] = { "empty-invalid", "empty-access",
						"empty-fails" };

	subject.params.keepalive_ms = KEEPALIVE_MS;
	for (size_t i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
		vdev_setup(profiles[i], 1);
		listen_to_log();
		world_pair(&w);
		/* The first probe ends it, */
		PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
		CU_ASSERT_EQUAL(count_said("answers a probe with an error"), 1);
		CU_ASSERT_TRUE(said(profiles[i]));
		CU_ASSERT_TRUE(said("198.51.100.1"));
		/* and no other one does, whatever for. */
		reconnect();
		vdev_event(0, IBV_EVENT_LID_CHANGE);
		CU_ASSERT_EQUAL(fab_conn_silent_ms(w.cli.c), 0);
		be_quiet();
		CU_ASSERT_FALSE(w.cli.disconnected || w.srv.disconnected);
		world_hello(&w);
		close_in_order();
		CU_ASSERT_FALSE(said("answers a probe"));
		world_close(&w);
		CU_ASSERT_EQUAL(vdev_objects(), 0);
	}
}

static const struct unit_test tests[] = {
	{ "options", test_options },
	{ "keepalive", test_keepalive },
	{ "no_keepalive", test_no_keepalive },
	{ "link_down", test_link_down },
	/* This replaces the devices. */
	{ "refused", test_refused },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return vdev_run("vdev_probe", tests, argc, argv);
}
