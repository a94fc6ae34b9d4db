/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock - the time that all deadlines are of
 *
 * Threads: any.
 */
#ifndef RPCRDMA_BASE_CLOCK_H
#define RPCRDMA_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds, which never go back. Cheap; a few behind. */
uint64_t fab_now_ms(void);
/* @ms from now, of CLOCK_MONOTONIC: until when to wait. */
void fab_deadline(struct timespec *at, unsigned int ms);

#endif /* RPCRDMA_BASE_CLOCK_H */
