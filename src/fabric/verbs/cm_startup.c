/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm_startup - connection start-up: address, route, queue pair, agreement
 *
 * The queue pair is created as late as possible, when the device is known and a
 * connection is wanted. Until then Receives wait in c->rq.
 *
 * Context: the runner of the connection; vb_startup_pair() and what it calls: the
 * setup thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "device.h"
#include "srq.h"
#include "vb.h"

#define REJECT_NO_LISTENER 8 /* InfiniBand 1.4, table 117 */
#define REJECT_STALE 10
#define REJECT_CONSUMER 28

static unsigned int vb_wanted_depth(const struct vb_conn *c,
				    const struct fab_conn_params *params)
{
	unsigned int depth = vb_conn_domain(c)->depth;

	return params->read_depth ? MIN(params->read_depth, depth) : depth;
}

static bool set_option(struct rdma_cm_id *id, int option, uint8_t value)
{
	return !rdma_set_option(id, RDMA_OPTION_ID, option, &value,
				sizeof(value));
}

void vb_set_id_options(struct vb_domain *d, struct rdma_cm_id *id)
{
	const struct fab_domain_params *p = &d->fab.params;

	errno = 0;
	if ((!p->service_type_given || set_option(id, RDMA_OPTION_ID_TOS,
						  /* Not the bits of ECN. */
						  p->service_type & 0xfc)) &&
	    (!p->ack_timeout ||
	     set_option(id, RDMA_OPTION_ID_ACK_TIMEOUT, p->ack_timeout)))
		return;
	if (!atomic_exchange(&d->options_told, true))
		fab_domain_log(
			&d->fab, 4,
			"verbs: the kernel takes no type of service or no time-out of acknowledgements: %s",
			strerror(errno));
}

/* ---- Queue pair ------------------------------------------------------ */

static void choose_sizes(struct vb_conn *c)
{
	unsigned int waiting = wr_count(&c->rq);

	c->rq_depth = waiting > VB_RQ_DEPTH / 2 ? 2 * waiting : VB_RQ_DEPTH;
	c->rq_depth = MIN(c->rq_depth, c->dev->max_wr);
	c->sq_depth = MIN(VB_SQ_DEPTH, c->dev->max_wr);
	/* Room for the completions of all, should they come at once. */
	c->sq_depth = MIN(c->sq_depth, c->dev->max_cqe / 4);
	c->rq_depth = MIN(c->rq_depth, c->dev->max_cqe - c->sq_depth);
}

/* Passive connections only: there are many of them, and the acceptor sets the
 * RNR timer of the other end. */
static void join_srq(struct vb_conn *c)
{
	unsigned int each = vb_conn_domain(c)->fab.srq.each;

	if (c->ev.active || each > c->dev->max_cqe - c->sq_depth)
		return;
	vb_srq_join(c);
	/* The completion queue has a place for each promised Receive. */
	if (c->srq && c->rq_depth < each)
		c->rq_depth = each;
	if (c->srq)
		vb_srq_promise(c, wr_count(&c->rq));
}

/* Have the peer repeat messages soon for which there is no Receive. */
static void set_rnr_timer(struct vb_conn *c)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = VB_RNR_TIMER };

	/* Failure only makes the pause longer. */
	(void)ibv_modify_qp(c->id->qp, &attr, IBV_QP_MIN_RNR_TIMER);
}

/* Returns -@err, or -ENOSPC if the device has no more; vb_conn_reason() has it in words. */
static int lacks(struct vb_conn *c, enum vb_object what, int err)
{
	char text[128];

	vb_shortage_text(c->dev, what, err, text, sizeof(text));
	vb_conn_reason(c, "%s", text);
	if (vb_shortage_is_of(c->dev, what))
		return -ENOSPC;
	vb_memlock_hint(vb_conn_domain(c), err);
	return -err;
}

