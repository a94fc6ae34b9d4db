/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_xdr_row - random headers as rows, and our codec between rows and octets
 */
#include "wire_xdr.h"

static void gen_segment(struct ref_row *row, struct rng *r, uint32_t length)
{
	ref_add(row, rng_word(r));
	ref_add(row, length);
	ref_add(row, (uint64_t)rng_word(r) << 32 | rng_word(r));
}

static void gen_chunk(struct ref_row *row, struct rng *r)
{
	uint32_t n = rng_below(r, 5);

	ref_add(row, n);
	while (n--)
		gen_segment(row, r, rng_word(r));
}

static void gen_writes(struct ref_row *row, struct rng *r)
{
	uint32_t n = rng_below(r, 5);

	ref_add(row, n);
	while (n--)
		gen_chunk(row, r);
}

static void gen_reply(struct ref_row *row, struct rng *r, bool must)
{
	bool present = must || rng_below(r, 2);

	ref_add(row, present);
	if (present)
		gen_chunk(row, r);
}

/* A Read list that keeps the rules of 4.5.1. */
static void gen_reads(struct ref_row *row, struct rng *r, bool body)
{
	uint32_t n = body ? 1 + rng_below(r, 5) : rng_below(r, 6), len = 0;
	uint32_t pos = 0, this;

	ref_add(row, n);
	while (n--) {
		if (!body && (!pos || rng_below(r, 2))) {
			pos += (len + 3) / 4 * 4 + 4 * rng_below(r, 3);
			if (!pos)
				pos = 4;
			len = 0;
		}
		this = body ? rng_word(r) : rng_below(r, 20000);
		ref_add(row, pos);
		gen_segment(row, r, this);
		len += this;
	}
}

static void gen_props(struct ref_row *row, struct rng *r)
{
	uint32_t n = rng_below(r, 8), id, len, inner;

	ref_add(row, n);
	while (n--) {
		id = rng_below(r, 5) ? 1 + rng_below(r, 6) : rng_word(r);
		len = rng_below(r, 40);
		inner = rng_below(r, 20);
		if (id >= 1 && id <= 5)
			len = 4 * rng_below(r, 2);
		else if (id == RDMA2_PROPID_HOSTAUTH)
			len = rng_below(r, 5) ? 4 + (inner + 3) / 4 * 4 : 0;
		ref_add(row, id);
		ref_add(row, len);
		for (uint32_t i = 0; i < len; i++) {
			if (id == RDMA2_PROPID_HOSTAUTH && i < 4)
				ref_add(row, i == 3 ? inner : 0);
			else
				ref_add(row, rng_below(r, 256));
		}
	}
}

static void gen_error(struct ref_row *row, struct rng *r)
{
	static const uint32_t codes[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100
	};
	uint32_t code = codes[rng_below(r, 12)];
	uint32_t fields = code == 1 || code == 9  ? 2 :
			  code >= 6 && code <= 10 ? 1 :
						    0;

	ref_add(row, code);
	while (fields--)
		ref_add(row, rng_word(r));
}

void generate(struct rng *r, uint32_t htype, struct ref_row *row)
{
	row->n = 0;
	ref_add(row, htype == RDMA2_GRANT ? 0 : rng_word(r));
	ref_add(row, WIRE_VERS2);
	ref_add(row, rng_word(r));
	ref_add(row, htype);
	switch (htype) {
	case RDMA2_ERROR:
		gen_error(row, r);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		gen_props(row, r);
		break;
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_INLINE:
		ref_add(row, rng_word(r));
		if (htype == RDMA2_CALL_EXTERNAL)
			gen_reads(row, r, true);
		gen_reads(row, r, false);
		gen_writes(row, r);
		gen_reply(row, r, false);
		if (htype == RDMA2_CALL_INLINE)
			ref_add(row, rng_word(r));
		break;
	case RDMA2_REPLY_EXTERNAL:
	case RDMA2_REPLY_INLINE:
		gen_writes(row, r);
		if (htype == RDMA2_REPLY_EXTERNAL)
			gen_reply(row, r, true);
		else
			ref_add(row, rng_word(r));
		break;
	case RDMA2_CALL_MIDDLE:
	case RDMA2_REPLY_MIDDLE:
		ref_add(row, rng_word(r));
		ref_add(row, rng_word(r));
		break;
	default:
		break;
	}
}

