/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_nfs4 - every NFSv4 operation is stepped over, in one piece and in many
 */
#include "ulb_rows.h"
#include "ulb_xdr.h"

static struct xdr x;

/* Every row, followed by operations with items. */
static void build_args(const struct row *r, uint32_t minor)
{
	x_init(&x);
	x_compound_call(&x, minor, 3);
	x_u32(&x, r->op);
	x_values(&x, r->values);
	x_u32(&x, 38);
	x_values(&x, "i h 0 D");
	x_u32(&x, 25);
	x_values(&x, "i h 77");
}

static void build_res(const struct row *r)
{
	x_init(&x);
	x_compound_reply(&x, 0, 3);
	x_u32(&x, r->op);
	x_values(&x, r->values);
	x_u32(&x, 25);
	x_values(&x, "0 0 D");
	x_u32(&x, 27);
	x_values(&x, "0 D");
}

static int scan_args(struct pieces p, struct ulb_scan *s)
{
	struct ulb_call c;
	int rc = x_scan_call(p.iov, p.n, &c, s);

	x_free(&p);
	return rc;
}

static bool args_ok(struct pieces p)
{
	struct ulb_scan s;

	return !scan_args(p, &s) &&
	       x_same(s.args, s.nargs, x.items, x.nitems) && s.nresults &&
	       s.results[s.nresults - 1] == 77;
}

static int scan_res(struct pieces p, struct ulb_item *items, unsigned int *n)
{
	struct ulb_call c = x_compound();
	int rc = ulb_scan_reply(&c, p.iov, p.n, NULL, 0, items, ULB_MAX_ITEMS,
				n);

	x_free(&p);
	return rc;
}

static bool res_ok(struct pieces p)
{
	struct ulb_item items[ULB_MAX_ITEMS];
	unsigned int n;

	return !scan_res(p, items, &n) && x_same(items, n, x.items, x.nitems);
}

static void expect(bool ok, const struct row *r, const char *what, size_t at)
{
	if (!ok)
		fprintf(stderr, "%s: %s at %zu\n", r->name, what, at);
	CU_ASSERT(ok);
}

static void each(const struct row *r, bool (*ok)(struct pieces))
{
	for (size_t at = 0; at <= x.len; at++)
		expect(ok(x_split(x.b, x.len, at)), r, "split", at);
	for (size_t size = 1; size < 8; size++)
		expect(ok(x_shred(x.b, x.len, size)), r, "pieces", size);
}

static void every_args(void)
{
	for (const struct row *r = args_rows; r->name; r++) {
		build_args(r, r->minor);
		each(r, args_ok);
	}
}

static void every_res(void)
{
	for (const struct row *r = res_rows; r->name; r++) {
		build_res(r);
		each(r, res_ok);
	}
}

/* A stream that ends early is one that ends early, wherever it does. */
static void short_args(void)
{
	struct ulb_scan s;

	for (const struct row *r = args_rows; r->name; r++) {
		build_args(r, r->minor);
		for (size_t len = 0; len < x.len; len++) {
			expect(scan_args(x_split(x.b, len, len), &s) ==
				       -EBADMSG,
			       r, "short", len);
			expect(!s.nargs && !s.nresults, r, "residue", len);
			expect(scan_args(x_shred(x.b, len, 3), &s) == -EBADMSG,
			       r, "short in pieces", len);
		}
	}
}

static void short_res(void)
{
	struct ulb_item items[ULB_MAX_ITEMS];
	unsigned int n;

	for (const struct row *r = res_rows; r->name; r++) {
		build_res(r);
		for (size_t len = 0; len < x.len; len++) {
			expect(scan_res(x_split(x.b, len, 0), items, &n) ==
				       -EBADMSG,
			       r, "short", len);
			expect(!n, r, "residue", len);
			expect(scan_res(x_shred(x.b, len, 5), items, &n) ==
				       -EBADMSG,
			       r, "short in pieces", len);
		}
	}
}

