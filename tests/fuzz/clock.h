/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock - the time that the code under test sees: it stands still unless moved
 *
 * Threads: one.
 */
#ifndef RPCRDMA_FUZZ_CLOCK_H
#define RPCRDMA_FUZZ_CLOCK_H

#include <stdint.h>

extern uint64_t fuzz_clock_ms;

#endif /* RPCRDMA_FUZZ_CLOCK_H */
