/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * advance - a Call goes as far as it can: its chunks are read, and the upper
 * layer has it
 *
 * It goes through the stages BODY (its Call chunk is read), LOOK (the stream
 * without its data items is here), ITEMS (these are read), READY and UPPER (the
 * upper layer has it). It stops where something has to come first: an RDMA Read;
 * memory for the next chunk (rt_responding.starved); and, while its host does
 * not take its Replies or memory is short, those that wait
 * (rt_responding.waiting).
 *
 * More may be asked for at once than the network carries: then what has been
 * read from storage piles up. So no more is executed for a host that has too
 * much of it, neither what arrives nor, as far as the upper layer asks here
 * before it begins, what it already has. Nothing ends because of it: a peer
 * that never takes its Replies meets the limits on those.
 *
 * A Call waits only behind a Reply of its own connection that has not gone, or
 * behind another Call that does. So there is always something to come that has
 * the connection run, and these looked at again.
 *
 * Runner only, but for rt_call_wait() and rt_conn_replies_full().
 */
#include <errno.h>
#include <sys/param.h>

#include "base/be.h"
#include "transport/responder/responder.h"

/* Longer than what comes at once: an FPDU of iWARP has 64 KiB. */
#define LONG_READ (64u << 10)

static void refuse_code(struct rt_conn *c, struct rt_call_priv *call,
			uint32_t code)
{
	struct wire_error err = { .code = code };

	rt_call_error(c, call, &err);
}

/* ---- Reading ------------------------------------------------------------ */

static void read_done(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc);

/* Post an RDMA Read of @len octets at @offset of a segment. 0 or -ENOMEM. */
static int post_read(struct rt_conn *c, struct rt_call_priv *call,
		     const struct wire_segment *s, size_t offset,
		     const struct rt_piece *to)
{
	struct rt_work *w = rt_work_get(c, read_done);

	if (!w)
		return -ENOMEM;
	w->owner = call;
	w->wr.op = FAB_READ;
	w->wr.flags = FAB_F_SIGNALED;
	w->wr.handle = s->handle;
	w->wr.offset = s->offset + offset;
	w->wr.nsge = 1;
	w->sge[0] = (struct fab_sge){ to->addr, to->len, to->mr };
	if (!call->reads_pending++) {
		call->reading_since = rt_now_ms();
		c->resp.calls_reading++;
	}
	rt_chain_add(c, w);
	RT_COUNT(c, read_bytes, to->len);
	return 0;
}

/* Memory for a chunk of @len octets: one buffer, or two for what is longer than
 * any. The number of pieces; 0: there is none now. */
static unsigned int chunk_memory(struct rt_conn *c, struct rt_call_priv *call,
				 size_t len, struct rt_piece *piece)
{
	struct fab_buf *bufs = NULL, *b;
	size_t memory = 0, here;
	unsigned int n = 0;

	do {
		here = MIN(len, FAB_POOL_MAX_BUF);
		b = rt_memory_get(c, call->memory + memory,
				  here ? rt_round4(here) : 4);
		if (!b) {
			rt_memory_give(c, memory);
			rt_bufs_put(&bufs);
			return 0;
		}
		piece[n++] = (struct rt_piece){ b->addr, here, b->mr };
		memory += b->size;
		rt_bufs_add(&bufs, b);
		len -= here;
	} while (len);
	while ((b = bufs)) {
		bufs = b->next;
		rt_bufs_add(&call->bufs, b);
	}
	call->memory += memory;
	return n;
}

/*
 * Start RDMA Reads of one chunk into memory of its own, in @npieces pieces. 0;
 * -EAGAIN: there is no memory now, nothing was begun; -ENOMEM: the Call cannot
 * go on.
 */
static int read_chunk(struct rt_conn *c, struct rt_call_priv *call,
		      unsigned int first, unsigned int nsegs, size_t len,
		      struct rt_piece *piece, unsigned int *npieces)
{
	struct rt_piece to, *at = piece;
	size_t off = 0, done;
	int rc;

