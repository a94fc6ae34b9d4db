/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_rtr - the codec of rtrext: constants, vectors, what is refused, and
 * random and damaged headers against the XDR of [M6] (tests/xdr)
 */
#include "wire_util.h"
#include "ref_rtr.h"
#include "rpcrdma/rtr.h"

#define MSG_MAX 4096
#define HEADERS 20000
#define MUTANTS 100000

static struct ref_row gen, ours, theirs;

static bool same_row(const struct ref_row *a, const struct ref_row *b)
{
	return a->n == b->n && !memcmp(a->v, b->v, a->n * sizeof(a->v[0]));
}

/* ---- Rows: random ones, and with our codec ----------------------------- */

static void gen_segments(struct ref_row *row, struct rng *r)
{
	uint32_t n = rng_below(r, 4);

	ref_add(row, n);
	while (n--) {
		ref_add(row, rng_word(r));
		ref_add(row, rng_word(r));
		ref_add(row, (uint64_t)rng_word(r) << 32 | rng_word(r));
	}
}

static void gen_items(struct ref_row *row, struct rng *r, bool request)
{
	uint32_t n = rng_below(r, 5), disp = 0, len, k;

	ref_add(row, n);
	while (n--) {
		disp += 4 * rng_below(r, 4);
		len = rng_below(r, 100000);
		k = rng_below(r, request ? 2 : 4);
		ref_add(row, k == 3 ? rng_word(r) : disp);
		ref_add(row, len);
		if (k != 3)
			disp += (len + 3) & ~3u;
		if (k == 0) {
			ref_add(row, XMPTYPE_EXRW);
			gen_segments(row, r);
		} else if (k == 1) {
			ref_add(row, XMPTYPE_TBSN);
			ref_add(row, rng_word(r));
			k = rng_below(r, 20);
			ref_add(row, k);
			while (k--)
				ref_add(row, rng_word(r));
		} else {
			ref_add(row,
				k == 2 ? XMPTYPE_TOOSHORT : XMPTYPE_NOITEM);
		}
	}
}

static void gen_rsd(struct ref_row *row, struct rng *r)
{
	uint32_t n = rng_below(r, 4), at = 0, m, type;

	ref_add(row, n);
	while (n--) {
		at += rng_below(r, 5);
		ref_add(row, at);
		at += 1 + rng_below(r, 1000);
		ref_add(row, at);
		m = rng_below(r, 4);
		ref_add(row, m);
		while (m--) {
			type = XMPTYPE_EXRW + rng_below(r, 4);
			ref_add(row, rng_word(r));
			ref_add(row, type);
			if (type == XMPTYPE_BYSIZE)
				ref_add(row, rng_word(r));
			if (type != XMPTYPE_TBSN)
				gen_segments(row, r);
		}
	}
}

static void gen_id(struct ref_row *row, struct rng *r)
{
	ref_add(row, rng_word(r));
	ref_add(row, rng_below(r, 2));
	ref_add(row, rng_word(r));
}

static void generate(struct rng *r, uint32_t htype, struct ref_row *row)
{
	uint32_t code;

	row->n = 0;
	ref_add(row, rng_word(r));
	ref_add(row, WIRE_VERS2);
	ref_add(row, rng_word(r));
	ref_add(row, htype);
	switch (htype) {
	case RDMA2_X_XMTREQ:
		gen_items(row, r, true);
		gen_rsd(row, r);
		break;
	case RDMA2_X_XMTRESP:
		gen_items(row, r, false);
		ref_add(row, rng_word(r));
		ref_add(row, rng_word(r));
		return;
	case RDMA2_X_XMTCONT:
		break;
	default:
		gen_id(row, r);
		code = rng_below(r, 2);
		ref_add(row, code);
		if (code)
			gen_id(row, r);
		code = 1 + rng_below(r, 8);
		ref_add(row, code);
		for (int i = 0; i < (code == 3 ? 0 : code > 5 ? 3 : 2); i++)
			ref_add(row, rng_word(r));
		return;
	}
	for (int i = 0; i < 3; i++)
		ref_add(row, rng_word(r));
}

static struct wire_segment *take_segments(struct ref_row *r, uint32_t *n)
{
	static struct wire_segment s[64];
	static size_t at;

