/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - RDMA devices in use, and what happens to them
 *
 * A device is made ready when the first connection is bound to it. One that
 * is removed is retired when its last connection is freed and all pollers have
 * let go of it: the drivers of some, such as rxe, wait with its removal until
 * nobody has it open, librdmacm included (let_go.c). One that comes back is
 * another device.
 *
 * Threads: any; adding and retiring one is done under the domain's lock,
 * finding one needs none. Every poller listens to every device's asynchronous
 * events; each event reaches one of them. It is acknowledged only after use:
 * until then its queue pair, and so the connection, cannot go away.
 */
#include <errno.h>
#include <rdma/siw-abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/param.h>

#include "device.h"
#include "srq.h"
#include "vb.h"

/*
 * Linux' siw. It takes local rights as enough for the sink of a Read; has no
 * inline data with invalidation, and would never go on after such a request;
 * and wants one element, of no octets, for a Receive or a Read of nothing. It
 * does not ask, as of 6.1, for the right to remote reading before it answers a
 * Read: a peer that guesses a key, one of 2^24 and one attempt a connection,
 * can read what is registered. That is said in the log.
 */
#define VENDOR_SIW 0x626d74u
/*
 * Linux' rxe. Its windows, as of 6.1, grant all of the registration they are
 * bound to, and its kernel part crashes when a peer invalidates one that is
 * not bound: no peer may ever be near one. And of a message that invalidates
 * it tells by the kernel's flag, which is not that of the library.
 */
#define VENDOR_RXE 0xffffffu

/* What the device can do, says its driver in the kernel; the library of some
 * (bnxt_re) cannot. */
static bool allocates_window(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mw *mw = pd ? ibv_alloc_mw(pd, IBV_MW_TYPE_2) : NULL;

	if (mw)
		ibv_dealloc_mw(mw);
	if (pd)
		ibv_dealloc_pd(pd);
	return mw;
}

static bool has_windows(const struct vb_domain *d, struct ibv_context *ctx,
			const struct ibv_device_attr *a)
{
	if (a->vendor_id == VENDOR_RXE && !d->any_windows)
		return false;
	return a->max_mw > 0 &&
	       (a->device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
				       IBV_DEVICE_MEM_WINDOW_TYPE_2B)) &&
	       allocates_window(ctx);
}

/* Likewise; but only a connection could try. These libraries can. */
static bool sends_inv(const struct ibv_device_attr *a)
{
	static const uint32_t vendors[] = {
		VENDOR_RXE, VENDOR_SIW, 0x0002c9u, /* Mellanox, NVIDIA */
		0x008086u, /* Intel */
		0x001425u, /* Chelsio */
		0x001077u, /* QLogic, Marvell */
		0x0019e5u, /* HiSilicon */
	};

	if (!(a->device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS))
		return false;
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (a->vendor_id == vendors[i])
			return true;
	return false;
}

static unsigned int depth_of(int d)
{
	return d <= 0 ? 0 : d > (int)VB_MAX_DEPTH ? VB_MAX_DEPTH : (unsigned)d;
}

int vb_device_limits(const struct vb_domain *d, struct ibv_context *ctx,
		     struct fab_limits *l)
{
	struct ibv_device_attr a;
	struct ibv_port_attr port;
	unsigned int depth;

	if (ibv_query_device(ctx, &a))
		return -ENODEV;
	if (!sends_inv(&a))
		l->caps &= ~(unsigned int)FAB_CAP_SEND_INV;
	if (!has_windows(d, ctx, &a))
		l->caps &= ~(unsigned int)FAB_CAP_EXPOSE;
	if (a.max_sge > 0 && (unsigned int)a.max_sge < l->max_sge)
		l->max_sge = (unsigned int)a.max_sge;
	depth = depth_of(a.max_qp_rd_atom);
	if (depth_of(a.max_qp_init_rd_atom) < depth)
		depth = depth_of(a.max_qp_init_rd_atom);
	l->max_read_depth = MIN(l->max_read_depth, depth);
	for (unsigned int i = 1; i <= a.phys_port_cnt; i++)
		if (!ibv_query_port(ctx, (uint8_t)i, &port) &&
		    port.max_msg_sz && port.max_msg_sz < l->max_message)
			l->max_message = port.max_msg_sz;
	return 0;
}

