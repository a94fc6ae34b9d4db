/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr - rtrext: data items are placed by Send (draft-dnoveck-nfsv4-rpcrdma-rtrext-03, as
 * docs/protocol.md reads it)
 *
 * Reading order: rtr_messages.c (the messages), rtr_props.c (whether the extension is
 * used, and the layout of the peer's Receives), group.c (messages of several
 * transmissions), placement.c (where items are placed), rtr_responder.c, rtr_requester.c.
 *
 * Each Receive of ours is one buffer: a plain segment for header and payload, then target
 * segments of one page. So no provider needs to scatter, and placed items stay where they
 * were received.
 *
 * Context: the caller is the runner.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_RTR_H
#define RPCRDMA_TRANSPORT_EXT_RTR_H

#include "rpcrdma/rtr.h"
#include "transport/core/room_state.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

/* If a peer's structure has more groups of segments, or shorter target segments, nothing
 * is placed there. */
#define RT_RTR_GROUPS 8
#define RT_RTR_LEAST 512u
/* The most target segments that one message names. */
#define RT_RTR_NUMBERS 256
/* Shorter results are left in the stream. */
#define RT_RTR_MINLEN 1024u
/* Octets of the buffer of zeros for padding, which may be sent several times. */
#define RT_RTR_ZEROS 16384u
/* After so many refusals by the peer XMTREQ is not used any more. */
#define RT_RTR_REFUSALS 4

/* How Receives are laid out, 7.2. */
struct rt_rtr_layout {
	uint32_t targets; /* target segments in each; 0: none */
	unsigned int ngroups;
	struct wire_rbgroup group[RT_RTR_GROUPS];
};

/* What the peer has announced, section 8. */
struct rt_rtr_peer {
	uint32_t support; /* RTRS_* */
	uint32_t reqrxlim, respsxlim; /* transmissions */
	bool has_struct;
	bool size_given; /* RBSIZ too; otherwise that follows from the structure */
	uint32_t length; /* of the structure */
	uint32_t targets; /* target segments of the structure */
	/* It has no target segments while the Receives have another size [R10]. */
	struct rt_rtr_layout layout;
};

/*
 * Where the placed items of a message are placed, and how much has been sent. Item i has
 * the n[i] target segments bs[first[i]] and following, by their numbers in @layout, a
 * copy, since the peer may change its own.
 */
struct rt_rtr_plan {
	struct rt_rtr_layout layout;
	unsigned int count; /* transmissions */
	size_t room; /* octets of each, at most */
	size_t pay0; /* payload octets of the first */
	unsigned int nitems;
	unsigned int
		cut[RT_MAX_CHUNKS]; /* index of the item in the message's cuts */
	unsigned int first[RT_MAX_CHUNKS], n[RT_MAX_CHUNKS];
	unsigned int nbs;
	uint32_t bs[RT_RTR_NUMBERS];
	struct rt_rtr_progress {
		/* Transmission, item, target segment and octet of it. */
		unsigned int xnum, item, at;
		size_t done;
	} progress;
};

/* Requester: a Call that is sent by XMTREQ. */
struct rt_rtr_out {
	unsigned int errors_expected; /* about its further transmissions */
	uint32_t rsbuf;
	unsigned int
		nwants; /* directions for results; those of the first sinks */
	uint32_t minlen[RT_MAX_CHUNKS];
	struct rt_rtr_plan plan;
};

/* A direction for a result (7.4). Its segments are in rt_call_priv.seg. */
struct rt_rtr_want {
	uint32_t begin, end;
	uint32_t minlen, type, threshold;
	struct wire_chunk_desc chunk;
	/* How the result is sent. */
	uint32_t result;
	uint32_t disp, length;
	unsigned int cut; /* EXRW, TBSN: index in rt_call_priv.cuts */
	unsigned int placed; /* TBSN: index of the plan's items */
};

/* Responder: a Call that came by XMTREQ. */
struct rt_rtr_in {
	uint32_t rsbuf;
	unsigned int nplaced; /* pieces in rt_call_priv.placed */
	unsigned int nwants;
	struct rt_rtr_want want[RT_MAX_CHUNKS];
	struct rt_rtr_plan plan;
};

/* One transmission of a group that was received. */
struct rt_rtr_part {
	struct fab_buf *buf;
	size_t len; /* octets received */
	size_t payload, pslen; /* offset and length of its payload */
};

/* A group that is being received. The lists of @head are in the first buffer. */
struct rt_rtr_group {
	bool active;
	bool reply;
	struct wire_xmt head;
	uint32_t count, next;
	size_t memory; /* of the buffers beyond the first */
	uint64_t deadline;
	uint64_t began; /* CLOCK_MONOTONIC, ns */
	struct rt_rtr_part part[RT_TRANSMISSIONS_MAX];
};

