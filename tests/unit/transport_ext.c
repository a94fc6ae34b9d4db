/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtrext and xcharext at the same time, against a raw peer: values that it
 * changes while messages are planned, wait for credits or are half sent [R15];
 * and what goes when it has refused one of them [M2].
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "loop/loop.h"
#include "rt_rtr.h"
#include "unit.h"
#include "rpcrdma/xchar.h"

/* The peer's Receives: a page and a target segment. */
#define SIZE (2 * RTR_PAGE)

static const struct rt_config both = { .extensions = RT_EXT_RTR | RT_EXT_XCHAR,
				       .request_user_size = sizeof(void *) };
/* As much as the peer's structure has, so that a longer Receive changes the
 * structure and not the threshold. */
static const struct rt_config equal = { .extensions = RT_EXT_RTR | RT_EXT_XCHAR,
					.send_size = SIZE,
					.request_user_size = sizeof(void *) };

static uint8_t pay[512];
static struct wire_xmt resp;

/* Our FINAL: both extensions; with @placed a structure as above. */
static void announce(struct rt_raw *r, bool placed)
{
	struct wire_rbgroup g[2] = { { 1, RTR_PAGE, 1, 0 },
				     { 1, RTR_PAGE, RTR_PAGE, XMRSFLAG_PLT } };
	uint32_t rtr = htonl(RTR_ALL), lim = htonl(4), size = htonl(SIZE);
	uint32_t xch = htonl(XCHSUPP_ALL);
	uint8_t b[64];
	struct wire_prop p[6] = {
		{ RDMA2_PROPID_RBSIZ, (uint8_t *)&size, 4 },
		{ RDMA2_PROPID_X_RTRSUPP, (uint8_t *)&rtr, 4 },
		{ RDMA2_PROPID_X_REQRXLIM, (uint8_t *)&lim, 4 },
		{ RDMA2_PROPID_X_RESPSXLIM, (uint8_t *)&lim, 4 },
		{ RDMA2_PROPID_X_XCHSUPP, (uint8_t *)&xch, 4 },
		{ RDMA2_PROPID_X_RBSTRUCT, b, 0 },
	};

	p[5].len = (uint32_t)wire_encode_rbstruct(b, sizeof(b), SIZE, g, 2);
	rt_raw_connprop(r, true, p, placed ? 6 : 5);
}

static bool client(struct rt_raw *r, const struct rt_config *cfg, bool placed)
{
	if (!rt_raw_client(r, cfg))
		return false;
	announce(r, placed);
	if (rt_raw_next(r) != RDMA2_CONNPROP_FINAL)
		return false;
	rt_raw_grant(r);
	return rt_raw_next(r) == RDMA2_X_INITXCH;
}

static bool server(struct rt_raw *r, const struct rt_config *cfg, bool placed)
{
	if (!rt_raw_server(r, cfg) || rt_raw_next(r) != RDMA2_CONNPROP_FINAL)
		return false;
	announce(r, placed);
	rt_raw_run(r);
	return r->p.client_up && rt_raw_next(r) == RDMA2_X_INITXCH;
}

/* UPDXCH, or the first INITXCH. */
static void resize(struct rt_raw *r, uint32_t size, bool init)
{
	struct wire_enc *e =
		rt_raw_begin(r, init ? RDMA2_X_INITXCH : RDMA2_X_UPDXCH, 99);

	if (init)
		wire_put_u32(e, 1);
	wire_put_u32(e, RDMA2_PROPID_RBSIZ);
	wire_put_u32(e, 4);
	wire_put_u32(e, size);
	wire_put_u32(e, 0); /* pendclr; nothing that will not change */
	rt_raw_end(r);
	rt_raw_run(r);
}

/* A Call that asks for an item of @len octets in target segments. */
static void ask(struct rt_raw *r, uint32_t xid, uint32_t len)
{
	struct wire_rsditem_desc want = { .type = XMPTYPE_TBSN };
	struct wire_rsdset_desc set = { 0, 100, &want, 1 };
	struct wire_xmt_desc d = {
		.sets = &set, .nsets = 1, .count = 1, .rsbuf = 4
	};

	d.pslen = (uint32_t)rt_raw_payload(pay, xid, 12, 1, len, 0);
	rt_rtr_request(r, xid, &d, pay, d.pslen, 0, NULL, 0);
	rt_raw_run(r);
}

