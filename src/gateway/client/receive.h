/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receive - what a TCP client sends: the socket, buffers and records
 *
 * Context: the client's worker.
 */
#ifndef RPCRDMA_GATEWAY_CLIENT_RECEIVE_H
#define RPCRDMA_GATEWAY_CLIENT_RECEIVE_H

#include "gateway/call/tcp_record.h"
#include "tools/record.h"

/* The longest record, with all that is left out of it. */
#define GW_RECORD_MOST ((size_t)1 << 30)

struct gw_client;

struct gw_rx {
	struct gw_buf *buf;
	size_t pos, fill; /* parsed, received */
	struct rec rec;
	struct gw_record acc; /* the record that is being received */
	bool have_record; /* acc is whole, and waits to become a Call */
	bool eof; /* read to the end, */
	bool stopped; /* or no more is to be read */
	bool hangup; /* the end of the stream is in the socket */
};

static inline bool gw_rx_ended(const struct gw_rx *x)
{
	return x->eof;
}

static inline void gw_rx_set_hangup(struct gw_rx *x)
{
	x->hangup = true;
}

/* Read no more: gw_rx_eof() is to follow. */
static inline void gw_rx_stop(struct gw_rx *x)
{
	x->eof = true;
	x->stopped = true;
}

static inline void gw_rx_init(struct gw_rx *x)
{
	rec_init(&x->rec, GW_RECORD_MOST);
}

/* The client is dead. */
static inline void gw_rx_end(struct gw_rx *x)
{
	gw_record_release(&x->acc);
	gw_buf_put(x->buf);
	x->buf = NULL;
}

/* Read and parse until the socket is empty or the client is at a limit. The
 * client may be gone on return. */
void gw_rx_read(struct gw_client *c);
/* Give back the receive buffer of a client that is between records, unless Calls
 * have octets in it. */
void gw_rx_release(struct gw_client *c);
/* The client sends no more. It may have shut down only its sending side, so Replies
 * still due are sent. The client may be gone on return. */
void gw_rx_eof(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_CLIENT_RECEIVE_H */