static int create_cq(struct vb_conn *c)
{
	struct ibv_context *ctx = c->dev->ctx;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	unsigned int vector;
	int rc;

	rc = vb_cq_channel(vb_conn_poller(c), c->dev, &channel);
	if (rc)
		return rc;
	vector = atomic_fetch_add(&c->dev->next_vector, 1) %
		 (unsigned int)(ctx->num_comp_vectors > 0 ?
					ctx->num_comp_vectors :
					1);
	errno = 0;
	cq = ibv_create_cq(ctx, (int)(c->sq_depth + c->rq_depth), c, channel,
			   (int)vector);
	if (!cq)
		return lacks(c, VB_CQ, errno ? errno : ENOMEM);
	atomic_fetch_add(&c->dev->used[VB_CQ], 1);
	pthread_mutex_lock(&c->cq_lock);
	c->cq = cq;
	pthread_mutex_unlock(&c->cq_lock);
	/* The poller thread polls it from its first event on. */
	rc = vb_cq_arm(c);
	return rc > 0 ? -rc : rc;
}

/* With as much inline data as the device takes, since on some it takes places. Returns 0
 * or an errno. */
static int create_pair(struct vb_conn *c)
{
	unsigned int room = atomic_load(&c->dev->inline_room);
	struct ibv_qp_init_attr attr;
	bool refused = false;
	int err;

	for (;;) {
		attr = (struct ibv_qp_init_attr){
			.qp_context = c,
			.send_cq = c->cq,
			.recv_cq = c->cq,
			.srq = vb_srq_of(c),
			.cap = { .max_send_wr = c->sq_depth,
				 .max_recv_wr = c->srq ? 0 : c->rq_depth,
				 .max_send_sge = c->dev->limits.max_sge,
				 .max_recv_sge = c->srq ? 0 : 1,
				 .max_inline_data = room },
			.qp_type = IBV_QPT_RC,
		};
		errno = 0;
		if (!rdma_create_qp(c->id, c->dev->pd, &attr))
			break;
		err = errno ? errno : ENOMEM;
		if (!room)
			return err;
		refused |= err == EINVAL;
		room = vb_less_inline(room);
	}
	/* Only EINVAL says that the device never takes more. */
	if (refused)
		atomic_store(&c->dev->inline_room, room);
	atomic_fetch_add(&c->dev->used[VB_QP], 1);
	c->max_inline = attr.cap.max_inline_data;
	return 0;
}

/* Returns 0, or -errno with the reason in vb_conn_reason(). */
static int create_qp(struct vb_conn *c)
{
	int rc;

	vb_conn_reason(c, "%s creates no queue pair", c->dev->name);
	if (atomic_load(&c->dev->gone))
		return -ENODEV;
	choose_sizes(c);
	join_srq(c);
	c->slot = calloc(c->sq_depth, sizeof(*c->slot));
	c->rslot = calloc(c->rq_depth, sizeof(struct fab_wr *));
	if (!c->slot || !c->rslot)
		return -ENOMEM;
	rc = create_cq(c);
	if (rc)
		return rc;
	rc = create_pair(c);
	if (rc)
		return lacks(c, VB_QP, rc);
	if (!vb_post_receives(c))
		return -ENOMEM;
	return c->state == VB_ST_ENDING ? c->ev.done.error : 0;
}

static void refuse(struct vb_conn *c, int rc)
{
	if (!c->ev.active)
		rdma_reject(c->id, NULL, 0);
	vb_conn_end(c, rc, c->reason_text);
}

