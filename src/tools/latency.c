/* SPDX-License-Identifier: BSD-3-Clause */
/* latency - a histogram of durations with percentiles */
#include "tools/latency.h"

#include <string.h>
#include <sys/param.h>

void lat_init(struct latency *l)
{
	memset(l, 0, sizeof(*l));
	l->min = UINT64_MAX;
}

/* Values under LAT_STEPS have a bucket each; above, the top 7 bits count. */
static unsigned int lat_index(uint64_t ns)
{
	unsigned int log, i;

	if (ns < LAT_STEPS)
		return (unsigned int)ns;
	log = 63 - (unsigned int)__builtin_clzll(ns);
	i = (log - 5) * LAT_STEPS + (unsigned int)(ns >> (log - 6)) - LAT_STEPS;
	return i < LAT_BUCKETS ? i : LAT_BUCKETS - 1;
}

/* The largest value that falls into bucket @i. */
static uint64_t lat_top(unsigned int i)
{
	unsigned int shift;

	if (i < LAT_STEPS)
		return i;
	shift = i / LAT_STEPS - 1;
	return ((uint64_t)(i % LAT_STEPS + LAT_STEPS + 1) << shift) - 1;
}

void lat_add(struct latency *l, uint64_t ns)
{
	l->count++;
	l->sum += ns;
	l->min = MIN(l->min, ns);
	l->max = MAX(l->max, ns);
	l->bucket[lat_index(ns)]++;
}

uint64_t lat_at(const struct latency *l, unsigned int permille)
{
	uint64_t want, seen = 0;

	if (!l->count)
		return 0;
	want = (l->count * permille + 999) / 1000;
	if (!want)
		return l->min;
	for (unsigned int i = 0; i < LAT_BUCKETS; i++) {
		seen += l->bucket[i];
		if (seen >= want) {
			uint64_t top = lat_top(i);

			return MIN(top, l->max);
		}
	}
	return l->max;
}

uint64_t lat_avg(const struct latency *l)
{
	return l->count ? l->sum / l->count : 0;
}
