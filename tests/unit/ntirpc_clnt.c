/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reverse-direction Calls through a CLIENT: over real connections of the
 * software iWARP provider, with ntirpc's own workers.
 *
 * The peer (the connection's client) does to each Call what its procedure
 * number asks for.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "ntirpc/clnt.h"
#include "ntirpc_util.h"
#include "unit.h"

#define PROG 0x40000000
#define VERS 1
/* Calls at a time, at most. */
#define MANY 300

enum proc {
	DO_NULL,
	DO_ADD, /* the argument plus one */
	DO_HOLD, /* no answer until told */
	DO_UNAVAIL,
	DO_DENY, /* AUTH_ERROR */
	DO_GARBAGE, /* results that cannot be decoded */
	DO_SILENT, /* never an answer */
};

static const struct timespec long_time = { .tv_sec = 200 };
static const struct timespec short_time = { .tv_nsec = 30 * 1000000 };

/* ---- Both ends -------------------------------------------------------- */

static struct rt_instance *server, *client;
static struct rt_listener *listener;
static struct rt_conn *server_conn, *client_conn;
static atomic_int server_up, client_up, closed;
static pthread_t pollers[2];
static atomic_bool stop;
static struct nrt_clnts *clnts;

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_call *held[64];
static unsigned int nheld;
static atomic_int credentials; /* of the last Call: its flavor */

struct answer {
	struct rt_reply reply;
	struct rt_piece piece;
	uint32_t word[8];
};

static void answered(void *arg)
{
	free(arg);
}

static void answer(struct rt_call *call, const uint32_t *words, size_t n)
{
	struct answer *a = calloc(1, sizeof(*a));

	for (size_t i = 0; i < n; i++)
		a->word[i] = htonl(words[i]);
	a->piece.addr = a->word;
	a->piece.len = n * 4;
	a->reply.pieces = &a->piece;
	a->reply.npieces = 1;
	a->reply.done = answered;
	a->reply.arg = a;
	rt_reply(call, &a->reply);
}

static void answer_add(struct rt_call *call, uint32_t arg)
{
	const uint32_t words[] = { call->xid, REPLY,   MSG_ACCEPTED, AUTH_NONE,
				   0,	      SUCCESS, arg + 1 };

	answer(call, words, 7);
}

static void on_call(struct rt_conn *c, struct rt_call *call)
{
	static struct rpc_msg msg; /* one strand */
	struct nrt_decode d;
	uint32_t arg = 0;
	uint32_t words[8] = { call->xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0 };

	nrt_decode_init(&d, call->pieces, call->npieces, NULL);
	memset(&msg, 0, sizeof(msg));
	rpc_msg_init(&msg);
	if (!call->reverse || !xdr_dplx_decode(&d.xdrs, &msg) ||
	    msg.rm_direction != CALL || msg.rm_xid != call->xid ||
	    msg.cb_prog != PROG || msg.cb_vers != VERS ||
	    msg.rm_call.cb_rpcvers != RPC_MSG_VERSION) {
		rt_call_drop(call);
		return;
	}
	atomic_store(&credentials, msg.cb_cred.oa_flavor);
	if (msg.cb_proc != DO_NULL && !XDR_GETUINT32(&d.xdrs, &arg)) {
		rt_call_drop(call);
		return;
	}
	switch (msg.cb_proc) {
	case DO_NULL:
		words[5] = SUCCESS;
		answer(call, words, 6);
		break;
	case DO_ADD:
		answer_add(call, arg);
		break;
	case DO_HOLD:
		pthread_mutex_lock(&held_lock);
		held[nheld++] = call;
		pthread_mutex_unlock(&held_lock);
		break;
	case DO_UNAVAIL:
		words[5] = PROC_UNAVAIL;
		answer(call, words, 6);
		break;
	case DO_DENY:
		words[2] = MSG_DENIED;
		words[3] = AUTH_ERROR;
		words[4] = AUTH_TOOWEAK;
		answer(call, words, 5);
		break;
	case DO_GARBAGE:
		words[5] = SUCCESS; /* and no result */
		answer(call, words, 6);
		break;
	default:
		rt_call_drop(call);
		break;
	}
}

static void answer_held(void)
{
	pthread_mutex_lock(&held_lock);
	while (nheld)
		answer_add(held[--nheld], 0);
	pthread_mutex_unlock(&held_lock);
}

static atomic_bool hold_forward;
static struct rt_call *forward[8];
static atomic_uint nforward;

/* Calls in the forward direction. */
static void on_forward_call(struct rt_conn *c, struct rt_call *call)
{
	const uint32_t words[] = { call->xid, REPLY, MSG_ACCEPTED,
				   AUTH_NONE, 0,     SUCCESS };

	if (atomic_load(&hold_forward))
		forward[atomic_fetch_add(&nforward, 1)] = call;
	else
		answer(call, words, 6);
}

static void *on_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	server_conn = c;
	return c;
}

