/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ds - the DS blocks, of pNFS: what keeps Ganesha from starting
 *
 * Threads: Ganesha's main thread.
 */
#ifndef RPCRDMA_GANESHA_DS_H
#define RPCRDMA_GANESHA_DS_H

#include "ganesha/bind/gsh.h"

/* Of @tree, which stays as it is. False: it would not start, and it has been said
 * why. */
bool gr_ds_check(const struct gsh *g, struct gsh_config *tree);

#endif /* RPCRDMA_GANESHA_DS_H */
