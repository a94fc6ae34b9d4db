/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * incoming_call - a Call that was received: admission, its chunk lists, its stream
 *
 * Every limit is checked before memory is allocated or an RDMA Read is posted, and no
 * RDMA begins before the last fragment of a continued Call has been received [D5].
 *
 * rt_call_admit() alone allocates a Call, and rt_call_free() alone returns it to its
 * connection's free list.
 *
 * Context: the runner. The upper layer calls rt_call_begin() and rt_call_user().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "transport/responder/responder.h"

/* ---- Allocation ----------------------------------------------------------- */

static struct rt_call_priv *call_get(struct rt_conn *c)
{
	struct rt_call_priv *call = c->resp.free_calls;

	if (call) {
		c->resp.free_calls = call->next_free;
	} else {
		call = calloc(1, rt_call_size(c->inst));
		if (!call)
			return NULL;
	}
	call->idle = false;
	call->pub.conn = c;
	call->pub.reverse = false;
	call->pub.npieces = 0;
	call->pub.len = 0;
	call->pub.nwrites = 0;
	call->pub.has_reply_chunk = false;
	call->pub.op_class = 0;
	call->pub.ranged = false;
	call->pub.torn = false;
	call->pub.vetted = false;
	call->stage = RT_CALL_VET;
	call->failed = false;
	call->starved = false;
	call->shortage_counted = false;
	call->starved_since = 0;
	call->waiting = false;
	call->unread = false;
	call->under_way = 0;
	call->nplaced = 0;
	call->reads_pending = 0;
	call->bufs = NULL;
	call->memory = 0;
	call->reply_octets = 0;
	call->arrived = base_now_ns();
	call->begun = 0;
	call->inv_handle = 0;
	call->nsegs = 0;
	call->nbody = 0;
	call->nreads = 0;
	call->nreads_all = 0;
	call->reads_begun = 0;
	call->nbase = 0;
	call->reply.done = NULL;
	call->external = false;
	call->posted_first = false;
	call->written = 0;
	call->writing = 0;
	cds_list_add_tail(&call->link, &c->resp.calls);
	c->calls_all++;
	return call;
}

/*
 * A peer may send more Calls than the Advertised credits: with the credits that draw the
 * fragments of a Reply, or while reverse Calls are outstanding ([A5] rule 6). Their
 * number has no limit, so those in excess of what version 1 allows are charged to the
 * host's memory. Returns false if there is none. The peer had the credit, so only that
 * Call fails (7.4.1).
 */
static bool charge_surplus(struct rt_conn *c, size_t *n)
{
	*n = 0;
	if (c->v->number == WIRE_VERS1 || c->credit.holding < 2 * c->credit.max)
		return true;
	*n = rt_call_size(c->inst) + c->recv_size;
	return rt_memory_charge(c, 0, *n);
}

void rt_calls_shrink(struct rt_conn *c, unsigned int n)
{
	struct rt_call_priv **list = &c->resp.free_calls;

	rt_assert_strand(c);
	while (*list && n--)
		list = &(*list)->next_free;
	while (*list) {
		struct rt_call_priv *call = *list;

		*list = call->next_free;
		free(call);
	}
}

bool rt_calls_trim(struct rt_conn *c)
{
	struct rt_call_priv **at = &c->resp.free_calls, *call;
	bool some = false;

	rt_assert_strand(c);
	/* Keep the first, which was used last. */
	for (bool first = true; *at; first = false) {
		call = *at;
		if (!first && call->idle) {
			*at = call->next_free;
			free(call);
			some = true;
		} else {
			call->idle = true;
			at = &call->next_free;
		}
	}
	return some;
}

