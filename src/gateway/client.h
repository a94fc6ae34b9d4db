/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client - one TCP client
 *
 * A client belongs to one worker, and is counted: by its worker, by each Call and
 * buffer, by its RDMA connection, and by each list of wake-ups or batches it is on.
 * It consists of parts. Only a part's own files look into it; others ask by the
 * functions of its header.
 */
#ifndef RPCRDMA_GATEWAY_CLIENT_H
#define RPCRDMA_GATEWAY_CLIENT_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "gateway/call/outstanding.h"
#include "gateway/call/shorten.h"
#include "gateway/client/disconnect.h"
#include "gateway/gateway.h"
#include "gateway/loop/wakeup.h"
#include "gateway/client/link.h"
#include "gateway/loop/send_queue.h"
#include "gateway/policy/hosts.h"
#include "gateway/policy/memory.h"
#include "gateway/call/reverse.h"
#include "gateway/client/receive.h"
#include "gateway/counters.h"
#include "gateway/loop/worker.h"

struct gw_client {
	struct gateway *gw;
	struct gw_worker *w;
	int fd;
	char name[64];
	struct in6_addr addr; /* its host's */
	atomic_uint refs;
	bool gone; /* gw_client_kill() has ended it; worker */
	bool only_gss; /* anybody can have its port: only signed Calls */
	struct gw_client *all_next, **all_prev; /* gateway.clients */
	struct gw_places *places; /* one of which it has, */
	struct gw_host *host; /* as this one's, or NULL; gateway.lock held */
	const char *leaves; /* why it makes way; set before GW_EV_LEAVE */
	bool evicted; /* ... for memory */
	struct gw_account account;
	struct gw_progress progress;

	struct gw_wakeup wakeup;
	struct gw_worker_slot slot;
	struct gw_rx rx;
	struct gw_shorten shorten;
	struct gw_link link;
	struct gw_calls calls;
	struct gw_send_queue sendq;
	struct gw_reverses reverse;

	pthread_mutex_t lock; /* for what says so, and all below */
	bool dead; /* no more output; what comes back is freed */
	struct gw_stats stats;
};

/* Add one to the counter @what. client.lock is not held. */
#define gw_client_count(c, what)                  \
	do {                                      \
		pthread_mutex_lock(&(c)->lock);   \
		(c)->stats.what++;                \
		pthread_mutex_unlock(&(c)->lock); \
	} while (0)

/* Log what the client's host has caused; base/log.h limits it. */
#define gw_client_log(c, level, ...) \
	base_log_put((c)->gw->log, &(c)->addr, (c)->name, (level), __VA_ARGS__)

/* loop/client_ref.c. Any thread. */
void gw_client_get(struct gw_client *c);
void gw_client_put(struct gw_client *c);

/* client/tcp_client.c. Make a client of the accepted socket @fd, which takes a place as one of
 * @host's. Returns 0, or closes the socket and returns a negative errno. Main thread. */
int gw_client_new(struct gateway *gw, int fd, const struct in6_addr *host,
		  bool only_gss);
/* It gives its place back. Caller holds gateway.lock. */
void gw_client_uncount(struct gw_client *c);
/*
 * End the TCP side, and log @why unless that is NULL. Calls that are with the
 * transport come back to gw_call_done(), which frees them; the RDMA connection
 * closes, and the last reference frees the client. Worker.
 */
void gw_client_kill(struct gw_client *c, int level, const char *why);

/* Handle enum gw_event. The caller has a reference. Worker. */
void gw_client_event(struct gw_client *c, unsigned int events);

#endif /* RPCRDMA_GATEWAY_CLIENT_H */
