/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream - ntirpc's XDR over the pieces of a payload stream
 *
 * struct nrt_decode reads a Call (or a Reply) where the transport has put it.
 * struct nrt_encode writes a Reply (or a Call) into registered pool buffers
 * and keeps the buffers given to xdr_putbufs() by reference.
 *
 * Both begin with their XDR, and neither allocates anything but pool buffers.
 * A stream is used by one thread at a time.
 */
#ifndef RPCRDMA_NTIRPC_STREAM_STREAM_H
#define RPCRDMA_NTIRPC_STREAM_STREAM_H

#include <sys/uio.h>

#include <rpc/rpc.h>

#include "rpcrdma/pool.h"
#include "rpcrdma/call.h"

/* ---- Messages --------------------------------------------------------- */

/*
 * The C library still exports _null_auth, xdr_void() and _seterr_reply() of its old RPC,
 * whose structures differ. The server's library is not linked with ntirpc, so the loader
 * would find those: use neither them nor rpc_msg_init(), which needs two of them.
 */

/* An xdrproc_t: no arguments or results. */
static inline bool nrt_xdr_nothing(XDR *xdrs, void *nothing)
{
	(void)xdrs;
	(void)nothing;
	return true;
}

/* Prepare @msg for decoding. The results of a Reply are left where they are. */
static inline void nrt_msg_init(struct rpc_msg *msg)
{
	struct accepted_reply *reply = &msg->RPCM_ack;

	reply->ar_verf.oa_flavor = AUTH_NONE;
	reply->ar_verf.oa_length = 0;
	reply->ar_results.proc = nrt_xdr_nothing;
	reply->ar_results.where = NULL;
}

/* ---- Decoding --------------------------------------------------------- */

struct nrt_decode {
	XDR xdrs; /* first */
	const struct rt_piece *pieces;
	unsigned int npieces;
	unsigned int cur; /* piece that x_data is in */
	size_t start; /* stream position where it begins */
	size_t len; /* of the whole stream */
	void (*destroyed)(struct nrt_decode *d);
};

/*
 * Read @pieces, which stay the caller's. @destroyed (may be NULL) is called by
 * the first XDR_DESTROY, and only by it, on that thread; @d may be gone when
 * it returns.
 */
void nrt_decode_init(struct nrt_decode *d, const struct rt_piece *pieces,
		     unsigned int npieces,
		     void (*destroyed)(struct nrt_decode *d));
/* Is this a decode stream of ours? NULL if not. */
struct nrt_decode *nrt_decode_of(XDR *xdrs);
/* Copy up to @len octets from the present position without moving it. */
size_t nrt_decode_peek(const struct nrt_decode *d, void *to, size_t len);
/* What is left from the present position on, in at most RT_MAX_PIECES. */
unsigned int nrt_decode_rest(const struct nrt_decode *d, struct iovec *iov);

/* ---- Encoding --------------------------------------------------------- */

/*
 * A stretch of an encode stream: of a pool buffer or of a uio. Only the last
 * one has room for more than is in it.
 */
struct nrt_extent {
	uint8_t *base;
	uint32_t start; /* stream position */
	uint32_t len; /* used; of the current one, see also x_data */
	uint32_t room;
	uint32_t headroom; /* free octets before base */
	struct fab_buf *buf; /* owned; NULL: a uio's, or shared (see spare) */
	struct fab_mr *mr;
	struct xdr_uio *uio; /* one reference is ours */
	bool fixed; /* of a uio: nothing may be put into it */
};

struct nrt_encode {
	XDR xdrs; /* first */
	struct fab_pool *pool;
	size_t max; /* longest stream */
	size_t beside; /* octets of uios that may come on top */
	unsigned int next; /* extents in use */
	unsigned int cur; /* extent that x_data is in */
	int error; /* -EMSGSIZE, -ENOMEM, -EINVAL: nothing more is put */
	bool open; /* the last extent may grow; spare is its base */
	/* What is left of the last pool buffer behind its extents. */
	uint8_t *spare;
	size_t spare_len;
	struct fab_mr *spare_mr;
	unsigned int promised; /* buffers that were */
	size_t copied; /* uio octets copied for want of extents */
	const struct fab_buf *read_buffer;
	struct nrt_extent ext[RT_MAX_PIECES];
	struct rt_piece pieces[RT_MAX_PIECES];
};

/*
 * An empty stream of at most @max octets. 0 or -ENOMEM. XDR_DESTROY on it is
 * the same as nrt_encode_release().
 */
int nrt_encode_init(struct nrt_encode *e, struct fab_pool *pool, size_t max);
/*
 * So many octets by reference, which take no buffer, may come beside @max: what
 * can be placed in Write chunks. Before anything is put.
 */
void nrt_encode_beside(struct nrt_encode *e, size_t octets);
/*
 * The FSAL was given @buf (may be NULL) for the data of a READ: a uio of what is there is
 * sent as registered memory, and released at once. @buf stays the caller's, who keeps it
 * until the stream has been released. Before anything is put.
 */
void nrt_encode_read_buffer(struct nrt_encode *e, const struct fab_buf *buf);
/* Is this an encode stream of ours? NULL if not. */
struct nrt_encode *nrt_encode_of(XDR *xdrs);
/* Drop all that was put, buffers and uios too, and begin again. */
int nrt_encode_restart(struct nrt_encode *e);
/*
 * The stream as pieces, in e->pieces, until the stream is released or
 * restarted. Returns their number, or the error that putting has met:
 * -EMSGSIZE, -ENOMEM, or -EINVAL for a misuse.
 * The stream ends where it is longest, wherever the position is.
 */
int nrt_encode_pieces(struct nrt_encode *e, size_t *len);
/*
 * What has been put from position @at on, while more may be put: the first @n
 * stretches of it at most. Their number.
 */
unsigned int nrt_encode_look(struct nrt_encode *e, size_t at, struct iovec *iov,
			     unsigned int n);
/* Change a word that has been put. */
bool nrt_put_at(XDR *xdrs, u_int at, uint32_t word);
/* Give the buffers back and release the uios. Any thread; idempotent. */
void nrt_encode_release(struct nrt_encode *e);

#endif /* RPCRDMA_NTIRPC_STREAM_STREAM_H */
