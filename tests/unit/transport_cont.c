/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message continuation (6.6.2, 7.1.4, [D1] to [D6]) in both directions, with a
 * raw peer that breaks its rules.
 */
#include <errno.h>

#include "rt_raw.h"
#include "unit.h"

static const struct rt_config with_user = { .request_user_size = 8 };

/* A payload of 400 octets that asks for a Reply of 8. */
static uint8_t pay[2048];
#define PAY 400u

static void fill(uint32_t xid)
{
	rt_raw_payload(pay, xid, 8, 0, 0, PAY - 17 * 4);
}

/* Octets @from to @to of the payload, as a MIDDLE with the right remainder. */
static void middle(struct rt_raw *r, uint32_t xid, size_t from, size_t to)
{
	rt_raw_middle(r, xid, false, PAY - (uint32_t)to, pay + from, to - from);
}

static void last(struct rt_raw *r, uint32_t xid, size_t from)
{
	rt_raw_call(r, xid, NULL, pay + from, PAY - from);
}

/* The XID can be used afresh and the connection is sound. */
static void works(struct rt_raw *r, uint32_t xid)
{
	fill(xid);
	middle(r, xid, 0, 200);
	CU_ASSERT_TRUE(rt_raw_silent(r));
	last(r, xid, 200);
	CU_ASSERT_TRUE(rt_raw_is_reply(r, xid));
	CU_ASSERT_TRUE(rt_raw_silent(r));
}

static void whole(void)
{
	/* Boundaries need not be multiples of four. */
	static const size_t cut[][4] = { { 4, 8, 12, 396 },
					 { 5, 12, 101, 396 },
					 { 100, 200, 300, 395 } };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	for (unsigned int i = 0; i < 3; i++) {
		uint32_t xid = 100 + i, sum = 0;
		size_t from = 0;

		fill(xid);
		for (unsigned int k = 0; k < 4; k++) {
			middle(&r, xid, from, cut[i][k]);
			from = cut[i][k];
			/* GRANT and ERROR may come between [D2]. */
			if (k == 1)
				rt_raw_grant(&r);
			if (k == 2)
				rt_raw_error(&r, xid, RDMA2_ERR_SYSTEM);
		}
		last(&r, xid, from);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, xid));
		/* rt_pair returns a sum of the data. */
		for (size_t k = 17 * 4; k < PAY; k++)
			sum = sum * 33 + pay[k];
		CU_ASSERT_EQUAL(r.m.payload[7], sum & 255);
		CU_ASSERT_EQUAL(r.m.payload[4], sum >> 24);
	}
	CU_ASSERT_EQUAL(r.p.calls, 3);
	rt_raw_close(&r);
}

/* [D3]: the intruder's XID first, then that of the broken sequence. */
static void other_xid(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	fill(1);
	middle(&r, 1, 0, 100);
	rt_raw_call(&r, 2, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	/* The rest is swallowed up to its INLINE. */
	middle(&r, 1, 100, 200);
	last(&r, 1, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	works(&r, 1);
	works(&r, 2);

	/* Two sequences mixed: both are dead, and each to its end. */
	fill(3);
	middle(&r, 3, 0, 100);
	fill(4);
	middle(&r, 4, 0, 100);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 4, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_INVAL_CONT));
	middle(&r, 3, 100, 200);
	middle(&r, 4, 100, 200);
	last(&r, 3, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	last(&r, 4, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	works(&r, 3);
	works(&r, 4);

	/* Another payload message ends the swallowing too. */
	fill(5);
	middle(&r, 5, 0, 100);
	rt_raw_call(&r, 6, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 6, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_INVAL_CONT));
	rt_raw_call(&r, 7, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 7));
	works(&r, 5);
	CU_ASSERT_EQUAL(r.p.calls, 6);
	rt_raw_close(&r);
}

