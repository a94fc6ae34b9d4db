/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message - versions, messages that come, properties, payload streams, and whose
 * an XID is
 *
 * Reading order: version.c (which version it is), version1.c and version2.c (what
 * differs between them, and the messages that come), sequence.c (continued messages),
 * connprop.c and ext.h (properties, extensions), xid.c, error.c, stream.c.
 *
 * Context: the caller holds the connection's strand, unless a comment says
 * otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_MESSAGE_H
#define RPCRDMA_TRANSPORT_MESSAGE_H

#include "transport/flow/flow.h"
#include "transport/message/ext.h"
#include "transport/core/room_state.h"

/* ERRORs that may wait beyond the Advertised credits [E6]. */
#define RT_ERROR_SLACK 8
/* Messages of unsupported versions in a row, [B2]. */
#define RT_BAD_VERSIONS 8
/* If memory is short, what must be copied is sent in pieces of this size. */
#define RT_BOUNCE_MIN ((size_t)64 << 10)
/* Cutting items out of a stream of RT_MAX_PIECES makes this many. */
#define RT_OUT_PIECES (RT_MAX_PIECES + 2 * RT_MAX_CHUNKS)

extern const struct rt_part rt_part_message, rt_part_sequence, rt_part_error;
extern const struct rt_version rt_version1, rt_version2;