struct rt_rtr {
	bool enabled; /* this end announces the extension */
	bool peer_announced; /* the peer announces it, or did so before */
	bool refused; /* the peer has refused it: it is not used any more [M2] */
	bool usable; /* XMTREQ may be sent */
	struct rt_rtr_layout ours;
	struct rt_rtr_peer theirs;
	struct rt_rtr_peer
		next; /* as the message that is being read changes it */
	unsigned int refusals; /* of Calls by XMTREQ */
	struct rt_xids sent; /* XMTRESPs and REPTERRs */
	struct rt_rtr_group group;
	/* Dropped groups whose remaining transmissions are discarded. */
	struct {
		bool on;
		uint32_t xid;
	} discard[2];
};

extern const struct rt_part rt_part_rtr;
extern const struct rt_ext rt_ext_rtr;

static inline struct rt_rtr *rtr(const struct rt_conn *c)
{
	return c->ext[RT_SLOT_RTR];
}

static inline struct rt_rtr_in *rtr_in(const struct rt_call_priv *call)
{
	return rt_call_room(call);
}

static inline struct rt_rtr_out *rtr_out(const struct rt_request_priv *rq)
{
	return rt_request_room(rq);
}

/* rtr_props.c */
/* Send a REPTERR about a transmission of a request or response. */
void rt_rtr_report(struct rt_conn *c, struct wire_repterr *err, uint32_t xid,
		   bool reply, uint32_t seq);
/* Work out whether the extension is used, from what was announced and refused. */
void rt_rtr_update(struct rt_conn *c);
/* The peer has refused the extension. */
void rt_rtr_disable(struct rt_conn *c);
/* Returns true if the peer has changed what the plan was made for. */
bool rt_rtr_plan_outdated(const struct rt_conn *c, const struct rt_rtr_plan *p);

/* Hooks of struct rt_ext. */
unsigned int rt_rtr_props(struct rt_conn *c, struct wire_prop *to, void *buf,
			  size_t room);
bool rt_rtr_prop(struct rt_conn *c, struct rt_properties *unused,
		 const struct wire_prop *v);
void rt_rtr_begin(struct rt_conn *c);
bool rt_rtr_changed(const struct rt_conn *c);
void rt_rtr_taken(struct rt_conn *c, struct rt_properties *next);
void rt_rtr_resized(struct rt_conn *c);

/* group.c */
/* An XMTREQ or XMTRESP, an XMTCONT was received. */
void rt_rtr_initial(struct rt_conn *c, struct rt_work *w,
		    const struct rt_in *in, const struct wire_xmt *m);
void rt_rtr_continued(struct rt_conn *c, struct rt_work *w,
		      const struct rt_in *in, const struct wire_xmt *m);
/* Returns true if the message may come here. If not, it has been answered. */
bool rt_rtr_in_order(struct rt_conn *c, const struct wire_prefix *p);
/* Discard the transmissions of a group that are still to be received. */
void rt_rtr_discard(struct rt_conn *c, uint32_t xid);
/* Drop the group that is being received, and discard the rest of it. */
void rt_rtr_group_abandon(struct rt_conn *c);
/* Free the group. */
void rt_rtr_group_reset(struct rt_conn *c);

/* placement.c */
void rt_rtr_layout_set(struct rt_rtr_layout *l, const struct wire_rbstruct *b);
/*
 * Place @n items of these lengths behind a payload that is in @pieces pieces. A
 * transmission has @room octets, and the first header @head octets, without the numbers
 * of target segments. Returns false if more than @max transmissions are needed.
 */
bool rt_rtr_plan(const struct rt_rtr_layout *l, size_t room, size_t head,
		 size_t payload, unsigned int pieces, const uint32_t *length,
		 unsigned int n, unsigned int max, struct rt_rtr_plan *p);
/* Set @to to what follows the header, of @head octets, in the next transmission. Returns
 * 0 or -errno. */
int rt_rtr_fill(struct rt_conn *c, struct rt_rtr_plan *p, struct rt_out *pay,
		const struct rt_cuts *cuts, size_t head, struct rt_out *to,
		size_t *pslen);
/*
 * Find the pieces of an item, at most @max, in the group that was received. Returns 0; a
 * code of REPTERR, after setting @err; or UINT32_MAX if the item is in too many pieces.
 */
uint32_t rt_rtr_locate(const struct rt_conn *c, const struct wire_xitem *item,
		       struct rt_piece *piece, unsigned int *npieces,
		       unsigned int max, struct wire_repterr *err);

/* rtr_responder.c */
extern const struct rt_reply_format rt_format_xmtresp;
/* The group is complete: a Call; take it. */
void rt_rtr_call_receive(struct rt_conn *c);

/* rtr_requester.c */
extern const struct rt_request_format rt_format_xmtreq;
/* Returns true if a Call by XMTREQ waits for that response, and sets @limit to the most
 * transmissions that it may have. */
bool rt_rtr_response_limit(struct rt_conn *c, uint32_t xid, uint32_t *limit);
/* The group is complete: a response; take it. */
void rt_rtr_response_receive(struct rt_conn *c);
/* The peer has refused a Call by XMTREQ: send it again by base messages. */
void rt_rtr_request_refused(struct rt_conn *c, uint32_t xid);

#endif /* RPCRDMA_TRANSPORT_EXT_RTR_H */
