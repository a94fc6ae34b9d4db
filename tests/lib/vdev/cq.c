/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cq - completion queues and their channels
 *
 * A place of a queue pair is free again only when the completion that covers it
 * has been polled, as for libraries of devices. A queue without room for a
 * completion is broken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "priv.h"

/* ---- Channels ------------------------------------------------------------- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct vchannel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	errno = vdev_command(ctx);
	if (errno) {
		free(ch);
		return NULL;
	}
	TAILQ_INIT(&ch->ready);
	ch->ch.context = ctx;
	ch->ch.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	vdevice_of(ctx)->objects++;
	pthread_mutex_unlock(&vdev.lock);
	return &ch->ch;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibch)
{
	struct vchannel *ch = container_of(ibch, struct vchannel, ch);

	pthread_mutex_lock(&vdev.lock);
	if (ch->users) {
		vdev_rule("a channel in use was destroyed");
		pthread_mutex_unlock(&vdev.lock);
		return EBUSY;
	}
	vdevice_of(ibch->context)->objects--;
	pthread_mutex_unlock(&vdev.lock);
	close(ibch->fd);
	free(ch);
	return 0;
}

static void tell(struct vcq *cq)
{
	struct vchannel *ch = container_of(cq->cq.channel, struct vchannel, ch);

	cq->armed = false;
	if (!cq->ready)
		TAILQ_INSERT_TAIL(&ch->ready, cq, link);
	cq->ready = true;
	vdev_raise(ch->ch.fd);
}

int ibv_get_cq_event(struct ibv_comp_channel *ibch, struct ibv_cq **cq,
		     void **context)
{
	struct vchannel *ch = container_of(ibch, struct vchannel, ch);
	struct vcq *c;

	do {
		if (vdev_lower(ibch->fd))
			return -1;
		pthread_mutex_lock(&vdev.lock);
		c = TAILQ_FIRST(&ch->ready);
		if (c) {
			TAILQ_REMOVE(&ch->ready, c, link);
			c->ready = false;
			c->out++;
			*cq = &c->cq;
			*context = c->cq.cq_context;
		}
		pthread_mutex_unlock(&vdev.lock);
	} while (!c);
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&vdev.lock);
	if (n > vcq(cq)->out)
		vdev_rule("a completion event was acknowledged twice");
	else
		vcq(cq)->out -= n;
	pthread_cond_broadcast(&vdev.acked);
	pthread_mutex_unlock(&vdev.lock);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	static const char *const name[] = {
		[IBV_WC_SUCCESS] = "success",
		[IBV_WC_LOC_LEN_ERR] = "local length error",
		[IBV_WC_LOC_QP_OP_ERR] = "local queue pair error",
		[IBV_WC_LOC_PROT_ERR] = "local protection error",
		[IBV_WC_WR_FLUSH_ERR] = "flushed",
		[IBV_WC_MW_BIND_ERR] = "bind error",
		[IBV_WC_LOC_ACCESS_ERR] = "local access error",
		[IBV_WC_REM_INV_REQ_ERR] = "invalid request at the peer",
		[IBV_WC_REM_ACCESS_ERR] = "access error at the peer",
		[IBV_WC_REM_OP_ERR] = "operation error at the peer",
		[IBV_WC_RETRY_EXC_ERR] = "retries exceeded",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retries exceeded",
	};

	return (size_t)status < sizeof(name) / sizeof(*name) && name[status] ?
		       name[status] :
		       "unknown";
}

/* ---- Queues --------------------------------------------------------------- */

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct vdevice *dev = vdevice_of(ctx);
	struct vcq *cq = calloc(1, sizeof(*cq));
	int rc = ENOMEM;

	if (cq && cqe > 0)
		cq->ring = calloc((size_t)cqe, sizeof(*cq->ring));
	if (!cq || !cq->ring)
		goto fail;
	rc = vdev_command(ctx);
	if (rc)
		goto fail;
	if (cqe > dev->profile->max_cqe || vector >= VDEV_VECTORS)
		rc = EINVAL;
	else if (dev->ncq == dev->profile->max_cq)
		rc = ENOMEM;
	if (!rc) {
		cq->cq.context = ctx;
		cq->cq.cq_context = context;
		cq->cq.channel = channel;
		cq->cq.cqe = cqe;
		dev->ncq++;
		dev->objects++;
		if (channel)
			container_of(channel, struct vchannel, ch)->users++;
	}
	pthread_mutex_unlock(&vdev.lock);
	if (!rc)
		return &cq->cq;