void rt_call_free(struct rt_conn *c, struct rt_call_priv *call)
{
	bool waiting = call->waiting;

	rt_assert_strand(c);
	if (call->starved || waiting || call->unread) {
		call->starved = false;
		call->waiting = false;
		call->unread = false;
		cds_list_del(&call->queue);
	}
	if (call->reads_pending) {
		/* The fabric still writes into the buffers. */
		call->failed = true;
		return;
	}
	assert(call->stage < RT_CALL_UPPER || c->calls_upper);
	if (call->stage >= RT_CALL_UPPER)
		c->calls_upper--;
	if (call->stage == RT_CALL_UPPER && !waiting)
		rt_executing_add(c, -1);
	assert(!call->pub.reverse || c->calls_reverse);
	if (call->pub.reverse)
		c->calls_reverse--;
	assert(c->calls_all && c->calls_all >= c->credit.holding);
	assert(call->posted_first || c->credit.holding);
	if (!call->posted_first)
		c->credit.holding--;
	rt_xid_count(c, call->pub.xid, -1);
	rt_reads_end(c, call->under_way);
	rt_memory_uncharge(c, call->memory);
	rt_receive_return(c, &call->bufs);
	cds_list_del(&call->link);
	c->calls_all--;
	call->next_free = c->resp.free_calls;
	c->resp.free_calls = call;
}

void rt_call_error(struct rt_conn *c, struct rt_call_priv *call,
		   const struct wire_error *err)
{
	uint32_t xid = call->pub.xid;

	rt_assert_strand(c);
	rt_log(c, LOG_NOTICE, "Call %08x refused: %s", xid,
	       wire_errcode_name(err->code));
	rt_error_about(c, xid, err);
	rt_call_free(c, call);
}

void rt_call_begin(struct rt_call *pub)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);

	call->begun = base_now_ns();
	rt_reads_end(pub->conn, call->under_way);
	call->under_way = 0;
}

void *rt_call_user(struct rt_call *call)
{
	return caa_container_of(call, struct rt_call_priv, pub)->user;
}

bool rt_reply_may_continue(const struct rt_conn *c)
{
	rt_assert_strand(c);
	if (c->inst->cfg.no_continuation || !c->v->continuation)
		return false;
	/* [F4]: the level bounds Replies of the reverse direction too. */
	return c->server || c->ours.reverse >= RDMA2_RVRSDIR_CONT;
}

/*
 * [G1]: the level of reverse direction says whether there may be chunks. Returns
 * false with one of the errors of 7.3 (4.6.4).
 */
static bool chunks_allowed(const struct rt_conn *c, bool reads, bool writes,
			   struct wire_error *err)
{
	if (c->server || c->ours.reverse == RDMA2_RVRSDIR_GENL)
		return true;
	err->max_chunks = 0;
	err->length_needed = 0;
	err->code = RDMA2_ERR_READ_CHUNKS;
	if (reads)
		return false;
	/* 7.3.2 */
	err->code = rt_reply_may_continue(c) ? RDMA2_ERR_WRITE_CHUNKS :
					       RDMA2_ERR_REPLY_RESOURCE;
	return !writes;
}

struct rt_call_priv *rt_call_admit(struct rt_conn *c, uint32_t xid, bool reads,
				   bool writes,
				   const struct rt_reply_format *format)
{
	struct wire_error err = { 0 };
	struct rt_call_priv *call;
	size_t surplus;

	rt_assert_strand(c);
	if (c->state == RT_DRAINING) {
		/* 7.4: an ERROR would fail the RPC. After the end of the connection the
		 * Requester may send the Call again. */
		RT_COUNT(c, dropped, 1);
		return NULL;
	}
	/* A Call's credit is returned when its Reply is posted, perhaps long before the
	 * peer receives that. */
	if (c->calls_all - c->credit.holding >= rt_max_uncompleted(c)) {
		rt_conn_stop(c, EV_ABORT, -ENOBUFS, "%u Replies are not taken",
			     c->calls_all - c->credit.holding);
		return NULL;
	}
	if (!chunks_allowed(c, reads, writes, &err)) {
		rt_log(c, LOG_NOTICE, "Call %08x refused: %s", xid,
		       wire_errcode_name(err.code));
		rt_error_about(c, xid, &err);
		return NULL;
	}
	if (!c->ops->call || (!c->server && !c->ours.reverse)) {
		err.code = RDMA2_ERR_SYSTEM;
		rt_error_about(c, xid, &err);
		return NULL;
	}
	if (!charge_surplus(c, &surplus)) {
		c->v->refuse_call(c, xid);
		return NULL;
	}
	/* [A9]: a peer that sends a Call before CONNPROP_FINAL accepts the defaults. */
	rt_conn_notify_established(c);
	call = call_get(c);
	if (!call) {
		rt_memory_uncharge(c, surplus);
		c->v->refuse_call(c, xid);
		return NULL;
	}
	call->memory = surplus;
	call->pub.xid = xid;
	call->format = format;
	rt_xid_count(c, xid, 1);
	call->pub.reverse = !c->server;
	/* Its Reply needs a credit [G3]. */
	c->calls_reverse += call->pub.reverse;
	c->credit.holding++;
	return call;
}

