/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listeners - watch and report whether the listeners have a device
 *
 * A listener whose device is removed waits for it to come back, and the server goes on. The
 * log, the service manager and the statistics report that.
 */
#ifndef RPCRDMA_GANESHA_LISTENERS_H
#define RPCRDMA_GANESHA_LISTENERS_H

#include "ganesha/bind/gsh.h"
#include "stats/json.h"

/* The interval of gr_listeners_check(). */
#define GR_LISTENERS_MS 5000
/* The interval of checks for a device that Provider = auto would use. They open devices. */
#define GR_DEVICE_MS 10000

/*
 * Set @src->down for each of the @src->nlisteners listeners at @l that cannot be reached now,
 * and log changes. Returns true if there were any. Context: the thread that owns the listeners.
 */
bool gr_listeners_check(const struct gsh *g, struct stats_source *src,
			struct rt_listener *const *l);
/* Format the state: where RDMA is served, and where a device is missing. It is cut off at
 * @room. Context: any thread. */
void gr_listeners_text(const struct stats_source *src, char *text, size_t room);

#endif /* RPCRDMA_GANESHA_LISTENERS_H */
