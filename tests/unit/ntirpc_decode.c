/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decode stream against ntirpc's own memory stream: the same octets, in
 * one allocation there, in pieces cut at any octet here.
 */
#include "ntirpc_items.h"
#include "unit.h"

#define STREAM_MAX (512u << 10)

static bool reencode(XDR *xdrs, const struct item *it)
{
	struct item copy = *it;

	return item_xdr(xdrs, &copy);
}

static void one_sequence(uint64_t *rnd, uint8_t *mem)
{
	struct item items[40];
	struct rt_piece pieces[RT_MAX_PIECES];
	unsigned int n = 1 + (unsigned int)util_below(rnd, 40), np;
	struct xs_decode d;
	size_t len;
	XDR x;

	xdrmem_ncreate(&x, (char *)mem, STREAM_MAX, XDR_ENCODE);
	for (unsigned int i = 0; i < n; i++) {
		item_make(&items[i], rnd, util_below(rnd, 3) ? 24 : 400);
		CU_ASSERT_TRUE_FATAL(reencode(&x, &items[i]));
	}
	len = XDR_GETPOS(&x);
	np = util_cut_randomly(mem, len, rnd, RT_MAX_PIECES, pieces);
	xs_decode_init(&d, pieces, np, NULL);
	xdrmem_ncreate(&x, (char *)mem, (u_int)len, XDR_DECODE);
	for (unsigned int i = 0; i < n; i++) {
		struct item ours = item_blank(&items[i]);
		struct item theirs = item_blank(&items[i]);

		CU_ASSERT_TRUE(item_xdr(&x, &theirs));
		CU_ASSERT_TRUE(item_xdr(&d.xdrs, &ours));
		CU_ASSERT_TRUE(item_equal(&ours, &theirs));
		/* ntirpc's xdr_float() decodes to an integer's bits. */
		if (ours.kind != ITEM_FLOAT)
			CU_ASSERT_TRUE(item_equal(&ours, &items[i]));
		CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), XDR_GETPOS(&x));
		item_free(&ours);
		item_free(&theirs);
	}
	CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), len);
	for (unsigned int i = 0; i < n; i++)
		item_free(&items[i]);
	util_free_pieces(pieces, np);
}

static void test_random(void)
{
	uint64_t rnd = 0x9e3779b97f4a7c15;
	uint8_t *mem = malloc(STREAM_MAX);

	for (int i = 0; i < 4000; i++)
		one_sequence(&rnd, mem);
	free(mem);
}

/* Does it have these octets from its position on? */
static bool rest_is(const struct xs_decode *d, const uint8_t *want, size_t len)
{
	struct iovec iov[RT_MAX_PIECES];
	unsigned int n = xs_decode_rest(d, iov);
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (iov[i].iov_len > len - at ||
		    memcmp(iov[i].iov_base, want + at, iov[i].iov_len))
			return false;
		at += iov[i].iov_len;
	}
	return at == len;
}

static void test_positions(void)
{
	uint64_t rnd = 42;
	uint8_t mem[1000];
	struct rt_piece pieces[RT_MAX_PIECES];
	struct xs_decode d;
	unsigned int np;

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)util_random(&rnd);
	for (int round = 0; round < 300; round++) {
		np = util_cut_randomly(mem, sizeof(mem), &rnd, RT_MAX_PIECES,
				       pieces);
		xs_decode_init(&d, pieces, np, NULL);
		CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), 0);
		for (int i = 0; i < 100; i++) {
			u_int at = (u_int)util_below(&rnd, sizeof(mem) + 8);
			u_int want = (u_int)util_below(&rnd, 300);
			uint8_t got[300];
			size_t left = sizeof(mem) - at;

			if (at > sizeof(mem)) {
				CU_ASSERT_FALSE(XDR_SETPOS(&d.xdrs, at));
				continue;
			}
			CU_ASSERT_TRUE(XDR_SETPOS(&d.xdrs, at));
			CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), at);
			CU_ASSERT_TRUE(rest_is(&d, mem + at, left));
			CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), at);
			if (want > left) {
				/* Nothing is taken from what is too short. */
				CU_ASSERT_FALSE(XDR_GETBYTES(
					&d.xdrs, (char *)got, want));
				CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), at);
				continue;
			}
			CU_ASSERT_TRUE(
				XDR_GETBYTES(&d.xdrs, (char *)got, want));
			CU_ASSERT_EQUAL(memcmp(got, mem + at, want), 0);
			CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), at + want);
		}
		util_free_pieces(pieces, np);
	}
}

