/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool - registered buffers in size classes
 *
 * Memory comes in slabs of one class each: mapped, registered, cut up, and
 * kept. When the limit forbids a new slab, a free buffer of a larger class
 * serves instead; if there is none, slabs of other classes that are wholly free
 * are given back, so that a server whose mix of sizes changes does not refuse
 * for ever. For spare memory the order is reversed: Receives are held as long
 * as their connection, and in large buffers would take what Calls need.
 *
 * If registration fails, what is held becomes the limit. Growth is tried again
 * every second.
 *
 * Spare memory excludes the reserve. Promised buffers are kept in a list of
 * their own and return to it: as many as were promised are always in the list
 * or in use.
 *
 * Context: any thread. A thread's shard is that of its processor.
 *
 * Lock order: pool->grow (lists of slabs, octets held; taken only when no shard
 * of the class has a buffer), then the shards of one class by ascending index
 * (each its free list). pool->promise_lock is a leaf.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "fabric/pool_slab.h"

#define POOL_DEFAULT_LIMIT ((size_t)1 << 30)
/* With less to spare than this, fab_pool_short() is true. */
#define POOL_LITTLE ((size_t)64 << 10)
/* No two buffers share a cache line. */
#define POOL_ALIGN ((size_t)64)

/* The common classes, and @also where it fits. */
static void set_sizes(struct fab_pool *pool, size_t also)
{
	unsigned int n = 0;

	also = (also + POOL_ALIGN - 1) & ~(POOL_ALIGN - 1);
	for (unsigned int k = 0; k < POOL_SIZES; k++) {
		if (k && also > pool_size(k - 1) && also < pool_size(k))
			pool->size[n++] = also;
		pool->size[n++] = pool_size(k);
	}
	pool->nclasses = n;
	pool->promised = also > FAB_POOL_PROMISED &&
					 also <= 2 * FAB_POOL_PROMISED ?
				 also :
				 FAB_POOL_PROMISED;
}

int fab_pool_create(struct fab_domain *dom, const struct fab_pool_params *p,
		    struct fab_pool **out)
{
	struct fab_pool *pool;

	if (!dom || !out)
		return -EINVAL;
	*out = NULL;
	pool = aligned_alloc(_Alignof(struct fab_pool), sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	*pool = (struct fab_pool){
		.dom = dom,
		.limit = p && p->max_bytes ? p->max_bytes : POOL_DEFAULT_LIMIT,
		.huge = p && p->huge_pages,
	};
	pool->spare = pool->limit;
	if (p && p->reserve < pool->limit)
		pool->spare -= p->reserve;
	atomic_init(&pool->cap, SIZE_MAX);
	set_sizes(pool, p ? p->also : 0);
	pthread_mutex_init(&pool->promise_lock, NULL);
	pthread_mutex_init(&pool->grow, NULL);
	for (unsigned int k = 0; k < POOL_CLASSES; k++)
		for (unsigned int i = 0; i < POOL_SHARDS; i++)
			pthread_mutex_init(&pool->shards[k][i].lock, NULL);
	*out = pool;
	return 0;
}

void fab_pool_destroy(struct fab_pool *pool)
{
	if (!pool)
		return;
	assert(!atomic_load(&pool->in_use));
	pool_free_slabs(pool);
	for (unsigned int k = 0; k < POOL_CLASSES; k++)
		for (unsigned int i = 0; i < POOL_SHARDS; i++)
			pthread_mutex_destroy(&pool->shards[k][i].lock);
	pthread_mutex_destroy(&pool->promise_lock);
	pthread_mutex_destroy(&pool->grow);
	free(pool);
}

/* Returns the octets in use now. */
static size_t count_use(struct fab_pool *pool, size_t size)
{
	size_t now = size + atomic_fetch_add_explicit(&pool->in_use, size,
						      memory_order_relaxed);
	size_t peak = atomic_load_explicit(&pool->peak, memory_order_relaxed);

	while (now > peak &&
	       !atomic_compare_exchange_weak_explicit(&pool->peak, &peak, now,
						      memory_order_relaxed,
						      memory_order_relaxed))
		;
	return now;
}

static unsigned int class_of(const struct fab_pool *pool, size_t size)
{
	unsigned int k = 0;

	while (pool->size[k] < size)
		k++;
	return k;
}

size_t fab_pool_size(const struct fab_pool *pool, size_t size)
{
	return size <= FAB_POOL_MAX_BUF ? pool->size[class_of(pool, size)] : 0;
}

size_t fab_pool_promised(const struct fab_pool *pool)
{
	return pool->promised;
}

static struct fab_buf *pool_get(struct fab_pool *pool, size_t size, bool spare)
{
	size_t limit = pool->limit;
	struct fab_buf *b = NULL;
	struct pool_buf *pb;
	unsigned int k;

