/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_client - one TCP client and its RDMA connection, as its worker sees them
 *
 * Threads: all of this runs in the client's worker, but for the three
 * operations of the transport at the end (strand), gw_kick(), the reference
 * count and gw_client_new() (main).
 *
 * The RDMA side goes DOWN -> CONNECTING -> UP -> DOWN ... There is at most one
 * rt_conn at a time: the next is made when the closed operation of the one
 * before has been seen here. A reference of the client belongs to it until
 * then.
 */
#include "base/addr.h"
#include "gateway/gw_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "tools/latency.h"

#define SEC 1000000000ull
#define MSEC 1000000ull
/* Waits between attempts to connect: doubled from the first to the last. */
#define BACKOFF_FIRST_MS 100
#define BACKOFF_LAST_MS 3000
/* While memory is short: how often to look, and how long. */
#define STALL_TICK_MS 10
#define STALL_SECONDS 30
/* A receive buffer, and how little room in it is not worth a system call. */
#define RX_ROOM (65536 - sizeof(struct gw_buf))
#define RX_LEAST 4096
/* What shows that a record announced is really sent. */
#define RX_SHOWN 16384
#define RX_LARGE ((1u << 20) - sizeof(struct gw_buf))
/* What no record has, however much of it is left out. */
#define RECORD_MOST ((size_t)1 << 30)
#define TOO_MUCH "a Call that needs more than half of --max-memory: closed"
/* Receives before other clients get a turn. */
#define RX_BUDGET 16

/* ---- Life --------------------------------------------------------------- */

