/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accept - TCP clients that come
 *
 * Threads: main.
 */
#ifndef RPCRDMA_GATEWAY_ACCEPT_H
#define RPCRDMA_GATEWAY_ACCEPT_H

#include "gateway/gateway.h"
#include "stats/json.h"

struct gw_accept {
	struct gateway *gw;
	int fd[GW_MAX_LISTEN]; /* -1: none */
	bool rest; /* accept nothing for a moment */
	uint64_t short_at; /* ns; when descriptors were last short */
};

void gw_accept_init(struct gw_accept *a, struct gateway *gw);
/* Listen where the options say, and note that in @stats. 0, or a negative errno
 * and a line in the log. */
int gw_accept_start(struct gw_accept *a, struct stats_source *stats);
void gw_accept_stop(struct gw_accept *a);
/* Take all that have come to the socket @fd. */
void gw_accept_clients(struct gw_accept *a, int fd);

#endif /* RPCRDMA_GATEWAY_ACCEPT_H */
