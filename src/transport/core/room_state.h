/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * room_state - the members of struct rt_conn that belong to one room
 *
 * Each structure here is used by one folder of the transport alone, which
 * tests/architecture/structures checks. They belong to the runner, unless a comment says
 * otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_ROOM_STATE_H
#define RPCRDMA_TRANSPORT_ROOM_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/param.h>
#include <urcu/list.h>

#include "rpcrdma/pool.h"
#include "rpcrdma/rtr.h"
#include "rpcrdma/transport.h"

/* ---- Flow control --------------------------------------------------------- */

/* The counts of version 2, see flow/credit.h. */
struct rt_credit {
	uint32_t sent; /* Sent message count */
	uint32_t received; /* Received message count */
	uint32_t limit; /* Received credits; 1 at first */
	uint32_t max; /* Advertised credits of an idle connection */
	uint32_t holding; /* complete Calls whose credit has not been returned */
	uint32_t reverse; /* own Calls outstanding, reverse direction */
	uint32_t forward; /* own Calls outstanding, forward direction */
	uint32_t announced; /* the highest limit sent to the peer */
	uint32_t lacking; /* Receives that could not be posted for lack of memory */
	uint32_t grants; /* GRANTs received since the limit was announced */
	bool has_announced; /* `announced` has been sent */
	bool reply_in_fragments; /* a Reply is on its way in fragments */
	bool withheld; /* nothing is advertised: too many ERRORs wait */
	bool peer_multi_credit; /* the peer advertises two credits or more */
};

/* The counts of version 1, see flow/credit1.h. */
struct rt_credit1 {
	uint32_t sent, received; /* messages, for statistics */
	/* As Requester. */
	uint32_t request; /* credits asked for */
	uint32_t limit; /* granted; 1 at first */
	/* As Responder. */
	uint32_t grant; /* 0: Calls are not accepted */
	uint32_t lacking; /* Receives that could not be posted for lack of memory */
};

struct rt_flow {
	uint64_t credit_deadline; /* ms; of a Reply that waits for a credit */
	uint64_t bad_messages_until; /* ms; then the peer has made up for all of them */
	uint32_t grants; /* GRANTs in excess of other messages */
	uint32_t grants_at; /* messages sent and received, at the last GRANT */
	size_t memory; /* chunk and reassembly octets held */
	struct rt_host *host; /* server */
	/* Under inst->lock: reasons why the connection counts as one of its host's. It
	 * has not ended; the upper layer has not returned all its Calls. */
	unsigned int host_holds;
	bool opened; /* the host's account says so; under inst->lock */
	atomic_size_t reply_octets; /* of Replies that have not been sent */
	struct cds_list_head unauthenticated_link; /* under inst->lock */
	/* Of a connection in its host's list for RDMA Reads, under inst->reads.lock. @wanted is
	 * 0 unless it is. */
	struct cds_list_head reads_link;
	size_t reads_wanted;

	struct cds_list_head posted; /* Receives */
	unsigned int recvs_posted;
	bool shortage_logged; /* that there was no memory for Receives */
	bool device_full; /* the device has refused some Receives */
	size_t recv_octets; /* of the connection's own Receives, charged to its host */
	unsigned int promised; /* buffers of the pool */
	struct fab_buf *free_recv;
};

/* ---- Messages ------------------------------------------------------------- */

/*
 * XIDs of the last Replies, or messages of an extension, that were sent, since an ERROR
 * may be about one of them. The usual credits allow fewer messages to be under way; an
 * ERROR about an older one is counted as dropped.
 */
#define RT_XIDS_KEPT 128

struct rt_xids {
	unsigned int n; /* XIDs ever added */
	uint32_t xid[RT_XIDS_KEPT];
};

static inline void rt_xids_add(struct rt_xids *s, uint32_t xid)
{
	s->xid[s->n++ % RT_XIDS_KEPT] = xid;
}

static inline bool rt_xids_contain(const struct rt_xids *s, uint32_t xid)
{
	unsigned int n = MIN(s->n, RT_XIDS_KEPT);

	for (unsigned int i = 0; i < n; i++)
		if (s->xid[i] == xid)
			return true;
	return false;
}

#define RT_HASH 256
/* The peer's Calls are counted by the low bits of their XIDs. */
#define RT_XIDS 1024

