/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpa - start-up frames of MPA (RFC 5044 section 7.1, RFC 6581 section 9)
 *
 * Threads: pure functions.
 */
#ifndef RPCRDMA_IWARP_MPA_H
#define RPCRDMA_IWARP_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define MPA_FRAME_HDR 20u
#define MPA_MAX_PD 512u
#define MPA_V2_CTRL 4u
#define MPA_FRAME_MAX (MPA_FRAME_HDR + MPA_MAX_PD)
/* This value of a read depth means "not negotiated" (RFC 6581 9.1). */
#define MPA_DEPTH_NONE 0x3fffu

struct mpa_frame {
	bool reply;
	uint8_t rev;
	bool markers, crc, reject;
	/* Revision 2 with the enhanced control words in the private data. */
	bool enhanced;
	bool p2p, rtr_send, rtr_write, rtr_read;
	uint16_t ird, ord;
	/* Private data without the control words. */
	const uint8_t *priv;
	size_t priv_len;
};

/* Octets written to @buf, which has MPA_FRAME_MAX, or -EINVAL. */
int iw_mpa_encode(uint8_t *buf, const struct mpa_frame *f);
/*
 * Decode what has arrived so far. Returns the length of the frame when it is
 * all there, 0 when more is needed, or -EPROTO: not such a frame. *need is
 * the octets that are certainly part of the frame, for exact reads.
 */
int iw_mpa_decode(const uint8_t *buf, size_t len, bool reply,
		  struct mpa_frame *f, size_t *need);
/* Addresses of the two ends of a connection: has it never left a machine? */
bool iw_mpa_same_machine(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b);

#endif /* RPCRDMA_IWARP_MPA_H */
