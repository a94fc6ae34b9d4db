/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr_responder - a Call by XMTREQ and its XMTRESP
 *
 * Items in target segments become pieces of the Call where they are; those of type EXRW
 * are read as Read chunks. Results are paired with the directions of the Call in order,
 * within their ranges of operations (7.4), and sent as tables 1 and 2 and [R8] allow.
 *
 * Context: the runner.
 */
#include <string.h>
#include <sys/param.h>

#include "transport/ext/rtr/rtr.h"

/* ---- The Call --------------------------------------------------------- */

/* Append the segments of a list to call->seg. within_limits() has checked the room. */
static void take_segments(struct rt_call_priv *call, const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;

	while (wire_segment_next(l, &it, &s))
		call->seg[call->nsegs++] = s;
}

/*
 * Take the items of the message. Returns 0; a code of REPTERR after setting @err; or
 * UINT32_MAX after setting @werr.
 */
static uint32_t take_items(struct rt_conn *c, struct rt_call_priv *call,
			   struct wire_repterr *err, struct wire_error *werr)
{
	const struct rt_rtr_group *g = &rtr(c)->group;
	struct wire_iter it = { 0 };
	struct wire_xitem item;
	uint32_t code;

	while (wire_xitem_next(&g->head.items, &it, &item)) {
		struct rt_read_chunk *r = &call->read[call->nreads];
		unsigned int n = 0;

		/* Further items are only counted. */
		if (call->nreads == c->inst->cfg.max_read_chunks)
			break;
		*r = (struct rt_read_chunk){ .position = item.disp,
					     .length = item.length };
		werr->code = RDMA2_ERR_BAD_XDR;
		if (item.type == XMPTYPE_EXRW) {
			if (item.seg.bytes != item.length)
				return UINT32_MAX;
			r->first = call->nsegs;
			r->nsegs = item.seg.count;
			take_segments(call, &item.seg);
		} else {
			r->placed = true;
			r->first = rtr_in(call)->nplaced;
			code = rt_rtr_locate(c, &item, &call->placed[r->first],
					     &n, RT_MAX_PIECES - r->first, err);
			if (code)
				return code;
			r->nsegs = n;
			rtr_in(call)->nplaced += n;
			call->nplaced++;
			RT_COUNT(c, placed_bytes_received, item.length);
		}
		call->nreads++;
	}
	call->nreads_all = g->head.items.count;
	return 0;
}

/* Take the directions for the response, one after the other. */
static void take_wants(struct rt_call_priv *call, const struct wire_xmt *m)
{
	struct wire_iter it = { 0 }, jt;
	struct wire_rsdset set;
	struct wire_rsditem t;

	while (wire_rsdset_next(&m->rsd, &it, &set)) {
		jt = (struct wire_iter){ 0 };
		while (wire_rsditem_next(&set.items, &jt, &t)) {
			unsigned int i = rtr_in(call)->nwants++;
			struct rt_rtr_want *w = &rtr_in(call)->want[i];

			*w = (struct rt_rtr_want){
				.begin = set.begin,
				.end = set.end,
				.minlen = t.minlen,
				.type = t.type,
				.threshold = t.threshold,
				.chunk = { &call->seg[call->nsegs],
					   t.seg.count },
			};
			take_segments(call, &t.seg);
			/* The upper layer sees a Write chunk of any length. */
			call->pub.writes[i] = UINT32_MAX;
		}
	}
	call->pub.nwrites = rtr_in(call)->nwants;
}

/* Check our limits before anything is taken (7.3 of version 2). */
static bool within_limits(const struct rt_conn *c, const struct wire_xmt *m,
			  struct wire_error *err)
{
	const struct rt_config *cfg = &c->inst->cfg;

	err->code = RDMA2_ERR_SEGMENTS;
	err->max_segments = cfg->max_segments;
	if ((uint64_t)m->items.segments + m->rsd.segments > cfg->max_segments)
		return false;
	err->code = RDMA2_ERR_WRITE_CHUNKS;
	err->max_chunks = cfg->max_write_chunks;
	if (m->nrsditems > cfg->max_write_chunks)
		return false;
	err->code = RDMA2_ERR_SYSTEM;
	return m->items.bytes <= MIN(cfg->max_message, FAB_POOL_MAX_BUF);
}

