/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer - a peer on the wire that does what the input says
 *
 * A step sends a message (any octets, or one of a type with lists that point to
 * memory that is open, or is not), answers a Call that came, or moves the clock.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_FUZZ_PEER_H
#define RPCRDMA_FUZZ_PEER_H

#include "fuzz.h"
#include "rt_raw.h"

#define FUZZ_SEGS 24
#define FUZZ_CHUNKS 4
#define FUZZ_OPEN 8

/* The chunks of the last Call that came from the transport. */
struct fuzz_offer {
	uint32_t xid;
	unsigned int nwrites, nreads;
	struct wire_chunk_desc writes[FUZZ_CHUNKS];
	struct wire_segment seg[FUZZ_SEGS];
	struct wire_read_segment reads[FUZZ_SEGS];
	struct wire_chunk_desc reply;
	bool has_reply;
};

struct fuzz_peer {
	struct rt_raw r;
	struct fuzz_offer offer;
	struct wire_segment open[FUZZ_OPEN];
	uint32_t vers, xid;
	uint32_t asked; /* the XID of the transport's last REQXCH */
};

/* Open some memory to the other end of the connection, which is new. */
void fuzz_peer_open(struct fuzz_peer *f);
/* As rt_raw_greet(), with what the peer takes of xcharext, and of rtrext if @rtr. */
void fuzz_peer_greet(struct fuzz_peer *f, bool rtr);
/* Make the step that @op and @in say. Returns false if @op is not one of the peer's:
 * 9, 10, 14 and 15 in its low bits. */
bool fuzz_peer_step(struct fuzz_peer *f, struct fuzz_in *in, uint8_t op);

#endif /* RPCRDMA_FUZZ_PEER_H */
