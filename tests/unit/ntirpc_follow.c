/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Back channels that follow their session: connections end at either side, and
 * Calls go on by the next.
 */
#include <unistd.h>

#include "base/clock.h"
#include "ntirpc_ends.h"
#include "ntirpc_named.h"
#include "rpcrdma/stats.h"
#include "unit.h"

static const uint8_t another[ULB_SESSION_ID] = "another one....";

/* ---- Helpers ---------------------------------------------------------- */

static unsigned int nseen(void)
{
	unsigned int n;

	pthread_mutex_lock(&ends.held_lock);
	n = ends.nseen;
	pthread_mutex_unlock(&ends.held_lock);
	return n;
}

static void forget_seen(void)
{
	pthread_mutex_lock(&ends.held_lock);
	ends.nseen = 0;
	pthread_mutex_unlock(&ends.held_lock);
}

static unsigned int awaited;

static bool all_seen(void)
{
	return nseen() >= awaited;
}

static void await_seen(unsigned int n)
{
	awaited = n;
	ends_wait_for(all_seen);
}

static void set_patience(unsigned int ms)
{
	/* There is no connection that would mind. */
	((struct rt_config *)(uintptr_t)rt_instance_config(ends.server))
		->reverse_ms = ms;
}

/* ---- Tests ------------------------------------------------------------ */

/* Sent again, it has its time-out again. */
static void test_timed_again(void)
{
	static const struct timespec some_time = { 0, 400000000 };
	static struct call call;
	CLIENT *clnt = named_clnt();

	forget_seen();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&call, clnt, DO_HOLD, 1, some_time),
			RPC_SUCCESS);
	await_seen(1);
	cut();
	forget_seen();
	come_back();
	await_seen(1);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(call.stat, RPC_TIMEDOUT);
	CU_ASSERT_EQUAL(call.processed, 1);
	ends_answer_held();
	CLNT_DESTROY(clnt);
}

/* Outstanding ones, one that was given up, and one that comes meanwhile. */
static void test_sent_again(void)
{
	static struct call calls[5];
	CLIENT *clnt = named_clnt();
	struct seen first[4];

	forget_seen();
	ends_expect(5);
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(ends_send(&calls[i], clnt, DO_HOLD, i,
					  i == 2 ? short_time : long_time),
				RPC_SUCCESS);
	await_seen(4);
	memcpy(first, ends.seen, sizeof(first));
	ends.expected = 1;
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[2].stat, RPC_TIMEDOUT);
	CU_ASSERT_EQUAL(flags(), 0);
	CU_ASSERT_FALSE(bc_has_flags(ends.back));
	cut();
	CU_ASSERT_TRUE(bc_has_flags(ends.back));
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION);
	CU_ASSERT_EQUAL(bc_session_flags(ends.back, another), 0);
	CU_ASSERT_EQUAL(ends_send(&calls[4], clnt, DO_HOLD, 4, long_time),
			RPC_SUCCESS);
	forget_seen();
	/* Nothing until the client has bound it to this session. */
	ends_connect();
	settle(ULB_SESSION_BACK, another);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION);
	usleep(20000);
	CU_ASSERT_EQUAL(nseen(), 0);
	CU_ASSERT_EQUAL(atomic_load(&ends.processed), 1);
	settle(ULB_SESSION_BACK, session);
	CU_ASSERT_EQUAL(flags(), 0);
	await_seen(5);
	/* As they were, in their order. */
	CU_ASSERT_EQUAL(memcmp(ends.seen, first, sizeof(first)), 0);
	CU_ASSERT_EQUAL(ends.seen[4].arg, 4);
	ends_answer_held();
	ends.expected = 5;
	ends_wait_for(ends_all_processed);
	for (int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(calls[i].processed, 1);
		CU_ASSERT_EQUAL(calls[i].stat,
				i == 2 ? RPC_TIMEDOUT : RPC_SUCCESS);
	}
	CU_ASSERT_EQUAL(atomic_load(&ends.freed), 5);
	CLNT_DESTROY(clnt);
}

/* Bound to another connection while the old one still is there: what comes now
 * must not overtake what has gone by that. */
