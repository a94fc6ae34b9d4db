/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr_requester - a Call by XMTREQ, its XMTRESP, and its refusal
 *
 * XMTREQ is used where it saves RDMA: for arguments that do not fit into the peer's plain
 * segment with the header, and for results that have a sink. A Call whose items do not
 * fit the target segments of either end is sent by base messages (4.3, 5.2). A Call that
 * is refused as XMTREQ is sent again by base messages, once, on the same connection
 * (5.4).
 *
 * Context: the runner.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/ext/rtr/rtr.h"

/* ---- The Call --------------------------------------------------------- */

static bool may_use(const struct rt_conn *c, const struct rt_request_priv *rq)
{
	if (!rtr(c)->usable || !(rtr(c)->theirs.support & RTRS_XREQ) ||
	    !c->props_sent || rq->base_only || rq->pub.call_only)
		return false;
	return !c->server || c->theirs.reverse == RDMA2_RVRSDIR_GENL;
}

/* Returns how many results may be returned outside of the stream [H2]. */
static unsigned int count_wants(const struct rt_conn *c,
				struct rt_request_priv *rq)
{
	struct rt_rtr_out *x = rtr_out(rq);
	unsigned int n = rq->pub.nsinks;

	n = MIN(n, c->inst->cfg.call_write_chunks);
	while (n && !rq->pub.sinks[n - 1].addr)
		n--;
	/* A result without a sink stays in the stream, however long. */
	for (unsigned int i = 0; i < n; i++)
		x->minlen[i] = rq->pub.sinks[i].addr ? RT_RTR_MINLEN :
						       UINT32_MAX;
	return n;
}

/* The description of a header, which refers to its own arrays. */
struct description {
	struct wire_xmt_desc d;
	struct wire_xitem_desc item[RT_MAX_CHUNKS];
	struct wire_rsditem_desc want[RT_MAX_CHUNKS];
	struct wire_rsdset_desc set;
};

static void describe_request(const struct rt_request_priv *rq,
			     struct description *k, bool numbers)
{
	const struct rt_rtr_out *x = rtr_out(rq);
	uint32_t end = 0;

	k->d = (struct wire_xmt_desc){ .items = k->item,
				       .nitems = rq->cuts.count,
				       .sets = &k->set,
				       .nsets = x->nwants ? 1 : 0,
				       .count = x->plan.count,
				       .rsbuf = x->rsbuf };
	for (unsigned int i = 0; i < rq->cuts.count; i++) {
		const struct rt_cut *cut = &rq->cuts.cut[i];
		struct wire_xitem_desc *t = &k->item[i];

		*t = (struct wire_xitem_desc){ .disp = cut->position,
					       .length = cut->length,
					       .type = XMPTYPE_TBSN };
		if (numbers) {
			t->bsnum = &x->plan.bs[x->plan.first[i]];
			t->nbsnum = x->plan.n[i];
		}
	}
	for (unsigned int i = 0; i < x->nwants; i++)
		k->want[i] = (struct wire_rsditem_desc){ .minlen = x->minlen[i],
							 .type = XMPTYPE_TBSN };
	/* The directions apply to all operations. */
	for (unsigned int i = 0; i < rq->pub.npieces; i++)
		end += (uint32_t)rq->pub.pieces[i].len;
	k->set = (struct wire_rsdset_desc){ 0, end, k->want, x->nwants };
}

/* Returns how many transmissions the longest response can need; 0 for too many. */
static unsigned int response_transmissions(const struct rt_conn *c,
					   const struct rt_request_priv *rq)
{
	const struct rt_rtr_out *x = rtr_out(rq);
	struct wire_xitem_desc items[RT_MAX_CHUNKS];
	struct wire_xmt_desc d = { .items = items, .nitems = x->nwants };
	uint32_t length[RT_MAX_CHUNKS];
	unsigned int n = 0, limit = c->inst->cfg.max_transmissions;
	size_t max = rq->pub.reply_max ? rq->pub.reply_max : RT_UNKNOWN_REPLY;
	size_t room = c->recv_threshold;
	struct rt_rtr_plan plan;

	/* The peer may send shorter messages than we accept. */
	if (c->theirs.send_size && room > c->theirs.send_size)
		room = c->theirs.send_size;
	limit = MIN(limit, rtr(c)->theirs.respsxlim);
	for (unsigned int i = 0; i < x->nwants; i++) {
		items[i] = (struct wire_xitem_desc){ .type = XMPTYPE_TBSN };
		if (!rq->pub.sinks[i].addr)
			continue;
		if (rq->pub.sinks[i].len > UINT32_MAX)
			return 0;
		length[n++] = (uint32_t)rq->pub.sinks[i].len;
	}
	for (unsigned int i = x->nwants; i < rq->pub.nsinks; i++)
		if (rq->pub.sinks[i].addr)
			max += rt_round4(rq->pub.sinks[i].len);
	return rt_rtr_plan(&rtr(c)->ours, room, wire_xmtresp_len(&d),
			   rt_round4(max), 0, length, n, limit, &plan) ?
		       plan.count :
		       0;
}

