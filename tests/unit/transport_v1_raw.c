/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our server in version 1, octet by octet, with a raw client that builds its
 * messages as the kernel's does (RFC 8166, RFC 8167, RFC 8797).
 */
#include <errno.h>

#include "rt_raw1.h"
#include "unit.h"

/* The words of rt_pair's Call before its data. */
#define HEAD 68

static bool pattern_at(const struct rt_raw *r, uint32_t xid, const uint8_t *b,
		       size_t from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (b[i] != rt_pair_pattern(xid, from + i))
			return false;
	return true;
}

/* As rt_pair sums the data of a Call up. */
static uint32_t sum_of(const uint8_t *data, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * 33 + data[i];
	return sum;
}

static uint32_t word_at(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	       (uint32_t)b[2] << 8 | b[3];
}

/* The Reply in r->m: its third word is the sum. */
static bool summed(const struct rt_raw *r, uint32_t sum)
{
	return r->m.payload_len >= 12 && word_at(r->m.payload + 8) == sum;
}

static void nulls(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	/* Nothing before the first message. */
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw1_call(&r, 1, 128, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	CU_ASSERT_EQUAL(r.m.p.credit, 64);
	CU_ASSERT_EQUAL(r.m.header_len, 28);
	CU_ASSERT_EQUAL(r.msg_len, 40);
	CU_ASSERT_TRUE(r.p.server_up);
	/* No properties, no GRANT, ever. */
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* A grant of its own choice, whatever was asked for. */
	rt_raw1_call(&r, 2, 0, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 2));
	CU_ASSERT_EQUAL(r.m.p.credit, 64);
	rt_raw1_call(&r, 3, 0xffffffff, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 3));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* Arguments in Read chunks: in pieces, with roundup in the chunk or without. */
static void write_arguments(void)
{
	static const uint32_t length[] = { 1, 2, 3, 4, 999, 1000, 4097, 9998 };
	uint8_t pay[256];
	uint32_t xid = 10;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	for (unsigned int i = 0; i < sizeof(length) / sizeof(*length); i++)
		for (unsigned int how = 0; how < 4; how++) {
			uint32_t len = length[i], pad = -len & 3;
			struct wire_read_segment rs[3];
			struct wire_call_desc d = { .reads = rs };
			uint32_t sum, cut = len / 2;
			size_t n;

			if (how && !pad)
				continue;
			memset(r.mem, 0, 16384);
			for (uint32_t k = 0; k < len; k++)
				r.mem[k] = (uint8_t)(xid + k * 3);
			sum = sum_of(r.mem, len);
			/* Two segments; roundup in none, in the last, in one
			 * of its own; or one segment with it. */
			for (unsigned int k = 0; k < 3; k++)
				rs[k].position = HEAD;
			rs[0].target =
				rt_raw_expose(&r, 0, cut ? cut : 1, false);
			rs[0].target.length = cut;
			rs[1].target = rt_raw_expose(
				&r, cut, len - cut + (how == 1 ? pad : 0),
				false);
			d.nreads = 2;
			if (how == 2) {
				rs[2].target =
					rt_raw_expose(&r, len, pad, false);
				d.nreads = 3;
			} else if (how == 3) {
				rs[0].target =
					rt_raw_expose(&r, 0, len + pad, false);
				d.nreads = 1;
			}
			n = rt_raw_payload(pay, xid, 12, 0, 0, 0);
			CU_ASSERT_EQUAL(n, HEAD);
			pay[HEAD - 4] = (uint8_t)(len >> 24);
			pay[HEAD - 3] = (uint8_t)(len >> 16);
			pay[HEAD - 2] = (uint8_t)(len >> 8);
			pay[HEAD - 1] = (uint8_t)len;
			rt_raw1_call(&r, xid, 32, &d, pay, n);
			CU_ASSERT_TRUE(rt_raw1_is_reply(&r, xid));
			CU_ASSERT_TRUE(summed(&r, sum));
			/* No R in our private data. */
			CU_ASSERT_FALSE(r.invalidated);
			xid++;
		}
	rt_raw_close(&r);
}

