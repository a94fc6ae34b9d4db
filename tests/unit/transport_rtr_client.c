/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtrext: a Requester of ours against a raw server. What it sends, octet by
 * octet; what it does when that is refused; and responses, right and wrong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_rtr.h"
#include "unit.h"

/* So often XMTREQ is tried again. */
#define REFUSALS 4

static struct wire_xmt req;
static struct wire_repterr rep;
static uint8_t data[3 * RTR_PAGE];

/* A Call with @arg octets of data and one sink of @sink octets is on its way. */
static void submit(struct rt_raw *r, struct rt_rpc *rpc, uint32_t xid,
		   size_t arg, uint32_t sink)
{
	rt_rpc_init(&r->p, r->p.client, rpc, xid, arg, true, 64, sink ? 1 : 0,
		    sink, sink ? 1 : 0, sink);
	rt_rpc_submit(r->p.client, rpc);
	rt_raw_run(r);
}

static bool is_req(struct rt_raw *r, uint32_t xid)
{
	return rt_rtr_is(r, RDMA2_X_XMTREQ, xid, 1, &req);
}

/* The next message is a base Call of this XID. */
static bool is_call(struct rt_raw *r, uint32_t xid)
{
	uint32_t htype;

	do
		htype = rt_raw_next(r);
	while (htype == RDMA2_GRANT);
	return (htype == RDMA2_CALL_INLINE || htype == RDMA2_CALL_EXTERNAL) &&
	       r->m.p.xid == xid;
}

/* The Reply that rt_rpc_check() expects, as far as 64 octets of it go. */
static void reply_octets(uint8_t *b, const struct rt_rpc *rpc, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		b[i] = rt_pair_pattern(rpc->xid, i);
	for (size_t i = 0; i < rpc->data_len; i++)
		sum = sum * 33 + rt_pair_pattern(rpc->xid ^ 0x55, i);
	for (int i = 0; i < 4; i++) {
		b[i] = (uint8_t)(rpc->xid >> (24 - 8 * i));
		b[4 + i] = (uint8_t)(sum >> (24 - 8 * i));
	}
}

/* Of a Call without results. */
static bool answer(struct rt_raw *r, struct rt_rpc *rpc, bool xmt)
{
	struct wire_xmt_desc d = { .count = 1, .pslen = 64 };
	uint8_t b[64];
	bool ok;

	reply_octets(b, rpc, 64);
	if (xmt)
		rt_rtr_response(r, rpc->xid, &d, b, 64, 0, NULL, 0);
	else
		rt_raw_reply(r, rpc->xid, NULL, b, 64);
	rt_raw_run(r);
	ok = rt_rpc_check(rpc);
	rt_rpc_free(rpc);
	return ok;
}