static void test_moved(void)
{
	struct rt_conn *old_client = ends.client_conn;
	struct rt_conn *old_server = ends.server_conn;
	static struct call calls[3];
	CLIENT *clnt = named_clnt();

	forget_seen();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_HOLD, 1, short_time),
			RPC_SUCCESS);
	await_seen(2);
	ends_wait_for(ends_all_processed);
	ends_connect();
	CU_ASSERT_TRUE(bc_can_bind(ends.back, session, ends.server_conn));
	CU_ASSERT_FALSE(bc_can_bind(ends.back, another, ends.server_conn));
	settle(ULB_SESSION_BACK, session);
	CU_ASSERT_EQUAL(flags(), 0);
	CU_ASSERT_EQUAL(ends_send(&calls[2], clnt, DO_ADD, 2, long_time),
			RPC_SUCCESS);
	usleep(20000);
	CU_ASSERT_EQUAL(nseen(), 2);
	atomic_store(&ends.closed, 0);
	rt_conn_close(old_client, true);
	ends_wait_for(ends_both_closed);
	CU_ASSERT_EQUAL(flags(), 0);
	await_seen(5);
	CU_ASSERT_EQUAL(ends.seen[2].xid, ends.seen[0].xid);
	CU_ASSERT_EQUAL(ends.seen[3].xid, ends.seen[1].xid);
	CU_ASSERT_EQUAL(ends.seen[4].arg, 2);
	ends_answer_held();
	ends.expected = 3;
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_TIMEDOUT);
	CU_ASSERT_EQUAL(calls[2].stat, RPC_SUCCESS);
	rt_conn_put(old_client);
	rt_conn_put(old_server);
	atomic_store(&ends.closed, 0);
	CLNT_DESTROY(clnt);
}

/* The old one is as good as the new, and brings the Replies. */
static void test_both(void)
{
	struct rt_conn *old_client = ends.client_conn;
	struct rt_conn *old_server = ends.server_conn;
	static struct call calls[2];
	CLIENT *clnt = named_clnt();

	forget_seen();
	ends_expect(2);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	await_seen(1);
	ends_connect();
	settle(ULB_SESSION_BACK, session);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 1, long_time),
			RPC_SUCCESS);
	usleep(10000);
	CU_ASSERT_EQUAL(nseen(), 1);
	ends_answer_held();
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(nseen(), 2);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(calls[1].result, 2);
	atomic_store(&ends.closed, 0);
	rt_conn_close(old_client, false);
	ends_wait_for(ends_both_closed);
	CU_ASSERT_EQUAL(flags(), 0);
	rt_conn_put(old_client);
	rt_conn_put(old_server);
	atomic_store(&ends.closed, 0);
	CLNT_DESTROY(clnt);
}

/* Who made the Call hears that it took too long; the peer gets it in the end,
 * for the next one in its slot would not be taken otherwise. */
static void test_given_up(void)
{
	static struct call calls[2];
	CLIENT *clnt = named_clnt();

	cut();
	set_patience(20);
	forget_seen();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_ADD, 5, long_time),
			RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_TIMEDOUT);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION);
	set_patience(60000);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 6, long_time),
			RPC_SUCCESS);
	come_back();
	await_seen(2);
	CU_ASSERT_EQUAL(ends.seen[0].arg, 5);
	CU_ASSERT_EQUAL(ends.seen[1].arg, 6);
	ends.expected = 2;
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].processed, 1);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_SUCCESS);
	CLNT_DESTROY(clnt);
}

/* The client has ended its session instead. */
static void test_ended(void)
{
	static struct call calls[3];
	CLIENT *clnt = named_clnt();

	cut();
	forget_seen();
	ends_expect(3);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(ends_send(&calls[i], clnt, DO_ADD, i,
					  long_time),
				RPC_SUCCESS);
	settle(ULB_SESSION_ENDED, another);
	usleep(10000);
	CU_ASSERT_EQUAL(atomic_load(&ends.processed), 0);
	settle(ULB_SESSION_ENDED, session);
	ends_wait_for(ends_all_processed);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(calls[i].stat, RPC_TIMEDOUT);
	/* Nor does it come when a connection is bound. */
	ends_connect();
	settle(ULB_SESSION_BACK, session);
	CLNT_DESTROY(clnt);
	clnt = named_clnt();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_ADD, 70, long_time),
			RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(nseen(), 1);
	CLNT_DESTROY(clnt);
}

