/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rx - receive buffers of a TCP client: rx.h
 */
#include <string.h>
#include <sys/param.h>

#include "gateway/client.h"

/* A receive buffer, and the least room in it that is worth a system call. */
#define RX_ROOM (65536 - sizeof(struct gw_buf))
#define RX_ROOM_MIN 4096
/* So much of a record shows that it is really sent, and not only announced. */
#define RX_LARGE_AFTER 16384
#define RX_LARGE ((1u << 20) - sizeof(struct gw_buf))
/* What a Call needs beside its record, if it has no results to speak of. */
#define RX_CALL 32768
/* The longest record, with all that is left out of it. */
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

/* A large buffer is for one record, and nothing else is received into it. */
static bool is_large(const struct gw_rx *x)
{
	return x->buf->cap > RX_ROOM;
}

void gw_rx_release(struct gw_client *c)
{
	struct gw_rx *x = &c->rx;

	/* What the rest of a record has been promised it would lose. */
	if (!x->buf || x->pos != x->fill || rec_inside(&x->rec))
		return;
	if (is_large(x) ||
	    atomic_load_explicit(&x->buf->refs, memory_order_acquire) == 1)
		gw_rx_set(x, NULL);
}

/* Octets that may be received into the buffer. */
static size_t buffer_room(const struct gw_rx *x)
{
	size_t room = x->buf->cap - x->fill;
	size_t record = x->rec.left ? x->rec.left : REC_MARK_LEN - x->rec.nmark;

	if (!is_large(x))
		return room < MIN(RX_ROOM_MIN, record) ? 0 : room;
	return rec_inside(&x->rec) ? MIN(room, record) : 0;
}

/*
 * All that has been received has been parsed: receive on behind the last octet of
 * the record that is kept. So neither marks nor what is dropped take room.
 */
static void rewind_buffer(struct gw_rx *x)
{
	const struct rt_piece *last;
	const uint8_t *end;

	if (atomic_load_explicit(&x->buf->refs, memory_order_acquire) == 1) {
		x->fill = 0;
	} else if (x->acc.nhold && x->acc.hold[x->acc.nhold - 1] == x->buf) {
		last = &x->acc.piece[x->acc.npieces - 1];
		end = (const uint8_t *)last->addr + last->len;
		x->fill = (size_t)(end - x->buf->data);
	}
	x->pos = x->fill;
}

/*
 * The room for the next buffer. A record of which enough has come gets large ones,
 * for its own octets alone, so that it lies in few pieces and no other record keeps
 * them.
 */
static size_t next_room(const struct gw_client *c, size_t left)
{
	const struct gw_rx *x = &c->rx;
	size_t room = RX_ROOM, grown = MAX(x->rec.left, x->acc.len);

	if (x->acc.len < RX_LARGE_AFTER && !gw_memory_is_plenty(&c->gw->memory))
		return RX_ROOM;
	if (x->rec.last)
		return left > RX_ROOM ? MIN(left, RX_LARGE) : RX_ROOM;
	/* More fragments are to come: as much again, in whole buffers. */
	while (room < RX_LARGE && 2 * room <= MIN(left, grown))
		room = 2 * room + sizeof(struct gw_buf);
	return room;
}

/* Octets of memory that the rest of the record, @left of it, and its Call need. */
static size_t need(const struct gw_client *c, size_t left)
{
	size_t sum = RX_CALL, room;

	for (; left; left -= MIN(left, room)) {
		room = left > RX_ROOM ? MIN(left, RX_LARGE) : RX_ROOM;
		sum += fab_pool_size(c->gw->pool, room + sizeof(struct gw_buf));
	}
	return sum;
}

size_t gw_rx_room(struct gw_client *c)
{
	struct gw_rx *x = &c->rx;
	size_t left =
		c->gw->opt.max_record - MIN(c->gw->opt.max_record, x->acc.len);
	struct gw_buf *b;

	if (x->rec.last)
		left = MIN(left, x->rec.left);
	if (x->buf) {
		rewind_buffer(x);
		if (buffer_room(x))
			return buffer_room(x);
	}
	if (!x->acc.nhold)
		gw_rx_set(x, NULL);
	b = gw_buf_get(c, next_room(c, left),
		       rec_inside(&x->rec) ? need(c, left) : 0);
	if (!b)
		return 0;
	gw_rx_set(x, b);
	return buffer_room(x);
}
