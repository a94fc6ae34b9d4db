/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rest - a thread that has malloc give back what is free
 *
 * The C library gives back only what is free at the end of an arena. Between
 * what is in use there may be hundreds of megabytes, that were needed at once at
 * some time, by Calls of many connections or by Replies that waited. To look for
 * that costs time, and so does to get it again, page by page. So it is done when
 * the processors have little to do for this process, once after each time that
 * they had more; and where they always have, now and then if it is much.
 *
 * Threads: its own, which touches nothing but malloc.
 */
#include "ganesha/rest.h"

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

static void *rest_main(void *arg)
{
	unsigned int quiet = 0, working = 0;
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
		} else if (dirty && ++quiet >= REST_SECONDS) {
			working = 0;
			dirty = false;
			malloc_trim(0);
			/* Not what this has taken. */
			was = processor_ms();
		}
	}
	return NULL;
}

void rest_start(void)
{
	pthread_t thread;

	if (!fab_thread_start(&thread, "rest", rest_main, NULL))
		pthread_detach(thread);
}
