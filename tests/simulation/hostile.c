/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostile - a Send is changed on its way, as an attacker would send it
 *
 * Most changes leave a message that is nearly right, so that it gets far.
 *
 * Threads: one. The connection's lock is held.
 */
#include <arpa/inet.h>
#include <string.h>

#include "rpcrdma/rtr.h"
#include "rpcrdma/wire.h"
#include "rpcrdma/xchar.h"
#include "simulate.h"

static void put32(struct loop_message *m, size_t at, uint32_t v)
{
	v = htonl(v);
	if (at + 4 <= m->len)
		memcpy(m->data + at, &v, 4);
}

static uint32_t word(struct draw *d)
{
	static const uint32_t some[] = { 0,	1,	    2,
					 3,	4,	    16,
					 4096,	0x7fffffff, 0x80000000,
					 65536, 0xfffffffc, 0xffffffff };

	return draw_one_in(d, 4) ? (uint32_t)draw(d) : DRAW_OF(d, some);
}

/* A word of the header, which of some types has some hundred octets. */
static void change_word(struct draw *d, struct loop_message *m)
{
	size_t most = m->len / 4 < 40 ? m->len / 4 : 40;

	if (most)
		put32(m, 4 * draw_below(d, (uint32_t)most), word(d));
}

static void change_octet(struct draw *d, struct loop_message *m)
{
	if (m->len)
		m->data[draw_below(d, (uint32_t)m->len)] ^=
			(uint8_t)(1u << draw_below(d, 8));
}

static void shorten(struct draw *d, struct loop_message *m)
{
	m->len = draw_below(d, (uint32_t)m->len + 1);
}

static void lengthen(struct draw *d, struct loop_message *m)
{
	size_t n = draw_range(d, 1, 64);

	for (; n && m->len < m->cap; n--)
		m->data[m->len++] = (uint8_t)draw(d);
}

static void change_type(struct draw *d, struct loop_message *m)
{
	static const uint32_t types[] = {
		0,
		1,
		2,
		3,
		RDMA2_ERROR,
		RDMA2_GRANT,
		RDMA2_CONNPROP_MIDDLE,
		RDMA2_CONNPROP_FINAL,
		RDMA2_CALL_EXTERNAL,
		RDMA2_CALL_MIDDLE,
		RDMA2_CALL_INLINE,
		RDMA2_REPLY_EXTERNAL,
		RDMA2_REPLY_MIDDLE,
		RDMA2_REPLY_INLINE,
		RDMA2_X_INITXCH,
		RDMA2_X_REQXCH,
		RDMA2_X_RESPXCH,
		RDMA2_X_UPDXCH,
		RDMA2_X_XMTREQ,
		RDMA2_X_XMTRESP,
		RDMA2_X_XMTCONT,
		RDMA2_X_REPTERR,
	};

	put32(m, 12, DRAW_OF(d, types));
}

/* Of an RPC that there is, if one is found. */
static uint32_t some_xid(struct draw *d)
{
	const struct sim_rpc *r = &sim->rpc[draw_below(d, SIM_RPCS)];

	for (unsigned int i = 0; i < 64 && !r->busy; i++)
		r = &sim->rpc[draw_below(d, SIM_RPCS)];
	return r->xid;
}

static void change_xid(struct draw *d, struct loop_message *m)
{
	uint32_t xid = some_xid(d);

	put32(m, 0, xid);
	/* The payload's too, in a Reply without chunks. */
	if (draw_one_in(d, 2))
		put32(m, 20, xid);
}

static void change_credit(struct draw *d, struct loop_message *m)
{
	put32(m, 8, word(d));
}

static void change_version(struct draw *d, struct loop_message *m)
{
	put32(m, 4, draw_below(d, 4));
}

static void make_grant(struct draw *d, struct loop_message *m)
{
	m->len = wire_encode_grant(m->data, m->cap, word(d));
}

static void make_error(struct draw *d, struct loop_message *m)
{
	struct wire_error err = { .code = draw_below(d, 20),
				  .max_chunks = draw_below(d, 3),
				  .length_needed = word(d) };

	m->len = wire_encode_error(m->data, m->cap, some_xid(d), WIRE_VERS2,
				   word(d), &err);
}

/* A whole Call or Reply, at any time. */
static void make_rpc(struct draw *d, struct loop_message *m)
{
	const struct wire_call_desc call = { 0 };
	const struct wire_reply_desc reply = { 0 };
	uint32_t xid = some_xid(d), is_reply = draw_below(d, 2);

	m->len = is_reply ? wire_encode_reply(m->data, m->cap, xid, word(d),
					      false, &reply) :
			    wire_encode_call(m->data, m->cap, xid, word(d),
					     false, &call);
	if (m->len + 16 > m->cap)
		return;
	memset(m->data + m->len, 0, 16);
	m->len += 16;
	put32(m, m->len - 16, xid);
	put32(m, m->len - 12, is_reply);
}

static void invalidate(struct draw *d, struct loop_message *m)
{
	m->invalidate = !m->invalidate;
	m->inv_handle = (uint32_t)draw(d);
}

void sim_tamper(void *ctx, struct loop_message *m)
{
	static void (*const change[])(struct draw *, struct loop_message *) = {
		change_word,	change_word, change_word, change_word,
		change_octet,	shorten,     lengthen,	  change_type,
		change_type,	change_xid,  change_xid,  change_credit,
		change_version, make_grant,  make_error,  invalidate,
		make_rpc,
	};
	struct sim_end *e = ctx;
	struct draw *d = &e->tamper_draw;

	if (!e->tamper || draw_one_in(d, 2))
		return;
	e->tamper--;
	e->tampers = true;
	e->spoiled = sim_peer(e)->spoiled = true;
	e->asked = sim_peer(e)->asked = true;
	for (unsigned int n = draw_one_in(d, 4) ? 3 : 1; n; n--)
		DRAW_OF(d, change)(d, m);
	sim_note("tamper", e->server, m->n, m->len);
}