/* Place the arguments. Returns false if they do not fit. */
static bool place_arguments(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct rt_rtr_out *x = rtr_out(rq);
	uint32_t length[RT_MAX_CHUNKS];
	unsigned int n = rq->cuts.count;
	unsigned int limit = c->inst->cfg.max_transmissions;
	struct description k;

	limit = MIN(limit, rtr(c)->theirs.reqrxlim);
	if (!(rtr(c)->theirs.support & RTRS_XCONT))
		limit = 1;
	/* 4.3: with too few credits for a group, base messages are better. */
	while (limit > 1 && rt_credit_available(&c->credit) <
				    limit + (uint64_t)c->calls_reverse)
		limit--;
	for (unsigned int i = 0; i < n; i++)
		length[i] = rq->cuts.cut[i].length;
	describe_request(rq, &k, false);
	if (!rt_rtr_plan(&rtr(c)->theirs.layout, c->send_threshold,
			 wire_xmtreq_len(&k.d), rq->out.len,
			 rq->out.npieces + rq->cuts.npieces, length, n, limit,
			 &x->plan))
		return false;
	for (unsigned int i = 0; i < n; i++)
		x->plan.cut[i] = i;
	return true;
}

/* Returns the octets before the peer's first target segment. */
static size_t plain_octets(const struct rt_conn *c)
{
	const struct rt_rtr_layout *l = &rtr(c)->theirs.layout;
	size_t n = 0;

	for (unsigned int i = 0; i < l->ngroups; i++) {
		if (l->group[i].flags & XMRSFLAG_PLT)
			break;
		n += (size_t)l->group[i].count * l->group[i].length;
	}
	return n;
}

static int plan_request(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct rt_rtr_out *x = rtr_out(rq);
	struct description k;
	int rc;

	x->nwants = count_wants(c, rq);
	/* This end has no target segments for results. */
	if (x->nwants && !rtr(c)->ours.targets)
		return -E2BIG;
	if (rq->pub.npieces > RT_MAX_PIECES)
		return -E2BIG;
	/* Do not reduce a Call that fits the peer's plain segment. */
	rc = rt_reduce(rq->pub.pieces, rq->pub.npieces, NULL, 0, &rq->out,
		       &rq->cuts);
	if (rc || rq->out.len < 4)
		return rc ? rc : -EINVAL;
	memset(&x->plan, 0, offsetof(struct rt_rtr_plan, bs));
	describe_request(rq, &k, false);
	if (rq->pub.nitems &&
	    wire_xmtreq_len(&k.d) + rq->out.len > plain_octets(c)) {
		rc = rt_request_reduce(c, rq);
		if (rc)
			return rc;
	}
	/* Nothing would be placed. */
	if (!x->nwants && !rq->cuts.count)
		return -E2BIG;
	x->rsbuf = response_transmissions(c, rq);
	return x->rsbuf && place_arguments(c, rq) ? 0 : -E2BIG;
}

static bool prepare_request(struct rt_conn *c, struct rt_request_priv *rq)
{
	if (!may_use(c, rq) || !(rq->pub.nsinks || rq->pub.nitems))
		return false;
	if (!plan_request(c, rq))
		return true;
	rt_request_rollback(c, rq, 0, 0);
	return false;
}

static int fill_request(struct rt_conn *c, struct rt_request_priv *rq,
			struct rt_work *w, size_t *hlen, bool *last)
{
	struct rt_rtr_out *x = rtr_out(rq);
	uint32_t credit = c->v->credit_word(c, RT_OUT_CALL);
	uint32_t xnum = x->plan.progress.xnum;
	struct description k;
	struct rt_out to;
	size_t pslen;
	int rc;