static void test_end(void)
{
	uint8_t mem[10] = { 0, 0, 0, 1, 0, 0, 0, 2, 0, 0 };

	for (size_t cut = 0; cut <= sizeof(mem); cut++) {
		struct rt_piece pieces[3];
		size_t cuts[2] = { cut, cut };
		unsigned int np = util_cut(mem, sizeof(mem), cuts, 2, pieces);
		struct xs_decode d;
		uint32_t v = 0;

		xs_decode_init(&d, pieces, np, NULL);
		CU_ASSERT_TRUE(XDR_GETUINT32(&d.xdrs, &v));
		CU_ASSERT_EQUAL(v, 1);
		CU_ASSERT_TRUE(XDR_GETUINT32(&d.xdrs, &v));
		CU_ASSERT_EQUAL(v, 2);
		CU_ASSERT_FALSE(XDR_GETUINT32(&d.xdrs, &v));
		CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), 8);
		CU_ASSERT_FALSE(XDR_PUTUINT32(&d.xdrs, 1));
		util_free_pieces(pieces, np);
	}
}

static void test_empty(void)
{
	struct xs_decode d;
	uint32_t v;

	xs_decode_init(&d, NULL, 0, NULL);
	CU_ASSERT_EQUAL(XDR_GETPOS(&d.xdrs), 0);
	CU_ASSERT_TRUE(XDR_SETPOS(&d.xdrs, 0));
	CU_ASSERT_FALSE(XDR_SETPOS(&d.xdrs, 1));
	CU_ASSERT_FALSE(XDR_GETUINT32(&d.xdrs, &v));
	CU_ASSERT_TRUE(rest_is(&d, NULL, 0));
	CU_ASSERT_EQUAL(XDR_IOVCOUNT(&d.xdrs, 0, 1), -1);
	XDR_DESTROY(&d.xdrs);
}

static void test_fillbufs(void)
{
	uint64_t rnd = 7;
	uint8_t mem[500];
	struct rt_piece pieces[RT_MAX_PIECES];
	xdr_vio vec[RT_MAX_PIECES];

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)util_random(&rnd);
	for (int round = 0; round < 2000; round++) {
		unsigned int np =
			util_cut_randomly(mem, sizeof(mem), &rnd, 20, pieces);
		u_int at = (u_int)util_below(&rnd, sizeof(mem));
		u_int len = (u_int)util_below(&rnd, sizeof(mem));
		struct xs_decode d;
		size_t sum = 0;
		int n;

		xs_decode_init(&d, pieces, np, NULL);
		n = XDR_IOVCOUNT(&d.xdrs, at, len);
		if (at + len > sizeof(mem)) {
			CU_ASSERT_EQUAL(n, -1);
			CU_ASSERT_FALSE(XDR_FILLBUFS(&d.xdrs, at, vec, len));
		} else {
			CU_ASSERT_TRUE(XDR_FILLBUFS(&d.xdrs, at, vec, len));
			for (int i = 0; i < n; i++) {
				CU_ASSERT_EQUAL(vec[i].vio_type, VIO_DATA);
				CU_ASSERT_EQUAL(vec[i].vio_tail -
							vec[i].vio_head,
						vec[i].vio_length);
				CU_ASSERT_EQUAL(memcmp(vec[i].vio_head,
						       mem + at + sum,
						       vec[i].vio_length),
						0);
				sum += vec[i].vio_length;
			}
			CU_ASSERT_EQUAL(sum, len);
		}
		util_free_pieces(pieces, np);
	}
}

