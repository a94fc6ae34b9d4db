/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock - the time that all deadlines are of, and that is measured
 *
 * All of it is CLOCK_MONOTONIC, which never goes back.
 *
 * Threads: any.
 */
#ifndef RPCRDMA_BASE_CLOCK_H
#define RPCRDMA_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds. Cheap; a few behind. */
uint64_t base_now_ms(void);
/* Nanoseconds, to the nanosecond. */
uint64_t base_now_ns(void);
/* @ms from now: until when to wait. */
void base_deadline(struct timespec *at, unsigned int ms);

#endif /* RPCRDMA_BASE_CLOCK_H */
