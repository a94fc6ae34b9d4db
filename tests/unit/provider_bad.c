/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider_bad - a broken rule ends the connection, and touches no memory
 *
 * Threads: one.
 */
#include "provider_util.h"

#define AT (4u << 20)
#define LEN 8192u

static struct world w;

static void both_end(void)
{
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	/* Who broke the rule, or whose rule it was, knows it for an error. */
	CU_ASSERT_TRUE(w.cli.error || w.srv.error || subject.siw);
}

/* The exposed range and what is around it. */
static void fill(void)
{
	memset(w.arena + AT - 64, 0xa5, LEN + 128);
}

static bool untouched(void)
{
	for (size_t i = 0; i < LEN + 128; i++)
		if (w.arena[AT - 64 + i] != 0xa5)
			return false;
	return true;
}

static void test_no_receive(void)
{
	struct msg s;

	world_pair(&w);
	ep_post(&w.cli, msg_init(&w, &s, FAB_SEND, 0, 100));
	both_end();
	world_close(&w);
}

static void test_no_receive_empty(void)
{
	struct fab_wr s = { .op = FAB_SEND, .flags = FAB_F_SIGNALED };

	world_pair(&w);
	ep_post(&w.srv, &s);
	both_end();
	world_close(&w);
}

static void too_long(size_t room, size_t len)
{
	struct msg s, r;
	const struct fab_wc *wc;

	world_pair(&w);
	fill();
	memset(w.arena, 0x5a, len);
	CU_ASSERT_EQUAL(ep_recv(&w.srv, msg_init(&w, &r, FAB_RECV, AT, room)),
			0);
	ep_post(&w.cli, msg_init(&w, &s, FAB_SEND, 0, len));
	both_end();
	wc = ep_find(&w.srv, &r.wr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wc);
	CU_ASSERT_NOT_EQUAL(wc->status, FAB_OK);
	/* Whatever of it was placed, nothing is behind the Receive. */
	for (size_t i = room; i < LEN; i++)
		CU_ASSERT_EQUAL(w.arena[AT + i], 0xa5);
	world_close(&w);
}

static void test_too_long(void)
{
	too_long(100, 101);
	too_long(0, 1);
	too_long(1024, 65536);
}

enum wrong {
	AS_IT_SHOULD,
	ABOVE,
	BELOW,
	OVER_THE_END,
	OTHER_RIGHT,
	CLOSED,
	NO_HANDLE,
};

static void access_range(enum fab_opcode op, enum wrong wrong)
{
	bool read = op == FAB_READ;
	unsigned int right = read ? FAB_REMOTE_READ : FAB_REMOTE_WRITE;
	struct fab_wr *wr;
	struct msg m;
	uint32_t handle;
	uint64_t off;
	size_t len = 256;

	if (subject.flawed_windows && wrong >= ABOVE && wrong <= OVER_THE_END)
		return;
	if (subject.siw && read && wrong == OTHER_RIGHT)
		return;
	world_pair(&w);
	fill();
	memset(w.arena, 0x11, LEN);
	if (wrong == OTHER_RIGHT)
		right = read ? FAB_REMOTE_WRITE : FAB_REMOTE_READ;
	CU_ASSERT_EQUAL(
		ep_expose(&w.srv, w.arena + AT, LEN, right, &handle, &off), 0);
	w.srv.ready = true;
	world_turn(&w, 0);
	wr = msg_init(&w, &m, op, 0, len);
	wr->handle = handle;
	wr->offset = off;
	if (wrong == ABOVE)
		wr->offset = off + LEN;
	else if (wrong == BELOW)
		wr->offset = off - 1;
	else if (wrong == OVER_THE_END)
		wr->offset = off + LEN - len + 1;
	else if (wrong == NO_HANDLE)
		wr->handle = handle ^ 0x5a5a5a00u;
	else if (wrong == CLOSED && !fab_unexpose(w.srv.c, handle, &w))
		PUMP_UNTIL(&w, w.srv.closed_user == &w);
	ep_post(&w.cli, wr);
	if (wrong == AS_IT_SHOULD) {
		PUMP_UNTIL(&w, w.cli.nwc == 1);
		CU_ASSERT_EQUAL(w.cli.wc[0].status, FAB_OK);
		CU_ASSERT_FALSE(w.cli.disconnected);
		w.cli.nwc = 0;
		world_hello(&w);
		CU_ASSERT_EQUAL(w.arena[read ? 0 : AT], read ? 0xa5 : 0x11);
		CU_ASSERT_EQUAL(untouched(), read);
	} else {
		both_end();
		/* It comes back, done or not. */
		CU_ASSERT_PTR_NOT_NULL(ep_find(&w.cli, wr));
		CU_ASSERT_TRUE(untouched());
		CU_ASSERT_EQUAL(w.arena[0], 0x11);
		if (read)
			CU_ASSERT_EQUAL(ep_count(&w.cli, FAB_OK), 0);
	}
	world_close(&w);
}

