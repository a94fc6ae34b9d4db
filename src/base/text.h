/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text - texts that are put together in an array
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_TEXT_H
#define RPCRDMA_BASE_TEXT_H

#include <stddef.h>

/* Append to @text, which ends within @room, 4 octets or more. It is cut off there. */
void base_append(char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Mark @text, which fills @room, as cut off: it ends in "...". */
void base_cut(char *text, size_t room);

#endif /* RPCRDMA_BASE_TEXT_H */
