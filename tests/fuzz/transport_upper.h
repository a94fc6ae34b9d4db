/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport_upper - the upper layer of the transport's end: it answers the
 * Calls that were held, and makes Calls of its own
 *
 * Threads: one.
 */
#ifndef RPCRDMA_FUZZ_TRANSPORT_UPPER_H
#define RPCRDMA_FUZZ_TRANSPORT_UPPER_H

#include "fuzz.h"
#include "rt_raw.h"

#define UPPER_RPCS 24

struct upper {
	struct rt_rpc rpc[UPPER_RPCS];
	unsigned int n;
	uint32_t next_xid;
};

/* Give back one Call, the newest or the oldest, by a Reply or without. */
void upper_answer(struct rt_pair *p, struct fuzz_in *in);
/* Make a Call to the peer, if there is a connection. */
void upper_call(struct upper *u, struct rt_pair *p, struct fuzz_in *in);
/*
 * A message of xcharext for it, of the type that @kind's low bits say: mostly
 * right, with some values that cannot be. Its length.
 */
size_t upper_xchar(struct fuzz_in *in, uint8_t kind, uint32_t xid,
		   uint32_t credit, uint8_t *buf, size_t size);
/* The connection has ended: all of its Calls have been completed, once. */
void upper_check(struct upper *u);

#endif /* RPCRDMA_FUZZ_TRANSPORT_UPPER_H */