static bool no_trouble(void)
{
	return !bc_has_flags(ends.back);
}

/* A Call that ends every connection it comes by is not sent for ever. */
static void test_fatal(void)
{
	CLIENT *clnt = named_clnt();
	struct call c;

	forget_seen();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	for (unsigned int i = 1; i <= 3; i++) {
		await_seen(i);
		CU_ASSERT_EQUAL(atomic_load(&ends.processed), 0);
		cut();
		come_back();
	}
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_CANTRECV);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_BACKCHANNEL_FAULT);
	/* It does not go with the CLIENT. */
	CLNT_DESTROY(clnt);
	clnt = ends_fresh_clnt();
	settle(ULB_SESSION_BACK, session);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_BACKCHANNEL_FAULT);
	settle(ULB_SESSION_ENDED, session);
	CLNT_DESTROY(clnt);
	ends_wait_for(no_trouble);
	CU_ASSERT_EQUAL(flags(), 0);
}

/* The peer's transport has refused it: it was not executed. */
static void test_refused(void)
{
	CLIENT *clnt = named_clnt();
	struct call c;

	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_REFUSE, 0, long_time),
			RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_FAILED);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_BACKCHANNEL_FAULT);
	settle(ULB_SESSION_ENDED, session);
	CLNT_DESTROY(clnt);
	CU_ASSERT_TRUE(no_trouble());
}

/* The client has no time for it, as Linux' has none while it binds a connection:
 * it comes again as it was, before those after it. */
static void test_delayed(void)
{
	static struct call calls[2];
	CLIENT *clnt = named_clnt();
	uint64_t begun = base_now_ns();

	forget_seen();
	ends.delayed = 0;
	ends_expect(2);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_DELAY, 5, long_time),
			RPC_SUCCESS);
	/* The second tells that the first's Reply has come. */
	await_seen(2);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 6, long_time),
			RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_SUCCESS);
	/* Twice, and not at once. */
	CU_ASSERT_TRUE(base_now_ns() - begun > 390000000u);
	CU_ASSERT_EQUAL(calls[0].result, 6);
	CU_ASSERT_EQUAL(calls[1].result, 7);
	CU_ASSERT_EQUAL(flags(), 0);
	CU_ASSERT_EQUAL(nseen(), 4);
	for (int i = 1; i < 3; i++)
		CU_ASSERT_EQUAL(memcmp(&ends.seen[i], &ends.seen[0],
				       sizeof(ends.seen[0])),
				0);
	CLNT_DESTROY(clnt);
}

/* Two that are out at the same time are told so one after the other. */
static void test_delayed_twice(void)
{
	static struct call calls[2];
	CLIENT *clnt = named_clnt();

	forget_seen();
	ends_expect(2);
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(ends_send(&calls[i], clnt, DO_HOLD, i,
					  long_time),
				RPC_SUCCESS);
	await_seen(2);
	ends_delay_held();
	usleep(50000);
	ends_delay_held();
	await_seen(3);
	ends_answer_held();
	await_seen(4);
	CU_ASSERT_EQUAL(memcmp(&ends.seen[2], &ends.seen[0],
			       2 * sizeof(ends.seen[0])),
			0);
	ends_answer_held();
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(flags(), 0);
	CLNT_DESTROY(clnt);
}

/* One that was put off is out again: nothing overtakes it. */
static void test_delayed_first(void)
{
	static struct call calls[2];
	CLIENT *clnt = named_clnt();

	forget_seen();
	ends_expect(2);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	await_seen(1);
	ends_delay_held();
	await_seen(2);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 1, long_time),
			RPC_SUCCESS);
	usleep(20000);
	CU_ASSERT_EQUAL(nseen(), 2);
	ends_answer_held();
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(nseen(), 3);
	CLNT_DESTROY(clnt);
}

