/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready - when Ganesha has started: how it is with RDMA, and telling systemd
 */
#ifndef RPCRDMA_GANESHA_READY_H
#define RPCRDMA_GANESHA_READY_H

/*
 * When Ganesha has started: has it anything that RDMA could be served beside? And
 * systemd is told, if it waits for that (Type=notify), with what there is to say of
 * the @exports: "; no exports", or "". That stays until the exit. Before nfs_start().
 */
void ready_start(const char *exports);

#endif /* RPCRDMA_GANESHA_READY_H */
