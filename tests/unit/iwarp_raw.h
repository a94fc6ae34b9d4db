/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_raw - a peer that speaks octets: it can break every rule
 *
 * It builds its frames by itself from offsets and numbers, not with the
 * provider's own code, so that both cannot be wrong in the same way.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_TEST_IWARP_RAW_H
#define RPCRDMA_TEST_IWARP_RAW_H

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "iwarp_util.h"

/* Bitwise, slow and obviously the Castagnoli polynomial, reflected. */
UNIT_UNWATCHED
static inline uint32_t raw_crc(const uint8_t *p, size_t len)
{
	uint32_t crc = 0xffffffff;

	while (len--) {
		crc ^= *p++;
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

struct raw {
	int fd;
	bool crc;
	uint8_t in[1 << 18];
	size_t in_len;
	bool eof, reset;
};

static inline void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)(v >> 32));
	put32(p + 4, (uint32_t)v);
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static inline void raw_nonblock(struct raw *r)
{
	fcntl(r->fd, F_SETFL, O_NONBLOCK);
}

static inline void raw_dial(struct raw *r, const struct sockaddr_storage *to)
{
	static const int on = 1;

	memset(r, 0, sizeof(*r));
	r->fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_TRUE_FATAL(r->fd >= 0);
	CU_ASSERT_EQUAL_FATAL(connect(r->fd, (const struct sockaddr *)to,
				      sizeof(struct sockaddr_in)),
			      0);
	setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	raw_nonblock(r);
}

/* Take what is there. */
static inline void raw_read(struct raw *r)
{
	while (!r->eof && r->in_len < sizeof(r->in)) {
		ssize_t n = recv(r->fd, r->in + r->in_len,
				 sizeof(r->in) - r->in_len, 0);

		if (n > 0) {
			r->in_len += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EAGAIN)
			return;
		r->eof = true;
		r->reset = n < 0;
	}
}

#define RAW_UNTIL(w, r, cond)                         \
	do {                                          \
		uint64_t end_ = util_ms() + 60000;    \
		raw_read(r);                          \
		while (!(cond) && util_ms() < end_) { \
			world_turn(w, 1);             \
			raw_read(r);                  \
		}                                     \
		CU_ASSERT_TRUE(cond);                 \
	} while (0)

static inline void raw_drop(struct raw *r, size_t n)
{
	memmove(r->in, r->in + n, r->in_len - n);
	r->in_len -= n;
}

/* All of it; the other side is served in between. */
static inline void raw_write(struct world *w, struct raw *r, const void *p,
			     size_t len)
{
	const uint8_t *b = p;
	uint64_t end = util_ms() + 20000;

	while (len && util_ms() < end) {
		ssize_t n = send(r->fd, b, len, MSG_NOSIGNAL);

		if (n > 0) {
			b += n;
			len -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN)
			return;
		world_turn(w, 1);
		raw_read(r);
	}
}

/* Padding and CRC behind the FPDU of @len octets in @f. */
static inline size_t raw_seal(const struct raw *r, uint8_t *f, size_t len)
{
	uint32_t crc = 0;

	while (len % 4)
		f[len++] = 0;
	if (r->crc)
		crc = raw_crc(f, len);
	f[len] = (uint8_t)crc;
	f[len + 1] = (uint8_t)(crc >> 8);
	f[len + 2] = (uint8_t)(crc >> 16);
	f[len + 3] = (uint8_t)(crc >> 24);
	return len + 4;
}

/* Untagged FPDU; returns its length without padding and CRC. */
static inline size_t raw_untagged(uint8_t *f, unsigned int op, bool last,
				  uint32_t word, uint32_t qn, uint32_t msn,
				  uint32_t mo, const void *p, size_t len)
{
	put16(f, (unsigned int)(18 + len));
	f[2] = (uint8_t)((last ? 0x40 : 0) | 0x01);
	f[3] = (uint8_t)(0x40 | op);
	put32(f + 4, word);
	put32(f + 8, qn);
	put32(f + 12, msn);
	put32(f + 16, mo);
	if (len)
		memcpy(f + 20, p, len);
	return 20 + len;
}

static inline size_t raw_tagged(uint8_t *f, unsigned int op, bool last,
				uint32_t stag, uint64_t to, const void *p,
				size_t len)
{
	put16(f, (unsigned int)(14 + len));
	f[2] = (uint8_t)(0x80 | (last ? 0x40 : 0) | 0x01);
	f[3] = (uint8_t)(0x40 | op);
	put32(f + 4, stag);
	put64(f + 8, to);
	if (len)
		memcpy(f + 16, p, len);
	return 16 + len;
}

static inline size_t raw_read_req(uint8_t *f, uint32_t msn, uint32_t sink,
				  uint64_t sink_to, uint32_t size, uint32_t src,
				  uint64_t src_to)
{
	uint8_t b[28];

	put32(b, sink);
	put64(b + 4, sink_to);
	put32(b + 12, size);
	put32(b + 16, src);
	put64(b + 20, src_to);
	return raw_untagged(f, 1, true, 0, 1, msn, 0, b, sizeof(b));
}

/* Length of the whole FPDU at the front of what came in, 0: not there. */
static inline size_t raw_fpdu(const struct raw *r)
{
	size_t len;

	if (r->in_len < 4)
		return 0;
	len = 2 + ((size_t)r->in[0] << 8 | r->in[1]);
	len = (len + 3) / 4 * 4 + 4;
	return r->in_len >= len ? len : 0;
}

static inline void raw_check_crc(const struct raw *r, size_t len)
{
	uint32_t crc = r->crc ? raw_crc(r->in, len - 4) : 0;
	const uint8_t *p = r->in + len - 4;

	CU_ASSERT_EQUAL((uint32_t)p[0] | (uint32_t)p[1] << 8 |
				(uint32_t)p[2] << 16 | (uint32_t)p[3] << 24,
			crc);
}

/* An MPA request or reply of revision 1 with nothing special. */
static inline size_t raw_mpa(uint8_t *f, bool reply, unsigned int flags,
			     unsigned int rev, const void *p, size_t len)
{
	memcpy(f, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	f[16] = (uint8_t)flags;
	f[17] = (uint8_t)rev;
	put16(f + 18, (unsigned int)len);
	if (len)
		memcpy(f + 20, p, len);
	return 20 + len;
}

/* Connect to the world's listener and start up; the peer is w->srv. */
static inline void raw_connect(struct world *w, struct raw *r, bool crc)
{
	uint8_t f[64];

	raw_dial(r, &w->addr);
	raw_write(w, r, f, raw_mpa(f, false, crc ? 0x40 : 0, 1, NULL, 0));
	RAW_UNTIL(w, r, r->in_len >= 20);
	r->crc = r->in[16] & 0x40;
	CU_ASSERT_EQUAL(memcmp(r->in, "MPA ID Rep Frame", 16), 0);
	CU_ASSERT_EQUAL(r->in[17], 1);
	raw_drop(r, 20);
	RAW_UNTIL(w, r, w->srv.established);
}

#endif /* RPCRDMA_TEST_IWARP_RAW_H */
