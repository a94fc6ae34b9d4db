/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format - the Requester chooses the format of a Call and exposes memory for it
 *
 * [D8] says which arguments and results have chunks, whether a Reply chunk is offered,
 * and whether the Call goes in Simple, Continued or Special format. All memory that is
 * exposed is in rq->seg and rq->rseg, in the order of the header's lists;
 * rt_request_rollback() closes it.
 *
 * Context: the runner.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/requester/requester.h"

static bool may_use_chunks(const struct rt_conn *c,
			   const struct rt_request_priv *rq)
{
	if (rq->pub.call_only) /* 4.7 */
		return false;
	if (c->server && (c->theirs.reverse != RDMA2_RVRSDIR_GENL ||
			  rq->pub.call_max <= c->send_threshold))
		return false;
	return c->theirs.segments && c->theirs.segment_size;
}

/* 7.1.3 */
static bool is_refused(const struct rt_conn *c, uint32_t htype)
{
	return c->req.refused_htypes & 1u << htype;
}

static bool may_continue(const struct rt_conn *c)
{
	if (!c->v->continuation || is_refused(c, RDMA2_CALL_MIDDLE) ||
	    is_refused(c, RDMA2_CALL_INLINE))
		return false;
	return !c->server || c->theirs.reverse >= RDMA2_RVRSDIR_CONT;
}

/* Octets of a header without chunks: the prefix, the handle to be invalidated, the ends
 * of three lists, and the first word of the payload. Octets of a chunk without segments:
 * the word that says that there is one, and the count. */
#define HEAD_LEN (WIRE_PREFIX_LEN + 4 + 3 * 4 + 4)
#define CHUNK_LEN 8

/* Returns how many more segments the header may have, by the peer's limit [E4] and by
 * what one message holds. */
static unsigned int segments_left(const struct rt_conn *c,
				  const struct rt_request_priv *rq)
{
	unsigned int used = rq->nsegs + rq->nrsegs;
	unsigned int max = RT_MAX_SEGMENTS;
	size_t room =
		c->send_threshold - HEAD_LEN - CHUNK_LEN * (RT_MAX_CHUNKS + 1);

	max = MIN(max, c->theirs.segments);
	/* Read segments are the longest. */
	max = MIN(max, (unsigned int)(room / WIRE_READ_LEN));
	return max > used ? max - used : 0;
}

/* Expose memory, in segments as long as the peer accepts. Returns 0 or -errno. */
static int expose(struct rt_conn *c, struct rt_request_priv *rq, void *addr,
		  size_t len, struct fab_mr *mr, bool write, uint32_t position)
{
	size_t room = c->theirs.segment_size;
	uint8_t *p = addr;

	if (!mr)
		return -EINVAL;
	do {
		struct wire_segment s = {
			.length = (uint32_t)(len < room ? len : room)
		};
		int rc;

		if (!segments_left(c, rq))
			return -E2BIG;
		rc = fab_expose(c->fab, mr, p, s.length,
				write ? FAB_REMOTE_WRITE : FAB_REMOTE_READ,
				&s.handle, &s.offset);
		if (rc == -ENOSPC || rc == -ENOMEM)
			RT_COUNT(c, shortages, 1);
		if (rc)
			return rc;
		if (write) {
			rq->seg[rq->nsegs++] = s;
		} else {
			rq->rseg[rq->nrsegs].position = position;
			rq->rseg[rq->nrsegs++].target = s;
		}
		p += s.length;
		len -= s.length;
	} while (len);
	return 0;
}

/* Returns true for errors after which the Call goes without the chunk: peer or fabric
 * accept no more segments, or the device has no memory window. */
static bool can_do_without(int rc)
{
	return rc == -E2BIG || rc == -ENOSPC || rc == -ENOMEM;
}

/* Close memory to the peer. If that takes time, the request waits, and keeps the
 * memory. */
static void unexpose(struct rt_conn *c, struct rt_request_priv *rq,
		     uint32_t handle)
{
	if (!fab_unexpose(c->fab, handle, &rq->closing))
		rq->sends_pending++;
}

void rt_request_rollback(struct rt_conn *c, struct rt_request_priv *rq,
			 unsigned int nsegs, unsigned int nrsegs)
{
	rt_assert_strand(c);
	while (rq->nsegs > nsegs)
		unexpose(c, rq, rq->seg[--rq->nsegs].handle);
	while (rq->nrsegs > nrsegs)
		unexpose(c, rq, rq->rseg[--rq->nrsegs].target.handle);
}

