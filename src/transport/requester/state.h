/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - what the Requester has of a connection; for core/conn.h
 */
#ifndef RPCRDMA_TRANSPORT_REQUESTER_STATE_H
#define RPCRDMA_TRANSPORT_REQUESTER_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu/list.h>

struct rt_requesting {
	struct cds_list_head requests; /* all submitted and not done */
	bool reply_refused; /* REPLY_RESOURCE has come */
	uint32_t refused; /* header types, 1 << rdma_htype, 7.1.3 */
};

#endif /* RPCRDMA_TRANSPORT_REQUESTER_STATE_H */
