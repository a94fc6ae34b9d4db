/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accept - listening sockets, and new TCP clients
 *
 * Context: the main thread.
 */
#ifndef RPCRDMA_GATEWAY_ACCEPT_H
#define RPCRDMA_GATEWAY_ACCEPT_H

#include "gateway/gateway.h"
#include "stats/json.h"

struct gw_accept {
	struct gateway *gw;
	int fd[GW_MAX_LISTEN]; /* -1: none */
	bool paused; /* accept nothing for a moment */
	uint64_t short_at; /* ns; when descriptors were last short */
};

void gw_accept_init(struct gw_accept *a, struct gateway *gw);
/* Listen where the options say, and note the addresses in @stats. Returns 0, or logs
 * the reason and returns a negative errno. */
int gw_accept_start(struct gw_accept *a, struct stats_source *stats);
void gw_accept_stop(struct gw_accept *a);
/* Accept all clients that wait at the listening socket @fd. */
void gw_accept_clients(struct gw_accept *a, int fd);

#endif /* RPCRDMA_GATEWAY_ACCEPT_H */