/* ---- Chunk lists ---------------------------------------------------------- */

/* Returns false if there are more segments than this end announced. */
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

/* Returns false and sets @err if the lists are over a limit (7.3). */
static bool take_lists(struct rt_conn *c, struct rt_call_priv *call,
		       const struct wire_msg *m, struct wire_error *err)
{
	const struct rt_config *cfg = &c->inst->cfg;
	struct wire_iter it = { 0 };
	struct wire_read_segment rs;
	struct wire_list chunk;
	struct rt_read_chunk *r = NULL;
	uint64_t bytes = m->call.bytes + m->reads.bytes;
	uint32_t position = 0;

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
		if (!position || position != rs.position) {
			position = rs.position;
			call->nreads_all++;
			if (call->nreads == cfg->max_read_chunks)
				continue;
			r = &call->read[call->nreads++];
			r->position = rs.position;
			r->length = 0;
			r->first = call->nsegs;
			r->nsegs = 0;
			r->placed = false;
		}
		if (call->nreads_all > call->nreads)
			continue;
		call->seg[call->nsegs++] = rs.target;
		r->length += rs.target.length;
		r->nsegs++;
	}
	/* rt_call_vet() checks how many chunks the procedure may have. The procedure of
	 * an external Call is not known before the Call chunk has been read. */
	if (call->nreads_all > call->nreads)
		return !m->external;
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

	/* [E4]: the longest message, and the longest buffer. */
	err->code = RDMA2_ERR_SYSTEM;
	if (bytes > cfg->max_message)
		return false;
	for (unsigned int i = 0; i < call->nreads; i++)
		if (call->read[i].length > FAB_POOL_MAX_BUF)
			return false;
	return true;
}

/* ---- Remote invalidation -------------------------------------------------- */

static bool has_handle(const struct rt_call_priv *call, uint32_t handle)
{
	for (unsigned int i = 0; i < call->nsegs; i++)
		if (call->seg[i].handle == handle)
			return true;
	return false;
}

/*
 * Returns the handle for the Reply to invalidate, or 0. RFC 8797 4.1: only a handle of
 * this XID. An empty segment need not have a valid one. If two Calls in progress have the
 * same handle, neither Reply invalidates it, whichever is sent first.
 */
static uint32_t choose_handle(struct rt_conn *c,
			      const struct rt_call_priv *call)
{
	struct rt_call_priv *other;
	uint32_t handle = 0;

	if (!c->remote_invalidation)
		return 0;
	for (unsigned int i = 0; i < call->nsegs && !handle; i++)
		if (call->seg[i].length)
			handle = call->seg[i].handle;
	cds_list_for_each_entry(other, &c->resp.calls, link)
	{
		if (other == call || other->posted_first)
			continue;
		if (other->inv_handle && has_handle(call, other->inv_handle))
			other->inv_handle = 0;
		if (handle && has_handle(other, handle))
			handle = 0;
	}
	return handle;
}

