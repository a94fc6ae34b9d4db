/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal - what the files of this room share
 *
 *   xdr_encode.c  XDR operations that write
 *   xdr_decode.c  XDR operations that read
 *   extents.c     the extents of an encode stream
 *   xdr_ops.c     XDR operations that both share, or do not support
 *
 * ntirpc's inline putters write at x_data up to x_v.vio_wrap, the end of the current extent's
 * room, and update nothing else. So call xs_extent_settle() before you read an extent's
 * length. Only the last extent may grow. When another one follows, its room becomes its
 * length, and the rest of its buffer is the "spare", from which a later extent may be cut.
 */
#ifndef RPCRDMA_NTIRPC_STREAM_INTERNAL_H
#define RPCRDMA_NTIRPC_STREAM_INTERNAL_H

#include "ntirpc/stream/xdr_stream.h"

/* ---- extents.c ---------------------------------------------------------- */

/* A further buffer is as large as the stream so far, between these. */
#define GROW_MIN 4096
#define GROW_MAX (256u << 10)

static inline bool xs_extent_is_last(const struct xs_encode *e, unsigned int n)
{
	return n + 1 == e->next;
}

static inline void xs_extent_settle(struct xs_encode *e)
{
	struct xs_extent *x = &e->ext[e->cur];
	size_t used = (size_t)(e->xdrs.x_data - x->base);

	if (used > x->len)
		x->len = (uint32_t)used;
}

/* Returns the length of the stream. */
static inline size_t xs_extent_total(const struct xs_encode *e)
{
	const struct xs_extent *x = &e->ext[e->next - 1];

	return (size_t)x->start + x->len;
}

/* Set the position to octet @off of extent @n. */
static inline void xs_extent_enter(struct xs_encode *e, unsigned int n,
				   size_t off)
{
	const struct xs_extent *x = &e->ext[n];
	XDR *xdrs = &e->xdrs;

	e->cur = n;
	xdrs->x_data = x->base + off;
	xdrs->x_v.vio_base = x->base;
	xdrs->x_v.vio_head = x->base;
	xdrs->x_v.vio_tail = x->base + x->len;
	xdrs->x_v.vio_wrap = x->fixed ? x->base : x->base + x->room;
}

/* Note the first error. Returns false. */
static inline bool xs_encode_fail(struct xs_encode *e, int error)
{
	if (!e->error)
		e->error = error;
	return false;
}

/* Let the last extent grow no more. */
void xs_extent_freeze(struct xs_encode *e);
/*
 * Append an extent with room for @need octets in a row (0: for some), and with
 * @headroom octets before them. The position stays. Returns NULL after
 * xs_encode_fail().
 */
struct xs_extent *xs_extent_append(struct xs_encode *e, size_t need,
				   size_t headroom);
/* The current extent is full: go to the next, or append one. Returns false after
 * xs_encode_fail(). */
bool xs_extent_advance(struct xs_encode *e);

/* ---- xdr_ops.c ---------------------------------------------------------- */

/* Operations that fail: for encode streams, */
bool xs_no_getunit(XDR *xdrs, uint32_t *v);
bool xs_no_getbytes(XDR *xdrs, char *to, u_int len);
/* for decode streams, */
bool xs_no_putunit(XDR *xdrs, const uint32_t v);
bool xs_no_putbytes(XDR *xdrs, const char *from, u_int len);
bool xs_no_newbuf(XDR *xdrs);
bool xs_no_allochdrs(XDR *xdrs, u_int pos, xdr_vio *vec, int n);
/* and for both. */
bool xs_no_bufs(XDR *xdrs, xdr_uio *uio, u_int flags);

/* Set @base and @len to contiguous memory number @n of the stream, from 0. Returns false if there
 * is none. */
typedef bool (*xs_span_fn)(const XDR *xdrs, unsigned int n, uint8_t **base,
			   size_t *len);
/*
 * Fill @vec, unless it is NULL, with the memory that holds positions @pos to @pos + @want, where
 * RPCSEC_GSS wraps and unwraps in place. Returns the number of entries; -1 if the stream is
 * shorter.
 */
int xs_walk(const XDR *xdrs, xs_span_fn span, size_t pos, size_t want,
	    xdr_vio *vec);

#endif /* RPCRDMA_NTIRPC_STREAM_INTERNAL_H */
