/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xprt - the SVCXPRT that Ganesha sees of a connection
 *
 * References (xp_refcnt):
 *   one that SVC_DESTROY() drops, as with ntirpc's own; whoever is first of
 *     Ganesha and the end of the connection calls it,
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

/* What is kept of a Call, in the transport's user area. */
struct gr_call {
	struct nrt_call nc; /* first */
	struct gr_pass pass; /* through its host's gate */
};

struct gr_xprt {
	SVCXPRT xprt; /* first */
	struct xp_ops ops; /* its own: Ganesha sets xp_free_user_data */
	struct gr_server *srv;
	pthread_mutex_t conn_lock; /* a leaf */
	struct rt_conn *conn; /* NULL: it has ended */
	struct gr_gate *host; /* that of its host; a reference */
	struct nrt_bound bound; /* if COMPAT_BOUND: its sessions */
	uint64_t since; /* CLOCK_MONOTONIC ns */
	uint64_t peer; /* nrt_call.peer of its Calls (strand) */
	bool peer_known;
	atomic_bool ended; /* no Call of it has to wait at a gate any more */
	atomic_bool complained; /* of a Call that could not be read */
	atomic_int greeting; /* has Ganesha been told of the client? */
	struct svc_req ending; /* stands for the end, in a worker's queue */
};

/*
 * Takes over the caller's reference to @c. @parent: Ganesha's NFS listener,
 * whose rendezvous callback has the new SVCXPRT served by the NFS program.
 * NULL: no memory, or Ganesha refuses; the reference is still the caller's.
 */
struct gr_xprt *gr_xprt_create(struct gr_server *srv, struct rt_conn *c,
			       SVCXPRT *parent);
/* The connection has ended. Does not block. */
void gr_xprt_closed(struct gr_xprt *x);
/* NULL if @xprt is not one of ours. */
struct gr_xprt *gr_xprt_of(const SVCXPRT *xprt);
/* That by which the NFSv3 Call has come that this thread executes, if nfs_versions and
 * Transports count (dialect.h); else NULL. */
struct gr_xprt *gr_xprt_limited(void);
/* A reference to its connection, NULL if that has ended. Any thread. */
struct rt_conn *gr_xprt_conn(struct gr_xprt *x);
/* SVC_DESTROY() has been called. */
bool gr_xprt_dead(SVCXPRT *xprt);

/* rq_resume_cb of a new request: decode the head, let Ganesha process it. */
enum xprt_stat gr_xprt_decode(struct svc_req *req);

#endif /* RPCRDMA_GANESHA_XPRT_H */
