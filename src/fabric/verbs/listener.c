/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listener - requests for connections
 *
 * The connection manager delivers a request with its private data. The upper
 * layer limits the connections that are accepted and not confirmed, like all
 * others. Requests beyond the pace (pace.h) are rejected rather than kept,
 * since the connection manager keeps as much of a waiting request as of a
 * connection; the peer tries again later. A request that ends before the
 * callback is counted as a failed start, once. A listener whose device or
 * address has gone, or is not there yet, tries every second to come back.
 *
 * Context: the poller thread; vb_listen() and vb_listener_close(): any thread.
 * The listener's lock is held over the request callback, so that closing waits
 * for it. It is not held while the rdma_cm_id is destroyed, which waits for the
 * poller thread to acknowledge its events.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/addr.h"
#include "device.h"
#include "vb.h"

#define BACKLOG 1024

/* Returns false and sets errno if @id has a device that is not to be used. */
static bool is_chosen(const struct vb_poller *p, const struct rdma_cm_id *id)
{
	if (!id->verbs ||
	    vb_device_is_chosen(vb_domain(p->ev.fab.dom)->devices,
				ibv_get_device_name(id->verbs->device)))
		return true;
	errno = ENODEV;
	return false;
}

/* Let statistics name, before the first connection, what @id listens on. */
static void show_devices(struct vb_domain *d, struct rdma_cm_id *id)
{
	struct vb_device *dev;
	int rc;

	if (!id->verbs) {
		atomic_store(&d->listens_any, true);
		return;
	}
	dev = vb_device_get(d, id, &rc);
	if (dev)
		vb_device_put(dev);
}

static int listener_open_id(struct vb_listener *l, struct rdma_cm_id **out)
{
	struct vb_poller *p = vb_poller(l->ev.fab.poller);
	struct rdma_cm_id *id = NULL;
	int on = 1, rc = 0;

	errno = 0;
	if (!rdma_create_id(p->cm, &id, &l->src, RDMA_PS_TCP))
		vb_set_id_options(vb_domain(p->ev.fab.dom), id);
	if (!id ||
	    (l->ev.addr.ss_family == AF_INET6 &&
	     rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on,
			     sizeof(on))) ||
	    rdma_bind_addr(id, (struct sockaddr *)&l->ev.addr) ||
	    !is_chosen(p, id) || rdma_listen(id, BACKLOG)) {
		rc = errno ? -errno : -EIO;
		/* No device has the address, or none that is to be used. */
		if (rc == -ENODEV)
			rc = -EADDRNOTAVAIL;
		if (id)
			rdma_destroy_id(id);
		return rc;
	}
	vb_copy_addr(&l->ev.addr, rdma_get_local_addr(id));
	show_devices(vb_domain(p->ev.fab.dom), id);
	*out = id;
	return 0;
}

static int vb_listener_event(struct vb_cm_source *src,
			     struct rdma_cm_event *ev);
static void listener_reopen(struct base_timer *t, unsigned int unused);

static void vb_listener_free(struct fab_retired *g)
{
	struct vb_listener *l = container_of(g, struct vb_listener, ev.retired);

	pthread_mutex_destroy(&l->ev.lock);
	free(l);
}

/* Returns true if programs may bind to addresses that are not here yet. The
 * connection manager does not know of it. */
static bool may_wait(const struct sockaddr *addr)
{
	FILE *f = fopen(addr->sa_family == AF_INET6 ?
				"/proc/sys/net/ipv6/ip_nonlocal_bind" :
				"/proc/sys/net/ipv4/ip_nonlocal_bind",
			"re");
	bool may = f && getc(f) == '1';

	if (f)
		fclose(f);
	return may;
}

/* Lock held. */
static void reopen_later(struct vb_listener *l)
{
	if (!l->ev.closed)
		base_timer_set(&l->ev.fab.poller->timers, &l->ev.timer,
			       base_now_ms() + VB_REOPEN_MS, 0);
}

int vb_listen(struct fab_poller *fp, const struct sockaddr *addr,
	      socklen_t addrlen, fab_request_fn fn, void *user,
	      struct fab_listener **out)
{
	struct vb_listener *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	fab_ev_listener_init(&l->ev, fp, fn, user, listener_reopen,
			     vb_listener_free);
	l->src.event = vb_listener_event;
	memcpy(&l->ev.addr, addr, addrlen);
	*out = &l->ev.fab;
	/* A request may come before this returns. */
	pthread_mutex_lock(&l->ev.lock);
	rc = listener_open_id(l, &l->id);
	if (rc == -EADDRNOTAVAIL && may_wait(addr)) {
		reopen_later(l);
		rc = 0;
	}
	pthread_mutex_unlock(&l->ev.lock);
	if (!rc)
		return 0;
	vb_listener_free(&l->ev.retired);
	*out = NULL;
	return rc;
}

