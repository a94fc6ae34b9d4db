/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode - one version 2 message, sections 6.3 and 8
 *
 * The header types differ only in their fields; each is a row of decode_body().
 * State between messages (continuation, versions, credits) is not checked here.
 */
#include <string.h>

#include "wire/codec.h"

bool wire_prefix_decode(const void *buf, size_t len, struct wire_prefix *p)
{
	const uint8_t *b = buf;

	if (len < WIRE_PREFIX_LEN)
		return false;
	p->xid = be32_get(b);
	p->vers = be32_get(b + 4);
	p->credit = be32_get(b + 8);
	p->htype = be32_get(b + 12);
	return true;
}

/* A hint stays 0 if the message ends before it [E10]. */
static void get_hint(struct wire_cursor *c, uint32_t *v)
{
	(void)wire_get_u32(c, v);
}

static enum wire_status decode_error(struct wire_cursor *c,
				     struct wire_error *e)
{
	if (!wire_get_u32(c, &e->code))
		return WIRE_BAD_ERROR;
	switch (e->code) {
	case RDMA2_ERR_VERS:
		/* Both ends of the range are needed to choose. */
		if (wire_left(c) < 8)
			return WIRE_BAD_ERROR;
		get_hint(c, &e->vers_low);
		get_hint(c, &e->vers_high);
		return WIRE_OK;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		get_hint(c, &e->max_chunks);
		return WIRE_OK;
	case RDMA2_ERR_SEGMENTS:
		get_hint(c, &e->max_segments);
		return WIRE_OK;
	case RDMA2_ERR_WRITE_RESOURCE:
		get_hint(c, &e->chunk_index);
		get_hint(c, &e->length_needed);
		return WIRE_OK;
	case RDMA2_ERR_REPLY_RESOURCE:
		get_hint(c, &e->length_needed);
		return WIRE_OK;
	case RDMA2_ERR_BAD_XDR:
	case RDMA2_ERR_BAD_PROPVAL:
	case RDMA2_ERR_INVAL_HTYPE:
	case RDMA2_ERR_INVAL_CONT:
	case RDMA2_ERR_VERS_MISMATCH:
	case RDMA2_ERR_SYSTEM:
		return WIRE_OK;
	default:
		return WIRE_BAD_ERROR;
	}
}

/*
 * The rest is the payload. It must have rdma_rpc_first_word, which is not part
 * of the header [C5].
 */
static bool take_payload(struct wire_cursor *c, bool check_xid,
			 struct wire_msg *m)
{
	m->payload = wire_here(c);
	m->payload_len = wire_left(c);
	if (m->payload_len < 4)
		return false;
	return !check_xid || be32_get(m->payload) == m->p.xid;
}

static enum wire_role role_of(uint32_t htype)
{
	switch (htype) {
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_MIDDLE:
	case RDMA2_CALL_INLINE:
		return WIRE_CALL;
	case RDMA2_REPLY_EXTERNAL:
	case RDMA2_REPLY_MIDDLE:
	case RDMA2_REPLY_INLINE:
		return WIRE_REPLY;
	default:
		return WIRE_CONTROL;
	}
}

static enum wire_status decode_body(struct wire_cursor *c, bool check_xid,
				    struct wire_msg *m)
{
	bool ok;

	switch (m->p.htype) {
	case RDMA2_ERROR:
		return decode_error(c, &m->error);
	case RDMA2_GRANT:
		return WIRE_OK;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		return wire_scan_props(c, &m->props);
	case RDMA2_CALL_EXTERNAL:
		m->external = true;
		ok = wire_get_u32(c, &m->inv_handle) &&
		     wire_scan_call(c, &m->call) &&
		     wire_scan_reads(c, &m->reads) &&
		     wire_scan_writes(c, &m->writes) &&
		     wire_scan_reply(c, &m->reply, &m->has_reply);
		break;
	case RDMA2_CALL_INLINE:
		ok = wire_get_u32(c, &m->inv_handle) &&
		     wire_scan_reads(c, &m->reads) &&
		     wire_scan_writes(c, &m->writes) &&
		     wire_scan_reply(c, &m->reply, &m->has_reply) &&
		     take_payload(c, check_xid, m);
		break;
	case RDMA2_REPLY_EXTERNAL:
		/* 6.3.8: exactly one Reply chunk. */
		m->external = true;
		ok = wire_scan_writes(c, &m->writes) &&
		     wire_scan_reply(c, &m->reply, &m->has_reply) &&
		     m->has_reply;
		break;
	case RDMA2_REPLY_INLINE:
		ok = wire_scan_writes(c, &m->writes) &&
		     take_payload(c, check_xid, m);
		break;
	case RDMA2_CALL_MIDDLE:
	case RDMA2_REPLY_MIDDLE:
		ok = wire_get_u32(c, &m->remaining) &&
		     take_payload(c, check_xid, m);
		break;
	default:
		return WIRE_BAD_HTYPE;
	}
	return ok ? WIRE_OK : WIRE_BAD_XDR;
}

void wire_msg_clear(struct wire_msg *m)
{
	struct wire_prefix p = m->p;
	enum wire_role role = m->role;
	uint32_t code = m->error.code;

	memset(m, 0, sizeof(*m));
	m->p = p;
	m->role = role;
	m->error.code = code;
}

enum wire_status wire_decode(const void *buf, size_t len, bool check_xid,
			     struct wire_msg *m)
{
	struct wire_cursor c = { buf, len, WIRE_PREFIX_LEN };
	enum wire_status st;

	memset(m, 0, sizeof(*m));
	if (!wire_prefix_decode(buf, len, &m->p))
		return WIRE_SHORT;
	if (m->p.vers != WIRE_VERS2)
		return WIRE_VERSION;
	/* No Send is that long, and the 32-bit counts of lists cannot wrap. */
	if (len > UINT32_MAX)
		return WIRE_BAD_XDR;
	m->role = role_of(m->p.htype);
	st = decode_body(&c, check_xid, m);
	if (st != WIRE_OK) {
		wire_msg_clear(m);
		return st;
	}
	m->header_len = c.pos;
	if (!m->payload)
		m->surplus = wire_left(&c);
	return WIRE_OK;
}

bool wire_error_decode(const void *buf, size_t len, struct wire_error *e)
{
	struct wire_cursor c = { buf, len, WIRE_PREFIX_LEN };
	struct wire_prefix p;

	memset(e, 0, sizeof(*e));
	return wire_prefix_decode(buf, len, &p) && p.htype == RDMA2_ERROR &&
	       decode_error(&c, e) == WIRE_OK;
}
