/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue - queue pairs and shared receive queues: creating, posting
 *
 * Posting copies a request and its inline data; perform.c does the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

struct vqp *vdev_find_qp(uint32_t num)
{
	struct vqp *qp;

	TAILQ_FOREACH(qp, &vdev.qps, link)
	if (qp->qp.qp_num == num)
		return qp;
	return NULL;
}

/* ---- Creating ------------------------------------------------------------- */

static int check_size(const struct vdev_profile *p,
		      const struct ibv_qp_init_attr *a)
{
	const struct ibv_qp_cap *cap = &a->cap;

	if (cap->max_inline_data > p->max_inline)
		return p->inline_error;
	if (cap->max_send_wr > (unsigned int)p->max_qp_wr ||
	    cap->max_recv_wr > (unsigned int)p->max_qp_wr ||
	    cap->max_send_sge > (unsigned int)p->max_sge ||
	    cap->max_recv_sge > (unsigned int)p->max_sge || !cap->max_send_wr ||
	    (!a->srq && !cap->max_recv_wr) || a->qp_type != IBV_QPT_RC ||
	    !a->send_cq || !a->recv_cq)
		return EINVAL;
	return 0;
}

/* Some libraries grant more than was asked for. */
static unsigned int at_least(unsigned int n, unsigned int most)
{
	unsigned int more = n + vdev_choose(3) * 16;

	return more > most ? n : more;
}

static void qp_free(struct vqp *qp)
{
	if (!qp)
		return;
	free(qp->ring);
	free(qp->rq.ring);
	free(qp);
}

/* Lock held. */
static struct vqp *qp_make(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct vdevice *dev = vdevice_of(pd->context);
	struct vqp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->dev = dev;
	if (a->cap.max_inline_data)
		a->cap.max_inline_data = at_least(a->cap.max_inline_data,
						  dev->profile->max_inline);
	qp->depth = a->cap.max_send_wr;
	qp->max_sge = (int)a->cap.max_send_sge;
	qp->max_inline = a->cap.max_inline_data;
	qp->ring = calloc(qp->depth, sizeof(*qp->ring));
	if (!a->srq) {
		qp->rq.depth = a->cap.max_recv_wr;
		qp->rq.max_sge = (int)a->cap.max_recv_sge;
		qp->rq.ring = calloc(qp->rq.depth, sizeof(*qp->rq.ring));
	}
	if (!qp->ring || (!a->srq && !qp->rq.ring)) {
		qp_free(qp);
		return NULL;
	}
	qp->qp = (struct ibv_qp){ .context = pd->context,
				  .qp_context = a->qp_context,
				  .pd = pd,
				  .send_cq = a->send_cq,
				  .recv_cq = a->recv_cq,
				  .srq = a->srq,
				  .qp_num = vdev.next_qp_num++,
				  .state = IBV_QPS_INIT,
				  .qp_type = a->qp_type };
	return qp;
}

/* Count, or no longer, what a queue pair uses. */
static void qp_users(struct vqp *qp, unsigned int n)
{
	vcq(qp->qp.send_cq)->users += n;
	vcq(qp->qp.recv_cq)->users += n;
	vpd(qp->qp.pd)->users += n;
	if (qp->qp.srq)
		vsrq(qp->qp.srq)->users += n;
	qp->dev->nqp += (int)n;
	qp->dev->objects += n;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct vdevice *dev = vdevice_of(pd->context);
	struct vqp *qp = NULL;

	errno = vdev_command(pd->context);
	if (errno)
		return NULL;
	errno = dev->nqp == dev->profile->max_qp ? ENOMEM :
						   check_size(dev->profile, a);
	if (!errno)
		qp = qp_make(pd, a);
	if (qp) {
		qp_users(qp, 1);
		TAILQ_INSERT_TAIL(&vdev.qps, qp, link);
	}
	pthread_mutex_unlock(&vdev.lock);
	return qp ? &qp->qp : NULL;
}

int ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct vqp *qp = vqp(ibqp);
	int rc = vdev_destroy(ibqp->context);

	TAILQ_REMOVE(&vdev.qps, qp, link);
	vdev_async_end(ibqp->context, &qp->async_out);
	vdev_cq_forget(vcq(ibqp->send_cq), qp);
	vdev_cq_forget(vcq(ibqp->recv_cq), qp);
	qp_users(qp, -1u);
	pthread_mutex_unlock(&vdev.lock);
	qp_free(qp);
	return rc;
}

void vdev_qp_error(struct vqp *qp)
{
	if (qp->qp.state == IBV_QPS_ERR)
		return;
	qp->qp.state = IBV_QPS_ERR;
	qp->flushing = qp->dev->profile->flush != FLUSH_NONE;
	if (qp->qp.srq && !qp->dev->gone)
		vdev_async_qp(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	if (qp->dev->profile->iwarp)
		vdev_cm_qp_ended(qp);
	vdev_wake();
}

int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct vqp *qp = vqp(ibqp);
	int rc = vdev_command(ibqp->context);

	if (rc)
		return rc;
	if (!(mask & IBV_QP_STATE))
		; /* timers, which differ in nothing here */
	else if (attr->qp_state == IBV_QPS_ERR)
		vdev_qp_error(qp);
	else
		rc = EINVAL; /* the connection manager does that */
	pthread_mutex_unlock(&vdev.lock);
	return rc;
}

/* ---- Shared receive queues ------------------------------------------------ */

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	struct vdevice *dev = vdevice_of(pd->context);
	struct vsrq *srq = calloc(1, sizeof(*srq));
	int rc = srq ? vdev_command(pd->context) : ENOMEM;

	if (!rc) {
		srq->rq.ring = calloc(a->attr.max_wr, sizeof(*srq->rq.ring));
		if (!srq->rq.ring)
			rc = ENOMEM;
		else if (a->attr.max_wr >
			 (unsigned int)dev->profile->max_srq_wr)
			rc = EINVAL;
		if (!rc) {
			srq->rq.depth = a->attr.max_wr;
			srq->rq.max_sge = (int)a->attr.max_sge;
			srq->srq.context = pd->context;
			srq->srq.srq_context = a->srq_context;
			srq->srq.pd = pd;
			vpd(pd)->users++;
			dev->objects++;
		}
		pthread_mutex_unlock(&vdev.lock);
	}
	if (!rc)
		return &srq->srq;
	if (srq)
		free(srq->rq.ring);
	free(srq);
	errno = rc;
	return NULL;
}

int ibv_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct vsrq *srq = vsrq(ibsrq);
	int rc = vdev_command(ibsrq->context);

	if (rc)
		return rc;
	rc = mask == IBV_SRQ_LIMIT ? 0 : EINVAL;
	if (!rc)
		srq->limit = attr->srq_limit;
	pthread_mutex_unlock(&vdev.lock);
	return rc;
}

int ibv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct vsrq *srq = vsrq(ibsrq);
	struct vdevice *dev = vdevice_of(ibsrq->context);
	int rc = vdev_destroy(ibsrq->context);

	if (srq->users && !dev->gone) {
		vdev_rule("a shared receive queue in use was destroyed");
		pthread_mutex_unlock(&vdev.lock);
		return EBUSY;
	}
	vdev_async_end(ibsrq->context, &srq->async_out);
	vpd(ibsrq->pd)->users--;
	dev->objects--;
	pthread_mutex_unlock(&vdev.lock);
	free(srq->rq.ring);
	free(srq);
	return rc;
}

/* ---- Posting -------------------------------------------------------------- */

static bool op_is_known(const struct vdev_profile *p,
			const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		return true;
	case IBV_WR_SEND_WITH_INV:
		return p->sends_inv;
	case IBV_WR_BIND_MW:
		return p->windows == WINDOWS_2B || p->windows == WINDOWS_2;
	default:
		return false;
	}
}

/* Returns 0, or EINVAL if there is too much of it. */
static int copy_inline(struct vsend *s, const struct ibv_send_wr *wr,
		       unsigned int most)
{
	unsigned int len = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length > most - len)
			return EINVAL;
		memcpy(s->data + len, (const void *)(uintptr_t)sge->addr,
		       sge->length);
		len += sge->length;
	}
	s->sge[0] =
		(struct ibv_sge){ .addr = (uintptr_t)s->data, .length = len };
	s->wr.num_sge = 1;
	return 0;
}

