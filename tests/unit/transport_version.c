/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Versions and the first messages (4.3, 7.1.1, [A7] to [A9], [B1] to [B6],
 * [C1]), with a raw peer.
 */
#include <errno.h>

#include "rt_raw.h"
#include "unit.h"

static const struct rt_config only2 = { .versions = 1u << WIRE_VERS2 };

static void prefix(uint8_t *b, uint32_t xid, uint32_t vers, uint32_t credit,
		   uint32_t htype)
{
	struct wire_prefix p = { xid, vers, credit, htype };
	struct wire_enc e;

	wire_enc_init(&e, b, 16);
	wire_put_prefix(&e, &p);
}

/* A message of another version, padded to @len octets. */
static void send_version(struct rt_raw *r, uint32_t vers, uint32_t htype,
			 size_t len)
{
	uint8_t b[64] = { 0 };

	prefix(b, 0x1000 + vers, vers, 5, htype);
	rt_raw_send(r, b, len);
}

/* The fixed image: XID, version, credit, 4, 1, low, high [B1]. */
static bool is_err_vers(struct rt_raw *r, uint32_t xid, uint32_t vers)
{
	uint32_t htype = rt_raw_next(r);
	struct wire_error e;

	return htype == RDMA2_ERROR && r->msg_len == 28 &&
	       wire_error_decode(r->msg, r->msg_len, &e) &&
	       e.code == RDMA2_ERR_VERS && e.vers_low == 2 &&
	       e.vers_high == 2 && r->m.p.xid == xid && r->m.p.vers == vers;
}

/* 4.3.3 [B2]: refused, and the next supported version decides. */
static void other_versions(void)
{
	static const uint32_t vers[] = { 0, 1, 3, 0xffffffff };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &only2));
	for (unsigned int i = 0; i < 4; i++) {
		send_version(&r, vers[i], 0, 16 + i * 12);
		CU_ASSERT_TRUE(is_err_vers(&r, 0x1000 + vers[i], vers[i]));
		CU_ASSERT_TRUE(r.m.p.credit >= 1);
		/* Not answered: errors of whatever version. */
		send_version(&r, vers[i], RDMA2_ERROR, 28);
		if (i < 3)
			CU_ASSERT_TRUE(rt_raw_silent(&r));
	}
	/* Eight in a row. */
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_EQUAL(r.p.server_error, -EPROTO);

	/* Then version 2 after all. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	send_version(&r, 1, 0, 40);
	CU_ASSERT_TRUE(is_err_vers(&r, 0x1001, 1));
	CU_ASSERT_FALSE(r.p.server_up);
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	CU_ASSERT_TRUE(r.p.server_up);
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));

	/* B3: in mid-connection too; each valid one begins the count anew. */
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 7; i++) {
			send_version(&r, 3, 9, 20);
			CU_ASSERT_TRUE(is_err_vers(&r, 0x1003, 3));
		}
		rt_raw_call(&r, 2 + round, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2 + round));
	}
	for (unsigned int i = 0; i < 8; i++)
		send_version(&r, 1, 9, 20);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	rt_raw_close(&r);
}

/* [C1]: 0 to 15 octets are dropped, counted, and settle nothing. */
static void short_messages(void)
{
	struct rt_raw r;
	uint8_t b[16];
	uint32_t before;

	prefix(b, 5, 2, 1000, RDMA2_GRANT);
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	for (size_t n = 0; n < 16; n++) {
		rt_raw_send(&r, b, n);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
	}
	CU_ASSERT_FALSE(r.p.server_up);
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	/* 17 messages came, and 64 are to come. */
	CU_ASSERT_EQUAL(r.m.p.credit, 17 + 64);
	before = r.m.p.credit;
	for (size_t n = 0; n < 16; n++) {
		rt_raw_send(&r, b, n);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
	}
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(r.m.p.credit, before + 17);
	rt_raw_close(&r);
}

