/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock-free table has the lent addresses, each as often as it is lent. A bucket is a cache
 * line; if it is full, nothing is lent. Memory that a pool has returned to the kernel may be
 * allocated again before its address leaves the table. Then the two frees are taken for each
 * other, but each memory is freed once.
 *
 * There is one ntirpc with one pair of functions, hence the global state, which is set before
 * any thread uses it. `reading` and `asked` belong to the decoding thread.
 */
#include "ntirpc/quirks/lend.h"

#include <stdalign.h>
#include <stdatomic.h>

#include "base/be.h"
#include "compat/ntirpc.h"

/* Fewer octets are copied as fast. */
#define LEND_MIN 2048
#define BUCKETS 512u
#define SLOTS 8u

struct bucket {
	alignas(64) _Atomic(void *) at[SLOTS];
};

static struct {
	/* Atomic because other threads may call ours at once. */
	_Atomic(mem_1_size_t) malloc_;
	_Atomic(mem_free_size_t) free_size_;
	atomic_uint lent;
	struct bucket table[BUCKETS];
} lend;

/* The stream that this thread decodes; the request that it decodes next. */
static __thread const struct xs_decode *reading;
static __thread struct {
	struct svc_req *req;
	xdrproc_t proc;
} asked;

/* ---- What is lent -------------------------------------------------------- */

/* Buffers begin at pages. */
static struct bucket *lend_bucket(const void *p)
{
	uint64_t page = (uintptr_t)p >> 12;

	return &lend.table[(page * 0x9e3779b97f4a7c15u >> 32) % BUCKETS];
}

static bool table_add(void *p)
{
	struct bucket *b = lend_bucket(p);

	/* table_remove() looks at this first. */
	atomic_fetch_add_explicit(&lend.lent, 1, memory_order_relaxed);
	for (unsigned int i = 0; i < SLOTS; i++) {
		void *none = NULL;

		if (!atomic_load_explicit(&b->at[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&b->at[i], &none, p))
			return true;
	}
	atomic_fetch_sub_explicit(&lend.lent, 1, memory_order_relaxed);
	return false;
}

/* Returns false if @p is not lent. */
static bool table_remove(void *p)
{
	struct bucket *b;

	if (!p || !atomic_load_explicit(&lend.lent, memory_order_relaxed))
		return false;
	b = lend_bucket(p);
	for (unsigned int i = 0; i < SLOTS; i++) {
		void *mine = p;

		if (atomic_load_explicit(&b->at[i], memory_order_relaxed) !=
			    p ||
		    !atomic_compare_exchange_strong(&b->at[i], &mine, NULL))
			continue;
		atomic_fetch_sub_explicit(&lend.lent, 1, memory_order_relaxed);
		return true;
	}
	return false;
}

unsigned int nrt_lend_count(void)
{
	return atomic_load(&lend.lent);
}

/* ---- Lending ------------------------------------------------------------- */

/* Returns where the next @len octets are, if they are an opaque in one piece, of which
 * they are the beginning, and its length was read last. NULL: they must be copied. */
static void *place_of(const struct xs_decode *d, size_t len)
{
	const XDR *x = &d->xdrs;
	uint8_t *at = x->x_data;
	unsigned int n = d->cur;

	if (len < LEND_MIN || at - x->x_v.vio_base < 4)
		return NULL;
	if (be32_get(at - 4) != len)
		return NULL;
	if (at == x->x_v.vio_tail) {
		if (++n >= d->npieces)
			return NULL;
		at = d->pieces[n].addr;
	}
	if (at != d->pieces[n].addr || len > d->pieces[n].len ||
	    (uintptr_t)at % alignof(max_align_t))
		return NULL;
	return at;
}

static void *lend_malloc(size_t len, const char *file, int line,
			 const char *function)
{
	void *p = reading ? place_of(reading, len) : NULL;

	if (p && table_add(p))
		return p;
	return atomic_load_explicit(&lend.malloc_, memory_order_relaxed)(
		len, file, line, function);
}

static void lend_free(void *p, size_t len COMPAT_FREE_PARAMETERS)
{
	if (!table_remove(p))
		atomic_load_explicit(&lend.free_size_, memory_order_relaxed)(
			p, len COMPAT_FREE_ARGUMENTS);
}

static bool decode_args(XDR *xdrs, void *where)
{
	xdrproc_t proc = asked.proc;
	bool ok;

	asked.req->rq_msg.rm_xdr.proc = proc;
	asked.req = NULL;
	reading = xs_decode_of(xdrs);
	ok = proc(xdrs, where);
	reading = NULL;
	return ok;
}

void nrt_lend_args(struct nrt_call *nc, struct svc_req *req)
{
	if (!atomic_load_explicit(&lend.malloc_, memory_order_relaxed) ||
	    !nc->head.nfs || nc->head.op_class != ULB_CLASS_write ||
	    (nc->head.flavor != AUTH_NONE && nc->head.flavor != AUTH_SYS))
		return;
	asked.req = req;
	asked.proc = req->rq_msg.rm_xdr.proc;
	req->rq_msg.rm_xdr.proc = decode_args;
}

void nrt_lend_start(void)
{
	tirpc_pkg_params *p = &__ntirpc_pkg_params;

	if (!COMPAT_LENDS || atomic_load(&lend.malloc_))
		return;
	atomic_store(&lend.free_size_, p->free_size_);
	atomic_store(&lend.malloc_, p->malloc_);
	/* Threads of ntirpc already allocate and free: first the function that
	 * recognizes what is lent. */
	__atomic_store_n(&p->free_size_, lend_free, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->malloc_, lend_malloc, __ATOMIC_SEQ_CST);
}