/* What an XMTREQ looks like: RT-9.2-01, RT-6.2-10, RT-11-01. */
static void sent(void)
{
	struct wire_iter it = { 0 }, jt = { 0 };
	struct wire_rsditem want;
	struct wire_rsdset set;
	struct wire_xitem item;
	struct rt_rpc rpc;
	struct rt_raw r;
	size_t end;

	CU_ASSERT_TRUE_FATAL(rt_rtr_server(&r, &rt_rtr_on, 1));
	submit(&r, &rpc, 1, 4001, 0);
	CU_ASSERT_TRUE_FATAL(is_req(&r, 1));
	CU_ASSERT(req.rsd.count == 0 && req.rsbuf == 1 && req.pslen == 68);
	CU_ASSERT_TRUE(wire_xitem_next(&req.items, &it, &item));
	CU_ASSERT(item.disp == 68 && item.length == 4001 &&
		  item.type == XMPTYPE_TBSN && item.offset == 0 &&
		  item.nbsnum == 1 && wire_bsnum(&item, 0) == 0);
	CU_ASSERT_EQUAL(r.msg_len, RTR_PAGE + 4001);
	end = req.header_len + 68;
	for (size_t i = end; i < RTR_PAGE; i++)
		CU_ASSERT_EQUAL(r.msg[i], 0);
	for (size_t i = 0; i < 4001; i++)
		CU_ASSERT_EQUAL(r.msg[RTR_PAGE + i],
				rt_pair_pattern(1 ^ 0x55, i));
	CU_ASSERT_TRUE(answer(&r, &rpc, true));
	/* With nothing to return the answer may be a base Reply [R11]. */
	submit(&r, &rpc, 2, 4096, 0);
	CU_ASSERT_TRUE(is_req(&r, 2));
	CU_ASSERT_TRUE(answer(&r, &rpc, false));
	/* What fits the plain segment is a base Call. */
	submit(&r, &rpc, 3, 3000, 0);
	CU_ASSERT_TRUE(is_call(&r, 3));
	CU_ASSERT_TRUE(answer(&r, &rpc, false));
	/* A result: one set over the whole Call, no memory opened. */
	submit(&r, &rpc, 4, 0, 9000);
	CU_ASSERT_TRUE_FATAL(is_req(&r, 4));
	it = (struct wire_iter){ 0 };
	CU_ASSERT(req.items.count == 0 && req.rsd.count == 1 && req.rsbuf == 1);
	CU_ASSERT_TRUE(wire_rsdset_next(&req.rsd, &it, &set));
	CU_ASSERT(set.begin == 0 && set.end == req.pslen &&
		  set.items.count == 1);
	CU_ASSERT_TRUE(wire_rsditem_next(&set.items, &jt, &want));
	CU_ASSERT_EQUAL(want.type, XMPTYPE_TBSN);
	rt_raw_error(&r, 4, RDMA2_ERR_SYSTEM);
	rt_raw_run(&r);
	CU_ASSERT(rpc.done && rpc.rq->status == -EREMOTEIO);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

/* Three transmissions for one target segment each. */
static void group(void)
{
	struct wire_iter it = { 0 };
	struct wire_xitem item;
	struct wire_xmt m;
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_server(&r, &rt_rtr_on, 1));
	submit(&r, &rpc, 1, 10000, 0);
	CU_ASSERT_TRUE_FATAL(rt_rtr_is(&r, RDMA2_X_XMTREQ, 1, 3, &req));
	CU_ASSERT_TRUE(wire_xitem_next(&req.items, &it, &item));
	CU_ASSERT_EQUAL(item.nbsnum, 3);
	for (uint32_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(wire_bsnum(&item, i), i);
	for (uint32_t x = 1; x < 3; x++) {
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_XMTCONT);
		CU_ASSERT_EQUAL(wire_xmt_decode(r.msg, r.msg_len, &m), WIRE_OK);
		CU_ASSERT(m.p.xid == 1 && m.xnum == x && m.pslen == 0 &&
			  m.itype == RDMA2_X_XMTREQ);
		CU_ASSERT_EQUAL(r.msg[RTR_PAGE],
				rt_pair_pattern(1 ^ 0x55, x * RTR_PAGE));
	}
	CU_ASSERT_TRUE(answer(&r, &rpc, true));
	rt_raw_close(&r);
}

/* REPTERR, RT-5.4-02: the same RPC by base messages, on the same connection;
 * after some of them XMTREQ is given up. */
