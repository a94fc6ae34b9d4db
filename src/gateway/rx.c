/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rx - what is received into
 *
 * Threads: the client's worker.
 */
#include <string.h>
#include <sys/param.h>

#include "gateway/client.h"

/* A receive buffer, and how little room in it is not worth a system call. */
#define RX_ROOM (65536 - sizeof(struct gw_buf))
#define RX_LEAST 4096
/* What shows that a record announced is really sent. */
#define RX_SHOWN 16384
#define RX_LARGE ((1u << 20) - sizeof(struct gw_buf))
/* What no record has, however much of it is left out. */
#define RECORD_MOST ((size_t)1 << 30)

void gw_rx_init(struct gw_rx *x)
{
	rec_init(&x->rec, RECORD_MOST);
}

void gw_rx_end(struct gw_rx *x)
{
	gw_record_release(&x->acc);
	gw_rx_set(x, NULL);
}

void gw_rx_set(struct gw_rx *x, struct gw_buf *b)
{
	gw_buf_put(x->buf);
	x->buf = b;
	x->pos = 0;
	x->fill = 0;
}

/* By what it takes of the memory: where the pool has none that is small it gives
 * a large one for little room. */
bool gw_rx_is_large(const struct gw_rx *x)
{
	const struct fab_buf *b = x->buf->fab;

	return b->size > fab_pool_size(b->pool, RX_ROOM + sizeof(*x->buf));
}

void gw_rx_release(struct gw_client *c)
{
	if (!c->rx.buf || c->rx.pos != c->rx.fill)
		return;
	/* Of a large one the Calls in it would keep all. */
	if ((!gw_rx_is_large(&c->rx) || rec_inside(&c->rx.rec)) &&
	    atomic_load_explicit(&c->rx.buf->refs, memory_order_acquire) != 1)
		return;
	gw_rx_set(&c->rx, NULL);
	/* What is left out has buffers that no record keeps. */
	gw_share_done_in(&c->share, gw_record_held(&c->rx.acc, NULL));
}

/*
 * What a waiting client has received, into as small a buffer as will do: a
 * short Call at the end of a large buffer must not hold that while it waits
 * for another, or all would wait for each other.
 */
void gw_rx_shrink(struct gw_client *c)
{
	size_t rest = c->rx.buf ? c->rx.fill - c->rx.pos : 0;
	struct gw_buf *b;

	if (!c->rx.buf || c->rx.acc.flat || !gw_rx_is_large(&c->rx) ||
	    c->rx.acc.len + rest > RX_ROOM)
		return;
	b = gw_buf_get(c, c->rx.acc.len + rest, GW_MEM_LESS);
	if (b && b->fab->size >= c->rx.buf->fab->size) {
		gw_buf_put(b);
		b = NULL;
	}
	if (!b)
		return;
	memcpy(b->data + c->rx.acc.len, c->rx.buf->data + c->rx.pos, rest);
	gw_record_peek(&c->rx.acc, b->data, c->rx.acc.len);
	c->rx.pos = c->rx.acc.len;
	c->rx.fill = c->rx.acc.len + rest;
	gw_record_release(&c->rx.acc);
	if (c->rx.pos)
		gw_record_add(&c->rx.acc, c, b, b->data, c->rx.pos);
	gw_buf_put(c->rx.buf);
	c->rx.buf = b;
	gw_share_done_in(&c->share, b->fab->size);
}

/*
 * What is only to be forgotten takes no room: all that has been received has
 * been looked at, so it begins anew behind what is kept. Else each WRITE of a
 * long Call, however short it was cut, would hold buffers of its own.
 */
static void rewind_dropped(struct gw_client *c)
{
	const struct gw_record *r = &c->rx.acc;
	const struct rt_piece *last;
	const uint8_t *end;

	if (!gw_fit_drops(&c->fit) || !r->npieces)
		return;
	last = &r->piece[r->npieces - 1];
	end = (const uint8_t *)last->addr + last->len;
	if ((const uint8_t *)last->addr < c->rx.buf->data ||
	    end > c->rx.buf->data + c->rx.fill)
		return;
	c->rx.fill = (size_t)(end - c->rx.buf->data);
	c->rx.pos = c->rx.fill;
}

/*
 * Room to receive into. A buffer that no record holds is used from its
 * beginning; a large fragment under way gets a buffer for the rest of it, so
 * that its octets lie in few stretches. But where memory is short something of
 * it must have come.
 */
bool gw_rx_room(struct gw_client *c)
{
	size_t want = RX_ROOM;
	struct gw_buf *b;

	if (c->rx.buf)
		rewind_dropped(c);
	if (c->rx.buf &&
	    atomic_load_explicit(&c->rx.buf->refs, memory_order_acquire) == 1) {
		c->rx.pos = 0;
		c->rx.fill = 0;
	}
	if (c->rx.buf && c->rx.buf->cap - c->rx.fill >= RX_LEAST)
		return true;
	/* Room for the next Calls too, but no more than can be moved away. */
	if (c->rx.rec.left + RX_LEAST > want &&
	    (c->rx.acc.len >= RX_SHOWN || gw_shares_plenty(&c->gw->shares)))
		want = c->rx.rec.left + RX_LEAST;
	want = MIN(want, RX_LARGE);
	/* What is not in a record any more counts as none. */
	if (!c->rx.acc.nhold) {
		gw_rx_set(&c->rx, NULL);
		gw_share_done_in(&c->share, 0);
	}
	b = gw_buf_get(c, want, GW_MEM_RECORD);
	if (!b)
		return false;
	gw_rx_set(&c->rx, b);
	return true;
}
