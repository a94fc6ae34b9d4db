/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - which Calls are run by no more workers than there are processors
 *
 * What is written by several threads at once may lose one of their looks, which does
 * no harm.
 */
#include "ganesha/serve/limit.h"

#include <sys/resource.h>

#include "base/clock.h"

/* How often one is looked at, and which sleep is a long one: many times what it costs
 * to have another worker run meanwhile. */
#define LOOK_NS 1000000
#define LONG_NS 300000
/* So many of the last 16 have slept for long: such Calls block, for so long. */
#define MANY 5
#define BLOCKS_NS 250000000

void gr_limit_init(struct gr_limit *l)
{
	for (unsigned int i = 0; i < GR_KINDS; i++) {
		atomic_init(&l->kind[i].looked, 0);
		atomic_init(&l->kind[i].slept, 0);
		atomic_init(&l->kind[i].until, 0);
	}
}

/* How often this thread has given its processor away to wait for something. That it
 * lost it counts for nothing. */
static long switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

void gr_limit_begin(struct gr_limit *l, unsigned int kind, struct gr_look *look)
{
	uint64_t now = base_now_ns();

	look->begun = 0;
	if (now - atomic_load_explicit(&l->kind[kind].looked,
				       memory_order_relaxed) <
	    LOOK_NS)
		return;
	atomic_store_explicit(&l->kind[kind].looked, now, memory_order_relaxed);
	look->switches = switches();
	look->begun = now;
}

void gr_limit_end(struct gr_limit *l, unsigned int kind,
		  const struct gr_look *look)
{
	unsigned int slept;

	if (!look->begun || gr_limit_blocks(l, kind))
		return;
	slept = atomic_load_explicit(&l->kind[kind].slept, memory_order_relaxed)
		<< 1;
	if (base_now_ns() - look->begun > LONG_NS &&
	    switches() != look->switches)
		slept |= 1;
	atomic_store_explicit(&l->kind[kind].slept, slept & 0xffff,
			      memory_order_relaxed);
	if (__builtin_popcount(slept & 0xffff) >= MANY)
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
