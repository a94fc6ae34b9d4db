/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint - what connections and listeners of the providers have alike
 *
 * struct fab_ev_conn is in events.h, since the loop calls connections.
 *
 * Threads: the runner of a connection. fab_ev_listener_init(): nobody else uses
 * it; _addr() any.
 */
#ifndef RPCRDMA_FABRIC_PROVIDER_ENDPOINT_H
#define RPCRDMA_FABRIC_PROVIDER_ENDPOINT_H

#include "fabric/provider/events.h"

/* ---- Connections ------------------------------------------------------- */

/* It has to end, for this reason: that is told when done.ended is set. */
void fab_ev_conn_end(struct fab_ev_conn *c, int error, const char *reason);
/* fab_ops.conn_info, all that is not one provider's alone, and .conn_counters */
void fab_ev_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void fab_ev_conn_counters(const struct fab_conn *c, struct fab_counters *out);

/* ---- Listeners --------------------------------------------------------- */

/* The provider's begins with it. */
struct fab_ev_listener {
	struct fab_listener fab;
	struct sockaddr_storage addr;
	fab_request_fn fn;
	void *user;
	struct fab_retired retired;
	struct base_timer timer; /* the provider's, of its poller */

	pthread_mutex_t lock; /* what follows, and the request callback */
	bool closed;
	struct base_pace pace;
};

/* Zeroed at first. @expired: what its timer does; @release: its retired.free. */
void fab_ev_listener_init(struct fab_ev_listener *l, struct fab_poller *p,
			  fab_request_fn fn, void *user, base_timer_fn expired,
			  void (*release)(struct fab_retired *g));
/* fab_ops.listener_addr */
void fab_ev_listener_addr(const struct fab_listener *l,
			  struct sockaddr_storage *addr);

#endif /* RPCRDMA_FABRIC_PROVIDER_ENDPOINT_H */
