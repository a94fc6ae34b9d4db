/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_v1_xdr - the version 1 codec against the XDR of RFC 8166, both ways
 *
 * As wire_xdr.c does for version 2. The RPC message is no part of this XDR; it
 * follows the header of an RDMA_MSG, here with two words.
 */
#include "wire_util.h"
#include "ref.h"

#define MSG_MAX 2048
#define HEADERS 40000
#define MUTANTS 300000

/* Rows are large; none is needed by two tests at a time. */
static struct ref_row gen, ours, theirs;

static void gen_segment(struct rng *r, uint32_t length)
{
	ref_add(&gen, rng_word(r));
	ref_add(&gen, length);
	ref_add(&gen, (uint64_t)rng_word(r) << 32 | rng_word(r));
}

static void gen_chunk(struct rng *r, bool used)
{
	uint32_t n = rng_below(r, 5);

	ref_add(&gen, n);
	while (n--)
		gen_segment(r, used ? rng_word(r) : 0);
}

/* @body: Position-Zero segments at the beginning. */
static void gen_reads(struct rng *r, uint32_t body, uint32_t n)
{
	uint32_t pos = 0, len = 0, this;

	ref_add(&gen, body + n);
	for (; body; body--) {
		ref_add(&gen, 0);
		gen_segment(r, rng_word(r));
	}
	for (; n; n--) {
		if (!pos || rng_below(r, 2)) {
			pos += (len + 3) / 4 * 4 + 4 * rng_below(r, 3);
			if (!pos)
				pos = 4;
			len = 0;
		}
		this = rng_below(r, 20000);
		ref_add(&gen, pos);
		gen_segment(r, this);
		len += this;
	}
}

static void gen_writes(struct rng *r)
{
	uint32_t n = rng_below(r, 5);

	ref_add(&gen, n);
	while (n--)
		gen_chunk(r, true);
}

/* Call and Reply of both kinds, and errors: five kinds of header. */
enum kind { CALL, CALL_EXTERNAL, REPLY, REPLY_EXTERNAL, ERROR, KINDS };

/* A header that is right in every respect. */
static void generate(struct rng *r, enum kind kind)
{
	bool external = kind == CALL_EXTERNAL || kind == REPLY_EXTERNAL;
	bool call = kind == CALL || kind == CALL_EXTERNAL;
	bool reply;

	gen.n = 0;
	ref_add(&gen, rng_word(r));
	ref_add(&gen, WIRE_VERS1);
	ref_add(&gen, rng_word(r));
	if (kind == ERROR) {
		ref_add(&gen, RDMA1_ERROR);
		ref_add(&gen, 1 + rng_below(r, 2));
		if (gen.v[4] == 1) {
			ref_add(&gen, rng_word(r));
			ref_add(&gen, rng_word(r));
		}
		return;
	}
	ref_add(&gen, external ? RDMA1_NOMSG : RDMA1_MSG);
	gen_reads(r, kind == CALL_EXTERNAL ? 1 + rng_below(r, 4) : 0,
		  call ? rng_below(r, 5) : 0);
	gen_writes(r);
	reply = kind == REPLY_EXTERNAL || (call && rng_below(r, 2));
	ref_add(&gen, reply);
	if (reply)
		gen_chunk(r, true);
}

/* Storage for the descriptions that our encoder takes. */
static struct {
	struct wire_read_segment reads[16];
	struct wire_segment seg[64];
	struct wire_chunk_desc writes[8], reply;
	uint32_t nseg;
} store;

static struct wire_segment take_segment(struct ref_row *r)
{
	struct wire_segment s;

	s.handle = (uint32_t)ref_take(r);
	s.length = (uint32_t)ref_take(r);
	s.offset = ref_take(r);
	return s;
}

static struct wire_chunk_desc take_chunk(struct ref_row *r)
{
	struct wire_chunk_desc c = { store.seg + store.nseg,
				     (uint32_t)ref_take(r) };

	for (uint32_t i = 0; i < c.count; i++)
		store.seg[store.nseg++] = take_segment(r);
	return c;
}

static size_t encode_error(uint8_t *b, uint32_t xid, uint32_t credit)
{
	struct wire_error e = { .code = RDMA1_ERR_CHUNK };

	if (ref_take(&gen) == 1) {
		e.code = RDMA2_ERR_VERS;
		e.vers_low = (uint32_t)ref_take(&gen);
		e.vers_high = (uint32_t)ref_take(&gen);
	}
	return wire1_encode_error(b, MSG_MAX, xid, WIRE_VERS1, credit, &e);
}

