/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_hooks - give Ganesha registered memory for the data of READs
 */
#ifndef RPCRDMA_GANESHA_READ_HOOKS_H
#define RPCRDMA_GANESHA_READ_HOOKS_H

struct gr_server;
struct gsh;

/* Do so from now on if @s, which has been started, needs it. */
void gr_read_hooks_start(const struct gsh *gsh, const struct gr_server *s);

#endif /* RPCRDMA_GANESHA_READ_HOOKS_H */
