/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtrext: how a Responder of ours returns results to a raw client, by tables 1
 * and 2, ranges, lengths and numbers of transmissions; arguments by EXRW; and
 * the limits that hold for both.
 */
#include <stdlib.h>
#include <string.h>

#include "rt_rtr.h"
#include "unit.h"

static uint8_t pay[512];
static struct wire_xmt resp;
static struct wire_xitem item[8];

/* A Call that asks for @n items of @len octets, in these directions. */
static void ask(struct rt_raw *r, uint32_t xid, uint32_t n, uint32_t len,
		const struct wire_rsdset_desc *sets, uint32_t nsets,
		uint32_t rsbuf)
{
	struct wire_xmt_desc d = {
		.sets = sets, .nsets = nsets, .count = 1, .rsbuf = rsbuf
	};
	size_t size = rt_raw_payload(pay, xid, 8 + 4 * n, n, len, 0);

	d.pslen = (uint32_t)size;
	rt_rtr_request(r, xid, &d, pay, size, 0, NULL, 0);
}

/* The response in so many transmissions has come; its first @n items. */
static bool got(struct rt_raw *r, uint32_t xid, uint32_t count, uint32_t n)
{
	struct wire_iter it = { 0 };
	bool ok = rt_rtr_is(r, RDMA2_X_XMTRESP, xid, count, &resp) &&
		  resp.items.count == n;

	for (uint32_t i = 0; ok && i < n; i++)
		ok = wire_xitem_next(&resp.items, &it, &item[i]);
	return ok;
}

/* Are these octets those of the Reply's @pos and on? */
static bool same(const uint8_t *p, uint32_t xid, size_t pos, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != rt_pair_pattern(xid, pos + i))
			return false;
	return true;
}

/* One item of 3000 octets by each type, and with no target segments. */
static void types(void)
{
	for (uint32_t bare = 0; bare < 2; bare++) {
		struct wire_rsditem_desc want = { .threshold = 3001 };
		struct wire_rsdset_desc set = { 0, 100, &want, 1 };
		struct wire_segment seg;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_rtr_on));
		rt_rtr_announce(&r, RTR_ALL, bare ? 0 : 1, 4);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		for (uint32_t t = XMPTYPE_EXRW; t <= XMPTYPE_BYSIZE + 1; t++) {
			uint32_t xid = 10 + t, result = XMPTYPE_TBSN;

			seg = rt_raw_expose(&r, 8192, 5000, true);
			want.type = t > XMPTYPE_BYSIZE ? XMPTYPE_BYSIZE : t;
			want.seg = &seg;
			want.nsegs = 1;
			/* From its threshold on, [R8]. */
			if (t > XMPTYPE_BYSIZE)
				want.threshold = 3000;
			if (t == XMPTYPE_EXRW || t > XMPTYPE_BYSIZE ||
			    (bare && t != XMPTYPE_TBSN))
				result = XMPTYPE_EXRW;
			else if (bare)
				result = XMPTYPE_TOOSHORT;
			memset(r.mem, 0, 16384);
			ask(&r, xid, 1, 3000, &set, 1, 1);
			CU_ASSERT_TRUE_FATAL(got(&r, xid, 1, 1));
			CU_ASSERT_EQUAL(item[0].type, result);
			CU_ASSERT(item[0].disp == 8 && item[0].length == 3000);
			CU_ASSERT_EQUAL(resp.pslen,
					result == XMPTYPE_TOOSHORT ? 3012 : 12);
			if (result == XMPTYPE_TBSN) {
				CU_ASSERT(item[0].nbsnum == 1 &&
					  wire_bsnum(&item[0], 0) == 0 &&
					  item[0].offset == 0);
				CU_ASSERT_EQUAL(r.msg_len, RTR_PAGE + 3000);
				CU_ASSERT_TRUE(
					same(r.msg + RTR_PAGE, xid, 8, 3000));
			} else if (result == XMPTYPE_EXRW) {
				struct wire_iter it = { 0 };
				struct wire_segment s;

				CU_ASSERT_EQUAL(item[0].seg.count, 1);
				CU_ASSERT_TRUE(wire_segment_next(&item[0].seg,
								 &it, &s));
				CU_ASSERT(s.handle == seg.handle &&
					  s.offset == seg.offset &&
					  s.length == 3000);
				CU_ASSERT_TRUE(
					same(r.mem + 8192, xid, 8, 3000));
				CU_ASSERT_EQUAL(r.mem[8192 + 3000], 0);
			}
		}
		/* It does not fit its segments. */
		seg = rt_raw_expose(&r, 8192, 2999, true);
		want.type = XMPTYPE_EXRW;
		ask(&r, 50, 1, 3000, &set, 1, 1);
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 50, RDMA2_ERR_WRITE_RESOURCE));
		CU_ASSERT(r.m.error.chunk_index == 1 &&
			  r.m.error.length_needed == 3000);
		rt_raw_close(&r);
	}
}

