/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/liveness.h"

#include <string.h>

void gr_liveness_set(struct gr_liveness *l, struct rt_instance *inst)
{
	pthread_mutex_lock(&l->lock);
	l->inst = inst;
	memset(l->turns, 0, sizeof(l->turns));
	pthread_mutex_unlock(&l->lock);
}

bool gr_liveness_check(struct gr_liveness *l)
{
	unsigned int n;
	bool alive = true;

	pthread_mutex_lock(&l->lock);
	n = l->inst ? rt_instance_pollers(l->inst) : 0;
	for (unsigned int i = 0; i < n && i < GR_MAX_POLLERS; i++) {
		uint64_t turns = rt_turns(l->inst, i);

		if (turns % 2 && turns == l->turns[i])
			alive = false;
		l->turns[i] = turns;
		rt_wake(l->inst, i);
	}
	pthread_mutex_unlock(&l->lock);
	return alive;
}
