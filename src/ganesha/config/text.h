/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text - what the text of ganesha.conf says, where Ganesha's parser cannot tell
 *
 * The parser drops what it cannot read, and ignores a block that nobody asks for. This
 * reads comments, quotes and braces as the parser does, of the file itself, not of what
 * it includes. It needs the C library alone. Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_TEXT_H
#define RPCRDMA_GANESHA_TEXT_H

#include <stdbool.h>

struct gr_text {
	bool rdma; /* it has an RDMA block */
	bool required; /* with Required = true */
	/* Where an end is that has no block, or else a block that has no end; 0: neither. */
	unsigned int brace_line;
	/* The first block with a misspelled name of ours; 0: none. */
	unsigned int almost_line;
	char almost[32];
};

/* Read the file @path. Returns false, with @t empty, if it cannot be read or is empty. */
bool gr_text_read(const char *path, struct gr_text *t);
/* Returns true if a part of @line of the file @path is in RDMA { } or RDMA_Debug { }. */
bool gr_text_inside_rdma(const char *path, unsigned int line);

#endif /* RPCRDMA_GANESHA_TEXT_H */
