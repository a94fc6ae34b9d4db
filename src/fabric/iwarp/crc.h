/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc - CRC32c as MPA uses it (RFC 5044 section 4.4; RFC 3720 appendix B.4)
 *
 * ISA-L neither sets the seed nor inverts the result: begin with CRC_SEED and
 * end with crc_final(). The value is sent with its least significant octet
 * first, as RFC 3720 maps the polynomial to octets.
 */
#ifndef RPCRDMA_IWARP_CRC_H
#define RPCRDMA_IWARP_CRC_H

#include <stddef.h>
#include <stdint.h>
#include <isa-l/crc.h>

#define CRC_SEED 0xffffffffu

static inline uint32_t crc_update(uint32_t crc, const void *data, size_t len)
{
	/* ISA-L takes int lengths and a pointer without const. */
	union {
		const void *in;
		unsigned char *out;
	} p = { .in = data };

	while (len) {
		int part = len > (1u << 30) ? 1 << 30 : (int)len;

		crc = crc32_iscsi(p.out, part, crc);
		p.out += part;
		len -= (size_t)part;
	}
	return crc;
}

static inline uint32_t crc_final(uint32_t crc)
{
	return crc ^ 0xffffffffu;
}

static inline void crc_put(uint8_t *p, uint32_t final)
{
	p[0] = (uint8_t) final;
	p[1] = (uint8_t)(final >> 8);
	p[2] = (uint8_t)(final >> 16);
	p[3] = (uint8_t)(final >> 24);
}

static inline uint32_t crc_get(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

#endif /* RPCRDMA_IWARP_CRC_H */
