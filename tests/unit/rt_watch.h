/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rt_watch - looks at every message on the loop provider's wire
 *
 * Whatever a test does, these rules must hold for each end that is the
 * transport's (rt_watch.ours), and are checked as messages arrive:
 *
 *   - no Send beyond the receiver's limit, but one GRANT ([A2], [A5]);
 *   - a GRANT beyond the limit raises the peer's limit ([A5] rule 4), and
 *     none goes before the peer's first message (rule 7);
 *   - no limit is taken back ([A6]);
 *   - enough Receives for all that was announced and one GRANT (rule 3);
 *   - the client's first message has 32 to 1024 octets (4.3, [A8]);
 *   - one message of the server until the client's second, but for what
 *     follows its first fragment of a Reply or part of a token ([A7]);
 *   - between the fragments of a message only GRANTs and ERRORs, each
 *     rdma_remaining is right, no fragment is empty or unaligned ([D1], [D4]);
 *     only a Call, and only if the peer knows no such header type, may break
 *     off (7.1.3);
 *   - a payload begins with its XID;
 *   - messages of xcharext as look_at_xchar() says.
 *
 * And of rtrext:
 *
 *   - nothing amid a group but GRANTs, ERRORs and REPTERRs, its transmissions
 *     are numbered, and there are as many as the first one said;
 *   - what is neither header nor payload nor an item is zero (section 11).
 *
 * And in version 1:
 *
 *   - no more Calls outstanding than the last Reply granted, one at first, and
 *     no grant or request of 0 (RFC 8166 3.3.1);
 *   - Receives for all Calls that were granted and for all Replies to come;
 *   - a reverse Call, and its Reply, have no chunks;
 *   - one version for the life of the connection, but for a client that was
 *     refused ([B4]).
 */
#ifndef RPCRDMA_RT_WATCH_H
#define RPCRDMA_RT_WATCH_H

#include "loop/loop.h"
#include "rpcrdma/rtr.h"

#define WATCH_ENDS 512
#define WATCH_CALLS 64
#define WATCH_TARGETS 64

/* In rt_watch_end.xcount. */
#define WATCH_INITXCH 1
#define WATCH_REQXCH 2
#define WATCH_RESPXCH 3
#define WATCH_UPDXCH 4

struct rt_watch_end {
	const struct fab_conn *conn;
	bool active;
	uint64_t stamp;
	uint32_t sent; /* messages on the wire */
	uint32_t answers; /* without ERR_VERS */
	uint32_t sent2; /* from the first of version 2 on, with a header */
	uint32_t limit; /* last rdma_credit it sent */
	uint32_t first_htype, first_xid;
	uint64_t answered; /* ms, when that was sent, or more of it */
	uint32_t vers; /* the last it sent, without errors about versions */
	bool refuses; /* has sent ERR_VERS */
	uint32_t calls; /* version 1: Replies that may come to it */
	uint32_t out; /* ... its Calls without an answer */
	uint32_t listed, out_xid[WATCH_CALLS]; /* ... and which they are */
	uint32_t granted; /* ... that it may have */
	bool sequence; /* of fragments, not yet at its end */
	bool call; /* ... of a Call */
	bool refused; /* ... by the peer */
	uint32_t xid, remaining;
	bool final; /* its CONNPROP_FINAL is out */
	uint32_t xchar; /* X_XCHSUPP in it */
	uint32_t count[16]; /* by header type */
	uint32_t xcount[16]; /* of extensions, by the last four bits */
	/* Target segments of each Receive, announced. */
	uint32_t targets;
	uint32_t target_at[WATCH_TARGETS], target_len[WATCH_TARGETS];
	bool moved; /* by xcharext: they are not looked for any more */
	bool group; /* of transmissions, not yet at its end */
	uint32_t group_xid, group_count, group_next;
	uint8_t group_head[4096]; /* the first transmission's header */
	size_t group_len;
	uint64_t padding; /* octets of it that were looked at */
	uint32_t with_invalidate;
};

struct rt_watch {
	unsigned int ours; /* enum loop_side */
	uint64_t stamp;
	unsigned int nends;
	struct rt_watch_end end[WATCH_ENDS];
	unsigned int faults;
	bool quiet; /* they are expected */
	bool late; /* what lowers a grant may have come and not been seen */
	uint8_t mark[262144]; /* octets of a message that have a meaning */
	char first[160];
};

/* Begin to watch @dom. */
void rt_watch_start(struct rt_watch *w, struct fab_domain *dom,
		    unsigned int ours);
/* For who observes the domain itself. */
void rt_watch_event(struct rt_watch *w, const struct loop_event *ev);

#endif /* RPCRDMA_RT_WATCH_H */
