/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchange of transport properties (section 5, 6.3.3, 6.3.4, [F1], [F2],
 * [A10] to [A13], [E2]), with a raw peer. */
#include <arpa/inet.h>
#include <errno.h>

#include "rt_raw.h"
#include "unit.h"

static const struct rt_config with_user = { .request_user_size = 8 };

/* The longest message that a Reply of @len octets comes in. */
static size_t longest(struct rt_raw *r, uint32_t xid, size_t len)
{
	size_t max = 0;
	uint32_t htype;

	rt_raw_call(r, xid, NULL, NULL, len);
	do {
		htype = rt_raw_next(r);
		if (r->msg_len > max)
			max = r->msg_len;
	} while (htype == RDMA2_REPLY_MIDDLE);
	CU_ASSERT_EQUAL(htype, RDMA2_REPLY_INLINE);
	return max;
}

static bool refused(struct rt_raw *r, uint32_t code)
{
	return rt_raw_is_error(r, 0x7001, code);
}

/* 6.3.3: whatever was in the MIDDLE. */
static void interrupted(struct rt_raw *r)
{
	rt_raw_call(r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_error(r, 5, RDMA2_ERR_INVAL_CONT));
}

static void sequence(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 2048);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	/* Between MIDDLE and FINAL only GRANT and ERROR (6.3.3 [D2]). */
	rt_raw_grant(&r);
	rt_raw_error(&r, 1, RDMA2_ERR_SYSTEM);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_INVAL_CONT));
	rt_raw_reply(&r, 6, NULL, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 6, RDMA2_ERR_INVAL_CONT));
	rt_raw_begin(&r, 99, 7);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 7, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* The sequence is still open; the last value holds [F2]. */
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 3000);
	rt_raw_prop(&r, true, RDMA2_PROPID_BRS, RDMA2_RVRSDIR_GENL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(longest(&r, 8, 20000), 3000);
	CU_ASSERT_TRUE(rt_conn_can_call(r.p.server));
	/* Nothing after FINAL (6.3.4). */
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_INVAL_CONT));
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_INVAL_CONT));
	/* And nothing of it was taken, nor is a sequence open. */
	CU_ASSERT_EQUAL(longest(&r, 9, 20000), 3000);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* [A13]: sizes that are small, or none, are no fault, and the other values of
 * their message hold. */
static void small_sizes(void)
{
	static const struct {
		uint32_t which, value, threshold;
	} rows[] = {
		{ RDMA2_PROPID_SBSIZ, 0, 4096 },
		{ RDMA2_PROPID_SBSIZ, 1, 4096 },
		{ RDMA2_PROPID_SBSIZ, 1023, 4096 },
		{ RDMA2_PROPID_RBSIZ, 0, 1024 },
		{ RDMA2_PROPID_RBSIZ, 1, 1024 },
		{ RDMA2_PROPID_RBSIZ, 1023, 1024 },
	};
	struct rt_conn_info info;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t value = htonl(rows[i].value), level = htonl(2);
		struct wire_prop p[2] = {
			{ rows[i].which, (uint8_t *)&value, 4 },
			{ RDMA2_PROPID_BRS, (uint8_t *)&level, 4 },
		};

		if (i)
			CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		rt_raw_connprop(&r, true, p, 2);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		CU_ASSERT_EQUAL(longest(&r, 1, 20000), rows[i].threshold);
		rt_conn_info(r.p.server, &info);
		CU_ASSERT_TRUE(info.theirs.complete);
		CU_ASSERT_EQUAL(info.theirs.reverse, 2);
	}
	rt_raw_close(&r);
}