	*n = (uint32_t)ref_take(r);
	if (at + *n > 64)
		at = 0;
	for (uint32_t i = 0; i < *n; i++) {
		s[at + i].handle = (uint32_t)ref_take(r);
		s[at + i].length = (uint32_t)ref_take(r);
		s[at + i].offset = ref_take(r);
	}
	at += *n;
	return &s[at - *n];
}

static size_t our_encode(struct ref_row *r, uint8_t *b)
{
	struct wire_xitem_desc item[8];
	struct wire_rsditem_desc want[32];
	struct wire_rsdset_desc set[8];
	struct wire_xmt_desc d = { .items = item, .sets = set };
	struct wire_repterr err = { 0 };
	static uint32_t numbers[8][32];
	uint32_t xid, credit, htype, nwant = 0;
	size_t n;

	r->at = 0;
	xid = (uint32_t)ref_take(r);
	ref_take(r);
	credit = (uint32_t)ref_take(r);
	htype = (uint32_t)ref_take(r);
	if (htype == RDMA2_X_REPTERR) {
		struct wire_xmsid *id = &err.bad;

		for (int i = 0; i < 2; i++, id = &err.lead) {
			id->xid = (uint32_t)ref_take(r);
			id->dir = (uint32_t)ref_take(r);
			id->seq = (uint32_t)ref_take(r);
			if (!i)
				err.has_lead = ref_take(r);
			if (!err.has_lead)
				break;
		}
		err.code = (uint32_t)ref_take(r);
		if (err.code >= OPTRERR_BADOFF) {
			err.value = (uint32_t)ref_take(r);
			err.min = (uint32_t)ref_take(r);
			err.max = (uint32_t)ref_take(r);
		} else if (err.code != OPTRERR_BADCONT) {
			err.expect = (uint32_t)ref_take(r);
			err.current = (uint32_t)ref_take(r);
		}
		n = wire_encode_repterr(b, MSG_MAX, credit, &err);
		put_be32(b, xid); /* any, here */
		return n;
	}
	if (htype == RDMA2_X_XMTCONT) {
		uint32_t xnum = (uint32_t)ref_take(r);
		uint32_t itype = (uint32_t)ref_take(r);

		return wire_encode_xmtcont(b, MSG_MAX, xid, credit, xnum, itype,
					   (uint32_t)ref_take(r));
	}
	d.nitems = (uint32_t)ref_take(r);
	memset(item, 0, sizeof(item));
	for (uint32_t i = 0; i < d.nitems; i++) {
		item[i].disp = (uint32_t)ref_take(r);
		item[i].length = (uint32_t)ref_take(r);
		item[i].type = (uint32_t)ref_take(r);
		if (item[i].type == XMPTYPE_EXRW) {
			item[i].seg = take_segments(r, &item[i].nsegs);
		} else if (item[i].type == XMPTYPE_TBSN) {
			item[i].offset = (uint32_t)ref_take(r);
			item[i].nbsnum = (uint32_t)ref_take(r);
			for (uint32_t j = 0; j < item[i].nbsnum; j++)
				numbers[i][j] = (uint32_t)ref_take(r);
			item[i].bsnum = numbers[i];
		}
	}
	if (htype == RDMA2_X_XMTREQ) {
		d.nsets = (uint32_t)ref_take(r);
		for (uint32_t i = 0; i < d.nsets; i++) {
			set[i].begin = (uint32_t)ref_take(r);
			set[i].end = (uint32_t)ref_take(r);
			set[i].nitems = (uint32_t)ref_take(r);
			set[i].items = &want[nwant];
			for (uint32_t j = 0; j < set[i].nitems; j++, nwant++) {
				struct wire_rsditem_desc *w = &want[nwant];

				memset(w, 0, sizeof(*w));
				w->minlen = (uint32_t)ref_take(r);
				w->type = (uint32_t)ref_take(r);
				if (w->type == XMPTYPE_BYSIZE)
					w->threshold = (uint32_t)ref_take(r);
				if (w->type != XMPTYPE_TBSN)
					w->seg = take_segments(r, &w->nsegs);
			}
		}
	}
	d.count = (uint32_t)ref_take(r);
	if (htype == RDMA2_X_XMTREQ)
		d.rsbuf = (uint32_t)ref_take(r);
	d.pslen = (uint32_t)ref_take(r);
	if (htype == RDMA2_X_XMTREQ) {
		n = wire_encode_xmtreq(b, MSG_MAX, xid, credit, &d);
		CU_ASSERT_EQUAL(n, wire_xmtreq_len(&d));
	} else {
		n = wire_encode_xmtresp(b, MSG_MAX, xid, credit, &d);
		CU_ASSERT_EQUAL(n, wire_xmtresp_len(&d));
	}
	return n;
}

