/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receive - what a TCP client sends: receive.h
 */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <syslog.h>

#include "base/be.h"
#include "base/clock.h"
#include "gateway/client.h"

/* Receives before other clients get a turn. */
#define RX_BUDGET 16
/* How often a client that is to end is asked whether it has all Replies. */
#define ACK_MS 10

/* ---- Buffers ------------------------------------------------------------ */

/* A receive buffer, and the least room in it that is worth a system call. */
#define RX_ROOM (65536 - sizeof(struct gw_buf))
#define RX_ROOM_MIN 4096
/* So much of a record shows that it is really sent, and not only announced. */
#define RX_LARGE_AFTER 16384
#define RX_LARGE ((1u << 20) - sizeof(struct gw_buf))
/* What a Call needs beside its record, if it has no results to speak of. */
#define RX_CALL 32768

/* Receive into @b, which is empty, or NULL. */
static void set_buffer(struct gw_rx *x, struct gw_buf *b)
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
		set_buffer(x, NULL);
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

/* Make room to receive into. All that has been received has been parsed. Returns how
 * many octets may be received; 0 without memory. */
static size_t make_room(struct gw_client *c)
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
		set_buffer(x, NULL);
	b = gw_buf_get(c, next_room(c, left),
		       rec_inside(&x->rec) ? need(c, left) : 0);
	if (!b)
		return 0;
	set_buffer(x, b);
	return buffer_room(x);
}

/* ---- Records ------------------------------------------------------------ */

static void refuse(struct gw_client *c, const char *why)
{
	gw_client_count(c, records_refused);
	gw_client_kill(c, LOG_WARNING, why);
}

/* Returns true if the server would deny the Call as well: that need not cost it
 * time. */
static bool is_denied(const struct gw_record *r, struct ulb_denial *d)
{
	struct iovec iov[GW_PIECES];

	return ulb_deny(iov, rt_to_iov(r->piece, r->npieces, iov), 0, d);
}

/* The record in c->rx.acc is whole. Returns true if it was taken and reading may go
 * on. */
static bool take_record(struct gw_client *c)
{
	uint8_t head[8];
	uint32_t xid, type;
	struct ulb_denial denial;
	bool denied;

	if (c->rx.acc.len < sizeof(head) || c->rx.acc.len % 4) {
		refuse(c, "a record that cannot be an RPC message: closed");
		return false;
	}
	gw_record_peek(&c->rx.acc, head, sizeof(head));
	xid = be32_get(head);
	type = be32_get(head + 4);
	if (type > RPC_REPLY) {
		refuse(c, "a record neither Call nor Reply: closed");
		return false;
	}
	if (type == RPC_REPLY) {
		gw_reverse_reply(c, &c->rx.acc, xid);
	} else {
		denied = is_denied(&c->rx.acc, &denial);
		if (!denied &&
		    !gw_shorten_head(&c->shorten, &c->rx.acc)->readable) {
			refuse(c, "a Call that ends in its header: closed");
			return false;
		}
		switch (gw_call_take(c, &c->rx.acc, xid,
				     denied ? &denial : NULL)) {
		case GW_TAKEN:
			if (!denied)
				gw_link_want(c);
			break;
		case GW_PAUSE:
			gw_account_stop_waiting(&c->account);
			return false;
		case GW_NO_MEMORY:
			gw_disconnect_wait_memory(c);
			return false;
		}
	}
	c->rx.have_record = false;
	gw_shorten_reset(&c->shorten);
	/* Of its memory what nothing has come of. */
	gw_account_break_promise(&c->account);
	gw_account_stop_waiting(&c->account);
	return true;
}

/* How many of the received octets are treated alike: kept, or dropped. */
static size_t run_length(const struct gw_client *c)
{
	size_t n = c->rx.fill - c->rx.pos;

	return c->rx.rec.left ? gw_shorten_run(c, &c->rx.acc, n) : n;
}

/* Take payload of the record. Returns false if it is in too many pieces. */
static bool take_data(struct gw_client *c, uint8_t *p, size_t n)
{
	if (!gw_shorten_drops(&c->shorten) &&
	    !gw_record_add(&c->rx.acc, c->rx.buf, p, n))
		return false;
	gw_shorten_advance(&c->shorten, n);
	return true;
}

