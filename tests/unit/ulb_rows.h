/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_rows - every NFSv4 operation and every arm of its unions
 *
 * Written from the XDR of RFC 7531, 5662, 7863, 8276 and 9754, in the language
 * of ulb_xdr.h; results begin with their status.
 */
#ifndef RPCRDMA_TEST_ULB_ROWS_H
#define RPCRDMA_TEST_ULB_ROWS_H

#include <stdint.h>

struct row {
	uint32_t op;
	uint32_t minor; /* the first that has it */
	const char *name;
	const char *values;
};

/* Both end with a row without a name. */
extern const struct row args_rows[];
extern const struct row res_rows[];

#endif /* RPCRDMA_TEST_ULB_ROWS_H */
