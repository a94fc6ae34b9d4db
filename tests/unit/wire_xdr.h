/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_xdr - random headers as rows, and our codec between rows and octets
 */
#ifndef RPCRDMA_WIRE_XDR_H
#define RPCRDMA_WIRE_XDR_H

#include "wire_util.h"
#include "ref.h"

#define MSG_MAX 2048

/* A header that is right in every respect. */
void generate(struct rng *r, uint32_t htype, struct ref_row *row);
/* Encode a row with our encoder, first payload word included. */
size_t our_encode(struct ref_row *r, uint8_t *b);
/* Decode with our decoder into a row; @used as of ref_decode(). */
enum wire_status our_decode(const uint8_t *b, size_t len, struct ref_row *row,
			    size_t *used);

#endif /* RPCRDMA_WIRE_XDR_H */