/* What the server does on each kind of first message. */
static void first_kinds(void)
{
	const struct wire_prop bad = { RDMA2_PROPID_RBSIZ,
				       (const uint8_t *)"\0\0\x10", 3 };
	struct rt_raw r;
	uint8_t b[64] = { 0 };

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	/* MIDDLE: the server's FINAL, at once [A8]. */
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 8192);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_EQUAL(r.status, WIRE_OK);
	CU_ASSERT_TRUE(r.m.p.xid != 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_prop(&r, true, RDMA2_PROPID_BRS, 1);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));

	/* GRANT: likewise. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));

	/* Call: its Reply; the properties after the next message [A9]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	r.credits = 8;
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_call(&r, 2, NULL, NULL, 8);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	/* The client's properties may still come. */
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_call(&r, 3, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 3));

	/* Garbage of version 2 settles the version and is answered. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	prefix(b, 9, 2, 8, 77);
	rt_raw_send(&r, b, 40);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 9, RDMA2_ERR_INVAL_HTYPE));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);

	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	prefix(b, 9, 2, 8, RDMA2_CALL_INLINE);
	rt_raw_send(&r, b, 19);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 9, RDMA2_ERR_BAD_XDR));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);

	/* Types of version 1 are unknown ones [C12]. */
	for (uint32_t htype = 0; htype < 4; htype++) {
		prefix(b, 0x40 + htype, 2, 100, htype);
		rt_raw_send(&r, b, 40);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 0x40 + htype,
					       RDMA2_ERR_INVAL_HTYPE));
	}

	/* A refused set of properties was not received [F2]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw_connprop(&r, true, &bad, 1);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_ERROR);
	CU_ASSERT_EQUAL(r.m.error.code, RDMA2_ERR_BAD_PROPVAL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 2048);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_call(&r, 1, NULL, NULL, 2048);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
	rt_raw_close(&r);
}

/*
 * First messages that get no answer by themselves: an ERROR, a Reply, a first
 * fragment, a Call that the upper layer drops. The client has used its only
 * credit, so a GRANT must come, or both would wait for ever.
 */
static void unanswered_first(void)
{
	struct rt_raw r;
	uint8_t pay[128];
	size_t n = rt_raw_payload(pay, 4, 8, 0, 0, 0);

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_middle(&r, 4, false, (uint32_t)n - 8, pay, 8);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
	CU_ASSERT_EQUAL(r.limit, 1 + 64);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_call(&r, 4, NULL, pay + 8, n - 8);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 4));

	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	r.p.drop = true;
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
	r.p.drop = false;
	CU_ASSERT_TRUE(rt_raw_silent(&r));

	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw_error(&r, 5, RDMA2_ERR_SYSTEM);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_call(&r, 6, NULL, NULL, 8);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 6));

	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw_reply(&r, 5, NULL, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
	rt_raw_close(&r);
}

/* [A7]: a first Reply may be continued, within the client's limit. */
static void continued_first_reply(void)
{
	struct rt_raw r;
	unsigned int middles = 0;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	r.credits = 3;
	rt_raw_call(&r, 1, NULL, NULL, 20000);
	while (rt_raw_next(&r) == RDMA2_REPLY_MIDDLE)
		middles++;
	CU_ASSERT_EQUAL(middles, 3);
	/* The second message shows that ours was received. */
	rt_raw_grant(&r);
	while (rt_raw_next(&r) == RDMA2_REPLY_MIDDLE)
		middles++;
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
	CU_ASSERT_EQUAL(middles, 4);
	/* Only now the properties: not between the fragments. */
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* A client that sends much at once before it has an answer. */
static void eager_client(void)
{
	unsigned int seen[16] = { 0 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	for (uint32_t i = 0; i < 10; i++)
		rt_raw_call(&r, i, NULL, NULL, 8);
	/* All is answered, and the properties come once. */
	for (uint32_t i = 0; i < 11; i++)
		seen[rt_raw_next(&r) % 16]++;
	CU_ASSERT_EQUAL(seen[RDMA2_REPLY_INLINE], 10);
	CU_ASSERT_EQUAL(seen[RDMA2_CONNPROP_FINAL], 1);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* ---- Our client against a raw server ---------------------------------- */

static void client_first(void)
{
	struct wire_iter it = { 0 };
	struct wire_prop v;
	uint32_t seen = 0;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, NULL));
	CU_ASSERT_EQUAL_FATAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_EQUAL_FATAL(r.status, WIRE_OK);
	CU_ASSERT_TRUE(r.msg_len >= 32 && r.msg_len <= 1024);
	CU_ASSERT_TRUE(r.m.p.xid != 0);
	CU_ASSERT_EQUAL(r.m.p.credit, 64);
	while (wire_prop_next(&r.m.props, &it, &v)) {
		CU_ASSERT_EQUAL(seen & 1u << v.which, 0);
		seen |= 1u << v.which;
	}
	/* No reverse direction, so nothing said of it; no HOSTAUTH [F5]. */
	CU_ASSERT_EQUAL(seen, 0x1e);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_FALSE(r.p.client_up);
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_up);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* 4.3.2 [B1]: whatever the version word says, and nothing else counts. */
static void server_without_v2(void)
{
	static const uint32_t vers[] = { 1, 2, 3, 0 };
	struct rt_raw r;
	uint8_t b[28];

	for (unsigned int i = 0; i < 4; i++) {
		struct wire_error err = { .code = RDMA2_ERR_VERS,
					  .vers_low = 1,
					  .vers_high = 1 };

		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &only2));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		CU_ASSERT_EQUAL(wire_encode_error(b, sizeof(b), r.m.p.xid,
						  vers[i], 0xffff, &err),
				28);
		rt_raw_send(&r, b, 28);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(r.p.client_closed);
		CU_ASSERT_FALSE(r.p.client_up);
		CU_ASSERT_EQUAL(r.p.client_error, -EPROTONOSUPPORT);
		rt_raw_close(&r);
	}
}

