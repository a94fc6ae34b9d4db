/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - kinds of Calls that are run by no more workers than there are processors
 *
 * Threads that write at once may lose a sample, which does no harm.
 */
#include "ganesha/serve/limit.h"

#include <sys/resource.h>

#include "base/clock.h"

/* The interval of samples, and the shortest sleep that counts: many times what it costs to
 * have another worker run meanwhile. */
#define SAMPLE_NS 1000000
#define LONG_NS 300000
/* If so many of the last 16 samples slept for long, such Calls count as blocking for BLOCKS_NS. */
#define BLOCKING_SAMPLES 5
#define BLOCKS_NS 250000000

void gr_limit_init(struct gr_limit *l)
{
	for (unsigned int i = 0; i < GR_KINDS; i++) {
		atomic_init(&l->kind[i].sampled, 0);
		atomic_init(&l->kind[i].slept, 0);
		atomic_init(&l->kind[i].until, 0);
	}
}

/* Returns the voluntary context switches of this thread. To be preempted does not count. */
static long switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

void gr_limit_begin(struct gr_limit *l, unsigned int kind,
		    struct gr_sample *sample)
{
	uint64_t now = base_now_ns();

	sample->begun = 0;
	if (now - atomic_load_explicit(&l->kind[kind].sampled,
				       memory_order_relaxed) <
	    SAMPLE_NS)
		return;
	atomic_store_explicit(&l->kind[kind].sampled, now,
			      memory_order_relaxed);
	sample->switches = switches();
	sample->begun = now;
}

void gr_limit_end(struct gr_limit *l, unsigned int kind,
		  const struct gr_sample *sample)
{
	unsigned int slept;

	if (!sample->begun || gr_limit_blocks(l, kind))
		return;
	slept = atomic_load_explicit(&l->kind[kind].slept, memory_order_relaxed)
		<< 1;
	if (base_now_ns() - sample->begun > LONG_NS &&
	    switches() != sample->switches)
		slept |= 1;
	atomic_store_explicit(&l->kind[kind].slept, slept & 0xffff,
			      memory_order_relaxed);
	if (__builtin_popcount(slept & 0xffff) >= BLOCKING_SAMPLES)
		gr_limit_stuck(l, kind);
}

void gr_limit_stuck(struct gr_limit *l, unsigned int kind)
{
	atomic_store_explicit(&l->kind[kind].slept, 0, memory_order_relaxed);
	atomic_store_explicit(&l->kind[kind].until, base_now_ns() + BLOCKS_NS,
			      memory_order_relaxed);
}

bool gr_limit_blocks(const struct gr_limit *l, unsigned int kind)
{
	uint64_t until = atomic_load_explicit(&l->kind[kind].until,
					      memory_order_relaxed);

	return until && until > base_now_ns();
}