static void on_server_up(struct rt_conn *c)
{
	atomic_store(&server_up, 1);
}

static void on_client_up(struct rt_conn *c)
{
	atomic_store(&client_up, 1);
}

static void on_closed(struct rt_conn *c, int error, const char *reason)
{
	atomic_fetch_add(&closed, 1);
}

static const struct rt_ops server_ops = {
	.open = on_open,
	.established = on_server_up,
	.call = on_forward_call,
	.closed = on_closed,
};

static const struct rt_ops client_ops = {
	.established = on_client_up,
	.call = on_call,
	.closed = on_closed,
};

static void *poller_main(void *arg)
{
	struct rt_instance *inst = arg;

	while (!atomic_load(&stop))
		rt_run(inst, 0, 50);
	return NULL;
}

static void wait_for(bool (*cond)(void))
{
	while (!cond())
		usleep(1000);
}

static struct rt_instance *make_instance(void)
{
	struct rt_params p = { .provider = fab_provider("iwarp") };
	struct rt_instance *inst = NULL;

	p.config.request_user_size = nrt_clnt_request_size();
	p.config.reverse = RDMA2_RVRSDIR_GENL;
	p.config.reverse_credits = MANY;
	p.config.max_memory = 16 << 20;
	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&p, &inst), 0);
	return inst;
}

static bool both_up(void)
{
	return atomic_load(&server_up) && atomic_load(&client_up);
}

static atomic_bool first_answered;

static bool may_call(void)
{
	return atomic_load(&first_answered) && rt_conn_can_call(server_conn);
}

static void first_done(struct rt_request *rq)
{
	CU_ASSERT_EQUAL(rq->status, 0);
	rt_request_free(rq);
	atomic_store(&first_answered, true);
}

static struct rt_request *forward_call(uint32_t xid, uint32_t *words,
				       struct rt_piece *piece)
{
	struct rt_request *rq = rt_request_alloc(client);

	CU_ASSERT_PTR_NOT_NULL_FATAL(rq);
	memset(words, 0, 40);
	words[0] = htonl(xid);
	words[2] = htonl(RPC_MSG_VERSION);
	words[3] = htonl(PROG);
	words[4] = htonl(VERS);
	*piece = (struct rt_piece){ .addr = words, .len = 40 };
	rq->xid = xid;
	rq->pieces = piece;
	rq->npieces = 1;
	rq->reply_max = 100;
	return rq;
}

/* A server does not call before the client has (4.6.3). */
static void first_call(void)
{
	static uint32_t words[10];
	static struct rt_piece piece;
	struct rt_request *rq = forward_call(0x11111111, words, &piece);

	atomic_store(&first_answered, false);
	rq->done = first_done;
	rt_request_submit(client_conn, rq);
	wait_for(may_call);
}

static bool both_closed(void)
{
	return atomic_load(&closed) == 2;
}

