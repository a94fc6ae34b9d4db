/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - the Responder takes a Call: limits, RDMA Reads, assembly
 *
 * Runner only. A Call goes through the stages BODY (its Call chunk is read),
 * ITEMS (its data item chunks are read) and UPPER (the upper layer has it).
 * Nothing is allocated or read before every limit has been looked at, and no
 * RDMA starts before the last fragment [D5].
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/internal.h"

static struct rt_call_priv *call_get(struct rt_conn *c)
{
	struct rt_call_priv *call = c->free_calls;

	if (call) {
		c->free_calls = call->next_free;
	} else {
		call = calloc(1, sizeof(*call) + c->inst->cfg.call_user_size);
		if (!call)
			return NULL;
	}
	call->pub.conn = c;
	call->pub.reverse = false;
	call->pub.npieces = 0;
	call->pub.len = 0;
	call->pub.nwrites = 0;
	call->pub.has_reply_chunk = false;
	call->pub.op_class = 0;
	call->pub.ranged = false;
	call->stage = RT_CALL_BODY;
	call->failed = false;
	call->starved = false;
	call->held_credit = false;
	call->xid_counted = false;
	call->xmt.on = false;
	call->nplaced = 0;
	call->reads_pending = 0;
	call->bufs = NULL;
	call->body = NULL;
	call->memory = 0;
	call->reply_octets = 0;
	call->arrived = rt_now_ns();
	call->begun = 0;
	call->inv_handle = 0;
	call->nsegs = 0;
	call->nbody = 0;
	call->nreads = 0;
	call->reads_begun = 0;
	call->nbase = 0;
	call->reply.done = NULL;
	call->external = false;
	call->posted_first = false;
	cds_list_add_tail(&call->link, &c->calls);
	return call;
}

static void count_xid(struct rt_conn *c, uint32_t xid, int n)
{
	_Atomic uint16_t *at = &c->xids[xid % RT_XIDS];

	/* The runner alone writes. */
	atomic_store_explicit(
		at,
		(uint16_t)(atomic_load_explicit(at, memory_order_relaxed) + n),
		memory_order_relaxed);
}

void rt_call_free(struct rt_conn *c, struct rt_call_priv *call)
{
	if (call->starved) {
		call->starved = false;
		cds_list_del(&call->queue);
	}
	if (call->reads_pending) {
		/* The fabric still writes into its buffers. */
		call->failed = true;
		return;
	}
	if (call->stage >= RT_CALL_UPPER)
		c->calls_upper--;
	if (call->pub.reverse)
		c->calls_reverse--;
	if (call->held_credit)
		c->credit.holding--;
	if (call->xid_counted)
		count_xid(c, call->pub.xid, -1);
	rt_memory_give(c, call->memory);
	rt_bufs_put(&call->bufs);
	cds_list_del(&call->link);
	call->next_free = c->free_calls;
	c->free_calls = call;
}

/* Answer with an ERROR and forget the Call. */
void rt_call_error(struct rt_conn *c, struct rt_call_priv *call,
		   const struct wire_error *err)
{
	uint32_t xid = call->pub.xid;

	rt_log(c, LOG_NOTICE, "Call %08x refused: %s", xid,
	       wire_errcode_name(err->code));
	rt_error_about(c, xid, err);
	rt_call_free(c, call);
}

static void refuse_code(struct rt_conn *c, struct rt_call_priv *call,
			uint32_t code)
{
	struct wire_error err = { .code = code };

	rt_call_error(c, call, &err);
}

void rt_call_begin(struct rt_call *call)
{
	caa_container_of(call, struct rt_call_priv, pub)->begun = rt_now_ns();
}

void *rt_call_user(struct rt_call *call)
{
	return caa_container_of(call, struct rt_call_priv, pub)->user;
}

/* Copy a chunk's segments; false if there are more than we announced. */
static bool take_chunk(struct rt_call_priv *call, const struct wire_list *l,
		       struct wire_chunk_desc *d)
{
	struct wire_iter it = { 0 };
	struct wire_segment seg;

