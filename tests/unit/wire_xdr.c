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
#include "wire_xdr.h"

#define HEADERS 40000
#define MUTANTS 300000

/* Rows are large; none is needed by two tests at a time. */
static struct ref_row gen, ours, theirs;

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
		generate(&r, RDMA2_ERROR + i % 10, &gen);
		len = our_encode(&gen, b);
		ref_len = ref_encode(&gen, c, sizeof(c));
		CU_ASSERT_EQUAL(gen.at, gen.n);
		CU_ASSERT(len && len == ref_len && !memcmp(b, c, len));
		/* ours to theirs */
		CU_ASSERT_TRUE(ref_decode(b, len, &theirs, &used));
		CU_ASSERT_EQUAL(used, len);
		CU_ASSERT_TRUE(same_row(&gen, &theirs));
		/* theirs to ours */
		CU_ASSERT_EQUAL(our_decode(c, ref_len, &ours, &used), WIRE_OK);
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
		uint64_t which = ref_take(r), len = ref_take(r);

		r->at += len;
		if (len && which >= 1 && which <= 5)
			ok = ok && len == 4;
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

static void test_mutants(void)
{
	unsigned int both = 0, neither = 0, rules = 0, hints = 0;
	struct rng r = rng_start(11);
	uint8_t b[MSG_MAX + 16], *q;

	for (uint32_t i = 0; i < MUTANTS; i++) {
		size_t len, used = 0, ref_used = 0;
		enum wire_status st;
		bool ref_ok, want;

		generate(&r, RDMA2_ERROR + i % 10, &gen);
		len = wire_mutate(&r, b, our_encode(&gen, b));
		q = exact(b, len);
		st = our_decode(q, len, &ours, &used);
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
