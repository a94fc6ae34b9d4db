/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wakeup - events for a client, from other threads to its worker
 *
 * Each worker has a list of clients with events. A client is on it once, however
 * many events it has.
 */
#ifndef RPCRDMA_GATEWAY_LOOP_WAKEUP_H
#define RPCRDMA_GATEWAY_LOOP_WAKEUP_H

#include <pthread.h>
#include <stdatomic.h>

struct gw_client;

enum gw_event {
	/* From strands, the main thread and other workers. */
	GW_EV_NEW = 1 << 0,
	GW_EV_UP = 1 << 1, /* the RDMA connection is established */
	GW_EV_DOWN = 1 << 2, /* ... has ended */
	GW_EV_ROOM = 1 << 3, /* Calls or memory have come back */
	GW_EV_RESEND = 1 << 4,
	GW_EV_IDLE = 1 << 5, /* no Call is outstanding any more */
	GW_EV_BROKEN = 1 << 6, /* the socket refuses output */
	GW_EV_RENEW = 1 << 7, /* only the client can send a Call again */
	GW_EV_LEAVE = 1 << 8, /* others need its memory or place */
	/* The worker's own. */
	GW_EV_IN = 1 << 9, /* the socket has octets, or their end */
	GW_EV_OUT = 1 << 10, /* the socket takes octets */
	GW_EV_HANGUP = 1 << 11, /* the end of the stream is in the socket */
	GW_EV_ERROR = 1 << 12, /* the socket has failed */
	GW_EV_READ = 1 << 13, /* timer */
	GW_EV_CONNECT = 1 << 14, /* timer */
	GW_EV_TICK = 1 << 15, /* once in a second */
	GW_EV_STOP = 1 << 16, /* the gateway ends */
	/* The main thread's. */
	GW_EV_DRAIN = 1 << 17, /* ... when the Calls outstanding are answered */
};

/* A client's entry in the list. */
struct gw_wakeup {
	atomic_uint events;
	struct gw_client *next;
};

/* A worker's list. */
struct gw_wakeups {
	pthread_mutex_t lock;
	struct gw_client *first, **tail;
	int fd; /* an eventfd */
};

/* Returns 0 or a negative errno. */
int gw_wakeups_init(struct gw_wakeups *w);
void gw_wakeups_destroy(struct gw_wakeups *w);
/* Wake the worker, though no client has events. Any thread. */
void gw_wakeups_ring(struct gw_wakeups *w);
/* Call @event for each client that has events. Worker. */
void gw_wakeups_deliver(struct gw_wakeups *w,
			void (*event)(struct gw_client *c,
				      unsigned int events));
/* Leave @events to the client's worker. Any thread. */
void gw_wakeup(struct gw_client *c, unsigned int events);

#endif /* RPCRDMA_GATEWAY_LOOP_WAKEUP_H */