/* No operation is missing from the tables above. */
static void complete(void)
{
	bool a[76] = { false }, s[76] = { false };

	for (const struct row *r = args_rows; r->name; r++)
		a[r->op] = true;
	for (const struct row *r = res_rows; r->name; r++)
		if (r->op < 76)
			s[r->op] = true;
	for (unsigned int op = 3; op < 76; op++) {
		CU_ASSERT(a[op]);
		CU_ASSERT(s[op]);
	}
}

/* An operation of a later minor version ends the scan; so does an unknown. */
static void minor_versions(void)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v;

	for (const struct row *r = args_rows; r->name; r++) {
		/* OPEN has arms of later versions, but is of all of them */
		uint32_t first = r->op == 18 ? 0 : r->minor;

		for (uint32_t m = 0; m < 4; m++) {
			build_args(r, m);
			v = (struct iovec){ x.b, x.len };
			CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
			CU_ASSERT_EQUAL(c.minor, m);
			if (m >= first && m < 3) {
				expect(x_same(s.args, s.nargs, x.items,
					      x.nitems),
				       r, "minor", m);
				continue;
			}
			expect(!s.nargs && !s.nresults, r, "minor", m);
			expect(!s.reply_max, r, "bound of minor", m);
		}
	}
}

static void unknown_op(void)
{
	static const uint32_t ops[] = { 0,     1,	    2,
					76,    77,	    10043,
					10044, 0x80000000u, UINT32_MAX };
	struct ulb_item items[ULB_MAX_ITEMS];
	struct ulb_call c = x_compound();
	struct ulb_scan s;
	struct iovec v;
	unsigned int n;
	uint32_t chunk[2] = { 0, 0 };
	size_t origin;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		x_init(&x);
		x_compound_call(&x, 2, 4);
		x_u32(&x, 38);
		x_values(&x, "i h 0 D");
		origin = x.len;
		x_u32(&x, 27);
		x_u32(&x, ops[i]);
		x_u32(&x, 38);
		x_values(&x, "i h 0 4 u");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
		CU_ASSERT(x_same(s.args, s.nargs, x.items, 1));
		CU_ASSERT_EQUAL(s.nresults, 1);
		CU_ASSERT_EQUAL(s.results[0], 4096);
		CU_ASSERT_EQUAL(s.origins[0], origin);
		CU_ASSERT_EQUAL(s.reply_max, 0);

		x_init(&x);
		x_compound_reply(&x, 0, 3);
		x_values(&x, "25 0 0 D");
		x_u32(&x, ops[i]);
		x_values(&x, "10044 25 0 0 4 u");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(
			ulb_scan_reply(&c, &v, 1, NULL, 0, items, 16, &n), 0);
		if (ops[i] == 10044) {
			CU_ASSERT_EQUAL(n, 2);
			continue;
		}
		CU_ASSERT(x_same(items, n, x.items, 1));
		/* Data that cannot be put anywhere must not be lost. */
		chunk[0] = UINT32_MAX;
		chunk[1] = 4;
		CU_ASSERT_EQUAL(ulb_scan_reply(&c, &v, 1, chunk, 2, items, 16,
					       &n),
				-EBADMSG);
		chunk[1] = 0;
		CU_ASSERT_EQUAL(
			ulb_scan_reply(&c, &v, 1, chunk, 2, items, 16, &n), 0);
	}
}

