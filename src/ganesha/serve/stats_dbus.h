/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_dbus - statistics and administration by an object on Ganesha's D-Bus connection
 *
 * Ganesha is on the system bus as org.ganesha.nfsd. Beside its own objects it
 * gets /org/ganesha/nfsd/rdma with the interface org.ganesha.nfsd.rdma:
 *
 *   GetStatistics   -> s             the JSON document of stats/json.h
 *   Evict           s who, u seconds -> s
 *   Drain           u seconds -> s   admin.h describes these, and their answers
 *   Undrain         -> s
 *   Set             s name, s value -> s
 *
 * Ganesha's own policy for the bus lets root alone call them.
 */
#ifndef RPCRDMA_GANESHA_STATS_DBUS_H
#define RPCRDMA_GANESHA_STATS_DBUS_H

#include "ganesha/bind/gsh.h"
#include "ganesha/serve/admin.h"
#include "stats/json.h"

#define STATS_DBUS_OBJECT "rdma" /* below /org/ganesha/nfsd/ */
#define STATS_DBUS_INTERFACE "org.ganesha.nfsd.rdma"

/*
 * Offer the statistics of @src, and what @admin can do, which must live until
 * gr_stats_dbus_stop(). @changed is called after a drain has begun or ended; NULL: nothing is.
 * Returns NULL, or the reason why there is no object, for the end of a log line. Never waits for
 * the bus.
 */
const char *gr_stats_dbus_start(const struct gsh *g,
				const struct stats_source *src,
				struct gr_admin *admin, void (*changed)(void));
/* From now on the methods answer that RDMA is not served. Harmless if nothing was started. */
void gr_stats_dbus_stop(void);

#endif /* RPCRDMA_GANESHA_STATS_DBUS_H */
