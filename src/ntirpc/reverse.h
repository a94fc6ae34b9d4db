/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reverse - what clnt.c (CLIENT and clnt_req) and reverse.c (Calls in flight,
 * their end and their time-out) share
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
#ifndef RPCRDMA_NTIRPC_REVERSE_H
#define RPCRDMA_NTIRPC_REVERSE_H

#include "ntirpc/clnt.h"
#include "ntirpc/stream.h"

#include <pthread.h>
#include <time.h>

struct rclient {
	CLIENT clnt; /* first */
	struct nrt_clnts *n;
	struct rt_conn *conn;
	SVCXPRT *xprt;
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
	AUTH *auth; /* a reference: the channel may end before its Calls */
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

static inline int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static inline struct timespec to_timespec(int64_t ms)
{
	return (struct timespec){
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000,
	};
}

/* Among the Calls in flight, by deadline. Under the lock. */
void nrt_rcall_enlist(struct nrt_clnts *n, struct rcall *c);
/* Take the clnt_req away from all others; NULL: somebody else has it. Under
 * the lock. */
struct clnt_req *nrt_rcall_claim(struct nrt_clnts *n, struct rcall *c);
void nrt_rcall_put(struct rcall *c);
/* Set cc_error, and the results if there are any, from the end of @c. */
void nrt_rcall_finish(struct clnt_req *cc, const struct rcall *c);
/* The done callback of its request (strand). */
void nrt_rcall_done(struct rt_request *rq);
/* Start the timer thread unless it runs; 0 or an errno. */
int nrt_clnts_start(struct nrt_clnts *n);

#endif /* RPCRDMA_NTIRPC_REVERSE_H */
