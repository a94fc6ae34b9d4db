/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * near - what an administrator may have meant in ganesha.conf
 */
#ifndef RPCRDMA_GANESHA_NEAR_H
#define RPCRDMA_GANESHA_NEAR_H

#include <stdbool.h>
#include <stdio.h>

typedef void near_fn(void *ctx, const char *text);

/* The block whose name is nearly @name: one that is read here, or one of Ganesha's.
 * NULL: @name is one, or is like none. */
const char *near_name(const char *name);
/* What the text of a file has, whatever a parser makes of it. */
struct near_text {
	bool block; /* an RDMA block */
	bool required; /* with Required = true */
	unsigned int open_line; /* where a block begins that does not end, or 0 */
	char open[64]; /* its name */
};
/*
 * Tell, a line for each, what in the file @path looks as if it was meant
 * otherwise; with @tell NULL only look at its @text. How many lines that was; 0
 * also where it cannot be read.
 */
unsigned int near_look(const char *path, near_fn *tell, void *ctx,
		       struct near_text *text);
/* Is a part of that line in a block that is read here? */
bool near_inside(const char *path, unsigned int line);

#endif /* RPCRDMA_GANESHA_NEAR_H */
