/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_reads - which Read chunks a Responder takes (7.3.1, A.1) [E3]
 */
#include "ulb_rows.h"
#include "ulb_xdr.h"

#define MOST 8

static struct xdr x;

#define MISFIT 1000

/* @n chunks have been taken out of x; 0: taken, MISFIT, else 1 + how many may
 * be. */
static unsigned int judge(const struct ulb_read *r, unsigned int n,
			  unsigned int size)
{
	static uint8_t b[X_MAX];
	struct iovec whole = { x.b, x.len };
	unsigned int most = 99;
	size_t len = 0, at = 0;
	struct ulb_call c, d;
	struct pieces p;
	bool ok, misfit = true;

	for (unsigned int i = 0; i < n; i++) {
		size_t end = r[i].position + ((r[i].length + 3) & ~3u);

		memcpy(b + len, x.b + at, r[i].position - at);
		len += r[i].position - at;
		at = end < x.len ? end : x.len;
	}
	memcpy(b + len, x.b + at, x.len - at);
	len += x.len - at;
	p = x_shred(b, len, size);
	ulb_call_head(p.iov, p.n, &c);
	ok = ulb_take_reads(p.iov, p.n, &c, r, n, n, MOST, &most, &misfit);
	x_free(&p);
	CU_ASSERT(most <= MOST);
	/* What has been found so far is what would be found in the end. */
	if (misfit)
		whole = (struct iovec){ b, len };
	ulb_classify(&whole, 1, &c);
	(void)x_classify(&whole, 1, &d);
	CU_ASSERT(!ok || !memcmp(&c, &d, sizeof(c)));
	if (ok)
		return misfit ? MISFIT : 0;
	return 1 + most;
}

static bool fits(uint32_t item, uint32_t chunk)
{
	return chunk == item || chunk == ((item + 3) & ~3u);
}

/* One chunk, anywhere in x and of any length. */
static void anywhere(unsigned int most)
{
	for (uint32_t at = 4; at <= x.len; at += 4) {
		const struct ulb_item *item = NULL;

		for (unsigned int i = 0; i < x.nitems; i++)
			if (x.items[i].position == at)
				item = &x.items[i];
		for (uint32_t len = 0; at + len <= x.len;
		     len += len < 32 || at + len + 28 > x.len ? 4 : 28) {
			struct ulb_read r = { at, len };
			unsigned int got = judge(&r, 1, len % 3 ? 5 : 4096);

			if (!item || !most)
				CU_ASSERT_EQUAL(got, 1)
			else
				/* 4.5.3.1, [C9] */
				CU_ASSERT_EQUAL(got, fits(item->length, len) ?
							     0 :
							     MISFIT)
		}
	}
}

static void nfs3(void)
{
	static const char *const args[22] = {
		[1] = "s",
		[2] = "s 1 u 0 0 0 0 0 0",
		[3] = "s s",
		[4] = "s u",
		[5] = "s",
		[6] = "s h u",
		[7] = "s h u 2 D",
		[8] = "s s 1 0 0 0 0 0 0",
		[9] = "s s 0 0 0 0 0 0",
		[10] = "s s 1 u 0 0 0 0 0 D",
		[12] = "s s",
		[14] = "s s s s",
		[15] = "s s s",
		[16] = "s h v u",
		[17] = "s h v u u",
	};

	for (uint32_t proc = 0; proc < 22; proc++) {
		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 3, proc);
		x_values(&x, args[proc] ? args[proc] : "s");
		anywhere(proc == 7 || proc == 10);
	}
}

/* Other programs and versions have none. */
static void others(void)
{
	static const uint32_t progs[][2] = {
		{ ULB_PROG_NFS, 2 }, { ULB_PROG_NFS, 5 }, { 100005, 3 },
		{ 100021, 4 },	     { 100227, 3 },	  { 0x40000000, 1 },
	};

	for (size_t i = 0; i < sizeof(progs) / sizeof(*progs); i++) {
		for (uint32_t proc = 0; proc < 10; proc++) {
			x_init(&x);
			x_call(&x, progs[i][0], progs[i][1], proc);
			x_values(&x, "s h u 2 D");
			anywhere(0);
		}
	}
}

/* Each operation, in each minor version, between two others. */
static void nfs4(void)
{
	for (uint32_t minor = 0; minor < 3; minor++) {
		for (const struct row *r = args_rows; r->name; r++) {
			if (r->minor > minor)
				continue;
			x_init(&x);
			x_compound_call(&x, minor, 3);
			x_values(&x, "22 s");
			x_u32(&x, r->op);
			x_values(&x, r->values);
			x_values(&x, "9 b");
			anywhere(MOST);
		}
	}
}

