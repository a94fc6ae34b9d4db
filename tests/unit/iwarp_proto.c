/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_proto - the pure parts: CRC, start-up frames, Terminate, STags
 *
 * Threads: one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "rpcrdma/fabric.h"
#include "fabric/iwarp/crc.h"
#include "fabric/iwarp/ddp.h"
#include "fabric/iwarp/mpa.h"
#include "fabric/iwarp/stag.h"
#include "fabric/iwarp/terminate.h"
#include "unit.h"

/* ---- CRC: the vectors of RFC 3720 appendix B.4 ----------------------- */

static void crc_check(const uint8_t *data, size_t len, const uint8_t *wire)
{
	uint32_t whole = crc_final(crc_update(CRC_SEED, data, len));
	uint8_t out[4];

	crc_put(out, whole);
	CU_ASSERT_EQUAL(memcmp(out, wire, 4), 0);
	CU_ASSERT_EQUAL(crc_get(wire), whole);
	for (size_t cut = 0; cut <= len; cut++) {
		uint32_t crc = crc_update(CRC_SEED, data, cut);

		crc = crc_update(crc, data + cut, len - cut);
		CU_ASSERT_EQUAL(crc_final(crc), whole);
	}
}

static void test_crc(void)
{
	static const uint8_t zeros[4] = { 0xaa, 0x36, 0x91, 0x8a };
	static const uint8_t ones[4] = { 0x43, 0xab, 0xa8, 0x62 };
	static const uint8_t up[4] = { 0x4e, 0x79, 0xdd, 0x46 };
	static const uint8_t down[4] = { 0x5c, 0xdb, 0x3f, 0x11 };
	static const uint8_t read10[48] = {
		0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00,
		0x00, 0x18, 0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	static const uint8_t read10_crc[4] = { 0x56, 0x3a, 0x96, 0xd9 };
	uint8_t b[32];

	memset(b, 0, sizeof(b));
	crc_check(b, sizeof(b), zeros);
	memset(b, 0xff, sizeof(b));
	crc_check(b, sizeof(b), ones);
	for (unsigned int i = 0; i < 32; i++)
		b[i] = (uint8_t)i;
	crc_check(b, sizeof(b), up);
	for (unsigned int i = 0; i < 32; i++)
		b[i] = (uint8_t)(31 - i);
	crc_check(b, sizeof(b), down);
	crc_check(read10, sizeof(read10), read10_crc);
}

/* ---- MPA start-up frames --------------------------------------------- */

static void mpa_round(const struct mpa_frame *f)
{
	size_t ctrl = f->enhanced ? MPA_V2_CTRL : 0, need;
	uint8_t buf[MPA_FRAME_MAX];
	struct mpa_frame g;
	int n = iw_mpa_encode(buf, f);

	CU_ASSERT_EQUAL_FATAL(n, (int)(MPA_FRAME_HDR + ctrl + f->priv_len));
	CU_ASSERT_EQUAL(
		memcmp(buf, f->reply ? "MPA ID Rep Frame" : "MPA ID Req Frame",
		       16),
		0);
	CU_ASSERT_EQUAL(buf[16], (f->markers << 7) | (f->crc << 6) |
					 (f->reject << 5) | (f->enhanced << 4));
	CU_ASSERT_EQUAL(buf[17], f->rev);
	CU_ASSERT_EQUAL(be16_get(buf + 18), f->priv_len + ctrl);
	if (f->enhanced) {
		CU_ASSERT_EQUAL(be16_get(buf + 20),
				f->ird | f->p2p << 15 | f->rtr_send << 14);
		CU_ASSERT_EQUAL(be16_get(buf + 22), f->ord |
							    f->rtr_write << 15 |
							    f->rtr_read << 14);
	}
	/* The other kind of frame it is not. */
	CU_ASSERT_EQUAL(iw_mpa_decode(buf, (size_t)n, !f->reply, &g, &need),
			-EPROTO);
	/* Truncated anywhere, more is wanted, and never too much of it. */
	for (size_t len = 0; len < (size_t)n; len++) {
		need = MPA_FRAME_HDR;
		CU_ASSERT_EQUAL(iw_mpa_decode(buf, len, f->reply, &g, &need),
				0);
		CU_ASSERT_TRUE(need > len && need <= (size_t)n);
	}
	CU_ASSERT_EQUAL(iw_mpa_decode(buf, (size_t)n, f->reply, &g, &need), n);
	CU_ASSERT_EQUAL(g.rev, f->rev);
	CU_ASSERT_EQUAL(g.markers, f->markers);
	CU_ASSERT_EQUAL(g.crc, f->crc);
	CU_ASSERT_EQUAL(g.reject, f->reject);
	CU_ASSERT_EQUAL(g.enhanced, f->enhanced);
	CU_ASSERT_EQUAL(g.priv_len, f->priv_len);
	CU_ASSERT_EQUAL(memcmp(g.priv, f->priv, f->priv_len), 0);
	if (!f->enhanced) {
		CU_ASSERT_EQUAL(g.ird, MPA_DEPTH_NONE);
		CU_ASSERT_EQUAL(g.ord, MPA_DEPTH_NONE);
		CU_ASSERT_FALSE(g.p2p);
		return;
	}
	CU_ASSERT_EQUAL(g.ird, f->ird);
	CU_ASSERT_EQUAL(g.ord, f->ord);
	CU_ASSERT_EQUAL(g.p2p, f->p2p);
	CU_ASSERT_EQUAL(g.rtr_send, f->rtr_send);
	CU_ASSERT_EQUAL(g.rtr_write, f->rtr_write);
	CU_ASSERT_EQUAL(g.rtr_read, f->rtr_read);
}

static void test_mpa_round(void)
{
	static const uint16_t depths[] = { 0, 1, 16, 0x3ffe, 0x3fff };
	static const size_t lens[] = { 0, 1, 4, 255, 508 };
	uint8_t priv[MPA_MAX_PD];

	for (size_t i = 0; i < sizeof(priv); i++)
		priv[i] = (uint8_t)(i * 7);
	for (unsigned int bits = 0; bits < 512; bits++)
		for (unsigned int d = 0; d < 5; d++) {
			struct mpa_frame f = {
				.reply = bits & 1,
				.markers = bits & 2,
				.crc = bits & 4,
				.reject = bits & 8,
				.enhanced = bits & 16,
				.rev = bits & 16 ? 2 : 1,
				.p2p = bits & 32,
				.rtr_send = bits & 64,
				.rtr_write = bits & 128,
				.rtr_read = bits & 256,
				.ird = depths[d],
				.ord = depths[4 - d],
				.priv = priv,
				.priv_len = lens[(bits + d) % 5],
			};

			mpa_round(&f);
		}
	for (size_t len = 0; len <= MPA_MAX_PD; len++) {
		struct mpa_frame f = {
			.rev = 1, .crc = true, .priv = priv, .priv_len = len
		};

		mpa_round(&f);
	}
}

static void test_mpa_bad(void)
{
	uint8_t buf[MPA_FRAME_MAX + 64], priv[600] = { 0 };
	struct mpa_frame f = { .rev = 1, .priv = priv, .priv_len = 512 }, g;
	size_t need;
	int n;

	CU_ASSERT_EQUAL(iw_mpa_encode(buf, &f), 532);
	f.priv_len = 513;
	CU_ASSERT_EQUAL(iw_mpa_encode(buf, &f), -EINVAL);
	f.rev = 2;
	f.enhanced = true;
	f.priv_len = 509;
	CU_ASSERT_EQUAL(iw_mpa_encode(buf, &f), -EINVAL);
	f.priv_len = 508;
	CU_ASSERT_EQUAL(iw_mpa_encode(buf, &f), 532);
	f.ird = 0x4000;
	CU_ASSERT_EQUAL(iw_mpa_encode(buf, &f), -EINVAL);
	f.ird = 0;
	/* Garbage in any octet of the key shows as soon as it is there. */
	n = iw_mpa_encode(buf, &f);
	for (size_t i = 0; i < 16; i++) {
		buf[i] ^= 0x20;
		for (size_t len = 0; len <= i; len++)
			CU_ASSERT_EQUAL(
				iw_mpa_decode(buf, len, false, &g, &need), 0);
		CU_ASSERT_EQUAL(iw_mpa_decode(buf, i + 1, false, &g, &need),
				-EPROTO);
		buf[i] ^= 0x20;
	}
	/* Private data longer than there may be, before it comes. */
	be16_put(buf + 18, 513);
	CU_ASSERT_EQUAL(iw_mpa_decode(buf, MPA_FRAME_HDR, false, &g, &need),
			-EPROTO);
	be16_put(buf + 18, 65535);
	CU_ASSERT_EQUAL(iw_mpa_decode(buf, MPA_FRAME_HDR, false, &g, &need),
			-EPROTO);
	/* Revision 2 without room for its control words. */
	for (uint16_t len = 0; len < MPA_V2_CTRL; len++) {
		be16_put(buf + 18, len);
		n = iw_mpa_decode(buf, MPA_FRAME_HDR + len, false, &g, &need);
		CU_ASSERT_EQUAL(n, -EPROTO);
	}
	/* But a refusal may do without. */
	f.priv_len = 0;
	f.reply = f.reject = true;
	iw_mpa_encode(buf, &f);
	be16_put(buf + 18, 0);
	CU_ASSERT_EQUAL(iw_mpa_decode(buf, MPA_FRAME_HDR, true, &g, &need),
			(int)MPA_FRAME_HDR);
	CU_ASSERT_TRUE(g.reject);
	CU_ASSERT_FALSE(g.enhanced);
}

/* ---- Terminate ------------------------------------------------------- */

static void test_terminate(void)
{
	uint8_t bad[OFF_RREQ_END], buf[TERM_FPDU_MAX];
	size_t n;

	for (size_t i = 0; i < sizeof(bad); i++)
		bad[i] = (uint8_t)(0x80 + i);
	/* An error of the LLP: no headers. */
	n = iw_term_encode(buf, TERM_MPA_CRC, NULL);
	CU_ASSERT_EQUAL(n, 2 + 18 + 4);
	CU_ASSERT_EQUAL(be16_get(buf), 22);
	CU_ASSERT_EQUAL(buf[2], 0x41);
	CU_ASSERT_EQUAL(buf[3], 0x47);
	CU_ASSERT_EQUAL(be32_get(buf + 4), 0);
	CU_ASSERT_EQUAL(be32_get(buf + 8), 2);
	CU_ASSERT_EQUAL(be32_get(buf + 12), 1);
	CU_ASSERT_EQUAL(be32_get(buf + 16), 0);
	CU_ASSERT_EQUAL(be32_get(buf + 20), 0x20020000);
	/* A tagged segment: its length and DDP header. */
	ddp_put_ctrl(bad, 100, true, true, RDMAP_WRITE);
	n = iw_term_encode(buf, TERM_DDP_BOUNDS, bad);
	CU_ASSERT_EQUAL(n, 2 + 18 + 4 + 2 + 14);
	CU_ASSERT_EQUAL(be32_get(buf + 20), 0x1101c000);
	CU_ASSERT_EQUAL(memcmp(buf + 24, bad, 16), 0);
	/* An untagged one. */
	ddp_put_ctrl(bad, 100, false, true, RDMAP_SEND);
	n = iw_term_encode(buf, TERM_DDP_NO_BUFFER, bad);
	CU_ASSERT_EQUAL(n, 2 + 18 + 4 + 2 + 18);
	CU_ASSERT_EQUAL(be32_get(buf + 20), 0x1202c000);
	CU_ASSERT_EQUAL(memcmp(buf + 24, bad, 20), 0);
	/* A Read Request the RDMAP layer refuses: that header too. */
	ddp_put_ctrl(bad, 46, false, true, RDMAP_READ_REQ);
	n = iw_term_encode(buf, TERM_RDMAP_ACCESS, bad);
	CU_ASSERT_EQUAL(n, 2 + RDMAP_TERM_MAX);
	CU_ASSERT_EQUAL(be32_get(buf + 20), 0x0102e000);
	CU_ASSERT_EQUAL(memcmp(buf + 24, bad, 48), 0);
	CU_ASSERT_EQUAL(be16_get(buf), RDMAP_TERM_MAX);
	CU_ASSERT_EQUAL(iw_term_cause(0x0102e000), TERM_RDMAP_ACCESS);
	CU_ASSERT_STRING_NOT_EQUAL(iw_term_text(TERM_RDMAP_ACCESS),
				   iw_term_text(TERM_MPA_CRC));
	CU_ASSERT_PTR_NOT_NULL(iw_term_text(0xffff));
}

static void test_pad(void)
{
	for (unsigned int len = 0; len < 70; len++) {
		CU_ASSERT_TRUE(mpa_pad(len) < 4);
		CU_ASSERT_EQUAL((2 + len + mpa_pad(len)) % 4, 0);
	}
}

/* ---- STags ----------------------------------------------------------- */

static void test_stag(void)
{
	static uint32_t stag[STAG_MAX];
	static uint64_t base[STAG_MAX];
	struct stag_table t;
	uint8_t mem[16];
	uint32_t n = 0, extra;
	uint64_t b;
	uint8_t *at;

	iw_stag_init(&t);
	CU_ASSERT_PTR_NULL(iw_stag_find(&t, 0));
	CU_ASSERT_PTR_NULL(iw_stag_find(&t, 1));
	while (!iw_stag_add(&t, mem, sizeof(mem), FAB_REMOTE_READ, &stag[n],
			    &base[n])) {
		CU_ASSERT_NOT_EQUAL(stag[n], 0);
		n++;
	}
	CU_ASSERT_EQUAL(n, STAG_MAX - 1);
	CU_ASSERT_EQUAL(iw_stag_add(&t, mem, 1, 1, &extra, &b), -ENOSPC);
	for (uint32_t i = 0; i < n; i++)
		CU_ASSERT_PTR_NOT_NULL(iw_stag_find(&t, stag[i]));
	/* The random part counts. */
	CU_ASSERT_PTR_NULL(iw_stag_find(&t, stag[5] ^ STAG_MAX));
	/* Closed is closed, also when its entry is used again. */
	for (int k = 0; k < 1000; k++) {
		uint32_t old = stag[7];

		CU_ASSERT_TRUE(iw_stag_del(&t, old));
		CU_ASSERT_FALSE(iw_stag_del(&t, old));
		CU_ASSERT_PTR_NULL(iw_stag_find(&t, old));
		CU_ASSERT_EQUAL(iw_stag_add(&t, mem, 16, 1, &stag[7], &base[7]),
				0);
		CU_ASSERT_NOT_EQUAL(stag[7], old);
		CU_ASSERT_PTR_NULL(iw_stag_find(&t, old));
	}
	/* Bounds, up to what arithmetic can do wrong. */
	const struct stag_entry *e = iw_stag_find(&t, stag[3]);

	b = base[3];
	CU_ASSERT_EQUAL(iw_stag_range(e, b, 16, &at), STAG_OK);
	CU_ASSERT_PTR_EQUAL(at, mem);
	CU_ASSERT_EQUAL(iw_stag_range(e, b + 15, 1, &at), STAG_OK);
	CU_ASSERT_PTR_EQUAL(at, mem + 15);
	CU_ASSERT_EQUAL(iw_stag_range(e, b + 16, 0, &at), STAG_OK);
	CU_ASSERT_EQUAL(iw_stag_range(e, b, 17, &at), STAG_BOUNDS);
	CU_ASSERT_EQUAL(iw_stag_range(e, b + 16, 1, &at), STAG_BOUNDS);
	CU_ASSERT_EQUAL(iw_stag_range(e, b - 1, 1, &at), STAG_BOUNDS);
	CU_ASSERT_EQUAL(iw_stag_range(e, b - 1, 17, &at), STAG_BOUNDS);
	CU_ASSERT_EQUAL(iw_stag_range(e, UINT64_MAX, 2, &at), STAG_WRAP);
	CU_ASSERT_EQUAL(iw_stag_range(e, UINT64_MAX, 1, &at), STAG_BOUNDS);
	CU_ASSERT_EQUAL(iw_stag_range(e, b, UINT64_MAX - b + 2, &at),
			STAG_WRAP);
	CU_ASSERT_EQUAL(iw_stag_range(e, b, UINT64_MAX - b, &at), STAG_BOUNDS);
	for (int k = 0; k < 100; k++) {
		extra = iw_stag_sink(&t);
		CU_ASSERT_NOT_EQUAL(extra, 0);
		CU_ASSERT_PTR_NULL(iw_stag_find(&t, extra));
	}
	iw_stag_fini(&t);
}

static bool same(const char *a, const char *b)
{
	struct sockaddr_storage ss[2] = { 0 };
	const char *text[2] = { a, b };

	for (int i = 0; i < 2; i++) {
		struct sockaddr_in *in = (struct sockaddr_in *)&ss[i];
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss[i];

		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)(i + 1));
		if (inet_pton(AF_INET, text[i], &in->sin_addr) == 1)
			continue;
		in6->sin6_family = AF_INET6;
		CU_ASSERT_EQUAL(inet_pton(AF_INET6, text[i], &in6->sin6_addr),
				1);
	}
	return iw_mpa_same_machine(&ss[0], &ss[1]);
}

