/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memlock - how much memory this process may lock, and so register with a device
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_MEMLOCK_H
#define RPCRDMA_BASE_MEMLOCK_H

#include <stdbool.h>

/* Set @kib to RLIMIT_MEMLOCK. Returns false if no limit applies to this thread: there is
 * none, or the thread has CAP_IPC_LOCK. */
bool base_memlock_limit(unsigned long long *kib);

#endif /* RPCRDMA_BASE_MEMLOCK_H */
