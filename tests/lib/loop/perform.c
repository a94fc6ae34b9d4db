/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perform - what was posted is done, in order or as it is drawn
 *
 * Under pair->lock, in the thread of either runner. What a request copies from
 * or to belongs to the provider while it is posted, so the runner that performs
 * it need not be its poster.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop/loop_priv.h"

/* How far a message may be made longer on its way. */
#define LOOP_TAMPER_ROOM 65536

/* ---- One request ------------------------------------------------------- */

/* A Send or Write has been performed. */
static void complete_sent(struct loop_conn *c, struct fab_wr *wr)
{
	if (wr->flags & FAB_F_SIGNALED)
		loop_complete(c, wr, FAB_OK, 0, 0);
}

/* A request that broke a rule, at its poster @c, on what the peer has. */
static void violation(struct loop_conn *c, struct fab_wr *wr,
		      const char *reason)
{
	loop_complete(c, wr, FAB_ERROR, 0, 0);
	loop_end(c->pair, c, -ECONNRESET, -EPROTO, reason);
}

static void injected(struct loop_pair *pair)
{
	loop_end(pair, NULL, -ECONNRESET, -ECONNRESET, "fault on request");
}

static size_t wr_len(const struct fab_wr *wr)
{
	size_t len = 0;

	for (unsigned int i = 0; i < wr->nsge; i++)
		len += wr->sge[i].len;
	return len;
}

/* All octets of a request in one piece, with @room behind them. */
static uint8_t *buffer(size_t len, size_t room)
{
	uint8_t *buf = malloc(len + room + 1);

	LOOP_CHECK(buf, "out of memory");
	return buf;
}

static uint8_t *gather(const struct fab_wr *wr, size_t len, size_t room)
{
	uint8_t *buf = buffer(len, room), *p = buf;

	for (unsigned int i = 0; i < wr->nsge; i++) {
		if (!wr->sge[i].len)
			continue;
		memcpy(p, wr->sge[i].addr, wr->sge[i].len);
		p += wr->sge[i].len;
	}
	return buf;
}

static void scatter(const struct fab_wr *wr, const uint8_t *p, size_t len)
{
	for (unsigned int i = 0; i < wr->nsge && len; i++) {
		size_t n = wr->sge[i].len < len ? wr->sge[i].len : len;

		if (!n)
			continue;
		memcpy(wr->sge[i].addr, p, n);
		p += n;
		len -= n;
	}
}

/* How many of @len octets from @c get through before the connection breaks. */
static size_t passes(struct loop_conn *c, size_t len)
{
	uint64_t limit = c->faults.break_after_octets, left;

	left = c->octets < limit ? limit - c->octets : 0;
	c->octets += len;
	return limit && len > left ? (size_t)left : len;
}

/* Whether the connection breaks now that @c's last octets have arrived. */
static bool worn_out(const struct loop_conn *c)
{
	const struct loop_faults *f = &c->faults;

	return (f->break_after_messages &&
		c->messages >= f->break_after_messages) ||
	       (f->break_after_octets && c->octets >= f->break_after_octets);
}

/* Put a message into the peer's next Receive; NULL or the rule broken. */
static const char *deliver(struct loop_conn *peer, const struct loop_message *m)
{
	const struct fab_srq_params *share = &peer->base.poller->dom->srq;
	struct fab_wr *recv;
	struct fab_sge to;
	void *memory = NULL;
	uint64_t inv = 0;

	if (!peer->rq.n)
		return "message without a Receive";
	if (m->invalidate) {
		if (!loop_invalidate(peer, m->inv_handle))
			return "invalidation of a bad handle";
		inv = WR_INVALIDATED | m->inv_handle;
	}
	recv = loop_pop(&peer->rq);
	if (m->len > recv->sge[0].len) {
		loop_complete(peer, recv, FAB_ERROR, 0, 0);
		return "message longer than its Receive";
	}
	if (share->alloc) {
		memory = share->alloc(share->ctx, &to);
		if (!memory) {
			loop_complete(peer, recv, FAB_ERROR, 0, 0);
			return "no memory for a message";
		}
		if (m->len)
			memcpy(to.addr, m->data, m->len);
	} else {
		scatter(recv, m->data, m->len);
	}
	recv->priv[WR_MEMORY] = (uintptr_t)memory;
	peer->counters.recvs++;
	peer->counters.recv_bytes += m->len;
	loop_complete(peer, recv, FAB_OK, m->len, inv);
	return NULL;
}

