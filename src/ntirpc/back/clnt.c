/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clnt - ntirpc's CLIENT and clnt_req for callbacks
 *
 * channel.h explains context and the lock.
 */
#include "ntirpc/back/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat/ntirpc.h"

/* The longest Reply to a callback. It has no data, so it fits in one message of
 * the smallest inline threshold (RFC 8166, 3.3.3), and needs no Reply chunk. */
#define REPLY_MAX 900

static inline struct bc_client *client_of(const struct clnt_req *cc)
{
	return (struct bc_client *)(void *)cc->cc_clnt;
}

/* ---- clnt_req ------------------------------------------------------------- */

static bool encode_call(struct clnt_req *cc, XDR *xdrs)
{
	const struct bc_client *client = client_of(cc);
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

/* Set @out to a callback for @cc, which the caller must submit. */
static enum clnt_stat create_callback(struct clnt_req *cc,
				      struct bc_callback **out)
{
	struct bc_client *client = client_of(cc);
	struct rt_instance *inst = client->server->inst;
	struct rt_request *rq = rt_request_alloc(inst);
	enum clnt_stat stat = RPC_SYSTEMERROR;
	struct bc_callback *c;
	int npieces;
	size_t len;

	if (!rq)
		return RPC_SYSTEMERROR;
	c = rt_request_user(rq);
	if (xs_encode_init(&c->out, rt_instance_pool(inst),
			   rt_instance_config(inst)->max_message))
		goto fail;
	stat = RPC_CANTENCODEARGS;
	if (!encode_call(cc, &c->out.xdrs))
		goto fail;
	npieces = xs_encode_pieces(&c->out, &len);
	if (npieces <= 0)
		goto fail;
	c->client = client;
	CLNT_REF(&client->clnt, CLNT_REF_FLAG_NONE);
	c->server = client->server;
	atomic_fetch_add(&c->server->ncallbacks, 1);
	c->rq = rq;
	c->cc = cc;
	c->refs = 1;
	c->timeout = (int64_t)cc->cc_timeout.tv_sec * 1000 +
		     (cc->cc_timeout.tv_nsec + 999999) / 1000000;
	c->auth = cc->cc_auth;
	auth_get(c->auth);
	rq->xid = cc->cc_xid;
	rq->pieces = c->out.pieces;
	rq->npieces = (unsigned int)npieces;
	rq->reply_max = REPLY_MAX;
	rq->op_class = ULB_CLASS_callback;
	rq->done = bc_callback_done;
	*out = c;
	return RPC_SUCCESS;
fail:
	xs_encode_release(&c->out);
	rt_request_free(rq);
	return stat;
}

enum clnt_stat bc_req_callback(struct clnt_req *cc)
{
	enum clnt_stat stat = RPC_SYSTEMERROR;
	struct bc_callback *c;

	if (cc->cc_process_cb)
		stat = create_callback(cc, &c);
	return stat == RPC_SUCCESS ? bc_callback_submit(c) : stat;
}

enum clnt_stat bc_req_wait_reply(struct clnt_req *cc)
{
	enum clnt_stat stat;
	struct bc_callback *c;

	stat = create_callback(cc, &c);
	cc->cc_error.re_status = stat;
	return stat == RPC_SUCCESS ? bc_callback_call(c) : stat;
}

enum clnt_stat bc_req_setup(struct clnt_req *cc, struct timespec timeout)
{
	/* clnt_req_release() always releases it, also after a failure. */
	CLNT_REF(cc->cc_clnt, CLNT_REF_FLAG_NONE);
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
	return bc_req_refresh(cc);
}

static void channel_reset(struct bc_channel *ch, const struct clnt_req *cc)
{
	struct cds_list_head *const lists[] = { &ch->waiting, &ch->sent };
	struct bc_callback *c;

	for (unsigned int i = 0; i < 2; i++) {
		cds_list_for_each_entry(c, lists[i], link)
		{
			if (c->cc == cc)
				bc_callback_claim(c);
		}
	}
}

void bc_req_reset(struct clnt_req *cc)
{
	struct bc_client *client = client_of(cc);

	pthread_mutex_lock(&client->server->lock);
	if (client->channel)
		channel_reset(client->channel, cc);
	pthread_mutex_unlock(&client->server->lock);
}

enum clnt_stat bc_req_refresh(struct clnt_req *cc)
{
	struct bc_client *client = client_of(cc);
	struct bc_server *s = client->server;
	unsigned int tries = 64;
	struct rt_conn *conn;

	bc_req_reset(cc);
	pthread_mutex_lock(&s->lock);
	conn = client->channel ? client->channel->conn : NULL;
	/* Avoid the XIDs of the peer's own Calls. [E1] */
	do
		cc->cc_xid = s->xid++;
	while (conn && rt_conn_xid_busy(conn, cc->cc_xid) && --tries);
	pthread_mutex_unlock(&s->lock);
	cc->cc_error.re_status = RPC_SUCCESS;
	return RPC_SUCCESS;
}

int bc_req_release(struct clnt_req *cc)
{
	int refs = atomic_dec_int32_t(&cc->cc_refcnt);
	CLIENT *clnt = cc->cc_clnt;

	if (refs > 0)
		return refs;
	if (clnt)
		bc_req_reset(cc);
	clnt_req_fini(cc);
	if (clnt)
		CLNT_RELEASE(clnt, CLNT_RELEASE_FLAG_NONE);
	(*cc->cc_free_cb)(cc, cc->cc_size COMPAT_FREE_ARGUMENTS);
	return refs;
}

/* ---- CLIENT --------------------------------------------------------------- */

static void client_destroy(CLIENT *clnt)
{
	struct bc_client *client = (struct bc_client *)(void *)clnt;

	bc_channel_remove(client);
	if (client->xprt)
		SVC_RELEASE(client->xprt, SVC_RELEASE_FLAG_NONE);
	pthread_mutex_destroy(&clnt->cl_lock);
	free(client);
}

static void client_abort(CLIENT *clnt)
{
}

static bool client_freeres(CLIENT *clnt, xdrproc_t proc, void *where)
{
	return xdr_nfree(proc, where);
}

static bool client_control(CLIENT *clnt, u_int request, void *info)
{
	return false;
}

static struct clnt_ops client_ops = {
	.cl_call = bc_req_wait_reply,
	.cl_abort = client_abort,
	.cl_freeres = client_freeres,
	.cl_destroy = client_destroy,
	.cl_control = client_control,
};

bool bc_is_client(const CLIENT *clnt)
{
	return clnt && clnt->cl_ops == &client_ops;
}

SVCXPRT *bc_client_xprt(const CLIENT *clnt)
{
	return ((const struct bc_client *)(const void *)clnt)->xprt;
}

CLIENT *bc_client_create(struct bc_server *s, struct rt_conn *conn,
			 SVCXPRT *xprt, rpcprog_t prog, rpcvers_t vers)
{
	static char netid[] = "rdma";
	struct bc_client *client = calloc(1, sizeof(*client));
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
	client->server = s;
	client->prog = prog;
	client->vers = vers;
	if (bc_timer_start(s))
		rc = -EAGAIN;
	else if (conn)
		rc = bc_channel_add(client, conn);
	if (rc) {
		clnt->cl_error.re_status = rc == -EOPNOTSUPP ? RPC_CANTSEND :
							       RPC_SYSTEMERROR;
		clnt->cl_error.re_errno = -rc;
		return clnt;
	}
	SVC_REF(xprt, SVC_REF_FLAG_NONE);
	client->xprt = xprt;
	return clnt;
}
