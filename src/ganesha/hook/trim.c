/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trim - a thread that calls malloc_trim()
 *
 * The C library by itself returns only the free end of an arena. Between blocks in use there
 * may be hundreds of megabytes, which the Calls of many connections, or Replies that waited,
 * needed at one time. malloc_trim() and page faults for returned pages cost time. So trim
 * once after each busy period, when the process has become idle; and once in a while in a
 * process that stays idle, or stays busy, if much memory is free.
 */
#include "ganesha/hook/trim.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

/* Processor time in one second, ms: an idle process takes less. */
#define IDLE_MS 20
/* Trim after so many idle seconds. */
#define TRIM_SECONDS 2
/* While the process stays idle, connections may still end: trim at this interval if so much
 * more is free than after the last time. */
#define IDLE_SECONDS 10
#define IDLE_FREE ((size_t)8 << 20)
/* While it stays busy: trim at this interval if so much is free. */
#define BUSY_SECONDS 60
#define BUSY_FREE ((size_t)256 << 20)

static uint64_t processor_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Returns true if IDLE_FREE more is free than *@least, which is lowered if less is free. */
static bool more_is_free(size_t *least)
{
	size_t n = mallinfo2().fordblks;

	if (n < *least)
		*least = n;
	return n - *least >= IDLE_FREE;
}

static void *trim_main(void *arg)
{
	unsigned int idle = 0, busy = 0;
	size_t least = 0;
	uint64_t was = processor_ms();
	bool dirty = true;

	for (;;) {
		uint64_t now, took;

		sleep(1);
		now = processor_ms();
		took = now - was;
		was = now;
		if (took >= IDLE_MS) {
			idle = 0;
			dirty = true;
			if (++busy < BUSY_SECONDS)
				continue;
			busy = 0;
			if (mallinfo2().fordblks >= BUSY_FREE)
				malloc_trim(0);
		} else if (++idle >= TRIM_SECONDS &&
			   (dirty || (idle % IDLE_SECONDS == 0 &&
				      more_is_free(&least)))) {
			busy = 0;
			dirty = false;
			malloc_trim(0);
			/* Trimmed memory still counts as free. */
			least = mallinfo2().fordblks;
			/* Do not count the time that trimming took. */
			was = processor_ms();
		}
	}
	return NULL;
}

void gr_trim_start(void)
{
	pthread_t thread;

	if (!base_thread_start(&thread, "trim", trim_main, NULL))
		pthread_detach(thread);
}
