/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * same - what src/wire has encoded is decoded as what it was
 *
 * The numbers of segments and chunks are taken one after the other, their values are
 * any. The length that is told beforehand is that of the header.
 */
#include "wire/cm_private.c"
#include "wire/decode.c"
#include "wire/encode.c"
#include "wire/list.c"
#include "wire/names.c"
#define decode_error decode_error_v1
#include "wire/wire1.c"
#undef decode_error

#include "proof.h"

#define SEGS 2u

struct lists {
	struct wire_segment seg[SEGS], reply_seg[SEGS];
	struct wire_chunk_desc writes[SEGS], reply;
};

static void prove_chunk(const struct wire_list *l,
			const struct wire_chunk_desc *d)
{
	struct wire_iter it = { 0 };
	struct wire_segment got;

	PROVE(l->count == d->count);
	for (uint32_t i = 0; i < d->count; i++) {
		PROVE(wire_segment_next(l, &it, &got));
		PROVE(got.handle == d->seg[i].handle);
		PROVE(got.length == d->seg[i].length);
		PROVE(got.offset == d->seg[i].offset);
	}
	PROVE(!wire_segment_next(l, &it, &got));
}

static void prove_writes(const struct wire_list *l,
			 const struct wire_chunk_desc *d, uint32_t count)
{
	struct wire_iter it = { 0 };
	struct wire_list chunk;

	PROVE(l->count == count);
	for (uint32_t i = 0; i < count; i++) {
		PROVE(wire_chunk_next(l, &it, &chunk));
		prove_chunk(&chunk, &d[i]);
	}
	PROVE(!wire_chunk_next(l, &it, &chunk));
}

/* A Write list, of which a single chunk has @segs segments, and a Reply chunk. */
static void set_chunks(struct lists *l, uint32_t chunks, uint32_t segs)
{
	for (uint32_t i = 0; i < chunks; i++) {
		l->writes[i].seg = &l->seg[i];
		l->writes[i].count = chunks > 1 ? 1 : segs;
	}
	l->reply.seg = l->reply_seg;
	l->reply.count = segs;
}

static void same_reply(bool external, uint32_t chunks, uint32_t segs)
{
	uint8_t buf[20 + SEGS * 24 + 8 + SEGS * 16 + 4];
	size_t told;
	uint32_t xid = nondet_u32(), credit = nondet_u32();
	struct lists l;
	struct wire_reply_desc d = { l.writes, chunks, &l.reply };
	struct wire_msg m;

	set_chunks(&l, chunks, segs);
	told = wire_reply_len(external, &d);
	PROVE(wire_encode_reply(buf, sizeof(buf), xid, credit, external, &d) ==
	      told);
	if (!external)
		be32_put(buf + told, xid);
	PROVE(wire_decode(buf, told + (external ? 0 : 4), true, &m) == WIRE_OK);
	PROVE(m.p.xid == xid && m.p.credit == credit);
	PROVE(m.external == external && m.role == WIRE_REPLY);
	PROVE(m.has_reply == external && m.header_len == told);
	prove_writes(&m.writes, l.writes, chunks);
	if (external)
		prove_chunk(&m.reply, &l.reply);
}

void same_replies(void)
{
	for (uint32_t chunks = 0; chunks <= SEGS; chunks++)
		for (uint32_t segs = 0; segs <= SEGS; segs++) {
			same_reply(false, chunks, segs);
			same_reply(true, chunks, segs);
		}
}

/* Version 1, whose Reply has an empty Read list. */
static void same_reply_v1(bool external, uint32_t chunks, uint32_t segs)
{
	uint8_t buf[24 + SEGS * 24 + 8 + SEGS * 16 + 8];
	uint32_t xid = nondet_u32(), credit = nondet_u32();
	struct lists l;
	struct wire_reply_desc d = { l.writes, chunks, &l.reply };
	struct wire_msg m;
	size_t told;

	set_chunks(&l, chunks, segs);
	told = wire1_reply_len(external, &d);
	PROVE(wire1_encode_reply(buf, sizeof(buf), xid, credit, external, &d) ==
	      told);
	if (!external) {
		be32_put(buf + told, xid);
		be32_put(buf + told + 4, RPC_REPLY);
	}
	PROVE(wire1_decode(buf, told + (external ? 0 : 8), &m) == WIRE_OK);
	PROVE(m.p.xid == xid && m.p.credit == credit);
	PROVE(m.external == external && m.role == WIRE_REPLY);
	PROVE(m.has_reply == external && m.header_len == told);
	prove_writes(&m.writes, l.writes, chunks);
	if (external)
		prove_chunk(&m.reply, &l.reply);
}

void same_replies_v1(void)
{
	for (uint32_t chunks = 0; chunks <= SEGS; chunks++)
		for (uint32_t segs = 0; segs <= SEGS; segs++) {
			same_reply_v1(false, chunks, segs);
			same_reply_v1(true, chunks, segs);
		}
}

