/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read and Call chunks of a raw client, and the limits on chunks of all kinds
 * (4.5.1, 7.3, [C7] to [C9], [E3], [E4]).
 */
#include "base/be.h"
#include "rt_raw.h"
#include "unit.h"

/* r->mem holds a Call's payload from 0 and results from 1 MiB. */
#define RESULTS (1u << 20)

static struct wire_read_segment at(struct rt_raw *r, uint32_t position,
				   size_t mem, uint32_t len)
{
	struct wire_read_segment s = { .position = position };

	s.target = rt_raw_expose(r, mem, len, false);
	return s;
}

/* What our server makes of the data, as rt_pair answers it. */
static uint32_t sum_of(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum = sum * 33 + p[i];
	return sum;
}

static uint32_t answered_sum(struct rt_raw *r)
{
	return (uint32_t)r->m.payload[4] << 24 |
	       (uint32_t)r->m.payload[5] << 16 |
	       (uint32_t)r->m.payload[6] << 8 | r->m.payload[7];
}

/* Read chunks at their Positions; several segments; odd lengths. */
static void read_chunks(void)
{
	struct rt_raw r;
	uint8_t pay[512];
	struct wire_read_segment s[4];
	struct wire_call_desc d = { .reads = s };
	const uint8_t *data;
	uint32_t want;
	size_t n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	/* 101 octets of data, the last item: chunk of 101, or of 104 as some
	 * Requesters do [C9]. */
	n = rt_raw_payload(r.mem, 1, 8, 0, 0, 101);
	data = r.mem + 17 * 4;
	want = sum_of(data, 101);
	CU_ASSERT_EQUAL(n, 17 * 4 + 104);
	s[0] = at(&r, 68, 68, 101);
	d.nreads = 1;
	rt_raw_call(&r, 1, &d, r.mem, 68);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	s[0] = at(&r, 68, 68, 104);
	rt_raw_call(&r, 1, &d, r.mem, 68);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	/* In segments, one of them empty. */
	s[0] = at(&r, 68, 68, 33);
	s[1] = at(&r, 68, 0, 1);
	s[1].target.length = 0;
	s[2] = at(&r, 68, 68 + 33, 67);
	s[3] = at(&r, 68, 68 + 100, 1);
	d.nreads = 4;
	rt_raw_call(&r, 1, &d, r.mem, 68);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	/* Two chunks that touch, the second right after the roundup. */
	s[0] = at(&r, 68, 68, 41);
	s[1] = at(&r, 68 + 44, 68 + 44, 57);
	d.nreads = 2;
	memset(r.mem + 68 + 41, 0, 3);
	want = sum_of(data, 101);
	rt_raw_call(&r, 2, &d, memcpy(pay, r.mem, 68), 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_BAD_XDR));
	pay[3] = 2;
	rt_raw_call(&r, 2, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	/* An empty chunk inserts nothing, even at the very end. */
	s[0] = at(&r, n, 0, 1);
	s[0].target.length = 0;
	rt_raw_payload(pay, 3, 8, 0, 0, 101);
	d.nreads = 1;
	rt_raw_call(&r, 3, &d, pay, n);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 3));
	/* In the middle of the stream, and of a continued one: the Position
	 * counts in the whole unreduced stream [D5]. */
	rt_raw_payload(r.mem, 4, 8, 0, 0, 200);
	want = sum_of(r.mem + 68, 200);
	s[0] = at(&r, 100, 100, 50);
	memcpy(pay, r.mem, 100);
	memcpy(pay + 100, r.mem + 152, 116);
	memset(r.mem + 150, 0, 2);
	want = sum_of(r.mem + 68, 200);
	rt_raw_middle(&r, 4, false, 196, pay, 20);
	rt_raw_middle(&r, 4, false, 80, pay + 20, 116);
	rt_raw_call(&r, 4, &d, pay + 136, 80);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 4));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	rt_raw_close(&r);
}

