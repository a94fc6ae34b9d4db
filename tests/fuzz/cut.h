/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cut - a stream in pieces, each an allocation of just its size
 */
#ifndef RPCRDMA_FUZZ_CUT_H
#define RPCRDMA_FUZZ_CUT_H

#include <sys/uio.h>

#include "fuzz.h"

#define CUT_MAX 8

/* Number and lengths of the pieces come first in @in; the last has the rest. */
static inline unsigned int fuzz_cut(struct fuzz_in *in, struct iovec *iov)
{
	unsigned int n = 1 + fuzz_u8(in) % CUT_MAX;
	uint8_t len[CUT_MAX] = { 0 };

	for (unsigned int i = 0; i + 1 < n; i++)
		len[i] = fuzz_u8(in);
	for (unsigned int i = 0; i < n; i++) {
		size_t got;
		const uint8_t *p =
			fuzz_take(in, i + 1 < n ? len[i] : in->left, &got);

		iov[i].iov_base = fuzz_exact(p, got);
		iov[i].iov_len = got;
	}
	return n;
}

static inline size_t fuzz_cut_len(const struct iovec *iov, unsigned int n)
{
	size_t len = 0;

	while (n--)
		len += iov[n].iov_len;
	return len;
}

static inline void fuzz_cut_free(struct iovec *iov, unsigned int n)
{
	while (n--)
		fuzz_exact_free(iov[n].iov_base, iov[n].iov_len);
}

#endif /* RPCRDMA_FUZZ_CUT_H */
