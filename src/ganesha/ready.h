/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready - when Ganesha has started: how it is with RDMA, and telling systemd
 */
#ifndef RPCRDMA_GANESHA_READY_H
#define RPCRDMA_GANESHA_READY_H

#include <stdbool.h>

/*
 * When Ganesha has started: has it anything that RDMA could be served beside? And
 * systemd is told, if it waits for that (Type=notify). @empty: there is no export.
 * Before nfs_start().
 */
void ready_start(bool empty);

#endif /* RPCRDMA_GANESHA_READY_H */
