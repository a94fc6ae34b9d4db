/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message - what a connection holds of messages: work requests, payload
 * streams, Calls that have come in, Calls that go out, and what is half there
 *
 * All of it belongs to the strand, but for what transport.h gives to the upper
 * layer (@pub, @user) and for @mail until the runner has taken it.
 */
#ifndef RPCRDMA_TRANSPORT_MESSAGE_H
#define RPCRDMA_TRANSPORT_MESSAGE_H

#include <urcu/list.h>

#include "transport/ext/rtr/rtr_state.h"
#include "rpcrdma/transport.h"

/* Elements of a gather list, at most; a provider may allow fewer. */
#define RT_SGE 16
/* Cutting items out of a stream of RT_MAX_PIECES makes this many. */
#define RT_OUT_PIECES (RT_MAX_PIECES + 2 * RT_MAX_CHUNKS)
/* Room for any header this implementation sends. */
#define RT_HEADER_ROOM 4096

struct rt_work;
/* A work request has come back; @wc NULL: the fabric has not taken it. Whoever
 * posts it says what is to be done then, which begins or ends with
 * rt_work_put(). */
typedef void (*rt_work_fn)(struct rt_conn *c, struct rt_work *w,
			   const struct fab_wc *wc);

static inline bool rt_work_ok(const struct fab_wc *wc)
{
	return wc && wc->status == FAB_OK;
}

/*
 * One work request with its gather list. Unsignaled Writes hang on the Send
 * that follows them and are freed with it; they have no @done.
 */
struct rt_work {
	struct fab_wr wr;
	struct fab_sge sge[RT_SGE];
	struct cds_list_head lent; /* Receive: conn->lent while posted */
	struct rt_work *next;
	struct rt_work *writes;
	rt_work_fn done;
	bool is_send;
	struct fab_buf *buf; /* Receive: its buffer; Send: the header's */
	struct fab_buf *bounce; /* payload that had to be copied */
	struct rt_call_priv *call; /* whose Reply or Read this is */
	struct rt_request_priv *req; /* whose Call this is */
};

/* Something on its way into the strand, see rt_inbox_put(). */
struct rt_mail {
	struct rt_mail *next;
	void (*run)(struct rt_conn *c, struct rt_mail *m);
};

/* A range that is open to the peer, and was to be closed, is so now. */
struct rt_closing {
	void (*closed)(struct rt_conn *c, struct rt_closing *range);
};

/*
 * An outgoing payload stream: @piece is what is left after reduction, @off how
 * much of it has been posted.
 */
struct rt_out {
	unsigned int npieces;
	struct rt_piece piece[RT_OUT_PIECES];
	size_t len;
	size_t off;
	/* Where @off stands: piece and octet in it. */
	unsigned int at;
	size_t at_off;
};

/* One data item cut out of a payload stream. */
struct rt_cut {
	uint32_t position;
	uint32_t length;
	unsigned int first, npieces; /* in rt_cuts.piece */
};

struct rt_cuts {
	unsigned int count;
	struct rt_cut cut[RT_MAX_CHUNKS];
	unsigned int npieces;
	struct rt_piece piece[RT_OUT_PIECES];
};

enum rt_call_stage {
	RT_CALL_BODY, /* its Call chunk is being read */
	RT_CALL_ITEMS, /* its data item chunks are being read */
	RT_CALL_UPPER, /* the upper layer has it */
	RT_CALL_REPLY, /* the Reply waits or is on its way */
};

/* One Read chunk of a Call. */
struct rt_read_chunk {
	uint32_t position;
	uint32_t length;
	unsigned int first, nsegs; /* in rt_call_priv.seg */
	struct fab_buf *buf;
	bool placed; /* here by Send: in rt_call_priv.placed instead */
};

struct rt_call_priv {
	struct rt_call pub;
	struct rt_mail mail;
	struct cds_list_head link; /* conn->calls: all there are */
	struct cds_list_head queue; /* conn->starved, waiting, replies */
	struct rt_call_priv *next_free;
	enum rt_call_stage stage;
	bool failed; /* free it when its Reads have come back */
	bool starved; /* it waits for memory */
	uint64_t starved_since; /* with memory of its own, ms; 0: not */
	bool waiting; /* ... for Replies to be taken */
	bool held_credit;
	bool xid_counted;
	uint32_t refuse_code;
	size_t reply_octets; /* counted for the host */
	/* CLOCK_MONOTONIC, ns: it came (its last fragment); was delivered; its
	 * execution began, if that has been told; its Reply came. */
	uint64_t arrived, delivered, begun, replied;
	uint64_t reading_since; /* ms: its Reads that are pending */
	uint64_t posted; /* the last Send of the Reply */
	struct rt_call_priv *posting_next; /* conn->posting */
	unsigned int reads_pending;
	struct fab_buf *bufs; /* receive, reassembly and chunk buffers */
	size_t memory; /* octets counted in conn->memory */
	uint32_t inv_handle;

	/* Segments of all chunks of the Call, in header order. */
	unsigned int nsegs;
	struct wire_segment seg[RT_MAX_SEGMENTS];
	struct wire_segment result[RT_MAX_SEGMENTS]; /* as filled */
	unsigned int nbody; /* the Call chunk's are the first */
	struct fab_buf *body;
	size_t body_len;
	unsigned int nreads, reads_begun;
	unsigned int nreads_all; /* with those that are too many */
	struct rt_read_chunk read[RT_MAX_CHUNKS];
	struct wire_chunk_desc write[RT_MAX_CHUNKS];
	struct wire_chunk_desc reply_chunk;
	struct rt_rtr_in xmt; /* rtrext: it came by XMTREQ */
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
	bool posted_first;
	uint32_t threshold; /* that the format was chosen for */
	uint64_t user[]; /* call_user_size octets */
};

struct rt_request_priv {
	struct rt_request pub;
	struct rt_mail mail;
	struct rt_closing closing;
	struct rt_instance *inst;
	struct rt_request_priv *next_free;
	struct cds_list_head link; /* conn->requests while outstanding */
	struct cds_list_head queue; /* conn->calls_out until posted */
	struct rt_request_priv *hash_next;
	bool posted; /* its first Send has been */
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
	struct rt_rtr_out xmt; /* rtrext: it goes by XMTREQ */
	uint64_t user[]; /* request_user_size octets */
};

/* An ERROR or other small message that waits for a credit. */
struct rt_error_out {
	uint32_t xid;
	uint32_t vers;
	struct wire_error err;
	struct wire_repterr rep; /* with a code: this instead */
};

/* A continued message being received, 6.6.2. */
struct rt_sequence {
	bool active;
	bool reply;
	uint32_t xid;
	uint32_t remaining; /* as the last MIDDLE said */
	size_t last; /* octets in that */
	/* It can be so that remaining counts these, or that it does not [D1]:
	 * both until they have been told apart. */
	bool with, without;
	size_t len;
	size_t memory; /* of bufs, as accounted for */
	unsigned int npieces;
	struct rt_piece piece[RT_MAX_PIECES];
	struct fab_buf *bufs, *tail;
	size_t tail_used;
	uint64_t deadline;
	uint64_t began; /* CLOCK_MONOTONIC, ns */
};

/* A message that was refused: the rest of its fragments is swallowed. */
struct rt_discard {
	bool on;
	bool reply;
	uint32_t xid;
};

/* A message that came in. */
struct rt_in {
	const uint8_t *buf;
	size_t len;
	struct wire_prefix p;
	bool invalidated;
	uint32_t inv_handle;
};

#endif /* RPCRDMA_TRANSPORT_MESSAGE_H */
