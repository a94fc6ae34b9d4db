/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fpdu_rx - from the socket to FPDUs
 *
 * Data comes into a staging buffer. An FPDU that is complete there is checked,
 * CRC first, and its payload copied out. One with much payload is not waited
 * for: its headers are checked, the payload that is there is copied, and the
 * rest is received in place; the CRC is compared at the end. Wrong octets may
 * then lie in the destination before they are known to be wrong, but only
 * inside it, and the message is never completed.
 *
 * Most FPDUs of a long message are as long as the one before, and their payload continues at
 * the next tagged offset. After two such FPDUs, a receive predicts more of them: their payload
 * is received in place, and what is between two payloads (padding, CRC and the next header)
 * into a scratch buffer, the gap. Nothing of it
 * counts before the header in the gap has been compared and checked. If the
 * prediction fails, what was received behind that header goes back to the
 * staging buffer. Wrong octets then lie where the peer may write and has not
 * written yet.
 *
 * States: RX_HEADER (the FPDU at buf[rd] has not begun), RX_PAYLOAD (the rest of its payload
 * is received in place; the staging buffer is empty), RX_TRAILER.
 *
 * Context: the runner of the connection (fabric.h).
 */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/socket.h>

#include "crc.h"
#include "iw.h"

static bool receiving(const struct iw_conn *c)
{
	return c->state == IW_ST_OPEN || c->state == IW_ST_CLOSING;
}

/* Copy payload from the staging buffer to its destination. */
static void place_payload(struct iw_conn *c, const uint8_t *p, size_t len)
{
	struct iovec iov[IW_MAX_SGE];
	unsigned int n = iw_ddp_dest(c, iov, IW_MAX_SGE, 0, len);
	size_t done = 0;

	for (unsigned int i = 0; i < n; i++) {
		memcpy(iov[i].iov_base, p + done, iov[i].iov_len);
		done += iov[i].iov_len;
	}
	iw_ddp_advance(c, len);
}

/*
 * Parse length and opcode of the FPDU at @p, of which @avail octets are there.
 * Returns false if more is needed, or after a Terminate.
 */
static bool parse_header(struct iw_conn *c, const uint8_t *p, size_t avail)
{
	struct iw_rx *rx = &c->rx;
	bool tagged;

	if (avail < OFF_RDMAP_CTRL + 1)
		return false;
	rx->ulpdu = be16_get(p + OFF_ULPDU_LEN);
	rx->opcode = p[OFF_RDMAP_CTRL] & RDMAP_OPCODE_MASK;
	rx->last = p[OFF_DDP_CTRL] & DDP_LAST;
	tagged = p[OFF_DDP_CTRL] & DDP_TAGGED;
	rx->hdr_len = tagged ? OFF_TAGGED_PAYLOAD : OFF_UNTAGGED_PAYLOAD;
	if (!tagged && rx->opcode == RDMAP_READ_REQ)
		rx->hdr_len = OFF_RREQ_END;
	if (MPA_LEN_SIZE + rx->ulpdu < rx->hdr_len) {
		iw_tx_terminate(c, TERM_DDP_CATASTROPHIC, NULL);
		return false;
	}
	if (avail < rx->hdr_len)
		return false;
	rx->payload = MPA_LEN_SIZE + rx->ulpdu - rx->hdr_len;
	rx->pad = mpa_pad(rx->ulpdu);
	rx->placed = 0;
	/* No Terminate is that long: do not wait for it in the staging buffer. */
	if (!tagged && rx->opcode == RDMAP_TERMINATE &&
	    rx->ulpdu > RDMAP_TERM_MAX) {
		iw_tx_terminate(c, TERM_DDP_TOO_LONG, p);
		return false;
	}
	return true;
}

