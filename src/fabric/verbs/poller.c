/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poller - the event loop: connection manager, completions, devices
 *
 * Level-triggered. Connections have no descriptor of their own: a completion
 * channel serves all of a device.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "device.h"
#include "vb.h"

/* Runs in a row that only poll completion queues. */
#define RUNS_WITHOUT_FILES 16

static void poller_free(struct vb_poller *p)
{
	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++)
		if (p->channels[i].channel)
			ibv_destroy_comp_channel(p->channels[i].channel);
	if (p->cm)
		rdma_destroy_event_channel(p->cm);
	fab_ev_loop_destroy(&p->ev);
	pthread_cond_destroy(&p->setup_cond);
	pthread_mutex_destroy(&p->cm_lock);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Watch the devices in use; later ones add themselves. */
static void join_domain(struct vb_poller *p)
{
	struct vb_domain *d = vb_domain(p->ev.fab.dom);

	pthread_mutex_lock(&d->lock);
	for (unsigned int i = 0; i < d->ndevs; i++) {
		struct vb_device *dev = atomic_load(&d->dev[i]);
		struct ibv_context *ctx = dev->ctx;

		if (atomic_load(&dev->gone) || !ctx)
			p->left |= (uint32_t)1 << i;
		else
			vb_device_watch(dev, p);
	}
	TAILQ_INSERT_TAIL(&d->pollers, p, link);
	pthread_mutex_unlock(&d->lock);
}

int vb_poller_create(struct fab_domain *dom, struct fab_poller **out)
{
	struct vb_poller *p = calloc(1, sizeof(*p));
	int rc = p ? fab_ev_loop_init(&p->ev, dom) : -ENOMEM;

	if (rc) {
		free(p);
		return rc;
	}
	p->cm_src.event = vb_cm_event;
	TAILQ_INIT(&p->conns);
	TAILQ_INIT(&p->polled);
	TAILQ_INIT(&p->to_setup);
	pthread_cond_init(&p->setup_cond, NULL);
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->cm_lock, NULL);
	errno = 0;
	p->cm = rdma_create_event_channel();
	if (!p->cm)
		rc = errno ? -errno : -ENODEV;
	else
		rc = vb_set_nonblock(p->cm->fd);
	if (!rc)
		rc = fab_ev_loop_watch(&p->ev, p->cm->fd, &p->cm_src, EPOLLIN);
	if (!rc)
		rc = vb_setup_start(p, vb_conn_setup);
	if (rc) {
		poller_free(p);
		return rc;
	}
	join_domain(p);
	*out = &p->ev.fab;
	return 0;
}

int vb_poller_run(struct fab_poller *fp, int timeout_ms)
{
	struct vb_poller *p = vb_poller(fp);
	int calls;

	if (timeout_ms) {
		calls = vb_cq_arm_all(p);
	} else {
		calls = vb_cq_poll_all(p);
		if (!TAILQ_EMPTY(&p->polled) &&
		    ++p->skipped < RUNS_WITHOUT_FILES)
			return calls + fab_ev_loop_run_scheduled(&p->ev);
	}
	p->skipped = 0;
	calls += fab_ev_loop_run(&p->ev, calls ? 0 : timeout_ms);
	if (atomic_load(&vb_domain(p->ev.fab.dom)->changes) != p->changes_seen)
		vb_conn_retry_stuck(p);
	vb_device_reclaim(p);
	return calls;
}

void vb_poller_destroy(struct fab_poller *fp)
{
	struct vb_poller *p = vb_poller(fp);
	struct vb_domain *d = vb_domain(fp->dom);

	pthread_mutex_lock(&d->lock);
	TAILQ_REMOVE(&d->pollers, p, link);
	pthread_mutex_unlock(&d->lock);
	fab_ev_loop_drain(&p->ev);
	vb_conn_retry_stuck(p);
	fab_ev_loop_drain(&p->ev);
	vb_setup_stop(p);
	poller_free(p);
}