	/* Nobody overtakes those that wait. */
	if (!cds_list_empty(&c->resp.starved))
		return -EAGAIN;
	*npieces = chunk_memory(c, call, len, piece);
	if (!*npieces)
		return -EAGAIN;
	if (len > LONG_READ && !call->long_read &&
	    (c->inst->limits->caps & FAB_CAP_PARTS)) {
		call->long_read = true;
		rt_long_read(c, true);
	}
	for (unsigned int i = first; i < first + nsegs; i++) {
		const struct wire_segment *s = &call->seg[i];

		for (done = 0; done < s->length; done += to.len) {
			if (off == at->len) {
				at++;
				off = 0;
			}
			to = (struct rt_piece){
				(uint8_t *)at->addr + off,
				MIN(s->length - done, at->len - off), at->mr
			};
			rc = post_read(c, call, s, done, &to);
			if (rc)
				return rc;
			off += to.len;
		}
	}
	RT_COUNT(c, read_chunks, 1);
	RT_PROBE(chunk__read, c, call->pub.xid, len, nsegs);
	return 0;
}

/*
 * There is no memory for a chunk. The Call waits for what others give back: all
 * that could be said to the Requester is that its RPC has failed. Not when it
 * could not be had after all (@rc), and with memory of its own no longer than a
 * continued message may: else two that have some would wait for each other.
 */
static void no_memory(struct rt_conn *c, struct rt_call_priv *call, int rc)
{
	uint32_t xid = call->pub.xid;

	if (rc == -EAGAIN) {
		if (!call->short_told)
			RT_COUNT(c, shortages, 1);
		call->short_told = true;
		if (call->memory && !call->starved_since)
			call->starved_since = rt_now_ms();
		if (cds_list_empty(&c->resp.starved))
			c->resp.starved_deadline =
				rt_now_ms() + c->inst->cfg.memory_wait_ms;
		call->starved = true;
		/* The oldest first. */
		cds_list_add_tail(&call->queue, &c->resp.starved);
		return;
	}
	rt_log(c, LOG_NOTICE, "Call %08x: no memory for its chunks", xid);
	rt_call_free(c, call);
	c->v->turn_away(c, xid);
}

/* ---- Waiting ------------------------------------------------------------ */

/* One at a time goes on even so. */
static bool taken_up(struct rt_conn *c)
{
	return rt_replies_wait(c,
			       c->resp.calls_executing + c->resp.calls_reading);
}

/* Nobody overtakes those that wait. */
static bool must_wait(struct rt_conn *c)
{
	return c->state < RT_CLOSING &&
	       (!cds_list_empty(&c->resp.waiting) || taken_up(c));
}

static void hand_up(struct rt_conn *c, struct rt_call_priv *call)
{
	rt_executing_add(c, 1);
	/* It has been there already. */
	if (call->stage == RT_CALL_UPPER) {
		c->ops->resume(c, &call->pub);
		return;
	}
	call->stage = RT_CALL_UPPER;
	c->calls_upper++;
	c->resp.calls_unanswered++;
	if (!c->server)
		RT_COUNT(c, reverse_calls_received, 1);
	else
		RT_COUNT(c, calls_received, 1);
	rt_conn_get(c);
	c->ops->call(c, &call->pub);
}

static bool unread(const struct rt_call_priv *call)
{
	return call->reads_begun < call->nreads;
}

static void wait_for(struct rt_conn *c, struct rt_call_priv *call)
{
	struct cds_list_head *before = &c->resp.waiting;
	struct rt_call_priv *other;

	if (!c->resp.replies_told)
		rt_log(c, LOG_NOTICE, "Calls wait: %s", rt_replies_why(c));
	c->resp.replies_told = true;
	RT_COUNT(c, reply_waits, 1);
	call->waiting = true;
	/* What has its items goes first: it keeps memory that those without
	 * would take. */
	cds_list_for_each_entry(other, &c->resp.waiting, queue)
	{
		if (call->nreads && !unread(call) && unread(other)) {
			before = &other->queue;
			break;
		}
	}
	cds_list_add_tail(&call->queue, before);
}