static void perform_send(struct loop_conn *c, struct fab_wr *wr)
{
	struct loop_conn *peer = loop_peer_of(c);
	struct loop_pair *pair = c->pair;
	size_t len = wr_len(wr);
	struct loop_message m = {
		.n = ++c->messages,
		.data = gather(wr, len, LOOP_TAMPER_ROOM),
		.len = len,
		.cap = len + LOOP_TAMPER_ROOM,
		.invalidate = wr->op == FAB_SEND_INV,
		.inv_handle = wr->op == FAB_SEND_INV ? wr->handle : 0,
	};
	const char *why;

	if (c->faults.tamper)
		c->faults.tamper(c->faults.tamper_ctx, &m);
	LOOP_CHECK(m.len <= m.cap, "the message was made too long");
	c->counters.sends++;
	c->counters.sends_inv += m.invalidate;
	c->counters.send_bytes += m.len;
	if (passes(c, m.len) < m.len) {
		loop_complete(c, wr, FAB_ERROR, 0, 0);
		injected(pair);
		goto out;
	}
	loop_observe(pair->dom,
		     &(struct loop_event){
			     .kind = m.invalidate ? LOOP_EV_SEND_INV :
						    LOOP_EV_SEND,
			     .from = &c->base,
			     .to = &peer->base,
			     .from_active = !c->side,
			     .handle = m.inv_handle,
			     .len = m.len,
			     .data = m.data,
			     .recvs_posted = peer->rq.n,
		     });
	why = deliver(peer, &m);
	if (why) {
		violation(c, wr, why);
		goto out;
	}
	complete_sent(c, wr);
	if (worn_out(c))
		injected(pair);
out:
	free(m.data);
}

static void perform_write(struct loop_conn *c, struct fab_wr *wr)
{
	struct loop_conn *peer = loop_peer_of(c);
	struct loop_pair *pair = c->pair;
	size_t len = wr_len(wr), cut = passes(c, len);
	uint8_t *buf = gather(wr, len, 0);
	const char *why;

	c->counters.writes++;
	c->counters.write_bytes += len;
	loop_observe(pair->dom, &(struct loop_event){
					.kind = LOOP_EV_WRITE,
					.from = &c->base,
					.to = &peer->base,
					.from_active = !c->side,
					.handle = wr->handle,
					.offset = wr->offset,
					.len = len,
					.data = buf,
				});
	why = loop_touch(peer, wr->handle, wr->offset, buf, len, cut,
			 FAB_REMOTE_WRITE);
	if (why) {
		violation(c, wr, why);
		goto out;
	}
	peer->counters.peer_writes++;
	peer->counters.peer_write_bytes += cut;
	if (cut < len) {
		loop_complete(c, wr, FAB_ERROR, 0, 0);
		injected(pair);
		goto out;
	}
	complete_sent(c, wr);
	if (worn_out(c))
		injected(pair);
out:
	free(buf);
}

/* Put Reads on the wire as far as the depth allows. */
static void issue_reads(struct loop_conn *c)
{
	struct fab_wr *wr = c->reads.head;

	for (size_t i = 0; i < c->reads_issued; i++)
		wr = wr->next;
	for (; wr && c->reads_issued < c->read_depth; wr = wr->next) {
		c->reads_issued++;
		loop_observe(c->pair->dom,
			     &(struct loop_event){
				     .kind = LOOP_EV_READ_REQUEST,
				     .from = &c->base,
				     .to = &loop_peer_of(c)->base,
				     .from_active = !c->side,
				     .handle = wr->handle,
				     .offset = wr->offset,
				     .len = wr_len(wr),
				     .reads_out = (unsigned int)c->reads_issued,
			     });
	}
}

