/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own - what each room has of its own in a connection
 *
 * That room alone looks into it (tests/architecture/structures). It belongs to the
 * strand, unless a comment says otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_OWN_H
#define RPCRDMA_TRANSPORT_OWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/param.h>
#include <urcu/list.h>

#include "rpcrdma/pool.h"
#include "rpcrdma/rtr.h"
#include "rpcrdma/transport.h"

/* ---- Flow control --------------------------------------------------------- */

/* Counts of version 2, see flow/credit.h. */
struct rt_credit {
	uint32_t sent; /* Sent message count */
	uint32_t received; /* Received message count */
	uint32_t limit; /* Received credits; 1 at first */
	uint32_t max; /* Advertised credits when idle */
	uint32_t holding; /* complete Calls that keep theirs */
	uint32_t reverse; /* own Calls outstanding, reverse direction */
	uint32_t forward; /* own Calls outstanding, forward direction */
	uint32_t announced; /* the highest limit told to the peer */
	uint32_t lacking; /* Receives that there was no memory for */
	uint32_t grants; /* GRANTs received since then */
	bool told; /* announced has been sent */
	bool drawing; /* a Reply is on its way in fragments */
	bool stopped; /* nothing is advertised: too many ERRORs wait */
	bool roomy; /* the peer advertises two credits or more */
};

/* And of version 1, see flow/credit1.h. */
struct rt_credit1 {
	uint32_t sent, received; /* messages, for statistics */
	/* As Requester. */
	uint32_t request; /* credits asked for */
	uint32_t limit; /* granted; 1 at first */
	/* As Responder. */
	uint32_t grant; /* 0: Calls are not taken */
	uint32_t lacking; /* Receives that there was no memory for */
};

struct rt_flow {
	uint64_t credit_deadline; /* of a Reply that waits for a credit */
	uint64_t wrong_until; /* by then what was wrong is made up for */
	uint32_t grants; /* beyond other messages */
	uint32_t grants_at; /* messages, both ways, at the last of them */
	size_t memory; /* chunk and reassembly octets held */
	struct rt_host *host; /* server */
	/* Why it counts as one of its host's, under inst->lock: it has not
	 * ended, not all its Calls are back. */
	unsigned int host_holds;
	atomic_size_t reply_octets; /* of Replies that have not gone */
	struct cds_list_head unproved_link; /* inst->lock */

	struct cds_list_head lent; /* Receives posted */
	unsigned int recvs_posted;
	bool shortage_logged; /* that there was none */
	bool device_full; /* it has not taken all Receives */
	size_t recv_octets; /* of its own Receives, as its host's account has */
	unsigned int promised; /* buffers of the pool */
	struct fab_buf *free_recv;
};

/* ---- Messages ------------------------------------------------------------- */

/*
 * XIDs of the last Replies, or messages of an extension, that have gone: an ERROR may
 * be about one of them. There are more than the usual credits allow to be under way;
 * an ERROR about an older one is recognized by what comes next.
 */
#define RT_XIDS_KEPT 128

struct rt_xids {
	unsigned int n; /* all that there have been */
	uint32_t xid[RT_XIDS_KEPT];
};

static inline void rt_xids_add(struct rt_xids *s, uint32_t xid)
{
	s->xid[s->n++ % RT_XIDS_KEPT] = xid;
}

static inline bool rt_xids_have(const struct rt_xids *s, uint32_t xid)
{
	unsigned int n = MIN(s->n, RT_XIDS_KEPT);

	for (unsigned int i = 0; i < n; i++)
		if (s->xid[i] == xid)
			return true;
	return false;
}

#define RT_HASH 256
/* XIDs of the peer's Calls here are counted by their low bits. */
#define RT_XIDS 1024

/* A Call of ours, for what comes with its XID. */
struct rt_own {
	struct rt_own *next;
	uint32_t xid;
	bool posted; /* its first message has been */
	bool reply_chunk; /* it has one */
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
	bool lost; /* refused; it is not kept, but its end matters */
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

struct rt_messages {
	unsigned int version; /* 0: not yet settled */
	struct wire_cm_private private; /* the peer's, or the defaults */
	uint32_t messages; /* valid messages from the peer */
	unsigned int bad_versions;
	bool refused; /* with ERR_VERS; the first that was: */
	uint32_t refused_version;
	bool props_open; /* between the peer's MIDDLE and FINAL */
	uint32_t props_xid; /* of all our CONNPROP messages */
	uint32_t next_xid;
	/* Calls here by XID, written by the runner; rt_conn_xid_busy(). */
	_Atomic uint16_t xids[RT_XIDS];
	struct rt_own *own[RT_HASH];
	struct rt_xids replied; /* to the peer's Calls */
	struct rt_sequence seq;
	/* A broken sequence and the one that broke it, [D3], 7.1.4. */
	struct rt_discard discard[2];
	unsigned int errors_at, errors_room;
	struct rt_error_out *errors; /* ring of errors_room */
};

/* ---- The Requester -------------------------------------------------------- */

struct rt_requesting {
	struct cds_list_head requests; /* all submitted and not done */
	bool reply_refused; /* REPLY_RESOURCE has come */
	uint32_t refused; /* header types, 1 << rdma_htype, 7.1.3 */
};

/* ---- The Responder -------------------------------------------------------- */

struct rt_responding {
	struct cds_list_head calls; /* every rt_call_priv in use */
	struct rt_call_priv *free_calls;
	struct rt_call_priv *posting; /* their last Sends are in the chain */
	/* Without a Reply, and not in `waiting`. Any thread reads it. */
	atomic_uint calls_executing;
	unsigned int calls_reading; /* with Reads pending */
	unsigned int calls_unanswered; /* delivered, the Reply not yet sent */
	struct cds_list_head starved; /* Calls that wait for memory */
	uint64_t starved_deadline;
	struct cds_list_head waiting; /* Calls that wait for Replies to go */
	bool wait_logged;
	bool vouched; /* fab_conn_vouch() has been called */
	bool calls_returned; /* rt_host_calls_back() has been called */
	uint64_t memory_deadline; /* of a Reply that waits for memory */
};

#endif /* RPCRDMA_TRANSPORT_OWN_H */