/* Nothing helps but another session. */
static void test_misordered(void)
{
	CLIENT *clnt = named_clnt();
	struct call c;

	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_MISORDER, 0, long_time),
			RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(c.result, 10063);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_BACKCHANNEL_FAULT);
	settle(ULB_SESSION_ENDED, session);
	CLNT_DESTROY(clnt);
}

/* As many as may wait, and one more. */
static void test_many(void)
{
	static struct call calls[33];
	CLIENT *clnt = named_clnt();

	cut();
	forget_seen();
	ends_expect(32);
	for (uint32_t i = 0; i < 33; i++)
		CU_ASSERT_EQUAL(ends_send(&calls[i], clnt, DO_ADD, i,
					  long_time),
				i < 32 ? RPC_SUCCESS : RPC_CANTSEND);
	bc_req_release(&calls[32].req);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_BACKCHANNEL_FAULT |
					 ULB_SEQ_CB_PATH_DOWN_SESSION);
	come_back();
	ends_wait_for(ends_all_processed);
	for (uint32_t i = 0; i < 32; i++) {
		CU_ASSERT_EQUAL(calls[i].result, i + 1);
		CU_ASSERT_EQUAL(ends.seen[i].arg, i);
	}
	CLNT_DESTROY(clnt);
}

/* Ganesha 6.5 ends the CLIENT with the connection, and makes a new one for the
 * next, which others may use before its session is known. */
static void test_replaced(void)
{
	static struct call calls[4];
	CLIENT *clnt = named_clnt();

	cut();
	forget_seen();
	ends_expect(4);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_ADD, 0, long_time),
			RPC_SUCCESS);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 1, long_time),
			RPC_SUCCESS);
	CLNT_DESTROY(clnt);
	/* Whoever has none knows by himself. */
	CU_ASSERT_EQUAL(flags(), 0);
	ends_connect();
	clnt = ends_fresh_clnt();
	CU_ASSERT_TRUE(bc_reply_expected(ends.back));
	CU_ASSERT_TRUE(bc_can_bind(ends.back, session, ends.server_conn));
	for (uint32_t i = 2; i < 4; i++)
		CU_ASSERT_EQUAL(ends_send(&calls[i], clnt, DO_ADD, i,
					  long_time),
				RPC_SUCCESS);
	usleep(10000);
	CU_ASSERT_EQUAL(nseen(), 0);
	settle(ULB_SESSION_BACK, session);
	CU_ASSERT_FALSE(bc_reply_expected(ends.back));
	ends_wait_for(ends_all_processed);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(calls[i].stat, RPC_SUCCESS);
		CU_ASSERT_EQUAL(ends.seen[i].arg, i);
	}
	CLNT_DESTROY(clnt);
}

/* Ganesha makes another for a further Call before the first one is answered: what the
 * first was to send waits for the Reply like the rest, and no longer. */
static void test_replaced_early(void)
{
	static struct call calls[4];
	uint32_t n = 0;
	CLIENT *clnt;

	new_session();
	forget_seen();
	ends_expect(4);
	/* The session has no name yet; then it has. */
	for (unsigned int round = 0; round < 2; round++) {
		clnt = ends_fresh_clnt();
		CU_ASSERT_EQUAL(ends_send(&calls[n], clnt, DO_ADD, n,
					  long_time),
				RPC_SUCCESS);
		n++;
		CLNT_DESTROY(clnt);
		clnt = ends_fresh_clnt();
		CU_ASSERT_EQUAL(ends_send(&calls[n], clnt, DO_ADD, n,
					  long_time),
				RPC_SUCCESS);
		n++;
		settle(ULB_SESSION_BACK, session);
		CU_ASSERT_FALSE(bc_reply_expected(ends.back));
		if (!round)
			CLNT_DESTROY(clnt);
	}
	ends_wait_for(ends_all_processed);
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(calls[i].stat, RPC_SUCCESS);
		CU_ASSERT_EQUAL(ends.seen[i].arg, i);
	}
	/* It is the later one's. */
	CU_ASSERT_TRUE(bc_can_bind(ends.back, session, ends.server_conn));
	CLNT_DESTROY(clnt);
	/* The Reply names no session. */
	clnt = ends_fresh_clnt();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_ADD, 1, long_time),
			RPC_SUCCESS);
	CLNT_DESTROY(clnt);
	settle(ULB_SESSION_NONE, NULL);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].result, 2);
	CU_ASSERT_FALSE(bc_reply_expected(ends.back));
}

