/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request - the Requester role: Calls sent, and the Replies to them
 */
#ifndef RPCRDMA_TRANSPORT_REQUEST_H
#define RPCRDMA_TRANSPORT_REQUEST_H

#include "rpcrdma/transport.h"
#include "rpcrdma/wire.h"

/* Where a DDP-eligible result may be placed: one Write chunk. */
struct rt_sink {
	void *addr; /* NULL: an empty chunk, the item comes inline */
	size_t len;
	struct fab_mr *mr;
	/* If the sink is in several pieces: all of them, @len octets together. */
	const struct rt_piece *pieces;
	unsigned int npieces;
	size_t used; /* set by the transport: octets returned */
	bool in_stream; /* set by the transport: the result is in the Reply instead */
};

struct rt_request {
	/* Set by the upper layer before submit; kept until done. */
	uint32_t xid; /* also the first word of the payload */
	const struct rt_piece *pieces;
	unsigned int npieces;
	const struct rt_item *items; /* eligible arguments to reduce */
	unsigned int nitems;
	struct rt_sink *sinks; /* one per eligible result, in order */
	unsigned int nsinks;
	/* The longest reduced Reply. 0: unknown, which costs version 1 a Reply chunk of
	 * the longest message, and a Call with `once` in version 2 one of 128 KiB. */
	size_t reply_max;
	/* The Call must not be executed twice: if the Reply may not fit inline, always
	 * offer a Reply chunk [D8]. */
	bool once;
	/* Reverse direction: the longest Call that the client's upper layer
	 * accepts. Chunks are used only if it exceeds the threshold [F4]. */
	uint32_t call_max;
	unsigned int op_class; /* opclass.h */
	bool call_only; /* no Reply will come (4.7); version 2 only */
	void (*done)(struct rt_request *rq); /* strand */

	/*
	 * Set when done is called. @status is
	 *   0                 the (reduced) Reply is in @reply until rt_request_reset()
	 *                     or rt_request_free(); results with a sink may be in it
	 *   -EREMOTEIO        the peer has answered by an ERROR, which is in @error
	 *   -ECONNRESET       the connection ended; the Call may have been executed
	 *   -EPROTO           the Reply was malformed or refused
	 * With all others the Call was not sent:
	 *   -ENOTCONN         the connection is ending
	 *   -EOPNOTSUPP       the client accepts no reverse Calls
	 *   -EEXIST           a Call with this XID is outstanding
	 *   -E2BIG            no format that the peer accepts holds the Call
	 *   -EPROTONOSUPPORT  the peer has refused all header types that do (7.1.3)
	 *   -EINVAL           a payload under 4 octets, items that overlap or lie
	 *                     outside of it, a sink without registration
	 *   -ENOMEM
	 */
	int status;
	struct wire_error error;
	unsigned int nreply;
	struct rt_piece reply[RT_MAX_PIECES];
	size_t reply_len;
};

/* Returns a request, or NULL if there is no memory. Context: any thread. */
struct rt_request *rt_request_alloc(struct rt_instance *inst);
/* Returns the upper layer's own request_user_size octets, which rt_request_alloc()
 * zeroes. */
void *rt_request_user(struct rt_request *rq);
/* Give back the buffers of the Reply. Context: any thread. */
void rt_request_reset(struct rt_request *rq);
void rt_request_free(struct rt_request *rq);
/* Returns true if the payload received is an RPC Reply to @rq. If not, the peer gets an
 * ERROR (7.2.1, [E8]), and the upper layer ends the request. Context: strand, in done
 * with status 0. */
bool rt_response_is_reply(struct rt_conn *c, const struct rt_request *rq);
/* Send @rq. done is called exactly once, perhaps before this returns. Context: any
 * thread. */
void rt_request_submit(struct rt_conn *c, struct rt_request *rq);
/*
 * Hold the strand, so that rt_conn_unhold() sends the requests together that are
 * submitted meanwhile. Returns false if another thread has the strand; then do not call
 * rt_conn_unhold(). Hold it no longer than it takes to submit. Context: any thread, but
 * not within an operation.
 */
bool rt_conn_hold(struct rt_conn *c);
void rt_conn_unhold(struct rt_conn *c);
/*
 * Returns true if this end may send a Call now. On a server the client must have
 * announced support of the reverse direction in its properties; in version 1 nothing
 * announces it. Only the upper layer knows whether there is a back channel (4.6.3 [F4],
 * [G5]). Context: any thread.
 */
bool rt_conn_can_call(struct rt_conn *c);
/*
 * Returns true if a Call of the peer that is in progress may have this XID, and also for
 * some XIDs that are not in use. A server uses others for its reverse Calls, because an
 * ERROR has an XID but no direction [E1]. Context: any thread.
 */
bool rt_conn_xid_busy(struct rt_conn *c, uint32_t xid);

#endif /* RPCRDMA_TRANSPORT_REQUEST_H */
