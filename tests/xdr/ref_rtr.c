/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_rtr - between rows of values and the structures of rpcgen, rtrext
 *
 * No state.
 */
#include <stdlib.h>
#include <string.h>

#include "rpcrdma_v2_ext.h"
#include "ref_rtr.h"

#define XMTREQ 0xffffff15u
#define XMTRESP 0xffffff16u
#define XMTCONT 0xffffff17u
#define REPTERR 0xffffff18u

union body {
	rpcrdma2_x_xmtreq req;
	rpcrdma2_x_xmtresp resp;
	rpcrdma2_x_xmtcont cont;
	rpcrdma2_x_repterr err;
};

static bool_t body_xdr(XDR *x, uint32_t htype, union body *b)
{
	switch (htype) {
	case XMTREQ:
		return xdr_rpcrdma2_x_xmtreq(x, &b->req);
	case XMTRESP:
		return xdr_rpcrdma2_x_xmtresp(x, &b->resp);
	case XMTCONT:
		return xdr_rpcrdma2_x_xmtcont(x, &b->cont);
	case REPTERR:
		return xdr_rpcrdma2_x_repterr(x, &b->err);
	default:
		return FALSE;
	}
}

static uint32_t word(struct ref_row *r)
{
	return (uint32_t)ref_take(r);
}

static rpcrdma2_segment *segments_from(struct ref_row *r, u_int *n)
{
	rpcrdma2_segment *s;

	*n = word(r);
	s = ref_need(*n, sizeof(*s));
	for (u_int i = 0; i < *n; i++) {
		s[i].rdma_handle = word(r);
		s[i].rdma_length = word(r);
		s[i].rdma_offset = ref_take(r);
	}
	return s;
}

static void segments_to(struct ref_row *r, const rpcrdma2_segment *s, u_int n)
{
	ref_add(r, n);
	for (u_int i = 0; i < n; i++) {
		ref_add(r, s[i].rdma_handle);
		ref_add(r, s[i].rdma_length);
		ref_add(r, s[i].rdma_offset);
	}
}

static void items_from(struct ref_row *r, rpcrdma2_x_grpinfo *g)
{
	u_int n = word(r);

	g->rpcrdma2_x_grpinfo_len = n;
	g->rpcrdma2_x_grpinfo_val = ref_need(n, sizeof(rpcrdma2_x_mitem));
	for (u_int i = 0; i < n; i++) {
		rpcrdma2_x_mitem *m = &g->rpcrdma2_x_grpinfo_val[i];
		rpcrdma2_x_tbsn *tb = &m->where.rpcrdma2_x_loc_u.tb;

		m->disp = word(r);
		m->length = word(r);
		m->where.type = word(r);
		if (m->where.type == XMPTYPE_EXRW) {
			m->where.rpcrdma2_x_loc_u.ex.ex_val = segments_from(
				r, &m->where.rpcrdma2_x_loc_u.ex.ex_len);
		} else if (m->where.type == XMPTYPE_TBSN) {
			tb->offset = word(r);
			tb->bsnum.bsnum_len = word(r);
			tb->bsnum.bsnum_val =
				ref_need(tb->bsnum.bsnum_len, sizeof(uint32_t));
			for (u_int j = 0; j < tb->bsnum.bsnum_len; j++)
				tb->bsnum.bsnum_val[j] = word(r);
		}
	}
}

static void items_to(struct ref_row *r, const rpcrdma2_x_grpinfo *g)
{
	ref_add(r, g->rpcrdma2_x_grpinfo_len);
	for (u_int i = 0; i < g->rpcrdma2_x_grpinfo_len; i++) {
		const rpcrdma2_x_mitem *m = &g->rpcrdma2_x_grpinfo_val[i];
		const rpcrdma2_x_tbsn *tb = &m->where.rpcrdma2_x_loc_u.tb;

		ref_add(r, m->disp);
		ref_add(r, m->length);
		ref_add(r, m->where.type);
		if (m->where.type == XMPTYPE_EXRW) {
			segments_to(r, m->where.rpcrdma2_x_loc_u.ex.ex_val,
				    m->where.rpcrdma2_x_loc_u.ex.ex_len);
		} else if (m->where.type == XMPTYPE_TBSN) {
			ref_add(r, tb->offset);
			ref_add(r, tb->bsnum.bsnum_len);
			for (u_int j = 0; j < tb->bsnum.bsnum_len; j++)
				ref_add(r, tb->bsnum.bsnum_val[j]);
		}
	}
}

static void rsditem_from(struct ref_row *r, rpcrdma2_x_rsditem *t)
{
	rpcrdma2_x_bysize *by = &t->loc.rpcrdma2_x_rsdloc_u.bysize;

	t->minlen = word(r);
	t->loc.type = word(r);
	if (t->loc.type == XMPTYPE_BYSIZE) {
		by->threshold = word(r);
		by->ex.ex_val = segments_from(r, &by->ex.ex_len);
	} else if (t->loc.type != XMPTYPE_TBSN) {
		t->loc.rpcrdma2_x_rsdloc_u.ex.ex_val =
			segments_from(r, &t->loc.rpcrdma2_x_rsdloc_u.ex.ex_len);
	}
}