/* Is a result of 400 octets sent into the target segments of such a Structure? */
static bool targeted(const struct wire_rbgroup *g, uint32_t n)
{
	struct wire_rsditem_desc want = { .type = XMPTYPE_TBSN };
	struct wire_rsdset_desc set = { 0, 100, &want, 1 };
	uint32_t all = htonl(RTR_ALL), limit = htonl(4), total = 0, size;
	uint8_t b[256];
	struct wire_prop p[] = {
		{ RDMA2_PROPID_RBSIZ, (uint8_t *)&size, 4 },
		{ RDMA2_PROPID_X_RTRSUPP, (uint8_t *)&all, 4 },
		{ RDMA2_PROPID_X_RESPSXLIM, (uint8_t *)&limit, 4 },
		{ RDMA2_PROPID_X_RBSTRUCT, b, 0 },
	};
	struct rt_raw r;
	bool yes;

	for (uint32_t i = 0; i < n; i++)
		total += g[i].count * g[i].length;
	size = htonl(total);
	p[3].len = (uint32_t)wire_encode_rbstruct(b, sizeof(b), total, g, n);
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_rtr_on));
	rt_raw_connprop(&r, true, p, 4);
	CU_ASSERT_EQUAL_FATAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	ask(&r, 1, 1, 400, &set, 1, 1);
	CU_ASSERT_TRUE_FATAL(got(&r, 1, 1, 1));
	yes = item[0].type == XMPTYPE_TBSN;
	CU_ASSERT(yes || item[0].type == XMPTYPE_TOOSHORT);
	rt_raw_close(&r);
	return yes;
}

/* Target segments that are too small or no multiple of four, and a Structure of
 * more groups than are kept, are none. */
static void layouts(void)
{
	struct wire_rbgroup g[9] = { { 1, RTR_PAGE, 1, 0 },
				     { 1, 512, 1, XMRSFLAG_PLT },
				     { 1, RTR_PAGE, 1, XMRSFLAG_PLT } };

	CU_ASSERT_TRUE(targeted(g, 3));
	g[1].length = 508;
	CU_ASSERT_FALSE(targeted(g, 3));
	g[1].length = 514;
	CU_ASSERT_FALSE(targeted(g, 3));
	g[1].flags = 0;
	CU_ASSERT_TRUE(targeted(g, 3));
	for (unsigned int i = 1; i < 9; i++)
		g[i] = (struct wire_rbgroup){ 1, 4, 1, 0 };
	g[7] = (struct wire_rbgroup){ 1, RTR_PAGE, 1, XMRSFLAG_PLT };
	CU_ASSERT_TRUE(targeted(g, 8));
	CU_ASSERT_FALSE(targeted(g, 9));
}