static void do_connect(void)
{
	struct sockaddr_storage addr;

	atomic_store(&server_up, 0);
	atomic_store(&client_up, 0);
	atomic_store(&closed, 0);
	rt_listener_addr(listener, &addr);
	CU_ASSERT_EQUAL_FATAL(rt_connect(client, 0, (struct sockaddr *)&addr,
					 sizeof(addr), &client_ops, NULL,
					 &client_conn),
			      0);
	wait_for(both_up);
	first_call();
}

static void do_close(void)
{
	answer_held();
	rt_conn_close(client_conn, false);
	wait_for(both_closed);
	rt_conn_put(client_conn);
	rt_conn_put(server_conn);
}

static void test_open(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	svc_init_params params = {
		.max_connections = 16,
		.max_events = 16,
		.ioq_thrd_max = 8,
		.ioq_thrd_min = 2,
		.gss_ctx_hash_partitions = 3,
		.gss_max_ctx = 64,
		.gss_max_gc = 8,
		.channels = 1,
	};

	CU_ASSERT_TRUE_FATAL(svc_init(&params));
	server = make_instance();
	client = make_instance();
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(rt_listen(server, (struct sockaddr *)&any,
					sizeof(any), &server_ops, NULL,
					&listener),
			      0);
	CU_ASSERT_EQUAL_FATAL(nrt_clnts_create(server, NULL, &clnts), 0);
	pthread_create(&pollers[0], NULL, poller_main, server);
	pthread_create(&pollers[1], NULL, poller_main, client);
	do_connect();
}

/* ---- Calls ------------------------------------------------------------ */

struct call {
	struct clnt_req req; /* first */
	uint32_t arg, result;
	enum clnt_stat stat;
	pthread_t thread;
	unsigned int processed;
	bool keep; /* do not release in the callback */
};

static atomic_int processed, freed;

static void free_call(struct clnt_req *cc, size_t size)
{
	atomic_fetch_add(&freed, 1);
}

static void process(struct clnt_req *cc)
{
	struct call *c = (struct call *)(void *)cc;

	c->stat = cc->cc_error.re_status;
	c->thread = pthread_self();
	c->processed++;
	if (!c->keep)
		nrt_req_release(cc);
	atomic_fetch_add(&processed, 1);
}

static AUTH *auth;

static void fill(struct call *c, CLIENT *clnt, enum proc proc, uint32_t arg)
{
	memset(c, 0, sizeof(*c));
	c->arg = arg;
	clnt_req_fill(&c->req, clnt, auth, proc, (xdrproc_t)xdr_u_int, &c->arg,
		      (xdrproc_t)xdr_u_int, &c->result);
	c->req.cc_free_cb = free_call;
}

static enum clnt_stat send_call(struct call *c, CLIENT *clnt, enum proc proc,
				uint32_t arg, struct timespec timeout)
{
	enum clnt_stat stat;

	fill(c, clnt, proc, arg);
	stat = nrt_req_setup(&c->req, timeout);
	if (stat != RPC_SUCCESS)
		return stat;
	c->req.cc_process_cb = process;
	return nrt_req_callback(&c->req);
}

static int expected;

static bool all_processed(void)
{
	return atomic_load(&processed) >= expected;
}

static void expect(int n)
{
	atomic_store(&processed, 0);
	atomic_store(&freed, 0);
	expected = n;
}

static CLIENT *new_clnt(void)
{
	CLIENT *clnt = nrt_clnt_create(clnts, server_conn, NULL, PROG, VERS);

	CU_ASSERT_PTR_NOT_NULL_FATAL(clnt);
	CU_ASSERT_TRUE(nrt_clnt_is_ours(clnt));
	return clnt;
}

static bool is_worker(pthread_t t)
{
	return !pthread_equal(t, pollers[0]) && !pthread_equal(t, pollers[1]) &&
	       !pthread_equal(t, pthread_self());
}

