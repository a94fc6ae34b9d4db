/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr - what a connection and its messages hold for rtrext
 *
 * draft-dnoveck-nfsv4-rpcrdma-rtrext-03 as docs/protocol.md reads it. All of
 * it belongs to the strand.
 *
 * Our Receives are one stretch of memory each: a plain segment for the header
 * and the payload, then target segments of one page. So no provider needs to
 * scatter, and what is placed is handed on where it lies.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_RTR_H
#define RPCRDMA_TRANSPORT_EXT_RTR_H

#include "rpcrdma/rtr.h"
#include "transport/core/own.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

/* Groups of segments of a peer's structure that are kept; with more, or with
 * target segments shorter than this, nothing is placed there. */
#define RT_RTR_GROUPS 8
#define RT_RTR_LEAST 512u
/* Target segments named in one message. */
#define RT_RTR_NUMBERS 256
/* Results shorter than this are left in the stream. */
#define RT_RTR_MINLEN 1024u
/* Zeros to pad with; they are sent as often as needed. */
#define RT_RTR_ZEROS 16384u
/* So often a peer may refuse what we send before it is not used any more. */
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
	/* Without them while its Receives have another size [R10]. */
	struct rt_rtr_layout layout;
};

/*
 * Where the placed items of an outgoing message go, and how far it has been
 * sent. Item @i has the target segments bs[first[i]] and on. The layout that
 * these are numbers of belongs to the plan: the peer can change its own.
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

/* A Requester's own part of a Call that goes by XMTREQ. */
struct rt_rtr_out {
	unsigned int more; /* transmissions that were refused with it */
	uint32_t rsbuf;
	unsigned int nwants; /* directions for results: the first sinks */
	uint32_t minlen[RT_MAX_CHUNKS];
	struct rt_rtr_plan plan;
};

/* Where a result is to go, 7.4; its segments are in rt_call_priv.seg. */
struct rt_rtr_want {
	uint32_t begin, end;
	uint32_t minlen, type, threshold;
	struct wire_chunk_desc chunk;
	/* What became of it. */
	uint32_t result;
	uint32_t disp, length;
	unsigned int cut; /* EXRW, TBSN: of rt_call_priv.cuts */
	unsigned int placed; /* TBSN: of the plan's items */
};

/* A Responder's part of a Call that came by XMTREQ. */
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
	bool on; /* switched on here: announced */
	bool met; /* so it is there, or has been */
	bool refused; /* nothing of it goes to this peer any more [M2] */
	bool send; /* XMTREQ may go to the peer */
	struct rt_rtr_layout ours;
	struct rt_rtr_peer theirs;
	struct rt_rtr_peer next; /* as a message that is being read has it */
	unsigned int refusals;
	struct rt_xids sent; /* XMTRESP and REPTERR */
	struct rt_rtr_group group;
	/* A group that was dropped, and what it came amid or what came amid
	 * it: the rest of them is swallowed. */
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

/* Its own in a Call that has come, and in one that goes. */
static inline struct rt_rtr_in *rtr_in(const struct rt_call_priv *call)
{
	return rt_call_room(call);
}

static inline struct rt_rtr_out *rtr_out(const struct rt_request_priv *rq)
{
	return rt_request_room(rq);
}

/* use.c */
/* What is used follows from what holds now. */
void rt_rtr_use(struct rt_conn *c);
/* The peer does not want it, or does not know that we have it. */
void rt_rtr_off(struct rt_conn *c);
/* Send a REPTERR about a transmission of a request or response. */
void rt_rtr_report(struct rt_conn *c, struct wire_repterr *err, uint32_t xid,
		   bool reply, uint32_t seq);
bool rt_rtr_same_layout(const struct rt_rtr_layout *a,
			const struct rt_rtr_layout *b);
/* Has what it was cut for become another? */
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
/* May the message come where it does? If not, it has been answered. */
bool rt_rtr_in_order(struct rt_conn *c, const struct wire_prefix *p);
/* Swallow what is still to come of a group. */
void rt_rtr_discard(struct rt_conn *c, uint32_t xid);
/* Drop the group that is coming; what is under way of it is to be swallowed. */
void rt_rtr_give_up(struct rt_conn *c);
/* There is none any more. */
void rt_rtr_group_reset(struct rt_conn *c);

/* placement.c */
void rt_rtr_layout_set(struct rt_rtr_layout *l, const struct wire_rbstruct *b);
/*
 * Place @n items of these lengths behind a payload. @room: octets of a
 * transmission; @head: of the first header without the numbers of target
 * segments; @pieces: elements that payload and items have; @max:
 * transmissions. False: they do not fit.
 */
bool rt_rtr_plan(const struct rt_rtr_layout *l, size_t room, size_t head,
		 size_t payload, unsigned int pieces, const uint32_t *length,
		 unsigned int n, unsigned int max, struct rt_rtr_plan *p);
/* What follows the next transmission's header of @head octets, to @to. */
int rt_rtr_fill(struct rt_conn *c, struct rt_rtr_plan *p, struct rt_out *pay,
		const struct rt_cuts *cuts, size_t head, struct rt_out *to,
		size_t *pslen);
/*
 * An item in the group that has come: its pieces, @max at most. 0; a code of
 * REPTERR, with @err; UINT32_MAX: too scattered.
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
/* Is there a Call by XMTREQ that awaits a response of up to @limit? */
bool rt_rtr_response_limit(struct rt_conn *c, uint32_t xid, uint32_t *limit);
/* The group is a whole response. */
void rt_rtr_response_receive(struct rt_conn *c);
/* A request was refused by REPTERR: send it by base messages. */
void rt_rtr_refused(struct rt_conn *c, uint32_t xid);

#endif /* RPCRDMA_TRANSPORT_EXT_RTR_H */
