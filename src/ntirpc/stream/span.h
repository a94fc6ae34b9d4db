/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * span - the x_iovcount and x_fillbufs operations of both kinds of stream
 *
 * RPCSEC_GSS wraps and unwraps in place: it asks a stream for the stretches of
 * memory that hold a range of positions.
 */
#ifndef RPCRDMA_NTIRPC_STREAM_SPAN_H
#define RPCRDMA_NTIRPC_STREAM_SPAN_H

#include <rpc/types.h>
#include <rpc/xdr.h>

/* The stretches of a stream, in order; @n counts up from 0. False: no more. */
typedef bool (*span_next)(const XDR *xdrs, unsigned int n, uint8_t **base,
			  size_t *len);

/*
 * Call for positions @pos to @pos + @want. With @vec, fills it. Returns how
 * many stretches that range has; -1 if it is not all in the stream.
 */
static inline int span_walk(const XDR *xdrs, span_next next, size_t pos,
			    size_t want, xdr_vio *vec)
{
	uint8_t *base;
	size_t len;
	int count = 0;

	for (unsigned int n = 0; want && next(xdrs, n, &base, &len); n++) {
		size_t here;

		if (pos >= len) {
			pos -= len;
			continue;
		}
		here = len - pos < want ? len - pos : want;
		if (vec) {
			xdr_vio *v = &vec[count];

			v->vio_base = base;
			v->vio_head = base + pos;
			v->vio_tail = v->vio_head + here;
			v->vio_wrap = base + len;
			v->vio_length = (uint32_t)here;
			v->vio_type = VIO_DATA;
		}
		count++;
		want -= here;
		pos = 0;
	}
	return want ? -1 : count;
}

#endif /* RPCRDMA_NTIRPC_STREAM_SPAN_H */
