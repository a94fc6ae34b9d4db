/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_v1 - version 1 headers octet by octet, RFC 8166 section 4
 *
 * Messages as the kernel's client and server lay them out; every truncation of
 * them; what is told apart from what in the results.
 */
#include "wire_util.h"

#define P1(proc) XID, WIRE_VERS1, CREDIT, (proc)
/* A segment: handle, length, offset of two words. */
#define SEG(n, len) 0x100 + (n), (len), 0, 0x1000 * (n)

static enum wire_status decode1(struct wire_msg *m, const uint32_t *w, size_t n)
{
	static uint8_t *held;

	free(held);
	held = from_words(w, n);
	return wire1_decode(held, n * 4, m);
}

#define DECODE1(m, ...) \
	decode1(m, (const uint32_t[]){ __VA_ARGS__ }, NWORDS(__VA_ARGS__))

static void test_msg(void)
{
	struct wire_msg m;
	struct wire_iter it = { 0 };
	struct wire_read_segment rs;
	struct wire_segment s;
	struct wire_list chunk;

	/* No chunks: a NULL call, and its reply. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 0, XID, 0, 2),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.role, WIRE_CALL);
	CU_ASSERT_FALSE(m.external || m.has_reply);
	CU_ASSERT_EQUAL(m.header_len, 28);
	CU_ASSERT_EQUAL(m.payload_len, 12);
	CU_ASSERT_EQUAL(m.p.credit, CREDIT);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 0, XID, 1, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.role, WIRE_REPLY);

	/* A WRITE: the data in two segments at one Position. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 1, 120, SEG(1, 4096), 1, 120,
				SEG(2, 100), 0, 0, 0, XID, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.role, WIRE_CALL);
	CU_ASSERT_EQUAL(m.call.count, 0);
	CU_ASSERT_EQUAL(m.reads.count, 2);
	CU_ASSERT_EQUAL(m.reads.bytes, 4196);
	CU_ASSERT_TRUE(wire_read_next(&m.reads, &it, &rs));
	CU_ASSERT_TRUE(wire_read_next(&m.reads, &it, &rs));
	CU_ASSERT_EQUAL(rs.position, 120);
	CU_ASSERT_EQUAL(rs.target.handle, 0x102);
	CU_ASSERT_EQUAL(rs.target.offset, 0x2000);
	CU_ASSERT_FALSE(wire_read_next(&m.reads, &it, &rs));

	/* A READ: one Write chunk; a READDIR: a Reply chunk. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 1, 2, SEG(1, 4096),
				SEG(2, 4096), 0, 1, 1, SEG(3, 65536), XID, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.writes.count, 1);
	CU_ASSERT_EQUAL(m.writes.segments, 2);
	CU_ASSERT_TRUE(m.has_reply);
	CU_ASSERT_EQUAL(m.reply.bytes, 65536);
	it = (struct wire_iter){ 0 };
	CU_ASSERT_TRUE(wire_chunk_next(&m.writes, &it, &chunk));
	it = (struct wire_iter){ 0 };
	CU_ASSERT_TRUE(wire_segment_next(&chunk, &it, &s));
	CU_ASSERT_TRUE(wire_segment_next(&chunk, &it, &s));
	CU_ASSERT_EQUAL(s.handle, 0x102);

	/* A Reply whose Reply chunk was not used may say so, or leave it. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 1, 1, SEG(3, 0), XID,
				1),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.role, WIRE_REPLY);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 1, 1, SEG(3, 8), XID,
				1),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_REPLY);
	CU_ASSERT_TRUE(only_prefix(&m));
}

static void test_nomsg(void)
{
	struct wire_msg m;
	struct wire_iter it = { 0 };
	struct wire_read_segment rs;

	/* A Call in its chunk, with a data item and a Reply chunk. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_NOMSG), 1, 0, SEG(1, 4096), 1, 0,
				SEG(2, 4096), 1, 5000, SEG(3, 777), 0, 0, 1, 1,
				SEG(4, 4096)),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.role, WIRE_CALL);
	CU_ASSERT_TRUE(m.external);
	CU_ASSERT_EQUAL(m.call.count, 2);
	CU_ASSERT_EQUAL(m.call.bytes, 8192);
	CU_ASSERT_EQUAL(m.reads.count, 1);
	CU_ASSERT_EQUAL(m.reads.bytes, 777);
	CU_ASSERT_TRUE(wire_read_next(&m.reads, &it, &rs));
	CU_ASSERT_EQUAL(rs.position, 5000);
	CU_ASSERT_EQUAL(rs.target.handle, 0x103);
	CU_ASSERT_EQUAL(m.payload_len, 0);

	/* A Reply in its chunk. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_NOMSG), 0, 0, 1, 1, SEG(4, 4000)),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.role, WIRE_REPLY);
	CU_ASSERT_TRUE(m.external && m.has_reply);

	/* RFC 8166 4.5.2: nothing present. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_NOMSG), 0, 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_CONTROL);
	CU_ASSERT_TRUE(only_prefix(&m));
	/* No Position-Zero chunk and no Reply chunk. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_NOMSG), 0, 1, 1, SEG(1, 5), 0, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_CONTROL);
	/* A Reply has no Read list. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_NOMSG), 1, 8, SEG(1, 5), 0, 0, 1,
				0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_CALL);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_NOMSG), 1, 8, SEG(1, 5), 0, 0, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_CALL);
	/* Positions out of order, or not aligned, or one inside another. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_NOMSG), 1, 8, SEG(1, 4), 1, 0,
				SEG(2, 4), 0, 0, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_CONTROL);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 1, 6, SEG(1, 4), 0, 0, 0,
				XID, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 1, 8, SEG(1, 9), 1, 16,
				SEG(2, 4), 0, 0, 0, XID, 0),
			WIRE_BAD_XDR);
	/* With roundup in the chunk or without, the next may follow. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 1, 8, SEG(1, 7), 1, 16,
				SEG(2, 8), 1, 24, SEG(2, 1), 0, 0, 0, XID, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.reads.count, 3);
}

static void test_refused(void)
{
	struct wire_msg m;

	/* RFC 8166 4.6: not supported any more. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSGP), 0, 0, 0, 0, 0, XID, 0),
			WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(m.role, WIRE_CALL);
	CU_ASSERT_TRUE(only_prefix(&m));
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSGP), 64, 9, 0, 0, 0, XID, 1),
			WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(m.role, WIRE_REPLY);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSGP), 0, 0, 0, XID, 0),
			WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(m.role, WIRE_CONTROL);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_DONE)), WIRE_IGNORE);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_DONE), 1, 2, 3, 4), WIRE_IGNORE);
	for (uint32_t proc = 5; proc < 40; proc++) {
		CU_ASSERT_EQUAL(DECODE1(&m, P1(proc), 0, 0, 0, XID, 0),
				WIRE_BAD_HTYPE);
		CU_ASSERT_TRUE(only_prefix(&m));
	}
	CU_ASSERT_EQUAL(DECODE1(&m, XID, 2, CREDIT, 0, 0, 0, 0), WIRE_VERSION);
	/* The RPC message is another one. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 0, XID + 1, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_CALL);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 0, XID + 1, 1),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_REPLY);
	/* A payload in two places. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 1, 0, SEG(1, 4), 0, 0, 0,
				XID, 0),
			WIRE_BAD_XDR);
	/* [G4]: the direction cannot be told. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 0), WIRE_IGNORE);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 0, XID), WIRE_IGNORE);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 0, 0, XID, 2),
			WIRE_IGNORE);
	/* A Reply has no Read list. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 1, 8, SEG(1, 4), 0, 0, 0,
				XID, 1),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(m.role, WIRE_REPLY);
	/* RFC 4506 4.4: a discriminator is 0 or 1. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 2, 8, SEG(1, 4), 0, 0, 0,
				XID, 0),
			WIRE_BAD_XDR);
	/* A count that cannot be true. */
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_MSG), 0, 1, 0x10000001,
				SEG(1, 4096), 0, 0, XID, 0),
			WIRE_BAD_XDR);
}

