/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * result - what ntirpc is told of a Call that has ended
 *
 * back.h tells of threads and locks.
 */
#include "ntirpc/back/back.h"

#include <errno.h>
#include <string.h>

/* What ntirpc's own would call the end of @rq. */
static void set_error(struct rpc_err *err, const struct rt_request *rq)
{
	switch (rq->status) {
	case 0:
		err->re_status = RPC_SUCCESS;
		return;
	case -ENOTCONN:
	case -EOPNOTSUPP:
		err->re_status = RPC_CANTSEND;
		break;
	case -E2BIG:
	case -EINVAL:
		err->re_status = RPC_CANTENCODEARGS;
		break;
	case -EPROTO:
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

void nrt_rcall_finish(struct clnt_req *cc, const struct rcall *c)
{
	if (c->late) {
		cc->cc_error.re_status = RPC_TIMEDOUT;
		return;
	}
	set_error(&cc->cc_error, c->rq);
	if (cc->cc_error.re_status == RPC_SUCCESS)
		decode_reply(cc, c->rq);
}
