/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list - chunk lists and property sets: validation once, then iteration
 *
 * A list is kept as the octets it has on the wire, from the first
 * discriminator (or the first property) to the end of the last entry; the
 * terminating discriminator is left out. Scanning proves that every entry is
 * complete, so the iterators need only count.
 *
 * No list is followed by recursion: its length is the peer's choice.
 *
 * No state; any thread.
 */
#include <string.h>

#include "wire/codec.h"

/*
 * RFC 4506 4.4: a bool is 0 or 1. Other values are refused, since a sender
 * that writes them cannot be trusted to mean a list entry [C7].
 */
static bool scan_more(struct wire_cursor *c, bool *more)
{
	uint32_t v;

	if (!wire_get_u32(c, &v) || v > 1)
		return false;
	*more = v;
	return true;
}

static void list_begin(const struct wire_cursor *c, struct wire_list *l)
{
	memset(l, 0, sizeof(*l));
	l->data = wire_here(c);
}

/*
 * Section 4.5.1, 4.5.1.1 and [C7], [C8]. A new chunk may not begin before the
 * end of the chunk before it (low), nor inside its roundup, which follows
 * since a Position is a multiple of four. The arithmetic is in 64 bits, where
 * a Position plus the lengths of all segments that a message can hold does not
 * wrap.
 */
struct reads_scan {
	uint32_t position; /* of the chunk in progress */
	uint64_t chunk_len; /* of what there was of it */
	bool begun;
};

static bool place_read(struct reads_scan *k, uint32_t p, uint32_t len)
{
	if (!k->begun || p != k->position) {
		uint64_t low = (uint64_t)k->position + k->chunk_len;

		if (p == 0 || p & 3 || p < low)
			return false;
		k->begun = true;
		k->position = p;
		k->chunk_len = 0;
	}
	k->chunk_len += len;
	return true;
}

/* @call or @reads may be NULL, if the list may not have such segments. */
bool wire_scan_both(struct wire_cursor *c, struct wire_list *call,
		    struct wire_list *reads)
{
	struct reads_scan k = { 0 };
	bool more;

	if (call)
		list_begin(c, call);
	if (reads)
		list_begin(c, reads);
	for (;;) {
		struct wire_list *l = call;
		struct wire_segment s;
		uint32_t p;

		if (!scan_more(c, &more))
			return false;
		if (!more)
			return true;
		if (wire_left(c) < WIRE_READ_LEN - 4)
			return false;
		p = be32_get(wire_here(c));
		wire_read_segment_at(wire_here(c) + 4, &s);
		if (!call || p || k.begun) {
			if (!reads || !place_read(&k, p, s.length))
				return false;
			l = reads;
			/* Its view begins at its first discriminator. */
			if (!l->count)
				l->data = wire_here(c) - 4;
		}
		c->pos += WIRE_READ_LEN - 4;
		l->count++;
		l->segments++;
		l->bytes += s.length;
		l->len += WIRE_READ_LEN;
	}
}

bool wire_scan_call(struct wire_cursor *c, struct wire_list *l)
{
	return wire_scan_both(c, l, NULL) && l->count;
}

bool wire_scan_reads(struct wire_cursor *c, struct wire_list *l)
{
	return wire_scan_both(c, NULL, l);
}

/* Describe @count segments at @p, which are in the message. */
static void chunk_view(const uint8_t *p, uint32_t count, struct wire_list *l)
{
	l->data = p;
	l->len = (size_t)count * WIRE_SEGMENT_LEN;
	l->count = count;
	l->segments = count;
	l->bytes = 0;
	for (uint32_t i = 0; i < count; i++)
		l->bytes += be32_get(p + (size_t)i * WIRE_SEGMENT_LEN + 4);
}

/* Section 4.5.2: a counted array, which may be empty. */
static bool scan_chunk(struct wire_cursor *c, struct wire_list *l)
{
	uint32_t count;

	if (!wire_get_u32(c, &count) || count > wire_left(c) / WIRE_SEGMENT_LEN)
		return false;
	chunk_view(wire_here(c), count, l);
	c->pos += l->len;
	return true;
}

bool wire_scan_writes(struct wire_cursor *c, struct wire_list *l)
{
	struct wire_list chunk;
	bool more;

	list_begin(c, l);
	for (;;) {
		if (!scan_more(c, &more))
			return false;
		if (!more)
			return true;
		if (!scan_chunk(c, &chunk))
			return false;
		l->count++;
		l->segments += chunk.segments;
		l->bytes += chunk.bytes;
		l->len += 8 + chunk.len;
	}
}