/* Where the buffer ends too early nothing is written behind it, and the length is 0. */
void short_buffer(void)
{
	uint8_t array[72];
	size_t size = any_below(sizeof(array) + 1), told;
	struct lists l;
	struct wire_reply_desc d = { l.writes, 1, &l.reply };

	set_chunks(&l, 1, 1);
	told = wire_reply_len(true, &d);
	PROVE(wire_encode_reply(LAST(array, size), size, nondet_u32(),
				nondet_u32(), true,
				&d) == (told <= size ? told : 0));
}

static void same_middle(bool reply)
{
	uint8_t buf[24];
	uint32_t xid = nondet_u32(), credit = nondet_u32(), left = nondet_u32();
	struct wire_msg m;
	size_t n;

	n = wire_encode_middle(buf, sizeof(buf), xid, credit, reply, left);
	be32_put(buf + n, xid);
	PROVE(wire_decode(buf, n + 4, true, &m) == WIRE_OK);
	PROVE(m.remaining == left && m.payload == buf + n);
	PROVE(m.role == (reply ? WIRE_REPLY : WIRE_CALL));
}

/* GRANT, ERROR and the two MIDDLEs. */
void same_control(void)
{
	uint8_t buf[36];
	uint32_t xid = nondet_u32(), credit = nondet_u32();
	struct wire_error e, got;
	struct wire_msg m;
	size_t n;

	same_middle(false);
	same_middle(true);
	n = wire_encode_grant(buf, sizeof(buf), credit);
	PROVE(wire_decode(buf, n, true, &m) == WIRE_OK);
	PROVE(m.p.htype == RDMA2_GRANT && m.p.credit == credit && !m.p.xid);

	n = wire_encode_error(buf, sizeof(buf), xid, WIRE_VERS2, credit, &e);
	PROVE(n);
	if (!wire_error_decode(buf, n, &got)) {
		PROVE(e.code == RDMA1_ERR_CHUNK ||
		      *wire_errcode_name(e.code) == '?');
		return;
	}
	PROVE(got.code == e.code);
	switch (e.code) {
	case RDMA2_ERR_VERS:
		PROVE(got.vers_low == e.vers_low);
		PROVE(got.vers_high == e.vers_high);
		break;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		PROVE(got.max_chunks == e.max_chunks);
		break;
	case RDMA2_ERR_SEGMENTS:
		PROVE(got.max_segments == e.max_segments);
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		PROVE(got.chunk_index == e.chunk_index);
		PROVE(got.length_needed == e.length_needed);
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		PROVE(got.length_needed == e.length_needed);
		break;
	}
}

static void same_prop(uint32_t len, bool final)
{
	uint8_t buf[16 + 4 + 8 + 8], data[8];
	struct wire_prop p = { nondet_u32(), data, len }, got;
	struct wire_iter it = { 0 };
	enum wire_status st;
	struct wire_msg m;
	size_t n;

	n = wire_encode_connprop(buf, sizeof(buf), nondet_u32(), nondet_u32(),
				 final, &p, 1);
	PROVE(n == 16 + 4 + 8 + len + wire_pad(len));
	st = wire_decode(buf, n, true, &m);
	PROVE((st == WIRE_OK) == prop_conforms(&p));
	if (st != WIRE_OK)
		return;
	PROVE(m.p.htype ==
	      (final ? RDMA2_CONNPROP_FINAL : RDMA2_CONNPROP_MIDDLE));
	PROVE(wire_prop_next(&m.props, &it, &got));
	PROVE(got.which == p.which && got.len == p.len);
	for (uint32_t i = 0; i < len; i++)
		PROVE(got.data[i] == data[i]);
	PROVE(!wire_prop_next(&m.props, &it, &got));
}

void same_props(void)
{
	for (uint32_t len = 0; len <= 8; len++)
		same_prop(len, len & 1);
}

/* Private data of version 1, behind up to four octets of somebody else's. */
void same_private(void)
{
	uint8_t buf[4 + WIRE_CM_LEN];
	struct wire_cm_private p = { nondet_bool(), nondet_u32(),
				     nondet_u32() };
	struct wire_cm_private got;
	size_t at = any_below(5);

	ASSUME(p.send_size >= CM_UNIT && p.recv_size >= CM_UNIT);
	ASSUME(p.send_size <= CM_UNIT * CM_UNITS_MAX);
	ASSUME(p.recv_size <= CM_UNIT * CM_UNITS_MAX);
	for (size_t i = 0; i < 4; i++)
		ASSUME(buf[i] != format_id[0]);
	wire_cm_encode(buf + at, &p);
	PROVE(wire_cm_decode(buf, at + WIRE_CM_LEN, &got));
	PROVE(got.remote_invalidation == p.remote_invalidation);
	PROVE(got.send_size == p.send_size / CM_UNIT * CM_UNIT);
	PROVE(got.recv_size == p.recv_size / CM_UNIT * CM_UNIT);
}

/* Any private data. */
void private_any(void)
{
	uint8_t array[24];
	size_t len = any_below(sizeof(array) + 1);
	struct wire_cm_private got;

	if (!wire_cm_decode(LAST(array, len), len, &got))
		return;
	PROVE(got.send_size >= CM_UNIT && got.send_size % CM_UNIT == 0);
	PROVE(got.recv_size <= CM_UNIT * CM_UNITS_MAX);
}
