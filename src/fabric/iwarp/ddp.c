/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ddp - validation, placement and delivery of inbound DDP segments
 *
 * iw_ddp_check() sees headers only. Nothing of a segment counts before it has passed, though
 * a predicted payload may lie in its place (fpdu_rx.c). The causes are those of RFC 5041 section 7 (DDP) and RFC 5040
 * section 7 (RDMAP).
 *
 * Context: the runner of the connection.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "iw.h"

static unsigned int check_write(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;
	const struct stag_entry *e;
	size_t end;

	/* RFC 5041 section 5.2: no check of an empty Write. A peer-to-peer
	 * start-up sends one (RFC 6581). */
	if (!rx->payload)
		return 0;
	e = iw_stag_find(&c->stags, be32_get(rx->hdr + OFF_TAGGED_STAG));
	if (!e)
		return TERM_DDP_STAG;
	if (!(e->access & FAB_REMOTE_WRITE))
		return TERM_RDMAP_ACCESS;
	switch (iw_stag_range(e, be64_get(rx->hdr + OFF_TAGGED_TO), rx->payload,
			      &rx->dest)) {
	case STAG_WRAP:
		return TERM_DDP_WRAP;
	case STAG_BOUNDS:
		return TERM_DDP_BOUNDS;
	case STAG_OK:
		break;
	}
	end = (size_t)(rx->dest - e->addr) + rx->payload;
	if (end > e->top)
		c->stags.e[e - c->stags.e].top = end;
	return 0;
}

/* Responses come in the order of the requests, each in order from offset 0. */
static unsigned int check_read_response(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;
	const struct iw_orq *o = &c->orq[c->orq_head];
	size_t len, left;

	if (!c->orq_count || be32_get(rx->hdr + OFF_TAGGED_STAG) != o->stag)
		return TERM_DDP_STAG;
	len = o->wr->priv[WR_LEN];
	left = len - o->got;
	if ((len && be64_get(rx->hdr + OFF_TAGGED_TO) != o->got) ||
	    rx->payload > left || rx->last != (rx->payload == left))
		return TERM_DDP_BOUNDS;
	return 0;
}

static unsigned int check_untagged(const struct iw_conn *c, enum ddp_queue qn)
{
	const struct iw_rx *rx = &c->rx;

	if (be32_get(rx->hdr + OFF_UNTAGGED_QN) != (uint32_t)qn)
		return TERM_DDP_QN;
	if (be32_get(rx->hdr + OFF_UNTAGGED_MSN) != rx->msn[qn])
		return TERM_DDP_MSN;
	return 0;
}

static unsigned int check_send(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;
	const struct fab_wr *wr = c->rq.head;
	unsigned int cause = check_untagged(c, DDP_QN_SEND);
	size_t room;

	if (cause)
		return cause;
	if (!wr)
		return TERM_DDP_NO_BUFFER;
	if (be32_get(rx->hdr + OFF_UNTAGGED_MO) != rx->send_got)
		return TERM_DDP_MO;
	if (rx->send_got && rx->opcode != rx->send_op)
		return TERM_RDMAP_OPCODE;
	room = wr->nsge ? wr->sge[0].len : 0;
	if (rx->payload > room - rx->send_got) {
		/* This Receive is in error, the others are flushed. */
		fab_complete(&c->ev.done, wr_take(&c->rq), FAB_ERROR);
		return TERM_DDP_TOO_LONG;
	}
	if (rx->payload)
		rx->dest = (uint8_t *)wr->sge[0].addr + rx->send_got;
	return 0;
}

