/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ping - the command line of rpcrdma-ping
 */
#ifndef RPCRDMA_TOOLS_PING_H
#define RPCRDMA_TOOLS_PING_H

#include "tools/rdma_options.h"

enum {
	EXIT_ALL = 0, /* every Call was answered with success */
	EXIT_SOME = 1, /* not so */
	EXIT_USAGE = 2,
	EXIT_NO_CONN = 3, /* no connection */
};

struct ping_options {
	struct rdma_options rdma;
	uint32_t program, version, proc;
	uint64_t count; /* 0: until a signal */
	uint64_t interval_ms, timeout_ms;
	unsigned int depth;
	bool version_given, flood, json, quiet, verbose;
};

/* Fills @o. A negative number, or the status to exit with at once. */
int ping_options(struct ping_options *o, int argc, char **argv);

#endif /* RPCRDMA_TOOLS_PING_H */
