/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtrext against a raw peer: what a Responder of ours takes and refuses, with
 * all codes of REPTERR; what a Requester of ours does when it is refused, and
 * with responses that break the rules.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "rt_rtr.h"
#include "unit.h"

static uint8_t pay[8192];
static uint8_t data[3 * 65536];
static struct wire_xmt resp;
static struct wire_repterr rep;

/* ---- Properties -------------------------------------------------------- */

/* What is announced with it, and nothing without. */
static void properties(void)
{
	struct rt_config off = rt_rtr_on, bare = rt_rtr_on;
	const struct rt_config *cfg[] = { &rt_rtr_on, &off, &bare };
	struct rt_raw r;

	off.extensions = 0;
	bare.no_placement = true;
	bare.max_transmissions = 7;
	for (int i = 0; i < 3; i++) {
		struct wire_iter it = { 0 }, jt = { 0 };
		unsigned int n = 0;
		struct wire_prop v;
		struct wire_rbstruct b;
		struct wire_rbgroup g;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, cfg[i]));
		rt_raw_connprop(&r, true, NULL, 0);
		CU_ASSERT_EQUAL_FATAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		while (wire_prop_next(&r.m.props, &it, &v)) {
			n += v.which >= 0xffffff00u;
			if (v.which == RDMA2_PROPID_X_RTRSUPP)
				CU_ASSERT_EQUAL(wire_prop_u32(&v, 0), RTR_ALL);
			if (v.which == RDMA2_PROPID_X_REQRXLIM ||
			    v.which == RDMA2_PROPID_X_RESPSXLIM)
				CU_ASSERT_EQUAL(wire_prop_u32(&v, 0),
						i ? 7 : 4);
			if (v.which == RDMA2_PROPID_RBSIZ)
				CU_ASSERT_EQUAL(wire_prop_u32(&v, 0),
						i ? RTR_PAGE : 65536);
			if (v.which != RDMA2_PROPID_X_RBSTRUCT)
				continue;
			CU_ASSERT_TRUE(wire_rbstruct_decode(v.data, v.len, &b));
			CU_ASSERT(b.length == 65536 && b.groups.count == 2);
			CU_ASSERT(wire_rbgroup_next(&b.groups, &jt, &g) &&
				  g.count == 1 && g.length == RTR_PAGE &&
				  !g.flags);
			CU_ASSERT(wire_rbgroup_next(&b.groups, &jt, &g) &&
				  g.count == 15 && g.length == RTR_PAGE &&
				  g.align == RTR_PAGE &&
				  g.flags == XMRSFLAG_PLT);
		}
		CU_ASSERT_EQUAL(n, i == 0 ? 4 : i == 1 ? 0 : 3);
		rt_raw_close(&r);
	}
}

static bool accepted(const struct rt_config *cfg, struct wire_prop *p,
		     unsigned int n, struct rt_conn_info *info)
{
	struct rt_raw r;
	bool ok;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, cfg));
	rt_raw_connprop(&r, true, p, n);
	rt_raw_run(&r);
	ok = r.p.server_up;
	rt_conn_info(r.p.server, info);
	rt_raw_close(&r);
	return ok;
}

