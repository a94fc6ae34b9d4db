/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addresses - the server's addresses, and which of them a client tries
 *
 * A client begins with the address that accepted a connection last, and goes through
 * the others when that one fails. When all have failed, or a connection is lost, the
 * server's name is looked up again, in a thread of its own. The result counts from the
 * next attempt on.
 *
 * Context: gw_server_look() and gw_server_end() are main's; the others are called by any
 * thread, with its own struct gw_round. They take gateway.lock.
 */
#ifndef RPCRDMA_GATEWAY_CLIENT_ADDRESSES_H
#define RPCRDMA_GATEWAY_CLIENT_ADDRESSES_H

#include <stdatomic.h>

#include "tools/args.h"

/* Room for gw_server_names(), which cuts what is longer. */
#define GW_SERVER_NAMES 256

struct gateway;
struct gw_lookup;

struct gw_server {
	/* gateway.lock held. */
	struct arg_addrs addrs;
	unsigned int first; /* the one to begin with */
	struct arg_addr took; /* the one that accepted a connection last, */
	uint64_t since; /* and since when it has been that one, ns; or 0 */
	atomic_bool renew; /* the name is to be looked up again */
	struct gw_lookup *lookup; /* main; NULL: none is running */
};

/* How far a client has come through the addresses. Zeroed at first. */
struct gw_round {
	unsigned int of; /* how many there are */
	unsigned int first, failed;
	unsigned int index; /* of addr */
	struct arg_addr addr; /* the one that is tried, or connected to */
};

/* Set the address to try next. */
void gw_server_pick(struct gateway *gw, struct gw_round *r);
/* The address has failed with @error. Returns true if another is to be tried at once;
 * false if all have failed, or no other would help. */
bool gw_server_failed(struct gateway *gw, struct gw_round *r, int error);
/* The address has accepted a connection. */
void gw_server_took(struct gateway *gw, const struct gw_round *r);
/* A connection that has served is lost. */
void gw_server_lost(struct gateway *gw, struct gw_round *r);
/* The address @a has been silent: whoever begins with it now is to begin with the next. */
void gw_server_silent(struct gateway *gw, struct gw_round *r,
		      const struct arg_addr *a);
/* Set @name to the address that accepted a connection last. Returns since when, ns, it
 * has been that one; 0 if none has accepted any. */
uint64_t gw_server_current(struct gateway *gw, char name[64]);
/* For messages: the address, or the name and its addresses. */
void gw_server_names(struct gateway *gw, char names[GW_SERVER_NAMES]);
/* Start a look-up if one is needed, and take the result of the last. Does not block. */
void gw_server_look(struct gateway *gw);
/* Free the result of a look-up that nobody has taken. */
void gw_server_end(struct gateway *gw);

/*
 * Whoever gives --server the port of NFS over TCP sees no more than that nothing
 * answers by RDMA. So, when a connection has failed before RDMA was there, the main
 * thread asks once by TCP. A server of RDMA would log that as of something that is no
 * client: it is never asked unless it has failed.
 */
struct gw_probe {
	atomic_int state;
};

/* A connection to the server's address @index failed with @error before RDMA was
 * established. Any thread. */
void gw_probe_failed(struct gw_probe *p, unsigned int index, int error);
/* A connection was established: look again at the next failure. Any thread. */
void gw_probe_good(struct gw_probe *p);
/* Ask by TCP if a connection has failed, and log what was found. Waits up to 2 s for
 * an answer. Main thread, now and then. */
void gw_probe_run(struct gw_probe *p, struct gateway *gw);

#endif /* RPCRDMA_GATEWAY_CLIENT_ADDRESSES_H */
