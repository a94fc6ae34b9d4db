/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/fair_queue.h"

#include <sys/param.h>

static bool is_quantum_used(const struct gr_flow *f)
{
	return f->used >= GR_FAIR_QUANTUM;
}

static void next_turn(struct gr_fair_queue *q, struct gr_flow *f)
{
	f->used -= GR_FAIR_QUANTUM;
	TAILQ_REMOVE(q, f, link);
	TAILQ_INSERT_TAIL(q, f, link);
}

void gr_fair_queue_add(struct gr_fair_queue *q, struct gr_flow *f,
		       struct poolq_entry *e)
{
	TAILQ_NEXT(e, q) = NULL;
	if (f->first) {
		TAILQ_NEXT(f->last, q) = e;
	} else {
		f->first = e;
		TAILQ_INSERT_HEAD(q, f, link);
		if (is_quantum_used(f))
			next_turn(q, f);
	}
	f->last = e;
}

struct gr_flow *gr_fair_queue_next(struct gr_fair_queue *q)
{
	struct gr_flow *f;

	while ((f = TAILQ_FIRST(q)) && is_quantum_used(f))
		next_turn(q, f);
	return f;
}

void gr_fair_queue_remove(struct gr_fair_queue *q, struct gr_flow *f,
			  size_t cost)
{
	f->used += (uint32_t)MIN(cost, GR_FAIR_MAX_COST);
	f->first = TAILQ_NEXT(f->first, q);
	if (!f->first)
		TAILQ_REMOVE(q, f, link);
}
