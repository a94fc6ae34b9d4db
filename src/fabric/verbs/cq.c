/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cq - completions of the device
 *
 * A completion of the send queue names its slot by number. All requests before
 * it are complete too, except Reads, which have completions of their own and
 * may be passed by later requests on iWARP. A completion of a slot that is not
 * outstanding is a fault of the device and ends the connection; nothing is ever
 * returned twice.
 *
 * Only a Send makes a message of a Receive. An RDMA Write with Immediate
 * consumes one too; RPC-over-RDMA uses neither that nor Send with Immediate.
 *
 * Context: the runner of the connection.
 */
#include <errno.h>
#include <string.h>

#include "base/addr.h"
#include "device.h"
#include "srq.h"
#include "vb.h"
#include "window.h"

#define POLL_BATCH 16u

struct wc_error {
	int error;
	const char *reason;
};

static const struct wc_error *wc_error_of(enum ibv_wc_status status)
{
	static const struct wc_error other = { -EIO, "the device reports an "
						     "error" };
	static const struct wc_error known[] = {
		[IBV_WC_LOC_LEN_ERR] = { -EPROTO,
					 "message longer than its Receive" },
		[IBV_WC_LOC_PROT_ERR] = { -EIO, "local memory not accessible" },
		[IBV_WC_MW_BIND_ERR] = { -EIO, "binding a window failed" },
		[IBV_WC_LOC_ACCESS_ERR] = { -EPROTO,
					    "the peer's access was refused" },
		[IBV_WC_REM_INV_REQ_ERR] = { -ECONNRESET,
					     "invalid request, says the peer" },
		[IBV_WC_REM_ACCESS_ERR] = { -ECONNRESET,
					    "access refused by the peer" },
		[IBV_WC_REM_OP_ERR] = { -ECONNRESET,
					"operation failed at the peer" },
		[IBV_WC_RETRY_EXC_ERR] = { -ETIMEDOUT,
					   "the peer does not answer" },
		[IBV_WC_RNR_RETRY_EXC_ERR] = { -ECONNRESET,
					       "the peer has no Receive" },
		[IBV_WC_REM_ABORT_ERR] = { -ECONNRESET, "ended by the peer" },
	};

	if ((unsigned int)status < sizeof(known) / sizeof(known[0]) &&
	    known[status].reason)
		return &known[status];
	return &other;
}

/* Keep the first reason. The flushes that follow say nothing. */
static enum fab_status wc_failure(struct vb_conn *c, const struct ibv_wc *wc)
{
	enum ibv_wc_status status = wc->status;
	const struct wc_error *m;

	if (status == IBV_WC_WR_FLUSH_ERR)
		return FAB_FLUSHED;
	/* rxe reports a Receive that is too short like this. */
	if (status == IBV_WC_LOC_QP_OP_ERR && (wc->wr_id & VB_RECV_ID))
		status = IBV_WC_LOC_LEN_ERR;
	m = wc_error_of(status);
	if (!c->broke)
		vb_conn_fail(
			c, m->error,
			vb_conn_reason(
				c,
				"%s (%s, queue pair %u: %s, vendor error %#x)",
				m->reason, c->dev->name, wc->qp_num,
				ibv_wc_status_str(wc->status), wc->vendor_err));
	return FAB_ERROR;
}

/*
 * Returns true if @status says that the peer's device does not take an empty operation, as
 * it should: not that there is no answer, that something is wrong here, or that the
 * connection has ended.
 */
static bool is_refusal(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_INV_REQ_ERR ||
	       status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR;
}

static void probe_completed(struct vb_conn *c, enum ibv_wc_status status)
{
	struct in6_addr host = base_addr_host((struct sockaddr *)&c->ev.peer);
	struct vb_domain *d = vb_conn_domain(c);
	char peer[64];

	if (!is_refusal(status) || base_known_has(&d->unprobed, &host))
		return;
	base_known_put(&d->unprobed, &host);
	base_addr_name((struct sockaddr *)&c->ev.peer, peer, sizeof(peer));
	fab_domain_log_peer(
		&d->fab, &c->ev.peer, 4,
		"verbs: %s: %s answers a probe with an error (%s): this host's connections are not probed any more",
		c->dev->name, peer, ibv_wc_status_str(status));
}

/* ---- Send queue ------------------------------------------------------ */

static void slot_release(struct vb_conn *c, struct vb_slot *slot)
{
	struct ibv_mr *sink = slot->sink;

	slot->done = true;
	slot->sink = NULL;
	if (!sink || !vb_device_keeps(c->dev, vb_deregister(c->dev, sink)))
		return;
	fab_mr_quarantine(slot->sink_of, sink->addr, sink->length);
	vb_conn_fail(c, -EIO, "the key of an RDMA Read cannot be closed");
}