unsigned int vb_device_local_access(const struct vb_device *dev)
{
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING |
	       (dev->windows ? IBV_ACCESS_MW_BIND : 0);
}

/*
 * Queues of siw are mapped at offsets that its kernel part hands out, first
 * fit from 0; one of those, a page like any other, is what its library takes
 * for "no offset". Whatever is put there cannot be created. So a completion
 * queue that nobody uses lies over it, 1 MiB for as long as the device is used.
 */
static void fill_trap(struct vb_device *dev)
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

static void empty_trap(struct vb_device *dev)
{
	if (dev->filler)
		ibv_destroy_cq(dev->filler);
	dev->filler = NULL;
}

void vb_device_free(struct vb_device *dev)
{
	if (!dev)
		return;
	empty_trap(dev);
	if (dev->pd)
		ibv_dealloc_pd(dev->pd);
	vb_hold_close(dev);
	pthread_mutex_destroy(&dev->srq_lock);
	free(dev);
}

/* Domain lock held. */
static void deregister_all(struct vb_device *dev)
{
	struct vb_mr *mr;

	TAILQ_FOREACH(mr, &dev->dom->mrs, link)
	{
		struct ibv_mr *m = atomic_exchange(&mr->mr[dev->index], NULL);

		if (m)
			ibv_dereg_mr(m);
	}
}

/* Domain lock held. */
static int register_all(struct vb_device *dev)
{
	struct vb_mr *mr;
	int err = 0;

	TAILQ_FOREACH(mr, &dev->dom->mrs, link)
	{
		struct ibv_mr *m;

		/* Nobody uses it any more. */
		if (mr->lost)
			continue;
		m = vb_register(dev, mr->fab.addr, mr->fab.len,
				vb_device_local_access(dev), NULL, &err);
		if (!m)
			break;
		atomic_store(&mr->mr[dev->index], m);
	}
	if (!err)
		return 0;
	deregister_all(dev);
	return -err;
}

/* One below the limits that were told when the domain was opened cannot be
 * used: it was plugged in later. */
static bool good_enough(struct vb_domain *d, struct ibv_context *ctx)
{
	const struct fab_limits *now = &d->fab.limits;
	struct fab_limits l = *now;

	return !vb_device_limits(d, ctx, &l) && l.caps == now->caps &&
	       l.max_sge == now->max_sge && l.max_message == now->max_message;
}

void vb_device_watch(struct vb_device *dev, struct vb_poller *p)
{
	fab_events_watch(&p->ev, dev->ctx->async_fd, &dev->async_src, EPOLLIN);
	if (dev->hold_channel)
		fab_events_watch(&p->ev, dev->hold_channel->fd, &dev->hold_src,
				 EPOLLIN);
}

/* Domain lock held. */
static int device_add(struct vb_domain *d, struct rdma_cm_id *id,
		      struct vb_device **out)
{
	struct ibv_context *ctx = id->verbs;
	struct vb_device *dev = calloc(1, sizeof(*dev));
	struct ibv_device_attr a;
	struct vb_poller *p;
	int rc;

