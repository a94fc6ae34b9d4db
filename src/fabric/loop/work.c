/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work - posting, performing, completing
 *
 * Everything below the public operations runs under pair->lock, in the thread
 * of either runner. What a request copies from or to belongs to the provider
 * while it is posted, so the runner that performs it need not be its poster.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/loop/loop_priv.h"

/* How far a message may be made longer on its way. */
#define LOOP_TAMPER_ROOM 65536

/* What a completed request carries in its priv[]. */
enum { WR_STATUS, WR_LEN, WR_INV, WR_DUE };
#define WR_INVALIDATED (1ull << 32)
/* And before: which one it is. */
#define WR_NUMBER 0

/* ---- Queues and notice ----------------------------------------------- */

static void push(struct loop_queue *q, struct fab_wr *wr)
{
	wr->next = NULL;
	*q->tail = wr;
	q->tail = &wr->next;
	q->n++;
}

static struct fab_wr *pop(struct loop_queue *q)
{
	struct fab_wr *wr = q->head;

	if (wr) {
		q->head = wr->next;
		if (!q->head)
			q->tail = &q->head;
		q->n--;
		wr->next = NULL;
	}
	return wr;
}

void loop_notify(struct loop_conn *c)
{
	if (c->in_call || !c->armed)
		return;
	c->armed = false;
	loop_queue_ready(c);
}

static void complete(struct loop_conn *c, struct fab_wr *wr,
		     enum fab_status status, size_t len, uint64_t inv)
{
	wr->priv[WR_STATUS] = status;
	wr->priv[WR_LEN] = len;
	wr->priv[WR_INV] = inv;
	wr->priv[WR_DUE] = c->polls + c->faults.delay_polls;
	push(&c->cq, wr);
	loop_notify(c);
}

/* A Send or Write has been performed. */
static void complete_sent(struct loop_conn *c, struct fab_wr *wr)
{
	if (wr->flags & FAB_F_SIGNALED)
		complete(c, wr, FAB_OK, 0, 0);
}

/* ---- End of the connection ------------------------------------------- */

static void flush(struct loop_conn *c, struct loop_queue *q)
{
	struct fab_wr *wr;

	while ((wr = pop(q)))
		complete(c, wr, FAB_FLUSHED, 0, 0);
}

static void end_one(struct loop_conn *c, int error, const char *reason)
{
	if (!c || c->state == LOOP_IDLE || c->state == LOOP_DEAD || c->gone)
		return;
	c->error = error;
	c->reason = reason;
	if (c->state == LOOP_REQUESTED) {
		c->gone = true; /* told when it is accepted */
		return;
	}
	if (c->state == LOOP_CONNECTING)
		loop_timer_stop(c);
	c->state = LOOP_DEAD;
	flush(c, &c->sq);
	flush(c, &c->reads);
	c->reads_issued = 0;
	flush(c, &c->rq);
	c->end_due = true;
	loop_notify(c);
}

void loop_end(struct loop_pair *pair, struct loop_conn *from, int own,
	      int other, const char *reason)
{
	for (int i = 0; i < 2; i++)
		end_one(pair->end[i], pair->end[i] == from ? own : other,
			reason);
	if (pair->over)
		return;
	pair->over = true;
	loop_observe(pair->dom, &(struct loop_event){
					.kind = LOOP_EV_END,
					.from = from ? &from->base : NULL,
					.from_active = from && !from->side,
					.error = from ? own : other,
					.reason = reason,
				});
}

/* A request that broke a rule, at its poster @c, on what the peer has. */
static void violation(struct loop_conn *c, struct fab_wr *wr,
		      const char *reason)
{
	complete(c, wr, FAB_ERROR, 0, 0);
	loop_end(c->pair, c, -ECONNRESET, -EPROTO, reason);
}

static void injected(struct loop_pair *pair)
{
	loop_end(pair, NULL, -ECONNRESET, -ECONNRESET, "fault on request");
}

/* ---- Performing ------------------------------------------------------ */

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
	struct fab_wr *recv;
	uint64_t inv = 0;

	if (!peer->rq.n)
		return "message without a Receive";
	if (m->invalidate) {
		if (!loop_invalidate(peer, m->inv_handle))
			return "invalidation of a bad handle";
		inv = WR_INVALIDATED | m->inv_handle;
	}
	recv = pop(&peer->rq);
	if (m->len > recv->sge[0].len) {
		complete(peer, recv, FAB_ERROR, 0, 0);
		return "message longer than its Receive";
	}
	scatter(recv, m->data, m->len);
	peer->counters.recvs++;
	peer->counters.recv_bytes += m->len;
	complete(peer, recv, FAB_OK, m->len, inv);
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
		complete(c, wr, FAB_ERROR, 0, 0);
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
		complete(c, wr, FAB_ERROR, 0, 0);
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
	struct fab_wr *wr = pop(&c->reads);
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
		complete(c, wr, FAB_ERROR, 0, 0);
		injected(c->pair);
		goto out;
	}
	complete(c, wr, FAB_OK, len, 0);
	if (worn_out(peer))
		injected(c->pair);
	else
		issue_reads(c);