	d->seg = &call->seg[call->nsegs];
	d->count = 0;
	while (wire_segment_next(l, &it, &seg)) {
		if (call->nsegs == RT_MAX_SEGMENTS)
			return false;
		call->seg[call->nsegs++] = seg;
		d->count++;
	}
	return true;
}

/*
 * Take the lists out of the header. Returns false and sets @err if a limit of
 * ours is passed (7.3).
 */
static bool take_lists(struct rt_conn *c, struct rt_call_priv *call,
		       const struct wire_msg *m, struct wire_error *err)
{
	const struct rt_config *cfg = &c->inst->cfg;
	struct wire_iter it = { 0 };
	struct wire_read_segment rs;
	struct wire_list chunk;
	struct rt_read_chunk *r = NULL;
	uint64_t bytes = m->call.bytes + m->reads.bytes;

	/* [G1]: chunks that the level of reverse direction does not allow. */
	if (!c->server && rt_xchar_reverse(c) != RDMA2_RVRSDIR_GENL) {
		err->max_chunks = 0;
		err->code = RDMA2_ERR_READ_CHUNKS;
		if (m->call.count || m->reads.count)
			return false;
		err->code = RDMA2_ERR_WRITE_CHUNKS;
		if (m->writes.count || m->has_reply)
			return false;
	}
	err->code = RDMA2_ERR_SEGMENTS;
	err->max_segments = cfg->max_segments;
	if ((uint64_t)m->call.segments + m->reads.segments +
		    m->writes.segments + m->reply.segments >
	    cfg->max_segments)
		return false;
	err->code = RDMA2_ERR_WRITE_CHUNKS;
	err->max_chunks = cfg->max_write_chunks;
	if (m->writes.count > cfg->max_write_chunks)
		return false;

	err->code = RDMA2_ERR_READ_CHUNKS;
	err->max_chunks = cfg->max_read_chunks;
	while (wire_read_next(&m->call, &it, &rs)) {
		call->seg[call->nsegs++] = rs.target;
		call->nbody++;
	}
	it = (struct wire_iter){ 0 };
	while (wire_read_next(&m->reads, &it, &rs)) {
		if (!r || r->position != rs.position) {
			if (call->nreads == cfg->max_read_chunks)
				return false;
			r = &call->read[call->nreads++];
			r->position = rs.position;
			r->length = 0;
			r->first = call->nsegs;
			r->nsegs = 0;
			r->buf = NULL;
			r->placed = false;
		}
		call->seg[call->nsegs++] = rs.target;
		r->length += rs.target.length;
		r->nsegs++;
	}
	it = (struct wire_iter){ 0 };
	while (wire_chunk_next(&m->writes, &it, &chunk)) {
		unsigned int i = call->pub.nwrites++;

		take_chunk(call, &chunk, &call->write[i]);
		call->pub.writes[i] = chunk.bytes > UINT32_MAX ?
					      UINT32_MAX :
					      (uint32_t)chunk.bytes;
	}
	call->reply_chunk = (struct wire_chunk_desc){ 0 };
	call->pub.has_reply_chunk = m->has_reply;
	if (m->has_reply)
		take_chunk(call, &m->reply, &call->reply_chunk);

	/* [E4]: totals beyond what a message may have. */
	err->code = RDMA2_ERR_SYSTEM;
	return bytes <= cfg->max_message;
}

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
	b = fab_pool_get(c->inst->pool, len ? rt_round4(len) : 4);
	if (!b || !rt_memory_take(c, call->memory, b->size)) {
		fab_pool_put(b);
		return -EAGAIN;
	}
	*buf = b;
	rt_bufs_add(&call->bufs, b);
	call->memory += b->size;
	for (unsigned int i = first; i < first + nsegs; i++) {
		const struct wire_segment *s = &call->seg[i];
		struct rt_work *w;

		if (!s->length)
			continue;
		w = rt_work_get(c, RT_WORK_READ);
		if (!w)
			return -ENOMEM;
		w->call = call;
		w->wr.op = FAB_READ;
		w->wr.flags = FAB_F_SIGNALED;
		w->wr.handle = s->handle;
		w->wr.offset = s->offset;
		w->wr.nsge = 1;
		w->sge[0] = (struct fab_sge){ (uint8_t *)b->addr + at,
					      s->length, b->mr };
		at += s->length;
		call->reads_pending++;
		rt_chain_add(c, w);
		RT_COUNT(c, read_bytes, s->length);
	}
	RT_COUNT(c, read_chunks, 1);
	RT_PROBE(chunk__read, c, call->pub.xid, len, nsegs);
	return 0;
}