	if (!dev)
		return -ENOMEM;
	pthread_mutex_init(&dev->srq_lock, NULL);
	TAILQ_INIT(&dev->srqs);
	dev->async_src.event = vb_device_event;
	dev->dom = d;
	dev->index = d->ndevs;
	dev->ctx = ctx;
	snprintf(dev->name, sizeof(dev->name), "%s",
		 ibv_get_device_name(ctx->device));
	rc = -ENODEV;
	if (dev->index == VB_MAX_DEVICES) {
		fab_domain_log(
			&d->fab, 3,
			"verbs: %s: too many devices, or changes of them",
			dev->name);
		goto fail;
	}
	if (!good_enough(d, ctx) || ibv_query_device(ctx, &a)) {
		fab_domain_log(
			&d->fab, 3,
			"verbs: %s: lacks what the devices present at start can do",
			dev->name);
		goto fail;
	}
	dev->max_wr = (unsigned int)a.max_qp_wr;
	dev->max_sge = d->fab.limits.max_sge;
	dev->max_sge_rd = a.max_sge_rd > 0 ? (unsigned int)a.max_sge_rd : 1;
	dev->max_cqe = (unsigned int)a.max_cqe;
	dev->out_depth = depth_of(a.max_qp_init_rd_atom);
	dev->in_depth = depth_of(a.max_qp_rd_atom);
	dev->iwarp = ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	/* Why not on iWARP: srq.c. */
	if (!dev->iwarp && a.max_srq > 0 && a.max_srq_wr > 0)
		dev->max_srq_wr = (unsigned int)a.max_srq_wr;
	/* If all have them, so has this one: good_enough(). */
	dev->windows = d->fab.limits.caps & FAB_CAP_EXPOSE;
	dev->siw = dev->iwarp && a.vendor_id == VENDOR_SIW;
	dev->sink_rights = dev->iwarp && !dev->siw;
	/* One key for each part of a Read. */
	if (dev->sink_rights)
		dev->max_sge_rd = 1;
	dev->inv_flag = IBV_WC_WITH_INV;
	if (a.vendor_id == VENDOR_RXE)
		dev->inv_flag |= IBV_WC_IP_CSUM_OK;
	vb_hold_open(dev, id);
	dev->pd = ibv_alloc_pd(ctx);
	if (!dev->pd) {
		rc = errno ? -errno : -ENOMEM;
		goto fail;
	}
	rc = register_all(dev);
	if (rc)
		goto fail;
	fill_trap(dev);
	(void)vb_set_nonblock(ctx->async_fd);
	TAILQ_FOREACH(p, &d->pollers, link)
	vb_device_watch(dev, p);
	atomic_store(&d->dev[dev->index], dev);
	d->ndevs++;
	fab_domain_log(&d->fab, 6, "verbs: using %s (%s%s)", dev->name,
		       dev->iwarp ? "iWARP" : "InfiniBand or RoCE",
		       dev->windows ? ", memory windows" : "");
	if (dev->siw)
		fab_domain_log(
			&d->fab, 4,
			"verbs: %s: its driver does not check the right to remote "
			"reading; use it among trusted hosts, or the iwarp "
			"provider instead",
			dev->name);
	*out = dev;
	return 0;
fail:
	vb_device_free(dev);
	return rc;
}

static struct vb_device *find(struct vb_domain *d, struct ibv_context *ctx)
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
	dev = find(d, ctx);
	if (!dev) {
		pthread_mutex_lock(&d->lock);
		dev = find(d, ctx);
		if (!dev)
			*rc = device_add(d, id, &dev);
		pthread_mutex_unlock(&d->lock);
	}
	if (!dev)
		return NULL;
	/* In this order: who retires it looks at both in the other. */
	atomic_fetch_add(&dev->conns, 1);
	if (!atomic_load(&dev->gone))
		return dev;
	vb_device_put(dev);
	return NULL;
}

/* ---- Removal --------------------------------------------------------- */

static void changed(struct vb_domain *d)
{
	struct vb_poller *p;

	atomic_fetch_add(&d->changes, 1);
	pthread_mutex_lock(&d->lock);
	TAILQ_FOREACH(p, &d->pollers, link)
	fab_events_wake(&p->ev.fab);
	pthread_mutex_unlock(&d->lock);
}

void vb_device_put(struct vb_device *dev)
{
	struct vb_domain *d = dev->dom;

	if (atomic_fetch_sub(&dev->conns, 1) == 1 && atomic_load(&dev->gone))
		changed(d);
}

void vb_device_lost(struct vb_domain *d, struct ibv_context *ctx)
{
	struct vb_device *dev;

	if (!ctx)
		return;
	pthread_mutex_lock(&d->lock);
	dev = find(d, ctx);
	/* No connection ever came by it, or all that is done. */
	if (!dev)
		vb_device_sever(ctx);
	pthread_mutex_unlock(&d->lock);
	if (!dev || atomic_exchange(&dev->gone, true))
		return;
	fab_domain_log(&d->fab, 4, "verbs: %s: the device is gone", dev->name);
	changed(d);
}

bool vb_device_keeps(struct vb_device *dev, int rc)
{
	struct ibv_device_attr a;

	if (!rc || atomic_load(&dev->gone))
		return false;
	/* What every command says of one that is removed, which the event may
	 * still be on its way to tell. */
	return rc != EIO || ibv_query_device(dev->ctx, &a) != EIO;
}