static int expose_sink(struct rt_conn *c, struct rt_request_priv *rq,
		       const struct rt_sink *s)
{
	int rc = 0;

	if (!s->npieces)
		return expose(c, rq, s->addr, s->len, s->mr, true, 0);
	for (unsigned int i = 0; i < s->npieces && !rc; i++)
		rc = expose(c, rq, s->pieces[i].addr, s->pieces[i].len,
			    s->pieces[i].mr, true, 0);
	return rc;
}

static int offer_writes(struct rt_conn *c, struct rt_request_priv *rq)
{
	rq->nwrites = rq->pub.nsinks;
	rq->nwrites = MIN(rq->nwrites, c->inst->cfg.call_write_chunks);
	rq->nwrites = MIN(rq->nwrites, rq->max_writes);
	for (unsigned int i = 0; i < rq->nwrites; i++) {
		struct rt_sink *s = &rq->pub.sinks[i];
		unsigned int first = rq->nsegs;
		int rc = 0;

		s->in_stream = false;
		if (s->addr)
			rc = expose_sink(c, rq, s);
		if (can_do_without(rc)) {
			/* Offer an empty chunk: the result comes inline. */
			rt_request_rollback(c, rq, first, rq->nrsegs);
			s->in_stream = true;
		} else if (rc) {
			return rc;
		}
		rq->write[i].seg = &rq->seg[first];
		rq->write[i].count = rq->nsegs - first;
	}
	return 0;
}

/*
 * Returns true if a Reply that does not fit inline may be left to continuation. A peer
 * need not support that, and it says so only when it has executed the Call [D8]. If the
 * peer refuses Write chunks, a Reply chunk takes their place (7.3.2).
 */
static bool trusts_continuation(const struct rt_conn *c,
				const struct rt_request_priv *rq)
{
	return may_continue(c) && !rq->pub.once && !c->req.reply_refused &&
	       rq->max_writes == UINT32_MAX;
}

/*
 * Returns how long the Reply may be, including results without a Write chunk unless it
 * may be continued. If the upper layer does not know, version 1, where a long Reply needs
 * a Reply chunk, provides for the longest message, and version 2 for long attributes.
 */
static size_t reply_max(const struct rt_conn *c,
			const struct rt_request_priv *rq)
{
	size_t max = rq->pub.reply_max;

	if (trusts_continuation(c, rq))
		return rt_round4(max);
	if (!max && !may_continue(c))
		return c->inst->cfg.max_message;
	if (!max)
		max = RT_UNKNOWN_REPLY;
	for (unsigned int i = 0; i < rq->pub.nsinks; i++)
		if (rq->pub.sinks[i].addr &&
		    (i >= rq->nwrites || !rq->write[i].count))
			max += rt_round4(rq->pub.sinks[i].len);
	return rt_round4(max);
}

/* Offer a Reply chunk if the Reply may need more than a few fragments [D8]. */
static int offer_reply(struct rt_conn *c, struct rt_request_priv *rq)
{
	const struct rt_config *cfg = &c->inst->cfg;
	struct wire_reply_desc d = { .writes = rq->write,
				     .nwrites = rq->nwrites };
	size_t head = c->v->reply_len(false, &d);
	size_t max = reply_max(c, rq);
	size_t room = c->recv_threshold;
	unsigned int first = rq->nsegs;
	int rc;

	if (max + head <= room)
		return 0;
	if (cfg->call_format == RT_FORMAT_CONTINUED && may_continue(c))
		return 0;
	if (cfg->call_format == RT_FORMAT_AUTO && trusts_continuation(c, rq) &&
	    max <= (size_t)cfg->max_fragments * (room - RT_MIDDLE_LEN))
		return 0;
	max = MIN(max, FAB_POOL_MAX_BUF);
	if (max > cfg->max_message)
		max = cfg->max_message & ~(size_t)3;
	/* The buffer of an earlier attempt may still be exposed. */
	if (rq->reply_buf)
		rt_bufs_add(&rq->bufs, rq->reply_buf);
	rq->reply_buf = fab_pool_get(c->inst->pool, max);
	if (!rq->reply_buf)
		return 0; /* continuation will do */
	rc = expose(c, rq, rq->reply_buf->addr, max, rq->reply_buf->mr, true,
		    0);
	if (can_do_without(rc)) {
		rt_request_rollback(c, rq, first, rq->nrsegs);
		fab_pool_put(rq->reply_buf);
		rq->reply_buf = NULL;
		return 0;
	}
	if (rc)
		return rc;
	rq->reply_chunk.seg = &rq->seg[first];
	rq->reply_chunk.count = rq->nsegs - first;
	return 0;
}

