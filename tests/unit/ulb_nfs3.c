/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_nfs3 - the items of NFSv3 procedures (RFC 1813)
 */
#include "ulb_xdr.h"

static struct xdr x;

/* fattr3, wcc_attr */
#define ATTR "u u u u u h h u u h h u u u u u u"
#define FH "s"

static const struct {
	uint32_t proc;
	const char *args;
	unsigned int nresults;
	uint32_t result;
} calls[] = {
	{ 0, "", 0, 0 },
	{ 1, FH, 0, 0 },
	{ 2, FH " 0 0 0 0 0 0 0", 0, 0 },
	{ 3, FH " s", 0, 0 },
	{ 4, FH " u", 0, 0 },
	{ 5, FH, 1, 4096 },
	{ 6, FH " h 65536", 1, 65536 },
	{ 6, FH " h 0", 1, 0 },
	{ 6, FH " h 4294967295", 1, UINT32_MAX },
	{ 7, FH " h 5 2 D", 0, 0 },
	{ 8, FH " s 0 0 0 0 0 0 0", 0, 0 },
	{ 9, FH " s 0 0 0 0 0 0", 0, 0 },
	{ 10, FH " s 0 0 0 0 0 0 D", 0, 0 },
	{ 10, FH " s 1 u 1 u 1 u 1 h 1 1 D", 0, 0 },
	{ 10, FH " s 0 1 u 0 1 h 2 u u 0 D", 0, 0 },
	{ 10, FH " s 1 u 0 0 0 0 2 u u D", 0, 0 },
	{ 11, FH " s 4 0 0 0 0 0 0 u u", 0, 0 },
	{ 12, FH " s", 0, 0 },
	{ 13, FH " s", 0, 0 },
	{ 14, FH " s " FH " s", 0, 0 },
	{ 15, FH " " FH " s", 0, 0 },
	{ 16, FH " h v 8192", 0, 0 },
	{ 17, FH " h v 8192 32768", 0, 0 },
	{ 18, FH, 0, 0 },
	{ 19, FH, 0, 0 },
	{ 20, FH, 0, 0 },
	{ 21, FH " h u", 0, 0 },
};
#define NCALLS (sizeof(calls) / sizeof(calls[0]))

static int scan(struct pieces p, struct ulb_scan *s)
{
	struct ulb_call c;
	int rc = x_scan_call(p.iov, p.n, &c, s);

	x_free(&p);
	return rc;
}

static void args(void)
{
	struct ulb_scan s;
	size_t head;

	for (size_t i = 0; i < NCALLS; i++) {
		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 3, calls[i].proc);
		head = x.len;
		x_values(&x, calls[i].args);
		for (size_t at = 0; at <= x.len; at++) {
			CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, at), &s), 0);
			CU_ASSERT(x_same(s.args, s.nargs, x.items, x.nitems));
			CU_ASSERT_EQUAL(s.nresults, calls[i].nresults);
			if (s.nresults) {
				CU_ASSERT_EQUAL(s.results[0], calls[i].result);
				CU_ASSERT_EQUAL(s.origins[0], head);
			}
			CU_ASSERT(s.reply_max >= 24);
		}
		CU_ASSERT_EQUAL(scan(x_shred(x.b, x.len, 1), &s), 0);
		CU_ASSERT(x_same(s.args, s.nargs, x.items, x.nitems));
		if (!x.nitems && !calls[i].nresults)
			continue;
		for (size_t len = head; len < x.len; len++)
			CU_ASSERT_EQUAL(scan(x_split(x.b, len, len), &s),
					-EBADMSG);
	}
	/* No such procedure */
	x_init(&x);
	x_call(&x, ULB_PROG_NFS, 3, 22);
	CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, 0), &s), 0);
	CU_ASSERT(!s.nargs && !s.nresults && !s.reply_max);
	/* set_mode3 of neither TRUE nor FALSE */
	x_init(&x);
	x_call(&x, ULB_PROG_NFS, 3, 10);
	x_values(&x, FH " s 2 0 0 0 0 0 D");
	CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, 0), &s), -EBADMSG);
}