/* The response, with its item of this type. */
static bool answered(struct rt_raw *r, uint32_t xid, uint32_t count,
		     uint32_t type)
{
	struct wire_iter it = { 0 };
	struct wire_xitem item;

	return rt_rtr_is(r, RDMA2_X_XMTRESP, xid, count, &resp) &&
	       wire_xitem_next(&resp.items, &it, &item) && item.type == type;
}

static bool is_cont(struct rt_raw *r, uint32_t xnum)
{
	struct wire_xmt m;

	return rt_raw_next(r) == RDMA2_X_XMTCONT &&
	       wire_xmt_decode(r->msg, r->msg_len, &m) == WIRE_OK &&
	       m.xnum == xnum;
}

/* The connection has ended, and says why. */
static bool ended(struct rt_raw *r)
{
	rt_raw_run(r);
	return r->down &&
	       (r->listener ? r->p.client_error : r->p.server_error) ==
		       -EPROTO &&
	       strstr(r->listener ? r->p.client_reason : r->p.server_reason,
		      "Receive Buffer Size");
}

/* A response waits for a credit: it is planned anew. */
static void response_waits(void)
{
	/* With another threshold, or with none. */
	const struct rt_config *cfg[] = { &both, &equal };

	for (int i = 0; i < 2; i++) {
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(client(&r, cfg[i], true));
		r.credits = 0;
		ask(&r, 1, 3000);
		resize(&r, 3 * RTR_PAGE, i);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		r.credits = 32;
		rt_raw_grant(&r);
		/* No target segments any more [R8]. */
		CU_ASSERT_TRUE(answered(&r, 1, 1, XMPTYPE_TOOSHORT));
		CU_ASSERT_EQUAL(resp.pslen, 12 + 3000);
		/* Until the size is the old one. */
		resize(&r, SIZE, false);
		ask(&r, 2, 3000);
		CU_ASSERT_TRUE(answered(&r, 2, 1, XMPTYPE_TBSN));
		rt_raw_close(&r);
	}
}

/* What is not changed does no harm; one that is lowered is replanned. */
static void response_same(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client(&r, &both, true));
	r.credits = 1;
	ask(&r, 1, 8000);
	CU_ASSERT_TRUE(answered(&r, 1, 2, XMPTYPE_TBSN));
	r.credits = 0;
	resize(&r, SIZE, true);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	resize(&r, SIZE, false);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 32;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(is_cont(&r, 1));
	r.credits = 0;
	ask(&r, 2, 3000);
	resize(&r, RTR_PAGE, false);
	r.credits = 32;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(answered(&r, 2, 1, XMPTYPE_TOOSHORT));
	rt_raw_close(&r);
}

/* A response of two transmissions is half sent. */
static void response_begun(void)
{
	static const uint32_t size[] = { RTR_PAGE, 3 * RTR_PAGE, 1024,
					 SIZE + 4 };

	for (int i = 0; i < 8; i++) {
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(client(&r, i & 1 ? &both : &equal, true));
		r.credits = 1;
		ask(&r, 1, 8000);
		CU_ASSERT_TRUE(answered(&r, 1, 2, XMPTYPE_TBSN));
		r.credits = 0;
		resize(&r, size[i / 2], i & 1);
		CU_ASSERT_TRUE(ended(&r));
		rt_raw_close(&r);
	}
}

/* The same without target segments: longer Receives hold what was cut for
 * shorter ones. */
