/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * latency - a histogram of durations with percentiles
 *
 * Fixed memory: 64 steps for each power of two nanoseconds, so that a
 * percentile is right within 1.6 per cent. One thread at a time.
 */
#ifndef RPCRDMA_TOOLS_LATENCY_H
#define RPCRDMA_TOOLS_LATENCY_H

#include <stdint.h>

#define LAT_STEPS 64
#define LAT_BUCKETS (LAT_STEPS * 42)

struct latency {
	uint64_t count, sum, min, max; /* nanoseconds */
	uint64_t bucket[LAT_BUCKETS];
};

void lat_init(struct latency *l);
void lat_add(struct latency *l, uint64_t ns);
/* The duration that @permille of the samples do not exceed; 0 if empty. */
uint64_t lat_at(const struct latency *l, unsigned int permille);
uint64_t lat_avg(const struct latency *l);

#endif /* RPCRDMA_TOOLS_LATENCY_H */
