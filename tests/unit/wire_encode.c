/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_encode - what the encoders write, word by word, and lack of room
 */
#include "wire_util.h"

#define SEGW(h, l) h, l, 0x01020304, 0x05060708
#define SEGS(h, l)                       \
	{                                \
		h, l, 0x0102030405060708 \
	}

/* Whether @len octets at @buf are these words. */
static bool is_words(const uint8_t *buf, size_t len, const uint32_t *w,
		     size_t n)
{
	if (len != n * 4)
		return false;
	for (size_t i = 0; i < n; i++)
		if (get_be32(buf + i * 4) != w[i])
			return false;
	return true;
}

#define IS(buf, len, ...)                                     \
	is_words(buf, len, (const uint32_t[]){ __VA_ARGS__ }, \
		 NWORDS(__VA_ARGS__))

static const struct wire_segment seg[] = { SEGS(1, 10), SEGS(2, 20),
					   SEGS(3, 30), SEGS(4, 40) };
static const struct wire_read_segment rseg[] = {
	{ 0, SEGS(5, 50) },
	{ 8, SEGS(6, 60) },
	{ 8, SEGS(7, 70) },
};
static const struct wire_chunk_desc chunks[] = {
	{ seg, 2 },
	{ NULL, 0 },
	{ seg + 2, 1 },
};
static const struct wire_chunk_desc reply_chunk = { seg + 3, 1 };
static const struct wire_chunk_desc empty_chunk = { NULL, 0 };
static const struct wire_call_desc full_call = { .inv_handle = 6,
						 .call = rseg,
						 .ncall = 1,
						 .reads = rseg + 1,
						 .nreads = 2,
						 .writes = chunks,
						 .nwrites = 3,
						 .reply = &reply_chunk };
static const struct wire_reply_desc full_reply = { .writes = chunks,
						   .nwrites = 3,
						   .reply = &reply_chunk };
static const struct wire_prop props[] = {
	{ RDMA2_PROPID_RBSIZ, (const uint8_t *)"\0\0\x20\0", 4 },
	{ 99, (const uint8_t *)"abcde", 5 },
	{ RDMA2_PROPID_BRS, NULL, 0 },
};

static void test_grant(void)
{
	uint8_t b[64];

	/* 6.3.2: the XID is zero */
	CU_ASSERT(IS(b, wire_encode_grant(b, 64, 77), 0, 2, 77, 5));
}

static void test_error(void)
{
	static const uint32_t plain[] = { 2, 3, 4, 5, 11, 12, 100 };
	struct wire_error e = { 0, 1, 2, 3, 4, 5, 6 };
	uint8_t b[64];

	/* [B1]: 28 octets, with the version of the offender */
	e.code = RDMA2_ERR_VERS;
	CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 9, CREDIT, &e), XID, 9,
		     CREDIT, 4, 1, 1, 2));
	e.code = RDMA2_ERR_READ_CHUNKS;
	CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 2, CREDIT, &e), PFX(4), 6,
		     3));
	e.code = RDMA2_ERR_WRITE_CHUNKS;
	CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 2, CREDIT, &e), PFX(4), 7,
		     3));
	e.code = RDMA2_ERR_SEGMENTS;
	CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 2, CREDIT, &e), PFX(4), 8,
		     4));
	e.code = RDMA2_ERR_WRITE_RESOURCE;
	CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 2, CREDIT, &e), PFX(4), 9,
		     5, 6));
	e.code = RDMA2_ERR_REPLY_RESOURCE;
	CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 2, CREDIT, &e), PFX(4),
		     10, 6));
	for (size_t i = 0; i < 7; i++) {
		e.code = plain[i];
		CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 2, CREDIT, &e),
			     PFX(4), plain[i]));
	}
	/* [B3]: VERS_MISMATCH echoes too */
	e.code = RDMA2_ERR_VERS_MISMATCH;
	CU_ASSERT(IS(b, wire_encode_error(b, 64, XID, 1, CREDIT, &e), XID, 1,
		     CREDIT, 4, 11));
}

static void test_connprop(void)
{
	uint8_t b[64];
	size_t n;

	n = wire_encode_connprop(b, 64, XID, CREDIT, true, props, 3);
	CU_ASSERT(IS(b, n, PFX(7), 3, 2, 4, 8192, 99, 5, 0x61626364, 0x65000000,
		     5, 0));
	n = wire_encode_connprop(b, 64, XID, CREDIT, false, NULL, 0);
	CU_ASSERT(IS(b, n, PFX(6), 0));
}

