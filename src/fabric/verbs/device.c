/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - RDMA devices in use: adding, removal, events
 *
 * A device is added with its first connection. A removed one is retired when
 * its last connection is freed and all pollers have left it. One that returns
 * is another device, which may take the index of a retired one.
 *
 * Some drivers, such as rxe's, block a removal until nobody has the device
 * open. librdmacm (as of 44) opens each device that an id has an address of,
 * and does not close it on removal. So the files of a removed device are closed
 * here; librdmacm's protection domain, some octets in the driver's library, is
 * lost.
 *
 * Only ids are told of a removal, and a listener on any address has no device.
 * So each device in use has an id of its own ("hold"), which also keeps
 * librdmacm from closing it too early.
 *
 * Context: any thread. Adding and retiring take the domain's lock, looking up
 * takes none. Every poller listens to every device's asynchronous events; each
 * event reaches one of them. It is acknowledged after use: until then its queue
 * pair, and so the connection, is not destroyed.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/siw-abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/addr.h"
#include "device.h"
#include "srq.h"
#include "vb.h"

/*
 * siw maps queues at offsets that its kernel part assigns, first fit from 0.
 * Its library takes one of these offsets for "none", and cannot create a queue
 * there. So an unused completion queue covers it: 1 MiB per device in use.
 */
static void siw_filler_create(struct vb_device *dev)
{
	static const int n = SIW_INVAL_UOBJ_KEY / sizeof(struct siw_cqe) + 1;

	if (!dev->siw)
		return;
	dev->filler = ibv_create_cq(dev->ctx, n, NULL, NULL, 0);
	if (!dev->filler)
		fab_domain_log(
			&dev->dom->fab, 4,
			"verbs: %s: no memory for a queue of %d places: some "
			"connections will be refused",
			dev->name, n);
}

static void siw_filler_destroy(struct vb_device *dev)
{
	if (dev->filler)
		ibv_destroy_cq(dev->filler);
	dev->filler = NULL;
}

/* ---- Keeping it open ------------------------------------------------------ */

static void close_files(struct ibv_context *ctx)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup3(null, ctx->async_fd, O_CLOEXEC);
	dup3(null, ctx->cmd_fd, O_CLOEXEC);
	close(null);
}

static void hold_close(struct vb_device *dev)
{
	if (dev->hold)
		rdma_destroy_id(dev->hold);
	if (dev->hold_channel)
		rdma_destroy_event_channel(dev->hold_channel);
	dev->hold = NULL;
	dev->hold_channel = NULL;
}

static bool hold_bind(struct vb_device *dev, struct rdma_cm_id *id)
{
	struct sockaddr_storage at = { 0 };

	vb_copy_addr(&at, rdma_get_local_addr(id));
	base_addr_set_port(&at, 0);
	return !vb_set_nonblock(dev->hold_channel->fd) &&
	       !rdma_create_id(dev->hold_channel, &dev->hold, NULL,
			       RDMA_PS_TCP) &&
	       !rdma_bind_addr(dev->hold, (struct sockaddr *)&at) &&
	       dev->hold->verbs == dev->ctx;
}

static int hold_event(struct fab_ev_loop *events_of, struct fab_source *src,
		      uint32_t events)
{
	struct vb_device *dev = container_of(src, struct vb_device, hold_src);
	struct rdma_cm_event *ev;
	bool removed;

	/* Each event reaches one of the pollers. */
	if (rdma_get_cm_event(dev->hold_channel, &ev))
		return 0;
	removed = ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	rdma_ack_cm_event(ev);
	if (removed)
		vb_device_lost(dev->dom, dev->ctx);
	return 0;
}

static void hold_open(struct vb_device *dev, struct rdma_cm_id *id)
{
	dev->hold_src.event = hold_event;
	dev->hold_channel = rdma_create_event_channel();
	/* Without a hold only the removal suffers. */
	if (dev->hold_channel && !hold_bind(dev, id))
		hold_close(dev);
}

/* ---- Adding and freeing ----------------------------------------------------- */

void vb_device_free(struct vb_device *dev)
{
	struct vb_device *before;

	for (; dev; dev = before) {
		before = dev->before;
		siw_filler_destroy(dev);
		if (dev->pd)
			ibv_dealloc_pd(dev->pd);
		hold_close(dev);
		pthread_mutex_destroy(&dev->srq_lock);
		free(dev);
	}
}