static bool parse_all(struct gw_client *c)
{
	size_t used;

	if (c->rx.have_record && !take_record(c))
		return false;
	for (;;) {
		uint8_t *p = c->rx.buf ? c->rx.buf->data + c->rx.pos : NULL;

		if (gw_shorten_fails(c, &c->rx.acc, c->rx.rec.left)) {
			refuse(c, "a record over the limit: closed");
			return false;
		}
		switch (rec_next(&c->rx.rec, p, run_length(c), &used)) {
		case REC_MORE:
			c->rx.pos += used;
			return true;
		case REC_MARK:
			break;
		case REC_DATA:
			if (!take_data(c, p, used)) {
				refuse(c, "a record over the limit: closed");
				return false;
			}
			break;
		case REC_END:
			if (gw_shorten_is_active(&c->shorten)) {
				refuse(c, "a record that ends in its data: "
					  "closed");
				return false;
			}
			c->rx.have_record = true;
			gw_progress_in_record(&c->progress, false);
			if (!take_record(c))
				return false;
			break;
		case REC_LONG:
			refuse(c, "a record over the limit: closed");
			return false;
		}
		c->rx.pos += used;
	}
}

/* Parse what was received, and send the Calls in it together. Returns true if more can
 * be read. */
static bool parse_and_send(struct gw_client *c)
{
	struct rt_conn *rc = gw_calls_hold(c);
	bool all = parse_all(c);

	gw_calls_unhold(rc);
	gw_worker_flush(c);
	return all;
}

/* ---- The socket --------------------------------------------------------- */

/* A socket that is closed with octets to be read loses those that are not acknowledged. */
static bool is_unacked(const struct gw_client *c)
{
	int left;

	return !ioctl(c->fd, SIOCOUTQ, &left) && left;
}

void gw_rx_eof(struct gw_client *c)
{
	bool over;

	c->rx.eof = true;
	if (rec_inside(&c->rx.rec) && !c->rx.stopped) {
		gw_client_kill(c, LOG_INFO, "ended inside a record");
		return;
	}
	pthread_mutex_lock(&c->lock);
	over = !gw_calls_outstanding(&c->calls) ||
	       (gw_reverse_count(&c->reverse) && !c->rx.stopped);
	gw_calls_end(&c->calls);
	pthread_mutex_unlock(&c->lock);
	if (over && c->rx.stopped && is_unacked(c))
		gw_worker_timer(c, GW_TIMER_READ,
				base_now_ns() + ACK_MS * 1000000ull);
	else if (over)
		gw_client_kill(c, LOG_INFO, "closed");
}

/*
 * Returns true if the client is not to be read because the server has never accepted
 * it: it would hold memory for Calls that nobody executes. Its end is noticed
 * nevertheless.
 */
static bool is_unread(struct gw_client *c)
{
	uint8_t octet;
	ssize_t n;

	if (gw_link_was_up(&c->link))
		return false;
	n = recv(c->fd, &octet, 1, MSG_PEEK | MSG_DONTWAIT);
	if (!n) {
		gw_rx_eof(c);
	} else if (n > 0) {
		pthread_mutex_lock(&c->lock);
		gw_link_set_early(&c->link, !c->rx.hangup);
		pthread_mutex_unlock(&c->lock);
		gw_link_start(c);
	}
	return true;
}

void gw_rx_read(struct gw_client *c)
{
	unsigned int budget = RX_BUDGET;

	if (c->gone || c->rx.eof || is_unread(c) || !parse_and_send(c))
		return;
	while (budget--) {
		size_t room;
		ssize_t n;

		room = make_room(c);
		if (!room) {
			gw_disconnect_wait_memory(c);
			return;
		}
		gw_account_stop_waiting(&c->account);
		n = recv(c->fd, c->rx.buf->data + c->rx.fill, room,
			 MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			goto empty;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			gw_client_kill(c, LOG_INFO, strerror(errno));
			return;
		}
		if (!n) {
			gw_rx_eof(c);
			return;
		}
		c->rx.fill += (size_t)n;
		gw_progress_add(&c->progress,
				rec_inside(&c->rx.rec) ? (size_t)n :
							 GW_PROGRESS,
				base_now_ns());
		pthread_mutex_lock(&c->lock);
		c->stats.tcp_bytes_in += (uint64_t)n;
		pthread_mutex_unlock(&c->lock);
		if (!parse_and_send(c))
			return;
		/* Less than asked for: the next edge tells of more, epoll(7);
		 * the end of the stream has an edge of its own. */
		if ((size_t)n < room && !c->rx.hangup)
			goto empty;
	}
	gw_worker_timer(c, GW_TIMER_READ, 1);
	return;
empty:
	gw_progress_in_record(&c->progress, rec_inside(&c->rx.rec));
	gw_rx_release(c);
}