static void rsditem_to(struct ref_row *r, const rpcrdma2_x_rsditem *t)
{
	const rpcrdma2_x_bysize *by = &t->loc.rpcrdma2_x_rsdloc_u.bysize;

	ref_add(r, t->minlen);
	ref_add(r, t->loc.type);
	if (t->loc.type == XMPTYPE_BYSIZE) {
		ref_add(r, by->threshold);
		segments_to(r, by->ex.ex_val, by->ex.ex_len);
	} else if (t->loc.type != XMPTYPE_TBSN) {
		segments_to(r, t->loc.rpcrdma2_x_rsdloc_u.ex.ex_val,
			    t->loc.rpcrdma2_x_rsdloc_u.ex.ex_len);
	}
}

static void rsd_from(struct ref_row *r, rpcrdma2_x_rsdgroup *g)
{
	u_int n = word(r);

	g->rpcrdma2_x_rsdgroup_len = n;
	g->rpcrdma2_x_rsdgroup_val = ref_need(n, sizeof(rpcrdma2_x_rsdset));
	for (u_int i = 0; i < n; i++) {
		rpcrdma2_x_rsdset *s = &g->rpcrdma2_x_rsdgroup_val[i];

		s->begin = word(r);
		s->end = word(r);
		s->items.items_len = word(r);
		s->items.items_val = ref_need(s->items.items_len,
					      sizeof(rpcrdma2_x_rsditem));
		for (u_int j = 0; j < s->items.items_len; j++)
			rsditem_from(r, &s->items.items_val[j]);
	}
}

static void rsd_to(struct ref_row *r, const rpcrdma2_x_rsdgroup *g)
{
	ref_add(r, g->rpcrdma2_x_rsdgroup_len);
	for (u_int i = 0; i < g->rpcrdma2_x_rsdgroup_len; i++) {
		const rpcrdma2_x_rsdset *s = &g->rpcrdma2_x_rsdgroup_val[i];

		ref_add(r, s->begin);
		ref_add(r, s->end);
		ref_add(r, s->items.items_len);
		for (u_int j = 0; j < s->items.items_len; j++)
			rsditem_to(r, &s->items.items_val[j]);
	}
}

static void xmsid_from(struct ref_row *r, rpcrdma2_x_xmsid *id)
{
	id->xid = word(r);
	id->dir = word(r);
	id->seq = word(r);
}

static void xmsid_to(struct ref_row *r, const rpcrdma2_x_xmsid *id)
{
	ref_add(r, id->xid);
	ref_add(r, id->dir);
	ref_add(r, id->seq);
}

static void err_from(struct ref_row *r, rpcrdma2_x_repterr *e)
{
	rpcrdma2_x_expect *x = &e->info.rpcrdma2_x_errinfo_u.exp;
	rpcrdma2_x_range *g = &e->info.rpcrdma2_x_errinfo_u.rng;

	xmsid_from(r, &e->bad);
	if (ref_take(r)) {
		e->lead = ref_need(1, sizeof(*e->lead));
		xmsid_from(r, e->lead);
	}
	e->info.which = word(r);
	if (e->info.which >= 6) {
		g->value = word(r);
		g->min = word(r);
		g->max = word(r);
	} else if (e->info.which != 3) {
		x->expect = word(r);
		x->current = word(r);
	}
}

static void err_to(struct ref_row *r, const rpcrdma2_x_repterr *e)
{
	const rpcrdma2_x_expect *x = &e->info.rpcrdma2_x_errinfo_u.exp;
	const rpcrdma2_x_range *g = &e->info.rpcrdma2_x_errinfo_u.rng;

	xmsid_to(r, &e->bad);
	ref_add(r, e->lead != NULL);
	if (e->lead)
		xmsid_to(r, e->lead);
	ref_add(r, e->info.which);
	if (e->info.which >= 6) {
		ref_add(r, g->value);
		ref_add(r, g->min);
		ref_add(r, g->max);
	} else if (e->info.which != 3) {
		ref_add(r, x->expect);
		ref_add(r, x->current);
	}
}

static void body_from(struct ref_row *r, uint32_t htype, union body *b)
{
	switch (htype) {
	case XMTREQ:
		items_from(r, &b->req.dp);
		rsd_from(r, &b->req.rsd);
		b->req.count = word(r);
		b->req.rsbuf = word(r);
		b->req.pslen = word(r);
		break;
	case XMTRESP:
		items_from(r, &b->resp.dp);
		b->resp.count = word(r);
		b->resp.pslen = word(r);
		break;
	case XMTCONT:
		b->cont.xnum = word(r);
		b->cont.itype = word(r);
		b->cont.pslen = word(r);
		break;
	default:
		err_from(r, &b->err);
		break;
	}
}

