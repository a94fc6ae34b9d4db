/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * near - what an administrator may have meant in ganesha.conf
 */
#ifndef RPCRDMA_GANESHA_NEAR_H
#define RPCRDMA_GANESHA_NEAR_H

#include <stdbool.h>
#include <stdio.h>

typedef void near_fn(void *ctx, const char *text);

/* Is it nearly the name of a block that is read here, but not one? */
bool near_name(const char *name);
/*
 * Tell, a line for each, what in the file @path looks as if it was meant
 * otherwise. How many that was; 0 also where it cannot be read.
 */
unsigned int near_look(const char *path, near_fn *tell, void *ctx);

#endif /* RPCRDMA_GANESHA_NEAR_H */