/* Storage for the descriptions that our encoder takes. */
struct desc {
	struct wire_read_segment reads[2][8];
	struct wire_segment seg[64];
	struct wire_chunk_desc writes[8], reply;
	struct wire_prop props[8];
	uint8_t data[8][64];
	uint32_t nseg;
};

static struct wire_segment take_segment(struct ref_row *r)
{
	struct wire_segment s;

	s.handle = (uint32_t)ref_take(r);
	s.length = (uint32_t)ref_take(r);
	s.offset = ref_take(r);
	return s;
}

static uint32_t take_reads(struct ref_row *r, struct wire_read_segment *out)
{
	uint32_t n = (uint32_t)ref_take(r);

	for (uint32_t i = 0; i < n; i++) {
		out[i].position = (uint32_t)ref_take(r);
		out[i].target = take_segment(r);
	}
	return n;
}

static struct wire_chunk_desc take_chunk(struct ref_row *r, struct desc *d)
{
	struct wire_chunk_desc c = { d->seg + d->nseg, (uint32_t)ref_take(r) };

	for (uint32_t i = 0; i < c.count; i++)
		d->seg[d->nseg++] = take_segment(r);
	return c;
}

static uint32_t take_writes(struct ref_row *r, struct desc *d)
{
	uint32_t n = (uint32_t)ref_take(r);

	for (uint32_t i = 0; i < n; i++)
		d->writes[i] = take_chunk(r, d);
	return n;
}

static const struct wire_chunk_desc *take_reply(struct ref_row *r,
						struct desc *d)
{
	if (!ref_take(r))
		return NULL;
	d->reply = take_chunk(r, d);
	return &d->reply;
}