static void response_plain(void)
{
	struct rt_raw r;

	for (int longer = 0; longer < 2; longer++) {
		CU_ASSERT_TRUE_FATAL(client(&r, &both, false));
		r.credits = 1;
		ask(&r, 1, 12000);
		CU_ASSERT_TRUE(answered(&r, 1, 2, XMPTYPE_TOOSHORT));
		r.credits = 0;
		resize(&r, longer ? 3 * RTR_PAGE : RTR_PAGE, false);
		r.credits = 32;
		if (longer) {
			rt_raw_grant(&r);
			CU_ASSERT_TRUE(is_cont(&r, 1));
		} else {
			CU_ASSERT_TRUE(ended(&r));
		}
		rt_raw_close(&r);
	}
}

static void submit(struct rt_raw *r, struct rt_rpc *rpc, uint32_t xid,
		   size_t arg)
{
	rt_rpc_init(&r->p, r->p.client, rpc, xid, arg, true, 64, 0, 0, 0, 0);
	rt_rpc_submit(r->p.client, rpc);
	rt_raw_run(r);
}

/* The Requester's side: the Call waits for a credit. One that has begun does
 * not, since a group goes only if there are credits for all of it. */
static void request(void)
{
	static const uint32_t size[] = { RTR_PAGE, 3 * RTR_PAGE, SIZE };
	const struct rt_config *cfg[] = { &both, &equal };

	for (int i = 0; i < 6; i++) {
		struct rt_rpc rpc;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(server(&r, cfg[i & 1], true));
		/* One goes, as before. */
		submit(&r, &rpc, 1, 4000);
		CU_ASSERT_TRUE(rt_rtr_is(&r, RDMA2_X_XMTREQ, 1, 1, &resp));
		rt_raw_error(&r, 1, RDMA2_ERR_SYSTEM);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc.done);
		rt_rpc_free(&rpc);
		r.credits = 0;
		rt_raw_grant(&r);
		rt_raw_run(&r);
		submit(&r, &rpc, 2, 4000);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		resize(&r, size[i / 2], i & 1);
		r.credits = 32;
		rt_raw_grant(&r);
		if (size[i / 2] == SIZE) {
			CU_ASSERT_TRUE(
				rt_rtr_is(&r, RDMA2_X_XMTREQ, 2, 1, &resp));
		} else {
			CU_ASSERT_NOT_EQUAL(rt_raw_next(&r), RDMA2_X_XMTREQ);
		}
		rt_raw_error(&r, 2, RDMA2_ERR_SYSTEM);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc.done);
		rt_rpc_free(&rpc);
		rt_raw_close(&r);
	}
}

/* ---- Values of rtrext in messages of xcharext --------------------------- */

/* INITXCH, REQXCH or UPDXCH with one value. */
static void tell(struct rt_raw *r, uint32_t htype, uint32_t which,
		 const void *value, uint32_t len)
{
	struct wire_enc *e = rt_raw_begin(r, htype, 98);

	if (htype != RDMA2_X_UPDXCH)
		wire_put_u32(e, 1);
	wire_put_u32(e, which);
	wire_put_u32(e, len);
	wire_put_octets(e, value, len);
	if (htype != RDMA2_X_REQXCH)
		wire_put_u32(e, 0); /* pendclr; nothing that will not change */
	rt_raw_end(r);
	rt_raw_run(r);
}

static void tell_number(struct rt_raw *r, uint32_t which, uint32_t value)
{
	value = htonl(value);
	tell(r, RDMA2_X_UPDXCH, which, &value, 4);
}

/* The Receives have a plain segment of @head octets, then a target segment. */
static void restructure(struct rt_raw *r, uint32_t htype, uint32_t head)
{
	struct wire_rbgroup g[2] = { { 1, head, 1, 0 },
				     { 1, SIZE - head, 1, XMRSFLAG_PLT } };
	uint8_t b[64];

	tell(r, htype, RDMA2_PROPID_X_RBSTRUCT, b,
	     (uint32_t)wire_encode_rbstruct(b, sizeof(b), SIZE, g, 2));
}

/* Is the item of 2000 octets of the response that came at this octet? */
static bool item_at(const struct rt_raw *r, uint32_t xid, size_t at)
{
	if (r->msg_len != at + 2000)
		return false;
	for (size_t i = 0; i < 2000; i++)
		if (r->msg[at + i] != rt_pair_pattern(xid, 8 + i))
			return false;
	return true;
}