void gw_client_get(struct gw_client *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

static void client_free(struct gw_client *c)
{
	struct gateway *gw = c->gw;

	close(c->fd);
	if (c->leaving)
		atomic_fetch_sub(&gw->leaving, 1);
	pthread_mutex_lock(&gw->lock);
	*c->all_prev = c->all_next;
	if (c->all_next)
		c->all_next->all_prev = c->all_prev;
	gw_stats_add(&gw->ended, &c->stats);
	pthread_mutex_unlock(&gw->lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
	/* After this the gateway may be destroyed. */
	atomic_fetch_sub(&gw->nclients, 1);
}

void gw_client_put(struct gw_client *c)
{
	if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		client_free(c);
}

int gw_client_new(struct gateway *gw, int fd)
{
	struct gw_client *c = calloc(1, sizeof(*c));
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->gw = gw;
	c->fd = fd;
	c->outq_tail = &c->outq;
	atomic_init(&c->refs, 1); /* the worker's */
	rec_init(&c->rec, RECORD_MOST);
	pthread_mutex_init(&c->lock, NULL);
	getpeername(fd, (struct sockaddr *)&peer, &len);
	fab_addr_name((struct sockaddr *)&peer, c->name, sizeof(c->name));
	c->host = fab_addr_host((struct sockaddr *)&peer);
	gw_watch_socket(fd);
	c->active_at = lat_now();
	gw_share_join(&gw->shares, &c->share);

	atomic_fetch_add(&gw->nclients, 1);
	pthread_mutex_lock(&gw->lock);
	c->w = &gw->workers[gw->accepted++ % gw->nworkers];
	c->all_next = gw->clients;
	c->all_prev = &gw->clients;
	if (c->all_next)
		c->all_next->all_prev = &c->all_next;
	gw->clients = c;
	pthread_mutex_unlock(&gw->lock);
	gw_kick(c, GW_EV_NEW);
	return 0;
}

/* From now on it receives into @b, which is empty, or nothing. */
static void rx_set(struct gw_client *c, struct gw_buf *b)
{
	gw_buf_put(c->rx);
	c->rx = b;
	c->rx_pos = 0;
	c->rx_fill = 0;
}

/*
 * The end of the TCP side. What is with the transport comes back to
 * call_done(), which frees it; the RDMA connection closes, and with the last
 * reference the client goes.
 */
void gw_client_kill(struct gw_client *c, int level, const char *why)
{
	struct gw_out *rest = NULL, *next;

	if (c->gone)
		return;
	if (why)
		/* The last, and so whatever was said before. */
		fab_log_put(c->gw->log, NULL, &c->host, c->name, level, "%s",
			    why);
	fab_log_leave(c->gw->log, &c->log, &c->host, c->name);
	pthread_mutex_lock(&c->lock);
	c->dead = true;
	if (!c->writing) {
		rest = c->outq;
		c->outq = NULL;
		c->outq_tail = &c->outq;
	}
	pthread_mutex_unlock(&c->lock);
	gw_worker_forget(c->w, c);
	gw_share_leave(&c->share);
	gw_share_done_in(&c->share, 0);
	/* The number stays ours until nobody can be writing to it. */
	shutdown(c->fd, SHUT_RDWR);
	for (; rest; rest = next) {
		next = rest->next;
		rest->fin(c, rest, false);
	}
	gw_record_release(&c->acc);
	rx_set(c, NULL);
	gw_reverse_orphan(c);
	gw_calls_abandon(c);
	if (c->rc)
		rt_conn_close(c->rc, true);
	c->gone = true;
	gw_client_put(c);
}

/* ---- TCP: receiving ----------------------------------------------------- */

static void refuse(struct gw_client *c, const char *why)
{
	pthread_mutex_lock(&c->lock);
	c->stats.records_refused++;
	pthread_mutex_unlock(&c->lock);
	gw_client_kill(c, LOG_WARNING, why);
}

/* By what it takes of the memory: where the pool has none that is small it gives
 * a large one for little room. */
static bool is_large(const struct gw_buf *b)
{
	return b->fab->size > gw_mem_size(RX_ROOM + sizeof(*b));
}

/*
 * What a waiting client has received, into as small a buffer as will do: a
 * short Call at the end of a large buffer must not hold that while it waits
 * for another, or all would wait for each other.
 */
static void client_shrink(struct gw_client *c)
{
	size_t rest = c->rx ? c->rx_fill - c->rx_pos : 0;
	struct gw_buf *b;

	if (!c->rx || c->acc.flat || !is_large(c->rx) ||
	    c->acc.len + rest > RX_ROOM)
		return;
	b = gw_buf_get(c, c->acc.len + rest, GW_MEM_LESS);
	if (b && b->fab->size >= c->rx->fab->size) {
		gw_buf_put(b);
		b = NULL;
	}
	if (!b)
		return;
	memcpy(b->data + c->acc.len, c->rx->data + c->rx_pos, rest);
	gw_record_peek(&c->acc, b->data, c->acc.len);
	c->rx_pos = c->acc.len;
	c->rx_fill = c->acc.len + rest;
	gw_record_release(&c->acc);
	if (c->rx_pos)
		gw_record_add(&c->acc, c, b, b->data, c->rx_pos);
	gw_buf_put(c->rx);
	c->rx = b;
	gw_share_done_in(&c->share, b->fab->size);
}

/*
 * Wait for memory, which who holds it may have to give up [gw_share.h]; false,
 * the client perhaps being gone for a Call that no memory is enough for.
 */
static bool stall(struct gw_client *c)
{
	uint64_t now = lat_now();
	bool lone;

	pthread_mutex_lock(&c->lock);
	if (!c->stalled_since)
		c->stats.memory_waits++;
	lone = !c->outstanding;
	/* Calls outstanding may all wait for a Reply behind this one. */
	c->share.urgent = lone || c->nreverse;
	pthread_mutex_unlock(&c->lock);
	if (!c->stalled_since)
		c->stalled_since = now;
	gw_share_in_stop(&c->share); /* it waits for us */
	gw_share_wait(&c->share, now);
	client_shrink(c);
	if (lone && now - c->stalled_since > STALL_SECONDS * SEC &&
	    gw_share_alone(&c->share)) {
		gw_client_kill(c, LOG_ERR, TOO_MUCH);
		return false;
	}
	gw_share_press(&c->share, now, gw_watch_evict);
	c->read_at = now + STALL_TICK_MS * MSEC;
	gw_worker_timer(c->w, c);
	return false;
}

/* c->acc is a whole record. True when it is taken and reading may go on. */
static bool client_record(struct gw_client *c)
{
	uint8_t head[8];
	uint32_t xid, type;

	if (c->acc.len < sizeof(head) || c->acc.len % 4) {
		refuse(c, "a record that cannot be an RPC message: closed");
		return false;
	}
	gw_record_peek(&c->acc, head, sizeof(head));
	xid = rpc_word(head);
	type = rpc_word(head + 4);
	if (type > RPC_REPLY) {
		refuse(c, "a record neither Call nor Reply: closed");
		return false;
	}
	if (type == RPC_REPLY) {
		gw_reverse_reply(c, xid);
	} else {
		switch (gw_call_take(c, xid)) {
		case GW_TAKEN:
			break;
		case GW_PAUSE:
			return false;
		case GW_NO_MEMORY:
			return stall(c);
		case GW_NEVER:
			/* In line it would only keep others waiting. */
			refuse(c, TOO_MUCH);
			return false;
		}
	}
	c->have_record = false;
	c->stalled_since = 0;
	gw_share_served(&c->share);
	/* The next record may have begun. */
	gw_share_done_in(&c->share, c->rx ? c->rx->fab->size : 0);
	return true;
}

/* Is the record to be longer than it may be, with nothing to leave out? */
static bool client_over(struct gw_client *c)
{
	size_t max = c->gw->opt.max_record;

	if (!c->rec.left || c->until || c->drop ||
	    c->acc.len + c->rec.left <= max)
		return false;
	if (!c->judged && c->acc.len >= GW_FIT_HEAD) {
		c->judged = true;
		if (!gw_fit_ever(c))
			return true;
	}
	return c->acc.len >= max && !gw_fit_record(c);
}

/* How much of what is received is of one kind: the same happens to all of it. */
static size_t client_same(const struct gw_client *c)
{
	size_t n = c->rx_fill - c->rx_pos, most = n;

	if (!c->rec.left)
		return n;
	if (c->until)
		most = c->until;
	else if (c->drop)
		most = c->drop;
	else
		most = c->gw->opt.max_record - c->acc.len;
	return n < most ? n : most;
}

/* Payload of the record. False: no memory. */
static bool client_data(struct gw_client *c, uint8_t *p, size_t n)
{
	if (!c->until && c->drop) {
		c->drop -= n;
		return true;
	}
	if (!gw_record_add(&c->acc, c, c->rx, p, n))
		return false;
	if (c->until)
		c->until -= n;
	return true;
}

/* True when all that is received is used up. */
static bool client_parse_all(struct gw_client *c)
{
	size_t used;

	if (c->have_record && !client_record(c))
		return false;
	for (;;) {
		uint8_t *p = c->rx ? c->rx->data + c->rx_pos : NULL;
		struct rec before = c->rec;

		if (client_over(c)) {
			refuse(c, "a record over the limit: closed");
			return false;
		}
		switch (rec_next(&c->rec, p, client_same(c), &used)) {
		case REC_MORE:
			c->rx_pos += used;
			return true;
		case REC_MARK:
			break;
		case REC_DATA:
			if (!client_data(c, p, used)) {
				c->rec = before;
				return stall(c);
			}
			break;
		case REC_END:
			if (c->until || c->drop) {
				refuse(c, "a record that ends in its data: "
					  "closed");
				return false;
			}
			c->have_record = true;
			c->judged = false;
			gw_share_in_stop(&c->share);
			if (!client_record(c))
				return false;
			break;
		case REC_LONG:
			refuse(c, "a record over the limit: closed");
			return false;
		}
		c->rx_pos += used;
	}
}

/* The same, with the Calls in it sent together. */
static bool client_parse(struct gw_client *c)
{
	struct gw_worker *w = c->w;
	struct rt_conn *rc = c->link == GW_LINK_UP ? c->rc : NULL;
	bool all;

	/* The client may be gone on return, and its reference with it. */
	if (rc)
		rt_conn_get(rc);
	if (rc && !rt_conn_hold(rc)) {
		rt_conn_put(rc);
		rc = NULL;
	}
	all = client_parse_all(c);
	if (rc) {
		rt_conn_unhold(rc);
		rt_conn_put(rc);
	}
	gw_batch_flush(&w->batch);
	return all;
}

/*
 * What is only to be forgotten takes no room: all that has been received has
 * been looked at, so it begins anew behind what is kept. Else each WRITE of a
 * long Call, however short it was cut, would hold buffers of its own.
 */
static void client_rewind(struct gw_client *c)
{
	const struct gw_record *r = &c->acc;
	const struct rt_piece *last;
	const uint8_t *end;

	if (!c->drop || c->until || !r->npieces)
		return;
	last = &r->piece[r->npieces - 1];
	end = (const uint8_t *)last->addr + last->len;
	if ((const uint8_t *)last->addr < c->rx->data ||
	    end > c->rx->data + c->rx_fill)
		return;
	c->rx_fill = (size_t)(end - c->rx->data);
	c->rx_pos = c->rx_fill;
}

/*
 * Room to receive into. A buffer that no record holds is used from its
 * beginning; a large fragment under way gets a buffer for the rest of it, so
 * that its octets lie in few stretches. But where memory is short something of
 * it must have come.
 */
static bool client_room(struct gw_client *c)
{
	size_t want = RX_ROOM;
	struct gw_buf *b;

	if (c->rx)
		client_rewind(c);
	if (c->rx &&
	    atomic_load_explicit(&c->rx->refs, memory_order_acquire) == 1) {
		c->rx_pos = 0;
		c->rx_fill = 0;
	}
	if (c->rx && c->rx->cap - c->rx_fill >= RX_LEAST)
		return true;
	/* Room for the next Calls too, but no more than can be moved away. */
	if (c->rec.left + RX_LEAST > want &&
	    (c->acc.len >= RX_SHOWN || gw_shares_plenty(&c->gw->shares)))
		want = c->rec.left + RX_LEAST;
	if (want > RX_LARGE)
		want = RX_LARGE;
	/* What is not in a record any more counts as none. */
	if (!c->acc.nhold) {
		rx_set(c, NULL);
		gw_share_done_in(&c->share, 0);
	}
	b = gw_buf_get(c, want, GW_MEM_RECORD);
	if (!b)
		return stall(c); /* which makes the old one small */
	rx_set(c, b);
	return true;
}

/*
 * It sends no more; it may have shut down its sending side only, so that
 * Replies still due are brought. A reverse-direction Call it cannot answer.
 */
static void client_eof(struct gw_client *c)
{
	bool over;

	c->eof = true;
	if (rec_inside(&c->rec)) {
		gw_client_kill(c, LOG_INFO, "ended inside a record");
		return;
	}
	pthread_mutex_lock(&c->lock);
	over = !c->outstanding || c->nreverse;
	c->idle_wanted = true;
	pthread_mutex_unlock(&c->lock);
	if (over)
		gw_client_kill(c, LOG_INFO, "closed");
}

/*
 * A client that the server has never taken is not read: it would hold memory
 * for Calls that nobody executes, and its clock would stand, since it is the
 * server that it waits for. Whether it has gone is seen nevertheless.
 */
static bool client_early(struct gw_client *c)
{
	uint8_t octet;
	ssize_t n;

	if (c->connected_once)
		return false;
	n = recv(c->fd, &octet, 1, MSG_PEEK | MSG_DONTWAIT);
	if (!n) {
		client_eof(c);
	} else if (n > 0) {
		pthread_mutex_lock(&c->lock);
		c->early = !c->hangup;
		pthread_mutex_unlock(&c->lock);
	}
	return true;
}

/* Read and parse until the socket is empty or the client at a limit. */
void gw_client_read(struct gw_client *c)
{
	unsigned int budget = RX_BUDGET;
	uint64_t now = 0;

	if (c->gone || c->eof || client_early(c) || !client_parse(c))
		return;
	while (budget--) {
		size_t room;
		ssize_t n;

		if (!client_room(c))
			return;
		room = c->rx->cap - c->rx_fill;
		n = recv(c->fd, c->rx->data + c->rx_fill, room, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			goto empty;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			gw_client_kill(c, LOG_INFO, strerror(errno));
			return;
		}
		if (!n) {
			client_eof(c);
			return;
		}
		c->rx_fill += (size_t)n;
		c->stalled_since = 0;
		now = lat_now();
		gw_share_in(&c->share, now, (size_t)n);
		pthread_mutex_lock(&c->lock);
		c->stats.tcp_bytes_in += (uint64_t)n;
		if (!rec_inside(&c->rec))
			c->active_at = now;
		pthread_mutex_unlock(&c->lock);
		if (!client_parse(c))
			return;
		/* Less than asked for: the next edge tells of more, epoll(7);
		 * the end of the stream has an edge of its own. */
		if ((size_t)n < room && !c->hangup)
			goto empty;
	}
	c->read_at = 1;
	gw_worker_timer(c->w, c);
	return;
empty:
	/* It had to wait for room to receive into, and has nothing to receive:
	 * whoever comes behind it in line has. */
	if (!rec_inside(&c->rec)) {
		c->stalled_since = 0;
		gw_share_served(&c->share);
	}
	gw_watch_in(c, now);
	/* An idle client holds no buffer of its own, nor a large one that its
	 * Calls will give back later. */
	if (c->rx && c->rx_pos == c->rx_fill &&
	    ((is_large(c->rx) && !rec_inside(&c->rec)) ||
	     atomic_load_explicit(&c->rx->refs, memory_order_acquire) == 1)) {
		rx_set(c, NULL);
		/* What is left out has buffers that no record keeps. */
		gw_share_done_in(&c->share, gw_record_held(&c->acc, NULL));
	}
}

void gw_client_epoll(struct gw_client *c, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP)) {
		gw_client_kill(c, LOG_INFO, "closed");
		return;
	}
	if (events & EPOLLRDHUP)
		c->hangup = true;
	if (events & EPOLLOUT)
		gw_out_ready(c);
	if (events & (EPOLLIN | EPOLLRDHUP))
		gw_client_read(c);
}

