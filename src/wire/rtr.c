/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr - decoding of rtrext: validation once, then iteration
 *
 * Lists are kept as the octets they have on the wire, without their count.
 * A list's segments are chunks of wire.h without the discriminator.
 *
 * No state; any thread.
 */
#include <string.h>

#include "wire/codec.h"
#include "rpcrdma/rtr.h"

/* A counted array of objects of @each octets. */
static bool scan_array(struct wire_cursor *c, size_t each, struct wire_list *l)
{
	uint32_t count;

	memset(l, 0, sizeof(*l));
	if (!wire_get_u32(c, &count) || count > wire_left(c) / each)
		return false;
	l->data = wire_here(c);
	l->count = count;
	l->len = count * each;
	c->pos += l->len;
	return true;
}

/* rpcrdma2_segment<> */
static bool scan_segments(struct wire_cursor *c, struct wire_list *l)
{
	if (!scan_array(c, WIRE_SEGMENT_LEN, l))
		return false;
	l->segments = l->count;
	for (uint32_t i = 0; i < l->count; i++)
		l->bytes += be32_get(l->data + i * WIRE_SEGMENT_LEN + 4);
	return true;
}

/* ---- Items of the message, 7.3 ---------------------------------------- */

/* False: it ends inside, or the type is none of xmdp_loc's (table 1). */
static bool take_item(struct wire_cursor *c, struct wire_xitem *i)
{
	struct wire_list numbers;

	memset(i, 0, sizeof(*i));
	if (!wire_get_u32(c, &i->disp) || !wire_get_u32(c, &i->length) ||
	    !wire_get_u32(c, &i->type))
		return false;
	switch (i->type) {
	case XMPTYPE_EXRW:
		return scan_segments(c, &i->seg);
	case XMPTYPE_TBSN:
		if (!wire_get_u32(c, &i->offset) || !scan_array(c, 4, &numbers))
			return false;
		i->bsnum = numbers.data;
		i->nbsnum = numbers.count;
		return true;
	case XMPTYPE_TOOSHORT:
	case XMPTYPE_NOITEM:
		return true;
	default:
		return false;
	}
}

/* [R9]; in 64 bits, where a displacement and a length do not wrap. */
static bool item_sound(const struct wire_xitem *i, bool request, uint64_t *end)
{
	if (i->type == XMPTYPE_NOITEM)
		return !request;
	if (i->type == XMPTYPE_TOOSHORT && request)
		return false;
	if (i->disp & 3 || i->disp < *end)
		return false;
	*end = ((uint64_t)i->disp + i->length + 3) & ~(uint64_t)3;
	return true;
}

static bool scan_items(struct wire_cursor *c, bool request, struct wire_list *l)
{
	struct wire_xitem item;
	uint64_t end = 0;
	uint32_t count;
	size_t start;

	memset(l, 0, sizeof(*l));
	if (!wire_get_u32(c, &count))
		return false;
	start = c->pos;
	l->data = wire_here(c);
	for (; l->count < count; l->count++) {
		if (!take_item(c, &item) || !item_sound(&item, request, &end))
			return false;
		l->segments += item.seg.segments;
		l->bytes += item.length;
	}
	l->len = c->pos - start;
	return true;
}

bool wire_xitem_next(const struct wire_list *items, struct wire_iter *it,
		     struct wire_xitem *item)
{
	struct wire_cursor c = { items->data, items->len, it->pos };

	if (it->index >= items->count || !take_item(&c, item))
		return false;
	it->pos = c.pos;
	it->index++;
	return true;
}

uint32_t wire_bsnum(const struct wire_xitem *item, uint32_t i)
{
	return be32_get(item->bsnum + (size_t)i * 4);
}

/* ---- Directions for the response, 7.4 --------------------------------- */

