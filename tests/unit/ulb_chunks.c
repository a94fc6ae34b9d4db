/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_chunks - Write chunks and the READs and READLINKs of a COMPOUND [H2]
 */
#include "ulb_rows.h"
#include "ulb_xdr.h"

static struct xdr x;

static int scan(struct pieces p, const uint32_t *chunk, unsigned int nchunk,
		struct ulb_item *items, unsigned int *n)
{
	struct ulb_call c = x_compound();
	int rc = ulb_scan_reply(&c, p.iov, p.n, chunk, nchunk, items,
				ULB_MAX_ITEMS, n);

	x_free(&p);
	return rc;
}

/*
 * COMPOUNDs of up to four operations with items, the last of which may fail,
 * with up to five chunks, each empty or not: all of them.
 */
static void build(unsigned int nops, bool fail, const bool *reduced,
		  unsigned int nchunk)
{
	x_init(&x);
	x.reduced = reduced;
	x.nreduced = nchunk;
	x_compound_reply(&x, fail ? 5 : 0, nops + 2);
	x_values(&x, "53 0 n u u u u u 22 0");
	for (unsigned int i = 0; i < nops; i++) {
		bool last = i == nops - 1;

		if (i % 3 == 2)
			x_values(&x, last && fail ? "27 5 -" : "27 0 D");
		else
			x_values(&x, last && fail ? "25 5 -" : "25 0 1 D");
	}
}

static void pairing(void)
{
	struct ulb_item items[ULB_MAX_ITEMS];
	unsigned int nops, nchunk, mask, n;
	uint32_t chunk[5], keep;
	bool reduced[5];

	for (unsigned int shape = 0; shape < 5 * 2 * 6; shape++) {
		bool fail = shape & 1;

		nops = shape / 2 % 5;
		nchunk = shape / 10;
		if (fail && !nops)
			continue;
		for (mask = 0; mask < 1u << nchunk; mask++) {
			for (unsigned int i = 0; i < 5; i++)
				reduced[i] = i < nchunk && (mask >> i & 1);
			build(nops, fail, reduced, nchunk);
			for (unsigned int i = 0; i < nchunk; i++)
				chunk[i] = !reduced[i]	? UINT32_MAX :
					   i < x.nitems ? x.items[i].length :
							  0;
			for (size_t at = 0; at <= x.len; at++) {
				CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, at),
						     chunk, nchunk, items, &n),
						0);
				CU_ASSERT(x_same(items, n, x.items, x.nitems));
			}
			for (size_t len = 0; len < x.len; len++)
				CU_ASSERT_EQUAL(scan(x_split(x.b, len, len),
						     chunk, nchunk, items, &n),
						-EBADMSG);
			/* No chunk has more or less than its item, or that
			 * and its roundup. What is said of one whose item
			 * is not there does not matter. */
			for (unsigned int i = 0; i < nchunk; i++) {
				if (!reduced[i])
					continue;
				keep = chunk[i];
				for (uint32_t k = 0; k < keep + 8; k++) {
					bool ok = k == keep ||
						  k == ((keep + 3) & ~3u) ||
						  i >= x.nitems ||
						  !x.items[i].present;

					chunk[i] = k;
					CU_ASSERT_EQUAL(
						scan(x_split(x.b, x.len, 0),
						     chunk, nchunk, items, &n),
						ok ? 0 : -EBADMSG);
					if (ok)
						CU_ASSERT(x_same(items, n,
								 x.items,
								 x.nitems));
				}
				chunk[i] = keep;
			}
		}
	}
}

/* No data at all: the length word is there, and a chunk was used or not. */
static void empty_data(void)
{
	static const uint32_t kinds[] = { 0, UINT32_MAX };
	struct ulb_item items[ULB_MAX_ITEMS];
	unsigned int n;
	uint32_t chunk[2];
	size_t first;

	for (int k = 0; k < 4; k++) {
		x_init(&x);
		x_compound_reply(&x, 0, 2);
		x_values(&x, "25 0 1 0");
		first = x.len;
		x_values(&x, "27 0 0");
		chunk[0] = kinds[k & 1];
		chunk[1] = kinds[k >> 1];
		CU_ASSERT_EQUAL(
			scan(x_split(x.b, x.len, 0), chunk, 2, items, &n), 0);
		CU_ASSERT_EQUAL(n, 2);
		CU_ASSERT(items[0].present && items[1].present);
		CU_ASSERT_EQUAL(items[0].length, 0);
		CU_ASSERT_EQUAL(items[0].position, first);
		CU_ASSERT_EQUAL(items[1].position, x.len);
	}
}

/* Every other operation between two reduced READs. */
static void between(void)
{
	static const bool reduced[2] = { true, true };
	struct ulb_item items[ULB_MAX_ITEMS];
	uint32_t chunk[2];
	unsigned int n;

	for (const struct row *r = res_rows; r->name; r++) {
		if (r->op == 25 || r->op == 27)
			continue;
		x_init(&x);
		x.reduced = reduced;
		x.nreduced = 2;
		x_compound_reply(&x, 0, 3);
		x_values(&x, "25 0 0 D");
		x_u32(&x, r->op);
		x_values(&x, r->values);
		x_values(&x, "25 0 1 D");
		chunk[0] = x.items[0].length;
		chunk[1] = x.items[1].length;
		CU_ASSERT_EQUAL(
			scan(x_shred(x.b, x.len, 3), chunk, 2, items, &n), 0);
		CU_ASSERT(x_same(items, n, x.items, 2));
	}
}

/* Positions that no 32 bits hold, made of chunks that claim to be long. */
static void far_positions(void)
{
	struct ulb_item items[ULB_MAX_ITEMS];
	uint32_t chunk[3] = { 0x7fffff00, 0x7fffff00, 0x7fffff00 };
	unsigned int n;

	for (unsigned int k = 1; k <= 3; k++) {
		x_init(&x);
		x_compound_reply(&x, 0, k);
		for (unsigned int i = 0; i < k; i++)
			x_values(&x, "25 0 0 2147483392");
		CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, 0), chunk, k, items,
				     &n),
				k < 3 ? 0 : -EBADMSG);
		if (k == 2)
			CU_ASSERT_EQUAL(items[1].position, x.len + 0x7fffff00);
	}
	/* A length word at the limit */
	x_init(&x);
	x_compound_reply(&x, 0, 1);
	x_values(&x, "25 0 0 4294967294");
	chunk[0] = 0xfffffffe;
	CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, 0), chunk, 1, items, &n),
			-EBADMSG);
}

static const struct unit_test tests[] = {
	{ "pairing", pairing }, { "empty data", empty_data },
	{ "between", between }, { "far positions", far_positions },
	{ NULL, NULL },
};

UNIT_MAIN("ulb chunks", tests)
