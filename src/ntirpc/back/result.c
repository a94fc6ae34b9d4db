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

/* The outcome that a Reply reports (RFC 5531, 9). */
static void set_outcome(struct rpc_err *err, const struct reply_body *reply)
{
	static const enum clnt_stat accepted[] = {
		[SUCCESS] = RPC_SUCCESS,
		[PROG_UNAVAIL] = RPC_PROGUNAVAIL,
		[PROG_MISMATCH] = RPC_PROGVERSMISMATCH,
		[PROC_UNAVAIL] = RPC_PROCUNAVAIL,
		[GARBAGE_ARGS] = RPC_CANTDECODEARGS,
		[SYSTEM_ERR] = RPC_SYSTEMERROR,
	};
	const struct accepted_reply *ack = &reply->ru.RP_ar;
	const struct rejected_reply *denied = &reply->ru.RP_dr;

	err->re_status = RPC_FAILED;
	if (reply->rp_stat == MSG_ACCEPTED) {
		if (ack->ar_stat <= SYSTEM_ERR)
			err->re_status = accepted[ack->ar_stat];
		if (ack->ar_stat == PROG_MISMATCH) {
			err->re_vers.low = ack->ar_vers.low;
			err->re_vers.high = ack->ar_vers.high;
		}
	} else if (denied->rj_stat == AUTH_ERROR) {
		err->re_status = RPC_AUTHERROR;
		err->re_why = denied->rj_why;
	} else if (denied->rj_stat == RPC_MISMATCH) {
		err->re_status = RPC_VERSMISMATCH;
		err->re_vers.low = denied->rj_vers.low;
		err->re_vers.high = denied->rj_vers.high;
	}
}

static void decode_reply(struct clnt_req *cc, const struct rt_request *rq)
{
	struct nrt_decode in;
	struct rpc_msg msg;

	nrt_decode_init(&in, rq->reply, rq->nreply, NULL);
	memset(&msg, 0, sizeof(msg));
	nrt_msg_init(&msg);
	if (!xdr_dplx_decode(&in.xdrs, &msg) || msg.rm_direction != REPLY ||
	    msg.rm_xid != rq->xid) {
		cc->cc_error.re_status = RPC_CANTDECODERES;
		return;
	}
	set_outcome(&cc->cc_error, &msg.rm_reply);
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
