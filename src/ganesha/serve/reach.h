/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reach - is there still a device at the addresses that are served?
 *
 * Listeners wait for devices to come back, so a server whose device has gone goes on
 * as if nothing were. Of that the log, the service manager and the statistics are told.
 */
#ifndef RPCRDMA_GANESHA_REACH_H
#define RPCRDMA_GANESHA_REACH_H

#include "ganesha/bind/gsh.h"
#include "stats/json.h"

/* How long it may stay unseen. */
#define GR_REACH_MS 5000
/* The same of a device that Provider = auto would take. To look opens devices. */
#define GR_DEVICE_MS 10000

/*
 * Look which of the @src->nlisteners listeners at @l could be reached now, set
 * @src->down, and log those for which that is new. Has anything changed? The thread
 * that the listeners belong to.
 */
bool gr_reach_look(const struct gsh *g, struct stats_source *src,
		   struct rt_listener *const *l);
/* The line of state: where RDMA is served, and where it is not for want of a device.
 * Cut off at @room. Any thread. */
void gr_reach_text(const struct stats_source *src, char *text, size_t room);

#endif /* RPCRDMA_GANESHA_REACH_H */
