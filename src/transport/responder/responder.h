/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * responder - Calls that come, until their Replies have gone
 *
 * Reading order: call.c (the life of a Call, and what limits it), take.c (it
 * comes), advance.c (its way to the upper layer), vet.c, assemble.c, reply.c,
 * invalidate.c, responder.c.
 *
 * Unless a comment says otherwise every function takes a connection whose
 * strand the calling thread holds.
 */
#ifndef RPCRDMA_TRANSPORT_RESPONDER_H
#define RPCRDMA_TRANSPORT_RESPONDER_H

#include "transport/message/message.h"

extern const struct rt_part rt_part_responder;

enum rt_call_stage {
	RT_CALL_BODY, /* its Call chunk is being read */
	RT_CALL_LOOK, /* its stream without data items is here */
	RT_CALL_ITEMS, /* its data item chunks are being read */
	RT_CALL_READY, /* it is to be handed up, or waits for that */
	RT_CALL_UPPER, /* the upper layer has it */
	RT_CALL_REPLY, /* the Reply waits or is on its way */
};

/* One Read chunk of a Call. */
struct rt_read_chunk {
	uint32_t position;
	uint32_t length;
	unsigned int first, nsegs; /* in rt_call_priv.seg */
	struct rt_piece to; /* where it is read to, no longer than one buffer */
	bool placed; /* here by Send: in rt_call_priv.placed instead */
};

struct rt_call_priv {
	struct rt_call pub;
	struct rt_mail mail;
	struct cds_list_head link; /* rt_responding.calls: all there are */
	struct cds_list_head queue; /* likewise: starved, waiting */
	struct rt_outgoing going; /* its Reply */
	struct rt_call_priv *next_free;
	bool spare; /* free, and not taken since it was last looked at */
	enum rt_call_stage stage;
	bool failed; /* free it when its Reads have come back */
	bool starved; /* it waits for memory */
	bool short_told; /* ... or has waited, and that is counted */
	uint64_t starved_since; /* with memory of its own, ms; 0: not */
	bool waiting; /* ... for Replies to be taken */
	bool long_read; /* told to the poller */
	uint32_t refuse_code;
	size_t reply_octets; /* counted for the host */
	/* CLOCK_MONOTONIC, ns: it came (its last fragment); was delivered; its
	 * execution began, if that has been told; its Reply came. */
	uint64_t arrived, delivered, begun, replied;
	uint64_t reading_since; /* ms: its Reads that are pending */
	uint64_t posted; /* the last Send of the Reply */
	struct rt_call_priv *posting_next; /* rt_responding.posting */
	unsigned int reads_pending;
	struct fab_buf *bufs; /* receive, reassembly and chunk buffers */
	size_t memory; /* octets counted for the connection */
	uint32_t inv_handle;

	/* Segments of all chunks of the Call, in header order. */
	unsigned int nsegs;
	struct wire_segment seg[RT_MAX_SEGMENTS];
	struct wire_segment result[RT_MAX_SEGMENTS]; /* as filled */
	unsigned int nbody; /* the Call chunk's are the first */
	size_t body_len;
	unsigned int nreads, reads_begun;
	unsigned int nreads_all; /* with those that are too many */
	struct rt_read_chunk read[RT_MAX_CHUNKS];
	struct wire_chunk_desc write[RT_MAX_CHUNKS];
	struct wire_chunk_desc reply_chunk;
	const struct rt_reply_format *format;
	unsigned int nplaced; /* read chunks that are placed */
	struct rt_piece placed[RT_MAX_PIECES];

	/* The stream without its data item chunks. */
	unsigned int nbase;
	struct rt_piece base[RT_MAX_PIECES];

	struct rt_reply reply;
	struct rt_out out;
	struct rt_cuts cuts;
	unsigned int cut_chunk[RT_MAX_CHUNKS]; /* which Write chunk */
	bool external;
	bool posted_first; /* until then it keeps its credit */
	/* Where there was no memory to copy all of its results: octets that have
	 * been written, and those that are just being written. */
	size_t written, writing;
	uint32_t threshold; /* that the format was chosen for */
	uint64_t user[]; /* call_user_size octets, then a format's own */
};