/* Arguments after the data, as in a COMPOUND: they follow its roundup. */
static void arguments_behind(void)
{
	uint8_t pay[300];
	struct rt_raw r;
	size_t n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	for (uint32_t len = 5; len < 9; len++) {
		struct wire_read_segment rs = { .position = 72 };
		struct wire_call_desc d = { .reads = &rs, .nreads = 1 };
		uint32_t total = 4 + ((len + 3) & ~3u) + 100;
		uint8_t all[200] = { 0 };

		/* What the server is to see as data: a word, the chunk with
		 * its roundup, 100 octets more. */
		for (uint32_t i = 0; i < total; i++)
			all[i] = (uint8_t)(i * 5);
		for (uint32_t i = 4 + len; i < 4 + ((len + 3) & ~3u); i++)
			all[i] = 0;
		n = rt_raw_payload(pay, len, 12, 0, 0, 0);
		pay[HEAD - 1] = (uint8_t)total;
		memcpy(pay + n, all, 4);
		memcpy(pay + n + 4, all + total - 100, 100);
		memcpy(r.mem, all + 4, len);
		rs.target = rt_raw_expose(&r, 0, len, false);
		rt_raw1_call(&r, len, 32, &d, pay, n + 104);
		CU_ASSERT_TRUE(rt_raw1_is_reply(&r, len));
		CU_ASSERT_TRUE(summed(&r, sum_of(all, total)));
	}
	rt_raw_close(&r);
}

/* A long Call: RDMA_NOMSG with a Position-Zero Read chunk. */
static void long_calls(void)
{
	struct wire_read_segment rs[4] = { 0 };
	struct wire_call_desc d = { .call = rs, .ncall = 3 };
	uint8_t *pay = malloc(60000);
	struct wire_segment seg;
	struct wire_chunk_desc reply = { &seg, 1 };
	struct rt_raw r;
	size_t n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	n = rt_raw_payload(pay, 5, 12, 0, 0, 50000);
	memcpy(r.mem, pay, n);
	rs[0].target = rt_raw_expose(&r, 0, 100, false);
	rs[1].target = rt_raw_expose(&r, 100, 30000, false);
	rs[2].target = rt_raw_expose(&r, 30100, (uint32_t)n - 30100, false);
	rt_raw1_call(&r, 5, 32, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 5));
	CU_ASSERT_TRUE(summed(&r, sum_of(pay + HEAD, 50000)));

	/* With a data item of its own and a Reply chunk. */
	n = rt_raw_payload(pay, 6, 4000, 0, 0, 0);
	pay[HEAD - 2] = 4;
	pay[HEAD - 1] = 1; /* 1025 octets */
	memcpy(r.mem, pay, n);
	for (unsigned int i = 0; i < 1025; i++)
		r.mem[4096 + i] = (uint8_t)(i * 11);
	d.ncall = 1;
	d.reads = rs + 1;
	d.nreads = 1;
	d.reply = &reply;
	rs[0].target = rt_raw_expose(&r, 0, HEAD, false);
	rs[1].position = HEAD;
	rs[1].target = rt_raw_expose(&r, 4096, 1025, false);
	seg = rt_raw_expose(&r, 65536, 4000, true);
	rt_raw1_call(&r, 6, 32, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_external(&r, 6));
	CU_ASSERT_EQUAL(r.m.reply.bytes, 4000);
	CU_ASSERT_EQUAL(r.m.reads.count + r.m.call.count, 0);
	CU_ASSERT_EQUAL(word_at(r.mem + 65536), 6);
	CU_ASSERT_EQUAL(word_at(r.mem + 65536 + 8), sum_of(r.mem + 4096, 1025));
	CU_ASSERT_TRUE(pattern_at(&r, 6, r.mem + 65536 + 12, 12, 3988));

	/* The RPC message in the chunk is another one (RFC 8166 4.5.2). */
	d = (struct wire_call_desc){ .call = rs, .ncall = 1 };
	rs[0].target = rt_raw_expose(&r, 0, HEAD, false);
	rt_raw1_call(&r, 7, 32, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 7));
	/* Nothing in it. */
	rs[0].target.length = 0;
	rt_raw1_call(&r, 8, 32, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 8));
	rt_raw_close(&r);
	free(pay);
}

/* Did the Reply in r->m bring this Reply chunk back with lengths of 0? */
static bool returned_unused(const struct rt_raw *r,
			    const struct wire_segment *seg, uint32_t n)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;

	if (!r->m.has_reply || r->m.reply.count != n || r->m.reply.bytes)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!wire_segment_next(&r->m.reply, &it, &s) ||
		    s.handle != seg[i].handle || s.offset != seg[i].offset)
			return false;
	return true;
}