/* A payload stream that goes, after reduction. */
struct rt_out {
	unsigned int npieces;
	struct rt_piece piece[RT_OUT_PIECES];
	size_t len;
	size_t off; /* octets that have been posted */
	/* The piece that @off is in, and the octet of it. */
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

/* What messages need of the Responder. */
struct rt_responder_ops {
	/* A Call has come, whose header is @m. It may take w->buf, or the buffers of
	 * the complete sequence @s, which is NULL if it came in one message. */
	void (*call)(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w, struct rt_sequence *s);
};

/* What messages need of the Requester. @own is one of its Calls. */
struct rt_requester_ops {
	void (*reply)(struct rt_conn *c, const struct wire_msg *m,
		      struct rt_work *w, struct rt_sequence *s);
	/* An ERROR with its XID has come. Returns true if it was about that Call. */
	bool (*error)(struct rt_conn *c, struct rt_own *own,
		      const struct wire_error *err);
	/* The peer refuses the version: the Call fails. */
	void (*refused)(struct rt_conn *c, struct rt_own *own,
			const struct wire_error *err);
	/* Its Reply cannot be used: the Call fails. */
	void (*unusable)(struct rt_conn *c, struct rt_own *own);
	/* Returns true if its Reply may invalidate @handle. */
	bool (*offered)(struct rt_conn *c, struct rt_own *own, uint32_t handle);
};

/* Returns true if the peer may invalidate handles of our Calls. */
static inline bool rt_offers_handles(const struct rt_conn *c)
{
	return !c->inst->cfg.no_remote_invalidation &&
	       (c->inst->limits->caps & FAB_CAP_EXPOSE);
}

/* version1.c */
/* Version 1 has been settled. */
void rt_version1_settled(struct rt_conn *c);
/* Our private data. */
void rt_private_data(const struct rt_instance *inst, bool server,
		     uint8_t out[WIRE_CM_LEN]);
/* The peer's private data. @priv may be NULL if there are none. */
void rt_private_take(struct rt_conn *c, const void *priv, size_t len);

/* sequence.c */
void rt_sequence_reset(struct rt_conn *c);
/* Give up a continued message. If @more of it may be under way, that is discarded. */
void rt_sequence_give_up(struct rt_conn *c, uint32_t xid, bool reply,
			 bool more);
/* Returns false if there is no memory, or the message gets too long. */
bool rt_sequence_append(struct rt_conn *c, const struct wire_msg *m);
/* Free its buffers, and keep the sequence open. */
void rt_sequence_free_buffers(struct rt_conn *c);
/* Returns true if rdma_remaining fits what has come so far [D1]. */
bool rt_sequence_remaining_ok(struct rt_conn *c, const struct wire_msg *m,
			      bool middle);
/* Returns true if the message is the next of the sequence. */
bool rt_sequence_continues(const struct rt_conn *c,
			   const struct wire_prefix *p);
/* Discard what is still to come of a continued message. */
void rt_sequence_discard(struct rt_conn *c, uint32_t xid, bool reply);
/* Returns true if this message is to be discarded so. */
bool rt_sequence_discards(const struct rt_conn *c, const struct wire_prefix *p);

/* connprop.c */
/* Our next CONNPROP message: FINAL, or a MIDDLE with a part of a token. False
 * when it has to wait. */
bool rt_connprop_post(struct rt_conn *c);
enum wire_status rt_connprop_receive(struct rt_conn *c,
				     const struct wire_msg *m);
void rt_connprop_init(struct rt_conn *c);
void rt_connprop_refused(struct rt_conn *c);
/* Sizes have changed: how long our messages may be, and the peer's. */
void rt_connprop_threshold(struct rt_conn *c);
/* Properties of all extensions but one, into @props, at most RT_EXT_PROPS. How
 * many. */
unsigned int rt_ext_props(struct rt_conn *c, const struct rt_ext *but,
			  struct wire_prop *props, uint8_t values[RT_EXT_ROOM]);
/*
 * The peer's values, extensions' too: read what @props makes of those that hold,
 * false: one cannot be; would anything change; have them hold. What has been
 * read is forgotten when something else is read.
 */
bool rt_values_read(struct rt_conn *c, const struct wire_list *props,
		    struct rt_properties *next);
bool rt_values_change(const struct rt_conn *c,
		      const struct rt_properties *next);
void rt_values_take(struct rt_conn *c, struct rt_properties *next);
/* It has a Receive Buffer Size as if it had said so. */
void rt_values_sized(struct rt_conn *c, uint32_t size);

/* xid.c */
/* Count a Call of the peer (1), or that it is done (-1). */
void rt_xid_count(struct rt_conn *c, uint32_t xid, int n);
/* The Reply to a Call goes. An ERROR may be about it from now on [E1]. */
void rt_xid_replied(struct rt_conn *c, uint32_t xid);
/* Our Calls by XID. The caller owns @own. */
struct rt_own *rt_xid_find(struct rt_conn *c, uint32_t xid);
void rt_xid_add(struct rt_conn *c, struct rt_own *own);
void rt_xid_del(struct rt_conn *c, const struct rt_own *own);
/* Returns the XID of all our CONNPROP messages, which no Call of ours has [A11]. */
uint32_t rt_xid_props(struct rt_conn *c);
/* Returns an XID for another message of ours. */
uint32_t rt_xid_fresh(struct rt_conn *c);

/* error.c */
/* Queue an ERROR about a message of any version. The connection ends if too many wait. */
void rt_error_send(struct rt_conn *c, uint32_t xid, uint32_t vers,
		   const struct wire_error *err);
/* The same about a message of the connection's version; with nothing but a code. */
void rt_error_about(struct rt_conn *c, uint32_t xid,
		    const struct wire_error *err);
void rt_error_code(struct rt_conn *c, uint32_t xid, uint32_t code);
/* Queue a REPTERR. */
void rt_repterr_send(struct rt_conn *c, const struct wire_repterr *err);
/* Post the next ERROR. Returns false if that has to wait. */
bool rt_error_post(struct rt_conn *c);

/*
 * A Send with Invalidate must be the end of a Reply (@reply) and take a handle that its
 * Call offered, or it may have closed memory of another RPC. Otherwise the connection
 * ends, and this returns false.
 */
bool rt_invalidation_allowed(struct rt_conn *c, const struct rt_in *in,
			     bool reply);
/* A Reply is refused, which ends its RPC ([E1] 4, [D3] step 4). */
void rt_refuse_reply(struct rt_conn *c, uint32_t xid);
/* An ERROR has come: for a Call of ours, our properties, or an extension. */
void rt_error_received(struct rt_conn *c, uint32_t xid,
		       const struct wire_error *err);

/* stream.c */
/* A payload stream that goes by base messages, and how. */
struct rt_transmission {
	struct rt_out *out;
	uint32_t xid;
	enum rt_out_kind kind;
	bool external; /* the stream is not in the message */
	size_t hlen; /* octets of the last message's header */
	bool shorter; /* send less at once if memory is short */
};

/* Octets of a MIDDLE's header; and of the stream beside it. */
#define RT_MIDDLE_LEN 20
static inline size_t rt_middle_room(size_t threshold)
{
	return (threshold - RT_MIDDLE_LEN) & ~(size_t)3;
}

/*
 * Put the next message of a stream into @w: its payload, and the header of a MIDDLE,
 * @hlen octets. The caller makes the header of the @last message. Returns 0, or
 * -EMSGSIZE or an error of rt_gather() after changing nothing.
 */
int rt_transmit(struct rt_conn *c, struct rt_work *w,
		const struct rt_transmission *t, size_t *hlen, bool *last);

/* Put the next @n octets of @out into the gather list of @w. Returns 0; -ENOMEM if they
 * must be copied and there is no memory; -EINVAL if there are fewer. */
int rt_gather(struct rt_conn *c, struct rt_work *w, struct rt_out *out,
	      size_t n);
void rt_out_init(struct rt_out *out);
int rt_out_add(struct rt_out *out, void *addr, size_t len, struct fab_mr *mr);
/*
 * Cut @items out of a stream: they go to @cuts, and what stays to @out. Returns 0,
 * -EINVAL if items are outside, unordered or overlap, or -E2BIG.
 */
int rt_reduce(const struct rt_piece *pieces, unsigned int npieces,
	      const struct rt_item *items, unsigned int nitems,
	      struct rt_out *out, struct rt_cuts *cuts);
/* Octets of all chunks of a Reply: those that were written before, and need not be
 * again; those of the Writes added now. */
struct rt_written {
	size_t before, now;
};
/*
 * Add RDMA Writes of the pieces into the segments of a chunk to the chain, in order and
 * without gaps (4.5.2.1). They are freed with @send. Sets in @result how much goes into
 * each segment. Returns 0, -ENOSPC if the chunk is too short, or -ENOMEM with as many
 * Writes as there was memory for.
 */
int rt_write_chunk(struct rt_conn *c, struct rt_work *send,
		   const struct rt_piece *pieces, unsigned int npieces,
		   const struct wire_segment *seg, unsigned int nsegs,
		   struct wire_segment *result, struct rt_written *g);

#endif /* RPCRDMA_TRANSPORT_MESSAGE_H */
