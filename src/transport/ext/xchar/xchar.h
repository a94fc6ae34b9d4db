/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xchar - what a connection keeps for xcharext, docs/protocol.md
 *
 * All of it is the runner's.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_XCHAR_H
#define RPCRDMA_TRANSPORT_EXT_XCHAR_H

#include "rpcrdma/xchar.h"
#include "transport/core/own.h"
#include "transport/requester/requester.h"

/* Values in one REQXCH that are answered; as many as 4096 octets hold. */
#define RT_XCHAR_VALUES 512
#define RT_XCHAR_WORDS (RT_XCHAR_VALUES / 32)
/* A busy client: so many Calls within that time, and a quarter of them, or of
 * their Replies, longer than the buffers. */
#define RT_XCHAR_LOOK 256
#define RT_XCHAR_LOOK_MS 10000
/* Of max_memory: how much may be in use that Receives are still raised. */
#define RT_XCHAR_SHARE 2

/* A RESPXCH that waits for a credit: which values are done, pending, and (all
 * others) rejected. */
struct rt_xchar_resp {
	struct rt_xchar_resp *next;
	uint32_t xid;
	uint32_t count;
	uint32_t done[RT_XCHAR_WORDS], pend[RT_XCHAR_WORDS];
};

struct rt_xchar {
	/* XCHSUPP_* of the peer; 0: there is no such extension here. */
	uint32_t peer;
	bool refused; /* nothing of it goes to this peer any more [M2] */
	bool init_sent, init_taken;
	uint32_t fixed; /* what the peer said would not change: 1 << id */

	/* Our Receives are being raised (c->recv_target), and the peer has
	 * asked. When none that is posted is shorter UPDXCH goes, and
	 * ours.recv_size is the new one. */
	bool asked;

	/* Our request about the peer's: wanted, sent, answered "pending". */
	uint32_t ask;
	bool asking, pending;
	uint32_t asked_xid, asked_for;

	struct rt_xchar_resp *resp, **resp_tail;
	unsigned int nresp;
	struct rt_xids sent;

	/* Policy: when and at which counts it last looked. */
	uint64_t looked;
	struct {
		uint64_t calls, long_calls, reads, read_bytes, long_replies;
	} then;
	uint64_t rpcs; /* all Calls, either way, when it last looked for idling */
	bool idle_asked;
};

extern const struct rt_part rt_part_xchar;
extern const struct rt_ext rt_ext_xchar;

static inline struct rt_xchar *xchar(const struct rt_conn *c)
{
	return c->ext[RT_SLOT_XCHAR];
}

/* xchar.c */
/* The end of it: of the connection, or because the peer refuses it. */
void rt_xchar_reset(struct rt_conn *c);
int rt_xchar_init(struct rt_conn *c);

/* resize.c */
/* Make our Receives longer. False: that cannot be. */
bool rt_xchar_raise(struct rt_conn *c, uint32_t size);
/* Is all that is posted as long as what is to be announced? */
bool rt_xchar_raised(const struct rt_conn *c);
/* UPDXCH with the new size goes now. Was it asked for? */
bool rt_xchar_raise_done(struct rt_conn *c);
/* REQXCH; 0, or how it is refused. */
uint32_t rt_xchar_request(struct rt_conn *c, const struct wire_xchar *m);

#endif /* RPCRDMA_TRANSPORT_EXT_XCHAR_H */