static void add_segments(struct ref_row *row, const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;
	uint64_t bytes = 0;

	ref_add(row, l->count);
	while (wire_segment_next(l, &it, &s)) {
		ref_add(row, s.handle);
		ref_add(row, s.length);
		ref_add(row, s.offset);
		bytes += s.length;
	}
	CU_ASSERT_EQUAL(bytes, l->bytes);
}

static enum wire_status our_decode(const uint8_t *b, size_t len,
				   struct ref_row *row, size_t *used)
{
	struct wire_iter it = { 0 }, jt;
	struct wire_xmt m;
	struct wire_repterr e;
	struct wire_xitem item;
	struct wire_rsdset set;
	struct wire_rsditem want;
	enum wire_status st;
	uint32_t total = 0;

	row->n = 0;
	if (len >= 16 && get_be32(b + 12) == RDMA2_X_REPTERR) {
		st = wire_repterr_decode(b, len, &e);
		if (st != WIRE_OK)
			return st;
		for (int i = 0; i < 16; i += 4)
			ref_add(row, get_be32(b + i));
		ref_add(row, e.bad.xid);
		ref_add(row, e.bad.dir);
		ref_add(row, e.bad.seq);
		ref_add(row, e.has_lead);
		if (e.has_lead) {
			ref_add(row, e.lead.xid);
			ref_add(row, e.lead.dir);
			ref_add(row, e.lead.seq);
		}
		ref_add(row, e.code);
		if (e.code >= OPTRERR_BADOFF) {
			ref_add(row, e.value);
			ref_add(row, e.min);
			ref_add(row, e.max);
		} else if (e.code != OPTRERR_BADCONT) {
			ref_add(row, e.expect);
			ref_add(row, e.current);
		}
		*used = 0;
		return st;
	}
	st = wire_xmt_decode(b, len, &m);
	if (st != WIRE_OK)
		return st;
	*used = m.header_len;
	ref_add(row, m.p.xid);
	ref_add(row, m.p.vers);
	ref_add(row, m.p.credit);
	ref_add(row, m.p.htype);
	if (m.p.htype == RDMA2_X_XMTCONT) {
		ref_add(row, m.xnum);
		ref_add(row, m.itype);
		ref_add(row, m.pslen);
		return st;
	}
	ref_add(row, m.items.count);
	while (wire_xitem_next(&m.items, &it, &item)) {
		ref_add(row, item.disp);
		ref_add(row, item.length);
		ref_add(row, item.type);
		if (item.type == XMPTYPE_EXRW) {
			add_segments(row, &item.seg);
		} else if (item.type == XMPTYPE_TBSN) {
			ref_add(row, item.offset);
			ref_add(row, item.nbsnum);
			for (uint32_t i = 0; i < item.nbsnum; i++)
				ref_add(row, wire_bsnum(&item, i));
		}
	}
	if (m.p.htype == RDMA2_X_XMTREQ) {
		it = (struct wire_iter){ 0 };
		ref_add(row, m.rsd.count);
		while (wire_rsdset_next(&m.rsd, &it, &set)) {
			ref_add(row, set.begin);
			ref_add(row, set.end);
			ref_add(row, set.items.count);
			total += set.items.count;
			jt = (struct wire_iter){ 0 };
			while (wire_rsditem_next(&set.items, &jt, &want)) {
				ref_add(row, want.minlen);
				ref_add(row, want.type);
				if (want.type == XMPTYPE_BYSIZE)
					ref_add(row, want.threshold);
				if (want.type != XMPTYPE_TBSN)
					add_segments(row, &want.seg);
			}
		}
		CU_ASSERT_EQUAL(total, m.nrsditems);
	}
	ref_add(row, m.count);
	if (m.p.htype == RDMA2_X_XMTREQ)
		ref_add(row, m.rsbuf);
	ref_add(row, m.pslen);
	return st;
}

static bool legal_id(struct ref_row *r)
{
	uint64_t dir;

	ref_take(r);
	dir = ref_take(r);
	ref_take(r);
	return dir <= XMSI_REPLY;
}