static size_t our_error(struct ref_row *r, uint8_t *b, uint32_t xid,
			uint32_t credit)
{
	struct wire_error e = { 0 };

	e.code = (uint32_t)ref_take(r);
	switch (e.code) {
	case RDMA2_ERR_VERS:
		e.vers_low = (uint32_t)ref_take(r);
		e.vers_high = (uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		e.max_chunks = (uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_SEGMENTS:
		e.max_segments = (uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		e.chunk_index = (uint32_t)ref_take(r);
		e.length_needed = (uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		e.length_needed = (uint32_t)ref_take(r);
		break;
	default:
		break;
	}
	return wire_encode_error(b, MSG_MAX, xid, WIRE_VERS2, credit, &e);
}

static size_t our_connprop(struct ref_row *r, struct desc *d, uint8_t *b,
			   uint32_t xid, uint32_t credit, bool final)
{
	uint32_t n = (uint32_t)ref_take(r);

	for (uint32_t i = 0; i < n; i++) {
		d->props[i].which = (uint32_t)ref_take(r);
		d->props[i].len = (uint32_t)ref_take(r);
		d->props[i].data = d->data[i];
		for (uint32_t j = 0; j < d->props[i].len; j++)
			d->data[i][j] = (uint8_t)ref_take(r);
	}
	return wire_encode_connprop(b, MSG_MAX, xid, credit, final, d->props,
				    n);
}

size_t our_encode(struct ref_row *r, uint8_t *b)
{
	static struct desc d;
	struct wire_call_desc c = { 0 };
	struct wire_reply_desc y = { 0 };
	uint32_t xid, credit, htype;
	bool payload = false;
	size_t len;

	d.nseg = 0;
	r->at = 0;
	xid = (uint32_t)ref_take(r);
	ref_take(r);
	credit = (uint32_t)ref_take(r);
	htype = (uint32_t)ref_take(r);
	switch (htype) {
	case RDMA2_ERROR:
		len = our_error(r, b, xid, credit);
		break;
	case RDMA2_GRANT:
		len = wire_encode_grant(b, MSG_MAX, credit);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		len = our_connprop(r, &d, b, xid, credit,
				   htype == RDMA2_CONNPROP_FINAL);
		break;
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_INLINE:
		payload = htype == RDMA2_CALL_INLINE;
		c.inv_handle = (uint32_t)ref_take(r);
		c.call = d.reads[0];
		c.ncall = payload ? 0 : take_reads(r, d.reads[0]);
		c.reads = d.reads[1];
		c.nreads = take_reads(r, d.reads[1]);
		c.writes = d.writes;
		c.nwrites = take_writes(r, &d);
		c.reply = take_reply(r, &d);
		len = wire_encode_call(b, MSG_MAX, xid, credit, !payload, &c);
		CU_ASSERT_EQUAL(len, wire_call_len(!payload, &c));
		break;
	case RDMA2_REPLY_EXTERNAL:
	case RDMA2_REPLY_INLINE:
		payload = htype == RDMA2_REPLY_INLINE;
		y.writes = d.writes;
		y.nwrites = take_writes(r, &d);
		y.reply = payload ? NULL : take_reply(r, &d);
		len = wire_encode_reply(b, MSG_MAX, xid, credit, !payload, &y);
		CU_ASSERT_EQUAL(len, wire_reply_len(!payload, &y));
		break;
	default:
		payload = true;
		len = wire_encode_middle(b, MSG_MAX, xid, credit,
					 htype == RDMA2_REPLY_MIDDLE,
					 (uint32_t)ref_take(r));
		break;
	}
	if (payload) {
		put_be32(b + len, (uint32_t)ref_take(r));
		len += 4;
	}
	CU_ASSERT_EQUAL(r->at, r->n);
	return len;
}

static void add_segment(struct ref_row *row, const struct wire_segment *s)
{
	ref_add(row, s->handle);
	ref_add(row, s->length);
	ref_add(row, s->offset);
}

static void add_reads(struct ref_row *row, const struct wire_list *l)
{
	struct wire_read_segment s;
	struct wire_iter it = { 0 };

	ref_add(row, l->count);
	while (wire_read_next(l, &it, &s)) {
		ref_add(row, s.position);
		add_segment(row, &s.target);
	}
}

static void add_chunk(struct ref_row *row, const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;

	ref_add(row, l->count);
	while (wire_segment_next(l, &it, &s))
		add_segment(row, &s);
}

static void add_writes(struct ref_row *row, const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_list chunk;

	ref_add(row, l->count);
	while (wire_chunk_next(l, &it, &chunk))
		add_chunk(row, &chunk);
}

static void add_reply(struct ref_row *row, const struct wire_msg *m)
{
	ref_add(row, m->has_reply);
	if (m->has_reply)
		add_chunk(row, &m->reply);
}

static void add_props(struct ref_row *row, const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;

	ref_add(row, l->count);
	while (wire_prop_next(l, &it, &p)) {
		ref_add(row, p.which);
		ref_add(row, p.len);
		for (uint32_t i = 0; i < p.len; i++)
			ref_add(row, p.data[i]);
	}
}

static void add_error(struct ref_row *row, const struct wire_error *e)
{
	ref_add(row, e->code);
	switch (e->code) {
	case RDMA2_ERR_VERS:
		ref_add(row, e->vers_low);
		ref_add(row, e->vers_high);
		break;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		ref_add(row, e->max_chunks);
		break;
	case RDMA2_ERR_SEGMENTS:
		ref_add(row, e->max_segments);
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		ref_add(row, e->chunk_index);
		ref_add(row, e->length_needed);
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		ref_add(row, e->length_needed);
		break;
	default:
		break;
	}
}

enum wire_status our_decode(const uint8_t *b, size_t len, struct ref_row *row,
			    size_t *used)
{
	enum wire_status st;
	struct wire_msg m;

	row->n = 0;
	st = wire_decode(b, len, false, &m);
	if (st != WIRE_OK)
		return st;
	ref_add(row, m.p.xid);
	ref_add(row, m.p.vers);
	ref_add(row, m.p.credit);
	ref_add(row, m.p.htype);
	switch (m.p.htype) {
	case RDMA2_ERROR:
		add_error(row, &m.error);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		add_props(row, &m.props);
		break;
	case RDMA2_CALL_EXTERNAL:
		ref_add(row, m.inv_handle);
		add_reads(row, &m.call);
		add_reads(row, &m.reads);
		add_writes(row, &m.writes);
		add_reply(row, &m);
		break;
	case RDMA2_CALL_INLINE:
		ref_add(row, m.inv_handle);
		add_reads(row, &m.reads);
		add_writes(row, &m.writes);
		add_reply(row, &m);
		break;
	case RDMA2_REPLY_EXTERNAL:
		add_writes(row, &m.writes);
		add_reply(row, &m);
		break;
	case RDMA2_REPLY_INLINE:
		add_writes(row, &m.writes);
		break;
	case RDMA2_CALL_MIDDLE:
	case RDMA2_REPLY_MIDDLE:
		ref_add(row, m.remaining);
		break;
	default:
		break;
	}
	*used = m.header_len;
	if (m.payload) {
		ref_add(row, get_be32(m.payload));
		*used += 4;
	}
	return WIRE_OK;
}
