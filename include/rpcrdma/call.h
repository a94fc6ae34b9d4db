/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - the Responder role: Calls received, and their Replies
 */
#ifndef RPCRDMA_TRANSPORT_CALL_H
#define RPCRDMA_TRANSPORT_CALL_H

#include "rpcrdma/config.h"
#include "rpcrdma/transport.h"

/* While memory is short the upper layer may take so many buffers of the pool, by
 * fab_pool_get_promised(), for its Reply to a Call. */
#define RT_CALL_PROMISED 2

/* A Call before its data items are read. */
struct rt_vet {
	/* Its stream without them: what is before the first is also how the whole
	 * begins. */
	const struct rt_piece *pieces;
	unsigned int npieces;
	/* So many Read chunks, and the first of them, in order. */
	unsigned int total, nreads;
	struct rt_vet_read {
		uint32_t position;
		uint32_t length;
	} reads[RT_MAX_CHUNKS];
	/* Positions are beyond the end of the stream; or the upper layer says
	 * so of chunks that do not go with it. If that is all that is wrong,
	 * the Call is delivered as a torn one. */
	bool torn;
	/* rt_call_user() of the Call: what is left here is there when it is
	 * delivered (rt_call.vetted). */
	void *user;
};

/*
 * One RPC Call received. Read-only for the upper layer but for its own area and
 * op_class; and it may shorten the stream.
 * The pieces are the whole, unreduced Payload stream, in order; read chunks
 * and their roundup are in place. They stay until the call is given back.
 */
struct rt_call {
	struct rt_conn *conn;
	uint32_t xid;
	bool reverse; /* came in the reverse direction */
	unsigned int npieces;
	struct rt_piece pieces[RT_MAX_PIECES];
	size_t len;
	/* Write chunks offered, in order: their lengths, 0 for empty. */
	unsigned int nwrites;
	uint32_t writes[RT_MAX_CHUNKS];
	bool has_reply_chunk;
	unsigned int op_class; /* set by the upper layer, opclass.h */
	/* rtrext: that is for the results of some operations only, so the
	 * items of the Reply should say their origin. */
	bool ranged;
	/* Its data items are not in the stream, because the Positions of some
	 * are beyond its end, or vet() has said that they do not go with it:
	 * arguments that cannot be read (7.2). */
	bool torn;
	bool vetted; /* vet() has seen it, and its area is as that has left it */
};

/*
 * Its execution begins; what has passed since it was delivered was waiting for
 * a thread. Once, by any thread that has the call. Where nobody says so, all
 * of that counts as execution.
 */
void rt_call_begin(struct rt_call *call);
/* The call_user_size octets. What is in them when a Call is delivered that has not
 * been vetted is left over from others. */
void *rt_call_user(struct rt_call *call);

/*
 * A Reply. @pieces is the unreduced payload stream (a multiple of four octets
 * long); @items its DDP-eligible results in operation order. All of it, the
 * arrays too, must stay until @done is called (strand; any thread, also
 * before rt_reply() returns), which must not block.
 */
struct rt_reply {
	const struct rt_piece *pieces;
	unsigned int npieces;
	const struct rt_item *items;
	unsigned int nitems;
	/* MSG_DENIED, as no client may send that header: a wrong message */
	bool denial;
	void (*done)(void *arg);
	void *arg;
};

/*
 * Answer: pairs items with Write chunks and chooses the format by D7. Any
 * thread, never blocks. The call is given back. After the end of the
 * connection the Reply is dropped (done is still called).
 * Returns 0; -ENOTCONN, if it is known already that it will be dropped; -E2BIG
 * (more than RT_MAX_PIECES) or -EINVAL (a length under 4 or not a multiple of 4)
 * for an impossible Reply: then the peer gets RDMA2_ERR_SYSTEM, the call is
 * given back all the same, done is called. The same happens, unseen by the
 * caller, if items lie outside or over each other.
 */
int rt_reply(struct rt_call *call, const struct rt_reply *reply);
/*
 * Answer with an ERROR what is no RPC Call, so that no Reply can be made. In
 * version 1 every @code is ERR_CHUNK. Counted. Any thread, as rt_reply().
 */
void rt_call_refuse(struct rt_call *call, uint32_t code);
/* No answer; the credit goes back to the peer. Any thread. */
void rt_call_drop(struct rt_call *call);
/*
 * Not now: the operations' resume, which must be there, comes for it when
 * rt_conn_replies_full() no longer holds or the connection has ended; perhaps
 * before this returns. The call stays the upper layer's. Any thread, never blocks.
 */
void rt_call_wait(struct rt_call *call);
/*
 * Server, of whoever is about to execute a Call of it: more Replies wait for
 * the connections of this one's host than they may, and some of them for this
 * one, or another Call of it is being executed. Then this one better waits:
 * rt_call_wait(). Any thread.
 */
bool rt_conn_replies_full(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_CALL_H */