/* minlen, and more or fewer results than directions: RT-7.4-06, RT-7.4-07. */
static void lengths(void)
{
	struct wire_rsditem_desc want[3];
	struct wire_rsdset_desc set = { 0, 100, want, 3 };
	struct rt_raw r;

	for (int i = 0; i < 3; i++)
		want[i] = (struct wire_rsditem_desc){ .minlen = 512,
						      .type = XMPTYPE_TBSN };
	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	/* Each uses up its direction. */
	want[1].minlen = 2000;
	ask(&r, 1, 3, 1000, &set, 1, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 1, 2, 3));
	CU_ASSERT(item[0].type == XMPTYPE_TBSN &&
		  item[1].type == XMPTYPE_TOOSHORT &&
		  item[2].type == XMPTYPE_TBSN);
	CU_ASSERT(item[0].disp == 8 && item[1].disp == 1012 &&
		  item[2].disp == 2016 && item[1].length == 1000);
	/* The second placed item is in the second transmission. */
	CU_ASSERT(wire_bsnum(&item[0], 0) == 0 && wire_bsnum(&item[2], 0) == 1);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_XMTCONT);
	CU_ASSERT_TRUE(same(r.msg + RTR_PAGE, 1, 2016, 1000));
	/* One result for three. */
	ask(&r, 2, 1, 1000, &set, 1, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 2, 1, 3));
	CU_ASSERT(item[0].type == XMPTYPE_TBSN &&
		  item[1].type == XMPTYPE_NOITEM &&
		  item[2].type == XMPTYPE_NOITEM);
	/* None; and three for none. */
	ask(&r, 3, 0, 0, &set, 1, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 3, 1, 3));
	CU_ASSERT_EQUAL(item[0].type, XMPTYPE_NOITEM);
	ask(&r, 4, 3, 1000, NULL, 0, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 4, 1, 0));
	CU_ASSERT_EQUAL(resp.pslen, 3020);
	/* The least that is asked for is enough; one octet less is not. */
	want[0].minlen = 1000;
	want[1].minlen = 1001;
	ask(&r, 6, 2, 1000, &set, 1, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 6, 1, 3));
	CU_ASSERT(item[0].type == XMPTYPE_TBSN &&
		  item[1].type == XMPTYPE_TOOSHORT);
	/* One that failed keeps its place. */
	ask(&r, 5, 1, UINT32_MAX, &set, 1, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 5, 1, 3));
	CU_ASSERT_EQUAL(item[0].type, XMPTYPE_NOITEM);
	rt_raw_close(&r);
}

/* Ranges of operations, RT-7.4-02: a set is for the results of its own. */
static void ranges(void)
{
	struct wire_rsditem_desc want = { .type = XMPTYPE_TBSN };
	struct wire_rsdset_desc set[3] = { { 60, 100, &want, 1 },
					   { 100, 120, &want, 1 },
					   { 200, 300, &want, 1 } };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	/* Operations at 100, 150 and 299: the first set is for none, the
	 * second for the first, the third for the third. */
	r.p.origin[0] = 100;
	r.p.origin[1] = 150;
	r.p.origin[2] = 299;
	ask(&r, 1, 3, 100, set, 3, 3);
	CU_ASSERT_TRUE_FATAL(got(&r, 1, 2, 3));
	CU_ASSERT_EQUAL(item[0].type, XMPTYPE_NOITEM);
	CU_ASSERT(item[1].type == XMPTYPE_TBSN && item[1].disp == 8);
	CU_ASSERT(item[2].type == XMPTYPE_TBSN && item[2].disp == 8 + 2 * 104);
	rt_raw_flush(&r);
	/* Two of one operation, where the set has one direction. */
	r.p.origin[0] = r.p.origin[1] = 60;
	r.p.origin[2] = 250;
	ask(&r, 2, 3, 100, set, 3, 3);
	CU_ASSERT_TRUE_FATAL(got(&r, 2, 2, 3));
	CU_ASSERT(item[0].type == XMPTYPE_TBSN && item[0].disp == 8);
	CU_ASSERT_EQUAL(item[1].type, XMPTYPE_NOITEM);
	CU_ASSERT(item[2].type == XMPTYPE_TBSN && item[2].disp == 8 + 2 * 104);
	rt_raw_flush(&r);
	/* Not known: in order. */
	memset(r.p.origin, 0, sizeof(r.p.origin));
	ask(&r, 3, 2, 100, set, 3, 3);
	CU_ASSERT_TRUE_FATAL(got(&r, 3, 2, 3));
	CU_ASSERT(item[0].disp == 8 && item[1].disp == 8 + 104 &&
		  item[2].type == XMPTYPE_NOITEM);
	rt_raw_close(&r);
}

