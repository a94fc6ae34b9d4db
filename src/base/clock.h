/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock - CLOCK_MONOTONIC, for all deadlines and measurements
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_CLOCK_H
#define RPCRDMA_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns milliseconds, of the coarse clock: cheap, and up to one tick behind. */
uint64_t base_now_ms(void);
/* Returns nanoseconds. */
uint64_t base_now_ns(void);
/* Set @at to @ms from now. */
void base_deadline(struct timespec *at, unsigned int ms);

#endif /* RPCRDMA_BASE_CLOCK_H */