static void refused(void)
{
	struct wire_repterr e = { .bad = { 0, XMSI_CALL, 0 },
				  .code = OPTRERR_BADTBSN };
	struct rt_rpc rpc, other;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_rtr_server(&r, &rt_rtr_on, 1));
	for (uint32_t i = 1; i <= REFUSALS; i++) {
		submit(&r, &rpc, i, 8000, 4096);
		CU_ASSERT_TRUE(rt_rtr_is(&r, RDMA2_X_XMTREQ, i, 2, &req));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_XMTCONT);
		e.bad.xid = i;
		/* About a response it is not: RT-5.4-01. */
		e.bad.dir = XMSI_REPLY;
		rt_rtr_report_raw(&r, &e);
		rt_raw_run(&r);
		CU_ASSERT_FALSE(rpc.done);
		e.bad.dir = XMSI_CALL;
		rt_rtr_report_raw(&r, &e);
		CU_ASSERT_TRUE(is_call(&r, i));
		CU_ASSERT(r.m.writes.count == 1);
		/* Once more about the same, too late, changes nothing. */
		rt_rtr_report_raw(&r, &e);
		rt_raw_error(&r, i, RDMA2_ERR_SYSTEM);
		rt_raw_run(&r);
		CU_ASSERT(rpc.done && rpc.rq->status == -EREMOTEIO);
		rt_rpc_free(&rpc);
	}
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.client_inst).xmt_fallbacks, REFUSALS);
	submit(&r, &rpc, 50, 8000, 0);
	CU_ASSERT_TRUE(is_call(&r, 50));
	rt_raw_error(&r, 50, RDMA2_ERR_SYSTEM);
	rt_raw_run(&r);
	rt_rpc_free(&rpc);
	/* INVAL_HTYPE: at once and for good [M2]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_rtr_announce(&r, RTR_ALL, 1, 4);
	rt_raw_run(&r);
	submit(&r, &rpc, 1, 4096, 0);
	submit(&r, &other, 2, 4096, 0);
	CU_ASSERT_TRUE(is_req(&r, 1));
	CU_ASSERT_TRUE(is_req(&r, 2));
	rt_raw_error(&r, 1, RDMA2_ERR_INVAL_HTYPE);
	CU_ASSERT_TRUE(is_call(&r, 1));
	rt_raw_error(&r, 2, RDMA2_ERR_INVAL_HTYPE);
	CU_ASSERT_TRUE(is_call(&r, 2));
	CU_ASSERT_TRUE(answer(&r, &rpc, false));
	CU_ASSERT_TRUE(answer(&r, &other, false));
	submit(&r, &rpc, 3, 4096, 0);
	CU_ASSERT_TRUE(is_call(&r, 3));
	CU_ASSERT_TRUE(answer(&r, &rpc, false));
	/* The group that an intruder broke is told of as what led to it. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_rtr_announce(&r, RTR_ALL, 1, 4);
	rt_raw_run(&r);
	submit(&r, &rpc, 1, 4096, 0);
	CU_ASSERT_TRUE(is_req(&r, 1));
	e.code = OPTRERR_BADXID;
	e.has_lead = true;
	e.bad.xid = 77;
	e.lead = (struct wire_xmsid){ 1, XMSI_CALL, 0 };
	rt_rtr_report_raw(&r, &e);
	CU_ASSERT_TRUE(is_call(&r, 1));
	CU_ASSERT_TRUE(answer(&r, &rpc, false));
	rt_raw_close(&r);
}

/* Peers that have announced less: RT-5.1-01, RT-8.2-01, RT-8.4-01. */
static void announced(void)
{
	struct rt_rpc rpc;
	struct rt_raw r;

	for (uint32_t bits = 0; bits < 8; bits++) {
		bool req_ok = bits & RTRS_XREQ, cont = bits & RTRS_XCONT;

		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &rt_rtr_on));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		rt_rtr_announce(&r, bits, 1, bits == 7 ? 2 : 4);
		rt_raw_run(&r);
		submit(&r, &rpc, 1, 4096, 0);
		CU_ASSERT_EQUAL(is_req(&r, 1), req_ok);
		CU_ASSERT_TRUE(answer(&r, &rpc, req_ok));
		submit(&r, &rpc, 2, 8192, 0);
		CU_ASSERT_EQUAL(rt_rtr_is(&r, RDMA2_X_XMTREQ, 2, 2, &req),
				req_ok && cont);
		if (req_ok && cont)
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_XMTCONT);
		CU_ASSERT_TRUE(answer(&r, &rpc, req_ok && cont));
		/* Three transmissions, where two is the limit of the last. */
		submit(&r, &rpc, 3, 12288, 0);
		CU_ASSERT_EQUAL(rt_rtr_is(&r, RDMA2_X_XMTREQ, 3, 3, &req),
				req_ok && cont && bits != 7);
		rt_raw_flush(&r);
		CU_ASSERT_TRUE(answer(&r, &rpc, req_ok && cont && bits != 7));
		rt_raw_close(&r);
	}
}