void vb_startup_pair(struct vb_conn *c)
{
	struct rdma_conn_param param = {
		.private_data = c->priv_len ? c->priv : NULL,
		.private_data_len = (uint8_t)c->priv_len,
		.initiator_depth = (uint8_t)c->ev.ord,
		.responder_resources = (uint8_t)c->ev.ird,
		.retry_count = VB_RETRIES,
		.rnr_retry_count = VB_RNR_RETRIES,
	};
	int rc = create_qp(c);

	if (rc) {
		refuse(c, rc);
		return;
	}
	if (c->srq)
		param.rnr_retry_count = VB_RNR_SHARED;
	c->state = c->ev.active ? VB_ST_CONNECTING : VB_ST_ACCEPTED;
	/* From here on the peer must be told of the end. */
	c->connected = true;
	if (!c->ev.active)
		vb_set_id_options(vb_conn_domain(c), c->id);
	errno = 0;
	rc = c->ev.active ? rdma_connect(c->id, &param) :
			    rdma_accept(c->id, &param);
	if (rc)
		/* Perhaps the peer has gone: an end like any other. */
		vb_conn_end(c, errno ? -errno : -EIO,
			    c->ev.active ? "connect failed" : "accept failed");
	else if (c->srq)
		set_rnr_timer(c);
}

/* ---- Initiator ------------------------------------------------------- */

static void keep_private_data(struct vb_conn *c,
			      const struct fab_conn_params *params)
{
	if (params->priv_len)
		memcpy(c->priv, params->priv, params->priv_len);
	c->priv_len = params->priv_len;
}

/* A device in that direction asks who has the address. */
static void not_resolved(struct vb_conn *c, int rc)
{
	bool asked = rc == -ETIMEDOUT || rc == -EHOSTUNREACH;

	vb_conn_end(c, rc == -ENODEV ? -ENETUNREACH : rc,
		    asked ? "nobody answers at that address" :
			    "no RDMA device has a route to that address");
}

static int resolve(struct vb_conn *c)
{
	errno = 0;
	if (rdma_create_id(vb_conn_poller(c)->cm, &c->id, &c->src, RDMA_PS_TCP))
		return errno ? -errno : -EIO;
	vb_set_id_options(vb_conn_domain(c), c->id);
	errno = 0;
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&c->ev.peer,
			      VB_RESOLVE_MS))
		return errno ? -errno : -EIO;
	return 0;
}

int vb_startup_connect(struct vb_conn *c, const struct sockaddr *addr,
		       socklen_t addrlen, const struct fab_conn_params *params)
{
	int rc;

	if (c->state != VB_ST_IDLE)
		return -EISCONN;
	if (params->priv_len > UINT8_MAX)
		return -EINVAL;
	memcpy(&c->ev.peer, addr, addrlen);
	keep_private_data(c, params);
	c->ev.ird = c->ev.ord = vb_wanted_depth(c, params);
	c->state = VB_ST_ADDR;
	vb_conn_timer_set(c, VB_TIMER_STARTUP);
	rc = resolve(c);
	if (rc)
		/* As if the answer had come a moment later. */
		not_resolved(c, rc);
	return 0;
}

static void address_known(struct vb_conn *c)
{
	unsigned int lacks;
	int rc;

	vb_conn_set_device(c, vb_device_get(vb_conn_domain(c), c->id, &rc));
	if (!c->dev) {
		vb_conn_end(c, rc, vb_device_fault(rc));
		return;
	}
	/* Its private data may have promised what the domain has. */
	lacks = vb_conn_domain(c)->fab.limits.caps & ~c->dev->limits.caps;
	if (lacks) {
		vb_conn_end(
			c, -ENODEV,
			"its device lacks what those present at start can do");
		return;
	}
	c->state = VB_ST_ROUTE;
	errno = 0;
	if (rdma_resolve_route(c->id, VB_RESOLVE_MS))
		vb_conn_end(c, errno ? -errno : -EIO, "no route");
}

static void route_known(struct vb_conn *c)
{
	c->ev.ord = MIN(c->ev.ord, c->dev->out_depth);
	c->ev.ird = MIN(c->ev.ird, c->dev->in_depth);
	c->state = VB_ST_PAIRING;
}

/*
 * @status is a reason of InfiniBand, or an errno of an iWARP driver. Drivers of adapters
 * report ECONNREFUSED for a rejection in MPA, and ECONNRESET where nobody listens. siw
 * does it the other way round.
 */
