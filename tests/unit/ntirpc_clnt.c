/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reverse-direction Calls through a CLIENT: over real connections of the
 * software iWARP provider, with ntirpc's own workers.
 */
#include <unistd.h>

#include "ntirpc_ends.h"
#include "rpcrdma/request.h"
#include "rpcrdma/stats.h"
#include "unit.h"

static bool is_worker(pthread_t t)
{
	return !pthread_equal(t, ends.pollers[0]) &&
	       !pthread_equal(t, ends.pollers[1]) &&
	       !pthread_equal(t, pthread_self());
}

static void test_callback(void)
{
	static struct call calls[MANY];
	CLIENT *clnt = ends_new_clnt();

	CU_ASSERT_TRUE_FATAL(CLNT_SUCCESS(clnt));
	ends_expect(MANY);
	for (uint32_t i = 0; i < MANY; i++)
		CU_ASSERT_EQUAL(ends_send(&calls[i], clnt, DO_ADD, i * 3,
					  long_time),
				RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	for (uint32_t i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL(calls[i].processed, 1);
		CU_ASSERT_EQUAL(calls[i].stat, RPC_SUCCESS);
		CU_ASSERT_EQUAL(calls[i].result, i * 3 + 1);
		CU_ASSERT_TRUE(is_worker(calls[i].thread));
	}
	CU_ASSERT_EQUAL(atomic_load(&ends.freed), MANY);
	CLNT_DESTROY(clnt);
}

static bool one_held(void)
{
	bool yes;

	pthread_mutex_lock(&ends.held_lock);
	yes = ends.nheld >= 1;
	pthread_mutex_unlock(&ends.held_lock);
	return yes;
}

/* Ganesha probes a channel by CB_NULL. */
static void test_wait(void)
{
	CLIENT *clnt = ends_new_clnt();
	struct call c;

	atomic_store(&ends.freed, 0);
	for (uint32_t i = 0; i < 20; i++) {
		ends_fill(&c, clnt, DO_ADD, i);
		CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
		CU_ASSERT_EQUAL(bc_req_wait_reply(&c.req), RPC_SUCCESS);
		CU_ASSERT_EQUAL(c.result, i + 1);
		CU_ASSERT_EQUAL(bc_req_release(&c.req), 0);
	}
	clnt_req_fill(&c.req, clnt, ends.auth, DO_NULL, (xdrproc_t)xdr_void,
		      NULL, (xdrproc_t)xdr_void, NULL);
	c.req.cc_free_cb = ends_free_call;
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
	c.req.cc_refreshes = 1;
	CU_ASSERT_EQUAL(bc_req_wait_reply(&c.req), RPC_SUCCESS);
	bc_req_release(&c.req);
	CU_ASSERT_EQUAL(atomic_load(&ends.freed), 21);
	CLNT_DESTROY(clnt);
}

static void test_auth_sys(void)
{
	char name[] = "server";
	CLIENT *clnt = ends_new_clnt();
	AUTH *none = ends.auth;
	struct call c;

	ends.auth = authunix_ncreate(name, 10, 20, 0, NULL);
	CU_ASSERT_TRUE_FATAL(AUTH_SUCCESS(ends.auth));
	CU_ASSERT_EQUAL(ends_call(&c, clnt, DO_ADD, 7, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(c.result, 8);
	CU_ASSERT_EQUAL(atomic_load(&ends.credentials), AUTH_SYS);
	/* Its channel ends, and the credential with it, before the Reply. */
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_HOLD, 1, long_time),
			RPC_SUCCESS);
	ends_wait_for(one_held);
	AUTH_DESTROY(ends.auth);
	ends.auth = none;
	ends_answer_held();
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_SUCCESS);
	CLNT_DESTROY(clnt);
}

/* One for a channel that had ended already. */
static void test_no_clnt(void)
{
	struct call c;

	ends_expect(0);
	ends_fill(&c, NULL, DO_NULL, 0);
	CU_ASSERT_FALSE(bc_is_client(c.req.cc_clnt));
	CU_ASSERT_EQUAL(bc_req_release(&c.req), 0);
	CU_ASSERT_EQUAL(atomic_load(&ends.freed), 1);
}

