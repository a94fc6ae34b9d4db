/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proof - what the harnesses for CBMC share
 *
 * A harness is a function without arguments. It is proved for every value that a
 * nondet_*() function can return; ASSUME() leaves values out, PROVE() must hold for
 * those that are left. CBMC adds a check to each access, shift and sum of the code that
 * it calls. A harness includes the sources that it is about, so that it can call their
 * static functions, above all those that say what is valid.
 */
#ifndef RPCRDMA_PROOF_H
#define RPCRDMA_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSUME(cond) __CPROVER_assume(cond)
#define PROVE(cond) __CPROVER_assert(cond, #cond)

bool nondet_bool(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
size_t nondet_size(void);

static inline size_t any_below(size_t limit)
{
	size_t n = nondet_size();

	ASSUME(n < limit);
	return n;
}

/* Place @n octets at the end of @array, so that an access behind them is one behind
 * the array. */
#define LAST(array, n) ((array) + (sizeof(array) - (n)))

#endif /* RPCRDMA_PROOF_H */
