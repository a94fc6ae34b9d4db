/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * svc_call - one RPC Call that is served through ntirpc
 *
 * The worker that runs the request owns its struct nrt_call until rt_reply(); then the
 * transport owns it until the done callback. The Reply or XDR_DESTROY gives the Call back,
 * whichever first takes nc->in.destroyed by an atomic exchange.
 */
#include "ntirpc/svc_call.h"

#include <errno.h>
#include <isa-l/crc64.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "compat/ntirpc.h"
#include "ntirpc/nfs_client.h"
#include "ntirpc/quirks/bound.h"
#include "ntirpc/quirks/rewrite.h"
#include "ntirpc/quirks/lend.h"
#include "ntirpc/quirks/withheld.h"
#include "ntirpc/read_buffer.h"
#include "ntirpc/replay.h"
#include "ntirpc/session_reply.h"

/* ---- Beginning and end ------------------------------------------------ */

/*
 * XDR_DESTROY of a Call without an answer. If the Call came on another connection before, the
 * Reply was sent there. A client does not retransmit on a connection that is open (3.1.3). So
 * close this one, and the next retransmission is answered.
 */
static void call_drop(struct xs_decode *d)
{
	struct nrt_call *nc = (struct nrt_call *)(void *)d;

	if (nc->elsewhere)
		rt_conn_close(nc->call->conn, true);
	nrt_read_withdraw();
	rt_call_drop(nc->call);
}

/* Truncate the stream to @len octets. */
static void call_truncate(struct rt_call *call, size_t len)
{
	call->len = 0;
	for (unsigned int i = 0; i < call->npieces; i++) {
		struct rt_piece *p = &call->pieces[i];

		p->len = MIN(p->len, len - call->len);
		call->len += p->len;
	}
}

XDR *nrt_call_open(struct rt_call *call, struct fab_pool *pool, size_t max)
{
	struct nrt_call *nc = rt_call_user(call);
	struct iovec iov[RT_MAX_PIECES];
	unsigned int n;

	nc->call = call;
	nc->pool = pool;
	nc->max = max;
	nc->write_room = 0;
	nc->owner = NULL;
	nc->back = NULL;
	nc->bound = NULL;
	nc->client = NULL;
	nc->is_stray = false;
	nc->is_withheld = false;
	nc->withheld.cache_at = 0;
	nc->is_empty_read = false;
	nc->peer = 0;
	nc->replay = NULL;
	nc->conn = 0;
	nc->elsewhere = false;
	nc->reply = (struct rt_reply){ 0 };
	nc->read_buffer = (struct fab_sge){ 0 };
	n = rt_to_iov(call->pieces, call->npieces, iov);
	if (!call->vetted)
		ulb_call_head(iov, n, &nc->head);
	ulb_classify(iov, n, &nc->head);
	call->op_class = nc->head.op_class;
	/* ntirpc authenticates a Call without arguments, and answers with
	 * GARBAGE_ARGS (7.2). */
	if (call->torn && nc->head.readable)
		call_truncate(call, nc->head.body);
	xs_decode_init(&nc->in, call->pieces, call->npieces, call_drop);
	return &nc->in.xdrs;
}

struct nrt_call *nrt_call_of(XDR *xdrs)
{
	struct xs_decode *d = xs_decode_of(xdrs);

	return d && d->destroyed == call_drop ? (struct nrt_call *)(void *)d :
						NULL;
}

/* ---- Replies ---------------------------------------------------------- */

static bool encode_padding(XDR *xdrs)
{
	static const char zero[BYTES_PER_XDR_UNIT];
	u_int odd = XDR_GETPOS(xdrs) % BYTES_PER_XDR_UNIT;

	return !odd || XDR_PUTBYTES(xdrs, zero, BYTES_PER_XDR_UNIT - odd);
}

/*
 * Encode the Reply in req->rq_msg (RFC 5531, 9), protected by req->rq_auth. Quirks change its
 * results, and what it says of sessions is noted. Returns false if it cannot be encoded, or is
 * too long.
 *
 * xdr_nreplymsg() encodes results without protection. So it gets none, and the wrap operation
 * of the authentication flavor encodes them.
 */