/* What cannot be read is the program's, behind where that is. */
static void unreadable(void)
{
	static const uint32_t odd[][2] = {
		{ 0, 40 }, { 1, 59 }, { 2, 99 }, { 3, 22 }, { 0, 10044 }
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		size_t end;

		x_init(&x);
		x_compound_call(&x, odd[i][0], 3);
		if (odd[i][0] != 3)
			x_values(&x, "22 s");
		x_u32(&x, odd[i][1]);
		end = x.len;
		x_values(&x, "s s s");
		for (uint32_t at = 4; at <= x.len; at += 4) {
			struct ulb_read r = { at, 4 };

			CU_ASSERT_EQUAL(judge(&r, 1, 4096), at < end ? 1 : 0);
		}
	}
	/* Another version of RPC; a credential that is too long. */
	x_init(&x);
	x_values(&x, "7 0 3 100003 3 7 0 0 0 0 s h u 2 D");
	CU_ASSERT_EQUAL(judge(&(struct ulb_read){ 8, 4 }, 1, 4), 1);
	CU_ASSERT_EQUAL(judge(&(struct ulb_read){ 16, 4 }, 1, 4), 0);
	/* GSS, cut within what says of which kind it is: unknown, or none. */
	x_init(&x);
	x_values(&x, "7 0 2 100003 3 7 6 20 1 0 5 1 0 0 0 s h u 2 D");
	anywhere(MOST);
	for (uint32_t service = 2; service < 4; service++) {
		x_init(&x);
		x_values(&x, "7 0 2 100003 3 7 6 20 1 0 5");
		x_u32(&x, service);
		x_values(&x, "0 0 0 s h u 2 D");
		anywhere(0);
	}
}

/* Each length about that of the item, with another item behind it. */
static void lengths(void)
{
	for (uint32_t len = 0; len < 14; len++) {
		for (uint32_t chunk = 0; chunk < 24; chunk++) {
			struct ulb_read r;

			x_init(&x);
			x_compound_call(&x, 1, 3);
			x_values(&x, "22 s 38 n h 2");
			x_u32(&x, len);
			r = (struct ulb_read){ (uint32_t)x.len, chunk };
			for (uint32_t i = 0; i < (len + 3) / 4; i++)
				x_u32(&x, 0x66666666);
			x_values(&x, "10");
			CU_ASSERT_EQUAL(judge(&r, 1, 7),
					fits(len, chunk) ? 0 : MISFIT);
		}
	}
}

/* Several: all or none. */
static void several(void)
{
	bool misfit;
	struct ulb_read r[3];
	struct ulb_call c;
	unsigned int most;
	struct iovec v;

	x_init(&x);
	x_compound_call(&x, 1, 4);
	x_values(&x, "15 s 38 n h 2 D 6 5 D s f 38 n h 2 D");
	CU_ASSERT_EQUAL_FATAL(x.nitems, 3);
	for (unsigned int i = 0; i < 3; i++)
		r[i] = (struct ulb_read){ x.items[i].position,
					  x.items[i].length };
	for (unsigned int skip = 0; skip < 4; skip++) {
		struct ulb_read some[3];
		unsigned int n = 0;

		for (unsigned int i = 0; i < 3; i++)
			if (i != skip)
				some[n++] = r[i];
		CU_ASSERT_EQUAL(judge(some, n, 7), 0);
		/* One of them is elsewhere: those before it may stay. */
		for (unsigned int i = 0; i < n; i++) {
			struct ulb_read keep = some[i];

			some[i].position -= 4;
			CU_ASSERT_EQUAL(judge(some, n, 7), 1 + i);
			some[i] = keep;
		}
	}
	/* Each is compared. */
	for (unsigned int i = 0; i < 3; i++) {
		uint32_t was = r[i].length;

		r[i].length = was + 4;
		CU_ASSERT_EQUAL(judge(r, 3, 7), MISFIT);
		r[i].length = was;
	}
	/* Two for one item: the first does not hold it. */
	CU_ASSERT_FATAL(r[0].length > 4);
	r[1] = (struct ulb_read){ r[0].position + 4, 4 };
	r[0].length = 4;
	CU_ASSERT_EQUAL(judge(r, 2, 7), MISFIT);
	/* More than there may be, whatever they are: the others too. */
	x_init(&x);
	x_call(&x, ULB_PROG_NFS, 3, 7);
	x_values(&x, "s h u 2 D");
	r[0] = (struct ulb_read){ x.items[0].position, 4 };
	v = (struct iovec){ x.b, x.len };
	ulb_call_head(&v, 1, &c);
	CU_ASSERT_FALSE(
		ulb_take_reads(&v, 1, &c, r, 0, 2, MOST, &most, &misfit));
	CU_ASSERT_EQUAL(most, 1);
	CU_ASSERT_TRUE(
		ulb_take_reads(&v, 1, &c, r, 0, 1, MOST, &most, &misfit));
	CU_ASSERT_FALSE(misfit);
}

static const struct unit_test tests[] = {
	{ "NFSv3", nfs3 },	{ "other programs", others },
	{ "NFSv4", nfs4 },	{ "unreadable", unreadable },
	{ "lengths", lengths }, { "several", several },
	{ NULL, NULL },
};

UNIT_MAIN("ulb reads", tests)
