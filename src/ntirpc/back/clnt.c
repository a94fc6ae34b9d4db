/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CLIENT for reverse-direction Calls over a connection, and clnt_req for it.
 * back.h tells of threads and locks.
 */
#include "ntirpc/back/back.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compat/ntirpc.h"
#include "rpcrdma/nfs.h"

/*
 * The longest Reply to a callback without its data, which has none: it fits in
 * one message of the smallest inline threshold (RFC 8166, 3.3.3), so no
 * reverse-direction Reply chunk is offered.
 */
#define REPLY_MAX 900

static struct clnt_ops client_ops;

static inline struct rclient *client_of(const struct clnt_req *cc)
{
	return (struct rclient *)(void *)cc->cc_clnt;
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

/* Now, or when there is a connection again? */
static bool can_send(struct rclient *client, const struct clnt_req *cc)
{
	struct rt_conn *conn;
	bool can;

	if (cc->cc_process_cb && nrt_follow_may_wait(client))
		return true;
	conn = nrt_back_conn(client);
	can = conn && rt_conn_can_call(conn);
	if (conn)
		rt_conn_put(conn);
	return can;
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

	if (!can_send(client, cc))
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
	c->auth = cc->cc_auth;
	auth_get(c->auth);
	rq->xid = cc->cc_xid;
	rq->pieces = c->out.pieces;
	rq->npieces = (unsigned int)n;
	rq->items = NULL;
	rq->nitems = 0;
	rq->sinks = NULL;
	rq->nsinks = 0;
	rq->reply_max = REPLY_MAX;
	rq->op_class = ULB_CLASS_callback;
	rq->call_only = false;
	rq->done = nrt_rcall_done;
	atomic_fetch_add(&client->n->nrcalls, 1);
	*out = c;
	return RPC_SUCCESS;
fail:
	nrt_encode_release(&c->out);
	rt_request_free(rq);
	return stat;
}

/* 0: no Reply is waited for. */
static int64_t timeout_ms(const struct clnt_req *cc)
{
	return (int64_t)cc->cc_timeout.tv_sec * 1000 +
	       (cc->cc_timeout.tv_nsec + 999999) / 1000000;
}

/*
 * @timeout: ms until the timer ends it, 0: never. RPC_CANTSEND, and @c is given
 * back, if it could neither be sent nor wait.
 */
static enum clnt_stat submit(struct rcall *c, int64_t timeout)
{
	struct rclient *client = c->client;
	struct nrt_clnts *n = client->n;
	struct rt_conn *conn = NULL;
	enum nrt_begin begin;

	CLNT_REF(&client->clnt, CLNT_REF_FLAG_NONE);
	c->timeout = timeout;
	pthread_mutex_lock(&n->lock);
	nrt_rcall_enlist(n, c, timeout ? now_ms() + timeout : INT64_MAX);
	begin = nrt_follow_begin(c);
	if (begin == NRT_SEND) {
		conn = c->on;
		rt_conn_get(conn);
	} else if (begin == NRT_FAIL) {
		nrt_rcall_claim(c);
	}
	pthread_mutex_unlock(&n->lock);
	/* A parked one may be gone. */
	if (begin == NRT_PARKED)
		return RPC_SUCCESS;
	if (begin == NRT_FAIL) {
		nrt_rcall_put(c);
		return RPC_CANTSEND;
	}
	rt_request_submit(conn, c->rq);
	rt_conn_put(conn);
	return RPC_SUCCESS;
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
	struct rt_conn *conn = nrt_back_conn(client);
	unsigned int tries = 64;

	nrt_req_reset(cc);
	/* [E1] 5: not one that the peer's own Calls use at the moment. */
	do
		cc->cc_xid = __atomic_add_fetch(&client->n->xid, 1,
						__ATOMIC_RELAXED);
	while (conn && rt_conn_xid_busy(conn, cc->cc_xid) && --tries);
	if (conn)
		rt_conn_put(conn);
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
	return submit(c, timeout_ms(cc));
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
	stat = submit(c, 0);
	if (stat != RPC_SUCCESS) {
		cc->cc_error.re_status = stat;
		nrt_rcall_put(c);
		return stat;
	}
	pthread_mutex_lock(&n->lock);
	while (!c->finished &&
	       pthread_cond_timedwait(&n->finished, &n->lock, &until) == 0)
		;
	c->late = nrt_rcall_claim(c) != NULL;
	pthread_mutex_unlock(&n->lock);
	nrt_rcall_finish(cc, c);
	nrt_rcall_put(c);
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
	return submit(c, 0);
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
	struct rclient *client = client_of(cc);
	struct rcall *c;

	pthread_mutex_lock(&client->n->lock);
	c = nrt_follow_find(client, cc);
	if (c)
		nrt_rcall_claim(c);
	pthread_mutex_unlock(&client->n->lock);
}

int nrt_req_release(struct clnt_req *cc)
{
	int refs = atomic_dec_int32_t(&cc->cc_refcnt);
	CLIENT *clnt = cc->cc_clnt;

	if (refs > 0)
		return refs;
	if (clnt)
		nrt_req_reset(cc);
	clnt_req_fini(cc);
	if (clnt)
		CLNT_RELEASE(clnt, CLNT_RELEASE_FLAG_NONE);
	(*cc->cc_free_cb)(cc, cc->cc_size COMPAT_FREE_ARGUMENTS);
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

	pthread_mutex_lock(&client->n->lock);
	if (client->back)
		nrt_back_remove(client);
	nrt_back_unlock(client->n);
	if (client->xprt)
		SVC_RELEASE(client->xprt, SVC_RELEASE_FLAG_NONE);
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

SVCXPRT *nrt_clnt_xprt(const CLIENT *clnt)
{
	return ((const struct rclient *)(const void *)clnt)->xprt;
}

CLIENT *nrt_clnt_create(struct nrt_clnts *n, struct rt_conn *c, SVCXPRT *xprt,
			rpcprog_t prog, rpcvers_t vers)
{
	static char netid[] = "rdma";
	struct rclient *client = calloc(1, sizeof(*client));
	CLIENT *clnt;
	int rc = -EOPNOTSUPP;

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
	if (nrt_clnts_start(n)) {
		clnt->cl_error.re_status = RPC_SYSTEMERROR;
		clnt->cl_error.re_errno = EAGAIN;
		return clnt;
	}
	if (c)
		rc = nrt_back_add(client, c, xprt);
	if (rc) {
		clnt->cl_error.re_status = rc == -EOPNOTSUPP ? RPC_CANTSEND :
							       RPC_SYSTEMERROR;
		clnt->cl_error.re_errno = -rc;
	} else {
		if (xprt)
			SVC_REF(xprt, SVC_REF_FLAG_NONE);
		client->xprt = xprt;
	}
	return clnt;
}
