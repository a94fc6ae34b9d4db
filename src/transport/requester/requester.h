/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requester - Calls that go, until they are done
 *
 * Both ends have a Requester. A server's Calls are those of the reverse direction: it
 * may send them once the client's properties allow it (rt_conn_can_call()), and no more
 * at a time than reverse_credits. A client must answer each within reverse_ms, or its
 * connection ends. The Receive for each Reply is posted with the Call
 * (rt_reserve_reverse()), and in version 2 the credit that a client's Reply needs is
 * granted in the Call's own header [G3].
 *
 * Reading order: request.c (the life of a request, and its sending), format.c (its
 * format, and the memory that is open for it), response.c (its Reply).
 *
 * Context: the caller holds the connection's strand, unless a comment says
 * otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_REQUESTER_H
#define RPCRDMA_TRANSPORT_REQUESTER_H

#include "transport/message/message.h"

/* Octets of a Reply whose length is unknown: ACLs and extended attributes have 64 KiB. */
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
	bool finished; /* done is called when nothing is pending */
	bool external;
	bool prepared; /* its format is chosen, for these: */
	/* The properties of both ends, the inline threshold, and the header types
	 * that the peer had refused. */
	uint32_t props_generation, room, without;
	/* How many Read and Write chunks the peer takes for this Call, if it has
	 * said so, and whether it takes body chunks [D8]. If the Call was sent again
	 * for that (@refused), the ERROR is in pub.error. */
	uint32_t max_reads, max_writes;
	bool no_call_chunk, no_reply_chunk;
	bool refused;
	/* An ERROR, in pub.error, came before the whole Call had gone. It counts when
	 * the rest has [D3]. */
	bool error_deferred;
	uint64_t submitted, sent; /* CLOCK_MONOTONIC, ns */
	unsigned int sends_pending; /* and ranges that are not closed yet */
	struct fab_buf *bufs; /* of the Reply, or of a copied Call */
	struct fab_buf *reply_buf; /* the Reply chunk */
	struct rt_out out;
	struct rt_cuts cuts;
	uint32_t inv_handle;
	/* What is exposed, in the order of the header's lists: seg holds
	 * Write and Reply chunks, rseg the Call chunk and the Read list. */
	unsigned int nsegs, nrsegs;
	struct wire_segment seg[RT_MAX_SEGMENTS];
	struct wire_read_segment rseg[RT_MAX_SEGMENTS];
	unsigned int nbody;
	unsigned int nwrites;
	struct wire_chunk_desc write[RT_MAX_CHUNKS];
	struct wire_chunk_desc reply_chunk;
	const struct rt_request_format *format; /* NULL: base messages */
	bool base_only; /* the peer has refused another format */
	uint64_t user[]; /* request_user_size octets, then the format's room */
};

/* How a Call goes other than by base messages: rt_conn.ext_format, of an extension. */
struct rt_request_format {
	/* A new request. */
	void (*reset)(struct rt_request_priv *rq);
	/* Returns true, with the Call prepared, if it is to go in this format. */
	bool (*prepare)(struct rt_conn *c, struct rt_request_priv *rq);
	/* Returns true if the format may still be used. */
	bool (*usable)(const struct rt_conn *c);
	/* Put its next message into @w. Returns 0 or -errno. */
	int (*fill)(struct rt_conn *c, struct rt_request_priv *rq,
		    struct rt_work *w, size_t *hlen, bool *last);
	/* Returns true if a base message may answer it. */
	bool (*base_reply_ok)(const struct rt_request_priv *rq);
	/* An ERROR has come about a Call that goes, or once went, in this format.
	 * Returns true if that is all. */
	bool (*error)(struct rt_conn *c, struct rt_request_priv *rq,
		      const struct wire_error *err);
};

static inline struct rt_request_priv *rt_request_find(struct rt_conn *c,
						      uint32_t xid)
{
	struct rt_own_call *own = rt_xid_find(c, xid);

	return own ? caa_container_of(own, struct rt_request_priv, own) : NULL;
}

/* Returns the Call whose messages are under way, or NULL. */
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

/* Reserve @n octets in each request for a format. Before the first connection. */
static inline void rt_request_room_want(struct rt_instance *inst, size_t n)
{
	inst->request_room = n;
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
/* The outcome is known. Memory is closed to the peer; done is called when that is so and
 * the fabric has let go of the Call. Harmless if repeated. */
void rt_request_finish(struct rt_conn *c, struct rt_request_priv *rq,
		       int status);
/* The peer has not executed the Call: send it again. */
void rt_request_resend(struct rt_conn *c, struct rt_request_priv *rq);
/* An ERROR has come: the Call fails with -EREMOTEIO. */
void rt_request_refused(struct rt_conn *c, struct rt_request_priv *rq,
			const struct wire_error *err);

/* An ERROR has come about a Call, all of which has gone. It may be sent again. */
void rt_request_error(struct rt_conn *c, struct rt_request_priv *rq,
		      const struct wire_error *err);
/* Answer a bad Reply by BAD_XDR. Version 1 does not (RFC 8166 4.5). */
void rt_request_refuse_reply(struct rt_conn *c, uint32_t xid);
/* Returns true if the Reply is in the Reply chunk. */
static inline bool rt_request_in_chunk(const struct rt_request_priv *rq)
{
	return rq->pub.nreply && rq->reply_buf &&
	       rq->pub.reply[0].addr == rq->reply_buf->addr;
}

/* format.c */
/* Close the memory that is open to the peer for it, but for so many segments. */
void rt_request_rollback(struct rt_conn *c, struct rt_request_priv *rq,
			 unsigned int nsegs, unsigned int nrsegs);
/* Choose the format, and open memory to the peer. Returns 0 or -errno. */
int rt_request_prepare(struct rt_conn *c, struct rt_request_priv *rq);
/* Returns true if something has changed that the format was chosen for. */
bool rt_request_outdated(const struct rt_conn *c,
			 const struct rt_request_priv *rq);
/* Returns the header type of its first message, a base message. */
uint32_t rt_request_htype(const struct rt_conn *c,
			  const struct rt_request_priv *rq);
/* Returns true if it can be sent again with as few chunks as the ERROR asks for. */
bool rt_request_reduce_chunks(struct rt_request_priv *rq,
			      const struct wire_error *err);
/* Describe the header of its last or only message, and return its length. */
void rt_request_describe(const struct rt_request_priv *rq,
			 struct wire_call_desc *d);
size_t rt_request_header_len(const struct rt_conn *c,
			     const struct rt_request_priv *rq, bool external);
/* Cut the eligible arguments out, as the settings allow. Returns 0 or -errno. */
int rt_request_reduce(struct rt_conn *c, struct rt_request_priv *rq);

/* response.c */
/* The peer has broken a rule that protects memory: fail @rq (may be NULL), send the
 * ERRORs that wait, and end the connection. */
void rt_response_violation(struct rt_conn *c, struct rt_request_priv *rq,
			   uint32_t xid, const char *what);
/* The Reply is complete. */
void rt_response_done(struct rt_conn *c, struct rt_request_priv *rq);

#endif /* RPCRDMA_TRANSPORT_REQUESTER_H */