/* Auto leaves the CRC out only where nothing leaves the machine. */
static void test_same_machine(void)
{
	CU_ASSERT_TRUE(same("192.0.2.1", "192.0.2.1"));
	CU_ASSERT_FALSE(same("192.0.2.1", "192.0.2.2"));
	CU_ASSERT_TRUE(same("127.0.0.1", "127.1.2.3"));
	CU_ASSERT_FALSE(same("127.0.0.1", "126.0.0.1"));
	CU_ASSERT_FALSE(same("127.0.0.1", "192.0.2.1"));
	CU_ASSERT_TRUE(same("::1", "::1"));
	CU_ASSERT_TRUE(same("2001:db8::1", "2001:db8::1"));
	CU_ASSERT_FALSE(same("2001:db8::1", "2001:db8::2"));
	CU_ASSERT_FALSE(same("::1", "127.0.0.1"));
	CU_ASSERT_TRUE(same("::ffff:127.0.0.1", "::ffff:127.0.0.1"));
	CU_ASSERT_FALSE(same("::ffff:192.0.2.1", "::ffff:192.0.2.2"));
}

static const struct unit_test tests[] = {
	{ "crc", test_crc },	     { "mpa_round", test_mpa_round },
	{ "mpa_bad", test_mpa_bad }, { "terminate", test_terminate },
	{ "pad", test_pad },	     { "same_machine", test_same_machine },
	{ "stag", test_stag },	     { NULL, NULL },
};

UNIT_MAIN("iwarp_proto", tests)
