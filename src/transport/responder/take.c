/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * take - a Call by base messages: its lists, and the stream that came with it
 *
 * Runner only.
 */
#include <string.h>

#include "transport/responder/responder.h"

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
	/* How many the procedure may have is for rt_call_may_read() to say, but
	 * which one it is is not known yet if that has to be read, too. */
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

	/* [E4]: totals beyond what a message may have, or what a buffer has. */
	err->code = RDMA2_ERR_SYSTEM;
	if (bytes > cfg->max_message)
		return false;
	for (unsigned int i = 0; i < call->nreads; i++)
		if (call->read[i].length > FAB_POOL_MAX_BUF)
			return false;
	return true;
}

void rt_call_receive(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w, struct rt_sequence *s)
{
	struct rt_call_priv *call =
		rt_call_admit(c, m->p.xid, m->call.count || m->reads.count,
			      m->writes.count || m->has_reply);
	struct wire_error err = { .code = RDMA2_ERR_SYSTEM };

	rt_assert_strand(c);
	if (!call)
		return;
	if (!take_lists(c, call, m, &err)) {
		rt_call_error(c, call, &err);
		return;
	}
	call->inv_handle = rt_call_invalidates(c, call, m->inv_handle);
	if (m->external) {
		RT_COUNT(c, special_received, 1);
		call->body_len = (size_t)m->call.bytes;
		call->stage = RT_CALL_BODY;
		rt_call_advance(c, call);
		return;
	}
	if (s) {
		/* The fragments' buffers, and their account, move over. */
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
	rt_call_advance(c, call);
}
