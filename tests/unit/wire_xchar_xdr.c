/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_xchar_xdr - the codec of xcharext and that which rpcgen makes of the
 * draft's mended XDR: equal octets both ways for random messages, and one
 * verdict on damaged ones
 */
#include "wire_util.h"
#include "ref_xchar.h"
#include "rpcrdma/xchar.h"

#define MSG_MAX 2048
#define HEADERS 20000
#define MUTANTS 60000

/* They are large; none is needed by two tests at a time. */
static struct ref_row gen, ours, theirs;

static void gen_prop(struct ref_row *row, struct rng *r)
{
	static const uint32_t known[] = {
		1, 2, 3, 4, 5, 0xffffff00, 0xffffff02
	};
	uint32_t id = rng_below(r, 4) ? known[rng_below(r, 7)] : rng_word(r);
	uint32_t len = rng_below(r, 20);

	if (id == RDMA2_PROPID_HOSTAUTH)
		id = 7;
	if ((id >= 1 && id <= 5) || id == RDMA2_PROPID_X_XCHSUPP ||
	    id == RDMA2_PROPID_X_REQREMINV)
		len = 4 * rng_below(r, 2);
	ref_add(row, id);
	ref_add(row, len);
	for (uint32_t i = 0; i < len; i++)
		ref_add(row, id != RDMA2_PROPID_X_REQREMINV ?
				     rng_below(r, 256) :
			     i == 3 ? rng_below(r, 2) :
				      0);
}

static void gen_props(struct ref_row *row, struct rng *r)
{
	uint32_t n = rng_below(r, 8);

	ref_add(row, n);
	while (n--)
		gen_prop(row, r);
}

static void gen_subset(struct ref_row *row, struct rng *r)
{
	uint32_t n = rng_below(r, 4);

	ref_add(row, n);
	while (n--)
		ref_add(row, rng_word(r));
}

static void generate(struct rng *r, uint32_t htype, struct ref_row *row)
{
	row->n = 0;
	ref_add(row, rng_word(r));
	ref_add(row, WIRE_VERS2);
	ref_add(row, rng_word(r));
	ref_add(row, htype);
	switch (htype) {
	case RDMA2_X_INITXCH:
		gen_props(row, r);
		gen_subset(row, r);
		break;
	case RDMA2_X_REQXCH:
		gen_props(row, r);
		break;
	case RDMA2_X_RESPXCH:
		for (int i = 0; i < 3; i++)
			gen_subset(row, r);
		break;
	case RDMA2_X_UPDXCH:
		gen_prop(row, r);
		ref_add(row, rng_below(r, 2));
		break;
	}
}

/* ---- Our codec between rows and octets -------------------------------- */

struct desc {
	struct wire_prop props[8];
	uint8_t data[8][32];
	uint32_t words[3][4];
	struct wire_subset_desc subset[3];
};

static void take_prop(struct ref_row *r, struct desc *d, uint32_t i)
{
	d->props[i].which = (uint32_t)ref_take(r);
	d->props[i].len = (uint32_t)ref_take(r);
	d->props[i].data = d->data[i];
	for (uint32_t k = 0; k < d->props[i].len; k++)
		d->data[i][k] = (uint8_t)ref_take(r);
}

static uint32_t take_props(struct ref_row *r, struct desc *d)
{
	uint32_t n = (uint32_t)ref_take(r);

	for (uint32_t i = 0; i < n; i++)
		take_prop(r, d, i);
	return n;
}

static const struct wire_subset_desc *take_subset(struct ref_row *r,
						  struct desc *d, uint32_t i)
{
	d->subset[i].nwords = (uint32_t)ref_take(r);
	d->subset[i].words = d->words[i];
	for (uint32_t k = 0; k < d->subset[i].nwords; k++)
		d->words[i][k] = (uint32_t)ref_take(r);
	return &d->subset[i];
}

static size_t our_encode(struct ref_row *r, uint8_t *b)
{
	uint32_t xid, credit, htype, n;
	struct desc d;

	r->at = 0;
	xid = (uint32_t)ref_take(r);
	ref_take(r);
	credit = (uint32_t)ref_take(r);
	htype = (uint32_t)ref_take(r);
	switch (htype) {
	case RDMA2_X_INITXCH:
		n = take_props(r, &d);
		return wire_encode_initxch(b, MSG_MAX, xid, credit, d.props, n,
					   take_subset(r, &d, 0));
	case RDMA2_X_REQXCH:
		n = take_props(r, &d);
		return wire_encode_reqxch(b, MSG_MAX, xid, credit, d.props, n);
	case RDMA2_X_RESPXCH:
		for (uint32_t i = 0; i < 3; i++)
			take_subset(r, &d, i);
		return wire_encode_respxch(b, MSG_MAX, xid, credit,
					   &d.subset[0], &d.subset[1],
					   &d.subset[2]);
	default:
		take_prop(r, &d, 0);
		return wire_encode_updxch(b, MSG_MAX, xid, credit, d.props,
					  ref_take(r));
	}
}

static void props_to(struct ref_row *row, const struct wire_list *l, bool count)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;

	if (count)
		ref_add(row, l->count);
	while (wire_prop_next(l, &it, &p)) {
		ref_add(row, p.which);
		ref_add(row, p.len);
		for (uint32_t i = 0; i < p.len; i++)
			ref_add(row, p.data[i]);
	}
}