/* ---- RDMA: connecting --------------------------------------------------- */

/*
 * The connection is gone or could not be made. Outstanding Calls wait for the
 * next one; a client whose server has not answered for too long is let go, so
 * that it sees what a TCP server's end looks like.
 */
static void link_down(struct gw_client *c, int error, const char *reason)
{
	uint64_t now = lat_now();
	uint64_t oldest, limit = c->gw->opt.retry_seconds * SEC;
	bool late, calls;
	char text[192];

	pthread_mutex_lock(&c->lock);
	c->link = GW_LINK_DOWN;
	if (!c->lost_since)
		c->lost_since = now;
	oldest = c->lost_since;
	calls = c->calls || c->early;
	for (struct gw_call *call = c->calls; call; call = call->next)
		if (call->lost_since && call->lost_since < oldest)
			oldest = call->lost_since;
	pthread_mutex_unlock(&c->lock);
	gw_reverse_orphan(c);
	if (c->gone)
		return;
	late = now - oldest >= limit;
	snprintf(text, sizeof(text), "server: %s%s", reason,
		 error == -EPROTONOSUPPORT ? ": no common version, closed" :
		 error == -EACCES	   ? ", closed" :
		 late			   ? ": given up, closed" :
					     "");
	/* What keys and policies say is not likely to change meanwhile. */
	if (late || error == -EPROTONOSUPPORT || error == -EACCES) {
		gw_client_kill(c, LOG_ERR, text);
		return;
	}
	/* Calls wait for a descriptor, or Receives, that somebody idle has. */
	if (calls && (error == -EMFILE || error == -ENFILE || error == -ENOMEM))
		gw_watch_give_way(c->gw);
	gw_client_log(c, LOG_NOTICE, "%s; again in %u ms", text, c->backoff_ms);
	c->connect_at = now + c->backoff_ms * MSEC;
	c->backoff_ms *= 2;
	if (c->backoff_ms > BACKOFF_LAST_MS)
		c->backoff_ms = BACKOFF_LAST_MS;
	gw_worker_timer(c->w, c);
}

