/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call_read - the Responder reads a Call's chunks, and puts its stream together
 *
 * Runner only. From when its limits have been looked at (call.c) until the
 * upper layer has it. A Call waits in rt_conn.starved when there is no memory
 * for its next chunk.
 */
#include <errno.h>
#include <string.h>

#include "transport/responder/responder.h"

static void refuse_code(struct rt_conn *c, struct rt_call_priv *call,
			uint32_t code)
{
	struct wire_error err = { .code = code };

	rt_call_error(c, call, &err);
}

static void read_done(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc);

/*
 * Start RDMA Reads of one chunk into a buffer of its own. 0; -EAGAIN: there is
 * no memory now, nothing was begun; -ENOMEM: the Call cannot go on.
 */
static int read_chunk(struct rt_conn *c, struct rt_call_priv *call,
		      unsigned int first, unsigned int nsegs, size_t len,
		      struct fab_buf **buf)
{
	struct fab_buf *b;
	size_t at = 0;

	/* Nobody overtakes those that wait. */
	if (!cds_list_empty(&c->starved))
		return -EAGAIN;
	b = rt_memory_get(c, call->memory, len ? rt_round4(len) : 4);
	if (!b)
		return -EAGAIN;
	*buf = b;
	rt_bufs_add(&call->bufs, b);
	call->memory += b->size;
	for (unsigned int i = first; i < first + nsegs; i++) {
		const struct wire_segment *s = &call->seg[i];
		struct rt_work *w;

		if (!s->length)
			continue;
		w = rt_work_get(c, read_done);
		if (!w)
			return -ENOMEM;
		w->owner = call;
		w->wr.op = FAB_READ;
		w->wr.flags = FAB_F_SIGNALED;
		w->wr.handle = s->handle;
		w->wr.offset = s->offset;
		w->wr.nsge = 1;
		w->sge[0] = (struct fab_sge){ (uint8_t *)b->addr + at,
					      s->length, b->mr };
		at += s->length;
		if (!call->reads_pending++) {
			call->reading_since = rt_now_ms();
			c->calls_reading++;
		}
		rt_chain_add(c, w);
		RT_COUNT(c, read_bytes, s->length);
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
		if (call->memory && !call->starved_since)
			call->starved_since = rt_now_ms();
		if (cds_list_empty(&c->starved))
			c->starved_deadline =
				rt_now_ms() + c->inst->cfg.memory_wait_ms;
		call->starved = true;
		/* The oldest first. */
		cds_list_add_tail(&call->queue, &c->starved);
		return;
	}
	rt_log(c, LOG_NOTICE, "Call %08x: no memory for its chunks", xid);
	rt_call_free(c, call);
	c->v->turn_away(c, xid);
}

/* What has come in target segments stays where it is; so its roundup, of which
 * nothing is known, comes from elsewhere. */
static bool add_placed(struct rt_call_priv *call, const struct rt_read_chunk *r)
{
	const struct fab_buf *z = call->pub.conn->inst->zeros;
	struct rt_call *pub = &call->pub;
	size_t pad = rt_round4(r->length) - r->length;

	if (pub->npieces + r->nsegs + (pad ? 1 : 0) > RT_MAX_PIECES)
		return false;
	memcpy(&pub->pieces[pub->npieces], &call->placed[r->first],
	       r->nsegs * sizeof(*pub->pieces));
	pub->npieces += r->nsegs;
	if (pad)
		pub->pieces[pub->npieces++] =
			(struct rt_piece){ z->addr, pad, z->mr };
	pub->len += r->length + pad;
	return true;
}