/* Another structure of the same size: things go where it says. */
static void structure(void)
{
	for (int init = 0; init < 2; init++) {
		uint32_t how = init ? RDMA2_X_INITXCH : RDMA2_X_UPDXCH;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(client(&r, &both, true));
		ask(&r, 1, 2000);
		CU_ASSERT_TRUE(answered(&r, 1, 1, XMPTYPE_TBSN));
		CU_ASSERT_TRUE(item_at(&r, 1, RTR_PAGE));
		/* One that waits goes by the new one, too. */
		r.credits = 0;
		ask(&r, 2, 2000);
		restructure(&r, how, 6144);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		r.credits = 32;
		rt_raw_grant(&r);
		CU_ASSERT_TRUE(answered(&r, 2, 1, XMPTYPE_TBSN));
		CU_ASSERT_TRUE(item_at(&r, 2, 6144));
		ask(&r, 3, 2000);
		CU_ASSERT_TRUE(answered(&r, 3, 1, XMPTYPE_TBSN));
		CU_ASSERT_TRUE(item_at(&r, 3, 6144));
		/* None any more. */
		tell(&r, RDMA2_X_UPDXCH, RDMA2_PROPID_X_RBSTRUCT, NULL, 0);
		ask(&r, 4, 2000);
		CU_ASSERT_TRUE(answered(&r, 4, 1, XMPTYPE_TOOSHORT));
		/* Amid a response that was cut for another. */
		restructure(&r, RDMA2_X_UPDXCH, RTR_PAGE);
		r.credits = 1;
		rt_raw_grant(&r);
		ask(&r, 5, 8000);
		CU_ASSERT_TRUE(answered(&r, 5, 2, XMPTYPE_TBSN));
		r.credits = 0;
		restructure(&r, RDMA2_X_UPDXCH, 6144);
		CU_ASSERT_TRUE(ended(&r));
		rt_raw_close(&r);
	}
}

/* Support and limits, as Responder and as Requester. */
static void limits(void)
{
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client(&r, &both, true));
	ask(&r, 1, 8000);
	CU_ASSERT_TRUE(answered(&r, 1, 2, XMPTYPE_TBSN));
	CU_ASSERT_TRUE(is_cont(&r, 1));
	/* One that waits, and one that comes: no XMTCONT. */
	r.credits = 0;
	ask(&r, 2, 9000);
	tell_number(&r, RDMA2_PROPID_X_RTRSUPP, RTRS_XREQ | RTRS_XRESP);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 32;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_REPLY_RESOURCE));
	ask(&r, 3, 9000);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_REPLY_RESOURCE));
	ask(&r, 4, 2000);
	CU_ASSERT_TRUE(answered(&r, 4, 1, XMPTYPE_TBSN));
	/* No XMTRESP. */
	tell_number(&r, RDMA2_PROPID_X_RTRSUPP, RTRS_XREQ);
	ask(&r, 5, 2000);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_INVAL_HTYPE));
	tell_number(&r, RDMA2_PROPID_X_RTRSUPP, RTR_ALL);
	ask(&r, 6, 8000);
	CU_ASSERT_TRUE(answered(&r, 6, 2, XMPTYPE_TBSN));
	rt_raw_close(&r);

	CU_ASSERT_TRUE_FATAL(server(&r, &both, true));
	for (int i = 0; i < 4; i++) {
		static const uint32_t how[4][2] = {
			{ RDMA2_PROPID_X_REQRXLIM, 2 },
			{ RDMA2_PROPID_X_REQRXLIM, 1 },
			{ RDMA2_PROPID_X_RTRSUPP, RTR_ALL },
			{ RDMA2_PROPID_X_RTRSUPP, 0 },
		};

		tell_number(&r, how[i][0], how[i][1]);
		if (i == 2)
			tell_number(&r, RDMA2_PROPID_X_REQRXLIM, 4);
		submit(&r, &rpc, 10 + (uint32_t)i, 8000);
		CU_ASSERT_EQUAL(rt_rtr_is(&r, RDMA2_X_XMTREQ, 10 + (uint32_t)i,
					  2, &resp),
				!(i & 1));
		rt_raw_flush(&r);
		rt_raw_error(&r, 10 + (uint32_t)i, RDMA2_ERR_SYSTEM);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc.done);
		rt_rpc_free(&rpc);
	}
	/* A result for which the response would have two transmissions. */
	tell_number(&r, RDMA2_PROPID_X_RTRSUPP, RTR_ALL);
	for (uint32_t i = 0; i < 2; i++) {
		tell_number(&r, RDMA2_PROPID_X_RESPSXLIM, 2 - i);
		rt_rpc_init(&r.p, r.p.client, &rpc, 20 + i, 0, true, 64, 1,
			    100000, 1, 100000);
		rt_rpc_submit(r.p.client, &rpc);
		CU_ASSERT_EQUAL(rt_raw_next(&r),
				i ? RDMA2_CALL_INLINE : RDMA2_X_XMTREQ);
		rt_raw_error(&r, 20 + i, RDMA2_ERR_SYSTEM);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc.done);
		rt_rpc_free(&rpc);
	}
	rt_raw_close(&r);
}

