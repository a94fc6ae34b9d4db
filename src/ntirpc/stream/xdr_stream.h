/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_stream - ntirpc's XDR over the pieces of a payload stream
 *
 * Prefix: xs_, XDR stream. struct xs_decode reads a Call (or a Reply) where the
 * transport has put it. struct xs_encode writes a Reply (or a Call) into registered
 * pool buffers, and keeps the buffers given to xdr_putbufs() by reference.
 *
 * Both begin with their XDR, and allocate nothing but pool buffers.
 * Context: any thread, one at a time for each stream.
 */
#ifndef RPCRDMA_NTIRPC_XDR_STREAM_H
#define RPCRDMA_NTIRPC_XDR_STREAM_H

#include <sys/uio.h>

#include <rpc/rpc.h>

#include "rpcrdma/pool.h"
#include "rpcrdma/call.h"

/* ---- Messages --------------------------------------------------------- */

/*
 * Do not use _null_auth, xdr_void(), _seterr_reply(), or rpc_msg_init(), which needs two of these.
 * The C library still exports those of its old RPC, whose structures differ. The loader would
 * find them, because the server's library is not linked with ntirpc.
 */

/* An xdrproc_t: no arguments or results. */
static inline bool xs_void(XDR *xdrs, void *nothing)
{
	(void)xdrs;
	(void)nothing;
	return true;
}

/* Prepare @msg for decoding. The results of a Reply are left where they are. */
static inline void xs_msg_init(struct rpc_msg *msg)
{
	struct accepted_reply *reply = &msg->RPCM_ack;

	reply->ar_verf.oa_flavor = AUTH_NONE;
	reply->ar_verf.oa_length = 0;
	reply->ar_results.proc = xs_void;
	reply->ar_results.where = NULL;
}

/* ---- Decoding --------------------------------------------------------- */

struct xs_decode {
	XDR xdrs; /* first */
	const struct rt_piece *pieces;
	unsigned int npieces;
	unsigned int cur; /* the piece that x_data is in */
	size_t start; /* the stream position where it begins */
	size_t len; /* of the whole stream */
	void (*destroyed)(struct xs_decode *d);
};

/*
 * Read @pieces, which stay the caller's. The first XDR_DESTROY, and no other, calls
 * @destroyed (may be NULL), which may free @d.
 */
void xs_decode_init(struct xs_decode *d, const struct rt_piece *pieces,
		    unsigned int npieces,
		    void (*destroyed)(struct xs_decode *d));
/* Returns NULL if @xdrs is not a decode stream of ours. */
struct xs_decode *xs_decode_of(XDR *xdrs);
/* Set @iov, of RT_MAX_PIECES entries, to what follows the position. Returns the
 * number of entries. */
unsigned int xs_decode_rest(const struct xs_decode *d, struct iovec *iov);

/* ---- Encoding --------------------------------------------------------- */

/* A stretch of an encode stream: in a pool buffer, or of a uio. Only the last may
 * have room for more than is in it. */
struct xs_extent {
	uint8_t *base;
	uint32_t start; /* stream position */
	uint32_t len; /* of the current one: see xs_extent_settle() */
	uint32_t room;
	uint32_t headroom; /* free octets before base */
	struct fab_buf *buf; /* owned; NULL: of a uio, or another extent's */
	struct fab_mr *mr;
	struct xdr_uio *uio; /* a reference */
	bool fixed; /* of a uio: not to be written */
};

struct xs_encode {
	XDR xdrs; /* first */
	struct fab_pool *pool;
	size_t max; /* the longest stream, without extra */
	size_t extra; /* octets of uios that may come on top of max */
	unsigned int next; /* extents in use */
	unsigned int cur; /* the extent that x_data is in */
	int error; /* -EMSGSIZE, -ENOMEM, -EINVAL: nothing more is put */
	bool open; /* the last extent may grow; spare is its base */
	/* The rest of the last pool buffer, behind its extents. */
	uint8_t *spare;
	size_t spare_len;
	struct fab_mr *spare_mr;
	unsigned int promised; /* buffers taken of what is promised */
	size_t copied; /* octets of uios, for want of extents */
	struct fab_sge read_buffer; /* no address: none */
	struct xs_extent ext[RT_MAX_PIECES];
	struct rt_piece pieces[RT_MAX_PIECES];
};

/* Begin an empty stream of at most @max octets. XDR_DESTROY is the same as
 * xs_encode_release(). Returns 0 or -ENOMEM. */
int xs_encode_init(struct xs_encode *e, struct fab_pool *pool, size_t max);
/* Let @octets come on top of max by reference, which take no buffer: what Write
 * chunks can take. Call it before anything is put. */
void xs_encode_allow_extra(struct xs_encode *e, size_t octets);
/*
 * The FSAL was given the memory @buf for the data of a READ: a uio of it is sent as registered
 * memory. Call it before anything is put.
 */
void xs_encode_set_read_buffer(struct xs_encode *e, const struct fab_sge *buf);
/* Returns NULL if @xdrs is not an encode stream of ours. */
struct xs_encode *xs_encode_of(XDR *xdrs);
/* Release all that was put, and begin again. Returns 0 or -ENOMEM. */
int xs_encode_restart(struct xs_encode *e);
/*
 * Set e->pieces to the whole stream, wherever the position is, and @len to its
 * length. They are valid until it is released or restarted. Returns the number of
 * pieces, or the error of a put: -EMSGSIZE, -ENOMEM, or -EINVAL for a misuse.
 */
int xs_encode_pieces(struct xs_encode *e, size_t *len);
/* Set @iov to the first @n stretches, at most, from position @at on. More may be
 * put afterwards. Returns the number of stretches. */
unsigned int xs_encode_look(struct xs_encode *e, size_t at, struct iovec *iov,
			    unsigned int n);
/* Overwrite the word at position @at. @xdrs may be any XDR. Returns false if it
 * cannot be written. */
bool xs_encode_patch(XDR *xdrs, u_int at, uint32_t word);
/* Give back the buffers and uios. A second call does nothing. */
void xs_encode_release(struct xs_encode *e);

/* ---- The null stream ------------------------------------------------------ */

/* Has nothing and takes nothing. It stands for a stream that is gone while XDR_DESTROY
 * is still to come. Context: any number of threads. */
extern const XDR xs_null_stream;

#endif /* RPCRDMA_NTIRPC_XDR_STREAM_H */
