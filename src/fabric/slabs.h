/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slabs - what a pool is made of, for its own files
 *
 * Threads, locks: pool.c.
 */
#ifndef RPCRDMA_FABRIC_SLABS_H
#define RPCRDMA_FABRIC_SLABS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, len) ((void)(addr), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(addr, len) ((void)(addr), (void)(len))
#endif

#include "rpcrdma/pool.h"

#define POOL_SIZES 6
#define POOL_CLASSES (POOL_SIZES + 1) /* at most */
#define POOL_SHARDS 8
#define POOL_MIN_SHIFT 12
#define POOL_CLASS_SHIFT 2

struct pool_slab;

struct pool_buf {
	struct fab_buf b; /* first: the holder's view; b.next links free ones */
	struct pool_slab *slab;
	bool in_use;
	bool promised; /* it comes from what is kept */
};

struct pool_slab {
	struct pool_slab *next;
	struct fab_mr *mr;
	void *base;
	size_t len;
	size_t nbufs;
	size_t nfree; /* only while reclaiming */
	bool dead, huge;
	struct pool_buf bufs[];
};

struct pool_shard {
	pthread_mutex_t lock;
	struct fab_buf *free;
	/* Written under the lock, read without it to pass over empty ones. */
	atomic_size_t nfree;
	uint64_t gets;
} __attribute__((aligned(64)));

struct fab_pool {
	struct fab_domain *dom;
	size_t limit, spare; /* for all; for those who can do without */
	bool huge;
	unsigned int nclasses;
	size_t promised; /* the size of what is */
	size_t size[POOL_CLASSES]; /* ascending */

	pthread_mutex_t grow;
	struct pool_slab *slabs[POOL_CLASSES];
	size_t bytes_held, bytes_huge;
	uint64_t nslabs;
	bool no_huge_told;
	uint64_t grow_at; /* ms: not before, if the pool is capped */

	/* What was held when no more could be registered, which is the limit from
	 * then on; SIZE_MAX: the pool is not capped. Set under the grow lock. */
	atomic_size_t cap;

	pthread_mutex_t keep;
	struct fab_buf *kept;
	size_t owed; /* promises given up that are lent */
	size_t missing; /* promised ones that a device has not let go of */

	atomic_size_t in_use, peak;
	atomic_uint_least64_t refused;

	struct pool_shard shards[POOL_CLASSES][POOL_SHARDS];
};

/* Those that every pool has. */
static inline size_t pool_size(unsigned int k)
{
	return (size_t)1 << (POOL_MIN_SHIFT + k * POOL_CLASS_SHIFT);
}

static inline unsigned int own_shard(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (unsigned int)cpu % POOL_SHARDS;
}

/* Shard lock held. */
static inline struct fab_buf *shard_pop(struct pool_shard *s)
{
	struct fab_buf *b = s->free;

	if (!b)
		return NULL;
	s->free = b->next;
	b->next = NULL;
	atomic_fetch_sub_explicit(&s->nfree, 1, memory_order_relaxed);
	s->gets++;
	return b;
}

/* Shard lock held. */
static inline void shard_push(struct pool_shard *s, struct fab_buf *b)
{
	b->next = s->free;
	s->free = b;
	atomic_fetch_add_explicit(&s->nfree, 1, memory_order_relaxed);
}

static inline struct fab_buf *class_pop(struct fab_pool *pool, unsigned int k)
{
	unsigned int own = own_shard();
	struct fab_buf *b = NULL;

	for (unsigned int i = 0; i < POOL_SHARDS && !b; i++) {
		struct pool_shard *s =
			&pool->shards[k][(own + i) % POOL_SHARDS];

		if (!atomic_load_explicit(&s->nfree, memory_order_relaxed))
			continue;
		pthread_mutex_lock(&s->lock);
		b = shard_pop(s);
		pthread_mutex_unlock(&s->lock);
	}
	return b;
}

/* The limit for those who can do without. */
static inline size_t pool_spare(const struct fab_pool *pool)
{
	size_t cap = atomic_load_explicit(&pool->cap, memory_order_relaxed);
	size_t reserve = pool->limit - pool->spare;

	if (cap >= pool->limit)
		return pool->spare;
	return cap - (reserve < cap / 16 ? reserve : cap / 16);
}

/* What has been given back may be all that is left: so who may not have that is
 * not only kept from growing the pool. */
static inline bool may_use(const struct fab_pool *pool, unsigned int k,
			   size_t limit)
{
	size_t in_use =
		atomic_load_explicit(&pool->in_use, memory_order_relaxed);

	return limit == pool->limit ||
	       (pool->size[k] <= limit && in_use <= limit - pool->size[k]);
}

/* No shard of the class had anything: of a new slab, of a larger class, or where
 * slabs of others have been given back for it. */
struct fab_buf *pool_get_slow(struct fab_pool *pool, unsigned int k,
			      size_t limit);
/* A capped pool: try to grow the class, from time to time. */
void pool_try_growth(struct fab_pool *pool, unsigned int k);
/* All slabs; nothing is in use. */
void pool_free_slabs(struct fab_pool *pool);

#endif /* RPCRDMA_FABRIC_SLABS_H */