/* The FPDU is complete in the staging buffer. */
static void process_fpdu(struct iw_conn *c, const uint8_t *p)
{
	struct iw_rx *rx = &c->rx;
	size_t covered = MPA_LEN_SIZE + rx->ulpdu + rx->pad;
	unsigned int cause;

	if (c->crc && crc_final(crc_update(CRC_SEED, p, covered)) !=
			      crc_get(p + covered)) {
		iw_tx_terminate(c, TERM_MPA_CRC, NULL);
		return;
	}
	memcpy(rx->hdr, p, rx->hdr_len);
	rx->rd += covered + MPA_CRC_SIZE;
	cause = iw_ddp_check(c);
	if (!cause) {
		if (rx->payload && rx->opcode != RDMAP_TERMINATE)
			place_payload(c, p + rx->hdr_len, rx->payload);
		cause = iw_ddp_deliver(c, p + rx->hdr_len);
	}
	if (cause)
		iw_tx_terminate(c, cause, rx->hdr);
}

/* Returns true if the header at @p continues the message of the FPDU before, whose header is
 * still in rx->hdr, at the next tagged offset. */
static bool is_next_segment(const struct iw_rx *rx, const uint8_t *p)
{
	uint64_t len = be16_get(rx->hdr + OFF_ULPDU_LEN) - DDP_TAGGED_SIZE;

	return (rx->hdr[OFF_DDP_CTRL] & (DDP_TAGGED | DDP_LAST)) ==
		       DDP_TAGGED &&
	       p[OFF_DDP_CTRL] & DDP_TAGGED &&
	       p[OFF_RDMAP_CTRL] == rx->hdr[OFF_RDMAP_CTRL] &&
	       be32_get(p + OFF_TAGGED_STAG) ==
		       be32_get(rx->hdr + OFF_TAGGED_STAG) &&
	       be64_get(p + OFF_TAGGED_TO) ==
		       be64_get(rx->hdr + OFF_TAGGED_TO) + len;
}

/* The payload will be received in place. */
static void begin_direct(struct iw_conn *c, const uint8_t *p, size_t avail)
{
	struct iw_rx *rx = &c->rx;
	unsigned int cause;
	size_t part;

	rx->regular = is_next_segment(rx, p) &&
		      be16_get(p + OFF_ULPDU_LEN) ==
			      be16_get(rx->hdr + OFF_ULPDU_LEN);
	memcpy(rx->hdr, p, rx->hdr_len);
	cause = iw_ddp_check(c);
	if (cause) {
		iw_tx_terminate(c, cause, rx->hdr);
		return;
	}
	part = avail - rx->hdr_len;
	part = MIN(part, rx->payload);
	if (c->crc)
		rx->crc = crc_update(CRC_SEED, p, rx->hdr_len + part);
	place_payload(c, p + rx->hdr_len, part);
	rx->rd += rx->hdr_len + part;
	rx->state = rx->placed < rx->payload ? RX_PAYLOAD : RX_TRAILER;
	/* More such FPDUs are likely: receive little into the staging buffer, so that their
	 * payload does not come there with the next header. */
	rx->ask = RX_ASK_MIN;
}

/* Returns false if more is needed or the CRC is wrong. The connection may also be ending
 * afterwards: see receiving(). */
static bool process_trailer(struct iw_conn *c, const uint8_t *p, size_t avail)
{
	struct iw_rx *rx = &c->rx;
	unsigned int cause;

	if (avail < rx->pad + MPA_CRC_SIZE)
		return false;
	rx->rd += rx->pad + MPA_CRC_SIZE;
	rx->state = RX_HEADER;
	if (c->crc && crc_final(crc_update(rx->crc, p, rx->pad)) !=
			      crc_get(p + rx->pad)) {
		iw_tx_terminate(c, TERM_MPA_CRC, NULL);
		return false;
	}
	cause = iw_ddp_deliver(c, NULL);
	if (cause)
		iw_tx_terminate(c, cause, rx->hdr);
	return true;
}

