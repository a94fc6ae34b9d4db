/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * response - the Requester receives a Reply, or an ERROR
 *
 * The chunks that a Reply returns are compared with those that were offered [C10]. A
 * Reply that names other memory, or more of it, ends the connection, since other memory
 * may have been written.
 *
 * Context: the runner.
 */
#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "transport/requester/requester.h"

#define RPC_REPLY 1 /* msg_type, RFC 5531, 9 */

/*
 * Compare a returned chunk with the offered one, and set @used to its octets. Chunks are
 * filled in order and without gaps (4.5.2.1).
 */
static bool chunk_ok(const struct wire_list *got,
		     const struct wire_chunk_desc *offered, size_t *used)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;
	bool full = true;
	uint32_t i = 0;

	*used = 0;
	if (!got->count)
		return true;
	if (got->count != offered->count)
		return false;
	for (; wire_segment_next(got, &it, &s); i++) {
		const struct wire_segment *o = &offered->seg[i];

		if (s.handle != o->handle || s.offset != o->offset ||
		    s.length > o->length || (!full && s.length))
			return false;
		full = s.length == o->length;
		*used += s.length;
	}
	return true;
}

static bool take_writes(struct rt_conn *c, struct rt_request_priv *rq,
			const struct wire_msg *m)
{
	struct wire_iter it = { 0 };
	struct wire_list chunk;
	unsigned int i = 0;

	/* Results without a chunk are in the stream of the Reply. */
	for (unsigned int k = 0; k < rq->pub.nsinks; k++)
		rq->pub.sinks[k].in_stream = k >= rq->nwrites ||
					     !rq->write[k].count;
	for (; wire_chunk_next(&m->writes, &it, &chunk); i++) {
		if (i >= rq->nwrites ||
		    !chunk_ok(&chunk, &rq->write[i], &rq->pub.sinks[i].used))
			return false;
		if (rq->pub.sinks[i].used) {
			RT_COUNT(c, write_chunks, 1);
			RT_COUNT(c, write_bytes, rq->pub.sinks[i].used);
		}
	}
	return true;
}

static void take_external(struct rt_conn *c, struct rt_request_priv *rq,
			  size_t len)
{
	RT_COUNT(c, special_received, 1);
	RT_COUNT(c, reply_chunks, 1);
	RT_COUNT(c, write_bytes, len);
	rq->pub.nreply = 1;
	rq->pub.reply[0] = (struct rt_piece){ rq->reply_buf->addr, len,
					      rq->reply_buf->mr };
	rq->pub.reply_len = len;
}

static void take_continued(struct rt_conn *c, struct rt_request_priv *rq,
			   struct rt_sequence *s)
{
	RT_COUNT(c, continued_received, 1);
	rq->pub.nreply = s->npieces;
	memcpy(rq->pub.reply, s->piece, s->npieces * sizeof(*s->piece));
	rq->pub.reply_len = s->len;
	while (s->bufs) {
		struct fab_buf *b = s->bufs;

		s->bufs = b->next;
		rt_bufs_add(&rq->bufs, b);
	}
}

static void take_inline(struct rt_conn *c, struct rt_request_priv *rq,
			const struct wire_msg *m, struct rt_work *w)
{
	RT_COUNT(c, inline_received, 1);
	rq->pub.nreply = 1;
	rq->pub.reply[0] =
		(struct rt_piece){ (uint8_t *)w->buf->addr + m->header_len,
				   m->payload_len, w->buf->mr };
	rq->pub.reply_len = m->payload_len;
	rt_bufs_add(&rq->bufs, w->buf);
	w->buf = NULL;
}

/* Count all Read chunks of a Call, since its Reply shows that the peer has read them.
 * Returns their octets. */
static uint64_t count_reads(struct rt_conn *c, const struct rt_request_priv *rq)
{
	uint64_t n = 0;

	if (!rq->nrsegs)
		return 0;
	for (unsigned int i = 0; i < rq->nrsegs; i++)
		n += rq->rseg[i].target.length;
	RT_COUNT(c, read_bytes, n);
	RT_COUNT(c, read_chunks, rq->cuts.count + (rq->nbody ? 1 : 0));
	return n;
}

/* @read is how many octets of the Call the peer has read. */
static void count_class(struct rt_conn *c, const struct rt_request_priv *rq,
			uint64_t read, uint64_t now)
{
	uint64_t sent = 0, came = rq->pub.reply_len, written = 0;

	for (unsigned int i = 0; i < rq->pub.npieces; i++)
		sent += rq->pub.pieces[i].len;
	if (rt_request_in_chunk(rq))
		written = came;
	for (unsigned int i = 0; i < rq->pub.nsinks; i++) {
		written += rq->pub.sinks[i].used;
		came += rt_round4(rq->pub.sinks[i].used);
	}
	rt_class_add(rt_class_of(c, rq->pub.op_class), came, written, sent,
		     read, now - rq->submitted);
}

bool rt_response_is_reply(struct rt_conn *c, const struct rt_request *rq)
{
	uint8_t head[8];
	size_t n = 0;

	rt_assert_strand(c);
	for (unsigned int i = 0; i < rq->nreply && n < sizeof(head); i++) {
		const uint8_t *p = rq->reply[i].addr;

		for (size_t k = 0; k < rq->reply[i].len && n < sizeof(head);)
			head[n++] = p[k++];
	}
	if (n == sizeof(head) && be32_get(head) == rq->xid &&
	    be32_get(head + 4) == RPC_REPLY)
		return true;
	rt_log(c, LOG_WARNING, "Reply %08x: an RPC message that is none",
	       rq->xid);
	if (c->state < RT_CLOSING)
		rt_request_refuse_reply(c, rq->xid);
	return false;
}

