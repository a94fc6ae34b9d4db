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

struct gw_client;

struct gw_rx {
	struct gw_buf *buf;
	size_t pos, fill; /* parsed, received */
	struct rec rec;
	struct gw_record acc; /* the record that is being received */
	bool have_record; /* acc is whole, and waits to become a Call */
	bool eof; /* read to the end */
	bool hangup; /* the end of the stream is in the socket */
};

static inline bool gw_rx_inside(const struct gw_rx *x)
{
	return rec_inside(&x->rec);
}

static inline bool gw_rx_has_record(const struct gw_rx *x)
{
	return x->have_record;
}

static inline bool gw_rx_ended(const struct gw_rx *x)
{
	return x->eof;
}

static inline void gw_rx_set_hangup(struct gw_rx *x)
{
	x->hangup = true;
}

void gw_rx_init(struct gw_rx *x);
/* The client is dead. */
void gw_rx_end(struct gw_rx *x);

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
