/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcargs - arguments and results, to go with the heads of tools/rpcmsg.h
 */
#ifndef RPCRDMA_TEST_RPCARGS_H
#define RPCRDMA_TEST_RPCARGS_H

#include <string.h>

#include "tools/rpcmsg.h"

static inline void xw_u64(struct xw *w, uint64_t v)
{
	xw_u32(w, (uint32_t)(v >> 32));
	xw_u32(w, (uint32_t)v);
}

/* Length word, octets, roundup. */
static inline void xw_opaque(struct xw *w, const void *p, size_t n)
{
	xw_u32(w, (uint32_t)n);
	for (size_t at = 0; at < n && !w->overflow; at += 4) {
		size_t here = n - at < 4 ? n - at : 4;

		xw_u32(w, 0);
		if (!w->overflow)
			memcpy(w->buf + w->len - 4, (const char *)p + at, here);
	}
}

static inline uint64_t xr_u64(struct xr *r)
{
	uint64_t high = xr_u32(r);

	return high << 32 | xr_u32(r);
}

static inline void xr_skip(struct xr *r, size_t n)
{
	r->bad = r->bad || n > r->size - r->at;
	r->at += r->bad ? 0 : n;
}

#endif /* RPCRDMA_TEST_RPCARGS_H */
