/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready - telling systemd that the server serves, and how it is with RDMA
 */
#ifndef RPCRDMA_GANESHA_READY_H
#define RPCRDMA_GANESHA_READY_H

/* When systemd waits for it (Type=notify). Before nfs_start(). */
void ready_start(void);

#endif /* RPCRDMA_GANESHA_READY_H */
