/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/liveness.h"

#include <string.h>

void gr_liveness_set(struct gr_liveness *l, struct rt_instance *inst,
		     struct gr_watchdog *watchdog)
{
	pthread_mutex_lock(&l->lock);
	l->inst = inst;
	l->watchdog = watchdog;
	memset(l->turns, 0, sizeof(l->turns));
	l->needed = false;
	pthread_mutex_unlock(&l->lock);
}

static bool pollers_turn(struct gr_liveness *l)
{
	unsigned int n = rt_instance_pollers(l->inst);
	bool all = true;

	for (unsigned int i = 0; i < n && i < GR_MAX_POLLERS; i++) {
		uint64_t turns = rt_turns(l->inst, i);

		if (turns % 2 && turns == l->turns[i])
			all = false;
		l->turns[i] = turns;
		rt_wake(l->inst, i);
	}
	return all;
}

static bool watchdog_looks(struct gr_liveness *l)
{
	unsigned int progress = atomic_load(&l->watchdog->progress);
	bool needed = l->watchdog->running &&
		      atomic_load(&l->watchdog->state) != GR_ASLEEP;
	bool hangs = needed && l->needed && progress == l->progress;

	l->needed = needed;
	l->progress = progress;
	return !hangs;
}

bool gr_liveness_check(struct gr_liveness *l)
{
	bool alive = true;

	pthread_mutex_lock(&l->lock);
	if (l->inst) {
		alive = pollers_turn(l);
		alive &= watchdog_looks(l);
	}
	pthread_mutex_unlock(&l->lock);
	return alive;
}
