/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm_event - events of the connection manager
 *
 * Events are copied and acknowledged here; the runner acts on them. An event is
 * acknowledged before ready is called, since the runner may end the connection
 * in that callback.
 *
 * Context: the poller thread.
 */
#include <string.h>

#include "device.h"
#include "vb.h"

static unsigned int copy_established(struct vb_conn *c,
				     const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;

	c->cm.priv_len = p->private_data ? p->private_data_len : 0;
	if (c->cm.priv_len)
		memcpy(c->cm.priv, p->private_data, c->cm.priv_len);
	if (c->ev.active) {
		c->cm.out_depth = p->initiator_depth;
		c->cm.in_depth = p->responder_resources;
	}
	return VB_EV_UP;
}

static unsigned int copy_failure(struct vb_conn *c,
				 const struct rdma_cm_event *ev)
{
	c->cm.failed = ev->event;
	c->cm.status = ev->status;
	return VB_EV_FAIL;
}

static unsigned int cm_event_bits(struct vb_conn *c,
				  const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return VB_EV_ADDR;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return VB_EV_ROUTE;
	case RDMA_CM_EVENT_ESTABLISHED:
		return copy_established(c, ev);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		return copy_failure(c, ev);
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return VB_EV_DOWN;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return VB_EV_GONE;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return VB_EV_MOVED;
	default:
		return 0;
	}
}

int vb_cm_conn_event(struct vb_cm_source *src, struct rdma_cm_event *ev)
{
	struct vb_conn *c = container_of(src, struct vb_conn, src);
	unsigned int bits = cm_event_bits(c, ev);

	rdma_ack_cm_event(ev);
	return bits ? fab_ev_conn_notify(&c->ev, bits) : 0;
}

static int dispatch_cm_event(struct vb_domain *d, struct rdma_cm_event *ev)
{
	struct rdma_cm_id *id = ev->listen_id ? ev->listen_id : ev->id;
	struct vb_cm_source *src = id->context;

	if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		vb_device_lost(d, id->verbs);
	return src->event(src, ev);
}

int vb_cm_event(struct fab_ev_loop *events_of, struct fab_source *src,
		uint32_t events)
{
	struct vb_poller *p = vb_poller(&events_of->fab);
	struct rdma_cm_event *ev;
	int rc, calls = 0;

	for (int i = 0; i < BASE_TURN; i++) {
		pthread_mutex_lock(&p->cm_lock);
		rc = rdma_get_cm_event(p->cm, &ev);
		pthread_mutex_unlock(&p->cm_lock);
		if (rc)
			break;
		calls += dispatch_cm_event(vb_domain(p->ev.fab.dom), ev);
	}
	return calls;
}