/* A Call chunk; alone, and with data items. */
static void call_chunk(void)
{
	struct rt_raw r;
	struct wire_read_segment s[3], item;
	struct wire_call_desc d = { .call = s, .ncall = 1 };
	uint32_t want;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_payload(r.mem, 1, 8, 0, 0, 50000);
	want = sum_of(r.mem + 68, 50000);
	s[0] = at(&r, 0, 0, 50068);
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	/* In three, of odd lengths. */
	s[0] = at(&r, 0, 0, 3);
	s[1] = at(&r, 0, 3, 40000);
	s[2] = at(&r, 0, 40003, 10065);
	d.ncall = 3;
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	/* With the data elsewhere. */
	s[0] = at(&r, 0, 0, 68);
	item = at(&r, 68, 68, 50000);
	d.ncall = 1;
	d.reads = &item;
	d.nreads = 1;
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), want);
	/* 7.2: its XID is not that of the header. */
	rt_raw_call(&r, 2, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_BAD_XDR));
	/* Beyond its end. */
	item.position = 72;
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	/* Under four octets. */
	d.nreads = 0;
	s[0] = at(&r, 0, 0, 3);
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	s[0].target.length = 0;
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* Positions beyond the stream are for the RPC layer to answer, if it wants to
 * (7.2) [C7]; nothing is read. */
