/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What our client makes of the Replies and ERRORs of a raw server: returned
 * chunks [C10], invalidations [C11], errors ([E1], [E6], [E10]).
 */
#include <errno.h>

#include "rt_raw.h"
#include "unit.h"

static const struct rt_config with_user = { .request_user_size = 8 };

static void offer(struct rt_raw *r, struct rt_rpc *rpc, uint32_t xid,
		  struct wire_segment *seg, unsigned int *count)
{
	struct wire_iter it = { 0 }, si = { 0 };
	struct wire_list chunk;

	rt_rpc_init(&r->p, r->p.client, rpc, xid, 0, false, 64, 1, 10000, 1,
		    10000);
	rt_rpc_submit(r->p.client, rpc);
	CU_ASSERT_EQUAL_FATAL(rt_raw_next(r), RDMA2_CALL_INLINE);
	CU_ASSERT_EQUAL(r->m.writes.count, 1);
	CU_ASSERT_TRUE_FATAL(wire_chunk_next(&r->m.writes, &it, &chunk));
	for (*count = 0; wire_segment_next(&chunk, &si, &seg[*count]);)
		(*count)++;
	CU_ASSERT_TRUE(r->m.inv_handle == seg[0].handle);
}

static void expect(struct rt_raw *r, struct rt_rpc *rpc, int status,
		   size_t used)
{
	rt_raw_run(r);
	CU_ASSERT_TRUE(rpc->done);
	CU_ASSERT_EQUAL(rpc->rq->status, status);
	if (!status)
		CU_ASSERT_EQUAL(rpc->sink[0].used, used);
	rt_rpc_free(rpc);
}

static bool start(struct rt_raw *r)
{
	rt_raw_next(r);
	/* Chunks of three segments. */
	rt_raw_prop(r, true, RDMA2_PROPID_RSSIZ, 4096);
	rt_raw_run(r);
	return r->p.client_up;
}

static void returned_lists(void)
{
	struct wire_segment seg[8], back[8];
	struct wire_chunk_desc w[2] = { { back, 3 }, { back, 1 } };
	struct wire_reply_desc d = { .writes = w, .nwrites = 1 };
	unsigned int count;
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE_FATAL(start(&r));
	/* Accepted: unused, empty, none, and partly filled. */
	offer(&r, &rpc, 1, seg, &count);
	CU_ASSERT_EQUAL_FATAL(count, 3);
	for (unsigned int i = 0; i < 3; i++) {
		back[i] = seg[i];
		back[i].length = 0;
	}
	rt_raw_reply(&r, 1, &d, NULL, 0);
	expect(&r, &rpc, 0, 0);
	offer(&r, &rpc, 2, seg, &count);
	w[0].count = 0;
	rt_raw_reply(&r, 2, &d, NULL, 0);
	expect(&r, &rpc, 0, 0);
	offer(&r, &rpc, 3, seg, &count);
	rt_raw_reply(&r, 3, NULL, NULL, 0);
	expect(&r, &rpc, 0, 0);
	offer(&r, &rpc, 4, seg, &count);
	memcpy(back, seg, sizeof(back));
	back[1].length = 17;
	back[2].length = 0;
	w[0].count = 3;
	rt_raw_reply(&r, 4, &d, NULL, 0);
	expect(&r, &rpc, 0, 4096 + 17);

	/* Refused: each ends the RPC and the connection. */
	for (unsigned int i = 0; i < 7; i++) {
		offer(&r, &rpc, 5, seg, &count);
		memcpy(back, seg, sizeof(back));
		d.nwrites = 1;
		w[0].count = 3;
		switch (i) {
		case 0:
			back[1].handle ^= 1;
			break;
		case 1:
			back[2].offset++;
			break;
		case 2:
			back[0].length++;
			break;
		case 3: /* more segments */
			w[0].count = 4;
			break;
		case 4: /* fewer */
			w[0].count = 2;
			break;
		case 5: /* a gap */
			back[0].length--;
			break;
		case 6: /* a chunk more */
			d.nwrites = 2;
			break;
		}
		rt_raw_reply(&r, 5, &d, NULL, 0);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_BAD_XDR));
		expect(&r, &rpc, -EPROTO, 0);
		CU_ASSERT_TRUE(r.down);
		CU_ASSERT_TRUE(r.p.client_closed);
		CU_ASSERT_EQUAL(r.p.client_error, -EPROTO);
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		CU_ASSERT_TRUE_FATAL(start(&r));
	}
	rt_raw_close(&r);
}