static void test_callback(void)
{
	static struct call calls[MANY];
	CLIENT *clnt = new_clnt();

	CU_ASSERT_TRUE_FATAL(CLNT_SUCCESS(clnt));
	expect(MANY);
	for (uint32_t i = 0; i < MANY; i++)
		CU_ASSERT_EQUAL(send_call(&calls[i], clnt, DO_ADD, i * 3,
					  long_time),
				RPC_SUCCESS);
	wait_for(all_processed);
	for (uint32_t i = 0; i < MANY; i++) {
		CU_ASSERT_EQUAL(calls[i].processed, 1);
		CU_ASSERT_EQUAL(calls[i].stat, RPC_SUCCESS);
		CU_ASSERT_EQUAL(calls[i].result, i * 3 + 1);
		CU_ASSERT_TRUE(is_worker(calls[i].thread));
	}
	CU_ASSERT_EQUAL(atomic_load(&freed), MANY);
	CLNT_DESTROY(clnt);
}

static bool one_held(void)
{
	bool yes;

	pthread_mutex_lock(&held_lock);
	yes = nheld >= 1;
	pthread_mutex_unlock(&held_lock);
	return yes;
}

static void test_wait(void)
{
	CLIENT *clnt = new_clnt();
	struct call c;

	atomic_store(&freed, 0);
	for (uint32_t i = 0; i < 20; i++) {
		fill(&c, clnt, DO_ADD, i);
		CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
		CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_SUCCESS);
		CU_ASSERT_EQUAL(c.result, i + 1);
		CU_ASSERT_EQUAL(nrt_req_release(&c.req), 0);
	}
	/* CB_NULL, as Ganesha probes a channel. */
	clnt_req_fill(&c.req, clnt, auth, DO_NULL, (xdrproc_t)xdr_void, NULL,
		      (xdrproc_t)xdr_void, NULL);
	c.req.cc_free_cb = free_call;
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
	c.req.cc_refreshes = 1;
	CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_SUCCESS);
	nrt_req_release(&c.req);
	CU_ASSERT_EQUAL(atomic_load(&freed), 21);
	/* Without waiting for the Reply. */
	fill(&c, clnt, DO_HOLD, 1);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, (struct timespec){ 0 }),
			RPC_SUCCESS);
	CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_SUCCESS);
	wait_for(one_held);
	nrt_req_release(&c.req);
	answer_held();
	CU_ASSERT_EQUAL(atomic_load(&freed), 22);
	CLNT_DESTROY(clnt);
}

static void test_auth_sys(void)
{
	char name[] = "server";
	CLIENT *clnt = new_clnt();
	AUTH *none = auth;
	struct call c;

	auth = authunix_ncreate(name, 10, 20, 0, NULL);
	CU_ASSERT_TRUE_FATAL(AUTH_SUCCESS(auth));
	fill(&c, clnt, DO_ADD, 7);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_SUCCESS);
	CU_ASSERT_EQUAL(c.result, 8);
	CU_ASSERT_EQUAL(atomic_load(&credentials), AUTH_SYS);
	nrt_req_release(&c.req);
	/* Its channel ends, and the credential with it, before the Reply. */
	expect(1);
	CU_ASSERT_EQUAL(send_call(&c, clnt, DO_HOLD, 1, long_time),
			RPC_SUCCESS);
	wait_for(one_held);
	AUTH_DESTROY(auth);
	auth = none;
	answer_held();
	wait_for(all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_SUCCESS);
	CLNT_DESTROY(clnt);
}