static void link_connect(struct gw_client *c)
{
	const struct gw_options *o = &c->gw->opt;
	int rc;

	pthread_mutex_lock(&c->lock);
	c->link = GW_LINK_CONNECTING;
	c->gen++;
	if (c->connected_once)
		c->stats.reconnects++;
	pthread_mutex_unlock(&c->lock);
	gw_client_get(c);
	rc = rt_connect(c->gw->inst,
			c->w->index % rt_instance_pollers(c->gw->inst),
			(const struct sockaddr *)&o->server.addr, o->server.len,
			&c->gw->ops, c, &c->rc);
	if (rc) {
		c->rc = NULL;
		gw_client_put(c);
		link_down(c, rc, strerror(-rc));
	}
}

static void client_up(struct gw_client *c)
{
	struct rt_conn_info info;
	bool first = !c->connected_once;

	rt_conn_info(c->rc, &info);
	gw_client_log(c, LOG_INFO, "server %s, version %u%s%s", info.peer_name,
		      info.version, *info.auth_peer ? ", " : "",
		      info.auth_peer);
	c->no_chunks = !info.theirs.segments || !info.theirs.segment_size;
	gw_fit_segments(c, &info.theirs);
	c->backoff_ms = BACKOFF_FIRST_MS;
	c->connected_once = true;
	pthread_mutex_lock(&c->lock);
	c->link = GW_LINK_UP;
	c->early = false;
	/* With Calls outstanding, only a Reply shows that the server serves. */
	if (!c->outstanding)
		c->lost_since = 0;
	pthread_mutex_unlock(&c->lock);
	gw_calls_submit(c);
	if (first)
		gw_client_read(c);
}

