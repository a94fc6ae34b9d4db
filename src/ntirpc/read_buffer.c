/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_buffer - memory for the data of a READ that can be sent without a copy
 *
 * A hash table has the buffers that Ganesha holds, by address, because there is one function
 * that frees. It is global, as that is. `offered` belongs to the thread that executes the Call.
 *
 * Lock order: the lock of a bucket is a leaf.
 */
#include "ntirpc/read_buffer.h"

#include <stdatomic.h>
#include <sys/param.h>

/* Fewer octets are copied as fast. */
#define READ_MIN 2048
#define BUCKETS 64u

static struct {
	atomic_uint count;
	struct bucket {
		pthread_mutex_t lock;
		struct fab_buf *first;
	} table[BUCKETS];
} held = { .table = {
		   [0 ... BUCKETS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER },
	   } };

static __thread struct {
	struct nrt_call *nc; /* NULL: nothing is offered */
	size_t size;
} offered;

static struct bucket *bucket_of(const void *p)
{
	uint64_t page = (uintptr_t)p / NRT_READ_ALIGN;

	return &held.table[(page * 0x9e3779b97f4a7c15u >> 32) % BUCKETS];
}

bool nrt_read_copies(const struct fab_pool *pool)
{
	return !(fab_pool_limits(pool)->caps & FAB_CAP_ANY_LOCAL);
}

void nrt_read_offer(struct nrt_call *nc)
{
	struct iovec iov[RT_MAX_PIECES];
	struct ulb_bulk bulk;
	unsigned int n;

	offered.nc = NULL;
	if (nc->head.op_class != ULB_CLASS_read || nc->head.unread ||
	    !nc->call->nwrites || !nrt_read_copies(nc->pool))
		return;
	n = rt_to_iov(nc->call->pieces, nc->call->npieces, iov);
	if (ulb_scan_bulk(iov, n, &nc->head, &bulk, 1) != 1 ||
	    bulk.kind != ULB_BULK_READ || bulk.count > nc->write_room ||
	    bulk.count < READ_MIN)
		return;
	offered.nc = nc;
	offered.size = roundup((size_t)bulk.count, BYTES_PER_XDR_UNIT);
}

void nrt_read_withdraw(void)
{
	offered.nc = NULL;
}

void *nrt_read_get(size_t size)
{
	struct nrt_call *nc = offered.nc;
	struct bucket *bucket;
	struct fab_buf *b;

	if (!nc || roundup(size, BYTES_PER_XDR_UNIT) != offered.size)
		return NULL;
	offered.nc = NULL;
	b = fab_pool_get_spare(nc->pool, offered.size);
	if (!b)
		return NULL;
	if ((uintptr_t)b->addr % NRT_READ_ALIGN) {
		fab_pool_put(b);
		return NULL;
	}
	nc->read_buffer = (struct fab_sge){ b->addr, b->size, b->mr };
	atomic_fetch_add_explicit(&held.count, 1, memory_order_relaxed);
	bucket = bucket_of(b->addr);
	pthread_mutex_lock(&bucket->lock);
	b->next = bucket->first;
	bucket->first = b;
	pthread_mutex_unlock(&bucket->lock);
	return b->addr;
}

bool nrt_read_put(void *p)
{
	struct fab_buf *b = NULL, **at;
	struct bucket *bucket;

	/* Nearly all that is freed is elsewhere. */
	if (!p || (uintptr_t)p % NRT_READ_ALIGN || !nrt_read_count())
		return false;
	bucket = bucket_of(p);
	pthread_mutex_lock(&bucket->lock);
	for (at = &bucket->first; *at; at = &(*at)->next) {
		if ((*at)->addr != p)
			continue;
		b = *at;
		*at = b->next;
		break;
	}
	pthread_mutex_unlock(&bucket->lock);
	if (!b)
		return false;
	b->next = NULL;
	fab_pool_put(b);
	/* Then the pool may be destroyed. */
	atomic_fetch_sub_explicit(&held.count, 1, memory_order_release);
	return true;
}

unsigned int nrt_read_count(void)
{
	return atomic_load_explicit(&held.count, memory_order_acquire);
}
