/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewrite - change a Call's arguments before Ganesha decodes them, and its results
 *
 * ntirpc calls xp_checksum right before it decodes the arguments, after RPCSEC_GSS has verified
 * and decrypted them. Results are changed as soon as they are encoded, before RPCSEC_GSS
 * protects them.
 *
 * Context: the worker that runs the Call.
 */
#ifndef RPCRDMA_NTIRPC_REWRITE_H
#define RPCRDMA_NTIRPC_REWRITE_H

#include "ntirpc/svc_call.h"

/*
 * Find the arguments of @nc: what @xdrs has from its position on if @what is there,
 * else the @length octets at @what. Sets @iov, of RT_MAX_PIECES entries, and @at, where
 * they begin in it. Returns the number of entries.
 */
unsigned int nrt_args_find(const struct nrt_call *nc, XDR *xdrs, void *what,
			   size_t length, struct iovec *iov, size_t *at);
/* Overwrite @len octets at offset @at of @iov. */
void nrt_args_write(const struct iovec *iov, unsigned int n, size_t at,
		    const void *octets, size_t len);
/* Returns true if the COMPOUND results in @xdrs, from position @at on, end with
 * operation number @index, and that is @op with @status. */
bool nrt_results_end_with(XDR *xdrs, u_int at, unsigned int index, uint32_t op,
			  uint32_t status);

#endif /* RPCRDMA_NTIRPC_REWRITE_H */
