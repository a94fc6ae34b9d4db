/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kick - what other threads leave to a worker
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gateway/client.h"

int gw_kicks_init(struct gw_kicks *k)
{
	k->first = NULL;
	k->tail = &k->first;
	pthread_mutex_init(&k->lock, NULL);
	k->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return k->fd < 0 ? -errno : 0;
}

void gw_kicks_fini(struct gw_kicks *k)
{
	if (k->fd >= 0)
		close(k->fd);
	pthread_mutex_destroy(&k->lock);
}

void gw_kicks_wake(struct gw_kicks *k)
{
	uint64_t one = 1;

	/* Full means that it will wake anyway. */
	if (write(k->fd, &one, sizeof(one)) < 0)
		return;
}

void gw_kick(struct gw_client *c, unsigned int events)
{
	struct gw_kicks *k = &c->w->kicks;
	bool first;

	if (atomic_fetch_or(&c->kick.events, events))
		return; /* on the list already, or about to be handled */
	gw_client_get(c);
	c->kick.next = NULL;
	pthread_mutex_lock(&k->lock);
	first = !k->first;
	*k->tail = c;
	k->tail = &c->kick.next;
	pthread_mutex_unlock(&k->lock);
	if (first)
		gw_kicks_wake(k);
}

void gw_kicks_take(struct gw_kicks *k,
		   void (*event)(struct gw_client *c, unsigned int events))
{
	struct gw_client *c, *next;

	pthread_mutex_lock(&k->lock);
	c = k->first;
	k->first = NULL;
	k->tail = &k->first;
	pthread_mutex_unlock(&k->lock);
	for (; c; c = next) {
		/* Once its events are taken it may be put on the list anew. */
		next = c->kick.next;
		event(c, atomic_exchange(&c->kick.events, 0));
		gw_client_put(c);
	}
}
