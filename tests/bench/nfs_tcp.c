/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_tcp - Calls over TCP connections with record marking
 *
 * As with placed data, what a READ brings ends up in a buffer of the request's
 * own. Large payload is received straight into it: the kernel's copy is the
 * only one. Small payload is copied there from the buffer of the stream, which
 * is cheaper than a receive of its own.
 *
 * Threads: one.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nfs_bench.h"
#include "tools/record.h"

/* A Reply's head, before READ's data: RPC, status, attributes, three words. */
#define READ_HEAD 256
/* From here on a READ's payload is received in place. */
#define PLACE_MIN 16384u

struct out {
	struct iovec iov[2];
	unsigned int at;
	uint8_t mark[REC_MARK_LEN + BENCH_HEAD];
};

/* A connection. A slot's is that of its index, modulo their number. */
struct tcp {
	struct bench *b;
	int fd;
	uint8_t *buf;
	size_t size, begin, end;
	uint8_t *places; /* one of a block for each slot */
	struct bench_slot *into; /* whose payload comes, or NULL */
	uint8_t *into_head; /* what came before it, and how much that is */
	size_t into_head_len, into_done;
	/* Calls not yet in the socket, in order. */
	unsigned int head, queued;
	struct bench_slot **queue; /* nslots */
	struct out *out; /* one for each slot */
};

static struct tcp *tcp_of(struct bench *b, const struct bench_slot *s)
{
	struct tcp *all = b->priv;

	return &all[s->index % b->o.connections];
}

