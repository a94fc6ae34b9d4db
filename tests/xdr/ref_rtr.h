/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_rtr - the codec made by rpcgen for rtrext, as ref.h
 *
 * A row is one header with its prefix: items as displacement, length, type and
 * what the type has; sets as begin, end and their items. Or the value of
 * X_RBSTRUCT, for the other pair of functions.
 */
#ifndef RPCRDMA_TESTS_REF_RTR_H
#define RPCRDMA_TESTS_REF_RTR_H

#include "ref.h"

size_t ref_rtr_encode(struct ref_row *r, void *buf, size_t size);
bool ref_rtr_decode(const void *buf, size_t len, struct ref_row *r,
		    size_t *used);
size_t ref_rbstruct_encode(struct ref_row *r, void *buf, size_t size);
bool ref_rbstruct_decode(const void *buf, size_t len, struct ref_row *r,
			 size_t *used);

#endif /* RPCRDMA_TESTS_REF_RTR_H */
