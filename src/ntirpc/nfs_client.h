/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_client - tell the transport whose connection it is: the NFSv4 client and its session
 *
 * A client names itself in EXCHANGE_ID or SETCLIENTID, and the Reply has Ganesha's number of
 * it, with which the identifiers of its sessions begin. A connection that replaces another one
 * brings only a SEQUENCE with the session. So the names are kept by number.
 *
 * Only what Ganesha has accepted is told. The name itself is what the client says, and nothing
 * depends on it but what statistics show.
 *
 * Context: any thread. The locks are leaves.
 */
#ifndef RPCRDMA_NTIRPC_NFS_CLIENT_H
#define RPCRDMA_NTIRPC_NFS_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include <rpc/xdr.h>

#include "rpcrdma/call.h"
#include "rpcrdma/nfs.h"

struct nrt_call;

/* Ganesha counts its clients, so each has a place of its own until there are more. Then the
 * older one of two is forgotten. */
#define NRT_NAMES 4096

struct nrt_names {
	pthread_mutex_t lock;
	struct nrt_name {
		uint64_t client;
		char name[RT_CLIENT_TEXT];
	} of[NRT_NAMES];
};

/* Of a connection. */
struct nrt_client {
	struct nrt_names *names;
	pthread_mutex_t lock;
	char owner[RT_CLIENT_TEXT]; /* in the latest Call that has one; or "" */
	_Atomic uint64_t session; /* checksum of the one told last; or 0 */
};

void nrt_names_init(struct nrt_names *names);
void nrt_client_init(struct nrt_client *c, struct nrt_names *names);
void nrt_client_destroy(struct nrt_client *c);
/* Returns true if this session was told last. */
bool nrt_client_has(const struct nrt_client *c,
		    const uint8_t session[ULB_SESSION_ID]);
/* Note the name in a Call. The arguments are as for nrt_args_find(). */
void nrt_client_call(struct nrt_call *nc, XDR *xdrs, void *what, size_t length);
/* Tell the transport what the results of @nc say. */
void nrt_client_reply(struct nrt_call *nc, const struct ulb_session *s);

#endif /* RPCRDMA_NTIRPC_NFS_CLIENT_H */
