/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fpdu_tx - from work requests to FPDUs on the socket
 *
 * FPDUs are framed a batch at a time: headers, padding and CRC in a scratch
 * area, payload where the work request has it, one sendmsg for all. The next
 * batch is framed when the one before is wholly in the socket, so a partial
 * send leaves only a cursor.
 *
 * The send queue and Read Responses take turns, FPDU by FPDU. Two tagged
 * messages are never interleaved, though, nor are two untagged ones: DDP could
 * separate them, but some receivers (Linux' siw) cannot.
 *
 * Context: the runner of the connection.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>

#include "crc.h"
#include "iw.h"

static void add_iov(struct iw_tx *tx, const void *p, size_t len)
{
	struct iovec *last = tx->niov ? &tx->iov[tx->niov - 1] : NULL;
	union {
		const void *in;
		void *out;
	} u = { .in = p };

	if (!len)
		return;
	/* A trailer and the next header are adjacent in the scratch area. */
	if (last && (uint8_t *)last->iov_base + last->iov_len == p) {
		last->iov_len += len;
		return;
	}
	tx->iov[tx->niov].iov_base = u.out;
	tx->iov[tx->niov].iov_len = len;
	tx->niov++;
}

static bool have_room(const struct iw_tx *tx)
{
	return tx->nframes < TX_FRAMES && tx->niov + IW_MAX_SGE + 3 <= TX_IOV &&
	       tx->built - tx->sent < TX_BATCH_BYTES;
}

static uint8_t *frame_begin(struct iw_tx *tx)
{
	return tx->scratch + tx->scratch_used;
}

static uint32_t frame_header(const struct iw_conn *c, struct iw_tx *tx,
			     const uint8_t *h, size_t len)
{
	add_iov(tx, h, len);
	tx->scratch_used += len;
	return c->crc ? crc_update(CRC_SEED, h, len) : 0;
}

static uint32_t frame_payload(const struct iw_conn *c, struct iw_tx *tx,
			      uint32_t crc, const void *p, size_t len)
{
	add_iov(tx, p, len);
	return c->crc ? crc_update(crc, p, len) : 0;
}

static void frame_end(const struct iw_conn *c, struct iw_tx *tx,
		      unsigned int ulpdu, uint32_t crc, uint32_t stag)
{
	uint8_t *t = tx->scratch + tx->scratch_used;
	unsigned int pad = mpa_pad(ulpdu);

	memset(t, 0, pad);
	/* Without CRC the field is zero. */
	if (c->crc)
		crc = crc_final(crc_update(crc, t, pad));
	crc_put(t + pad, crc);
	add_iov(tx, t, pad + MPA_CRC_SIZE);
	tx->scratch_used += pad + MPA_CRC_SIZE;
	tx->built += MPA_LEN_SIZE + ulpdu + pad + MPA_CRC_SIZE;
	tx->frame_end[tx->nframes] = tx->built;
	tx->frame_stag[tx->nframes] = stag;
	tx->nframes++;
}

static void frame_read_request(struct iw_conn *c)
{
	struct iw_tx *tx = &c->tx;
	struct fab_wr *wr = wr_take(&tx->reads);
	struct iw_orq *o = &c->orq[(c->orq_head + c->orq_count++) % c->depth];
	uint8_t *h = frame_begin(tx);
	uint32_t crc;

	memset(o, 0, sizeof(*o));
	o->wr = wr;
	o->stag = iw_stag_sink(&c->stags);
	ddp_put_ctrl(h, OFF_RREQ_END - MPA_LEN_SIZE, false, true,
		     RDMAP_READ_REQ);
	ddp_put_untagged(h, 0, DDP_QN_READ_REQ, tx->msn_read++, 0);
	be32_put(h + OFF_RREQ_SINK_STAG, o->stag);
	be64_put(h + OFF_RREQ_SINK_TO, 0);
	be32_put(h + OFF_RREQ_SIZE, (uint32_t)wr->priv[WR_LEN]);
	be32_put(h + OFF_RREQ_SRC_STAG, wr->handle);
	be64_put(h + OFF_RREQ_SRC_TO, wr->offset);
	crc = frame_header(c, tx, h, OFF_RREQ_END);
	frame_end(c, tx, OFF_RREQ_END - MPA_LEN_SIZE, crc, 0);
	c->ev.count.reads++;
}

static void count_sent(struct iw_conn *c, const struct fab_wr *wr)
{
	if (wr->op == FAB_WRITE) {
		c->ev.count.writes++;
		c->ev.count.write_bytes += wr->priv[WR_LEN];
		return;
	}
	c->ev.count.sends++;
	c->ev.count.sends_inv += wr->op == FAB_SEND_INV;
	c->ev.count.send_bytes += wr->priv[WR_LEN];
}

static enum rdmap_opcode send_opcode(const struct fab_wr *wr)
{
	bool se = wr->flags & FAB_F_SOLICITED;

	if (wr->op == FAB_SEND_INV)
		return se ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	return se ? RDMAP_SEND_SE : RDMAP_SEND;
}

/* The next FPDU of the first request of the send queue. */
static void frame_send(struct iw_conn *c)
{
	struct iw_tx *tx = &c->tx;
	struct fab_wr *wr = tx->sq.head;
	bool tagged = wr->op == FAB_WRITE;
	size_t hlen = tagged ? DDP_TAGGED_SIZE : DDP_UNTAGGED_SIZE;
	size_t left = wr->priv[WR_LEN] - tx->done;
	size_t part = iw_conn_domain(c)->max_ulpdu - hlen;
	uint8_t *h = frame_begin(tx);
	uint32_t crc;
	bool last;

	part = MIN(part, left);
	last = part == left;
	if (tagged) {
		ddp_put_ctrl(h, (uint16_t)(hlen + part), true, last,
			     RDMAP_WRITE);
		ddp_put_tagged(h, wr->handle, wr->offset + tx->done);
	} else {
		ddp_put_ctrl(h, (uint16_t)(hlen + part), false, last,
			     send_opcode(wr));
		ddp_put_untagged(h, wr->op == FAB_SEND_INV ? wr->handle : 0,
				 DDP_QN_SEND, tx->msn_send, (uint32_t)tx->done);
	}
	crc = frame_header(c, tx, h, MPA_LEN_SIZE + hlen);
	for (size_t todo = part; todo;) {
		const struct fab_sge *s = &wr->sge[tx->sge];
		size_t n = s->len - tx->off;

		n = MIN(n, todo);
		crc = frame_payload(c, tx, crc, (uint8_t *)s->addr + tx->off,
				    n);
		tx->off += n;
		todo -= n;
		if (tx->off == s->len) {
			tx->sge++;
			tx->off = 0;
		}
	}
	frame_end(c, tx, (unsigned int)(hlen + part), crc, 0);
	tx->done += part;
	if (tagged)
		tx->write_open = !last;
	else
		tx->untagged_open = !last;
	if (!last)
		return;
	if (!tagged)
		tx->msn_send++;
	count_sent(c, wr);
	wr_take(&tx->sq);
	wr->priv[WR_END] = tx->built;
	wr_append(&tx->framed, wr);
	tx->sge = 0;
	tx->off = 0;
	tx->done = 0;
}

/* The next FPDU of the oldest Read Response. Returns false if its source is
 * closed. */
static bool frame_read_response(struct iw_conn *c)
{
	struct iw_tx *tx = &c->tx;
	struct iw_irq *q = &c->irq[c->irq_head];
	size_t part = iw_conn_domain(c)->max_ulpdu - DDP_TAGGED_SIZE;
	uint32_t left = q->len - q->sent, crc;
	uint8_t *src = NULL, *h;
	bool last;

	part = MIN(part, left);
	last = part == left;
	if (q->len) {
		/* Valid when the request came, it may be closed by now. */
		const struct stag_entry *e =
			iw_stag_find(&c->stags, q->src_stag);

		if (!e || iw_stag_range(e, q->src_to + q->sent, part, &src) !=
				  STAG_OK)
			return false;
	}
	h = frame_begin(tx);
	ddp_put_ctrl(h, (uint16_t)(DDP_TAGGED_SIZE + part), true, last,
		     RDMAP_READ_RESP);
	ddp_put_tagged(h, q->sink_stag, q->sink_to + q->sent);
	crc = frame_header(c, tx, h, OFF_TAGGED_PAYLOAD);
	if (part)
		crc = frame_payload(c, tx, crc, src, part);
	frame_end(c, tx, (unsigned int)(DDP_TAGGED_SIZE + part), crc,
		  part ? q->src_stag : 0);
	q->sent += (uint32_t)part;
	tx->resp_open = !last;
	if (last) {
		c->ev.count.peer_reads++;
		c->ev.count.peer_read_bytes += q->len;
		c->irq_head = (c->irq_head + 1) % c->depth;
		c->irq_count--;
	}
	return true;
}

/* ---- Terminate ------------------------------------------------------- */

/* Append padding and CRC to a contiguous FPDU. */
static size_t finish_fpdu(const struct iw_conn *c, uint8_t *fpdu, size_t len)
{
	unsigned int pad = mpa_pad((unsigned int)len - MPA_LEN_SIZE);

	memset(fpdu + len, 0, pad);
	len += pad;
	crc_put(fpdu + len,
		c->crc ? crc_final(crc_update(CRC_SEED, fpdu, len)) : 0);
	return len + MPA_CRC_SIZE;
}

/* Reduce the batch to the rest of an FPDU already begun, and append the
 * Terminate. Returns false if that rest may no longer be read. */
static bool queue_terminate(struct iw_conn *c, size_t len)
{
	struct iw_tx *tx = &c->tx;
	uint64_t start, keep = 0;
	unsigned int i = 0, v;

	while (i < tx->nframes && tx->frame_end[i] <= tx->sent)
		i++;
	if (tx->cur < tx->niov && i < tx->nframes) {
		/* Unless FPDU i has not begun, the cursor is inside it. */
		start = i ? tx->frame_end[i - 1] : tx->batch_start;
		if (tx->sent > start) {
			if (tx->frame_stag[i] &&
			    !iw_stag_find(&c->stags, tx->frame_stag[i]))
				return false;
			keep = tx->frame_end[i] - tx->sent;
		}
	}
	tx->nframes = keep ? i + 1 : 0;
	for (v = tx->cur; v < tx->niov && keep; v++) {
		if (tx->iov[v].iov_len > keep)
			tx->iov[v].iov_len = (size_t)keep;
		keep -= tx->iov[v].iov_len;
	}
	tx->niov = v;
	add_iov(tx, c->term, len);
	return true;
}

void iw_tx_terminate(struct iw_conn *c, unsigned int cause, const uint8_t *bad)
{
	size_t len;

	c->ev.done.error = -EPROTO;
	c->ev.done.reason = iw_term_text(cause);
	fab_domain_log_peer(c->ev.fab.poller->dom, &c->ev.peer, LOG_INFO,
			    "iwarp: Terminate %x/%x/%02x: %s", cause >> 12,
			    (cause >> 8) & 0xfu, cause & 0xffu,
			    c->ev.done.reason);
	if (c->state != IW_ST_OPEN && c->state != IW_ST_CLOSING) {
		iw_conn_end(c, c->ev.done.error, c->ev.done.reason);
		return;
	}
	len = finish_fpdu(c, c->term, iw_term_encode(c->term, cause, bad));
	if (c->fin_sent || !queue_terminate(c, len)) {
		iw_conn_end(c, c->ev.done.error, c->ev.done.reason);
		return;
	}
	c->ev.count.terminates_sent++;
	/* It answers an FPDU of the peer. */
	c->tx.hold = false;
	c->state = IW_ST_TERMINATING;
	iw_conn_timer_set(c, IW_TIMER_LINGER);
	/* The next turn sends it. */
}

/* ---- Batches --------------------------------------------------------- */

/* Can the send queue give an FPDU now? Moves Reads to their own queue. */
static bool sq_ready(struct iw_tx *tx)
{
	while (tx->sq.head && tx->sq.head->op == FAB_READ)
		wr_append(&tx->reads, wr_take(&tx->sq));
	if (!tx->sq.head)
		return false;
	return !(tx->sq.head->op == FAB_WRITE && tx->resp_open);
}

/* Returns false if there is nothing to frame, or the connection ends. */
static bool frame_one(struct iw_conn *c)
{
	struct iw_tx *tx = &c->tx;
	bool sq, resp;

	sq = sq_ready(tx);
	if (tx->reads.head && c->orq_count < c->ev.ord && !tx->untagged_open) {
		frame_read_request(c);
		return true;
	}
	resp = c->irq_count && !tx->write_open;
	if (!sq && !resp)
		return false;
	if (resp && (!sq || tx->turn)) {
		tx->turn = false;
		if (frame_read_response(c))
			return true;
		iw_tx_terminate(c, TERM_RDMAP_STAG, c->irq[c->irq_head].hdr);
		return false;
	}
	tx->turn = true;
	frame_send(c);
	return true;
}

static void batch_reset(struct iw_tx *tx)
{
	tx->niov = 0;
	tx->cur = 0;
	tx->nframes = 0;
	tx->scratch_used = 0;
	tx->built = tx->sent;
	tx->batch_start = tx->sent;
}

static void batch_advance(struct iw_tx *tx, size_t n)
{
	tx->sent += n;
	while (n) {
		struct iovec *v = &tx->iov[tx->cur];
		size_t part = MIN(v->iov_len, n);

		v->iov_base = (uint8_t *)v->iov_base + part;
		v->iov_len -= part;
		n -= part;
		if (!v->iov_len)
			tx->cur++;
	}
}

/* Is all memory of the unsent part still lent or open? */
static bool batch_valid(const struct iw_conn *c)
{
	const struct iw_tx *tx = &c->tx;

	for (unsigned int i = 0; i < tx->nframes; i++)
		if (tx->frame_end[i] > tx->sent && tx->frame_stag[i] &&
		    !iw_stag_find(&c->stags, tx->frame_stag[i]))
			return false;
	return true;
}

static void complete_sent(struct iw_conn *c)
{
	struct iw_tx *tx = &c->tx;

	while (tx->framed.head && tx->framed.head->priv[WR_END] <= tx->sent) {
		struct fab_wr *wr = wr_take(&tx->framed);

		if (wr->flags & FAB_F_SIGNALED)
			fab_complete(&c->ev.done, wr, FAB_OK);
	}
}

static bool may_frame(const struct iw_conn *c)
{
	return c->state == IW_ST_OPEN || c->state == IW_ST_CLOSING;
}

void iw_tx_push(struct iw_conn *c, size_t *budget)
{
	struct iw_tx *tx = &c->tx;
	struct msghdr m;
	ssize_t n;

	while (!tx->hold && c->can_write && *budget && !iw_tx_idle(c)) {
		if (tx->cur == tx->niov) {
			if (!may_frame(c))
				return;
			while (have_room(tx) && frame_one(c))
				;
			if (!may_frame(c) || !tx->niov)
				return;
		} else if (!batch_valid(c)) {
			/* The FPDU begun cannot be completed, so no Terminate
			 * can follow. */
			iw_conn_end(c, -EPROTO,
				    "region closed under an RDMA Read");
			return;
		}
		memset(&m, 0, sizeof(m));
		m.msg_iov = tx->iov + tx->cur;
		m.msg_iovlen = tx->niov - tx->cur;
		n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		c->ev.count.syscalls++;
		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN && errno != EWOULDBLOCK) {
				iw_conn_end(c, -errno, "send failed");
				return;
			}
			c->can_write = false;
			return;
		}
		batch_advance(tx, (size_t)n);
		*budget -= (size_t)n < *budget ? (size_t)n : *budget;
		/* The socket is full; EPOLLOUT follows. */
		if (tx->cur < tx->niov)
			c->can_write = false;
		/* A Terminate replaces what was framed. */
		if (may_frame(c))
			complete_sent(c);
		if (tx->cur == tx->niov)
			batch_reset(tx);
	}
}