/* ---- The longest Call that a session takes [F4] ------------------------- */

#define THRESHOLD RT_DEFAULT(recv_size)

static bool put_long(XDR *xdrs, void *where)
{
	static const char more[16 * THRESHOLD];

	return xdr_u_int(xdrs, where) && XDR_PUTBYTES(xdrs, more, sizeof(more));
}

static uint64_t special_sent(void)
{
	struct rt_totals t;

	rt_totals(ends.server, &t);
	return t.stats.special_sent;
}

/* Does a long Call of @clnt go in Special format? */
static bool goes_special(CLIENT *clnt)
{
	uint64_t before = special_sent();
	static struct call c;

	ends_expect(1);
	ends_fill(&c, clnt, DO_ADD, 7);
	c.req.cc_call.proc = (xdrproc_t)put_long;
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
	c.req.cc_process_cb = ends_process;
	CU_ASSERT_EQUAL(bc_req_callback(&c.req), RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(c.result, 8);
	return special_sent() != before;
}

static void test_call_max(void)
{
	static const struct {
		uint32_t call_max; /* 0: the session was made elsewhere */
		bool special;
	} rows[] = {
		{ 0, false },
		{ THRESHOLD, false },
		{ THRESHOLD + 1, true },
		{ UINT32_MAX, true },
	};
	CLIENT *clnt = ends_new_clnt();

	/* Of no session. */
	CU_ASSERT_FALSE(goes_special(clnt));
	CLNT_DESTROY(clnt);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bc_reply news = { .event = ULB_SESSION_BACK,
					 .call_max = rows[i].call_max };

		clnt = ends_fresh_clnt();
		new_session();
		memcpy(news.id, session, ULB_SESSION_ID);
		bc_reply_begin(ends.back, &news, ends.server_conn);
		bc_reply_sent(ends.back, &news, ends.server_conn);
		CU_ASSERT_EQUAL(goes_special(clnt), rows[i].special);
		/* On the next connection, which is bound, likewise; and for the
		 * CLIENT that Ganesha 6.5 makes for it. */
		cut();
		come_back();
		CU_ASSERT_EQUAL(goes_special(clnt), rows[i].special);
		CLNT_DESTROY(clnt);
		clnt = ends_fresh_clnt();
		settle(ULB_SESSION_BACK, session);
		CU_ASSERT_EQUAL(goes_special(clnt), rows[i].special);
		settle(ULB_SESSION_ENDED, session);
		CLNT_DESTROY(clnt);
	}
}

/* Ganesha 4.3 has let go of its CLIENT, and makes no other. */
static void test_no_other(void)
{
	CLIENT *clnt = named_clnt();

	CU_ASSERT_FALSE(bc_can_bind(ends.back, another, ends.server_conn));
	CU_ASSERT_EQUAL(bc_session_flags(ends.back, another), 0);
	CLNT_DESTROY(clnt);
	CU_ASSERT_EQUAL(flags(), 0);
	CU_ASSERT_FALSE(bc_can_bind(ends.back, session, ends.server_conn));
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_BACKCHANNEL_FAULT);
	settle(ULB_SESSION_ENDED, session);
	CU_ASSERT_EQUAL(flags(), 0);
}

/* The Reply named no session, or never came. */
static void test_no_session(void)
{
	CLIENT *clnt = ends_fresh_clnt();
	static struct call calls[2];

	forget_seen();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_ADD, 1, long_time),
			RPC_SUCCESS);
	usleep(10000);
	CU_ASSERT_EQUAL(nseen(), 0);
	settle(ULB_SESSION_NONE, NULL);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].result, 2);
	CLNT_DESTROY(clnt);
	clnt = ends_fresh_clnt();
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 2, short_time),
			RPC_SUCCESS);
	ends.expected = 2;
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_TIMEDOUT);
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_ADD, 3, long_time),
			RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].result, 4);
	CLNT_DESTROY(clnt);
}

