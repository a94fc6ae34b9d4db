/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hooks - how the server is, for those that tell the service manager
 */
#ifndef RPCRDMA_GANESHA_HOOKS_H
#define RPCRDMA_GANESHA_HOOKS_H

struct gsh_config;

#define GR_EXPORTS_ROOM 48
/* Ganesha has read the exports of @tree: set @text to what there is to say of them,
 * "; no exports" or "; N of M exports"; or "". Context: main thread. */
void gr_hooks_exports(struct gsh_config *tree, char text[GR_EXPORTS_ROOM]);

/* Wait for the end of Ganesha's start: that there is no NFS over TCP is a fault then, and
 * ends the server where RDMA is required. Tell the service manager that it is over, how
 * it is with RDMA, as one line, and what there is to say of the @exports, or "". */
void gr_hooks_ready(const char *exports);

#endif /* RPCRDMA_GANESHA_HOOKS_H */