/* One for a channel that had ended already. */
static void test_no_clnt(void)
{
	struct call c;

	expect(0);
	fill(&c, NULL, DO_NULL, 0);
	CU_ASSERT_FALSE(nrt_clnt_is_ours(c.req.cc_clnt));
	CU_ASSERT_EQUAL(nrt_req_release(&c.req), 0);
	CU_ASSERT_EQUAL(atomic_load(&freed), 1);
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
	CLIENT *clnt = new_clnt();
	struct call c;

	for (size_t i = 0; i < 3; i++) {
		expect(1);
		CU_ASSERT_EQUAL(send_call(&c, clnt, cases[i].proc, 1,
					  long_time),
				RPC_SUCCESS);
		wait_for(all_processed);
		CU_ASSERT_EQUAL(c.stat, cases[i].stat);
		CU_ASSERT_EQUAL(c.processed, 1);

		fill(&c, clnt, cases[i].proc, 1);
		CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
		CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), cases[i].stat);
		nrt_req_release(&c.req);
	}
	CLNT_DESTROY(clnt);
}

static bool three_held(void)
{
	bool yes;

	pthread_mutex_lock(&held_lock);
	yes = nheld >= 3;
	pthread_mutex_unlock(&held_lock);
	return yes;
}

static void test_timeout(void)
{
	static struct call calls[3];
	CLIENT *clnt = new_clnt();
	struct call c;

	expect(3);
	/* The last one first: deadlines are not in the order of the Calls. */
	CU_ASSERT_EQUAL(send_call(&calls[0], clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	CU_ASSERT_EQUAL(send_call(&calls[1], clnt, DO_HOLD, 0, short_time),
			RPC_SUCCESS);
	CU_ASSERT_EQUAL(send_call(&calls[2], clnt, DO_SILENT, 0, short_time),
			RPC_SUCCESS);
	expected = 2;
	wait_for(all_processed);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_TIMEDOUT);
	CU_ASSERT_EQUAL(calls[2].stat, RPC_TIMEDOUT);
	CU_ASSERT_TRUE(is_worker(calls[1].thread));
	CU_ASSERT_EQUAL(calls[0].processed, 0);

	fill(&c, clnt, DO_HOLD, 1);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, short_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_TIMEDOUT);
	nrt_req_release(&c.req);

	/* Now the Replies come after all: of use to the first one only. */
	wait_for(three_held);
	answer_held();
	expected = 3;
	wait_for(all_processed);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(calls[0].result, 1);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(calls[i].processed, 1);
	CU_ASSERT_EQUAL(atomic_load(&freed), 4);
	CLNT_DESTROY(clnt);
}

/* Who has reset a request hears nothing of it any more, and may reuse it. */
static void test_reset(void)
{
	CLIENT *clnt = new_clnt();
	struct call c;

	expect(1);
	CU_ASSERT_EQUAL(send_call(&c, clnt, DO_HOLD, 0, long_time),
			RPC_SUCCESS);
	wait_for(one_held);
	nrt_req_reset(&c.req);
	answer_held();
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
	c.req.cc_process_cb = process;
	c.req.cc_proc = DO_ADD;
	c.arg = 50;
	CU_ASSERT_EQUAL(nrt_req_callback(&c.req), RPC_SUCCESS);
	wait_for(all_processed);
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
		if (nrt_req_refresh(cc) == RPC_SUCCESS &&
		    nrt_req_callback(cc) == RPC_SUCCESS)
			return;
	}
	c->stat = cc->cc_error.re_status;
	nrt_req_release(cc);
	atomic_fetch_add(&processed, 1);
}

static void test_refresh(void)
{
	CLIENT *clnt = new_clnt();
	struct call c;
	uint32_t xid;

	expect(1);
	fill(&c, clnt, DO_DENY, 9);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
	xid = c.req.cc_xid;
	c.req.cc_process_cb = process_again;
	CU_ASSERT_EQUAL(nrt_req_callback(&c.req), RPC_SUCCESS);
	wait_for(all_processed);
	CU_ASSERT_EQUAL(c.processed, 6);
	CU_ASSERT_EQUAL(c.stat, RPC_SUCCESS);
	CU_ASSERT_EQUAL(c.result, 10);
	CU_ASSERT_NOT_EQUAL(c.req.cc_xid, xid);
	CLNT_DESTROY(clnt);
}