/* The peer answers the oldest Read. */
static void perform_read(struct loop_conn *c)
{
	struct loop_conn *peer = loop_peer_of(c);
	struct fab_wr *wr = loop_pop(&c->reads);
	size_t len = wr_len(wr), cut = passes(peer, len);
	uint8_t *buf = buffer(len, 0);
	const char *why;

	c->reads_issued--;
	c->counters.reads++;
	why = loop_touch(peer, wr->handle, wr->offset, buf, len, cut,
			 FAB_REMOTE_READ);
	if (why) {
		violation(c, wr, why);
		goto out;
	}
	loop_observe(c->pair->dom, &(struct loop_event){
					   .kind = LOOP_EV_READ_RESPONSE,
					   .from = &peer->base,
					   .to = &c->base,
					   .from_active = !peer->side,
					   .handle = wr->handle,
					   .offset = wr->offset,
					   .len = cut,
					   .data = buf,
				   });
	scatter(wr, buf, cut);
	c->counters.read_bytes += cut;
	peer->counters.peer_reads++;
	peer->counters.peer_read_bytes += cut;
	if (cut < len) {
		loop_complete(c, wr, FAB_ERROR, 0, 0);
		injected(c->pair);
		goto out;
	}
	loop_complete(c, wr, FAB_OK, len, 0);
	if (worn_out(peer))
		injected(c->pair);
	else
		issue_reads(c);
out:
	free(buf);
}

static void perform_next(struct loop_conn *c)
{
	struct fab_wr *wr = loop_pop(&c->sq);

	if (c->faults.fail_request &&
	    wr->priv[WR_NUMBER] == c->faults.fail_request) {
		loop_complete(c, wr, FAB_ERROR, 0, 0);
		loop_end(c->pair, c, -EIO, -ECONNRESET, "fault on request");
		return;
	}
	switch (wr->op) {
	case FAB_SEND:
	case FAB_SEND_INV:
		perform_send(c, wr);
		break;
	case FAB_WRITE:
		perform_write(c, wr);
		break;
	case FAB_READ:
		loop_push(&c->reads, wr);
		issue_reads(c);
		break;
	case FAB_RECV:
		LOOP_CHECK(false, "a Receive among the Sends");
	}
}

/* ---- Progress -------------------------------------------------------- */

void loop_seed(struct loop_pair *pair, uint64_t seed, bool random)
{
	pair->random = random;
	pair->rng = (seed + 1) * 0x9e3779b97f4a7c15ull;
}

static uint32_t draw(struct loop_pair *pair)
{
	pair->rng ^= pair->rng << 13;
	pair->rng ^= pair->rng >> 7;
	pair->rng ^= pair->rng << 17;
	return (uint32_t)(pair->rng >> 32);
}

bool loop_undone(const struct loop_pair *pair)
{
	for (int i = 0; i < 2; i++)
		if (pair->end[i] &&
		    (pair->end[i]->sq.n || pair->end[i]->reads.n))
			return true;
	return false;
}

/* One request of either end, drawn; fair in that each has its chance. */
static void step(struct loop_pair *pair)
{
	unsigned int first = draw(pair) % 4;

	for (unsigned int i = 0; i < 4; i++) {
		unsigned int k = (first + i) % 4;
		struct loop_conn *c = pair->end[k / 2];

		if (k % 2 && c->reads_issued) {
			perform_read(c);
			return;
		}
		if (!(k % 2) && c->sq.n) {
			perform_next(c);
			return;
		}
	}
}

void loop_progress(struct loop_pair *pair, bool reads)
{
	if (pair->random) {
		for (unsigned int n = draw(pair) % 4; n && loop_undone(pair);
		     n--)
			step(pair);
	} else {
		for (int i = 0; i < 2; i++)
			while (pair->end[i] && pair->end[i]->sq.n)
				perform_next(pair->end[i]);
		for (int i = 0; i < 2 && reads; i++)
			while (pair->end[i] && pair->end[i]->reads.n)
				perform_read(pair->end[i]);
	}
	loop_try_close(pair);
}
