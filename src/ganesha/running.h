/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * running - the server that runs on this machine, as its statistics tell
 *
 * For --check-config: a port that is in use may be its own. Any thread; waits for
 * GR_RUNNING_MS at most.
 */
#ifndef RPCRDMA_GANESHA_RUNNING_H
#define RPCRDMA_GANESHA_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GR_RUNNING_MS 5000

struct gr_running {
	enum {
		GR_RUNS_NONE, /* nobody answers there */
		GR_RUNS_UNKNOWN, /* it cannot be asked */
		GR_RUNS, /* it has told */
	} how;
	pid_t pid; /* 0: not seen from here */
	char *text; /* what it has told */
};

/* Ask at the socket @path, or, if nobody is there, at @other; either may be NULL or
 * empty: without @path nobody can tell. At @other only a server with the configuration
 * @file counts, or of which nobody can tell; another is a second one. Fills @r;
 * gr_running_free() afterwards. */
void gr_running_ask(struct gr_running *r, const char *path, const char *other,
		    const char *file);
/* Is @file what a server with these arguments reads, @n bytes of them, each ended by
 * a zero byte? True also if that cannot be told. */
bool gr_running_reads(const char *args, size_t n, const char *file);
/* Is process @pid, of program @name, a server with the configuration @file, or of which
 * nobody can tell? NULL: with any. */
bool gr_running_is(pid_t pid, const char *name, const char *file);
/* Does it listen at @addr, as fab_addr_name() has it, or so that nobody else can? */
bool gr_running_has(const struct gr_running *r, const char *addr);
void gr_running_free(struct gr_running *r);

#endif /* RPCRDMA_GANESHA_RUNNING_H */