/* Encode gen with our encoder. */
static size_t our_encode(enum kind kind, uint8_t *b)
{
	struct wire_call_desc c = { .call = store.reads,
				    .writes = store.writes };
	struct wire_reply_desc y = { .writes = store.writes };
	const struct wire_chunk_desc *reply = NULL;
	bool external = kind == CALL_EXTERNAL || kind == REPLY_EXTERNAL;
	uint32_t xid, credit, n, nwrites;
	size_t len;

	store.nseg = 0;
	gen.at = 0;
	xid = (uint32_t)ref_take(&gen);
	ref_take(&gen);
	credit = (uint32_t)ref_take(&gen);
	ref_take(&gen);
	if (kind == ERROR)
		return encode_error(b, xid, credit);
	n = (uint32_t)ref_take(&gen);
	for (uint32_t i = 0; i < n; i++) {
		store.reads[i].position = (uint32_t)ref_take(&gen);
		store.reads[i].target = take_segment(&gen);
		c.ncall += !store.reads[i].position;
	}
	c.reads = store.reads + c.ncall;
	c.nreads = n - c.ncall;
	nwrites = (uint32_t)ref_take(&gen);
	for (uint32_t i = 0; i < nwrites; i++)
		store.writes[i] = take_chunk(&gen);
	if (ref_take(&gen)) {
		store.reply = take_chunk(&gen);
		reply = &store.reply;
	}
	if (kind == CALL || kind == CALL_EXTERNAL) {
		c.nwrites = nwrites;
		c.reply = reply;
		len = wire1_encode_call(b, MSG_MAX, xid, credit, external, &c);
		CU_ASSERT_EQUAL(len, wire1_call_len(external, &c));
	} else {
		y.nwrites = nwrites;
		y.reply = reply;
		len = wire1_encode_reply(b, MSG_MAX, xid, credit, external, &y);
		CU_ASSERT_EQUAL(len, wire1_reply_len(external, &y));
	}
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

	while (wire_read_next(l, &it, &s)) {
		ref_add(&ours, s.position);
		add_segment(&s.target);
	}
	CU_ASSERT_EQUAL(it.index, l->count);
}

static void add_chunk(const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;

	ref_add(&ours, l->count);
	while (wire_segment_next(l, &it, &s))
		add_segment(&s);
}

/* Decode with our decoder into the row; @used is the header's length. */
static enum wire_status our_decode(const uint8_t *b, size_t len, size_t *used,
				   enum wire_role *role)
{
	enum wire_status st;
	struct wire_iter it = { 0 };
	struct wire_list chunk;
	struct wire_msg m;

	ours.n = 0;
	st = wire1_decode(b, len, &m);
	*role = m.role;
	if (st != WIRE_OK)
		return st;
	ref_add(&ours, m.p.xid);
	ref_add(&ours, m.p.vers);
	ref_add(&ours, m.p.credit);
	ref_add(&ours, m.p.htype);
	*used = m.header_len;
	if (m.p.htype == RDMA1_ERROR) {
		ref_add(&ours, m.error.code & 0xffff);
		if (m.error.code == RDMA2_ERR_VERS) {
			ref_add(&ours, m.error.vers_low);
			ref_add(&ours, m.error.vers_high);
		}
		return st;
	}
	ref_add(&ours, m.call.count + m.reads.count);
	add_reads(&m.call);
	add_reads(&m.reads);
	ref_add(&ours, m.writes.count);
	while (wire_chunk_next(&m.writes, &it, &chunk))
		add_chunk(&chunk);
	ref_add(&ours, m.has_reply);
	if (m.has_reply)
		add_chunk(&m.reply);
	return st;
}

static bool same_row(const struct ref_row *a, const struct ref_row *b)
{
	return a->n == b->n && !memcmp(a->v, b->v, a->n * sizeof(a->v[0]));
}

/* The RPC message behind an RDMA_MSG. */
static size_t put_rpc(uint8_t *b, size_t len, enum kind kind)
{
	if (kind != CALL && kind != REPLY)
		return len;
	put_be32(b + len, get_be32(b));
	put_be32(b + len + 4, kind == REPLY);
	return len + 8;
}

static enum wire_role role_of(enum kind kind)
{
	if (kind == ERROR)
		return WIRE_CONTROL;
	return kind == CALL || kind == CALL_EXTERNAL ? WIRE_CALL : WIRE_REPLY;
}

