/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message - versions, messages that come, properties, payload streams, and whose
 * an XID is
 *
 * Reading order: version.c (which version it is), v1.c and v2.c (what differs
 * between them, and the messages that come), sequence.c (continued messages),
 * connprop.c and ext.h (properties, extensions), xid.c, error.c, stream.c.
 *
 * Context: the caller holds the connection's strand, unless a comment says
 * otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_MESSAGE_H
#define RPCRDMA_TRANSPORT_MESSAGE_H

#include "transport/flow/flow.h"
#include "transport/message/ext.h"
#include "transport/core/own.h"

/* ERRORs waiting for credits beyond the Advertised credits, [E6]. */
#define RT_ERROR_SLACK 8
/* Messages of unsupported versions in a row, [B2]. */
#define RT_BAD_VERSIONS 8
/* What must be copied to be sent goes in pieces of this if memory is short. */
#define RT_BOUNCE_MIN ((size_t)64 << 10)
/* Cutting items out of a stream of RT_MAX_PIECES makes this many. */
#define RT_OUT_PIECES (RT_MAX_PIECES + 2 * RT_MAX_CHUNKS)

extern const struct rt_part rt_part_message, rt_part_sequence, rt_part_error;
extern const struct rt_version rt_version1, rt_version2;

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

/* What the Responder does. */
struct rt_responder_ops {
	/*
	 * Take a Call whose header is @m. @w's buffer, or those of the finished
	 * sequence @s, go to the Call if it is kept; NULL: it was one message.
	 */
	void (*call)(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w, struct rt_sequence *s);
};

/* What the Requester does, with Calls of its own. */
struct rt_requester_ops {
	void (*reply)(struct rt_conn *c, const struct wire_msg *m,
		      struct rt_work *w, struct rt_sequence *s);
	/* It may be about that Call; true: it has been heeded. */
	bool (*error)(struct rt_conn *c, struct rt_own *own,
		      const struct wire_error *err);
	/* That ends it. */
	void (*refused)(struct rt_conn *c, struct rt_own *own,
			const struct wire_error *err);
	/* Its Reply cannot be used. */
	void (*unusable)(struct rt_conn *c, struct rt_own *own);
	/* May a Reply to it have invalidated that handle? */
	bool (*offered)(struct rt_conn *c, struct rt_own *own, uint32_t handle);
};

/* May the peer invalidate handles of our Calls? */
static inline bool rt_offers_handles(const struct rt_conn *c)
{
	return !c->inst->cfg.no_remote_invalidation &&
	       (c->inst->limits->caps & FAB_CAP_EXPOSE);
}

/* v1.c */
/* Version 1 has been settled. */
void rt_version1_settled(struct rt_conn *c);
/* Our private data. */
void rt_private_data(const struct rt_instance *inst, bool server,
		     uint8_t out[WIRE_CM_LEN]);
/* The peer's private data. @priv may be NULL if there are none. */
void rt_private_take(struct rt_conn *c, const void *priv, size_t len);

/* sequence.c */
void rt_sequence_reset(struct rt_conn *c);
/* Give up a continued message; @more of it may be under way. */
void rt_sequence_give_up(struct rt_conn *c, uint32_t xid, bool reply,
			 bool more);
/* False: there is no memory, or it is longer than a message may be. */
bool rt_sequence_append(struct rt_conn *c, const struct wire_msg *m);
/* Give back its octets. */
void rt_sequence_drop(struct rt_conn *c);
/* Does rdma_remaining go on from what has come so far [D1]? */
bool rt_sequence_goes_on(struct rt_conn *c, const struct wire_msg *m,
			 bool middle);
/* Does this message go on with the sequence in progress? */
bool rt_sequence_continues(const struct rt_conn *c,
			   const struct wire_prefix *p);