/* How a Reply goes. */
struct rt_reply_format {
	/* When it is there, and again if it is stale. False: @err has been set. */
	bool (*plan)(struct rt_conn *c, struct rt_call_priv *call,
		     struct wire_error *err);
	/* Has the peer changed what the plan was made for? */
	bool (*stale)(const struct rt_conn *c, const struct rt_call_priv *call);
	/* The RDMA Writes, into the chain before the first Send. */
	int (*writes)(struct rt_conn *c, struct rt_call_priv *call,
		      struct rt_work *send, struct rt_written *g);
	/* The next message into @w: 0 or -errno, and nothing has changed. If there
	 * are more than one, c->credit.drawing is set before the header is made. */
	int (*fill)(struct rt_conn *c, struct rt_call_priv *call,
		    struct rt_work *w, size_t *hlen, bool *last);
	/* Octets of its results that go by RDMA Write. */
	uint64_t (*written)(const struct rt_call_priv *call);
};

/* The runner alone writes. */
static inline void rt_executing_add(struct rt_conn *c, int n)
{
	unsigned int was = atomic_load_explicit(&c->resp.calls_executing,
						memory_order_relaxed);

	assert(n >= 0 || was);
	atomic_store_explicit(&c->resp.calls_executing, was + (unsigned int)n,
			      memory_order_relaxed);
}

/* Before there are Calls: a format wants so many octets in each. */
static inline void rt_call_room_want(struct rt_instance *inst, size_t n)
{
	inst->call_room = n;
}

/* Octets of each. */
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

/* Octets that a chunk has room for. */
static inline uint64_t rt_chunk_len(const struct wire_chunk_desc *d)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < d->count; i++)
		n += d->seg[i].length;
	return n;
}

/* The Reply whose messages are under way, if there is one. */
static inline struct rt_call_priv *rt_reply_begun(const struct rt_conn *c)
{
	return c->cont && c->cont->kind == RT_OUT_REPLY ?
		       caa_container_of(c->cont, struct rt_call_priv, going) :
		       NULL;
}

/* call.c */
/* May a Reply be longer than one message? */
bool rt_reply_may_continue(const struct rt_conn *c);
/*
 * A Call may be taken: a new one, without its lists and stream. @reads, @writes:
 * it has chunks for arguments, for results. NULL: it has been answered or
 * dropped.
 */
struct rt_call_priv *rt_call_admit(struct rt_conn *c, uint32_t xid, bool reads,
				   bool writes);
/* Answer with an ERROR and forget the Call. */
void rt_call_error(struct rt_conn *c, struct rt_call_priv *call,
		   const struct wire_error *err);
void rt_call_free(struct rt_conn *c, struct rt_call_priv *call);
/* Keep but @n of those that are free. */
void rt_calls_shorten(struct rt_conn *c, unsigned int n);
/* Those that have not been taken since last time; were there any? */
bool rt_calls_trim(struct rt_conn *c);

/* take.c */
void rt_call_receive(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w, struct rt_sequence *s);

/* assemble.c: false: the Positions make no sense. */
bool rt_call_assemble(struct rt_call_priv *call);

/* vet.c: false: @err has been set; @torn: not read, but for the upper layer to
 * answer. */
bool rt_call_may_read(struct rt_conn *c, struct rt_call_priv *call, bool *torn,
		      struct wire_error *err);

/* advance.c */
/* Its lists are there, and perhaps its stream. It may be answered, or freed. */
void rt_call_advance(struct rt_conn *c, struct rt_call_priv *call);
/* When the oldest Call that is being read must be here; 0: there is none. */
uint64_t rt_calls_deadline(const struct rt_conn *c);
/* There may be memory for the Calls that wait; @late: for the last time. */
void rt_calls_feed(struct rt_conn *c, bool late);
/* All that need wait no longer. */
void rt_calls_let(struct rt_conn *c);

/* invalidate.c */
/* The handle that the Reply may invalidate, where the header said @said. */
uint32_t rt_call_invalidates(struct rt_conn *c, const struct rt_call_priv *call,
			     uint32_t said);

/* reply.c */
/* By base messages. */
extern const struct rt_reply_format rt_reply_base;
void rt_reply_abandon(struct rt_conn *c, struct rt_call_priv *call);

#endif /* RPCRDMA_TRANSPORT_RESPONDER_H */
