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
 */
#ifndef RPCRDMA_NTIRPC_CLNT_H
#define RPCRDMA_NTIRPC_CLNT_H

#include <rpc/rpc.h>
#include <rpc/clnt.h>
#include <rpc/svc.h>

#include "transport/transport.h"

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
 * when there is no thread for the time-outs. The CLIENT holds a reference to
 * @xprt, the SVCXPRT of the connection, which may be NULL.
 */
CLIENT *nrt_clnt_create(struct nrt_clnts *n, struct rt_conn *c, SVCXPRT *xprt,
			rpcprog_t prog, rpcvers_t vers);
/* Of a CLIENT of ours; NULL after a failure. */
SVCXPRT *nrt_clnt_xprt(const CLIENT *clnt);
bool nrt_clnt_is_ours(const CLIENT *clnt);

/*
 * As ntirpc's clnt_req_*(). Callback and wait_reply return, when nothing was
 * sent, RPC_CANTSEND (the connection has ended or takes no reverse Calls),
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

#endif /* RPCRDMA_NTIRPC_CLNT_H */
