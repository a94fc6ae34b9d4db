/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svc_call - one RPC Call that is served through ntirpc
 *
 * Prefix: nrt_, ntirpc; the quirks use it, too. struct nrt_call is the user area of the
 * struct rt_call. The server's call operation does
 *
 *	XDR *xdrs = nrt_call_open(call, pool, max);
 *	req = alloc_cb(xprt, xdrs); ... svc_resume(req);
 *
 * with xp_reply = nrt_xp_reply and xp_checksum = nrt_xp_checksum. At its end, ntirpc's
 * request task calls XDR_DESTROY(req->rq_xdrs), which drops a Call without an answer
 * (rt_call_drop()). nrt_xp_reply() gives the Call and its streams to the transport, and
 * leaves xs_null_stream in req->rq_xdrs.
 */
#ifndef RPCRDMA_NTIRPC_SVC_CALL_H
#define RPCRDMA_NTIRPC_SVC_CALL_H

#include "ntirpc/back/back.h"
#include "ntirpc/stream/xdr_stream.h"
#include "rpcrdma/nfs.h"

#include <rpc/rpc.h>
#include <rpc/svc.h>
#include <rpc/svc_auth.h>

struct nrt_bound;
struct nrt_client;
struct nrt_replay;

struct nrt_call {
	struct xs_decode in; /* first */
	struct rt_call *call;
	struct fab_pool *pool;
	size_t max; /* the longest Reply, without write_room */
	/* Set by the vet operation, or by nrt_call_open() if that was not called. */
	struct ulb_call head;
	struct xs_encode out;
	/* Where the data of a READ are, in a pool buffer that Ganesha frees (read_buffer.h); no
	 * address: elsewhere. */
	struct fab_sge read_buffer;
	struct rt_reply reply;
	struct rt_item items[ULB_MAX_ITEMS];
	struct bc_reply news; /* what the Reply says of sessions */

	/* Set by the owner after nrt_call_open(). */
	void *owner; /* not used here */
	size_t write_room; /* octets that the Write chunks can take */
	struct bc_server *back; /* NULL: ignore sessions */
	struct nrt_bound *bound; /* NULL: Ganesha knows a session's connections */
	struct nrt_client *client; /* NULL: nobody asks whose connection it is */
	uint64_t peer; /* a secret hash of the authenticated host */
	struct nrt_replay *replay; /* of the host; NULL: no retransmissions */
	uint64_t conn; /* rt_conn_id(), for replay */

	/* Set by nrt_xp_checksum(). */
	bool elsewhere; /* the Call came on another connection before */
	bool is_stray; /* it destroys a session that it is not bound to: */
	struct ulb_stray stray;
	bool is_withheld; /* it has an operation that Ganesha must not see: */
	struct ulb_withheld withheld;
	bool is_empty_read; /* it is an NFSv3 READ of 0 bytes, at: */
	uint64_t read_offset;
};

/* The argument of an xdrproc_t that encodes results by @proc, and then reads or changes them. */
struct nrt_results {
	struct nrt_call *nc;
	xdrproc_t proc;
	void *where;
};

/* Initialize the struct nrt_call of @call, for which rt_config.call_user_size has room. @max
 * is rt_config.max_message. Returns the stream of the Call. Context: strand. */
XDR *nrt_call_open(struct rt_call *call, struct fab_pool *pool, size_t max);
/* Returns the Call of an rq_xdrs; NULL if it has been answered, or is not ours. */
struct nrt_call *nrt_call_of(XDR *xdrs);

/* The xp_reply operation. Returns XPRT_IDLE; or XPRT_DIED after dropping a Call for which not
 * even an error can be encoded, unless it controls an RPCSEC_GSS context. */
enum xprt_stat nrt_xp_reply(struct svc_req *req);

/* Returns NULL if ntirpc may decode the Call. If not, nrt_deny() must answer it: returns the
 * reason for the log, and sets *@malformed if the client is at fault. */
const char *nrt_denies(const struct svc_req *req, bool *malformed);
/* Answer with the MSG_DENIED of ulb_deny(), or with RDMA2_ERR_BAD_XDR if the header cannot be
 * read. A malformed Call counts as a wrong message. */
void nrt_deny(struct svc_req *req);

/*
 * The xp_checksum operation: set rq_cksum for the duplicate request cache. It covers what a
 * Call and its retransmission (draft 3.1.3) have in common, on any connection: XID,
 * procedure, the constant part of the credential, unwrapped arguments, nc->peer, and the
 * connection that the Call belongs to (replay.h). It is 0 for NFSv4.1 and later, which has
 * no such cache.
 *
 * ntirpc calls this right before it decodes the arguments. So quirks change them here, and
 * a buffer for READ is offered.
 */
void nrt_xp_checksum(struct svc_req *req, void *what, size_t length);
/* Returns a CRC of @length octets. */
uint64_t nrt_checksum(const void *what, size_t length);

#endif /* RPCRDMA_NTIRPC_SVC_CALL_H */
