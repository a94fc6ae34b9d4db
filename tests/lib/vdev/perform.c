/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perform - what a device does with what was posted
 *
 * Requests of a queue pair are performed in order, with a bounded number in
 * each turn. On an iWARP device a Read may be passed by what comes after it.
 * The two ends fail as InfiniBand 1.4, chapter 9 and RFC 5040, section 7 have
 * it: a rule that the requester has broken is told at both.
 */
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define ACK_MS 5 /* between two looks for a peer that is silent */
#define SILENT_MS 300 /* then it has gone */
#define RNR_MS 1

enum outcome {
	DONE,
	LATER, /* it is tried again when qp->due is over */
};

/* ---- Completions ---------------------------------------------------------- */

static void complete_send(struct vqp *qp, uint64_t at,
			  enum ibv_wc_status status, bool force)
{
	static const enum ibv_wc_opcode op[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
		[IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
	};
	const struct vsend *s = &qp->ring[at % qp->depth];
	struct vcqe e = { .qp = qp,
			  .upto = qp->passed ? qp->passed - 1 : at + 1 };

	if (!force && !(s->wr.send_flags & IBV_SEND_SIGNALED))
		return;
	e.wc.wr_id = s->wr.wr_id;
	e.wc.status = status;
	e.wc.qp_num = qp->qp.qp_num;
	/* After an error nothing else of it is defined. */
	if (status == IBV_WC_SUCCESS)
		e.wc.opcode = op[s->wr.opcode];
	else
		e.wc.vendor_err = 0x40 + vdev_choose(64);
	vdev_complete(vcq(qp->qp.send_cq), &e);
}

static void complete_recv(struct vqp *qp, struct vrecv *r,
			  enum ibv_wc_status status, struct ibv_wc wc)
{
	struct vcqe e = { .qp = qp, .recv = true, .wc = wc };

	e.wc.wr_id = r->id;
	e.wc.status = status;
	e.wc.qp_num = qp->qp.qp_num;
	vdev_complete(vcq(qp->qp.recv_cq), &e);
}

/* The Read that was passed, with what has passed it. */
static bool complete_passed(struct vqp *qp, enum ibv_wc_status status)
{
	uint64_t at = qp->passed - 1;
	struct vcqe e;

	if (!qp->passed)
		return false;
	qp->passed = 0;
	e = (struct vcqe){ .qp = qp, .upto = qp->tail };
	e.wc = (struct ibv_wc){ .wr_id = qp->ring[at % qp->depth].wr.wr_id,
				.status = status,
				.opcode = IBV_WC_RDMA_READ,
				.qp_num = qp->qp.qp_num };
	vdev_complete(vcq(qp->qp.send_cq), &e);
	return true;
}

/* ---- Errors --------------------------------------------------------------- */

/* The request at the tail is what broke the connection. */
static enum outcome fail(struct vqp *qp, enum ibv_wc_status status)
{
	complete_send(qp, qp->tail++, status, true);
	vdev_qp_error(qp);
	return DONE;
}

/* The peer has broken a rule of ours. On iWARP a Terminate tells it, which
 * need not arrive. */
static enum outcome refuse(struct vqp *qp, struct vqp *to,
			   enum ibv_wc_status status, enum ibv_event_type event)
{
	if (!qp->dev->profile->siw)
		vdev_async_qp(to, event);
	vdev_qp_error(to);
	if (qp->dev->profile->iwarp && vdev_choose(2))
		status = IBV_WC_WR_FLUSH_ERR;
	return fail(qp, status);
}

static enum outcome again(struct vqp *qp, unsigned int ms)
{
	qp->due = vdev_now_ms() + ms;
	return LATER;
}

/* Nobody answers: the queue pair is no more, or a link is down. */
static enum outcome silent(struct vqp *qp)
{
	uint64_t now = vdev_now_ms();