/* Results in Write chunks, and Replies in theirs. */
static void results(void)
{
	struct wire_segment ws[4], rp[2];
	struct wire_chunk_desc w[3] = { { ws, 2 },
					{ ws + 2, 0 },
					{ ws + 2, 1 } };
	struct wire_chunk_desc reply = { rp, 2 };
	struct wire_call_desc d = { .writes = w };
	struct wire_iter it = { 0 }, in = { 0 };
	struct wire_list chunk;
	struct wire_segment s;
	uint8_t pay[256];
	struct rt_raw r;
	size_t n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	/* A READ of 1001 of at most 4096 octets, in two segments. */
	n = rt_raw_payload(pay, 1, 64, 1, 1001, 0);
	pay[67] = 12; /* its position */
	ws[0] = rt_raw_expose(&r, 0, 1000, true);
	ws[1] = rt_raw_expose(&r, 8192, 3096, true);
	d.nwrites = 1;
	memset(r.mem, 0xee, 65536);
	rt_raw1_call(&r, 1, 32, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	/* The item and its roundup are not in the stream. */
	CU_ASSERT_EQUAL(r.m.payload_len, 64);
	CU_ASSERT_EQUAL(r.m.writes.count, 1);
	CU_ASSERT_TRUE(wire_chunk_next(&r.m.writes, &it, &chunk));
	CU_ASSERT_TRUE(wire_segment_next(&chunk, &in, &s));
	CU_ASSERT_TRUE(s.handle == ws[0].handle && s.length == 1000 &&
		       s.offset == ws[0].offset);
	CU_ASSERT_TRUE(wire_segment_next(&chunk, &in, &s));
	CU_ASSERT_TRUE(s.handle == ws[1].handle && s.length == 1);
	CU_ASSERT_TRUE(pattern_at(&r, 1, r.mem, 12, 1000));
	CU_ASSERT_EQUAL(r.mem[8192], rt_pair_pattern(1, 1012));
	/* RFC 8166 3.4.6.2: no roundup is written. */
	CU_ASSERT_EQUAL(r.mem[8193], 0xee);
	CU_ASSERT_FALSE(r.m.has_reply);

	/* Not used: returned with lengths of 0, and the Reply chunk, too. */
	d.nwrites = 3;
	d.reply = &reply;
	ws[2] = rt_raw_expose(&r, 16384, 100, true);
	rp[0] = rt_raw_expose(&r, 20000, 1000, true);
	rp[1] = rt_raw_expose(&r, 24000, 1000, true);
	rt_raw1_call(&r, 2, 32, &d, NULL, 64);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 2));
	CU_ASSERT_EQUAL(r.m.writes.count, 3);
	CU_ASSERT_EQUAL(r.m.writes.segments, 3);
	CU_ASSERT_EQUAL(r.m.writes.bytes, 0);
	CU_ASSERT_TRUE(returned_unused(&r, rp, 2));

	/* Longer than 1024 with the header: the Reply chunk, both of them. */
	rt_raw1_call(&r, 3, 32, &d, NULL, 1400);
	CU_ASSERT_TRUE(rt_raw1_is_external(&r, 3));
	CU_ASSERT_EQUAL(r.m.reply.count, 2);
	CU_ASSERT_EQUAL(r.m.reply.bytes, 1400);
	CU_ASSERT_EQUAL(r.m.writes.count, 3);
	CU_ASSERT_EQUAL(word_at(r.mem + 20000), 3);
	CU_ASSERT_TRUE(pattern_at(&r, 3, r.mem + 20012, 12, 988));
	CU_ASSERT_TRUE(pattern_at(&r, 3, r.mem + 24000, 1000, 400));

	/* Too long for it, or for a Write chunk: ERR_CHUNK. */
	rt_raw1_call(&r, 4, 32, &d, NULL, 2004);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 4));
	n = rt_raw_payload(pay, 5, 64, 1, 4097, 0);
	pay[67] = 12;
	rt_raw1_call(&r, 5, 32, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 5));
	/* No Reply chunk at all. */
	rt_raw1_call(&r, 6, 32, NULL, NULL, 1000);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 6));
	rt_raw1_call(&r, 7, 32, NULL, NULL, 996);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 7));
	CU_ASSERT_EQUAL(r.msg_len, 1024);
	rt_raw_close(&r);
}

