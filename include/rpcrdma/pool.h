/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool - registered buffers in size classes. Prefix: fab_pool_.
 *
 * Buffers of 4 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB and 4 MiB, and of one more
 * size that may be chosen, cut from slabs that are registered once and kept.
 * Once warmed up, the pool neither allocates nor registers anything.
 *
 * Each class has several shards with a lock each. A thread tries its own shard
 * first and the others only if that is empty, so no lock is taken by every
 * request.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_FABRIC_POOL_H
#define RPCRDMA_FABRIC_POOL_H

#include "rpcrdma/fabric.h"

struct fab_pool;

/* @size octets at @addr, inside @mr. @next is the holder's. */
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
	/* Hard limit on memory held; 0: 1 GiB. If a registration fails, what is
	 * held is the limit for a while. */
	size_t max_bytes;
	size_t reserve; /* of these, not for fab_pool_get_spare() */
	/* One more size of buffers, over 4 KiB, for which the next class would
	 * waste up to three quarters; 0: none. They are aligned to 64 octets,
	 * others to pages. */
	size_t also;
	/* Use reserved huge pages. Without them use ordinary pages, and log
	 * that. */
	bool huge_pages;
};

struct fab_pool_stats {
	size_t bytes_held, bytes_in_use, bytes_in_use_peak, limit;
	size_t bytes_huge; /* part of bytes_held */
	uint64_t gets, refused, slabs;
};

/* Returns 0, -EINVAL or -ENOMEM. */
int fab_pool_create(struct fab_domain *dom, const struct fab_pool_params *p,
		    struct fab_pool **pool);
/* All buffers must have been returned. */
void fab_pool_destroy(struct fab_pool *pool);
/*
 * Returns a buffer of at least @size octets, or NULL: @size exceeds
 * FAB_POOL_MAX_BUF, or the limit is reached. It may contain old data, of this
 * pool only.
 */
struct fab_buf *fab_pool_get(struct fab_pool *pool, size_t size);
/* The same for memory that the caller can do without: it leaves the reserve
 * alone. */
struct fab_buf *fab_pool_get_spare(struct fab_pool *pool, size_t size);
/*
 * Promise @n buffers of fab_pool_promised() octets, from spare memory:
 * fab_pool_get_promised() fails only if all of them are in use. They count as
 * in use. Returns false if there are not enough. fab_pool_release() gives up @n
 * promises.
 */
bool fab_pool_promise(struct fab_pool *pool, unsigned int n);
void fab_pool_release(struct fab_pool *pool, unsigned int n);
struct fab_buf *fab_pool_get_promised(struct fab_pool *pool);
/* FAB_POOL_PROMISED, or the pool's own size if that is at most twice as much. */
size_t fab_pool_promised(const struct fab_pool *pool);
/* Returns the size of a buffer for @size octets; 0 if there is none. */
size_t fab_pool_size(const struct fab_pool *pool, size_t size);
/* The limits of its domain. */
const struct fab_limits *fab_pool_limits(const struct fab_pool *pool);
/* Returns true if next to nothing is to spare. */
bool fab_pool_short(struct fab_pool *pool);
/* @buf may be NULL. A quarantined buffer is never handed out again, nor is its
 * slab. */
void fab_pool_put(struct fab_buf *buf);
/*
 * Set the last three members of @share, so that an SRQ of the pool's domain
 * allocates from this pool. The name of memory is its struct fab_buf.
 */
void fab_pool_srq_memory(struct fab_pool *pool, struct fab_srq_params *share);
void fab_pool_get_stats(struct fab_pool *pool, struct fab_pool_stats *out);

#endif /* RPCRDMA_FABRIC_POOL_H */
