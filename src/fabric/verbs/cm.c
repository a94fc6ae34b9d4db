/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm - what the connection manager reports
 *
 * Events are copied and acknowledged here; the runner acts on them. An event
 * is acknowledged before ready is called, since the runner, which that may be,
 * must be free to end the connection.
 *
 * Threads: the poller thread.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "vb.h"

#define EVENTS_PER_TURN 64

void vb_cm_copy_addr(struct sockaddr_storage *to, struct sockaddr *from)
{
	if (!from)
		return;
	if (from->sa_family == AF_INET)
		memcpy(to, from, sizeof(struct sockaddr_in));
	else if (from->sa_family == AF_INET6)
		memcpy(to, from, sizeof(struct sockaddr_in6));
}

static unsigned int established(struct vb_conn *c,
				const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;

	c->cm.priv_len = p->private_data ? p->private_data_len : 0;
	if (c->cm.priv_len)
		memcpy(c->cm.priv, p->private_data, c->cm.priv_len);
	if (c->active) {
		c->cm.out_depth = p->initiator_depth;
		c->cm.in_depth = p->responder_resources;
	}
	return EV_UP;
}

static unsigned int failed(struct vb_conn *c, const struct rdma_cm_event *ev)
{
	c->cm.failed = ev->event;
	c->cm.status = ev->status;
	return EV_FAIL;
}

static unsigned int translate(struct vb_conn *c, const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return EV_ADDR;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return EV_ROUTE;
	case RDMA_CM_EVENT_ESTABLISHED:
		return established(c, ev);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		return failed(c, ev);
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return EV_DOWN;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return EV_GONE;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return EV_MOVED;
	default:
		return 0;
	}
}

static int one_event(struct vb_domain *d, struct rdma_cm_event *ev)
{
	struct rdma_cm_id *id = ev->listen_id ? ev->listen_id : ev->id;
	struct vb_source *src = id->context;
	struct vb_listener *l;
	enum rdma_cm_event_type type = ev->event;
	struct vb_conn *c;
	unsigned int bits;
	int calls = 0;

	if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		vb_device_lost(d, id->verbs);
	if (src->kind == SRC_LISTENER) {
		l = container_of(src, struct vb_listener, src);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			calls = vb_listener_request(l, ev);
		rdma_ack_cm_event(ev);
		if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			vb_listener_lost(l, "its device was removed");
		else if (type == RDMA_CM_EVENT_ADDR_CHANGE)
			vb_listener_lost(l, "its address moved");
		return calls;
	}
	c = container_of(src, struct vb_conn, src);
	bits = translate(c, ev);
	rdma_ack_cm_event(ev);
	if (!bits)
		return 0;
	atomic_fetch_or(&c->events, bits);
	return vb_call_ready(c);
}

int vb_cm_events(struct vb_poller *p)
{
	struct rdma_cm_event *ev;
	int rc, calls = 0;

	for (int i = 0; i < EVENTS_PER_TURN; i++) {
		pthread_mutex_lock(&p->cm_lock);
		rc = rdma_get_cm_event(p->cm, &ev);
		pthread_mutex_unlock(&p->cm_lock);
		if (rc)
			break;
		calls += one_event(vb_domain(p->fab.dom), ev);
	}
	return calls;
}