/* RFC 8166 4.3.3: the header of an inline Reply has the Reply chunk, too. */
static void unused_reply_chunk(void)
{
	/* A header of a Reply chunk of this many segments, beside 1024. */
	static const struct {
		uint32_t nsegs, room;
	} row[] = { { 0, 992 }, { 1, 976 }, { 2, 960 }, { 61, 16 } };
	struct rt_config cfg = { .max_segments = RT_MAX_SEGMENTS };
	struct wire_segment seg[RT_MAX_SEGMENTS];
	struct wire_chunk_desc reply = { .seg = seg };
	struct wire_call_desc d = { .reply = &reply };
	uint32_t xid = 1;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client_with(
		&r, &cfg, rt_raw1_private(false, 4096, 1024), WIRE_CM_LEN));
	for (uint32_t i = 0; i < RT_MAX_SEGMENTS; i++)
		seg[i] = rt_raw_expose(&r, i * 1000, 1000, true);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(*row); i++) {
		reply.count = row[i].nsegs;
		rt_raw1_call(&r, xid, 32, &d, NULL, row[i].room);
		CU_ASSERT_TRUE(rt_raw1_is_reply(&r, xid++));
		CU_ASSERT_EQUAL(r.msg_len, 1024);
		CU_ASSERT_TRUE(returned_unused(&r, seg, row[i].nsegs));
		/* Without the chunk it would still fit. */
		rt_raw1_call(&r, xid, 32, &d, NULL, row[i].room + 4);
		if (!row[i].nsegs) {
			CU_ASSERT_TRUE(rt_raw1_is_refused(&r, xid++));
			continue;
		}
		CU_ASSERT_TRUE(rt_raw1_is_external(&r, xid++));
		CU_ASSERT_EQUAL(r.m.reply.count, row[i].nsegs);
		CU_ASSERT_EQUAL(r.m.reply.bytes, row[i].room + 4);
	}
	/* The chunk is too short for what does not fit beside it. */
	reply.count = 1;
	seg[0].length = 500;
	rt_raw1_call(&r, xid, 32, &d, NULL, 980);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, xid++));
	/* The header alone fills the message, and is longer than that. */
	reply.count = 62;
	rt_raw1_call(&r, xid, 32, &d, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_external(&r, xid++));
	CU_ASSERT_EQUAL(r.msg_len, 1024);
	for (reply.count = 63; reply.count <= RT_MAX_SEGMENTS; reply.count++) {
		rt_raw1_call(&r, xid, 32, &d, NULL, 12);
		CU_ASSERT_TRUE(rt_raw1_is_refused(&r, xid++));
	}
	rt_raw1_call(&r, xid, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, xid));
	CU_ASSERT_FALSE(r.m.has_reply);
	rt_raw_close(&r);
}

/* RFC 8166 4.5: what is refused, what is dropped; the connection stays. */
static void bad_messages(void)
{
	static const struct {
		uint32_t xid, proc;
		bool answered;
		size_t n;
		uint32_t w[16];
	} bad[] = {
		/* No longer supported, and never was. */
		{ 1, RDMA1_MSGP, true, 7, { 64, 1024, 0, 0, 0, 1, 0 } },
		{ 2, RDMA1_DONE, false, 0, { 0 } },
		{ 3, RDMA1_DONE, false, 6, { 0, 0, 0, 3, 0, 0 } },
		{ 4, 5, true, 5, { 0, 0, 0, 4, 0 } },
		{ 5, 0xffffffff, true, 5, { 0, 0, 0, 5, 0 } },
		/* Lists that break off, or are none. */
		{ 6, RDMA1_MSG, true, 4, { 1, 8, 7, 7 } },
		{ 7, RDMA1_MSG, true, 5, { 0, 1, 0x10000001, 1, 1 } },
		{ 8, RDMA1_MSG, true, 5, { 0, 0, 2, 8, 0 } },
		{ 9, RDMA1_NOMSG, true, 3, { 0, 0, 0 } },
		/* No Position-Zero Read chunk (RFC 8167 5.3). */
		{ 27, RDMA1_NOMSG, true, 9, { 1, 8, 1, 400, 0, 0, 0, 0, 0 } },
		/* A Reply by a procedure that is not supported. */
		{ 28, RDMA1_MSGP, false, 7, { 64, 1024, 0, 0, 0, 28, 1 } },
		/* Positions. */
		{ 10,
		  RDMA1_MSG,
		  true,
		  11,
		  { 1, 6, 1, 4, 0, 0, 0, 0, 0, 10, 0 } },
		{ 11,
		  RDMA1_MSG,
		  true,
		  11,
		  { 1, 0, 1, 4, 0, 0, 0, 0, 0, 11, 0 } },
		{ 12,
		  RDMA1_MSG,
		  true,
		  11,
		  { 1, 4000, 1, 4, 0, 0, 0, 0, 0, 12, 0 } },
		/* Another RPC message. */
		{ 13, RDMA1_MSG, true, 5, { 0, 0, 0, 99, 0 } },
		/* Nothing to tell the direction by [G4]. */
		{ 14, RDMA1_MSG, false, 3, { 0, 0, 0 } },
		{ 15, RDMA1_MSG, false, 4, { 0, 0, 0, 15 } },
		{ 16, RDMA1_MSG, false, 5, { 0, 0, 0, 16, 2 } },
		/* Under 28 octets. */
		{ 17, RDMA1_MSG, false, 0, { 0 } },
		{ 18, RDMA1_MSG, false, 2, { 1, 1 } },
		{ 19, RDMA1_NOMSG, false, 2, { 1, 1 } },
		/* Replies that nobody waits for. */
		{ 20, RDMA1_MSG, false, 6, { 0, 0, 0, 20, 1, 0 } },
		{ 21, RDMA1_NOMSG, false, 8, { 0, 0, 1, 1, 1, 9, 0, 0 } },
		{ 22, RDMA1_MSG, false, 6, { 0, 0, 0, 99, 1, 0 } },
		/* Errors are not answered. */
		{ 23, RDMA1_ERROR, false, 1, { 2 } },
		{ 24, RDMA1_ERROR, false, 3, { 1, 1, 1 } },
		{ 25, RDMA1_ERROR, false, 1, { 77 } },
		{ 26, RDMA1_ERROR, false, 0, { 0 } },
	};
	struct rt_raw r;

	for (unsigned int first = 0; first < 2; first++) {
		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
		for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
			/* As the first message it settles the version [B5]. */
			if (first)
				CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
			rt_raw1_words(&r, bad[i].xid, bad[i].proc, bad[i].w,
				      bad[i].n);
			if (bad[i].answered)
				CU_ASSERT_TRUE(
					rt_raw1_is_refused(&r, bad[i].xid));
			CU_ASSERT_TRUE(rt_raw_silent(&r));
			CU_ASSERT_TRUE(r.p.server_up);
			rt_raw1_call(&r, 0x99, 32, NULL, NULL, 12);
			CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 0x99));
		}
		rt_raw_close(&r);
	}
}