static void body_to(struct ref_row *r, uint32_t htype, const union body *b)
{
	switch (htype) {
	case XMTREQ:
		items_to(r, &b->req.dp);
		rsd_to(r, &b->req.rsd);
		ref_add(r, b->req.count);
		ref_add(r, b->req.rsbuf);
		ref_add(r, b->req.pslen);
		break;
	case XMTRESP:
		items_to(r, &b->resp.dp);
		ref_add(r, b->resp.count);
		ref_add(r, b->resp.pslen);
		break;
	case XMTCONT:
		ref_add(r, b->cont.xnum);
		ref_add(r, b->cont.itype);
		ref_add(r, b->cont.pslen);
		break;
	default:
		err_to(r, &b->err);
		break;
	}
}

static void body_free(uint32_t htype, union body *b)
{
	XDR x = { .x_op = XDR_FREE };

	(void)body_xdr(&x, htype, b);
}

size_t ref_rtr_encode(struct ref_row *r, void *buf, size_t size)
{
	rpcrdma2_hdr_prefix p;
	union body b;
	size_t len = 0;
	XDR x;

	memset(&b, 0, sizeof(b));
	r->at = 0;
	p.rdma_start.rdma_xid = word(r);
	p.rdma_start.rdma_vers = word(r);
	p.rdma_start.rdma_credit = word(r);
	p.rdma_start.rdma_htype = word(r);
	body_from(r, p.rdma_start.rdma_htype, &b);
	xdrmem_create(&x, buf, (u_int)size, XDR_ENCODE);
	if (xdr_rpcrdma2_hdr_prefix(&x, &p) &&
	    body_xdr(&x, p.rdma_start.rdma_htype, &b))
		len = xdr_getpos(&x);
	xdr_destroy(&x);
	body_free(p.rdma_start.rdma_htype, &b);
	return len;
}

bool ref_rtr_decode(const void *buf, size_t len, struct ref_row *r,
		    size_t *used)
{
	rpcrdma2_hdr_prefix p = { 0 };
	union body b;
	bool ok = false;
	XDR x;

	memset(&b, 0, sizeof(b));
	memset(r, 0, offsetof(struct ref_row, v));
	xdrmem_create(&x, (char *)(uintptr_t)buf, (u_int)len, XDR_DECODE);
	if (!xdr_rpcrdma2_hdr_prefix(&x, &p))
		goto out;
	ok = body_xdr(&x, p.rdma_start.rdma_htype, &b);
	if (ok) {
		ref_add(r, p.rdma_start.rdma_xid);
		ref_add(r, p.rdma_start.rdma_vers);
		ref_add(r, p.rdma_start.rdma_credit);
		ref_add(r, p.rdma_start.rdma_htype);
		body_to(r, p.rdma_start.rdma_htype, &b);
		*used = xdr_getpos(&x);
	}
	body_free(p.rdma_start.rdma_htype, &b);
out:
	xdr_destroy(&x);
	return ok;
}

size_t ref_rbstruct_encode(struct ref_row *r, void *buf, size_t size)
{
	rpcrdma2_x_rbstruct b;
	size_t len = 0;
	u_int n;
	XDR x;

	r->at = 0;
	b.length = word(r);
	n = word(r);
	b.groups.groups_len = n;
	b.groups.groups_val = ref_need(n, sizeof(rpcrdma2_x_bufgroup));
	for (u_int i = 0; i < n; i++) {
		rpcrdma2_x_bufgroup *g = &b.groups.groups_val[i];

		g->count = word(r);
		g->info.length = word(r);
		g->info.align = word(r);
		g->info.flags = word(r);
	}
	xdrmem_create(&x, buf, (u_int)size, XDR_ENCODE);
	if (xdr_rpcrdma2_x_rbstruct(&x, &b))
		len = xdr_getpos(&x);
	xdr_destroy(&x);
	free(b.groups.groups_val);
	return len;
}

bool ref_rbstruct_decode(const void *buf, size_t len, struct ref_row *r,
			 size_t *used)
{
	XDR x, f = { .x_op = XDR_FREE };
	rpcrdma2_x_rbstruct b;
	bool ok;

	memset(&b, 0, sizeof(b));
	memset(r, 0, offsetof(struct ref_row, v));
	xdrmem_create(&x, (char *)(uintptr_t)buf, (u_int)len, XDR_DECODE);
	ok = xdr_rpcrdma2_x_rbstruct(&x, &b);
	*used = xdr_getpos(&x);
	xdr_destroy(&x);
	if (ok) {
		ref_add(r, b.length);
		ref_add(r, b.groups.groups_len);
		for (u_int i = 0; i < b.groups.groups_len; i++) {
			const rpcrdma2_x_bufgroup *g = &b.groups.groups_val[i];

			ref_add(r, g->count);
			ref_add(r, g->info.length);
			ref_add(r, g->info.align);
			ref_add(r, g->info.flags);
		}
	}
	(void)xdr_rpcrdma2_x_rbstruct(&f, &b);
	return ok;
}
