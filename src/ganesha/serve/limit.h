/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - which Calls are run by no more workers than there are processors
 *
 * A Call that only computes gains nothing from a worker more than there are
 * processors: that one takes a processor from one that runs, and both take turns at
 * the same locks. A Call that blocks, for a disk or another server, is not limited:
 * the more of them wait at once the better. Which is which is measured, by kind
 * of Call: one in a millisecond is looked at, whether its thread has slept for long.
 * If many have, Calls of that kind block, for a while; then they are measured again,
 * because too many workers make each other sleep.
 *
 * Threads: any.
 */
#ifndef RPCRDMA_GANESHA_LIMIT_H
#define RPCRDMA_GANESHA_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Kinds of Calls, by how long they take: the caller's numbers. */
#define GR_KINDS 16

struct gr_limit {
	struct {
		_Atomic uint64_t looked; /* when one was last looked at, ns */
		atomic_uint slept; /* a bit for each of the last ones */
		_Atomic uint64_t until; /* they block, ns; or 0 */
	} kind[GR_KINDS];
};

/* One Call of a kind that is looked at. */
struct gr_look {
	uint64_t begun; /* ns; 0: it is not */
	long switches; /* of its thread, of its own will */
};

void gr_limit_init(struct gr_limit *l);
/* Around a Call of @kind, on its thread. */
void gr_limit_begin(struct gr_limit *l, unsigned int kind,
		    struct gr_look *look);
void gr_limit_end(struct gr_limit *l, unsigned int kind,
		  const struct gr_look *look);
/* Calls of @kind hold up others now. */
void gr_limit_stuck(struct gr_limit *l, unsigned int kind);
/* Do Calls of @kind block? */
bool gr_limit_blocks(const struct gr_limit *l, unsigned int kind);

#endif /* RPCRDMA_GANESHA_LIMIT_H */