/*
 * There is no memory for a chunk. In version 1 the Call waits for what others
 * give back: all that could be said to the Requester is that its RPC has
 * failed. Not when it could not be had after all (@rc).
 */
static void no_memory(struct rt_conn *c, struct rt_call_priv *call, int rc)
{
	uint32_t xid = call->pub.xid;

	if (rc == -EAGAIN && c->v->waits) {
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
	call->stage = RT_CALL_UPPER;
	call->delivered = call->arrived;
	if (call->nbody || call->nreads > call->nplaced) {
		call->delivered = rt_now_ns();
		RT_STAGE(c, read, call->arrived, call->delivered);
	}
	c->calls_upper++;
	if (!c->server)
		RT_COUNT(c, reverse_calls_received, 1);
	else
		RT_COUNT(c, calls_received, 1);
	rt_conn_get(c);
	c->ops->call(c, &call->pub);
}

static void read_items(struct rt_conn *c, struct rt_call_priv *call)
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

static void read_body(struct rt_conn *c, struct rt_call_priv *call)
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
			return call->arrived / 1000000 +
			       c->inst->cfg.continuation_ms;
	}
	return 0;
}

void rt_calls_feed(struct rt_conn *c, bool late)
{
	struct cds_list_head again;
	uint64_t deadline = c->starved_deadline;
	bool fed = false;

	CDS_INIT_LIST_HEAD(&again);
	cds_list_splice(&c->starved, &again);
	CDS_INIT_LIST_HEAD(&c->starved);
	while (!cds_list_empty(&again)) {
		struct rt_call_priv *call = cds_list_first_entry(
			&again, struct rt_call_priv, queue);

		cds_list_del(&call->queue);
		call->starved = false;
		if (call->stage == RT_CALL_BODY)
			read_body(c, call);
		else
			read_items(c, call);
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
	if (late && !fed && !cds_list_empty(&c->starved)) {
		struct rt_call_priv *call = cds_list_first_entry(
			&c->starved, struct rt_call_priv, queue);

		no_memory(c, call, -ENOMEM);
	}
}

/* More than the head of a Call can have: RFC 5531, 9, two opaque_auth of 400
 * octets. */
#define RPC_HEAD 1024

static size_t copy_head(const struct rt_call_priv *call, uint8_t to[RPC_HEAD])
{
	size_t at = 0;

	for (unsigned int i = 0; i < call->nbase && at < RPC_HEAD; i++) {
		size_t n = call->base[i].len;

		if (n > RPC_HEAD - at)
			n = RPC_HEAD - at;
		memcpy(to + at, call->base[i].addr, n);
		at += n;
	}
	return at;
}

/* The stream without data items is here: look at it, read the items. */
void rt_call_proceed(struct rt_conn *c, struct rt_call_priv *call)
{
	struct wire_error err = { .code = RDMA2_ERR_BAD_XDR };
	size_t base = 0, before = 0;

	for (unsigned int i = 0; i < call->nbase; i++)
		base += call->base[i].len;
	/* Positions that cannot be reached, before anything is read. */
	for (unsigned int i = 0; i < call->nreads; i++) {
		if (call->read[i].position > base + before) {
			rt_call_error(c, call, &err);
			return;
		}
		before += rt_round4(call->read[i].length);
	}
	if (c->ops->vet) {
		uint8_t copy[RPC_HEAD];
		const void *head = call->base[0].addr;
		size_t len = call->base[0].len;

		/* The parts of a group may be short. */
		if (len < sizeof(copy) && call->nbase > 1) {
			len = copy_head(call, copy);
			head = copy;
		}
		err.code = c->ops->vet(c, head, len, call->nreads,
				       &err.max_chunks);
		if (err.code) {
			rt_call_error(c, call, &err);
			return;
		}
	}
	call->stage = RT_CALL_ITEMS;
	read_items(c, call);
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

void rt_call_read_done(struct rt_conn *c, struct rt_call_priv *call, bool ok)
{
	call->reads_pending--;
	/* What is under way when the connection ends goes no further. */
	if (!ok || c->state >= RT_CLOSING)
		call->failed = true;
	if (call->reads_pending)
		return;
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

struct rt_call_priv *rt_call_admit(struct rt_conn *c, uint32_t xid)
{
	struct wire_error err = { .code = RDMA2_ERR_SYSTEM };
	struct rt_call_priv *call;

	if (c->state == RT_DRAINING) {
		/* The end of the connection is the answer (7.4): it lets the
		 * Requester send again elsewhere, as an ERROR would not. */
		RT_COUNT(c, dropped, 1);
		return NULL;
	}
	if (rt_conn_crowded(c)) {
		rt_conn_fail(c, -ENOBUFS,
			     "too many Replies wait for this host");
		rt_event(c, EV_ABORT);
		return NULL;
	}
	if (!c->ops->call || (!c->server && !rt_xchar_reverse(c))) {
		rt_error_about(c, xid, &err);
		return NULL;
	}
	/* [A9]: it does without properties, so the defaults hold. */
	rt_conn_tell_established(c);
	call = call_get(c);
	if (!call) {
		c->v->turn_away(c, xid);
		return NULL;
	}
	call->pub.xid = xid;
	call->xid_counted = true;
	count_xid(c, xid, 1);
	call->pub.reverse = !c->server;
	/* Its Reply needs a credit [G3]. */
	c->calls_reverse += call->pub.reverse;
	/* Its credit is given back with the answer, so that no GRANT is spent
	 * on it meanwhile. */
	call->held_credit = true;
	c->credit.holding++;
	return call;
}

void rt_call_receive(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w, bool continued)
{
	struct rt_call_priv *call = rt_call_admit(c, m->p.xid);
	struct wire_error err = { .code = RDMA2_ERR_SYSTEM };

	if (!call)
		return;
	if (!take_lists(c, call, m, &err)) {
		rt_call_error(c, call, &err);
		return;
	}
	call->inv_handle = c->v->inv_take(c, call, m->inv_handle);
	if (m->external) {
		RT_COUNT(c, special_received, 1);
		call->body_len = (size_t)m->call.bytes;
		read_body(c, call);
		return;
	}
	if (continued) {
		struct rt_sequence *s = &c->seq;

		/* The fragments' buffers, and their account, move over. */
		RT_COUNT(c, continued_received, 1);
		RT_STAGE(c, receive, s->began, call->arrived);
		call->nbase = s->npieces;
		memcpy(call->base, s->piece, s->npieces * sizeof(*s->piece));
		call->bufs = s->bufs;
		s->bufs = NULL;
		call->memory = s->memory;
		s->len = 0;
		s->memory = 0;
	} else {
		RT_COUNT(c, inline_received, 1);
		call->nbase = 1;
		call->base[0] = (struct rt_piece){ (uint8_t *)w->buf->addr +
							   m->header_len,
						   m->payload_len, w->buf->mr };
		rt_bufs_add(&call->bufs, w->buf);
		w->buf = NULL;
	}
	rt_call_proceed(c, call);
}