	if (size <= FAB_POOL_MAX_BUF) {
		k = class_of(pool, size);
		if (atomic_load_explicit(&pool->cap, memory_order_relaxed) !=
		    SIZE_MAX)
			pool_try_growth(pool, k);
		if (spare)
			limit = pool_spare(pool);
		if (may_use(pool, k, limit)) {
			b = class_pop(pool, k);
			if (!b)
				b = pool_get_slow(pool, k, limit);
		}
	}
	if (!b) {
		atomic_fetch_add_explicit(&pool->refused, 1,
					  memory_order_relaxed);
		return NULL;
	}
	pb = (struct pool_buf *)b;
	assert(!pb->in_use);
	pb->in_use = true;
	ASAN_UNPOISON_MEMORY_REGION(b->addr, b->size);
	/* Other threads may have taken memory since may_use(). */
	if (count_use(pool, b->size) > limit && limit < pool->limit) {
		fab_pool_put(b);
		b = NULL;
		atomic_fetch_add_explicit(&pool->refused, 1,
					  memory_order_relaxed);
	}
	return b;
}

struct fab_buf *fab_pool_get(struct fab_pool *pool, size_t size)
{
	return pool_get(pool, size, false);
}

struct fab_buf *fab_pool_get_spare(struct fab_pool *pool, size_t size)
{
	return pool_get(pool, size, true);
}

/* Promise lock held. */
static struct fab_buf *promised_pop(struct fab_pool *pool)
{
	struct fab_buf *b = pool->promised_list;

	if (b) {
		pool->promised_list = b->next;
		b->next = NULL;
	}
	return b;
}

/* Promise lock held. */
static void promised_push(struct fab_pool *pool, struct fab_buf *b)
{
	ASAN_POISON_MEMORY_REGION(b->addr, b->size);
	b->next = pool->promised_list;
	pool->promised_list = b;
}

/* Return the buffer to the list, unless its promise was given up while in use. */
static bool promise_return(struct fab_pool *pool, struct pool_buf *pb)
{
	bool kept;

	pb->promised = false;
	pthread_mutex_lock(&pool->promise_lock);
	kept = !pool->given_up;
	if (kept)
		promised_push(pool, &pb->b);
	else
		pool->given_up--;
	pthread_mutex_unlock(&pool->promise_lock);
	return kept;
}

/* Get another one in its place, now or in fab_pool_get_promised(). */
static void promise_replace(struct fab_pool *pool)
{
	struct fab_buf *b;
	bool owed;

	pthread_mutex_lock(&pool->promise_lock);
	owed = pool->given_up;
	if (owed)
		pool->given_up--;
	else
		pool->lost++;
	pthread_mutex_unlock(&pool->promise_lock);
	b = owed ? NULL : fab_pool_get(pool, pool->promised);
	if (!b)
		return;
	pthread_mutex_lock(&pool->promise_lock);
	if (pool->lost) {
		pool->lost--;
		promised_push(pool, b);
		b = NULL;
	}
	pthread_mutex_unlock(&pool->promise_lock);
	fab_pool_put(b);
}

bool fab_pool_promise(struct fab_pool *pool, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct fab_buf *b = fab_pool_get_spare(pool, pool->promised);

		if (!b) {
			fab_pool_release(pool, i);
			return false;
		}
		pthread_mutex_lock(&pool->promise_lock);
		promised_push(pool, b);
		pthread_mutex_unlock(&pool->promise_lock);
	}
	return true;
}