static const struct {
	uint32_t proc;
	const char *res;
	int rc;
} replies[] = {
	{ 6, "0 1 " ATTR " 9 1 D", 0 },
	{ 6, "0 0 9 0 D", 0 },
	{ 6, "0 0 0 1 D", 0 },
	{ 6, "5 1 " ATTR " -", 0 },
	{ 6, "70 0 -", 0 },
	{ 6, "0 2 9 0 D", -EBADMSG },
	{ 5, "0 1 " ATTR " D", 0 },
	{ 5, "0 0 D", 0 },
	{ 5, "22 0 -", 0 },
	{ 7, "0 0 0 u 2 v", 0 },
	{ 1, "0 " ATTR, 0 },
	{ 17, "0 0 v 0 1", 0 },
	{ 3, "0 s 0 0", 0 },
};

static int reply(const struct ulb_call *c, struct pieces p,
		 const uint32_t *chunk, struct ulb_item *items, unsigned int *n)
{
	int rc = ulb_scan_reply(c, p.iov, p.n, chunk, chunk ? 1 : 0, items, 4,
				n);

	x_free(&p);
	return rc;
}

static void results(void)
{
	struct ulb_item items[4];
	struct ulb_call c;
	unsigned int n;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		c = x_nfs3(replies[i].proc);
		x_init(&x);
		x_reply(&x);
		x_values(&x, replies[i].res);
		for (size_t at = 0; at <= x.len; at++) {
			CU_ASSERT_EQUAL(reply(&c, x_split(x.b, x.len, at), NULL,
					      items, &n),
					replies[i].rc);
			if (!replies[i].rc)
				CU_ASSERT(x_same(items, n, x.items, x.nitems));
		}
		CU_ASSERT_EQUAL(reply(&c, x_shred(x.b, x.len, 1), NULL, items,
				      &n),
				replies[i].rc);
		if (!x.nitems || !x.items[0].present)
			continue;
		for (size_t len = 0; len < x.len; len++)
			CU_ASSERT_EQUAL(reply(&c, x_split(x.b, len, 0), NULL,
					      items, &n),
					-EBADMSG);
	}
}

/* The same results with their data in a Write chunk. */
static void reduced(void)
{
	static const bool yes = true;
	struct ulb_item items[4];
	struct ulb_call c;
	unsigned int n;
	uint32_t chunk, len;

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
		if (replies[i].rc)
			continue;
		c = x_nfs3(replies[i].proc);
		x_init(&x);
		x.reduced = &yes;
		x.nreduced = 1;
		x_reply(&x);
		x_values(&x, replies[i].res);
		len = x.nitems ? x.items[0].length : 0;
		chunk = len;
		for (size_t at = 0; at <= x.len; at++) {
			CU_ASSERT_EQUAL(reply(&c, x_split(x.b, x.len, at),
					      &chunk, items, &n),
					0);
			CU_ASSERT(x_same(items, n, x.items, x.nitems));
		}
		chunk = len + 1;
		CU_ASSERT_EQUAL(reply(&c, x_split(x.b, x.len, 0), &chunk, items,
				      &n),
				x.nitems && !len ? 0 : -EBADMSG);
		if (!len)
			continue;
		/* Data neither here nor there */
		chunk = 0;
		CU_ASSERT_EQUAL(reply(&c, x_split(x.b, x.len, 0), &chunk, items,
				      &n),
				-EBADMSG);
		chunk = UINT32_MAX;
		CU_ASSERT_EQUAL(reply(&c, x_split(x.b, x.len, 0), &chunk, items,
				      &n),
				-EBADMSG);
	}
	/* READ at the end of the file: nothing, in a chunk or inline */
	c = x_nfs3(6);
	x_init(&x);
	x_reply(&x);
	x_values(&x, "0 0 0 1 0");
	for (int k = 0; k < 2; k++) {
		chunk = k ? UINT32_MAX : 0;
		CU_ASSERT_EQUAL(reply(&c, x_split(x.b, x.len, 0), &chunk, items,
				      &n),
				0);
		CU_ASSERT_EQUAL(n, 1);
		CU_ASSERT(items[0].present);
		CU_ASSERT_EQUAL(items[0].length, 0);
		CU_ASSERT_EQUAL(items[0].position, x.len);
	}
}

