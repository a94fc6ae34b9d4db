/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own_requester - what the Requester has of a connection: that room alone looks into it
 */
#ifndef RPCRDMA_TRANSPORT_OWN_REQUESTER_H
#define RPCRDMA_TRANSPORT_OWN_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu/list.h>

struct rt_requesting {
	struct cds_list_head requests; /* all submitted and not done */
	bool reply_refused; /* REPLY_RESOURCE has come */
	uint32_t refused; /* header types, 1 << rdma_htype, 7.1.3 */
};

#endif /* RPCRDMA_TRANSPORT_OWN_REQUESTER_H */
