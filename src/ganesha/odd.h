/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * odd - characters that Ganesha's parser does not take outside of quotes
 */
#ifndef RPCRDMA_GANESHA_ODD_H
#define RPCRDMA_GANESHA_ODD_H

#include <stdbool.h>
#include <stddef.h>

/* Is there one that is not ASCII among the @n bytes at @at? Then @text says what it
 * is and what to do. */
bool odd_look(const char *at, size_t n, char *text, size_t room);
/* Are they all of such? */
bool odd_only(const char *at, size_t n);

#endif /* RPCRDMA_GANESHA_ODD_H */