/* Swallow what is still to come of a continued message. */
void rt_sequence_discard(struct rt_conn *c, uint32_t xid, bool reply);
/* Is this of such a message? */
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
/* One more Call of the peer's, or one less. */
void rt_xid_count(struct rt_conn *c, uint32_t xid, int n);
/* A Reply to one goes: an ERROR may be about it from now on [E1]. */
void rt_xid_replied(struct rt_conn *c, uint32_t xid);
/* Calls of ours. */
struct rt_own *rt_xid_find(struct rt_conn *c, uint32_t xid);
void rt_xid_add(struct rt_conn *c, struct rt_own *own);
void rt_xid_del(struct rt_conn *c, const struct rt_own *own);
/* The XID of all our CONNPROP messages, so that an ERROR can be told [A11]. */
uint32_t rt_xid_props(struct rt_conn *c);
/* One for another message of ours. */
uint32_t rt_xid_fresh(struct rt_conn *c);

/* error.c */
/* Queue an ERROR; closes the connection if too many wait. */
void rt_error_send(struct rt_conn *c, uint32_t xid, uint32_t vers,
		   const struct wire_error *err);
/* The same about a message of the connection's version. */
void rt_error_about(struct rt_conn *c, uint32_t xid,
		    const struct wire_error *err);
void rt_error_code(struct rt_conn *c, uint32_t xid, uint32_t code);
/* The same with a REPTERR. */
void rt_repterr_send(struct rt_conn *c, const struct wire_repterr *err);
/* Post the next ERROR. Returns false if that has to wait. */
bool rt_error_post(struct rt_conn *c);

/*
 * A Send with Invalidate must be the end of a Reply and take a handle that its
 * Call offered; otherwise memory of another RPC may be closed. If not, the
 * connection ends. @reply: it is the whole or the last part of a Reply.
 */
bool rt_invalidation_ok(struct rt_conn *c, const struct rt_in *in, bool reply);
/* A Requester that refuses a Reply ends its RPC, [E1] 4, [D3] step 4. */
void rt_refuse_reply(struct rt_conn *c, uint32_t xid);
/* An ERROR: for one of our Calls, our properties, or an extension. */
void rt_error_received(struct rt_conn *c, uint32_t xid,
		       const struct wire_error *err);

/* stream.c */
/* A payload stream that goes by base messages. */
struct rt_transmission {
	struct rt_out *out;
	uint32_t xid;
	enum rt_out_kind kind;
	bool external; /* by one, which the stream is not in */
	size_t hlen; /* octets of the last one's header */
	bool shorter; /* without memory to copy all of a message, in more */
};

/* The header of a MIDDLE; octets of the stream beside it. */
#define RT_MIDDLE_LEN 20
static inline size_t rt_middle_room(size_t threshold)
{
	return (threshold - RT_MIDDLE_LEN) & ~(size_t)3;
}

/*
 * Its next message into @w: the payload, and the header of a MIDDLE, which has
 * @hlen octets. If it is the @last, or the only one, its header is left to the
 * caller. 0 or -errno, and nothing has changed: -EMSGSIZE, or as rt_gather().
 */
int rt_transmit(struct rt_conn *c, struct rt_work *w,
		const struct rt_transmission *t, size_t *hlen, bool *last);

/* Fill @w's gather list from @n octets of @out at its present place. */
int rt_gather(struct rt_conn *c, struct rt_work *w, struct rt_out *out,
	      size_t n);
void rt_out_init(struct rt_out *out);
int rt_out_add(struct rt_out *out, void *addr, size_t len, struct fab_mr *mr);
/*
 * Cut @items out of a stream: what stays goes to @out, the items to @cuts.
 * 0, -EINVAL (items outside, unordered or overlapping), -E2BIG.
 */
int rt_reduce(const struct rt_piece *pieces, unsigned int npieces,
	      const struct rt_item *items, unsigned int nitems,
	      struct rt_out *out, struct rt_cuts *cuts);
/* Of the octets of all chunks of a Reply: how many have been written before, and
 * need not be again; and how many Writes of now bring. */
struct rt_written {
	size_t before, now;
};
/* RDMA Writes of the pieces into the segments of a chunk, before @send. -ENOMEM:
 * some of them, for as much as there was memory to copy into. */
int rt_write_chunk(struct rt_conn *c, struct rt_work *send,
		   const struct rt_piece *pieces, unsigned int npieces,
		   const struct wire_segment *seg, unsigned int nsegs,
		   struct wire_segment *result, struct rt_written *g);

#endif /* RPCRDMA_TRANSPORT_MESSAGE_H */
