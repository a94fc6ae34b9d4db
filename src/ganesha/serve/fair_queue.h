/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fair_queue - a queue of Calls that is fair to hosts, by deficit round robin
 *
 * Each host has a flow, which is a FIFO queue. The first of the flows that have Calls is
 * served until it has used up its quantum. Then it goes behind the others with a new one. A
 * flow that gets a Call while it is empty, with a part of its quantum left, goes ahead of the
 * others. So a host with few Calls does not wait for the backlog of others, and hosts with
 * many get equal shares. Each operation takes constant time.
 *
 * Context: the caller holds a lock of its own.
 */
#ifndef RPCRDMA_GANESHA_FAIR_QUEUE_H
#define RPCRDMA_GANESHA_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/ganesha.h"

/* Octets: one Call of a MiB. */
#define GR_FAIR_QUANTUM (1u << 20)
/* The highest cost of a Call, so that a host waits for a few turns of the others at most. */
#define GR_FAIR_MAX_COST (4 * GR_FAIR_QUANTUM)

/* Zeroed: empty. It must be empty when it is freed. */
struct gr_flow {
	struct poolq_entry *first, *last; /* by q.tqe_next */
	uint32_t used; /* of its quantum */
	TAILQ_ENTRY(gr_flow) link; /* in the queue, while it has Calls */
};
TAILQ_HEAD(gr_fair_queue, gr_flow);

static inline void gr_fair_queue_init(struct gr_fair_queue *q)
{
	TAILQ_INIT(q);
}

static inline bool gr_fair_queue_empty(const struct gr_fair_queue *q)
{
	return TAILQ_EMPTY(q);
}

/* Append @e to the Calls of @f. */
void gr_fair_queue_add(struct gr_fair_queue *q, struct gr_flow *f,
		       struct poolq_entry *e);
/* Returns the flow whose first Call is next, or NULL if there is none. */
struct gr_flow *gr_fair_queue_next(struct gr_fair_queue *q);
/* Remove the first Call of @f, which gr_fair_queue_next() returned. @cost is in octets. */
void gr_fair_queue_remove(struct gr_fair_queue *q, struct gr_flow *f,
			  size_t cost);

#endif /* RPCRDMA_GANESHA_FAIR_QUEUE_H */
