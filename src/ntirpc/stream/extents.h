/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extents - the row of extents that an encode stream is
 *
 * ntirpc's inline putters write at x_data as long as x_v.vio_wrap allows, which is
 * the end of the current extent's room; they do not tell anybody, so whoever needs
 * an extent's length first calls nrt_ext_settle(). Only the last extent may grow:
 * when another is put behind it, its room becomes its length, and what is left of
 * its buffer the "spare", from which a later extent may be cut (after a uio,
 * mostly).
 */
#ifndef RPCRDMA_NTIRPC_STREAM_EXTENTS_H
#define RPCRDMA_NTIRPC_STREAM_EXTENTS_H

#include "ntirpc/stream/stream.h"

/* Later buffers are as large as the stream so far, between these. */
#define GROW_MIN 4096
#define GROW_MAX (256u << 10)

static inline bool nrt_ext_last(const struct nrt_encode *e, unsigned int n)
{
	return n + 1 == e->next;
}

static inline void nrt_ext_settle(struct nrt_encode *e)
{
	struct nrt_extent *x = &e->ext[e->cur];
	size_t used = (size_t)(e->xdrs.x_data - x->base);

	if (used > x->len)
		x->len = (uint32_t)used;
}

static inline size_t nrt_ext_total(const struct nrt_encode *e)
{
	const struct nrt_extent *x = &e->ext[e->next - 1];

	return (size_t)x->start + x->len;
}

static inline void nrt_ext_enter(struct nrt_encode *e, unsigned int n,
				 size_t off)
{
	const struct nrt_extent *x = &e->ext[n];
	XDR *xdrs = &e->xdrs;

	e->cur = n;
	xdrs->x_data = x->base + off;
	xdrs->x_v.vio_base = x->base;
	xdrs->x_v.vio_head = x->base;
	xdrs->x_v.vio_tail = x->base + x->len;
	xdrs->x_v.vio_wrap = x->fixed ? x->base : x->base + x->room;
}

static inline bool nrt_ext_fail(struct nrt_encode *e, int error)
{
	if (!e->error)
		e->error = error;
	return false;
}

/* Nothing can be added to the last extent any more. */
void nrt_ext_freeze(struct nrt_encode *e);
/*
 * A new last extent with room for at least @need octets in a row (0: any) and
 * @headroom octets before them. The position is not moved. NULL: nrt_ext_fail() was here.
 */
struct nrt_extent *nrt_ext_append(struct nrt_encode *e, size_t need,
				  size_t headroom);
/* The current extent is full: go on with the next one or with a new one. */
bool nrt_ext_advance(struct nrt_encode *e);

#endif /* RPCRDMA_NTIRPC_STREAM_EXTENTS_H */
