/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our client in version 1, octet by octet, with a raw server that builds its
 * messages as the kernel's does (RFC 8166, RFC 8167, RFC 8797).
 */
#include <errno.h>

#include "rt_raw1.h"
#include "unit.h"

/* The words of rt_pair's Call before its data. */
#define HEAD 68

static bool begin_server(struct rt_raw *r, const struct rt_config *cfg)
{
	if (!rt_raw_server_with(r, cfg, rt_raw1_private(true, 4096, 4096),
				WIRE_CM_LEN))
		return false;
	/* Nothing comes by itself. */
	return rt_raw_silent(r) && r->p.client_up && r->p.v1;
}

/* One credit until the first Reply, then what it granted, at most ours. */
static void client_credits(void)
{
	static const uint32_t grant[] = { 3, 1, 0, 1000, 2 };
	struct rt_config cfg = rt_only1;
	struct rt_rpc rpc[40];
	uint32_t xid[40];
	unsigned int out = 0, sent = 0, done = 0, limit = 1;
	struct rt_raw r;

	cfg.credits = 5;
	CU_ASSERT_TRUE_FATAL(begin_server(&r, &cfg));
	for (uint32_t i = 0; i < 40; i++) {
		rt_rpc_init(&r.p, r.p.client, &rpc[i], 100 + i, 0, false, 12, 0,
			    0, 0, 0);
		rt_rpc_submit(r.p.client, &rpc[i]);
	}
	while (done < 40) {
		unsigned int g = grant[done % 5], before = out, want;

		want = before > limit ? before : limit;
		if (want > 40 - done)
			want = 40 - done;
		while (rt_raw_more(&r)) {
			CU_ASSERT_EQUAL(r.status, WIRE_OK);
			CU_ASSERT_EQUAL(r.m.role, WIRE_CALL);
			CU_ASSERT_EQUAL(r.m.p.credit, 5);
			xid[sent++] = r.m.p.xid;
			out++;
		}
		/* A shrinking grant lets the outstanding ones be. */
		CU_ASSERT_EQUAL_FATAL(out, want);
		rt_raw1_reply(&r, xid[done], g, NULL, NULL, 0);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc[xid[done] - 100].done);
		done++;
		out--;
		limit = g > 5 ? 5 : g ? g : 1;
	}
	for (unsigned int i = 0; i < 40; i++) {
		CU_ASSERT_EQUAL(rpc[i].rq->status, 0);
		rt_rpc_free(&rpc[i]);
	}
	rt_raw_close(&r);
}

/* An RPC of our client, submitted; its Call is the message being looked at. */
static bool submit(struct rt_raw *r, struct rt_rpc *rpc, uint32_t xid,
		   size_t data_len, bool reduce, size_t reply_len,
		   unsigned int nitems, uint32_t item_len)
{
	rt_rpc_init(&r->p, r->p.client, rpc, xid, data_len, reduce, reply_len,
		    nitems, item_len, nitems, item_len);
	rt_rpc_submit(r->p.client, rpc);
	return rt_raw1_is_call(r, xid);
}

static int finished(struct rt_raw *r, struct rt_rpc *rpc)
{
	int status;

	rt_raw_run(r);
	status = rpc->done ? rpc->rq->status : 1;
	rt_rpc_free(rpc);
	return status;
}

/* A Call without a Reply would keep its credit for ever: it is not sent. */
static void client_call_only(void)
{
	struct rt_rpc a;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin_server(&r, &rt_only1));
	rt_rpc_init(&r.p, r.p.client, &a, 5, 0, false, 12, 0, 0, 0, 0);
	a.rq->call_only = true;
	rt_rpc_submit(r.p.client, &a);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(a.done);
	CU_ASSERT_EQUAL(a.rq->status, -EOPNOTSUPP);
	rt_rpc_free(&a);
	rt_raw_close(&r);
}