/* ---- Which addresses are of a device ------------------------------------- */

/* librdmacm complains without a device. */
static bool any_device(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	if (list)
		ibv_free_device_list(list);
	return n > 0;
}

/*
 * Returns true if one of @devices has @addr, and its port is active. Sets *@ctx
 * to the device that has it, or to NULL. It is for comparison only, since the
 * device may be closed by now.
 */
static bool is_reachable(const struct sockaddr *addr, const char *devices,
			 const struct ibv_context **ctx)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sockaddr_storage at = { 0 };
	struct rdma_cm_id *id = NULL;
	struct ibv_port_attr port;
	bool up = false;

	*ctx = NULL;
	vb_copy_addr(&at, addr);
	base_addr_set_port(&at, 0);
	if (ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) &&
	    !rdma_bind_addr(id, (struct sockaddr *)&at) && id->verbs &&
	    vb_device_is_chosen(devices,
				ibv_get_device_name(id->verbs->device))) {
		*ctx = id->verbs;
		up = !ibv_query_port(id->verbs, id->port_num, &port) &&
		     port.state == IBV_PORT_ACTIVE;
	}
	if (id)
		rdma_destroy_id(id);
	if (ch)
		rdma_destroy_event_channel(ch);
	return up;
}

/* Returns true if one of @devices has an active port. librdmacm is not asked: it
 * would keep open each device that has an address, which blocks a removal. */
