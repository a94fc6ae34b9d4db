/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool_slab - memory of the pool: growing, giving slabs back
 *
 * Context, locks: pool.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/clock.h"
#include "fabric/pool_slab.h"

/* The time between a failed registration and the next one. */
#define POOL_GROW_MS 1000
#define POOL_HUGE ((size_t)2 << 20)
#define POOL_PAGE ((size_t)1 << POOL_MIN_SHIFT)
#define POOL_HUGE_FLAG (21 << MAP_HUGE_SHIFT)

/* Small classes have small slabs, so that a small server stays small. */
static size_t slab_bytes(size_t size)
{
	static const size_t bytes[POOL_SIZES] = {
		256u << 10, 512u << 10, 1u << 20, 2u << 20, 4u << 20, 4u << 20,
	};
	unsigned int k = 0;

	while (pool_size(k) < size)
		k++;
	return bytes[k];
}

static void class_lock(struct fab_pool *pool, unsigned int k)
{
	for (unsigned int i = 0; i < POOL_SHARDS; i++)
		pthread_mutex_lock(&pool->shards[k][i].lock);
}

static void class_unlock(struct fab_pool *pool, unsigned int k)
{
	for (unsigned int i = POOL_SHARDS; i-- > 0;)
		pthread_mutex_unlock(&pool->shards[k][i].lock);
}

/*
 * class_pop() can miss a buffer that moves between shards. If this finds none,
 * every buffer of the class is in use.
 */
static struct fab_buf *class_pop_exact(struct fab_pool *pool, unsigned int k)
{
	struct fab_buf *b = NULL;

	class_lock(pool, k);
	for (unsigned int i = 0; i < POOL_SHARDS && !b; i++)
		b = shard_pop(&pool->shards[k][i]);
	class_unlock(pool, k);
	return b;
}

/* ---- Slabs ----------------------------------------------------------- */

static void tell_no_huge(struct fab_pool *pool, int err)
{
	const struct fab_domain_params *p = &pool->dom->params;
	char text[200];

	if (pool->no_huge_told || !p->log)
		return;
	pool->no_huge_told = true;
	snprintf(text, sizeof(text),
		 "huge pages are wanted, but none are free (%s), so ordinary "
		 "ones are taken: reserve %zu of 2 MiB with sysctl "
		 "vm.nr_hugepages",
		 strerror(err), pool->limit / POOL_HUGE);
	p->log(p->log_ctx, LOG_WARNING, text);
}