static void test_control(void)
{
	CLIENT *clnt = new_clnt();
	uint32_t v = 0;
	struct call c;
	CLIENT other = { 0 };

	CU_ASSERT_TRUE(CLNT_CONTROL(clnt, CLGET_PROG, &v));
	CU_ASSERT_EQUAL(v, PROG);
	CU_ASSERT_TRUE(CLNT_CONTROL(clnt, CLGET_VERS, &v));
	CU_ASSERT_EQUAL(v, VERS);
	CU_ASSERT_FALSE(CLNT_CONTROL(clnt, 4711, &v));
	CU_ASSERT_FALSE(CLNT_CONTROL(clnt, CLGET_VERS, NULL));
	/* A time-out that is none. */
	fill(&c, clnt, DO_ADD, 1);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req,
				      (struct timespec){ .tv_sec = -1 }),
			RPC_TLIERROR);
	nrt_req_release(&c.req);
	CU_ASSERT_EQUAL(clnt->cl_refcnt, 1);
	CLNT_DESTROY(clnt);
	CU_ASSERT_FALSE(nrt_clnt_is_ours(&other));
	CU_ASSERT_FALSE(nrt_clnt_is_ours(NULL));
}

struct waiter {
	CLIENT *clnt;
	enum clnt_stat stat;
};

static void *wait_main(void *arg)
{
	struct waiter *w = arg;
	struct call c;

	fill(&c, w->clnt, DO_HOLD, 0);
	nrt_req_setup(&c.req, long_time);
	w->stat = nrt_req_wait_reply(&c.req);
	nrt_req_release(&c.req);
	return NULL;
}

static void test_connection_end(void)
{
	static struct call calls[2];
	struct waiter w = { .clnt = new_clnt() };
	pthread_t t;
	CLIENT *late;
	struct call c;

	expect(2);
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(send_call(&calls[i], w.clnt, DO_HOLD, 0,
					  long_time),
				RPC_SUCCESS);
	pthread_create(&t, NULL, wait_main, &w);
	wait_for(three_held);
	rt_conn_close(server_conn, true);
	wait_for(all_processed);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(calls[0].stat, RPC_CANTRECV);
	CU_ASSERT_EQUAL(calls[1].stat, RPC_CANTRECV);
	CU_ASSERT_EQUAL(w.stat, RPC_CANTRECV);
	wait_for(both_closed);
	/* From now on nothing can be sent, and that is told at once. */
	CU_ASSERT_EQUAL(send_call(&c, w.clnt, DO_ADD, 0, long_time),
			RPC_CANTSEND);
	nrt_req_release(&c.req);
	fill(&c, w.clnt, DO_ADD, 0);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_CANTSEND);
	nrt_req_release(&c.req);
	late = new_clnt();
	CU_ASSERT_TRUE(CLNT_FAILURE(late));
	CLNT_DESTROY(late);
	CLNT_DESTROY(w.clnt);
	answer_held();
	rt_conn_put(client_conn);
	rt_conn_put(server_conn);
	do_connect();
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
	return atomic_load(&nforward) == 8;
}

static bool all_forward_done(void)
{
	return atomic_load(&forward_done) == 8;
}