/* [R10], [E2]; an end without it looks at none of this. */
static void values(void)
{
	struct rt_config off = rt_rtr_on;
	uint32_t two[2] = { 0, htonl(7) }, size = htonl(8192);
	uint8_t b[64];
	struct wire_rbgroup g[2] = { { 1, RTR_PAGE, 0, 0 },
				     { 1, RTR_PAGE, 1, XMRSFLAG_PLT } };
	struct wire_prop p[2] = { { RDMA2_PROPID_X_RTRSUPP, (uint8_t *)two, 8 },
				  { RDMA2_PROPID_RBSIZ, (uint8_t *)&size, 4 } };
	struct rt_conn_info info;

	off.extensions = 0;
	/* Of another length. */
	CU_ASSERT_FALSE(accepted(&rt_rtr_on, p, 1, &info));
	CU_ASSERT_TRUE(accepted(&off, p, 1, &info));
	p[0].which = RDMA2_PROPID_X_REQRXLIM;
	CU_ASSERT_FALSE(accepted(&rt_rtr_on, p, 1, &info));
	p[0].len = 0;
	CU_ASSERT_TRUE(accepted(&rt_rtr_on, p, 1, &info));
	/* A sum that is right and gives RBSIZ, RT-8.3-01. */
	p[0].which = RDMA2_PROPID_X_RBSTRUCT;
	p[0].data = b;
	p[0].len = (uint32_t)wire_encode_rbstruct(b, 64, 8192, g, 2);
	CU_ASSERT_TRUE(accepted(&rt_rtr_on, p, 1, &info));
	CU_ASSERT_EQUAL(info.theirs.recv_size, 8192);
	CU_ASSERT_TRUE(accepted(&off, p, 1, &info));
	CU_ASSERT_EQUAL(info.theirs.recv_size, RTR_PAGE);
	CU_ASSERT_TRUE(accepted(&rt_rtr_on, p, 2, &info));
	CU_ASSERT_EQUAL(info.theirs.recv_size, 8192);
	/* Another RBSIZ: that counts. */
	size = htonl(5000);
	CU_ASSERT_TRUE(accepted(&rt_rtr_on, p, 2, &info));
	CU_ASSERT_EQUAL(info.theirs.recv_size, 5000);
	/* A wrong sum. */
	p[0].len = (uint32_t)wire_encode_rbstruct(b, 64, 8188, g, 2);
	CU_ASSERT_FALSE(accepted(&rt_rtr_on, p, 1, &info));
	CU_ASSERT_TRUE(accepted(&off, p, 1, &info));
	/* One that does not end. */
	p[0].len = (uint32_t)wire_encode_rbstruct(b, 64, 8192, g, 2) - 4;
	CU_ASSERT_FALSE(accepted(&rt_rtr_on, p, 1, &info));
}

/* A structure that is taken back leaves no size behind (8.3), and a size that
 * is has been sent all the same: the default [F1]. */
static void taken_back(void)
{
	struct wire_rbgroup g = { 2, RTR_PAGE, 0, 0 };
	uint32_t size = htonl(8192);
	uint8_t b[64];
	struct wire_prop p[2] = { { RDMA2_PROPID_X_RBSTRUCT, b, 0 },
				  { RDMA2_PROPID_RBSIZ, (uint8_t *)&size, 4 } };
	struct rt_conn_info info;
	struct rt_raw r;

	for (int i = 0; i < 3; i++) {
		p[0].len = (uint32_t)wire_encode_rbstruct(b, 64, 8192, &g, 1);
		p[1].len = 4;
		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_rtr_on));
		rt_raw_connprop(&r, false, p, i ? 2 : 1);
		if (i < 2)
			p[0].len = 0;
		else
			p[1].len = 0;
		rt_raw_connprop(&r, true, p, i == 2 ? 2 : 1);
		rt_raw_run(&r);
		CU_ASSERT_TRUE_FATAL(r.p.server_up);
		rt_conn_info(r.p.server, &info);
		CU_ASSERT_EQUAL(info.theirs.recv_size,
				i == 1 ? 8192 : RTR_PAGE);
		rt_raw_close(&r);
	}
}

/* ---- Requests ---------------------------------------------------------- */

static bool is_resp(struct rt_raw *r, uint32_t xid)
{
	return rt_rtr_is(r, RDMA2_X_XMTRESP, xid, 1, &resp);
}

/* What our server makes of the data, as rt_pair answers it. */
static bool right_sum(struct rt_raw *r, const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum = sum * 33 + p[i];
	return rt_rtr_word(r->msg + resp.header_len + 4) == sum;
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 3 + (i >> 8));
}

/* Items over segments, with offsets, out of order, in several transmissions:
 * RT-7.3-02, RT-7.3-03, RT-6.2-10, RT-4.2-01, RT-9.4-04. */