	describe_request(rq, &k, true);
	*hlen = xnum ? WIRE_XMTCONT_LEN : wire_xmtreq_len(&k.d);
	rc = rt_rtr_fill(c, &x->plan, &rq->out, &rq->cuts, *hlen, &to, &pslen);
	if (!rc && to.len)
		rc = rt_gather(c, w, &to, to.len);
	if (rc)
		return rc;
	k.d.pslen = (uint32_t)pslen;
	if (xnum)
		wire_encode_xmtcont(w->buf->addr, RT_HEADER_ROOM, rq->pub.xid,
				    credit, xnum, RDMA2_X_XMTREQ, k.d.pslen);
	else
		wire_encode_xmtreq(w->buf->addr, RT_HEADER_ROOM, rq->pub.xid,
				   credit, &k.d);
	if (!xnum)
		RT_COUNT(c, xmt_calls_sent, 1);
	RT_COUNT(c, inline_bytes_sent, pslen);
	*last = x->plan.progress.xnum == x->plan.count;
	return 0;
}

/* ---- The response ----------------------------------------------------- */

/* Table 2: the results that a direction of type TBSN allows. */
static bool is_result_allowed(uint32_t result)
{
	return result == XMPTYPE_TBSN || result == XMPTYPE_TOOSHORT ||
	       result == XMPTYPE_NOITEM;
}

bool rt_rtr_response_limit(struct rt_conn *c, uint32_t xid, uint32_t *limit)
{
	struct rt_request_priv *rq = rt_request_find(c, xid);

	rt_assert_strand(c);
	if (!rq || !rq->own.posted || !rq->format)
		return false;
	*limit = rtr_out(rq)->rsbuf;
	return true;
}

/* [R11] */
static bool base_reply_ok(const struct rt_request_priv *rq)
{
	return !rtr_out(rq)->nwants;
}

/* The assembly of a Reply: the payload, with the placed items inserted. */
struct assembly {
	struct rt_conn *c;
	struct rt_request_priv *rq;
	uint32_t part; /* of the group */
	size_t off; /* in its payload */
	uint64_t pos; /* in the whole stream */
};

static bool add_piece(struct rt_request_priv *rq, void *addr, size_t len,
		      struct fab_mr *mr)
{
	if (!len)
		return true;
	if (rq->pub.nreply == RT_MAX_PIECES)
		return false;
	rq->pub.reply[rq->pub.nreply++] = (struct rt_piece){ addr, len, mr };
	rq->pub.reply_len += len;
	return true;
}

/* Add the payload up to @to of the whole stream. Returns false if there is not so
 * much. */
static bool payload_to(struct assembly *a, uint64_t to)
{
	const struct rt_rtr_group *g = &rtr(a->c)->group;

	while (a->pos < to) {
		const struct rt_rtr_part *p = &g->part[a->part];
		size_t n = a->part < g->count ? p->pslen - a->off : 0;

		if (a->part == g->count)
			return to == UINT64_MAX;
		if (n > to - a->pos)
			n = (size_t)(to - a->pos);
		if (!add_piece(a->rq,
			       (uint8_t *)p->buf->addr + p->payload + a->off, n,
			       p->buf->mr))
			return false;
		a->pos += n;
		a->off += n;
		if (a->off == p->pslen) {
			a->part++;
			a->off = 0;
		}
	}
	return true;
}

/* Add one placed item. Returns as take_items(). */
static uint32_t take_placed(struct assembly *a, const struct wire_xitem *item,
			    struct wire_repterr *err)
{
	struct rt_conn *c = a->c;
	const struct fab_buf *z = c->inst->zeros;
	struct rt_request_priv *rq = a->rq;
	unsigned int n;
	uint32_t code;

	code = rt_rtr_locate(c, item, &rq->pub.reply[rq->pub.nreply], &n,
			     RT_MAX_PIECES - rq->pub.nreply, err);
	if (code)
		return code;
	rq->pub.nreply += n;
	rq->pub.reply_len += item->length;
	RT_COUNT(c, placed_bytes_received, item->length);
	/* The roundup is not sent [R12]. */
	if (!add_piece(rq, z->addr, rt_round4(item->length) - item->length,
		       z->mr))
		return UINT32_MAX;
	return 0;
}

/* Add all items of the response. Returns 0, a code of REPTERR after setting @err, or
 * UINT32_MAX for BAD_XDR. */
