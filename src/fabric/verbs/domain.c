/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * domain - settings and limits, registration, the table of operations
 *
 * Memory is registered with every device in use, for local use alone; a device
 * that is met later registers what there is then (device.c).
 *
 * Threads: any. The domain's lock guards the list of registrations.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/memlock.h"
#include "device.h"
#include "srq.h"
#include "vb.h"
#include "window.h"
#include "verbs.h"

#define DEFAULT_STARTUP_MS 10000u
#define DEFAULT_DEPTH 16u

/* ---- Memory ---------------------------------------------------------- */

/* Domain lock held. False: a device does not let go of it, and may go on writing
 * there. */
static bool mr_release(struct vb_mr *mr)
{
	struct vb_domain *d = vb_domain(mr->fab.dom);
	bool all = true;

	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++) {
		struct ibv_mr *m = atomic_load(&mr->mr[i]);
		struct vb_device *dev = atomic_load(&d->dev[i]);
		int rc = m ? ibv_dereg_mr(m) : 0;

		/* Of a device that has gone, the kernel has freed it. */
		if (!rc || !vb_device_keeps(dev, rc)) {
			atomic_store(&mr->mr[i], NULL);
			continue;
		}
		all = false;
		fab_domain_log(&d->fab, 4,
			       "verbs: %s: deregistering: %s; %zu bytes are "
			       "lost",
			       dev->name, strerror(rc), mr->fab.len);
	}
	return all;
}

static int reg(struct fab_domain *fd, void *addr, size_t len,
	       struct fab_mr **out)
{
	struct vb_domain *d = vb_domain(fd);
	struct vb_mr *mr = calloc(1, sizeof(*mr));
	int err = 0;

	if (!mr)
		return -ENOMEM;
	mr->fab = (struct fab_mr){ .dom = fd, .addr = addr, .len = len };
	pthread_mutex_lock(&d->lock);
	for (unsigned int i = 0; i < d->ndevs && !err; i++) {
		struct vb_device *dev = atomic_load(&d->dev[i]);

		if (!atomic_load(&dev->gone))
			atomic_store(&mr->mr[i],
				     vb_register(dev, addr, len,
						 vb_device_local_access(dev),
						 NULL, &err));
	}
	/* No device must be retired before what it has of it is given back. */
	mr->lost = err && !mr_release(mr);
	if (!err || mr->lost)
		TAILQ_INSERT_TAIL(&d->mrs, mr, link);
	pthread_mutex_unlock(&d->lock);
	if (mr->lost)
		return -EBUSY;
	if (err) {
		free(mr);
		/* Which says something else. */
		return err == EBUSY ? -EIO : -err;
	}
	*out = &mr->fab;
	return 0;
}

static bool dereg(struct fab_mr *fm)
{
	struct vb_mr *mr = vb_mr(fm);
	struct vb_domain *d = vb_domain(fm->dom);
	bool lost;

	pthread_mutex_lock(&d->lock);
	/* No device must be retired meanwhile. */
	mr->lost = !mr_release(mr);
	lost = mr->lost;
	if (!lost)
		TAILQ_REMOVE(&d->mrs, mr, link);
	pthread_mutex_unlock(&d->lock);
	if (!lost)
		free(mr);
	return !lost;
}

/* ---- Life ------------------------------------------------------------ */

