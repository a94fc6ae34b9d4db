/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - a client's RDMA connection
 *
 * The first attempt to connect is made when the client's first octets have come: a
 * client that says nothing costs the server nothing. When the connection ends, the next
 * attempt is made at once, unless the server has closed it in order and no Call waits:
 * then with the client's next Call, since the server wants the memory back.
 *
 * When the server's end of the network has been silent for GW_SILENT_MS, however, the
 * connection stays, and attempts are made beside it. The first that succeeds takes its
 * place: then the silent connection is aborted, and its Calls are submitted again after
 * its end, when nothing can touch their memory any more. If the server is heard before,
 * the attempt is given up. A Reply that is late plays no part in this.
 *
 * So there are at most two rt_conns at a time. Each has a reference of the client until
 * the worker has handled its GW_EV_DOWN.
 *
 * Context: the client's worker; the operations of the transport are the strand's.
 */
#ifndef RPCRDMA_GATEWAY_CLIENT_LINK_H
#define RPCRDMA_GATEWAY_CLIENT_LINK_H

#include <stdbool.h>

#include "gateway/client/addresses.h"
#include "rpcrdma/transport.h"

struct gw_client;

#define GW_SILENT_MS 2000
/* An attempt is given up when the server's end of the network leaves its packets
 * unacknowledged for so long: TCP itself would ask again only after a second. */
#define GW_ATTEMPT_MS 400
/* Room for why a connection has ended. */
#define GW_REASON (RT_AUTH_TEXT + 64)

struct gw_conn {
	struct gw_client *c;
	/* Worker only. */
	struct rt_conn *rc; /* NULL: none */
	bool ready; /* the worker has seen that it is established */
	bool given_up; /* since nothing has answered it */
	/* client.lock held. */
	bool established, closed;
	int error;
	char reason[GW_REASON];
};

struct gw_link {
	/* Worker only. */
	struct gw_conn conn[2];
	struct gw_conn
		*up; /* it takes Calls; it may be silent, or about to end */
	struct gw_conn *attempt; /* or what waits for the end of @up */
	struct gw_round round; /* of attempts */
	struct arg_addr addr; /* of @up */
	bool silent; /* @up is: attempts are made */
	unsigned int backoff_ms; /* 0: no attempt so far */
	bool told; /* that it is down, in the log */
	/* Why all failed, if that is in the log, until a Reply or a rest. */
	char reason[GW_REASON];
	bool connected_once;
	bool refused; /* for good: the client is disconnected in a moment */
	bool rests; /* not connected, and no Call wants it */
	/* base_now_ns(): when it was lost, or wanted first; 0: it is not down */
	uint64_t down_since;
	/* client.lock held. */
	bool early; /* the client has sent something, and was never connected */
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

/* Returns true while there is an rt_conn. */
static inline bool gw_link_is_open(const struct gw_link *l)
{
	return l->up || l->attempt;
}

/* The client is dead. The server sees an orderly end if @in_order, that is, if the
 * client will not resend what the server has seen; otherwise a reset. */
static inline void gw_link_end(struct gw_link *l, bool in_order)
{
	if (l->up)
		rt_conn_close(l->up->rc, !in_order);
	if (l->attempt)
		rt_conn_close(l->attempt->rc, !in_order);
}

/* Make the first attempt to connect, unless one was made. */
void gw_link_start(struct gw_client *c);
/* A Call was taken: connect for it if nothing does so. */
void gw_link_want(struct gw_client *c);
/* GW_EV_CONNECT: make another attempt, look after the one that is under way, or end the
 * client. */
void gw_link_connect(struct gw_client *c);
/* GW_EV_TICK: is the server's end of the network silent? */
void gw_link_tick(struct gw_client *c);
/* Handle GW_EV_UP and GW_EV_DOWN, if @events has them. Returns true if the connection
 * is established for the first time. */
bool gw_link_events(struct gw_client *c, unsigned int events);

/* Returns the client of a connection. Any thread. */
static inline struct gw_client *gw_link_client(struct rt_conn *rc)
{
	return ((struct gw_conn *)rt_conn_user(rc))->c;
}
/* Set the operations of these connections. */
void gw_link_ops(struct rt_ops *ops, bool reverse);

#endif /* RPCRDMA_GATEWAY_CLIENT_LINK_H */
