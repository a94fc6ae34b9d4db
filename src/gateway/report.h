/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - statistics, for who asks
 *
 * Threads: gw_report() main; the socket has a thread.
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

/* --stats-socket. 0, or a negative errno and a line in the log. */
int gw_report_start(struct gw_report *r);
void gw_report_stop(struct gw_report *r);
/* --stats and --stats-file */
void gw_report(struct gw_report *r);

#endif /* RPCRDMA_GATEWAY_REPORT_H */
