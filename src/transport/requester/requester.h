/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requester - our Calls, until they are done
 *
 * Both ends have a Requester. A server's Calls are those of the reverse direction, the
 * back channel. It may send them once the client's properties allow it
 * (rt_conn_can_call()), and no more at a time than reverse_credits. A client must answer
 * each within reverse_ms, or its connection ends. The Receive for each Reply is posted
 * with the Call (rt_reserve_reverse()), and in version 2 the header of the Call grants
 * the credit that the client's Reply needs [G3].
 *
 * Reading order: request.c (the life of a request, and its sending), format.c (its
 * format, and the memory that is exposed for it), response.c (its Reply).
 *
 * Context: the caller is the runner, unless a comment says otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_REQUESTER_H
#define RPCRDMA_TRANSPORT_REQUESTER_H

#include "transport/message/message.h"

/* Octets allowed for a Reply of unknown length: ACLs and extended attributes have 64
 * KiB. */
#define RT_UNKNOWN_REPLY (128u << 10)

extern const struct rt_part rt_part_requester, rt_part_response;

struct rt_request_priv {
	struct rt_request pub;
	struct rt_mail mail;
	struct rt_closing closing;
	struct rt_instance *inst;
	struct rt_request_priv *next_free;
	struct cds_list_head link; /* rt_requesting.requests while outstanding */
	struct rt_own_call own;
	struct rt_outgoing outgoing;
	bool finished; /* done will be called when nothing is pending */
	bool external;
	bool prepared; /* its format has been chosen */
	/* What the format was chosen for: see the members of struct rt_conn. */
	uint32_t props_generation, threshold, refused_htypes;
	/* How many Read and Write chunks, and whether Call and Reply chunks, the peer
	 * accepts for this Call, as an ERROR has said [D8]. */
	uint32_t max_reads, max_writes;
	bool no_call_chunk, no_reply_chunk;
	bool resent; /* because of that; the ERROR is in pub.error */
	/* An ERROR, in pub.error, was received before all of the Call had been sent. It
	 * is handled then [D3]. */
	bool error_deferred;
	uint64_t submitted, sent; /* CLOCK_MONOTONIC, ns */
	unsigned int
		sends_pending; /* including ranges of memory that are being closed */
	struct fab_buf *bufs; /* of the Reply, or of a copied Call */
	struct fab_buf *reply_buf; /* of the Reply chunk */
	struct rt_out out;
	struct rt_cuts cuts;
	uint32_t inv_handle;
	/* The memory that is exposed, in the order of the header's lists: seg has the
	 * Write and Reply chunks, rseg the Call chunk and the Read list. */
	unsigned int nsegs, nrsegs;
	struct wire_segment seg[RT_MAX_SEGMENTS];
	struct wire_read_segment rseg[RT_MAX_SEGMENTS];
	unsigned int nbody; /* segments of the Call chunk */
	unsigned int nwrites;
	struct wire_chunk_desc write[RT_MAX_CHUNKS];
	struct wire_chunk_desc reply_chunk;
	const struct rt_request_format *format; /* NULL: base messages */
	bool base_only; /* the peer has refused another format */
	uint64_t user[]; /* request_user_size octets, then the format's room */
};

/* How an extension sends Calls, other than by base messages: rt_conn.ext_format. */
struct rt_request_format {
	/* Initialize its part of a new request. */
	void (*reset)(struct rt_request_priv *rq);
	/* Prepare the Call. Returns false if it cannot be sent in this format. */
	bool (*prepare)(struct rt_conn *c, struct rt_request_priv *rq);
	/* Returns true if the format may still be used. */
	bool (*usable)(const struct rt_conn *c);
	/* Put the next message of the Call into @w. Returns 0 or -errno. */
	int (*fill)(struct rt_conn *c, struct rt_request_priv *rq,
		    struct rt_work *w, size_t *hlen, bool *last);
	/* Returns true if a base message may answer the Call. */
	bool (*base_reply_ok)(const struct rt_request_priv *rq);
	/* An ERROR was received about a Call that is, or was, sent in this format.
	 * Returns true if it has been handled. */
	bool (*error)(struct rt_conn *c, struct rt_request_priv *rq,
		      const struct wire_error *err);
};

