/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * send_queue - records on their way to a TCP client: send_queue.h
 *
 * client.lock guards the queue, and is not held while writing.
 */
#include "gateway/client.h"

#include <errno.h>
#include <sys/socket.h>

#define SEND_IOV 256
/* Longer records are written at once. */
#define SEND_SMALL 16384

/* Fill @v from the head of the queue. Lock held. */
static unsigned int gather(struct gw_client *c, struct iovec *v)
{
	unsigned int n = 0;

	for (struct gw_send *o = c->sendq.first; o && n < SEND_IOV; o = o->next)
		for (unsigned int i = o->at; i < o->niov && n < SEND_IOV; i++)
			v[n++] = o->iov[i];
	return n;
}

/*
 * Take @n written octets off the queue; the finished records come back as a
 * list. Lock held.
 */
static struct gw_send *advance(struct gw_client *c, size_t n)
{
	struct gw_send *done = c->sendq.first, *last = NULL;

	for (struct gw_send *o = c->sendq.first; o; o = c->sendq.first) {
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
		c->sendq.first = o->next;
	}
	if (!c->sendq.first)
		c->sendq.tail = &c->sendq.first;
	if (!last)
		return NULL;
	last->next = NULL;
	return done;
}

static void finish(struct gw_client *c, struct gw_send *o, bool written)
{
	while (o) {
		struct gw_send *next = o->next;

		o->done(c, o, written);
		o = next;
	}
}

/* Write until the queue is empty or the socket full. The caller has set writing, and
 * holds a reference. */
static void send_all(struct gw_client *c)
{
	struct iovec v[SEND_IOV];
	struct gw_send *done = NULL;
	bool full = false;

	for (;;) {
		struct msghdr m = { .msg_iov = v };
		ssize_t n;

		pthread_mutex_lock(&c->lock);
		if (c->dead || !c->sendq.first ||
		    (full && !c->sendq.writable)) {
			struct gw_send *rest = c->dead ? c->sendq.first : NULL;

			if (c->dead) {
				c->sendq.first = NULL;
				c->sendq.tail = &c->sendq.first;
			}
			c->sendq.writing = false;
			pthread_mutex_unlock(&c->lock);
			finish(c, rest, false);
			return;
		}
		c->sendq.writable = false;
		m.msg_iovlen = gather(c, v);
		pthread_mutex_unlock(&c->lock);

		n = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		full = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
		if (n < 0 && !full && errno != EINTR) {
			/* Left in the queue until the worker ends it all. */
			gw_wakeup(c, GW_EV_BROKEN);
			full = true;
		}
		if (n <= 0)
			continue;
		pthread_mutex_lock(&c->lock);
		c->stats.tcp_bytes_out += (uint64_t)n;
		done = advance(c, (size_t)n);
		pthread_mutex_unlock(&c->lock);
		finish(c, done, true);
	}
}

void gw_send_queue_init(struct gw_send_queue *q)
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
		b->first = c->sendq.batch_next;
		send_all(c);
		gw_client_put(c);
	}
}

static bool is_small(const struct gw_send *o)
{
	size_t len = 0;

	for (unsigned int i = 0; i < o->niov; i++)
		len += o->iov[i].iov_len;
	return len <= SEND_SMALL;
}

void gw_send_queue_push(struct gw_client *c, struct gw_send *o)
{
	struct gw_batch *b = pthread_getspecific(c->gw->batch_key);
	bool small = is_small(o), run;

	o->next = NULL;
	o->at = 0;
	gw_client_get(c);
	pthread_mutex_lock(&c->lock);
	if (c->dead) {
		pthread_mutex_unlock(&c->lock);
		o->done(c, o, false);
		gw_client_put(c);
		return;
	}
	/* With a record waiting for the socket, trying again is in vain. */
	run = !c->sendq.writing && !c->sendq.first;
	*c->sendq.tail = o;
	c->sendq.tail = &o->next;
	if (run)
		c->sendq.writing = true;
	pthread_mutex_unlock(&c->lock);
	if (run && b && small) {
		c->sendq.batch_next = b->first;
		b->first = c; /* with the reference */
		return;
	}
	if (run)
		send_all(c);
	else if (b && !small)
		gw_batch_flush(b); /* it may be ours to write */
	gw_client_put(c);
}

void gw_send_queue_writable(struct gw_client *c)
{
	bool run;

	pthread_mutex_lock(&c->lock);
	c->sendq.writable = true;
	run = !c->sendq.writing && c->sendq.first;
	if (run)
		c->sendq.writing = true;
	pthread_mutex_unlock(&c->lock);
	if (run)
		send_all(c);
}

void gw_send_queue_drop(struct gw_client *c)
{
	struct gw_send *rest = NULL;

	pthread_mutex_lock(&c->lock);
	if (!c->sendq.writing) {
		rest = c->sendq.first;
		gw_send_queue_init(&c->sendq);
	}
	pthread_mutex_unlock(&c->lock);
	finish(c, rest, false);
}