/* The rules that XDR cannot express, over the reference's row [R9]. */
static bool legal(struct ref_row *r)
{
	uint64_t n, end = 0, type, disp, len, begin;
	uint32_t htype;

	r->at = 1;
	if (ref_take(r) != WIRE_VERS2)
		return false;
	ref_take(r);
	htype = (uint32_t)ref_take(r);
	if (htype == RDMA2_X_XMTCONT)
		return true;
	if (htype == RDMA2_X_REPTERR) {
		if (!legal_id(r) || (ref_take(r) && !legal_id(r)))
			return false;
		n = ref_take(r);
		return n >= 1 && n <= 8;
	}
	for (n = ref_take(r); n; n--) {
		disp = ref_take(r);
		len = ref_take(r);
		type = ref_take(r);
		if (type == XMPTYPE_EXRW)
			r->at += 3 * ref_take(r);
		if (type == XMPTYPE_TBSN) {
			ref_take(r);
			r->at += ref_take(r);
		}
		if (htype == RDMA2_X_XMTREQ && type > XMPTYPE_TBSN)
			return false;
		if (type == XMPTYPE_NOITEM)
			continue;
		if (disp % 4 || disp < end)
			return false;
		end = (disp + len + 3) / 4 * 4;
	}
	if (htype != RDMA2_X_XMTREQ)
		return true;
	end = 0;
	for (n = ref_take(r); n; n--) {
		begin = ref_take(r);
		if (begin < end)
			return false;
		end = ref_take(r);
		if (end <= begin)
			return false;
		for (uint64_t m = ref_take(r); m; m--) {
			ref_take(r);
			type = ref_take(r);
			if (type == XMPTYPE_BYSIZE)
				ref_take(r);
			if (type != XMPTYPE_TBSN)
				r->at += 3 * ref_take(r);
		}
	}
	return true;
}

static void test_both_ways(void)
{
	uint8_t b[MSG_MAX], c[MSG_MAX];
	struct rng r = rng_start(30);
	size_t len, ref_len, used;

	for (uint32_t i = 0; i < HEADERS; i++) {
		generate(&r, RDMA2_X_XMTREQ + i % 4, &gen);
		len = our_encode(&gen, b);
		CU_ASSERT_EQUAL(gen.at, gen.n);
		ref_len = ref_rtr_encode(&gen, c, sizeof(c));
		CU_ASSERT_EQUAL(gen.at, gen.n);
		CU_ASSERT(len && len == ref_len && !memcmp(b, c, len));
		CU_ASSERT_TRUE(ref_rtr_decode(b, len, &theirs, &used));
		CU_ASSERT_EQUAL(used, len);
		CU_ASSERT_TRUE(same_row(&gen, &theirs));
		CU_ASSERT_EQUAL(our_decode(c, ref_len, &ours, &used), WIRE_OK);
		CU_ASSERT(used == len || i % 4 == 3);
		CU_ASSERT_TRUE(same_row(&gen, &ours));
	}
}

/* libtirpc takes any value but 0 for true. */
static bool canonical(const uint8_t *b, size_t used)
{
	uint8_t c[MSG_MAX];

	return ref_rtr_encode(&theirs, c, sizeof(c)) == used &&
	       !memcmp(b, c, used);
}

static void test_mutants(void)
{
	unsigned int both = 0, neither = 0, rules = 0;
	struct rng r = rng_start(31);
	uint8_t b[MSG_MAX + 16], *q;

	for (uint32_t i = 0; i < MUTANTS; i++) {
		size_t len, used = 0, ref_used = 0;
		enum wire_status st;
		bool ref_ok, want;

		generate(&r, RDMA2_X_XMTREQ + i % 4, &gen);
		len = wire_mutate(&r, b, our_encode(&gen, b));
		q = exact(b, len);
		st = our_decode(q, len, &ours, &used);
		ref_ok = ref_rtr_decode(q, len, &theirs, &ref_used);
		want = ref_ok && legal(&theirs) && canonical(q, ref_used);
		if (want) {
			both++;
			CU_ASSERT_TRUE(same_row(&ours, &theirs));
		} else if (ref_ok) {
			rules++;
		} else {
			neither++;
		}
		CU_ASSERT_EQUAL(st == WIRE_OK, want);
		free(q);
	}
	printf("both %u, neither %u, rules %u ", both, neither, rules);
	CU_ASSERT(both > 1000 && neither > 1000 && rules > 1000);
}

