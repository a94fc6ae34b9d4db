/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool_slab - the objects of the pool. Prefix: pool_.
 *
 * Context, locks: pool.c.
 */
#ifndef RPCRDMA_FABRIC_POOL_SLAB_H
#define RPCRDMA_FABRIC_POOL_SLAB_H

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
	struct fab_buf b; /* first member; b.next links free buffers */
	struct pool_slab *slab;
	bool in_use;
	bool promised; /* one of those of fab_pool_promise() */
};

struct pool_slab {
	struct pool_slab *next;
	struct fab_mr *mr;
	void *base;
	size_t len;
	size_t nbufs;
	size_t nfree; /* scratch of class_reclaim() */
	bool dead, huge;
	struct pool_buf bufs[];
};

struct pool_shard {
	pthread_mutex_t lock;
	struct fab_buf *free;
	/* Written under the lock; read without it to skip empty shards. */
	atomic_size_t nfree;
	uint64_t gets;
} __attribute__((aligned(64)));

struct fab_pool {
	struct fab_domain *dom;
	size_t limit, spare; /* for all; for fab_pool_get_spare() */
	bool huge;
	unsigned int nclasses;
	size_t promised; /* size of promised buffers */
	size_t size[POOL_CLASSES]; /* ascending */

	pthread_mutex_t grow;
	struct pool_slab *slabs[POOL_CLASSES];
	size_t bytes_held, bytes_huge;
	uint64_t nslabs;
	bool no_huge_told;
	uint64_t grow_at; /* ms; when to try again while capped */

	/* Octets held when a registration failed, which is the limit from then
	 * on. SIZE_MAX: not capped. Set under the grow lock. */
	atomic_size_t cap;

	pthread_mutex_t promise_lock; /* what follows */
	struct fab_buf *promised_list;
	size_t given_up; /* promises given up while in use */
	size_t lost; /* promised buffers lost to quarantine */

	atomic_size_t in_use, peak;
	atomic_uint_least64_t refused;

	struct pool_shard shards[POOL_CLASSES][POOL_SHARDS];
};

/* The common classes. */
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

/* The limit of spare memory. */
static inline size_t pool_spare(const struct fab_pool *pool)
{
	size_t cap = atomic_load_explicit(&pool->cap, memory_order_relaxed);
	size_t reserve = pool->limit - pool->spare;

	if (cap >= pool->limit)
		return pool->spare;
	return cap - (reserve < cap / 16 ? reserve : cap / 16);
}

/* The memory in use counts, not only what is held: the last free buffers belong
 * to the reserve. */
static inline bool may_use(const struct fab_pool *pool, unsigned int k,
			   size_t limit)
{
	size_t in_use =
		atomic_load_explicit(&pool->in_use, memory_order_relaxed);

	return limit == pool->limit ||
	       (pool->size[k] <= limit && in_use <= limit - pool->size[k]);
}

/* No shard of the class has a buffer. Returns one of a new slab, of a larger
 * class, or after freeing slabs of other classes. */
struct fab_buf *pool_get_slow(struct fab_pool *pool, unsigned int k,
			      size_t limit);
/* While capped: try from time to time to grow the class. */
void pool_try_growth(struct fab_pool *pool, unsigned int k);
/* No buffer is in use. */
void pool_free_slabs(struct fab_pool *pool);

#endif /* RPCRDMA_FABRIC_POOL_SLAB_H */