/* The whole head of a Call, by ntirpc's own decoder, at every cut. */
static void test_call_header(void)
{
	uint8_t mem[1000];
	struct rpc_msg msg = {
		.rm_xid = 0x12345678,
		.rm_direction = CALL,
		.rm_call.cb_rpcvers = RPC_MSG_VERSION,
		.cb_prog = 100003,
		.cb_vers = 4,
		.cb_proc = 1,
	};
	size_t len;
	XDR x;

	msg.cb_cred.oa_flavor = AUTH_SYS;
	msg.cb_cred.oa_length = 39;
	memset(msg.cb_cred.oa_body, 'c', 39);
	msg.cb_verf.oa_flavor = AUTH_NONE;
	msg.cb_verf.oa_length = 5;
	memset(msg.cb_verf.oa_body, 'v', 5);
	xdrmem_ncreate(&x, (char *)mem, sizeof(mem), XDR_ENCODE);
	CU_ASSERT_TRUE_FATAL(xdr_call_encode(&x, &msg));
	CU_ASSERT_TRUE_FATAL(XDR_PUTUINT32(&x, 0xabcdef));
	len = XDR_GETPOS(&x);
	for (size_t a = 0; a <= len; a++) {
		for (size_t b = a; b <= len; b += 1 + (a & 3)) {
			size_t cuts[2] = { a, b };
			struct rt_piece pieces[3];
			struct xs_decode d;
			static struct rpc_msg got;
			unsigned int np = util_cut(mem, len, cuts, 2, pieces);
			uint32_t body = 0;

			xs_decode_init(&d, pieces, np, NULL);
			rpc_msg_init(&got);
			CU_ASSERT_TRUE_FATAL(xdr_dplx_decode(&d.xdrs, &got));
			CU_ASSERT_EQUAL(got.rm_xid, 0x12345678);
			CU_ASSERT_EQUAL(got.rm_direction, CALL);
			CU_ASSERT_EQUAL(got.cb_prog, 100003);
			CU_ASSERT_EQUAL(got.cb_vers, 4);
			CU_ASSERT_EQUAL(got.cb_proc, 1);
			CU_ASSERT_EQUAL(got.cb_cred.oa_length, 39);
			CU_ASSERT_EQUAL(memcmp(got.cb_cred.oa_body,
					       msg.cb_cred.oa_body, 39),
					0);
			CU_ASSERT_EQUAL(got.cb_verf.oa_length, 5);
			CU_ASSERT_TRUE(XDR_GETUINT32(&d.xdrs, &body));
			CU_ASSERT_EQUAL(body, 0xabcdef);
			util_free_pieces(pieces, np);
		}
	}
}

static int destroyed;

static void count_destroyed(struct xs_decode *d)
{
	destroyed++;
}

static void test_destroy(void)
{
	uint32_t word = 0;
	struct rt_piece piece = { .addr = &word, .len = sizeof(word) };
	struct xs_decode d;
	XDR mem;

	xs_decode_init(&d, &piece, 1, count_destroyed);
	CU_ASSERT_PTR_EQUAL(xs_decode_of(&d.xdrs), &d);
	XDR_DESTROY(&d.xdrs);
	CU_ASSERT_EQUAL(destroyed, 1);
	XDR_DESTROY(&d.xdrs);
	CU_ASSERT_EQUAL(destroyed, 1);
	xdrmem_ncreate(&mem, (char *)&word, sizeof(word), XDR_DECODE);
	CU_ASSERT_PTR_NULL(xs_decode_of(&mem));
	CU_ASSERT_PTR_NULL(xs_decode_of(NULL));
}

static const struct unit_test tests[] = { { "random items", test_random },
					  { "positions", test_positions },
					  { "end of the stream", test_end },
					  { "empty stream", test_empty },
					  { "fillbufs", test_fillbufs },
					  { "Call header at every cut",
					    test_call_header },
					  { "destroyed once", test_destroy },
					  { NULL, NULL } };
UNIT_MAIN("ntirpc decode stream", tests)
