/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opclass - what Calls cost, by class of operations
 *
 * The upper layer defines the classes: it puts a number below RT_CLASSES into
 * rt_call.op_class before it answers, or into rt_request.op_class before it
 * submits; 0 means unknown. Both ends count the Calls that get a Reply.
 *
 * Threads: the functions are pure; each says who may call it on which object.
 */
#ifndef RPCRDMA_TRANSPORT_OPCLASS_H
#define RPCRDMA_TRANSPORT_OPCLASS_H

#include "rpcrdma/stage.h"

#define RT_CLASSES 16

/* X(name, help) for each counter, so that printers need no second list. */
#define RT_CLASS_COUNTERS(X)                                           \
	X(octets_received, "octets of payload that came, roundup too") \
	X(octets_sent, "octets of payload that went, roundup too")     \
	X(rdma_received, "of these by RDMA Read or Write")             \
	X(rdma_sent, "of these by RDMA Read or Write")

struct rt_class {
#define RT_CLASS_FIELD(name, help) uint64_t name;
	RT_CLASS_COUNTERS(RT_CLASS_FIELD)
#undef RT_CLASS_FIELD
	/* Responder: from the Call's last message to its Reply being posted.
	 * Requester: from the submission to the Reply. */
	struct rt_histogram turn;
};

struct rt_classes {
	struct rt_class of[RT_CLASSES];
};

/* One Call; by one thread at a time, while others read. */
static inline void rt_class_add(struct rt_class *k, uint64_t received,
				uint64_t rdma_received, uint64_t sent,
				uint64_t rdma_sent, uint64_t ns)
{
#define RT_CLASS_MORE(field, n) \
	__atomic_store_n(&k->field, k->field + (n), __ATOMIC_RELAXED)
	RT_CLASS_MORE(octets_received, received);
	RT_CLASS_MORE(octets_sent, sent);
	/* Most have none. */
	if (rdma_received)
		RT_CLASS_MORE(rdma_received, rdma_received);
	if (rdma_sent)
		RT_CLASS_MORE(rdma_sent, rdma_sent);
#undef RT_CLASS_MORE
	rt_histogram_add(&k->turn, ns);
}

/* Add what @k has now to @total, which is the caller's alone. */
static inline void rt_classes_sum(struct rt_classes *total,
				  const struct rt_classes *k)
{
	for (unsigned int i = 0; i < RT_CLASSES; i++) {
#define RT_CLASS_SUM(name, help) \
	total->of[i].name += __atomic_load_n(&k->of[i].name, __ATOMIC_RELAXED);
		RT_CLASS_COUNTERS(RT_CLASS_SUM)
#undef RT_CLASS_SUM
		rt_histogram_sum(&total->of[i].turn, &k->of[i].turn);
	}
}

#endif /* RPCRDMA_TRANSPORT_OPCLASS_H */