static bool take_rsditem(struct wire_cursor *c, struct wire_rsditem *i)
{
	memset(i, 0, sizeof(*i));
	if (!wire_get_u32(c, &i->minlen) || !wire_get_u32(c, &i->type))
		return false;
	switch (i->type) {
	case XMPTYPE_TBSN:
		return true;
	case XMPTYPE_BYSIZE:
		if (!wire_get_u32(c, &i->threshold))
			return false;
		return scan_segments(c, &i->seg);
	case XMPTYPE_EXRW:
	case XMPTYPE_CHOICE:
		return scan_segments(c, &i->seg);
	default:
		return false;
	}
}

static bool take_rsdset(struct wire_cursor *c, struct wire_rsdset *s)
{
	struct wire_list *l = &s->items;
	struct wire_rsditem item;
	uint32_t count;
	size_t start;

	memset(s, 0, sizeof(*s));
	if (!wire_get_u32(c, &s->begin) || !wire_get_u32(c, &s->end) ||
	    !wire_get_u32(c, &count))
		return false;
	start = c->pos;
	l->data = wire_here(c);
	for (; l->count < count; l->count++) {
		if (!take_rsditem(c, &item))
			return false;
		l->segments += item.seg.segments;
		l->bytes += item.seg.bytes;
	}
	l->len = c->pos - start;
	return true;
}

/* 7.4: disjoint and strictly increasing [R9]. */
static bool scan_rsd(struct wire_cursor *c, struct wire_list *l,
		     uint32_t *nitems)
{
	struct wire_rsdset set;
	uint32_t count, end = 0;
	size_t start;

	memset(l, 0, sizeof(*l));
	*nitems = 0;
	if (!wire_get_u32(c, &count))
		return false;
	start = c->pos;
	l->data = wire_here(c);
	for (; l->count < count; l->count++) {
		if (!take_rsdset(c, &set) || set.end <= set.begin ||
		    set.begin < end)
			return false;
		end = set.end;
		l->segments += set.items.segments;
		l->bytes += set.items.bytes;
		*nitems += set.items.count;
	}
	l->len = c->pos - start;
	return true;
}

bool wire_rsdset_next(const struct wire_list *rsd, struct wire_iter *it,
		      struct wire_rsdset *set)
{
	struct wire_cursor c = { rsd->data, rsd->len, it->pos };

	if (it->index >= rsd->count || !take_rsdset(&c, set))
		return false;
	it->pos = c.pos;
	it->index++;
	return true;
}

bool wire_rsditem_next(const struct wire_list *items, struct wire_iter *it,
		       struct wire_rsditem *item)
{
	struct wire_cursor c = { items->data, items->len, it->pos };

	if (it->index >= items->count || !take_rsditem(&c, item))
		return false;
	it->pos = c.pos;
	it->index++;
	return true;
}

/* ---- Messages --------------------------------------------------------- */

static bool scan_body(struct wire_cursor *c, struct wire_xmt *m)
{
	switch (m->p.htype) {
	case RDMA2_X_XMTREQ:
		return scan_items(c, true, &m->items) &&
		       scan_rsd(c, &m->rsd, &m->nrsditems) &&
		       wire_get_u32(c, &m->count) &&
		       wire_get_u32(c, &m->rsbuf) && wire_get_u32(c, &m->pslen);
	case RDMA2_X_XMTRESP:
		return scan_items(c, false, &m->items) &&
		       wire_get_u32(c, &m->count) && wire_get_u32(c, &m->pslen);
	default:
		return wire_get_u32(c, &m->xnum) &&
		       wire_get_u32(c, &m->itype) && wire_get_u32(c, &m->pslen);
	}
}

static enum wire_status decode_prefix(const void *buf, size_t len,
				      struct wire_prefix *p)
{
	if (!wire_prefix_decode(buf, len, p))
		return WIRE_SHORT;
	return p->vers == WIRE_VERS2 ? WIRE_OK : WIRE_VERSION;
}

enum wire_status wire_xmt_decode(const void *buf, size_t len,
				 struct wire_xmt *m)
{
	struct wire_cursor c = { buf, len, WIRE_PREFIX_LEN };
	struct wire_prefix p;
	enum wire_status st;