static void test_errors(void)
{
	static const struct {
		enum proc proc;
		enum clnt_stat stat;
	} cases[] = {
		{ DO_UNAVAIL, RPC_PROCUNAVAIL },
		{ DO_DENY, RPC_AUTHERROR },
		{ DO_GARBAGE, RPC_CANTDECODERES },
	};
	CLIENT *clnt = ends_new_clnt();
	struct call c;

	for (size_t i = 0; i < 3; i++) {
		ends_expect(1);
		CU_ASSERT_EQUAL(ends_send(&c, clnt, cases[i].proc, 1,
					  long_time),
				RPC_SUCCESS);
		ends_wait_for(ends_all_processed);
		CU_ASSERT_EQUAL(c.stat, cases[i].stat);
		CU_ASSERT_EQUAL(c.processed, 1);

		ends_fill(&c, clnt, cases[i].proc, 1);
		CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
		CU_ASSERT_EQUAL(bc_req_wait_reply(&c.req), cases[i].stat);
		bc_req_release(&c.req);
	}
	CLNT_DESTROY(clnt);
}

/* What is no Reply is refused with BAD_XDR (7.2.1), and ends the Call. */
static void test_no_reply(void)
{
	CLIENT *clnt = ends_new_clnt();
	struct rt_conn_info info;
	uint64_t before;
	struct call c;

	rt_conn_info(ends.client_conn, &info);
	before = info.stats.errors_received;
	for (uint32_t i = 0; i < 2; i++) {
		ends_expect(1);
		CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_CALL, i, long_time),
				RPC_SUCCESS);
		ends_wait_for(ends_all_processed);
		CU_ASSERT_EQUAL(c.stat, RPC_CANTDECODERES);
	}
	for (unsigned int n = 0;
	     n < 5000 && info.stats.errors_received < before + 2; n++) {
		usleep(1000);
		rt_conn_info(ends.client_conn, &info);
	}
	CU_ASSERT_EQUAL(info.stats.errors_received, before + 2);
	/* The connection goes on. */
	CU_ASSERT_EQUAL(ends_call(&c, clnt, DO_ADD, 5, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(c.result, 6);
	CLNT_DESTROY(clnt);
}

static bool three_held(void)
{
	bool yes;

	pthread_mutex_lock(&ends.held_lock);
	yes = ends.nheld >= 3;
	pthread_mutex_unlock(&ends.held_lock);
	return yes;
}

static void test_timeout(void)
{
	static struct call calls[3];
	CLIENT *clnt = ends_new_clnt();
	struct call c;

	ends_expect(3);
	/* The last one first: deadlines are not in the order of the Calls. */
	CU_ASSERT_EQUAL(ends_send(&calls[0], clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	CU_ASSERT_EQUAL(ends_send(&calls[1], clnt, DO_HOLD, 0, short_time),
			RPC_SUCCESS);
	CU_ASSERT_EQUAL(ends_send(&calls[2], clnt, DO_SILENT, 0, short_time),
			RPC_SUCCESS);
	ends.expected = 2;
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_TIMEDOUT);
	CU_ASSERT_EQUAL(calls[2].stat, RPC_TIMEDOUT);
	CU_ASSERT_TRUE(is_worker(calls[1].thread));
	CU_ASSERT_EQUAL(calls[0].processed, 0);

	ends_fill(&c, clnt, DO_HOLD, 1);
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, short_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(bc_req_wait_reply(&c.req), RPC_TIMEDOUT);
	bc_req_release(&c.req);

	/* Now the Replies come after all: of use to the first one only. */
	ends_wait_for(three_held);
	ends_answer_held();
	ends.expected = 3;
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(calls[0].result, 1);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(calls[i].processed, 1);
	CU_ASSERT_EQUAL(atomic_load(&ends.freed), 4);
	CLNT_DESTROY(clnt);
}

/* Who has reset a request hears nothing of it any more, and may reuse it. */
static void test_reset(void)
{
	CLIENT *clnt = ends_new_clnt();
	struct call c;

	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	ends_wait_for(one_held);
	bc_req_reset(&c.req);
	ends_answer_held();
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
	c.req.cc_process_cb = ends_process;
	c.req.cc_proc = DO_ADD;
	c.arg = 50;
	CU_ASSERT_EQUAL(bc_req_callback(&c.req), RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.processed, 1);
	CU_ASSERT_EQUAL(c.result, 51);
	/* Two set-ups, one release. */
	CLNT_RELEASE(clnt, CLNT_RELEASE_FLAG_NONE);
	CLNT_DESTROY(clnt);
}

/* Sent again from the callback, as after new credentials. */
static unsigned int again;

static void process_again(struct clnt_req *cc)
{
	struct call *c = (struct call *)(void *)cc;

	c->processed++;
	if (again++ < 5) {
		cc->cc_proc = DO_ADD;
		if (bc_req_refresh(cc) == RPC_SUCCESS &&
		    bc_req_callback(cc) == RPC_SUCCESS)
			return;
	}
	c->stat = cc->cc_error.re_status;
	bc_req_release(cc);
	atomic_fetch_add(&ends.processed, 1);
}

static void test_refresh(void)
{
	CLIENT *clnt = ends_new_clnt();
	struct call c;
	uint32_t xid;

	ends_expect(1);
	ends_fill(&c, clnt, DO_DENY, 9);
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
	xid = c.req.cc_xid;
	c.req.cc_process_cb = process_again;
	CU_ASSERT_EQUAL(bc_req_callback(&c.req), RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.processed, 6);
	CU_ASSERT_EQUAL(c.stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(c.result, 10);
	CU_ASSERT_NOT_EQUAL(c.req.cc_xid, xid);
	CLNT_DESTROY(clnt);
}

static void test_control(void)
{
	CLIENT *clnt = ends_new_clnt();
	uint32_t v = 0;
	struct call c;
	CLIENT other = { 0 };

	CU_ASSERT_FALSE(CLNT_CONTROL(clnt, CLGET_VERS, &v));
	/* A time-out that is none. */
	ends_fill(&c, clnt, DO_ADD, 1);
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, (struct timespec){ .tv_sec = -1 }),
			RPC_TLIERROR);
	bc_req_release(&c.req);
	CU_ASSERT_EQUAL(clnt->cl_refcnt, 1);
	CLNT_DESTROY(clnt);
	CU_ASSERT_FALSE(bc_is_client(&other));
	CU_ASSERT_FALSE(bc_is_client(NULL));
}

struct waiter {
	CLIENT *clnt;
	enum clnt_stat stat;
};

static void *wait_main(void *arg)
{
	struct waiter *w = arg;
	struct call c;

	ends_fill(&c, w->clnt, DO_HOLD, 0);
	bc_req_setup(&c.req, long_time);
	w->stat = bc_req_wait_reply(&c.req);
	bc_req_release(&c.req);
	return NULL;
}

static void test_connection_end(void)
{
	static struct call calls[2];
	struct waiter w = { .clnt = ends_new_clnt() };
	pthread_t t;
	CLIENT *late;
	struct call c;

	ends_expect(2);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(ends_send(&calls[i], w.clnt, DO_HOLD, 0,
					  long_time),
				RPC_SUCCESS);
	pthread_create(&t, NULL, wait_main, &w);
	ends_wait_for(three_held);
	rt_conn_close(ends.server_conn, true);
	ends_wait_for(ends_all_processed);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_CANTRECV);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_CANTRECV);
	CU_ASSERT_EQUAL(w.stat, RPC_CANTRECV);
	ends_wait_for(ends_both_closed);
	/* From now on nothing can be sent, and that is told at once. */
	CU_ASSERT_EQUAL(ends_send(&c, w.clnt, DO_ADD, 0, long_time),
			RPC_CANTSEND);
	bc_req_release(&c.req);
	ends_fill(&c, w.clnt, DO_ADD, 0);
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(bc_req_wait_reply(&c.req), RPC_CANTSEND);
	bc_req_release(&c.req);
	late = ends_new_clnt();
	CU_ASSERT_TRUE(CLNT_FAILURE(late));
	CLNT_DESTROY(late);
	CLNT_DESTROY(w.clnt);
	ends_answer_held();
	rt_conn_put(ends.client_conn);
	rt_conn_put(ends.server_conn);
	ends_connect();
}