static void torn(void)
{
	struct fab_counters before, after;
	struct wire_read_segment s[2], body;
	struct wire_call_desc d = { .reads = s, .nreads = 2 };
	struct rt_raw r;
	uint8_t pay[128];

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	s[0] = at(&r, 68, 0, 8);
	s[1] = at(&r, 80, 8, 8);
	fab_conn_counters(r.fab, &before);
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	CU_ASSERT_TRUE(r.p.vet.torn);
	r.p.vet_torn = r.p.hold = true;
	for (unsigned int i = 0; i < 3; i++) {
		struct rt_call *call;

		/* Just beyond it; far; the first of two. */
		s[1].position = i ? 0xfffffffc : 80;
		s[0].position = i < 2 ? 68 : 72;
		rt_raw_call(&r, 1, &d, pay, 68);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
		call = r.p.held[--r.p.nheld];
		CU_ASSERT_TRUE(call->torn);
		CU_ASSERT(call->len == 68 && call->npieces == 1);
		rt_pair_answer(&r.p, call);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	}
	fab_conn_counters(r.fab, &after);
	CU_ASSERT_EQUAL(before.peer_reads, after.peer_reads);
	/* Behind a Call chunk, which is read. */
	memcpy(r.mem, pay, 68);
	body = at(&r, 0, 0, 68);
	d.call = &body;
	d.ncall = 1;
	rt_raw_call(&r, 1, &d, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	CU_ASSERT_TRUE(r.p.held[0]->torn);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	fab_conn_counters(r.fab, &after);
	CU_ASSERT_EQUAL(after.peer_reads - before.peer_reads, 1);
	/* What fits is whole, the last time too. */
	s[0] = at(&r, 68, 0, 8);
	s[1] = at(&r, 76, 8, 8);
	d.ncall = 0;
	rt_raw_call(&r, 1, &d, pay, 68);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	CU_ASSERT_FALSE(r.p.held[0]->torn);
	CU_ASSERT_EQUAL(r.p.held[0]->len, 84);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	/* It may be torn for the upper layer alone, which knows the items. */
	r.p.vet_misfit = true;
	fab_conn_counters(r.fab, &before);
	rt_raw_call(&r, 1, &d, pay, 68);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	CU_ASSERT_TRUE(r.p.held[0]->torn);
	CU_ASSERT_EQUAL(r.p.held[0]->len, 68);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	fab_conn_counters(r.fab, &after);
	CU_ASSERT_EQUAL(before.peer_reads, after.peer_reads);
	/* All of them had been vetted; what has no Read chunk is not. */
	CU_ASSERT_EQUAL(r.p.vets, 6);
	rt_raw_call(&r, 1, &(struct wire_call_desc){ 0 }, pay, 68);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	CU_ASSERT_FALSE(r.p.held[0]->vetted);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(r.p.vets, 6);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* Lists that are refused as they stand [C7], [C8]; nothing is read. */
static void bad_positions(void)
{
	static const uint32_t bad[][3] = {
		/* Positions of two segments of 8, in a stream of 68 */
		{ 0, 64, 0 }, /* zero in rdma_reads */
		{ 62, 64, 0 }, /* no multiple of four */
		{ 64, 32, 0 }, /* back */
		{ 32, 36, 0 }, /* inside the one before */
		{ 68, 80, 0 }, /* beyond the end */
		{ 68, 0xfffffffc, 0 },
	};
	struct rt_raw r;
	uint8_t pay[128];
	struct wire_read_segment s[2];
	struct wire_call_desc d = { .reads = s, .nreads = 2 };
	struct fab_counters before, after;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	s[0] = at(&r, 0, 0, 8);
	s[1] = at(&r, 0, 8, 8);
	fab_conn_counters(r.fab, &before);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		s[0].position = bad[i][0];
		s[1].position = bad[i][1];
		rt_raw_call(&r, 1, &d, pay, 68);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	}
	/* A discriminator that is no bool; a list without its end. */
	for (unsigned int words = 1; words < 6; words++) {
		rt_raw_begin(&r, RDMA2_CALL_INLINE, 1);
		for (unsigned int i = 0; i < words; i++)
			wire_put_u32(&r.enc, i == 1 ? 2 : 0);
		rt_raw_end(&r);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	}
	/* CALL_EXTERNAL without a Call chunk, or with another Position. */
	rt_raw_begin(&r, RDMA2_CALL_EXTERNAL, 1);
	for (unsigned int i = 0; i < 5; i++)
		wire_put_u32(&r.enc, 0);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	s[0].position = 4;
	d = (struct wire_call_desc){ .call = s, .ncall = 1 };
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	/* Position zero in the reads of CALL_EXTERNAL too. */
	s[0].position = s[1].position = 0;
	d.reads = s + 1;
	d.nreads = 1;
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	/* The first word is not the XID; less than a word of payload. */
	rt_raw_call(&r, 2, NULL, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_BAD_XDR));
	for (size_t n = 0; n < 4; n++) {
		rt_raw_call(&r, 1, NULL, pay, n);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_BAD_XDR));
	}
	fab_conn_counters(r.fab, &after);
	CU_ASSERT_EQUAL(before.peer_reads, after.peer_reads);
	CU_ASSERT_EQUAL(r.p.calls, 0);
	/* Surplus octets are not looked at [C6]: GRANT, ERROR, EXTERNAL. */
	wire_put_u32(rt_raw_begin(&r, RDMA2_GRANT, 99), 7);
	rt_raw_end(&r);
	rt_raw_payload(r.mem, 1, 8, 0, 0, 0);
	s[0] = at(&r, 0, 0, 68);
	d = (struct wire_call_desc){ .call = s, .ncall = 1 };
	rt_raw_call(&r, 1, &d, pay, 12);
	{
		size_t n = wire_encode_call(r.send_buf, RAW_RECV_SIZE, 1,
					    rt_raw_credit(&r), true, &d);

		memset(r.send_buf + n, 0xff, 40);
		rt_raw_send(&r, r.send_buf, n + 40);
	}
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* As long as there may be: a Call chunk in two buffers, and a data item in one. */
static void longest(void)
{
	static const size_t lens[] = { 3u << 20, (1u << 20) + 65536, 65536 };
	struct rt_config cfg = { .max_message = RT_MAX(max_message) };
	struct wire_read_segment s[3];
	struct wire_call_desc d = { .call = s, .ncall = 3 };
	uint32_t sum = 0, n = RT_MAX(max_message);
	uint8_t pay[128];
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	for (size_t i = 0; i < RAW_MEM; i++)
		r.mem[i] = (uint8_t)(i * 7 + (i >> 13));
	rt_raw_payload(r.mem, 1, 8, 0, 0, 0);
	be32_put(r.mem + 64, n - 68);
	/* Each is a beginning of the same memory. */
	for (unsigned int i = 0; i < 3; i++) {
		s[i] = at(&r, 0, 0, (uint32_t)lens[i]);
		for (size_t k = i ? 0 : 68; k < lens[i]; k++)
			sum = sum * 33 + r.mem[k];
	}
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), sum);
	/* An octet more in all, and in an item. */
	s[2].target.length++;
	rt_raw_call(&r, 2, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_SYSTEM));
	rt_raw_payload(pay, 3, 8, 0, 0, 0);
	d = (struct wire_call_desc){ .reads = s, .nreads = 2 };
	s[0].position = s[1].position = 68;
	s[0].target.length = FAB_POOL_MAX_BUF;
	s[1].target.length = 1;
	rt_raw_call(&r, 3, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_SYSTEM));
	rt_raw_close(&r);
}

