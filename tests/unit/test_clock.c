/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "test_clock.h"

#define START_MS 1000000

/* 0: it is not held. */
static _Atomic uint64_t held_ms;

/* The linker puts the first in the place of clock_gettime(), --wrap. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ms = held_ms;

	if (!ms)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(ms / 1000);
	ts->tv_nsec = (long)(ms % 1000) * 1000000;
	return 0;
}

void test_clock_hold(void)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&held_ms, &none, START_MS);
}

void test_clock_release(void)
{
	held_ms = 0;
}

void test_clock_pass(unsigned int ms)
{
	held_ms += ms;
}
