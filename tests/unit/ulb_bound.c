/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_bound - the bound of a COMPOUND's Reply, and what the hot paths see
 */
#include "ulb_rows.h"
#include "ulb_xdr.h"

static struct xdr x;

static size_t bound(uint32_t op, const char *args)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v;

	x_init(&x);
	x_compound_call(&x, 2, 1);
	x_u32(&x, op);
	x_values(&x, args);
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
	return s.reply_max;
}

/* No Reply in the tables is longer than the bound of its Call. */
static void every_op(void)
{
	size_t max;

	for (const struct row *a = args_rows; a->name; a++) {
		max = bound(a->op, a->values);
		if (!max)
			continue;
		/* Replies are of whole words, so the longest is. */
		CU_ASSERT_EQUAL(max % 4, 0);
		for (const struct row *r = res_rows; r->name; r++) {
			if (r->op != a->op)
				continue;
			x_init(&x);
			x_compound_reply(&x, 0, 1);
			x_u32(&x, r->op);
			x_values(&x, r->values);
			if (x.len > max)
				fprintf(stderr, "%s: %zu > %zu\n", r->name,
					x.len, max);
			CU_ASSERT(x.len <= max);
		}
	}
}

/* Operations on files always have a bound, and one worth having. */
static void usual(void)
{
	/* The Linux client's PUTFH, READ; LOOKUP, GETFH, GETATTR; and OPEN */
	CU_ASSERT(bound(25, "i h 1048576") > 0);
	CU_ASSERT(bound(25, "i h 1048576") < 1024);
	CU_ASSERT(bound(9, "3 1048858 11575866 0") > 500);
	CU_ASSERT(bound(9, "3 1048858 11575866 0") < 2048);
	CU_ASSERT(bound(18, "u u u h s 0 0 s") < 2048);
	CU_ASSERT(bound(26, "h v 512 4096 b") >= 4096);
	CU_ASSERT(bound(26, "h v 512 4096 b") < 8192);
	CU_ASSERT(bound(68, "i h 65536") >= 65536);
	CU_ASSERT(bound(42, "v s u 0 0") > 0);
	CU_ASSERT(bound(42, "v s u 1 b b 1 s s t") > 0);
	CU_ASSERT(bound(50, "0 1 2 h h h i 65536") >= 65536);
	CU_ASSERT(bound(55, "3 i i i") >= 24 + 16 + 4 + 12);
}

static void unbounded(void)
{
	/* acl; fs_locations; dacl; sacl; fs_locations_info; sec_label */
	CU_ASSERT_EQUAL(bound(9, "1 4096"), 0);
	CU_ASSERT_EQUAL(bound(9, "1 16777216"), 0);
	CU_ASSERT_EQUAL(bound(9, "2 0 67108864"), 0);
	CU_ASSERT_EQUAL(bound(9, "2 0 134217728"), 0);
	CU_ASSERT_EQUAL(bound(9, "3 0 0 8"), 0);
	CU_ASSERT_EQUAL(bound(9, "3 0 0 65536"), 0);
	/* An attribute of the future */
	CU_ASSERT_EQUAL(bound(9, "3 0 0 2147483648"), 0);
	CU_ASSERT_EQUAL(bound(9, "4 0 0 0 1"), 0);
	CU_ASSERT_EQUAL(bound(9, "9 0 0 0 0 0 0 0 0 1"), 0);
	CU_ASSERT(bound(9, "9 0 0 0 0 0 0 0 0 0") > 0);
	/* Counts that no stream can hold */
	CU_ASSERT_EQUAL(bound(26, "h v 512 4294967295 b"), 0);
	CU_ASSERT_EQUAL(bound(48, "1 4294967295 h v"), 0);
	CU_ASSERT_EQUAL(bound(50, "0 1 2 h h h i 4294967295"), 0);
	/* Nothing in the arguments limits these. */
	CU_ASSERT_EQUAL(bound(42, "v s u 2 b b 2 s s 3 s s s u u 1 s s t"), 0);
	CU_ASSERT_EQUAL(bound(72, "s"), 0);
	CU_ASSERT_EQUAL(bound(61, "i 1 s"), 0);
}

/* One unbounded operation leaves the COMPOUND without a bound. */
static void sum(void)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v;
	size_t one;

	one = bound(26, "h v 512 4096 b");
	x_init(&x);
	x_compound_call(&x, 2, 2);
	x_values(&x, "26 h v 512 4096 b 26 h v 512 8192 b");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
	CU_ASSERT(s.reply_max >= one + 8192);
	for (int first = 0; first < 2; first++) {
		x_init(&x);
		x_compound_call(&x, 2, 3);
		x_values(&x, first ? "72 s 10 10" : "10 10 72 s");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
		CU_ASSERT_EQUAL(s.reply_max, 0);
	}
}

/* A tag comes back, so it counts. */
static void tag(void)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v;
	size_t with[2];

	for (unsigned int k = 0; k < 2; k++) {
		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 4, 1);
		x_opaque(&x, k ? 1001 : 0);
		x_values(&x, "0 1 10");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
		with[k] = s.reply_max;
	}
	CU_ASSERT_EQUAL(with[1] - with[0], 1004);
}

/*
 * COMPOUNDs of the Linux client: a session's read of a page range and write,
 * a walk to a link, and what their Replies look like.
 */
static void linux_client(void)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct ulb_item items[4];
	struct iovec v;
	unsigned int n;

	x_init(&x);
	x_compound_call(&x, 1, 3);
	x_values(&x, "53 n u u u 0 22 s 25 i h 1048576");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
	CU_ASSERT_EQUAL(s.nargs, 0);
	CU_ASSERT_EQUAL(s.nresults, 1);
	CU_ASSERT_EQUAL(s.results[0], 1048576);
	CU_ASSERT(s.reply_max > 0 && s.reply_max < 1024);

	x_init(&x);
	x_compound_reply(&x, 0, 3);
	x_values(&x, "53 0 n u u u u u 22 0 25 0 1 D");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(ulb_scan_reply(&c, &v, 1, NULL, 0, items, 4, &n), 0);
	CU_ASSERT(x_same(items, n, x.items, x.nitems));

	x_init(&x);
	x_compound_call(&x, 2, 4);
	x_values(&x, "53 n u u u 1 22 s 38 i h 0 D 9 2 24 3145728");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
	CU_ASSERT(x_same(s.args, s.nargs, x.items, x.nitems));
	CU_ASSERT_EQUAL(s.nresults, 0);
	CU_ASSERT(s.reply_max > 0);

	x_init(&x);
	x_compound_call(&x, 2, 7);
	x_values(&x, "53 n u u u 1 22 s 32 6 5 D s f 10 9 b 31");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
	CU_ASSERT(x_same(s.args, s.nargs, x.items, x.nitems));

	x_init(&x);
	x_compound_reply(&x, 0, 5);
	x_values(&x, "53 0 n u u u u u 22 0 15 0 27 0 D 9 0 f");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(ulb_scan_reply(&c, &v, 1, NULL, 0, items, 4, &n), 0);
	CU_ASSERT(x_same(items, n, x.items, x.nitems));
}

static const struct unit_test tests[] = {
	{ "every operation", every_op },
	{ "usual", usual },
	{ "unbounded", unbounded },
	{ "sum", sum },
	{ "tag", tag },
	{ "COMPOUNDs of the Linux client", linux_client },
	{ NULL, NULL },
};

UNIT_MAIN("ulb bounds", tests)