/* The limits, each with its code and number (7.3, [E3], [E4]). */
static void limits(void)
{
	struct rt_config cfg = { .max_segments = 6,
				 .max_read_chunks = 3,
				 .max_write_chunks = 2,
				 .max_message = 65536 };
	struct wire_segment seg[8];
	struct wire_read_segment s[8];
	struct wire_chunk_desc w[8];
	struct wire_chunk_desc reply = { seg, 1 };
	struct rt_raw r;
	uint8_t pay[128];
	struct wire_call_desc d = { .reads = s, .writes = w };
	struct fab_counters before, after;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	for (unsigned int i = 0; i < 8; i++) {
		s[i] = at(&r, 68, 0, 4);
		seg[i] = rt_raw_expose(&r, RESULTS + i * 64, 64, true);
		w[i] = (struct wire_chunk_desc){ &seg[i], 1 };
	}
	fab_conn_counters(r.fab, &before);
	/* The sum over all lists counts, 3 and 2 and 1 are 6. */
	d.nreads = 3;
	d.nwrites = 2;
	d.reply = &reply;
	for (unsigned int i = 0; i < 2; i++) {
		rt_raw_call(&r, 1, &d, pay, 68);
		if (i) {
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, 1, RDMA2_ERR_SEGMENTS));
			CU_ASSERT_EQUAL(r.m.error.max_segments, 6);
		} else {
			CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		}
		d.nreads = 4;
	}
	/* In one chunk. */
	d = (struct wire_call_desc){ .writes = w, .nwrites = 1 };
	w[0].count = 7;
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SEGMENTS));
	w[0].count = 1;
	d = (struct wire_call_desc){ .reply = &reply };
	reply.count = 7;
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SEGMENTS));
	d = (struct wire_call_desc){ .call = s, .ncall = 7 };
	for (unsigned int i = 0; i < 8; i++)
		s[i].position = 0;
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SEGMENTS));
	/* Write chunks, empty ones too. */
	for (unsigned int i = 0; i < 3; i++)
		w[i].count = 0;
	d = (struct wire_call_desc){ .writes = w, .nwrites = 3 };
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_WRITE_CHUNKS));
	CU_ASSERT_EQUAL(r.m.error.max_chunks, 2);
	/* Read chunks: data items; segments of one chunk do not count. */
	for (unsigned int i = 0; i < 5; i++)
		s[i].position = 20 + 4 * i;
	d = (struct wire_call_desc){ .reads = s, .nreads = 4 };
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_READ_CHUNKS));
	CU_ASSERT_EQUAL(r.m.error.max_chunks, 3);
	/* 7.3.1: or as many as the procedure may have. Of a Call that has to
	 * be read itself that is not known. */
	for (uint32_t max = 0; max < 6; max++) {
		r.p.vet_code = RDMA2_ERR_READ_CHUNKS;
		r.p.vet_max = max;
		rt_raw_call(&r, 1, &d, pay, 68);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_READ_CHUNKS));
		CU_ASSERT_EQUAL(r.m.error.max_chunks, max < 3 ? max : 3);
		CU_ASSERT(r.p.vet.total == 4 && r.p.vet.nreads == 3 &&
			  r.p.vetted == 68 && r.p.vet.reads[2].position == 28);
	}
	r.p.vet_max = 0;
	s[5] = at(&r, 0, 0, 68);
	d.call = s + 5;
	d.ncall = 1;
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_READ_CHUNKS));
	CU_ASSERT_EQUAL(r.m.error.max_chunks, 3);
	r.p.vet_code = 0;
	/* [E4]: totals beyond any message; nothing is allocated or read. */
	s[0].position = s[1].position = 20;
	s[0].target.length = s[1].target.length = 0x80000000;
	d.nreads = 2;
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SYSTEM));
	s[0].target.length = 65537;
	d.nreads = 1;
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SYSTEM));
	s[0].position = 0;
	d = (struct wire_call_desc){ .call = s, .ncall = 1 };
	rt_raw_call(&r, 1, &d, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_SYSTEM));
	/* [E3]: what the upper layer says for the procedure. */
	r.p.vet_code = RDMA2_ERR_READ_CHUNKS;
	r.p.vet_max = 1;
	s[0] = at(&r, 20, 0, 4);
	s[1] = at(&r, 24, 0, 4);
	d = (struct wire_call_desc){ .reads = s, .nreads = 2 };
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_READ_CHUNKS));
	CU_ASSERT_EQUAL(r.m.error.max_chunks, 1);
	fab_conn_counters(r.fab, &after);
	/* The first Call's three. */
	CU_ASSERT_EQUAL(after.peer_reads - before.peer_reads, 3);
	CU_ASSERT_EQUAL(r.p.calls, 1);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