static void external_replies(void)
{
	struct rt_config cfg = with_user;
	struct wire_segment seg, bad;
	struct wire_chunk_desc reply = { &seg, 1 };
	struct wire_reply_desc d = { .reply = &reply };
	struct wire_iter it = { 0 };
	struct rt_rpc rpc;
	struct rt_raw r;

	cfg.call_format = RT_FORMAT_SPECIAL;
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	for (unsigned int i = 0; i < 6; i++) {
		struct fab_wr wr = { .op = FAB_WRITE };
		struct fab_sge sge = { r.mem, 8, NULL };
		uint32_t xid = 0x20 + i;

		rt_rpc_init(&r.p, r.p.client, &rpc, xid, 0, false, 20000, 0, 0,
			    0, 0);
		rt_rpc_submit(r.p.client, &rpc);
		CU_ASSERT_EQUAL_FATAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		CU_ASSERT_TRUE_FATAL(r.m.has_reply);
		it = (struct wire_iter){ 0 };
		CU_ASSERT_TRUE(wire_segment_next(&r.m.reply, &it, &seg));
		CU_ASSERT_EQUAL(seg.length, 20000);
		/* Eight octets: the XID (or not) and something. */
		memset(r.mem, 0, 8);
		r.mem[3] = (uint8_t)(i == 2 ? xid + 1 : xid);
		wr.handle = seg.handle;
		wr.offset = seg.offset;
		wr.nsge = 1;
		wr.sge = &sge;
		CU_ASSERT_EQUAL(fab_post(r.fab, &wr), 0);
		reply.seg = &seg;
		reply.count = 1;
		seg.length = 8;
		switch (i) {
		case 0:
			rt_raw_reply(&r, xid, &d, NULL, 0);
			rt_raw_run(&r);
			CU_ASSERT_EQUAL(rpc.rq->reply_len, 8);
			expect(&r, &rpc, 0, 0);
			continue;
		case 1: /* nothing in it */
			seg.length = 0;
			break;
		case 2: /* another XID in it */
			break;
		case 3: /* the empty form */
			reply.count = 0;
			break;
		case 4: /* longer than what was offered */
			seg.length = 20001;
			break;
		case 5:
			bad = seg;
			bad.handle ^= 4;
			reply.seg = &bad;
			break;
		}
		rt_raw_reply(&r, xid, &d, NULL, 0);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, xid, RDMA2_ERR_BAD_XDR));
		expect(&r, &rpc, -EPROTO, 0);
		/* Only what names other memory ends the connection. */
		CU_ASSERT_EQUAL(r.down, i >= 4);
		if (r.down) {
			CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
			CU_ASSERT_TRUE(rt_raw_greet(&r));
		}
	}
	/* REPLY_EXTERNAL where no Reply chunk was offered. */
	rt_rpc_init(&r.p, r.p.client, &rpc, 9, 0, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_EQUAL_FATAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	CU_ASSERT_FALSE(r.m.has_reply);
	reply = (struct wire_chunk_desc){ &seg, 1 };
	rt_raw_reply(&r, 9, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 9, RDMA2_ERR_BAD_XDR));
	expect(&r, &rpc, -EPROTO, 0);
	CU_ASSERT_TRUE(r.down);
	rt_raw_close(&r);
}

/* A fabric which lets the peer write once more when memory is to be closed to
 * it, or which closes it late. */
static struct {
	const struct fab_ops *real;
	struct fab_ops ops;
	struct rt_raw *r;
	uint32_t handle;
	uint64_t offset;
	bool late, held, let;
	void *user;
} between;