/* Discriminants that no arm has, by the place of their word from the end. */
static void refused(void)
{
	static const struct row bad_args[] = {
		{ 18, 0, "OPEN createmode", "u u u h s 1 4 f 0 s" },
		{ 18, 0, "OPEN claim", "u u u h s 0 7 i" },
		{ 40, 1, "BACKCHANNEL_CTL flavor", "u 1 5" },
		{ 42, 1, "EXCHANGE_ID protect", "v s u 3 0" },
		{ 56, 1, "WANT_DELEGATION claim", "u 0" },
		{ 61, 2, "COPY_NOTIFY netloc", "i 0 s" },
	};
	static const struct row bad_res[] = {
		{ 18, 0, "OPEN delegation", "0 i c u b 6" },
		{ 18, 0, "OPEN limit", "0 i c u b 2 i 0 3 h u u u s" },
		{ 26, 0, "READDIR bool", "0 v 2 h s f 0 0" },
		{ 42, 1, "EXCHANGE_ID protect", "0 h u u 3 h s s 0" },
		{ 46, 1, "GET_DIR_DELEGATION", "0 2 1" },
		{ 49, 1, "LAYOUTCOMMIT bool", "0 2" },
		{ 51, 1, "LAYOUTRETURN bool", "0 2 i" },
		{ 61, 2, "COPY_NOTIFY netloc", "0 t i 1 4 s" },
	};
	struct ulb_item items[ULB_MAX_ITEMS];
	struct ulb_scan s;
	unsigned int n;

	for (size_t i = 0; i < sizeof(bad_args) / sizeof(bad_args[0]); i++) {
		build_args(&bad_args[i], 2);
		expect(scan_args(x_split(x.b, x.len, 0), &s) == -EBADMSG,
		       &bad_args[i], "arguments taken", 0);
	}
	for (size_t i = 0; i < sizeof(bad_res) / sizeof(bad_res[0]); i++) {
		build_res(&bad_res[i]);
		expect(scan_res(x_split(x.b, x.len, 0), items, &n) == -EBADMSG,
		       &bad_res[i], "results taken", 0);
	}
}

/* Counts far beyond the input end with the input. */
static void huge_counts(void)
{
	static const struct row bombs[] = {
		{ 55, 1, "TEST_STATEID", "4294967295 i" },
		{ 9, 0, "GETATTR", "4294967295 u" },
		{ 42, 1, "EXCHANGE_ID", "v s u 2 b b 4294967295 s" },
		{ 43, 1, "CREATE_SESSION", "h u u u u u u u u 4294967295" },
		{ 40, 1, "BACKCHANNEL_CTL", "u 4294967295 0 0 0" },
		{ 60, 2, "COPY", "i i h h h 1 0 4294967295 1 s" },
		{ 15, 0, "LOOKUP", "4294967295" },
		{ 38, 0, "WRITE", "i h 0 4294967295" },
		{ 38, 0, "WRITE", "i h 0 4294967293" },
	};
	struct ulb_call c = x_compound();
	struct ulb_item items[ULB_MAX_ITEMS];
	struct ulb_scan s;
	struct iovec v;
	unsigned int n;

	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		x_init(&x);
		x_compound_call(&x, 2, 1);
		x_u32(&x, bombs[i].op);
		x_values(&x, bombs[i].values);
		expect(scan_args(x_split(x.b, x.len, 0), &s) == -EBADMSG,
		       &bombs[i], "taken", 0);
	}
	x_init(&x);
	x_compound_call(&x, 2, UINT32_MAX);
	for (int i = 0; i < 1000; i++)
		x_u32(&x, 10); /* GETFH has no arguments at all */
	CU_ASSERT_EQUAL(scan_args(x_split(x.b, x.len, 0), &s), -EBADMSG);
	x_init(&x);
	x_compound_reply(&x, 0, UINT32_MAX);
	for (int i = 0; i < 1000; i++)
		x_values(&x, "22 0");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(ulb_scan_reply(&c, &v, 1, NULL, 0, items, 16, &n),
			-EBADMSG);
}

