/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - a client's RDMA connection
 *
 * The first attempt to connect is made when the client's first octets have come: a
 * client that says nothing costs the server nothing. There is at most one rt_conn at
 * a time, which has a reference of the client until the worker has handled
 * GW_EV_DOWN. Then the next attempt is made.
 *
 * Context: the client's worker; the operations of the transport are the strand's.
 */
#ifndef RPCRDMA_GATEWAY_CLIENT_LINK_H
#define RPCRDMA_GATEWAY_CLIENT_LINK_H

#include <stdbool.h>

#include "gateway/client/addresses.h"
#include "rpcrdma/transport.h"

struct gw_client;

struct gw_link {
	/* Worker only. */
	struct rt_conn *rc;
	struct gw_round round;
	unsigned int backoff_ms; /* 0: no attempt so far */
	bool connected_once;
	bool refused; /* for good: the client is disconnected in a moment */
	uint64_t down_since; /* base_now_ns(); 0: it is not down */
	/* client.lock held. */
	bool early; /* the client has sent something, and was never connected */
	int down_error;
	char down_reason[RT_AUTH_TEXT + 64];
};

/* Returns true if the server has accepted a connection for the client. */
static inline bool gw_link_was_up(const struct gw_link *l)
{
	return l->connected_once;
}

static inline void gw_link_set_early(struct gw_link *l, bool early)
{
	l->early = early;
}

static inline bool gw_link_is_early(const struct gw_link *l)
{
	return l->early;
}

/* The client is dead. The server sees an orderly end if @in_order, that is, if the
 * client will not resend what the server has seen; otherwise a reset. */
static inline void gw_link_end(struct gw_link *l, bool in_order)
{
	if (l->rc)
		rt_conn_close(l->rc, !in_order);
}

/* Make the first attempt to connect, unless one was made. */
void gw_link_start(struct gw_client *c);
/* GW_EV_CONNECT: make another attempt, or end the client. */
void gw_link_connect(struct gw_client *c);
/* Handle GW_EV_UP and GW_EV_DOWN, if @events has them. Returns true if the connection
 * is established for the first time. */
bool gw_link_events(struct gw_client *c, unsigned int events);

/* Set the operations of these connections. */
void gw_link_ops(struct rt_ops *ops, bool reverse);

#endif /* RPCRDMA_GATEWAY_CLIENT_LINK_H */