static void items(void)
{
	struct rt_raw r;
	uint32_t bs[20] = { 0, 1 };
	struct wire_xitem_desc item[2] = { { .disp = 68,
					     .length = 5000,
					     .type = XMPTYPE_TBSN,
					     .bsnum = bs,
					     .nbsnum = 2 } };
	struct wire_xmt_desc d = { .items = item, .nitems = 1, .count = 1 };

	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	fill();
	d.pslen = 68;
	/* 5000 octets over segments 0 and 1. */
	CU_ASSERT_EQUAL(rt_raw_payload(pay, 1, 8, 0, 0, 0), 68);
	pay[64] = 0, pay[65] = 0, pay[66] = 5000 >> 8, pay[67] = 5000 & 255;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 5000);
	CU_ASSERT_TRUE(is_resp(&r, 1));
	CU_ASSERT_TRUE(right_sum(&r, data, 5000));
	/* Segment 3, then 1, from an odd offset; 4097 octets, so roundup. */
	rt_raw_payload(pay, 2, 8, 0, 0, 0);
	pay[66] = 4097 >> 8, pay[67] = 4097 & 255;
	bs[0] = 3;
	bs[1] = 1;
	item[0].length = 4097;
	item[0].offset = 1001;
	rt_rtr_request(&r, 2, &d, pay, 68, RTR_PAGE, data, 4 * RTR_PAGE);
	CU_ASSERT_TRUE(is_resp(&r, 2));
	memcpy(pay, data + 3 * RTR_PAGE + 1001, RTR_PAGE - 1001);
	memcpy(pay + RTR_PAGE - 1001, data + RTR_PAGE, 1002);
	CU_ASSERT_TRUE(right_sum(&r, pay, 4097));
	/* In three transmissions: payload in the first and the second, the
	 * item in the third; the first is short. */
	rt_raw_payload(pay, 3, 8, 0, 0, 0);
	pay[66] = 9001 >> 8, pay[67] = 9001 & 255;
	for (uint32_t i = 0; i < 3; i++)
		bs[i] = 30 + i;
	item[0].offset = 0;
	item[0].length = 9001;
	item[0].nbsnum = 3;
	d.count = 3;
	d.pslen = 40;
	rt_rtr_request(&r, 3, &d, pay, 40, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_rtr_cont(&r, 3, 1, RDMA2_X_XMTREQ, 28, pay + 40, 0, NULL, 0);
	/* GRANT and ERROR may come between, RT-4.2-02. */
	rt_raw_grant(&r);
	rt_raw_error(&r, 99, RDMA2_ERR_SYSTEM);
	rt_rtr_cont(&r, 3, 2, RDMA2_X_XMTREQ, 0, NULL, RTR_PAGE, data, 9001);
	CU_ASSERT_TRUE(is_resp(&r, 3));
	/* The head that the upper layer judges is put together of both. */
	CU_ASSERT_EQUAL(r.p.vetted, 68);
	CU_ASSERT_TRUE(right_sum(&r, data, 9001));
	/* None, RT-7.3-04. */
	rt_raw_payload(pay, 4, 8, 0, 0, 0);
	d = (struct wire_xmt_desc){ .count = 1, .pslen = 68 };
	rt_rtr_request(&r, 4, &d, pay, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(is_resp(&r, 4));
	CU_ASSERT_EQUAL(r.p.calls, 4);
	rt_raw_close(&r);
}

/* ---- REPTERR: all eight codes ------------------------------------------ */

/* The connection is as good as before. */
static bool alive(struct rt_raw *r)
{
	static uint32_t xid = 5000;
	struct wire_xmt_desc d = { .count = 1, .pslen = 68 };
	uint8_t own[128];

	rt_raw_payload(own, ++xid, 8, 0, 0, 0);
	rt_rtr_request(r, xid, &d, own, 68, 0, NULL, 0);
	return is_resp(r, xid);
}

/* Counts, numbers, types and XIDs: R5, R6, R7; RT-9.5-03 to RT-9.5-07. */
static void order(void)
{
	struct wire_xmt_desc one = { .count = 1, .pslen = 68 };
	struct wire_xmt_desc two = { .count = 2, .pslen = 40 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	/* Alone. */
	rt_rtr_cont(&r, 1, 1, RDMA2_X_XMTREQ, 28, pay, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADCONT, &rep));
	CU_ASSERT(rep.bad.seq == 1 && rep.bad.dir == XMSI_CALL);
	/* Counts. */
	one.count = 0;
	rt_rtr_request(&r, 1, &one, pay, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADSEQ, &rep));
	CU_ASSERT(rep.expect == 1 && rep.current == 0 && rep.bad.seq == 0);
	one.count = 5;
	rt_rtr_request(&r, 1, &one, pay, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADSEQ, &rep));
	CU_ASSERT(rep.expect == 4 && rep.current == 5);
	/* Its rest is swallowed. */
	rt_rtr_cont(&r, 1, 1, RDMA2_X_XMTREQ, 28, pay, 0, NULL, 0);
	CU_ASSERT_TRUE(alive(&r));
	/* A number is left out. */
	rt_rtr_request(&r, 1, &two, pay, 40, 0, NULL, 0);
	rt_rtr_cont(&r, 1, 2, RDMA2_X_XMTREQ, 28, pay, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADSEQ, &rep));
	CU_ASSERT(rep.expect == 1 && rep.current == 2 && rep.bad.seq == 2);
	CU_ASSERT_TRUE(alive(&r));
	/* Another XID: the group is told of as what came before. */
	rt_rtr_request(&r, 1, &two, pay, 40, 0, NULL, 0);
	rt_rtr_cont(&r, 7, 1, RDMA2_X_XMTREQ, 28, pay, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 7, OPTRERR_BADXID, &rep));
	CU_ASSERT(rep.expect == 1 && rep.current == 7);
	CU_ASSERT(rep.has_lead && rep.lead.xid == 1 && rep.lead.seq == 0);
	CU_ASSERT_TRUE(alive(&r));
	/* Another type in the continuation, then another message. */
	rt_rtr_request(&r, 1, &two, pay, 40, 0, NULL, 0);
	rt_rtr_cont(&r, 1, 1, RDMA2_X_XMTRESP, 28, pay, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADOMT, &rep));
	CU_ASSERT(rep.expect == RDMA2_X_XMTREQ &&
		  rep.current == RDMA2_X_XMTRESP);
	rt_rtr_request(&r, 1, &two, pay, 40, 0, NULL, 0);
	rt_rtr_request(&r, 2, &two, pay, 40, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 2, OPTRERR_BADOMT, &rep));
	CU_ASSERT(rep.expect == RDMA2_X_XMTCONT &&
		  rep.current == RDMA2_X_XMTREQ && rep.lead.xid == 1);
	CU_ASSERT_TRUE(alive(&r));
	rt_rtr_request(&r, 1, &two, pay, 40, 0, NULL, 0);
	rt_raw_call(&r, 3, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 3, OPTRERR_BADHMT, &rep));
	CU_ASSERT(rep.expect == RDMA2_X_XMTCONT &&
		  rep.current == RDMA2_CALL_INLINE);
	/* One in fragments, amid a group: its rest is swallowed, too. */
	rt_rtr_request(&r, 1, &two, pay, 40, 0, NULL, 0);
	rt_raw_middle(&r, 4, false, 28, pay, 40);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 4, OPTRERR_BADHMT, &rep));
	rt_raw_call(&r, 4, NULL, pay + 40, 28);
	rt_raw_call(&r, 6, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 6));
	/* XMTREQ amid fragments: D2. */
	one.count = 1;
	rt_raw_payload(pay, 8, 8, 0, 0, 0);
	rt_raw_middle(&r, 8, false, 28, pay, 40);
	rt_rtr_request(&r, 9, &one, pay, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 9, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 8, RDMA2_ERR_INVAL_CONT));
	/* With the XID of what was refused: dropped [D3], the rest of it too. */
	rt_rtr_request(&r, 8, &one, pay, 68, 0, NULL, 0);
	rt_rtr_request(&r, 8, &two, pay, 40, 0, NULL, 0);
	rt_rtr_cont(&r, 8, 1, RDMA2_X_XMTREQ, 28, NULL, 28, pay + 40, 28);
	rt_raw_call(&r, 8, NULL, pay + 40, 28);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_rtr_request(&r, 8, &one, pay, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(is_resp(&r, 8));
	CU_ASSERT_TRUE(alive(&r));
	/* A response that nobody waits for [R11]. */
	rt_rtr_response(&r, 11,
			&(struct wire_xmt_desc){ .count = 1, .pslen = 4 }, pay,
			4, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 11, OPTRERR_BADXID, &rep));
	CU_ASSERT_EQUAL(rep.bad.dir, XMSI_REPLY);
	CU_ASSERT_TRUE(alive(&r));
	rt_raw_close(&r);
}

