/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text - find RDMA blocks in the text of ganesha.conf
 *
 * Ganesha's parser drops what it cannot read, and ignores blocks with unknown names. This
 * scanner sees them. It reads comments, quotes and braces as the parser does, but no
 * included files. The launcher uses it, too, so it needs the C library alone.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_TEXT_H
#define RPCRDMA_GANESHA_TEXT_H

#include <stdbool.h>

struct gr_text {
	bool rdma; /* there is an RDMA block */
	bool required; /* which has Required = true */
	/* The line of the first closing brace without a block, or else of the block without
	 * one; 0: all braces match. */
	unsigned int brace_line;
	/* The first block whose name is almost RDMA or RDMA_Debug; 0: none. */
	unsigned int misspelled_line;
	char misspelled[32];
};

/* Read the file @path. Returns false, with @t empty, if it cannot be read or is empty. */
bool gr_text_read(const char *path, struct gr_text *t);
/* Returns true if a part of @line of the file @path is in RDMA { } or RDMA_Debug { }. */
bool gr_text_inside_rdma(const char *path, unsigned int line);

#endif /* RPCRDMA_GANESHA_TEXT_H */
