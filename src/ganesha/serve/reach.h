/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reach - check that the addresses that are served still belong to a device
 *
 * A listener whose device is removed waits for it to come back, and the server goes on. The
 * log, the service manager and the statistics report it.
 */
#ifndef RPCRDMA_GANESHA_REACH_H
#define RPCRDMA_GANESHA_REACH_H

#include "ganesha/bind/gsh.h"
#include "stats/json.h"

/* The interval of gr_reach_check(). */
#define GR_REACH_MS 5000
/* The interval of looking for a device that Provider = auto would use, which opens devices. */
#define GR_DEVICE_MS 10000

/*
 * Set @src->down for each of the @src->nlisteners listeners at @l that cannot be reached now,
 * and log changes. Returns true if there were any. Context: the thread that owns the listeners.
 */
bool gr_reach_check(const struct gsh *g, struct stats_source *src,
		    struct rt_listener *const *l);
/* Format the line of state: where RDMA is served, and where it lacks a device. It is cut off
 * at @room. Context: any thread. */
void gr_reach_text(const struct stats_source *src, char *text, size_t room);

#endif /* RPCRDMA_GANESHA_REACH_H */