void rt_request_describe(const struct rt_request_priv *rq,
			 struct wire_call_desc *d)
{
	*d = (struct wire_call_desc){
		.inv_handle = rq->inv_handle,
		.call = rq->rseg,
		.ncall = rq->nbody,
		.reads = rq->rseg + rq->nbody,
		.nreads = rq->nrsegs - rq->nbody,
		.writes = rq->write,
		.nwrites = rq->nwrites,
		.reply = rq->reply_chunk.count ? &rq->reply_chunk : NULL,
	};
}

size_t rt_request_header_len(const struct rt_conn *c,
			     const struct rt_request_priv *rq, bool external)
{
	struct wire_call_desc d;

	rt_assert_strand(c);
	rt_request_describe(rq, &d);
	return c->v->call_len(external, &d);
}

int rt_request_reduce(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct rt_item items[RT_MAX_CHUNKS];
	unsigned int n = 0;

	rt_assert_strand(c);
	for (unsigned int i = 0;
	     i < rq->pub.nitems && n < c->inst->cfg.call_read_chunks &&
	     n < rq->max_reads && n < RT_MAX_CHUNKS;
	     i++)
		if (rq->pub.items[i].present && rq->pub.items[i].length)
			items[n++] = rq->pub.items[i];
	return rt_reduce(rq->pub.pieces, rq->pub.npieces, items, n, &rq->out,
			 &rq->cuts);
}

static int expose_cuts(struct rt_conn *c, struct rt_request_priv *rq)
{
	const struct rt_cuts *k = &rq->cuts;

	for (unsigned int i = 0; i < k->count; i++)
		for (unsigned int j = 0; j < k->cut[i].npieces; j++) {
			const struct rt_piece *p =
				&k->piece[k->cut[i].first + j];
			int rc = expose(c, rq, p->addr, p->len, p->mr, false,
					k->cut[i].position);

			if (rc)
				return rc;
		}
	return 0;
}

/* Expose the stream as a Call chunk: in place if possible, otherwise a copy. */
static int expose_body(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct wire_read_segment items[RT_MAX_SEGMENTS];
	unsigned int nitems = rq->nrsegs;
	struct rt_out *out = &rq->out;
	bool in_place = out->npieces <= segments_left(c, rq) / 2;
	int rc = 0;

	/* rdma_call comes before rdma_reads in rseg. */
	memcpy(items, rq->rseg, nitems * sizeof(*items));
	for (unsigned int i = 0; i < out->npieces; i++)
		in_place &= out->piece[i].mr != NULL;
	if (!in_place) {
		struct fab_buf *b = fab_pool_get(c->inst->pool, out->len);
		size_t at = 0;

		if (!b)
			return -E2BIG;
		for (unsigned int i = 0; i < out->npieces; i++) {
			memcpy((uint8_t *)b->addr + at, out->piece[i].addr,
			       out->piece[i].len);
			at += out->piece[i].len;
		}
		RT_COUNT(c, copied_bytes, at);
		rt_bufs_add(&rq->bufs, b);
		rt_out_init(out);
		rt_out_add(out, b->addr, at, b->mr);
	}
	for (unsigned int i = 0; i < out->npieces && !rc; i++)
		rc = expose(c, rq, out->piece[i].addr, out->piece[i].len,
			    out->piece[i].mr, false, 0);
	if (rc)
		return rc;
	rq->nbody = rq->nrsegs - nitems;
	memmove(rq->rseg, rq->rseg + nitems, rq->nbody * sizeof(*rq->rseg));
	memcpy(rq->rseg + rq->nbody, items, nitems * sizeof(*items));
	return 0;
}

uint32_t rt_request_htype(const struct rt_conn *c,
			  const struct rt_request_priv *rq)
{
	rt_assert_strand(c);
	if (rq->external)
		return RDMA2_CALL_EXTERNAL;
	return rt_request_header_len(c, rq, false) + rq->out.len <=
			       rq->threshold ?
		       RDMA2_CALL_INLINE :
		       RDMA2_CALL_MIDDLE;
}

bool rt_request_outdated(const struct rt_conn *c,
			 const struct rt_request_priv *rq)
{
	rt_assert_strand(c);
	return rq->props_generation != c->props_generation ||
	       rq->refused_htypes != c->req.refused_htypes ||
	       (rq->format && !rq->format->usable(c));
}