static uint32_t take_items(struct assembly *a, struct wire_repterr *err)
{
	const struct rt_rtr_group *g = &rtr(a->c)->group;
	struct wire_iter it = { 0 };
	struct wire_xitem item;
	uint32_t code;

	if (g->head.items.count != rtr_out(a->rq)->nwants)
		return UINT32_MAX;
	/* Results that were not asked for are in the stream, too. */
	for (unsigned int i = 0; i < a->rq->pub.nsinks; i++)
		a->rq->pub.sinks[i].in_stream = true;
	for (unsigned int i = 0; wire_xitem_next(&g->head.items, &it, &item);
	     i++) {
		const struct rt_sink *s = &a->rq->pub.sinks[i];

		if (!is_result_allowed(item.type))
			return UINT32_MAX;
		if (item.type != XMPTYPE_TBSN)
			continue;
		if (!payload_to(a, item.disp) || item.length > s->len)
			return UINT32_MAX;
		code = take_placed(a, &item, err);
		if (code)
			return code;
		a->pos += rt_round4(item.length);
	}
	return payload_to(a, UINT64_MAX) ? 0 : UINT32_MAX;
}

void rt_rtr_response_receive(struct rt_conn *c)
{
	struct rt_rtr_group *g = &rtr(c)->group;
	uint32_t xid = g->head.p.xid, code;
	struct rt_request_priv *rq = rt_request_find(c, xid);
	struct assembly a = { .c = c, .rq = rq };
	struct wire_repterr err = { 0 };

	rt_assert_strand(c);
	/* The RPC may have ended while the rest of the group came. */
	if (!rq || !rq->own.posted || !rq->format) {
		RT_COUNT(c, dropped, 1);
		return;
	}
	if (c->sending == &rq->outgoing) {
		rt_response_violation(c, rq, xid,
				      "it comes before the whole Call");
		return;
	}
	code = take_items(&a, &err);
	if (code) {
		if (code == UINT32_MAX)
			rt_error_code(c, xid, RDMA2_ERR_BAD_XDR);
		else
			rt_rtr_report(c, &err, xid, true, 0);
		/* The pieces go back with the group. */
		rq->pub.nreply = 0;
		rq->pub.reply_len = 0;
		rt_request_finish(c, rq, -EPROTO);
		return;
	}
	for (uint32_t i = 0; i < g->count; i++) {
		RT_COUNT(c, inline_bytes_received, g->part[i].pslen);
		rt_bufs_add(&rq->bufs, g->part[i].buf);
	}
	g->next = 0;
	if (g->count > 1)
		RT_STAGE(c, receive, g->began, base_now_ns());
	rt_response_done(c, rq);
}

/* ---- Refusal ---------------------------------------------------------- */

void rt_rtr_request_refused(struct rt_conn *c, uint32_t xid)
{
	struct rt_request_priv *rq = rt_request_find(c, xid);

	rt_assert_strand(c);
	if (!rq || !rq->own.posted || !rq->format)
		return;
	if (++rtr(c)->refusals == RT_RTR_REFUSALS)
		rt_log(c, LOG_NOTICE, "XMTREQ is not used any more");
	rt_rtr_update(c);
	rq->format = NULL;
	rq->base_only = true;
	RT_COUNT(c, xmt_fallbacks, 1);
	rt_request_resend(c, rq);
}

static bool request_error(struct rt_conn *c, struct rt_request_priv *rq,
			  const struct wire_error *err)
{
	struct rt_rtr_out *x = rtr_out(rq);

	if (!rq->own.posted && !x->errors_expected)
		return false;
	if (!rq->format) {
		/* It is about an XMTCONT: that of a base message would come later. */
		if (err->code != RDMA2_ERR_INVAL_HTYPE || !x->errors_expected)
			return false;
		x->errors_expected--;
		return true;
	}
	switch (err->code) {
	case RDMA2_ERR_INVAL_HTYPE:
		/* [M2], 7.1.3: each transmission is answered so. */
		rt_rtr_disable(c);
		x->errors_expected = x->plan.progress.xnum - 1;
		break;
	case RDMA2_ERR_BAD_XDR:
	case RDMA2_ERR_INVAL_CONT:
		break;
	default:
		return false;
	}
	rt_rtr_request_refused(c, rq->pub.xid);
	return true;
}

static bool request_usable(const struct rt_conn *c)
{
	return rtr(c)->usable;
}

static void request_reset(struct rt_request_priv *rq)
{
	rtr_out(rq)->errors_expected = 0;
}

const struct rt_request_format rt_format_xmtreq = {
	.prepare = prepare_request,
	.usable = request_usable,
	.reset = request_reset,
	.fill = fill_request,
	.base_reply_ok = base_reply_ok,
	.error = request_error,
};
