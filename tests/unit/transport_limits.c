/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our client and a server with little room: short messages, few and short
 * segments (5.2.2 to 5.2.4, [A12], [D8], [E4]). A Call goes in another way, or
 * it fails alone; the connection stays.
 */
#include <arpa/inet.h>
#include <errno.h>

#include "rt_raw.h"
#include "unit.h"

struct limits {
	uint32_t recv_size, segment_size, segments;
};

/* One Call as it arrived. */
struct arrived {
	unsigned int messages;
	size_t longest;
	bool external, has_reply;
	unsigned int segments, reads, writes;
	uint32_t longest_segment;
};

static bool start(struct rt_raw *r, const struct rt_config *cfg,
		  const struct limits *l)
{
	const uint32_t value[] = { htonl(l->recv_size), htonl(l->segment_size),
				   htonl(l->segments) };
	const struct wire_prop prop[] = {
		{ RDMA2_PROPID_RBSIZ, (const uint8_t *)&value[0], 4 },
		{ RDMA2_PROPID_RSSIZ, (const uint8_t *)&value[1], 4 },
		{ RDMA2_PROPID_RCSIZ, (const uint8_t *)&value[2], 4 },
	};

	if (!rt_raw_server(r, cfg))
		return false;
	rt_raw_next(r);
	rt_raw_connprop(r, true, prop, 3);
	rt_raw_run(r);
	return r->p.client_up;
}

static void longer(struct arrived *a, uint32_t len)
{
	if (a->longest_segment < len)
		a->longest_segment = len;
}

/* Take a whole Call and look at it. False if none came. */
static bool take(struct rt_raw *r, struct arrived *a)
{
	struct wire_read_segment rs;
	struct wire_segment s;
	struct wire_list chunk;
	struct wire_iter it = { 0 }, si;
	uint32_t htype;

	*a = (struct arrived){ 0 };
	do {
		htype = rt_raw_next(r);
		if (!htype) {
			/* It may have used its credits. */
			rt_raw_grant(r);
			htype = rt_raw_next(r);
		}
		if (!htype)
			return false;
		a->messages++;
		if (a->longest < r->msg_len)
			a->longest = r->msg_len;
	} while (htype == RDMA2_CALL_MIDDLE);
	a->external = htype == RDMA2_CALL_EXTERNAL;
	a->has_reply = r->m.has_reply;
	a->reads = r->m.reads.segments;
	a->segments = r->m.call.segments + r->m.reads.segments +
		      r->m.writes.segments + r->m.reply.segments;
	while (wire_read_next(&r->m.call, &it, &rs))
		longer(a, rs.target.length);
	it = (struct wire_iter){ 0 };
	while (wire_read_next(&r->m.reads, &it, &rs))
		longer(a, rs.target.length);
	it = (struct wire_iter){ 0 };
	while (wire_chunk_next(&r->m.writes, &it, &chunk)) {
		a->writes += chunk.count != 0;
		si = (struct wire_iter){ 0 };
		while (wire_segment_next(&chunk, &si, &s))
			longer(a, s.length);
	}
	si = (struct wire_iter){ 0 };
	while (wire_segment_next(&r->m.reply, &si, &s))
		longer(a, s.length);
	return true;
}

