/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode - the ten header types of section 6.3
 *
 * The encoder writes what it is told, even what wire_decode() would refuse: the
 * transport keeps the rules, and test peers must be able to break them.
 */
#include <string.h>

#include "wire/codec.h"

void wire_enc_init(struct wire_enc *e, void *buf, size_t size)
{
	e->buf = buf;
	e->size = size;
	e->len = 0;
	e->overflow = false;
}

/* Returns room for @n octets, or NULL for ever after the first overflow. */
static uint8_t *enc_room(struct wire_enc *e, size_t n)
{
	uint8_t *p;

	if (e->overflow || n > e->size - e->len) {
		e->overflow = true;
		return NULL;
	}
	p = e->buf + e->len;
	e->len += n;
	return p;
}

static void set_segment(uint8_t *p, const struct wire_segment *s)
{
	be32_put(p, s->handle);
	be32_put(p + 4, s->length);
	be64_put(p + 8, s->offset);
}

void wire_put_u32(struct wire_enc *e, uint32_t v)
{
	uint8_t *p = enc_room(e, 4);

	if (p)
		be32_put(p, v);
}

void wire_put_u64(struct wire_enc *e, uint64_t v)
{
	uint8_t *p = enc_room(e, 8);

	if (p)
		be64_put(p, v);
}

void wire_put_octets(struct wire_enc *e, const void *data, size_t len)
{
	size_t pad = wire_pad(len);
	uint8_t *p;

	if (len > SIZE_MAX - pad) {
		e->overflow = true;
		return;
	}
	p = enc_room(e, len + pad);
	if (!p || !len)
		return;
	memcpy(p, data, len);
	memset(p + len, 0, pad);
}

void wire_put_prefix(struct wire_enc *e, const struct wire_prefix *p)
{
	uint8_t *b = enc_room(e, WIRE_PREFIX_LEN);

	if (!b)
		return;
	be32_put(b, p->xid);
	be32_put(b + 4, p->vers);
	be32_put(b + 8, p->credit);
	be32_put(b + 12, p->htype);
}

void wire_put_segment(struct wire_enc *e, const struct wire_segment *s)
{
	uint8_t *p = enc_room(e, WIRE_SEGMENT_LEN);

	if (p)
		set_segment(p, s);
}

void wire_put_bool(struct wire_enc *e, bool more)
{
	wire_put_u32(e, more);
}

void wire_put_read(struct wire_enc *e, const struct wire_read_segment *s)
{
	uint8_t *p = enc_room(e, WIRE_READ_LEN);

	if (!p)
		return;
	be32_put(p, 1);
	be32_put(p + 4, s->position);
	set_segment(p + 8, &s->target);
}

void wire_put_chunk(struct wire_enc *e, const struct wire_segment *s,
		    uint32_t count)
{
	wire_put_u32(e, count);
	for (uint32_t i = 0; i < count && !e->overflow; i++)
		wire_put_segment(e, &s[i]);
}

void wire_put_reads(struct wire_enc *e, const struct wire_read_segment *s,
		    uint32_t count)
{
	for (uint32_t i = 0; i < count && !e->overflow; i++)
		wire_put_read(e, &s[i]);
	wire_put_bool(e, false);
}

void wire_put_writes(struct wire_enc *e, const struct wire_chunk_desc *w,
		     uint32_t count)
{
	for (uint32_t i = 0; i < count && !e->overflow; i++) {
		wire_put_bool(e, true);
		wire_put_chunk(e, w[i].seg, w[i].count);
	}
	wire_put_bool(e, false);
}

void wire_put_reply(struct wire_enc *e, const struct wire_chunk_desc *r)
{
	wire_put_bool(e, r);
	if (r)
		wire_put_chunk(e, r->seg, r->count);
}

void wire_put_prop(struct wire_enc *e, const struct wire_prop *p)
{
	wire_put_u32(e, p->which);
	wire_put_u32(e, p->len);
	wire_put_octets(e, p->data, p->len);
}

void wire_put_props(struct wire_enc *e, const struct wire_prop *props,
		    uint32_t count)
{
	wire_put_u32(e, count);
	for (uint32_t i = 0; i < count && !e->overflow; i++)
		wire_put_prop(e, &props[i]);
}

void wire_enc_begin(struct wire_enc *e, void *buf, size_t size, uint32_t xid,
		    uint32_t credit, uint32_t htype)
{
	struct wire_prefix p = { xid, WIRE_VERS2, credit, htype };

	wire_enc_init(e, buf, size);
	wire_put_prefix(e, &p);
}

size_t wire_enc_finish(const struct wire_enc *e)
{
	return e->overflow ? 0 : e->len;
}