/* Returns true if there are directions for less than the whole Call. */
static bool is_ranged(const struct rt_conn *c, const struct rt_call_priv *call)
{
	const struct rt_rtr_group *g = &rtr(c)->group;
	uint64_t len = 0;

	for (uint32_t i = 0; i < g->count; i++)
		len += g->part[i].pslen;
	for (unsigned int i = 0; i < call->nreads; i++)
		len += rt_round4(call->read[i].length);
	for (unsigned int i = 0; i < rtr_in(call)->nwants; i++)
		if (rtr_in(call)->want[i].begin ||
		    rtr_in(call)->want[i].end < len)
			return true;
	return false;
}

void rt_rtr_call_receive(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;
	struct wire_error werr = { 0 };
	struct wire_repterr err = { 0 };
	struct rt_call_priv *call =
		rt_call_admit(c, g->head.p.xid, g->head.items.count,
			      g->head.nrsditems, &rt_format_xmtresp);
	uint32_t code;

	rt_assert_strand(c);
	if (!call)
		return;
	rtr_in(call)->rsbuf = g->head.rsbuf ? g->head.rsbuf : 1; /* [R6] */
	rtr_in(call)->nplaced = 0;
	rtr_in(call)->nwants = 0;
	RT_COUNT(c, xmt_calls_received, 1);
	if (!within_limits(c, &g->head, &werr)) {
		rt_call_error(c, call, &werr);
		return;
	}
	code = take_items(c, call, &err, &werr);
	if (code == UINT32_MAX) {
		rt_call_error(c, call, &werr);
		return;
	}
	if (code) {
		uint32_t xid = call->pub.xid;

		rt_call_free(c, call);
		rt_rtr_report(c, &err, xid, false, 0);
		return;
	}
	take_wants(call, &g->head);
	call->pub.ranged = is_ranged(c, call);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct rt_rtr_part *p = &g->part[i];

		if (p->pslen)
			call->base[call->nbase++] =
				(struct rt_piece){ (uint8_t *)p->buf->addr +
							   p->payload,
						   p->pslen, p->buf->mr };
		RT_COUNT(c, inline_bytes_received, p->pslen);
		rt_bufs_add(&call->bufs, p->buf);
	}
	if (g->count > 1)
		RT_STAGE(c, receive, g->began, call->arrived);
	/* The Call has the buffers now, and what was charged for them. */
	call->memory += g->memory;
	g->memory = 0;
	g->next = 0;
	rt_call_advance(c, call);
}

/* ---- The Reply -------------------------------------------------------- */

/* Returns true if the direction may apply to the result (7.4). */
static bool in_range(const struct rt_rtr_want *w, const struct rt_item *item)
{
	return !item->origin ||
	       (item->origin >= w->begin && item->origin < w->end);
}

/* Returns true if the range ends before the operation, so that no later result
 * matches. */
static bool is_range_passed(const struct rt_rtr_want *w,
			    const struct rt_item *item)
{
	return item->origin && item->origin >= w->end;
}

/*
 * Choose how one result is sent, by tables 1 and 2. @tbsn: the peer has target segments;
 * @avoid: use them only where there is no choice. Returns false if it does not fit its
 * chunk.
 */
static bool choose_way(struct rt_rtr_want *w, uint32_t length, bool tbsn,
		       bool avoid)
{
	bool fits = rt_chunk_len(&w->chunk) >= length;

	w->result = XMPTYPE_TOOSHORT;
	if (length < w->minlen)
		return true;
	switch (w->type) {
	case XMPTYPE_EXRW:
		w->result = XMPTYPE_EXRW;
		return fits;
	case XMPTYPE_TBSN:
		/* Without target segments it stays in the stream. */
		if (tbsn)
			w->result = XMPTYPE_TBSN;
		return true;
	case XMPTYPE_BYSIZE:
		/* [R8] */
		if (length >= w->threshold) {
			w->result = XMPTYPE_EXRW;
			return fits;
		}
		/* fall through */
	default:
		if (fits && (avoid || !tbsn))
			w->result = XMPTYPE_EXRW;
		else if (tbsn)
			w->result = XMPTYPE_TBSN;
		return true;
	}
}