/* What may be done with these limits, for every kind of Call. */
static void calls(struct rt_raw *r, const struct limits *l)
{
	static const struct {
		size_t data, reply;
		bool reduce;
		unsigned int sinks;
		uint32_t sink;
	} call[] = {
		{ 8, 64, false, 0, 0 },	      { 6000, 64, false, 0, 0 },
		{ 6000, 64, true, 0, 0 },     { 100000, 64, true, 0, 0 },
		{ 8, 64, false, 1, 4096 },    { 8, 64, false, 4, 1024 },
		{ 8, 64, false, 1, 1 << 20 }, { 60000, 60000, true, 2, 60000 },
		{ 8, 1 << 20, false, 0, 0 },
	};

	for (uint32_t i = 0; i < sizeof(call) / sizeof(call[0]); i++) {
		uint32_t xid = i + 1;
		struct arrived a;
		struct rt_rpc rpc;

		rt_rpc_init(&r->p, r->p.client, &rpc, xid, call[i].data,
			    call[i].reduce, call[i].reply, call[i].sinks,
			    call[i].sink, call[i].sinks, call[i].sink);
		rt_rpc_submit(r->p.client, &rpc);
		/* Nothing is too large for a continued message. */
		CU_ASSERT_TRUE_FATAL(take(r, &a));
		CU_ASSERT_TRUE(a.longest <= l->recv_size);
		CU_ASSERT_TRUE(a.segments <= l->segments);
		CU_ASSERT_TRUE(a.longest_segment <= l->segment_size);
		CU_ASSERT_FALSE(rpc.done);
		rt_raw_reply(r, xid, NULL, NULL, 0);
		rt_raw_run(r);
		CU_ASSERT_TRUE(rpc.done);
		CU_ASSERT_EQUAL(rpc.rq->status, 0);
		rt_rpc_free(&rpc);
		CU_ASSERT_TRUE(rt_raw_silent(r));
	}
}

static void every_limit(void)
{
	static const struct limits few[] = {
		{ 4096, 1 << 20, 0 },	 { 4096, 0, 16 },
		{ 4096, 4, 2 },		 { 4096, 1 << 20, 1 },
		{ 4096, 1, 64 },	 { 1024, 1 << 20, 16 },
		{ 1024, 64, 64 },	 { 1024, 4096, 1 },
		{ 1024, 1 << 20, 1000 }, { 1028, 1000, 0xffffffff },
		{ 8192, 4096, 64 },
	};
	static const enum rt_call_format format[] = { RT_FORMAT_AUTO,
						      RT_FORMAT_CONTINUED,
						      RT_FORMAT_SPECIAL };

	for (unsigned int i = 0; i < sizeof(few) / sizeof(few[0]); i++)
		for (unsigned int f = 0; f < 3; f++) {
			struct rt_config cfg = { .request_user_size = 8,
						 .call_read_chunks = 4,
						 .call_write_chunks = 4,
						 .call_format = format[f] };
			struct rt_raw r;

			CU_ASSERT_TRUE_FATAL(start(&r, &cfg, &few[i]));
			calls(&r, &few[i]);
			rt_raw_close(&r);
		}
}

/* What still goes is used: chunks as far as segments and header allow. */
static void as_far_as_it_goes(void)
{
	static const struct limits l = { 1024, 1000, 64 };
	struct rt_config cfg = { .request_user_size = 8,
				 .call_write_chunks = 4 };
	struct arrived a;
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(start(&r, &cfg, &l));
	/* Two of these chunks have 20 segments: one finds room. */
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 8, false, 64, 2, 20000, 2,
		    20000);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_TRUE_FATAL(take(&r, &a));
	CU_ASSERT_EQUAL(a.writes, 1);
	CU_ASSERT_EQUAL(r.m.writes.count, 2);
	CU_ASSERT_EQUAL(a.segments, 20);
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(rpc.rq->status, 0);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

