/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_xchar - messages about transport characteristics, octet by octet: what
 * is right, what is refused and as what, [M1], [M6], [X4]
 */
#include "wire_util.h"
#include "rpcrdma/xchar.h"

static enum wire_status decode_w(struct wire_xchar *x, const uint32_t *w,
				 size_t n)
{
	static uint8_t *held;

	free(held);
	held = from_words(w, n);
	return wire_xchar_decode(held, n * 4, x);
}

#define XDECODE(x, ...) \
	decode_w(x, (const uint32_t[]){ __VA_ARGS__ }, NWORDS(__VA_ARGS__))

static bool same_words(const uint8_t *b, size_t len, const uint32_t *w,
		       size_t n)
{
	uint8_t *p = from_words(w, n);
	bool same = len == n * 4 && !memcmp(b, p, len);

	free(p);
	return same;
}

#define SAME(b, len, ...)                                     \
	same_words(b, len, (const uint32_t[]){ __VA_ARGS__ }, \
		   NWORDS(__VA_ARGS__))

static const uint8_t number[4] = { 0, 0, 0x40, 0 }, yes[4] = { 0, 0, 0, 1 };

static void test_codes(void)
{
	/* [M1]: all in the range that xcharext 6.2 sets aside. */
	CU_ASSERT_EQUAL(RDMA2_X_INITXCH, 4294967041u);
	CU_ASSERT_EQUAL(RDMA2_X_REQXCH, 4294967042u);
	CU_ASSERT_EQUAL(RDMA2_X_RESPXCH, 4294967043u);
	CU_ASSERT_EQUAL(RDMA2_X_UPDXCH, 4294967044u);
	CU_ASSERT_EQUAL(RDMA2_PROPID_X_XCHSUPP, 4294967040u);
	CU_ASSERT_EQUAL(RDMA2_PROPID_X_REQREMINV, 4294967042u);
	CU_ASSERT_STRING_EQUAL(wire_htype_name(RDMA2_X_UPDXCH),
			       "RDMA2_X_UPDXCH");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(RDMA2_PROPID_X_XCHSUPP),
			       "RDMA2_PROPID_X_XCHSUPP");
}

static void test_encode(void)
{
	const struct wire_prop p[] = {
		{ RDMA2_PROPID_RBSIZ, number, 4 },
		{ RDMA2_PROPID_X_REQREMINV, yes, 4 },
		{ RDMA2_PROPID_BRS, NULL, 0 },
	};
	const uint32_t one = 1, two = 2, four = 4;
	const struct wire_subset_desc none = { NULL, 0 }, a = { &one, 1 },
				      b = { &two, 1 }, c = { &four, 1 };
	uint8_t m[256];
	size_t n;

	n = wire_encode_initxch(m, sizeof(m), XID, CREDIT, p, 3, &b);
	CU_ASSERT(SAME(m, n, PFX(0xffffff01), 3, 2, 4, 0x4000, 0xffffff02, 4, 1,
		       5, 0, 1, 2));
	CU_ASSERT_EQUAL(wire_encode_initxch(m, n - 1, XID, CREDIT, p, 3, &b),
			0);
	n = wire_encode_initxch(m, sizeof(m), XID, CREDIT, NULL, 0, &none);
	CU_ASSERT(SAME(m, n, PFX(0xffffff01), 0, 0));
	n = wire_encode_reqxch(m, sizeof(m), XID, CREDIT, p, 1);
	CU_ASSERT(SAME(m, n, PFX(0xffffff02), 1, 2, 4, 0x4000));
	CU_ASSERT_EQUAL(wire_encode_reqxch(m, n - 1, XID, CREDIT, p, 1), 0);
	n = wire_encode_respxch(m, sizeof(m), XID, CREDIT, &a, &b, &c);
	CU_ASSERT(SAME(m, n, PFX(0xffffff03), 1, 1, 1, 2, 1, 4));
	n = wire_encode_respxch(m, sizeof(m), XID, CREDIT, &none, &b, &none);
	CU_ASSERT(SAME(m, n, PFX(0xffffff03), 0, 1, 2, 0));
	CU_ASSERT_EQUAL(wire_encode_respxch(m, n - 4, XID, CREDIT, &none, &b,
					    &none),
			0);
	n = wire_encode_updxch(m, sizeof(m), XID, CREDIT, p, true);
	CU_ASSERT(SAME(m, n, PFX(0xffffff04), 2, 4, 0x4000, 1));
	CU_ASSERT_EQUAL(wire_encode_updxch(m, n - 1, XID, CREDIT, p, true), 0);
}