static bool held_up(struct rt_conn *c, struct rt_call_priv *call)
{
	/* It would keep the memory for its items from others. */
	if (call->nreads == call->nplaced || !must_wait(c))
		return false;
	wait_for(c, call);
	return true;
}

/* ---- Stages --------------------------------------------------------------- */

static void up(struct rt_conn *c, struct rt_call_priv *call)
{
	if (must_wait(c))
		wait_for(c, call);
	else
		hand_up(c, call);
}

/* True: its body is here. */
static bool read_body(struct rt_conn *c, struct rt_call_priv *call)
{
	int rc;

	if (!call->nbase) {
		rc = read_chunk(c, call, 0, call->nbody, call->body_len,
				call->base, &call->nbase);
		if (rc)
			no_memory(c, call, rc);
		else if (!call->reads_pending)
			refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return false;
	}
	/* 7.2: rdma_xid must be the XID of the RPC message. */
	if (call->body_len < 4 ||
	    be32_get(call->base[0].addr) != call->pub.xid) {
		refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return false;
	}
	return true;
}

/* What its data items are; false: it has been answered. */
static bool look(struct rt_conn *c, struct rt_call_priv *call)
{
	struct wire_error err = { 0 };
	bool torn;

	if (!rt_call_may_read(c, call, &torn, &err)) {
		rt_call_error(c, call, &err);
		return false;
	}
	/* 7.2 [C7]: it is for the RPC layer to answer, and nothing is read. */
	if (torn) {
		call->pub.torn = true;
		call->nreads = 0;
	}
	return true;
}

/* True: they are here. */
static bool read_items(struct rt_conn *c, struct rt_call_priv *call)
{
	while (call->reads_begun < call->nreads) {
		struct rt_read_chunk *r = &call->read[call->reads_begun];
		unsigned int n;
		int rc = 0;

		if (!r->placed)
			rc = read_chunk(c, call, r->first, r->nsegs, r->length,
					&r->to, &n);
		if (rc) {
			no_memory(c, call, rc);
			return false;
		}
		call->reads_begun++;
	}
	return !call->reads_pending;
}

static bool deliver(struct rt_conn *c, struct rt_call_priv *call)
{
	if (!rt_call_assemble(call)) {
		refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return false;
	}
	call->delivered = call->arrived;
	if (call->nbody || call->nreads > call->nplaced) {
		call->delivered = base_now_ns();
		RT_STAGE(c, read, call->arrived, call->delivered);
	}
	return true;
}

void rt_call_advance(struct rt_conn *c, struct rt_call_priv *call)
{
	rt_assert_strand(c);
	switch (call->stage) {
	case RT_CALL_BODY:
		if (!read_body(c, call))
			return;
		call->stage = RT_CALL_LOOK;
		/* fall through */
	case RT_CALL_LOOK:
		if (!look(c, call))
			return;
		call->stage = RT_CALL_ITEMS;
		if (held_up(c, call))
			return;
		/* fall through */
	case RT_CALL_ITEMS:
		if (!read_items(c, call) || !deliver(c, call))
			return;
		call->stage = RT_CALL_READY;
		/* fall through */
	default:
		up(c, call);
	}
}

static void read_done(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc)
{
	struct rt_call_priv *call = w->owner;

	rt_work_put(c, w);
	assert(call->reads_pending && c->resp.calls_reading);
	call->reads_pending--;
	/* What is under way when the connection ends goes no further. */
	if (!rt_work_ok(wc) || c->state >= RT_CLOSING)
		call->failed = true;
	if (call->reads_pending)
		return;
	c->resp.calls_reading--;
	if (call->long_read) {
		call->long_read = false;
		rt_long_read(c, false);
	}
	if (call->failed) {
		rt_call_free(c, call);
		return;
	}
	if (!call->starved)
		rt_call_advance(c, call);
}

