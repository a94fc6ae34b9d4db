/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies of our server to a raw client: Write chunks, formats, invalidation
 * (4.5.2, 6.5, 6.6.4, 7.3.4, 7.3.5, [C10], [C11], [D7], [E5], [H2]).
 */
#include <errno.h>

#include "rt_raw.h"
#include "unit.h"

/* Where in r->mem results go. */
#define RESULTS (1u << 20)

/* A chunk of the Reply, as it was given but for its lengths [C10]. */
static bool returned(const struct wire_list *l, unsigned int index,
		     const struct wire_segment *seg, unsigned int count,
		     uint64_t octets)
{
	struct wire_iter it = { 0 }, si = { 0 };
	struct wire_list chunk = { 0 };
	struct wire_segment s;
	unsigned int i;

	for (i = 0; i <= index; i++)
		if (!wire_chunk_next(l, &it, &chunk))
			return false;
	if (chunk.count != count || chunk.bytes != octets)
		return false;
	for (i = 0; wire_segment_next(&chunk, &si, &s); i++) {
		/* Filled in order and without gaps (4.5.2.1). */
		uint64_t n = octets < seg[i].length ? octets : seg[i].length;

		if (s.handle != seg[i].handle || s.offset != seg[i].offset ||
		    s.length != n)
			return false;
		octets -= n;
	}
	return true;
}

/* Octet @i of the unreduced Reply of rt_pair. */
static bool pattern_at(struct rt_raw *r, size_t mem, uint32_t xid, size_t pos,
		       size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (r->mem[mem + i] != rt_pair_pattern(xid, pos + i))
			return false;
	return true;
}

/* Write chunks: filled, unused, empty, paired in order [C10], [H2]. */
static void write_chunks(void)
{
	struct rt_raw r;
	uint8_t pay[512];
	struct wire_segment seg[12];
	struct wire_chunk_desc w[4];
	struct wire_call_desc d = { .writes = w };
	size_t n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	memset(r.mem + RESULTS, 0xEE, 65536);
	for (unsigned int i = 0; i < 12; i++)
		seg[i] = rt_raw_expose(&r, RESULTS + i * 1024, 600, true);
	w[0] = (struct wire_chunk_desc){ seg, 3 };
	w[1] = (struct wire_chunk_desc){ seg + 3, 0 };
	w[2] = (struct wire_chunk_desc){ seg + 3, 3 };
	w[3] = (struct wire_chunk_desc){ seg + 6, 2 };
	/* Three items of 1001 octets: the first and third are placed, the
	 * second is inline since its chunk is empty, the fourth chunk stays
	 * unused. */
	d.nwrites = 4;
	n = rt_raw_payload(pay, 1, 40, 3, 1001, 0);
	rt_raw_call(&r, 1, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(r.m.writes.count, 4);
	CU_ASSERT_TRUE(returned(&r.m.writes, 0, seg, 3, 1001));
	CU_ASSERT_TRUE(returned(&r.m.writes, 1, seg, 0, 0));
	CU_ASSERT_TRUE(returned(&r.m.writes, 2, seg + 3, 3, 1001));
	CU_ASSERT_TRUE(returned(&r.m.writes, 3, seg + 6, 2, 0));
	CU_ASSERT_EQUAL(r.m.payload_len, 40 + 1004);
	CU_ASSERT_TRUE(pattern_at(&r, RESULTS, 1, 8, 600));
	CU_ASSERT_TRUE(pattern_at(&r, RESULTS + 1024, 1, 608, 401));
	/* No roundup is written, nor anything beyond (4.5.2.4). */
	CU_ASSERT_EQUAL(r.mem[RESULTS + 600], 0xEE);
	CU_ASSERT_EQUAL(r.mem[RESULTS + 1024 + 401], 0xEE);
	CU_ASSERT_EQUAL(r.mem[RESULTS + 2048], 0xEE);
	CU_ASSERT_TRUE(pattern_at(&r, RESULTS + 3072, 1, 8 + 2 * 1008, 600));
	CU_ASSERT_TRUE(
		pattern_at(&r, RESULTS + 4096, 1, 8 + 2 * 1008 + 600, 401));
	/* An item of no octets: used, with lengths of zero. */
	n = rt_raw_payload(pay, 2, 40, 1, 0, 0);
	rt_raw_call(&r, 2, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_TRUE(returned(&r.m.writes, 0, seg, 3, 0));
	/* An absent result keeps its place, its chunk is unused [H2]. */
	n = rt_raw_payload(pay, 3, 40, 2, 0xffffffff, 0);
	pay[19 * 4 - 1] = 8;
	memset(pay + 18 * 4, 0, 8);
	pay[18 * 4 + 3] = 8;
	pay[18 * 4 + 6] = 600 >> 8;
	pay[18 * 4 + 7] = 600 & 255;
	d.nwrites = 3;
	w[1] = (struct wire_chunk_desc){ seg + 6, 2 };
	rt_raw_call(&r, 3, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 3));
	CU_ASSERT_TRUE(returned(&r.m.writes, 0, seg, 3, 0));
	CU_ASSERT_TRUE(returned(&r.m.writes, 1, seg + 6, 2, 600));
	CU_ASSERT_TRUE(pattern_at(&r, RESULTS + 6 * 1024, 3, 8, 600));
	/* More items than chunks: the rest is inline. Exactly full. */
	d.nwrites = 1;
	n = rt_raw_payload(pay, 4, 40, 2, 1800, 0);
	rt_raw_call(&r, 4, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 4));
	CU_ASSERT_TRUE(returned(&r.m.writes, 0, seg, 3, 1800));
	CU_ASSERT_EQUAL(r.m.payload_len, 40 + 1800);
	rt_raw_close(&r);
}