/* Every other type is refused inside a sequence [D2]. */
static void each_type(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	for (uint32_t htype = 0; htype < 17; htype++) {
		if (htype == RDMA2_ERROR || htype == RDMA2_GRANT)
			continue;
		/* The sequence's own XID makes the difference only for its
		 * own types: there must be no second error then. */
		for (uint32_t xid = 1; xid <= 2; xid++) {
			if (xid == 1 && (htype == RDMA2_CALL_MIDDLE ||
					 htype == RDMA2_CALL_INLINE))
				continue;
			fill(1);
			middle(&r, 1, 0, 100);
			rt_raw_begin(&r, htype, xid);
			for (unsigned int i = 0; i < 16; i++)
				wire_put_u32(&r.enc, 0);
			rt_raw_end(&r);
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, xid, RDMA2_ERR_INVAL_CONT));
			if (xid != 1)
				CU_ASSERT_TRUE(rt_raw_is_error(
					&r, 1, RDMA2_ERR_INVAL_CONT));
			middle(&r, 1, 100, 200);
			last(&r, 1, 200);
			CU_ASSERT_TRUE(rt_raw_silent(&r));
		}
	}
	works(&r, 1);
	CU_ASSERT_EQUAL(r.p.calls, 1);
	rt_raw_close(&r);
}

/* An EXTERNAL with an empty Call chunk or none, which would be BAD_XDR. */
static void external(struct rt_raw *r, uint32_t xid, bool reply)
{
	rt_raw_begin(r, reply ? RDMA2_REPLY_EXTERNAL : RDMA2_CALL_EXTERNAL,
		     xid);
	rt_raw_end(r);
}

/* 7.1.4: an EXTERNAL with the XID of what was refused is dropped, and is not
 * the end of it [D3]. */
static void external_after(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	fill(1);
	middle(&r, 1, 0, 100);
	external(&r, 1, false);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	external(&r, 1, false);
	external(&r, 1, false);
	middle(&r, 1, 100, 200);
	external(&r, 1, false);
	last(&r, 1, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* That was the end. */
	external(&r, 1, false);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	works(&r, 1);
	/* The other direction's, and that of another message. */
	for (unsigned int i = 0; i < 2; i++) {
		fill(2);
		middle(&r, 2, 0, 100);
		external(&r, 2, false);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_CONT));
		external(&r, 3 - i, i);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 3 - i, RDMA2_ERR_BAD_XDR));
		external(&r, 2, false);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_BAD_XDR));
	}
	CU_ASSERT_EQUAL(r.p.calls, 1);
	rt_raw_close(&r);
}

/* [D1]: rdma_remaining that does not fit what comes. */
static void remaining(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	/* Zero in the first; the rest is swallowed. */
	fill(1);
	rt_raw_middle(&r, 1, false, 0, pay, 100);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	middle(&r, 1, 100, 200);
	last(&r, 1, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	works(&r, 1);
	/* Zero, more, or less in a later one. */
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t wrong[] = { 0, 300, 201, 199 };

		fill(2);
		middle(&r, 2, 0, 100);
		rt_raw_middle(&r, 2, false, wrong[i], pay + 100, 100);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_CONT));
		last(&r, 2, 200);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		works(&r, 2);
	}
	/* An INLINE of another length ends the sequence as well. */
	for (int i = -4; i <= 4; i += 8) {
		fill(3);
		middle(&r, 3, 0, 100);
		rt_raw_call(&r, 3, NULL, pay + 100, (size_t)(300 + i));
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_INVAL_CONT));
		works(&r, 3);
	}
	/* More in one message than was to come. */
	fill(4);
	rt_raw_middle(&r, 4, false, 50, pay, 100);
	rt_raw_middle(&r, 4, false, 1, pay, 100);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 4, RDMA2_ERR_INVAL_CONT));
	last(&r, 4, 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* [D1]: rdma_remaining that counts the octets of its own message, too. */
static void remaining_with(void)
{
	/* Where the fragments end, and whether that is a series at all. */
	static const struct {
		uint32_t cut[3], left[3];
		bool good;
	} rows[] = {
		/* Told apart by the second, the third, the INLINE. */
		{ { 100, 300, 396 }, { 400, 300, 100 }, true },
		{ { 100, 200, 350 }, { 400, 300, 200 }, true },
		{ { 100, 200, 300 }, { 400, 300, 200 }, true },
		{ { 100, 200, 300 }, { 300, 200, 100 }, true },
		/* One, and then the other. */
		{ { 100, 300, 396 }, { 400, 100, 4 }, false },
		{ { 100, 200, 350 }, { 400, 300, 50 }, false },
		{ { 100, 300, 396 }, { 300, 300, 100 }, false },
	};
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t at = 0;

		fill(1 + i);
		for (unsigned int k = 0; k < 3; k++) {
			rt_raw_middle(&r, 1 + i, false, rows[i].left[k],
				      pay + at, rows[i].cut[k] - at);
			at = rows[i].cut[k];
		}
		last(&r, 1 + i, at);
		if (rows[i].good)
			CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1 + i))
		else
			CU_ASSERT_TRUE(rt_raw_is_error(&r, 1 + i,
						       RDMA2_ERR_INVAL_CONT))
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		works(&r, 1 + i);
	}
	/* The end is not where either has it. */
	for (int i = -4; i <= 4; i += 8) {
		fill(20);
		rt_raw_middle(&r, 20, false, 400, pay, 100);
		rt_raw_call(&r, 20, NULL, pay + 100, (size_t)(300 + i));
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 20, RDMA2_ERR_INVAL_CONT));
		works(&r, 20);
	}
	rt_raw_close(&r);
}

