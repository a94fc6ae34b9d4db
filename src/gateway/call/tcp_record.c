/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp_record - records in receive buffers, and pool buffers on a client's account
 */
#include "gateway/client.h"

#include <string.h>
#include <sys/param.h>

struct fab_buf *gw_mem_get(struct gw_client *c, size_t size, size_t all)
{
	size_t n = fab_pool_size(c->gw->pool, size);
	struct fab_buf *b;

	if (!gw_account_take(&c->account, n, MAX(n, all)))
		return NULL;
	b = fab_pool_get(c->gw->pool, size);
	/* It must not keep from others what it cannot use. */
	if (!b) {
		gw_account_give(&c->account, n);
		gw_account_break_promise(&c->account);
	}
	return b;
}

struct fab_buf *gw_mem_force(struct gw_client *c, size_t size)
{
	struct fab_buf *b = fab_pool_get(c->gw->pool, size);

	if (b)
		gw_account_force(&c->account, fab_pool_size(c->gw->pool, size));
	return b;
}

void gw_mem_put(struct gw_client *c, struct fab_buf *buf, size_t size)
{
	gw_account_give(&c->account, fab_pool_size(c->gw->pool, size));
	fab_pool_put(buf);
}

/* The buffer begins with its own struct gw_buf. */
struct gw_buf *gw_buf_get(struct gw_client *c, size_t room, size_t all)
{
	struct fab_buf *fab;
	struct gw_buf *b;

	if (room > FAB_POOL_MAX_BUF - sizeof(*b))
		return NULL;
	fab = gw_mem_get(c, room + sizeof(*b), all);
	if (!fab)
		return NULL;
	b = fab->addr;
	atomic_init(&b->refs, 1);
	b->cap = room;
	b->c = c;
	gw_client_get(c);
	b->fab = fab;
	return b;
}

void gw_buf_put(struct gw_buf *b)
{
	struct gw_client *c;

	if (!b ||
	    atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
		return;
	c = b->c;
	gw_mem_put(c, b->fab, b->cap + sizeof(*b));
	gw_client_put(c);
}

void gw_record_peek(const struct gw_record *r, void *out, size_t n)
{
	uint8_t *to = out;

	for (unsigned int i = 0; n && i < r->npieces; i++) {
		size_t k = MIN(r->piece[i].len, n);

		memcpy(to, r->piece[i].addr, k);
		to += k;
		n -= k;
	}
}

bool gw_record_add(struct gw_record *r, struct gw_buf *b, uint8_t *p, size_t n)
{
	struct rt_piece *last = r->npieces ? &r->piece[r->npieces - 1] : NULL;

	if (last && r->hold[r->nhold - 1] == b) {
		uint8_t *end = (uint8_t *)last->addr + last->len;

		if (end != p)
			memmove(end, p, n);
		last->len += n;
		r->len += n;
		return true;
	}
	if (r->npieces == GW_PIECES)
		return false;
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	r->hold[r->nhold++] = b;
	r->piece[r->npieces++] = (struct rt_piece){ p, n, b->fab->mr };
	r->len += n;
	return true;
}

void gw_record_poke(struct gw_record *r, size_t at, uint32_t value)
{
	for (unsigned int i = 0, shift = 32; i < r->npieces && shift; i++) {
		const struct rt_piece *p = &r->piece[i];

		for (; at < p->len && shift; at++)
			((uint8_t *)p->addr)[at] =
				(uint8_t)(value >> (shift -= 8));
		at -= p->len;
	}
}

/* Release the buffers that the record has no octets in any more. */
static void release_unused(struct gw_record *r)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < r->nhold; i++) {
		struct gw_buf *b = r->hold[i];
		bool used = false;

		for (unsigned int k = 0; k < r->npieces && !used; k++) {
			uint8_t *p = r->piece[k].addr;

			used = p >= b->data && p < b->data + b->cap;
		}
		if (used)
			r->hold[n++] = b;
		else
			gw_buf_put(b);
	}
	r->nhold = n;
}

void gw_record_cut(struct gw_record *r, size_t from, size_t n)
{
	size_t to = from + n, pos = 0;
	unsigned int left = 0;

	for (unsigned int i = 0; i < r->npieces; i++) {
		struct rt_piece p = r->piece[i];
		size_t end = pos + p.len;
		size_t lo = from > pos ? from - pos : 0;
		size_t hi = to < end ? to - pos : p.len;

		if (from < end && to > pos) {
			uint8_t *a = p.addr;

			/* Its octets are nobody else's. */
			memmove(a + lo, a + hi, p.len - hi);
			p.len -= hi - lo;
		}
		pos = end;
		if (p.len)
			r->piece[left++] = p;
	}
	r->npieces = left;
	r->len -= n;
	release_unused(r);
}

void gw_record_move(struct gw_record *to, struct gw_record *from)
{
	to->len = from->len;
	to->npieces = from->npieces;
	to->nhold = from->nhold;
	memcpy(to->piece, from->piece, from->npieces * sizeof(to->piece[0]));
	memcpy(to->hold, from->hold, from->nhold * sizeof(to->hold[0]));
	from->len = 0;
	from->npieces = 0;
	from->nhold = 0;
}

void gw_record_release(struct gw_record *r)
{
	for (unsigned int i = 0; i < r->nhold; i++)
		gw_buf_put(r->hold[i]);
	r->len = 0;
	r->npieces = 0;
	r->nhold = 0;
}
