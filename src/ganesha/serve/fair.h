/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fair - a queue of Calls in which hosts take turns
 *
 * Deficit round robin: each host has a flow, a FIFO queue of its own. The first of the
 * flows that have Calls is served until it has used up its quantum, and then goes
 * behind the others with a new one. A flow that gets a Call while it has none, and has
 * a part of its quantum left, goes ahead of the others: so a host that asks for little
 * waits for nobody's backlog, and whoever asks for more is served as much as each other
 * host. The number of hosts does not matter for what a step takes.
 *
 * Context: the caller holds a lock of its own.
 */
#ifndef RPCRDMA_GANESHA_FAIR_H
#define RPCRDMA_GANESHA_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat/ganesha.h"

/* Octets: a Call of a MiB. */
#define GR_FAIR_QUANTUM (1u << 20)
/* The most that a Call counts for, so that a host waits for a few turns of the others. */
#define GR_FAIR_MAX_COST (4 * GR_FAIR_QUANTUM)

/* Zeroed: without Calls. It must have none when it is freed. */
struct gr_flow {
	struct poolq_entry *first, *last; /* by q.tqe_next */
	uint32_t used; /* of its quantum */
	TAILQ_ENTRY(gr_flow) link; /* in the queue, while it has Calls */
};
TAILQ_HEAD(gr_fair, gr_flow);

static inline void gr_fair_init(struct gr_fair *q)
{
	TAILQ_INIT(q);
}

static inline bool gr_fair_empty(const struct gr_fair *q)
{
	return TAILQ_EMPTY(q);
}

/* Append @e to the Calls of @f. */
void gr_fair_put(struct gr_fair *q, struct gr_flow *f, struct poolq_entry *e);
/* Returns the flow whose first Call is next, or NULL if there is none. */
struct gr_flow *gr_fair_next(struct gr_fair *q);
/* Remove the first Call of @f, which gr_fair_next() returned. @cost is in octets. */
void gr_fair_take(struct gr_fair *q, struct gr_flow *f, size_t cost);

#endif /* RPCRDMA_GANESHA_FAIR_H */