/* The upper layer finds that it is no Call. */
static void denied(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	r.p.hold = true;
	rt_raw1_call(&r, 1, 32, NULL, NULL, 12);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	rt_call_refuse(r.p.held[--r.p.nheld], RDMA2_ERR_BAD_XDR);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 1));
	r.p.hold = false;
	rt_raw1_call(&r, 2, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 2));
	rt_raw_close(&r);
}

/* More than the server is set to take: ERR_CHUNK, before any memory is used. */
static void limits(void)
{
	struct rt_config cfg = { .max_segments = 4,
				 .max_read_chunks = 2,
				 .max_write_chunks = 2,
				 .max_message = 65536 };
	struct wire_read_segment rs[6];
	struct wire_segment ws[6];
	struct wire_chunk_desc w[3] = { { ws, 1 }, { ws, 1 }, { ws, 1 } };
	struct wire_call_desc d = { .reads = rs, .writes = w };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	for (unsigned int i = 0; i < 6; i++) {
		ws[i] = rt_raw_expose(&r, i * 4096, 4096, true);
		rs[i].position = HEAD;
		rs[i].target = rt_raw_expose(&r, i * 4096, 4, false);
	}
	d.nreads = 5;
	rt_raw1_call(&r, 1, 32, &d, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 1));
	d.nreads = 0;
	d.nwrites = 3;
	rt_raw1_call(&r, 2, 32, &d, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 2));
	d.nwrites = 0;
	d.nreads = 3;
	rs[1].position = HEAD + 4;
	rs[2].position = HEAD + 8;
	rt_raw1_call(&r, 3, 32, &d, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 3));
	/* Totals that no message may have. */
	d.nreads = 1;
	rs[0].target.length = 0xffffffff;
	rt_raw1_call(&r, 4, 32, &d, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 4));
	d = (struct wire_call_desc){ .call = rs, .ncall = 1 };
	rs[0].position = 0;
	rt_raw1_call(&r, 5, 32, &d, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 5));
	/* What the upper layer does not want. */
	rt_raw1_call(&r, 6, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 6));
	r.p.vet_code = RDMA2_ERR_READ_CHUNKS;
	d = (struct wire_call_desc){ .reads = rs + 1, .nreads = 1 };
	rs[1].position = HEAD;
	rt_raw1_call(&r, 7, 32, &d, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 7));
	rt_raw_close(&r);
}