out:
	free(buf);
}

static void perform_next(struct loop_conn *c)
{
	struct fab_wr *wr = pop(&c->sq);

	if (c->faults.fail_request &&
	    wr->priv[WR_NUMBER] == c->faults.fail_request) {
		complete(c, wr, FAB_ERROR, 0, 0);
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
		push(&c->reads, wr);
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

/*
 * Move the pair on. The work of a dead connection has been flushed, so none
 * is found for it.
 */
static void progress(struct loop_pair *pair, bool reads)
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

void loop_try_close(struct loop_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct loop_conn *c = pair->end[i];

		if (c && c->state == LOOP_CLOSING && !c->sq.n && !c->reads.n)
			loop_end(pair, c, 0, 0, "closed");
	}
}

/* ---- Posting and polling --------------------------------------------- */

int loop_post(struct fab_conn *fc, struct fab_wr *chain)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_pair *pair = c->pair;
	struct fab_wr *wr, *next;
	int rc = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&pair->lock);
	c->posts++;
	if (c->state != LOOP_ESTABLISHED || !c->established)
		rc = -ENOTCONN;
	else if (c->faults.refuse_post && c->posts == c->faults.refuse_post)
		rc = c->faults.refuse_error ? c->faults.refuse_error : -ENOMEM;
	for (wr = chain; wr && !rc; wr = wr->next)
		if (wr->op == FAB_READ && !c->read_depth)
			rc = -EINVAL;
	if (rc)
		goto out;
	c->counters.posts++;
	for (wr = chain; wr; wr = next) {
		next = wr->next;
		wr->priv[WR_NUMBER] = ++c->requests;
		push(&c->sq, wr);
	}
	c->in_call = true;
	progress(pair, false);
	c->in_call = false;
	if (loop_undone(pair))
		loop_notify(c); /* so that someone polls and moves it on */
out:
	pthread_mutex_unlock(&pair->lock);
	return rc;
}

int loop_post_recv(struct fab_conn *fc, struct fab_wr *chain)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct fab_wr *next;
	int rc = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&c->pair->lock);
	if (c->state == LOOP_DEAD) {
		rc = -ENOTCONN;
		chain = NULL;
	}
	for (; chain; chain = next) {
		next = chain->next;
		push(&c->rq, chain);
	}
	pthread_mutex_unlock(&c->pair->lock);
	return rc;
}

static void work_event(struct fab_wc *wc, struct fab_wr *wr)
{
	*wc = (struct fab_wc){
		.kind = FAB_WC_WORK,
		.status = (enum fab_status)wr->priv[WR_STATUS],
		.wr = wr,
		.len = (size_t)wr->priv[WR_LEN],
		.invalidated = wr->priv[WR_INV] & WR_INVALIDATED,
		.inv_handle = (uint32_t)wr->priv[WR_INV],
	};
}

/* The next event of @c, if one is due. */
static bool next_event(struct loop_conn *c, struct fab_wc *wc)
{
	if (c->established_due) {
		c->established_due = false;
		c->established = true;
		*wc = (struct fab_wc){
			.kind = FAB_WC_ESTABLISHED,
			.priv = c->side ? NULL : c->priv,
			.priv_len = c->side ? 0 : c->priv_len,
		};
		return true;
	}
	if (c->cq.n) {
		if (c->cq.head->priv[WR_DUE] > c->polls)
			return false;
		work_event(wc, pop(&c->cq));
		return true;
	}
	if (c->end_due) {
		c->end_due = false;
		c->ended = true;
		*wc = (struct fab_wc){
			.kind = FAB_WC_DISCONNECTED,
			.error = c->error,
			.reason = c->reason,
		};
		return true;
	}
	return false;
}

int loop_poll(struct fab_conn *fc, struct fab_wc *wc, int n)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_pair *pair = c->pair;
	int got = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&pair->lock);
	c->polls++;
	c->in_call = true;
	progress(pair, true);
	while (got < n && next_event(c, &wc[got]))
		got++;
	c->in_call = false;
	if (!got) {
		c->armed = true;
		if (c->cq.n || loop_undone(pair))
			loop_notify(c);
	}
	pthread_mutex_unlock(&pair->lock);
	return got;
}
