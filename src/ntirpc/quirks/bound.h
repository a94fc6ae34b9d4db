/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bound - which sessions a connection is bound to
 *
 * A session is ended over a connection that is bound to it, and over no other
 * (RFC 8881, 18.37.3). Ganesha 4.3 and 5.9 know a session's connections by their
 * addresses, of which they forget none and count 16. By RDMA a client has
 * another port on each connection, so Ganesha is told of one that all of an
 * address share, and would let each of them end the sessions of all. So it is
 * noted here, for each connection, what its Replies say: it is bound to the
 * sessions that it has made, that it was bound to, and that a SEQUENCE has used.
 *
 * A DESTROY_SESSION of another session is given to Ganesha with an identifier
 * that no session has, so it does nothing, and NFS4ERR_BADSESSION in the Reply
 * becomes NFS4ERR_CONN_NOT_BOUND_TO_SESSION. That is done where ntirpc has the
 * arguments summed up: they have been verified and decrypted by then, whatever
 * RPCSEC_GSS did with them, and have not been decoded.
 *
 * Threads: any; the lock is held for nothing but looking into the table.
 */
#ifndef RPCRDMA_NTIRPC_BOUND_H
#define RPCRDMA_NTIRPC_BOUND_H

#include <pthread.h>

#include <rpc/xdr.h>

#include "rpcrdma/nfs.h"

/* A client has one or two. Of more, those that were bound last are known; the
 * others must be used once more before they are ended. */
#define NRT_BOUND_MAX 16

struct nrt_call;

struct nrt_bound {
	pthread_mutex_t lock;
	unsigned int n; /* ever noted */
	uint8_t id[NRT_BOUND_MAX][ULB_SESSION_ID];
};

void nrt_bound_init(struct nrt_bound *b);
void nrt_bound_destroy(struct nrt_bound *b);
void nrt_bound_add(struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID]);
bool nrt_bound_has(struct nrt_bound *b, const uint8_t id[ULB_SESSION_ID]);

/*
 * Before the arguments of @nc are decoded: by the stream @xdrs from its present
 * position if @what is there, else from the @length octets at @what.
 */
void nrt_bound_check(struct nrt_call *nc, XDR *xdrs, void *what, size_t length);
/* The results of @nc stand behind @at: say why it was refused, if it was. False:
 * they cannot be changed. */
bool nrt_bound_correct(const struct nrt_call *nc, XDR *xdrs, u_int at);

#endif /* RPCRDMA_NTIRPC_BOUND_H */