/* [E1] 5: XIDs of Calls that the client has made are passed over. */
static void test_xids(void)
{
	static uint32_t words[8][10];
	static struct rt_piece piece[8];
	CLIENT *clnt = new_clnt();
	uint32_t before, xid;
	struct call c;

	fill(&c, clnt, DO_ADD, 1);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_SUCCESS);
	before = c.req.cc_xid;
	nrt_req_release(&c.req);
	atomic_store(&hold_forward, true);
	for (uint32_t i = 0; i < 8; i++) {
		struct rt_request *rq =
			forward_call(before + 1 + i, words[i], &piece[i]);

		rq->done = forward_gone;
		rt_request_submit(client_conn, rq);
	}
	wait_for(all_forward_here);
	CU_ASSERT_TRUE(rt_conn_xid_busy(server_conn, before + 1));
	CU_ASSERT_TRUE(rt_conn_xid_busy(server_conn, before + 8));
	CU_ASSERT_FALSE(rt_conn_xid_busy(server_conn, before + 9));
	fill(&c, clnt, DO_ADD, 1);
	CU_ASSERT_EQUAL(nrt_req_setup(&c.req, long_time), RPC_SUCCESS);
	xid = c.req.cc_xid;
	CU_ASSERT_EQUAL(xid, before + 9);
	CU_ASSERT_EQUAL(nrt_req_wait_reply(&c.req), RPC_SUCCESS);
	nrt_req_release(&c.req);
	atomic_store(&hold_forward, false);
	for (unsigned int i = 0; i < 8; i++) {
		const uint32_t reply[] = { before + 1 + i, REPLY, MSG_ACCEPTED,
					   AUTH_NONE,	   0,	  SUCCESS };

		answer(forward[i], reply, 6);
	}
	wait_for(all_forward_done);
	for (uint32_t i = 1; i < 9; i++)
		CU_ASSERT_FALSE(rt_conn_xid_busy(server_conn, before + i));
	CLNT_DESTROY(clnt);
}

/* Ends of connections and Calls as they happen to meet. */
static void test_races(void)
{
	static struct call calls[MANY];

	for (int round = 0; round < 20; round++) {
		CLIENT *clnt = new_clnt();
		int sent = 0;

		expect(MANY);
		for (int i = 0; i < MANY; i++) {
			enum clnt_stat stat;
			enum proc proc = i % 7 ? DO_ADD : DO_SILENT;

			if (i == MANY / 2)
				rt_conn_close(round & 1 ? server_conn :
							  client_conn,
					      true);
			stat = send_call(&calls[i], clnt, proc, 1, short_time);
			if (stat == RPC_SUCCESS)
				sent++;
			else
				nrt_req_release(&calls[i].req);
		}
		expected = sent;
		wait_for(all_processed);
		CU_ASSERT_EQUAL(atomic_load(&processed), sent);
		wait_for(both_closed);
		CU_ASSERT_EQUAL(atomic_load(&freed), MANY);
		CLNT_DESTROY(clnt);
		rt_conn_put(client_conn);
		rt_conn_put(server_conn);
		do_connect();
	}
}

static void test_close(void)
{
	do_close();
	rt_listener_close(listener);
	CU_ASSERT_EQUAL(rt_instance_shutdown(server, 10000, false), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(client, 10000, false), 0);
	atomic_store(&stop, true);
	rt_wake(server, 0);
	rt_wake(client, 0);
	pthread_join(pollers[0], NULL);
	pthread_join(pollers[1], NULL);
	nrt_clnts_destroy(clnts);
	rt_instance_destroy(server);
	rt_instance_destroy(client);
	AUTH_DESTROY(auth);
}

static void test_auth(void)
{
	auth = authnone_ncreate();
	CU_ASSERT_TRUE_FATAL(AUTH_SUCCESS(auth));
}

static const struct unit_test tests[] = { { "open", test_open },
					  { "credential", test_auth },
					  { "callback", test_callback },
					  { "wait", test_wait },
					  { "AUTH_SYS", test_auth_sys },
					  { "no CLIENT", test_no_clnt },
					  { "errors of the peer", test_errors },
					  { "time-out", test_timeout },
					  { "reset", test_reset },
					  { "refresh", test_refresh },
					  { "XIDs", test_xids },
					  { "control", test_control },
					  { "end of the connection",
					    test_connection_end },
					  { "races", test_races },
					  { "close", test_close },
					  { NULL, NULL } };
UNIT_MAIN("ntirpc clnt", tests)