/* Before its answer our client sends nothing more, whatever comes. */
static void strange_answers(void)
{
	struct rt_raw r;
	struct rt_rpc rpc;
	static const struct rt_config cfg = { .versions = 1u << WIRE_VERS2,
					      .request_user_size = 8 };

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* Short, and of another version: no answer yet. */
	send_version(&r, 2, RDMA2_GRANT, 15);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	send_version(&r, 1, 0, 40);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* A GRANT is one, but the properties are waited for. */
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(is_err_vers(&r, 0x1001, 1));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 4000);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	CU_ASSERT_TRUE(r.p.client_up);
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rpc.done);
	CU_ASSERT_EQUAL(rpc.rq->status, 0);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

/* The image of ERR_VERS, or of VERS_MISMATCH: then @low is of no account. */
static void vers_error(struct rt_raw *r, uint32_t xid, uint32_t vers,
		       uint32_t code, uint32_t low, uint32_t high)
{
	struct wire_enc e;
	uint8_t b[28];

	prefix(b, xid, vers, 0xffffffff, RDMA2_ERROR);
	wire_enc_init(&e, b + 16, 12);
	wire_put_u32(&e, code);
	wire_put_u32(&e, low);
	wire_put_u32(&e, high);
	rt_raw_send(r, b, code == RDMA2_ERR_VERS ? 28 : 20);
}

/*
 * A version that is refused after it was settled (7.1.1, 7.1.2, [B8]): nothing
 * of it goes any more. The next connection begins as the range has it.
 */
static void withdrawn(void)
{
	static const struct {
		unsigned int versions;
		uint32_t vers, code, low, high;
		bool ours; /* about a Call, or about nothing of ours */
		int error; /* 0: it goes on */
		uint32_t next; /* first message of the next connection */
	} rows[] = {
		{ 6, 2, RDMA2_ERR_VERS, 1, 1, true, -EAGAIN, 1 },
		{ 6, 1, RDMA2_ERR_VERS, 1, 1, false, -EAGAIN, 1 },
		{ 4, 2, RDMA2_ERR_VERS, 1, 1, true, -EPROTONOSUPPORT, 2 },
		{ 6, 2, RDMA2_ERR_VERS, 3, 7, true, -EPROTONOSUPPORT, 2 },
		{ 6, 2, RDMA2_ERR_VERS, 1, 2, true, -EAGAIN, 2 },
		{ 6, 2, RDMA2_ERR_VERS, 1, 2, false, 0, 2 },
		{ 6, 2, RDMA2_ERR_VERS_MISMATCH, 0, 0, true, -EAGAIN, 2 },
		{ 6, 2, RDMA2_ERR_VERS_MISMATCH, 0, 0, false, 0, 2 },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rt_config cfg = { .versions = rows[i].versions,
					 .request_user_size = 8 };
		bool known = rows[i].code == RDMA2_ERR_VERS;
		struct rt_rpc a, b;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		rt_rpc_init(&r.p, r.p.client, &a, 1, 0, false, 8, 0, 0, 0, 0);
		rt_rpc_submit(r.p.client, &a);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		vers_error(&r, rows[i].ours ? 1 : 99, rows[i].vers,
			   rows[i].code, rows[i].low, rows[i].high);
		rt_raw_run(&r);
		CU_ASSERT_FALSE(rt_raw_more(&r));
		CU_ASSERT_EQUAL(r.p.client_closed, rows[i].error != 0);
		if (!rows[i].error) {
			rt_raw_reply(&r, 1, NULL, NULL, 0);
			rt_raw_run(&r);
			CU_ASSERT_EQUAL(a.rq->status, 0);
		} else {
			CU_ASSERT_EQUAL(r.p.client_error, rows[i].error);
			/* ERR_VERS ends the RPC; others may go again. */
			CU_ASSERT_EQUAL(a.rq->status, known && rows[i].ours ?
							      -EREMOTEIO :
							      -ECONNRESET);
		}
		CU_ASSERT_TRUE(a.done);
		rt_rpc_free(&a);
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		rt_rpc_init(&r.p, r.p.client, &b, 2, 0, false, 8, 0, 0, 0, 0);
		rt_rpc_submit(r.p.client, &b);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rt_raw_more(&r));
		CU_ASSERT_EQUAL(r.m.p.vers, rows[i].next);
		rt_conn_close(r.p.client, true);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(b.done);
		rt_rpc_free(&b);
		rt_raw_close(&r);
	}
}

