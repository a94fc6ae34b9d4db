/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec - what the files of this room share: bounded reading, parts of headers
 *
 * This is where the byte order of the network ends. Nothing else in the layer
 * reads a message's octets, so the bounds are checked in one place.
 */
#ifndef RPCRDMA_WIRE_CODEC_H
#define RPCRDMA_WIRE_CODEC_H

#include "base/be.h"
#include "rpcrdma/wire.h"

#define WIRE_SEGMENT_LEN 16 /* handle, length, offset */

struct wire_cursor {
	const uint8_t *base;
	size_t len;
	size_t pos; /* never above len */
};

/* XDR roundup, without a sum that could wrap. */
static inline size_t wire_pad(size_t len)
{
	return (4 - (len & 3)) & 3;
}

static inline size_t wire_left(const struct wire_cursor *c)
{
	return c->len - c->pos;
}

static inline const uint8_t *wire_here(const struct wire_cursor *c)
{
	return c->base + c->pos;
}

static inline bool wire_get_u32(struct wire_cursor *c, uint32_t *v)
{
	if (wire_left(c) < 4)
		return false;
	*v = be32_get(wire_here(c));
	c->pos += 4;
	return true;
}

static inline void wire_read_segment_at(const uint8_t *p,
					struct wire_segment *s)
{
	s->handle = be32_get(p);
	s->length = be32_get(p + 4);
	s->offset = be64_get(p + 8);
}

/*
 * Each parses one object and describes it in @l. Returns false if the message
 * ends inside, or breaks a rule that is BAD_XDR.
 */

/* A Read list with Position zero only, not empty. */
bool wire_scan_call(struct wire_cursor *c, struct wire_list *l);
/* A Read list of data item chunks, possibly empty. */
bool wire_scan_reads(struct wire_cursor *c, struct wire_list *l);
/*
 * The Read list of version 1: segments with Position zero come first and go to
 * @call, the rest to @reads. Either may be empty.
 */
bool wire_scan_both(struct wire_cursor *c, struct wire_list *call,
		    struct wire_list *reads);
/* A Write list, possibly empty. */
bool wire_scan_writes(struct wire_cursor *c, struct wire_list *l);
/* The optional Reply chunk. */
bool wire_scan_reply(struct wire_cursor *c, struct wire_list *l, bool *present);
/* The property set, which can be wrong in two ways. */
enum wire_status wire_scan_props(struct wire_cursor *c, struct wire_list *l);

/* One property. */
enum wire_status wire_scan_prop(struct wire_cursor *c, struct wire_prop *p);

/* Clear all views of a message that is wrong. */
void wire_msg_clear(struct wire_msg *m);

/* The parts of a header that both versions put together. */
void wire_put_reads(struct wire_enc *e, const struct wire_read_segment *s,
		    uint32_t count);
void wire_put_writes(struct wire_enc *e, const struct wire_chunk_desc *w,
		     uint32_t count);
void wire_put_reply(struct wire_enc *e, const struct wire_chunk_desc *r);
void wire_put_prop(struct wire_enc *e, const struct wire_prop *p);
/* A counted property set. */
void wire_put_props(struct wire_enc *e, const struct wire_prop *props,
		    uint32_t count);
/* Returns @len + @count * @each, or SIZE_MAX, which fits nowhere, if that
 * wraps. */
size_t wire_add(size_t len, uint32_t count, size_t each);
size_t wire_add_writes(size_t len, const struct wire_chunk_desc *w,
		       uint32_t count);
size_t wire_add_reply(size_t len, const struct wire_chunk_desc *r);

/* Begin a header of version 2. Finishing returns its length, 0 if it does not fit. */
void wire_enc_begin(struct wire_enc *e, void *buf, size_t size, uint32_t xid,
		    uint32_t credit, uint32_t htype);
size_t wire_enc_finish(const struct wire_enc *e);

#endif /* RPCRDMA_WIRE_CODEC_H */
