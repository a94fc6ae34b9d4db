/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holder - which process has a port
 *
 * As /proc tells, where this process may read it. Nothing here keeps state. Threads:
 * any.
 */
#ifndef RPCRDMA_GANESHA_HOLDER_H
#define RPCRDMA_GANESHA_HOLDER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

struct gr_holder {
	enum {
		GR_HELD_UNKNOWN, /* not seen from here */
		GR_HELD_PROCESS,
		GR_HELD_KERNEL, /* by no process: the kernel itself, as its NFS server */
	} by;
	pid_t pid;
	char name[64]; /* of its program */
};

/* Who has @at, or what nobody else can have it beside, over UDP or TCP, where only who
 * listens counts? Fills @h. @proc: where that file system is. */
void gr_holder_find(const char *proc, const struct sockaddr_storage *at,
		    bool udp, struct gr_holder *h);

#endif /* RPCRDMA_GANESHA_HOLDER_H */
