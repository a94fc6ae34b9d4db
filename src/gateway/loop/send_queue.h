/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * send_queue - records on their way to a TCP client, in the order they were pushed
 *
 * Whoever pushes a record and finds nobody writing writes until the queue is empty
 * or the socket full; then the worker goes on when the socket is writable again.
 * Only the writer takes records off the queue.
 *
 * A thread with a batch puts small records off to the end of its batch, so that
 * Replies that come in together leave together.
 */
#ifndef RPCRDMA_GATEWAY_LOOP_SEND_QUEUE_H
#define RPCRDMA_GATEWAY_LOOP_SEND_QUEUE_H

#include <stdbool.h>
#include <sys/uio.h>

struct gateway;
struct gw_client;

/* One record. */
struct gw_send {
	struct gw_send *next;
	struct iovec *iov;
	unsigned int niov, at;
	/* The record is @written, or the client is gone. The record is the owner's
	 * again. Any thread, no lock held. */
	void (*done)(struct gw_client *c, struct gw_send *s, bool written);
};

/* Clients that a thread has records for. */
struct gw_batch {
	struct gw_client *first;
};

struct gw_send_queue {
	struct gw_client *batch_next; /* of the thread that writes */
	/* client.lock held. */
	struct gw_send *first, **tail;
	bool writing; /* a thread is the writer */
	bool writable; /* the socket became writable meanwhile */
};

/* Returns true if a record waits for the socket. client.lock held. */
static inline bool gw_send_queue_waits(const struct gw_send_queue *q)
{
	return q->first;
}

void gw_send_queue_init(struct gw_send_queue *q);
/* From now on what the calling thread pushes may wait for gw_batch_flush(). */
void gw_batch_open(struct gateway *gw, struct gw_batch *b);
void gw_batch_flush(struct gw_batch *b);
/* Send a record, as far as the socket takes it at once. Any thread, no lock held. */
void gw_send_queue_push(struct gw_client *c, struct gw_send *s);
/* The socket has become writable. Worker. */
void gw_send_queue_writable(struct gw_client *c);
/* The client is dead: drop what nobody is writing. Worker. */
void gw_send_queue_drop(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_LOOP_SEND_QUEUE_H */