static void test_decode(void)
{
	struct wire_iter it = { 0 };
	struct wire_xchar x;
	struct wire_prop p;

	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff01), 2, 2, 4, 0x4000, 77, 0, 2,
				0, 1, 99),
			WIRE_OK);
	CU_ASSERT_EQUAL(x.p.xid, XID);
	CU_ASSERT_EQUAL(x.p.credit, CREDIT);
	CU_ASSERT_EQUAL(x.p.htype, RDMA2_X_INITXCH);
	CU_ASSERT_EQUAL(x.props.count, 2);
	CU_ASSERT_TRUE(wire_prop_next(&x.props, &it, &p));
	CU_ASSERT(p.which == 2 && wire_prop_u32(&p, 0) == 0x4000);
	CU_ASSERT_TRUE(wire_prop_next(&x.props, &it, &p));
	CU_ASSERT(p.which == 77 && p.len == 0);
	CU_ASSERT_FALSE(wire_prop_next(&x.props, &it, &p));
	CU_ASSERT_EQUAL(x.nochg.nwords, 2);
	CU_ASSERT_FALSE(wire_subset_test(x.nochg.words, 2, 0));
	CU_ASSERT_TRUE(wire_subset_test(x.nochg.words, 2, 32));
	CU_ASSERT_FALSE(wire_subset_test(x.nochg.words, 2, 64));
	CU_ASSERT_EQUAL(x.surplus, 4);

	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff02), 0), WIRE_OK);
	CU_ASSERT(x.props.count == 0 && x.props.len == 0);

	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff03), 1, 1, 0, 1, 2), WIRE_OK);
	CU_ASSERT(x.done.nwords == 1 && x.rej.nwords == 0 &&
		  x.pend.nwords == 1);
	CU_ASSERT_TRUE(wire_subset_test(x.done.words, 1, 0));
	CU_ASSERT_TRUE(wire_subset_test(x.pend.words, 1, 1));

	it = (struct wire_iter){ 0 };
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff04), 0xffffff02, 4, 1, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(x.props.count, 1);
	CU_ASSERT_TRUE(wire_prop_next(&x.props, &it, &p));
	CU_ASSERT(p.which == RDMA2_PROPID_X_REQREMINV &&
		  wire_prop_u32(&p, 0) == 1);
	CU_ASSERT_FALSE(wire_prop_next(&x.props, &it, &p));
	CU_ASSERT_FALSE(x.pendclr);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff04), 2, 0, 1), WIRE_OK);
	CU_ASSERT_TRUE(x.pendclr);
}

static void test_refused(void)
{
	struct wire_xchar x, z = { 0 };

	/* Not of this extension, base types included. */
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(7), 0), WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff00), 0), WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff05), 0), WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(XDECODE(&x, XID, 1, CREDIT, 0xffffff01, 0, 0),
			WIRE_VERSION);
	CU_ASSERT_EQUAL(XDECODE(&x, XID, 2, CREDIT), WIRE_SHORT);
	/* Values: an XDR error to the draft, [X4] */
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff02), 1, 2, 0x1000),
			WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff02), 1, 0xffffff02, 4, 2),
			WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff02), 1, 2, 2, 0x40000000),
			WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff02), 1, 0xffffff00, 8, 1, 1),
			WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff02), 1, 77, 5, 1),
			WIRE_BAD_PROPVAL);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff04), 5, 8, 1, 1, 1),
			WIRE_BAD_PROPVAL);
	/* What is wrong first decides. */
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff01), 2, 5, 8, 1, 1),
			WIRE_BAD_PROPVAL);
	/* Ends too soon. */
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff01)), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff01), 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff01), 0, 1), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff01), 0, 0x40000001, 1),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff02), UINT32_MAX, 2, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff03), 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff04), 2), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff04), 2, 4, 1), WIRE_BAD_XDR);
	/* RFC 4506 4.4 */
	CU_ASSERT_EQUAL(XDECODE(&x, PFX(0xffffff04), 2, 4, 1, 2), WIRE_BAD_XDR);
	z.p = x.p;
	CU_ASSERT_EQUAL(memcmp(&x, &z, sizeof(x)), 0);
}

static const struct unit_test tests[] = {
	{ "codes", test_codes },
	{ "encode", test_encode },
	{ "decode", test_decode },
	{ "refused", test_refused },
	{ NULL, NULL },
};

UNIT_MAIN("wire xchar", tests)
