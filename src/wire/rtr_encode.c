/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr_encode - encoding of rtrext
 *
 * As encode.c the encoder writes what it is told, also what the decoder would
 * refuse.
 *
 * No state but the caller's struct wire_enc; any thread.
 */
#include "wire/codec.h"
#include "rpcrdma/rtr.h"

static void put_items(struct wire_enc *e, const struct wire_xmt_desc *d)
{
	wire_put_u32(e, d->nitems);
	for (uint32_t i = 0; i < d->nitems && !e->overflow; i++) {
		const struct wire_xitem_desc *t = &d->items[i];

		wire_put_u32(e, t->disp);
		wire_put_u32(e, t->length);
		wire_put_u32(e, t->type);
		if (t->type == XMPTYPE_EXRW) {
			wire_put_chunk(e, t->seg, t->nsegs);
		} else if (t->type == XMPTYPE_TBSN) {
			wire_put_u32(e, t->offset);
			wire_put_u32(e, t->nbsnum);
			for (uint32_t j = 0; j < t->nbsnum && !e->overflow; j++)
				wire_put_u32(e, t->bsnum[j]);
		}
	}
}

static void put_rsd(struct wire_enc *e, const struct wire_xmt_desc *d)
{
	wire_put_u32(e, d->nsets);
	for (uint32_t i = 0; i < d->nsets && !e->overflow; i++) {
		const struct wire_rsdset_desc *s = &d->sets[i];

		wire_put_u32(e, s->begin);
		wire_put_u32(e, s->end);
		wire_put_u32(e, s->nitems);
		for (uint32_t j = 0; j < s->nitems && !e->overflow; j++) {
			const struct wire_rsditem_desc *t = &s->items[j];

			wire_put_u32(e, t->minlen);
			wire_put_u32(e, t->type);
			if (t->type == XMPTYPE_BYSIZE)
				wire_put_u32(e, t->threshold);
			if (t->type != XMPTYPE_TBSN)
				wire_put_chunk(e, t->seg, t->nsegs);
		}
	}
}

size_t wire_encode_xmtreq(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  const struct wire_xmt_desc *d)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit, RDMA2_X_XMTREQ);
	put_items(&e, d);
	put_rsd(&e, d);
	wire_put_u32(&e, d->count);
	wire_put_u32(&e, d->rsbuf);
	wire_put_u32(&e, d->pslen);
	return wire_enc_finish(&e);
}

size_t wire_encode_xmtresp(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, const struct wire_xmt_desc *d)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit, RDMA2_X_XMTRESP);
	put_items(&e, d);
	wire_put_u32(&e, d->count);
	wire_put_u32(&e, d->pslen);
	return wire_enc_finish(&e);
}

size_t wire_encode_xmtcont(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, uint32_t xnum, uint32_t itype,
			   uint32_t pslen)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit, RDMA2_X_XMTCONT);
	wire_put_u32(&e, xnum);
	wire_put_u32(&e, itype);
	wire_put_u32(&e, pslen);
	return wire_enc_finish(&e);
}

static void put_xmsid(struct wire_enc *e, const struct wire_xmsid *id)
{
	wire_put_u32(e, id->xid);
	wire_put_u32(e, id->dir);
	wire_put_u32(e, id->seq);
}

size_t wire_encode_repterr(void *buf, size_t size, uint32_t credit,
			   const struct wire_repterr *r)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, r->bad.xid, credit, RDMA2_X_REPTERR);
	put_xmsid(&e, &r->bad);
	wire_put_bool(&e, r->has_lead);
	if (r->has_lead)
		put_xmsid(&e, &r->lead);
	wire_put_u32(&e, r->code);
	switch (r->code) {
	case OPTRERR_BADHMT:
	case OPTRERR_BADOMT:
	case OPTRERR_BADSEQ:
	case OPTRERR_BADXID:
		wire_put_u32(&e, r->expect);
		wire_put_u32(&e, r->current);
		break;
	case OPTRERR_BADOFF:
	case OPTRERR_BADTBSN:
	case OPTRERR_BADPL:
		wire_put_u32(&e, r->value);
		wire_put_u32(&e, r->min);
		wire_put_u32(&e, r->max);
		break;
	default:
		break;
	}
	return wire_enc_finish(&e);
}

size_t wire_encode_rbstruct(void *buf, size_t size, uint32_t length,
			    const struct wire_rbgroup *g, uint32_t count)
{
	struct wire_enc e;

	wire_enc_init(&e, buf, size);
	wire_put_u32(&e, length);
	wire_put_u32(&e, count);
	for (uint32_t i = 0; i < count && !e.overflow; i++) {
		wire_put_u32(&e, g[i].count);
		wire_put_u32(&e, g[i].length);
		wire_put_u32(&e, g[i].align);
		wire_put_u32(&e, g[i].flags);
	}
	return wire_enc_finish(&e);
}

static size_t items_len(const struct wire_xmt_desc *d)
{
	size_t len = WIRE_PREFIX_LEN + 4;

	for (uint32_t i = 0; i < d->nitems; i++) {
		const struct wire_xitem_desc *t = &d->items[i];

		len = wire_add(len, 1, 12);
		if (t->type == XMPTYPE_EXRW)
			len = wire_add(wire_add(len, 1, 4), t->nsegs,
				       WIRE_SEGMENT_LEN);
		else if (t->type == XMPTYPE_TBSN)
			len = wire_add(wire_add(len, 1, 8), t->nbsnum, 4);
	}
	return len;
}

size_t wire_xmtreq_len(const struct wire_xmt_desc *d)
{
	size_t len = wire_add(items_len(d), 1, 16);

	for (uint32_t i = 0; i < d->nsets; i++) {
		len = wire_add(len, 1, 12);
		for (uint32_t j = 0; j < d->sets[i].nitems; j++) {
			const struct wire_rsditem_desc *t =
				&d->sets[i].items[j];

			len = wire_add(len, 1, 8);
			if (t->type == XMPTYPE_BYSIZE)
				len = wire_add(len, 1, 4);
			if (t->type != XMPTYPE_TBSN)
				len = wire_add(wire_add(len, 1, 4), t->nsegs,
					       WIRE_SEGMENT_LEN);
		}
	}
	return len;
}

size_t wire_xmtresp_len(const struct wire_xmt_desc *d)
{
	return wire_add(items_len(d), 1, 8);
}

#define NAME(x) \
	case x: \
		return #x

const char *wire_optrerr_name(uint32_t code)
{
	switch (code) {
		NAME(OPTRERR_BADHMT);
		NAME(OPTRERR_BADOMT);
		NAME(OPTRERR_BADCONT);
		NAME(OPTRERR_BADSEQ);
		NAME(OPTRERR_BADXID);
		NAME(OPTRERR_BADOFF);
		NAME(OPTRERR_BADTBSN);
		NAME(OPTRERR_BADPL);
	default:
		return "?";
	}
}
