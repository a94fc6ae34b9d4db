/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own_flow - what flow control has of a connection: that room alone looks into it
 */
#ifndef RPCRDMA_TRANSPORT_OWN_FLOW_H
#define RPCRDMA_TRANSPORT_OWN_FLOW_H

#include <stdatomic.h>
#include <urcu/list.h>

#include "rpcrdma/pool.h"

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
	bool memory_told; /* that there was none */
	bool device_full; /* it has not taken all Receives */
	size_t recv_octets; /* of its own Receives, as its host's account has */
	unsigned int promised; /* buffers of the pool */
	struct fab_buf *free_recv;
};

#endif /* RPCRDMA_TRANSPORT_OWN_FLOW_H */
