/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clnt - ntirpc's CLIENT for reverse-direction Calls over a connection
 *
 * struct nrt_clnts is one per program: it has the thread that times Calls out.
 * Results are decoded and cc_process_cb is called by ntirpc's workers, never
 * by the transport's strand or the timer thread.
 *
 * The nrt_req_ functions stand for the clnt_req_ functions of the same name,
 * for a clnt_req whose cc_clnt is ours (nrt_clnt_is_ours()); a clnt_req of
 * another CLIENT must go to ntirpc's own.
 *
 * The CLIENT of an NFSv4.1 session outlives its connection. Once the session is
 * known (nrt_clnts_settle()), a Call that cannot be sent, or has had no Reply
 * when its connection ended, waits until the client has bound another
 * connection to the session's back channel, and is sent there again, as it was:
 * of the same XID (RFC 8167, 5.4), and above all of the same sequence number in
 * its slot, without which the client would take no other Call in that slot
 * (RFC 8881, 2.10.6.1). So it goes on waiting even when whoever made the Call
 * has been told RPC_TIMEDOUT. Until then the client learns by the flags of its
 * SEQUENCEs that the session has no back channel, see nrt_clnts_flags().
 */
#ifndef RPCRDMA_NTIRPC_BACK_CLNT_H
#define RPCRDMA_NTIRPC_BACK_CLNT_H

#include <rpc/rpc.h>
#include <rpc/clnt.h>
#include <rpc/svc.h>

#include "rpcrdma/request.h"
#include "rpcrdma/nfs.h"

struct nrt_clnts;

/* rt_config.request_user_size must be at least this. */
size_t nrt_clnt_request_size(void);

/*
 * @resume: how to have a svc_req's rq_resume_cb called by a worker; NULL:
 * ntirpc's svc_resume. Starts the timer thread with the first CLIENT, so this
 * may be called before a fork.
 */
int nrt_clnts_create(struct rt_instance *inst,
		     void (*resume)(struct svc_req *req),
		     struct nrt_clnts **out);
/* Every CLIENT must have been destroyed, every request completed. */
void nrt_clnts_destroy(struct nrt_clnts *n);

/*
 * A CLIENT with one reference, NULL only without memory. As with ntirpc's own,
 * a failure stands in cl_error: RPC_CANTSEND (EOPNOTSUPP) when the peer takes
 * no reverse-direction Calls (rt_conn_can_call()), RPC_SYSTEMERROR (EAGAIN)
 * when there is no thread for the time-outs, (EUSERS) when the client's host has
 * as many back channels in use as one may have. Those whose connections have
 * ended give way to it, the oldest first; their CLIENTs can then send nothing
 * any more. @c NULL: it has ended. The CLIENT holds a reference to
 * @xprt, the SVCXPRT of the connection. With one it is made while a Call of that
 * connection is executed by this thread, and its own Calls wait until that has
 * been answered, see nrt_clnts_settle().
 */
CLIENT *nrt_clnt_create(struct nrt_clnts *n, struct rt_conn *c, SVCXPRT *xprt,
			rpcprog_t prog, rpcvers_t vers);
/* Of a CLIENT of ours, whatever connection it has now; NULL after a failure. */
SVCXPRT *nrt_clnt_xprt(const CLIENT *clnt);
bool nrt_clnt_is_ours(const CLIENT *clnt);

/*
 * As ntirpc's clnt_req_*(). Callback and wait_reply return, when nothing was
 * sent, RPC_CANTSEND (the connection has ended, and this Call does not wait
 * for another, or it takes no reverse Calls),
 * RPC_CANTENCODEARGS or RPC_SYSTEMERROR (no memory; callback: no
 * cc_process_cb). In cc_error, later: RPC_TIMEDOUT; RPC_CANTSEND, also for too
 * many outstanding; RPC_CANTENCODEARGS too large for the peer; RPC_CANTRECV
 * the connection ended; RPC_CANTDECODERES; RPC_FAILED, the transport's error;
 * and what the Reply says. re_errno is that of rt_request.status.
 */
enum clnt_stat nrt_req_setup(struct clnt_req *cc, struct timespec timeout);
enum clnt_stat nrt_req_callback(struct clnt_req *cc);
enum clnt_stat nrt_req_refresh(struct clnt_req *cc);
void nrt_req_reset(struct clnt_req *cc);
enum clnt_stat nrt_req_wait_reply(struct clnt_req *cc);
/* Also one without a CLIENT. */
int nrt_req_release(struct clnt_req *cc);

/* What a Reply says of sessions; that to SEQUENCE alone has nothing. */
struct nrt_back;
struct nrt_news {
	enum ulb_session_event event;
	uint8_t id[ULB_SESSION_ID]; /* unless it is ULB_SESSION_NONE */
	uint32_t call_max; /* ulb_session.call_max; 0 changes nothing */
	struct nrt_back *bound; /* nrt_clnts_prepare()'s */
};
/*
 * A Call of the connection @c is about to be answered (prepare), and has been
 * (settle): both, by the thread that executed it.
 *
 * ULB_SESSION_BACK: the client has bound @c to the back channel of that session,
 * by CREATE_SESSION or BIND_CONN_TO_SESSION. From prepare on, a CLIENT that was
 * made for the Call is that session's, the session is @c's, and its flags say so:
 * whoever has the Reply may ask before the thread that sent it comes to settle.
 * Calls of the session go there from settle on, after the Reply.
 * ULB_SESSION_ENDED: nothing waits for it any longer. ULB_SESSION_NONE: a CLIENT
 * made for the Call is on its own.
 */
void nrt_clnts_prepare(struct nrt_clnts *n, struct nrt_news *news,
		       struct rt_conn *c);
void nrt_clnts_settle(struct nrt_clnts *n, const struct nrt_news *news,
		      const struct rt_conn *c);
/* Is there nothing to settle unless there is news? */
bool nrt_clnts_settled(const struct nrt_clnts *n);
/*
 * Would ULB_SESSION_BACK come to anything? By the same thread, before. If not,
 * and the session once had a CLIENT, it will never have one again, and the
 * client is told so (ULB_SEQ_BACKCHANNEL_FAULT).
 */
bool nrt_clnts_can_back(struct nrt_clnts *n, const uint8_t id[ULB_SESSION_ID],
			struct rt_conn *c);
/*
 * What the client must hear of its session, as flags of sr_status_flags:
 * ULB_SEQ_CB_PATH_DOWN_SESSION, its connection has ended and none has been
 * bound since; ULB_SEQ_BACKCHANNEL_FAULT, a Call has been lost for good, so
 * the sequence of its slot is. Any thread; cheap where all is well.
 */
uint32_t nrt_clnts_flags(struct nrt_clnts *n, const uint8_t id[ULB_SESSION_ID]);
/* Could nrt_clnts_flags() be other than 0 for some session? */
bool nrt_clnts_troubled(const struct nrt_clnts *n);
/* The connection has ended (strand): nothing here refers to it any longer. */
void nrt_clnts_lost(struct nrt_clnts *n, const struct rt_conn *c);
/* The server ends: nothing waits for a connection from now on. Any thread. */
void nrt_clnts_close(struct nrt_clnts *n);
/* Does anything here still use the transport's instance? Once that is so no more
 * after nrt_clnts_close() and the end of all connections, it stays so. */
bool nrt_clnts_busy(struct nrt_clnts *n);

#endif /* RPCRDMA_NTIRPC_BACK_CLNT_H */