/* [E2], 5.1, 7.2.2: what is refused, and that nothing of it was applied. */
static void bad_values(void)
{
	static const struct {
		uint32_t which, len, value;
	} bad[] = {
		{ RDMA2_PROPID_RBSIZ, 1, 0 }, { RDMA2_PROPID_RBSIZ, 3, 0 },
		{ RDMA2_PROPID_RSSIZ, 8, 0 }, { RDMA2_PROPID_RCSIZ, 5, 0 },
		{ RDMA2_PROPID_BRS, 2, 0 },
	};
	uint8_t data[8] = { 0 };
	struct rt_raw r;
	struct wire_enc *e;
	uint32_t small = htonl(1024);

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	for (unsigned int k = 0; k < 2 * sizeof(bad) / sizeof(*bad); k++) {
		unsigned int i = k / 2;
		uint32_t v = htonl(bad[i].value);
		struct wire_prop p[3] = {
			{ RDMA2_PROPID_RBSIZ, (uint8_t *)&small, 4 },
			{ bad[i].which, data, bad[i].len },
			{ RDMA2_PROPID_BRS, (uint8_t *)&small, 4 },
		};

		memset(data, 0, sizeof(data));
		memcpy(data, &v, 4);
		rt_raw_connprop(&r, true, p, 3);
		CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_BAD_PROPVAL));
		/* No sequence was opened. */
		CU_ASSERT_EQUAL(longest(&r, i, 20000), 4096);
		if (k % 2) {
			/* A MIDDLE opens one, a bad FINAL does not end it. */
			rt_raw_connprop(&r, false, p, 3);
			CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_BAD_PROPVAL));
			interrupted(&r);
			rt_raw_connprop(&r, true, p, 3);
			CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_BAD_PROPVAL));
			interrupted(&r);
			rt_raw_connprop(&r, true, NULL, 0);
			CU_ASSERT_EQUAL(longest(&r, i, 20000), 4096);
			CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
			rt_raw_grant(&r);
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		}
	}
	/* rdma_data beyond the end, of a known and an unknown property. */
	for (uint32_t which = 2; which < 200; which += 100) {
		e = rt_raw_begin(&r, RDMA2_CONNPROP_FINAL, 0x7001);
		wire_put_u32(e, 1);
		wire_put_u32(e, which);
		wire_put_u32(e, 4);
		rt_raw_end(&r);
		CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_BAD_PROPVAL));
	}
	/* An end inside count, rdma_which or the length word. */
	for (unsigned int words = 0; words < 3; words++) {
		e = rt_raw_begin(&r, RDMA2_CONNPROP_FINAL, 0x7001);
		for (unsigned int i = 0; i < words; i++)
			wire_put_u32(e, i ? 2 : 1);
		rt_raw_end(&r);
		CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_BAD_XDR));
	}
	/* A MIDDLE of no words. */
	rt_raw_begin(&r, RDMA2_CONNPROP_MIDDLE, 0x7001);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(refused(&r, RDMA2_ERR_BAD_XDR));
	interrupted(&r);
	/* After all of that, one that is right. */
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(longest(&r, 100, 20000), 1024);
	rt_raw_close(&r);
}

/* Zero lengths, repetitions, unknown ids, HOSTAUTH, surplus octets. */
static void odd_values(void)
{
	struct rt_raw r;
	uint32_t a = htonl(2000), b = htonl(2047), huge = 0xffffffff;
	uint8_t auth[12] = { 0, 0, 0, 5, 'a', 'b', 'c', 'd', 'e', 9, 9, 9 };
	struct wire_prop p[10] = {
		{ RDMA2_PROPID_RBSIZ, (uint8_t *)&a, 4 },
		{ 0, (uint8_t *)&a, 3 },
		{ 7, NULL, 0 },
		{ 0xffffffff, auth, 12 },
		{ RDMA2_PROPID_HOSTAUTH, auth, 12 },
		{ RDMA2_PROPID_HOSTAUTH, NULL, 0 },
		{ RDMA2_PROPID_RBSIZ, (uint8_t *)&b, 4 },
		{ RDMA2_PROPID_BRS, (uint8_t *)&huge, 4 },
		/* No opaque<>: a property that is not known here [F5]. */
		{ RDMA2_PROPID_HOSTAUTH, auth, 3 },
		{ RDMA2_PROPID_HOSTAUTH, auth, 8 },
	};

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_connprop(&r, true, p, 10);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	/* 2047 of the two, rounded down [A13]. */
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 2044);
	/* An unknown level is none [F4]. */
	CU_ASSERT_FALSE(rt_conn_can_call(r.p.server));

	/* A zero length undoes what a MIDDLE said [F1]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	p[0] = (struct wire_prop){ RDMA2_PROPID_RBSIZ, NULL, 0 };
	rt_raw_connprop(&r, true, p, 1);
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 4096);

	/* None at all: the defaults. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 4096);

	/* Octets after the properties [C6]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	wire_put_u32(rt_raw_begin(&r, RDMA2_CONNPROP_FINAL, 1), 0);
	wire_put_u32(&r.enc, 12345);
	rt_raw_end(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* Larger than 4096, both ways [A10], [A12]. */