void fab_pool_release(struct fab_pool *pool, unsigned int n)
{
	while (n--) {
		struct fab_buf *b;

		pthread_mutex_lock(&pool->promise_lock);
		b = promised_pop(pool);
		if (!b && pool->lost)
			pool->lost--;
		else if (!b)
			pool->given_up++;
		pthread_mutex_unlock(&pool->promise_lock);
		fab_pool_put(b);
	}
}

struct fab_buf *fab_pool_get_promised(struct fab_pool *pool)
{
	struct fab_buf *b;
	bool missing;

	pthread_mutex_lock(&pool->promise_lock);
	b = promised_pop(pool);
	missing = !b && pool->lost;
	if (missing)
		pool->lost--;
	pthread_mutex_unlock(&pool->promise_lock);
	if (missing) {
		b = fab_pool_get(pool, pool->promised);
		pthread_mutex_lock(&pool->promise_lock);
		pool->lost += !b;
		pthread_mutex_unlock(&pool->promise_lock);
	}
	if (b) {
		((struct pool_buf *)b)->promised = true;
		ASAN_UNPOISON_MEMORY_REGION(b->addr, b->size);
	}
	return b;
}

bool fab_pool_short(struct fab_pool *pool)
{
	return atomic_load_explicit(&pool->in_use, memory_order_relaxed) +
		       POOL_LITTLE >
	       pool_spare(pool);
}

void fab_pool_put(struct fab_buf *buf)
{
	struct pool_buf *pb = (struct pool_buf *)buf;
	struct fab_pool *pool;
	struct pool_shard *s;
	bool lost, promised;

	if (!buf)
		return;
	assert(pb->in_use);
	pool = buf->pool;
	/* A device may still write there. */
	lost = fab_mr_quarantined(buf->mr, buf->addr, buf->size);
	promised = pb->promised;
	if (promised && !lost && promise_return(pool, pb))
		return;
	pb->promised = false;
	pb->in_use = false;
	/* Before another thread can get it, or the peak would count it twice. */
	atomic_fetch_sub_explicit(&pool->in_use, buf->size,
				  memory_order_relaxed);
	ASAN_POISON_MEMORY_REGION(buf->addr, buf->size);
	if (lost) {
		if (promised)
			promise_replace(pool);
		return;
	}
	s = &pool->shards[buf->klass][own_shard()];
	pthread_mutex_lock(&s->lock);
	shard_push(s, buf);
	pthread_mutex_unlock(&s->lock);
}

static void *recv_alloc(void *ctx, struct fab_sge *sge)
{
	struct fab_pool *pool = ctx;
	struct fab_buf *b = fab_pool_get(pool, pool->dom->srq.size);

	if (b)
		*sge = (struct fab_sge){ b->addr, b->size, b->mr };
	return b;
}

static void recv_free(void *ctx, void *memory)
{
	fab_pool_put(memory);
}

void fab_pool_srq_memory(struct fab_pool *pool, struct fab_srq_params *share)
{
	share->alloc = recv_alloc;
	share->free = recv_free;
	share->ctx = pool;
}

const struct fab_limits *fab_pool_limits(const struct fab_pool *pool)
{
	return fab_domain_limits(pool->dom);
}

void fab_pool_get_stats(struct fab_pool *pool, struct fab_pool_stats *out)
{
	*out = (struct fab_pool_stats){
		.limit = pool->limit,
		.bytes_in_use = atomic_load(&pool->in_use),
		.bytes_in_use_peak = atomic_load(&pool->peak),
		.refused = atomic_load(&pool->refused),
	};
	pthread_mutex_lock(&pool->grow);
	out->bytes_held = pool->bytes_held;
	out->bytes_huge = pool->bytes_huge;
	out->slabs = pool->nslabs;
	pthread_mutex_unlock(&pool->grow);
	for (unsigned int k = 0; k < pool->nclasses; k++) {
		for (unsigned int i = 0; i < POOL_SHARDS; i++) {
			struct pool_shard *s = &pool->shards[k][i];

			pthread_mutex_lock(&s->lock);
			out->gets += s->gets;
			pthread_mutex_unlock(&s->lock);
		}
	}
}
