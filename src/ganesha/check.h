/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - what the launcher asks the library
 */
#ifndef RPCRDMA_GANESHA_CHECK_H
#define RPCRDMA_GANESHA_CHECK_H

#include <stdbool.h>
#include <stdio.h>

struct gsh_config;

/*
 * For --check-config: print to @out what the block RDMA of @tree means, which
 * was read from @path. False: RDMA is not served with it, and Ganesha's log or
 * standard error says why. *@served: true, unless there is no block, which is no
 * fault. *@complaints: how many lines there were to say of
 * it. Main thread.
 */
bool rpcrdma_ganesha_check(struct gsh_config *tree, const char *path, FILE *out,
			   bool *served, unsigned int *complaints);

#define RPCRDMA_STATE 640
/* How it is with RDMA, as one line. When Ganesha has started. */
void rpcrdma_ganesha_state(char text[RPCRDMA_STATE]);

#endif /* RPCRDMA_GANESHA_CHECK_H */