/* ---- Responses --------------------------------------------------------- */

static struct rt_rpc one;

/* A Call with one result of @len octets; its XMTREQ has been seen. */
static bool called(struct rt_raw *r, uint32_t xid, uint32_t len)
{
	submit(r, &one, xid, 0, len);
	return rt_rtr_is(r, RDMA2_X_XMTREQ, xid, 1, &req);
}

/* The outcome of it, and the end of the request. */
static int outcome(struct rt_raw *r)
{
	int status;

	rt_raw_run(r);
	status = one.done ? one.rq->status : 1;
	rt_rpc_free(&one);
	return status;
}

static void responses(void)
{
	uint32_t bs[4] = { 0, 1, 2 };
	struct wire_segment seg = { 1, 9001, 0 };
	struct wire_xitem_desc item[2] = { { .disp = 8,
					     .length = 9001,
					     .type = XMPTYPE_TBSN,
					     .bsnum = bs,
					     .nbsnum = 3 } };
	struct wire_xmt_desc d = {
		.items = item, .nitems = 1, .count = 1, .pslen = 64
	};
	uint8_t b[64 + 9004];
	struct rt_raw r;
	uint32_t xid = 100;

	CU_ASSERT_TRUE_FATAL(rt_rtr_server(&r, &rt_rtr_on, 1));
	/* A good one: the item between the words of the Reply. */
	CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
	reply_octets(b, &one, sizeof(b));
	memcpy(data, b + 8, 9001);
	memmove(b + 8, b + 8 + 9004, 56);
	rt_rtr_response(&r, xid, &d, b, 64, RTR_PAGE, data, 9001);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rt_rpc_check(&one));
	CU_ASSERT(one.sink[0].in_stream && one.sink[0].used == 0);
	CU_ASSERT_EQUAL(outcome(&r), 0);
	/* Too short, so they are in the stream; none. */
	for (uint32_t t = XMPTYPE_TOOSHORT; t <= XMPTYPE_NOITEM; t++) {
		CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
		item[0].type = t;
		reply_octets(b, &one, 64);
		rt_rtr_response(&r, xid, &d, b, 64, 0, NULL, 0);
		CU_ASSERT_EQUAL(outcome(&r), 0);
	}
	/* Table 2: EXRW is no result of TBSN, RT-7.4-09. */
	CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
	item[0] = (struct wire_xitem_desc){ .disp = 8,
					    .length = 9001,
					    .type = XMPTYPE_EXRW,
					    .seg = &seg,
					    .nsegs = 1 };
	reply_octets(b, &one, 64);
	rt_rtr_response(&r, xid, &d, b, 64, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, xid, RDMA2_ERR_BAD_XDR));
	CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	/* Not one for each direction, RT-7.4-07. */
	for (uint32_t n = 0; n < 3; n += 2) {
		CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
		item[0] = item[1] =
			(struct wire_xitem_desc){ .type = XMPTYPE_NOITEM };
		d.nitems = n;
		reply_octets(b, &one, 64);
		rt_rtr_response(&r, xid, &d, b, 64, 0, NULL, 0);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, xid, RDMA2_ERR_BAD_XDR));
		CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	}
	d.nitems = 1;
	/* Beyond the stream. */
	CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
	item[0] = (struct wire_xitem_desc){ .disp = 68,
					    .length = 9001,
					    .type = XMPTYPE_TBSN,
					    .bsnum = bs,
					    .nbsnum = 3 };
	reply_octets(b, &one, 64);
	rt_rtr_response(&r, xid, &d, b, 64, RTR_PAGE, data, 9001);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, xid, RDMA2_ERR_BAD_XDR));
	CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	/* Errors of REPTERR, which say that it is about a response. */
	CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
	item[0].disp = 8;
	bs[2] = 15;
	reply_octets(b, &one, 64);
	rt_rtr_response(&r, xid, &d, b, 64, RTR_PAGE, data, 9001);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, xid, OPTRERR_BADTBSN, &rep));
	CU_ASSERT_EQUAL(rep.bad.dir, XMSI_REPLY);
	CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	bs[2] = 2;
	CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
	d.pslen = 100000;
	rt_rtr_response(&r, xid, &d, b, 64, RTR_PAGE, data, 9001);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, xid, OPTRERR_BADPL, &rep));
	CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	d.pslen = 64;
	/* More transmissions than rsbuf, RT-5.2-02. */
	CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
	d.count = 2;
	rt_rtr_response(&r, xid, &d, b, 64, RTR_PAGE, data, 9001);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, xid, OPTRERR_BADSEQ, &rep));
	CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	d.count = 1;
	/* A base Reply, where there were directions [R11]. */
	CU_ASSERT_TRUE_FATAL(called(&r, ++xid, 9001));
	reply_octets(b, &one, 64);
	rt_raw_reply(&r, xid, NULL, b, 64);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, xid, RDMA2_ERR_BAD_XDR));
	CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	/* An XMTRESP for a base Call. */
	submit(&r, &one, ++xid, 0, 0);
	CU_ASSERT_TRUE(is_call(&r, xid));
	d.nitems = 0;
	rt_rtr_response(&r, xid, &d, b, 64, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, xid, OPTRERR_BADXID, &rep));
	rt_raw_error(&r, xid, RDMA2_ERR_SYSTEM);
	CU_ASSERT_EQUAL(outcome(&r), -EREMOTEIO);
	/* After all of this a good one still is. */
	submit(&r, &one, ++xid, 4096, 0);
	CU_ASSERT_TRUE(is_req(&r, xid));
	CU_ASSERT_TRUE(answer(&r, &one, true));
	rt_raw_close(&r);
}