static void memory_of(size_t conn, size_t host)
{
	struct rt_config cfg = { .max_message = 65536,
				 .max_conn_memory = conn,
				 .max_host_memory = host };
	struct rt_raw r;
	uint8_t pay[128];
	struct wire_read_segment s[2];
	struct wire_call_desc d = { .reads = s, .nreads = 1 };

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	s[0] = at(&r, 20, 0, 60000);
	s[1] = at(&r, 24, 0, 40004);
	for (unsigned int round = 0; round < 3; round++) {
		r.p.hold = true;
		rt_raw_payload(pay, 1, 8, 0, 0, 0);
		rt_raw_call(&r, 1, &d, pay, 68);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_EQUAL(r.p.nheld, 1);
		/* The second chunk of a message, another message, and one in
		 * fragments. */
		rt_raw_payload(pay, 2, 8, 0, 0, 0);
		rt_raw_call(&r, 2, &d, pay, 68);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_EQUAL(r.p.nheld, 1);
		rt_raw_payload(pay, 3, 8, 0, 0, 0);
		rt_raw_middle(&r, 3, false, 60000, pay, 68);
		memset(r.mem, 0, 60000);
		for (unsigned int i = 0; i < 10; i++)
			rt_raw_middle(&r, 3, false, 60000 - (i + 1) * 4000,
				      r.mem, 4000);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 3, RDMA2_ERR_SYSTEM));
		rt_raw_call(&r, 3, NULL, r.mem, 2000);
		while (rt_raw_next(&r) == RDMA2_GRANT)
			;
		CU_ASSERT_FALSE(r.down);
		/* All of it comes back. */
		r.p.hold = false;
		rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	}
	rt_raw_close(&r);
}

/* Who waits has memory of its own: not for ever, or two could wait for each
 * other. Here it is a Call that is executed for long. */
static void memory_held(void)
{
	struct rt_config cfg = { .max_message = 65536,
				 .max_conn_memory = 65536 + 8192,
				 .continuation_ms = 2000,
				 .memory_wait_ms = 100 };
	struct rt_raw r;
	uint8_t pay[128];
	struct wire_read_segment s[2];
	struct wire_call_desc d = { .reads = s, .nreads = 1 };

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	s[0] = at(&r, 20, 0, 60000);
	rt_raw_payload(pay, 1, 8, 0, 0, 0);
	rt_raw_call(&r, 1, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
	s[0] = at(&r, 68, 0, 4);
	s[1] = at(&r, 72, 0, 40004);
	d.nreads = 2;
	rt_raw_payload(pay, 2, 8, 0, 0, 0);
	rt_raw_call(&r, 2, &d, pay, 68);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.nheld, 1);
	for (int i = 0; i < 1000 && !r.queued; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 2, RDMA2_ERR_SYSTEM));
	r.p.hold = false;
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_raw_close(&r);
}

/* Who has memory is given more before those that have none, and came before. They may
 * wait for just what it has, and nobody would go on until one has failed. */
