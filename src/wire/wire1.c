/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire1 - RPC-over-RDMA version 1, RFC 8166 section 4
 *
 * Both directions of the codec, over the same lists as version 2. A message
 * does not say whether it is a Call or a Reply: the RPC message does, or the
 * chunks that it has [G4].
 *
 * No state; any thread.
 */
#include <string.h>

#include "wire/codec.h"

/* The errors of version 1, as numbered on the wire. */
#define ERR_VERS 1
#define ERR_CHUNK 2

/* msg_type, RFC 5531 section 9: the second word of every RPC message. */
#define RPC_CALL 0
#define RPC_REPLY 1

static enum wire_status wire1_decode_error(struct wire_cursor *c,
					   struct wire_error *e)
{
	if (!wire_get_u32(c, &e->code))
		return WIRE_BAD_ERROR;
	switch (e->code) {
	case ERR_VERS:
		if (!wire_get_u32(c, &e->vers_low) ||
		    !wire_get_u32(c, &e->vers_high))
			return WIRE_BAD_ERROR;
		return WIRE_OK;
	case ERR_CHUNK:
		e->code = RDMA1_ERR_CHUNK;
		return WIRE_OK;
	default:
		return WIRE_BAD_ERROR;
	}
}

static bool scan_lists(struct wire_cursor *c, struct wire_msg *m)
{
	return wire_scan_both(c, &m->call, &m->reads) &&
	       wire_scan_writes(c, &m->writes) &&
	       wire_scan_reply(c, &m->reply, &m->has_reply);
}

/* RFC 8166 4.2.4: the RPC message follows the chunk lists. */
static enum wire_status decode_msg(struct wire_cursor *c, struct wire_msg *m)
{
	if (!scan_lists(c, m))
		return WIRE_BAD_XDR;
	m->payload = wire_here(c);
	m->payload_len = wire_left(c);
	if (m->payload_len < 8)
		return WIRE_IGNORE;
	switch (be32_get(m->payload + 4)) {
	case RPC_CALL:
		m->role = WIRE_CALL;
		break;
	case RPC_REPLY:
		m->role = WIRE_REPLY;
		break;
	default:
		return WIRE_IGNORE;
	}
	/* RFC 8166 4.5.2; and the payload cannot be in two places. */
	if (be32_get(m->payload) != m->p.xid || m->call.count)
		return WIRE_BAD_XDR;
	if (m->role == WIRE_REPLY &&
	    (m->reads.count || (m->has_reply && m->reply.bytes)))
		return WIRE_BAD_XDR;
	return WIRE_OK;
}

static enum wire_status decode_nomsg(struct wire_cursor *c, struct wire_msg *m)
{
	if (!scan_lists(c, m))
		return WIRE_BAD_XDR;
	m->external = true;
	if (m->call.count) {
		m->role = WIRE_CALL;
		return WIRE_OK;
	}
	/* A Reply never has a Read list: this Call lacks its RPC message. */
	if (m->reads.count) {
		m->role = WIRE_CALL;
		return WIRE_BAD_XDR;
	}
	/* Write chunks alone, which either may have, are in neither. */
	if (!m->has_reply)
		return WIRE_BAD_XDR;
	m->role = WIRE_REPLY;
	return WIRE_OK;
}

/*
 * RFC 8166 4.6: no longer supported, but whoever refuses it has to know whether
 * it is a Call. Two words about padding stand before the lists.
 */
static enum wire_status decode_msgp(struct wire_cursor *c, struct wire_msg *m)
{
	uint32_t align, thresh;

	if (wire_get_u32(c, &align) && wire_get_u32(c, &thresh))
		(void)decode_msg(c, m);
	return WIRE_BAD_HTYPE;
}

enum wire_status wire1_decode(const void *buf, size_t len, struct wire_msg *m)
{
	struct wire_cursor c = { buf, len, WIRE_PREFIX_LEN };
	enum wire_status st;

