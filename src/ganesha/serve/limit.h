/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - kinds of Calls that are run by no more workers than there are processors
 *
 * Calls that only compute gain nothing from more workers than there are processors: these
 * would compete for the processors and the same locks. Calls that block, for a disk or
 * another server, are not limited, as it is better if more of them wait at once. This is
 * measured for each kind of Call: every millisecond one Call is sampled for whether its thread
 * slept for long. If many did, Calls of that kind count as blocking for a while. Then they are
 * measured again, because too many workers make each other sleep.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_LIMIT_H
#define RPCRDMA_GANESHA_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Kinds of Calls: numbers of the caller's below this one. */
#define GR_KINDS 16

struct gr_limit {
	struct {
		_Atomic uint64_t sampled; /* when the last one was, ns */
		atomic_uint slept; /* a bit for each of the last samples */
		_Atomic uint64_t until; /* they count as blocking, ns; or 0 */
	} kind[GR_KINDS];
};

/* One Call, which may be a sample of its kind. */
struct gr_sample {
	uint64_t begun; /* ns; 0: it is not sampled */
	long switches; /* voluntary context switches of its thread before */
};

void gr_limit_init(struct gr_limit *l);
/* Call these before and after a Call of @kind, on its thread. */
void gr_limit_begin(struct gr_limit *l, unsigned int kind,
		    struct gr_sample *sample);
void gr_limit_end(struct gr_limit *l, unsigned int kind,
		  const struct gr_sample *sample);
/* Let Calls of @kind count as blocking from now on, for a while. */
void gr_limit_stuck(struct gr_limit *l, unsigned int kind);
/* Returns true if Calls of @kind count as blocking. */
bool gr_limit_blocks(const struct gr_limit *l, unsigned int kind);

#endif /* RPCRDMA_GANESHA_LIMIT_H */
