/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_xdr - the codec against the draft's own XDR, both ways
 *
 * tests/xdr has a codec made by rpcgen. On random headers of all ten types
 * both must write the same octets and read the same values. On damaged ones
 * both must agree whether the message is readable, except for the rules that
 * XDR cannot express; legal() states those once more, over the values that
 * the reference read.
 */
#include "wire_util.h"
#include "ref.h"

#define MSG_MAX 2048
#define HEADERS 40000
#define MUTANTS 300000

/* Rows are large; none is needed by two tests at a time. */
static struct ref_row gen, ours, theirs;

static uint32_t word(struct rng *r)
{
	switch (rng_below(r, 4)) {
	case 0:
		return rng_below(r, 8);
	case 1:
		return UINT32_MAX - rng_below(r, 3);
	default:
		return (uint32_t)rng_next(r);
	}
}

static void gen_segment(struct rng *r, uint32_t length)
{
	ref_add(&gen, word(r));
	ref_add(&gen, length);
	ref_add(&gen, (uint64_t)word(r) << 32 | word(r));
}

static void gen_chunk(struct rng *r)
{
	uint32_t n = rng_below(r, 5);

	ref_add(&gen, n);
	while (n--)
		gen_segment(r, word(r));
}

static void gen_writes(struct rng *r)
{
	uint32_t n = rng_below(r, 5);

	ref_add(&gen, n);
	while (n--)
		gen_chunk(r);
}

static void gen_reply(struct rng *r, bool must)
{
	bool present = must || rng_below(r, 2);

	ref_add(&gen, present);
	if (present)
		gen_chunk(r);
}

/* A Read list that keeps the rules of 4.5.1. */
static void gen_reads(struct rng *r, bool body)
{
	uint32_t n = body ? 1 + rng_below(r, 5) : rng_below(r, 6), len = 0;
	uint32_t pos = 0, this;

	ref_add(&gen, n);
	while (n--) {
		if (!body && (!pos || rng_below(r, 2))) {
			pos += (len + 3) / 4 * 4 + 4 * rng_below(r, 3);
			if (!pos)
				pos = 4;
			len = 0;
		}
		this = body ? word(r) : rng_below(r, 20000);
		ref_add(&gen, pos);
		gen_segment(r, this);
		len += this;
	}
}

static void gen_props(struct rng *r)
{
	uint32_t n = rng_below(r, 8), id, len, inner;

	ref_add(&gen, n);
	while (n--) {
		id = rng_below(r, 5) ? 1 + rng_below(r, 6) : word(r);
		len = rng_below(r, 40);
		inner = rng_below(r, 20);
		if (id >= 1 && id <= 5)
			len = 4 * rng_below(r, 2);
		else if (id == RDMA2_PROPID_HOSTAUTH)
			len = rng_below(r, 5) ? 4 + (inner + 3) / 4 * 4 : 0;
		ref_add(&gen, id);
		ref_add(&gen, len);
		for (uint32_t i = 0; i < len; i++) {
			if (id == RDMA2_PROPID_HOSTAUTH && i < 4)
				ref_add(&gen, i == 3 ? inner : 0);
			else
				ref_add(&gen, rng_below(r, 256));
		}
	}
}

static void gen_error(struct rng *r)
{
	static const uint32_t codes[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 100
	};
	uint32_t code = codes[rng_below(r, 12)];
	uint32_t fields = code == 1 || code == 9  ? 2 :
			  code >= 6 && code <= 10 ? 1 :
						    0;

	ref_add(&gen, code);
	while (fields--)
		ref_add(&gen, word(r));
}