/* A chunk that points nowhere ends the connection, as RDMA does. */
static void bad_handle(void)
{
	struct wire_read_segment rs = { HEAD, { 0x1234567, 100, 0 } };
	struct wire_call_desc d = { .reads = &rs, .nreads = 1 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw1_call(&r, 1, 32, &d, NULL, 12);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw1_call(&r, 2, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 2));
	rt_raw_close(&r);
}

/* A Call with @len octets in one Read chunk. */
static void long_write(struct rt_raw *r, uint32_t xid, uint32_t len)
{
	struct wire_read_segment rs = { .position = HEAD };
	struct wire_call_desc d = { .reads = &rs, .nreads = 1 };
	uint8_t pay[HEAD];

	rt_raw_payload(pay, xid, 12, 0, 0, 0);
	pay[HEAD - 3] = (uint8_t)(len >> 16);
	pay[HEAD - 2] = (uint8_t)(len >> 8);
	pay[HEAD - 1] = (uint8_t)len;
	rs.target = rt_raw_expose(r, 0, len, false);
	rt_raw1_call(r, xid, 32, &d, pay, HEAD);
	rt_raw_run(r);
}

/* A new connection whose Replies the client takes, but does not acknowledge. */
static bool mute_client(struct rt_raw *r, const struct rt_config *cfg)
{
	static const struct loop_faults keep = { .keep_sends = true };

	if (!rt_raw_client(r, cfg))
		return false;
	loop_set_faults(r->p.dom, LOOP_PASSIVE, &keep);
	return rt_raw_again(r);
}

/* Without memory for its chunks a Call waits; it is not refused for good. */
static void little_memory(void)
{
	struct rt_config cfg = { .max_message = 65536,
				 .max_conn_memory = 80000,
				 .memory_wait_ms = 300 };
	struct wire_read_segment rs = { .position = 0 };
	struct wire_call_desc d = { .call = &rs, .ncall = 1 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	for (unsigned int i = 0; i < 65536; i++)
		r.mem[i] = (uint8_t)(i * 13);
	r.p.hold = true;
	for (uint32_t i = 0; i < 4; i++)
		long_write(&r, i, 60000);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	/* What needs none goes by; what needs little does not. */
	rt_raw1_call(&r, 4, 32, NULL, NULL, 12);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 2);
	long_write(&r, 5, 100);
	/* And a Call that is in a chunk itself. */
	rt_raw_payload(r.mem + 70000, 6, 12, 0, 0, 0);
	rs.target = rt_raw_expose(&r, 70000, HEAD, false);
	rt_raw1_call(&r, 6, 32, &d, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 2);
	rt_pair_answer(&r.p, r.p.held[1]);
	r.p.nheld = 1;
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 4));
	CU_ASSERT_EQUAL(r.p.nheld, 1);
	/* One after the other, in order; the small ones beside the last. */
	for (uint32_t i = 0; i < 4; i++) {
		struct rt_call *first = r.p.held[0];

		memmove(r.p.held, r.p.held + 1, --r.p.nheld * sizeof(first));
		rt_pair_answer(&r.p, first);
		CU_ASSERT_TRUE(rt_raw1_is_reply(&r, i));
		CU_ASSERT_TRUE(summed(&r, sum_of(r.mem, 60000)));
		CU_ASSERT_EQUAL_FATAL(r.p.nheld, i < 2 ? 1 : 5 - i);
	}
	for (uint32_t i = 0; i < 2; i++)
		rt_pair_answer(&r.p, r.p.held[i]);
	r.p.nheld = 0;
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 5));
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 6));
	CU_ASSERT_TRUE(rt_raw_silent(&r));

	/* However long it takes to execute the one that has the memory... */
	long_write(&r, 7, 60000);
	long_write(&r, 8, 60000);
	CU_ASSERT_EQUAL(r.p.nheld, 1);
	for (int i = 0; i < 100; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.nheld, 1);
	r.p.nheld = 0;
	rt_pair_answer(&r.p, r.p.held[0]);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 7));
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	/* The end with Calls that wait leaves nothing behind. */
	rt_call_drop(r.p.held[0]);
	r.p.nheld = 0;
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	for (uint32_t i = 0; i < 4; i++)
		long_write(&r, i, 60000);
	rt_raw_close(&r);
}

/* ... but not for ever if it is the client that keeps it: another connection
 * may help. */
