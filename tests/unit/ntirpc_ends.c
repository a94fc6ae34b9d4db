/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of a connection with reverse-direction Calls: see the header.
 */
#include "ntirpc_ends.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

#include "ntirpc_util.h"
#include "rpcrdma/request.h"
#include "unit.h"

struct ends ends = { .held_lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- Both ends -------------------------------------------------------- */

struct answer {
	struct rt_reply reply;
	struct rt_piece piece;
	uint32_t word[16];
};

static void answered(void *arg)
{
	free(arg);
}

void ends_answer(struct rt_call *call, const uint32_t *words, size_t n)
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

	ends_answer(call, words, 7);
}

/* A CB_COMPOUND that ends with its CB_SEQUENCE. */
static void answer_sequence(struct rt_call *call, uint32_t status)
{
	const uint32_t words[] = { call->xid, REPLY,   MSG_ACCEPTED, AUTH_NONE,
				   0,	      SUCCESS, status,	     0,
				   1,	      11,      status };

	ends_answer(call, words, 11);
}

static void on_call(struct rt_conn *c, struct rt_call *call)
{
	static struct rpc_msg msg; /* one strand */
	struct xs_decode d;
	uint32_t arg = 0;
	uint32_t words[8] = { call->xid, REPLY, MSG_ACCEPTED, AUTH_NONE, 0 };

	xs_decode_init(&d, call->pieces, call->npieces, NULL);
	memset(&msg, 0, sizeof(msg));
	rpc_msg_init(&msg);
	if (!call->reverse || !xdr_dplx_decode(&d.xdrs, &msg) ||
	    msg.rm_direction != CALL || msg.rm_xid != call->xid ||
	    msg.cb_prog != PROG || msg.cb_vers != VERS ||
	    msg.rm_call.cb_rpcvers != RPC_MSG_VERSION) {
		rt_call_drop(call);
		return;
	}
	atomic_store(&ends.credentials, msg.cb_cred.oa_flavor);
	if (msg.cb_proc != DO_NULL && !XDR_GETUINT32(&d.xdrs, &arg)) {
		rt_call_drop(call);
		return;
	}
	pthread_mutex_lock(&ends.held_lock);
	if (ends.nseen < sizeof(ends.seen) / sizeof(ends.seen[0]))
		ends.seen[ends.nseen++] =
			(struct seen){ call->xid, msg.cb_proc, arg };
	/* At once: who has seen it may have it answered. */
	if (msg.cb_proc == DO_HOLD)
		ends.held[ends.nheld++] = call;
	pthread_mutex_unlock(&ends.held_lock);
	switch (msg.cb_proc) {
	case DO_NULL:
		words[5] = SUCCESS;
		ends_answer(call, words, 6);
		break;
	case DO_ADD:
		answer_add(call, arg);
		break;
	case DO_HOLD:
		break;
	case DO_UNAVAIL:
		words[5] = PROC_UNAVAIL;
		ends_answer(call, words, 6);
		break;
	case DO_DENY:
		words[2] = MSG_DENIED;
		words[3] = AUTH_ERROR;
		words[4] = AUTH_TOOWEAK;
		ends_answer(call, words, 5);
		break;
	case DO_GARBAGE:
		words[5] = SUCCESS; /* and no result */
		ends_answer(call, words, 6);
		break;
	case DO_DELAY:
		if (ends.delayed++ < 2)
			answer_sequence(call, 10008);
		else
			answer_add(call, arg);
		break;
	case DO_MISORDER:
		answer_sequence(call, 10063);
		break;
	case DO_CALL:
		words[1] = CALL;
		ends_answer(call, words, arg ? 5 : 1);
		break;
	case DO_REFUSE:
		rt_call_refuse(call, RDMA2_ERR_BAD_XDR);
		break;
	default:
		rt_call_drop(call);
		break;
	}
}

/* Not under the lock: whoever answers may be given the next Call. */
void ends_answer_held(void)
{
	struct rt_call *held[MOST_HELD];
	unsigned int n;

	pthread_mutex_lock(&ends.held_lock);
	n = ends.nheld;
	memcpy(held, ends.held, n * sizeof(held[0]));
	ends.nheld = 0;
	pthread_mutex_unlock(&ends.held_lock);
	while (n)
		answer_add(held[--n], 0);
}