/* Domain lock held. */
static bool all_left(struct vb_domain *d, uint32_t bit)
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
static void retire(struct vb_device *dev)
{
	struct ibv_context *ctx = dev->ctx;

	dev->ctx = NULL;
	deregister_all(dev);
	empty_trap(dev);
	ibv_dealloc_pd(dev->pd);
	dev->pd = NULL;
	if (dev->hold)
		vb_device_sever(ctx);
	vb_hold_close(dev);
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
		struct vb_channel *ch = &p->channels[i];
		struct ibv_context *ctx = dev ? dev->ctx : NULL;
		uint32_t bit = (uint32_t)1 << i;

		if (!ctx || !atomic_load(&dev->gone) ||
		    atomic_load(&dev->conns))
			continue;
		pthread_mutex_lock(&p->lock);
		if (!(p->left & bit)) {
			fab_events_unwatch(&p->ev, ctx->async_fd);
			if (dev->hold_channel)
				fab_events_unwatch(&p->ev,
						   dev->hold_channel->fd);
			if (ch->channel) {
				fab_events_unwatch(&p->ev, ch->channel->fd);
				ibv_destroy_comp_channel(ch->channel);
				ch->channel = NULL;
			}
			p->left |= bit;
		}
		pthread_mutex_unlock(&p->lock);
		pthread_mutex_lock(&d->lock);
		if (dev->ctx && all_left(d, bit))
			retire(dev);
		pthread_mutex_unlock(&d->lock);
	}
}

/* ---- Asynchronous events --------------------------------------------- */

/* Tell all connections of the device. */
static void tell_all(struct vb_device *dev, unsigned int ev)
{
	struct vb_domain *d = dev->dom;
	struct vb_poller *p;
	struct vb_conn *c;

	pthread_mutex_lock(&d->lock);
	TAILQ_FOREACH(p, &d->pollers, link)
	{
		pthread_mutex_lock(&p->lock);
		/* Which device it is on only its runner knows: the runner
		 * sorts out those it does not concern. */
		TAILQ_FOREACH(c, &p->conns, link)
		{
			atomic_fetch_or(&c->ev.events, ev);
			vb_kick(c);
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&d->lock);
}

/* The connection may be of another poller: only kick it. */
static void conn_event(struct vb_conn *c, unsigned int ev)
{
	atomic_fetch_or(&c->ev.events, ev);
	vb_kick(c);
}

static void one_event(struct vb_device *dev, struct ibv_async_event *ev)
{
	struct vb_domain *d = dev->dom;
	struct vb_conn *c;

	switch (ev->event_type) {
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		conn_event(ev->element.qp->qp_context, VB_EV_RULE);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_PATH_MIG_ERR:
		conn_event(ev->element.qp->qp_context, VB_EV_QP);
		break;
	case IBV_EVENT_CQ_ERR:
		conn_event(ev->element.cq->cq_context, VB_EV_QP);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_SRQ_ERR:
		/* Whoever runs next fills it, or ends with it. */
		vb_srq_event(ev->element.srq->srq_context, ev->event_type);
		tell_all(dev, VB_EV_SRQ);
		break;
	case IBV_EVENT_COMM_EST:
		/* The peer has sent something before its confirmation was
		 * here, or that was lost: the connection stands. */
		c = ev->element.qp->qp_context;
		rdma_notify(c->id, IBV_EVENT_COMM_EST);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		fab_domain_log(&d->fab, 3,
			       "verbs: %s: fatal error of the device",
			       dev->name);
		vb_device_lost(d, dev->ctx);
		tell_all(dev, VB_EV_GONE);
		break;
	case IBV_EVENT_PORT_ERR:
		/* Links come back: only those connections end whose peer
		 * cannot be reached in time. */
		fab_domain_log(&d->fab, 4, "verbs: %s: port %d is down",
			       dev->name, ev->element.port_num);
		tell_all(dev, VB_EV_PROBE);
		break;
	case IBV_EVENT_PORT_ACTIVE:
		fab_domain_log(&d->fab, 5, "verbs: %s: port %d is up",
			       dev->name, ev->element.port_num);
		break;
	default:
		break;
	}
}

int vb_device_event(struct fab_events *events_of, struct fab_source *src,
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
			/* The device is no more; its channel would be ready
			 * for ever. Its connections hear of it by the
			 * connection manager. */
			fab_events_unwatch(events_of, ctx->async_fd);
			break;
		}
		one_event(dev, &ev);
		ibv_ack_async_event(&ev);
	}
	return 0;
}