static void send_succeeded(struct vb_conn *c, uint64_t seq)
{
	struct vb_slot *slot = &c->slot[seq % c->sq_depth];
	struct fab_wr *wr = slot->wr;

	slot_release(c, slot);
	if (slot->read && slot->last)
		c->reads_out--;
	if (!wr)
		return;
	switch ((enum vb_wr_kind)wr->priv[WR_KIND]) {
	case KIND_BIND:
		vb_window_bound(c, container_of(wr, struct vb_window, wr), seq);
		break;
	case KIND_PROBE:
		c->probe_out = false;
		break;
	case KIND_USER:
		if (slot->last && (slot->read || (wr->flags & FAB_F_SIGNALED)))
			fab_complete(&c->ev.done, wr, FAB_OK);
		break;
	}
}

static void send_failed(struct vb_conn *c, uint64_t seq, enum fab_status status)
{
	struct vb_slot *slot = &c->slot[seq % c->sq_depth];
	struct fab_wr *wr = slot->wr;

	slot_release(c, slot);
	if (!wr)
		return;
	if (wr->priv[WR_KIND] == KIND_USER)
		fab_complete(&c->ev.done, wr, status);
	/* The other parts of a Read have nothing to add. */
	for (uint64_t s = seq + 1; s < c->sq_head; s++)
		if (c->slot[s % c->sq_depth].wr == wr)
			c->slot[s % c->sq_depth].wr = NULL;
}

static void send_completed(struct vb_conn *c, const struct ibv_wc *wc)
{
	uint64_t seq = wc->wr_id;

	if (seq < c->sq_tail || seq >= c->sq_head ||
	    c->slot[seq % c->sq_depth].done) {
		/* siw flushes a Read again whose answer has just come. */
		if (wc->status == IBV_WC_WR_FLUSH_ERR)
			return;
		vb_conn_fail(c, -EIO, "the device completed a request twice");
		return;
	}
	for (uint64_t s = c->sq_tail; s < seq; s++) {
		struct vb_slot *slot = &c->slot[s % c->sq_depth];

		if (!slot->done && !slot->read)
			send_succeeded(c, s);
	}
	if (c->slot[seq % c->sq_depth].wr == &c->probe)
		probe_completed(c, wc->status);
	if (wc->status == IBV_WC_SUCCESS)
		send_succeeded(c, seq);
	else
		send_failed(c, seq, wc_failure(c, wc));
	while (c->sq_tail < c->sq_head &&
	       c->slot[c->sq_tail % c->sq_depth].done)
		c->sq_tail++;
}

/* ---- Receive queue --------------------------------------------------- */

static void free_memory(struct vb_conn *c, void *memory)
{
	const struct fab_srq_params *share = &vb_conn_domain(c)->fab.srq;

	if (memory)
		share->free(share->ctx, memory);
}

/* No message is in this Receive. */
static void recv_failed(struct vb_conn *c, struct fab_wr *wr,
			enum fab_status status)
{
	free_memory(c, (void *)(uintptr_t)wr->priv[WR_MEMORY]);
	wr->priv[WR_MEMORY] = 0;
	fab_complete(&c->ev.done, wr, status);
}

/* Did a Send complete it, of no more octets than it has? */
static bool is_message(struct vb_conn *c, const struct fab_wr *wr,
		       const struct ibv_wc *wc)
{
	if (wc->opcode != IBV_WC_RECV)
		vb_conn_fail(c, -EPROTO,
			     "RDMA Write with Immediate instead of a message");
	else if (wc->wc_flags & IBV_WC_WITH_IMM)
		vb_conn_fail(c, -EPROTO,
			     "Send with Immediate instead of a message");
	else if (wc->byte_len > wr->sge[0].len)
		vb_conn_fail(c, -EPROTO, "message longer than its Receive");
	else
		return true;
	return false;
}

static void recv_succeeded(struct vb_conn *c, struct fab_wr *wr,
			   const struct ibv_wc *wc)
{
	const uint32_t *inv = NULL;

	if (!is_message(c, wr, wc)) {
		recv_failed(c, wr, FAB_ERROR);
		return;
	}
	c->ev.count.recvs++;
	c->ev.count.recv_bytes += wc->byte_len;
	if (wc->wc_flags & c->dev->inv_flag)
		inv = &wc->invalidated_rkey;
	fab_complete_message(&c->ev.done, wr, wc->byte_len, inv);
	if (inv)
		vb_window_invalidated(c, *inv);
}

