/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock - the time that all deadlines are of
 *
 * Threads: any.
 */
#include <time.h>

#include "base/clock.h"

uint64_t fab_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}