/* A header that is right in every respect, as a row in gen. */
static void generate(struct rng *r, uint32_t htype)
{
	gen.n = 0;
	ref_add(&gen, htype == RDMA2_GRANT ? 0 : word(r));
	ref_add(&gen, WIRE_VERS2);
	ref_add(&gen, word(r));
	ref_add(&gen, htype);
	switch (htype) {
	case RDMA2_ERROR:
		gen_error(r);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		gen_props(r);
		break;
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_INLINE:
		ref_add(&gen, word(r));
		if (htype == RDMA2_CALL_EXTERNAL)
			gen_reads(r, true);
		gen_reads(r, false);
		gen_writes(r);
		gen_reply(r, false);
		if (htype == RDMA2_CALL_INLINE)
			ref_add(&gen, word(r));
		break;
	case RDMA2_REPLY_EXTERNAL:
	case RDMA2_REPLY_INLINE:
		gen_writes(r);
		if (htype == RDMA2_REPLY_EXTERNAL)
			gen_reply(r, true);
		else
			ref_add(&gen, word(r));
		break;
	case RDMA2_CALL_MIDDLE:
	case RDMA2_REPLY_MIDDLE:
		ref_add(&gen, word(r));
		ref_add(&gen, word(r));
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

/* Encode the row with our encoder, first payload word included. */
static size_t our_encode(struct ref_row *r, uint8_t *b)
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

static void add_segment(const struct wire_segment *s)
{
	ref_add(&ours, s->handle);
	ref_add(&ours, s->length);
	ref_add(&ours, s->offset);
}

static void add_reads(const struct wire_list *l)
{
	struct wire_read_segment s;
	struct wire_iter it = { 0 };

	ref_add(&ours, l->count);
	while (wire_read_next(l, &it, &s)) {
		ref_add(&ours, s.position);
		add_segment(&s.target);
	}
}

static void add_chunk(const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;

	ref_add(&ours, l->count);
	while (wire_segment_next(l, &it, &s))
		add_segment(&s);
}

static void add_writes(const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_list chunk;

	ref_add(&ours, l->count);
	while (wire_chunk_next(l, &it, &chunk))
		add_chunk(&chunk);
}

static void add_reply(const struct wire_msg *m)
{
	ref_add(&ours, m->has_reply);
	if (m->has_reply)
		add_chunk(&m->reply);
}

static void add_props(const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;

	ref_add(&ours, l->count);
	while (wire_prop_next(l, &it, &p)) {
		ref_add(&ours, p.which);
		ref_add(&ours, p.len);
		for (uint32_t i = 0; i < p.len; i++)
			ref_add(&ours, p.data[i]);
	}
}

static void add_error(const struct wire_error *e)
{
	ref_add(&ours, e->code);
	switch (e->code) {
	case RDMA2_ERR_VERS:
		ref_add(&ours, e->vers_low);
		ref_add(&ours, e->vers_high);
		break;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		ref_add(&ours, e->max_chunks);
		break;
	case RDMA2_ERR_SEGMENTS:
		ref_add(&ours, e->max_segments);
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		ref_add(&ours, e->chunk_index);
		ref_add(&ours, e->length_needed);
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		ref_add(&ours, e->length_needed);
		break;
	default:
		break;
	}
}

/* Decode with our decoder into the row; @used as of ref_decode(). */
static enum wire_status our_decode(const uint8_t *b, size_t len, size_t *used)
{
	enum wire_status st;
	struct wire_msg m;

	ours.n = 0;
	st = wire_decode(b, len, false, &m);
	if (st != WIRE_OK)
		return st;
	ref_add(&ours, m.p.xid);
	ref_add(&ours, m.p.vers);
	ref_add(&ours, m.p.credit);
	ref_add(&ours, m.p.htype);
	switch (m.p.htype) {
	case RDMA2_ERROR:
		add_error(&m.error);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		add_props(&m.props);
		break;
	case RDMA2_CALL_EXTERNAL:
		ref_add(&ours, m.inv_handle);
		add_reads(&m.call);
		add_reads(&m.reads);
		add_writes(&m.writes);
		add_reply(&m);
		break;
	case RDMA2_CALL_INLINE:
		ref_add(&ours, m.inv_handle);
		add_reads(&m.reads);
		add_writes(&m.writes);
		add_reply(&m);
		break;
	case RDMA2_REPLY_EXTERNAL:
		add_writes(&m.writes);
		add_reply(&m);
		break;
	case RDMA2_REPLY_INLINE:
		add_writes(&m.writes);
		break;
	case RDMA2_CALL_MIDDLE:
	case RDMA2_REPLY_MIDDLE:
		ref_add(&ours, m.remaining);
		break;
	default:
		break;
	}
	*used = m.header_len;
	if (m.payload) {
		ref_add(&ours, get_be32(m.payload));
		*used += 4;
	}
	return WIRE_OK;
}

static bool same_row(const struct ref_row *a, const struct ref_row *b)
{
	return a->n == b->n && !memcmp(a->v, b->v, a->n * sizeof(a->v[0]));
}

static void test_both_ways(void)
{
	uint8_t b[MSG_MAX], c[MSG_MAX];
	struct rng r = rng_start(10);
	size_t len, ref_len, used;

	for (uint32_t i = 0; i < HEADERS; i++) {
		generate(&r, RDMA2_ERROR + i % 10);
		len = our_encode(&gen, b);
		ref_len = ref_encode(&gen, c, sizeof(c));
		CU_ASSERT_EQUAL(gen.at, gen.n);
		CU_ASSERT(len && len == ref_len && !memcmp(b, c, len));
		/* ours to theirs */
		CU_ASSERT_TRUE(ref_decode(b, len, &theirs, &used));
		CU_ASSERT_EQUAL(used, len);
		CU_ASSERT_TRUE(same_row(&gen, &theirs));
		/* theirs to ours */
		CU_ASSERT_EQUAL(our_decode(c, ref_len, &used), WIRE_OK);
		CU_ASSERT_EQUAL(used, ref_len);
		CU_ASSERT_TRUE(same_row(&gen, &ours));
	}
}

/* The rules that XDR cannot express, over the reference's row. */
static bool legal_reads(struct ref_row *r, bool body)
{
	uint64_t n = ref_take(r), pos, last = 0, end = 0, len;
	bool ok = !body || n, first = true;

	for (; n; n--, first = false) {
		pos = ref_take(r);
		ref_take(r);
		len = ref_take(r);
		ref_take(r);
		if (body) {
			ok = ok && pos == 0; /* [C7] */
		} else if (first || pos != last) {
			ok = ok && pos && pos % 4 == 0; /* [C7], [C8] */
			ok = ok && pos > last && pos >= (end + 3) / 4 * 4;
			end = pos + len;
		} else {
			end += len;
		}
		last = pos;
	}
	return ok;
}

static void skip_chunk(struct ref_row *r)
{
	r->at += ref_take(r) * 3;
}

static void skip_writes(struct ref_row *r)
{
	for (uint64_t n = ref_take(r); n; n--)
		skip_chunk(r);
}

/* [E2] */
static bool legal_props(struct ref_row *r)
{
	bool ok = true;

	for (uint64_t n = ref_take(r); n; n--) {
		uint64_t which = ref_take(r), len = ref_take(r), inner = 0;

		for (size_t i = 0; i < 4 && i < len; i++)
			inner = inner << 8 | r->v[r->at + i];
		r->at += len;
		if (!len)
			continue;
		if (which >= 1 && which <= 5)
			ok = ok && len == 4;
		else if (which == 6)
			ok = ok && len >= 4 && len == 4 + (inner + 3) / 4 * 4;
	}
	return ok;
}

static bool legal(struct ref_row *r)
{
	uint64_t htype, code;
	bool ok = true;

	r->at = 1;
	if (ref_take(r) != WIRE_VERS2)
		return false;
	r->at = 3;
	htype = ref_take(r);
	switch (htype) {
	case RDMA2_ERROR:
		code = ref_take(r);
		return (code >= 1 && code <= 11) || code == 100; /* [E10] */
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		return legal_props(r);
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_INLINE:
		ref_take(r);
		if (htype == RDMA2_CALL_EXTERNAL)
			ok = legal_reads(r, true);
		return legal_reads(r, false) && ok;
	case RDMA2_REPLY_EXTERNAL:
		skip_writes(r);
		return ref_take(r); /* 6.3.8 */
	default:
		return true;
	}
}

/*
 * libtirpc takes any value but 0 for true. That shows when what it read is
 * encoded again: in headers without opaque data nothing else can differ.
 */
static bool canonical(const uint8_t *b, size_t used)
{
	uint8_t c[MSG_MAX];
	uint32_t htype = get_be32(b + 12);

	if (htype == RDMA2_CONNPROP_MIDDLE || htype == RDMA2_CONNPROP_FINAL)
		return true;
	return ref_encode(&theirs, c, sizeof(c)) == used && !memcmp(b, c, used);
}

/* [E10]: an error whose hints are missing, which XDR alone would refuse. */
static bool short_hints(const uint8_t *b, size_t len)
{
	uint32_t code;

	if (len < 20 || get_be32(b + 4) != 2 || get_be32(b + 12) != RDMA2_ERROR)
		return false;
	code = get_be32(b + 16);
	return code >= RDMA2_ERR_READ_CHUNKS &&
	       code <= RDMA2_ERR_REPLY_RESOURCE;
}

static size_t mutate(struct rng *r, uint8_t *b, size_t len)
{
	static const uint32_t edge[] = { 0, 1, 2, 4, 0x10000001, UINT32_MAX };

	for (uint32_t i = 1 + rng_below(r, 2); i && len >= 20; i--) {
		size_t at = rng_below(r, (uint32_t)len / 4) * 4;

		switch (rng_below(r, 6)) {
		case 0:
			b[rng_below(r, (uint32_t)len)] ^=
				(uint8_t)(1u << rng_below(r, 8));
			break;
		case 1:
			put_be32(b + at, edge[rng_below(r, 6)]);
			break;
		case 2:
			put_be32(b + at,
				 get_be32(b + at) + rng_below(r, 17) - 8);
			break;
		case 3:
			len = rng_below(r, (uint32_t)len);
			break;
		case 4:
			memmove(b + at, b + at + 4, len - at - 4);
			len -= 4;
			break;
		default:
			memmove(b + at + 4, b + at, len - at);
			len += 4;
			break;
		}
	}
	return len;
}

static void test_mutants(void)
{
	unsigned int both = 0, neither = 0, rules = 0, hints = 0;
	struct rng r = rng_start(11);
	uint8_t b[MSG_MAX + 16], *q;

	for (uint32_t i = 0; i < MUTANTS; i++) {
		size_t len, used = 0, ref_used = 0;
		enum wire_status st;
		bool ref_ok, want;

		generate(&r, RDMA2_ERROR + i % 10);
		len = mutate(&r, b, our_encode(&gen, b));
		q = exact(b, len);
		st = our_decode(q, len, &used);
		ref_ok = ref_decode(q, len, &theirs, &ref_used);
		want = ref_ok && legal(&theirs) && canonical(q, ref_used);
		if (want) {
			both++;
			CU_ASSERT_EQUAL(used, ref_used);
			CU_ASSERT_TRUE(same_row(&ours, &theirs));
		} else if (!ref_ok && short_hints(q, len)) {
			hints++;
			want = true;
		} else if (ref_ok) {
			rules++;
		} else {
			neither++;
		}
		if ((st == WIRE_OK) != want) {
			printf("%s, reference %s:", wire_status_name(st),
			       ref_ok ? "reads" : "refuses");
			for (size_t j = 0; j < len; j++)
				printf("%s%02x", j % 4 ? "" : " ", q[j]);
			printf("\n");
		}
		CU_ASSERT_EQUAL(st == WIRE_OK, want);
		free(q);
	}
	printf("both %u, neither %u, rules %u, hints %u ", both, neither, rules,
	       hints);
	/* every kind of outcome was met */
	CU_ASSERT(both > 1000 && neither > 1000 && rules > 1000 && hints > 0);
}

static const struct unit_test tests[] = {
	{ "both_ways", test_both_ways },
	{ "mutants", test_mutants },
	{ NULL, NULL },
};

UNIT_MAIN("wire xdr", tests)
