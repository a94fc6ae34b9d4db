/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * said - what is written on stderr meanwhile
 */
#ifndef RPCRDMA_UNIT_SAID_H
#define RPCRDMA_UNIT_SAID_H

#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

/* Between said_begin() and said_end(), which follow one another. */
static char said[4096];
static int said_fd, said_stderr;

static inline void said_begin(void)
{
	fflush(stderr);
	said_stderr = dup(2);
	said_fd = memfd_create("stderr", 0);
	CU_ASSERT_FATAL(said_stderr >= 0 && said_fd >= 0);
	dup2(said_fd, 2);
}

static inline void said_end(void)
{
	ssize_t n;

	fflush(stderr);
	dup2(said_stderr, 2);
	n = pread(said_fd, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = 0;
	close(said_fd);
	close(said_stderr);
}

static inline unsigned int said_lines(void)
{
	unsigned int n = 0;

	for (const char *at = said; *at; at++)
		n += *at == '\n';
	return n;
}

/* @text is in it; else it is printed, with the @row that wanted it. */
static inline bool said_has(const char *text, size_t row)
{
	if (strstr(said, text))
		return true;
	printf("\nrow %zu: no \"%s\" in: %s\n", row, text, said);
	return false;
}

#endif /* RPCRDMA_UNIT_SAID_H */
