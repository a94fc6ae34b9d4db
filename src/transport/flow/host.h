/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host - what the connections of one client host share
 */
#ifndef RPCRDMA_TRANSPORT_HOST_H
#define RPCRDMA_TRANSPORT_HOST_H

#include "transport/flow/flow.h"

struct rt_host {
	struct cds_list_head link; /* of its bucket in inst->hosts */
	/* Its connections; the sums of those that are gone. */
	struct rt_host_info info;
	struct rt_host_info sum; /* rt_for_each_host() */
	struct rt_account account;
	bool due; /* the account is to be reported */
	unsigned int refs; /* connections, until they are freed */
	unsigned int
		conns; /* until they have ended and their Calls are returned */
	atomic_size_t memory; /* octets of chunks and reassembly */
	atomic_size_t reply_octets; /* of Replies that have not been sent */
	atomic_size_t receives; /* octets reserved for connections */
	/* Under inst->reads.lock: octets under way; connections that wait. */
	size_t reads;
	struct cds_list_head reads_waiting;
};

#endif /* RPCRDMA_TRANSPORT_HOST_H */
