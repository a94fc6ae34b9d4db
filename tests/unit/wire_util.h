/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_util - what the tests of the wire layer share
 *
 * Messages are put into allocations of exactly their length, so that the
 * address sanitizer sees a read of even one octet too many.
 */
#ifndef RPCRDMA_WIRE_UTIL_H
#define RPCRDMA_WIRE_UTIL_H

#include <stdint.h>
#include "unit.h"
#include "rpcrdma/wire.h"

#define XID 0x11223344u
#define CREDIT 7u
/* The prefix of a version 2 message as words. */
#define PFX(htype) XID, WIRE_VERS2, CREDIT, (htype)

/* A number sequence that is the same on every machine (splitmix64). */
struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(rng_next(r) % n);
}

/* Small, large or any. */
static inline uint32_t rng_word(struct rng *r)
{
	switch (rng_below(r, 4)) {
	case 0:
		return rng_below(r, 8);
	case 1:
		return UINT32_MAX - rng_below(r, 3);
	default:
		return (uint32_t)rng_next(r);
	}
}

/* RPCRDMA_SEED chooses another sequence. */
static inline struct rng rng_start(uint64_t salt)
{
	const char *s = getenv("RPCRDMA_SEED");
	struct rng r = { (s ? strtoull(s, NULL, 0) : 20) + salt };

	return r;
}

/* A copy that ends where its allocation ends. */
static inline uint8_t *exact(const void *data, size_t len)
{
	uint8_t *p = malloc(len);

	if (!p && len)
		abort();
	if (len)
		memcpy(p, data, len);
	return p;
}

static inline void put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/*
 * Damage a message of @len octets in one or two places; @b has room for two
 * words more. Its new length.
 */
static inline size_t wire_mutate(struct rng *r, uint8_t *b, size_t len)
{
	static const uint32_t edge[] = { 0, 1, 2, 4, 0x10000001, UINT32_MAX };

	for (uint32_t i = 1 + rng_below(r, 2); i && len >= 20; i--) {
		size_t at = rng_below(r, (uint32_t)len / 4) * 4;

		switch (rng_below(r, 6)) {
		case 0:
			b[rng_below(r, (uint32_t)len)] ^=
				(uint8_t)(1u << rng_below(r, 8));
			break;
		case 1:
			put_be32(b + at, edge[rng_below(r, 6)]);
			break;
		case 2:
			put_be32(b + at,
				 get_be32(b + at) + rng_below(r, 17) - 8);
			break;
		case 3:
			len = rng_below(r, (uint32_t)len);
			break;
		case 4:
			memmove(b + at, b + at + 4, len - at - 4);
			len -= 4;
			break;
		default:
			memmove(b + at + 4, b + at, len - at);
			len += 4;
			break;
		}
	}
	return len;
}

/* A message of words; free it. */
static inline uint8_t *from_words(const uint32_t *w, size_t n)
{
	uint8_t *p = malloc(n * 4);

	if (!p)
		abort();
	for (size_t i = 0; i < n; i++)
		put_be32(p + i * 4, w[i]);
	return p;
}

/*
 * Decode a message of words. The octets live until the next call, so that the
 * views of @m can be looked at.
 */
static inline enum wire_status decode_words(struct wire_msg *m, bool check_xid,
					    const uint32_t *w, size_t n)
{
	static uint8_t *held;

	free(held);
	held = from_words(w, n);
	return wire_decode(held, n * 4, check_xid, m);
}

#define NWORDS(...) \
	(sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
#define DECODE(m, ...)                                           \
	decode_words(m, true, (const uint32_t[]){ __VA_ARGS__ }, \
		     NWORDS(__VA_ARGS__))
#define DECODE_ANY_XID(m, ...)                                    \
	decode_words(m, false, (const uint32_t[]){ __VA_ARGS__ }, \
		     NWORDS(__VA_ARGS__))

/* Whether a refused message left nothing but prefix and error code. */
static inline bool only_prefix(const struct wire_msg *m)
{
	struct wire_msg z;

	memset(&z, 0, sizeof(z));
	z.p = m->p;
	z.role = m->role;
	z.error.code = m->error.code;
	return !memcmp(&z, m, sizeof(z));
}

#endif /* RPCRDMA_WIRE_UTIL_H */