/* The peer may find a limit passed that it did not announce (7.3.3). */
static void refused_by_peer(void)
{
	static const uint32_t code[] = {
		RDMA2_ERR_READ_CHUNKS,	  RDMA2_ERR_WRITE_CHUNKS,
		RDMA2_ERR_SEGMENTS,	  RDMA2_ERR_WRITE_RESOURCE,
		RDMA2_ERR_REPLY_RESOURCE, RDMA2_ERR_SYSTEM,
		RDMA2_ERR_INVAL_CONT,
	};
	static const struct limits l = { 4096, 1 << 20, 16 };
	struct rt_config cfg = { .request_user_size = 8 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(start(&r, &cfg, &l));
	for (uint32_t i = 0; i < sizeof(code) / sizeof(code[0]); i++) {
		struct arrived a;
		struct rt_rpc rpc;

		rt_rpc_init(&r.p, r.p.client, &rpc, i + 1, 50000, true, 64, 1,
			    10000, 1, 10000);
		rt_rpc_submit(r.p.client, &rpc);
		CU_ASSERT_TRUE_FATAL(take(&r, &a));
		rt_raw_error(&r, i + 1, code[i]);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_TRUE(rpc.done);
		CU_ASSERT_EQUAL(rpc.rq->status, -EREMOTEIO);
		CU_ASSERT_EQUAL(rpc.rq->error.code, code[i]);
		rt_rpc_free(&rpc);
	}
	rt_raw_close(&r);
}

/* Longer than this side lets a message be, in any format. */
static void too_long(void)
{
	static const struct limits l = { 4096, 1 << 20, 16 };
	static const struct limits none = { 4096, 0, 0 };
	struct rt_config cfg = { .request_user_size = 8, .max_message = 65536 };

	for (unsigned int i = 0; i < 4; i++) {
		struct rt_rpc rpc;
		struct rt_raw r;

		cfg.call_format = i & 1 ? RT_FORMAT_SPECIAL : RT_FORMAT_AUTO;
		CU_ASSERT_TRUE_FATAL(start(&r, &cfg, i & 2 ? &none : &l));
		rt_rpc_init(&r.p, r.p.client, &rpc, 1, 65536, false, 64, 0, 0,
			    0, 0);
		rt_rpc_submit(r.p.client, &rpc);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_TRUE(rpc.done);
		CU_ASSERT_EQUAL(rpc.rq->status, -E2BIG);
		rt_rpc_free(&rpc);
		rt_raw_close(&r);
	}
}

/* More pieces than a stream may have. */
static void scattered(void)
{
	static const struct limits l = { 4096, 1 << 20, 16 };
	struct rt_config cfg = { .request_user_size = 8 };
	struct rt_piece piece[RT_MAX_PIECES + 1];
	struct arrived a;
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(start(&r, &cfg, &l));
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 800, false, 64, 0, 0, 0, 0);
	for (unsigned int i = 0; i <= RT_MAX_PIECES; i++)
		piece[i] =
			(struct rt_piece){ (uint8_t *)rpc.piece[0].addr + i * 4,
					   4, rpc.call_buf->mr };
	rpc.rq->pieces = piece;
	rpc.rq->npieces = RT_MAX_PIECES + 1;
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(rpc.done);
	CU_ASSERT_EQUAL(rpc.rq->status, -E2BIG);
	rpc.rq->npieces = RT_MAX_PIECES;
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_TRUE(take(&r, &a));
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(rpc.rq->status, 0);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

/* No memory to gather a scattered Call in: it fails, and the next one goes. */
static void no_memory(void)
{
	static const struct limits l = { 4096, 1 << 20, 16 };
	struct rt_config cfg = { .request_user_size = 8,
				 .max_memory = 16 << 20 };
	struct rt_piece piece[40];
	struct fab_buf *taken = NULL, *b;
	struct arrived a;
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(start(&r, &cfg, &l));
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 800, false, 64, 0, 0, 0, 0);
	for (unsigned int i = 0; i < 40; i++)
		piece[i] = (struct rt_piece){
			(uint8_t *)rpc.piece[0].addr + i * 20, 20, NULL
		};
	rpc.rq->pieces = piece;
	rpc.rq->npieces = 40;
	while ((b = fab_pool_get(rt_instance_pool(r.p.client_inst), 4096))) {
		b->next = taken;
		taken = b;
	}
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(rpc.done);
	CU_ASSERT_EQUAL(rpc.rq->status, -ENOMEM);
	while (taken) {
		b = taken;
		taken = b->next;
		fab_pool_put(b);
	}
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_TRUE(take(&r, &a));
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rpc.done);
	CU_ASSERT_EQUAL(rpc.rq->status, 0);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "every limit", every_limit },
	{ "as far as it goes", as_far_as_it_goes },
	{ "refused by peer", refused_by_peer },
	{ "too long", too_long },
	{ "scattered", scattered },
	{ "no memory", no_memory },
	{ NULL, NULL },
};

UNIT_MAIN("transport-limits", tests)