void vb_device_watch(struct vb_device *dev, struct vb_poller *p)
{
	fab_ev_loop_watch(&p->ev, dev->ctx->async_fd, &dev->async_src, EPOLLIN);
	if (dev->hold_channel)
		fab_ev_loop_watch(&p->ev, dev->hold_channel->fd, &dev->hold_src,
				  EPOLLIN);
}

/* Domain lock held. Set @dev->index to a free one, or to that of a retired device, which
 * nothing refers to by its index any more. Returns 0 or -ENOSPC. */
static int take_index(const struct vb_domain *d, struct vb_device *dev)
{
	unsigned int i = 0;

	while (i < d->ndevs && atomic_load(&d->dev[i])->ctx)
		i++;
	if (i == VB_MAX_DEVICES)
		return -ENOSPC;
	dev->index = i;
	return 0;
}

/* Domain lock held. */
static void put_into_slot(struct vb_domain *d, struct vb_device *dev)
{
	struct vb_poller *p;

	/* A thread may still be looking at it. */
	dev->before = atomic_load(&d->dev[dev->index]);
	if (dev->before)
		dev->srq_low = dev->before->srq_low;
	TAILQ_FOREACH(p, &d->pollers, link)
	{
		pthread_mutex_lock(&p->lock);
		p->left &= ~((uint32_t)1 << dev->index);
		pthread_mutex_unlock(&p->lock);
		vb_device_watch(dev, p);
	}
	atomic_store(&d->dev[dev->index], dev);
	d->ndevs = MAX(d->ndevs, dev->index + 1);
}

const char *vb_device_fault(int rc)
{
	switch (rc) {
	case -EACCES:
		return "its device is not one of those to be used";
	case -EOPNOTSUPP:
		return "this device cannot be used: it has no reliable connections, or too few elements in a work request";
	case -ENOSPC:
		return "too many devices at once";
	default:
		return strerror(-rc);
	}
}

/* Domain lock held. */
static int device_add(struct vb_domain *d, struct rdma_cm_id *id,
		      struct vb_device **out)
{
	struct ibv_context *ctx = id->verbs;
	const char *name = ibv_get_device_name(ctx->device);
	struct ibv_device_attr a;
	struct vb_device *dev;
	int rc;

	if (!vb_device_is_chosen(d->devices, name))
		return -EACCES;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	pthread_mutex_init(&dev->srq_lock, NULL);
	TAILQ_INIT(&dev->srqs);
	dev->async_src.event = vb_device_event;
	dev->dom = d;
	dev->ctx = ctx;
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	rc = take_index(d, dev);
	if (rc)
		goto fail;
	rc = vb_device_limits(d, ctx, &dev->limits);
	if (!rc && ibv_query_device(ctx, &a))
		rc = -ENODEV;
	if (rc) {
		fab_domain_log(&d->fab, 3, "verbs: %s: %s", name,
			       vb_device_fault(rc));
		goto fail;
	}
	vb_device_read_caps(dev, &a);
	hold_open(dev, id);
	dev->pd = ibv_alloc_pd(ctx);
	if (!dev->pd) {
		rc = errno ? -errno : -ENOMEM;
		goto fail;
	}
	rc = vb_memory_add(dev);
	if (rc)
		goto fail;
	siw_filler_create(dev);
	(void)vb_set_nonblock(ctx->async_fd);
	put_into_slot(d, dev);
	fab_domain_log(&d->fab, 6, "verbs: using %s (%s%s)", dev->name,
		       dev->iwarp ? "iWARP" : "InfiniBand or RoCE",
		       dev->windows ? ", memory windows" : "");
	if (!dev->windows)
		fab_domain_log(
			&d->fab, 6,
			"verbs: %s: no type 2 memory windows: memory opened to a "
			"peer is shielded from other peers by its handle only",
			dev->name);
	*out = dev;
	return 0;
fail:
	vb_device_free(dev);
	return rc;
}

static struct vb_device *find_device(struct vb_domain *d,
				     struct ibv_context *ctx)
{
	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++) {
		struct vb_device *dev = atomic_load(&d->dev[i]);

		if (!dev)
			break;
		if (dev->ctx == ctx)
			return dev;
	}
	return NULL;
}

