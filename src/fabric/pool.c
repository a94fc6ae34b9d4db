/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool - registered buffers in size classes
 *
 * Memory comes in slabs of one class each: mapped, registered, cut up, and
 * kept. When the limit stands in the way of a new slab, a free buffer of a
 * larger class serves instead; only when there is none are slabs of other
 * classes that are free as a whole given back to make room, so that a server
 * whose mix of sizes changes does not refuse for ever.
 *
 * Who takes spare memory leaves what is reserved to the others. What has been
 * promised is kept aside as buffers, which come back there: whatever happens to
 * the rest, as many as were promised are kept or lent.
 *
 * Threads: any. A thread's shard is that of the processor it runs on.
 * Lock order: pool->grow, then the shards of one class by ascending index.
 * pool->keep, of what is kept, is a leaf.
 * pool->grow protects the lists of slabs and the octets held, and is only taken
 * when no shard of the class has a buffer. A shard's lock protects its list.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, len) ((void)(addr), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(addr, len) ((void)(addr), (void)(len))
#endif

#include "rpcrdma/pool.h"

#define POOL_CLASSES 6
#define POOL_SHARDS 8
#define POOL_MIN_SHIFT 12
#define POOL_CLASS_SHIFT 2
#define POOL_DEFAULT_LIMIT ((size_t)1 << 30)
/* With less to spare than this the pool is short of memory. */
#define POOL_LITTLE ((size_t)64 << 10)
#define POOL_HUGE ((size_t)2 << 20)
#define POOL_HUGE_FLAG (21 << MAP_HUGE_SHIFT)

/* Small classes have small slabs: a small server should stay small. */
static const size_t slab_bytes[POOL_CLASSES] = {
	256u << 10, 512u << 10, 1u << 20, 2u << 20, 4u << 20, 4u << 20,
};

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

	pthread_mutex_t grow;
	struct pool_slab *slabs[POOL_CLASSES];
	size_t bytes_held, bytes_huge;
	uint64_t nslabs;
	bool no_huge_told;

	pthread_mutex_t keep;
	struct fab_buf *kept;
	size_t owed; /* promises given up that are lent */

	atomic_size_t in_use, peak;
	atomic_uint_least64_t refused;

	struct pool_shard shards[POOL_CLASSES][POOL_SHARDS];
};

static size_t class_size(unsigned int k)
{
	return (size_t)1 << (POOL_MIN_SHIFT + k * POOL_CLASS_SHIFT);
}

static unsigned int own_shard(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (unsigned int)cpu % POOL_SHARDS;
}

/* ---- Free lists ------------------------------------------------------ */

/* Shard lock held. */
static struct fab_buf *shard_pop(struct pool_shard *s)
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
static void shard_push(struct pool_shard *s, struct fab_buf *b)
{
	b->next = s->free;
	s->free = b;
	atomic_fetch_add_explicit(&s->nfree, 1, memory_order_relaxed);
}

static struct fab_buf *class_pop(struct fab_pool *pool, unsigned int k)
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
 * class_pop() can miss a buffer that moves between shards as it looks. This
 * cannot: if it finds none, every buffer of the class is in use.
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

static void slab_free(struct pool_slab *slab)
{
	if (slab->mr)
		fab_dereg(slab->mr);
	if (slab->base) {
		ASAN_UNPOISON_MEMORY_REGION(slab->base, slab->len);
		munmap(slab->base, slab->len);
	}
	free(slab);
}

static struct pool_slab *slab_new(struct fab_pool *pool, unsigned int k,
				  size_t len)
{
	size_t size = class_size(k), n = len / size;
	struct pool_slab *slab;

	slab = calloc(1, sizeof(*slab) + n * sizeof(slab->bufs[0]));
	if (!slab)
		return NULL;
	slab->len = len;
	slab->nbufs = n;
	slab->base = slab_map(pool, len, &slab->huge);
	if (!slab->base || fab_reg(pool->dom, slab->base, len, &slab->mr)) {
		slab->mr = NULL;
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

/* How much the pool may still grow. Grow lock held. */
static size_t room_below(const struct fab_pool *pool, size_t limit)
{
	return limit > pool->bytes_held ? limit - pool->bytes_held : 0;
}

/* How large the next slab of the class may be; 0: the limit is reached. */
static size_t slab_room(const struct fab_pool *pool, unsigned int k,
			size_t limit)
{
	size_t room = room_below(pool, limit);
	size_t want = slab_bytes[k];

	if (pool->huge && want < POOL_HUGE)
		want = POOL_HUGE;
	if (want > room)
		want = room;
	return want - want % class_size(k);
}

/* A new slab, of which one buffer is returned. Grow lock held. */
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
	if (!slab)
		return NULL;
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

/* Drop the buffers of dead slabs from a list. Shard lock held. */
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
 * Give back slabs of the class in which nothing is in use, until @want octets
 * fit under @limit. Grow lock held.
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
		dead = slab->next;
		slab_free(slab);
	}
}

/* What has been given back may be all that is left: so who may not have that is
 * not only kept from growing the pool. */
static bool may_use(const struct fab_pool *pool, unsigned int k, size_t limit)
{
	size_t in_use =
		atomic_load_explicit(&pool->in_use, memory_order_relaxed);

	return limit == pool->limit ||
	       (class_size(k) <= limit && in_use <= limit - class_size(k));
}