/* Pair results with directions, and cut those out that leave the stream. */
static bool pair_wants(struct rt_call_priv *call, bool tbsn, bool avoid,
		       struct wire_error *err)
{
	const struct rt_reply *r = &call->reply;
	struct rt_rtr_in *x = rtr_in(call);
	struct rt_item items[RT_MAX_CHUNKS];
	unsigned int n = 0, j = 0;

	for (unsigned int i = 0; i < x->nwants; i++) {
		struct rt_rtr_want *w = &x->want[i];
		const struct rt_item *item;

		w->result = XMPTYPE_NOITEM;
		w->disp = w->length = 0;
		/* Results of operations before the range stay in the stream. */
		while (j < r->nitems && !in_range(w, &r->items[j]) &&
		       !is_range_passed(w, &r->items[j]))
			j++;
		if (j == r->nitems || is_range_passed(w, &r->items[j]))
			continue;
		item = &r->items[j++];
		if (!item->present)
			continue;
		if (!choose_way(w, item->length, tbsn, avoid)) {
			err->code = RDMA2_ERR_WRITE_RESOURCE;
			err->chunk_index = i + 1;
			err->length_needed = item->length;
			return false;
		}
		w->disp = item->position;
		w->length = item->length;
		if (w->result == XMPTYPE_TOOSHORT)
			continue;
		w->cut = n;
		items[n++] = *item;
	}
	err->code = RDMA2_ERR_SYSTEM;
	return !rt_reduce(r->pieces, r->npieces, items, n, &call->out,
			  &call->cuts);
}

/* Describe the items of the header. @numbers: include those of target segments. Segments
 * of EXRW are described as filled. */
static void describe_response(struct rt_call_priv *call,
			      struct wire_xitem_desc *d, bool numbers)
{
	const struct rt_rtr_in *x = rtr_in(call);

	for (unsigned int i = 0; i < x->nwants; i++) {
		const struct rt_rtr_want *w = &x->want[i];

		d[i] = (struct wire_xitem_desc){ .disp = w->disp,
						 .length = w->length,
						 .type = w->result };
		if (w->result == XMPTYPE_EXRW) {
			d[i].seg = &call->result[w->chunk.seg - call->seg];
			d[i].nsegs = w->chunk.count;
		} else if (w->result == XMPTYPE_TBSN && numbers) {
			d[i].bsnum = &x->plan.bs[x->plan.first[w->placed]];
			d[i].nbsnum = x->plan.n[w->placed];
		}
	}
}

static uint64_t response_written(const struct rt_call_priv *call)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < rtr_in(call)->nwants; i++)
		if (rtr_in(call)->want[i].result == XMPTYPE_EXRW)
			n += rtr_in(call)->want[i].length;
	return n;
}

static bool plan_transmissions(struct rt_conn *c, struct rt_call_priv *call)
{
	const struct rt_config *cfg = &c->inst->cfg;
	struct rt_rtr_in *x = rtr_in(call);
	struct wire_xitem_desc items[RT_MAX_CHUNKS];
	struct wire_xmt_desc d = { .items = items, .nitems = x->nwants };
	uint32_t length[RT_MAX_CHUNKS];
	unsigned int cut[RT_MAX_CHUNKS], n = 0;
	unsigned int max = cfg->max_transmissions;

	max = MIN(max, x->rsbuf);
	if (!(rtr(c)->theirs.support & RTRS_XCONT))
		max = 1;
	for (unsigned int i = 0; i < x->nwants; i++) {
		if (x->want[i].result != XMPTYPE_TBSN)
			continue;
		x->want[i].placed = n;
		cut[n] = x->want[i].cut;
		length[n++] = x->want[i].length;
	}
	describe_response(call, items, false);
	if (!rt_rtr_plan(&rtr(c)->theirs.layout, c->send_threshold,
			 wire_xmtresp_len(&d), call->out.len,
			 call->out.npieces + call->cuts.npieces, length, n, max,
			 &x->plan))
		return false;
	memcpy(x->plan.cut, cut, n * sizeof(*cut));
	return true;
}

static bool plan_ways(struct rt_conn *c, struct rt_call_priv *call,
		      struct wire_error *err)
{
	bool tbsn = rtr(c)->theirs.layout.targets;