/* rsbuf, RT-5.2-02, RT-8.5-01 [R4]: three transmissions are needed. */
static void transmissions(void)
{
	struct wire_rsditem_desc want = { .type = XMPTYPE_TBSN };
	struct wire_rsdset_desc set = { 0, 100, &want, 1 };
	struct rt_config two = rt_rtr_on;
	struct wire_segment seg;
	struct wire_xmt m;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	for (uint32_t rsbuf = 0; rsbuf < 2; rsbuf++) {
		/* A Reply chunk has to hold it all [R4]. */
		ask(&r, 1, 1, 10000, &set, 1, rsbuf);
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 1, RDMA2_ERR_REPLY_RESOURCE));
		CU_ASSERT_EQUAL(r.m.error.length_needed, 12 + 10000);
	}
	/* Two are enough without the gap before what is placed [R8]. */
	ask(&r, 4, 1, 10000, &set, 1, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 4, 2, 1));
	CU_ASSERT(item[0].type == XMPTYPE_TOOSHORT && item[0].disp == 8);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_XMTCONT);
	CU_ASSERT_EQUAL(wire_xmt_decode(r.msg, r.msg_len, &m), WIRE_OK);
	CU_ASSERT_EQUAL(resp.pslen + m.pslen, 12 + 10000);
	CU_ASSERT_TRUE(same(r.msg + m.header_len, 4, resp.pslen, m.pslen));
	ask(&r, 2, 1, 10000, &set, 1, 3);
	CU_ASSERT_TRUE_FATAL(got(&r, 2, 3, 1));
	CU_ASSERT_EQUAL(item[0].nbsnum, 3);
	CU_ASSERT_TRUE(same(r.msg + RTR_PAGE, 2, 8, RTR_PAGE));
	for (uint32_t x = 1; x < 3; x++) {
		size_t n = x == 1 ? RTR_PAGE : 10000 - 2 * RTR_PAGE;

		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_XMTCONT);
		CU_ASSERT_EQUAL(wire_xmt_decode(r.msg, r.msg_len, &m), WIRE_OK);
		CU_ASSERT(m.xnum == x && m.itype == RDMA2_X_XMTRESP &&
			  m.p.xid == 2 && m.pslen == 0);
		CU_ASSERT_EQUAL(r.msg_len, RTR_PAGE + n);
		CU_ASSERT_TRUE(same(r.msg + RTR_PAGE, 2, 8 + x * RTR_PAGE, n));
		for (size_t i = WIRE_XMTCONT_LEN; i < RTR_PAGE; i++)
			CU_ASSERT_EQUAL(r.msg[i], 0);
	}
	/* Where there is a choice it goes by RDMA instead. */
	seg = rt_raw_expose(&r, 8192, 10000, true);
	want = (struct wire_rsditem_desc){ .type = XMPTYPE_CHOICE,
					   .seg = &seg,
					   .nsegs = 1 };
	ask(&r, 3, 1, 10000, &set, 1, 2);
	CU_ASSERT_TRUE_FATAL(got(&r, 3, 1, 1));
	CU_ASSERT_EQUAL(item[0].type, XMPTYPE_EXRW);
	CU_ASSERT_TRUE(same(r.mem + 8192, 3, 8, 10000));
	rt_raw_close(&r);
	/* RESPSXLIM of its own. */
	two.max_transmissions = 2;
	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &two));
	want.type = XMPTYPE_TBSN;
	ask(&r, 1, 1, 17000, &set, 1, 4);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_REPLY_RESOURCE));
	CU_ASSERT_EQUAL(r.m.error.length_needed, 12 + 17000);
	rt_raw_close(&r);
	/* A peer that takes no XMTCONT. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_rtr_on));
	rt_rtr_announce(&r, RTRS_XREQ | RTRS_XRESP, 1, 4);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	ask(&r, 1, 1, 10000, &set, 1, 4);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_REPLY_RESOURCE));
	rt_raw_close(&r);
	/* And one that takes no response at all [M2]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_rtr_on));
	rt_rtr_announce(&r, RTRS_XREQ | RTRS_XCONT, 1, 4);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	ask(&r, 1, 0, 0, NULL, 0, 1);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_HTYPE));
	rt_raw_close(&r);
}

/* Arguments by RDMA Read, RT-5.3-02; limits on items and segments. */
static void arguments(void)
{
	struct wire_segment seg[20];
	struct wire_rsditem_desc want[20];
	struct wire_rsdset_desc set = { 0, 100, want, 9 };
	struct wire_xitem_desc arg[10];
	struct wire_xmt_desc d = { .items = arg, .nitems = 1, .count = 1 };
	uint32_t sum = 0;
	struct rt_raw r;
	size_t n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_rtr_on));
	rt_rtr_announce(&r, RTR_ALL, 0, 1);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	n = rt_raw_payload(r.mem, 1, 8, 0, 0, 501);
	CU_ASSERT_EQUAL(n, 68 + 504);
	for (int i = 0; i < 501; i++)
		sum = sum * 33 + r.mem[68 + i];
	seg[0] = rt_raw_expose(&r, 68, 400, false);
	seg[1] = rt_raw_expose(&r, 468, 101, false);
	arg[0] = (struct wire_xitem_desc){ .disp = 68,
					   .length = 501,
					   .type = XMPTYPE_EXRW,
					   .seg = seg,
					   .nsegs = 2 };
	d.pslen = 68;
	rt_rtr_request(&r, 1, &d, r.mem, 68, 0, NULL, 0);
	CU_ASSERT_TRUE_FATAL(got(&r, 1, 1, 0));
	CU_ASSERT_EQUAL(rt_rtr_word(r.msg + resp.header_len + 4), sum);
	/* A length that is not that of the segments. */
	arg[0].length = 500;
	rt_rtr_request(&r, 1, &d, r.mem, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	/* 17 segments, 9 items, 9 directions. */
	for (int i = 0; i < 17; i++)
		seg[i] = (struct wire_segment){ 1, 0, 0 };
	arg[0].nsegs = 17;
	rt_rtr_request(&r, 1, &d, r.mem, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SEGMENTS));
	CU_ASSERT_EQUAL(r.m.error.max_segments, 16);
	for (uint32_t i = 0; i < 9; i++)
		arg[i] = (struct wire_xitem_desc){ .disp = 4 * i,
						   .type = XMPTYPE_TBSN };
	d.nitems = 9;
	rt_rtr_request(&r, 1, &d, r.mem, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_READ_CHUNKS));
	CU_ASSERT_EQUAL(r.m.error.max_chunks, 8);
	/* 7.3.1: as many as the upper layer takes, if it takes fewer. */
	CU_ASSERT_EQUAL(r.p.vet.total, 9);
	r.p.vet_code = RDMA2_ERR_READ_CHUNKS;
	r.p.vet_max = 0;
	rt_rtr_request(&r, 1, &d, r.mem, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_READ_CHUNKS));
	CU_ASSERT_EQUAL(r.m.error.max_chunks, 0);
	r.p.vet_code = 0;
	for (int i = 0; i < 9; i++)
		want[i] = (struct wire_rsditem_desc){ .type = XMPTYPE_TBSN };
	ask(&r, 1, 0, 0, &set, 1, 1);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_WRITE_CHUNKS));
	CU_ASSERT_EQUAL(r.m.error.max_chunks, 8);
	/* What the upper layer does not take, [E3]. */
	r.p.vet_code = RDMA2_ERR_READ_CHUNKS;
	r.p.vet_max = 0;
	d.nitems = 1;
	arg[0].disp = 68;
	rt_rtr_request(&r, 1, &d, r.mem, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_READ_CHUNKS));
	CU_ASSERT_EQUAL(r.p.calls, 1);
	rt_raw_close(&r);
}