static void subset_to(struct ref_row *row, const struct wire_subset *s)
{
	ref_add(row, s->nwords);
	for (uint32_t i = 0; i < s->nwords; i++) {
		uint32_t word = 0;

		for (uint32_t bit = 32; bit--;)
			word = word << 1 | wire_subset_test(s->words, s->nwords,
							    i * 32 + bit);
		ref_add(row, word);
	}
}

static enum wire_status our_decode(const uint8_t *b, size_t len,
				   struct ref_row *row, size_t *used)
{
	struct wire_xchar x;
	enum wire_status st = wire_xchar_decode(b, len, &x);

	row->n = 0;
	if (st != WIRE_OK)
		return st;
	ref_add(row, x.p.xid);
	ref_add(row, x.p.vers);
	ref_add(row, x.p.credit);
	ref_add(row, x.p.htype);
	switch (x.p.htype) {
	case RDMA2_X_INITXCH:
		props_to(row, &x.props, true);
		subset_to(row, &x.nochg);
		break;
	case RDMA2_X_REQXCH:
		props_to(row, &x.props, true);
		break;
	case RDMA2_X_RESPXCH:
		subset_to(row, &x.done);
		subset_to(row, &x.rej);
		subset_to(row, &x.pend);
		break;
	case RDMA2_X_UPDXCH:
		props_to(row, &x.props, false);
		ref_add(row, x.pendclr);
		break;
	}
	*used = len - x.surplus;
	return st;
}

static bool same_row(const struct ref_row *a, const struct ref_row *b)
{
	return a->n == b->n && !memcmp(a->v, b->v, a->n * sizeof(a->v[0]));
}

static void test_both_ways(void)
{
	uint8_t b[MSG_MAX], c[MSG_MAX];
	struct rng r = rng_start(30);
	size_t len, ref_len, used;

	for (uint32_t i = 0; i < HEADERS; i++) {
		generate(&r, RDMA2_X_INITXCH + i % 4, &gen);
		len = our_encode(&gen, b);
		ref_len = ref_xchar_encode(&gen, c, sizeof(c));
		CU_ASSERT_EQUAL(gen.at, gen.n);
		CU_ASSERT(len && len == ref_len && !memcmp(b, c, len));
		CU_ASSERT_TRUE(ref_xchar_decode(b, len, &theirs, &used));
		CU_ASSERT_EQUAL(used, len);
		CU_ASSERT_TRUE(same_row(&gen, &theirs));
		CU_ASSERT_EQUAL(our_decode(c, ref_len, &ours, &used), WIRE_OK);
		CU_ASSERT_EQUAL(used, ref_len);
		CU_ASSERT_TRUE(same_row(&gen, &ours));
	}
}

/* What the values must be beyond their XDR, which is opaque. */
static bool legal_prop(struct ref_row *r)
{
	uint64_t which = ref_take(r), len = ref_take(r), word = 0;
	size_t at = r->at;

	for (size_t i = 0; i < 4 && i < len; i++)
		word = word << 8 | r->v[at + i];
	r->at += len;
	if (!len)
		return true;
	switch (which) {
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
	case RDMA2_PROPID_X_XCHSUPP:
		return len == 4;
	case RDMA2_PROPID_X_REQREMINV:
		return len == 4 && word <= 1;
	default:
		return true;
	}
}

static bool legal(struct ref_row *r)
{
	uint64_t n = 1;
	bool ok = true;

	r->at = 1;
	if (ref_take(r) != WIRE_VERS2)
		return false;
	r->at = 4;
	switch (r->v[3]) {
	case RDMA2_X_INITXCH:
	case RDMA2_X_REQXCH:
		n = ref_take(r);
		break;
	case RDMA2_X_UPDXCH:
		break;
	default:
		return true;
	}
	while (n--)
		ok = legal_prop(r) && ok;
	return ok;
}

/* libtirpc takes any value but 0 for true. */
static bool true_bool(const uint8_t *b, size_t used)
{
	return get_be32(b + 12) != RDMA2_X_UPDXCH ||
	       get_be32(b + used - 4) <= 1;
}

static void test_mutants(void)
{
	unsigned int both = 0, neither = 0, rules = 0;
	struct rng r = rng_start(31);
	uint8_t b[MSG_MAX + 16], *q;

	for (uint32_t i = 0; i < MUTANTS; i++) {
		size_t len, used = 0, ref_used = 0;
		bool ref_ok, want;
		enum wire_status st;

		generate(&r, RDMA2_X_INITXCH + i % 4, &gen);
		len = wire_mutate(&r, b, our_encode(&gen, b));
		q = exact(b, len);
		st = our_decode(q, len, &ours, &used);
		ref_ok = ref_xchar_decode(q, len, &theirs, &ref_used);
		want = ref_ok && legal(&theirs) && true_bool(q, ref_used);
		both += want;
		rules += ref_ok && !want;
		neither += !ref_ok;
		CU_ASSERT_EQUAL(st == WIRE_OK, want);
		if (want) {
			CU_ASSERT_EQUAL(used, ref_used);
			CU_ASSERT_TRUE(same_row(&ours, &theirs));
		}
		free(q);
	}
	printf("both %u, neither %u, rules %u ", both, neither, rules);
	CU_ASSERT(both > 1000 && neither > 1000 && rules > 1000);
}

static const struct unit_test tests[] = {
	{ "both_ways", test_both_ways },
	{ "mutants", test_mutants },
	{ NULL, NULL },
};

UNIT_MAIN("wire xchar xdr", tests)
