/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * out - records on their way to the TCP client
 *
 * Threads: any thread pushes; out.c has who writes.
 */
#ifndef RPCRDMA_GATEWAY_OUT_H
#define RPCRDMA_GATEWAY_OUT_H

#include <stdbool.h>
#include <sys/uio.h>

struct gateway;
struct gw_client;

/* One record on its way to the socket. */
struct gw_out {
	struct gw_out *next;
	struct iovec *iov;
	unsigned int niov, at;
	/* Written, or the client is gone. Any thread, no lock held. */
	void (*fin)(struct gw_client *c, struct gw_out *o, bool written);
};

/* Clients that a thread has Replies for, to be written together. */
struct gw_batch {
	struct gw_client *first;
};

/* What a client's records to the socket are. */
struct gw_outq {
	struct gw_client *batch_next; /* of the thread that is the writer */
	/* client.lock held. */
	struct gw_out *first, **tail;
	bool writing; /* somebody is in out_run()'s loop */
	bool writable; /* became so meanwhile */
};

/* Does any wait for the socket? client.lock held. */
static inline bool gw_out_waits(const struct gw_outq *q)
{
	return q->first;
}

void gw_out_init(struct gw_outq *q);
/* From now on what the calling thread pushes may wait for gw_batch_flush(). */
void gw_batch_open(struct gateway *gw, struct gw_batch *b);
void gw_batch_flush(struct gw_batch *b);
/* Write as far as the socket takes it, the rest when it is writable. */
void gw_out_push(struct gw_client *c, struct gw_out *o);
/* The socket has become writable (worker). */
void gw_out_ready(struct gw_client *c);
/* The client is dead: what nobody is writing is dropped (worker). */
void gw_out_end(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_OUT_H */
