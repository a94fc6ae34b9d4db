/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "test_clock.h"

#define START_US 1000000000

/* 0: it is not held. */
static _Atomic uint64_t held_us;

/* The linker puts the first in the place of clock_gettime(), --wrap. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t us = held_us;

	if (!us)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(us / 1000000);
	ts->tv_nsec = (long)(us % 1000000) * 1000;
	return 0;
}

void test_clock_hold(void)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&held_us, &none, START_US);
}

void test_clock_release(void)
{
	held_us = 0;
}

void test_clock_pass(unsigned int ms)
{
	held_us += 1000ull * ms;
}

void test_clock_pass_us(unsigned int us)
{
	held_us += us;
}