/* The connection ended before the Reply that names the session was sent; the
 * client gets that by another one, from Ganesha's memory. */
static void test_ended_before(void)
{
	CLIENT *clnt = ends_fresh_clnt();
	struct rt_conn *gone = ends.server_conn;
	struct bc_reply news = { .event = ULB_SESSION_BACK };
	struct call c;

	new_session();
	memcpy(news.id, session, ULB_SESSION_ID);
	rt_conn_get(gone);
	cut();
	bc_reply_begin(ends.back, &news, gone);
	bc_reply_sent(ends.back, &news, gone);
	rt_conn_put(gone);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION);
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_ADD, 1, long_time), RPC_SUCCESS);
	come_back();
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.result, 2);
	CLNT_DESTROY(clnt);
}

static struct bc_reply bound_here(void)
{
	struct bc_reply news = { .event = ULB_SESSION_BACK };

	memcpy(news.id, session, ULB_SESSION_ID);
	bc_reply_begin(ends.back, &news, ends.server_conn);
	return news;
}

/* The client has the Reply that binds a connection before whoever sent it gets
 * any further: its next SEQUENCE must not tell that there is none. A callback
 * waits all the same, for it might come before that Reply. */
static void test_announced(void)
{
	CLIENT *clnt = named_clnt();
	struct bc_reply news;
	struct call c;

	cut();
	ends_connect();
	forget_seen();
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION);
	news = bound_here();
	CU_ASSERT_EQUAL(flags(), 0);
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_ADD, 1, long_time), RPC_SUCCESS);
	usleep(20000);
	CU_ASSERT_EQUAL(nseen(), 0);
	bc_reply_sent(ends.back, &news, ends.server_conn);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.result, 2);
	CLNT_DESTROY(clnt);
}

/* Two connections are bound one after the other, and the first one's Reply is
 * done with last; then one whose Reply is lost with it, and the session with
 * all that is its. */
static void test_announced_twice(void)
{
	struct rt_conn *old_client = ends.client_conn;
	struct rt_conn *old_server = ends.server_conn;
	CLIENT *clnt = named_clnt();
	struct bc_reply first, second;
	static struct call calls[2];

	first = bound_here();
	ends_connect();
	second = bound_here();
	bc_reply_sent(ends.back, &second, ends.server_conn);
	forget_seen();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_ADD, 1, long_time),
			RPC_SUCCESS);
	usleep(10000);
	CU_ASSERT_EQUAL(nseen(), 0);
	bc_reply_sent(ends.back, &first, old_server);
	ends_wait_for(ends_all_processed);
	atomic_store(&ends.closed, 0);
	rt_conn_close(old_client, true);
	ends_wait_for(ends_both_closed);
	atomic_store(&ends.closed, 0);
	rt_conn_put(old_client);
	rt_conn_put(old_server);
	/* It is the second's. */
	CU_ASSERT_EQUAL(flags(), 0);
	old_server = ends.server_conn;
	rt_conn_get(old_server);
	first = bound_here();
	cut();
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION);
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 2, long_time),
			RPC_SUCCESS);
	settle(ULB_SESSION_ENDED, session);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_TIMEDOUT);
	CLNT_DESTROY(clnt);
	bc_reply_sent(ends.back, &first, old_server);
	rt_conn_put(old_server);
	CU_ASSERT_EQUAL(flags(), 0);
	ends_connect();
}

/* A waiter does not wait for a connection. */
static void test_waiter(void)
{
	CLIENT *clnt = named_clnt();
	struct call c;

	cut();
	ends_fill(&c, clnt, DO_ADD, 1);
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(bc_req_wait_reply(&c.req), RPC_CANTSEND);
	bc_req_release(&c.req);
	come_back();
	CLNT_DESTROY(clnt);
}