/* Places are for the first items; what has none is neither lost nor counted. */
static void many_items(void)
{
	struct ulb_item items[40];
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v;
	unsigned int n;
	size_t few;

	x_init(&x);
	x_compound_call(&x, 1, 40);
	for (int i = 0; i < 20; i++)
		x_values(&x, "38 i h 0 D 25 i h 1000");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
	CU_ASSERT_EQUAL(s.nresults, ULB_MAX_ITEMS);
	CU_ASSERT(x_same(s.args, s.nargs, x.items, ULB_MAX_ITEMS));
	/* Four of the data items stay in the Reply. */
	few = s.reply_max;
	CU_ASSERT(few >= 4 * 1000 + 20 * (16 + 24));

	x_init(&x);
	x_compound_reply(&x, 0, 20);
	for (int i = 0; i < 20; i++)
		x_values(&x, "25 0 0 D");
	v = (struct iovec){ x.b, x.len };
	for (unsigned int max = 0; max < 40; max += 3) {
		CU_ASSERT_EQUAL(
			ulb_scan_reply(&c, &v, 1, NULL, 0, items, max, &n), 0);
		CU_ASSERT(x_same(items, n, x.items, max < 20 ? max : 20));
	}
}

/* What may be made smaller, as far as the stream goes. */
static void bulks(void)
{
	struct ulb_bulk want[6] = {
		{ .kind = ULB_BULK_READ, .count = 111, .nth = 0 },
		{ .kind = ULB_BULK_WRITE, .nth = 1 },
		{ .kind = ULB_BULK_LIST, .count = 222, .nth = 2 },
		{ .kind = ULB_BULK_READ, .count = 333, .nth = 2 },
		{ .kind = ULB_BULK_LIST, .count = 444, .nth = 3 },
		{ .kind = ULB_BULK_WRITE, .count = 70000000, .nth = 3 },
	};
	struct ulb_bulk b[6];

	x_init(&x);
	x_compound_call(&x, 2, 9);
	x_values(&x, "22 s 25 i h 111");
	want[0].at = (uint32_t)x.len - 4;
	x_values(&x, "38 i h 2 D");
	want[1].at = x.items[0].position - 4;
	want[1].count = x.items[0].length;
	x_values(&x, "27 26 h v 5 222");
	want[2].at = (uint32_t)x.len - 4;
	x_values(&x, "b 25 i h 333");
	want[3].at = (uint32_t)x.len - 4;
	x_values(&x, "68 i h 444");
	want[4].at = (uint32_t)x.len - 4;
	/* Of its data a little, or nothing, is there. */
	x_values(&x, "38 i h 2 70000000");
	want[5].at = (uint32_t)x.len - 4;
	x_fill(&x, 99);
	for (size_t len = 0; len <= x.len; len++) {
		struct pieces p = x_split(x.b, len, len / 3);
		unsigned int n = x_scan_bulk(p.iov, p.n, b, 6), k = 0;

		x_free(&p);
		while (k < 6 && want[k].at + 4 <= len)
			k++;
		CU_ASSERT_EQUAL(n, k);
		for (unsigned int i = 0; i < n && i < 6; i++) {
			CU_ASSERT_EQUAL(b[i].kind, want[i].kind);
			CU_ASSERT_EQUAL(b[i].at, want[i].at);
			CU_ASSERT_EQUAL(b[i].count, want[i].count);
			CU_ASSERT_EQUAL(b[i].nth, want[i].nth);
			CU_ASSERT_EQUAL(b[i].also, 0);
		}
	}
	/* Not one more than there is room for is told, but counted. */
	memset(b, 0, sizeof(b));
	CU_ASSERT_EQUAL(x_scan_bulk(&(struct iovec){ x.b, x.len }, 1, b, 2), 6);
	CU_ASSERT_EQUAL(b[1].at, want[1].at);
	CU_ASSERT_EQUAL(b[2].at, 0);
}

static const struct unit_test tests[] = {
	{ "every argument", every_args },
	{ "every result", every_res },
	{ "short arguments", short_args },
	{ "short results", short_res },
	{ "complete", complete },
	{ "minor versions", minor_versions },
	{ "unknown operations", unknown_op },
	{ "refused discriminants", refused },
	{ "huge counts", huge_counts },
	{ "many items", many_items },
	{ "bulk", bulks },
	{ NULL, NULL },
};

UNIT_MAIN("ulb NFSv4", tests)
