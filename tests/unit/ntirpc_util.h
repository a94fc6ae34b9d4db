/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the ntirpc layer share: a pool over a provider that
 * registers nothing but tells of it, payload streams cut into pieces, and the
 * start of libntirpc.
 */
#ifndef RPCRDMA_NTIRPC_UTIL_H
#define RPCRDMA_NTIRPC_UTIL_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rpc/rpc.h>
#include <rpc/svc.h>

#include "ntirpc/stream/xdr_stream.h"

static int util_domain_open(const struct fab_domain_params *p,
			    struct fab_domain **dom)
{
	*dom = calloc(1, sizeof(**dom));
	return *dom ? 0 : -ENOMEM;
}

static void util_domain_close(struct fab_domain *dom)
{
	free(dom);
}

static int util_reg(struct fab_domain *dom, void *addr, size_t len,
		    struct fab_mr **mr)
{
	struct fab_mr *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->dom = dom;
	m->addr = addr;
	m->len = len;
	*mr = m;
	return 0;
}

static bool util_dereg(struct fab_mr *mr)
{
	free(mr);
	return true;
}

static const struct fab_ops util_ops = {
	.name = "util",
	.domain_open = util_domain_open,
	.domain_close = util_domain_close,
	.reg = util_reg,
	.dereg = util_dereg,
};

/* libntirpc with so many workers at least and at most. */
static inline bool util_svc_init(unsigned int least, unsigned int most)
{
	svc_init_params params = {
		.max_connections = 16,
		.max_events = 16,
		.ioq_thrd_max = most,
		.ioq_thrd_min = least,
		.gss_ctx_hash_partitions = 3,
		.gss_max_ctx = 64,
		.gss_max_gc = 8,
		.channels = 1,
	};

	return svc_init(&params);
}

struct util_pool {
	struct fab_domain *dom;
	struct fab_pool *pool;
};

static inline bool util_pool_open(struct util_pool *u, size_t max)
{
	struct fab_pool_params p = { .max_bytes = max };

	memset(u, 0, sizeof(*u));
	return !fab_domain_open(&util_ops, NULL, &u->dom) &&
	       !fab_pool_create(u->dom, &p, &u->pool);
}

static inline void util_pool_close(struct util_pool *u)
{
	fab_pool_destroy(u->pool);
	fab_domain_close(u->dom);
}

static inline size_t util_pool_used(struct util_pool *u)
{
	struct fab_pool_stats s;

	fab_pool_get_stats(u->pool, &s);
	return s.bytes_in_use;
}

/* A repeatable source of numbers (xorshift). */
static inline uint64_t util_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline size_t util_below(uint64_t *state, size_t n)
{
	return n ? util_random(state) % n : 0;
}

/*
 * Cut @buf at @cuts ascending positions. Every piece is an allocation of just
 * its size, so that a sanitizer sees any octet read beside it.
 */
static inline unsigned int util_cut(const uint8_t *buf, size_t len,
				    const size_t *cuts, unsigned int ncuts,
				    struct rt_piece *pieces)
{
	size_t at = 0;

	for (unsigned int i = 0; i <= ncuts; i++) {
		size_t end = i < ncuts ? cuts[i] : len;

		pieces[i].addr = malloc(end - at ? end - at : 1);
		pieces[i].len = end - at;
		pieces[i].mr = NULL;
		memcpy(pieces[i].addr, buf + at, end - at);
		at = end;
	}
	return ncuts + 1;
}

static inline int util_cmp_size(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static inline unsigned int util_cut_randomly(const uint8_t *buf, size_t len,
					     uint64_t *rnd, unsigned int most,
					     struct rt_piece *pieces)
{
	size_t cuts[RT_MAX_PIECES];
	unsigned int n = (unsigned int)util_below(rnd, most);

	for (unsigned int i = 0; i < n; i++)
		cuts[i] = util_below(rnd, len + 1);
	qsort(cuts, n, sizeof(cuts[0]), util_cmp_size);
	return util_cut(buf, len, cuts, n, pieces);
}

static inline void util_free_pieces(struct rt_piece *pieces, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		free(pieces[i].addr);
}

/* The octets of @n pieces in a row, in an allocation; *@len set. */
static inline uint8_t *util_join(const struct rt_piece *pieces, unsigned int n,
				 size_t *len)
{
	uint8_t *out, *p;

	*len = 0;
	for (unsigned int i = 0; i < n; i++)
		*len += pieces[i].len;
	out = p = malloc(*len ? *len : 1);
	for (unsigned int i = 0; i < n; i++) {
		memcpy(p, pieces[i].addr, pieces[i].len);
		p += pieces[i].len;
	}
	return out;
}

#endif /* RPCRDMA_NTIRPC_UTIL_H */