struct vb_device *vb_device_get(struct vb_domain *d, struct rdma_cm_id *id,
				int *rc)
{
	struct ibv_context *ctx = id->verbs;
	struct vb_device *dev;

	*rc = -ENODEV;
	if (!ctx)
		return NULL;
	dev = find_device(d, ctx);
	if (!dev) {
		pthread_mutex_lock(&d->lock);
		dev = find_device(d, ctx);
		if (!dev)
			*rc = device_add(d, id, &dev);
		pthread_mutex_unlock(&d->lock);
	}
	if (!dev)
		return NULL;
	/* In this order: retiring reads both in the other. */
	atomic_fetch_add(&dev->conns, 1);
	if (!atomic_load(&dev->gone))
		return dev;
	vb_device_put(dev);
	return NULL;
}

/* ---- Removal --------------------------------------------------------- */

static void devices_changed(struct vb_domain *d)
{
	struct vb_poller *p;

	atomic_fetch_add(&d->changes, 1);
	pthread_mutex_lock(&d->lock);
	TAILQ_FOREACH(p, &d->pollers, link)
	fab_ev_loop_wake(&p->ev.fab);
	pthread_mutex_unlock(&d->lock);
}

void vb_device_put(struct vb_device *dev)
{
	struct vb_domain *d = dev->dom;

	if (atomic_fetch_sub(&dev->conns, 1) == 1 && atomic_load(&dev->gone))
		devices_changed(d);
}

void vb_device_lost(struct vb_domain *d, struct ibv_context *ctx)
{
	struct vb_device *dev;

	if (!ctx)
		return;
	pthread_mutex_lock(&d->lock);
	dev = find_device(d, ctx);
	/* It never had a connection, or has none any more. */
	if (!dev)
		close_files(ctx);
	pthread_mutex_unlock(&d->lock);
	if (!dev || atomic_exchange(&dev->gone, true))
		return;
	fab_domain_log(&d->fab, 4, "verbs: %s: the device is gone", dev->name);
	devices_changed(d);
}

/* Domain lock held. */
static bool all_pollers_left(struct vb_domain *d, uint32_t bit)
{
	struct vb_poller *p;
	bool all = true;

	TAILQ_FOREACH(p, &d->pollers, link)
	{
		pthread_mutex_lock(&p->lock);
		all &= !!(p->left & bit);
		pthread_mutex_unlock(&p->lock);
	}
	return all;
}

/* Domain lock held. */
static void device_retire(struct vb_device *dev)
{
	struct ibv_context *ctx = dev->ctx;

	dev->ctx = NULL;
	vb_memory_remove(dev);
	siw_filler_destroy(dev);
	ibv_dealloc_pd(dev->pd);
	dev->pd = NULL;
	if (dev->hold)
		close_files(ctx);
	hold_close(dev);
}

/* Domain lock held. @p uses the device no longer; the last poller retires it. */
static void device_leave(struct vb_device *dev, struct vb_poller *p)
{
	struct vb_channel *ch = &p->channels[dev->index];
	uint32_t bit = (uint32_t)1 << dev->index;

	pthread_mutex_lock(&p->lock);
	if (!(p->left & bit)) {
		fab_ev_loop_unwatch(&p->ev, dev->ctx->async_fd);
		if (dev->hold_channel)
			fab_ev_loop_unwatch(&p->ev, dev->hold_channel->fd);
		if (ch->channel) {
			fab_ev_loop_unwatch(&p->ev, ch->channel->fd);
			ibv_destroy_comp_channel(ch->channel);
			ch->channel = NULL;
		}
		p->left |= bit;
	}
	pthread_mutex_unlock(&p->lock);
	if (all_pollers_left(dev->dom, bit))
		device_retire(dev);
}

void vb_device_reclaim(struct vb_poller *p)
{
	struct vb_domain *d = vb_domain(p->ev.fab.dom);
	unsigned int now = atomic_load(&d->changes);

	if (now == p->changes_seen)
		return;
	p->changes_seen = now;
	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++) {
		struct vb_device *dev = atomic_load(&d->dev[i]);

		if (!dev || !dev->ctx || !atomic_load(&dev->gone) ||
		    atomic_load(&dev->conns))
			continue;
		pthread_mutex_lock(&d->lock);
		/* Another poller may have retired it meanwhile. */
		if (dev->ctx)
			device_leave(dev, p);
		pthread_mutex_unlock(&d->lock);
	}
}

/* ---- Asynchronous events --------------------------------------------- */

