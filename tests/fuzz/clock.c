/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "clock.h"

uint64_t fuzz_clock_ms = 1000000;

/* The linker puts this in the place of clock_gettime(), --wrap. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	ts->tv_sec = (time_t)(fuzz_clock_ms / 1000);
	ts->tv_nsec = (long)(fuzz_clock_ms % 1000) * 1000000;
	return 0;
}