static unsigned int check_read_request(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;
	const uint8_t *h = rx->hdr;
	unsigned int cause = check_untagged(c, DDP_QN_READ_REQ);
	const struct stag_entry *e;
	uint32_t len = be32_get(h + OFF_RREQ_SIZE);
	uint8_t *src;

	if (cause)
		return cause;
	if (be32_get(h + OFF_UNTAGGED_MO))
		return TERM_DDP_MO;
	if (rx->payload || !rx->last)
		return TERM_DDP_TOO_LONG;
	/* The buffers of this queue are the read depth. */
	if (c->irq_count >= c->ev.ird)
		return TERM_DDP_NO_BUFFER;
	if (!len)
		return 0;
	e = iw_stag_find(&c->stags, be32_get(h + OFF_RREQ_SRC_STAG));
	if (!e)
		return TERM_RDMAP_STAG;
	if (!(e->access & FAB_REMOTE_READ))
		return TERM_RDMAP_ACCESS;
	switch (iw_stag_range(e, be64_get(h + OFF_RREQ_SRC_TO), len, &src)) {
	case STAG_WRAP:
		return TERM_RDMAP_WRAP;
	case STAG_BOUNDS:
		return TERM_RDMAP_BOUNDS;
	case STAG_OK:
		break;
	}
	return 0;
}

unsigned int iw_ddp_check(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;
	bool tagged = rx->hdr[OFF_DDP_CTRL] & DDP_TAGGED;

	rx->dest = NULL;
	if ((rx->hdr[OFF_DDP_CTRL] & DDP_VERSION_MASK) != DDP_VERSION)
		return tagged ? TERM_DDP_TAGGED_VERSION :
				TERM_DDP_UNTAGGED_VERSION;
	if ((rx->hdr[OFF_RDMAP_CTRL] & RDMAP_VERSION_MASK) != RDMAP_VERSION)
		return TERM_RDMAP_VERSION;
	switch (rx->opcode) {
	case RDMAP_WRITE:
		return tagged ? check_write(c) : TERM_RDMAP_OPCODE;
	case RDMAP_READ_RESP:
		return tagged ? check_read_response(c) : TERM_RDMAP_OPCODE;
	case RDMAP_SEND:
	case RDMAP_SEND_INV:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INV:
		return tagged ? TERM_RDMAP_OPCODE : check_send(c);
	case RDMAP_READ_REQ:
		return tagged ? TERM_RDMAP_OPCODE : check_read_request(c);
	case RDMAP_TERMINATE:
		if (tagged)
			return TERM_RDMAP_OPCODE;
		return check_untagged(c, DDP_QN_TERMINATE);
	default:
		return TERM_RDMAP_OPCODE;
	}
}

bool iw_ddp_still_open(const struct iw_conn *c)
{
	const struct iw_rx *rx = &c->rx;

	/* All others go to memory of a posted request. */
	return rx->opcode != RDMAP_WRITE ||
	       iw_stag_find(&c->stags, be32_get(rx->hdr + OFF_TAGGED_STAG));
}

unsigned int iw_ddp_dest(const struct iw_conn *c, struct iovec *iov,
			 unsigned int max, size_t skip, size_t len)
{
	const struct iw_rx *rx = &c->rx;
	const struct iw_orq *o;
	unsigned int n = 0, i;

	if (rx->opcode != RDMAP_READ_RESP) {
		iov[0].iov_base = rx->dest + rx->placed + skip;
		iov[0].iov_len = len;
		return 1;
	}
	o = &c->orq[c->orq_head];
	skip += o->off;
	for (i = o->sge; len && n < max && i < o->wr->nsge; i++) {
		const struct fab_sge *s = &o->wr->sge[i];
		size_t part = s->len - skip;

		if (s->len <= skip) {
			skip -= s->len;
			continue;
		}
		part = MIN(part, len);
		iov[n].iov_base = (uint8_t *)s->addr + skip;
		iov[n++].iov_len = part;
		len -= part;
		skip = 0;
	}
	return n;
}

size_t iw_ddp_room(const struct iw_conn *c)
{
	const struct iw_rx *rx = &c->rx;
	size_t left = rx->payload - rx->placed, end;
	const struct stag_entry *e;
	const struct iw_orq *o;

	if (rx->last)
		return 0;
	if (rx->opcode == RDMAP_READ_RESP) {
		o = &c->orq[c->orq_head];
		return o->wr->priv[WR_LEN] - o->got - left;
	}
	if (rx->opcode != RDMAP_WRITE)
		return 0;
	e = iw_stag_find(&c->stags, be32_get(rx->hdr + OFF_TAGGED_STAG));
	if (!e)
		return 0;
	end = (size_t)(rx->dest - e->addr) + rx->payload;
	return end == e->top ? e->len - end : 0;
}

