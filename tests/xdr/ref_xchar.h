/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_xchar - the codec made by rpcgen for xcharext, as ref.h
 *
 * A row is one header with its prefix: a property as its identifier, length
 * and octets; a subset as its count of words and the words.
 */
#ifndef RPCRDMA_TESTS_REF_XCHAR_H
#define RPCRDMA_TESTS_REF_XCHAR_H

#include "ref.h"

size_t ref_xchar_encode(struct ref_row *r, void *buf, size_t size);
bool ref_xchar_decode(const void *buf, size_t len, struct ref_row *r,
		      size_t *used);

#endif /* RPCRDMA_TESTS_REF_XCHAR_H */
