/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * out - records on their way to the TCP client
 *
 * Threads: any thread pushes. Whoever finds nobody writing becomes the writer
 * until the queue is empty or the socket is full; then the worker goes on when
 * the socket is writable again. Only the writer takes records off the queue,
 * so their order is that of the pushes. client.lock guards the queue, and is
 * not held while writing.
 *
 * A thread with a batch does not write small records at once: it becomes the
 * writer, and writes at the end of its batch, so that Replies that come in
 * together leave together.
 */
#include "gateway/client.h"

#include <errno.h>
#include <sys/socket.h>

#define OUT_IOV 256
/* Longer records are written at once. */
#define OUT_SMALL 16384

/* Fill @v from the head of the queue. Lock held. */
static unsigned int out_gather(struct gw_client *c, struct iovec *v)
{
	unsigned int n = 0;

	for (struct gw_out *o = c->out.first; o && n < OUT_IOV; o = o->next)
		for (unsigned int i = o->at; i < o->niov && n < OUT_IOV; i++)
			v[n++] = o->iov[i];
	return n;
}

/*
 * Take @n written octets off the queue; the finished records come back as a
 * list. Lock held.
 */
static struct gw_out *out_advance(struct gw_client *c, size_t n)
{
	struct gw_out *done = c->out.first, *last = NULL;

	for (struct gw_out *o = c->out.first; o; o = c->out.first) {
		while (o->at < o->niov && n >= o->iov[o->at].iov_len) {
			n -= o->iov[o->at].iov_len;
			o->at++;
		}
		if (o->at < o->niov) {
			struct iovec *v = &o->iov[o->at];

			v->iov_base = (uint8_t *)v->iov_base + n;
			v->iov_len -= n;
			break;
		}
		last = o;
		c->out.first = o->next;
	}
	if (!c->out.first)
		c->out.tail = &c->out.first;
	if (!last)
		return NULL;
	last->next = NULL;
	return done;
}

static void out_finish(struct gw_client *c, struct gw_out *o, bool written)
{
	while (o) {
		struct gw_out *next = o->next;

		o->fin(c, o, written);
		o = next;
	}
}

/* The caller has set c->out.writing, and holds a reference. */
static void out_run(struct gw_client *c)
{
	struct iovec v[OUT_IOV];
	struct gw_out *done = NULL;
	bool full = false;

	for (;;) {
		struct msghdr m = { .msg_iov = v };
		ssize_t n;

		pthread_mutex_lock(&c->lock);
		if (c->dead || !c->out.first || (full && !c->out.writable)) {
			struct gw_out *rest = c->dead ? c->out.first : NULL;

			if (c->dead) {
				c->out.first = NULL;
				c->out.tail = &c->out.first;
			}
			c->out.writing = false;
			pthread_mutex_unlock(&c->lock);
			out_finish(c, rest, false);
			return;
		}
		c->out.writable = false;
		m.msg_iovlen = out_gather(c, v);
		pthread_mutex_unlock(&c->lock);

		n = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		full = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
		if (n < 0 && !full && errno != EINTR) {
			/* Left in the queue until the worker ends it all. */
			gw_kick(c, GW_EV_BROKEN);
			full = true;
		}
		if (n <= 0)
			continue;
		pthread_mutex_lock(&c->lock);
		c->stats.tcp_bytes_out += (uint64_t)n;
		done = out_advance(c, (size_t)n);
		pthread_mutex_unlock(&c->lock);
		out_finish(c, done, true);
	}
}

void gw_out_init(struct gw_outq *q)
{
	q->first = NULL;
	q->tail = &q->first;
}

void gw_batch_open(struct gateway *gw, struct gw_batch *b)
{
	b->first = NULL;
	pthread_setspecific(gw->batch_key, b);
}

void gw_batch_flush(struct gw_batch *b)
{
	struct gw_client *c;

	while ((c = b->first)) {
		b->first = c->out.batch_next;
		out_run(c);
		gw_client_put(c);
	}
}

static bool out_small(const struct gw_out *o)
{
	size_t len = 0;

	for (unsigned int i = 0; i < o->niov; i++)
		len += o->iov[i].iov_len;
	return len <= OUT_SMALL;
}

void gw_out_push(struct gw_client *c, struct gw_out *o)
{
	struct gw_batch *b = pthread_getspecific(c->gw->batch_key);
	bool small = out_small(o), run;

	o->next = NULL;
	o->at = 0;
	gw_client_get(c);
	pthread_mutex_lock(&c->lock);
	if (c->dead) {
		pthread_mutex_unlock(&c->lock);
		o->fin(c, o, false);
		gw_client_put(c);
		return;
	}
	/* With a record waiting for the socket, trying again is in vain. */
	run = !c->out.writing && !c->out.first;
	*c->out.tail = o;
	c->out.tail = &o->next;
	if (run)
		c->out.writing = true;
	pthread_mutex_unlock(&c->lock);
	if (run && b && small) {
		c->out.batch_next = b->first;
		b->first = c; /* with the reference */
		return;
	}
	if (run)
		out_run(c);
	else if (b && !small)
		gw_batch_flush(b); /* it may be ours to write */
	gw_client_put(c);
}

void gw_out_ready(struct gw_client *c)
{
	bool run;

	pthread_mutex_lock(&c->lock);
	c->out.writable = true;
	run = !c->out.writing && c->out.first;
	if (run)
		c->out.writing = true;
	pthread_mutex_unlock(&c->lock);
	if (run)
		out_run(c);
}

void gw_out_end(struct gw_client *c)
{
	struct gw_out *rest = NULL;

	pthread_mutex_lock(&c->lock);
	if (!c->out.writing) {
		rest = c->out.first;
		gw_out_init(&c->out);
	}
	pthread_mutex_unlock(&c->lock);
	out_finish(c, rest, false);
}
