/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that write at the same time may lose a sample, which does no harm.
 */
#include "ganesha/serve/blocking.h"

#include <sys/param.h>
#include <sys/resource.h>

#include "base/clock.h"

/* The interval of samples, and the shortest sleep that counts, which is many times the cost of
 * running another worker meanwhile. */
#define SAMPLE_NS 1000000
#define LONG_NS 300000
/* If so many of the last 16 samples slept for long, Calls of the kind count as blocking for
 * BLOCKS_NS. */
#define BLOCKING_SAMPLES 5
#define BLOCKS_NS 250000000
/* The mean is one of about so many Calls. Two that take very long make it GR_SHORT_NS. */
#define MEAN_OF 16

void gr_blocking_init(struct gr_blocking *l)
{
	for (unsigned int i = 0; i < GR_KINDS; i++) {
		atomic_init(&l->kind[i].sampled, 0);
		atomic_init(&l->kind[i].slept, 0);
		atomic_init(&l->kind[i].until, 0);
		atomic_init(&l->kind[i].mean, 0);
	}
}

/* Returns the voluntary context switches of this thread, without preemption. */
static long switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

void gr_blocking_begin(struct gr_blocking *l, unsigned int kind, bool small,
		       struct gr_sample *sample)
{
	uint64_t now = base_now_ns();

	sample->begun = now;
	sample->small = small;
	sample->sampled = now - atomic_load_explicit(&l->kind[kind].sampled,
						     memory_order_relaxed) >=
			  SAMPLE_NS;
	if (!sample->sampled)
		return;
	atomic_store_explicit(&l->kind[kind].sampled, now,
			      memory_order_relaxed);
	sample->switches = switches();
}

static void add_time(struct gr_blocking *l, unsigned int kind, uint64_t ns)
{
	uint64_t mean = gr_blocking_mean(l, kind);

	ns = MIN(ns, MEAN_OF * GR_SHORT_NS / 2);
	mean = mean ? (mean * (MEAN_OF - 1) + ns) / MEAN_OF : ns;
	atomic_store_explicit(&l->kind[kind].mean, mean, memory_order_relaxed);
}

void gr_blocking_end(struct gr_blocking *l, unsigned int kind,
		     const struct gr_sample *sample)
{
	uint64_t ns;
	unsigned int slept;

	if (!sample->small && !sample->sampled)
		return;
	ns = base_now_ns() - sample->begun;
	if (sample->small)
		add_time(l, kind, ns);
	if (!sample->sampled || gr_blocking_is(l, kind))
		return;
	slept = atomic_load_explicit(&l->kind[kind].slept, memory_order_relaxed)
		<< 1;
	if (ns > LONG_NS && switches() != sample->switches)
		slept |= 1;
	atomic_store_explicit(&l->kind[kind].slept, slept & 0xffff,
			      memory_order_relaxed);
	if (__builtin_popcount(slept & 0xffff) >= BLOCKING_SAMPLES)
		gr_blocking_assume(l, kind);
}

void gr_blocking_note_long(struct gr_blocking *l, unsigned int kind)
{
	atomic_store_explicit(&l->kind[kind].mean, 2 * GR_SHORT_NS,
			      memory_order_relaxed);
}

uint64_t gr_blocking_mean(const struct gr_blocking *l, unsigned int kind)
{
	return atomic_load_explicit(&l->kind[kind].mean, memory_order_relaxed);
}

void gr_blocking_assume(struct gr_blocking *l, unsigned int kind)
{
	atomic_store_explicit(&l->kind[kind].slept, 0, memory_order_relaxed);
	atomic_store_explicit(&l->kind[kind].until, base_now_ns() + BLOCKS_NS,
			      memory_order_relaxed);
}

bool gr_blocking_is(const struct gr_blocking *l, unsigned int kind)
{
	uint64_t until = atomic_load_explicit(&l->kind[kind].until,
					      memory_order_relaxed);

	return until && until > base_now_ns();
}
