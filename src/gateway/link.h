/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - a client's RDMA connection
 *
 * The first attempt to connect is made when the client's first octets have come,
 * so that who only looks whether the gateway's port is open costs the server
 * nothing. There is at most one rt_conn at a time: the next is made when the closed
 * operation of the one before has been seen by the worker. A reference of the
 * client belongs to it until then.
 *
 * Threads: the client's worker; the operations of the transport are the strand's.
 */
#ifndef RPCRDMA_GATEWAY_LINK_H
#define RPCRDMA_GATEWAY_LINK_H

#include <stdbool.h>

#include "gateway/server.h"
#include "rpcrdma/transport.h"

struct gw_client;

struct gw_link {
	/* Worker only. */
	struct rt_conn *rc;
	struct gw_round round;
	unsigned int backoff_ms; /* 0: no attempt so far */
	bool connected_once;
	bool refused; /* for good: the client is let go after a while */
	uint64_t down_since; /* base_now_ns(); 0: it is not down */
	/* client.lock held. */
	bool early; /* has sent something, and the server never took it */
	int down_error;
	char down_reason[RT_AUTH_TEXT + 64];
};

/* Has the server taken it once? */
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

/* The client is dead. @in_order: the client will not send again what the server has
 * seen, so the server sees an end in order; otherwise a reset. */
static inline void gw_link_end(struct gw_link *l, bool in_order)
{
	if (l->rc)
		rt_conn_close(l->rc, !in_order);
}

/* The client has sent something: make the first attempt, unless one was made. */
void gw_link_start(struct gw_client *c);
/* GW_EV_CONNECT: another one, or the client's end */
void gw_link_connect(struct gw_client *c);
/* GW_EV_UP and GW_EV_DOWN, of which there may be none any more; whether it has
 * come up for the first time. */
bool gw_link_events(struct gw_client *c, unsigned int events);

/* The operations that these connections have. */
void gw_link_ops(struct rt_ops *ops, bool reverse);

#endif /* RPCRDMA_GATEWAY_LINK_H */
