/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz - what the fuzz targets share
 *
 * A target takes its decisions from the front of its input and treats what is
 * left of it as octets from outside. When the input is used up, everything
 * reads as zero. What must hold is checked with FUZZ_CHECK(), which ends the
 * program, as a sanitizer does.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_FUZZ_H
#define RPCRDMA_FUZZ_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                    \
	do {                                                                \
		if (!(cond)) {                                              \
			int err_ = errno;                                   \
			fprintf(stderr, "%s:%d: does not hold: %s (%s)\n",  \
				__FILE__, __LINE__, #cond, strerror(err_)); \
			abort();                                            \
		}                                                           \
	} while (0)

struct fuzz_in {
	const uint8_t *p;
	size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline uint16_t fuzz_u16(struct fuzz_in *in)
{
	uint16_t v = fuzz_u8(in);

	return (uint16_t)(v << 8 | fuzz_u8(in));
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t v = fuzz_u16(in);

	return v << 16 | fuzz_u16(in);
}

/* Up to @want octets; *@got of them are there. */
static inline const uint8_t *fuzz_take(struct fuzz_in *in, size_t want,
				       size_t *got)
{
	const uint8_t *p = in->p;

	*got = want < in->left ? want : in->left;
	in->p += *got;
	in->left -= *got;
	return p;
}

/* A copy that ends where its allocation ends. */
static inline uint8_t *fuzz_exact(const void *data, size_t len)
{
	uint8_t *p = calloc(1, len ? len : 1);

	FUZZ_CHECK(p);
	if (len)
		memcpy(p, data, len);
	return len ? p : p + 1;
}

static inline void fuzz_exact_free(uint8_t *p, size_t len)
{
	free(len ? p : p - 1);
}

static inline void fuzz_put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline uint32_t fuzz_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

#endif /* RPCRDMA_FUZZ_H */
