/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hooks - the state of the server, for those that report it to the service manager
 */
#ifndef RPCRDMA_GANESHA_HOOKS_H
#define RPCRDMA_GANESHA_HOOKS_H

struct gsh_config;

#define GR_EXPORTS_ROOM 48
/* Set @text to "; no exports", "; N of M exports", or "" if all are served. Ganesha has read
 * the exports of @tree. Context: main thread. */
void gr_hooks_exports(struct gsh_config *tree, char text[GR_EXPORTS_ROOM]);

/* Ganesha has read the exports of @tree, when it started or again: report those that are missing
 * after the latter. Context: any thread. */
void gr_hooks_exports_read(struct gsh_config *tree);

/* Wait until Ganesha has started. If it serves no NFS over TCP, that is a fault, which ends
 * the process if RDMA is required. Then report to the service manager that the server is
 * ready, the state of RDMA as one line, and that of the @exports, or "". */
void gr_hooks_ready(const char *exports);

#endif /* RPCRDMA_GANESHA_HOOKS_H */
