/* SPDX-License-Identifier: BSD-3-Clause */
/* mpa - start-up frames of MPA (RFC 5044 section 7.1, RFC 6581 section 9) */
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
/* A read depth that is not negotiated (RFC 6581 9.1). */
#define MPA_DEPTH_NONE 0x3fffu

struct mpa_frame {
	bool reply;
	uint8_t rev;
	bool markers, crc, reject;
	/* Revision 2 with control words in front of the private data. */
	bool enhanced;
	bool p2p, rtr_send, rtr_write, rtr_read;
	uint16_t ird, ord;
	/* Without the control words. */
	const uint8_t *priv;
	size_t priv_len;
};

/* @buf has MPA_FRAME_MAX octets. Returns the length, or -EINVAL. */
int iw_mpa_encode(uint8_t *buf, const struct mpa_frame *f);
/*
 * Decode what has arrived. Returns the length of a complete frame, 0 if more is
 * needed, -EPROTO if it is no such frame. Sets *@need to the octets that are
 * certainly part of the frame.
 */
int iw_mpa_decode(const uint8_t *buf, size_t len, bool reply,
		  struct mpa_frame *f, size_t *need);
/* Returns true if both ends of the connection are on one machine. */
bool iw_mpa_same_machine(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b);

#endif /* RPCRDMA_IWARP_MPA_H */