static void test_rbstruct(void)
{
	struct rng r = rng_start(32);
	struct wire_rbgroup g[8], got;
	struct wire_rbstruct s;
	uint8_t b[256], c[256], *q;
	size_t len, used;

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t n = rng_below(&r, 8), k = 0;
		uint64_t sum = 0;
		struct wire_iter it = { 0 };
		bool ok;

		gen.n = 0;
		ref_add(&gen, 0);
		ref_add(&gen, n);
		for (uint32_t j = 0; j < n; j++) {
			g[j].count = rng_below(&r, 20);
			g[j].length = rng_below(&r, 9) ? rng_below(&r, 9000) :
							 rng_word(&r);
			g[j].align = rng_word(&r);
			g[j].flags = rng_below(&r, 3);
			sum += (uint64_t)g[j].count * g[j].length;
			ref_add(&gen, g[j].count);
			ref_add(&gen, g[j].length);
			ref_add(&gen, g[j].align);
			ref_add(&gen, g[j].flags);
		}
		gen.v[0] = (uint32_t)sum;
		len = wire_encode_rbstruct(b, sizeof(b), (uint32_t)sum, g, n);
		CU_ASSERT_EQUAL(len, 8 + 16 * n);
		CU_ASSERT_EQUAL(ref_rbstruct_encode(&gen, c, sizeof(c)), len);
		CU_ASSERT_FALSE(memcmp(b, c, len));
		if (i % 2) {
			/* Damage: both must agree, and the sum be right. */
			len = wire_mutate(&r, b, len);
			q = exact(b, len);
			ok = ref_rbstruct_decode(q, len, &theirs, &used) &&
			     used == len;
			sum = 0;
			for (size_t j = 2; ok && j < theirs.n; j += 4)
				sum += theirs.v[j] * theirs.v[j + 1];
			ok = ok && sum == theirs.v[0];
			CU_ASSERT_EQUAL(wire_rbstruct_decode(q, len, &s), ok);
			free(q);
			continue;
		}
		q = exact(b, len);
		ok = wire_rbstruct_decode(q, len, &s);
		CU_ASSERT_EQUAL(ok, sum <= UINT32_MAX);
		while (ok && wire_rbgroup_next(&s.groups, &it, &got)) {
			CU_ASSERT_EQUAL(got.count, g[k].count);
			CU_ASSERT_EQUAL(got.length, g[k].length);
			CU_ASSERT_EQUAL(got.align, g[k].align);
			CU_ASSERT_EQUAL(got.flags, g[k].flags);
			k++;
		}
		CU_ASSERT(!ok || k == n);
		free(q);
	}
}

/* The numbers of [M1] and of the draft, written down once more. */
static void test_constants(void)
{
	CU_ASSERT_EQUAL(RDMA2_X_XMTREQ, 4294967061u);
	CU_ASSERT_EQUAL(RDMA2_X_XMTRESP, 4294967062u);
	CU_ASSERT_EQUAL(RDMA2_X_XMTCONT, 4294967063u);
	CU_ASSERT_EQUAL(RDMA2_X_REPTERR, 4294967064u);
	CU_ASSERT_EQUAL(RDMA2_PROPID_X_RTRSUPP, 4294967059u);
	CU_ASSERT_EQUAL(RDMA2_PROPID_X_RBSTRUCT, 4294967060u);
	CU_ASSERT_EQUAL(RDMA2_PROPID_X_REQRXLIM, 4294967061u);
	CU_ASSERT_EQUAL(RDMA2_PROPID_X_RESPSXLIM, 4294967062u);
	CU_ASSERT(RTRS_XREQ == 1 && RTRS_XRESP == 2 && RTRS_XCONT == 4);
	CU_ASSERT(XMPTYPE_EXRW == 1 && XMPTYPE_TBSN == 2 &&
		  XMPTYPE_CHOICE == 3 && XMPTYPE_BYSIZE == 4 &&
		  XMPTYPE_TOOSHORT == 5 && XMPTYPE_NOITEM == 6);
	CU_ASSERT(OPTRERR_BADHMT == 1 && OPTRERR_BADPL == 8);
	CU_ASSERT_STRING_EQUAL(wire_htype_name(0xffffff15u), "RDMA2_X_XMTREQ");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(0xffffff14u),
			       "RDMA2_PROPID_X_RBSTRUCT");
	CU_ASSERT_STRING_EQUAL(wire_optrerr_name(4), "OPTRERR_BADSEQ");
	CU_ASSERT_STRING_EQUAL(wire_optrerr_name(9), "?");
}