static void kept_memory(void)
{
	struct rt_config cfg = { .max_message = 65536,
				 .max_conn_memory = 80000,
				 .memory_wait_ms = 300 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(mute_client(&r, &cfg));
	long_write(&r, 7, 60000);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 7));
	long_write(&r, 8, 60000);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.down));
	CU_ASSERT_EQUAL(r.p.server_error, -ENOMEM);
	CU_ASSERT_EQUAL(r.queued, 0);
	rt_raw_close(&r);
}

/* Chunks do not take the last of the pool, which Receives and Replies need. */
static void last_memory(void)
{
	struct rt_config cfg = { .credits = 128,
				 .max_memory = RT_MIN(max_memory),
				 .max_host_memory = RT_MIN(max_memory),
				 .max_conn_memory = RT_MIN(max_memory) };
	struct rt_raw r;
	unsigned int n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	r.p.hold = true;
	for (uint32_t i = 0; i < 64; i++) {
		n = r.p.nheld;
		long_write(&r, i, 1 << 18);
		/* They do not wait for a thread. */
		if (r.p.nheld > n)
			rt_call_begin(r.p.held[n]);
	}
	n = r.p.nheld;
	CU_ASSERT_TRUE(n > 50 && n < 60);
	/* All that is to spare is taken: they wait, and none is lost. */
	for (uint32_t i = 64; i < 124; i++)
		rt_raw1_call(&r, i, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, n);
	r.p.hold = false;
	for (n = 0; r.p.nheld;) {
		rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
		while (rt_raw_more(&r))
			n++;
	}
	CU_ASSERT_EQUAL(n, 124);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* Calls beyond the grant: some, since Calls are given up; not without end. */
static void too_many(void)
{
	struct rt_config cfg = { .credits = 4 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	rt_raw1_call(&r, 99, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 99));
	CU_ASSERT_EQUAL(r.m.p.credit, 4);
	r.p.hold = true;
	for (uint32_t i = 0; i < 8; i++) {
		rt_raw1_call(&r, i, 32, NULL, NULL, 12);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
	}
	CU_ASSERT_EQUAL(r.p.nheld, 8);
	rt_raw1_call(&r, 8, 32, NULL, NULL, 12);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.p.server_error, -EPROTO);
	rt_raw_close(&r);
}

/* Replies that nobody takes: many, in case it is late, but not without end. */
static void not_taken(void)
{
	struct rt_config cfg = { .credits = 4 };
	struct rt_raw r;
	uint32_t n;

	CU_ASSERT_TRUE_FATAL(mute_client(&r, &cfg));
	for (n = 0; n < 200 && !r.down; n++) {
		rt_raw1_call(&r, n, 32, NULL, NULL, 12);
		rt_raw_run(&r);
		if (!r.down)
			CU_ASSERT_TRUE(rt_raw1_is_reply(&r, n));
	}
	CU_ASSERT_EQUAL(n, 4 * 4 + 64 + 1);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.p.server_error, -ENOBUFS);
	rt_raw_close(&r);
}

/* Likewise ERRORs: they wait, and then there are too many. */
static void errors_not_taken(void)
{
	struct rt_config cfg = { .credits = 4 };
	uint32_t n, got = 0;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(mute_client(&r, &cfg));
	/* What is bad does not settle the version. */
	rt_raw1_call(&r, 1, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	for (n = 0; n < 200 && !r.down; n++) {
		rt_raw1_words(&r, n, 5, (uint32_t[]){ 0, 0, 0 }, 3);
		rt_raw_run(&r);
		got += r.first && rt_raw1_is_refused(&r, n);
	}
	CU_ASSERT_EQUAL(got, 4 * 4 + 64 - 1);
	CU_ASSERT_TRUE(n > got && n < 200);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.p.server_error, -EPROTO);
	rt_raw_close(&r);
}

/* What private data can say are multiples of 1024: the client's Receives are
 * of what it was told, whatever our size is. */
static void odd_size(void)
{
	struct rt_config cfg = { .send_size = 5000 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client_with(
		&r, &cfg, rt_raw1_private(false, 8192, 8192), 8));
	rt_raw1_call(&r, 1, 32, NULL, NULL, 4000);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	rt_raw1_call(&r, 2, 32, NULL, NULL, 4500);
	CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 2));
	rt_raw_close(&r);
}