/* Whose Receive it is, is decided here. */
static void srq_recv_completed(struct vb_conn *c, const struct ibv_wc *wc)
{
	void *memory = vb_srq_take(c, wc->wr_id);
	struct fab_wr *wr = c->rq.head;
	enum fab_status status = FAB_OK;

	if (!memory) {
		vb_conn_fail(c, -EIO, "the device completed a Receive twice");
		return;
	}
	if (wc->status != IBV_WC_SUCCESS) {
		status = wc_failure(c, wc);
	} else if (!wr) {
		vb_conn_fail(c, -EPROTO, "message without a Receive");
	}
	/* A flushed one belongs to no connection. */
	if (!wr || status == FAB_FLUSHED) {
		free_memory(c, memory);
		return;
	}
	wr_take(&c->rq);
	vb_srq_redeem(c, 1);
	wr->priv[WR_MEMORY] = (uintptr_t)memory;
	if (status == FAB_OK)
		recv_succeeded(c, wr, wc);
	else
		recv_failed(c, wr, status);
}

static void recv_completed(struct vb_conn *c, const struct ibv_wc *wc)
{
	uint64_t seq = wc->wr_id & ~VB_RECV_ID;
	struct fab_wr *wr;

	if (c->srq) {
		srq_recv_completed(c, wc);
		return;
	}
	if (seq != c->rq_tail || seq >= c->rq_head) {
		vb_conn_fail(c, -EIO, "the device completed a Receive twice");
		return;
	}
	wr = c->rslot[seq % c->rq_depth];
	c->rq_tail++;
	if (wc->status == IBV_WC_SUCCESS)
		recv_succeeded(c, wr, wc);
	else
		recv_failed(c, wr, wc_failure(c, wc));
}

/* ---- Both ------------------------------------------------------------ */

unsigned int vb_cq_progress(struct vb_conn *c, unsigned int budget)
{
	struct ibv_wc wc[POLL_BATCH];
	unsigned int total = 0;

	while (total < budget) {
		bool broken;
		unsigned int n = vb_cq_take(c, wc, POLL_BATCH, &broken);

		for (unsigned int i = 0; i < n; i++) {
			if (wc[i].status == IBV_WC_SUCCESS)
				c->heard++;
			if (wc[i].wr_id & VB_RECV_ID)
				recv_completed(c, &wc[i]);
			else
				send_completed(c, &wc[i]);
		}
		total += n;
		if (n == POLL_BATCH)
			continue;
		if (broken) {
			c->incomplete = true;
			vb_conn_fail(c, -EIO, "the completion queue is broken");
		}
		break;
	}
	return total;
}

/* The device may still write there. */
static void quarantine_wr(struct vb_conn *c, struct fab_wr *wr)
{
	const struct fab_srq_params *share = &vb_conn_domain(c)->fab.srq;

	/* Shared memory is simply not freed. */
	if (wr->op == FAB_RECV && share->alloc) {
		wr->priv[WR_MEMORY] = 0;
		return;
	}
	for (unsigned int i = 0; i < wr->nsge; i++)
		if (wr->sge[i].mr)
			fab_mr_quarantine(wr->sge[i].mr, wr->sge[i].addr,
					  wr->sge[i].len);
}

static void flush_list(struct vb_conn *c, struct wr_list *l)
{
	struct fab_wr *wr;

	while ((wr = wr_take(l)))
		if (wr->op == FAB_RECV)
			recv_failed(c, wr, FAB_FLUSHED);
		else if (wr->priv[WR_KIND] == KIND_USER)
			fab_complete(&c->ev.done, wr, FAB_FLUSHED);
}

void vb_cq_flush(struct vb_conn *c, bool keeps)
{
	for (; c->sq_tail < c->sq_head; c->sq_tail++) {
		struct vb_slot *slot = &c->slot[c->sq_tail % c->sq_depth];
		bool user = slot->wr && slot->wr->priv[WR_KIND] == KIND_USER;

		if (slot->done)
			continue;
		slot_release(c, slot);
		if (user && keeps)
			quarantine_wr(c, slot->wr);
		if (user && slot->last)
			fab_complete(&c->ev.done, slot->wr, FAB_FLUSHED);
	}
	flush_list(c, &c->reads);
	flush_list(c, &c->sq);
	for (; c->rq_tail < c->rq_head; c->rq_tail++) {
		struct fab_wr *wr = c->rslot[c->rq_tail % c->rq_depth];

		if (keeps)
			quarantine_wr(c, wr);
		recv_failed(c, wr, FAB_FLUSHED);
	}
	if (c->srq)
		vb_srq_redeem(c, c->promised);
	flush_list(c, &c->rq);
}