/* Without the extension, and before the FINALs, these types are unknown. */
static void off(void)
{
	struct rt_config cfg = rt_rtr_on;
	struct rt_raw r;

	cfg.extensions = 0;
	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &cfg));
	for (uint32_t t = RDMA2_X_XMTREQ; t <= RDMA2_X_REPTERR; t++) {
		for (int i = 0; i < 8; i++)
			wire_put_u32(i ? &r.enc : rt_raw_begin(&r, t, t), 0);
		rt_raw_end(&r);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, t, RDMA2_ERR_INVAL_HTYPE));
	}
	rt_raw_close(&r);
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_rtr_on));
	ask(&r, 1, 0, 0, NULL, 0, 1);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	rt_rtr_announce(&r, RTR_ALL, 1, 4);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	ask(&r, 1, 0, 0, NULL, 0, 1);
	CU_ASSERT_TRUE(got(&r, 1, 1, 0));
	/* Malformed ones. */
	wire_put_u32(rt_raw_begin(&r, RDMA2_X_XMTREQ, 7), 1);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 7, RDMA2_ERR_BAD_XDR));
	wire_put_u32(rt_raw_begin(&r, RDMA2_X_REPTERR, 8), 1);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 8, RDMA2_ERR_BAD_XDR));
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "types", types },
	{ "layouts", layouts },
	{ "lengths", lengths },
	{ "ranges", ranges },
	{ "transmissions", transmissions },
	{ "arguments", arguments },
	{ "off", off },
	{ NULL, NULL },
};

UNIT_MAIN("transport rtr results", tests)
