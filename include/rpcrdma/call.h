/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - the Responder role: Calls received, and their Replies
 */
#ifndef RPCRDMA_TRANSPORT_CALL_H
#define RPCRDMA_TRANSPORT_CALL_H

#include "rpcrdma/config.h"
#include "rpcrdma/transport.h"

/* While memory is short, the upper layer may get so many buffers for the Reply to a Call
 * from fab_pool_get_promised(). */
#define RT_CALL_PROMISED 2

/* A Call before its data items are read. */
struct rt_vet {
	/* The payload stream without the data items of Read chunks. What precedes the first
	 * item is what precedes it in the whole stream. */
	const struct rt_piece *pieces;
	unsigned int npieces;
	/* How many Read chunks the Call has, and the first @nreads of them, in order. */
	unsigned int total, nreads;
	struct rt_vet_read {
		uint32_t position;
		uint32_t length;
	} reads[RT_MAX_CHUNKS];
	/* Set if Positions are beyond the end of the stream. The upper layer may set it
	 * if the chunks do not fit the arguments. If nothing else is wrong, the Call is
	 * delivered with rt_call.torn. */
	bool torn;
	/* rt_call_user() of the Call. Its contents are kept until the Call is
	 * delivered (rt_call.vetted). */
	void *user;
};

/*
 * One RPC Call received. The upper layer may change only rt_call_user() and op_class, and
 * shorten the stream. The pieces are the whole, unreduced payload stream, in order,
 * including Read chunks and their roundup. They are valid until the Call is given back.
 */
struct rt_call {
	struct rt_conn *conn;
	uint32_t xid;
	bool reverse; /* of the reverse direction */
	unsigned int npieces;
	struct rt_piece pieces[RT_MAX_PIECES];
	size_t len;
	/* Write chunks offered, in order: their lengths, 0 for empty. */
	unsigned int nwrites;
	uint32_t writes[RT_MAX_CHUNKS];
	bool has_reply_chunk;
	unsigned int op_class; /* set by the upper layer, opclass.h */
	/* rtrext: Write chunks are for the results of some operations only, so the
	 * items of the Reply should have their origin. */
	bool ranged;
	/* The arguments cannot be decoded (7.2): the data items are not in the stream,
	 * because some Positions are beyond its end, or the vet operation said so. */
	bool torn;
	bool vetted; /* vet was called, and rt_call_user() is as it left it */
};

/*
 * Note that the execution of the Call begins: the time since its delivery counts as waiting
 * for a thread, and what was read for it is no longer under way (flow/reads.c). Without this,
 * all of the time counts as execution, and its data as under way until it is given back.
 * Call it once at most. Context: any thread that has the Call.
 */
void rt_call_begin(struct rt_call *call);
/* Returns the upper layer's own call_user_size octets of the Call. Unless it was vetted,
 * their contents are undefined when it is delivered. */
void *rt_call_user(struct rt_call *call);

/*
 * A Reply. @pieces is the unreduced payload stream (a multiple of four octets long),
 * @items its DDP-eligible results in the order of operations. The arrays and the payload
 * must exist until @done is called (strand; by any thread, perhaps before rt_reply()
 * returns).
 */
struct rt_reply {
	const struct rt_piece *pieces;
	unsigned int npieces;
	const struct rt_item *items;
	unsigned int nitems;
	/* MSG_DENIED for a header that no client may send: counts as a bad message */
	bool denial;
	void (*done)(void *arg);
	void *arg;
};

/*
 * Answer @call, which is given back. Pairs items with Write chunks and chooses the format
 * by [D7]. Never blocks. After the end of the connection the Reply is dropped. Whatever
 * this returns, @call is given back and done will be called. Returns 0; -ENOTCONN if it
 * is already known that the Reply will be dropped; or, if the Reply is impossible, -E2BIG
 * (more than RT_MAX_PIECES) or -EINVAL (a length under 4 or not a multiple of 4): then
 * the peer gets RDMA2_ERR_SYSTEM. It also does, with 0, if items overlap or lie outside
 * of the stream. Context: any thread.
 */
int rt_reply(struct rt_call *call, const struct rt_reply *reply);
/*
 * Answer by an ERROR, if @call is no RPC Call and so cannot have a Reply. In version 1
 * every @code is sent as ERR_CHUNK. Context: any thread.
 */
void rt_call_refuse(struct rt_call *call, uint32_t code);
/* Give @call back without an answer. The credit returns to the peer. Context: any
 * thread. */
void rt_call_drop(struct rt_call *call);
/*
 * Have the resume operation called with @call when rt_conn_replies_full() is false or the
 * connection has ended, perhaps before this returns. @call still belongs to the upper
 * layer. Never blocks. Context: any thread.
 */
void rt_call_wait(struct rt_call *call);
/*
 * Server: returns true if a Call that is about to be executed should wait
 * (rt_call_wait()): the Replies queued for the host's connections exceed their limit, and
 * some of them are for this connection, or it has another Call that is being executed.
 * Context: any thread.
 */
bool rt_conn_replies_full(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_CALL_H */