/* [D6]: beyond the limit; and the limit itself. */
static void too_large(void)
{
	struct rt_config cfg = { .max_message = 65536 };
	uint8_t *big = calloc(1, 65536 + 17 * 4);
	struct rt_raw r;
	size_t n, at = 0;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	fill(1);
	rt_raw_middle(&r, 1, false, 65536 + 1, pay, 100);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	rt_raw_middle(&r, 1, false, 0xffffffff, pay, 100);
	last(&r, 1, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_middle(&r, 1, false, 0xffffffff, pay, 100);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	last(&r, 1, 200);
	n = rt_raw_payload(big, 2, 8, 0, 0, 65536 - 17 * 4);
	CU_ASSERT_EQUAL(n, 65536);
	while (n - at > 4000) {
		rt_raw_middle(&r, 2, false, (uint32_t)(n - at - 4000), big + at,
			      4000);
		at += 4000;
		if (at % 40000 == 0)
			rt_raw_run(&r);
	}
	rt_raw_call(&r, 2, NULL, big + at, n - at);
	while (rt_raw_next(&r) == RDMA2_GRANT)
		;
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
	free(big);
	rt_raw_close(&r);
}

/* A fragment that cannot be read, in the middle and at the end: 7.1.4 goes
 * before 7.2.1 [D9]. */
static void malformed(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	for (size_t n = 0; n < 4; n++) {
		fill(1);
		middle(&r, 1, 0, 100);
		rt_raw_middle(&r, 1, false, 300 - (uint32_t)n, pay, n);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
		middle(&r, 1, 100, 200);
		last(&r, 1, 200);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		works(&r, 1);
	}
	fill(1);
	middle(&r, 1, 0, 100);
	wire_put_u32(rt_raw_begin(&r, RDMA2_CALL_INLINE, 1), 0);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	/* That was the end of it: the XID is free. */
	rt_raw_call(&r, 1, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	works(&r, 1);
	/* The first word of the first fragment is the XID (7.2). */
	fill(2);
	middle(&r, 1, 0, 100);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	middle(&r, 1, 100, 200);
	last(&r, 1, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	works(&r, 1);
	rt_raw_close(&r);
}

/* A sequence that stops [D6]. */
static void time_out(void)
{
	struct rt_config cfg = { .continuation_ms = 100 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	fill(1);
	middle(&r, 1, 0, 100);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.queued));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	middle(&r, 1, 100, 200);
	last(&r, 1, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	works(&r, 1);
	rt_raw_close(&r);
}

/* ---- Replies to our client -------------------------------------------- */

static void begin(struct rt_raw *r, struct rt_rpc *rpc, uint32_t xid)
{
	rt_rpc_init(&r->p, r->p.client, rpc, xid, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r->p.client, rpc);
	CU_ASSERT_EQUAL(rt_raw_next(r), RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r->m.p.xid, xid);
}

static void end(struct rt_raw *r, struct rt_rpc *rpc, int status)
{
	rt_raw_run(r);
	CU_ASSERT_TRUE(rpc->done);
	CU_ASSERT_EQUAL(rpc->rq->status, status);
	rt_rpc_free(rpc);
}

static void reply_middle(struct rt_raw *r, uint32_t xid, uint32_t rest)
{
	fill(xid);
	rt_raw_middle(r, xid, true, rest, pay, 100);
}

static void replies(void)
{
	static const struct wire_reply_desc none;
	struct rt_rpc a, b;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	/* In order. */
	begin(&r, &a, 1);
	reply_middle(&r, 1, 200);
	rt_raw_grant(&r);
	rt_raw_middle(&r, 1, true, 97, pay + 100, 103);
	rt_raw_error(&r, 77, RDMA2_ERR_SYSTEM);
	CU_ASSERT_FALSE(a.done);
	rt_raw_reply(&r, 1, &none, pay + 203, 97);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(a.rq->reply_len, 300);
	CU_ASSERT_EQUAL(memcmp(a.rq->reply[0].addr, pay, 300), 0);
	end(&r, &a, 0);
	/* Another Reply inside: both RPCs end [D3, E1]. */
	begin(&r, &a, 2);
	begin(&r, &b, 3);
	reply_middle(&r, 2, 200);
	rt_raw_reply(&r, 3, NULL, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_CONT));
	end(&r, &a, -EPROTO);
	end(&r, &b, -EPROTO);
	external(&r, 2, true);
	rt_raw_reply(&r, 2, &none, pay, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* A reverse Call inside. */
	begin(&r, &a, 4);
	reply_middle(&r, 4, 200);
	rt_raw_call(&r, 0x500, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 0x500, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 4, RDMA2_ERR_INVAL_CONT));
	end(&r, &a, -EPROTO);
	/* A Reply where a property sequence... is over. */
	begin(&r, &a, 5);
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 4096);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_ERROR);
	CU_ASSERT_EQUAL(r.m.error.code, RDMA2_ERR_INVAL_CONT);
	rt_raw_reply(&r, 5, NULL, NULL, 0);
	end(&r, &a, 0);
	/* Wrong lengths. */
	begin(&r, &a, 6);
	reply_middle(&r, 6, 200);
	rt_raw_middle(&r, 6, true, 200, pay, 100);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 6, RDMA2_ERR_INVAL_CONT));
	end(&r, &a, -EPROTO);
	rt_raw_reply(&r, 6, &none, pay, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* More than we take. */
	begin(&r, &a, 7);
	reply_middle(&r, 7, 0x7fffffff);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 7, RDMA2_ERR_INVAL_CONT));
	/* The rest does not come. */
	CU_ASSERT_FALSE(a.done);
	rt_raw_reply(&r, 9, NULL, NULL, 0);
	end(&r, &a, -EPROTO);
	/* Unreadable. */
	begin(&r, &a, 8);
	rt_raw_middle(&r, 8, true, 200, pay, 2);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 8, RDMA2_ERR_INVAL_CONT));
	end(&r, &a, -EPROTO);
	/* Of no Call: dropped in the end, and nothing is held. */
	reply_middle(&r, 9, 200);
	rt_raw_reply(&r, 9, &none, pay + 100, 200);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	begin(&r, &a, 10);
	rt_raw_reply(&r, 10, NULL, NULL, 0);
	end(&r, &a, 0);
	rt_raw_close(&r);
}