	call->external = false;
	/* The peer accepts no XMTRESP, and the Call has been executed. */
	err->code = RDMA2_ERR_SYSTEM;
	if (rtr(c)->refused)
		return false;
	/* [R8]: try target segments; then only where there is no choice; then none. */
	for (unsigned int i = 0; i < (tbsn ? 3 : 1); i++) {
		if (!pair_wants(call, tbsn && i < 2, i == 1, err))
			return false;
		if (call->out.len < 4 || call->out.len % 4)
			return false; /* SYSTEM */
		if (plan_transmissions(c, call))
			return true;
	}
	/* [R4]: a base Call would place nothing. */
	err->code = RDMA2_ERR_REPLY_RESOURCE;
	err->length_needed = call->reply_octets > UINT32_MAX ?
				     0 :
				     (uint32_t)call->reply_octets;
	return false;
}

static bool plan_reply(struct rt_conn *c, struct rt_call_priv *call,
		       struct wire_error *err)
{
	if (plan_ways(c, call, err))
		return true;
	rt_log(c, LOG_NOTICE, "XMTRESP %08x: %s, %u bytes needed",
	       call->pub.xid, wire_errcode_name(err->code), err->length_needed);
	return false;
}

static int write_results(struct rt_conn *c, struct rt_call_priv *call,
			 struct rt_work *send, struct rt_written *g)
{
	const struct rt_rtr_in *x = rtr_in(call);
	const struct rt_cuts *cuts = &call->cuts;
	int rc = 0;

	for (unsigned int i = 0; i < x->nwants && !rc; i++) {
		const struct rt_rtr_want *w = &x->want[i];
		const struct rt_cut *cut = &cuts->cut[w->cut];

		if (w->result != XMPTYPE_EXRW)
			continue;
		rc = rt_write_chunk(c, send, &cuts->piece[cut->first],
				    cut->npieces, w->chunk.seg, w->chunk.count,
				    &call->result[w->chunk.seg - call->seg], g);
		RT_COUNT(c, write_chunks, 1);
	}
	return rc;
}

static int fill_response(struct rt_conn *c, struct rt_call_priv *call,
			 struct rt_work *w, size_t *hlen, bool *last)
{
	struct rt_rtr_in *x = rtr_in(call);
	struct wire_xitem_desc items[RT_MAX_CHUNKS];
	struct wire_xmt_desc d = { .items = items,
				   .nitems = x->nwants,
				   .count = x->plan.count };
	struct rt_rtr_progress was = x->plan.progress;
	size_t off = call->out.off;
	uint32_t xnum = was.xnum, credit;
	struct rt_out to;
	size_t pslen;
	int rc;

	describe_response(call, items, true);
	*hlen = xnum ? WIRE_XMTCONT_LEN : wire_xmtresp_len(&d);
	rc = rt_rtr_fill(c, &x->plan, &call->out, &call->cuts, *hlen, &to,
			 &pslen);
	if (!rc && to.len)
		rc = rt_gather(c, w, &to, to.len);
	if (rc) {
		x->plan.progress = was;
		call->out.off = off;
		return rc;
	}
	d.pslen = (uint32_t)pslen;
	if (x->plan.count > 1)
		c->credit.reply_in_fragments = true;
	credit = c->v->credit_word(c, RT_OUT_REPLY);
	if (xnum)
		wire_encode_xmtcont(w->buf->addr, RT_HEADER_ROOM, call->pub.xid,
				    credit, xnum, RDMA2_X_XMTRESP, d.pslen);
	else
		wire_encode_xmtresp(w->buf->addr, RT_HEADER_ROOM, call->pub.xid,
				    credit, &d);
	if (!xnum)
		rt_xids_add(&rtr(c)->sent, call->pub.xid);
	RT_COUNT(c, inline_bytes_sent, pslen);
	*last = x->plan.progress.xnum == x->plan.count;
	return 0;
}

static bool response_outdated(const struct rt_conn *c,
			      const struct rt_call_priv *call)
{
	const struct rt_rtr_plan *p = &rtr_in(call)->plan;

	return rt_rtr_plan_outdated(c, p) || rtr(c)->refused ||
	       (p->count > 1 && !(rtr(c)->theirs.support & RTRS_XCONT));
}

const struct rt_reply_format rt_format_xmtresp = {
	.refuses_torn = true,
	.plan = plan_reply,
	.stale = response_outdated,
	.writes = write_results,
	.fill = fill_response,
	.written = response_written,
};