/* The first of a group amid fragments: the rest of it is swallowed. */
static void group_amid_fragments(void)
{
	struct wire_xmt_desc two = { .count = 2, .pslen = 40 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	for (uint32_t i = 0; i < 2; i++) {
		rt_raw_payload(pay, 1 + i, 8, 0, 0, 0);
		rt_raw_middle(&r, 1 + i, false, 28, pay, 40);
		if (i)
			rt_rtr_response(&r, 4, &two, pay, 40, 0, NULL, 0);
		else
			rt_rtr_request(&r, 3, &two, pay, 40, 0, NULL, 0);
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 3 + i, RDMA2_ERR_INVAL_CONT));
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 1 + i, RDMA2_ERR_INVAL_CONT));
		rt_rtr_cont(&r, 3 + i, 1, i ? RDMA2_X_XMTRESP : RDMA2_X_XMTREQ,
			    28, pay, 0, NULL, 0);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_TRUE(alive(&r));
	}
	rt_raw_close(&r);
}

/* A Call that is executed has all the memory: none for a group's second part. */
static void group_memory(void)
{
	struct wire_xmt_desc two = { .count = 2, .pslen = 40 };
	struct wire_read_segment s = { .position = 20 };
	struct wire_call_desc d = { .reads = &s, .nreads = 1 };
	struct rt_config cfg = rt_rtr_on;
	struct rt_raw r;

	cfg.max_message = 65536;
	cfg.max_conn_memory = 65536 + 8192;
	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &cfg));
	r.p.hold = true;
	s.target = rt_raw_expose(&r, 0, 60000, false);
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	rt_raw_payload(pay, 2, 8, 0, 0, 0);
	rt_rtr_request(&r, 2, &two, pay, 40, 0, NULL, 0);
	rt_rtr_cont(&r, 2, 1, RDMA2_X_XMTREQ, 28, pay + 40, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_SYSTEM));
	r.p.hold = false;
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_TRUE(alive(&r));
	rt_raw_close(&r);
}