static void test_call(void)
{
	static const struct wire_call_desc none = { 0 };
	struct wire_call_desc d = full_call;
	uint8_t b[512];
	size_t n;

	n = wire_encode_call(b, 512, XID, CREDIT, true, &full_call);
	CU_ASSERT(IS(b, n, PFX(8), 6, 1, 0, SEGW(5, 50), 0, 1, 8, SEGW(6, 60),
		     1, 8, SEGW(7, 70), 0, 1, 2, SEGW(1, 10), SEGW(2, 20), 1, 0,
		     1, 1, SEGW(3, 30), 0, 1, 1, SEGW(4, 40)));
	CU_ASSERT_EQUAL(n, wire_call_len(true, &full_call));
	/* the same without its Call chunk */
	n = wire_encode_call(b, 512, XID, CREDIT, false, &full_call);
	CU_ASSERT(IS(b, n, PFX(10), 6, 1, 8, SEGW(6, 60), 1, 8, SEGW(7, 70), 0,
		     1, 2, SEGW(1, 10), SEGW(2, 20), 1, 0, 1, 1, SEGW(3, 30), 0,
		     1, 1, SEGW(4, 40)));
	CU_ASSERT_EQUAL(n, wire_call_len(false, &full_call));
	n = wire_encode_call(b, 512, XID, CREDIT, false, &none);
	CU_ASSERT(IS(b, n, PFX(10), 0, 0, 0, 0));
	CU_ASSERT_EQUAL(n, wire_call_len(false, &none));
	n = wire_encode_call(b, 512, XID, CREDIT, true, &none);
	CU_ASSERT(IS(b, n, PFX(8), 0, 0, 0, 0, 0));
	CU_ASSERT_EQUAL(n, wire_call_len(true, &none));
	/* an empty Reply chunk is not an absent one */
	d = none;
	d.reply = &empty_chunk;
	n = wire_encode_call(b, 512, XID, CREDIT, false, &d);
	CU_ASSERT(IS(b, n, PFX(10), 0, 0, 0, 1, 0));
	CU_ASSERT_EQUAL(n, wire_call_len(false, &d));
}

static void test_reply(void)
{
	static const struct wire_reply_desc none = { 0 };
	uint8_t b[512];
	size_t n;

	n = wire_encode_reply(b, 512, XID, CREDIT, true, &full_reply);
	CU_ASSERT(IS(b, n, PFX(11), 1, 2, SEGW(1, 10), SEGW(2, 20), 1, 0, 1, 1,
		     SEGW(3, 30), 0, 1, 1, SEGW(4, 40)));
	CU_ASSERT_EQUAL(n, wire_reply_len(true, &full_reply));
	n = wire_encode_reply(b, 512, XID, CREDIT, false, &full_reply);
	CU_ASSERT(IS(b, n, PFX(13), 1, 2, SEGW(1, 10), SEGW(2, 20), 1, 0, 1, 1,
		     SEGW(3, 30), 0));
	CU_ASSERT_EQUAL(n, wire_reply_len(false, &full_reply));
	n = wire_encode_reply(b, 512, XID, CREDIT, false, &none);
	CU_ASSERT(IS(b, n, PFX(13), 0));
	CU_ASSERT_EQUAL(n, wire_reply_len(false, &none));
	n = wire_encode_reply(b, 512, XID, CREDIT, true, &none);
	CU_ASSERT(IS(b, n, PFX(11), 0, 0));
	CU_ASSERT_EQUAL(n, wire_reply_len(true, &none));
}

static void test_middle(void)
{
	uint8_t b[64];

	CU_ASSERT(IS(b, wire_encode_middle(b, 64, XID, CREDIT, false, 99),
		     PFX(9), 99));
	CU_ASSERT(IS(b, wire_encode_middle(b, 64, XID, CREDIT, true, 99),
		     PFX(12), 99));
}

/* Every header into every room: 0 and nothing outside, or all of it. */
static size_t encode_any(int which, void *b, size_t size)
{
	const struct wire_error vers = { RDMA2_ERR_VERS, 1, 2, 0, 0, 0, 0 };
	const struct wire_error res = {
		RDMA2_ERR_WRITE_RESOURCE, 0, 0, 0, 0, 1, 2
	};

	switch (which) {
	case 0:
		return wire_encode_grant(b, size, 1);
	case 1:
		return wire_encode_error(b, size, 1, 2, 3, &vers);
	case 2:
		return wire_encode_error(b, size, 1, 2, 3, &res);
	case 3:
		return wire_encode_connprop(b, size, 1, 2, true, props, 3);
	case 4:
		return wire_encode_call(b, size, 1, 2, true, &full_call);
	case 5:
		return wire_encode_call(b, size, 1, 2, false, &full_call);
	case 6:
		return wire_encode_reply(b, size, 1, 2, true, &full_reply);
	case 7:
		return wire_encode_reply(b, size, 1, 2, false, &full_reply);
	default:
		return wire_encode_middle(b, size, 1, 2, true, 3);
	}
}