/* Returns rdma_inv_handle, or 0 unless a chunk of the header has that handle [C11]. */
static uint32_t named_handle(struct rt_conn *c, const struct rt_call_priv *call,
			     uint32_t handle)
{
	if (!handle)
		return 0;
	if (has_handle(call, handle))
		return handle;
	rt_log(c, LOG_NOTICE, "Call %08x: rdma_inv_handle %08x is in no chunk",
	       call->pub.xid, handle);
	return 0;
}

bool rt_call_decode(struct rt_conn *c, struct rt_call_priv *call,
		    const struct wire_msg *m, struct rt_work *w,
		    struct rt_sequence *s, struct wire_error *err)
{
	rt_assert_strand(c);
	if (!take_lists(c, call, m, err))
		return false;
	call->inv_handle = c->v->inv_field ?
				   named_handle(c, call, m->inv_handle) :
				   choose_handle(c, call);
	if (m->external) {
		RT_COUNT(c, special_received, 1);
		call->body_len = (size_t)m->call.bytes;
		call->stage = RT_CALL_BODY;
	} else if (s) {
		RT_COUNT(c, continued_received, 1);
		RT_STAGE(c, receive, s->began, call->arrived);
		call->nbase = s->npieces;
		memcpy(call->base, s->piece, s->npieces * sizeof(*s->piece));
		call->bufs = s->bufs;
		s->bufs = NULL;
		call->memory += s->memory;
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
	return true;
}

/* ---- Data items ----------------------------------------------------------- */

/* Returns true if a Position is beyond the end of the stream. */
static bool is_torn(const struct rt_call_priv *call)
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

/* Returns 0, or the code of an ERROR. */
static uint32_t ask_upper_layer(struct rt_conn *c, struct rt_call_priv *call,
				bool *torn, uint32_t *max)
{
	struct rt_vet v = {
		.pieces = call->base,
		.npieces = call->nbase,
		.total = call->nreads_all,
		.nreads = call->nreads,
		.torn = *torn,
		.user = call->user,
	};
	uint32_t code;

	if (!c->ops->vet)
		return *torn ? RDMA2_ERR_BAD_XDR : 0;
	for (unsigned int i = 0; i < v.nreads; i++)
		v.reads[i] = (struct rt_vet_read){ call->read[i].position,
						   call->read[i].length };
	code = c->ops->vet(c, &v, max);
	call->pub.vetted = true;
	*torn = v.torn;
	return code;
}

bool rt_call_vet(struct rt_conn *c, struct rt_call_priv *call, bool *torn,
		 struct wire_error *err)
{
	uint32_t most = c->inst->cfg.max_read_chunks, max = most;
	bool many = call->nreads_all > call->nreads;

	rt_assert_strand(c);
	*torn = is_torn(call);
	if (!call->nreads_all)
		return true;
	err->code = ask_upper_layer(c, call, torn, &max);
	/* 7.3.1: the number of chunks that this Call may have. */
	err->max_chunks = MIN(max, most);
	if (many && err->code != RDMA2_ERR_READ_CHUNKS)
		*err = (struct wire_error){ .code = RDMA2_ERR_READ_CHUNKS,
					    .max_chunks = most };
	/* [R9] */
	else if (!err->code && *torn && call->format->refuses_torn)
		err->code = RDMA2_ERR_BAD_XDR;
	return !err->code;
}

/* ---- The whole stream (4.5.1) --------------------------------------------- */

/* Add a placed item, which stays in its target segments. The octets behind it there are
 * not its roundup, which is taken from the zeros. */
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

bool rt_call_assemble(struct rt_call_priv *call)
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

			n = MIN(n, want);
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
			/* The chunk has no roundup (4.5.3.1), and the buffer has old
			 * data. */
			memset((uint8_t *)r->to.addr + r->length, 0,
			       n - r->length);
			pub->pieces[pub->npieces++] =
				(struct rt_piece){ r->to.addr, n, r->to.mr };
			pub->len += n;
		}
	}
	return true;
}