static void memory_first(size_t conn, size_t host)
{
	struct rt_config cfg = { .max_message = 65536,
				 .max_conn_memory = conn,
				 .max_host_memory = host };
	struct wire_read_segment body, item[2];
	struct wire_call_desc d[2] = {
		{ .call = &body, .ncall = 1, .reads = &item[0], .nreads = 1 },
		{ .reads = &item[1], .nreads = 1 },
	};
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_payload(r.mem, 1, 8, 0, 0, 4000);
	body = at(&r, 0, 0, 68);
	item[0] = at(&r, 68, 68, 4000);
	rt_raw_payload(r.mem + 8192, 2, 8, 0, 0, 60000);
	item[1] = at(&r, 68, 8192 + 68, 60000);
	/* The second waits for memory while the body of the first is read. */
	rt_raw_call(&r, 1, &d[0], NULL, 0);
	rt_raw_call(&r, 2, &d[1], r.mem + 8192, 68);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(answered_sum(&r), sum_of(r.mem + 68, 4000));
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_EQUAL(answered_sum(&r), sum_of(r.mem + 8192 + 68, 60000));
	rt_raw_close(&r);
}

/* A limit that admits a message admits the buffers it needs, which are larger
 * than what is in them; beside it there is room for no other. */
static void memory_alone(size_t conn, size_t host, uint32_t first)
{
	struct rt_config cfg = { .max_message = 65536,
				 .max_conn_memory = conn,
				 .max_host_memory = host };
	struct rt_raw r;
	struct wire_read_segment s[2];
	struct wire_call_desc d = { .reads = s, .nreads = 2 };

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_payload(r.mem, 1, 8, 0, 0, 60000);
	s[0] = at(&r, 68, 68, first);
	s[1] = at(&r, 68 + first, 68 + first, 60000 - first);
	for (unsigned int round = 0; round < 3; round++) {
		uint8_t pay[68];

		r.p.hold = true;
		rt_raw_call(&r, 1, &d, r.mem, 68);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_EQUAL_FATAL(r.p.nheld, 1);
		memcpy(pay, r.mem, 68);
		pay[3] = 2;
		rt_raw_call(&r, 2, &d, pay, 68);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_EQUAL(r.p.nheld, 1);
		r.p.hold = false;
		rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		CU_ASSERT_EQUAL(answered_sum(&r), sum_of(r.mem + 68, 60000));
		/* It has waited for that. */
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
		CU_ASSERT_EQUAL(answered_sum(&r), sum_of(r.mem + 68, 60000));
	}
	rt_raw_close(&r);
}

/* Two buffers of 64 KiB are as much as there may be, and no more. */
static void memory_exact(size_t conn, size_t host)
{
	struct rt_config cfg = { .max_message = 65536,
				 .max_conn_memory = conn,
				 .max_host_memory = host };
	struct wire_read_segment s;
	struct wire_call_desc d = { .reads = &s, .nreads = 1 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	s = at(&r, 68, 68, 60000);
	r.p.hold = true;
	for (uint32_t xid = 1; xid <= 3; xid++) {
		rt_raw_payload(r.mem, xid, 8, 0, 0, 60000);
		rt_raw_call(&r, xid, &d, r.mem, 68);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_EQUAL(r.p.nheld, xid < 3 ? xid : 2);
	}
	r.p.hold = false;
	while (r.p.nheld)
		rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	for (unsigned int n = 0; n < 3;)
		switch (rt_raw_next(&r)) {
		case RDMA2_REPLY_INLINE:
			n++;
			break;
		case 0:
			CU_FAIL("not all are answered");
			n = 3;
		}
	rt_raw_close(&r);
}

/* The octets that one connection's Calls may hold ([D6], 7.4.1), and those
 * of all connections of its host. */
static void memory(void)
{
	memory_of(100000, 0);
	memory_of(0, 100000);
	memory_alone(65536, 0, 30000);
	memory_alone(0, 65536, 30000);
	/* Buffers of 64 and 32 KiB. */
	memory_alone(65536, 0, 40000);
	memory_alone(0, 65536, 40000);
	memory_exact(2 * 65536, 0);
	memory_exact(0, 2 * 65536);
	memory_held();
	memory_first(65536, 0);
	memory_first(0, 65536);
}

static const struct unit_test tests[] = {
	{ "read chunks", read_chunks },
	{ "call chunk", call_chunk },
	{ "bad positions", bad_positions },
	{ "Positions beyond the stream", torn },
	{ "longest", longest },
	{ "limits", limits },
	{ "memory", memory },
	{ NULL, NULL },
};

UNIT_MAIN("transport-chunks", tests)