static void parse_staging(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;

	while (receiving(c)) {
		const uint8_t *p = rx->buf + rx->rd;
		size_t avail = rx->wr - rx->rd, total;

		switch (rx->state) {
		case RX_HEADER:
			if (!parse_header(c, p, avail))
				return;
			total = MPA_LEN_SIZE + rx->ulpdu + rx->pad +
				MPA_CRC_SIZE;
			if (avail >= total)
				process_fpdu(c, p);
			else if (rx->payload >= RX_DIRECT_MIN)
				begin_direct(c, p, avail);
			else
				return;
			break;
		case RX_PAYLOAD:
			return;
		case RX_TRAILER:
			if (!process_trailer(c, p, avail))
				return;
			break;
		}
	}
}

/* Returns true if the peer's TCP has acknowledged all data. SIOCOUTQ counts a FIN as one
 * octet, and ours need not be acknowledged. */
static bool all_acknowledged(const struct iw_conn *c)
{
	int left;

	return !ioctl(c->fd, SIOCOUTQ, &left) && left <= c->fin_sent;
}

/* Account for the result of a receive, and end the connection at the end of the stream or after
 * an error. Returns true if data came. */
static bool rx_received(struct iw_conn *c, ssize_t n, size_t asked)
{
	c->ev.count.syscalls++;
	if (n > 0) {
		/* Edge-triggered: less than asked means that the socket is
		 * empty, unless an end or an error can be read. */
		if ((size_t)n < asked && !c->hup)
			c->can_read = false;
		return true;
	}
	if (n == 0) {
		if (c->state == IW_ST_TERMINATING || c->state == IW_ST_LINGER)
			iw_conn_end(c, c->ev.done.error, c->ev.done.reason);
		else if (c->rx.state != RX_HEADER || c->rx.rd != c->rx.wr)
			iw_conn_end(c, -ECONNRESET,
				    "stream ended within an FPDU");
		else if (!all_acknowledged(c))
			/* Completed Sends may have been lost. */
			iw_conn_end(
				c, -ECONNRESET,
				"closed by the peer before all had arrived");
		else
			iw_conn_end(c, 0, "closed by the peer");
	} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
		c->can_read = false;
	} else if (errno != EINTR) {
		int err = errno;

		if (c->state == IW_ST_TERMINATING || c->state == IW_ST_LINGER)
			iw_conn_end(c, c->ev.done.error, c->ev.done.reason);
		else
			iw_conn_end(c, -err,
				    err == ECONNRESET ? "reset by the peer" :
							"receive failed");
	}
	return false;
}

static void spend(size_t *budget, size_t n)
{
	*budget -= n < *budget ? n : *budget;
}

static void receive_staging(struct iw_conn *c, size_t *budget)
{
	struct iw_rx *rx = &c->rx;
	size_t ask;
	ssize_t n;

	if (rx->rd) {
		/* Part of an FPDU, never long: long ones are received in place. */
		memmove(rx->buf, rx->buf + rx->rd, rx->wr - rx->rd);
		rx->wr -= rx->rd;
		rx->rd = 0;
	}
	ask = rx->ask < RX_STAGING - rx->wr ? rx->ask : RX_STAGING - rx->wr;
	n = recv(c->fd, rx->buf + rx->wr, ask, MSG_DONTWAIT);
	if (!rx_received(c, n, ask))
		return;
	rx->wr += (size_t)n;
	spend(budget, (size_t)n);
	if ((size_t)n == ask && rx->ask < RX_STAGING)
		rx->ask *= 2;
}

/* One receive: the current FPDU and those predicted behind it. */
struct ahead {
	unsigned int n; /* FPDUs behind the current one, which has index 0 */
	size_t len[RX_AHEAD + 1]; /* of the payload; of index 0 what is missing */
	unsigned int
		gap_len[RX_AHEAD + 1]; /* octets between payload k - 1 and k */
	uint8_t gap[RX_AHEAD + 1][RX_GAP];
	/* Where payload k begins in iov. Its gap is the element before. The last is the
	 * tail, octets behind all of them, which go to the staging buffer. */
	unsigned int first[RX_AHEAD + 2];
	struct iovec iov[RX_IOV];
};