static void write_chunk(struct rt_raw *r, const uint8_t *octets)
{
	struct fab_sge sge = { r->mem, 8, NULL };
	struct fab_wr wr = { .op = FAB_WRITE,
			     .handle = between.handle,
			     .offset = between.offset,
			     .nsge = 1,
			     .sge = &sge };

	memcpy(r->mem, octets, 8);
	CU_ASSERT_EQUAL(fab_post(r->fab, &wr), 0);
}

static bool unexpose(struct fab_conn *c, uint32_t handle, void *user)
{
	static const uint8_t other[8] = { 9, 9, 9, 9 };

	if (handle == between.handle && between.late) {
		between.held = true;
		between.user = user;
		return false;
	}
	if (handle == between.handle)
		write_chunk(between.r, other);
	return between.real->unexpose(c, handle, user);
}

static int poll_late(struct fab_conn *c, struct fab_wc *wc, int n)
{
	if (!between.held || !between.let)
		return between.real->poll(c, wc, n);
	between.held = false;
	CU_ASSERT_TRUE(between.real->unexpose(c, between.handle, NULL));
	*wc = (struct fab_wc){ .kind = FAB_WC_CLOSED, .user = between.user };
	return 1;
}

/* 11.1.3: the Reply in the chunk is looked at when the chunk is closed, which
 * may be later, and not while its octets can still change. */
static void closed_first(void)
{
	static const uint8_t wrong[8] = { 8, 8, 8, 8 };
	struct rt_config cfg = with_user;

	cfg.call_format = RT_FORMAT_SPECIAL;
	for (unsigned int i = 0; i < 3; i++) {
		struct wire_segment seg;
		struct wire_chunk_desc reply = { &seg, 1 };
		struct wire_reply_desc d = { .reply = &reply };
		uint8_t right[8] = { 0, 0, 0, 7 };
		struct wire_iter it = { 0 };
		struct fab_conn *fab;
		struct rt_rpc rpc;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		rt_rpc_init(&r.p, r.p.client, &rpc, 7, 0, false, 20000, 0, 0, 0,
			    0);
		rt_rpc_submit(r.p.client, &rpc);
		CU_ASSERT_EQUAL_FATAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		CU_ASSERT_TRUE_FATAL(r.m.has_reply &&
				     wire_segment_next(&r.m.reply, &it, &seg));
		fab = loop_peer(r.fab);
		memset(&between, 0, sizeof(between));
		between.real = fab->ops;
		between.ops = *fab->ops;
		between.ops.unexpose = unexpose;
		between.ops.poll = poll_late;
		between.r = &r;
		between.handle = seg.handle;
		between.offset = seg.offset;
		between.late = i > 0;
		fab->ops = &between.ops;
		write_chunk(&r, right);
		seg.length = 8;
		rt_raw_reply(&r, 7, &d, NULL, 0);
		rt_raw_run(&r);
		if (between.late) {
			/* The RPC waits for it, with a Reply that is right. */
			CU_ASSERT_FALSE(rpc.done);
			CU_ASSERT_TRUE(rt_raw_silent(&r));
			if (i == 1)
				write_chunk(&r, wrong);
			between.let = true;
			fab_conn_schedule(fab);
			rt_raw_run(&r);
		}
		if (i < 2) {
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, 7, RDMA2_ERR_BAD_XDR));
			CU_ASSERT_EQUAL(rpc.rq->nreply, 0);
			expect(&r, &rpc, -EPROTO, 0);
		} else {
			CU_ASSERT_EQUAL(rpc.rq->reply_len, 8);
			expect(&r, &rpc, 0, 0);
		}
		/* Only this RPC has failed. */
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		fab->ops = between.real;
		rt_raw_close(&r);
	}
}

