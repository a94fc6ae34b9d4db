/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grace - is the grace period long enough for clients to come back in it?
 */
#ifndef RPCRDMA_GANESHA_GRACE_H
#define RPCRDMA_GANESHA_GRACE_H

#include <stdio.h>

#include "ganesha/bind/gsh.h"

/* A client that is idle may take its whole lease until it notices that the server was
 * started again. If that is longer than the grace period in block NFSv4 of @tree, @said
 * is told. For --check-config; any thread. How many lines. */
unsigned int gr_grace_check(const struct gsh *g, struct gsh_config *tree,
			    FILE *said);

#endif /* RPCRDMA_GANESHA_GRACE_H */
