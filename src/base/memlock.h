/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memlock - how much memory this process may lock, and so register with a device
 *
 * Threads: any.
 */
#ifndef RPCRDMA_BASE_MEMLOCK_H
#define RPCRDMA_BASE_MEMLOCK_H

#include <stdbool.h>

/* The limit on locked memory, if the calling thread is bound by one: who has
 * CAP_IPC_LOCK is not. */
bool base_memlock_limit(unsigned long long *kib);

#endif /* RPCRDMA_BASE_MEMLOCK_H */