static void test_errors(void)
{
	static const uint8_t chunk[] = { 0x11, 0x22, 0x33, 0x44, 0, 0, 0,
					 1,    0,    0,	   0,	 9, 0, 0,
					 0,    4,    0,	   0,	 0, 2 };
	struct wire_error e = { .code = RDMA2_ERR_WRITE_RESOURCE };
	struct wire_msg m;
	uint8_t b[28];

	/* Whatever is wrong, version 1 has one word for it. */
	CU_ASSERT_EQUAL(wire1_encode_error(b, 28, XID, 1, 9, &e), 20);
	CU_ASSERT_EQUAL(memcmp(b, chunk, 20), 0);
	CU_ASSERT_EQUAL(wire1_decode(b, 20, &m), WIRE_OK);
	CU_ASSERT_EQUAL(m.role, WIRE_CONTROL);
	CU_ASSERT_EQUAL(m.error.code, RDMA1_ERR_CHUNK);
	CU_ASSERT_EQUAL(wire1_encode_error(b, 19, XID, 1, 9, &e), 0);
	for (size_t n = 0; n < 20; n++)
		CU_ASSERT_EQUAL(wire1_decode(b, n, &m),
				n < 16 ? WIRE_SHORT : WIRE_BAD_ERROR);

	/* The image that all versions share [B1]. */
	e = (struct wire_error){ RDMA2_ERR_VERS, 1, 1, 0, 0, 0, 0 };
	CU_ASSERT_EQUAL(wire1_encode_error(b, 28, XID, 2, 9, &e), 28);
	memset(&e, 0, sizeof(e));
	CU_ASSERT_TRUE(wire_error_decode(b, 28, &e));
	CU_ASSERT_EQUAL(e.code, RDMA2_ERR_VERS);
	CU_ASSERT_EQUAL(e.vers_low, 1);
	put_be32(b + 4, 1);
	CU_ASSERT_EQUAL(wire1_decode(b, 28, &m), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.vers_high, 1);
	CU_ASSERT_EQUAL(wire1_decode(b, 27, &m), WIRE_BAD_ERROR);
	CU_ASSERT_EQUAL(DECODE1(&m, P1(RDMA1_ERROR), 3, 0, 0), WIRE_BAD_ERROR);
	CU_ASSERT_EQUAL(m.error.code, 3);
}