/* [X4], and nothing of them is taken. */
static void malformed(void)
{
	static const uint32_t htype[] = { RDMA2_X_INITXCH, RDMA2_X_REQXCH,
					  RDMA2_X_UPDXCH };
	static const uint8_t zeros[16];
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client(&r, &both, true));
	for (int i = 0; i < 3; i++)
		for (uint32_t which = RDMA2_PROPID_X_RTRSUPP;
		     which <= RDMA2_PROPID_X_RESPSXLIM; which++)
			for (uint32_t len = 3; len < 16; len += 5) {
				tell(&r, htype[i], which, zeros, len);
				CU_ASSERT_TRUE(rt_raw_is_error(
					&r, 98, RDMA2_ERR_BAD_PROPVAL));
			}
	ask(&r, 1, 8000);
	CU_ASSERT_TRUE(answered(&r, 1, 2, XMPTYPE_TBSN));
	CU_ASSERT_TRUE(is_cont(&r, 1));
	/* What is not malformed is rejected, but not so. */
	tell(&r, RDMA2_X_REQXCH, RDMA2_PROPID_X_RTRSUPP, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_RESPXCH);
	rt_raw_close(&r);
}

/* Our INITXCH has what our CONNPROP had, and says that it stays so (4.1). */
static void initial(void)
{
	struct wire_iter it = { 0 };
	struct wire_xchar m;
	struct wire_prop v;
	unsigned int n = 0;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client(&r, &both, true));
	CU_ASSERT_EQUAL_FATAL(wire_xchar_decode(r.msg, r.msg_len, &m), WIRE_OK);
	while (wire_prop_next(&m.props, &it, &v)) {
		struct wire_rbstruct b;

		if (v.which < RDMA2_PROPID_X_RTRSUPP ||
		    v.which > RDMA2_PROPID_X_RESPSXLIM)
			continue;
		n++;
		CU_ASSERT_TRUE(wire_subset_test(m.nochg.words, m.nochg.nwords,
						it.index - 1));
		if (v.which == RDMA2_PROPID_X_RTRSUPP)
			CU_ASSERT_EQUAL(wire_prop_u32(&v, 0), RTR_ALL);
		if (v.which == RDMA2_PROPID_X_RBSTRUCT)
			CU_ASSERT_TRUE(
				wire_rbstruct_decode(v.data, v.len, &b) &&
				b.length == 65536);
	}
	CU_ASSERT_EQUAL(n, 4);
	rt_raw_close(&r);
}

/* ---- What is refused ---------------------------------------------------- */