/* The whole stream, with its chunks at their Positions (4.5.1). */
static bool assemble(struct rt_call_priv *call)
{
	struct rt_call *pub = &call->pub;
	unsigned int at = 0;
	size_t off = 0;

	for (unsigned int i = 0; i <= call->nreads; i++) {
		const struct rt_read_chunk *r = &call->read[i];
		size_t want = SIZE_MAX;

		if (i < call->nreads) {
			if (r->position < pub->len)
				return false;
			want = r->position - pub->len;
		}
		while (want && at < call->nbase) {
			struct rt_piece *p;
			size_t n = call->base[at].len - off;

			if (n > want)
				n = want;
			if (n) {
				if (pub->npieces == RT_MAX_PIECES)
					return false;
				p = &pub->pieces[pub->npieces++];
				p->addr = (uint8_t *)call->base[at].addr + off;
				p->len = n;
				p->mr = call->base[at].mr;
				pub->len += n;
				off += n;
				if (want != SIZE_MAX)
					want -= n;
			}
			if (off == call->base[at].len) {
				at++;
				off = 0;
			}
		}
		if (i == call->nreads)
			break;
		if (want)
			return false; /* beyond the end of the stream */
		if (r->placed) {
			if (!add_placed(call, r))
				return false;
		} else if (r->length) {
			size_t n = rt_round4(r->length);

			if (pub->npieces == RT_MAX_PIECES)
				return false;
			/* Roundup is not in the chunk (4.5.3.1); and nothing
			 * of the buffer's earlier use may show. */
			memset((uint8_t *)r->buf->addr + r->length, 0,
			       n - r->length);
			pub->pieces[pub->npieces++] =
				(struct rt_piece){ r->buf->addr, n,
						   r->buf->mr };
			pub->len += n;
		}
	}
	return true;
}

static void deliver(struct rt_conn *c, struct rt_call_priv *call)
{
	if (!assemble(call)) {
		refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return;
	}
	call->delivered = call->arrived;
	if (call->nbody || call->nreads > call->nplaced) {
		call->delivered = rt_now_ns();
		RT_STAGE(c, read, call->arrived, call->delivered);
	}
	rt_call_hand_up(c, call);
}

void rt_call_read_items(struct rt_conn *c, struct rt_call_priv *call)
{
	while (call->reads_begun < call->nreads) {
		struct rt_read_chunk *r = &call->read[call->reads_begun];
		int rc = 0;

		if (!r->placed)
			rc = read_chunk(c, call, r->first, r->nsegs, r->length,
					&r->buf);
		if (rc) {
			no_memory(c, call, rc);
			return;
		}
		call->reads_begun++;
	}
	if (!call->reads_pending)
		deliver(c, call);
}

void rt_call_read_body(struct rt_conn *c, struct rt_call_priv *call)
{
	int rc = read_chunk(c, call, 0, call->nbody, call->body_len,
			    &call->body);

	if (rc) {
		no_memory(c, call, rc);
		return;
	}
	call->nbase = 1;
	call->base[0] = (struct rt_piece){ call->body->addr, call->body_len,
					   call->body->mr };
	if (!call->reads_pending)
		refuse_code(c, call, RDMA2_ERR_BAD_XDR);
}

uint64_t rt_calls_deadline(const struct rt_conn *c)
{
	const struct rt_call_priv *call;

	/* The oldest first. */
	cds_list_for_each_entry(call, &c->calls, link)
	{
		if (call->stage < RT_CALL_UPPER && call->reads_pending)
			return call->reading_since +
			       c->inst->cfg.continuation_ms;
	}
	return 0;
}

void rt_calls_feed(struct rt_conn *c, bool late)
{
	struct cds_list_head again;
	uint64_t deadline = c->starved_deadline;
	struct rt_call_priv *first;
	bool fed = false, held;

	CDS_INIT_LIST_HEAD(&again);
	cds_list_splice(&c->starved, &again);
	CDS_INIT_LIST_HEAD(&c->starved);
	while (!cds_list_empty(&again)) {
		struct rt_call_priv *call = cds_list_first_entry(
			&again, struct rt_call_priv, queue);

		cds_list_del(&call->queue);
		call->starved = false;
		if (call->stage == RT_CALL_BODY)
			rt_call_read_body(c, call);
		else
			rt_call_read_items(c, call);
		if (cds_list_empty(&c->starved)) {
			fed = true;
			continue;
		}
		/* Still hungry, and so are those that came after it. */
		cds_list_splice(&again, c->starved.prev);
		if (!fed)
			c->starved_deadline = deadline;
		break;
	}
	if (!late || fed || cds_list_empty(&c->starved))
		return;
	first = cds_list_first_entry(&c->starved, struct rt_call_priv, queue);
	held = first->starved_since && rt_now_ms() - first->starved_since >=
					       c->inst->cfg.continuation_ms;
	if (!held && (c->calls_executing || !cds_list_empty(&c->waiting) ||
		      atomic_load_explicit(&c->inst->memory,
					   memory_order_relaxed) > c->memory))
		/* They give theirs back, or other connections do, be it after
		 * a while: how long that takes is not this Call's fault. */
		c->starved_deadline = rt_now_ms() + c->inst->cfg.memory_wait_ms;
	else
		no_memory(c, first, -ENOMEM);
}