/* A Call of ours in the table of XIDs. */
struct rt_own_call {
	struct rt_own_call *next;
	uint32_t xid;
	bool posted; /* its first message has been posted */
	bool reply_chunk; /* it offers a Reply chunk */
};

/* An ERROR or REPTERR that waits for a credit. */
struct rt_error_out {
	uint32_t xid;
	uint32_t vers;
	struct wire_error err;
	struct wire_repterr rep; /* sent instead of @err if its code is not 0 */
};

/* A continued message that is being received, 6.6.2. */
struct rt_sequence {
	bool active;
	bool discarding; /* refused: fragments are not kept, but the last one matters */
	bool reply;
	uint32_t xid;
	uint32_t remaining; /* rdma_remaining of the last MIDDLE */
	size_t last; /* payload octets of the last MIDDLE */
	/* The sender's rdma_remaining may or may not include the fragment it stands in
	 * [D1]. Both are true until the values have shown which. */
	bool inclusive, exclusive;
	size_t len;
	size_t memory; /* charged for bufs */
	unsigned int npieces;
	struct rt_piece piece[RT_MAX_PIECES];
	struct fab_buf *bufs, *tail;
	size_t tail_used;
	uint64_t deadline; /* ms */
	uint64_t began; /* CLOCK_MONOTONIC, ns */
};

/* A message that was refused, whose remaining fragments are discarded. */
struct rt_discard {
	bool on;
	bool reply;
	uint32_t xid;
};

/* A message that was received. */
struct rt_in {
	const uint8_t *buf;
	size_t len;
	struct wire_prefix p;
	bool invalidated;
	uint32_t inv_handle;
};

struct rt_messages {
	unsigned int version; /* 0: not yet settled */
	unsigned int versions; /* bit n: version n; as set when it began */
	struct wire_cm_private private; /* the peer's, or the defaults */
	uint32_t messages; /* valid messages from the peer */
	unsigned int bad_versions;
	bool refused; /* an ERR_VERS was sent, the first about this version: */
	uint32_t refused_version;
	bool props_open; /* between the peer's CONNPROP_MIDDLE and _FINAL */
	uint32_t props_xid; /* of all our CONNPROP messages */
	uint32_t next_xid;
	/* The peer's Calls by XID. The runner writes, any thread reads. */
	_Atomic uint16_t xids[RT_XIDS];
	struct rt_own_call *own[RT_HASH];
	struct rt_xids replied; /* Replies sent */
	struct rt_sequence seq;
	/* A broken sequence and the one that broke it, [D3], 7.1.4. */
	struct rt_discard discard[2];
	unsigned int errors_at, errors_room;
	struct rt_error_out *errors; /* ring of errors_room */
};

/* ---- The Requester -------------------------------------------------------- */

struct rt_requesting {
	struct cds_list_head requests; /* all that are submitted and not done */
	bool reply_refused; /* REPLY_RESOURCE has been received */
	uint32_t refused_htypes; /* by the peer, 1 << htype, 7.1.3 */
};

/* ---- The Responder -------------------------------------------------------- */

struct rt_responding {
	struct cds_list_head calls; /* every rt_call_priv in use */
	struct rt_call_priv *free_calls;
	struct rt_call_priv *posting; /* Calls whose last Send is in the chain */
	/* Calls that the upper layer is executing: without a Reply, and not in
	 * `waiting`. The runner writes, any thread reads. */
	atomic_uint calls_executing;
	unsigned int calls_reading; /* with Reads pending */
	unsigned int calls_unanswered; /* delivered, the Reply not yet sent */
	struct cds_list_head starved; /* Calls that wait for memory */
	uint64_t starved_deadline; /* ms */
	struct cds_list_head waiting; /* Calls that wait for Replies to be sent */
	struct cds_list_head unread; /* Calls that wait for fewer RDMA Reads */
	bool reads_stalled; /* no Read has completed since one was slow */
	bool wait_logged;
	bool peer_confirmed; /* fab_conn_vouch() was called */
	bool calls_returned; /* rt_host_calls_returned() was called */
	uint64_t memory_deadline; /* ms; of a Reply that waits for memory */
};

#endif /* RPCRDMA_TRANSPORT_ROOM_STATE_H */