static void large(void)
{
	struct rt_config cfg = { .recv_size = 8192, .send_size = 6000 };
	struct rt_raw r;
	struct wire_iter it = { 0 };
	struct wire_prop v;
	uint32_t said[8] = { 0 };

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	while (wire_prop_next(&r.m.props, &it, &v))
		said[v.which % 8] = wire_prop_u32(&v, 0);
	CU_ASSERT_EQUAL(said[RDMA2_PROPID_SBSIZ], 6000);
	CU_ASSERT_EQUAL(said[RDMA2_PROPID_RBSIZ], 8192);
	CU_ASSERT_EQUAL(said[RDMA2_PROPID_RSSIZ], 1048576);
	CU_ASSERT_EQUAL(said[RDMA2_PROPID_RCSIZ], 16);
	wire_put_u32(rt_raw_begin(&r, RDMA2_CONNPROP_FINAL, 1), 500);
	for (uint32_t i = 0; i < 500; i++) {
		bool known = i == 498;

		wire_put_u32(&r.enc, known ? RDMA2_PROPID_RBSIZ : 1000 + i);
		wire_put_u32(&r.enc, 4);
		wire_put_u32(&r.enc, 0x40000000);
	}
	rt_raw_end(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* Ours is the smaller one. */
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 6000);
	rt_raw_close(&r);
}

/*
 * The client's RBSIZ becomes smaller than the default while a Reply waits
 * for a credit: its format is chosen for what holds when it is sent.
 */
static void shrinking(void)
{
	struct rt_config cfg = { .no_continuation = true };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	r.credits = 0;
	rt_raw_call(&r, 1, NULL, NULL, 3000);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 8;
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_REPLY_RESOURCE));
	CU_ASSERT_EQUAL(r.m.error.length_needed, 3000);
	/* And in the middle of a continued one. */
	rt_raw_close(&r);
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	r.credits = 1;
	rt_raw_call(&r, 1, NULL, NULL, 20000);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
	CU_ASSERT_EQUAL(r.msg_len, 4096);
	r.credits = 40;
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 1024);
	for (;;) {
		uint32_t htype = rt_raw_next(&r);

		CU_ASSERT_TRUE(r.msg_len <= 1024);
		if (htype != RDMA2_REPLY_MIDDLE)
			break;
	}
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* A Reply header that no message of the client's size can hold. */
static void no_room_for_header(void)
{
	struct rt_config cfg = { .max_segments = 64 };
	struct wire_segment seg[60];
	struct wire_chunk_desc w = { seg, 60 };
	struct wire_call_desc d = { .writes = &w, .nwrites = 1 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	for (unsigned int i = 0; i < 60; i++)
		seg[i] = rt_raw_expose(&r, i * 64, 64, true);
	/* 60 segments are 988 octets: 1024 holds 36 of payload. */
	rt_raw_call(&r, 1, &d, NULL, 36);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_raw_call(&r, 2, &d, NULL, 40);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_TRUE(r.msg_len <= 1024);
	/* As a Reply chunk more: nothing fits. */
	d.reply = &(struct wire_chunk_desc){ seg, 4 };
	w.count = 60;
	rt_raw_call(&r, 3, &d, NULL, 40);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 3));
	d.reply = NULL;
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);

	/* 1024 - 12 of header for each empty chunk... and 16 + 4 + 4. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	{
		struct wire_chunk_desc many[8];

		for (unsigned int i = 0; i < 60; i++)
			seg[i] = rt_raw_expose(&r, i * 64, 64, true);
		for (unsigned int i = 0; i < 8; i++)
			many[i] = (struct wire_chunk_desc){ seg + i * 7, 7 };
		many[7].count = 60 - 49;
		d.writes = many;
		d.nwrites = 8;
		rt_raw_call(&r, 1, &d, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SYSTEM));
	}
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* ---- What our client makes of a server's values ----------------------- */

static void serve(struct rt_raw *r, struct rt_rpc *rpc)
{
	rt_raw_reply(r, rpc->xid, NULL, NULL, 0);
	rt_raw_run(r);
	CU_ASSERT_TRUE(rpc->done);
	CU_ASSERT_EQUAL(rpc->rq->status, 0);
	rt_rpc_free(rpc);
}

