/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker - the loop that owns TCP clients
 *
 * Threads: each worker's loop is one thread; gw_worker_start(), _signal_stop() and
 * _join() are main's, all others the worker's. What happens to a client it hands to
 * the function it was started with, and knows nothing of that.
 */
#ifndef RPCRDMA_GATEWAY_WORKER_H
#define RPCRDMA_GATEWAY_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

#include "gateway/kick.h"
#include "gateway/out.h"

struct gateway;
struct gw_client;

enum gw_timer {
	GW_TIMER_READ, /* GW_EV_READ */
	GW_TIMER_CONNECT, /* GW_EV_CONNECT */
	GW_TIMERS
};

/* Of a client: its place in the worker's lists. */
struct gw_seat {
	struct cds_list_head client, timer; /* in those of the worker */
	uint64_t at[GW_TIMERS]; /* ns; 0: not set */
};

typedef void gw_event_fn(struct gw_client *c, unsigned int events);

struct gw_worker {
	struct gateway *gw;
	unsigned int index;
	gw_event_fn *event; /* enum gw_event; the client may be gone then */
	pthread_t thread;
	bool started;
	int epfd;
	atomic_bool stop;
	uint64_t stop_at; /* ns; waits for its clients until then */
	struct cds_list_head clients, timers; /* seats */
	uint64_t tick_at; /* ns; while there are clients */
	struct gw_kicks kicks;
	struct gw_batch batch;
};

int gw_worker_start(struct gw_worker *w, struct gateway *gw, unsigned int i,
		    gw_event_fn *event);
/* End its clients, then itself when all clients of all workers are gone. */
void gw_worker_signal_stop(struct gw_worker *w);
void gw_worker_join(struct gw_worker *w);

/* The client's socket is looked at from now on; 0, or a negative errno:
 * -ECANCELED if the worker ends. It has to be forgotten in any case. */
int gw_worker_adopt(struct gw_client *c);
void gw_worker_forget(struct gw_client *c);
/* Tell it at @at, ns. */
void gw_worker_timer(struct gw_client *c, enum gw_timer timer, uint64_t at);
/* Write what this thread's batch has. */
void gw_worker_flush(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_WORKER_H */
