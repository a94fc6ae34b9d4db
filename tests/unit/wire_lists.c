/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_lists - chunk lists and properties: the rules of [C7], [C8], [E2],
 * [F1], [F6] and the iterators
 */
#include "wire_util.h"

#define SEG(h, l, off) h, l, 0, off

/* An INLINE Call with one to three Read segments at these places. */
static enum wire_status reads(struct wire_msg *m, uint32_t n, uint32_t p1,
			      uint32_t l1, uint32_t p2, uint32_t l2,
			      uint32_t p3, uint32_t l3)
{
	const uint32_t p[3] = { p1, p2, p3 }, l[3] = { l1, l2, l3 };
	uint32_t w[32] = { PFX(10), 0 };
	size_t k = 5;

	for (uint32_t i = 0; i < n; i++) {
		w[k++] = 1;
		w[k++] = p[i];
		w[k++] = 0x100 + i;
		w[k++] = l[i];
		w[k++] = 0xaabbccdd;
		w[k++] = 0x11111111 * i;
	}
	w[k++] = 0; /* end of Read list */
	w[k++] = 0; /* Write list */
	w[k++] = 0; /* Reply chunk */
	w[k++] = XID;
	return decode_words(m, true, w, k);
}

static void test_read_position(void)
{
	struct wire_msg m;

	CU_ASSERT_EQUAL(reads(&m, 1, 4, 1, 0, 0, 0, 0), WIRE_OK);
	CU_ASSERT_EQUAL(reads(&m, 1, 0xfffffffc, UINT32_MAX, 0, 0, 0, 0),
			WIRE_OK);
	/* [C8] */
	CU_ASSERT_EQUAL(reads(&m, 1, 0, 1, 0, 0, 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(reads(&m, 1, 0, 0, 0, 0, 0, 0), WIRE_BAD_XDR);
	/* 4.5.1: a multiple of four */
	for (uint32_t p = 1; p < 64; p++)
		CU_ASSERT_EQUAL(reads(&m, 1, p, 8, 0, 0, 0, 0),
				p % 4 ? WIRE_BAD_XDR : WIRE_OK);
	CU_ASSERT_EQUAL(reads(&m, 1, UINT32_MAX, 0, 0, 0, 0, 0), WIRE_BAD_XDR);
	/* 4.5.1.1: never decreasing */
	CU_ASSERT_EQUAL(reads(&m, 2, 8, 4, 12, 4, 0, 0), WIRE_OK);
	CU_ASSERT_EQUAL(reads(&m, 2, 12, 4, 8, 4, 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(reads(&m, 2, 12, 0, 8, 0, 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(reads(&m, 2, 12, 4, 0, 4, 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(reads(&m, 3, 8, 4, 12, 4, 8, 4), WIRE_BAD_XDR);
}

/* [C7]: no chunk inside the rounded extent of the one before */
static void test_read_overlap(void)
{
	struct wire_msg m;

	for (uint32_t len = 0; len <= 24; len++) {
		uint32_t extent = (len + 3) / 4 * 4;

		for (uint32_t gap = 4; gap <= 32; gap += 4)
			CU_ASSERT_EQUAL(reads(&m, 2, 8, len, 8 + gap, 4, 0, 0),
					gap >= extent ? WIRE_OK : WIRE_BAD_XDR);
	}
	/* the extent is that of all segments of the chunk */
	CU_ASSERT_EQUAL(reads(&m, 3, 8, 3, 8, 2, 16, 1), WIRE_OK);
	CU_ASSERT_EQUAL(reads(&m, 3, 8, 3, 8, 2, 12, 1), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(reads(&m, 3, 8, 5, 8, 4, 16, 1), WIRE_BAD_XDR);
	/* and of that chunk alone, not of the ones before */
	CU_ASSERT_EQUAL(reads(&m, 3, 8, 400, 408, 4, 412, 4), WIRE_OK);
	/* zero-length chunks are accepted and take no room */
	CU_ASSERT_EQUAL(reads(&m, 3, 8, 0, 12, 0, 16, 0), WIRE_OK);
	/* sums past 32 bits do not wrap round to a small extent */
	CU_ASSERT_EQUAL(reads(&m, 2, 8, UINT32_MAX, 12, 1, 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(reads(&m, 2, 0xfffffff0, 20, 0xfffffffc, 1, 0, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(reads(&m, 3, 8, UINT32_MAX, 8, 5, 16, 1), WIRE_BAD_XDR);
}

static void test_read_iterate(void)
{
	struct wire_read_segment s;
	struct wire_iter it = { 0 };
	struct wire_msg m;

	CU_ASSERT_EQUAL(reads(&m, 3, 8, 5, 8, 0, 16, UINT32_MAX), WIRE_OK);
	CU_ASSERT_EQUAL(m.reads.count, 3);
	CU_ASSERT_EQUAL(m.reads.segments, 3);
	CU_ASSERT_EQUAL(m.reads.bytes, 5 + (uint64_t)UINT32_MAX);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t pos[] = { 8, 8, 16 };
		const uint32_t len[] = { 5, 0, UINT32_MAX };

		CU_ASSERT_TRUE(wire_read_next(&m.reads, &it, &s));
		CU_ASSERT_EQUAL(s.position, pos[i]);
		CU_ASSERT_EQUAL(s.target.handle, 0x100 + i);
		CU_ASSERT_EQUAL(s.target.length, len[i]);
		CU_ASSERT_EQUAL(s.target.offset,
				0xaabbccdd00000000 + 0x11111111 * i);
	}
	CU_ASSERT_FALSE(wire_read_next(&m.reads, &it, &s));
	CU_ASSERT_FALSE(wire_read_next(&m.reads, &it, &s));
	/* lists that the type does not have are empty */
	memset(&it, 0, sizeof(it));
	CU_ASSERT_FALSE(wire_read_next(&m.call, &it, &s));
}

/* RFC 4506 4.4, [C7]: a discriminator is 0 or 1, in every place that has one */
static void test_discriminators(void)
{
	static const uint32_t call[] = {
		PFX(8), 0, 1, 0, SEG(1, 64, 2), 0, 1, 8, SEG(2, 8, 2), 0, 1,
		0,	0, 1, 0
	};
	static const size_t call_at[] = { 5, 11, 12, 18, 19, 21, 22 };
	static const uint32_t reply[] = { PFX(13), 1, 0, 0, XID };
	static const uint32_t bad[] = { 2, 3, 0x01000000, 0x100, UINT32_MAX };
	uint32_t w[32];
	struct wire_msg m;

	CU_ASSERT_EQUAL(decode_words(&m, true, call, 24), WIRE_OK);
	CU_ASSERT_EQUAL(m.header_len, 96);
	for (size_t i = 0; i < 7; i++)
		for (size_t j = 0; j < 5; j++) {
			memcpy(w, call, sizeof(call));
			w[call_at[i]] = bad[j];
			CU_ASSERT_EQUAL(decode_words(&m, true, w, 24),
					WIRE_BAD_XDR);
		}
	CU_ASSERT_EQUAL(decode_words(&m, true, reply, 8), WIRE_OK);
	for (size_t j = 0; j < 5; j++) {
		memcpy(w, reply, sizeof(reply));
		w[4] = bad[j];
		CU_ASSERT_EQUAL(decode_words(&m, true, w, 8), WIRE_BAD_XDR);
		w[4] = 1;
		w[6] = bad[j];
		CU_ASSERT_EQUAL(decode_words(&m, true, w, 8), WIRE_BAD_XDR);
	}
}

/* A list that never ends is cut off by the end of the message. */
static void test_endless(void)
{
	uint32_t w[256];
	struct wire_msg m;

	for (uint32_t t = RDMA2_CALL_EXTERNAL; t <= RDMA2_REPLY_INLINE; t++) {
		if (t == RDMA2_CALL_MIDDLE || t == RDMA2_REPLY_MIDDLE)
			continue;
		for (size_t n = 5; n < 256; n++) {
			for (size_t i = 4; i < n; i++)
				w[i] = 1;
			/* Positions, if it begins with Read segments */
			for (size_t i = 6; i < n && t < 11; i += 6)
				w[i] = t == RDMA2_CALL_EXTERNAL ? 0 : 4;
			w[0] = XID;
			w[1] = 2;
			w[2] = 0;
			w[3] = t;
			CU_ASSERT_EQUAL(decode_words(&m, false, w, n),
					WIRE_BAD_XDR);
		}
	}
}

static void test_write_list(void)
{
	struct wire_list chunk;
	struct wire_segment s;
	struct wire_iter it = { 0 }, in = { 0 };
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(10), 0, 0, 1, 2, SEG(1, 10, 100),
			       SEG(2, UINT32_MAX, 200), 1, 0, 1, 1,
			       SEG(3, 0, 300), 0, 1, 2, SEG(4, 40, 400),
			       SEG(5, 50, 500), XID),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.writes.count, 3);
	CU_ASSERT_EQUAL(m.writes.segments, 3);
	CU_ASSERT_EQUAL(m.writes.bytes, 10 + (uint64_t)UINT32_MAX);
	CU_ASSERT_TRUE(m.has_reply);
	CU_ASSERT_EQUAL(m.reply.count, 2);
	CU_ASSERT_EQUAL(m.reply.bytes, 90);

	CU_ASSERT_TRUE(wire_chunk_next(&m.writes, &it, &chunk));
	CU_ASSERT_EQUAL(chunk.count, 2);
	CU_ASSERT_EQUAL(chunk.segments, 2);
	CU_ASSERT_EQUAL(chunk.bytes, 10 + (uint64_t)UINT32_MAX);
	CU_ASSERT_TRUE(wire_segment_next(&chunk, &in, &s));
	CU_ASSERT_EQUAL(s.handle, 1);
	CU_ASSERT_EQUAL(s.length, 10);
	CU_ASSERT_EQUAL(s.offset, 100);
	CU_ASSERT_TRUE(wire_segment_next(&chunk, &in, &s));
	CU_ASSERT_EQUAL(s.handle, 2);
	CU_ASSERT_FALSE(wire_segment_next(&chunk, &in, &s));
	/* the empty chunk keeps its place */
	CU_ASSERT_TRUE(wire_chunk_next(&m.writes, &it, &chunk));
	CU_ASSERT_EQUAL(chunk.count, 0);
	CU_ASSERT_EQUAL(chunk.bytes, 0);
	memset(&in, 0, sizeof(in));
	CU_ASSERT_FALSE(wire_segment_next(&chunk, &in, &s));
	/* the unused chunk keeps its segment */
	CU_ASSERT_TRUE(wire_chunk_next(&m.writes, &it, &chunk));
	CU_ASSERT_EQUAL(chunk.count, 1);
	CU_ASSERT_EQUAL(chunk.bytes, 0);
	CU_ASSERT_FALSE(wire_chunk_next(&m.writes, &it, &chunk));

	memset(&in, 0, sizeof(in));
	CU_ASSERT_TRUE(wire_segment_next(&m.reply, &in, &s));
	CU_ASSERT_EQUAL(s.handle, 4);
	CU_ASSERT_TRUE(wire_segment_next(&m.reply, &in, &s));
	CU_ASSERT_EQUAL(s.offset, 500);
	CU_ASSERT_FALSE(wire_segment_next(&m.reply, &in, &s));
}

/* Segment counts that lie, among them those whose product wraps in 32 bits. */
static void test_chunk_counts(void)
{
	static const uint32_t bad[] = { 2,	    3,		0x10000000,
					0x10000001, 0x20000001, 0x80000000,
					UINT32_MAX };
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(11), 0, 1, 1, SEG(1, 1, 1)), WIRE_OK);
	for (size_t i = 0; i < 7; i++) {
		CU_ASSERT_EQUAL(DECODE(&m, PFX(11), 0, 1, bad[i], SEG(1, 1, 1)),
				WIRE_BAD_XDR);
		CU_ASSERT_EQUAL(DECODE(&m, PFX(13), 1, bad[i], SEG(1, 1, 1), 0,
				       XID),
				WIRE_BAD_XDR);
	}
}

/* A list as long as no stack is deep. */
static void test_long_lists(void)
{
	const uint32_t n = 400000;
	size_t len = 20 + (size_t)n * 24 + 12 + 4;
	uint8_t *p = calloc(1, len);
	struct wire_read_segment s;
	struct wire_iter it = { 0 };
	struct wire_msg m;
	uint32_t seen = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	put_be32(p, XID);
	put_be32(p + 4, 2);
	put_be32(p + 12, 10);
	for (uint32_t i = 0; i < n; i++) {
		put_be32(p + 20 + i * 24, 1);
		put_be32(p + 24 + i * 24, 4 + i * 4);
		put_be32(p + 32 + i * 24, 4);
	}
	put_be32(p + len - 4, XID);
	CU_ASSERT_EQUAL(wire_decode(p, len, true, &m), WIRE_OK);
	CU_ASSERT_EQUAL(m.reads.count, n);
	CU_ASSERT_EQUAL(m.reads.bytes, 4 * (uint64_t)n);
	while (wire_read_next(&m.reads, &it, &s))
		seen += s.position == 4 + seen * 4;
	CU_ASSERT_EQUAL(seen, n);
	free(p);
}

static void test_props(void)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 7, 1, 4, 65536, 2, 4, 8192, 3, 4,
			       1u << 20, 4, 4, 64, 5, 4, 3, 99, 5, 0x01020304,
			       0x05000000, 2, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.props.count, 7);
	CU_ASSERT_EQUAL(m.header_len, 104);
	for (uint32_t i = 1; i <= 5; i++) {
		const uint32_t v[] = { 0, 65536, 8192, 1u << 20, 64, 3 };

		CU_ASSERT_TRUE(wire_prop_next(&m.props, &it, &p));
		CU_ASSERT_EQUAL(p.which, i);
		CU_ASSERT_EQUAL(p.len, 4);
		CU_ASSERT_EQUAL(wire_prop_u32(&p, 12345), v[i]);
	}
	/* an unknown one is passed on as it is */
	CU_ASSERT_TRUE(wire_prop_next(&m.props, &it, &p));
	CU_ASSERT_EQUAL(p.which, 99);
	CU_ASSERT_EQUAL(p.len, 5);
	CU_ASSERT(!memcmp(p.data, "\1\2\3\4\5", 5));
	/* [F1]: zero length is the default */
	CU_ASSERT_TRUE(wire_prop_next(&m.props, &it, &p));
	CU_ASSERT_EQUAL(p.which, RDMA2_PROPID_RBSIZ);
	CU_ASSERT_EQUAL(p.len, 0);
	CU_ASSERT_EQUAL(wire_prop_u32(&p, 4096), 4096);
	CU_ASSERT_FALSE(wire_prop_next(&m.props, &it, &p));

	CU_ASSERT_EQUAL(DECODE(&m, PFX(6), 0), WIRE_OK);
	CU_ASSERT_EQUAL(m.props.count, 0);
	memset(&it, 0, sizeof(it));
	CU_ASSERT_FALSE(wire_prop_next(&m.props, &it, &p));
}

/* [E2]: every length of every known property */
static void test_prop_lengths(void)
{
	struct wire_msg m;

	for (uint32_t id = 0; id <= 8; id++)
		for (uint32_t len = 0; len <= 40; len++) {
			uint32_t w[32] = { PFX(7), 1, id, len };
			bool ok = true;

			/* Who does not know the others knows no length [F5]. */
			if (id >= 1 && id <= 5)
				ok = len == 0 || len == 4;
			CU_ASSERT_EQUAL(decode_words(&m, true, w,
						     7 + (len + 3) / 4),
					ok ? WIRE_OK : WIRE_BAD_PROPVAL);
		}
	/* rdma_data beyond the message, known or unknown identifier */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 99, 5, 0), WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 99, 9, 0, 0), WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 99, UINT32_MAX, 0),
			WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 99, 0xfffffffd, 0),
			WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 2, 4), WIRE_BAD_PROPVAL);
	/* the message ends in count, identifier or length word */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7)), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 2), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 2, 2, 4, 4096), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), UINT32_MAX, 2, 4, 4096),
			WIRE_BAD_XDR);
	CU_ASSERT_TRUE(only_prefix(&m));
	/* the first fault in the message decides */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 2, 2, 8, 0, 0), WIRE_BAD_PROPVAL);
	/* pad octets are not looked at */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 99, 1, 0x01ffffff), WIRE_OK);
}