static bool encode_message(struct nrt_call *nc, struct svc_req *req)
{
	struct xs_encode *e = &nc->out;
	struct rpc_msg *msg = &req->rq_msg;
	bool wrap = msg->rm_reply.rp_stat == MSG_ACCEPTED &&
		    msg->RPCM_ack.ar_stat == SUCCESS && req->rq_auth;
	struct nrt_results changed;
	struct xdrpair results;
	bool ok;

	nc->news.event = ULB_SESSION_NONE;
	if (!wrap)
		return xdr_nreplymsg(&e->xdrs, msg) && encode_padding(&e->xdrs);
	results = msg->RPCM_ack.ar_results;
	msg->RPCM_ack.ar_results.proc = xs_void;
	msg->RPCM_ack.ar_results.where = NULL;
	ok = xdr_nreplymsg(&e->xdrs, msg);
	msg->RPCM_ack.ar_results = results;
	if (nrt_withheld_replayed(nc, results.where)) {
		msg->RPCM_ack.ar_results.proc =
			(xdrproc_t)nrt_withheld_uncached;
		msg->RPCM_ack.ar_results.where = results.where;
	} else if (nc->is_empty_read || nrt_session_concerns(nc)) {
		changed = (struct nrt_results){ .nc = nc,
						.proc = results.proc,
						.where = results.where };
		msg->RPCM_ack.ar_results.proc =
			nc->is_empty_read ? nrt_withheld_empty_read :
					    nrt_session_encode;
		msg->RPCM_ack.ar_results.where = &changed;
	}
	/* A GSS token may be of any length (RFC 2203, 5.3.2.3). */
	ok = ok && SVCAUTH_WRAP(req, &e->xdrs) && encode_padding(&e->xdrs);
	msg->RPCM_ack.ar_results = results;
	return ok;
}

/* Find the results that may go by Write chunk. [H2] */
static void find_items(struct nrt_call *nc)
{
	struct rt_reply *r = &nc->reply;
	struct iovec iov[RT_MAX_PIECES];
	struct ulb_item found[ULB_MAX_ITEMS];
	struct ulb_scan scan = { 0 };
	unsigned int n, count = 0;

	if (!nc->head.ddp || !nc->head.nfs)
		return;
	/* A Call that cannot be scanned has no such results. */
	if (nc->call->ranged) {
		n = rt_to_iov(nc->call->pieces, nc->call->npieces, iov);
		(void)ulb_scan_call(iov, n, &nc->head, &scan);
	}
	n = rt_to_iov(r->pieces, r->npieces, iov);
	if (ulb_scan_reply(&nc->head, iov, n, NULL, 0, found, ULB_MAX_ITEMS,
			   &count))
		return;
	for (n = 0; n < count; n++)
		nc->items[n] = (struct rt_item){
			.position = found[n].position,
			.length = found[n].length,
			.present = found[n].present,
			.origin = n < scan.nresults ? scan.origins[n] : 0,
		};
	r->items = nc->items;
	r->nitems = count;
}

static void call_reply_done(void *arg)
{
	struct nrt_call *nc = arg;

	xs_encode_release(&nc->out);
}

static bool encode_reply(struct nrt_call *nc, struct svc_req *req, size_t *len)
{
	struct rpc_msg *msg = &req->rq_msg;
	int n;

	if (xs_encode_init(&nc->out, nc->pool, nc->max))
		return false;
	xs_encode_allow_extra(&nc->out, nc->write_room);
	xs_encode_set_read_buffer(&nc->out, &nc->read_buffer);
	if (encode_message(nc, req)) {
		n = xs_encode_pieces(&nc->out, len);
		if (n > 0)
			goto done;
	}
	/* Send an error instead. */
	if (xs_encode_restart(&nc->out))
		return false;
	msg->rm_reply.rp_stat = MSG_ACCEPTED;
	msg->RPCM_ack.ar_stat = SYSTEM_ERR;
	if (!encode_message(nc, req))
		return false;
	n = xs_encode_pieces(&nc->out, len);
	if (n <= 0)
		return false;
done:
	nc->reply.pieces = nc->out.pieces;
	nc->reply.npieces = (unsigned int)n;
	return true;
}

enum xprt_stat nrt_xp_reply(struct svc_req *req)
{
	struct nrt_call *nc = nrt_call_of(req->rq_xdrs);
	enum xprt_stat stat = XPRT_IDLE;
	struct nrt_session_news news;
	struct rt_conn *c;
	size_t len = 0;
	bool control;