void iw_ddp_advance(struct iw_conn *c, size_t len)
{
	struct iw_orq *o;

	c->rx.placed += (unsigned int)len;
	if (c->rx.opcode != RDMAP_READ_RESP)
		return;
	o = &c->orq[c->orq_head];
	o->got += len;
	while (len) {
		size_t part = o->wr->sge[o->sge].len - o->off;

		if (part > len) {
			o->off += len;
			return;
		}
		len -= part;
		o->sge++;
		o->off = 0;
	}
}

static unsigned int deliver_send(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;
	struct fab_wr *wr = c->rq.head;
	uint32_t stag = be32_get(rx->hdr + OFF_UNTAGGED_WORD);
	bool inv = rx->opcode == RDMAP_SEND_INV ||
		   rx->opcode == RDMAP_SEND_SE_INV;

	rx->send_got += rx->payload;
	rx->send_op = rx->opcode;
	if (!rx->last)
		return 0;
	if (inv && !iw_stag_del(&c->stags, stag))
		return TERM_RDMAP_NO_INVALIDATE;
	wr_take(&c->rq);
	fab_complete_message(&c->ev.done, wr, rx->send_got, inv ? &stag : NULL);
	c->ev.count.recvs++;
	c->ev.count.recv_bytes += rx->send_got;
	rx->send_got = 0;
	rx->msn[DDP_QN_SEND]++;
	return 0;
}

static void deliver_read_request(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;
	struct iw_irq *q = &c->irq[(c->irq_head + c->irq_count++) % c->depth];

	q->sink_stag = be32_get(rx->hdr + OFF_RREQ_SINK_STAG);
	q->sink_to = be64_get(rx->hdr + OFF_RREQ_SINK_TO);
	q->len = be32_get(rx->hdr + OFF_RREQ_SIZE);
	q->src_stag = be32_get(rx->hdr + OFF_RREQ_SRC_STAG);
	q->src_to = be64_get(rx->hdr + OFF_RREQ_SRC_TO);
	q->sent = 0;
	memcpy(q->hdr, rx->hdr, sizeof(q->hdr));
	rx->msn[DDP_QN_READ_REQ]++;
}

static void deliver_read_response(struct iw_conn *c)
{
	struct iw_orq *o = &c->orq[c->orq_head];
	struct fab_wr *wr = o->wr;

	if (!c->rx.last)
		return;
	c->orq_head = (c->orq_head + 1) % c->depth;
	c->orq_count--;
	c->ev.count.read_bytes += wr->priv[WR_LEN];
	fab_complete(&c->ev.done, wr, FAB_OK);
}

static void deliver_terminate(struct iw_conn *c, const uint8_t *payload)
{
	unsigned int cause = 0;

	if (c->rx.payload >= RDMAP_TERM_CTRL_SIZE)
		cause = iw_term_cause(be32_get(payload));
	c->ev.count.terminates_received++;
	snprintf(c->reason_buf, sizeof(c->reason_buf),
		 "Terminate from the peer: %s (%x/%x/%02x)",
		 iw_term_text(cause), cause >> 12, (cause >> 8) & 0xfu,
		 cause & 0xffu);
	iw_conn_end(c, -EREMOTEIO, c->reason_buf);
}

unsigned int iw_ddp_deliver(struct iw_conn *c, const uint8_t *payload)
{
	struct iw_rx *rx = &c->rx;
	unsigned int cause = 0;

	/* RFC 5044 section 7.1.2: the responder may send from now on. */
	c->tx.hold = false;
	switch (rx->opcode) {
	case RDMAP_WRITE:
		c->ev.count.peer_writes += rx->last;
		c->ev.count.peer_write_bytes += rx->payload;
		break;
	case RDMAP_READ_RESP:
		deliver_read_response(c);
		break;
	case RDMAP_READ_REQ:
		deliver_read_request(c);
		break;
	case RDMAP_TERMINATE:
		deliver_terminate(c, payload);
		break;
	default:
		cause = deliver_send(c);
		break;
	}
	return cause;
}