	memset(m, 0, sizeof(*m));
	if (!wire_prefix_decode(buf, len, &m->p))
		return WIRE_SHORT;
	if (m->p.vers != WIRE_VERS1)
		return WIRE_VERSION;
	/* So that the 32-bit counts of a list cannot wrap. */
	if (len > UINT32_MAX)
		return WIRE_BAD_XDR;
	/* RFC 8166 4.6.2: no longer supported, and only 16 octets long. */
	if (m->p.htype == RDMA1_DONE)
		return WIRE_IGNORE;
	if (m->p.htype == RDMA1_ERROR)
		st = wire1_decode_error(&c, &m->error);
	else if (len < WIRE1_HEADER_MIN)
		return WIRE_SHORT;
	else if (m->p.htype == RDMA1_MSG)
		st = decode_msg(&c, m);
	else if (m->p.htype == RDMA1_NOMSG)
		st = decode_nomsg(&c, m);
	else if (m->p.htype == RDMA1_MSGP)
		st = decode_msgp(&c, m);
	else
		st = WIRE_BAD_HTYPE;
	if (st != WIRE_OK) {
		wire_msg_clear(m);
		return st;
	}
	m->header_len = c.pos;
	if (!m->payload)
		m->surplus = wire_left(&c);
	return WIRE_OK;
}

static void wire1_enc_begin(struct wire_enc *e, void *buf, size_t size,
			    uint32_t xid, uint32_t credit, bool external)
{
	struct wire_prefix p = { xid, WIRE_VERS1, credit,
				 external ? RDMA1_NOMSG : RDMA1_MSG };

	wire_enc_init(e, buf, size);
	wire_put_prefix(e, &p);
}

size_t wire1_encode_call(void *buf, size_t size, uint32_t xid, uint32_t credit,
			 bool external, const struct wire_call_desc *d)
{
	struct wire_enc e;

	wire1_enc_begin(&e, buf, size, xid, credit, external);
	/* One list: the Position-Zero Read chunk is its beginning. */
	for (uint32_t i = 0; external && i < d->ncall && !e.overflow; i++)
		wire_put_read(&e, &d->call[i]);
	wire_put_reads(&e, d->reads, d->nreads);
	wire_put_writes(&e, d->writes, d->nwrites);
	wire_put_reply(&e, d->reply);
	return wire_enc_finish(&e);
}

size_t wire1_encode_reply(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  bool external, const struct wire_reply_desc *d)
{
	struct wire_enc e;

	wire1_enc_begin(&e, buf, size, xid, credit, external);
	wire_put_reads(&e, NULL, 0);
	wire_put_writes(&e, d->writes, d->nwrites);
	wire_put_reply(&e, d->reply);
	return wire_enc_finish(&e);
}

size_t wire1_encode_error(void *buf, size_t size, uint32_t xid, uint32_t vers,
			  uint32_t credit, const struct wire_error *err)
{
	struct wire_prefix p = { xid, vers, credit, RDMA1_ERROR };
	struct wire_enc e;

	wire_enc_init(&e, buf, size);
	wire_put_prefix(&e, &p);
	if (err->code == RDMA2_ERR_VERS) {
		wire_put_u32(&e, ERR_VERS);
		wire_put_u32(&e, err->vers_low);
		wire_put_u32(&e, err->vers_high);
	} else {
		wire_put_u32(&e, ERR_CHUNK);
	}
	return wire_enc_finish(&e);
}

size_t wire1_call_len(bool external, const struct wire_call_desc *d)
{
	size_t len = WIRE_PREFIX_LEN;

	if (external)
		len = wire_add(len, d->ncall, WIRE_READ_LEN);
	len = wire_add(wire_add(len, d->nreads, WIRE_READ_LEN), 1, 4);
	len = wire_add_writes(len, d->writes, d->nwrites);
	return wire_add_reply(len, d->reply);
}

size_t wire1_reply_len(bool external, const struct wire_reply_desc *d)
{
	size_t len = wire_add(WIRE_PREFIX_LEN, 1, 4);

	len = wire_add_writes(len, d->writes, d->nwrites);
	return wire_add_reply(len, d->reply);
}