/* [D7]: the order of the formats, and errors 9 and 10 with their numbers. */
static void reply_formats(void)
{
	struct rt_config cfg = { 0 };
	struct rt_raw r;
	uint8_t pay[512];
	struct wire_segment seg[4];
	struct wire_chunk_desc w[3], reply = { seg + 2, 2 };
	struct wire_call_desc d = { .writes = w };
	size_t n;

	for (unsigned int no_cont = 0; no_cont < 2; no_cont++) {
		cfg.no_continuation = no_cont;
		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		seg[0] = rt_raw_expose(&r, RESULTS, 5000, true);
		seg[1] = rt_raw_expose(&r, RESULTS + 8192, 999, true);
		seg[2] = rt_raw_expose(&r, RESULTS + 16384, 4001, true);
		seg[3] = rt_raw_expose(&r, RESULTS + 24576, 4003, true);
		w[0] = (struct wire_chunk_desc){ seg, 0 };
		w[1] = (struct wire_chunk_desc){ seg, 1 };
		w[2] = (struct wire_chunk_desc){ seg + 1, 1 };
		/* 1: error 9, of the first too short one, counted with the
		 * empty ones; also when continuation or a Reply chunk could
		 * carry it. */
		d = (struct wire_call_desc){ .writes = w,
					     .nwrites = 3,
					     .reply = &reply };
		n = rt_raw_payload(pay, 1, 64, 3, 1001, 0);
		rt_raw_call(&r, 1, &d, pay, n);
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 1, RDMA2_ERR_WRITE_RESOURCE));
		CU_ASSERT_EQUAL(r.m.error.chunk_index, 3);
		CU_ASSERT_EQUAL(r.m.error.length_needed, 1001);
		/* 2: what fits is INLINE; the Reply chunk is unused. */
		d = (struct wire_call_desc){ .reply = &reply };
		rt_raw_call(&r, 2, &d, NULL, 4096 - 20);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
		CU_ASSERT_EQUAL(r.msg_len, 4096);
		/* 3: one word more, and it is used; filled in order. */
		rt_raw_call(&r, 3, &d, NULL, 4096 - 16);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_EXTERNAL);
		CU_ASSERT_EQUAL(r.status, WIRE_OK);
		CU_ASSERT_EQUAL(r.m.reply.bytes, 4080);
		CU_ASSERT_TRUE(
			pattern_at(&r, RESULTS + 16384 + 8, 3, 8, 4001 - 8));
		CU_ASSERT_TRUE(pattern_at(&r, RESULTS + 24576, 3, 4001, 79));
		/* Exactly as long as the chunk. */
		rt_raw_call(&r, 4, &d, NULL, 8004);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_EXTERNAL);
		CU_ASSERT_EQUAL(r.m.reply.bytes, 8004);
		/* 4: too long for it: continued, or 5: error 10. */
		for (unsigned int i = 0; i < 2; i++) {
			rt_raw_call(&r, 5 + i, i ? NULL : &d, NULL, 8008);
			if (no_cont) {
				CU_ASSERT_TRUE(rt_raw_is_error(
					&r, 5 + i, RDMA2_ERR_REPLY_RESOURCE));
				CU_ASSERT_EQUAL(r.m.error.length_needed, 8008);
				continue;
			}
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
			CU_ASSERT_TRUE(rt_raw_is_reply(&r, 5 + i));
		}
		/* Reduced first (6.6.3): then it fits. */
		d = (struct wire_call_desc){ .writes = w + 1,
					     .nwrites = 1,
					     .reply = &reply };
		n = rt_raw_payload(pay, 7, 64, 1, 5000, 0);
		rt_raw_call(&r, 7, &d, pay, n);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 7));
		CU_ASSERT_EQUAL(r.m.writes.bytes, 5000);
		/* Reduced and in the Reply chunk. */
		n = rt_raw_payload(pay, 8, 6000, 1, 5000, 0);
		rt_raw_call(&r, 8, &d, pay, n);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_EXTERNAL);
		CU_ASSERT_EQUAL(r.m.writes.bytes, 5000);
		CU_ASSERT_EQUAL(r.m.reply.bytes, 6000);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		rt_raw_close(&r);
	}
	/* [D6] bounds continuation too. */
	cfg = (struct rt_config){ .max_message = 65536 };
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_call(&r, 1, NULL, NULL, 65540);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_REPLY_RESOURCE));
	CU_ASSERT_EQUAL(r.m.error.length_needed, 65540);
	rt_raw_close(&r);
}

