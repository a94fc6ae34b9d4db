/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record marking: every cut of the stream gives the same records.
 */
#include "unit.h"

#include "tools/record.h"

#define OUT_MAX 4096

struct seen {
	uint8_t data[OUT_MAX];
	size_t len; /* octets in all */
	size_t ends[64]; /* len at each end */
	unsigned int nends;
	bool too_long;
};

/* Feed @n octets, @step at a time. */
static void feed(struct rec *r, const uint8_t *p, size_t n, size_t step,
		 struct seen *s)
{
	for (size_t at = 0; at < n && !s->too_long;) {
		size_t part = n - at < step ? n - at : step, left = part;
		bool more = false;

		while (!more && !s->too_long) {
			const uint8_t *q = p + at + part - left;
			size_t used = SIZE_MAX;

			switch (rec_next(r, q, left, &used)) {
			case REC_MORE:
				CU_ASSERT_EQUAL_FATAL(used, left);
				more = true;
				break;
			case REC_MARK:
				CU_ASSERT_TRUE_FATAL(used > 0 && used <= left);
				break;
			case REC_DATA:
				CU_ASSERT_TRUE_FATAL(used > 0 && used <= left);
				CU_ASSERT_TRUE_FATAL(s->len + used <= OUT_MAX);
				memcpy(s->data + s->len, q, used);
				s->len += used;
				break;
			case REC_END:
				CU_ASSERT_EQUAL_FATAL(used, 0);
				s->ends[s->nends++] = s->len;
				break;
			case REC_LONG:
				s->too_long = true;
				break;
			}
			left -= used;
		}
		at += part;
	}
}

static size_t put(uint8_t *to, const char *data, bool last)
{
	size_t n = strlen(data);

	rec_mark(to, n);
	if (!last)
		to[0] &= 0x7f;
	memcpy(to + 4, data, n);
	return n + 4;
}

static void test_one(void)
{
	static const uint8_t in[] = { 0x80, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct seen s = { 0 };
	struct rec r;

	rec_init(&r, 100);
	CU_ASSERT_FALSE(rec_inside(&r));
	feed(&r, in, sizeof(in), sizeof(in), &s);
	CU_ASSERT_EQUAL(s.nends, 1);
	CU_ASSERT_EQUAL(s.len, 8);
	CU_ASSERT_EQUAL(memcmp(s.data, in + 4, 8), 0);
	CU_ASSERT_FALSE(rec_inside(&r));
}

static void test_cuts(void)
{
	uint8_t in[256];
	size_t n = 0;

	/* Three records: of one, of four fragments (one empty), empty. */
	n += put(in + n, "alone", true);
	n += put(in + n, "first ", false);
	n += put(in + n, "", false);
	n += put(in + n, "second ", false);
	n += put(in + n, "third", true);
	n += put(in + n, "", true);
	n += put(in + n, "", false);
	n += put(in + n, "last", true);
	for (size_t step = 1; step <= n; step++) {
		struct seen s = { 0 };
		struct rec r;

		rec_init(&r, 100);
		feed(&r, in, n, step, &s);
		CU_ASSERT_EQUAL(s.nends, 4);
		CU_ASSERT_EQUAL(s.ends[0], 5);
		CU_ASSERT_EQUAL(s.ends[1], 5 + 18);
		CU_ASSERT_EQUAL(s.ends[2], 5 + 18);
		CU_ASSERT_EQUAL(s.ends[3], 5 + 18 + 4);
		CU_ASSERT_EQUAL(
			memcmp(s.data, "alonefirst second thirdlast", 27), 0);
		CU_ASSERT_FALSE(rec_inside(&r));
	}
}

static void test_inside(void)
{
	uint8_t in[64];
	size_t n = 0;

	n += put(in + n, "abcd", false);
	n += put(in + n, "efgh", true);
	for (size_t cut = 1; cut < n; cut++) {
		struct seen s = { 0 };
		struct rec r;

		rec_init(&r, 100);
		feed(&r, in, cut, cut, &s);
		CU_ASSERT_TRUE(rec_inside(&r));
		CU_ASSERT_EQUAL(s.nends, 0);
	}
}

static void test_limit(void)
{
	uint8_t in[64];
	size_t n = 0;
	struct rec r;

	/* Exactly the limit, over it in one, over it by the second. */
	n = put(in, "12345678", true);
	for (size_t max = 6; max < 10; max++) {
		struct seen s = { 0 };

		rec_init(&r, max);
		feed(&r, in, n, 3, &s);
		CU_ASSERT_EQUAL(s.too_long, max < 8);
		CU_ASSERT_EQUAL(s.nends, max >= 8);
	}
	n = put(in, "1234", false);
	n += put(in + n, "5678", true);
	for (size_t max = 3; max < 10; max++) {
		struct seen s = { 0 };

		rec_init(&r, max);
		feed(&r, in, n, 64, &s);
		CU_ASSERT_EQUAL(s.too_long, max < 8);
		/* Nothing over the limit has been handed out. */
		CU_ASSERT_TRUE(s.len <= max);
	}
}

static void test_limit_is_per_record(void)
{
	uint8_t in[64];
	struct seen s = { 0 };
	struct rec r;
	size_t n = 0;

	n += put(in + n, "12345678", true);
	n += put(in + n, "12345678", true);
	rec_init(&r, 8);
	feed(&r, in, n, 5, &s);
	CU_ASSERT_FALSE(s.too_long);
	CU_ASSERT_EQUAL(s.nends, 2);
}

static void test_huge_mark(void)
{
	static const uint8_t in[] = { 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff,
				      0xff, 0xff, 1,	2,    3,    4 };
	struct seen s = { 0 };
	struct rec r;

	rec_init(&r, 1 << 20);
	feed(&r, in, sizeof(in), 12, &s);
	CU_ASSERT_TRUE(s.too_long);
	CU_ASSERT_EQUAL(s.len, 0);
}

static void test_mark(void)
{
	uint8_t m[4];

	rec_mark(m, 0x01020304);
	CU_ASSERT_EQUAL(memcmp(m, "\x81\x02\x03\x04", 4), 0);
	rec_mark(m, 0);
	CU_ASSERT_EQUAL(memcmp(m, "\x80\0\0\0", 4), 0);
}

static const struct unit_test tests[] = {
	{ "one", test_one },
	{ "cuts", test_cuts },
	{ "inside", test_inside },
	{ "limit", test_limit },
	{ "limit_is_per_record", test_limit_is_per_record },
	{ "huge_mark", test_huge_mark },
	{ "mark", test_mark },
	{ 0 },
};

UNIT_MAIN("tools-record", tests)
