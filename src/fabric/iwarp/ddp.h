/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ddp - layout of FPDUs, DDP segments and RDMAP messages
 *
 * FPDU (RFC 5044 section 4): ULPDU length (2), ULPDU, padding to a multiple of
 * four, CRC (4). The ULPDU is one DDP segment (RFC 5041 section 4):
 *
 *   tagged:   control (2), STag (4), tagged offset (8), payload
 *   untagged: control (2), RDMAP's word (4), QN (4), MSN (4), MO (4), payload
 */
#ifndef RPCRDMA_IWARP_DDP_H
#define RPCRDMA_IWARP_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/be.h"

#define MPA_LEN_SIZE 2u
#define MPA_CRC_SIZE 4u
#define MPA_MAX_ULPDU 65535u

/* DDP headers, as counted by the ULPDU length. */
#define DDP_TAGGED_SIZE 14u
#define DDP_UNTAGGED_SIZE 18u
#define RDMAP_READ_REQ_SIZE 28u
#define RDMAP_TERM_CTRL_SIZE 4u

/* Control, segment length, untagged header, Read Request header. */
#define RDMAP_TERM_MAX                                                       \
	(DDP_UNTAGGED_SIZE + RDMAP_TERM_CTRL_SIZE + 2u + DDP_UNTAGGED_SIZE + \
	 RDMAP_READ_REQ_SIZE)

/* First octet: DDP control. */
#define DDP_TAGGED 0x80u
#define DDP_LAST 0x40u
#define DDP_VERSION_MASK 0x03u
#define DDP_VERSION 0x01u
/* Second octet: RDMAP control. */
#define RDMAP_VERSION_MASK 0xc0u
#define RDMAP_VERSION 0x40u
#define RDMAP_OPCODE_MASK 0x0fu

enum rdmap_opcode {
	RDMAP_WRITE = 0,
	RDMAP_READ_REQ = 1,
	RDMAP_READ_RESP = 2,
	RDMAP_SEND = 3,
	RDMAP_SEND_INV = 4,
	RDMAP_SEND_SE = 5,
	RDMAP_SEND_SE_INV = 6,
	RDMAP_TERMINATE = 7,
};

enum ddp_queue {
	DDP_QN_SEND = 0,
	DDP_QN_READ_REQ = 1,
	DDP_QN_TERMINATE = 2,
	DDP_QN_COUNT = 3,
};

/* Offsets from the start of the FPDU, length field included. */
enum {
	OFF_ULPDU_LEN = 0,
	OFF_DDP_CTRL = 2,
	OFF_RDMAP_CTRL = 3,
	OFF_TAGGED_STAG = 4,
	OFF_TAGGED_TO = 8,
	OFF_TAGGED_PAYLOAD = 16,
	OFF_UNTAGGED_WORD = 4, /* STag to invalidate, or reserved */
	OFF_UNTAGGED_QN = 8,
	OFF_UNTAGGED_MSN = 12,
	OFF_UNTAGGED_MO = 16,
	OFF_UNTAGGED_PAYLOAD = 20,
	OFF_RREQ_SINK_STAG = 20,
	OFF_RREQ_SINK_TO = 24,
	OFF_RREQ_SIZE = 32,
	OFF_RREQ_SRC_STAG = 36,
	OFF_RREQ_SRC_TO = 40,
	OFF_RREQ_END = 48,
};

/* Length field, ULPDU and padding are a multiple of four. */
static inline unsigned int mpa_pad(unsigned int ulpdu_len)
{
	return (4u - ((ulpdu_len + MPA_LEN_SIZE) & 3u)) & 3u;
}

static inline void ddp_put_ctrl(uint8_t *f, uint16_t ulpdu_len, bool tagged,
				bool last, enum rdmap_opcode op)
{
	be16_put(f + OFF_ULPDU_LEN, ulpdu_len);
	f[OFF_DDP_CTRL] = (uint8_t)((tagged ? DDP_TAGGED : 0u) |
				    (last ? DDP_LAST : 0u) | DDP_VERSION);
	f[OFF_RDMAP_CTRL] = (uint8_t)(RDMAP_VERSION | (unsigned int)op);
}

static inline void ddp_put_tagged(uint8_t *f, uint32_t stag, uint64_t to)
{
	be32_put(f + OFF_TAGGED_STAG, stag);
	be64_put(f + OFF_TAGGED_TO, to);
}

static inline void ddp_put_untagged(uint8_t *f, uint32_t word,
				    enum ddp_queue qn, uint32_t msn,
				    uint32_t mo)
{
	be32_put(f + OFF_UNTAGGED_WORD, word);
	be32_put(f + OFF_UNTAGGED_QN, (uint32_t)qn);
	be32_put(f + OFF_UNTAGGED_MSN, msn);
	be32_put(f + OFF_UNTAGGED_MO, mo);
}

#endif /* RPCRDMA_IWARP_DDP_H */
