/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CLIENT for reverse-direction Calls over a connection.
 *
 * A Call is a struct rcall in the user area of its rt_request. Two may claim
 * its clnt_req (rcall.cc), under the lock of its struct nrt_clnts, and only the
 * first gets it: the transport's done callback and the timer; nrt_req_reset()
 * takes it away from both. The rt_request itself stays the transport's until
 * done, whatever has become of the clnt_req, so the rcall is counted: one for
 * the transport, one while a worker has it, one while somebody waits for it.
 *
 * A clnt_req with cc_process_cb is finished by a worker, through svc_resume()
 * with a svc_req of ours whose resume callback returns XPRT_SUSPEND, which
 * tells ntirpc not to touch it any more. One that somebody waits for
 * (CLNT_CALL_WAIT) is finished by the waiter itself. cc_we.mtx, which
 * clnt_req_fill() leaves locked, is not used: the waiter may itself be running
 * the connection's strand when done is called.
 *
 * Lock order: nothing is locked inside the lock of struct nrt_clnts, and
 * nothing of the transport's or of ntirpc's is called under it.
 */
#include "ntirpc/clnt.h"
#include "ntirpc/stream.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * The longest Reply to a callback without its data, which has none: it fits in
 * one message of the smallest inline threshold (RFC 8166, 3.3.2), so no
 * reverse-direction Reply chunk is offered.
 */
#define REPLY_MAX 900

struct rclient {
	CLIENT clnt; /* first */
	struct nrt_clnts *n;
	struct rt_conn *conn;
	rpcprog_t prog;
	rpcvers_t vers;
	uint32_t last_xid;
};

struct rcall {
	struct rclient *client; /* a reference */
	struct rt_request *rq;
	struct clnt_req *cc; /* claimed by setting it to NULL */
	struct clnt_req *mine; /* the claimed one, for the worker */
	struct rcall *prev, *next; /* Calls in flight */
	int64_t deadline; /* ms, INT64_MAX: none */
	unsigned int refs;
	bool waited; /* nobody's cc_process_cb, but a waiter */
	bool late; /* the timer was first */
	bool finished;
	struct nrt_encode out;
	struct svc_req hop;
};

struct nrt_clnts {
	struct rt_instance *inst;
	void (*resume)(struct svc_req *req);
	uint32_t xid; /* atomic */
	pthread_mutex_t lock; /* what follows, and the claims */
	pthread_cond_t finished; /* of a waited Call */
	pthread_cond_t timer; /* earlier deadline, or stop */
	struct rcall *head, *tail; /* by deadline */
	pthread_t thread;
	bool running;
	bool stop;
};

static struct clnt_ops client_ops;

