/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xchar - messages about transport characteristics, xcharext sections 4 and 5
 *
 * No state; any thread.
 */
#include "rpcrdma/xchar.h"

#include <string.h>

#include "wire/codec.h"

bool wire_xchar_prop_ok(const struct wire_prop *p)
{
	if (p->len == 0)
		return true;
	switch (p->which) {
	case RDMA2_PROPID_X_XCHSUPP:
		return p->len == 4;
	case RDMA2_PROPID_X_REQREMINV:
		return p->len == 4 && be32_get(p->data) <= 1;
	default:
		return true;
	}
}

/* One value, added to the list whose view it ends. */
static enum wire_status scan_value(struct wire_cursor *c, struct wire_list *l)
{
	struct wire_prop p;
	enum wire_status st;

	if (!l->count)
		l->data = wire_here(c);
	st = wire_scan_prop(c, &p);
	if (st == WIRE_OK && !wire_xchar_prop_ok(&p))
		st = WIRE_BAD_PROPVAL;
	l->count++;
	l->len = (size_t)(wire_here(c) - l->data);
	return st;
}

static enum wire_status scan_values(struct wire_cursor *c, struct wire_list *l)
{
	enum wire_status st = WIRE_OK;
	uint32_t count;

	if (!wire_get_u32(c, &count))
		return WIRE_BAD_XDR;
	l->data = wire_here(c);
	while (st == WIRE_OK && l->count < count)
		st = scan_value(c, l);
	return st;
}

static bool scan_subset(struct wire_cursor *c, struct wire_subset *s)
{
	if (!wire_get_u32(c, &s->nwords) || s->nwords > wire_left(c) / 4)
		return false;
	s->words = wire_here(c);
	c->pos += (size_t)s->nwords * 4;
	return true;
}

static enum wire_status decode_xchar_body(struct wire_cursor *c,
					  struct wire_xchar *x)
{
	enum wire_status st;
	uint32_t v;

	switch (x->p.htype) {
	case RDMA2_X_INITXCH:
		st = scan_values(c, &x->props);
		if (st == WIRE_OK && !scan_subset(c, &x->nochg))
			st = WIRE_BAD_XDR;
		return st;
	case RDMA2_X_REQXCH:
		return scan_values(c, &x->props);
	case RDMA2_X_RESPXCH:
		return scan_subset(c, &x->done) && scan_subset(c, &x->rej) &&
				       scan_subset(c, &x->pend) ?
			       WIRE_OK :
			       WIRE_BAD_XDR;
	case RDMA2_X_UPDXCH:
		st = scan_value(c, &x->props);
		if (st != WIRE_OK)
			return st;
		if (!wire_get_u32(c, &v) || v > 1)
			return WIRE_BAD_XDR;
		x->pendclr = v;
		return WIRE_OK;
	default:
		return WIRE_BAD_HTYPE;
	}
}

enum wire_status wire_xchar_decode(const void *buf, size_t len,
				   struct wire_xchar *x)
{
	struct wire_cursor c = { buf, len, WIRE_PREFIX_LEN };
	struct wire_prefix p;
	enum wire_status st;

	memset(x, 0, sizeof(*x));
	if (!wire_prefix_decode(buf, len, &p))
		return WIRE_SHORT;
	x->p = p;
	if (p.vers != WIRE_VERS2)
		return WIRE_VERSION;
	/* As wire_decode(): counts cannot wrap. */
	st = len > UINT32_MAX ? WIRE_BAD_XDR : decode_xchar_body(&c, x);
	if (st != WIRE_OK) {
		memset(x, 0, sizeof(*x));
		x->p = p;
		return st;
	}
	x->surplus = wire_left(&c);
	return WIRE_OK;
}

static void put_subset(struct wire_enc *e, const struct wire_subset_desc *s)
{
	wire_put_u32(e, s->nwords);
	for (uint32_t i = 0; i < s->nwords && !e->overflow; i++)
		wire_put_u32(e, s->words[i]);
}

size_t wire_encode_initxch(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, const struct wire_prop *start,
			   uint32_t count, const struct wire_subset_desc *nochg)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit, RDMA2_X_INITXCH);
	wire_put_props(&e, start, count);
	put_subset(&e, nochg);
	return wire_enc_finish(&e);
}

size_t wire_encode_reqxch(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  const struct wire_prop *want, uint32_t count)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit, RDMA2_X_REQXCH);
	wire_put_props(&e, want, count);
	return wire_enc_finish(&e);
}

size_t wire_encode_respxch(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, const struct wire_subset_desc *done,
			   const struct wire_subset_desc *rej,
			   const struct wire_subset_desc *pend)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit, RDMA2_X_RESPXCH);
	put_subset(&e, done);
	put_subset(&e, rej);
	put_subset(&e, pend);
	return wire_enc_finish(&e);
}

size_t wire_encode_updxch(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  const struct wire_prop *now, bool pendclr)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit, RDMA2_X_UPDXCH);
	wire_put_prop(&e, now);
	wire_put_bool(&e, pendclr);
	return wire_enc_finish(&e);
}