	if (!nc) /* it has been answered */
		return XPRT_IDLE;
	if (!__atomic_exchange_n(&nc->in.destroyed, NULL, __ATOMIC_ACQ_REL))
		return XPRT_IDLE;
	req->rq_xdrs = (XDR *)(uintptr_t)&xs_null_stream;
	nrt_read_withdraw();
	nc->news.event = ULB_SESSION_NONE;
	control = nc->head.flavor == RPCSEC_GSS && nc->head.gss_proc;
	if (!encode_reply(nc, req, &len)) {
		nrt_session_begin(nc, &news);
		xs_encode_release(&nc->out);
		/* Close the connection to report that the Reply is lost (7.4).
		 * Ganesha does so for a new Call, but not for a retransmission. */
		c = nc->call->conn;
		rt_log(c, LOG_WARNING, "Reply %08x cannot be encoded: closing",
		       nc->call->xid);
		rt_conn_close(c, true);
		rt_call_drop(nc->call);
		stat = XPRT_DIED;
		goto out;
	}
	if (nc->call->nwrites)
		find_items(nc);
	nc->reply.done = call_reply_done;
	nc->reply.arg = nc;
	nrt_session_begin(nc, &news);
	/* This takes the Call and the Reply, also if it fails. Do not tell Ganesha that the
	 * connection has ended: it would not mark the Call as complete, and answer no
	 * retransmission. So it drops one that waits, and answers the next. */
	(void)rt_reply(nc->call, &nc->reply);
out:
	nrt_session_end(&news);
	/* With XPRT_DIED ntirpc would destroy the context while it holds its lock, and
	 * deadlock. */
	return control ? XPRT_IDLE : stat;
}

/* ---- Calls that ntirpc must not decode ---------------------------------- */

/* Copy @len octets at offset @at of the Call. Returns false if it is shorter. */
static bool copy_at(const struct rt_call *call, size_t at, void *to, size_t len)
{
	if (at > call->len || len > call->len - at)
		return false;
	for (unsigned int i = 0; len; i++) {
		const struct rt_piece *p = &call->pieces[i];
		size_t here = p->len;

		if (at >= here) {
			at -= here;
			continue;
		}
		here = here - at < len ? here - at : len;
		memcpy(to, (const uint8_t *)p->addr + at, here);
		to = (uint8_t *)to + here;
		len -= here;
		at = 0;
	}
	return true;
}

/* ntirpc reads so much of any context handle: two pointers, a gss_union_ctx_id_desc. */
#define GSS_HANDLE (2 * sizeof(void *))

static bool call_is_denied(const struct nrt_call *nc, struct ulb_denial *d)
{
	struct iovec iov[RT_MAX_PIECES];
	unsigned int n = rt_to_iov(nc->call->pieces, nc->call->npieces, iov);

	return ulb_deny(iov, n, GSS_HANDLE, d);
}

const char *nrt_denies(const struct svc_req *req, bool *malformed)
{
	const struct nrt_call *nc = nrt_call_of(req->rq_xdrs);
	struct ulb_denial d = { .why = "no RPC Call", .malformed = true };

	if (!call_is_denied(nc, &d) && nc->head.readable)
		return NULL;
	*malformed = d.malformed;
	return d.why;
}

void nrt_deny(struct svc_req *req)
{
	struct nrt_call *nc = nrt_call_of(req->rq_xdrs);
	struct rpc_msg *msg = &req->rq_msg;
	struct rejected_reply *rj = &msg->rm_reply.rp_rjct;
	struct ulb_denial d;

	if (!nc)
		return;
	if (call_is_denied(nc, &d)) {
		memset(msg, 0, sizeof(*msg));
		msg->rm_xid = nc->call->xid;
		msg->rm_direction = REPLY;
		msg->rm_reply.rp_stat = MSG_DENIED;
		if (d.auth_stat) {
			rj->rj_stat = AUTH_ERROR;
			rj->rj_why = d.auth_stat;
		} else {
			rj->rj_stat = RPC_MISMATCH;
			rj->rj_vers.low = RPC_MSG_VERSION;
			rj->rj_vers.high = RPC_MSG_VERSION;
		}
		nc->reply.denial = d.malformed;
		(void)nrt_xp_reply(req);
	} else if (__atomic_exchange_n(&nc->in.destroyed, NULL,
				       __ATOMIC_ACQ_REL)) {
		req->rq_xdrs = (XDR *)(uintptr_t)&xs_null_stream;
		rt_call_refuse(nc->call, RDMA2_ERR_BAD_XDR);
	}
}

