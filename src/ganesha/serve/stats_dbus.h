/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_dbus - statistics as an object on Ganesha's D-Bus connection
 *
 * Ganesha is on the system bus as org.ganesha.nfsd. Beside its own objects it
 * gets /org/ganesha/nfsd/rdma with the interface org.ganesha.nfsd.rdma:
 *
 *   GetStatistics   s   the JSON document of stats/json.h
 *
 * Ganesha's own policy for the bus lets root call it.
 */
#ifndef RPCRDMA_GANESHA_STATS_DBUS_H
#define RPCRDMA_GANESHA_STATS_DBUS_H

#include "ganesha/bind/gsh.h"
#include "stats/json.h"

#define STATS_DBUS_OBJECT "rdma" /* below /org/ganesha/nfsd/ */
#define STATS_DBUS_INTERFACE "org.ganesha.nfsd.rdma"

/*
 * Offer the statistics of @src, which must live until gr_stats_dbus_stop(). Returns NULL, or the
 * reason why there is no object, for the end of a log line. Never waits for the bus.
 */
const char *gr_stats_dbus_start(const struct gsh *g,
				const struct stats_source *src);
/* From now on the methods answer that RDMA is not served. Harmless if nothing was started. */
void gr_stats_dbus_stop(void);

#endif /* RPCRDMA_GANESHA_STATS_DBUS_H */
