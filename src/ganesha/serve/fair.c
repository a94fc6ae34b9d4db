/* SPDX-License-Identifier: BSD-3-Clause */
/* fair.h says what this is. */
#include "ganesha/serve/fair.h"

#include <sys/param.h>

static bool is_over(const struct gr_flow *f)
{
	return f->used >= GR_FAIR_QUANTUM;
}

static void next_turn(struct gr_fair *q, struct gr_flow *f)
{
	f->used -= GR_FAIR_QUANTUM;
	TAILQ_REMOVE(q, f, link);
	TAILQ_INSERT_TAIL(q, f, link);
}

void gr_fair_put(struct gr_fair *q, struct gr_flow *f, struct poolq_entry *e)
{
	TAILQ_NEXT(e, q) = NULL;
	if (f->first) {
		TAILQ_NEXT(f->last, q) = e;
	} else {
		f->first = e;
		TAILQ_INSERT_HEAD(q, f, link);
		if (is_over(f))
			next_turn(q, f);
	}
	f->last = e;
}

struct gr_flow *gr_fair_next(struct gr_fair *q)
{
	struct gr_flow *f;

	while ((f = TAILQ_FIRST(q)) && is_over(f))
		next_turn(q, f);
	return f;
}

void gr_fair_take(struct gr_fair *q, struct gr_flow *f, size_t cost)
{
	f->used += (uint32_t)MIN(cost, GR_FAIR_MAX_COST);
	f->first = TAILQ_NEXT(f->first, q);
	if (!f->first)
		TAILQ_REMOVE(q, f, link);
}
