/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wakeup - events for a client from other threads: wakeup.h
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gateway/client.h"

int gw_wakeups_init(struct gw_wakeups *w)
{
	w->first = NULL;
	w->tail = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return w->fd < 0 ? -errno : 0;
}

void gw_wakeups_destroy(struct gw_wakeups *w)
{
	if (w->fd >= 0)
		close(w->fd);
	pthread_mutex_destroy(&w->lock);
}

void gw_wakeups_ring(struct gw_wakeups *w)
{
	uint64_t one = 1;

	/* Full means that it will wake anyway. */
	if (write(w->fd, &one, sizeof(one)) < 0)
		return;
}

void gw_wakeup(struct gw_client *c, unsigned int events)
{
	struct gw_wakeups *w = &c->w->wakeups;
	bool first;

	if (atomic_fetch_or(&c->wakeup.events, events))
		return; /* on the list already, or about to be handled */
	gw_client_get(c);
	c->wakeup.next = NULL;
	pthread_mutex_lock(&w->lock);
	first = !w->first;
	*w->tail = c;
	w->tail = &c->wakeup.next;
	pthread_mutex_unlock(&w->lock);
	if (first)
		gw_wakeups_ring(w);
}

void gw_wakeups_deliver(struct gw_wakeups *w,
			void (*event)(struct gw_client *c, unsigned int events))
{
	struct gw_client *c, *next;

	pthread_mutex_lock(&w->lock);
	c = w->first;
	w->first = NULL;
	w->tail = &w->first;
	pthread_mutex_unlock(&w->lock);
	for (; c; c = next) {
		/* Once its events are taken it may be put on the list anew. */
		next = c->wakeup.next;
		event(c, atomic_exchange(&c->wakeup.events, 0));
		gw_client_put(c);
	}
}
