/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr - rtrext: data items are placed by Send (draft-dnoveck-nfsv4-rpcrdma-rtrext-03, as
 * docs/protocol.md reads it)
 *
 * Reading order: rtr_messages.c (its messages), props.c and use.c (whether it is used, and how the
 * peer's Receives are laid out), group.c (messages of several transmissions),
 * placement.c (where items go), rtr_responder.c, rtr_requester.c.
 *
 * Each Receive of ours is one buffer: a plain segment for header and payload, then target
 * segments of one page. So no provider needs to scatter, and placed items stay where
 * they are.
 *
 * Context: the caller holds the connection's strand.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_RTR_H
#define RPCRDMA_TRANSPORT_EXT_RTR_H

#include "rpcrdma/rtr.h"
#include "transport/core/room_state.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

/* If a peer's structure has more groups of segments, or target segments shorter than this,
 * nothing is placed there. */
#define RT_RTR_GROUPS 8
#define RT_RTR_LEAST 512u
/* Target segments named in one message. */
#define RT_RTR_NUMBERS 256
/* Results shorter than this are left in the stream. */
#define RT_RTR_MINLEN 1024u
/* Octets of the buffer of zeros to pad with, which may be sent several times. */
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
	bool size_given; /* RBSIZ, too; else its size follows from this */
	uint32_t length; /* of the structure */
	uint32_t targets; /* and its target segments */
	/* Without target segments while its Receives have another size [R10]. */
	struct rt_rtr_layout layout;
};

/*
 * Where the placed items of an outgoing message go, and how much has been sent. Item @i
 * has the target segments bs[first[i]] and following, numbers in @layout, which is a copy:
 * the peer may change its own.
 */
struct rt_rtr_plan {
	struct rt_rtr_layout layout;
	unsigned int count; /* transmissions */
	size_t room; /* octets of each, at most */
	size_t pay0; /* payload octets of the first */
	unsigned int nitems;
	unsigned int cut[RT_MAX_CHUNKS]; /* which of the message's cuts */
	unsigned int first[RT_MAX_CHUNKS], n[RT_MAX_CHUNKS];
	unsigned int nbs;
	uint32_t bs[RT_RTR_NUMBERS];
	struct rt_rtr_progress {
		/* Transmission, item, target segment and octet of it. */
		unsigned int xnum, item, at;
		size_t done;
	} progress;
};

/* Requester: a Call that goes by XMTREQ. */
struct rt_rtr_out {
	unsigned int more; /* ERRORs about its other transmissions to come */
	uint32_t rsbuf;
	unsigned int nwants; /* directions for results, of the first sinks */
	uint32_t minlen[RT_MAX_CHUNKS];
	struct rt_rtr_plan plan;
};

/* A direction for a result (7.4). Its segments are in rt_call_priv.seg. */
struct rt_rtr_want {
	uint32_t begin, end;
	uint32_t minlen, type, threshold;
	struct wire_chunk_desc chunk;
	/* How the result went. */
	uint32_t result;
	uint32_t disp, length;
	unsigned int cut; /* EXRW, TBSN: of rt_call_priv.cuts */
	unsigned int placed; /* TBSN: of the plan's items */
};

/* Responder: a Call that came by XMTREQ. */
struct rt_rtr_in {
	uint32_t rsbuf;
	unsigned int nplaced; /* pieces in rt_call_priv.placed */
	unsigned int nwants;
	struct rt_rtr_want want[RT_MAX_CHUNKS];
	struct rt_rtr_plan plan;
};

/* One transmission of a group that has come. */
struct rt_rtr_part {
	struct fab_buf *buf;
	size_t len; /* octets received */
	size_t payload, pslen; /* where its payload begins; its length */
};

/* A group that is coming in; the lists of @head are in its first buffer. */
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
	bool on; /* we announce it */
	bool met; /* the peer announces it, or did */
	bool refused; /* by the peer: not used any more [M2] */
	bool send; /* XMTREQ may be sent */
	struct rt_rtr_layout ours;
	struct rt_rtr_peer theirs;
	struct rt_rtr_peer next; /* of the message that is being read */
	unsigned int refusals;
	struct rt_xids sent; /* XMTRESP and REPTERR */
	struct rt_rtr_group group;
	/* Dropped messages whose remaining transmissions are discarded. */
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

