/* SPDX-License-Identifier: BSD-3-Clause */
/* terminate - the Terminate message (RFC 5040 sections 4.8 and 7) */
#ifndef RPCRDMA_IWARP_TERMINATE_H
#define RPCRDMA_IWARP_TERMINATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddp.h"

enum term_layer { TERM_RDMAP = 0, TERM_DDP = 1, TERM_LLP = 2 };

/* Layer, error type and error code in one number. */
#define TERM_CAUSE(layer, etype, code)                              \
	((unsigned int)(layer) << 12 | (unsigned int)(etype) << 8 | \
	 (unsigned int)(code))

enum term_cause {
	/* RDMAP: remote protection (1) and remote operation (2). */
	TERM_RDMAP_STAG = TERM_CAUSE(TERM_RDMAP, 1, 0x00),
	TERM_RDMAP_BOUNDS = TERM_CAUSE(TERM_RDMAP, 1, 0x01),
	TERM_RDMAP_ACCESS = TERM_CAUSE(TERM_RDMAP, 1, 0x02),
	TERM_RDMAP_WRAP = TERM_CAUSE(TERM_RDMAP, 1, 0x04),
	TERM_RDMAP_NO_INVALIDATE = TERM_CAUSE(TERM_RDMAP, 1, 0x09),
	TERM_RDMAP_VERSION = TERM_CAUSE(TERM_RDMAP, 2, 0x05),
	TERM_RDMAP_OPCODE = TERM_CAUSE(TERM_RDMAP, 2, 0x06),
	TERM_RDMAP_STREAM = TERM_CAUSE(TERM_RDMAP, 2, 0x07),
	/* DDP: local catastrophic (0), tagged (1) and untagged (2) buffer. */
	TERM_DDP_CATASTROPHIC = TERM_CAUSE(TERM_DDP, 0, 0x00),
	TERM_DDP_STAG = TERM_CAUSE(TERM_DDP, 1, 0x00),
	TERM_DDP_BOUNDS = TERM_CAUSE(TERM_DDP, 1, 0x01),
	TERM_DDP_WRAP = TERM_CAUSE(TERM_DDP, 1, 0x03),
	TERM_DDP_TAGGED_VERSION = TERM_CAUSE(TERM_DDP, 1, 0x04),
	TERM_DDP_QN = TERM_CAUSE(TERM_DDP, 2, 0x01),
	TERM_DDP_NO_BUFFER = TERM_CAUSE(TERM_DDP, 2, 0x02),
	TERM_DDP_MSN = TERM_CAUSE(TERM_DDP, 2, 0x03),
	TERM_DDP_MO = TERM_CAUSE(TERM_DDP, 2, 0x04),
	TERM_DDP_TOO_LONG = TERM_CAUSE(TERM_DDP, 2, 0x05),
	TERM_DDP_UNTAGGED_VERSION = TERM_CAUSE(TERM_DDP, 2, 0x06),
	/* LLP: MPA (0). */
	TERM_MPA_CRC = TERM_CAUSE(TERM_LLP, 0, 0x02),
	TERM_MPA_IRD = TERM_CAUSE(TERM_LLP, 0, 0x06),
};

/*
 * Encode a Terminate. @bad: headers of the FPDU that caused it, or NULL.
 * Returns the length without padding and CRC, which the caller adds.
 */
#define TERM_FPDU_MAX (MPA_LEN_SIZE + RDMAP_TERM_MAX + 3u + MPA_CRC_SIZE)
size_t iw_term_encode(uint8_t *buf, unsigned int cause, const uint8_t *bad);
const char *iw_term_text(unsigned int cause);
/* @ctrl: the control word of a received Terminate. */
unsigned int iw_term_cause(uint32_t ctrl);

#endif /* RPCRDMA_IWARP_TERMINATE_H */