/* Who has reset a request that waits hears nothing of it. */
static void test_reset(void)
{
	CLIENT *clnt = named_clnt();
	struct call c;

	cut();
	forget_seen();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_ADD, 1, long_time), RPC_SUCCESS);
	bc_req_reset(&c.req);
	bc_req_release(&c.req);
	come_back();
	await_seen(1);
	/* Behind it. */
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_ADD, 2, long_time), RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(atomic_load(&ends.processed), 1);
	CU_ASSERT_EQUAL(c.result, 3);
	CLNT_DESTROY(clnt);
}

#define RACERS 30

/* Ends of connections, Calls and bindings as they happen to meet: each Call
 * ends once and well, and none comes before one that was made earlier, but for
 * what is sent again. */
static void test_races(void)
{
	static struct call calls[RACERS];

	for (unsigned int round = 0; round < 200; round++) {
		CLIENT *clnt = named_clnt();
		uint32_t next = 0;

		forget_seen();
		ends_expect(RACERS);
		for (uint32_t i = 0; i < RACERS; i++) {
			if (i == round % RACERS)
				rt_conn_close(round & 1 ? ends.server_conn :
							  ends.client_conn,
					      round & 2);
			if (ends_send(&calls[i], clnt, DO_ADD, i, long_time) !=
			    RPC_SUCCESS)
				CU_FAIL_FATAL("not sent");
		}
		ends_wait_for(ends_both_closed);
		rt_conn_put(ends.client_conn);
		rt_conn_put(ends.server_conn);
		come_back();
		ends_wait_for(ends_all_processed);
		CU_ASSERT_EQUAL(atomic_load(&ends.freed), RACERS);
		for (uint32_t i = 0; i < RACERS; i++) {
			CU_ASSERT_EQUAL(calls[i].processed, 1);
			CU_ASSERT_EQUAL(calls[i].stat, RPC_SUCCESS);
			CU_ASSERT_EQUAL(calls[i].result, i + 1);
		}
		for (unsigned int i = 0; i < ends.nseen; i++) {
			CU_ASSERT_TRUE(ends.seen[i].arg <= next);
			if (ends.seen[i].arg == next)
				next++;
		}
		CU_ASSERT_EQUAL(next, RACERS);
		settle(ULB_SESSION_ENDED, session);
		CLNT_DESTROY(clnt);
	}
}

static bool not_busy(void)
{
	return !bc_server_busy(ends.back);
}

/* The server ends: nobody is left waiting. */
static void test_close(void)
{
	static struct call calls[2];
	CLIENT *clnt = named_clnt();

	ends_expect(1);
	forget_seen();
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_HOLD, 1, long_time),
			RPC_SUCCESS);
	await_seen(1);
	cut();
	CU_ASSERT_EQUAL(atomic_load(&ends.processed), 0);
	CU_ASSERT_TRUE(bc_server_busy(ends.back));
	bc_server_close(ends.back);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_TIMEDOUT);
	/* They are the instance's, so that must stay until they are freed. */
	ends_wait_for(not_busy);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_ADD, 1, long_time),
			RPC_CANTSEND);
	bc_req_release(&calls[1].req);
	CU_ASSERT_FALSE(bc_server_busy(ends.back));
	CLNT_DESTROY(clnt);
	ends_connect();
	ends_end();
}

static const struct unit_test tests[] = {
	{ "open", ends_open },
	{ "sent again", test_sent_again },
	{ "timed again", test_timed_again },
	{ "moved", test_moved },
	{ "both", test_both },
	{ "given up", test_given_up },
	{ "session ended", test_ended },
	{ "fatal", test_fatal },
	{ "refused", test_refused },
	{ "delayed", test_delayed },
	{ "delayed twice", test_delayed_twice },
	{ "delayed first", test_delayed_first },
	{ "misordered", test_misordered },
	{ "many", test_many },
	{ "replaced", test_replaced },
	{ "replaced early", test_replaced_early },
	{ "call max", test_call_max },
	{ "no other", test_no_other },
	{ "no session", test_no_session },
	{ "ended before", test_ended_before },
	{ "announced", test_announced },
	{ "announced twice", test_announced_twice },
	{ "waiter", test_waiter },
	{ "reset", test_reset },
	{ "races", test_races },
	{ "close", test_close },
	{ NULL, NULL },
};
UNIT_MAIN("ntirpc follow", tests)