static atomic_uint forward_done;

static void forward_gone(struct rt_request *rq)
{
	CU_ASSERT_EQUAL(rq->status, 0);
	rt_request_free(rq);
	atomic_fetch_add(&forward_done, 1);
}

static bool all_forward_here(void)
{
	return atomic_load(&ends.nforward) == 8;
}

static bool all_forward_done(void)
{
	return atomic_load(&forward_done) == 8;
}

static uint32_t first_xid;

static bool no_xid_busy(void)
{
	for (uint32_t i = 0; i < 8; i++) {
		if (rt_conn_xid_busy(ends.server_conn, first_xid + i))
			return false;
	}
	return true;
}

/* [E1] 5: XIDs of Calls that the client has made are passed over. */
static void test_xids(void)
{
	static uint32_t words[8][10];
	static struct rt_piece piece[8];
	CLIENT *clnt = ends_new_clnt();
	uint32_t before, xid;
	struct call c;

	CU_ASSERT_EQUAL(ends_call(&c, clnt, DO_ADD, 1, long_time), RPC_SUCCESS);
	before = c.req.cc_xid;
	atomic_store(&ends.hold_forward, true);
	for (uint32_t i = 0; i < 8; i++) {
		struct rt_request *rq =
			ends_forward_call(before + 1 + i, words[i], &piece[i]);

		rq->done = forward_gone;
		rt_request_submit(ends.client_conn, rq);
	}
	ends_wait_for(all_forward_here);
	CU_ASSERT_TRUE(rt_conn_xid_busy(ends.server_conn, before + 1));
	CU_ASSERT_TRUE(rt_conn_xid_busy(ends.server_conn, before + 8));
	CU_ASSERT_FALSE(rt_conn_xid_busy(ends.server_conn, before + 9));
	ends_fill(&c, clnt, DO_ADD, 1);
	CU_ASSERT_EQUAL(bc_req_setup(&c.req, long_time), RPC_SUCCESS);
	xid = c.req.cc_xid;
	CU_ASSERT_EQUAL(xid, before + 9);
	ends_expect(1);
	c.req.cc_process_cb = ends_process;
	CU_ASSERT_EQUAL(bc_req_callback(&c.req), RPC_SUCCESS);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_SUCCESS);
	atomic_store(&ends.hold_forward, false);
	for (unsigned int i = 0; i < 8; i++) {
		const uint32_t reply[] = { before + 1 + i, REPLY, MSG_ACCEPTED,
					   AUTH_NONE,	   0,	  SUCCESS };

		ends_answer(ends.forward[i], reply, 6);
	}
	ends_wait_for(all_forward_done);
	/* Each is free when the server knows its Reply to be sent. */
	first_xid = before + 1;
	ends_wait_for(no_xid_busy);
	CLNT_DESTROY(clnt);
}

