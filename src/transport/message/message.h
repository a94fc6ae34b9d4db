/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message - versions, received messages, properties, XIDs, ERRORs, payload streams
 *
 * Reading order: version.c (the choice of the version), version1.c and version2.c (what
 * differs between them; received messages), sequence.c (continued messages), connprop.c
 * and ext.h (properties and extensions), xid.c, error.c, stream.c (payload to be sent).
 *
 * Context: the caller is the runner, unless a comment says otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_MESSAGE_H
#define RPCRDMA_TRANSPORT_MESSAGE_H

#include "transport/flow/flow.h"
#include "transport/message/ext.h"
#include "transport/core/room_state.h"

/* ERRORs that may wait in excess of the Advertised credits [E6]. */
#define RT_ERROR_SLACK 8
/* So many messages of unsupported versions in a row end the connection [B2]. */
#define RT_BAD_VERSIONS 8
/* If memory is short, payload that must be copied is sent in pieces of this size. */
#define RT_BOUNCE_MIN ((size_t)64 << 10)
/* The most pieces of a stream of RT_MAX_PIECES after items have been cut out. */
#define RT_OUT_PIECES (RT_MAX_PIECES + 2 * RT_MAX_CHUNKS)

extern const struct rt_part rt_part_message, rt_part_sequence, rt_part_error;
extern const struct rt_version rt_version1, rt_version2;

