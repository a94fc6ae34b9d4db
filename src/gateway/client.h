/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client - one TCP client, made of its parts
 *
 * A client belongs to one worker. Each part is looked into by its own files alone
 * (the header with the part's name says which), and asked by the functions that
 * stand there.
 */
#ifndef RPCRDMA_GATEWAY_CLIENT_H
#define RPCRDMA_GATEWAY_CLIENT_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "gateway/call.h"
#include "gateway/disconnect.h"
#include "gateway/fit.h"
#include "gateway/gateway.h"
#include "gateway/kick.h"
#include "gateway/link.h"
#include "gateway/out.h"
#include "gateway/policy/hosts.h"
#include "gateway/policy/memory.h"
#include "gateway/reverse.h"
#include "gateway/rx.h"
#include "gateway/stats.h"
#include "gateway/worker.h"

struct gw_client {
	struct gateway *gw;
	struct gw_worker *w;
	int fd;
	char name[64];
	struct in6_addr addr; /* its host's */
	atomic_uint refs;
	bool gone; /* gw_client_kill() was here; worker */
	bool only_gss; /* anybody may be behind its port */
	struct gw_client *all_next, **all_prev; /* gateway.clients */
	/* gateway.lock held. */
	struct gw_host *host; /* as which it counts */
	bool counted; /* in host->clients */
	bool leaving; /* makes way; counted in gateway.leaving */
	struct gw_account account;
	struct gw_disconnect disconnect;

	struct gw_kick kick;
	struct gw_seat seat;
	struct gw_rx rx;
	struct gw_fit fit;
	struct gw_link link;
	struct gw_calls calls;
	struct gw_outq out;
	struct gw_reverses reverse;

	pthread_mutex_t lock; /* for what says so, and all below */
	bool dead; /* no more output; what comes back is freed */
	struct gw_stats stats;
};

/* One more of that in its statistics. client.lock not held. */
#define gw_client_count(c, what)                  \
	do {                                      \
		pthread_mutex_lock(&(c)->lock);   \
		(c)->stats.what++;                \
		pthread_mutex_unlock(&(c)->lock); \
	} while (0)

/* Log what the client's host has caused; base/log.h limits it. */
#define gw_client_log(c, level, ...) \
	base_log_put((c)->gw->log, &(c)->addr, (c)->name, (level), __VA_ARGS__)

/* ref.c. Any thread. */
void gw_client_get(struct gw_client *c);
void gw_client_put(struct gw_client *c);

/* client.c. Take the accepted socket; closes it on failure. @whose: the host as
 * policy/hosts.h counts it. Main thread. */
int gw_client_new(struct gateway *gw, int fd, const struct in6_addr *whose,
		  bool only_gss);
/* It is none of its host's clients any more. Caller holds gateway.lock. */
void gw_client_uncount(struct gw_client *c);
/*
 * The end of the TCP side, with a line if @why. What is with the transport comes
 * back to gw_call_done(), which frees it; the RDMA connection closes, and with
 * the last reference the client goes. Worker.
 */
void gw_client_kill(struct gw_client *c, int level, const char *why);

/* events.c: what happens to a client, enum gw_event. Worker, which has
 * a reference for as long. */
void gw_client_event(struct gw_client *c, unsigned int events);

#endif /* RPCRDMA_GATEWAY_CLIENT_H */