/* Ends of connections and Calls as they happen to meet. */
static void test_races(void)
{
	static struct call calls[MANY];

	for (int round = 0; round < 20; round++) {
		CLIENT *clnt = ends_new_clnt();
		int sent = 0;

		ends_expect(MANY);
		for (int i = 0; i < MANY; i++) {
			enum clnt_stat stat;
			enum proc proc = i % 7 ? DO_ADD : DO_SILENT;

			if (i == MANY / 2)
				rt_conn_close(round & 1 ? ends.server_conn :
							  ends.client_conn,
					      true);
			stat = ends_send(&calls[i], clnt, proc, 1, short_time);
			if (stat == RPC_SUCCESS)
				sent++;
			else
				bc_req_release(&calls[i].req);
		}
		ends.expected = sent;
		ends_wait_for(ends_all_processed);
		CU_ASSERT_EQUAL(atomic_load(&ends.processed), sent);
		ends_wait_for(ends_both_closed);
		CU_ASSERT_EQUAL(atomic_load(&ends.freed), MANY);
		CLNT_DESTROY(clnt);
		rt_conn_put(ends.client_conn);
		rt_conn_put(ends.server_conn);
		ends_connect();
	}
}

static const struct unit_test tests[] = { { "open", ends_open },
					  { "callback", test_callback },
					  { "wait", test_wait },
					  { "AUTH_SYS", test_auth_sys },
					  { "no CLIENT", test_no_clnt },
					  { "errors of the peer", test_errors },
					  { "no Reply", test_no_reply },
					  { "time-out", test_timeout },
					  { "reset", test_reset },
					  { "refresh", test_refresh },
					  { "XIDs", test_xids },
					  { "control", test_control },
					  { "end of the connection",
					    test_connection_end },
					  { "races", test_races },
					  { "close", ends_end },
					  { NULL, NULL } };
UNIT_MAIN("ntirpc clnt", tests)