static void client_down(struct gw_client *c)
{
	char reason[sizeof(c->down_reason)];
	int error;

	pthread_mutex_lock(&c->lock);
	error = c->down_error;
	memcpy(reason, c->down_reason, sizeof(reason));
	pthread_mutex_unlock(&c->lock);
	rt_conn_put(c->rc);
	c->rc = NULL;
	link_down(c, error, reason);
	gw_client_put(c);
}

/* What the strands have left to do. The caller holds a reference. */
void gw_client_events(struct gw_client *c, unsigned int ev)
{
	if (ev & GW_EV_NEW) {
		c->backoff_ms = BACKOFF_FIRST_MS;
		gw_worker_adopt(c->w, c);
		if (!c->gone)
			link_connect(c);
	}
	if (c->rc && (ev & GW_EV_DOWN))
		client_down(c);
	else if (c->rc && (ev & GW_EV_UP) && !c->gone)
		client_up(c);
	if (c->gone)
		return;
	if (ev & GW_EV_BROKEN) {
		gw_client_kill(c, LOG_INFO, "closed while Replies were due");
		return;
	}
	if (ev & (GW_EV_WATCH | GW_EV_EVICT | GW_EV_LEAVE)) {
		gw_watch_events(c, ev);
		if (c->gone)
			return;
	}
	if (ev & GW_EV_RENEW) {
		pthread_mutex_lock(&c->lock);
		c->stats.renewals++;
		pthread_mutex_unlock(&c->lock);
		gw_client_kill(c, LOG_NOTICE,
			       "closed: RPCSEC_GSS Calls must be made anew");
		return;
	}
	if (ev & GW_EV_RESEND)
		gw_calls_submit(c);
	if (ev & GW_EV_ROOM)
		gw_client_read(c);
	if (!c->gone && c->eof)
		client_eof(c);
}

/* Timers; @now in ns. */
void gw_client_tick(struct gw_client *c, uint64_t now)
{
	if (c->connect_at && c->connect_at <= now) {
		c->connect_at = 0;
		link_connect(c);
	}
	if (!c->gone && c->read_at && c->read_at <= now) {
		c->read_at = 0;
		gw_client_read(c);
	}
}

/* ---- Operations of the transport: strand -------------------------------- */

static void op_established(struct rt_conn *rc)
{
	gw_kick(rt_conn_user(rc), GW_EV_UP);
}

static void op_closed(struct rt_conn *rc, int error, const char *reason)
{
	struct gw_client *c = rt_conn_user(rc);

	pthread_mutex_lock(&c->lock);
	c->down_error = error;
	snprintf(c->down_reason, sizeof(c->down_reason), "%s",
		 reason ? reason : strerror(-error));
	pthread_mutex_unlock(&c->lock);
	gw_kick(c, GW_EV_DOWN);
}

void gw_client_ops(struct rt_ops *ops, bool reverse)
{
	memset(ops, 0, sizeof(*ops));
	ops->established = op_established;
	ops->closed = op_closed;
	if (reverse) {
		ops->vet = gw_reverse_vet;
		ops->call = gw_reverse_call;
	}
}
