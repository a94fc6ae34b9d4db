/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - one RPC Call served through ntirpc
 *
 * Prefix: nrt_, ntirpc; also that of quirks. struct nrt_call is the user area of the
 * struct rt_call. The server does:
 *
 *	XDR *xdrs = nrt_call_open(call, pool, max);	in the call operation
 *	req = alloc_cb(xprt, xdrs); ... svc_resume(req);
 *	xp_reply = nrt_xp_reply, xp_checksum = nrt_xp_checksum
 *
 * and the end of ntirpc's request task calls XDR_DESTROY(req->rq_xdrs), which drops a
 * Call without an answer (rt_call_drop()). nrt_xp_reply() gives the Call and its streams
 * to the transport, so it leaves xs_null_stream in req->rq_xdrs.
 */
#ifndef RPCRDMA_NTIRPC_CALL_H
#define RPCRDMA_NTIRPC_CALL_H

#include "ntirpc/back/back.h"
#include "ntirpc/stream/stream.h"
#include "rpcrdma/nfs.h"

#include <rpc/rpc.h>
#include <rpc/svc.h>
#include <rpc/svc_auth.h>

struct nrt_bound;
struct nrt_replay;

struct nrt_call {
	struct xs_decode in; /* first */
	struct rt_call *call;
	struct fab_pool *pool;
	size_t max; /* the longest Reply, without write_room */
	/* Set by the vet operation if the Call has been vetted, else by
	 * nrt_call_open(). */
	struct ulb_call head;
	struct xs_encode out;
	struct fab_buf *read_buffer; /* for READ; NULL: the FSAL uses Ganesha's */
	struct rt_reply reply;
	struct rt_item items[ULB_MAX_ITEMS];
	struct bc_reply news; /* what the Reply says of sessions */

	/* Set by the owner after nrt_call_open(). */
	void *owner; /* for it alone, e.g. its svc_req */
	size_t write_room; /* octets that the Write chunks take */
	struct bc_server *back; /* NULL: sessions do not matter */
	struct nrt_bound *bound; /* NULL: Ganesha knows a session's connections */
	uint64_t peer; /* a secret that tells hosts apart */
	struct nrt_replay *replay; /* the host's; NULL: nothing comes again */
	uint64_t conn; /* the connection, for replay */

	/* Set when the arguments are summed up. */
	bool elsewhere; /* it came on another connection before */
	bool is_stray; /* it destroys a session that it is not bound to: */
	struct ulb_stray stray;
	bool is_withheld; /* it has an operation that Ganesha does not see: */
	struct ulb_withheld withheld;
	bool is_empty_read; /* NFSv3 READ of nothing, at: */
	uint64_t read_offset;
};

/* The argument of an xdrproc_t that reads or changes results as it encodes them. */
struct nrt_results {
	struct nrt_call *nc;
	xdrproc_t proc; /* encodes them */
	void *where;
};

/* Begin with @call; rt_config.call_user_size is at least sizeof(struct nrt_call).
 * @max is rt_config.max_message. Returns the stream of the Call. Context: strand. */
XDR *nrt_call_open(struct rt_call *call, struct fab_pool *pool, size_t max);
/* Returns the Call of an rq_xdrs; NULL if it is answered, or not ours. */
struct nrt_call *nrt_call_of(XDR *xdrs);

/* The xp_reply operation. Returns XPRT_IDLE; XPRT_DIED after dropping a Call, other than
 * one that controls an RPCSEC_GSS context, for which not even an error can be encoded. */
enum xprt_stat nrt_xp_reply(struct svc_req *req);

/*
 * Returns NULL if ntirpc may decode the Call. Otherwise nrt_deny() must answer it:
 * returns the reason for the log, and sets *@malformed if the client is at fault.
 */
const char *nrt_denies(const struct svc_req *req, bool *malformed);
/* Answer it: MSG_DENIED as ulb_deny() says, or RDMA2_ERR_BAD_XDR if its head cannot be
 * read. A malformed one counts as a wrong message. */
void nrt_deny(struct svc_req *req);

/*
 * The xp_checksum operation: set rq_cksum for the duplicate request cache. It covers
 * what a Call and its retransmission (draft 3.1.3) have in common, on any connection:
 * XID, procedure, credential without what changes, unwrapped arguments, nc->peer and
 * the connection that the Call belongs to (replay.h). 0 for NFSv4.1 and later, which
 * has no such cache.
 *
 * ntirpc calls it right before it decodes the arguments. So the quirks change these
 * here, and a buffer for READ is chosen.
 */
void nrt_xp_checksum(struct svc_req *req, void *what, size_t length);
/* Returns a CRC of @length octets. */
uint64_t nrt_checksum(const void *what, size_t length);

#endif /* RPCRDMA_NTIRPC_CALL_H */
