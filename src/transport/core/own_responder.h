/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own_responder - what the Responder has of a connection: that room alone looks into it
 */
#ifndef RPCRDMA_TRANSPORT_OWN_RESPONDER_H
#define RPCRDMA_TRANSPORT_OWN_RESPONDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <urcu/list.h>

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

#endif /* RPCRDMA_TRANSPORT_OWN_RESPONDER_H */