/* Grow lock held. */
static void *slab_map(struct fab_pool *pool, size_t len, bool *huge)
{
	int prot = PROT_READ | PROT_WRITE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *p;

	if (pool->huge && !(len % POOL_HUGE)) {
		p = mmap(NULL, len, prot, flags | MAP_HUGETLB | POOL_HUGE_FLAG,
			 -1, 0);
		*huge = p != MAP_FAILED;
		if (*huge)
			return p;
		tell_no_huge(pool, errno);
	}
	p = mmap(NULL, len, prot, flags, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (pool->huge)
		madvise(p, len, MADV_HUGEPAGE);
	return p;
}

/* Returns false, and leaves the memory mapped, if a device cannot deregister
 * it. */
static bool slab_free(struct pool_slab *slab)
{
	bool free_it = !slab->mr || fab_dereg(slab->mr);

	if (slab->base && free_it) {
		ASAN_UNPOISON_MEMORY_REGION(slab->base, slab->len);
		munmap(slab->base, slab->len);
	}
	free(slab);
	return free_it;
}

static struct pool_slab *slab_new(struct fab_pool *pool, unsigned int k,
				  size_t len)
{
	size_t size = pool->size[k], n = len / size;
	struct pool_slab *slab;
	int rc;

	slab = calloc(1, sizeof(*slab) + n * sizeof(slab->bufs[0]));
	if (!slab)
		return NULL;
	slab->len = len;
	slab->nbufs = n;
	slab->base = slab_map(pool, len, &slab->huge);
	rc = slab->base ? fab_reg(pool->dom, slab->base, len, &slab->mr) :
			  -ENOMEM;
	if (rc) {
		slab->mr = NULL;
		if (rc == -EBUSY) {
			slab->base = NULL;
			pool->bytes_held += len;
		}
		slab_free(slab);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		struct pool_buf *pb = &slab->bufs[i];

		pb->slab = slab;
		pb->b.addr = (char *)slab->base + i * size;
		pb->b.size = size;
		pb->b.mr = slab->mr;
		pb->b.pool = pool;
		pb->b.klass = k;
	}
	ASAN_POISON_MEMORY_REGION(slab->base, len);
	return slab;
}

static size_t capped(const struct fab_pool *pool, size_t limit)
{
	size_t cap = atomic_load_explicit(&pool->cap, memory_order_relaxed);

	return MIN(limit, cap);
}

/* Grow lock held. */
static size_t room_below(const struct fab_pool *pool, size_t limit)
{
	limit = capped(pool, limit);
	return limit > pool->bytes_held ? limit - pool->bytes_held : 0;
}

static size_t round_page(size_t n)
{
	return (n + POOL_PAGE - 1) / POOL_PAGE * POOL_PAGE;
}

/* The size of the class's next slab, 0 at the limit. */
static size_t slab_room(const struct fab_pool *pool, unsigned int k,
			size_t limit)
{
	size_t room = room_below(pool, limit);
	size_t size = pool->size[k], want = slab_bytes(size);

	if (pool->huge && want < POOL_HUGE)
		want = POOL_HUGE;
	want = MIN(want, room);
	if (pool->huge && want >= size && !(want % POOL_HUGE))
		return want;
	/* Whole pages; buffers may leave part of the last one. */
	want -= want % POOL_PAGE;
	return round_page(want / size * size);
}

/* Grow lock held. Returns a buffer of a new slab. */
static struct fab_buf *class_grow(struct fab_pool *pool, unsigned int k,
				  size_t limit)
{
	size_t len = slab_room(pool, k, limit);
	struct pool_shard *s = &pool->shards[k][own_shard()];
	struct pool_slab *slab;
	struct fab_buf *b;

	if (!len)
		return NULL;
	slab = slab_new(pool, k, len);
	if (!slab) {
		/* The device's registrations or the process's memory are used
		 * up. */
		atomic_store_explicit(&pool->cap, pool->bytes_held,
				      memory_order_relaxed);
		pool->grow_at = base_now_ms() + POOL_GROW_MS;
		atomic_fetch_add_explicit(&pool->dom->shortages, 1,
					  memory_order_relaxed);
		return NULL;
	}
	slab->next = pool->slabs[k];
	pool->slabs[k] = slab;
	pool->bytes_held += len;
	if (slab->huge)
		pool->bytes_huge += len;
	pool->nslabs++;

	pthread_mutex_lock(&s->lock);
	for (size_t i = slab->nbufs; i-- > 0;)
		shard_push(s, &slab->bufs[i].b);
	b = shard_pop(s);
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* ---- Giving slabs back ----------------------------------------------- */

static struct pool_slab *slab_of(struct fab_buf *b)
{
	return ((struct pool_buf *)b)->slab;
}

/* Shard lock held. Remove the buffers of dead slabs. */
static void shard_sweep(struct pool_shard *s)
{
	struct fab_buf **link = &s->free;
	size_t n = 0;

	while (*link) {
		if (slab_of(*link)->dead) {
			*link = (*link)->next;
			n++;
		} else {
			link = &(*link)->next;
		}
	}
	atomic_fetch_sub_explicit(&s->nfree, n, memory_order_relaxed);
}

/*
 * Grow lock held. Free unused slabs of the class until @want octets fit under
 * @limit.
 */
static void class_reclaim(struct fab_pool *pool, unsigned int k, size_t want,
			  size_t limit)
{
	struct pool_slab **link, *slab, *dead = NULL;
	size_t nfree = 0;

	for (unsigned int i = 0; i < POOL_SHARDS; i++)
		nfree += atomic_load_explicit(&pool->shards[k][i].nfree,
					      memory_order_relaxed);
	if (!nfree)
		return;

	class_lock(pool, k);
	for (slab = pool->slabs[k]; slab; slab = slab->next)
		slab->nfree = 0;
	for (unsigned int i = 0; i < POOL_SHARDS; i++)
		for (struct fab_buf *b = pool->shards[k][i].free; b;
		     b = b->next)
			slab_of(b)->nfree++;
	link = &pool->slabs[k];
	while ((slab = *link) && room_below(pool, limit) < want) {
		if (slab->nfree < slab->nbufs) {
			link = &slab->next;
			continue;
		}
		*link = slab->next;
		slab->dead = true;
		slab->next = dead;
		dead = slab;
		pool->bytes_held -= slab->len;
		if (slab->huge)
			pool->bytes_huge -= slab->len;
	}
	for (unsigned int i = 0; dead && i < POOL_SHARDS; i++)
		shard_sweep(&pool->shards[k][i]);
	class_unlock(pool, k);

	while ((slab = dead)) {
		size_t len = slab->len;

		dead = slab->next;
		if (!slab_free(slab))
			pool->bytes_held += len;
	}
}

/* Grow lock held. Free unused slabs of other classes for a new one. */
static struct fab_buf *class_reclaimed(struct fab_pool *pool, unsigned int k,
				       size_t limit)
{
	if (pool->size[k] > capped(pool, limit))
		return NULL;
	for (unsigned int i = 0; i < pool->nclasses; i++)
		if (i != k)
			class_reclaim(pool, i, round_page(pool->size[k]),
				      limit);
	return class_grow(pool, k, limit);
}

struct fab_buf *pool_get_slow(struct fab_pool *pool, unsigned int k,
			      size_t limit)
{
	struct fab_buf *b;

	pthread_mutex_lock(&pool->grow);
	b = class_pop_exact(pool, k); /* another thread may have grown it */
	if (!b)
		b = class_grow(pool, k, limit);
	if (!b && limit < pool->limit)
		b = class_reclaimed(pool, k, limit);
	for (unsigned int i = k + 1; !b && i < pool->nclasses; i++)
		if (may_use(pool, i, limit))
			b = class_pop_exact(pool, i);
	if (!b)
		b = class_reclaimed(pool, k, limit);
	pthread_mutex_unlock(&pool->grow);
	return b;
}

void pool_try_growth(struct fab_pool *pool, unsigned int k)
{
	struct fab_buf *b = NULL;

	pthread_mutex_lock(&pool->grow);
	if (base_now_ms() >= pool->grow_at) {
		atomic_store_explicit(&pool->cap, SIZE_MAX,
				      memory_order_relaxed);
		b = class_grow(pool, k, pool->limit);
	}
	if (b) {
		struct pool_shard *s = &pool->shards[k][own_shard()];

		pthread_mutex_lock(&s->lock);
		shard_push(s, b);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&pool->grow);
}

void pool_free_slabs(struct fab_pool *pool)
{
	struct pool_slab *slab;

	for (unsigned int k = 0; k < POOL_CLASSES; k++)
		while ((slab = pool->slabs[k])) {
			pool->slabs[k] = slab->next;
			slab_free(slab);
		}
}