/* [C11], at the Requester: which invalidations are right. */
static void invalidated(void)
{
	struct wire_segment seg[8], other[8];
	unsigned int count;
	struct rt_rpc a, b;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE_FATAL(start(&r));
	offer(&r, &a, 1, seg, &count);
	r.send_invalidate = true;
	r.send_inv_handle = seg[0].handle;
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	expect(&r, &a, 0, 0);
	for (unsigned int i = 0; i < 6; i++) {
		offer(&r, &a, 2, seg, &count);
		offer(&r, &b, 3, other, &count);
		r.send_invalidate = true;
		r.send_inv_handle = other[0].handle;
		switch (i) {
		case 0: /* of another RPC */
			rt_raw_reply(&r, 2, NULL, NULL, 0);
			break;
		case 1: /* one of the same RPC that was not offered */
			r.send_inv_handle = seg[1].handle;
			rt_raw_reply(&r, 2, NULL, NULL, 0);
			break;
		case 2: /* with a GRANT, an ERROR, CONNPROP */
			rt_raw_grant(&r);
			break;
		case 3:
			rt_raw_error(&r, 3, RDMA2_ERR_SYSTEM);
			break;
		case 4:
			rt_raw_connprop(&r, true, NULL, 0);
			break;
		case 5: /* of no Call */
			rt_raw_reply(&r, 4, NULL, NULL, 0);
			break;
		}
		rt_raw_run(&r);
		CU_ASSERT_TRUE(r.down);
		CU_ASSERT_TRUE(r.p.client_closed);
		CU_ASSERT_EQUAL(r.p.client_error, -EPROTO);
		CU_ASSERT_TRUE(a.done && a.rq->status);
		CU_ASSERT_TRUE(b.done && b.rq->status);
		rt_rpc_free(&a);
		rt_rpc_free(&b);
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		CU_ASSERT_TRUE_FATAL(start(&r));
	}
	/* It ended there: nobody looked at the rest of such a message. */
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.client_inst).dropped, 0);
	/* With a fragment: no more need be the last (6.5). */
	for (unsigned int i = 0; i < 2; i++) {
		static const struct wire_reply_desc none;
		static const uint8_t pay[40] = { [3] = 9 };

		offer(&r, &a, 9, seg, &count);
		r.send_invalidate = !i;
		r.send_inv_handle = seg[0].handle;
		rt_raw_middle(&r, 9, true, 32, pay, 8);
		r.send_invalidate = i;
		rt_raw_middle(&r, 9, true, 24, pay + 8, 8);
		rt_raw_reply(&r, 9, &none, pay + 16, 24);
		expect(&r, &a, 0, 0);
	}
	/* With a message too short to say what it is. */
	offer(&r, &a, 5, seg, &count);
	r.send_invalidate = true;
	r.send_inv_handle = seg[0].handle;
	rt_raw_send(&r, "abc", 3);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	expect(&r, &a, -ECONNRESET, 0);
	rt_raw_close(&r);
}

/* A Reply that is longer than this end takes has its RPC fail, [D3] step 3, and no more:
 * the end of it invalidates what the Call offered; or it does not come any more. */
static void too_long(void)
{
	static const struct wire_reply_desc none;
	static const uint8_t pay[4000] = { [3] = 2 };
	struct rt_config cfg = with_user;
	struct wire_segment seg[8], other[8];
	unsigned int count;
	struct rt_rpc a, b;
	struct rt_raw r;

	cfg.max_message = RT_MIN(max_message);
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE_FATAL(start(&r));
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t left = 18 * sizeof(pay);

		offer(&r, &a, 2, seg, &count);
		offer(&r, &b, 3, other, &count);
		do {
			left -= sizeof(pay);
			rt_raw_middle(&r, 2, true, left, pay, sizeof(pay));
			rt_raw_run(&r);
		} while (!i && left > sizeof(pay));
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_INVAL_CONT));
		CU_ASSERT_FALSE(a.done);
		rt_raw_flush(&r);
		if (!i) {
			r.send_invalidate = true;
			r.send_inv_handle = seg[0].handle;
			rt_raw_reply(&r, 2, &none, pay, sizeof(pay));
			expect(&r, &a, -EPROTO, 0);
		}
		r.send_invalidate = true;
		r.send_inv_handle = other[0].handle;
		rt_raw_reply(&r, 3, NULL, NULL, 0);
		expect(&r, &b, 0, 0);
		if (i)
			expect(&r, &a, -EPROTO, 0);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
	}
	rt_raw_close(&r);
}