static int tcp_connect(struct tcp *t)
{
	struct bench *b = t->b;
	int one = 1;

	t->size = 8u * (b->o.block + 65536u);
	t->buf = malloc(t->size);
	t->queue = calloc(b->nslots, sizeof(struct bench_slot *));
	t->out = calloc(b->nslots, sizeof(*t->out));
	t->fd = socket(b->o.server.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC,
		       0);
	t->places = malloc((size_t)((b->nslots - 1) / b->o.connections + 1) *
			   b->o.block);
	if (!t->buf || !t->places || !t->queue || !t->out || t->fd < 0)
		return -ENOMEM;
	if (connect(t->fd, (struct sockaddr *)&b->o.server.addr,
		    b->o.server.len))
		return -errno;
	setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

static int tcp_open(struct bench *b)
{
	unsigned int n = b->o.connections;
	struct tcp *all = calloc(n, sizeof(*all));
	int rc = 0;

	if (!all)
		return -ENOMEM;
	b->priv = all;
	for (unsigned int i = 0; i < n; i++) {
		all[i].b = b;
		all[i].fd = -1;
	}
	for (unsigned int i = 0; i < n && !rc; i++)
		rc = tcp_connect(&all[i]);
	return rc;
}

static int tcp_flush(struct tcp *t)
{
	struct bench *b = t->b;

	while (t->queued) {
		struct out *o = &t->out[t->queue[t->head]->index];
		struct msghdr m = { .msg_iov = o->iov + o->at,
				    .msg_iovlen = 2 - o->at };
		ssize_t n = sendmsg(t->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -errno;
		while (o->at < 2 && (size_t)n >= o->iov[o->at].iov_len)
			n -= (ssize_t)o->iov[o->at++].iov_len;
		if (o->at < 2) {
			o->iov[o->at].iov_base =
				(uint8_t *)o->iov[o->at].iov_base + n;
			o->iov[o->at].iov_len -= (size_t)n;
			continue;
		}
		t->head = (t->head + 1) % b->nslots;
		t->queued--;
	}
	return 0;
}

static int tcp_submit(struct bench *b, struct bench_slot *s)
{
	struct tcp *t = tcp_of(b, s);
	struct out *o = &t->out[s->index];
	size_t data = s->kind == BENCH_WRITE ? s->count : 0;

	memcpy(o->mark + REC_MARK_LEN, s->head, s->head_len);
	rec_mark(o->mark, s->head_len + data);
	o->iov[0] = (struct iovec){ o->mark, REC_MARK_LEN + s->head_len };
	o->iov[1] =
		(struct iovec){ b->pattern + s->offset % BENCH_PERIOD, data };
	o->at = 0;
	t->queue[(t->head + t->queued++) % b->nslots] = s;
	/* With one waiting, the socket is full. */
	return t->queued == 1 ? tcp_flush(t) : 0;
}

static uint8_t *place_of(struct bench *b, const struct bench_slot *s)
{
	return tcp_of(b, s)->places +
	       (size_t)(s->index / b->o.connections) * b->o.block;
}

/* The Reply of @len octets, begun at @p, is longer than the @avail octets that
 * are there. True: its payload is being received in place from now on. */
static bool tcp_place(struct tcp *t, uint8_t *p, size_t len, size_t avail)
{
	struct bench *b = t->b;
	struct bench_slot *s;
	struct xr r;

	if (avail < 4)
		return false;
	xr_init(&r, p, 4);
	s = bench_slot_of(b, xr_u32(&r));
	if (!s || s->kind != BENCH_READ || s->count < PLACE_MIN ||
	    len < s->count + 4 || avail < len - s->count)
		return false;
	t->into = s;
	t->into_head = p;
	t->into_head_len = len - s->count;
	t->into_done = avail - t->into_head_len;
	memcpy(place_of(b, s), p + t->into_head_len, t->into_done);
	t->end = (size_t)(p - t->buf) + t->into_head_len;
	return true;
}

static void tcp_placed(struct tcp *t)
{
	struct bench *b = t->b;
	struct bench_slot *s = t->into;

	t->into = NULL;
	s->data = place_of(b, s);
	bench_done(b, s, t->into_head, t->into_head_len, s->count);
}

static void tcp_reply(struct bench *b, uint8_t *p, size_t len)
{
	struct bench_slot *s;
	size_t data = 0;
	struct xr r;

	xr_init(&r, p, len);
	s = bench_slot_of(b, xr_u32(&r));
	if (!s) {
		bench_fail(b, -EBADMSG, "a Reply to no Call");
		return;
	}
	/* The data item ends the Reply. */
	if (s->kind == BENCH_READ && len >= s->count + 4) {
		data = s->count;
		s->data = place_of(b, s);
		memcpy(s->data, p + len - data, data);
	}
	bench_done(b, s, p, len - data, data);
}

static int tcp_parse(struct tcp *t)
{
	struct bench *b = t->b;

	while (t->end - t->begin >= REC_MARK_LEN && !b->error) {
		struct xr r;
		uint32_t word;
		size_t len;

		xr_init(&r, t->buf + t->begin, REC_MARK_LEN);
		word = xr_u32(&r);
		len = word & ~REC_LAST_FRAGMENT;
		/* Servers send one fragment; several would have to be joined */
		if (!(word & REC_LAST_FRAGMENT) || len > t->size - REC_MARK_LEN)
			return -EBADMSG;
		if (t->end - t->begin - REC_MARK_LEN < len) {
			if (tcp_place(t, t->buf + t->begin + REC_MARK_LEN, len,
				      t->end - t->begin - REC_MARK_LEN))
				t->begin = t->end;
			break;
		}
		t->begin += REC_MARK_LEN + len;
		tcp_reply(b, t->buf + t->begin - len, len);
	}
	if (t->begin == t->end && !t->into)
		t->begin = t->end = 0;
	return 0;
}

/* What is there of the stream, at most what is of use now. */
static ssize_t tcp_receive(struct tcp *t)
{
	struct bench *b = t->b;
	size_t room = t->size - t->end, left = 0;
	struct iovec iov[2] = { 0 };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	if (b->kind == BENCH_READ && !b->mixed && b->count >= PLACE_MIN &&
	    room > REC_MARK_LEN + READ_HEAD)
		room = REC_MARK_LEN + READ_HEAD;
	if (t->into) {
		left = t->into->count - t->into_done;
		iov[0].iov_base = place_of(b, t->into) + t->into_done;
	}
	iov[0].iov_len = left;
	iov[1] = (struct iovec){ t->buf + t->end, room };
	n = recvmsg(t->fd, &m, MSG_DONTWAIT);
	if (n <= 0)
		return n;
	if ((size_t)n < left) {
		t->into_done += (size_t)n;
		return n;
	}
	t->end += (size_t)n - left;
	if (t->into)
		tcp_placed(t);
	return n;
}

/* poll() for up to --busy-poll microseconds before it may sleep. */
static int tcp_wait(struct bench *b, struct pollfd *p, int ms)
{
	uint64_t busy = (uint64_t)b->o.config.busy_poll_us * 1000;
	uint64_t start = base_now_ns();
	int n;

	while (busy && base_now_ns() - start < busy) {
		n = poll(p, b->o.connections, 0);
		if (n)
			return n;
	}
	return poll(p, b->o.connections, ms);
}

static int tcp_ready(struct tcp *t, short events)
{
	struct bench *b = t->b;
	ssize_t n;
	int rc;

	if (events & POLLOUT) {
		rc = tcp_flush(t);
		if (rc)
			return rc;
	}
	if (!(events & ~POLLOUT))
		return 0;
	if (t->size - t->end < b->o.block + READ_HEAD) {
		memmove(t->buf, t->buf + t->begin, t->end - t->begin);
		t->end -= t->begin;
		t->begin = 0;
	}
	n = tcp_receive(t);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	return t->into ? 0 : tcp_parse(t);
}

static int tcp_run(struct bench *b, int ms)
{
	struct pollfd p[BENCH_CONNECTIONS];
	struct tcp *all = b->priv;
	int rc = 0;

	for (unsigned int i = 0; i < b->o.connections; i++)
		p[i] = (struct pollfd){
			.fd = all[i].fd,
			.events =
				(short)(POLLIN | (all[i].queued ? POLLOUT : 0))
		};
	if (tcp_wait(b, p, ms) < 0)
		return errno == EINTR ? 0 : -errno;
	for (unsigned int i = 0; i < b->o.connections && !rc; i++)
		if (p[i].revents)
			rc = tcp_ready(&all[i], p[i].revents);
	return rc;
}

static void tcp_close(struct bench *b)
{
	struct tcp *all = b->priv;

	for (unsigned int i = 0; all && i < b->o.connections; i++) {
		struct tcp *t = &all[i];

		if (t->fd >= 0)
			close(t->fd);
		free(t->out);
		free(t->queue);
		free(t->places);
		free(t->buf);
	}
	free(all);
	b->priv = NULL;
}

const struct bench_carrier bench_tcp = {
	.name = "tcp",
	.open = tcp_open,
	.submit = tcp_submit,
	.run = tcp_run,
	.close = tcp_close,
};
