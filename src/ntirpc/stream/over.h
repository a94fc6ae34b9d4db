/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * over - a stream that takes and has nothing
 *
 * Threads: any.
 */
#ifndef RPCRDMA_NTIRPC_STREAM_OVER_H
#define RPCRDMA_NTIRPC_STREAM_OVER_H

#include "ntirpc/stream/stream.h"

/* For what is XDR_DESTROYed while others still may look at it. */
extern const XDR nrt_over_stream;

/* What a stream that is only written refuses, */
bool nrt_over_getunit(XDR *xdrs, uint32_t *v);
bool nrt_over_getbytes(XDR *xdrs, char *to, u_int len);
/* one that is only read, */
bool nrt_over_putunit(XDR *xdrs, const uint32_t v);
bool nrt_over_putbytes(XDR *xdrs, const char *from, u_int len);
bool nrt_over_newbuf(XDR *xdrs);
bool nrt_over_allochdrs(XDR *xdrs, u_int pos, xdr_vio *vec, int n);
/* and either. */
bool nrt_over_bufs(XDR *xdrs, xdr_uio *uio, u_int flags);

#endif /* RPCRDMA_NTIRPC_STREAM_OVER_H */