static bool any_port_is_up(const char *devices)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device_attr a;
	struct ibv_port_attr port;
	bool up = false;

	for (int i = 0; list && list[i] && !up; i++) {
		struct ibv_context *ctx = NULL;

		if (vb_device_is_chosen(devices, ibv_get_device_name(list[i])))
			ctx = ibv_open_device(list[i]);
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

bool vb_owns(const struct sockaddr *addr, const char *devices)
{
	struct sockaddr_storage at = { 0 };
	const struct ibv_context *ctx;

	vb_copy_addr(&at, addr);
	if (!at.ss_family || !any_device())
		return false;
	return base_addr_is_any(&at) ? any_port_is_up(devices) :
				       is_reachable(addr, devices, &ctx);
}

/* Returns the id, to be destroyed without the lock. */
static struct rdma_cm_id *listener_take_id(struct vb_listener *l, bool closed)
{
	struct rdma_cm_id *id;

	pthread_mutex_lock(&l->ev.lock);
	id = l->id;
	l->id = NULL;
	l->ev.closed |= closed;
	pthread_mutex_unlock(&l->ev.lock);
	return id;
}

void vb_listener_close(struct fab_listener *fl)
{
	struct vb_listener *l = container_of(fl, struct vb_listener, ev.fab);
	struct vb_poller *p = vb_poller(fl->poller);
	struct rdma_cm_id *id = listener_take_id(l, true);

	if (id)
		rdma_destroy_id(id);
	/* It is closed: nobody sets it any more. */
	base_timer_stop(&p->ev.fab.timers, &l->ev.timer);
	fab_ev_loop_retire(&p->ev, &l->ev.retired);
}

static void listener_lost(struct vb_listener *l, const char *why)
{
	struct vb_poller *p = vb_poller(l->ev.fab.poller);
	struct rdma_cm_id *id = listener_take_id(l, false);

	if (!id)
		return;
	rdma_destroy_id(id);
	fab_domain_log(
		p->ev.fab.dom, 4,
		"verbs: a listener stops: %s; waiting for it to come back",
		why);
	pthread_mutex_lock(&l->ev.lock);
	reopen_later(l);
	pthread_mutex_unlock(&l->ev.lock);
}

bool vb_listener_up(struct fab_listener *fl)
{
	struct vb_listener *l = container_of(fl, struct vb_listener, ev.fab);
	const char *devices = vb_domain(fl->poller->dom)->devices;
	const struct ibv_context *ctx = NULL;
	struct sockaddr_storage addr;
	bool up, there, moved;

	pthread_mutex_lock(&l->ev.lock);
	addr = l->ev.addr;
	pthread_mutex_unlock(&l->ev.lock);
	up = any_device() &&
	     (base_addr_is_any(&addr) ?
		      any_port_is_up(devices) :
		      is_reachable((struct sockaddr *)&addr, devices, &ctx));
	pthread_mutex_lock(&l->ev.lock);
	there = l->id;
	moved = there && ctx && l->id->verbs != ctx;
	pthread_mutex_unlock(&l->ev.lock);
	/* Nothing else tells a listener that its address moved. */
	if (moved)
		listener_lost(l, "its address moved to another device");
	return up && there && !moved;
}

static void listener_reopen(struct base_timer *t, unsigned int unused)
{
	struct vb_listener *l = container_of(t, struct vb_listener, ev.timer);
	struct vb_poller *p = vb_poller(l->ev.fab.poller);
	int rc = 0;

	pthread_mutex_lock(&l->ev.lock);
	if (!l->ev.closed && !l->id)
		rc = listener_open_id(l, &l->id);
	if (rc)
		reopen_later(l);
	pthread_mutex_unlock(&l->ev.lock);
	if (!rc)
		fab_domain_log(p->ev.fab.dom, 5, "verbs: a listener is up");
}

/* Lock held. Returns true, and counts it, if a request from @peer is in time. */
static bool pace_admits(struct vb_listener *l, const struct sockaddr *peer)
{
	struct in6_addr host = base_addr_host(peer);
	bool known = base_known_has(&l->ev.fab.poller->dom->known, &host);
	uint64_t now = base_now_ms();

	if (base_pace_turn(&l->ev.pace, &host, known, now))
		return false;
	base_pace_take(&l->ev.pace, &host, known, now);
	return true;
}

/* Returns 0 or -errno. */
static int request_to_conn(struct vb_listener *l, struct rdma_cm_event *ev,
			   struct vb_conn **out)
{
	struct vb_poller *p = vb_poller(l->ev.fab.poller);
	struct vb_device *dev;
	struct vb_conn *c;
	int rc;

	dev = vb_device_get(vb_domain(p->ev.fab.dom), ev->id, &rc);
	if (!dev)
		return rc;
	rc = vb_conn_alloc(p, NULL, NULL, &c);
	if (rc) {
		vb_device_put(dev);
		return rc;
	}
	c->id = ev->id;
	c->id->context = &c->src;
	vb_conn_set_device(c, dev);
	c->state = VB_ST_REQUESTED;
	vb_copy_addr(&c->ev.local, rdma_get_local_addr(c->id));
	vb_copy_addr(&c->ev.peer, rdma_get_peer_addr(c->id));
	c->cm.out_depth = ev->param.conn.initiator_depth;
	c->cm.in_depth = ev->param.conn.responder_resources;
	*out = c;
	return 0;
}

static void reject_silently(struct rdma_cm_event *ev)
{
	rdma_reject(ev->id, NULL, 0);
	rdma_destroy_id(ev->id);
}

/* The upper layer has not heard of it. */
static void reject_request(struct vb_listener *l, struct rdma_cm_event *ev,
			   int level, const char *why)
{
	struct fab_domain *d = l->ev.fab.poller->dom;
	struct sockaddr_storage from = { 0 };
	char peer[64];

	atomic_fetch_add(&d->failed_starts, 1);
	vb_copy_addr(&from, rdma_get_peer_addr(ev->id));
	base_addr_name((const struct sockaddr *)&from, peer, sizeof(peer));
	fab_domain_log_peer(d, &from, level,
			    "verbs: %s: connection refused: %s", peer, why);
	reject_silently(ev);
}

static int listener_request(struct vb_listener *l, struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *param = &ev->param.conn;
	struct sockaddr_storage peer = { 0 };
	const char *why = NULL;
	struct vb_conn *c = NULL;
	int level = LOG_NOTICE, rc;

	vb_copy_addr(&peer, rdma_get_peer_addr(ev->id));
	if (!fab_domain_admits(l->ev.fab.poller->dom, &peer,
			       is_chosen(vb_poller(l->ev.fab.poller),
					 ev->id))) {
		reject_silently(ev);
		return 0;
	}
	pthread_mutex_lock(&l->ev.lock);
	if (l->ev.closed || l->id != ev->listen_id) {
		/* The request came through an id that is lost. */
		why = "the listener has ended";
	} else if (!pace_admits(l, rdma_get_peer_addr(ev->id))) {
		why = "too many connections at once";
	} else {
		rc = request_to_conn(l, ev, &c);
		if (rc) {
			level = LOG_WARNING;
			why = vb_device_fault(rc);
		}
	}
	if (!why)
		l->ev.fn(&l->ev.fab, &c->ev.fab, param->private_data,
			 param->private_data ? param->private_data_len : 0,
			 l->ev.user);
	pthread_mutex_unlock(&l->ev.lock);
	if (!why)
		return 1;
	reject_request(l, ev, level, why);
	return 0;
}

static int vb_listener_event(struct vb_cm_source *src, struct rdma_cm_event *ev)
{
	struct vb_listener *l = container_of(src, struct vb_listener, src);
	enum rdma_cm_event_type type = ev->event;
	int calls = 0;

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		calls = listener_request(l, ev);
	rdma_ack_cm_event(ev);
	if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		listener_lost(l, "its device was removed");
	else if (type == RDMA_CM_EVENT_ADDR_CHANGE)
		listener_lost(l, "its address moved");
	return calls;
}