/* Inside the server's properties nothing else may come (6.3.3). */
static void reply_in_properties(void)
{
	struct rt_rpc a;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_grant(&r);
	/* Without properties the client begins after a while [A9]. */
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.p.client_up));
	begin(&r, &a, 1);
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 4096);
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	end(&r, &a, -EPROTO);
	rt_raw_connprop(&r, true, NULL, 0);
	begin(&r, &a, 2);
	rt_raw_reply(&r, 2, NULL, NULL, 0);
	end(&r, &a, 0);
	rt_raw_close(&r);
}

static void reply_time_out(void)
{
	struct rt_config cfg = with_user;
	struct rt_rpc a;
	struct rt_raw r;

	cfg.continuation_ms = 100;
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	begin(&r, &a, 1);
	reply_middle(&r, 1, 200);
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, a.done));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_CONT));
	end(&r, &a, -EPROTO);
	rt_raw_close(&r);
}

/* The rest of a Call that has begun: true if it was there, to its INLINE. */
static bool rest_comes(struct rt_raw *r, uint32_t xid)
{
	uint32_t htype;

	r->credits = 16;
	rt_raw_grant(r);
	do {
		htype = rt_raw_next(r);
		if (r->m.p.xid != xid)
			return false;
	} while (htype == RDMA2_CALL_MIDDLE);
	return htype == RDMA2_CALL_INLINE;
}

/* Client: @a has begun to go and waits for a credit; @chunk of its 20,000 octets
 * are in a Read chunk. */
