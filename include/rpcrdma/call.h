/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - the Responder role: Calls received, and their Replies
 */
#ifndef RPCRDMA_TRANSPORT_CALL_H
#define RPCRDMA_TRANSPORT_CALL_H

#include "rpcrdma/config.h"
#include "rpcrdma/transport.h"

/* While memory is short, the upper layer may take so many buffers for its Reply to a Call by
 * fab_pool_get_promised(). */
#define RT_CALL_PROMISED 2

/* A Call before its data items are read. */
struct rt_vet {
	/* Its stream without the items. The part before the first item is also the
	 * beginning of the whole stream. */
	const struct rt_piece *pieces;
	unsigned int npieces;
	/* How many Read chunks it has, and the first @nreads of them, in order. */
	unsigned int total, nreads;
	struct rt_vet_read {
		uint32_t position;
		uint32_t length;
	} reads[RT_MAX_CHUNKS];
	/* Set if Positions are beyond the end of the stream; the upper layer may set
	 * it for chunks that do not fit the arguments. If nothing else is wrong, the
	 * Call is delivered as a torn one. */
	bool torn;
	/* rt_call_user() of the Call. Its contents are kept until the Call is
	 * delivered (rt_call.vetted). */
	void *user;
};

/*
 * One RPC Call received. The upper layer may change only its own area and
 * op_class, and shorten the stream. The pieces are the whole, unreduced payload
 * stream, in order, with Read chunks and their roundup in place. They are valid
 * until the Call is given back.
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
	/* The arguments cannot be decoded (7.2): the data items are not in the
	 * stream, because Positions of some are beyond its end, or vet() has
	 * found that they do not fit. */
	bool torn;
	bool vetted; /* vet() was called, and the area is as it left it */
};

/*
 * Note that its execution begins, so that the time since its delivery counts as
 * waiting for a thread. Call it once, or not at all: then all counts as
 * execution. Context: any thread that has the Call.
 */
void rt_call_begin(struct rt_call *call);
/* Returns the call_user_size octets. Unless the Call was vetted, their contents are undefined
 * when it is delivered. */
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
 * Answer @call, which is given back. Pair items with Write chunks and choose the
 * format by [D7]. Never blocks. After the end of the connection the Reply is
 * dropped, and done is still called.
 * Returns 0; -ENOTCONN if it is already known that it will be dropped; -E2BIG
 * (more than RT_MAX_PIECES) or -EINVAL (a length under 4 or not a multiple of 4)
 * for an impossible Reply: then the peer gets RDMA2_ERR_SYSTEM, @call is given
 * back and done is called all the same. So it is, with 0, if items overlap or lie
 * outside of the stream. Context: any thread.
 */
int rt_reply(struct rt_call *call, const struct rt_reply *reply);
/*
 * Answer with an ERROR what is no RPC Call, so that no Reply can be made. In
 * version 1 every @code is ERR_CHUNK. It is counted. Context: as rt_reply().
 */
void rt_call_refuse(struct rt_call *call, uint32_t code);
/* Give @call back without an answer. The credit returns to the peer. Context: any thread. */
void rt_call_drop(struct rt_call *call);
/*
 * Have the resume operation called with @call when rt_conn_replies_full() is false
 * or the connection has ended, perhaps before this returns. @call stays the upper
 * layer's. Never blocks. Context: any thread.
 */
void rt_call_wait(struct rt_call *call);
/*
 * Server: returns true if a Call that is about to be executed should wait
 * (rt_call_wait()): more Replies are queued for the host's connections than
 * allowed, and some of them for this connection, or another Call of it is being
 * executed. Context: any thread.
 */
bool rt_conn_replies_full(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_CALL_H */
