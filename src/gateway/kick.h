/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kick - what other threads leave to a client's worker, and what that has for it
 *
 * Threads: gw_kick() any; a client is on its worker's list once, whatever events
 * there are for it.
 */
#ifndef RPCRDMA_GATEWAY_KICK_H
#define RPCRDMA_GATEWAY_KICK_H

#include <pthread.h>
#include <stdatomic.h>

struct gw_client;

enum gw_event {
	/* Left by strands, main and other workers. */
	GW_EV_NEW = 1 << 0,
	GW_EV_UP = 1 << 1,
	GW_EV_DOWN = 1 << 2,
	GW_EV_ROOM = 1 << 3, /* below the limits again */
	GW_EV_RESEND = 1 << 4,
	GW_EV_IDLE = 1 << 5, /* nothing outstanding any more */
	GW_EV_BROKEN = 1 << 6, /* the socket refuses output */
	GW_EV_RENEW = 1 << 7, /* a Call that only the client can send again */
	GW_EV_EVICT = 1 << 8, /* others need the memory that it has borrowed */
	GW_EV_LEAVE = 1 << 9, /* a new client takes its place */
	/* The worker's own. */
	GW_EV_IN = 1 << 10, /* the socket has octets, or their end */
	GW_EV_OUT = 1 << 11, /* the socket takes octets */
	GW_EV_HANGUP = 1 << 12, /* the end of the stream is in the socket */
	GW_EV_ERROR = 1 << 13, /* the socket has come to its end */
	GW_EV_READ = 1 << 14, /* timer */
	GW_EV_CONNECT = 1 << 15, /* timer */
	GW_EV_TICK = 1 << 16, /* once in a second */
	GW_EV_STOP = 1 << 17, /* the gateway ends */
};

/* Of a client: its place on the list. */
struct gw_kick {
	atomic_uint events;
	struct gw_client *next;
};

/* Of a worker: clients with events. */
struct gw_kicks {
	pthread_mutex_t lock;
	struct gw_client *first, **tail;
	int fd; /* an eventfd, which wakes the worker */
};

/* 0 or a negative errno. */
int gw_kicks_init(struct gw_kicks *k);
void gw_kicks_fini(struct gw_kicks *k);
/* Wake the worker, whether anybody has events or not. */
void gw_kicks_wake(struct gw_kicks *k);
/* Hand each client and its events to @event. Worker. */
void gw_kicks_take(struct gw_kicks *k,
		   void (*event)(struct gw_client *c, unsigned int events));
/* Any thread. */
void gw_kick(struct gw_client *c, unsigned int events);

#endif /* RPCRDMA_GATEWAY_KICK_H */
