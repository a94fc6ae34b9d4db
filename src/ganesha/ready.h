/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready - telling systemd that the server serves, and how it is with RDMA
 */
#ifndef RPCRDMA_GANESHA_READY_H
#define RPCRDMA_GANESHA_READY_H

#include <stdbool.h>

/* When systemd waits for it (Type=notify). @empty: there is no export. Before
 * nfs_start(). */
void ready_start(bool empty);

#endif /* RPCRDMA_GANESHA_READY_H */