/* Notify all connections of the device. */
static void notify_all(struct vb_device *dev, unsigned int ev)
{
	struct vb_domain *d = dev->dom;
	struct vb_poller *p;
	struct vb_conn *c;

	pthread_mutex_lock(&d->lock);
	TAILQ_FOREACH(p, &d->pollers, link)
	{
		pthread_mutex_lock(&p->lock);
		/* Only its runner knows its device, and ignores events of
		 * others. */
		TAILQ_FOREACH(c, &p->conns, link)
		{
			atomic_fetch_or(&c->ev.events, ev);
			vb_conn_schedule(c);
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&d->lock);
}

/* It may belong to another poller: only schedule it. */
static void notify_conn(struct vb_conn *c, unsigned int ev)
{
	atomic_fetch_or(&c->ev.events, ev);
	vb_conn_schedule(c);
}

/*
 * What happens to a port. Links come back, so only connections whose peer cannot be
 * reached in time end. GIDs may go for a moment only, in which a probe would fail: whose
 * address has moved hears of it from the connection manager, and an address that is gone
 * is found by keepalive. The kernel renews what is registered with a subnet manager;
 * listeners look for their address regularly.
 */
static void port_event(struct vb_device *dev, const struct ibv_async_event *ev)
{
	static const struct {
		enum ibv_event_type type;
		int level;
		bool probe;
		const char *what;
	} events[] = {
		{ IBV_EVENT_PORT_ERR, 4, true, "is down" },
		{ IBV_EVENT_PORT_ACTIVE, 5, false, "is up" },
		{ IBV_EVENT_LID_CHANGE, 5, true, "has another LID" },
		{ IBV_EVENT_PKEY_CHANGE, 5, true, "has other P_Keys" },
		{ IBV_EVENT_GID_CHANGE, 6, false, "has other GIDs" },
		{ IBV_EVENT_SM_CHANGE, 5, false, "has another subnet manager" },
		{ IBV_EVENT_CLIENT_REREGISTER, 5, false,
		  "is to register with its subnet manager again" },
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (ev->event_type != events[i].type)
			continue;
		fab_domain_log(&dev->dom->fab, events[i].level,
			       "verbs: %s: port %d %s", dev->name,
			       ev->element.port_num, events[i].what);
		if (events[i].probe)
			notify_all(dev, VB_EV_PROBE);
	}
}

static void dispatch_async_event(struct vb_device *dev,
				 struct ibv_async_event *ev)
{
	struct vb_domain *d = dev->dom;
	struct vb_conn *c;

	switch (ev->event_type) {
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		notify_conn(ev->element.qp->qp_context, VB_EV_RULE);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_PATH_MIG_ERR:
		notify_conn(ev->element.qp->qp_context, VB_EV_QP);
		break;
	case IBV_EVENT_CQ_ERR:
		notify_conn(ev->element.cq->cq_context, VB_EV_QP);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_SRQ_ERR:
		/* Whichever connection runs next refills it, or ends. */
		vb_srq_event(ev->element.srq->srq_context, ev->event_type);
		notify_all(dev, VB_EV_SRQ);
		break;
	case IBV_EVENT_COMM_EST:
		/* The peer's first message has overtaken its confirmation, or
		 * that was lost. */
		c = ev->element.qp->qp_context;
		rdma_notify(c->id, IBV_EVENT_COMM_EST);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		fab_domain_log(&d->fab, 3,
			       "verbs: %s: fatal error of the device",
			       dev->name);
		vb_device_lost(d, dev->ctx);
		notify_all(dev, VB_EV_GONE);
		break;
	default:
		port_event(dev, ev);
		break;
	}
}

int vb_device_event(struct fab_ev_loop *events_of, struct fab_source *src,
		    uint32_t events)
{
	struct vb_device *dev = container_of(src, struct vb_device, async_src);
	struct ibv_context *ctx = dev->ctx;
	struct ibv_async_event ev;

	for (int i = 0; ctx && i < BASE_TURN; i++) {
		errno = 0;
		if (ibv_get_async_event(ctx, &ev)) {
			if (errno == EAGAIN || errno == EWOULDBLOCK ||
			    errno == EINTR) {
				if (!(events & (EPOLLERR | EPOLLHUP)))
					break;
			}
			/* The device is gone, and its channel would be ready
			 * for ever. Connections are told by the connection
			 * manager. */
			fab_ev_loop_unwatch(events_of, ctx->async_fd);
			break;
		}
		dispatch_async_event(dev, &ev);
		ibv_ack_async_event(&ev);
	}
	return 0;
}
