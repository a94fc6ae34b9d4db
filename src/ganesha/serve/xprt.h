/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xprt - the SVCXPRT that Ganesha sees of a connection
 *
 * References (xp_refcnt):
 *   one that SVC_DESTROY() drops, as with ntirpc's own; it is called by Ganesha or at the
 *     end of the connection, whichever is first,
 *   one of the transport, from gr_xprt_create() to gr_xprt_closed(), because
 *     its strand finds the SVCXPRT through rt_conn_user(),
 *   one for each request and each session, taken by Ganesha.
 * The SVCXPRT holds one reference to its rt_conn until that has ended, for
 * Ganesha may keep it much longer, with a session; and one to the NFS listener's
 * SVCXPRT until it is freed. A CLIENT holds one to the SVCXPRT.
 */
#ifndef RPCRDMA_GANESHA_XPRT_H
#define RPCRDMA_GANESHA_XPRT_H

#include <pthread.h>
#include <stdatomic.h>

#include "compat/ganesha.h"
#include "ganesha/serve/gate.h"
#include "ntirpc/call.h"
#include "ntirpc/quirks/bound.h"
#include "rpcrdma/call.h"

struct gr_server;

/* A Call, in the user area of struct rt_call. */
struct gr_call {
	struct nrt_call nc; /* first */
	struct gr_pass pass; /* at its host's gate */
};

struct gr_xprt {
	SVCXPRT xprt; /* first */
	struct xp_ops ops; /* a copy, because Ganesha sets xp_free_user_data */
	struct gr_server *srv;
	pthread_mutex_t conn_lock; /* protects conn; the innermost */
	struct rt_conn *conn; /* NULL: it has ended */
	struct gr_gate *host; /* a reference */
	struct nrt_bound bound; /* its sessions, if COMPAT_BOUND */
	uint64_t since; /* CLOCK_MONOTONIC ns */
	uint64_t peer; /* nrt_call.peer of its Calls (strand) */
	bool peer_known;
	atomic_bool ended; /* its Calls do not wait at the gate any more */
	atomic_bool complained; /* a malformed Call has been logged */
	atomic_int admission; /* enum gr_admission */
	struct svc_req ending; /* stands for the end, in a worker's queue */
};

/*
 * Make the SVCXPRT of @c and have it served by the NFS program, by the rendezvous callback of
 * @parent, Ganesha's NFS listener. Takes over the caller's reference to @c. Returns NULL, and leaves
 * the reference to the caller, without memory or if Ganesha refuses.
 */
struct gr_xprt *gr_xprt_create(struct gr_server *srv, struct rt_conn *c,
			       SVCXPRT *parent);
/* The connection has ended. Does not block. */
void gr_xprt_closed(struct gr_xprt *x);
/* Returns @xprt as ours, or NULL if it is not. */
struct gr_xprt *gr_xprt_of(const SVCXPRT *xprt);
/* Returns the SVCXPRT of the NFSv3 Call that this thread executes, if nfs_versions and Transports
 * apply to it (dialect.h); otherwise NULL. */
struct gr_xprt *gr_xprt_limited(void);
/* Returns a reference to its connection, or NULL if that has ended. Context: any thread. */
struct rt_conn *gr_xprt_conn(struct gr_xprt *x);
/* Returns true after SVC_DESTROY(). */
bool gr_xprt_dead(SVCXPRT *xprt);

/* The rq_resume_cb of a new request: decode its header, and let Ganesha process it. */
enum xprt_stat gr_xprt_decode(struct svc_req *req);

#endif /* RPCRDMA_GANESHA_XPRT_H */
