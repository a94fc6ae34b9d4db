/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tsc - how many thousand times a second this processor's clock ticks
 *
 * For tests/vm/run: an emulated processor has the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Both clocks at one moment: whatever comes between the two is seen. */
static void look(uint64_t *ns, uint64_t *ticks)
{
	uint64_t after;

	for (int i = 0; i < 1000; i++) {
		*ns = now();
		*ticks = __rdtsc();
		after = now();
		if (after - *ns < 2000)
			break;
	}
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };
	uint64_t ns, ticks, ns_then, ticks_then;

	look(&ns, &ticks);
	nanosleep(&pause, NULL);
	look(&ns_then, &ticks_then);
	printf("%llu\n", (unsigned long long)((ticks_then - ticks) * 1000000 /
					      (ns_then - ns)));
	return 0;
}
