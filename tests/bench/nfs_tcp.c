/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_tcp - Calls over one TCP connection with record marking
 *
 * Threads: one. Replies are received into one large buffer and looked at where
 * they are: the kernel's copy is the only one, as with placed data.
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

struct out {
	struct iovec iov[2];
	unsigned int at;
	uint8_t mark[REC_MARK_LEN + BENCH_HEAD];
};

struct tcp {
	int fd;
	uint8_t *buf;
	size_t size, begin, end;
	/* Calls not yet in the socket, in order. */
	unsigned int head, queued;
	struct bench_slot **queue; /* nslots */
	struct out *out; /* one for each slot */
};

static int tcp_open(struct bench *b)
{
	struct tcp *t = calloc(1, sizeof(*t));
	int one = 1;

	if (!t)
		return -ENOMEM;
	b->priv = t;
	t->size = 8u * (b->o.block + 65536u);
	t->buf = malloc(t->size);
	t->queue = calloc(b->nslots, sizeof(struct bench_slot *));
	t->out = calloc(b->nslots, sizeof(*t->out));
	t->fd = socket(b->o.server.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC,
		       0);
	if (!t->buf || !t->queue || !t->out || t->fd < 0)
		return -ENOMEM;
	if (connect(t->fd, (struct sockaddr *)&b->o.server.addr,
		    b->o.server.len))
		return -errno;
	setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

static int tcp_flush(struct bench *b)
{
	struct tcp *t = b->priv;

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
	struct tcp *t = b->priv;
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
	return t->queued == 1 ? tcp_flush(b) : 0;
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
		s->data = p + len - data;
	}
	bench_done(b, s, p, len - data, data);
}

static int tcp_parse(struct bench *b)
{
	struct tcp *t = b->priv;

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
		if (t->end - t->begin - REC_MARK_LEN < len)
			break;
		t->begin += REC_MARK_LEN + len;
		tcp_reply(b, t->buf + t->begin - len, len);
	}
	if (t->begin == t->end)
		t->begin = t->end = 0;
	return 0;
}

static int tcp_run(struct bench *b, int ms)
{
	struct tcp *t = b->priv;
	struct pollfd p = { .fd = t->fd,
			    .events = (short)(POLLIN |
					      (t->queued ? POLLOUT : 0)) };
	ssize_t n;
	int rc;

	if (poll(&p, 1, ms) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p.revents & POLLOUT) {
		rc = tcp_flush(b);
		if (rc)
			return rc;
	}
	if (!(p.revents & ~POLLOUT))
		return 0;
	if (t->size - t->end < b->o.block + READ_HEAD) {
		memmove(t->buf, t->buf + t->begin, t->end - t->begin);
		t->end -= t->begin;
		t->begin = 0;
	}
	n = recv(t->fd, t->buf + t->end, t->size - t->end, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	t->end += (size_t)n;
	return tcp_parse(b);
}

static void tcp_close(struct bench *b)
{
	struct tcp *t = b->priv;

	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	free(t->out);
	free(t->queue);
	free(t->buf);
	free(t);
	b->priv = NULL;
}

const struct bench_carrier bench_tcp = {
	.name = "tcp",
	.open = tcp_open,
	.submit = tcp_submit,
	.run = tcp_run,
	.close = tcp_close,
};
