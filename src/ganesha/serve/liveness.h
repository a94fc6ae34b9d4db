/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liveness - find out whether a poller hangs
 *
 * A poller hangs if its thread does not leave rt_run() although it was woken: it waits for a lock
 * or loops, and no Call that comes by it is answered. Threads are in rt_run() only while they poll,
 * so workers that wait for a file system never count, even if all of them do and nobody polls.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_LIVENESS_H
#define RPCRDMA_GANESHA_LIVENESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpcrdma/transport.h"

#define GR_MAX_POLLERS \
	64 /* the most that Pollers may be; others are not checked */

struct gr_liveness {
	pthread_mutex_t lock; /* a leaf */
	struct rt_instance *inst; /* NULL: no RDMA is served, nothing can hang */
	uint64_t turns[GR_MAX_POLLERS]; /* of each poller at the last check */
};

/* Watch the pollers of @inst, which run from now on; NULL: none. On return the instance before is
 * no longer used. */
void gr_liveness_set(struct gr_liveness *l, struct rt_instance *inst);
/* Returns false if a poller hangs since the last call. Wakes all pollers, for the next call. */
bool gr_liveness_check(struct gr_liveness *l);

#endif /* RPCRDMA_GANESHA_LIVENESS_H */
