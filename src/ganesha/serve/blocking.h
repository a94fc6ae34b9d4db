/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocking - measure which kinds of Calls block, and which are short
 *
 * Calls that only compute gain nothing from more workers than there are processors, because
 * these compete for processors and locks. Of Calls that block, for a disk or another server,
 * as many as possible should wait at once. So every millisecond one Call of each kind is
 * sampled for whether its thread slept for long. If many did, that kind counts as blocking
 * for a while. Then it is measured again, because too many workers make each other sleep.
 *
 * The time of all small Calls is measured. If the mean of a kind is less than what it takes
 * to wake a few workers, a leader runs such Calls itself (leader.c). One that takes very
 * long counts for no more than eight times GR_SHORT_NS.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_BLOCKING_H
#define RPCRDMA_GANESHA_BLOCKING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Kinds of Calls are numbers below this one, which the caller chooses. */
#define GR_KINDS 16
/* A kind of Calls is short if their mean time is less. */
#define GR_SHORT_NS 100000ull

struct gr_blocking {
	struct {
		_Atomic uint64_t sampled; /* the last time, ns */
		atomic_uint slept; /* a bit for each of the last 16 samples */
		_Atomic uint64_t until; /* counts as blocking, ns; or 0 */
		_Atomic uint64_t mean; /* of the time of small Calls, ns; or 0 */
	} kind[GR_KINDS];
};

/* One Call, which may be a sample of its kind. */
struct gr_sample {
	uint64_t begun; /* ns */
	bool small; /* its time counts */
	bool sampled; /* for sleep, too: */
	long switches; /* voluntary context switches of its thread before */
};

void gr_blocking_init(struct gr_blocking *l);
/* Call these before and after a Call of @kind, on its thread. */
void gr_blocking_begin(struct gr_blocking *l, unsigned int kind, bool small,
		       struct gr_sample *sample);
void gr_blocking_end(struct gr_blocking *l, unsigned int kind,
		     const struct gr_sample *sample);
/* Let @kind count as blocking for a while. */
void gr_blocking_assume(struct gr_blocking *l, unsigned int kind);
/* Returns true if @kind counts as blocking. */
bool gr_blocking_is(const struct gr_blocking *l, unsigned int kind);

/* A Call of @kind takes very long: until the mean of others says otherwise, the kind is not short. */
void gr_blocking_note_long(struct gr_blocking *l, unsigned int kind);
/* Returns the mean time of small Calls of @kind, ns, or 0 if it is not known. */
uint64_t gr_blocking_mean(const struct gr_blocking *l, unsigned int kind);

#endif /* RPCRDMA_GANESHA_BLOCKING_H */