void ends_delay_held(void)
{
	struct rt_call *call;

	pthread_mutex_lock(&ends.held_lock);
	call = ends.held[0];
	memmove(&ends.held[0], &ends.held[1],
		--ends.nheld * sizeof(ends.held[0]));
	pthread_mutex_unlock(&ends.held_lock);
	answer_sequence(call, 10008);
}

/* Calls in the forward direction. */
static void on_forward_call(struct rt_conn *c, struct rt_call *call)
{
	const uint32_t words[] = { call->xid, REPLY, MSG_ACCEPTED,
				   AUTH_NONE, 0,     SUCCESS };

	if (atomic_load(&ends.hold_forward))
		ends.forward[atomic_fetch_add(&ends.nforward, 1)] = call;
	else
		ends_answer(call, words, 6);
}

static void *on_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	ends.server_conn = c;
	return c;
}

static void on_server_up(struct rt_conn *c)
{
	atomic_store(&ends.server_up, 1);
}

static void on_client_up(struct rt_conn *c)
{
	atomic_store(&ends.client_up, 1);
}

static void on_server_closed(struct rt_conn *c, int error, const char *reason)
{
	bc_conn_closed(ends.back, c);
	atomic_fetch_add(&ends.closed, 1);
}

static void on_closed(struct rt_conn *c, int error, const char *reason)
{
	atomic_fetch_add(&ends.closed, 1);
}

static const struct rt_ops server_ops = {
	.open = on_open,
	.established = on_server_up,
	.call = on_forward_call,
	.closed = on_server_closed,
};

static const struct rt_ops client_ops = {
	.established = on_client_up,
	.call = on_call,
	.closed = on_closed,
};

static void *poller_main(void *arg)
{
	struct rt_instance *inst = arg;

	while (!atomic_load(&ends.stop))
		rt_run(inst, 0, 50);
	return NULL;
}

void ends_wait_for(bool (*cond)(void))
{
	while (!cond())
		usleep(1000);
}

static struct rt_instance *make_instance(void)
{
	struct rt_params p = { .provider = fab_provider("iwarp") };
	struct rt_instance *inst = NULL;

	p.config.reverse_ms = ends.reverse_ms;
	p.config.request_user_size = bc_request_size();
	p.config.reverse = RDMA2_RVRSDIR_GENL;
	p.config.reverse_credits = MANY;
	p.config.max_memory = 16 << 20;
	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&p, &inst), 0);
	return inst;
}

static bool both_up(void)
{
	return atomic_load(&ends.server_up) && atomic_load(&ends.client_up);
}

static bool may_call(void)
{
	return atomic_load(&ends.first_answered) &&
	       rt_conn_can_call(ends.server_conn);
}

static void first_done(struct rt_request *rq)
{
	CU_ASSERT_EQUAL(rq->status, 0);
	rt_request_free(rq);
	atomic_store(&ends.first_answered, true);
}

struct rt_request *ends_forward_call(uint32_t xid, uint32_t *words,
				     struct rt_piece *piece)
{
	struct rt_request *rq = rt_request_alloc(ends.client);

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
	struct rt_request *rq = ends_forward_call(0x11111111, words, &piece);

	atomic_store(&ends.first_answered, false);
	rq->done = first_done;
	rt_request_submit(ends.client_conn, rq);
	ends_wait_for(may_call);
}

bool ends_both_closed(void)
{
	return atomic_load(&ends.closed) == 2;
}

void ends_connect(void)
{
	struct sockaddr_storage addr;

	atomic_store(&ends.server_up, 0);
	atomic_store(&ends.client_up, 0);
	atomic_store(&ends.closed, 0);
	rt_listener_addr(ends.listener, &addr);
	CU_ASSERT_EQUAL_FATAL(rt_connect(ends.client, 0,
					 (struct sockaddr *)&addr, sizeof(addr),
					 &client_ops, NULL, &ends.client_conn),
			      0);
	ends_wait_for(both_up);
	first_call();
}

static void do_close(void)
{
	ends_answer_held();
	rt_conn_close(ends.client_conn, false);
	ends_wait_for(ends_both_closed);
	rt_conn_put(ends.client_conn);
	rt_conn_put(ends.server_conn);
}

