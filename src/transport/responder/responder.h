/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * responder - Calls from the peer, until their Replies have been sent
 *
 * Reading order: incoming_call.c (a Call, and its limits), call_stages.c (how it gets to
 * the upper layer), reply.c (its Reply).
 *
 * Context: the caller is the runner, unless a comment says otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_RESPONDER_H
#define RPCRDMA_TRANSPORT_RESPONDER_H

#include "transport/message/message.h"

extern const struct rt_part rt_part_responder;

/* See call_stages.c. */
enum rt_call_stage {
	RT_CALL_BODY,
	RT_CALL_VET,
	RT_CALL_ITEMS,
	RT_CALL_READY,
	RT_CALL_UPPER,
	RT_CALL_REPLY,
};

/* One Read chunk of a Call. */
struct rt_read_chunk {
	uint32_t position;
	uint32_t length;
	unsigned int first, nsegs; /* in rt_call_priv.seg */
	struct rt_piece to; /* the buffer that it is read into */
	bool placed; /* rtrext: it came with the message, see rt_call_priv.placed */
};

struct rt_call_priv {
	struct rt_call pub;
	struct rt_mail mail;
	struct cds_list_head link; /* rt_responding.calls */
	struct cds_list_head
		queue; /* rt_responding.starved, .waiting or .unread */
	struct rt_outgoing outgoing; /* the Reply */
	struct rt_call_priv *next_free;
	bool idle; /* free, and not used since rt_calls_trim() */
	enum rt_call_stage stage;
	bool failed; /* to be freed when its Reads have completed */
	bool starved; /* waits for memory */
	bool shortage_counted;
	uint64_t starved_since; /* ms; 0 unless it also holds memory */
	bool waiting; /* for Replies of its host to be sent */
	bool unread; /* waits for fewer RDMA Reads to be under way */
	size_t under_way; /* octets that rt_reads_begin() has counted */
	bool long_read; /* rt_long_read() has been called */
	uint32_t refuse_code;
	size_t reply_octets; /* charged to the host */
	/* CLOCK_MONOTONIC, ns: when its last fragment was received; when its chunks had been
	 * read; when its execution began, 0 if unknown; when the upper layer gave the
	 * Reply. */
	uint64_t arrived, complete_at, begun, replied;
	uint64_t reading_since; /* ms; when the first of the pending Reads was posted */
	uint64_t posted; /* ns; when the last Send of the Reply was posted */
	struct rt_call_priv *posting_next; /* rt_responding.posting */
	unsigned int reads_pending;
	struct fab_buf *bufs; /* receive, reassembly and chunk buffers */
	size_t memory; /* octets charged to the connection */
	uint32_t inv_handle;

	/* Segments of all chunks of the Call, in header order. */
	unsigned int nsegs;
	struct wire_segment seg[RT_MAX_SEGMENTS];
	struct wire_segment result[RT_MAX_SEGMENTS]; /* as filled */
	unsigned int nbody; /* segments of the Call chunk, which are the first */
	size_t body_len;
	unsigned int nreads, reads_begun;
	unsigned int nreads_all; /* including those in excess of the limit */
	struct rt_read_chunk read[RT_MAX_CHUNKS];
	struct wire_chunk_desc write[RT_MAX_CHUNKS];
	struct wire_chunk_desc reply_chunk;
	const struct rt_reply_format *format;
	unsigned int nplaced; /* entries of `read` that are placed */
	struct rt_piece placed[RT_MAX_PIECES];

	/* The stream without its data item chunks. */
	unsigned int nbase;
	struct rt_piece base[RT_MAX_PIECES];

	struct rt_reply reply;
	struct rt_out out;
	struct rt_cuts cuts;
	unsigned int cut_chunk[RT_MAX_CHUNKS]; /* which Write chunk */
	bool external;
	bool posted_first; /* the first message of the Reply; the Call's credit is free */
	/* If there was no memory for all RDMA Writes at once: octets that have been
	 * written, and octets whose Writes are posted. */
	size_t written, writing;
	uint32_t threshold; /* the inline threshold that the format was chosen for */
	uint64_t user[]; /* call_user_size octets, then the format's room */
};

/* How the Reply to a Call is sent. */
struct rt_reply_format {
	/* The transport refuses a Call with a Position beyond the end of the stream by
	 * BAD_XDR [R9]. Otherwise the RPC layer answers it. */
	bool refuses_torn;
	/* Choose how the Reply is sent. Called when the upper layer gives it, and again
	 * if it is stale. Returns false, and sets @err, if it cannot be sent. */
	bool (*plan)(struct rt_conn *c, struct rt_call_priv *call,
		     struct wire_error *err);
	/* Returns true if the peer has changed a property that plan relied on. */
	bool (*stale)(const struct rt_conn *c, const struct rt_call_priv *call);
	/* Add the RDMA Writes to the chain, before the first Send. */
	int (*writes)(struct rt_conn *c, struct rt_call_priv *call,
		      struct rt_work *send, struct rt_written *g);
	/* Put the next message into @w. Returns 0, or -errno after changing nothing. If
	 * there are several messages, set c->credit.reply_in_fragments before the first
	 * header is encoded. */
	int (*fill)(struct rt_conn *c, struct rt_call_priv *call,
		    struct rt_work *w, size_t *hlen, bool *last);
	/* Returns how many octets of results are sent by RDMA Write. */
	uint64_t (*written)(const struct rt_call_priv *call);
};

