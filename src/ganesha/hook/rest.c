/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rest - a thread that has malloc give back what is free
 *
 * The C library gives back only what is free at the end of an arena. Between
 * what is in use there may be hundreds of megabytes, that were needed at once at
 * some time, by Calls of many connections or by Replies that waited. To look for
 * that costs time, and so does to get it again, page by page. So it is done when
 * the processors have little to do for this process, once after each time that
 * they had more; and where they always have, or never, now and then if it is much.
 *
 * Threads: its own, which touches nothing but malloc.
 */
#include "ganesha/hook/rest.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

/* Processor time in one second, ms: at rest it takes less, at work more. */
#define REST_MS 20
/* At rest for so many seconds. */
#define REST_SECONDS 2
/* Still at rest, where connections end one by one: looked at once in so many seconds,
 * and given back if so much more is free. */
#define IDLE_SECONDS 10
#define IDLE_FREE ((size_t)8 << 20)
/* At work: looked at once in so many seconds, and given back if so much is
 * free. */
#define WORK_SECONDS 60
#define WORK_FREE ((size_t)256 << 20)

static uint64_t processor_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Is much free that was not at *@least, the least of the times it was looked at? */
static bool more_is_free(size_t *least)
{
	size_t n = mallinfo2().fordblks;

	if (n < *least)
		*least = n;
	return n - *least >= IDLE_FREE;
}

static void *rest_main(void *arg)
{
	unsigned int quiet = 0, working = 0;
	size_t least = 0;
	uint64_t was = processor_ms();
	bool dirty = true;

	for (;;) {
		uint64_t now, took;

		sleep(1);
		now = processor_ms();
		took = now - was;
		was = now;
		if (took >= REST_MS) {
			quiet = 0;
			dirty = true;
			if (++working < WORK_SECONDS)
				continue;
			working = 0;
			if (mallinfo2().fordblks >= WORK_FREE)
				malloc_trim(0);
		} else if (++quiet >= REST_SECONDS &&
			   (dirty || (quiet % IDLE_SECONDS == 0 &&
				      more_is_free(&least)))) {
			working = 0;
			dirty = false;
			malloc_trim(0);
			/* What has been given back still counts as free. */
			least = mallinfo2().fordblks;
			/* Not what this has taken. */
			was = processor_ms();
		}
	}
	return NULL;
}

void rest_start(void)
{
	pthread_t thread;

	if (!base_thread_start(&thread, "rest", rest_main, NULL))
		pthread_detach(thread);
}
