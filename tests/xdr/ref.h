/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref - the codec made by rpcgen, behind a form that needs none of its types
 *
 * A header is a flat row of values in the order of the XDR: every integer one
 * value, every list or array its count and then its entries, an opaque its
 * length and then one value an octet, an optional object 0 or 1 and then the
 * object. The payload types end with rdma_rpc_first_word. Two codecs agree on
 * a header if they give the same row.
 */
#ifndef RPCRDMA_TESTS_REF_H
#define RPCRDMA_TESTS_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define REF_MAX 16384

struct ref_row {
	size_t n;
	size_t at; /* for ref_take() */
	uint64_t v[REF_MAX];
};

static inline void ref_add(struct ref_row *r, uint64_t v)
{
	if (r->n < REF_MAX)
		r->v[r->n++] = v;
}

/* The next value; zero past the end. */
static inline uint64_t ref_take(struct ref_row *r)
{
	return r->at < r->n ? r->v[r->at++] : 0;
}

/* Allocation as xdr_free() expects it. A test without memory ends. */
static inline void *ref_need(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

/* Encode the header that @r says; its length, or 0. Starts at r->at = 0. */
size_t ref_encode(struct ref_row *r, void *buf, size_t size);
/*
 * Decode; false if the reference refuses. @used: octets taken, with the first
 * word of the payload where the type has one.
 */
bool ref_decode(const void *buf, size_t len, struct ref_row *r, size_t *used);

#endif /* RPCRDMA_TESTS_REF_H */
