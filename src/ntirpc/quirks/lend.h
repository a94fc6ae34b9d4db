/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lend - the data of a WRITE stay where they have come
 *
 * ntirpc 4 decodes an opaque into memory that it allocates for it, so a WRITE
 * would be copied once more although its data lie in memory of the Call's own, as
 * long as Ganesha may want. (Later releases take them from there by themselves:
 * COMPAT_LENDS.) ntirpc allocates and frees by functions that can be set. Ours
 * lend, while the arguments of such a Call are decoded, the very octets that are
 * about to be read, and know them when they are given back; all else they pass on.
 *
 * What is lent is read until the Call is answered or dropped. After that it is
 * only given back: perhaps when the same memory is already lent for another
 * Call. So who frees is not asked which of the two it was.
 */
#ifndef RPCRDMA_NTIRPC_LEND_H
#define RPCRDMA_NTIRPC_LEND_H

#include "ntirpc/call.h"

/*
 * Set ntirpc's functions, once, for as long as the program runs. Before any Call
 * is decoded, and not while another thread sets them.
 */
void nrt_lend_start(void);
/*
 * @req is that of @nc, and its arguments are about to be decoded by this thread,
 * by its rq_msg.rm_xdr. From its xp_checksum operation.
 */
void nrt_lend_args(struct nrt_call *nc, struct svc_req *req);
/* So much is lent. Any thread. */
unsigned int nrt_lend_count(void);

#endif /* RPCRDMA_NTIRPC_LEND_H */