/* No shard of the class had anything. */
static struct fab_buf *get_slow(struct fab_pool *pool, unsigned int k,
				size_t limit)
{
	struct fab_buf *b;

	pthread_mutex_lock(&pool->grow);
	b = class_pop_exact(pool, k); /* others may have grown it meanwhile */
	if (!b)
		b = class_grow(pool, k, limit);
	for (unsigned int i = k + 1; !b && i < POOL_CLASSES; i++)
		if (may_use(pool, i, limit))
			b = class_pop_exact(pool, i);
	if (!b && class_size(k) <= limit) {
		for (unsigned int i = 0; i < POOL_CLASSES; i++)
			if (i != k)
				class_reclaim(pool, i, class_size(k), limit);
		b = class_grow(pool, k, limit);
	}
	pthread_mutex_unlock(&pool->grow);
	return b;
}

/* ---- The pool -------------------------------------------------------- */

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
	pthread_mutex_init(&pool->keep, NULL);
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
	for (unsigned int k = 0; k < POOL_CLASSES; k++) {
		struct pool_slab *slab;

		while ((slab = pool->slabs[k])) {
			pool->slabs[k] = slab->next;
			slab_free(slab);
		}
		for (unsigned int i = 0; i < POOL_SHARDS; i++)
			pthread_mutex_destroy(&pool->shards[k][i].lock);
	}
	pthread_mutex_destroy(&pool->keep);
	pthread_mutex_destroy(&pool->grow);
	free(pool);
}

/* What is in use then. */
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

static struct fab_buf *get(struct fab_pool *pool, size_t size, size_t limit)
{
	struct fab_buf *b = NULL;
	struct pool_buf *pb;
	unsigned int k = 0;

	if (size <= FAB_POOL_MAX_BUF) {
		while (class_size(k) < size)
			k++;
		if (may_use(pool, k, limit)) {
			b = class_pop(pool, k);
			if (!b)
				b = get_slow(pool, k, limit);
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
	/* Others may have taken some since it was looked at. */
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
	return get(pool, size, pool->limit);
}

struct fab_buf *fab_pool_get_spare(struct fab_pool *pool, size_t size)
{
	return get(pool, size, pool->spare);
}

/* Keep lock held. */
static struct fab_buf *kept_pop(struct fab_pool *pool)
{
	struct fab_buf *b = pool->kept;

	if (b) {
		pool->kept = b->next;
		b->next = NULL;
	}
	return b;
}

/* Keep lock held. */
static void kept_push(struct fab_pool *pool, struct fab_buf *b)
{
	ASAN_POISON_MEMORY_REGION(b->addr, b->size);
	b->next = pool->kept;
	pool->kept = b;
}

/* Back to what is kept, unless that need not be any more. */
static bool keep(struct fab_pool *pool, struct pool_buf *pb)
{
	bool kept;

	pb->promised = false;
	pthread_mutex_lock(&pool->keep);
	kept = !pool->owed;
	if (kept)
		kept_push(pool, &pb->b);
	else
		pool->owed--;
	pthread_mutex_unlock(&pool->keep);
	return kept;
}

bool fab_pool_promise(struct fab_pool *pool, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct fab_buf *b = fab_pool_get_spare(pool, FAB_POOL_PROMISED);

		if (!b) {
			fab_pool_release(pool, i);
			return false;
		}
		pthread_mutex_lock(&pool->keep);
		kept_push(pool, b);
		pthread_mutex_unlock(&pool->keep);
	}
	return true;
}

void fab_pool_release(struct fab_pool *pool, unsigned int n)
{
	while (n--) {
		struct fab_buf *b;

		pthread_mutex_lock(&pool->keep);
		b = kept_pop(pool);
		if (!b)
			pool->owed++;
		pthread_mutex_unlock(&pool->keep);
		fab_pool_put(b);
	}
}

struct fab_buf *fab_pool_get_promised(struct fab_pool *pool)
{
	struct fab_buf *b;

	pthread_mutex_lock(&pool->keep);
	b = kept_pop(pool);
	pthread_mutex_unlock(&pool->keep);
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
	       pool->spare;
}

void fab_pool_put(struct fab_buf *buf)
{
	struct pool_buf *pb = (struct pool_buf *)buf;
	struct fab_pool *pool;
	struct pool_shard *s;

	if (!buf)
		return;
	assert(pb->in_use);
	pool = buf->pool;
	if (pb->promised && keep(pool, pb))
		return;
	pb->in_use = false;
	/* Before it can be taken again, or the peak would count it twice. */
	atomic_fetch_sub_explicit(&pool->in_use, buf->size,
				  memory_order_relaxed);
	ASAN_POISON_MEMORY_REGION(buf->addr, buf->size);
	/* A device may still write there. */
	if (fab_mr_kept(buf->mr, buf->addr, buf->size))
		return;
	s = &pool->shards[buf->klass][own_shard()];
	pthread_mutex_lock(&s->lock);
	shard_push(s, buf);
	pthread_mutex_unlock(&s->lock);
}

static void *lend(void *ctx, struct fab_sge *sge)
{
	struct fab_pool *pool = ctx;
	struct fab_buf *b = fab_pool_get(pool, pool->dom->share.size);

	if (b)
		*sge = (struct fab_sge){ b->addr, b->size, b->mr };
	return b;
}

static void take_back(void *ctx, void *memory)
{
	fab_pool_put(memory);
}

void fab_pool_lend(struct fab_pool *pool, struct fab_share *share)
{
	share->take = lend;
	share->give = take_back;
	share->ctx = pool;
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
	for (unsigned int k = 0; k < POOL_CLASSES; k++) {
		for (unsigned int i = 0; i < POOL_SHARDS; i++) {
			struct pool_shard *s = &pool->shards[k][i];

			pthread_mutex_lock(&s->lock);
			out->gets += s->gets;
			pthread_mutex_unlock(&s->lock);
		}
	}
}