/* How our client lays its Calls out. */
static void client_calls(void)
{
	struct wire_iter it = { 0 }, in = { 0 };
	struct wire_read_segment rs;
	struct wire_list chunk;
	struct wire_segment s;
	struct wire_chunk_desc w;
	struct wire_reply_desc d = { .writes = &w, .nwrites = 1 };
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin_server(&r, &rt_only1));
	/* A short one. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 1, 100, true, 12, 0, 0));
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA1_MSG);
	CU_ASSERT_EQUAL(r.m.header_len, 28);
	CU_ASSERT_EQUAL(r.m.payload_len, HEAD + 100);
	rt_raw1_reply(&r, 1, 8, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	/* A WRITE: the data, without roundup, at its Position. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 2, 5001, true, 12, 0, 0));
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA1_MSG);
	CU_ASSERT_EQUAL(r.m.reads.count, 1);
	CU_ASSERT_TRUE(wire_read_next(&r.m.reads, &it, &rs));
	CU_ASSERT_EQUAL(rs.position, HEAD);
	CU_ASSERT_EQUAL(rs.target.length, 5001);
	CU_ASSERT_EQUAL(r.m.payload_len, HEAD);
	rt_raw1_reply(&r, 2, 8, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	/* A long Call. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 3, 5000, false, 12, 0, 0));
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA1_NOMSG);
	CU_ASSERT_EQUAL(r.m.call.bytes, HEAD + 5000);
	CU_ASSERT_EQUAL(r.m.reads.count, 0);
	CU_ASSERT_EQUAL(r.m.surplus, 0);
	rt_raw1_reply(&r, 3, 8, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	/* A READ, answered as the kernel does. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 4, 0, false, 64, 1, 3000));
	CU_ASSERT_EQUAL(r.m.writes.count, 1);
	CU_ASSERT_FALSE(r.m.has_reply);
	it = (struct wire_iter){ 0 };
	CU_ASSERT_TRUE(wire_chunk_next(&r.m.writes, &it, &chunk));
	CU_ASSERT_TRUE(wire_segment_next(&chunk, &in, &s));
	CU_ASSERT_EQUAL(s.length, 3000);
	s.length = 0;
	w = (struct wire_chunk_desc){ &s, 1 };
	rt_raw1_reply(&r, 4, 8, &d, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	/* A long Reply, of which the server's threshold is 4096. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 5, 0, false, 4096 - 28, 0, 0));
	CU_ASSERT_FALSE(r.m.has_reply);
	rt_raw1_reply(&r, 5, 8, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	CU_ASSERT_TRUE(submit(&r, &rpc, 6, 0, false, 4096 - 24, 0, 0));
	CU_ASSERT_TRUE(r.m.has_reply);
	CU_ASSERT_EQUAL(r.m.reply.bytes, 4096 - 24);
	/* It may be left unused: absent, or with lengths of 0. */
	rt_raw1_words(&r, 6, RDMA1_MSG,
		      (uint32_t[]){ 0, 0, 1, 1, 9, 0, 0, 9, 6, 1, 0 }, 11);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	rt_raw_close(&r);

	/* Without private data the thresholds are 1024, both ways. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &rt_only1));
	CU_ASSERT_TRUE(submit(&r, &rpc, 1, 1024 - 28 - HEAD, false, 996, 0, 0));
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA1_MSG);
	CU_ASSERT_EQUAL(r.msg_len, 1024);
	CU_ASSERT_FALSE(r.m.has_reply);
	rt_raw1_reply(&r, 1, 8, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	CU_ASSERT_TRUE(
		submit(&r, &rpc, 2, 1024 - 24 - HEAD, false, 1000, 0, 0));
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA1_NOMSG);
	CU_ASSERT_TRUE(r.m.has_reply);
	rt_raw1_reply(&r, 2, 8, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	rt_raw_close(&r);
}

/* RFC 8166 4.5: a Requester drops a bad Reply in silence; its RPC ends. */
static void bad_replies(void)
{
	struct rt_rpc rpc, other;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin_server(&r, &rt_only1));
	/* RDMA_ERROR. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 1, 0, false, 12, 0, 0));
	rt_raw1_error(&r, 1, 0);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(rpc.rq->error.code, RDMA1_ERR_CHUNK);
	CU_ASSERT_EQUAL(finished(&r, &rpc), -EREMOTEIO);
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.client_inst).errors_received, 1);
	/* Lists that break off; another payload; a Read list; no list. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 2, 0, false, 12, 0, 0));
	rt_raw1_words(&r, 2, RDMA1_MSG, (uint32_t[]){ 0, 1, 7, 1 }, 4);
	CU_ASSERT_EQUAL(finished(&r, &rpc), -EPROTO);
	CU_ASSERT_TRUE(submit(&r, &rpc, 3, 0, false, 12, 0, 0));
	rt_raw1_words(&r, 3, RDMA1_MSG, (uint32_t[]){ 0, 0, 0, 4, 1, 0 }, 6);
	CU_ASSERT_EQUAL(finished(&r, &rpc), -EPROTO);
	CU_ASSERT_TRUE(submit(&r, &rpc, 4, 0, false, 12, 0, 0));
	rt_raw1_words(&r, 4, RDMA1_NOMSG, (uint32_t[]){ 0, 0, 0 }, 3);
	CU_ASSERT_EQUAL(finished(&r, &rpc), -EPROTO);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* A Reply chunk that was not offered names memory that is not ours. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 5, 0, false, 12, 0, 0));
	rt_raw1_words(&r, 5, RDMA1_NOMSG,
		      (uint32_t[]){ 0, 0, 1, 1, 77, 12, 0, 0 }, 8);
	CU_ASSERT_EQUAL(finished(&r, &rpc), -EPROTO);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.queued, 0);
	rt_raw_close(&r);

	/* Answers to nothing of ours; then the real ones. */
	CU_ASSERT_TRUE_FATAL(begin_server(&r, &rt_only1));
	CU_ASSERT_TRUE(submit(&r, &rpc, 1, 0, false, 12, 0, 0));
	rt_raw1_reply(&r, 99, 5, NULL, NULL, 0);
	rt_raw1_error(&r, 98, 5);
	rt_raw1_words(&r, 97, RDMA1_DONE, NULL, 0);
	rt_raw1_words(&r, 96, RDMA1_MSG, (uint32_t[]){ 0, 0, 0, 96, 7 }, 5);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_FALSE(rpc.done);
	rt_raw1_reply(&r, 1, 5, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	/* Twice the same answer. */
	CU_ASSERT_TRUE(submit(&r, &other, 2, 0, false, 12, 0, 0));
	rt_raw1_reply(&r, 1, 5, NULL, NULL, 0);
	rt_raw1_reply(&r, 2, 5, NULL, NULL, 0);
	rt_raw1_reply(&r, 2, 5, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &other), 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* A server may invalidate what that Call offered, and only with R both ways. */
static void client_invalidation(void)
{
	struct rt_config cfg = rt_only1;
	struct wire_read_segment rs;
	struct rt_rpc rpc, other;
	struct rt_raw r;

	for (unsigned int k = 0; k < 4; k++) {
		struct wire_iter it = { 0 };

		cfg.no_remote_invalidation = k == 3;
		CU_ASSERT_TRUE_FATAL(begin_server(&r, &cfg));
		CU_ASSERT_EQUAL(r.peer_priv_len, WIRE_CM_LEN);
		CU_ASSERT_EQUAL(r.peer_priv[5], k != 3);
		CU_ASSERT_TRUE(submit(&r, &other, 1, 0, false, 12, 0, 0));
		rt_raw1_reply(&r, 1, 8, NULL, NULL, 0);
		CU_ASSERT_EQUAL(finished(&r, &other), 0);
		CU_ASSERT_TRUE(submit(&r, &other, 2, 9000, true, 12, 0, 0));
		wire_read_next(&r.m.reads, &it, &rs);
		CU_ASSERT_TRUE(submit(&r, &rpc, 3, 9000, true, 12, 0, 0));
		if (k == 0 || k == 3) {
			it = (struct wire_iter){ 0 };
			wire_read_next(&r.m.reads, &it, &rs);
		}
		/* 1: of another RPC; 2: with a Reply to nothing. */
		r.send_invalidate = true;
		r.send_inv_handle = rs.target.handle;
		rt_raw1_reply(&r, k == 2 ? 77 : 3, 8, NULL, NULL, 0);
		CU_ASSERT_EQUAL(finished(&r, &rpc), k == 0 ? 0 :
						    k == 2 ? -ECONNRESET :
							     -EPROTO);
		CU_ASSERT_EQUAL(r.down, k != 0);
		if (!k)
			rt_raw1_reply(&r, 2, 8, NULL, NULL, 0);
		CU_ASSERT_EQUAL(finished(&r, &other), k ? -ECONNRESET : 0);
		rt_raw_close(&r);
	}
}

/* RFC 8167: Calls of the server, as the kernel's sends them. */
static void reverse(void)
{
	struct rt_config cfg = rt_only1;
	struct wire_read_segment rs = { HEAD, { 1, 4, 0 } };
	struct wire_segment ws = { 1, 4, 0 };
	struct wire_chunk_desc w = { &ws, 1 };
	struct wire_call_desc bad[] = {
		{ .reads = &rs, .nreads = 1 },
		{ .writes = &w, .nwrites = 1 },
		{ .reply = &w },
	};
	struct rt_rpc rpc;
	struct rt_raw r;

	cfg.reverse = RDMA2_RVRSDIR_GENL;
	cfg.reverse_credits = 3;
	CU_ASSERT_TRUE_FATAL(begin_server(&r, &cfg));
	/* With a Call of the same XID outstanding in the other direction. */
	CU_ASSERT_TRUE(submit(&r, &rpc, 1, 0, false, 12, 0, 0));
	rt_raw1_call(&r, 1, 1, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	/* Its own grant. */
	CU_ASSERT_EQUAL(r.m.p.credit, 3);
	CU_ASSERT_FALSE(rpc.done);
	/* No chunks (RFC 8167 5.3), whatever level version 2 would have. */
	for (unsigned int i = 0; i < 3; i++) {
		rt_raw1_call(&r, 50 + i, 1, &bad[i], NULL, 12);
		CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 50 + i));
	}
	rs.position = 0;
	bad[0] = (struct wire_call_desc){ .call = &rs, .ncall = 1 };
	rt_raw1_call(&r, 60, 1, &bad[0], NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 60));
	/* A Reply that does not fit inline. */
	rt_raw1_call(&r, 61, 1, NULL, NULL, 4096);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 61));
	/* Those Calls have granted no forward credits. */
	rt_raw1_reply(&r, 1, 8, NULL, NULL, 0);
	CU_ASSERT_EQUAL(finished(&r, &rpc), 0);
	CU_ASSERT_EQUAL(r.p.reverse_calls, 2);
	rt_raw_close(&r);

	/* A client without it refuses in the same way. */
	CU_ASSERT_TRUE_FATAL(begin_server(&r, &rt_only1));
	rt_raw1_call(&r, 1, 1, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 1));
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "client credits", client_credits },
	{ "client call only", client_call_only },
	{ "client calls", client_calls },
	{ "bad replies", bad_replies },
	{ "client invalidation", client_invalidation },
	{ "reverse", reverse },
	{ NULL, NULL },
};

UNIT_MAIN("transport-v1-client", tests)
