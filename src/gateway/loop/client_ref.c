/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client_ref - references to clients: any thread
 */
#include <stdlib.h>
#include <unistd.h>

#include "gateway/client.h"

void gw_client_get(struct gw_client *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

static void client_free(struct gw_client *c)
{
	struct gateway *gw = c->gw;

	close(c->fd);
	pthread_mutex_lock(&gw->lock);
	*c->all_prev = c->all_next;
	if (c->all_next)
		c->all_next->all_prev = c->all_prev;
	gw_stats_add(&gw->ended, &c->stats);
	pthread_mutex_unlock(&gw->lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
	/* After this the gateway may be destroyed. */
	atomic_fetch_sub(&gw->nclients, 1);
}

void gw_client_put(struct gw_client *c)
{
	if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		client_free(c);
}
