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
	struct rt_call_priv *posting; /* whose Replies end in the chain */
	/* Those without a Reply yet, but for those in `waiting`; any thread. */
	atomic_uint calls_executing;
	unsigned int calls_reading; /* with Reads pending */
	unsigned int calls_unanswered; /* delivered, and no Reply has arrived */
	struct cds_list_head starved; /* Calls that wait for memory */
	uint64_t starved_deadline;
	struct cds_list_head waiting; /* ... for Replies to be taken */
	bool replies_told; /* that some have waited */
	bool vouched; /* server: a Call has had its Reply */
	bool calls_back; /* it has ended, and the last of its Calls too */
	uint64_t memory_deadline; /* of a Reply that waits for memory */
};

#endif /* RPCRDMA_TRANSPORT_OWN_RESPONDER_H */
