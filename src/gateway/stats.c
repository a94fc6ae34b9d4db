/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats - what a gateway counts
 */
#include "gateway/client.h"

void gw_stats_total(struct gateway *gw, struct gw_stats *out)
{
	pthread_mutex_lock(&gw->lock);
	*out = gw->ended;
	for (struct gw_client *c = gw->clients; c; c = c->all_next) {
		pthread_mutex_lock(&c->lock);
		gw_stats_add(out, &c->stats);
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&gw->lock);
}