/* Positions that cannot be reached. */
static bool beyond(const struct rt_call_priv *call)
{
	size_t base = 0, before = 0;

	for (unsigned int i = 0; i < call->nbase; i++)
		base += call->base[i].len;
	for (unsigned int i = 0; i < call->nreads; i++) {
		if (call->read[i].position > base + before)
			return true;
		before += rt_round4(call->read[i].length);
	}
	return false;
}

/* What the upper layer says of its data items; 0, or the ERROR's code. */
static uint32_t vet(struct rt_conn *c, const struct rt_call_priv *call,
		    bool *torn, uint32_t *max)
{
	struct rt_vet v = {
		.pieces = call->base,
		.npieces = call->nbase,
		.total = call->nreads_all,
		.nreads = call->nreads,
		.torn = *torn,
	};
	uint32_t code;

	if (!c->ops->vet)
		return *torn ? RDMA2_ERR_BAD_XDR : 0;
	for (unsigned int i = 0; i < v.nreads; i++)
		v.reads[i] = (struct rt_vet_read){ call->read[i].position,
						   call->read[i].length };
	code = c->ops->vet(c, &v, max);
	*torn = v.torn;
	return code;
}

/* May its data items be read? False: @err has been set. */
static bool may_read(struct rt_conn *c, struct rt_call_priv *call, bool *torn,
		     struct wire_error *err)
{
	uint32_t most = c->inst->cfg.max_read_chunks, max = most;
	bool many = call->nreads_all > call->nreads;

	if (!call->nreads_all)
		return true;
	err->code = vet(c, call, torn, &max);
	/* 7.3.1: as many as there may be for this Call. */
	err->max_chunks = max < most ? max : most;
	if (many && err->code != RDMA2_ERR_READ_CHUNKS)
		*err = (struct wire_error){ .code = RDMA2_ERR_READ_CHUNKS,
					    .max_chunks = most };
	/* [R9] */
	else if (!err->code && *torn && call->format)
		err->code = RDMA2_ERR_BAD_XDR;
	return !err->code;
}

/* The stream without data items is here: look at it, read the items. */
void rt_call_proceed(struct rt_conn *c, struct rt_call_priv *call)
{
	struct wire_error err = { 0 };
	bool torn = beyond(call);

	if (!may_read(c, call, &torn, &err)) {
		rt_call_error(c, call, &err);
		return;
	}
	/* 7.2 [C7]: it is for the RPC layer to answer, and nothing is read. */
	if (torn) {
		call->pub.torn = true;
		call->nreads = 0;
	}
	call->stage = RT_CALL_ITEMS;
	if (!rt_call_held_up(c, call))
		rt_call_read_items(c, call);
}

static void have_body(struct rt_conn *c, struct rt_call_priv *call)
{
	const uint8_t *b = call->body->addr;
	uint32_t xid;

	/* 7.2: rdma_xid must be the XID of the RPC message. */
	xid = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	      (uint32_t)b[2] << 8 | b[3];
	if (call->base[0].len < 4 || xid != call->pub.xid) {
		refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return;
	}
	rt_call_proceed(c, call);
}

static void read_done(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc)
{
	struct rt_call_priv *call = w->owner;

	rt_work_put(c, w);
	call->reads_pending--;
	/* What is under way when the connection ends goes no further. */
	if (!rt_work_ok(wc) || c->state >= RT_CLOSING)
		call->failed = true;
	if (call->reads_pending)
		return;
	c->calls_reading--;
	if (call->failed) {
		rt_call_free(c, call);
		return;
	}
	if (call->starved)
		return;
	if (call->stage == RT_CALL_BODY)
		have_body(c, call);
	else
		deliver(c, call);
}
