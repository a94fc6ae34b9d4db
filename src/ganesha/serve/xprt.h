/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xprt - the SVCXPRT of a connection
 *
 * References to it (xp_refcnt):
 *   - one that SVC_DESTROY() drops, as with ntirpc's own. Ganesha calls that, or the end of the
 *     connection does, whichever is first
 *   - one of the transport, from gr_xprt_create() to gr_xprt_closed(), because its strand finds
 *     the SVCXPRT through rt_conn_user()
 *   - one for each request and each session, which Ganesha takes
 *   - one of each CLIENT
 *
 * It holds a reference to its rt_conn until that has ended, because Ganesha may keep the
 * SVCXPRT much longer, with a session; and one to the SVCXPRT of the NFS listener.
 */
#ifndef RPCRDMA_GANESHA_XPRT_H
#define RPCRDMA_GANESHA_XPRT_H

#include <pthread.h>
#include <stdatomic.h>

#include "compat/ganesha.h"
#include "ganesha/serve/host.h"
#include "ntirpc/nfs_client.h"
#include "ntirpc/svc_call.h"
#include "ntirpc/quirks/bound.h"
#include "rpcrdma/call.h"

struct gr_server;

/* A Call, in the user area of struct rt_call. */
struct gr_call {
	struct nrt_call nc; /* first */
	struct gr_waiter waiter; /* for other Calls of its host */
};

struct gr_xprt {
	SVCXPRT xprt; /* first */
	struct xp_ops ops; /* a copy, because Ganesha sets xp_free_user_data */
	struct gr_server *srv;
	pthread_mutex_t conn_lock; /* protects conn; the innermost */
	struct rt_conn *conn; /* NULL: it has ended */
	struct gr_host *host; /* a reference */
	struct nrt_bound bound; /* its sessions, if COMPAT_BOUND */
	struct nrt_client client; /* its NFSv4 client, for statistics */
	uint64_t since; /* CLOCK_MONOTONIC ns */
	uint64_t peer; /* nrt_call.peer of its Calls; used by the strand */
	bool peer_known;
	atomic_bool ended; /* its Calls no longer wait for others of the host */
	atomic_bool complained; /* a malformed Call has been logged */
	atomic_int admission; /* enum gr_admission */
	struct svc_req ending; /* in the workers' queue: end_by_worker() */
};

/*
 * Create the SVCXPRT of @c, and call the rendezvous callback of @parent, Ganesha's NFS listener, for
 * it. Takes over the caller's reference to @c. Returns NULL, and leaves the reference to the caller,
 * without memory or if Ganesha refuses.
 */
struct gr_xprt *gr_xprt_create(struct gr_server *srv, struct rt_conn *c,
			       SVCXPRT *parent);
/* The connection has ended. Context: its strand. Does not block. */
void gr_xprt_closed(struct gr_xprt *x);
/* Returns @xprt as ours, or NULL if it is not. */
struct gr_xprt *gr_xprt_of(const SVCXPRT *xprt);
/* Returns the SVCXPRT of the NFSv3 Call that this thread executes, in the dialect (dialect.h);
 * otherwise NULL. */
struct gr_xprt *gr_xprt_of_nfs3_call(void);
/* Returns a reference to its connection, or NULL if that has ended. Context: any thread. */
struct rt_conn *gr_xprt_conn(struct gr_xprt *x);
/* Returns true after SVC_DESTROY(). */
bool gr_xprt_dead(SVCXPRT *xprt);

/* rq_resume_cb of a new request: decode its header, and let Ganesha execute it. */
enum xprt_stat gr_xprt_decode(struct svc_req *req);

#endif /* RPCRDMA_GANESHA_XPRT_H */
