/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * short_memory - no memory when a test says so
 *
 * Preloaded into the gateway: while the file named by SHORT_MEMORY exists,
 * calloc() has nothing between 1 and 64 KiB to give.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define LEAST 1024
#define MOST 65536

void *__libc_calloc(size_t n, size_t size);

EXPORT void *calloc(size_t n, size_t size)
{
	const char *file;

	if (n == 1 && size >= LEAST && size <= MOST) {
		file = getenv("SHORT_MEMORY");
		if (file && !access(file, F_OK)) {
			errno = ENOMEM;
			return NULL;
		}
	}
	return __libc_calloc(n, size);
}