void rt_response_violation(struct rt_conn *c, struct rt_request_priv *rq,
			   uint32_t xid, const char *what)
{
	rt_assert_strand(c);
	rt_request_refuse_reply(c, xid);
	rt_conn_fail(c, -EPROTO, "Reply %08x: %s", xid, what);
	if (rq)
		rt_request_finish(c, rq, -EPROTO);
	/* An ERROR announces credits, which need Receives. Nothing else may be sent,
	 * since it could come between the fragments of a Call. */
	if (!rt_post_receives(c))
		rt_pump_errors(c);
	rt_event(c, EV_VIOLATION);
}

static void response_receive(struct rt_conn *c, const struct wire_msg *m,
			     struct rt_work *w, struct rt_sequence *s)
{
	struct rt_request_priv *rq = rt_request_find(c, m->p.xid);
	size_t len = 0;

	if (!rq || !rq->own.posted) {
		rt_log(c, LOG_NOTICE, "Reply %08x answers no Call", m->p.xid);
		RT_COUNT(c, dropped, 1);
		return;
	}
	if (c->sending == &rq->outgoing) {
		/* The remaining fragments would have no Call to belong to. */
		rt_response_violation(c, rq, m->p.xid,
				      "it comes before the whole Call");
		return;
	}
	if (rq->format && !rq->format->base_reply_ok(rq)) {
		rt_log(c, LOG_WARNING, "Reply %08x answers an XMTREQ",
		       m->p.xid);
		rt_request_refuse_reply(c, m->p.xid);
		rt_request_finish(c, rq, -EPROTO);
		return;
	}
	if (!take_writes(c, rq, m)) {
		rt_response_violation(c, rq, m->p.xid,
				      "its Write list is not ours");
		return;
	}
	if (m->external) {
		if (!chunk_ok(&m->reply, &rq->reply_chunk, &len)) {
			rt_response_violation(c, rq, m->p.xid,
					      "its Reply chunk is not ours");
			return;
		}
		if (len < 4) {
			/* The Reply names no other memory, so only this RPC fails
			 * (7.2). */
			rt_request_refuse_reply(c, m->p.xid);
			rt_request_finish(c, rq, -EPROTO);
			return;
		}
		take_external(c, rq, len);
	} else if (s) {
		take_continued(c, rq, s);
	} else {
		take_inline(c, rq, m, w);
	}
	rt_response_done(c, rq);
}

void rt_response_done(struct rt_conn *c, struct rt_request_priv *rq)
{
	uint64_t now = base_now_ns();

	rt_assert_strand(c);
	RT_COUNT(c, replies_received, 1);
	RT_STAGE(c, answer, rq->sent, now);
	count_class(c, rq, count_reads(c, rq), now);
	rt_request_finish(c, rq, 0);
}

static struct rt_request_priv *request_of(struct rt_own_call *own)
{
	return caa_container_of(own, struct rt_request_priv, own);
}

/* [E1] */
static bool response_error(struct rt_conn *c, struct rt_own_call *own,
			   const struct wire_error *err)
{
	struct rt_request_priv *rq = request_of(own);

	if (c->ext_format && c->ext_format->error(c, rq, err))
		return true;
	if (!own->posted)
		return false;
	if (rq->error_deferred)
		return true;
	/* Send the remaining fragments of the Call first (6.3.6, [D3]), unless the peer
	 * does not know their header type (7.1.3). */
	if (c->sending == &rq->outgoing && err->code != RDMA2_ERR_INVAL_HTYPE) {
		rq->pub.error = *err;
		rq->error_deferred = true;
		return true;
	}
	rt_request_error(c, rq, err);
	return true;
}

static void response_version_refused(struct rt_conn *c, struct rt_own_call *own,
				     const struct wire_error *err)
{
	rt_request_refused(c, request_of(own), err);
}

static void response_unusable(struct rt_conn *c, struct rt_own_call *own)
{
	struct rt_request_priv *rq = request_of(own);
	bool begun = c->sending == &rq->outgoing;

	rt_request_finish(c, rq, -EPROTO);
	if (begun) {
		/* Nothing can be sent instead of the remaining fragments. */
		rt_conn_stop(c, EV_VIOLATION, -EPROTO,
			     "Reply %08x: it comes before the whole Call",
			     own->xid);
	}
}

static bool any_handle(const struct rt_request_priv *rq, uint32_t handle)
{
	for (unsigned int i = 0; i < rq->nsegs; i++)
		if (rq->seg[i].handle == handle)
			return true;
	for (unsigned int i = 0; i < rq->nrsegs; i++)
		if (rq->rseg[i].target.handle == handle)
			return true;
	return false;
}

static bool response_handle_offered(struct rt_conn *c, struct rt_own_call *own,
				    uint32_t handle)
{
	const struct rt_request_priv *rq = request_of(own);

	if (!c->v->inv_field)
		return c->remote_invalidation && any_handle(rq, handle);
	/* [M4]: any of its segments. */
	return (rq->inv_handle && rq->inv_handle == handle) ||
	       (rq->format && any_handle(rq, handle));
}

static const struct rt_requester_ops ops = {
	.reply = response_receive,
	.error = response_error,
	.refused = response_version_refused,
	.unusable = response_unusable,
	.offered = response_handle_offered,
};

static int response_init(struct rt_conn *c)
{
	c->requester = &ops;
	return 0;
}

const struct rt_part rt_part_response = {
	.init = response_init,
};
