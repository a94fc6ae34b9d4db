/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - one RPC Call served through ntirpc
 *
 * struct nrt_call lives in the user area of the struct rt_call it serves.
 * The server does:
 *
 *	XDR *xdrs = nrt_call_open(call, pool, max);	in the call operation
 *	req = alloc_cb(xprt, xdrs); ... svc_resume(req);
 *	xp_reply = nrt_xp_reply, xp_checksum = nrt_xp_checksum
 *
 * and the tail of ntirpc's request task calls XDR_DESTROY(req->rq_xdrs). A
 * Call that nobody has answered until then is dropped (rt_call_drop()).
 *
 * nrt_xp_reply() gives the Call to the transport at once. Because its streams
 * may then be gone before the tail runs, it leaves in req->rq_xdrs a stream
 * that has nothing to give and nothing to destroy.
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
	size_t max;
	size_t beside; /* the owner's: octets that Write chunks may take */
	void *owner; /* the server's, e.g. its svc_req */
	struct xs_encode out;
	struct fab_buf *read_buffer; /* NULL: the FSAL has memory of Ganesha's */
	struct rt_reply reply;
	struct rt_item items[ULB_MAX_ITEMS];
	/* Of a Call that has been vetted, by vet(); else by nrt_call_open(). */
	struct ulb_call head;
	struct bc_server *clnts; /* the server's; NULL: sessions do not matter */
	/* The connection's; NULL: the server itself knows what it is bound to. */
	struct nrt_bound *bound;
	bool is_stray; /* it would end a session that is not among these: */
	struct ulb_stray stray;
	bool is_withheld; /* it has an operation that Ganesha does not see: */
	struct ulb_withheld withheld;
	bool is_empty_read; /* NFSv3 READ of nothing, from: */
	uint64_t read_offset;
	/* The owner's: what tells its host from others, and is no one's to know;
	 * which Calls of the host may come again (NULL: none), and its connection
	 * there. */
	uint64_t peer;
	struct nrt_replay *replay;
	uint64_t conn;
	bool elsewhere; /* it came first on another connection: replay.h */
	struct bc_reply news; /* what the Reply says of sessions */
};

/* Results that are looked at while they are encoded. */
struct nrt_results {
	struct nrt_call *nc;
	xdrproc_t proc; /* what encodes them */
	void *where;
};

/*
 * rt_config.call_user_size must be at least sizeof(struct nrt_call).
 * @max: the longest Reply, rt_config.max_message. The caller sets owner, and
 * clnts if it has CLIENTs.
 */
XDR *nrt_call_open(struct rt_call *call, struct fab_pool *pool, size_t max);
/* The Call behind rq_xdrs; NULL once answered, or if it is not one of ours. */
struct nrt_call *nrt_call_of(XDR *xdrs);

/*
 * The xp_reply operation. XPRT_IDLE; XPRT_DIED if not even an error Reply
 * could be made: then the Call is dropped. XPRT_IDLE in any case of what controls
 * a context of RPCSEC_GSS.
 */
enum xprt_stat nrt_xp_reply(struct svc_req *req);

/*
 * Must ntirpc not see a Call of ours, which is not yet answered? It is denied as
 * ulb_deny() says, or its head cannot be read. Returns NULL if it may be decoded;
 * else what it is, for the log, and in *@malformed whether the client is at fault:
 * then the transport counts it as a wrong message.
 */
const char *nrt_denies(const struct svc_req *req, bool *malformed);
/* Answer such a Call: MSG_DENIED, or RDMA2_ERR_BAD_XDR if its head cannot be read. */
void nrt_deny(struct svc_req *req);

/*
 * The xp_checksum operation: rq_cksum for the duplicate request cache. Of a Call of
 * ours over all that a retransmission has in common with it (draft 3.1.3), however
 * it came: XID, procedure, credential without what changes, arguments as they are
 * once RPCSEC_GSS has unwrapped them, nc->peer and the connection that it belongs
 * to (replay.h). 0 where there is no such cache, with NFSv4.1 and later.
 *
 * ntirpc calls it right before it decodes the arguments: nrt_bound_check(),
 * nrt_withheld_check(), nrt_lend_args(). And it chooses where the FSAL reads to.
 */
void nrt_xp_checksum(struct svc_req *req, void *what, size_t length);
uint64_t nrt_checksum(const void *what, size_t length);

#endif /* RPCRDMA_NTIRPC_CALL_H */