static int post_one(struct vqp *qp, const struct ibv_send_wr *wr)
{
	const struct vdev_profile *p = qp->dev->profile;
	struct vsend *s = &qp->ring[qp->head % qp->depth];
	bool late = qp->qp.state == IBV_QPS_ERR;

	if (qp->dev->gone)
		return vdev_choose(2) ? EIO : 0;
	if ((qp->qp.state != IBV_QPS_RTS && !late) || (late && p->refuses_late))
		return EINVAL;
	/* There is no room for reasons of its own only while a completion is
	 * to come, after which there may be. */
	if (qp->head - qp->freed >= qp->depth ||
	    (qp->signaled && vdev_choose(10) < p->short_sends))
		return ENOMEM;
	if (!op_is_known(p, wr) || wr->num_sge > qp->max_sge ||
	    (wr->opcode == IBV_WR_RDMA_READ && wr->num_sge > p->max_sge_rd))
		return EINVAL;
	s->wr = *wr;
	if (wr->num_sge)
		memcpy(s->sge, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(*s->sge));
	if ((wr->send_flags & IBV_SEND_INLINE) &&
	    copy_inline(s, wr, qp->max_inline))
		return EINVAL;
	qp->signaled += !!(wr->send_flags & IBV_SEND_SIGNALED);
	qp->head++;
	return 0;
}

int vdev_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad)
{
	struct vqp *qp = vqp(ibqp);
	int rc = 0;

	pthread_mutex_lock(&vdev.lock);
	for (; wr && !rc; wr = wr->next) {
		rc = post_one(qp, wr);
		if (rc)
			*bad = wr;
	}
	/* What is posted after the error is flushed as well. */
	if (qp->qp.state == IBV_QPS_ERR)
		qp->flushing = qp->dev->profile->flush != FLUSH_NONE;
	vdev_bind_first(qp);
	vdev_wake();
	pthread_mutex_unlock(&vdev.lock);
	return rc;
}

static int recv_one(struct vrq *rq, const struct vdevice *dev,
		    const struct ibv_recv_wr *wr)
{
	struct vrecv *r = &rq->ring[rq->head % rq->depth];

	if (dev->gone)
		return vdev_choose(2) ? EIO : 0;
	/* A queue that was never used has its room. */
	if (rq->head - rq->freed >= rq->depth ||
	    (rq->freed && vdev_choose(10) < dev->profile->short_recvs))
		return ENOMEM;
	if (wr->num_sge > rq->max_sge || (dev->profile->siw && !wr->num_sge))
		return EINVAL;
	r->id = wr->wr_id;
	r->nsge = wr->num_sge;
	if (wr->num_sge)
		memcpy(r->sge, wr->sg_list,
		       (size_t)wr->num_sge * sizeof(*r->sge));
	rq->head++;
	return 0;
}

static int recv_chain(struct vrq *rq, const struct vdevice *dev,
		      struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int rc = 0;

	for (; wr && !rc; wr = wr->next) {
		rc = recv_one(rq, dev, wr);
		if (rc)
			*bad = wr;
	}
	vdev_wake();
	return rc;
}

int vdev_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad)
{
	struct vqp *qp = vqp(ibqp);
	int rc = EINVAL;

	pthread_mutex_lock(&vdev.lock);
	*bad = wr;
	if (qp->qp.state != IBV_QPS_ERR || !qp->dev->profile->refuses_late)
		rc = recv_chain(&qp->rq, qp->dev, wr, bad);
	if (qp->qp.state == IBV_QPS_ERR)
		qp->flushing = qp->dev->profile->flush != FLUSH_NONE;
	pthread_mutex_unlock(&vdev.lock);
	return rc;
}

int vdev_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad)
{
	struct vsrq *srq = vsrq(ibsrq);
	int rc;

	pthread_mutex_lock(&vdev.lock);
	rc = recv_chain(&srq->rq, vdevice_of(ibsrq->context), wr, bad);
	pthread_mutex_unlock(&vdev.lock);
	return rc;
}
