/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extents - the extents of an encode stream
 */
#include "ntirpc/stream/internal.h"

#include <errno.h>
#include <sys/param.h>

/* The least rest of a buffer that is worth an extent. */
#define SPARE_MIN 256

void xs_extent_freeze(struct xs_encode *e)
{
	struct xs_extent *x;

	if (!e->open)
		return;
	xs_extent_settle(e);
	x = &e->ext[e->next - 1];
	e->spare += x->len;
	e->spare_len -= x->len;
	x->room = x->len;
	e->open = false;
}

/* Get a buffer of @want octets, or of @need if memory is short, or else one that is promised to the
 * connection, so that it can always answer. */
static struct fab_buf *get_buffer(struct xs_encode *e, size_t want, size_t need)
{
	struct fab_buf *b = fab_pool_get_spare(e->pool, want);

	if (!b)
		b = fab_pool_get(e->pool, want);
	if (!b && need < want)
		b = fab_pool_get(e->pool, MAX(need, GROW_MIN));
	if (!b && need <= FAB_POOL_PROMISED && e->promised < RT_CALL_PROMISED) {
		b = fab_pool_get_promised(e->pool);
		if (b)
			e->promised++;
	}
	return b;
}

struct xs_extent *xs_extent_append(struct xs_encode *e, size_t need,
				   size_t headroom)
{
	struct xs_extent *x;
	size_t start = 0, room, want;
	struct fab_buf *buf = NULL;

	if (e->next) {
		xs_extent_freeze(e);
		start = xs_extent_total(e);
	}
	if (e->next == RT_MAX_PIECES || start + need > e->max ||
	    start == e->max)
		return xs_encode_fail(e, -EMSGSIZE), NULL;
	want = MAX(need, SPARE_MIN);
	if (e->next && e->spare) {
		/* Keep extents aligned, for ntirpc writes whole words. */
		size_t skew = -(uintptr_t)e->spare & 7;

		if (skew < e->spare_len) {
			e->spare += skew;
			e->spare_len -= skew;
		} else {
			e->spare_len = 0;
		}
	}
	if (!e->next || e->spare_len < want + headroom) {
		want = MAX(start, GROW_MIN);
		want = MIN(want, GROW_MAX);
		want = MAX(want, need + headroom);
		buf = get_buffer(e, want, need + headroom);
		if (!buf)
			return xs_encode_fail(e, -ENOMEM), NULL;
		e->spare = buf->addr;
		e->spare_len = buf->size;
		e->spare_mr = buf->mr;
	}
	e->spare += headroom;
	e->spare_len -= headroom;
	room = e->spare_len;
	room = MIN(room, e->max - start);
	x = &e->ext[e->next++];
	*x = (struct xs_extent){
		.base = e->spare,
		.start = (uint32_t)start,
		.room = (uint32_t)room,
		.headroom = (uint32_t)headroom,
		.buf = buf,
		.mr = e->spare_mr,
	};
	e->open = true;
	return x;
}

bool xs_extent_advance(struct xs_encode *e)
{
	xs_extent_settle(e);
	if (xs_extent_is_last(e, e->cur) && !xs_extent_append(e, 0, 0))
		return false;
	xs_extent_enter(e, e->cur + 1, 0);
	return true;
}
