/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rx - the receiving side of a TCP client
 *
 * Files, the lower first: rx.c (buffers), parse.c (records), read.c (the socket).
 *
 * Context: the client's worker.
 */
#ifndef RPCRDMA_GATEWAY_RX_H
#define RPCRDMA_GATEWAY_RX_H

#include "gateway/call/record.h"
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

/* read.c: read and parse until the socket is empty or the client is at a limit. The
 * client may be gone on return. */
void gw_rx_read(struct gw_client *c);
/* Give back the receive buffer of a client that is between records, unless Calls
 * have octets in it. */
void gw_rx_release(struct gw_client *c);
/* The client sends no more. It may have shut down only its sending side, so Replies
 * still due are sent. The client may be gone on return. */
void gw_rx_eof(struct gw_client *c);

/* ---- Between these files ------------------------------------------------ */

/* rx.c: receive into @b, which is empty, or NULL. */
void gw_rx_set(struct gw_rx *x, struct gw_buf *b);
/* Make room to receive into. All that has been received has been parsed. Returns
 * how many octets may be received; 0 without memory. */
size_t gw_rx_room(struct gw_client *c);
/* parse.c: returns true if all that was received is parsed and more can be read. */
bool gw_rx_parse(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_RX_H */