/* RFC 8797 4.1: with R on both sides an STag of that very XID. */
static void invalidation(void)
{
	struct rt_config cfg = { .no_remote_invalidation = true };
	struct wire_read_segment rs = { .position = HEAD };
	struct wire_segment ws;
	struct wire_chunk_desc w = { &ws, 1 };
	struct rt_raw r;

	for (unsigned int k = 0; k < 3; k++) {
		bool both = k == 2;

		CU_ASSERT_TRUE_FATAL(rt_raw_client_with(
			&r, k == 1 ? &cfg : NULL,
			rt_raw1_private(k > 0, 4096, 4096), WIRE_CM_LEN));
		/* Ours has R unless it is off. */
		CU_ASSERT_EQUAL(r.peer_priv_len, WIRE_CM_LEN);
		CU_ASSERT_EQUAL(r.peer_priv[5], k == 1 ? 0 : 1);
		for (uint32_t i = 0; i < 4; i++) {
			struct wire_call_desc d = { .reads = &rs,
						    .nreads = i & 1,
						    .writes = &w,
						    .nwrites = i >> 1 };
			uint32_t one, two;

			rs.target = rt_raw_expose(&r, 0, 4, false);
			ws = rt_raw_expose(&r, 4096, 64, true);
			one = rs.target.handle;
			two = ws.handle;
			rt_raw1_call(&r, i, 32, &d, NULL, 12);
			CU_ASSERT_TRUE(rt_raw1_is_reply(&r, i));
			CU_ASSERT_EQUAL(r.invalidated, both && i);
			if (r.invalidated)
				CU_ASSERT_TRUE(
					((i & 1) && r.inv_handle == one) ||
					((i & 2) && r.inv_handle == two));
		}
		/* Never with an error. */
		{
			struct wire_call_desc d = { .reads = &rs, .nreads = 1 };

			rs.target = rt_raw_expose(&r, 0, 4, false);
			rs.position = 4000;
			rt_raw1_call(&r, 9, 32, &d, NULL, 12);
			CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 9));
			rs.position = HEAD;
		}
		rt_raw_close(&r);
	}
}

static int finished(struct rt_raw *r, struct rt_rpc *rpc)
{
	int status;

	rt_raw_run(r);
	status = rpc->done ? rpc->rq->status : 1;
	rt_rpc_free(rpc);
	return status;
}

/* Reverse Calls from our server: one credit, then what the client grants. */
static void server_reverse(void)
{
	struct rt_rpc rpc[6];
	struct rt_raw r;
	uint32_t xid;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_only1));
	rt_raw1_call(&r, 1, 32, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	CU_ASSERT_TRUE_FATAL(rt_conn_can_call(r.p.server));
	for (uint32_t i = 0; i < 6; i++) {
		rt_rpc_init(&r.p, r.p.server, &rpc[i], 1 + i, 0, true, 12, 0, 0,
			    0, 0);
		rt_rpc_submit(r.p.server, &rpc[i]);
	}
	CU_ASSERT_TRUE(rt_raw1_is_call(&r, 1));
	CU_ASSERT_EQUAL(r.m.p.credit, 16);
	CU_ASSERT_EQUAL(r.m.header_len, 28);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* The forward direction goes on, and grants nothing here. */
	rt_raw1_call(&r, 1, 100, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw1_reply(&r, 1, 2, NULL, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_call(&r, 2));
	CU_ASSERT_TRUE(rt_raw1_is_call(&r, 3));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* An error is an answer, but its credits are not (G4). */
	rt_raw1_error(&r, 3, 50);
	CU_ASSERT_TRUE(rt_raw1_is_call(&r, 4));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw1_reply(&r, 2, 50, NULL, NULL, 0);
	for (xid = 5; xid < 7; xid++)
		CU_ASSERT_TRUE(rt_raw1_is_call(&r, xid));
	for (xid = 4; xid < 7; xid++)
		rt_raw1_reply(&r, xid, 2, NULL, NULL, 0);
	for (unsigned int i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(finished(&r, &rpc[i]), i == 2 ? -EREMOTEIO : 0);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "nulls", nulls },
	{ "write arguments", write_arguments },
	{ "arguments behind", arguments_behind },
	{ "long calls", long_calls },
	{ "results", results },
	{ "unused reply chunk", unused_reply_chunk },
	{ "bad messages", bad_messages },
	{ "denied", denied },
	{ "limits", limits },
	{ "bad handle", bad_handle },
	{ "little memory", little_memory },
	{ "kept memory", kept_memory },
	{ "last memory", last_memory },
	{ "odd size", odd_size },
	{ "too many", too_many },
	{ "not taken", not_taken },
	{ "errors not taken", errors_not_taken },
	{ "invalidation", invalidation },
	{ "server reverse", server_reverse },
	{ NULL, NULL },
};

UNIT_MAIN("transport-v1-raw", tests)
