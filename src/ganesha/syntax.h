/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * syntax - where ganesha.conf cannot be read, and what may be missing there
 */
#ifndef RPCRDMA_GANESHA_SYNTAX_H
#define RPCRDMA_GANESHA_SYNTAX_H

#include <stddef.h>

#include "ganesha/near.h"

/*
 * @messages are Ganesha's of parsing a file, each ended by a form feed. Set
 * @first to the place of the first one, "FILE:LINE", but rather of one in a block
 * that is read here, and tell for each, as a line, what may be missing there, if
 * that can be seen. Is one in such a block?
 */
bool syntax_look(const char *messages, char *first, size_t room, near_fn *tell,
		 void *ctx);

#endif /* RPCRDMA_GANESHA_SYNTAX_H */