size_t wire_encode_grant(void *buf, size_t size, uint32_t credit)
{
	struct wire_enc e;

	/* 6.3.2: rdma_xid MUST be zero. */
	wire_enc_begin(&e, buf, size, 0, credit, RDMA2_GRANT);
	return wire_enc_finish(&e);
}

size_t wire_encode_error(void *buf, size_t size, uint32_t xid, uint32_t vers,
			 uint32_t credit, const struct wire_error *err)
{
	struct wire_prefix p = { xid, vers, credit, RDMA2_ERROR };
	struct wire_enc e;

	wire_enc_init(&e, buf, size);
	wire_put_prefix(&e, &p);
	wire_put_u32(&e, err->code);
	switch (err->code) {
	case RDMA2_ERR_VERS:
		wire_put_u32(&e, err->vers_low);
		wire_put_u32(&e, err->vers_high);
		break;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		wire_put_u32(&e, err->max_chunks);
		break;
	case RDMA2_ERR_SEGMENTS:
		wire_put_u32(&e, err->max_segments);
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		wire_put_u32(&e, err->chunk_index);
		wire_put_u32(&e, err->length_needed);
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		wire_put_u32(&e, err->length_needed);
		break;
	default:
		break;
	}
	return wire_enc_finish(&e);
}

size_t wire_encode_connprop(void *buf, size_t size, uint32_t xid,
			    uint32_t credit, bool final,
			    const struct wire_prop *props, uint32_t count)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit,
		       final ? RDMA2_CONNPROP_FINAL : RDMA2_CONNPROP_MIDDLE);
	wire_put_props(&e, props, count);
	return wire_enc_finish(&e);
}

size_t wire_encode_call(void *buf, size_t size, uint32_t xid, uint32_t credit,
			bool external, const struct wire_call_desc *d)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit,
		       external ? RDMA2_CALL_EXTERNAL : RDMA2_CALL_INLINE);
	wire_put_u32(&e, d->inv_handle);
	if (external)
		wire_put_reads(&e, d->call, d->ncall);
	wire_put_reads(&e, d->reads, d->nreads);
	wire_put_writes(&e, d->writes, d->nwrites);
	wire_put_reply(&e, d->reply);
	return wire_enc_finish(&e);
}

size_t wire_encode_reply(void *buf, size_t size, uint32_t xid, uint32_t credit,
			 bool external, const struct wire_reply_desc *d)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit,
		       external ? RDMA2_REPLY_EXTERNAL : RDMA2_REPLY_INLINE);
	wire_put_writes(&e, d->writes, d->nwrites);
	if (external)
		wire_put_reply(&e, d->reply);
	return wire_enc_finish(&e);
}

size_t wire_encode_middle(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  bool reply, uint32_t remaining)
{
	struct wire_enc e;

	wire_enc_begin(&e, buf, size, xid, credit,
		       reply ? RDMA2_REPLY_MIDDLE : RDMA2_CALL_MIDDLE);
	wire_put_u32(&e, remaining);
	return wire_enc_finish(&e);
}

size_t wire_add(size_t len, uint32_t count, size_t each)
{
	size_t n;

	if (__builtin_mul_overflow((size_t)count, each, &n) ||
	    __builtin_add_overflow(len, n, &n))
		return SIZE_MAX;
	return n;
}

static size_t chunk_len(size_t len, const struct wire_chunk_desc *c)
{
	return wire_add(wire_add(len, 1, 4), c->count, WIRE_SEGMENT_LEN);
}

size_t wire_add_writes(size_t len, const struct wire_chunk_desc *w,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		len = chunk_len(wire_add(len, 1, 4), &w[i]);
	return wire_add(len, 1, 4);
}

size_t wire_add_reply(size_t len, const struct wire_chunk_desc *r)
{
	len = wire_add(len, 1, 4);
	return r ? chunk_len(len, r) : len;
}

size_t wire_call_len(bool external, const struct wire_call_desc *d)
{
	size_t len = WIRE_PREFIX_LEN + 4;

	if (external)
		len = wire_add(wire_add(len, d->ncall, WIRE_READ_LEN), 1, 4);
	len = wire_add(wire_add(len, d->nreads, WIRE_READ_LEN), 1, 4);
	return wire_add_reply(wire_add_writes(len, d->writes, d->nwrites),
			      d->reply);
}

size_t wire_reply_len(bool external, const struct wire_reply_desc *d)
{
	size_t len = wire_add_writes(WIRE_PREFIX_LEN, d->writes, d->nwrites);

	return external ? wire_add_reply(len, d->reply) : len;
}