static bool waits_amid(struct rt_raw *r, struct rt_rpc *a, uint32_t xid,
		       uint32_t chunk)
{
	struct rt_config cfg = with_user;

	cfg.call_format = RT_FORMAT_CONTINUED;
	if (!rt_raw_server(r, &cfg))
		return false;
	r->credits = 1;
	CU_ASSERT_TRUE(rt_raw_greet(r));
	rt_rpc_init(&r->p, r->p.client, a, xid, 20000, chunk, 8, 0, 0, 0, 0);
	a->item.length = chunk;
	rt_rpc_submit(r->p.client, a);
	CU_ASSERT_EQUAL(rt_raw_next(r), RDMA2_CALL_MIDDLE);
	return rt_raw_silent(r);
}

/* An ERROR while our Call is not wholly sent: the rest follows, and then the RPC has
 * failed, so that its XID can be used again [D3]. */
static void early_error(void)
{
	static const uint32_t codes[] = {
		RDMA2_ERR_INVAL_CONT,	  RDMA2_ERR_BAD_XDR,
		RDMA2_ERR_READ_CHUNKS,	  RDMA2_ERR_WRITE_CHUNKS,
		RDMA2_ERR_SEGMENTS,	  RDMA2_ERR_WRITE_RESOURCE,
		RDMA2_ERR_REPLY_RESOURCE, RDMA2_ERR_SYSTEM,
	};
	struct rt_rpc a;
	struct rt_raw r;

	for (unsigned int i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		CU_ASSERT_TRUE_FATAL(waits_amid(&r, &a, 1, 0));
		rt_raw_error(&r, 1, codes[i]);
		/* The first is the one that counts. */
		rt_raw_error(&r, 1, RDMA2_ERR_BAD_XDR);
		rt_raw_run(&r);
		CU_ASSERT_FALSE(a.done);
		CU_ASSERT_TRUE(rest_comes(&r, 1));
		CU_ASSERT_TRUE(a.done);
		CU_ASSERT_EQUAL(a.rq->status, -EREMOTEIO);
		CU_ASSERT_EQUAL(a.rq->error.code, codes[i]);
		rt_rpc_free(&a);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		rt_rpc_init(&r.p, r.p.client, &a, 1, 20000, false, 8, 0, 0, 0,
			    0);
		rt_rpc_submit(r.p.client, &a);
		CU_ASSERT_TRUE(rest_comes(&r, 1));
		rt_raw_reply(&r, 1, NULL, NULL, 0);
		end(&r, &a, 0);
		rt_raw_close(&r);
	}
	/* The connection may end before the rest could go. */
	CU_ASSERT_TRUE_FATAL(waits_amid(&r, &a, 1, 0));
	rt_raw_error(&r, 1, RDMA2_ERR_REPLY_RESOURCE);
	rt_raw_run(&r);
	/* Unfinished. */
	r.p.watch.quiet = true;
	fab_disconnect(r.fab, true);
	rt_raw_run(&r);
	end(&r, &a, -ECONNRESET);
	r.p.watch.faults = 0;
	rt_raw_close(&r);
}

/* 7.1.3: no more of what the peer does not know; the Call is over at once. */
static void early_htype(void)
{
	struct rt_rpc a;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(waits_amid(&r, &a, 1, 0));
	/* The unfinished message is not what the watch is for. */
	r.p.watch.quiet = true;
	rt_raw_error(&r, 1, RDMA2_ERR_INVAL_HTYPE);
	rt_raw_run(&r);
	end(&r, &a, -EREMOTEIO);
	r.credits = 16;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.p.watch.faults = 0;
	rt_raw_close(&r);
}

/* Refused for its chunks amid its messages, it is sent again, but not before it has
 * gone [D8]. */
static void early_chunks(void)
{
	struct rt_rpc a;
	struct rt_raw r;
	struct wire_enc *e;

	CU_ASSERT_TRUE_FATAL(waits_amid(&r, &a, 1, 4000));
	r.p.watch.quiet = true;
	e = rt_raw_begin(&r, RDMA2_ERROR, 1);
	wire_put_u32(e, RDMA2_ERR_READ_CHUNKS);
	wire_put_u32(e, 0);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(rest_comes(&r, 1));
	CU_ASSERT_EQUAL(r.m.reads.count, 1);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_MIDDLE);
	CU_ASSERT_TRUE(rest_comes(&r, 1));
	CU_ASSERT_EQUAL(r.m.reads.count, 0);
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	end(&r, &a, 0);
	rt_raw_close(&r);
}