static void add_payload(const struct iw_conn *c, struct ahead *a, size_t skip,
			size_t len)
{
	unsigned int at = a->first[a->n];

	a->len[a->n] = len;
	a->first[a->n + 1] =
		at + iw_ddp_dest(c, a->iov + at, IW_MAX_SGE, skip, len);
}

static void predict(const struct iw_conn *c, struct ahead *a)
{
	const struct iw_rx *rx = &c->rx;
	size_t skip = rx->payload - rx->placed;
	size_t room = rx->regular ? iw_ddp_room(c) : 0;
	unsigned int pad = rx->pad;

	a->n = 0;
	a->first[0] = 0;
	add_payload(c, a, 0, skip);
	while (room && a->n < RX_AHEAD &&
	       a->first[a->n + 1] + 1 + IW_MAX_SGE < RX_IOV) {
		size_t len = MIN(room, rx->payload);
		unsigned int at = a->first[++a->n];

		a->first[a->n] = at + 1; /* behind the gap */
		a->gap_len[a->n] = pad + MPA_CRC_SIZE + OFF_TAGGED_PAYLOAD;
		a->iov[at].iov_base = a->gap[a->n];
		a->iov[at].iov_len = a->gap_len[a->n];
		add_payload(c, a, skip, len);
		pad = mpa_pad((unsigned int)len + DDP_TAGGED_SIZE);
		skip += len;
		room -= len;
	}
}

/* @n octets of FPDU @k's payload have come. */
static void payload_received(struct iw_conn *c, const struct ahead *a,
			     unsigned int k, size_t n)
{
	struct iw_rx *rx = &c->rx;
	size_t todo = c->crc ? n : 0;

	for (unsigned int i = a->first[k]; todo; i++) {
		size_t part = MIN(a->iov[i].iov_len, todo);

		rx->crc = crc_update(rx->crc, a->iov[i].iov_base, part);
		todo -= part;
	}
	iw_ddp_advance(c, n);
	rx->state = rx->placed < rx->payload ? RX_PAYLOAD : RX_TRAILER;
}

static void append_staging(struct iw_rx *rx, const void *p, size_t len)
{
	memmove(rx->buf + rx->wr, p, len);
	rx->wr += len;
}

/* Stage the last @n octets received, from FPDU @k's payload on: after a prediction that failed,
 * or the tail. The tail lies at the end of the staging buffer already. */
static void restage(struct iw_rx *rx, const struct ahead *a, unsigned int k,
		    size_t n)
{
	for (unsigned int i = a->first[k]; n; i++) {
		size_t part = MIN(a->iov[i].iov_len, n);

		append_staging(rx, a->iov[i].iov_base, part);
		n -= part;
	}
	rx->spilled |= rx->wr > RX_STAGING;
}

/* Free the pages behind RX_STAGING, which a failed prediction has filled. Otherwise a peer
 * could occupy them for as long as the connection lasts. */
static void trim_spill(struct iw_rx *rx)
{
	memmove(rx->buf, rx->buf + rx->rd, rx->wr - rx->rd);
	rx->wr -= rx->rd;
	rx->rd = 0;
	rx->spilled = false;
	madvise(rx->buf + RX_STAGING, RX_BUF - RX_STAGING, MADV_DONTNEED);
}

/* Returns true if the header in the gap is that of FPDU @k as predicted, and
 * valid. */
