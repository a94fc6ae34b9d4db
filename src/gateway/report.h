/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - statistics by --stats, --stats-file and --stats-socket
 *
 * Context: main; the socket has a thread of its own.
 */
#ifndef RPCRDMA_GATEWAY_REPORT_H
#define RPCRDMA_GATEWAY_REPORT_H

#include "gateway/gateway.h"
#include "stats/json.h"
#include "stats/socket.h"

struct gw_report {
	struct gateway *gw;
	struct stats_source source;
	struct stats_socket *socket;
};

/* Serve --stats-socket. Returns 0, or logs the reason and returns a negative errno. */
int gw_report_start(struct gw_report *r);
void gw_report_stop(struct gw_report *r);
/* Write what --stats and --stats-file ask for. */
void gw_report(struct gw_report *r);

#endif /* RPCRDMA_GATEWAY_REPORT_H */