/* Where things are: RT-9.5-08 to RT-9.5-10, R12. */
static void places(void)
{
	uint32_t bs[3] = { 0, 1, 2 };
	struct wire_xitem_desc item = { .disp = 68,
					.length = 5000,
					.type = XMPTYPE_TBSN,
					.bsnum = bs,
					.nbsnum = 2 };
	struct wire_xmt_desc d = {
		.items = &item, .nitems = 1, .count = 1, .pslen = 68
	};
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	fill();
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	/* Offsets. */
	item.offset = RTR_PAGE;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 2 * RTR_PAGE);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADOFF, &rep));
	CU_ASSERT(rep.value == RTR_PAGE && rep.min == 0 &&
		  rep.max == RTR_PAGE - 1);
	item.offset = UINT32_MAX;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 2 * RTR_PAGE);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADOFF, &rep));
	item.offset = 0;
	/* Numbers: past the last, of a page that is not there. */
	bs[1] = 15;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 2 * RTR_PAGE);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADTBSN, &rep));
	CU_ASSERT(rep.value == 15 && rep.min == 0 && rep.max == 14);
	bs[1] = UINT32_MAX;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 2 * RTR_PAGE);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADTBSN, &rep));
	bs[1] = 2;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 2 * RTR_PAGE);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADTBSN, &rep));
	CU_ASSERT(rep.value == 2 && rep.max == 1);
	bs[1] = 1;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 4999);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADTBSN, &rep));
	CU_ASSERT(rep.value == 1 && rep.min == 0 && rep.max == 0);
	/* It ends in the first, or before it: no number would be good [R12]. */
	for (uint32_t i = 0; i < 3; i++) {
		static const size_t len[] = { 0, 1, RTR_PAGE - 1 };

		rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, len[i]);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	}
	/* Too few. */
	item.length = 9000;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 9000);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	item.nbsnum = 0;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 9000);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	item.nbsnum = 2;
	item.length = 5000;
	/* Payload lengths: not there, unaligned, too short, beyond. */
	for (uint32_t i = 0; i < 5; i++) {
		static const uint32_t len[] = { 0, 3, 66, 100000, UINT32_MAX };

		d.pslen = len[i];
		rt_rtr_request(&r, 1, &d, pay, 68, 0, NULL, 0);
		CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADPL, &rep));
		CU_ASSERT(rep.value == len[i] && rep.min == 4 && rep.max == 68);
	}
	/* No payload at all. */
	d.pslen = 0;
	rt_rtr_request(&r, 1, &d, pay, 0, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	/* Of a continuation. */
	d = (struct wire_xmt_desc){ .count = 2, .pslen = 40 };
	rt_rtr_request(&r, 1, &d, pay, 40, 0, NULL, 0);
	rt_rtr_cont(&r, 1, 1, RDMA2_X_XMTREQ, 32, NULL, 28, pay, 28);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 1, OPTRERR_BADPL, &rep));
	CU_ASSERT(rep.bad.seq == 1 && rep.max == 28 && rep.min == 0);
	/* What has no code is BAD_XDR [R9]: beyond the stream, the XID. */
	d = (struct wire_xmt_desc){
		.items = &item, .nitems = 1, .count = 1, .pslen = 68
	};
	item.disp = 72;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 5000);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	item.disp = 68;
	r.p.vet_misfit = true;
	rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data, 5000);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	r.p.vet_misfit = false;
	rt_rtr_request(&r, 2, &d, pay, 68, RTR_PAGE, data, 5000);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_BAD_XDR));
	item.type = XMPTYPE_TOOSHORT;
	rt_rtr_request(&r, 1, &d, pay, 68, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	CU_ASSERT_EQUAL(r.p.calls, 0);
	CU_ASSERT_TRUE(alive(&r));
	rt_raw_close(&r);
}