static bool continue_predicted(struct iw_conn *c, const struct ahead *a,
			       unsigned int k)
{
	struct iw_rx *rx = &c->rx;
	const uint8_t *p = rx->buf + rx->rd;
	unsigned int cause;

	if (be16_get(p + OFF_ULPDU_LEN) != a->len[k] + DDP_TAGGED_SIZE ||
	    !is_next_segment(rx, p) || !parse_header(c, p, rx->wr - rx->rd))
		return false;
	rx->regular = true;
	memcpy(rx->hdr, p, rx->hdr_len);
	cause = iw_ddp_check(c);
	if (cause) {
		iw_tx_terminate(c, cause, rx->hdr);
		return false;
	}
	if (c->crc)
		rx->crc = crc_update(CRC_SEED, p, rx->hdr_len);
	rx->rd += rx->hdr_len;
	return true;
}

/* Process the @n octets of one receive. */
static void process_predicted(struct iw_conn *c, const struct ahead *a,
			      size_t n)
{
	struct iw_rx *rx = &c->rx;

	for (unsigned int k = 0;; k++) {
		size_t got = MIN(n, a->len[k]);

		payload_received(c, a, k, got);
		n -= got;
		rx->rd = 0;
		rx->wr = 0;
		if (k == a->n || !n)
			break;
		got = n < a->gap_len[k + 1] ? n : a->gap_len[k + 1];
		append_staging(rx, a->gap[k + 1], got);
		n -= got;
		/* parse_staging() goes on with what there is of trailer and header. */
		if (got < a->gap_len[k + 1])
			return;
		if (!process_trailer(c, rx->buf, got) || !receiving(c))
			return;
		if (!continue_predicted(c, a, k + 1)) {
			if (receiving(c))
				restage(rx, a, k + 1, n);
			return;
		}
	}
	restage(rx, a, a->n + 1, n);
}

static void receive_direct(struct iw_conn *c, size_t *budget)
{
	struct iw_rx *rx = &c->rx;
	size_t asked = 0;
	struct ahead a;
	struct msghdr m;
	unsigned int tail;
	ssize_t n;

	if (!iw_ddp_still_open(c)) {
		iw_tx_terminate(c, TERM_DDP_STAG, rx->hdr);
		return;
	}
	predict(c, &a);
	tail = a.first[a.n + 1];
	a.iov[tail].iov_base = rx->buf + RX_BUF - RX_TAIL;
	a.iov[tail].iov_len = RX_TAIL;
	for (unsigned int i = 0; i <= tail; i++)
		asked += a.iov[i].iov_len;
	memset(&m, 0, sizeof(m));
	m.msg_iov = a.iov;
	m.msg_iovlen = tail + 1;
	n = recvmsg(c->fd, &m, MSG_DONTWAIT);
	if (!rx_received(c, n, asked))
		return;
	spend(budget, (size_t)n);
	process_predicted(c, &a, (size_t)n);
}

void iw_rx_progress(struct iw_conn *c, size_t *budget)
{
	for (;;) {
		parse_staging(c);
		if (c->rx.spilled)
			trim_spill(&c->rx);
		if (!receiving(c) || !c->can_read || !*budget)
			return;
		if (c->rx.state == RX_PAYLOAD)
			receive_direct(c, budget);
		else
			receive_staging(c, budget);
	}
}

/* Give the pages back, but not the address range, so that nothing can fail
 * later. */
void iw_rx_trim(struct iw_conn *c)
{
	struct iw_rx *rx = &c->rx;

	if (rx->rd != rx->wr)
		return;
	rx->rd = 0;
	rx->wr = 0;
	rx->ask = RX_ASK_MIN;
	madvise(rx->buf, RX_BUF, MADV_DONTNEED);
}

void iw_rx_discard(struct iw_conn *c)
{
	size_t budget = IW_TURN_BYTES;

	while (c->can_read && budget &&
	       (c->state == IW_ST_TERMINATING || c->state == IW_ST_LINGER)) {
		ssize_t n = recv(c->fd, c->rx.buf, RX_STAGING, MSG_DONTWAIT);

		if (rx_received(c, n, RX_STAGING))
			spend(&budget, (size_t)n);
	}
	if (!budget)
		iw_conn_schedule(c);
}
