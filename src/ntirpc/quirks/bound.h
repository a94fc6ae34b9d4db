/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bound - allow DESTROY_SESSION only over a connection of the session
 *
 * Only a connection that is bound to a session may destroy it (RFC 8881, 18.37.3). Ganesha
 * 4.3 and 5.9 identify a session's connections by address and port, keep 16 and forget none.
 * An RDMA client has another port on each connection. So Ganesha is shown one port that all
 * connections of an address share, and would let each of them destroy all their sessions.
 *
 * So the sessions of each connection are kept here: those that its Replies say it has
 * created or has been bound to, or that a SEQUENCE has used. In the DESTROY_SESSION of any
 * other session the identifier is replaced by one that no session has, and NFS4ERR_BADSESSION
 * in the Reply becomes NFS4ERR_CONN_NOT_BOUND_TO_SESSION.
 *
 * Context: any thread. The lock is a leaf.
 */
#ifndef RPCRDMA_NTIRPC_BOUND_H
#define RPCRDMA_NTIRPC_BOUND_H

#include <pthread.h>

#include <rpc/xdr.h>

#include "rpcrdma/nfs.h"

/* Most clients have one or two sessions. Only the latest are kept; others must be used once more
 * before they can be destroyed. */
#define NRT_BOUND_MAX 16

struct nrt_call;

struct nrt_bound {
	pthread_mutex_t lock;
	unsigned int n; /* added; after NRT_BOUND_MAX the oldest is replaced */
	uint8_t id[NRT_BOUND_MAX][ULB_SESSION_ID];
};

void nrt_bound_init(struct nrt_bound *b);
void nrt_bound_destroy(struct nrt_bound *b);
void nrt_bound_add(struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID]);
bool nrt_bound_has(struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID]);

/* Replace the identifier in a DESTROY_SESSION that is not allowed. The arguments are
 * as for nrt_args_find(). */
void nrt_bound_check(struct nrt_call *nc, XDR *xdrs, void *what, size_t length);
/* Correct the status in the results of @nc, from position @at on, if that was done. Returns false
 * if they cannot be changed. */
bool nrt_bound_correct(const struct nrt_call *nc, XDR *xdrs, u_int at);

#endif /* RPCRDMA_NTIRPC_BOUND_H */
