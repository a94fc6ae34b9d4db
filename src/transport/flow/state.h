/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - what flow control has of a connection; for core/conn.h
 */
#ifndef RPCRDMA_TRANSPORT_FLOW_STATE_H
#define RPCRDMA_TRANSPORT_FLOW_STATE_H

#include <stdatomic.h>
#include <urcu/list.h>

#include "rpcrdma/pool.h"
#include "transport/flow/credit.h"
#include "transport/flow/credit1.h"

struct rt_flow {
	uint64_t credit_deadline; /* of a Reply that waits for a credit */
	uint64_t wrong_until; /* by then what was wrong is made up for */
	size_t memory; /* chunk and reassembly octets held */
	struct rt_host *host; /* server */
	/* Why it counts as one of its host's, under inst->lock: it has not
	 * ended, not all its Calls are back. */
	unsigned int host_holds;
	atomic_size_t reply_octets; /* of Replies that have not gone */
	struct cds_list_head crowd_link; /* inst->lock */

	struct cds_list_head lent; /* Receives posted */
	unsigned int recvs_posted;
	bool memory_told; /* that there was none */
	size_t recv_octets; /* of its own Receives, as its host's account has */
	unsigned int promised; /* buffers of the pool */
	struct fab_buf *free_recv;
};

#endif /* RPCRDMA_TRANSPORT_FLOW_STATE_H */