/* Each segment is a piece of the stream. More than a Call can have, of one item or of
 * all together, are BAD_XDR, and nothing is lost by it. */
static void pieces(void)
{
	static const uint32_t bs[100];
	struct wire_xitem_desc item[3];
	struct wire_xmt_desc d = { .items = item, .count = 1, .pslen = 68 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_client(&r, &rt_rtr_on));
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	for (d.nitems = 1; d.nitems <= 3; d.nitems++) {
		for (uint32_t n = 0; n < d.nitems; n++)
			item[n] = (struct wire_xitem_desc){
				.disp = 68 + n * 100 * RTR_PAGE,
				.length = 100 * RTR_PAGE,
				.type = XMPTYPE_TBSN,
				.bsnum = bs,
				.nbsnum = 100,
			};
		for (uint32_t few = 1; few <= 60; few += 59) {
			/* But for the last, these alone would do. */
			for (uint32_t n = 0; n + 1 < d.nitems; n++) {
				item[n].nbsnum = few;
				item[n].length = few * RTR_PAGE;
				item[n + 1].disp =
					item[n].disp + item[n].length;
			}
			rt_rtr_request(&r, 1, &d, pay, 68, RTR_PAGE, data,
				       RTR_PAGE);
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
		}
	}
	CU_ASSERT_EQUAL(r.p.calls, 0);
	CU_ASSERT_TRUE(alive(&r));
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "properties", properties },
	{ "values", values },
	{ "items", items },
	{ "taken back", taken_back },
	{ "order", order },
	{ "group_amid_fragments", group_amid_fragments },
	{ "group_memory", group_memory },
	{ "places", places },
	{ "pieces", pieces },
	{ NULL, NULL },
};

UNIT_MAIN("transport rtr raw", tests)