/* 6.5 [C11], at the Responder. */
static void invalidate(void)
{
	struct rt_config cfg = { 0 };
	struct rt_raw r;
	uint8_t pay[512];
	struct wire_segment seg[2];
	struct wire_chunk_desc w = { seg, 1 };
	struct wire_call_desc d = { .writes = &w, .nwrites = 1 };
	size_t exposed, n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	seg[0] = rt_raw_expose(&r, RESULTS, 1000, true);
	seg[1] = rt_raw_expose(&r, RESULTS, 1000, true);
	exposed = loop_exposed(r.fab);
	/* Zero: plain. */
	rt_raw_call(&r, 1, &d, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_FALSE(r.invalidated);
	/* No handle of this header, though one of ours: plain. */
	d.inv_handle = seg[1].handle;
	rt_raw_call(&r, 2, &d, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_FALSE(r.invalidated);
	/* An ERROR never. */
	d.inv_handle = seg[0].handle;
	n = rt_raw_payload(pay, 3, 64, 1, 1001, 0);
	rt_raw_call(&r, 3, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_WRITE_RESOURCE));
	CU_ASSERT_EQUAL(loop_exposed(r.fab), exposed);
	/* Matching, continued Reply: with the INLINE only. */
	rt_raw_call(&r, 4, &d, NULL, 10000);
	while (rt_raw_next(&r) == RDMA2_REPLY_MIDDLE)
		CU_ASSERT_FALSE(r.invalidated);
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
	CU_ASSERT_TRUE(r.invalidated);
	CU_ASSERT_EQUAL(r.inv_handle, seg[0].handle);
	CU_ASSERT_EQUAL(loop_exposed(r.fab), exposed - 1);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
	/* Switched off. */
	cfg.no_remote_invalidation = true;
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	seg[0] = rt_raw_expose(&r, RESULTS, 1000, true);
	d.inv_handle = seg[0].handle;
	rt_raw_call(&r, 1, &d, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_FALSE(r.invalidated);
	rt_raw_close(&r);
}

/* A handle that is not open ends the connection, and nothing is left. */
static void bad_handles(void)
{
	struct rt_raw r;
	uint8_t pay[128];
	struct wire_segment seg = { 0x1234, 8, 0 };
	struct wire_chunk_desc w = { &seg, 1 };
	struct wire_read_segment s = { 20, { 0x1234, 8, 0 } };
	struct wire_call_desc d = { .reads = &s, .nreads = 1 };

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	rt_raw_call(&r, 1, &d, pay, 68);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	d = (struct wire_call_desc){ .writes = &w, .nwrites = 1 };
	rt_raw_payload(pay, 1, 64, 1, 8, 0);
	rt_raw_call(&r, 1, &d, pay, 76);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_EQUAL(r.p.dones, 1);
	/* An unused one is never touched. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_call(&r, 1, &d, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_raw_close(&r);
}

static unsigned int gone;

static void reply_gone(void *arg)
{
	gone++;
}

/* Replies that cannot be: the Requester is told, the memory comes back. */
static void impossible(void)
{
	static uint8_t octets[128];
	struct rt_piece piece[RT_MAX_PIECES + 1];
	struct rt_item item[2] = { { 8, 8, true, 0 }, { 8, 8, true, 0 } };
	struct wire_segment seg[2];
	struct wire_chunk_desc w[2] = { { seg, 1 }, { seg + 1, 1 } };
	struct wire_call_desc d = { .writes = w, .nwrites = 2 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	seg[0] = rt_raw_expose(&r, RESULTS, 100, true);
	seg[1] = rt_raw_expose(&r, RESULTS, 100, true);
	r.p.hold = true;
	gone = 0;
	for (unsigned int i = 0; i < 8; i++) {
		struct rt_reply reply = { .pieces = piece,
					  .npieces = 1,
					  .items = item,
					  .done = reply_gone };
		int want = 0;

		rt_raw_call(&r, i, &d, NULL, 8);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
		for (unsigned int k = 0; k <= RT_MAX_PIECES; k++)
			piece[k] = (struct rt_piece){ octets, 4, NULL };
		switch (i) {
		case 0:
			reply.npieces = 0;
			want = -EINVAL;
			break;
		case 1:
			piece[0].len = 7;
			want = -EINVAL;
			break;
		case 2:
			reply.npieces = RT_MAX_PIECES + 1;
			want = -E2BIG;
			break;
		case 3: /* two at one place */
			piece[0].len = 64;
			reply.nitems = 2;
			break;
		case 4: /* back */
			piece[0].len = 64;
			item[1].position = 4;
			reply.nitems = 2;
			break;
		case 5: /* beyond the end */
			piece[0].len = 64;
			item[1].position = 64;
			reply.nitems = 2;
			break;
		case 6: /* over the end */
			piece[0].len = 64;
			item[1].position = 60;
			reply.nitems = 2;
			break;
		case 7: /* nothing is left, not even an XID */
			piece[0].len = 8;
			item[0].position = 0;
			reply.nitems = 1;
			break;
		}
		CU_ASSERT_EQUAL(rt_reply(r.p.held[--r.p.nheld], &reply), want);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, i, RDMA2_ERR_SYSTEM));
		CU_ASSERT_EQUAL(gone, i + 1);
	}
	r.p.hold = false;
	rt_raw_call(&r, 9, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 9));
	rt_raw_close(&r);
}

/* The upper layer finds that it is no Call: an ERROR, and the credit. */
static void denied(void)
{
	static uint8_t octets[24];
	struct rt_piece piece = { octets, 24, NULL };
	struct rt_reply reply = { .pieces = &piece,
				  .npieces = 1,
				  .denial = true,
				  .done = reply_gone };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	for (unsigned int i = 0; i < 100; i++) {
		rt_raw_call(&r, i, NULL, NULL, 8);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
		rt_call_refuse(r.p.held[--r.p.nheld], RDMA2_ERR_BAD_XDR);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, i, RDMA2_ERR_BAD_XDR));
	}
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).calls_denied, 100);
	/* A Reply that denies it counts alike. */
	rt_raw_call(&r, 0, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	rt_reply(r.p.held[--r.p.nheld], &reply);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 0));
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).calls_denied, 101);
	/* After the end it is just given back. */
	rt_raw_call(&r, 7, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	rt_conn_close(r.p.server, true);
	rt_raw_run(&r);
	rt_call_refuse(r.p.held[--r.p.nheld], RDMA2_ERR_BAD_XDR);
	rt_raw_run(&r);
	rt_raw_close(&r);
}

/* [E11]: two Calls of one XID are both the upper layer's. */
static void twice(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	rt_raw_call(&r, 1, NULL, NULL, 8);
	rt_raw_call(&r, 1, NULL, NULL, 5000);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(r.p.nheld, 2);
	rt_pair_answer(&r.p, r.p.held[1]);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_MIDDLE);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_pair_answer(&r.p, r.p.held[0]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	r.p.nheld = 0;
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "write chunks", write_chunks },
	{ "reply formats", reply_formats },
	{ "invalidate", invalidate },
	{ "bad handles", bad_handles },
	{ "impossible", impossible },
	{ "denied", denied },
	{ "twice", twice },
	{ NULL, NULL },
};

UNIT_MAIN("transport-formats", tests)