static void connect_rejected(struct vb_conn *c, int status)
{
	bool siw = c->dev->siw;

	if (status == REJECT_NO_LISTENER ||
	    status == (siw ? -ECONNREFUSED : -ECONNRESET))
		vb_conn_end(c, -ECONNREFUSED, "nobody listens there");
	else if (status == REJECT_CONSUMER ||
		 status == (siw ? -ECONNRESET : -ECONNREFUSED))
		vb_conn_end(c, -EPERM,
			    "rejected by the peer (its log says why)");
	else if (status == REJECT_STALE)
		vb_conn_end(
			c, -ECONNREFUSED,
			"rejected: the peer has not finished the last connection");
	else
		vb_conn_end(
			c, -ECONNREFUSED,
			vb_conn_reason(
				c,
				"rejected by the peer (reason %d; its log says why)",
				status));
}

static void connect_failed(struct vb_conn *c)
{
	int status = c->cm.status, rc = status < 0 ? status : -EIO;

	switch (c->cm.failed) {
	case RDMA_CM_EVENT_REJECTED:
		connect_rejected(c, status);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		vb_conn_end(c, status < 0 ? status : -EHOSTUNREACH,
			    "the peer does not answer");
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		not_resolved(c, rc);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		vb_conn_end(c, rc, "no route");
		break;
	default:
		vb_conn_end(c, rc, "connect failed");
		break;
	}
}

/* ---- Both sides ------------------------------------------------------ */

static void established(struct vb_conn *c)
{
	if (c->ev.active) {
		c->ev.ord = MIN(c->ev.ord, c->cm.out_depth);
		vb_copy_addr(&c->ev.local, rdma_get_local_addr(c->id));
		vb_copy_addr(&c->ev.peer, rdma_get_peer_addr(c->id));
		c->ev.done.priv = c->cm.priv;
		c->ev.done.priv_len = c->cm.priv_len;
	}
	c->signal_all = vb_conn_unprobed(c);
	c->state = VB_ST_OPEN;
	c->ev.done.established = true;
	vb_conn_timer_set(c, c->dev->siw && !c->ev.active ? VB_TIMER_FIRST :
							    VB_TIMER_KEEPALIVE);
}

void vb_startup_progress(struct vb_conn *c, unsigned int ev)
{
	if (ev & VB_EV_STARTUP) {
		vb_conn_end(c, -ETIMEDOUT, "start-up took too long");
		return;
	}
	if (ev & VB_EV_FAIL) {
		connect_failed(c);
		return;
	}
	if ((ev & VB_EV_ADDR) && c->state == VB_ST_ADDR)
		address_known(c);
	if ((ev & VB_EV_ROUTE) && c->state == VB_ST_ROUTE)
		route_known(c);
	if ((ev & VB_EV_UP) &&
	    (c->state == VB_ST_CONNECTING || c->state == VB_ST_ACCEPTED))
		established(c);
}

/* ---- Responder ------------------------------------------------------- */

int vb_startup_accept(struct vb_conn *c, const struct fab_conn_params *params)
{
	unsigned int depth = vb_wanted_depth(c, params);

	if (c->state != VB_ST_REQUESTED)
		return -ENOTCONN;
	if (params->priv_len > UINT8_MAX)
		return -EINVAL;
	c->ev.ird = MIN(MIN(depth, c->dev->in_depth), c->cm.in_depth);
	c->ev.ord = MIN(MIN(depth, c->dev->out_depth), c->cm.out_depth);
	keep_private_data(c, params);
	c->state = VB_ST_PAIRING;
	vb_conn_timer_set(c, VB_TIMER_STARTUP);
	return 0;
}

void vb_reject(struct fab_conn *fc, const void *priv, size_t priv_len)
{
	/* What a rejection carries on InfiniBand. */
	static const size_t most = 148;
	struct vb_conn *c = vb_conn(fc);

	if (vb_conn_is_lent(c) || c->state != VB_ST_REQUESTED)
		return;
	priv_len = MIN(priv_len, most);
	rdma_reject(c->id, priv, (uint8_t)priv_len);
	c->state = VB_ST_REJECTED;
}