/* Our CONNPROP, before the peer's has come: neither extension is used. */
static void unannounced(void)
{
	struct rt_conn_info info;
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &both));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_error(&r, r.m.p.xid, RDMA2_ERR_BAD_PROPVAL);
	announce(&r, true);
	rt_raw_run(&r);
	CU_ASSERT_TRUE_FATAL(r.p.client_up);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	submit(&r, &rpc, 1, 4000);
	CU_ASSERT_TRUE(rt_raw_next(&r) < RDMA2_X_INITXCH);
	rt_conn_info(r.p.client, &info);
	CU_ASSERT_EQUAL(info.extensions, 0);
	rt_raw_error(&r, 1, RDMA2_ERR_SYSTEM);
	rt_raw_run(&r);
	rt_rpc_free(&rpc);
	/* Nor does it come back. */
	tell_number(&r, RDMA2_PROPID_X_RTRSUPP, RTR_ALL);
	submit(&r, &rpc, 2, 4000);
	CU_ASSERT_TRUE(rt_raw_next(&r) < RDMA2_X_INITXCH);
	rt_raw_error(&r, 2, RDMA2_ERR_SYSTEM);
	rt_raw_run(&r);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

/* XMTRESP and REPTERR are refused: nothing of rtrext goes any more. */
static void types(void)
{
	struct rt_raw r;

	for (int i = 0; i < 3; i++) {
		CU_ASSERT_TRUE_FATAL(client(&r, &both, true));
		if (i) {
			rt_rtr_cont(&r, 1, 1, RDMA2_X_XMTREQ, 0, NULL, 0, NULL,
				    0);
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_REPTERR);
		} else {
			ask(&r, 1, 2000);
			CU_ASSERT_TRUE(answered(&r, 1, 1, XMPTYPE_TBSN));
		}
		/* Others have gone since, */
		for (uint32_t xid = 20; xid < 40; xid++) {
			ask(&r, xid, 2000);
			CU_ASSERT_TRUE(answered(&r, xid, 1, XMPTYPE_TBSN));
		}
		r.credits = 0;
		ask(&r, 2, 2000);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		/* and of other codes nothing is thought. */
		rt_raw_error(&r, 1,
			     i == 2 ? RDMA2_ERR_BAD_XDR :
				      RDMA2_ERR_INVAL_HTYPE);
		r.credits = 32;
		rt_raw_grant(&r);
		if (i == 2) {
			CU_ASSERT_TRUE(answered(&r, 2, 1, XMPTYPE_TBSN));
			rt_raw_close(&r);
			continue;
		}
		/* It has been executed. */
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_SYSTEM));
		ask(&r, 3, 2000);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_INVAL_HTYPE));
		rt_rtr_cont(&r, 4, 1, RDMA2_X_XMTREQ, 0, NULL, 0, NULL, 0);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 4, RDMA2_ERR_INVAL_HTYPE));
		/* xcharext is another one. */
		tell(&r, RDMA2_X_REQXCH, 4711, NULL, 0);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_RESPXCH);
		rt_raw_close(&r);
	}
}

/* So is an XMTREQ, and with it each XMTCONT of its group: that says nothing of
 * the base message that goes instead. */
static void request_types(void)
{
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(server(&r, &both, true));
	submit(&r, &rpc, 1, 8000);
	CU_ASSERT_TRUE(rt_rtr_is(&r, RDMA2_X_XMTREQ, 1, 2, &resp));
	CU_ASSERT_TRUE(is_cont(&r, 1));
	rt_raw_error(&r, 1, RDMA2_ERR_INVAL_HTYPE);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	rt_raw_error(&r, 1, RDMA2_ERR_INVAL_HTYPE);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_FALSE(rpc.done);
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rpc.done);
	CU_ASSERT_EQUAL(rpc.rq->status, 0);
	rt_rpc_free(&rpc);
	/* The next is of that type, too. */
	submit(&r, &rpc, 2, 8000);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	/* Now it is about that. */
	rt_raw_error(&r, 2, RDMA2_ERR_INVAL_HTYPE);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rpc.done);
	CU_ASSERT_EQUAL(rpc.rq->status, -EREMOTEIO);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