/* ---- Again ---------------------------------------------------------------- */

uint64_t rt_calls_deadline(const struct rt_conn *c)
{
	const struct rt_call_priv *call;

	rt_assert_strand(c);
	/* The oldest first. */
	cds_list_for_each_entry(call, &c->resp.calls, link)
	{
		if (call->stage < RT_CALL_UPPER && call->reads_pending)
			return call->reading_since +
			       c->inst->cfg.continuation_ms;
	}
	return 0;
}

/* The first that waits with memory of its own for too long, wherever it stands: those
 * of other connections may wait for that. NULL: none does. */
static struct rt_call_priv *held_too_long(const struct rt_conn *c)
{
	struct rt_call_priv *call;

	cds_list_for_each_entry(call, &c->resp.starved, queue)
	{
		if (call->starved_since && rt_now_ms() - call->starved_since >=
						   c->inst->cfg.continuation_ms)
			return call;
	}
	return NULL;
}

void rt_calls_feed(struct rt_conn *c, bool late)
{
	struct cds_list_head again;
	uint64_t deadline = c->resp.starved_deadline;
	struct rt_call_priv *first, *held;
	bool fed = false;

	rt_assert_strand(c);
	CDS_INIT_LIST_HEAD(&again);
	cds_list_splice(&c->resp.starved, &again);
	CDS_INIT_LIST_HEAD(&c->resp.starved);
	while (!cds_list_empty(&again)) {
		struct rt_call_priv *call = cds_list_first_entry(
			&again, struct rt_call_priv, queue);

		cds_list_del(&call->queue);
		call->starved = false;
		rt_call_advance(c, call);
		if (cds_list_empty(&c->resp.starved)) {
			fed = true;
			continue;
		}
		/* Still hungry, and so are those that came after it. */
		cds_list_splice(&again, c->resp.starved.prev);
		if (!fed)
			c->resp.starved_deadline = deadline;
		break;
	}
	if (!late || fed || cds_list_empty(&c->resp.starved))
		return;
	first = cds_list_first_entry(&c->resp.starved, struct rt_call_priv,
				     queue);
	held = held_too_long(c);
	if (!held &&
	    (c->resp.calls_executing || !cds_list_empty(&c->resp.waiting) ||
	     rt_memory_elsewhere(c)))
		/* They give theirs back, or other connections do, be it after
		 * a while: how long that takes is not this Call's fault. */
		c->resp.starved_deadline =
			rt_now_ms() + c->inst->cfg.memory_wait_ms;
	else
		no_memory(c, held ? held : first, -ENOMEM);
}

void rt_calls_let(struct rt_conn *c)
{
	rt_assert_strand(c);
	while (!cds_list_empty(&c->resp.waiting) &&
	       (c->state >= RT_CLOSING || !taken_up(c))) {
		struct rt_call_priv *call = cds_list_first_entry(
			&c->resp.waiting, struct rt_call_priv, queue);

		call->waiting = false;
		cds_list_del(&call->queue);
		if (call->stage < RT_CALL_READY)
			rt_call_advance(c, call);
		else
			hand_up(c, call);
	}
}

/* The upper layer still has it. */
static void mail_wait(struct rt_conn *c, struct rt_mail *m)
{
	struct rt_call_priv *call =
		caa_container_of(m, struct rt_call_priv, mail);

	rt_executing_add(c, -1);
	up(c, call);
}

void rt_call_wait(struct rt_call *pub)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);

	rt_inbox_put(pub->conn, &call->mail, mail_wait);
}

bool rt_conn_replies_full(struct rt_conn *c)
{
	unsigned int executing = atomic_load_explicit(&c->resp.calls_executing,
						      memory_order_relaxed);

	/* One of them is the one that asks. */
	return rt_replies_wait(c, executing > 1);
}
