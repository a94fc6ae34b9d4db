/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker - the loop that owns TCP clients
 *
 * A worker is one thread. It waits for its clients' sockets, timers and wake-ups,
 * and hands each event to the function that it was started with.
 *
 * Context: gw_worker_start(), _signal_stop() and _join() are main's, all others the
 * worker's.
 */
#ifndef RPCRDMA_GATEWAY_LOOP_WORKER_H
#define RPCRDMA_GATEWAY_LOOP_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include "gateway/loop/send_queue.h"
#include "gateway/loop/wakeup.h"

struct gateway;
struct gw_client;

enum gw_timer {
	GW_TIMER_READ, /* GW_EV_READ */
	GW_TIMER_CONNECT, /* GW_EV_CONNECT */
	GW_TIMERS
};

/* A client's entries in the worker's lists. */
struct gw_worker_slot {
	struct cds_list_head client, timer;
	uint64_t at[GW_TIMERS]; /* ns; 0: not set */
};

/* Handle enum gw_event. The client may be gone on return. */
typedef void gw_event_fn(struct gw_client *c, unsigned int events);

struct gw_worker {
	struct gateway *gw;
	unsigned int index;
	gw_event_fn *event;
	pthread_t thread;
	bool started;
	int epfd;
	atomic_bool stop;
	uint64_t stop_at; /* ns; it waits for its clients until then */
	struct cds_list_head clients, timers; /* slots */
	uint64_t tick_at; /* ns; while there are clients */
	struct gw_wakeups wakeups;
	struct gw_batch batch;
};

/* Returns 0 or a negative errno. */
int gw_worker_start(struct gw_worker *w, struct gateway *gw, unsigned int i,
		    gw_event_fn *event);
/* Have it end its clients, then itself when no worker has clients any more. */
void gw_worker_signal_stop(struct gw_worker *w);
void gw_worker_join(struct gw_worker *w);

/* Begin to watch the client's socket. Returns 0, or a negative errno: -ECANCELED if
 * the worker ends. gw_worker_forget() is needed in any case. */
int gw_worker_adopt(struct gw_client *c);
void gw_worker_forget(struct gw_client *c);
/* Set the timer to @at, ns. */
void gw_worker_timer(struct gw_client *c, enum gw_timer timer, uint64_t at);
/* Write the Replies that this thread has put off. */
void gw_worker_flush(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_LOOP_WORKER_H */