/* RFC 8166 4.5: under 28 octets nothing is believed. */
static void test_truncated(void)
{
	static const uint32_t whole[][48] = {
		{ P1(RDMA1_MSG), 1, 120, SEG(1, 4096), 1, 120, SEG(2, 100), 0,
		  1, 2, SEG(3, 9), SEG(4, 9), 0, 1, 1, SEG(5, 9), XID, 0 },
		{ P1(RDMA1_NOMSG), 1, 0, SEG(1, 4096), 1, 120, SEG(2, 100), 0,
		  1, 2, SEG(3, 9), SEG(4, 9), 0, 1, 2, SEG(5, 9), SEG(6, 9) },
	};
	static const size_t words[] = { 36, 38 };
	static const size_t header[] = { 34 * 4, 38 * 4 };
	struct wire_msg m;

	for (unsigned int k = 0; k < 2; k++) {
		uint8_t *all = from_words(whole[k], words[k]), *q;

		CU_ASSERT_EQUAL(wire1_decode(all, words[k] * 4, &m), WIRE_OK);
		CU_ASSERT_EQUAL(m.header_len, header[k]);
		for (size_t n = 0; n < words[k] * 4; n++) {
			enum wire_status want = WIRE_IGNORE;

			if (n < header[k])
				want = WIRE_BAD_XDR;
			if (n < WIRE1_HEADER_MIN)
				want = WIRE_SHORT;
			q = exact(all, n);
			CU_ASSERT_EQUAL(wire1_decode(q, n, &m), want);
			CU_ASSERT_TRUE(only_prefix(&m));
			free(q);
		}
		free(all);
	}
}

/* Headers that do not fit the buffer are told, and nothing is overrun. */
static void test_no_room(void)
{
	struct wire_segment seg[3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
	struct wire_read_segment rs[2] = { { 0, { 1, 2, 3 } },
					   { 8, { 1, 2, 3 } } };
	struct wire_chunk_desc w = { seg, 2 }, y = { seg + 2, 1 };
	struct wire_call_desc d = { 0, rs, 1, rs + 1, 1, &w, 1, &y };
	struct wire_reply_desc a = { &w, 1, &y };

	for (unsigned int external = 0; external < 2; external++) {
		size_t len = wire1_call_len(external, &d);

		for (size_t n = 0; n <= len; n++) {
			uint8_t *q = malloc(n + 1);

			CU_ASSERT_EQUAL(wire1_encode_call(q, n, 1, 2, external,
							  &d),
					n < len ? 0 : len);
			free(q);
		}
		len = wire1_reply_len(external, &a);
		for (size_t n = 0; n <= len; n++) {
			uint8_t *q = malloc(n + 1);

			CU_ASSERT_EQUAL(wire1_encode_reply(q, n, 1, 2, external,
							   &a),
					n < len ? 0 : len);
			free(q);
		}
	}
}

static const struct unit_test tests[] = {
	{ "msg", test_msg },
	{ "nomsg", test_nomsg },
	{ "refused", test_refused },
	{ "errors", test_errors },
	{ "truncated", test_truncated },
	{ "no room", test_no_room },
	{ NULL, NULL },
};

UNIT_MAIN("wire version 1", tests)