/* A group of responses that is broken ends its RPC, RT-5.4-01. */
static void broken_group(void)
{
	struct wire_xmt_desc d = { .count = 2, .pslen = 64 };
	struct rt_raw r;
	uint8_t b[64];

	CU_ASSERT_TRUE_FATAL(rt_rtr_server(&r, &rt_rtr_on, 1));
	for (int i = 0; i < 3; i++) {
		uint32_t xid = 10 + (uint32_t)i;

		/* Longer than one Receive of the client. */
		submit(&r, &one, xid, 0, 65000);
		CU_ASSERT_TRUE_FATAL(
			rt_rtr_is(&r, RDMA2_X_XMTREQ, xid, 1, &req));
		CU_ASSERT_EQUAL(req.rsbuf, 2);
		reply_octets(b, &one, 64);
		rt_rtr_response(&r, xid, &d, b, 64, 0, NULL, 0);
		if (i == 0) {
			rt_rtr_cont(&r, xid, 2, RDMA2_X_XMTRESP, 0, NULL, 0,
				    NULL, 0);
			CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, xid,
							 OPTRERR_BADSEQ, &rep));
			CU_ASSERT_EQUAL(rep.bad.dir, XMSI_REPLY);
		} else if (i == 1) {
			rt_raw_reply(&r, 99, NULL, b, 64);
			CU_ASSERT_TRUE(rt_rtr_is_repterr(&r, 99, OPTRERR_BADHMT,
							 &rep));
			CU_ASSERT(rep.lead.xid == xid &&
				  rep.lead.dir == XMSI_REPLY);
		} else {
			rt_raw_grant(&r);
			rt_rtr_cont(&r, xid, 1, RDMA2_X_XMTRESP, 4, b, 0, NULL,
				    0);
			/* No items where one was wanted. */
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, xid, RDMA2_ERR_BAD_XDR));
		}
		CU_ASSERT_EQUAL(outcome(&r), -EPROTO);
	}
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "sent", sent },
	{ "group", group },
	{ "refused", refused },
	{ "announced", announced },
	{ "responses", responses },
	{ "broken_group", broken_group },
	{ NULL, NULL },
};

UNIT_MAIN("transport rtr client", tests)