/* A peer that has announced nothing need not know REPTERR. */
static void without_rtrext(void)
{
	static const uint8_t zeros[4] = { 0, 0, 0, 2 };
	struct wire_xmt_desc d = { .count = 1, .pslen = 4 };
	struct wire_repterr e = { .bad = { 3, XMSI_CALL, 0 },
				  .code = OPTRERR_BADCONT };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &both));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_rtr_cont(&r, 1, 1, RDMA2_X_XMTREQ, 0, NULL, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_HTYPE));
	rt_rtr_response(&r, 2, &d, zeros, 4, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_HTYPE));
	rt_rtr_report_raw(&r, &e);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_INVAL_HTYPE));
	rt_raw_close(&r);
}

/* Of several RESPXCHs the first is refused. */
static void answers(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(client(&r, &both, true));
	for (uint32_t xid = 1; xid <= 3; xid++) {
		wire_put_u32(rt_raw_begin(&r, RDMA2_X_REQXCH, xid), 0);
		rt_raw_end(&r);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_RESPXCH);
	}
	rt_raw_error(&r, 1, RDMA2_ERR_INVAL_HTYPE);
	tell(&r, RDMA2_X_REQXCH, 4711, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 98, RDMA2_ERR_INVAL_HTYPE));
	rt_raw_close(&r);
}

/* ---- Calls -------------------------------------------------------------- */

#define PREPARED 12

/* What was prepared and could not be posted is prepared anew if a value has
 * changed meanwhile that is not the size. There is no memory but for the few
 * Sends that a connection has of its own, and those are kept. */
static void prepared(void)
{
	static const struct loop_faults keep = { .keep_sends = true };
	struct fab_buf *b, *taken = NULL;
	struct rt_config cfg = both;
	struct rt_rpc v[PREPARED];
	struct rt_raw r;
	uint32_t n = 0;

	cfg.max_memory = RT_MIN(max_memory);
	cfg.credits = 8;
	cfg.call_format = RT_FORMAT_SPECIAL;
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	rt_conn_close(r.p.client, true);
	rt_raw_run(&r);
	loop_set_faults(r.p.dom, LOOP_ACTIVE, &keep);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	r.credits = 64;
	announce(&r, false);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_X_INITXCH);
	for (uint32_t i = 0; i < PREPARED; i++)
		rt_rpc_init(&r.p, r.p.client, &v[i], 1 + i, 9000, true, 64, 0,
			    0, 0, 0);
	for (size_t size = 4u << 20; size >= 4096; size /= 4)
		while ((b = fab_pool_get(rt_instance_pool(r.p.client_inst),
					 size))) {
			b->next = taken;
			taken = b;
		}
	for (int i = 0; i < PREPARED; i++)
		rt_rpc_submit(r.p.client, &v[i]);
	while (rt_raw_next(&r) == RDMA2_CALL_INLINE && r.m.reads.count)
		n++;
	CU_ASSERT_TRUE(n < PREPARED - 1);
	/* No segments, so no chunks. */
	tell_number(&r, RDMA2_PROPID_RCSIZ, 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	while (taken) {
		b = taken;
		taken = b->next;
		fab_pool_put(b);
	}
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_MIDDLE);
	CU_ASSERT_EQUAL(r.m.p.xid, 1 + n);
	rt_conn_close(r.p.client, true);
	rt_raw_run(&r);
	for (int i = 0; i < PREPARED; i++) {
		CU_ASSERT_TRUE(v[i].done);
		rt_rpc_free(&v[i]);
	}
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "a response waits", response_waits },
	{ "the same size", response_same },
	{ "a response has begun", response_begun },
	{ "without target segments", response_plain },
	{ "a request", request },
	{ "another structure", structure },
	{ "support and limits", limits },
	{ "malformed values", malformed },
	{ "our INITXCH", initial },
	{ "our CONNPROP is refused", unannounced },
	{ "types that are refused", types },
	{ "a request that is refused", request_types },
	{ "a peer without rtrext", without_rtrext },
	{ "the first answer is refused", answers },
	{ "prepared", prepared },
	{ NULL, NULL },
};

UNIT_MAIN("transport ext", tests)