static inline struct rclient *client_of(const struct clnt_req *cc)
{
	return (struct rclient *)(void *)cc->cc_clnt;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static struct timespec to_timespec(int64_t ms)
{
	return (struct timespec){
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000,
	};
}

/* ---- Calls in flight (under the lock) --------------------------------- */

static void enlist(struct nrt_clnts *n, struct rcall *c)
{
	struct rcall *before = n->tail;

	/* Time-outs are alike, so this is nearly always the end. */
	while (before && before->deadline > c->deadline)
		before = before->prev;
	c->prev = before;
	c->next = before ? before->next : n->head;
	if (c->next)
		c->next->prev = c;
	else
		n->tail = c;
	if (before) {
		before->next = c;
	} else {
		n->head = c;
		pthread_cond_signal(&n->timer);
	}
}

/* Take the clnt_req away from all others; NULL: somebody else has it. */
static struct clnt_req *claim(struct nrt_clnts *n, struct rcall *c)
{
	struct clnt_req *cc = c->cc;

	if (!cc)
		return NULL;
	c->cc = NULL;
	if (c->prev)
		c->prev->next = c->next;
	else
		n->head = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		n->tail = c->prev;
	return cc;
}

static void put_rcall(struct rcall *c)
{
	struct rclient *client = c->client;

	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	nrt_encode_release(&c->out);
	rt_request_free(c->rq);
	CLNT_RELEASE(&client->clnt, CLNT_RELEASE_FLAG_NONE);
}

/* ---- Finishing -------------------------------------------------------- */

/* What ntirpc's own would call the end of @rq. */
static void set_error(struct rpc_err *err, const struct rt_request *rq)
{
	switch (rq->status) {
	case 0:
		err->re_status = RPC_SUCCESS;
		return;
	case -ENOTCONN:
	case -EOPNOTSUPP:
	case -EAGAIN: /* as many outstanding as there may be */
		err->re_status = RPC_CANTSEND;
		break;
	case -E2BIG:
	case -EINVAL:
		err->re_status = RPC_CANTENCODEARGS;
		break;
	case -EPROTO:
	case -EIO:
		err->re_status = RPC_CANTDECODERES;
		break;
	case -ECONNRESET:
		err->re_status = RPC_CANTRECV;
		break;
	default:
		err->re_status = RPC_FAILED;
		break;
	}
	err->re_errno = -rq->status;
}

static void decode_reply(struct clnt_req *cc, const struct rt_request *rq)
{
	struct nrt_decode in;
	struct rpc_msg msg;

	nrt_decode_init(&in, rq->reply, rq->nreply, NULL);
	memset(&msg, 0, sizeof(msg));
	rpc_msg_init(&msg);
	if (!xdr_dplx_decode(&in.xdrs, &msg) || msg.rm_direction != REPLY ||
	    msg.rm_xid != rq->xid) {
		cc->cc_error.re_status = RPC_CANTDECODERES;
		return;
	}
	_seterr_reply(&msg, &cc->cc_error);
	if (cc->cc_error.re_status != RPC_SUCCESS)
		return;
	if (!AUTH_VALIDATE(cc->cc_auth, &cc->cc_verf)) {
		cc->cc_error.re_status = RPC_AUTHERROR;
		cc->cc_error.re_why = AUTH_INVALIDRESP;
	} else if (cc->cc_reply.proc &&
		   !AUTH_UNWRAP(cc->cc_auth, &in.xdrs, cc->cc_reply.proc,
				cc->cc_reply.where)) {
		cc->cc_error.re_status = RPC_CANTDECODERES;
	}
	cc->cc_refreshes = 0;
}

static void finish(struct clnt_req *cc, const struct rcall *c)
{
	if (c->late) {
		cc->cc_error.re_status = RPC_TIMEDOUT;
		return;
	}
	set_error(&cc->cc_error, c->rq);
	if (cc->cc_error.re_status == RPC_SUCCESS)
		decode_reply(cc, c->rq);
}

static enum xprt_stat worker(struct svc_req *req)
{
	struct rcall *c = req->rq_u1;
	struct clnt_req *cc = c->mine;

	finish(cc, c);
	/* The callback may release cc, or send it once more. */
	put_rcall(c);
	cc->cc_process_cb(cc);
	return XPRT_SUSPEND;
}

static void to_worker(struct rcall *c, struct clnt_req *cc)
{
	c->mine = cc;
	c->hop.rq_u1 = c;
	c->hop.rq_resume_cb = worker;
	c->client->n->resume(&c->hop);
}

/* The transport is done with the request (strand). */
static void request_done(struct rt_request *rq)
{
	struct rcall *c = rt_request_user(rq);
	struct nrt_clnts *n = c->client->n;
	struct clnt_req *cc;

	pthread_mutex_lock(&n->lock);
	cc = claim(n, c);
	if (cc && c->waited) {
		c->finished = true;
		pthread_cond_broadcast(&n->finished);
		cc = NULL;
	}
	pthread_mutex_unlock(&n->lock);
	if (cc)
		to_worker(c, cc); /* with the transport's reference */
	else
		put_rcall(c);
}

/* ---- Timer ------------------------------------------------------------ */

static void *timer_main(void *arg)
{
	struct nrt_clnts *n = arg;

	pthread_mutex_lock(&n->lock);
	while (!n->stop) {
		struct rcall *c = n->head;
		struct clnt_req *cc;
		struct timespec ts;

		if (!c || c->deadline == INT64_MAX) {
			pthread_cond_wait(&n->timer, &n->lock);
			continue;
		}
		if (c->deadline > now_ms()) {
			ts = to_timespec(c->deadline);
			pthread_cond_timedwait(&n->timer, &n->lock, &ts);
			continue;
		}
		cc = claim(n, c);
		c->late = true;
		__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&n->lock);
		to_worker(c, cc);
		pthread_mutex_lock(&n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

static int start_timer(struct nrt_clnts *n)
{
	sigset_t all, old;
	int err = 0;

	sigfillset(&all);
	pthread_mutex_lock(&n->lock);
	if (!n->running) {
		pthread_sigmask(SIG_SETMASK, &all, &old);
		err = pthread_create(&n->thread, NULL, timer_main, n);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		n->running = !err;
	}
	pthread_mutex_unlock(&n->lock);
	return err;
}

size_t nrt_clnt_request_size(void)
{
	return sizeof(struct rcall);
}

int nrt_clnts_create(struct rt_instance *inst,
		     void (*resume)(struct svc_req *req),
		     struct nrt_clnts **out)
{
	struct nrt_clnts *n = calloc(1, sizeof(*n));
	pthread_condattr_t attr;

	if (!n)
		return -ENOMEM;
	n->inst = inst;
	n->resume = resume ? resume : svc_resume;
	/* Not the same after a restart, for the peer's sake. */
	n->xid = (uint32_t)now_ms() * 2654435761u;
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->finished, &attr);
	pthread_cond_init(&n->timer, &attr);
	pthread_condattr_destroy(&attr);
	*out = n;
	return 0;
}

void nrt_clnts_destroy(struct nrt_clnts *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->timer);
	pthread_mutex_unlock(&n->lock);
	if (n->running)
		pthread_join(n->thread, NULL);
	pthread_cond_destroy(&n->timer);
	pthread_cond_destroy(&n->finished);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* ---- clnt_req --------------------------------------------------------- */

static bool encode_call(struct clnt_req *cc, struct rcall *c)
{
	struct rclient *client = client_of(cc);
	XDR *xdrs = &c->out.xdrs;
	struct rpc_msg msg;

	memset(&msg, 0, sizeof(msg));
	msg.rm_xid = cc->cc_xid;
	msg.rm_direction = CALL;
	msg.rm_call.cb_rpcvers = RPC_MSG_VERSION;
	msg.cb_prog = client->prog;
	msg.cb_vers = client->vers;
	return xdr_ncallhdr(xdrs, &msg) && XDR_PUTUINT32(xdrs, cc->cc_proc) &&
	       AUTH_MARSHALL(cc->cc_auth, xdrs) &&
	       AUTH_WRAP(cc->cc_auth, xdrs, cc->cc_call.proc,
			 cc->cc_call.where);
}

/* A request with cc's Call in it, not yet submitted. */
static enum clnt_stat prepare(struct clnt_req *cc, struct rcall **out)
{
	struct rclient *client = client_of(cc);
	struct rt_instance *inst = client->n->inst;
	enum clnt_stat stat = RPC_CANTENCODEARGS;
	struct rt_request *rq;
	struct rcall *c;
	size_t len;
	int n;

	if (!rt_conn_can_call(client->conn))
		return RPC_CANTSEND;
	rq = rt_request_alloc(inst);
	if (!rq)
		return RPC_SYSTEMERROR;
	c = rt_request_user(rq);
	memset(c, 0, sizeof(*c));
	if (nrt_encode_init(&c->out, rt_instance_pool(inst),
			    rt_instance_config(inst)->max_message)) {
		stat = RPC_SYSTEMERROR;
		goto fail;
	}
	if (!encode_call(cc, c))
		goto fail;
	n = nrt_encode_pieces(&c->out, &len);
	if (n <= 0)
		goto fail;
	c->client = client;
	c->rq = rq;
	c->cc = cc;
	c->refs = 1;
	c->deadline = INT64_MAX;
	rq->xid = cc->cc_xid;
	rq->pieces = c->out.pieces;
	rq->npieces = (unsigned int)n;
	rq->items = NULL;
	rq->nitems = 0;
	rq->sinks = NULL;
	rq->nsinks = 0;
	rq->reply_max = REPLY_MAX;
	rq->call_only = false;
	rq->done = request_done;
	*out = c;
	return RPC_SUCCESS;
fail:
	nrt_encode_release(&c->out);
	rt_request_free(rq);
	return stat;
}

static void submit(struct rcall *c)
{
	struct rclient *client = c->client;

	CLNT_REF(&client->clnt, CLNT_REF_FLAG_NONE);
	pthread_mutex_lock(&client->n->lock);
	enlist(client->n, c);
	pthread_mutex_unlock(&client->n->lock);
	rt_request_submit(client->conn, c->rq);
}

/* 0: no Reply is waited for. */
static int64_t timeout_ms(const struct clnt_req *cc)
{
	return (int64_t)cc->cc_timeout.tv_sec * 1000 +
	       (cc->cc_timeout.tv_nsec + 999999) / 1000000;
}

enum clnt_stat nrt_req_setup(struct clnt_req *cc, struct timespec timeout)
{
	struct rclient *client = client_of(cc);

	/* Always, because clnt_req_release() gives it back always. */
	CLNT_REF(&client->clnt, CLNT_REF_FLAG_NONE);
	cc->cc_error.re_errno = 0;
	cc->cc_error.re_status = RPC_SUCCESS;
	cc->cc_flags = CLNT_REQ_FLAG_NONE;
	cc->cc_process_cb = NULL;
	cc->cc_refreshes = 2;
	cc->cc_timeout = timeout;
	cc->cc_expire_ms = 0;
	if (timeout.tv_sec < 0 || timeout.tv_nsec < 0 ||
	    timeout.tv_nsec >= 1000000000) {
		cc->cc_error.re_status = RPC_TLIERROR;
		return RPC_TLIERROR;
	}
	return nrt_req_refresh(cc);
}

enum clnt_stat nrt_req_refresh(struct clnt_req *cc)
{
	struct rclient *client = client_of(cc);

	nrt_req_reset(cc);
	cc->cc_xid = __atomic_add_fetch(&client->n->xid, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&client->last_xid, cc->cc_xid, __ATOMIC_RELAXED);
	cc->cc_error.re_status = RPC_SUCCESS;
	return RPC_SUCCESS;
}

enum clnt_stat nrt_req_callback(struct clnt_req *cc)
{
	enum clnt_stat stat;
	struct rcall *c;

	if (!cc->cc_process_cb)
		return RPC_SYSTEMERROR;
	stat = prepare(cc, &c);
	if (stat != RPC_SUCCESS)
		return stat;
	if (timeout_ms(cc))
		c->deadline = now_ms() + timeout_ms(cc);
	submit(c);
	return RPC_SUCCESS;
}

/* Send and wait. RPC_TIMEDOUT, or what the Reply says. */
static enum clnt_stat call_once(struct clnt_req *cc)
{
	struct nrt_clnts *n = client_of(cc)->n;
	struct timespec until;
	enum clnt_stat stat;
	struct rcall *c;

	stat = prepare(cc, &c);
	if (stat != RPC_SUCCESS) {
		cc->cc_error.re_status = stat;
		return stat;
	}
	c->waited = true;
	c->refs++;
	until = to_timespec(now_ms() + timeout_ms(cc));
	submit(c);
	pthread_mutex_lock(&n->lock);
	while (!c->finished &&
	       pthread_cond_timedwait(&n->finished, &n->lock, &until) == 0)
		;
	c->late = claim(n, c) != NULL;
	pthread_mutex_unlock(&n->lock);
	finish(cc, c);
	put_rcall(c);
	return cc->cc_error.re_status;
}

/*
 * CLNT_CALL_ONCE: send, and nobody waits. Whoever set cc_process_cb gets the
 * Reply all the same.
 */
static enum clnt_stat client_call(struct clnt_req *cc)
{
	enum clnt_stat stat;
	struct rcall *c;

	if (cc->cc_process_cb)
		return nrt_req_callback(cc);
	stat = prepare(cc, &c);
	if (stat != RPC_SUCCESS)
		return stat;
	c->waited = true; /* by nobody */
	submit(c);
	return RPC_SUCCESS;
}

/*
 * The connection is reliable, so a Call is not sent again because of a
 * time-out, only with other credentials.
 */
enum clnt_stat nrt_req_wait_reply(struct clnt_req *cc)
{
	enum clnt_stat stat;

	if (!timeout_ms(cc))
		return client_call(cc);
	for (;;) {
		stat = call_once(cc);
		if (stat != RPC_AUTHERROR || cc->cc_refreshes-- <= 0 ||
		    !AUTH_REFRESH(cc->cc_auth, NULL))
			return stat;
		nrt_req_refresh(cc);
	}
}

void nrt_req_reset(struct clnt_req *cc)
{
	struct nrt_clnts *n = client_of(cc)->n;
	struct rcall *c;

	pthread_mutex_lock(&n->lock);
	for (c = n->head; c && c->cc != cc;)
		c = c->next;
	if (c)
		claim(n, c);
	pthread_mutex_unlock(&n->lock);
}

int nrt_req_release(struct clnt_req *cc)
{
	int refs = atomic_dec_int32_t(&cc->cc_refcnt);
	CLIENT *clnt = cc->cc_clnt;

	if (refs > 0)
		return refs;
	nrt_req_reset(cc);
	clnt_req_fini(cc);
	CLNT_RELEASE(clnt, CLNT_RELEASE_FLAG_NONE);
	(*cc->cc_free_cb)(cc, cc->cc_size);
	return refs;
}

/* ---- CLIENT ----------------------------------------------------------- */

static void client_abort(CLIENT *clnt)
{
}

static bool client_freeres(CLIENT *clnt, xdrproc_t proc, void *where)
{
	return xdr_nfree(proc, where);
}

static void client_destroy(CLIENT *clnt)
{
	struct rclient *client = (struct rclient *)(void *)clnt;

	if (client->conn)
		rt_conn_put(client->conn);
	pthread_mutex_destroy(&clnt->cl_lock);
	free(client);
}

static bool client_control(CLIENT *clnt, u_int request, void *info)
{
	struct rclient *client = (struct rclient *)(void *)clnt;
	uint32_t *v = info;

	switch (request) {
	case CLSET_FD_CLOSE:
	case CLSET_FD_NCLOSE:
		return true;
	default:
		break;
	}
	if (!info)
		return false;
	switch (request) {
	case CLGET_FD:
		*(int *)info = -1;
		return true;
	case CLGET_XID:
		*v = __atomic_load_n(&client->last_xid, __ATOMIC_RELAXED);
		return true;
	case CLGET_PROG:
		*v = client->prog;
		return true;
	case CLSET_PROG:
		client->prog = *v;
		return true;
	case CLGET_VERS:
		*v = client->vers;
		return true;
	case CLSET_VERS:
		client->vers = *v;
		return true;
	default:
		return false;
	}
}

static struct clnt_ops client_ops = {
	.cl_call = client_call,
	.cl_abort = client_abort,
	.cl_freeres = client_freeres,
	.cl_destroy = client_destroy,
	.cl_control = client_control,
};

bool nrt_clnt_is_ours(const CLIENT *clnt)
{
	return clnt && clnt->cl_ops == &client_ops;
}

CLIENT *nrt_clnt_create(struct nrt_clnts *n, struct rt_conn *c, rpcprog_t prog,
			rpcvers_t vers)
{
	static char netid[] = "rdma";
	struct rclient *client = calloc(1, sizeof(*client));
	CLIENT *clnt;

	if (!client)
		return NULL;
	clnt = &client->clnt;
	clnt->cl_ops = &client_ops;
	clnt->cl_netid = netid;
	clnt->cl_tp = netid;
	clnt->cl_refcnt = 1;
	pthread_mutex_init(&clnt->cl_lock, NULL);
	client->n = n;
	client->prog = prog;
	client->vers = vers;
	if (start_timer(n)) {
		clnt->cl_error.re_status = RPC_SYSTEMERROR;
		clnt->cl_error.re_errno = EAGAIN;
	} else if (!rt_conn_can_call(c)) {
		clnt->cl_error.re_status = RPC_CANTSEND;
		clnt->cl_error.re_errno = EOPNOTSUPP;
	} else {
		rt_conn_get(c);
		client->conn = c;
	}
	return clnt;
}