/* The bound is never less than the longest result of its kind. */
static void bounds(void)
{
	static const struct {
		uint32_t proc;
		const char *args;
		size_t longest;
	} t[] = {
		{ 1, FH, 4 + 84 },
		{ 2, FH " 0 0 0 0 0 0 0", 4 + 28 + 88 },
		{ 3, FH " s", 4 + 68 + 88 + 88 },
		{ 5, FH, 4 + 88 + 4 },
		{ 6, FH " h 4294967295", 4 + 88 + 12 },
		{ 8, FH " s 0 0 0 0 0 0 0", 4 + 72 + 88 + 116 },
		{ 14, FH " s " FH " s", 4 + 2 * 116 },
		{ 16, FH " h v 8192", 4 + 8192 },
		{ 17, FH " h v 512 32768", 4 + 32768 },
		{ 18, FH, 4 + 88 + 52 },
	};
	struct ulb_scan s;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 3, t[i].proc);
		x_values(&x, t[i].args);
		CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, 0), &s), 0);
		CU_ASSERT(s.reply_max >= 24 + t[i].longest);
		CU_ASSERT(s.reply_max <= 24 + t[i].longest + 1024);
	}
	/* More than a stream can hold */
	x_init(&x);
	x_call(&x, ULB_PROG_NFS, 3, 17);
	x_values(&x, FH " h v 512 4294967295");
	CU_ASSERT_EQUAL(scan(x_split(x.b, x.len, 0), &s), 0);
	CU_ASSERT_EQUAL(s.reply_max, 0);
}

static unsigned int bulk(size_t len, struct ulb_bulk *b)
{
	struct pieces p = x_split(x.b, len, len / 2);
	unsigned int n = x_scan_bulk(p.iov, p.n, b, 1);

	x_free(&p);
	return n;
}

/* What may be made smaller; a WRITE also without its data. */
static void bulks(void)
{
	static const struct {
		uint32_t proc;
		const char *args;
		enum ulb_bulk_kind kind;
		uint32_t count;
		unsigned int back; /* from the end to the word */
	} t[] = {
		{ 6, FH " h 65536", ULB_BULK_READ, 65536, 4 },
		{ 16, FH " h v 8192", ULB_BULK_LIST, 8192, 4 },
		{ 17, FH " h v 8192 32768", ULB_BULK_LIST, 32768, 4 },
		{ 7, FH " h 5000000 2 5000000", ULB_BULK_WRITE, 5000000, 4 },
	};
	struct ulb_bulk b;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		size_t at;

		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 3, t[i].proc);
		x_values(&x, t[i].args);
		at = x.len - t[i].back;
		for (size_t len = 0; len <= x.len; len++) {
			unsigned int n = bulk(len, &b);

			CU_ASSERT_EQUAL(n, len >= at + 4);
			if (!n)
				continue;
			CU_ASSERT_EQUAL(b.kind, t[i].kind);
			CU_ASSERT_EQUAL(b.at, at);
			CU_ASSERT_EQUAL(b.count, t[i].count);
			CU_ASSERT_EQUAL(b.also, t[i].proc == 7 ? at - 8 : 0);
			CU_ASSERT_EQUAL(b.nth, 0);
		}
	}
	for (uint32_t proc = 0; proc < 30; proc++) {
		if (proc == 6 || proc == 7 || proc == 16 || proc == 17)
			continue;
		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 3, proc);
		x_values(&x, FH " h v u u u u");
		CU_ASSERT_EQUAL(bulk(x.len, &b), 0);
	}
}