bool wire_scan_reply(struct wire_cursor *c, struct wire_list *l, bool *present)
{
	list_begin(c, l);
	return scan_more(c, present) && (!*present || scan_chunk(c, l));
}

/*
 * Section 5.1 and [E2]: the value of a known property has the exact length of
 * its type, or none at all, which stands for the default [F1]. Whether HOSTAUTH is
 * known is not for this room to say [F5].
 */
static bool prop_conforms(const struct wire_prop *p)
{
	if (p->len == 0)
		return true;
	switch (p->which) {
	case RDMA2_PROPID_SBSIZ:
	case RDMA2_PROPID_RBSIZ:
	case RDMA2_PROPID_RSSIZ:
	case RDMA2_PROPID_RCSIZ:
	case RDMA2_PROPID_BRS:
		return p->len == 4;
	default:
		return true;
	}
}

/*
 * [E2]: a message that ends in the count, in rdma_which or in the length word
 * is BAD_XDR; whatever is wrong with rdma_data itself, its roundup included,
 * is BAD_PROPVAL. What stands first in the message decides.
 */
enum wire_status wire_scan_prop(struct wire_cursor *c, struct wire_prop *p)
{
	if (!wire_get_u32(c, &p->which) || !wire_get_u32(c, &p->len))
		return WIRE_BAD_XDR;
	p->data = wire_here(c);
	if (p->len > wire_left(c) || wire_pad(p->len) > wire_left(c) - p->len ||
	    !prop_conforms(p))
		return WIRE_BAD_PROPVAL;
	c->pos += p->len + wire_pad(p->len);
	return WIRE_OK;
}

enum wire_status wire_scan_props(struct wire_cursor *c, struct wire_list *l)
{
	enum wire_status st;
	struct wire_prop p;
	size_t start;
	uint32_t count;

	if (!wire_get_u32(c, &count))
		return WIRE_BAD_XDR;
	list_begin(c, l);
	start = c->pos;
	while (l->count < count) {
		st = wire_scan_prop(c, &p);
		if (st != WIRE_OK)
			return st;
		l->count++;
	}
	l->len = c->pos - start;
	return WIRE_OK;
}

bool wire_read_next(const struct wire_list *l, struct wire_iter *it,
		    struct wire_read_segment *seg)
{
	const uint8_t *p;

	if (it->index >= l->count)
		return false;
	p = l->data + it->pos;
	seg->position = be32_get(p + 4);
	wire_read_segment_at(p + 8, &seg->target);
	it->pos += WIRE_READ_LEN;
	it->index++;
	return true;
}

bool wire_chunk_next(const struct wire_list *writes, struct wire_iter *it,
		     struct wire_list *chunk)
{
	const uint8_t *p;

	if (it->index >= writes->count)
		return false;
	p = writes->data + it->pos;
	chunk_view(p + 8, be32_get(p + 4), chunk);
	it->pos += 8 + chunk->len;
	it->index++;
	return true;
}

bool wire_segment_next(const struct wire_list *chunk, struct wire_iter *it,
		       struct wire_segment *seg)
{
	if (it->index >= chunk->count)
		return false;
	wire_read_segment_at(chunk->data + it->pos, seg);
	it->pos += WIRE_SEGMENT_LEN;
	it->index++;
	return true;
}

bool wire_prop_next(const struct wire_list *props, struct wire_iter *it,
		    struct wire_prop *prop)
{
	const uint8_t *p;

	if (it->index >= props->count)
		return false;
	p = props->data + it->pos;
	prop->which = be32_get(p);
	prop->len = be32_get(p + 4);
	prop->data = p + 8;
	it->pos += 8 + (size_t)prop->len + wire_pad(prop->len);
	it->index++;
	return true;
}

uint32_t wire_prop_u32(const struct wire_prop *p, uint32_t dflt)
{
	return p->len < 4 ? dflt : be32_get(p->data);
}

bool wire_prop_opaque(const struct wire_prop *p, const uint8_t **data,
		      uint32_t *len)
{
	uint32_t inner;

	if (p->len < 4)
		return false;
	inner = be32_get(p->data);
	if (inner > p->len - 4 || p->len - 4 - inner != wire_pad(inner))
		return false;
	*data = p->data + 4;
	*len = inner;
	return true;
}

bool wire_subset_test(const uint8_t *words, uint32_t nwords, uint32_t bit)
{
	uint32_t word = bit / 32;

	/* 5.1: words beyond the last are taken as zero. */
	return word < nwords &&
	       (be32_get(words + (size_t)word * 4) >> (bit % 32) & 1);
}