/* A Reply while our Call is not wholly sent cannot be one. */
static void too_early(void)
{
	struct rt_rpc a;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(waits_amid(&r, &a, 2, 0));
	/* The unfinished message is not what the watch is for. */
	r.p.watch.quiet = true;
	rt_raw_reply(&r, 2, NULL, NULL, 0);
	rt_raw_run(&r);
	end(&r, &a, -EPROTO);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_BAD_XDR));
	CU_ASSERT_TRUE(r.down);
	r.p.watch.faults = 0;
	rt_raw_close(&r);
}

/* What answers a bad message waits for the end of a message that has begun to
 * go (6.3.6, 6.3.9, [D2]); the watch would see it, too. */
static void errors_wait(void)
{
	struct rt_config cfg = with_user;
	struct rt_rpc a;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.credits = 1;
	rt_raw_call(&r, 1, NULL, NULL, 9000);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_begin(&r, 50, 2);
	rt_raw_end(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
	r.credits = 8;
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_INLINE);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_HTYPE));
	rt_raw_close(&r);

	cfg.call_format = RT_FORMAT_CONTINUED;
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	r.credits = 1;
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_rpc_init(&r.p, r.p.client, &a, 1, 9000, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &a);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_MIDDLE);
	rt_raw_begin(&r, 50, 2);
	rt_raw_end(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_MIDDLE);
	r.credits = 8;
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_HTYPE));
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	end(&r, &a, 0);
	rt_raw_close(&r);
}

/* Two Calls to a server that grants one credit: the first fragment of @a is
 * out, and @b, of @octets, waits. */
static bool begin_early(struct rt_raw *r, struct rt_rpc *a, struct rt_rpc *b,
			size_t octets)
{
	struct rt_config cfg = { .request_user_size = 8 };

	if (!rt_raw_server(r, &cfg))
		return false;
	r->credits = 1;
	CU_ASSERT_TRUE(rt_raw_greet(r));
	rt_rpc_init(&r->p, r->p.client, a, 1, 9000, false, 8, 0, 0, 0, 0);
	rt_rpc_init(&r->p, r->p.client, b, 2, octets, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r->p.client, a);
	rt_rpc_submit(r->p.client, b);
	CU_ASSERT_EQUAL(rt_raw_next(r), RDMA2_CALL_MIDDLE);
	CU_ASSERT_EQUAL(r->m.p.xid, 1);
	CU_ASSERT_TRUE(rt_raw_silent(r));
	return true;
}

/* What was left of @a cannot follow, nothing else can go in its place. */
static void end_early(struct rt_raw *r, struct rt_rpc *a, struct rt_rpc *b)
{
	CU_ASSERT_EQUAL(rt_raw_next(r), 0);
	CU_ASSERT_TRUE(r->down);
	CU_ASSERT_EQUAL(r->p.client_error, -EPROTO);
	CU_ASSERT_EQUAL(a->rq->status, -EPROTO);
	CU_ASSERT_TRUE(b->done);
	CU_ASSERT_EQUAL(b->rq->status, -ECONNRESET);
	rt_rpc_free(a);
	rt_rpc_free(b);
	rt_raw_close(r);
}

/* A Reply, however bad, before all of its Call has gone. */
static void early_bad_reply(void)
{
	struct rt_rpc a, b;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin_early(&r, &a, &b, 9000));
	wire_put_u32(rt_raw_begin(&r, RDMA2_REPLY_INLINE, 1), 7);
	rt_raw_end(&r);
	rt_raw_run(&r);
	end_early(&r, &a, &b);
}

/* A good one as early, and it brings the credits for the Call that waits. */
static void early_reply(void)
{
	struct rt_rpc a, b;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin_early(&r, &a, &b, 100));
	r.credits = 4;
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	end_early(&r, &a, &b);
}

static const struct unit_test tests[] = {
	{ "whole", whole },
	{ "other xid", other_xid },
	{ "each type", each_type },
	{ "external after", external_after },
	{ "remaining", remaining },
	{ "remaining with", remaining_with },
	{ "too large", too_large },
	{ "malformed", malformed },
	{ "time out", time_out },
	{ "replies", replies },
	{ "reply in properties", reply_in_properties },
	{ "reply time out", reply_time_out },
	{ "early error", early_error },
	{ "early header type", early_htype },
	{ "early chunks", early_chunks },
	{ "too early", too_early },
	{ "errors wait", errors_wait },
	{ "early bad reply", early_bad_reply },
	{ "early reply", early_reply },
	{ NULL, NULL },
};

UNIT_MAIN("transport-cont", tests)