/* Where the arguments of what changes something end, whatever is behind them. */
static void ends(void)
{
	static const struct {
		uint32_t proc;
		const char *args;
	} rows[] = {
		{ 2, "s 1 u 0 1 u 1 h 1 2 h 1 h" }, /* SETATTR */
		{ 2, "s 0 0 0 0 0 0 0" },
		{ 7, "s h u u s" }, /* WRITE */
		{ 8, "s s 0 0 1 u 0 0 2 h 0" }, /* CREATE */
		{ 8, "s s 1 0 0 0 1 h 0 0" },
		{ 8, "s s 2 h" },
		{ 9, "s s 1 u 1 u 1 u 1 h 2 h 2 h" }, /* MKDIR */
		{ 10, "s s 0 0 0 0 0 0 s" }, /* SYMLINK */
		{ 11, "s s 3 0 0 0 0 0 0 h" }, /* MKNOD */
		{ 11, "s s 4 0 0 0 0 0 0 h" },
		{ 11, "s s 6 0 0 0 0 0 0" },
		{ 11, "s s 7 0 0 0 0 0 0" },
		{ 11, "s s 1" },
		{ 12, "s s" }, /* REMOVE */
		{ 13, "s s" },
		{ 14, "s s s s" }, /* RENAME */
		{ 15, "s s s" }, /* LINK */
	};
	struct ulb_call c = { .nfs = true, .vers = 3 };
	struct pieces p;
	size_t len, end;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		c.proc = rows[i].proc;
		x_init(&x);
		x_values(&x, "u");
		x_values(&x, rows[i].args);
		len = x.len;
		x_values(&x, "s u h");
		for (size_t size = 1; size < 9; size++) {
			p = x_shred(x.b, x.len, size);
			CU_ASSERT_TRUE(ulb_args_end(p.iov, p.n, 4, &c, &end));
			CU_ASSERT_EQUAL(end, len);
			x_free(&p);
		}
		for (size_t cut = 0; cut < len; cut++) {
			p = x_split(x.b, cut, cut / 2);
			CU_ASSERT_FALSE(ulb_args_end(p.iov, p.n, 4, &c, &end));
			x_free(&p);
		}
	}
	/* READ; another version; another program */
	p = x_split(x.b, x.len, 4);
	c.proc = 6;
	CU_ASSERT_FALSE(ulb_args_end(p.iov, p.n, 4, &c, &end));
	c.proc = 12;
	CU_ASSERT_TRUE(ulb_args_end(p.iov, p.n, 4, &c, &end));
	c.nfs = false;
	CU_ASSERT_FALSE(ulb_args_end(p.iov, p.n, 4, &c, &end));
	x_free(&p);
	/* COMPOUND */
	c = (struct ulb_call){ .nfs = true, .vers = 4, .proc = 1 };
	x_init(&x);
	x_values(&x, "s 0 3 24 26 h h 5 5 0 9 1 u");
	len = x.len;
	x_values(&x, "u");
	p = x_split(x.b, x.len, 8);
	CU_ASSERT_TRUE(ulb_args_end(p.iov, p.n, 0, &c, &end));
	CU_ASSERT_EQUAL(end, len);
	x_free(&p);
	p = x_split(x.b, len - 4, 8);
	CU_ASSERT_FALSE(ulb_args_end(p.iov, p.n, 0, &c, &end));
	x_free(&p);
}

static const struct unit_test tests[] = {
	{ "arguments", args }, { "results", results }, { "reduced", reduced },
	{ "bounds", bounds },  { "bulk", bulks },      { "ends", ends },
	{ NULL, NULL },
};

UNIT_MAIN("ulb NFSv3", tests)
