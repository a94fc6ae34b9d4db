/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"

#define SEC 1000000000l

uint64_t base_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

uint64_t base_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

void base_deadline(struct timespec *at, unsigned int ms)
{
	clock_gettime(CLOCK_MONOTONIC, at);
	at->tv_sec += ms / 1000;
	at->tv_nsec += (long)(ms % 1000) * 1000000;
	if (at->tv_nsec >= SEC) {
		at->tv_sec++;
		at->tv_nsec -= SEC;
	}
}
