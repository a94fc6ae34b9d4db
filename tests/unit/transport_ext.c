/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtrext and xcharext at the same time, against a raw peer: values that it
 * changes while messages are planned, wait for credits or are half sent. [R15]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "rt_rtr.h"
#include "unit.h"
#include "wire/xchar.h"

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

static const struct unit_test tests[] = {
	{ "a response waits", response_waits },
	{ "the same size", response_same },
	{ "a response has begun", response_begun },
	{ "without target segments", response_plain },
	{ "a request", request },
	{ NULL, NULL },
};

UNIT_MAIN("transport ext", tests)