static void test_bad_write(void)
{
	for (enum wrong i = AS_IT_SHOULD; i <= NO_HANDLE; i++)
		access_range(FAB_WRITE, i);
}

static void test_bad_read(void)
{
	for (enum wrong i = AS_IT_SHOULD; i <= NO_HANDLE; i++)
		access_range(FAB_READ, i);
}

/* An invalidated handle is closed, and cannot be invalidated again. */
static void test_invalidated(void)
{
	struct fab_wr inv = { .op = FAB_SEND_INV, .flags = FAB_F_SIGNALED };
	struct msg r[3], m;
	uint64_t off;

	for (int again = 0; again < (subject.flawed_windows ? 1 : 2); again++) {
		world_pair(&w);
		if (!(w.limits.caps & FAB_CAP_SEND_INV) ||
		    !(w.limits.caps & FAB_CAP_EXPOSE)) {
			printf("(not on this device) ");
			world_close(&w);
			return;
		}
		fill();
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(ep_recv(&w.srv,
						msg_init(&w, &r[i], FAB_RECV,
							 (size_t)i * 64, 64)),
					0);
		CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + AT, LEN,
					  FAB_REMOTE_WRITE, &inv.handle, &off),
				0);
		w.srv.ready = true;
		world_turn(&w, 0);
		ep_post(&w.cli, &inv);
		PUMP_UNTIL(&w, w.srv.nwc == 1 && w.cli.nwc == 1);
		CU_ASSERT_TRUE(w.srv.wc[0].invalidated);
		CU_ASSERT_EQUAL(w.srv.wc[0].inv_handle, inv.handle);
		if (again) {
			inv.next = NULL;
			ep_post(&w.cli, &inv);
		} else {
			msg_init(&w, &m, FAB_WRITE, 1024, 100);
			m.wr.handle = inv.handle;
			m.wr.offset = off;
			ep_post(&w.cli, &m.wr);
		}
		both_end();
		CU_ASSERT_TRUE(untouched());
		world_close(&w);
	}
}

/* What one connection has opened is closed to every other one. */
static void test_other_connection(void)
{
	static struct ep first;
	struct fab_conn *srv;
	struct msg m;
	uint32_t handle;
	uint64_t off;

	world_pair(&w);
	if (!(w.limits.caps & FAB_CAP_EXPOSE)) {
		printf("(not on this device) ");
		world_close(&w);
		return;
	}
	fill();
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + AT, LEN, FAB_REMOTE_WRITE,
				  &handle, &off),
			0);
	w.srv.ready = true;
	world_turn(&w, 0);
	first = w.cli;
	srv = w.srv.c;
	ep_clear(&w);
	world_join(&w, NULL);
	world_hello(&w);
	msg_init(&w, &m, FAB_WRITE, 0, 100);
	m.wr.handle = handle;
	m.wr.offset = off;
	ep_post(&w.cli, &m.wr);
	both_end();
	CU_ASSERT_TRUE(untouched());
	world_unpair(&w);
	/* The one whose handle it is has not noticed. */
	w.cli = first;
	w.srv.c = srv;
	CU_ASSERT_EQUAL(ep_try_post(&w.cli, &m.wr), 0);
	for (uint64_t end = util_ms() + 60000; !w.cli.nwc && util_ms() < end;) {
		w.cli.ready = w.srv.ready = true;
		world_turn(&w, 5);
	}
	CU_ASSERT_EQUAL(ep_count(&w.cli, FAB_OK), 1);
	fab_disconnect(w.cli.c, true);
	for (uint64_t end = util_ms() + 60000;
	     (!w.cli.disconnected || !w.srv.disconnected) && util_ms() < end;) {
		w.cli.ready = w.srv.ready = true;
		world_turn(&w, 5);
	}
	world_close(&w);
}

const struct unit_test provider_bad_tests[] = {
	{ "no_receive", test_no_receive },
	{ "no_receive_empty", test_no_receive_empty },
	{ "too_long", test_too_long },
	{ "bad_write", test_bad_write },
	{ "bad_read", test_bad_read },
	{ "invalidated", test_invalidated },
	{ "other_connection", test_other_connection },
	{ NULL, NULL },
};