/* ---- Checksum --------------------------------------------------------- */

uint64_t nrt_checksum(const void *what, size_t length)
{
	return crc64_ecma_refl(0, what, length);
}

/* Returns a CRC of the octets from @at up to @end. */
static uint64_t sum_range(const struct iovec *iov, unsigned int n, size_t at,
			  size_t end)
{
	uint64_t sum = 0;

	for (size_t pos = 0; n-- && pos < end; pos += iov++->iov_len) {
		size_t skip = at > pos ? MIN(at - pos, iov->iov_len) : 0;
		size_t len = MIN(iov->iov_len, end - pos);

		if (skip < len)
			sum = crc64_ecma_refl(sum,
					      (uint8_t *)iov->iov_base + skip,
					      len - skip);
	}
	return sum;
}

/* What differs between clients that share an address and, by chance or intent, an XID. */
struct asker {
	uint32_t xid;
	uint8_t proc[20]; /* program to procedure, flavor, cred's length */
	uint8_t cred[MAX_AUTH_BYTES];
};

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/*
 * Anybody can compute how two CRCs differ, and choose arguments that make up for it. So mix the
 * CRC with a secret. The stamp of AUTH_SYS is left out, and so are the control procedure,
 * sequence number and verifier of RPCSEC_GSS, because they differ in a retransmission.
 */
static uint64_t sum_asker(const struct nrt_call *nc)
{
	const struct ulb_call *head = &nc->head;
	uint32_t skip = head->flavor == AUTH_SYS   ? 4 :
			head->flavor == RPCSEC_GSS ? 12 :
						     0;
	uint32_t len = head->cred_len > skip ? head->cred_len - skip : 0;
	struct asker a = { .xid = nc->call->xid };

	if (!head->readable || !copy_at(nc->call, 12, a.proc, sizeof(a.proc)) ||
	    !copy_at(nc->call, 32 + skip, a.cred, len))
		return 0;
	return mix(nc->peer +
		   nrt_checksum(&a, offsetof(struct asker, cred) + len));
}

/* @iov has the arguments. Protected ones follow a sequence number, and the rest of their token
 * follows them if ntirpc has unwrapped them in place. */
static uint64_t sum_call(const struct nrt_call *nc, const struct iovec *iov,
			 unsigned int n)
{
	bool protected = nc->head.flavor == RPCSEC_GSS && !nc->head.ddp;
	size_t at = protected ? 4 : 0, end = SIZE_MAX;

	if (protected)
		ulb_args_end(iov, n, at, &nc->head, &end);
	return sum_range(iov, n, at, end) ^ sum_asker(nc);
}

/* A Call that may be executed twice is not looked up on other connections. */
static uint64_t call_checksum(struct nrt_call *nc, const struct iovec *iov,
			      unsigned int n)
{
	uint64_t sum, conn = nc->conn;

	if (nc->head.classified && nc->head.minor)
		return 0;
	sum = sum_call(nc, iov, n);
	if (nc->replay && nc->head.once)
		conn = nrt_replay_conn(nc->replay, sum, nc->conn);
	nc->elsewhere = conn != nc->conn;
	return sum + conn;
}

void nrt_xp_checksum(struct svc_req *req, void *what, size_t length)
{
	struct nrt_call *nc = nrt_call_of(req->rq_xdrs);
	struct iovec iov[RT_MAX_PIECES];
	unsigned int n;
	size_t at;

	if (!nc) {
		req->rq_cksum = nrt_checksum(what, length);
		return;
	}
	n = nrt_args_find(nc, req->rq_xdrs, what, length, iov, &at);
	req->rq_cksum = call_checksum(nc, iov, n);
	nrt_client_call(nc, req->rq_xdrs, what, length);
	nrt_bound_check(nc, req->rq_xdrs, what, length);
	nrt_withheld_check(nc, req->rq_xdrs, what, length);
	nrt_lend_args(nc, req);
	nrt_read_offer(nc);
}
