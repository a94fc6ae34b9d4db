/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xchar - xcharext: transport characteristics that change in use (docs/protocol.md)
 *
 * Reading order: xchar_messages.c (its messages), resize.c (our Receives change),
 * policy.c (when).
 *
 * Context: the caller holds the connection's strand.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_XCHAR_H
#define RPCRDMA_TRANSPORT_EXT_XCHAR_H

#include "rpcrdma/xchar.h"
#include "transport/core/room_state.h"
#include "transport/requester/requester.h"

/* Values in one REQXCH at most: as many as 4096 octets hold. */
#define RT_XCHAR_VALUES 512
#define RT_XCHAR_WORDS (RT_XCHAR_VALUES / 32)
/* A client is busy if it makes so many Calls within that time (ms), and a quarter of them,
 * or of their Replies, are longer than the buffers. */
#define RT_XCHAR_LOOK 256
#define RT_XCHAR_LOOK_MS 10000
/* Receives are raised only if less than this fraction of the memory is in use. */
#define RT_XCHAR_SHARE 2

/* A RESPXCH that waits for a credit. Values that are neither done nor pending are
 * rejected. */
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

	/* The peer has asked to raise our Receives, which is under way. When no
	 * posted one is shorter than c->recv_target, UPDXCH is sent. */
	bool asked;

	/* Our request about the peer's Receives: what is wanted, 0 for nothing; it
	 * has been sent; it was answered "pending". */
	uint32_t ask;
	bool asking, pending;
	uint32_t asked_xid, asked_for;

	struct rt_xchar_resp *resp, **resp_tail;
	unsigned int nresp;
	struct rt_xids sent;

	/* policy.c: when it last looked, and the counts then. */
	uint64_t looked;
	struct {
		uint64_t calls, long_calls, reads, read_bytes, long_replies;
	} then;
	uint64_t rpcs; /* Calls, either way, when it last looked for idleness */
	bool idle_asked;
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
/* Begin to raise our Receives. Returns false if that is not possible. */
bool rt_xchar_raise(struct rt_conn *c, uint32_t size);
/* Returns true if all posted Receives have the size that is to be announced. */
bool rt_xchar_raised(const struct rt_conn *c);
/* The new size is announced now. Returns true if the peer had asked for it. */
bool rt_xchar_raise_done(struct rt_conn *c);
/* A REQXCH has come. Returns 0, or the code of an ERROR. */
uint32_t rt_xchar_request(struct rt_conn *c, const struct wire_xchar *m);

#endif /* RPCRDMA_TRANSPORT_EXT_XCHAR_H */
