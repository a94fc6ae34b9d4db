/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * change - arguments that Ganesha is shown otherwise, and results put right
 *
 * Threads: the worker that runs the request.
 */
#ifndef RPCRDMA_NTIRPC_CHANGE_H
#define RPCRDMA_NTIRPC_CHANGE_H

#include "ntirpc/call.h"

/*
 * Where the arguments of @nc are, of which the decoder is given @length octets at
 * @what; @at is set to where they begin in @iov, which has RT_MAX_PIECES. The
 * number of stretches.
 */
unsigned int nrt_args_look(const struct nrt_call *nc, XDR *xdrs, void *what,
			   size_t length, struct iovec *iov, size_t *at);
/* Write @len octets over those at @at. */
void nrt_args_put(const struct iovec *iov, unsigned int n, size_t at,
		  const void *octets, size_t len);
/* Do the results in @xdrs, from @at on, end with the operation @op, the number
 * @index, and @status? */
bool nrt_results_end(XDR *xdrs, u_int at, unsigned int index, uint32_t op,
		     uint32_t status);

#endif /* RPCRDMA_NTIRPC_CHANGE_H */
