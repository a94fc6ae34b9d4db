/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_walk - walk the lists of a decoded message, and encode it again
 *
 * XDR has one form for each value. So a Call or Reply that the decoder took is
 * what the encoder makes of the lists that it found, octet by octet.
 */
#ifndef RPCRDMA_FUZZ_WIRE_WALK_H
#define RPCRDMA_FUZZ_WIRE_WALK_H

#include "fuzz.h"
#include "rpcrdma/wire.h"

struct walk {
	struct wire_read_segment *call, *reads;
	struct wire_chunk_desc *writes, reply;
	struct wire_segment *seg; /* of all Write chunks */
	uint32_t ncall, nreads, nwrites;
};

static inline void *walk_alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	FUZZ_CHECK(p);
	return p;
}

static inline struct wire_read_segment *walk_reads(const struct wire_list *l,
						   uint32_t *n, size_t len)
{
	struct wire_iter it = { 0 };
	struct wire_read_segment s, *out;
	uint64_t bytes = 0;

	/* Each is 24 octets and a discriminator at least. */
	FUZZ_CHECK(l->count <= len / 20);
	out = walk_alloc(l->count, sizeof(*out));
	for (*n = 0; wire_read_next(l, &it, &s); out[(*n)++] = s) {
		FUZZ_CHECK(*n < l->count);
		bytes += s.target.length;
	}
	FUZZ_CHECK(*n == l->count && l->segments == l->count);
	FUZZ_CHECK(bytes == l->bytes);
	return out;
}

static inline uint32_t walk_chunk(const struct wire_list *chunk,
				  struct wire_segment *out, uint64_t *bytes)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;
	uint32_t n = 0;

	for (; wire_segment_next(chunk, &it, &s); n++) {
		FUZZ_CHECK(n < chunk->count);
		out[n] = s;
		*bytes += s.length;
	}
	FUZZ_CHECK(n == chunk->count);
	return n;
}

static inline void walk_open(struct walk *w, const struct wire_msg *m,
			     size_t len)
{
	struct wire_iter it = { 0 };
	struct wire_list chunk;
	uint32_t nseg = 0;
	uint64_t bytes = 0;

	memset(w, 0, sizeof(*w));
	w->call = walk_reads(&m->call, &w->ncall, len);
	w->reads = walk_reads(&m->reads, &w->nreads, len);
	FUZZ_CHECK(m->writes.count <= len / 4 && m->reply.count <= len / 4);
	FUZZ_CHECK(m->writes.segments <= len / 16);
	FUZZ_CHECK(m->reply.count <= len / 16);
	w->writes = walk_alloc(m->writes.count, sizeof(*w->writes));
	w->seg = walk_alloc(m->writes.segments + m->reply.count,
			    sizeof(*w->seg));
	for (; wire_chunk_next(&m->writes, &it, &chunk); w->nwrites++) {
		uint64_t part = 0;

		FUZZ_CHECK(w->nwrites < m->writes.count);
		FUZZ_CHECK(nseg + chunk.count <= m->writes.segments);
		w->writes[w->nwrites].seg = w->seg + nseg;
		w->writes[w->nwrites].count =
			walk_chunk(&chunk, w->seg + nseg, &part);
		FUZZ_CHECK(part == chunk.bytes);
		nseg += chunk.count;
		bytes += part;
	}
	FUZZ_CHECK(w->nwrites == m->writes.count);
	FUZZ_CHECK(nseg == m->writes.segments && bytes == m->writes.bytes);
	bytes = 0;
	w->reply.seg = w->seg + nseg;
	w->reply.count = walk_chunk(&m->reply, w->seg + nseg, &bytes);
	FUZZ_CHECK(bytes == m->reply.bytes);
}

static inline void walk_close(struct walk *w)
{
	free(w->call);
	free(w->reads);
	free(w->writes);
	free(w->seg);
}

/* Do the views lie inside of the message? */
static inline void walk_inside(const struct wire_msg *m, const uint8_t *msg,
			       size_t len)
{
	FUZZ_CHECK(m->header_len <= len);
	FUZZ_CHECK(m->surplus <= len);
	FUZZ_CHECK(!m->payload_len ||
		   (m->payload >= msg &&
		    m->payload + m->payload_len == msg + len));
}

#endif /* RPCRDMA_FUZZ_WIRE_WALK_H */