	memset(m, 0, sizeof(*m));
	st = decode_prefix(buf, len, &m->p);
	if (st != WIRE_OK)
		return st;
	if (m->p.htype != RDMA2_X_XMTREQ && m->p.htype != RDMA2_X_XMTRESP &&
	    m->p.htype != RDMA2_X_XMTCONT)
		return WIRE_BAD_HTYPE;
	if (!scan_body(&c, m)) {
		p = m->p;
		memset(m, 0, sizeof(*m));
		m->p = p;
		return WIRE_BAD_XDR;
	}
	m->header_len = c.pos;
	return WIRE_OK;
}

static bool take_xmsid(struct wire_cursor *c, struct wire_xmsid *id)
{
	/* msg_type, of which there are two. */
	return wire_get_u32(c, &id->xid) && wire_get_u32(c, &id->dir) &&
	       id->dir <= XMSI_REPLY && wire_get_u32(c, &id->seq);
}

static bool take_repterr(struct wire_cursor *c, struct wire_repterr *r)
{
	uint32_t more;

	if (!take_xmsid(c, &r->bad) || !wire_get_u32(c, &more) || more > 1)
		return false;
	r->has_lead = more;
	if (more && !take_xmsid(c, &r->lead))
		return false;
	if (!wire_get_u32(c, &r->code))
		return false;
	switch (r->code) {
	case OPTRERR_BADHMT:
	case OPTRERR_BADOMT:
	case OPTRERR_BADSEQ:
	case OPTRERR_BADXID:
		return wire_get_u32(c, &r->expect) &&
		       wire_get_u32(c, &r->current);
	case OPTRERR_BADCONT:
		return true;
	case OPTRERR_BADOFF:
	case OPTRERR_BADTBSN:
	case OPTRERR_BADPL:
		return wire_get_u32(c, &r->value) && wire_get_u32(c, &r->min) &&
		       wire_get_u32(c, &r->max);
	default:
		return false;
	}
}

enum wire_status wire_repterr_decode(const void *buf, size_t len,
				     struct wire_repterr *r)
{
	struct wire_cursor c = { buf, len, WIRE_PREFIX_LEN };
	struct wire_prefix p;
	enum wire_status st = decode_prefix(buf, len, &p);

	memset(r, 0, sizeof(*r));
	if (st != WIRE_OK)
		return st;
	if (p.htype != RDMA2_X_REPTERR)
		return WIRE_BAD_HTYPE;
	if (!take_repterr(&c, r)) {
		memset(r, 0, sizeof(*r));
		return WIRE_BAD_XDR;
	}
	return WIRE_OK;
}

/* ---- Receive Buffer Structure, 7.2 ------------------------------------ */

#define RBGROUP_LEN 16

bool wire_rbstruct_decode(const void *data, size_t len, struct wire_rbstruct *b)
{
	struct wire_cursor c = { data, len, 0 };
	struct wire_iter it = { 0 };
	struct wire_rbgroup g;
	uint64_t sum = 0;

	memset(b, 0, sizeof(*b));
	if (!wire_get_u32(&c, &b->length) ||
	    !scan_array(&c, RBGROUP_LEN, &b->groups) || wire_left(&c))
		return false;
	while (wire_rbgroup_next(&b->groups, &it, &g)) {
		sum += (uint64_t)g.count * g.length;
		if (sum > b->length)
			return false;
	}
	return sum == b->length;
}

bool wire_rbgroup_next(const struct wire_list *groups, struct wire_iter *it,
		       struct wire_rbgroup *g)
{
	const uint8_t *p;

	if (it->index >= groups->count)
		return false;
	p = groups->data + it->pos;
	g->count = be32_get(p);
	g->length = be32_get(p + 4);
	g->align = be32_get(p + 8);
	g->flags = be32_get(p + 12);
	it->pos += RBGROUP_LEN;
	it->index++;
	return true;
}
