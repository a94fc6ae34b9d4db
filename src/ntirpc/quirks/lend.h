/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lend - avoid the copy of a WRITE's data in ntirpc 4 and 5
 *
 * ntirpc before 6 decodes an opaque into memory that it allocates. A WRITE's data would
 * be copied although they are in memory of the Call, which lives long enough. (Later
 * releases take a reference: COMPAT_LENDS.) ntirpc allocates and frees through pointers
 * to functions. While the arguments of a WRITE are decoded, our allocator returns the
 * address of the octets that are about to be read, "lends" them, and our function to
 * free recognizes that address. All else goes to the original functions.
 *
 * Lent memory is read until the Call is answered or dropped. It is freed after that,
 * perhaps when the same memory is lent to another Call; either gets the right result.
 */
#ifndef RPCRDMA_NTIRPC_LEND_H
#define RPCRDMA_NTIRPC_LEND_H

#include "ntirpc/svc_call.h"

/* Replace ntirpc's functions, for as long as the program runs. Context: one thread,
 * before any Call is decoded. */
void nrt_lend_start(void);
/* Have the arguments of @nc, whose request is @req, decoded without a copy. Context:
 * the thread that decodes them next, in xp_checksum. */
void nrt_lend_args(struct nrt_call *nc, struct svc_req *req);
/* Returns how many pieces of memory are lent. Context: any thread. */
unsigned int nrt_lend_count(void);

#endif /* RPCRDMA_NTIRPC_LEND_H */