static inline struct rt_request_priv *rt_request_find(struct rt_conn *c,
						      uint32_t xid)
{
	struct rt_own_call *own = rt_xid_find(c, xid);

	return own ? caa_container_of(own, struct rt_request_priv, own) : NULL;
}

/* Returns the Call that is being sent in several messages, or NULL. */
static inline struct rt_request_priv *rt_request_begun(const struct rt_conn *c)
{
	return c->sending && c->sending->kind == RT_OUT_CALL ?
		       caa_container_of(c->sending, struct rt_request_priv,
					outgoing) :
		       NULL;
}

static inline bool rt_requests_any(const struct rt_conn *c)
{
	return c->req.requests.next != &c->req.requests;
}

static inline size_t rt_request_size(const struct rt_instance *inst)
{
	return sizeof(struct rt_request_priv) +
	       rt_round8(inst->cfg.request_user_size) + inst->request_room;
}

static inline void *rt_request_room(const struct rt_request_priv *rq)
{
	return (uint8_t *)(uintptr_t)rq->user +
	       rt_round8(rq->inst->cfg.request_user_size);
}

/* request.c */
/* Fail the Calls that have not been posted. */
void rt_request_fail_queued(struct rt_conn *c, int status);
/* End the request with @status. Its memory is closed to the peer; done is called when
 * that has happened and the Sends of the Call have completed. Harmless if repeated. */
void rt_request_finish(struct rt_conn *c, struct rt_request_priv *rq,
		       int status);
/* Send the Call again, which the peer has not executed. */
void rt_request_resend(struct rt_conn *c, struct rt_request_priv *rq);
/* Fail the Call with -EREMOTEIO, since an ERROR was received. */
void rt_request_refused(struct rt_conn *c, struct rt_request_priv *rq,
			const struct wire_error *err);

/* An ERROR was received about a Call that has been sent wholly: send it again, or fail
 * it. */
void rt_request_error(struct rt_conn *c, struct rt_request_priv *rq,
		      const struct wire_error *err);
/* Answer a bad Reply by BAD_XDR, but not in version 1 (RFC 8166 4.5). */
void rt_request_refuse_reply(struct rt_conn *c, uint32_t xid);
/* Returns true if the Reply is in the Reply chunk. */
static inline bool rt_request_in_chunk(const struct rt_request_priv *rq)
{
	return rq->pub.nreply && rq->reply_buf &&
	       rq->pub.reply[0].addr == rq->reply_buf->addr;
}

/* format.c */
/* Close the memory that is exposed for the request, but for the first segments. */
void rt_request_rollback(struct rt_conn *c, struct rt_request_priv *rq,
			 unsigned int nsegs, unsigned int nrsegs);
/* Choose the format, and expose memory to the peer. Returns 0 or -errno. */
int rt_request_prepare(struct rt_conn *c, struct rt_request_priv *rq);
/* Returns true if what the format was chosen for has changed. */
bool rt_request_outdated(const struct rt_conn *c,
			 const struct rt_request_priv *rq);
/* Returns the header type of the first message of a Call that goes by base messages. */
uint32_t rt_request_htype(const struct rt_conn *c,
			  const struct rt_request_priv *rq);
/* Returns true if the Call can be sent again with as few chunks as the ERROR allows. */
bool rt_request_reduce_chunks(struct rt_request_priv *rq,
			      const struct wire_error *err);
/* Describe the header of the last or only message; return its length. */
void rt_request_describe(const struct rt_request_priv *rq,
			 struct wire_call_desc *d);
size_t rt_request_header_len(const struct rt_conn *c,
			     const struct rt_request_priv *rq, bool external);
/* Cut out the eligible arguments that may have Read chunks. Returns 0 or -errno. */
int rt_request_reduce(struct rt_conn *c, struct rt_request_priv *rq);

/* response.c */
/* The peer has broken a rule that protects memory: fail @rq (may be NULL), send the
 * ERRORs that wait, and end the connection. */
void rt_response_violation(struct rt_conn *c, struct rt_request_priv *rq,
			   uint32_t xid, const char *what);
/* The Reply is complete: end the request. */
void rt_response_done(struct rt_conn *c, struct rt_request_priv *rq);

#endif /* RPCRDMA_TRANSPORT_REQUESTER_H */
