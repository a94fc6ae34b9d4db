/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool - registered buffers in size classes
 *
 * Buffers of 4 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB and 4 MiB, and of one size
 * more that may be chosen, cut from slabs that are registered once with the domain
 * and kept. Once the pool has warmed up, taking and returning buffers allocates and
 * registers nothing. Any thread.
 *
 * Each class has several shards, each with its own lock. A thread tries its own
 * shard first and the others only if that is empty, so no lock is taken by
 * every request.
 */
#ifndef RPCRDMA_FABRIC_POOL_H
#define RPCRDMA_FABRIC_POOL_H

#include "rpcrdma/fabric.h"

struct fab_pool;

/* One buffer: @size octets at @addr, inside @mr. @next is its holder's. */
struct fab_buf {
	void *addr;
	size_t size;
	struct fab_mr *mr;
	struct fab_buf *next;
	struct fab_pool *pool;
	unsigned int klass;
};

#define FAB_POOL_MAX_BUF (4u << 20)
#define FAB_POOL_PROMISED 4096 /* at least */

struct fab_pool_params {
	/* Hard limit on memory held; 0: 1 GiB. If no more can be registered, what
	 * is held is the limit, for a while. */
	size_t max_bytes;
	size_t reserve; /* of these, not for fab_pool_get_spare() */
	/* A size of buffers more, if it is over 4 KiB and no other class, that
	 * would waste up to three quarters, fits it; 0: none. They begin at
	 * multiples of 64 octets, those of the other classes at pages. */
	size_t also;
	/* Take reserved huge pages; where there are none, ordinary ones, with
	 * a word to the domain's log. */
	bool huge_pages;
};

struct fab_pool_stats {
	size_t bytes_held, bytes_in_use, bytes_in_use_peak, limit;
	size_t bytes_huge; /* of those held, in reserved huge pages */
	uint64_t gets, refused, slabs;
};

/* 0 or -ENOMEM. */
int fab_pool_create(struct fab_domain *dom, const struct fab_pool_params *p,
		    struct fab_pool **pool);
/* Every buffer must be back. */
void fab_pool_destroy(struct fab_pool *pool);
/*
 * A buffer of at least @size octets (content undefined, but never memory of
 * another use than this pool's), or NULL: @size over FAB_POOL_MAX_BUF, or the
 * limit is reached.
 */
struct fab_buf *fab_pool_get(struct fab_pool *pool, size_t size);
/* The same for one who can do without, or wait: NULL as well if it would need
 * what is reserved. */
struct fab_buf *fab_pool_get_spare(struct fab_pool *pool, size_t size);
/*
 * @n buffers of fab_pool_promised() octets, of what is to spare, that from now on
 * only fab_pool_get_promised() gives, which fails only if they are all lent; they
 * count as in use. False: there are not as many. And give up so many.
 */
bool fab_pool_promise(struct fab_pool *pool, unsigned int n);
void fab_pool_release(struct fab_pool *pool, unsigned int n);
struct fab_buf *fab_pool_get_promised(struct fab_pool *pool);
/* FAB_POOL_PROMISED, or the size more of this pool if that is at most twice as much. */
size_t fab_pool_promised(const struct fab_pool *pool);
/* What a buffer for @size octets has; 0: none is as long. */
size_t fab_pool_size(const struct fab_pool *pool, size_t size);
/* Of the domain that the pool is of. */
const struct fab_limits *fab_pool_limits(const struct fab_pool *pool);
/* Is next to nothing to spare? */
bool fab_pool_short(struct fab_pool *pool);
/* Give back; NULL is allowed. What is kept, fab_mr_quarantine(), is never given out
 * again, nor is its slab. */
void fab_pool_put(struct fab_buf *buf);
/*
 * Have shared Receives, of the domain that the pool is of, take their memory
 * from it: sets the last three of @share. What names it is the buffer.
 */
void fab_pool_srq_memory(struct fab_pool *pool, struct fab_srq_params *share);
void fab_pool_get_stats(struct fab_pool *pool, struct fab_pool_stats *out);

#endif /* RPCRDMA_FABRIC_POOL_H */
