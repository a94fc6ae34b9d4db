/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * later - an hour later, when a test says so
 *
 * Ganesha looks once in ten minutes for duplicate request caches that nobody has
 * come back to. This library, preloaded into the server by a test, lets an hour
 * pass for time() as soon as the file is there that RPCRDMA_TEST_LATER names.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) time_t time(time_t *to)
{
	const char *file = getenv("RPCRDMA_TEST_LATER");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (file && !access(file, F_OK))
		now.tv_sec += 3600;
	if (to)
		*to = now.tv_sec;
	return now.tv_sec;
}