/* Likewise a server, which calls its client: it can only end. */
static void withdrawn_reverse(void)
{
	for (unsigned int ours = 0; ours < 2; ours++) {
		struct rt_config cfg = { .request_user_size = 8 };
		uint32_t level = htonl(RDMA2_RVRSDIR_GENL);
		const struct wire_prop brs = { RDMA2_PROPID_BRS,
					       (const uint8_t *)&level, 4 };
		struct rt_raw r;
		struct rt_rpc a;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
		rt_raw_connprop(&r, true, &brs, 1);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		rt_raw_call(&r, 1, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		rt_rpc_init(&r.p, r.p.server, &a, 7, 0, false, 8, 0, 0, 0, 0);
		rt_rpc_submit(r.p.server, &a);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		vers_error(&r, ours ? 7 : 8, 2, RDMA2_ERR_VERS_MISMATCH, 0, 0);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL(r.p.server_closed, ours);
		if (!ours)
			rt_conn_close(r.p.server, true);
		else
			CU_ASSERT_EQUAL(r.p.server_error, -EPROTO)
		rt_raw_run(&r);
		CU_ASSERT_TRUE(a.done);
		rt_rpc_free(&a);
		rt_raw_close(&r);
	}
}

/* [A9]: a client that began with a Call, and waits, gets our properties. */
static void late_properties(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.queued));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* Once is enough. */
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_call(&r, 2, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* Not without a credit. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	r.credits = 1;
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	for (unsigned int i = 0; i < 300; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_close(&r);
}

/* The server refused our properties: the defaults hold, life goes on [F2]. */
static void refused_properties(void)
{
	struct rt_config cfg = { .request_user_size = 8 };
	struct rt_raw r;
	struct rt_rpc rpc;
	uint32_t xid;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	xid = r.m.p.xid;
	rt_raw_error(&r, xid, RDMA2_ERR_BAD_PROPVAL);
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_up);
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	rt_raw_error(&r, 1, RDMA2_ERR_SYSTEM);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(rpc.rq->status, -EREMOTEIO);
	CU_ASSERT_EQUAL(rpc.rq->error.code, RDMA2_ERR_SYSTEM);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

/* [B6]: a first message that does not come, or is not answered, in time. */
static void first_message_timer(void)
{
	struct rt_config cfg = { .versions = 1u << WIRE_VERS2,
				 .first_message_ms = 150 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.down));
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_EQUAL(r.p.server_error, -ETIMEDOUT);
	rt_raw_close(&r);

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.down));
	CU_ASSERT_TRUE(r.p.client_closed);
	CU_ASSERT_EQUAL(r.p.client_error, -ETIMEDOUT);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "other versions", other_versions },
	{ "short messages", short_messages },
	{ "first kinds", first_kinds },
	{ "unanswered first", unanswered_first },
	{ "continued first reply", continued_first_reply },
	{ "eager client", eager_client },
	{ "client first", client_first },
	{ "server without v2", server_without_v2 },
	{ "strange answers", strange_answers },
	{ "withdrawn", withdrawn },
	{ "withdrawn, reverse", withdrawn_reverse },
	{ "late properties", late_properties },
	{ "refused properties", refused_properties },
	{ "first message timer", first_message_timer },
	{ NULL, NULL },
};

UNIT_MAIN("transport-version", tests)