void ends_open(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	CU_ASSERT_TRUE_FATAL(util_svc_init(2, 8));
	ends.auth = authnone_ncreate();
	CU_ASSERT_TRUE_FATAL(AUTH_SUCCESS(ends.auth));
	ends.server = make_instance();
	ends.client = make_instance();
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(rt_listen(ends.server, (struct sockaddr *)&any,
					sizeof(any), &server_ops, NULL,
					&ends.listener),
			      0);
	CU_ASSERT_EQUAL_FATAL(bc_server_create(ends.server, NULL, &ends.back),
			      0);
	pthread_create(&ends.pollers[0], NULL, poller_main, ends.server);
	pthread_create(&ends.pollers[1], NULL, poller_main, ends.client);
	ends_connect();
}

/* ---- Calls ------------------------------------------------------------ */

void ends_free_call(struct clnt_req *cc, size_t size COMPAT_FREE_PARAMETERS)
{
	atomic_fetch_add(&ends.freed, 1);
}

void ends_process(struct clnt_req *cc)
{
	struct call *c = (struct call *)(void *)cc;

	c->stat = cc->cc_error.re_status;
	c->thread = pthread_self();
	c->processed++;
	if (!c->keep)
		bc_req_release(cc);
	atomic_fetch_add(&ends.processed, 1);
}

void ends_fill(struct call *c, CLIENT *clnt, enum proc proc, uint32_t arg)
{
	memset(c, 0, sizeof(*c));
	c->arg = arg;
	clnt_req_fill(&c->req, clnt, ends.auth, proc, (xdrproc_t)xdr_u_int,
		      &c->arg, (xdrproc_t)xdr_u_int, &c->result);
	c->req.cc_free_cb = ends_free_call;
}

enum clnt_stat ends_send(struct call *c, CLIENT *clnt, enum proc proc,
			 uint32_t arg, struct timespec timeout)
{
	enum clnt_stat stat;

	ends_fill(c, clnt, proc, arg);
	stat = bc_req_setup(&c->req, timeout);
	if (stat != RPC_SUCCESS)
		return stat;
	c->req.cc_process_cb = ends_process;
	return bc_req_callback(&c->req);
}

bool ends_all_processed(void)
{
	return atomic_load(&ends.processed) >= ends.expected;
}

void ends_expect(int n)
{
	atomic_store(&ends.processed, 0);
	atomic_store(&ends.freed, 0);
	ends.expected = n;
}

enum clnt_stat ends_call(struct call *c, CLIENT *clnt, enum proc proc,
			 uint32_t arg, struct timespec timeout)
{
	enum clnt_stat stat;

	ends_expect(1);
	stat = ends_send(c, clnt, proc, arg, timeout);
	if (stat != RPC_SUCCESS) {
		bc_req_release(&c->req);
		return stat;
	}
	ends_wait_for(ends_all_processed);
	return c->stat;
}

CLIENT *ends_fresh_clnt(void)
{
	static SVCXPRT an_xprt = { .xp_refcnt = 1000 };
	CLIENT *clnt = bc_client_create(ends.back, ends.server_conn, &an_xprt,
					PROG, VERS);

	CU_ASSERT_PTR_NOT_NULL_FATAL(clnt);
	CU_ASSERT_TRUE(bc_is_client(clnt));
	return clnt;
}

CLIENT *ends_new_clnt(void)
{
	struct bc_reply none = { .event = ULB_SESSION_NONE };
	CLIENT *clnt = ends_fresh_clnt();

	bc_reply_begin(ends.back, &none, ends.server_conn);
	bc_reply_sent(ends.back, &none, ends.server_conn);
	return clnt;
}

void ends_end(void)
{
	do_close();
	rt_listener_close(ends.listener);
	CU_ASSERT_EQUAL(rt_instance_shutdown(ends.server, 10000, false), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(ends.client, 10000, false), 0);
	atomic_store(&ends.stop, true);
	rt_wake(ends.server, 0);
	rt_wake(ends.client, 0);
	pthread_join(ends.pollers[0], NULL);
	pthread_join(ends.pollers[1], NULL);
	bc_server_destroy(ends.back);
	rt_instance_destroy(ends.server);
	rt_instance_destroy(ends.client);
	AUTH_DESTROY(ends.auth);
}