/* ERRORs and Replies of XIDs that mean nothing; ERRORs that do [E1], [E10]. */
static void errors_and_unknown(void)
{
	struct rt_rpc a;
	struct rt_raw r;
	struct rt_stats s;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE_FATAL(start(&r));
	/* Those about versions are in transport_version.c. */
	for (uint32_t code = 0; code < 13; code++)
		if (code != RDMA2_ERR_VERS)
			rt_raw_error(&r, 0x999, code);
	rt_raw_reply(&r, 0x999, NULL, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	s = rt_pair_stats(r.p.client_inst);
	CU_ASSERT_EQUAL(s.dropped, 13);
	for (uint32_t code = 0; code < 102; code++) {
		bool known = (code >= 2 && code <= 10) || code == 100;

		if (code == RDMA2_ERR_INVAL_HTYPE)
			continue; /* see refused_types() */
		if (code == RDMA2_ERR_VERS || code == RDMA2_ERR_VERS_MISMATCH)
			continue;
		rt_rpc_init(&r.p, r.p.client, &a, 7, 0, false, 64, 0, 0, 0, 0);
		rt_rpc_submit(r.p.client, &a);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		rt_raw_error(&r, 7, code);
		rt_raw_run(&r);
		/* Unknown codes leave the RPC to its timer. */
		CU_ASSERT_EQUAL(a.done, known);
		if (known) {
			CU_ASSERT_EQUAL(a.rq->status, -EREMOTEIO);
			CU_ASSERT_EQUAL(a.rq->error.code, code);
		} else {
			rt_raw_reply(&r, 7, NULL, NULL, 0);
			rt_raw_run(&r);
			CU_ASSERT_TRUE(a.done);
			CU_ASSERT_EQUAL(a.rq->status, 0);
		}
		rt_rpc_free(&a);
	}
	/* Short ones: 6 to 10 with the missing fields 0, VERS not at all. */
	for (uint32_t code = 1; code <= 10; code++) {
		if (code > 1 && code < 6)
			continue;
		rt_rpc_init(&r.p, r.p.client, &a, 8, 0, false, 64, 0, 0, 0, 0);
		rt_rpc_submit(r.p.client, &a);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		wire_put_u32(rt_raw_begin(&r, RDMA2_ERROR, 8), code);
		rt_raw_end(&r);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL(a.done, code != 1);
		if (!a.done)
			rt_raw_reply(&r, 8, NULL, NULL, 0);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL(a.rq->error.length_needed, 0);
		rt_rpc_free(&a);
	}
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* One RPC whose Call comes with that header type, or with none. */
static uint32_t called(struct rt_raw *r, struct rt_rpc *a, uint32_t xid,
		       size_t data)
{
	rt_rpc_init(&r->p, r->p.client, a, xid, data, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(r->p.client, a);
	return rt_raw_next(r);
}

static void refuse(struct rt_raw *r, struct rt_rpc *a)
{
	rt_raw_flush(r);
	rt_raw_error(r, a->xid, RDMA2_ERR_INVAL_HTYPE);
	rt_raw_run(r);
	CU_ASSERT_TRUE(a->done);
	CU_ASSERT_EQUAL(a->rq->status, -EREMOTEIO);
	CU_ASSERT_EQUAL(a->rq->error.code, RDMA2_ERR_INVAL_HTYPE);
	rt_rpc_free(a);
}

/* A header type that the server does not know is not sent again (7.1.3). */
static void refused_types(void)
{
	struct rt_rpc a, b;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE_FATAL(start(&r));
	CU_ASSERT_EQUAL(called(&r, &a, 1, 12000), RDMA2_CALL_MIDDLE);
	rt_raw_flush(&r);
	/* One fragment of another is out when the word comes: no more of it. */
	r.credits = 1;
	rt_raw_grant(&r);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(called(&r, &b, 2, 12000), RDMA2_CALL_MIDDLE);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 32;
	refuse(&r, &a);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(b.done);
	CU_ASSERT_EQUAL(b.rq->status, -EREMOTEIO);
	CU_ASSERT_EQUAL(b.rq->error.code, RDMA2_ERR_INVAL_HTYPE);
	rt_rpc_free(&b);
	/* Another one comes in another format, */
	CU_ASSERT_EQUAL(called(&r, &a, 3, 12000), RDMA2_CALL_EXTERNAL);
	rt_raw_reply(&r, 3, NULL, NULL, 0);
	expect(&r, &a, 0, 0);
	CU_ASSERT_EQUAL(called(&r, &a, 4, 12000), RDMA2_CALL_EXTERNAL);
	refuse(&r, &a);
	/* while there is one. What is short is another matter. */
	CU_ASSERT_EQUAL(called(&r, &a, 5, 12000), 0);
	expect(&r, &a, -E2BIG, 0);
	CU_ASSERT_EQUAL(called(&r, &a, 6, 0), RDMA2_CALL_INLINE);
	refuse(&r, &a);
	CU_ASSERT_EQUAL(called(&r, &a, 7, 0), 0);
	expect(&r, &a, -EPROTONOSUPPORT, 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* On the next connection all of that is forgotten. */
	rt_raw_close(&r);
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE_FATAL(start(&r));
	CU_ASSERT_EQUAL(called(&r, &a, 8, 0), RDMA2_CALL_INLINE);
	refuse(&r, &a);
	/* Special format takes what is short, too. */
	CU_ASSERT_EQUAL(called(&r, &a, 9, 0), RDMA2_CALL_EXTERNAL);
	rt_raw_reply(&r, 9, NULL, NULL, 0);
	expect(&r, &a, 0, 0);
	rt_raw_close(&r);
}

/* [E6]: ERRORs wait for credits, and not for ever. */
static void error_queue(void)
{
	struct rt_config cfg = { .credits = 8 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	r.credits = 0;
	/* No Receive for it yet. */
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 1;
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	/* Sixteen may wait, in order. */
	r.credits = 0;
	for (uint32_t i = 0; i < 6; i++) {
		rt_raw_begin(&r, 50, 100 + i);
		rt_raw_end(&r);
	}
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 100;
	rt_raw_grant(&r);
	for (uint32_t i = 0; i < 6; i++)
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 100 + i, RDMA2_ERR_INVAL_HTYPE));
	/* Seventeen may not. A client that obeys no limit: */
	r.credits = 0;
	rt_raw_grant(&r);
	rt_raw_flush(&r);
	for (uint32_t i = 0; i < 40 && !r.down; i++) {
		rt_raw_begin(&r, 50, 200 + i);
		rt_raw_end(&r);
		rt_raw_run(&r);
	}
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.p.server_error, -EPROTO);
	rt_raw_close(&r);
}

/* [E1]: an ERROR for an XID that both directions have. What only a Responder says is
 * about our Call; what any receiver may say could be about our Reply, and so no Call may
 * end by it. */
static void whose(void)
{
	static const uint32_t code[] = { RDMA2_ERR_SYSTEM, RDMA2_ERR_BAD_XDR,
					 RDMA2_ERR_INVAL_CONT };
	struct rt_config cfg = with_user;
	struct rt_rpc a;
	struct rt_raw r;

	cfg.reverse = RDMA2_RVRSDIR_SIMPLE;
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_TRUE_FATAL(start(&r));
		rt_rpc_init(&r.p, r.p.client, &a, 7, 0, false, 64, 0, 0, 0, 0);
		rt_rpc_submit(r.p.client, &a);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		rt_raw_call(&r, 7, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 7));
		rt_raw_error(&r, 7, code[i]);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL(r.p.client_closed, i > 0);
		expect(&r, &a, i ? -ECONNRESET : -EREMOTEIO, 0);
		if (!i)
			rt_conn_close(r.p.client, true);
		rt_raw_run(&r);
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	}
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "returned lists", returned_lists },
	{ "external replies", external_replies },
	{ "closed first", closed_first },
	{ "invalidated", invalidated },
	{ "too long", too_long },
	{ "errors and unknown", errors_and_unknown },
	{ "whose", whose },
	{ "refused types", refused_types },
	{ "error queue", error_queue },
	{ NULL, NULL },
};

UNIT_MAIN("transport-returned", tests)