fail:
	if (cq)
		free(cq->ring);
	free(cq);
	errno = rc;
	return NULL;
}

int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct vcq *cq = vcq(ibcq);
	struct vdevice *dev = vdevice_of(ibcq->context);
	struct vchannel *ch = NULL;
	int rc = vdev_destroy(ibcq->context);

	if (cq->users && !dev->gone) {
		vdev_rule("a completion queue in use was destroyed");
		pthread_mutex_unlock(&vdev.lock);
		return EBUSY;
	}
	if (ibcq->channel)
		ch = container_of(ibcq->channel, struct vchannel, ch);
	if (cq->ready)
		TAILQ_REMOVE(&ch->ready, cq, link);
	cq->ready = false;
	while (cq->out)
		pthread_cond_wait(&vdev.acked, &vdev.lock);
	vdev_async_end(ibcq->context, &cq->async_out);
	if (ch)
		ch->users--;
	dev->ncq--;
	dev->objects--;
	pthread_mutex_unlock(&vdev.lock);
	free(cq->ring);
	free(cq);
	return rc;
}

/* Some completions are lost if there is no room for them. */
int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	int rc = vdev_command(cq->context);

	if (rc)
		return rc;
	if (vdevice_of(cq->context)->profile->siw)
		rc = ENOSYS;
	else if (cqe < cq->cqe)
		cq->cqe = cqe;
	pthread_mutex_unlock(&vdev.lock);
	return rc;
}

static struct vcqe *place(struct vcq *cq, uint64_t at)
{
	/* Whatever it was resized to, which was not to more. */
	return &cq->ring[at % (uint64_t)cq->cq.cqe];
}

void vdev_complete(struct vcq *cq, const struct vcqe *e)
{
	struct ibv_async_event ev = { .element.cq = &cq->cq,
				      .event_type = IBV_EVENT_CQ_ERR };

	if (cq->broken)
		return;
	if (cq->head - cq->tail == (uint64_t)cq->cq.cqe) {
		cq->broken = true;
		/* siw does not tell. */
		if (!e->qp->dev->profile->siw)
			vdev_async(cq->cq.context, &ev, &cq->async_out);
		vdev_qp_error(e->qp);
		return;
	}
	*place(cq, cq->head++) = *e;
	if (cq->armed)
		tell(cq);
}

void vdev_cq_forget(struct vcq *cq, const struct vqp *qp)
{
	uint64_t to = cq->tail;

	for (uint64_t at = cq->tail; at < cq->head; at++) {
		struct vcqe *e = place(cq, at);

		/* Most libraries take them out. */
		if (e->qp == qp && !qp->dev->profile->poll_names_qp)
			continue;
		if (e->qp == qp)
			e->qp = NULL;
		*place(cq, to++) = *e;
	}
	cq->head = to;
}

static void send_polled(const struct vcqe *e)
{
	if (e->upto > e->qp->freed)
		e->qp->freed = e->upto;
	/* Of what fails there may be completions that nobody asked for. */
	e->qp->signaled -= e->qp->signaled > 0;
}

int vdev_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct vcq *cq = vcq(ibcq);
	int got = 0;

	pthread_mutex_lock(&vdev.lock);
	while (got < n && cq->tail < cq->head) {
		struct vcqe *e = place(cq, cq->tail++);

		wc[got++] = e->wc;
		if (!e->qp)
			vdev_rule("a completion of a destroyed queue pair was "
				  "polled");
		else if (e->recv && !e->qp->qp.srq)
			e->qp->rq.freed++;
		else if (e->recv)
			vsrq(e->qp->qp.srq)->rq.freed++;
		else
			send_polled(e);
	}
	if (!got && cq->broken)
		got = vdev_choose(2) ? -1 : 0;
	pthread_mutex_unlock(&vdev.lock);
	return got;
}

int vdev_req_notify_cq(struct ibv_cq *ibcq, int solicited)
{
	struct vcq *cq = vcq(ibcq);

	pthread_mutex_lock(&vdev.lock);
	cq->armed = ibcq->channel;
	/* A device may tell of what was there before, or of nothing at all. */
	if (cq->armed && !vdev_choose(16))
		tell(cq);
	pthread_mutex_unlock(&vdev.lock);
	return 0;
}
