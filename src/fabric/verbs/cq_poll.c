/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cq_poll - polling completion queues, or waiting for their events
 *
 * An event costs a request, the event itself and two reads of the channel; with
 * rxe and siw the request is a system call too. Polling costs next to nothing.
 * So after an event the completion queue is polled by fab_poller_run(), as long
 * as that is called without a time to wait (the upper layer is polling busily)
 * and completions come. Before it waits, it requests events for all polled
 * queues, and polls once more for what came in between.
 *
 * Completions that were polled stay in the connection until its runner takes
 * them. The queue is not polled once its queue pair may have been destroyed:
 * what is left there may name it, and libraries (qedr's) follow that.
 *
 * Context: see vb.h. Locks: the connection's cq_lock, alone, for the queue and
 * what was polled; the poller's for its channels.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/param.h>

#include "vb.h"

/* Polls in vain before events are requested. */
#define MAX_IDLE_POLLS 256u

/* ---- Events --------------------------------------------------------------- */

int vb_cq_arm(struct vb_conn *c)
{
	if (!atomic_exchange(&c->armed, true))
		atomic_fetch_add(
			&vb_conn_poller(c)->channels[c->dev->index].armed, 1);
	return ibv_req_notify_cq(c->cq, 0);
}

void vb_cq_disarm(struct vb_conn *c)
{
	if (atomic_exchange(&c->armed, false))
		atomic_fetch_sub(
			&vb_conn_poller(c)->channels[c->dev->index].armed, 1);
}

static void poll_add(struct vb_poller *p, struct vb_conn *c)
{
	c->idle_polls = 0;
	if (c->polled)
		return;
	c->polled = true;
	TAILQ_INSERT_TAIL(&p->polled, c, poll_link);
}

void vb_cq_poll_remove(struct vb_poller *p, struct vb_conn *c)
{
	if (c->polled)
		TAILQ_REMOVE(&p->polled, c, poll_link);
	c->polled = false;
}

static int channel_event(struct fab_ev_loop *events_of, struct fab_source *src,
			 uint32_t events)
{
	struct vb_poller *p = vb_poller(&events_of->fab);
	struct vb_channel *ch = container_of(src, struct vb_channel, src);
	struct ibv_cq *cq;
	void *ctx;
	int calls = 0;

	for (int i = 0; i < BASE_TURN; i++) {
		struct vb_conn *c;

		errno = 0;
		if (ibv_get_cq_event(ch->channel, &cq, &ctx)) {
			if ((errno != EAGAIN && errno != EWOULDBLOCK &&
			     errno != EINTR) ||
			    (events & (EPOLLERR | EPOLLHUP)))
				fab_ev_loop_unwatch(&p->ev, ch->channel->fd);
			break;
		}
		c = ctx;
		ibv_ack_cq_events(cq, 1);
		vb_cq_disarm(c);
		poll_add(p, c);
		calls += fab_ev_conn_ready(&c->ev);
		/* No other queue of this channel makes an event. */
		if (!atomic_load(&ch->armed))
			break;
	}
	return calls;
}

int vb_cq_channel(struct vb_poller *p, struct vb_device *dev,
		  struct ibv_comp_channel **channel)
{
	struct vb_channel *ch = &p->channels[dev->index];
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	if (!ch->channel) {
		ch->src.event = channel_event;
		ch->channel = ibv_create_comp_channel(dev->ctx);
		if (!ch->channel)
			rc = errno ? -errno : -ENOMEM;
		else
			rc = vb_set_nonblock(ch->channel->fd);
		if (!rc)
			rc = fab_ev_loop_watch(&p->ev, ch->channel->fd,
					       &ch->src, EPOLLIN);
		if (rc && ch->channel) {
			ibv_destroy_comp_channel(ch->channel);
			ch->channel = NULL;
		}
	}
	*channel = ch->channel;
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* ---- Polling -------------------------------------------------------------- */

/* Returns true if the runner has to be called. */
static bool poll_one(struct vb_conn *c)
{
	int n = 0;

	/* The runner is there now, and may have polled already. */
	if (pthread_mutex_trylock(&c->cq_lock))
		return true;
	if (!c->nfound && !c->cq_broken && !c->cq_detached) {
		n = ibv_poll_cq(c->cq, (int)VB_FOUND, c->found);
		if (n < 0)
			c->cq_broken = true;
		else
			c->nfound = (unsigned int)n;
	}
	pthread_mutex_unlock(&c->cq_lock);
	return n;
}

static bool arm_one(struct vb_poller *p, struct vb_conn *c)
{
	bool broken = false;

	vb_cq_poll_remove(p, c);
	pthread_mutex_lock(&c->cq_lock);
	/* A detached one may have been destroyed. */
	if (!c->cq_detached)
		broken = vb_cq_arm(c);
	c->cq_broken |= broken;
	pthread_mutex_unlock(&c->cq_lock);
	return broken || poll_one(c);
}

int vb_cq_poll_all(struct vb_poller *p)
{
	struct vb_conn *c, *next;
	int calls = 0;

	for (c = TAILQ_FIRST(&p->polled); c; c = next) {
		bool more;

		next = TAILQ_NEXT(c, poll_link);
		more = poll_one(c);
		if (more)
			c->idle_polls = 0;
		else if (++c->idle_polls >= MAX_IDLE_POLLS)
			more = arm_one(p, c);
		if (more)
			calls += fab_ev_conn_ready(&c->ev);
	}
	return calls;
}

int vb_cq_arm_all(struct vb_poller *p)
{
	struct vb_conn *c;
	int calls = 0;

	while ((c = TAILQ_FIRST(&p->polled)))
		if (arm_one(p, c))
			calls += fab_ev_conn_ready(&c->ev);
	return calls;
}

unsigned int vb_cq_take(struct vb_conn *c, struct ibv_wc *wc, unsigned int n,
			bool *broken)
{
	unsigned int got;
	int more = 0;

	pthread_mutex_lock(&c->cq_lock);
	got = MIN(c->nfound, n);
	memcpy(wc, c->found, got * sizeof(*wc));
	c->nfound -= got;
	memmove(c->found, c->found + got, c->nfound * sizeof(*wc));
	if (got < n && !c->cq_detached)
		more = ibv_poll_cq(c->cq, (int)(n - got), wc + got);
	if (more < 0)
		c->cq_broken = true;
	else
		got += (unsigned int)more;
	*broken = c->cq_broken;
	pthread_mutex_unlock(&c->cq_lock);
	return got;
}

void vb_cq_detach(struct vb_conn *c)
{
	pthread_mutex_lock(&c->cq_lock);
	c->cq_detached = true;
	pthread_mutex_unlock(&c->cq_lock);
}
