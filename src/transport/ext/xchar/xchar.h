/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xchar - xcharext: transport characteristics that change in use (docs/protocol.md)
 *
 * Reading order: xchar_messages.c (the messages), resize.c (how our Receives change their
 * size), recv_size_policy.c (when).
 *
 * Context: the caller is the runner.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_XCHAR_H
#define RPCRDMA_TRANSPORT_EXT_XCHAR_H

#include "rpcrdma/xchar.h"
#include "transport/core/room_state.h"
#include "transport/requester/requester.h"

/* Values in one REQXCH at most: as many as 4096 octets hold. */
#define RT_XCHAR_VALUES 512
#define RT_XCHAR_WORDS (RT_XCHAR_VALUES / 32)
/* A client that sends so many Calls within that time (ms) is busy. */
#define RT_XCHAR_SAMPLE 256
#define RT_XCHAR_SAMPLE_MS 10000
/* Receives are raised only while less than this fraction of the memory is in use. */
#define RT_XCHAR_SHARE 2

/* A RESPXCH that waits for a credit. Values that are in neither set are rejected. */
struct rt_xchar_resp {
	struct rt_xchar_resp *next;
	uint32_t xid;
	uint32_t count;
	uint32_t done[RT_XCHAR_WORDS], pend[RT_XCHAR_WORDS];
};

struct rt_xchar {
	/* XCHSUPP_* of the peer, 0 if the extension is not in use. */
	uint32_t peer;
	bool refused; /* by the peer: not used any more [M2] */
	bool init_sent, init_taken;
	uint32_t fixed; /* properties that the peer will not change, 1 << id */

	/* Our Receives are being raised because the peer has asked for it. UPDXCH is sent
	 * when no posted one is shorter than c->recv_target. */
	bool peer_asked;

	/* Our request about the size of the peer's Receives. */
	uint32_t wanted_size; /* to be requested next, or 0 */
	bool request_sent; /* and not answered */
	bool request_pending; /* the answer was "pending" */
	uint32_t request_xid, requested_size;

	struct rt_xchar_resp *resp, **resp_tail;
	unsigned int nresp;
	struct rt_xids sent;

	/* recv_size_policy.c: the last sample of the counters. */
	uint64_t sampled_at; /* ms */
	struct {
		uint64_t calls, long_calls, reads, read_bytes, long_replies;
	} sample;
	uint64_t rpcs; /* Calls in both directions, in the last turn */
	bool idle_asked; /* a request was made since the last Call */
};

extern const struct rt_part rt_part_xchar;
extern const struct rt_ext rt_ext_xchar;

static inline struct rt_xchar *xchar(const struct rt_conn *c)
{
	return c->ext[RT_SLOT_XCHAR];
}

/* xchar_messages.c */
/* The connection has ended, or the peer refuses the extension. */
void rt_xchar_reset(struct rt_conn *c);
int rt_xchar_init(struct rt_conn *c);

/* resize.c */
/* Begin to raise our Receives to @size octets. Returns false if that is not possible. */
bool rt_xchar_raise(struct rt_conn *c, uint32_t size);
/* Returns true if all posted Receives have the size that is to be announced. */
bool rt_xchar_raised(const struct rt_conn *c);
/* Put the new size into force, which is about to be announced. Returns true if the peer
 * had asked for it. */
bool rt_xchar_raise_done(struct rt_conn *c);
/* Carry out a REQXCH. Returns 0, or the code of an ERROR. */
uint32_t rt_xchar_request(struct rt_conn *c, const struct wire_xchar *m);

#endif /* RPCRDMA_TRANSPORT_EXT_XCHAR_H */
