/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - what the launcher asks the library for --check-config
 */
#ifndef RPCRDMA_GANESHA_CHECK_H
#define RPCRDMA_GANESHA_CHECK_H

#include <stdbool.h>
#include <stdio.h>

struct gsh_config;

/*
 * Print to @out what the block RDMA of @tree means. False: it is of no use,
 * and Ganesha's log or standard error says why. Main thread.
 */
bool rpcrdma_ganesha_check(struct gsh_config *tree, FILE *out);

#endif /* RPCRDMA_GANESHA_CHECK_H */
