/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * requester - Calls that go, until they are done
 *
 * Reading order: request.c (the life of a request, and its sending), format.c (its
 * format, and memory for it), response.c (its Reply).
 *
 * Unless a comment says otherwise every function takes a connection whose
 * strand the calling thread holds.
 */
#ifndef RPCRDMA_TRANSPORT_REQUESTER_H
#define RPCRDMA_TRANSPORT_REQUESTER_H

#include "transport/message/message.h"

/* A Reply of unknown length: ACLs and extended attributes have 64 KiB. */
#define RT_UNKNOWN_REPLY (128u << 10)

extern const struct rt_part rt_part_requester, rt_part_response;

struct rt_request_priv {
	struct rt_request pub;
	struct rt_mail mail;
	struct rt_closing closing;
	struct rt_instance *inst;
	struct rt_request_priv *next_free;
	struct cds_list_head link; /* rt_requesting.requests while outstanding */
	struct rt_own own;
	struct rt_outgoing going;
	bool finished; /* done as soon as nothing is pending */
	bool external;
	bool prepared;
	/* What that was done for: the values of both ends, the inline threshold
	 * and the header types that the peer had refused. */
	uint32_t values, room, without;
	/* The peer has said how many Read and Write chunks it takes for this
	 * Call, or that it takes no body chunk [D8]; then why it had to be sent
	 * again is in pub.error. */
	uint32_t max_reads, max_writes;
	bool no_call_chunk, no_reply_chunk;
	bool refused;
	/* An ERROR, in pub.error, came before the whole Call had gone: it is heeded
	 * when the rest has [D3]. */
	bool error_waits;
	uint64_t submitted, sent; /* CLOCK_MONOTONIC, ns */
	unsigned int sends_pending; /* and ranges not closed yet */
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
	bool base_only; /* by another format it has been refused */
	uint64_t user[]; /* request_user_size octets, then a format's own */
};

/* A way for a Call to go other than by base messages, where an extension has
 * one: rt_conn.other_format. */
struct rt_request_format {
	/* A new request. */
	void (*reset)(struct rt_request_priv *rq);
	/* Is the Call to go so? Then it is prepared for that. */
	bool (*prepare)(struct rt_conn *c, struct rt_request_priv *rq);
	/* May it still? */
	bool (*usable)(const struct rt_conn *c);
	/* Its next message into @w: 0 or -errno. */
	int (*fill)(struct rt_conn *c, struct rt_request_priv *rq,
		    struct rt_work *w, size_t *hlen, bool *last);
	/* May a base Reply answer it? */
	bool (*base_reply_ok)(const struct rt_request_priv *rq);
	/* An ERROR, also about one that no longer goes so. True: heeded. */
	bool (*error)(struct rt_conn *c, struct rt_request_priv *rq,
		      const struct wire_error *err);
};

static inline struct rt_request_priv *rt_request_find(struct rt_conn *c,
						      uint32_t xid)
{
	struct rt_own *own = rt_xid_find(c, xid);

	return own ? caa_container_of(own, struct rt_request_priv, own) : NULL;
}

/* The Call whose messages are under way, if there is one. */
static inline struct rt_request_priv *rt_request_begun(const struct rt_conn *c)
{
	return c->cont && c->cont->kind == RT_OUT_CALL ?
		       caa_container_of(c->cont, struct rt_request_priv,
					going) :
		       NULL;
}

static inline bool rt_requests_any(const struct rt_conn *c)
{
	return c->req.requests.next != &c->req.requests;
}

/* Before there are requests: a format wants so many octets in each. */
static inline void rt_request_room_want(struct rt_instance *inst, size_t n)
{
	inst->request_room = n;
}

/* Octets of each. */
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
/* Those that have not been posted. */
void rt_request_fail_queued(struct rt_conn *c, int status);
void rt_request_finish(struct rt_conn *c, struct rt_request_priv *rq,
		       int status);
/* It has been posted, but not executed: send it once more. */
void rt_request_again(struct rt_conn *c, struct rt_request_priv *rq);
/* An ERROR: it has failed. */
void rt_request_refused(struct rt_conn *c, struct rt_request_priv *rq,
			const struct wire_error *err);

/* An ERROR about a Call of which all has gone. */
void rt_request_error(struct rt_conn *c, struct rt_request_priv *rq,
		      const struct wire_error *err);
/* RFC 8166 4.5: version 1 does not answer a bad Reply, version 2 does by BAD_XDR. */
void rt_request_refuse_reply(struct rt_conn *c, uint32_t xid);
/* Returns true if the Reply is in the Reply chunk. */
static inline bool rt_request_in_chunk(const struct rt_request_priv *rq)
{
	return rq->pub.nreply && rq->reply_buf &&
	       rq->pub.reply[0].addr == rq->reply_buf->addr;
}

/* format.c */
/* Close what has been opened to the peer for it, beyond these counts. */
void rt_request_rollback(struct rt_conn *c, struct rt_request_priv *rq,
			 unsigned int nsegs, unsigned int nrsegs);
/* Choose the format and open the memory: 0 or -errno. */
int rt_request_prepare(struct rt_conn *c, struct rt_request_priv *rq);
/* Has something changed since that it was chosen for? */
bool rt_request_outdated(const struct rt_conn *c,
			 const struct rt_request_priv *rq);
/* The header type that its first message has; a base message. */
uint32_t rt_request_htype(const struct rt_conn *c,
			  const struct rt_request_priv *rq);
/* Can it do with fewer chunks than it had, as this ERROR wants? */
bool rt_request_reduce_chunks(struct rt_request_priv *rq,
			      const struct wire_error *err);
/* The last or only header of the Call, and its length. */
void rt_request_describe(const struct rt_request_priv *rq,
			 struct wire_call_desc *d);
size_t rt_request_header_len(const struct rt_conn *c,
			     const struct rt_request_priv *rq, bool external);
/* Cut the eligible arguments out, as far as the settings go. */
int rt_request_reduce(struct rt_conn *c, struct rt_request_priv *rq);

/* response.c */
void rt_response_violation(struct rt_conn *c, struct rt_request_priv *rq,
			   uint32_t xid, const char *what);
/* The Reply is in its place. */
void rt_response_done(struct rt_conn *c, struct rt_request_priv *rq);

#endif /* RPCRDMA_TRANSPORT_REQUESTER_H */