static enum wire_status words(struct wire_xmt *m, const uint32_t *w, size_t n)
{
	static uint8_t *held;

	free(held);
	held = from_words(w, n);
	return wire_xmt_decode(held, n * 4, m);
}

#define XMT(m, ...) \
	words(m, (const uint32_t[]){ __VA_ARGS__ }, NWORDS(__VA_ARGS__))

/* By hand, octet by octet, and table 1 and [R9] one by one. */
static void test_vectors(void)
{
	struct wire_xmt m;
	struct wire_xitem i;
	struct wire_iter it = { 0 };

	/* An item of 5000 octets over segments 0 and 1; one set. */
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 1, 40, 5000, 2, 0, 2, 0, 1,
			    1, 0, 96, 2, 512, 2, 0, 4, 300, 1, 7, 8, 9, 10, 3,
			    2, 100),
			WIRE_OK);
	CU_ASSERT(m.items.count == 1 && m.rsd.count == 1 && m.nrsditems == 2);
	CU_ASSERT(m.count == 3 && m.rsbuf == 2 && m.pslen == 100);
	CU_ASSERT_EQUAL(m.header_len, 29 * 4);
	CU_ASSERT_TRUE(wire_xitem_next(&m.items, &it, &i));
	CU_ASSERT(i.disp == 40 && i.length == 5000 && i.type == XMPTYPE_TBSN);
	CU_ASSERT(i.nbsnum == 2 && wire_bsnum(&i, 0) == 0 &&
		  wire_bsnum(&i, 1) == 1);
	CU_ASSERT_FALSE(wire_xitem_next(&m.items, &it, &i));

	/* Table 1: directions as items, results as directions. */
	for (uint32_t t = 0; t < 9; t++) {
		bool result = t == 5 || t == 6;

		if (t == 1) {
			CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 1, 40, 8,
					    t, 0, 0, 1, 1, 4),
					WIRE_OK);
		} else if (t == 2) {
			CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 1, 40, 8,
					    t, 0, 0, 0, 1, 1, 4),
					WIRE_OK);
		} else {
			CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 1, 40, 8,
					    t, 0, 1, 1, 4),
					WIRE_BAD_XDR);
			CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTRESP), 1, 40, 8,
					    t, 1, 4),
					result ? WIRE_OK : WIRE_BAD_XDR);
		}
		if (t == 0 || t > 4) {
			CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 0, 1, 0, 4,
					    1, 0, t, 1, 1, 4),
					WIRE_BAD_XDR);
		}
	}
	/* Displacements: unaligned, the same twice, inside the roundup. */
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTRESP), 1, 42, 8, 5, 1, 4),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTRESP), 2, 40, 5, 5, 44, 1, 5, 1,
			    4),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTRESP), 2, 40, 5, 5, 48, 1, 5, 1,
			    4),
			WIRE_OK);
	/* Ranges: half-open, so they may touch. */
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 0, 2, 0, 4, 0, 4, 8, 0, 1,
			    1, 4),
			WIRE_OK);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 0, 2, 0, 5, 0, 4, 8, 0, 1,
			    1, 4),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 0, 2, 4, 8, 0, 0, 4, 0, 1,
			    1, 4),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTREQ), 0, 1, 8, 8, 0, 1, 1, 4),
			WIRE_BAD_XDR);
	/* Counts that the message cannot hold. */
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTRESP), 0xffffffff, 1, 4),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTRESP), 1, 40, 8, 2, 0,
			    0x40000001, 1, 4),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_X_XMTRESP), 1, 40, 8, 1, 0x10000001,
			    1, 4),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XMT(&m, PFX(RDMA2_GRANT)), WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(XMT(&m, XID, 1, 0, RDMA2_X_XMTCONT, 1, 1, 1),
			WIRE_VERSION);
	CU_ASSERT_EQUAL(XMT(&m, XID, 2, 0), WIRE_SHORT);
}

static const struct unit_test tests[] = {
	{ "constants", test_constants }, { "vectors", test_vectors },
	{ "both_ways", test_both_ways }, { "mutants", test_mutants },
	{ "rbstruct", test_rbstruct },	 { NULL, NULL },
};

UNIT_MAIN("wire rtr", tests)