static void test_room(void)
{
	for (int which = 0; which <= 8; which++) {
		uint8_t want[512], *b;
		size_t len = encode_any(which, want, sizeof(want));

		CU_ASSERT(len >= 16);
		for (size_t size = 0; size < len; size++) {
			b = malloc(size);
			CU_ASSERT_EQUAL(encode_any(which, b, size), 0);
			free(b);
		}
		b = malloc(len);
		CU_ASSERT_EQUAL(encode_any(which, b, len), len);
		CU_ASSERT(!memcmp(b, want, len));
		free(b);
	}
}

static void test_enc(void)
{
	struct wire_enc e;
	uint8_t b[32];

	memset(b, 0xee, sizeof(b));
	wire_enc_init(&e, b, 24);
	wire_put_u64(&e, 0x0102030405060708);
	CU_ASSERT(!memcmp(b, "\1\2\3\4\5\6\7\10\xee", 9));
	wire_put_octets(&e, "abcde", 5);
	CU_ASSERT(!memcmp(b + 8, "abcde\0\0\0\xee", 9));
	CU_ASSERT_EQUAL(e.len, 16);
	wire_put_octets(&e, NULL, 0);
	CU_ASSERT_EQUAL(e.len, 16);
	CU_ASSERT_FALSE(e.overflow);
	/* nine octets fit, their roundup does not */
	wire_put_octets(&e, "012345678", 9);
	CU_ASSERT_TRUE(e.overflow);
	CU_ASSERT_EQUAL(e.len, 16);
	CU_ASSERT_EQUAL(b[16], 0xee);
	/* and overflow stays, though this would fit */
	wire_put_u32(&e, 1);
	wire_put_bool(&e, true);
	CU_ASSERT_EQUAL(e.len, 16);
	CU_ASSERT_EQUAL(b[16], 0xee);
	/* lengths near the end of size_t */
	for (size_t n = 0; n < 8; n++) {
		wire_enc_init(&e, b, 24);
		wire_put_octets(&e, b, SIZE_MAX - n);
		CU_ASSERT_TRUE(e.overflow);
		CU_ASSERT_EQUAL(e.len, 0);
	}
}

/* Lengths past 32 bits must not come out small. */
static void test_huge_len(void)
{
	const struct wire_chunk_desc big = { seg, UINT32_MAX };
	const struct wire_call_desc d = { .ncall = UINT32_MAX,
					  .nreads = UINT32_MAX - 1,
					  .reply = &big };
	const struct wire_reply_desc y = { .reply = &big };
	const uint64_t chunk = 4 + 16 * (uint64_t)UINT32_MAX;
	const uint64_t reads = 24 * (uint64_t)(UINT32_MAX - 1) + 4;
	const uint64_t call = 24 * (uint64_t)UINT32_MAX + 4;

	if (SIZE_MAX > UINT32_MAX) {
		CU_ASSERT_EQUAL(wire_call_len(false, &d),
				16 + 4 + reads + 4 + 4 + chunk);
		CU_ASSERT_EQUAL(wire_call_len(true, &d),
				16 + 4 + call + reads + 4 + 4 + chunk);
		CU_ASSERT_EQUAL(wire_reply_len(true, &y), 16 + 4 + 4 + chunk);
	} else {
		CU_ASSERT_EQUAL(wire_call_len(false, &d), SIZE_MAX);
		CU_ASSERT_EQUAL(wire_call_len(true, &d), SIZE_MAX);
		CU_ASSERT_EQUAL(wire_reply_len(true, &y), SIZE_MAX);
	}
}

static const struct unit_test tests[] = {
	{ "grant", test_grant },       { "error", test_error },
	{ "connprop", test_connprop }, { "call", test_call },
	{ "reply", test_reply },       { "middle", test_middle },
	{ "room", test_room },	       { "enc", test_enc },
	{ "huge_len", test_huge_len }, { NULL, NULL },
};

UNIT_MAIN("wire encode", tests)
