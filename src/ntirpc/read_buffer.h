/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_buffer - memory for the data of a READ that can be sent without a copy
 *
 * A provider without FAB_CAP_ANY_LOCAL sends only registered memory. For it, the data of a
 * READ would be copied into a pool buffer. So while Ganesha executes a Call with one READ whose
 * data go by Write chunk, the memory that it allocates for them is a pool buffer. It belongs to
 * Ganesha, which frees it as any other: in most cases with the xdr_uio of the Reply. How the
 * buffer gets into Ganesha depends on the release (ganesha/hook/read_hooks.c).
 *
 * If the pool has no spare memory, Ganesha allocates its own, and the data are copied.
 */
#ifndef RPCRDMA_NTIRPC_READ_BUFFER_H
#define RPCRDMA_NTIRPC_READ_BUFFER_H

#include "ntirpc/svc_call.h"

/* Returns true if data from other memory than @pool's would have to be copied. */
bool nrt_read_copies(const struct fab_pool *pool);

/* Offer this thread a buffer for the READ of @nc, whose arguments are about to be decoded. An
 * older offer ends. */
void nrt_read_offer(struct nrt_call *nc);
/* End the offer. Call it before @nc is freed, and when Ganesha has executed it. */
void nrt_read_withdraw(void);

#define NRT_READ_ALIGN 4096

/* Returns @size octets, so aligned, for the READ that this thread executes, and sets
 * nc->read_buffer; NULL without an offer of that size, or without memory. */
void *nrt_read_get(size_t size);
/* Returns false if @p is not from nrt_read_get(). @p may be NULL. Context: any thread. */
bool nrt_read_put(void *p);
/* Returns how many buffers Ganesha has. Context: any thread. */
unsigned int nrt_read_count(void);

#endif /* RPCRDMA_NTIRPC_READ_BUFFER_H */
