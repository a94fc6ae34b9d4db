/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rx - what is received of a TCP client, on its way to being records
 *
 * Files, the lower first: rx.c (what it is received into), parse.c, read.c.
 * Threads: the client's worker.
 */
#ifndef RPCRDMA_GATEWAY_RX_H
#define RPCRDMA_GATEWAY_RX_H

#include "gateway/record.h"
#include "tools/record.h"

struct gw_client;

struct gw_rx {
	struct gw_buf *buf;
	size_t pos, fill; /* parsed, received */
	struct rec rec;
	struct gw_record acc;
	bool have_record; /* acc is complete but could not be taken yet */
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

static inline void gw_rx_hangup(struct gw_rx *x)
{
	x->hangup = true;
}

void gw_rx_init(struct gw_rx *x);
/* The client is dead. */
void gw_rx_end(struct gw_rx *x);

/* read.c: read and parse until the socket is empty or the client at a limit. */
void gw_rx_read(struct gw_client *c);
/* An idle client holds no buffer of its own: give back what nothing is in. When the
 * socket is empty, and later, when the Calls in it are answered. */
void gw_rx_release(struct gw_client *c);
/*
 * It sends no more; it may have shut down its sending side only, so that Replies
 * still due are brought. A reverse-direction Call it cannot answer.
 */
void gw_rx_eof(struct gw_client *c);

/* ---- Between these files ------------------------------------------------ */

/* rx.c: from now on it receives into @b, which is empty, or nothing. */
void gw_rx_set(struct gw_rx *x, struct gw_buf *b);
/* Make room to receive into. All that has been received has been parsed. Returns
 * how many octets may be received; 0 without memory. */
size_t gw_rx_room(struct gw_client *c);
/* parse.c: true when all that is received is used up. */
bool gw_rx_parse(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_RX_H */