static void domain_close(struct fab_domain *fd)
{
	struct vb_domain *d = vb_domain(fd);
	struct vb_mr *mr;

	/* What was lost. */
	while ((mr = TAILQ_FIRST(&d->mrs))) {
		TAILQ_REMOVE(&d->mrs, mr, link);
		(void)mr_release(mr);
		free(mr);
	}
	for (unsigned int i = 0; i < d->ndevs; i++)
		vb_device_free(atomic_load(&d->dev[i]));
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static int find_limits(struct vb_domain *d)
{
	struct fab_limits *l = &d->fab.limits;
	struct ibv_device **list;
	int found = 0;

	*l = (struct fab_limits){
		.caps = FAB_CAP_SEND_INV | FAB_CAP_EXPOSE | FAB_CAP_BOUND,
		.max_sge = VB_MAX_SGE,
		.max_read_depth = d->depth,
		.max_message = VB_MAX_MESSAGE,
	};
	/* By rdma_get_devices() each would stay open (let_go.c). */
	list = ibv_get_device_list(NULL);
	for (int i = 0; list && list[i]; i++) {
		struct ibv_context *ctx = ibv_open_device(list[i]);

		if (!ctx)
			continue;
		found += !vb_device_limits(d, ctx, l);
		ibv_close_device(ctx);
	}
	if (list)
		ibv_free_device_list(list);
	if (!found)
		return -ENODEV;
	if (l->max_sge < 4)
		return -EOPNOTSUPP;
	if (!(l->caps & FAB_CAP_EXPOSE))
		fab_domain_log(
			&d->fab, 6,
			"verbs: no type 2 memory windows: memory opened to a "
			"peer is shielded from other peers by its handle only");
	return 0;
}

static int domain_open(const struct fab_domain_params *params,
		       struct fab_domain **out)
{
	struct vb_domain *d = calloc(1, sizeof(*d));
	unsigned long long kib;
	int rc;

	if (!d)
		return -ENOMEM;
	d->fab.ops = &fab_verbs_ops;
	d->fab.params = *params;
	d->startup_ms = params->startup_timeout_ms ?
				params->startup_timeout_ms :
				DEFAULT_STARTUP_MS;
	d->keepalive_ms = VB_KEEPALIVE_MS;
	d->depth = params->read_depth ? params->read_depth : DEFAULT_DEPTH;
	if (d->depth > VB_MAX_DEPTH)
		d->depth = VB_MAX_DEPTH;
	pthread_mutex_init(&d->lock, NULL);
	TAILQ_INIT(&d->mrs);
	TAILQ_INIT(&d->pollers);
	rc = find_limits(d);
	if (rc) {
		domain_close(&d->fab);
		return rc;
	}
	if (base_memlock_limit(&kib))
		fab_domain_log(
			&d->fab, 5,
			"verbs: this process may lock, and so register, at most "
			"%llu KiB; for more set LimitMEMLOCK=infinity in the "
			"systemd unit, or \"ulimit -l unlimited\"",
			kib);
	*out = &d->fab;
	return 0;
}

bool vb_port_is_up(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr a;
	struct ibv_port_attr port;
	bool up = false;

	for (int i = 0; list && list[i] && !up; i++) {
		struct ibv_context *ctx = ibv_open_device(list[i]);

		if (!ctx)
			continue;
		if (ibv_query_device(ctx, &a))
			a.phys_port_cnt = 0;
		for (uint8_t n = 1; n <= a.phys_port_cnt && !up; n++)
			up = !ibv_query_port(ctx, n, &port) &&
			     port.state == IBV_PORT_ACTIVE;
		ibv_close_device(ctx);
	}
	if (list)
		ibv_free_device_list(list);
	return up;
}

bool vb_has_addr(const struct sockaddr *addr)
{
	struct rdma_event_channel *ch = NULL;
	struct rdma_cm_id *id = NULL;
	struct sockaddr_storage at;
	bool any, owns = false;

	memset(&at, 0, sizeof(at));
	if (addr->sa_family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)&at;

		memcpy(in, addr, sizeof(*in));
		in->sin_port = 0;
		any = in->sin_addr.s_addr == htonl(INADDR_ANY);
	} else if (addr->sa_family == AF_INET6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&at;

		memcpy(in6, addr, sizeof(*in6));
		in6->sin6_port = 0;
		any = IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
	} else {
		return false;
	}
	ch = rdma_create_event_channel();
	if (!ch)
		return false;
	if (!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) &&
	    !rdma_bind_addr(id, (struct sockaddr *)&at))
		owns = any || id->verbs;
	if (id)
		rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
	return owns;
}

bool fab_verbs_owns(const struct sockaddr *addr)
{
	/* Without a device librdmacm would complain; without a port that is
	 * up nobody comes by it. */
	return vb_port_is_up() && vb_has_addr(addr);
}

const struct fab_ops fab_verbs_ops = {
	.name = "verbs",
	.domain_open = domain_open,
	.domain_close = domain_close,
	.share_stats = vb_share_stats,
	.owns = fab_verbs_owns,
	.poller_create = vb_poller_create,
	.poller_destroy = vb_poller_destroy,
	.poller_run = vb_poller_run,
	.poller_wake = fab_events_wake,
	.reg = reg,
	.dereg = dereg,
	.expose = vb_expose,
	.unexpose = vb_unexpose,
	.post = vb_post,
	.post_recv = vb_post_recv,
	.poll = vb_poll,
	.kick = fab_ev_conn_kick,
	.listen = vb_listen,
	.listener_addr = fab_ev_listener_addr,
	.listener_up = vb_listener_up,
	.listener_close = vb_listener_close,
	.conn_create = vb_conn_create,
	.conn_set_ready = fab_ev_conn_set_ready,
	.connect = vb_connect,
	.accept = vb_accept,
	.reject = vb_reject,
	.disconnect = vb_disconnect,
	.conn_destroy_deferred = fab_ev_conn_retire,
	.conn_info = fab_ev_conn_info,
	.conn_counters = fab_ev_conn_counters,
};