/* Count Calls that the upper layer is executing. */
static inline void rt_executing_add(struct rt_conn *c, int n)
{
	unsigned int was = atomic_load_explicit(&c->resp.calls_executing,
						memory_order_relaxed);

	assert(n >= 0 || was);
	atomic_store_explicit(&c->resp.calls_executing, was + (unsigned int)n,
			      memory_order_relaxed);
}

static inline size_t rt_call_size(const struct rt_instance *inst)
{
	return sizeof(struct rt_call_priv) +
	       rt_round8(inst->cfg.call_user_size) + inst->call_room;
}

static inline void *rt_call_room(const struct rt_call_priv *call)
{
	return (uint8_t *)(uintptr_t)call->user +
	       rt_round8(call->pub.conn->inst->cfg.call_user_size);
}

/* Returns how many octets a chunk holds. */
static inline uint64_t rt_chunk_len(const struct wire_chunk_desc *d)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->count; i++)
		n += d->seg[i].length;
	return n;
}

/* Returns the octets that RDMA Reads bring until the end of the Call's stage. */
static inline size_t rt_call_read_octets(const struct rt_call_priv *call)
{
	size_t n = call->nbody ? call->body_len : 0;

	if (call->stage == RT_CALL_BODY)
		return n;
	for (unsigned int i = 0; i < call->nreads; i++)
		if (!call->read[i].placed)
			n += call->read[i].length;
	return n;
}

/* Returns the Call whose Reply is being sent in several messages, or NULL. */
static inline struct rt_call_priv *rt_reply_begun(const struct rt_conn *c)
{
	return c->sending && c->sending->kind == RT_OUT_REPLY ?
		       caa_container_of(c->sending, struct rt_call_priv,
					outgoing) :
		       NULL;
}

/* incoming_call.c */
/* Returns true if a Reply may be longer than one message. */
bool rt_reply_may_continue(const struct rt_conn *c);
/*
 * Admit a Call. @reads, @writes: its header has chunks for arguments, for results.
 * Returns it without lists and stream, or NULL after refusing or dropping it. It holds
 * its credit until the first message of the Reply is posted.
 */
struct rt_call_priv *rt_call_admit(struct rt_conn *c, uint32_t xid, bool reads,
				   bool writes,
				   const struct rt_reply_format *format);
/*
 * Take the chunk lists of the base message @m, and the buffers of its stream from @w or,
 * if it came in several messages, from @s. Returns false, and sets @err, if a limit is
 * exceeded.
 */
bool rt_call_decode(struct rt_conn *c, struct rt_call_priv *call,
		    const struct wire_msg *m, struct rt_work *w,
		    struct rt_sequence *s, struct wire_error *err);
/* Let the upper layer check the data items. Returns true if the Call goes on; with
 * @torn, none are read, and the RPC layer answers it. Returns false, and sets @err,
 * otherwise. */
bool rt_call_vet(struct rt_conn *c, struct rt_call_priv *call, bool *torn,
		 struct wire_error *err);
/* Insert the data items at their Positions. Returns false if those are invalid. */
bool rt_call_assemble(struct rt_call_priv *call);
/* Answer with an ERROR and free the Call. */
void rt_call_error(struct rt_conn *c, struct rt_call_priv *call,
		   const struct wire_error *err);
/* Free the Call and all that it holds, now or when its Reads have completed. */
void rt_call_free(struct rt_conn *c, struct rt_call_priv *call);
/* Keep at most @n on the free list. */
void rt_calls_shrink(struct rt_conn *c, unsigned int n);
/* Free those on the free list that were not used since the last call. Returns true if
 * there were any. */
bool rt_calls_trim(struct rt_conn *c);

/* call_stages.c */
/* Advance a Call, after rt_call_decode(), as far as it can go. It may have been answered
 * or freed when this returns. */
void rt_call_advance(struct rt_conn *c, struct rt_call_priv *call);

/* reply.c */
extern const struct rt_reply_format rt_reply_base; /* sent by base messages */
/* Call the done operation of a Reply, and free the Call. */
void rt_reply_abandon(struct rt_conn *c, struct rt_call_priv *call);

#endif /* RPCRDMA_TRANSPORT_RESPONDER_H */