/* use.c */
/* Work out whether it is used, from what is announced and refused. */
void rt_rtr_use(struct rt_conn *c);
/* The peer refuses it. */
void rt_rtr_off(struct rt_conn *c);
/* Send a REPTERR about a transmission of a request or response. */
void rt_rtr_report(struct rt_conn *c, struct wire_repterr *err, uint32_t xid,
		   bool reply, uint32_t seq);
bool rt_rtr_same_layout(const struct rt_rtr_layout *a,
			const struct rt_rtr_layout *b);
/* Returns true if the peer has changed what the plan was made for. */
bool rt_rtr_moved(const struct rt_conn *c, const struct rt_rtr_plan *p);

/* props.c: as in struct rt_ext */
unsigned int rt_rtr_props(struct rt_conn *c, struct wire_prop *to, void *buf,
			  size_t room);
bool rt_rtr_prop(struct rt_conn *c, struct rt_properties *unused,
		 const struct wire_prop *v);
void rt_rtr_begin(struct rt_conn *c);
bool rt_rtr_changed(const struct rt_conn *c);
void rt_rtr_taken(struct rt_conn *c, struct rt_properties *next);
void rt_rtr_resized(struct rt_conn *c);

/* group.c */
/* An XMTREQ or XMTRESP, and an XMTCONT. */
void rt_rtr_initial(struct rt_conn *c, struct rt_work *w,
		    const struct rt_in *in, const struct wire_xmt *m);
void rt_rtr_continued(struct rt_conn *c, struct rt_work *w,
		      const struct rt_in *in, const struct wire_xmt *m);
/* Returns true if the message may come here. If not, it has been answered. */
bool rt_rtr_in_order(struct rt_conn *c, const struct wire_prefix *p);
/* Discard what is still to come of a group. */
void rt_rtr_discard(struct rt_conn *c, uint32_t xid);
/* Drop the group that is coming, and discard the rest of it. */
void rt_rtr_give_up(struct rt_conn *c);
/* Free the group. */
void rt_rtr_group_reset(struct rt_conn *c);

/* placement.c */
void rt_rtr_layout_set(struct rt_rtr_layout *l, const struct wire_rbstruct *b);
/*
 * Place @n items of these lengths behind a payload that is in @pieces pieces. A
 * transmission has @room octets, and the first header @head, without the numbers of
 * target segments. Returns false if more than @max transmissions are needed.
 */
bool rt_rtr_plan(const struct rt_rtr_layout *l, size_t room, size_t head,
		 size_t payload, unsigned int pieces, const uint32_t *length,
		 unsigned int n, unsigned int max, struct rt_rtr_plan *p);
/* Put what follows the next transmission's header, of @head octets, into @to. Returns 0 or
 * -errno. */
int rt_rtr_fill(struct rt_conn *c, struct rt_rtr_plan *p, struct rt_out *pay,
		const struct rt_cuts *cuts, size_t head, struct rt_out *to,
		size_t *pslen);
/*
 * Find the pieces of an item, at most @max, in the group that has come. Returns 0; a code
 * of REPTERR, with @err; or UINT32_MAX if it is too scattered.
 */
uint32_t rt_rtr_locate(const struct rt_conn *c, const struct wire_xitem *item,
		       struct rt_piece *piece, unsigned int *npieces,
		       unsigned int max, struct wire_repterr *err);

/* rtr_responder.c */
extern const struct rt_reply_format rt_format_xmtresp;
/* The group is a whole Call. */
void rt_rtr_call_receive(struct rt_conn *c);

/* rtr_requester.c */
extern const struct rt_request_format rt_format_xmtreq;
/* Returns true, and the most transmissions of its response, if there is such a Call by
 * XMTREQ. */
bool rt_rtr_response_limit(struct rt_conn *c, uint32_t xid, uint32_t *limit);
/* The group is a whole response. */
void rt_rtr_response_receive(struct rt_conn *c);
/* The peer has refused a request by XMTREQ: send it again by base messages. */
void rt_rtr_refused(struct rt_conn *c, uint32_t xid);

#endif /* RPCRDMA_TRANSPORT_EXT_RTR_H */