static void client_obeys(void)
{
	static const uint32_t none[] = { RDMA2_PROPID_RSSIZ,
					 RDMA2_PROPID_RCSIZ };
	struct rt_rpc rpc;
	struct rt_raw r;
	unsigned int n;

	/* 0 segments, or of 0 octets: no chunks at all [A13]. */
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
		rt_raw_next(&r);
		rt_raw_prop(&r, true, none[i], 0);
		rt_raw_run(&r);
		rt_rpc_init(&r.p, r.p.client, &rpc, 1, 40000, true, 100000, 1,
			    5000, 1, 5000);
		rt_rpc_submit(r.p.client, &rpc);
		n = 0;
		while (rt_raw_next(&r) == RDMA2_CALL_MIDDLE)
			n++;
		CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_CALL_INLINE);
		CU_ASSERT_TRUE(n >= 9);
		CU_ASSERT_EQUAL(r.m.reads.count, 0);
		CU_ASSERT_EQUAL(r.m.writes.count, 0);
		CU_ASSERT_FALSE(r.m.has_reply);
		CU_ASSERT_EQUAL(r.m.inv_handle, 0);
		serve(&r, &rpc);
		rt_raw_close(&r);
	}

	/* One segment for everything [E4]: what needs more comes inline. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	rt_raw_next(&r);
	rt_raw_prop(&r, true, RDMA2_PROPID_RCSIZ, 1);
	rt_raw_run(&r);
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 6000, true, 100000, 1, 5000, 1,
		    5000);
	rt_rpc_submit(r.p.client, &rpc);
	while (rt_raw_next(&r) == RDMA2_CALL_MIDDLE)
		;
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r.m.reads.segments + r.m.writes.segments +
				r.m.reply.segments,
			1);
	CU_ASSERT_EQUAL(r.m.writes.count, 1);
	serve(&r, &rpc);
	rt_raw_close(&r);

	/* Segments of at most 4096. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	rt_raw_next(&r);
	rt_raw_prop(&r, true, RDMA2_PROPID_RSSIZ, 4096);
	rt_raw_run(&r);
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 20000, true, 64, 1, 10001, 1,
		    10001);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r.m.reads.segments, 5);
	CU_ASSERT_EQUAL(r.m.reads.bytes, 20000);
	CU_ASSERT_EQUAL(r.m.writes.segments, 3);
	CU_ASSERT_EQUAL(r.m.writes.bytes, 10001);
	serve(&r, &rpc);
	/* 17 segments would be needed: 16 is what a peer takes. */
	rt_rpc_init(&r.p, r.p.client, &rpc, 2, 16 * 4096 + 1, true, 64, 0, 0, 0,
		    0);
	rt_rpc_submit(r.p.client, &rpc);
	while (rt_raw_next(&r) == RDMA2_CALL_MIDDLE)
		;
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r.m.reads.count, 0);
	serve(&r, &rpc);
	rt_raw_close(&r);

	/* RBSIZ: up to it, not beyond. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	rt_raw_next(&r);
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 8192);
	rt_raw_run(&r);
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 8192 - 32 - 17 * 4, false, 64, 0,
		    0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r.msg_len, 8192);
	serve(&r, &rpc);
	rt_rpc_init(&r.p, r.p.client, &rpc, 2, 8192 - 32 - 17 * 4 + 1, false,
		    64, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_MIDDLE);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	serve(&r, &rpc);
	/* [A13]: below 1024 is 1024. */
	rt_raw_close(&r);
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	rt_raw_next(&r);
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 512);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_up);
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 1024 - 32 - 17 * 4, false, 64, 0,
		    0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r.msg_len, 1024);
	serve(&r, &rpc);
	rt_raw_close(&r);
}

/* What the server's upper layer is told, and when. */
static void told(void)
{
	struct rt_raw r;

	/* With the properties, once they are complete. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 2048);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_FALSE(r.p.server_up);
	rt_raw_prop(&r, true, RDMA2_PROPID_BRS, RDMA2_RVRSDIR_GENL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.server_ups, 1);
	CU_ASSERT_EQUAL(r.p.info_at_up.version, 2);
	CU_ASSERT_TRUE(r.p.info_at_up.theirs.complete);
	CU_ASSERT_EQUAL(r.p.info_at_up.theirs.recv_size, 2048);
	CU_ASSERT_EQUAL(r.p.info_at_up.theirs.reverse, RDMA2_RVRSDIR_GENL);
	CU_ASSERT_EQUAL(r.p.info_at_up.reply_inline, 2048);
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(r.p.server_ups, 1);

	/* At the first Call, if that comes before them [A9]. */
	rt_conn_close(r.p.server, true);
	rt_raw_run(&r);
	r.p.server_ups = 0;
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	r.p.server_up = false;
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_FALSE(r.p.server_up);
	rt_raw_call(&r, 2, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_EQUAL(r.p.server_ups, 1);
	CU_ASSERT_EQUAL(r.p.calls_at_up, r.p.calls - 1);
	CU_ASSERT_FALSE(r.p.info_at_up.theirs.complete);
	CU_ASSERT_EQUAL(r.p.info_at_up.theirs.recv_size, 4096);
	rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 2048);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.server_ups, 1);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "sequence", sequence },
	{ "small sizes", small_sizes },
	{ "bad values", bad_values },
	{ "odd values", odd_values },
	{ "large", large },
	{ "shrinking", shrinking },
	{ "no room for header", no_room_for_header },
	{ "client obeys", client_obeys },
	{ "told", told },
	{ NULL, NULL },
};

UNIT_MAIN("transport-props", tests)