/* A payload stream to be sent, after reduction. */
struct rt_out {
	unsigned int npieces;
	struct rt_piece piece[RT_OUT_PIECES];
	size_t len;
	size_t off; /* octets that have been posted */
	unsigned int at; /* the piece that `off` is in */
	size_t at_off; /* `off` within that piece */
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

/* What this room calls in the Responder. */
struct rt_responder_ops {
	/* A Call was received, whose header is @m. The callee may take w->buf, or the
	 * buffers of @s, the complete sequence, NULL if the Call came in one message. */
	void (*call)(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w, struct rt_sequence *s);
};

/* What this room calls in the Requester. @own is one of its Calls. */
struct rt_requester_ops {
	void (*reply)(struct rt_conn *c, const struct wire_msg *m,
		      struct rt_work *w, struct rt_sequence *s);
	/* An ERROR with its XID was received. Returns true if it was about that Call. */
	bool (*error)(struct rt_conn *c, struct rt_own_call *own,
		      const struct wire_error *err);
	/* The peer has refused the version: fail the Call. */
	void (*refused)(struct rt_conn *c, struct rt_own_call *own,
			const struct wire_error *err);
	/* Its Reply cannot be used: fail the Call. */
	void (*unusable)(struct rt_conn *c, struct rt_own_call *own);
	/* Returns true if the Reply may invalidate @handle. */
	bool (*offered)(struct rt_conn *c, struct rt_own_call *own,
			uint32_t handle);
};

/* Returns true if the peer may invalidate handles of our Calls. */
static inline bool rt_offers_handles(const struct rt_conn *c)
{
	return !c->inst->cfg.no_remote_invalidation &&
	       (fab_conn_limits(c->fab)->caps & FAB_CAP_EXPOSE);
}

/* version1.c */
/* Version 1 has been settled: set what the connection has instead of properties. */
void rt_version1_settled(struct rt_conn *c);
/* Write our private data. Context: any thread, before the connection runs. */
void rt_private_data(const struct rt_conn *c, uint8_t out[WIRE_CM_LEN]);
/* Take the peer's private data. @priv is NULL if it sent none. */
void rt_private_take(struct rt_conn *c, const void *priv, size_t len);

/* sequence.c */
void rt_sequence_reset(struct rt_conn *c);
/* Abandon a continued message. If @more of it may be under way, discard that. */
void rt_sequence_abandon(struct rt_conn *c, uint32_t xid, bool reply,
			 bool more);
/* Returns false if there is no memory, or the message gets too long. */
bool rt_sequence_append(struct rt_conn *c, const struct wire_msg *m);
/* Free the buffers, and keep the sequence open. */
void rt_sequence_free_buffers(struct rt_conn *c);
/* Returns true if rdma_remaining agrees with the fragments received so far [D1]. */
bool rt_sequence_remaining_ok(struct rt_conn *c, const struct wire_msg *m,
			      bool middle);
/* Returns true if the message may be the next of the open sequence. */
bool rt_sequence_continues(const struct rt_conn *c,
			   const struct wire_prefix *p);
/* Discard the fragments of a continued message that are still to be received. */
void rt_sequence_discard(struct rt_conn *c, uint32_t xid, bool reply);
/* Returns true if the message is one of those. */
bool rt_sequence_discards(const struct rt_conn *c, const struct wire_prefix *p);

/* connprop.c */
/* Post our next CONNPROP message: a MIDDLE with a part of a token if one is due,
 * otherwise the FINAL. Returns false if it must wait. */
bool rt_connprop_post(struct rt_conn *c);
enum wire_status rt_connprop_receive(struct rt_conn *c,
				     const struct wire_msg *m);
void rt_connprop_init(struct rt_conn *c);
void rt_connprop_refused(struct rt_conn *c);
/* Work out the inline thresholds. Whoever changes a value of either end calls this. */
void rt_connprop_threshold(struct rt_conn *c);
/* Put our properties of all extensions except @except into @props, which holds
 * RT_EXT_PROPS. Returns how many. */
unsigned int rt_ext_props(struct rt_conn *c, const struct rt_ext *except,
			  struct wire_prop *props, uint8_t values[RT_EXT_ROOM]);
/*
 * The values of the peer's properties, those of extensions included. rt_values_read()
 * returns in @next the values in force as the message's @props change them, or false if
 * one is invalid. rt_values_change() returns true if they differ from those in force.
 * rt_values_take() brings them into force. Each works on what was read last.
 */
bool rt_values_read(struct rt_conn *c, const struct wire_list *props,
		    struct rt_properties *next);
bool rt_values_change(const struct rt_conn *c,
		      const struct rt_properties *next);
void rt_values_take(struct rt_conn *c, struct rt_properties *next);
/* Set the peer's Receive Buffer Size, as if it had announced that. */
void rt_values_set_recv_size(struct rt_conn *c, uint32_t size);

/* xid.c */
/* Count a Call of the peer: 1 when it is accepted, -1 when it is done. */
void rt_xid_count(struct rt_conn *c, uint32_t xid, int n);
/* A Reply is being sent: from now on an ERROR may be about it [E1]. */
void rt_xid_replied(struct rt_conn *c, uint32_t xid);
/* The table of our Calls by XID. The caller owns @own. */
struct rt_own_call *rt_xid_find(struct rt_conn *c, uint32_t xid);
void rt_xid_add(struct rt_conn *c, struct rt_own_call *own);
void rt_xid_del(struct rt_conn *c, const struct rt_own_call *own);
/* Returns the XID of our CONNPROP messages, which no Call of ours has [A11]. */
uint32_t rt_xid_props(struct rt_conn *c);
/* Returns an XID for another message of ours. */
uint32_t rt_xid_fresh(struct rt_conn *c);

/* error.c */
/* Queue an ERROR about a message of any version. The connection ends if there is no
 * memory or, in version 1, if too many wait. */
void rt_error_send(struct rt_conn *c, uint32_t xid, uint32_t vers,
		   const struct wire_error *err);
/* The same about a message of the connection's version; with only a code. */
void rt_error_about(struct rt_conn *c, uint32_t xid,
		    const struct wire_error *err);
void rt_error_code(struct rt_conn *c, uint32_t xid, uint32_t code);
/* Queue a REPTERR. */
void rt_repterr_send(struct rt_conn *c, const struct wire_repterr *err);
/* Post the next ERROR. Returns false if it must wait. */
bool rt_error_post(struct rt_conn *c);

/*
 * Check a Send with Invalidate that was received. It must be the last message of a Reply
 * (@reply) and invalidate a handle that its Call offered; otherwise it may have closed
 * memory of another RPC. If not, the connection ends, and this returns false.
 */
bool rt_invalidation_allowed(struct rt_conn *c, const struct rt_in *in,
			     bool reply);
/* A Reply was refused: end its RPC ([E1] 4, [D3] step 4). */
void rt_refuse_reply(struct rt_conn *c, uint32_t xid);
/* An ERROR was received, about a Call of ours, our properties, or an extension. */
void rt_error_received(struct rt_conn *c, uint32_t xid,
		       const struct wire_error *err);

/* stream.c */
/* A payload stream that is sent by base messages, and how. */
struct rt_transmission {
	struct rt_out *out;
	uint32_t xid;
	enum rt_out_kind kind;
	bool external; /* the stream goes in chunks, not in the message */
	size_t hlen; /* octets of the last message's header */
	bool shorter; /* send shorter fragments if memory is short */
};

/* Octets of the header of a MIDDLE, and of the payload in it. */
#define RT_MIDDLE_LEN 20
static inline size_t rt_middle_room(size_t threshold)
{
	return (threshold - RT_MIDDLE_LEN) & ~(size_t)3;
}

/*
 * Put the next message of a stream into @w: its payload and, if it is a MIDDLE, its
 * header of @hlen octets. The caller encodes the header of the @last message. Returns 0,
 * or after changing nothing -EMSGSIZE or an error of rt_gather().
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
 * Cut @items out of a stream: set @cuts to them, and @out to what remains. Returns 0,
 * -EINVAL if items lie outside, are unordered or overlap, or -E2BIG.
 */
int rt_reduce(const struct rt_piece *pieces, unsigned int npieces,
	      const struct rt_item *items, unsigned int nitems,
	      struct rt_out *out, struct rt_cuts *cuts);
/* Octets of all chunks of a Reply: `before` have been written already, and are skipped;
 * `now` are those of the Writes that were added. */
struct rt_written {
	size_t before, now;
};
/*
 * Add RDMA Writes of the pieces into the segments of a chunk to the chain, in order and
 * without gaps (4.5.2.1). They are freed with @send. Sets @result to the segments as
 * filled. Returns 0, -ENOSPC if the chunk is too short, or -ENOMEM after adding as many
 * Writes as there was memory for.
 */
int rt_write_chunk(struct rt_conn *c, struct rt_work *send,
		   const struct rt_piece *pieces, unsigned int npieces,
		   const struct wire_segment *seg, unsigned int nsegs,
		   struct wire_segment *result, struct rt_written *g);

#endif /* RPCRDMA_TRANSPORT_MESSAGE_H */
