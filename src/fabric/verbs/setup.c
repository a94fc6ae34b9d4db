/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setup - the thread of a poller that has devices create and destroy queues
 *
 * It serves one connection after the other, in the order in which they were lent
 * (vb.h). A connection is lent once at a time, so no more wait than there are.
 * The thread is created with the poller, so it is one of the domain's (fabric.h).
 *
 * Lock: the poller's. `lent` is cleared, and the connection scheduled, while it
 * is held, since whoever frees the connection takes it first.
 */
#include "base/thread.h"
#include "vb.h"

static void *setup_main(void *arg)
{
	struct vb_poller *p = arg;
	struct vb_conn *c;

	pthread_mutex_lock(&p->lock);
	while ((c = TAILQ_FIRST(&p->to_setup)) || !p->setup_stops) {
		if (!c) {
			pthread_cond_wait(&p->setup_cond, &p->lock);
			continue;
		}
		TAILQ_REMOVE(&p->to_setup, c, setup_link);
		pthread_mutex_unlock(&p->lock);
		p->setup_work(c);
		pthread_mutex_lock(&p->lock);
		atomic_store(&c->lent, false);
		vb_conn_schedule(c);
		pthread_cond_broadcast(&p->setup_cond);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int vb_setup_start(struct vb_poller *p, void (*work)(struct vb_conn *c))
{
	p->setup_work = work;
	return -base_thread_start(&p->setup, "rdma-setup", setup_main, p);
}

void vb_setup_stop(struct vb_poller *p)
{
	pthread_mutex_lock(&p->lock);
	p->setup_stops = true;
	pthread_cond_broadcast(&p->setup_cond);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->setup, NULL);
}

void vb_setup_lend(struct vb_conn *c)
{
	struct vb_poller *p = vb_conn_poller(c);

	atomic_store(&c->lent, true);
	pthread_mutex_lock(&p->lock);
	TAILQ_INSERT_TAIL(&p->to_setup, c, setup_link);
	pthread_cond_broadcast(&p->setup_cond);
	pthread_mutex_unlock(&p->lock);
}

void vb_setup_await(struct vb_conn *c)
{
	struct vb_poller *p = vb_conn_poller(c);

	while (vb_conn_is_lent(c))
		pthread_cond_wait(&p->setup_cond, &p->lock);
}