static void test_both_ways(void)
{
	uint8_t b[MSG_MAX], c[MSG_MAX];
	struct rng r = rng_start(30);
	size_t len, ref_len, used;
	enum wire_role role;

	for (uint32_t i = 0; i < HEADERS; i++) {
		enum kind kind = i % KINDS;

		generate(&r, kind);
		len = our_encode(kind, b);
		ref_len = ref_encode(&gen, c, sizeof(c));
		CU_ASSERT_EQUAL(gen.at, gen.n);
		CU_ASSERT(len && len == ref_len && !memcmp(b, c, len));
		/* ours to theirs */
		CU_ASSERT_TRUE(ref_decode(b, len, &theirs, &used));
		CU_ASSERT_EQUAL(used, len);
		CU_ASSERT_TRUE(same_row(&gen, &theirs));
		/* theirs to ours */
		CU_ASSERT_EQUAL(our_decode(c, put_rpc(c, ref_len, kind), &used,
					   &role),
				WIRE_OK);
		CU_ASSERT_EQUAL(used, ref_len);
		CU_ASSERT_EQUAL(role, role_of(kind));
		CU_ASSERT_TRUE(same_row(&gen, &ours));
	}
}

/* The rules that XDR cannot express, over the reference's row. */
static bool legal(const uint8_t *b, size_t len, size_t used)
{
	struct ref_row *r = &theirs;
	uint64_t proc, n, pos, last = 0, end = 0, octets = 0;
	uint32_t body = 0, reads = 0;
	bool ok, reply, call;

	r->at = 1;
	ok = ref_take(r) == WIRE_VERS1;
	r->at = 3;
	proc = ref_take(r);
	if (proc == RDMA1_ERROR)
		return ok;
	if (proc > RDMA1_NOMSG)
		return false;
	for (n = ref_take(r); n; n--) {
		pos = ref_take(r);
		ref_take(r);
		if (pos == 0) {
			ok = ok && !reads;
			body++;
			ref_take(r);
		} else {
			if (pos != last) {
				ok = ok && pos % 4 == 0 && pos >= end;
				ok = ok && pos > last;
				end = pos;
			}
			end += ref_take(r);
			reads++;
		}
		last = pos;
		ref_take(r);
	}
	for (n = ref_take(r); n; n--)
		r->at += ref_take(r) * 3;
	reply = ref_take(r);
	for (n = reply ? ref_take(r) : 0; n; n--) {
		ref_take(r);
		octets += ref_take(r);
		ref_take(r);
	}
	if (proc == RDMA1_NOMSG)
		return ok && (body || (reply && !reads));
	if (len - used < 8 || get_be32(b + used + 4) > 1)
		return false;
	call = !get_be32(b + used + 4);
	return ok && !body && get_be32(b + used) == get_be32(b) &&
	       (call || (!reads && !octets));
}

/* libtirpc takes any value but 0 for true. */
static bool canonical(const uint8_t *b, size_t used)
{
	uint8_t c[MSG_MAX];

	return ref_encode(&theirs, c, sizeof(c)) == used && !memcmp(b, c, used);
}

static void test_mutants(void)
{
	unsigned int both = 0, neither = 0, rules = 0;
	struct rng r = rng_start(31);
	uint8_t b[MSG_MAX + 16], *q;
	enum wire_role role;

	for (uint32_t i = 0; i < MUTANTS; i++) {
		enum kind kind = i % KINDS;
		size_t len, used = 0, ref_used = 0;
		enum wire_status st;
		bool ref_ok, want;

		generate(&r, kind);
		len = put_rpc(b, our_encode(kind, b), kind);
		len = wire_mutate(&r, b, len);
		q = exact(b, len);
		st = our_decode(q, len, &used, &role);
		ref_ok = ref_decode(q, len, &theirs, &ref_used);
		want = ref_ok && legal(q, len, ref_used) &&
		       canonical(q, ref_used);
		if (want) {
			both++;
			CU_ASSERT_EQUAL(used, ref_used);
			CU_ASSERT_TRUE(same_row(&ours, &theirs));
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
	printf("both %u, neither %u, rules %u ", both, neither, rules);
	/* every kind of outcome was met */
	CU_ASSERT(both > 1000 && neither > 1000 && rules > 1000);
}

static const struct unit_test tests[] = {
	{ "both_ways", test_both_ways },
	{ "mutants", test_mutants },
	{ NULL, NULL },
};

UNIT_MAIN("wire version 1 xdr", tests)
