/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_cm - RFC 8797 private data, [P1] to [P3]
 */
#include "wire_util.h"

static const uint8_t good[8] = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 255 };

static bool decode(const void *data, size_t len, struct wire_cm_private *p)
{
	uint8_t *q = exact(data, len);
	bool ok = wire_cm_decode(q, len, p);

	free(q);
	return ok;
}

static void test_encode(void)
{
	struct wire_cm_private p = { true, 4096, 262144 };
	uint8_t b[8];

	wire_cm_encode(b, &p);
	CU_ASSERT(!memcmp(b, good, 8));
	p.remote_invalidation = false;
	wire_cm_encode(b, &p);
	CU_ASSERT_EQUAL(b[5], 0);
}

/* [P3] */
static void test_sizes(void)
{
	static const struct {
		uint32_t size;
		uint8_t code;
	} t[] = {
		{ 0, 0 },	 { 1, 0 },	    { 1023, 0 },
		{ 1024, 0 },	 { 1025, 0 },	    { 2047, 0 },
		{ 2048, 1 },	 { 4095, 2 },	    { 4096, 3 },
		{ 261120, 254 }, { 262143, 254 },   { 262144, 255 },
		{ 262145, 255 }, { 1u << 30, 255 }, { UINT32_MAX, 255 },
	};
	struct wire_cm_private p, q;
	uint8_t b[8];

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		p = (struct wire_cm_private){ false, t[i].size, 1024 };
		wire_cm_encode(b, &p);
		CU_ASSERT_EQUAL(b[6], t[i].code);
		CU_ASSERT_EQUAL(b[7], 0);
		p = (struct wire_cm_private){ false, 1024, t[i].size };
		wire_cm_encode(b, &p);
		CU_ASSERT_EQUAL(b[6], 0);
		CU_ASSERT_EQUAL(b[7], t[i].code);
	}
	for (uint32_t c = 0; c < 256; c++) {
		memcpy(b, good, 8);
		b[6] = (uint8_t)c;
		b[7] = (uint8_t)(255 - c);
		CU_ASSERT_TRUE(decode(b, 8, &q));
		CU_ASSERT_EQUAL(q.send_size, (c + 1) * 1024);
		CU_ASSERT_EQUAL(q.recv_size, (256 - c) * 1024);
		wire_cm_encode(b, &q);
		CU_ASSERT_EQUAL(b[6], c);
		CU_ASSERT_EQUAL(b[7], 255 - c);
	}
}

/* [P1], and RFC 8797 4: reserved bits are ignored */
static void test_flags(void)
{
	struct wire_cm_private p;
	uint8_t b[8];

	memcpy(b, good, 8);
	for (uint32_t f = 0; f < 256; f++) {
		b[5] = (uint8_t)f;
		CU_ASSERT_TRUE(decode(b, 8, &p));
		CU_ASSERT_EQUAL(p.remote_invalidation, f & 1);
	}
}

/* [P2] */
static void test_search(void)
{
	struct wire_cm_private p;
	uint8_t b[300];

	for (size_t len = 0; len < 8; len++)
		CU_ASSERT_FALSE(decode(good, len, &p));
	CU_ASSERT_FALSE(wire_cm_decode(NULL, 0, &p));
	/* any offset, aligned or not, and padding behind it */
	for (size_t off = 0; off + 8 <= 64; off++) {
		memset(b, 0, sizeof(b));
		memcpy(b + off, good, 8);
		CU_ASSERT_TRUE(decode(b, off + 8, &p));
		CU_ASSERT_TRUE(p.remote_invalidation);
		CU_ASSERT_EQUAL(p.send_size, 4096);
		CU_ASSERT_EQUAL(p.recv_size, 262144);
		CU_ASSERT_TRUE(decode(b, 196, &p));
		/* it must be whole */
		CU_ASSERT_FALSE(decode(b, off + 7, &p));
	}
	/* absent */
	memset(b, 0xf6, sizeof(b));
	CU_ASSERT_FALSE(decode(b, sizeof(b), &p));
	/* other versions are as if absent */
	memcpy(b, good, 8);
	for (uint32_t v = 0; v < 256; v++) {
		b[4] = (uint8_t)v;
		CU_ASSERT_EQUAL(decode(b, 8, &p), v == 1);
	}
	/* the first that passes wins; the search goes on past others */
	memcpy(b, good, 8);
	b[4] = 2;
	memcpy(b + 8, good, 8);
	memcpy(b + 16, good, 8);
	b[14] = 7;
	CU_ASSERT_TRUE(decode(b, 24, &p));
	CU_ASSERT_EQUAL(p.send_size, 8192);
	/* an identifier inside the bytes of a false start */
	memcpy(b, "\xf6\xab\xf6\xab\x0e\x18\x01\x00\x05\x06", 10);
	CU_ASSERT_TRUE(decode(b, 10, &p));
	CU_ASSERT_EQUAL(p.send_size, 6144);
	CU_ASSERT_EQUAL(p.recv_size, 7168);
}

static const struct unit_test tests[] = {
	{ "encode", test_encode },
	{ "sizes", test_sizes },
	{ "flags", test_flags },
	{ "search", test_search },
	{ NULL, NULL },
};

UNIT_MAIN("wire cm", tests)