bool rt_request_reduce_chunks(struct rt_request_priv *rq,
			      const struct wire_error *err)
{
	bool body = rq->external;
	bool reply = rq->reply_chunk.count;
	uint32_t n = err->max_chunks;

	switch (err->code) {
	case RDMA2_ERR_READ_CHUNKS:
		if (rq->nrsegs > rq->nbody && n < rq->cuts.count)
			rq->max_reads = n;
		else if (body && !n)
			rq->no_call_chunk = true;
		else
			return false;
		return true;
	case RDMA2_ERR_WRITE_CHUNKS:
		if (n < rq->nwrites)
			rq->max_writes = n;
		else if (reply && !n)
			rq->no_reply_chunk = true;
		else
			return false;
		return true;
	default:
		return false;
	}
}

static size_t fragments(const struct rt_conn *c, size_t len)
{
	size_t room = rt_middle_room(c->send_threshold);

	return (len + room - 1) / room;
}

/* Returns the handle that the Responder may invalidate [C11], 0 for none. Version 1 has
 * no field for it. */
static uint32_t offered_handle(const struct rt_conn *c,
			       const struct rt_request_priv *rq)
{
	if (!c->v->inv_field || !rt_offers_handles(c))
		return 0;
	if (rq->nsegs)
		return rq->seg[0].handle;
	return rq->nrsegs ? rq->rseg[0].target.handle : 0;
}

int rt_request_prepare(struct rt_conn *c, struct rt_request_priv *rq)
{
	const struct rt_config *cfg = &c->inst->cfg;
	bool chunks = may_use_chunks(c, rq);
	bool special =
		chunks && !rq->no_call_chunk &&
		!is_refused(c, RDMA2_CALL_EXTERNAL) &&
		(cfg->call_format != RT_FORMAT_CONTINUED || !may_continue(c));
	bool simple = !is_refused(c, RDMA2_CALL_INLINE);
	int rc;

	rt_assert_strand(c);
	rq->nsegs = rq->nrsegs = rq->nbody = rq->nwrites = 0;
	rq->reply_chunk = (struct wire_chunk_desc){ 0 };
	rq->external = false;
	rq->props_generation = c->props_generation;
	rq->threshold = c->send_threshold;
	rq->refused_htypes = c->req.refused_htypes;
	/* In version 1 only a Reply returns a credit (RFC 8166 3.3.1). */
	if (rq->pub.call_only && c->v->number == WIRE_VERS1)
		return -EOPNOTSUPP;
	rq->format = NULL;
	if (c->ext_format && c->ext_format->prepare(c, rq)) {
		rq->format = c->ext_format;
		rq->own.reply_chunk = false;
		return 0;
	}
	rq->nwrites = 0;
	if (chunks) {
		rc = offer_writes(c, rq);
		if (!rc && !rq->no_reply_chunk)
			rc = offer_reply(c, rq);
		if (rc)
			return rc;
	}
	if (rq->pub.npieces > RT_MAX_PIECES)
		return -E2BIG;
	/* Without chunks, if it fits. */
	rc = rt_reduce(rq->pub.pieces, rq->pub.npieces, NULL, 0, &rq->out,
		       &rq->cuts);
	if (rc)
		return rc;
	if (rq->out.len < 4)
		return -EINVAL;
	if (simple && rt_request_header_len(c, rq, false) + rq->out.len <=
			      c->send_threshold)
		goto fits;
	if (chunks && rq->pub.nitems) {
		rc = rt_request_reduce(c, rq);
		if (!rc)
			rc = expose_cuts(c, rq);
		if (can_do_without(rc)) {
			rt_request_rollback(c, rq, rq->nsegs, 0);
			rc = rt_reduce(rq->pub.pieces, rq->pub.npieces, NULL, 0,
				       &rq->out, &rq->cuts);
		}
		if (rc)
			return rc;
		if (simple &&
		    rt_request_header_len(c, rq, false) + rq->out.len <=
			    c->send_threshold)
			goto fits;
	}
	if (rq->out.len > cfg->max_message)
		return -E2BIG;
	if (may_continue(c) && cfg->call_format != RT_FORMAT_SPECIAL &&
	    (!special || fragments(c, rq->out.len) <= cfg->max_fragments))
		goto fits;
	if (special && rq->out.len <= FAB_POOL_MAX_BUF) {
		unsigned int nrsegs = rq->nrsegs;

		rc = expose_body(c, rq);
		if (!rc) {
			rq->external = true;
			goto fits;
		}
		if (!can_do_without(rc))
			return rc;
		rt_request_rollback(c, rq, rq->nsegs, nrsegs);
	}
	if (!may_continue(c))
		return simple ? -E2BIG : -EPROTONOSUPPORT;
fits:
	rq->inv_handle = offered_handle(c, rq);
	rq->own.reply_chunk = rq->reply_chunk.count;
	if (rt_request_header_len(c, rq, rq->external) > c->send_threshold - 4)
		return -E2BIG;
	return 0;
}