	if (!qp->silent_since)
		qp->silent_since = now;
	if (now - qp->silent_since < SILENT_MS)
		return again(qp, ACK_MS);
	return fail(qp, IBV_WC_RETRY_EXC_ERR);
}

/* ---- Data ----------------------------------------------------------------- */

static uint64_t length_of(const struct ibv_sge *sge, int n)
{
	uint64_t len = 0;

	for (int i = 0; i < n; i++)
		len += sge[i].length;
	return len;
}

/* Copy between an element list and @len octets at @at. */
static void copy(const struct ibv_sge *sge, uint64_t at, uint64_t len,
		 bool to_list)
{
	for (; len; sge++) {
		uint64_t n = sge->length < len ? sge->length : len;
		void *list = (void *)(uintptr_t)sge->addr;
		void *flat = (void *)(uintptr_t)at;

		if (n && to_list)
			memmove(list, flat, n);
		else if (n)
			memmove(flat, list, n);
		at += n;
		len -= n;
	}
}

/* Copy the elements of a Send into those of a Receive, which has room. */
static void scatter(const struct ibv_sge *to, const struct ibv_sge *from, int n)
{
	uint64_t used = 0;

	for (int i = 0; i < n; i++) {
		uint64_t at = from[i].addr, len = from[i].length;

		while (len) {
			uint64_t part = to->length - used;

			part = part < len ? part : len;
			if (part)
				memmove((void *)(uintptr_t)(to->addr + used),
					(const void *)(uintptr_t)at, part);
			at += part;
			len -= part;
			used += part;
			if (used == to->length && len) {
				to++;
				used = 0;
			}
		}
	}
}

/* ---- Requests ------------------------------------------------------------- */

static struct vrq *recv_queue(struct vqp *qp)
{
	return qp->qp.srq ? &vsrq(qp->qp.srq)->rq : &qp->rq;
}

static void srq_check_limit(struct vsrq *srq)
{
	struct ibv_async_event ev = { .element.srq = &srq->srq,
				      .event_type =
					      IBV_EVENT_SRQ_LIMIT_REACHED };

	if (srq->rq.head - srq->rq.tail >= srq->limit)
		return;
	srq->limit = 0;
	vdev_async(srq->srq.context, &ev, &srq->async_out);
}

static enum outcome no_receive(struct vqp *qp, struct vqp *to)
{
	if (qp->dev->profile->iwarp)
		return refuse(qp, to, IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL);
	if (qp->rnr_retry == 7)
		return again(qp, RNR_MS);
	return fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
}

/* A message, or the notice of an RDMA Write with Immediate. */
static enum outcome deliver(struct vqp *qp, struct vqp *to,
			    const struct vsend *s)
{
	bool write = s->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	uint64_t len = length_of(s->sge, s->wr.num_sge);
	struct ibv_wc wc = { .byte_len = (uint32_t)len,
			     .opcode = write ? IBV_WC_RECV_RDMA_WITH_IMM :
					       IBV_WC_RECV };
	struct vrq *rq = recv_queue(to);
	struct vrecv *r = &rq->ring[rq->tail % rq->depth];
	uint32_t inv = to->dev->profile->siw ? s->wr.wr.rdma.rkey :
					       s->wr.invalidate_rkey;

	if (rq->tail == rq->head || (to->qp.srq && vsrq(to->qp.srq)->broken))
		return no_receive(qp, to);
	rq->tail++;
	if (to->qp.srq)
		srq_check_limit(vsrq(to->qp.srq));
	if (!write && len > length_of(r->sge, r->nsge)) {
		complete_recv(to, r,
			      to->dev->profile->rxe ? IBV_WC_LOC_QP_OP_ERR :
						      IBV_WC_LOC_LEN_ERR,
			      (struct ibv_wc){ 0 });
		return refuse(qp, to, IBV_WC_REM_INV_REQ_ERR,
			      IBV_EVENT_QP_REQ_ERR);
	}
	if (!vdev_local(to, r->sge, r->nsge, IBV_ACCESS_LOCAL_WRITE)) {
		complete_recv(to, r, IBV_WC_LOC_PROT_ERR, (struct ibv_wc){ 0 });
		return refuse(qp, to, IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL);
	}
	if (!write)
		scatter(r->sge, s->sge, s->wr.num_sge);
	if (s->wr.opcode == IBV_WR_SEND_WITH_INV) {
		if (!vdev_invalidate(to, inv)) {
			complete_recv(to, r, IBV_WC_LOC_ACCESS_ERR,
				      (struct ibv_wc){ 0 });
			return refuse(qp, to, IBV_WC_REM_ACCESS_ERR,
				      IBV_EVENT_QP_ACCESS_ERR);
		}
		wc.wc_flags = to->dev->profile->rxe ? IBV_WC_IP_CSUM_OK :
						      IBV_WC_WITH_INV;
		wc.invalidated_rkey = inv;
	} else if (write || s->wr.opcode == IBV_WR_SEND_WITH_IMM) {
		wc.wc_flags = IBV_WC_WITH_IMM;
	}
	if (to->comm_est)
		vdev_async_qp(to, IBV_EVENT_COMM_EST);
	to->comm_est = false;
	complete_recv(to, r, IBV_WC_SUCCESS, wc);
	complete_send(qp, qp->tail++, IBV_WC_SUCCESS, false);
	return DONE;
}

/* Returns false if it was refused. */
static bool reach(struct vqp *qp, struct vqp *to, const struct vsend *s,
		  uint64_t len, unsigned int access)
{
	if (!len && to->dev->profile->empty_error) {
		refuse(qp, to, to->dev->profile->empty_error,
		       IBV_EVENT_QP_REQ_ERR);
		return false;
	}
	/* The key of nothing is not checked. */
	if (!len || vdev_remote(to, s->wr.wr.rdma.rkey,
				s->wr.wr.rdma.remote_addr, len, access))
		return true;
	refuse(qp, to, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	return false;
}

static enum outcome write_or_read(struct vqp *qp, struct vqp *to,
				  struct vsend *s)
{
	uint64_t len = length_of(s->sge, s->wr.num_sge);
	bool read = s->wr.opcode == IBV_WR_RDMA_READ;

	if (!reach(qp, to, s, len,
		   read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE))
		return DONE;
	copy(s->sge, s->wr.wr.rdma.remote_addr, len, read);
	if (s->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return deliver(qp, to, s);
	if (read)
		complete_passed(qp, IBV_WC_SUCCESS);
	if (read && qp->dev->profile->iwarp && vdev_choose(2)) {
		qp->passed = ++qp->tail;
		return DONE;
	}
	complete_send(qp, qp->tail++, IBV_WC_SUCCESS, false);
	return DONE;
}

/* What its own end must allow. */
static bool local_is_right(struct vqp *qp, const struct vsend *s)
{
	bool read = s->wr.opcode == IBV_WR_RDMA_READ;
	unsigned int access = read ? IBV_ACCESS_LOCAL_WRITE : 0;

	if (read && qp->dev->profile->sink_rights)
		access |= IBV_ACCESS_REMOTE_WRITE;
	return s->wr.send_flags & IBV_SEND_INLINE ||
	       vdev_local(qp, s->sge, s->wr.num_sge, access);
}

static enum outcome perform(struct vqp *qp)
{
	struct vsend *s = &qp->ring[qp->tail % qp->depth];
	struct vqp *to;

	if (s->wr.opcode == IBV_WR_BIND_MW) {
		if (!vdev_bind(qp, &s->wr))
			return fail(qp, IBV_WC_MW_BIND_ERR);
		complete_send(qp, qp->tail++, IBV_WC_SUCCESS, false);
		return DONE;
	}
	/* siw stops here for ever. */
	if (s->wr.opcode == IBV_WR_SEND_WITH_INV && qp->dev->profile->siw &&
	    (s->wr.send_flags & IBV_SEND_INLINE))
		return again(qp, 1000);
	if (!local_is_right(qp, s))
		return fail(qp, IBV_WC_LOC_PROT_ERR);
	to = vdev_find_qp(qp->peer);
	if (!to || to->qp.state == IBV_QPS_ERR || qp->dev->down ||
	    to->dev->down || to->dev->gone || to->qp.state == IBV_QPS_INIT)
		return silent(qp);
	qp->silent_since = 0;
	if (s->wr.opcode == IBV_WR_RDMA_WRITE ||
	    s->wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	    s->wr.opcode == IBV_WR_RDMA_READ)
		return write_or_read(qp, to, s);
	return deliver(qp, to, s);
}

void vdev_bind_first(struct vqp *qp)
{
	while (qp->qp.state == IBV_QPS_RTS && qp->tail < qp->head &&
	       qp->ring[qp->tail % qp->depth].wr.opcode == IBV_WR_BIND_MW)
		perform(qp);
}

/* ---- Flushing ------------------------------------------------------------- */

static bool flush_send(struct vqp *qp)
{
	if (complete_passed(qp, IBV_WC_WR_FLUSH_ERR))
		return true;
	if (qp->tail == qp->head)
		return false;
	complete_send(qp, qp->tail++, IBV_WC_WR_FLUSH_ERR, true);
	return true;
}

static bool flush_recv(struct vqp *qp)
{
	if (qp->qp.srq || qp->rq.tail == qp->rq.head)
		return false;
	complete_recv(qp, &qp->rq.ring[qp->rq.tail++ % qp->rq.depth],
		      IBV_WC_WR_FLUSH_ERR, (struct ibv_wc){ 0 });
	return true;
}

/* Some of it, so that it may be destroyed meanwhile. Returns false if there is
 * nothing left. */
static bool flush(struct vqp *qp)
{
	bool recvs_first = qp->dev->profile->flush == FLUSH_RECVS;
	bool more = true;

	for (unsigned int n = 1 + vdev_choose(40); n && more; n--) {
		if (qp->dev->profile->flush == FLUSH_ANY)
			recvs_first = vdev_choose(2);
		more = recvs_first ? flush_recv(qp) || flush_send(qp) :
				     flush_send(qp) || flush_recv(qp);
	}
	return more;
}

/* ---- Turns ---------------------------------------------------------------- */

/* Returns true if it has more to do now. */
static bool turn_of(struct vqp *qp, uint64_t now, uint64_t *due)
{
	if (qp->dev->gone)
		return false;
	if (qp->flushing) {
		qp->flushing = flush(qp);
		return qp->flushing;
	}
	if (qp->qp.state != IBV_QPS_RTS)
		return false;
	if (qp->passed && (qp->tail == qp->head || !vdev_choose(3)))
		complete_passed(qp, IBV_WC_SUCCESS);
	if (qp->tail == qp->head)
		return false;
	for (unsigned int n = 1 + vdev_choose(8); n && now >= qp->due; n--) {
		if (perform(qp) == LATER)
			break;
		if (qp->qp.state != IBV_QPS_RTS)
			return true;
		if (qp->tail == qp->head)
			return qp->passed;
	}
	if (now >= qp->due)
		return true;
	*due = qp->due < *due ? qp->due : *due;
	return false;
}

bool vdev_turn(uint64_t *due)
{
	uint64_t now = vdev_now_ms();
	bool more = false, last_first = vdev_choose(2);
	struct vqp *qp;

	if (last_first) {
		TAILQ_FOREACH_REVERSE(qp, &vdev.qps, vqp_queue, link)
		more |= turn_of(qp, now, due);
	} else {
		TAILQ_FOREACH(qp, &vdev.qps, link)
		more |= turn_of(qp, now, due);
	}
	return more;
}
