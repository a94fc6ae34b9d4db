/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RPC heads and XDR, octet by octet; and the latency histogram.
 */
#include "unit.h"

#include <errno.h>

#include "tools/latency.h"
#include "rpcargs.h"

static void test_call_head(void)
{
	static const uint8_t none[] = {
		1,    2,    3, 4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1,
		0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0,
		0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	uint8_t buf[128];
	struct xw w;

	xw_init(&w, buf, sizeof(buf));
	rpc_call_head(&w, 0x01020304, 100003, 3, 6, false);
	CU_ASSERT_EQUAL(w.len, sizeof(none));
	CU_ASSERT_EQUAL(memcmp(buf, none, sizeof(none)), 0);

	xw_init(&w, buf, sizeof(buf));
	rpc_call_head(&w, 0x01020304, 100003, 3, 6, true);
	CU_ASSERT_EQUAL(w.len, sizeof(none) + 20);
	CU_ASSERT_EQUAL(memcmp(buf, none, 24), 0);
	CU_ASSERT_EQUAL(memcmp(buf + 24, "\0\0\0\1\0\0\0\x14", 8), 0);

	for (size_t room = 0; room < 60; room++) {
		xw_init(&w, buf, room);
		rpc_call_head(&w, 1, 2, 3, 4, true);
		CU_ASSERT_TRUE(w.overflow);
		CU_ASSERT_TRUE(w.len <= room);
	}
}

static void test_reply(void)
{
	uint8_t buf[64];
	struct rpc_reply rep;
	struct xw w;

	xw_init(&w, buf, sizeof(buf));
	rpc_reply_head(&w, 7, RPC_ACCEPT_SYSTEM_ERR);
	CU_ASSERT_EQUAL(w.len, RPC_REPLY_HEAD);
	CU_ASSERT_EQUAL(rpc_reply_decode(buf, w.len, &rep), 0);
	CU_ASSERT_EQUAL(rep.xid, 7);
	CU_ASSERT_FALSE(rep.denied);
	CU_ASSERT_EQUAL(rep.stat, RPC_ACCEPT_SYSTEM_ERR);
	CU_ASSERT_EQUAL(rep.body, RPC_REPLY_HEAD);
	CU_ASSERT_STRING_EQUAL(rpc_reply_text(&rep), "system error");
	for (size_t n = 0; n < RPC_REPLY_HEAD; n++)
		CU_ASSERT_EQUAL(rpc_reply_decode(buf, n, &rep), -EBADMSG);

	/* PROG_MISMATCH has a range. */
	xw_init(&w, buf, sizeof(buf));
	rpc_reply_head(&w, 7, RPC_ACCEPT_PROG_MISMATCH);
	xw_u32(&w, 3);
	xw_u32(&w, 4);
	CU_ASSERT_EQUAL(rpc_reply_decode(buf, w.len, &rep), 0);
	CU_ASSERT_EQUAL(rep.low, 3);
	CU_ASSERT_EQUAL(rep.high, 4);
	CU_ASSERT_EQUAL(rpc_reply_decode(buf, w.len - 1, &rep), -EBADMSG);

	/* Denied: no verifier. */
	xw_init(&w, buf, sizeof(buf));
	xw_u32(&w, 9);
	xw_u32(&w, RPC_REPLY);
	xw_u32(&w, 1);
	xw_u32(&w, 1); /* AUTH_ERROR */
	xw_u32(&w, 5);
	CU_ASSERT_EQUAL(rpc_reply_decode(buf, w.len, &rep), 0);
	CU_ASSERT_TRUE(rep.denied);
	CU_ASSERT_STRING_EQUAL(rpc_reply_text(&rep), "authentication refused");

	/* A Call is no Reply; neither is a reply_stat of 2. */
	buf[7] = RPC_CALL;
	CU_ASSERT_EQUAL(rpc_reply_decode(buf, w.len, &rep), -EBADMSG);
	buf[7] = RPC_REPLY;
	buf[11] = 2;
	CU_ASSERT_EQUAL(rpc_reply_decode(buf, w.len, &rep), -EBADMSG);
}

static void test_opaque(void)
{
	uint8_t buf[64];
	const uint8_t *p;
	struct xw w;
	struct xr r;
	size_t n;

	for (size_t len = 0; len < 9; len++) {
		memset(buf, 0xff, sizeof(buf));
		xw_init(&w, buf, sizeof(buf));
		xw_opaque(&w, "abcdefgh", len);
		xw_u32(&w, 0x11223344);
		CU_ASSERT_EQUAL(w.len, 8 + ((len + 3) & ~3u));
		for (size_t i = 4 + len; i < w.len - 4; i++)
			CU_ASSERT_EQUAL(buf[i], 0);
		xr_init(&r, buf, w.len);
		p = xr_opaque(&r, 8, &n);
		CU_ASSERT_EQUAL(n, len);
		CU_ASSERT_TRUE(!len || !memcmp(p, "abcdefgh", len));
		CU_ASSERT_EQUAL(xr_u32(&r), 0x11223344);
		CU_ASSERT_FALSE(r.bad);
		/* Over the limit, and cut short. */
		if (len) {
			xr_init(&r, buf, w.len);
			xr_opaque(&r, len - 1, &n);
			CU_ASSERT_TRUE(r.bad);
			xr_init(&r, buf, 4 + len - 1);
			xr_opaque(&r, 8, &n);
			CU_ASSERT_TRUE(r.bad);
			CU_ASSERT_EQUAL(n, 0);
		}
	}
	/* A length near 2^32 does not wrap. */
	memset(buf, 0xff, sizeof(buf));
	xr_init(&r, buf, sizeof(buf));
	xr_opaque(&r, SIZE_MAX, &n);
	CU_ASSERT_TRUE(r.bad);
	CU_ASSERT_EQUAL(xr_u32(&r), 0);
	xr_init(&r, buf, sizeof(buf));
	CU_ASSERT_EQUAL(xr_u64(&r), UINT64_MAX);
	CU_ASSERT_FALSE(r.bad);
}

static void test_latency(void)
{
	static struct latency l;

	lat_init(&l);
	CU_ASSERT_EQUAL(lat_at(&l, 500), 0);
	CU_ASSERT_EQUAL(lat_avg(&l), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		lat_add(&l, i * 1000);
	CU_ASSERT_EQUAL(l.min, 1000);
	CU_ASSERT_EQUAL(l.max, 1000000);
	CU_ASSERT_EQUAL(lat_avg(&l), 500500);
	for (unsigned int p = 1; p <= 1000; p++) {
		uint64_t v = lat_at(&l, p);

		/* Never under the true value, and within a step of it. */
		CU_ASSERT_TRUE(v >= p * 1000u);
		CU_ASSERT_TRUE(v <= p * 1000u + p * 1000u / 64 + 1);
	}
	/* The ends of the scale have a place too. */
	lat_init(&l);
	lat_add(&l, 0);
	lat_add(&l, UINT64_MAX);
	CU_ASSERT_EQUAL(lat_at(&l, 500), 0);
	CU_ASSERT_EQUAL(l.max, UINT64_MAX);
	for (unsigned int shift = 0; shift < 40; shift++) {
		uint64_t v = 1ull << shift;

		lat_init(&l);
		lat_add(&l, v);
		lat_add(&l, UINT64_MAX);
		CU_ASSERT_TRUE(lat_at(&l, 500) >= v);
		CU_ASSERT_TRUE(lat_at(&l, 500) <= v + v / 64);
	}
}

static const struct unit_test tests[] = {
	{ "call_head", test_call_head },
	{ "reply", test_reply },
	{ "opaque", test_opaque },
	{ "latency", test_latency },
	{ 0 },
};

UNIT_MAIN("tools-rpc", tests)
