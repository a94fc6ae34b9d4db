/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listeners - the addresses that are served, and whether clients can reach them
 *
 * The control thread (control.h) owns the table. It opens and closes listeners when the server
 * starts and when ganesha.conf is read again; connections do not depend on their listener. An
 * address that cannot be opened stays in the table, and is tried again. A listener whose device
 * is removed waits for it to come back. The log, the service manager and the statistics report
 * both. Other threads read the copy in struct stats_source, under its lock.
 */
#ifndef RPCRDMA_GANESHA_LISTENERS_H
#define RPCRDMA_GANESHA_LISTENERS_H

#include "ganesha/config/config.h"
#include "stats/json.h"

/* The interval of gr_listeners_check(), and of attempts to open a listener that failed. */
#define GR_LISTENERS_MS 5000
/* The interval of checks for a device that Provider = auto would use. They open devices. */
#define GR_DEVICE_MS 10000

struct gr_listener {
	struct sockaddr_storage at;
	struct rt_listener *l; /* NULL: it is not open, */
	int err; /* for this reason, a negative errno; 0: not tried yet */
	bool down; /* its device is missing */
	bool logged; /* as being served */
};

struct gr_listeners {
	pthread_mutex_t
		lock; /* for struct stats_source.lock; the table needs none */
	unsigned int n;
	struct gr_listener of[STATS_MAX_LISTENERS];
};

/*
 * Make @want the addresses of the table, in this order. Listeners that are open stay as they are, or
 * are closed and logged if they are not wanted; all others are new. Returns true if any is gone.
 * Context: control thread.
 */
bool gr_listeners_want(const struct gsh *g, struct gr_listeners *t,
		       const struct gr_addrs *want);
/* Copy to @src what others read of the table. Context: control thread. */
void gr_listeners_publish(const struct gr_listeners *t,
			  struct stats_source *src);
/* Look whether clients can reach the open listeners. Log changes, and publish them. Returns true if
 * there were any. Context: control thread. */
bool gr_listeners_check(const struct gsh *g, struct gr_listeners *t,
			struct stats_source *src);
/* Format the state: where RDMA is served, and where it cannot be reached. It is cut off at
 * @room. Context: any thread. */
void gr_listeners_text(const struct stats_source *src, char *text, size_t room);

#endif /* RPCRDMA_GANESHA_LISTENERS_H */
