/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness - find out whether the server hangs
 *
 * It does if a poller hangs, because then no Call that comes by it is answered: its thread does not
 * leave rt_run() although it was woken, as it waits for a lock or loops. Or its leader runs a Call, and
 * the watchdog that should give the lead to another worker makes no progress. Threads are in rt_run()
 * only while they poll, and the watchdog runs no Call. So workers that wait for a file system never
 * count, even if all of them do and nobody polls.
 *
 * A NULL of our own would show no more: behind workers that all wait it would not be answered either.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_LIVENESS_H
#define RPCRDMA_GANESHA_LIVENESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ganesha/serve/workers.h"
#include "rpcrdma/transport.h"

#define GR_MAX_POLLERS \
	64 /* the most that Pollers may be; others are not checked */

struct gr_liveness {
	pthread_mutex_t lock; /* a leaf */
	struct rt_instance *inst; /* NULL: no RDMA is served, nothing can hang */
	struct gr_watchdog *watchdog;
	/* At the last check: of each poller rt_turns(); whether the watchdog had to look, and its
	 * progress. */
	uint64_t turns[GR_MAX_POLLERS];
	bool needed;
	unsigned int progress;
};

/* Watch the pollers of @inst and the @watchdog, which run from now on; NULL: none. On return those
 * before are no longer used. */
void gr_liveness_set(struct gr_liveness *l, struct rt_instance *inst,
		     struct gr_watchdog *watchdog);
/* Returns false if the server hangs since the last call. Wakes all pollers, for the next call. */
bool gr_liveness_check(struct gr_liveness *l);

#endif /* RPCRDMA_GANESHA_LIVENESS_H */
