/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock - the time that all deadlines are of
 *
 * Threads: any.
 */
#ifndef RPCRDMA_BASE_CLOCK_H
#define RPCRDMA_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds, which never go back. Cheap; a few behind. */
uint64_t fab_now_ms(void);

#endif /* RPCRDMA_BASE_CLOCK_H */