static void test_prop_opaque(void)
{
	static const struct {
		uint32_t len, inner;
		bool ok;
	} rows[] = {
		{ 8, 5, false },	  { 8, 0, false },
		{ 8, UINT32_MAX, false }, { 4, 0xfffffffc, false },
		{ 7, 3, false },	  { 8, 3, true },
		{ 1, 0, false },	  { 3, 0, false },
	};
	struct wire_iter it = { 0 };
	const uint8_t *data;
	struct wire_prop p;
	struct wire_msg m;
	uint32_t len;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 3, 6, 12, 5, 0x61626364, 0x65ffffff,
			       6, 4, 0, 6, 0),
			WIRE_OK);
	CU_ASSERT_TRUE(wire_prop_next(&m.props, &it, &p));
	CU_ASSERT_TRUE(wire_prop_opaque(&p, &data, &len));
	CU_ASSERT_EQUAL(len, 5);
	CU_ASSERT(!memcmp(data, "abcde", 5));
	/* [F1]: an empty opaque is not the same as no value */
	CU_ASSERT_TRUE(wire_prop_next(&m.props, &it, &p));
	CU_ASSERT_TRUE(wire_prop_opaque(&p, &data, &len));
	CU_ASSERT_EQUAL(len, 0);
	CU_ASSERT_TRUE(wire_prop_next(&m.props, &it, &p));
	CU_ASSERT_FALSE(wire_prop_opaque(&p, &data, &len));

	/* inner lengths that do not fit, or fit with something left */
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		it = (struct wire_iter){ 0 };
		CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 1, 6, rows[i].len,
				       rows[i].inner, 0),
				WIRE_OK);
		CU_ASSERT_TRUE(wire_prop_next(&m.props, &it, &p));
		CU_ASSERT_EQUAL(wire_prop_opaque(&p, &data, &len), rows[i].ok);
	}
}

/* [F6] */
static void test_subset(void)
{
	const uint32_t w[] = { 0x00000001, 0x80000004 };
	uint8_t *p = from_words(w, 2);

	for (uint32_t bit = 0; bit < 128; bit++)
		CU_ASSERT_EQUAL(wire_subset_test(p, 2, bit),
				bit == 0 || bit == 34 || bit == 63);
	CU_ASSERT_FALSE(wire_subset_test(p, 1, 34));
	CU_ASSERT_FALSE(wire_subset_test(NULL, 0, 0));
	CU_ASSERT_FALSE(wire_subset_test(p, 2, UINT32_MAX));
	free(p);
}

static const struct unit_test tests[] = {
	{ "read_position", test_read_position },
	{ "read_overlap", test_read_overlap },
	{ "read_iterate", test_read_iterate },
	{ "discriminators", test_discriminators },
	{ "endless", test_endless },
	{ "write_list", test_write_list },
	{ "chunk_counts", test_chunk_counts },
	{ "long_lists", test_long_lists },
	{ "props", test_props },
	{ "prop_lengths", test_prop_lengths },
	{ "prop_opaque", test_prop_opaque },
	{ "subset", test_subset },
	{ NULL, NULL },
};

UNIT_MAIN("wire lists", tests)
