/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stage - where the time of a Call goes: a histogram for each stage
 *
 * A Responder's Call goes through receive, read, dispatch, execute, write and
 * send, in this order; stages that it does not need are not counted. A
 * Requester's goes through submit and answer.
 *
 * Threads: the functions are pure; each says who may call it on which object.
 */
#ifndef RPCRDMA_TRANSPORT_STAGE_H
#define RPCRDMA_TRANSPORT_STAGE_H

#include <stdint.h>

/* X(name, help) for each stage, so that printers need no second list. */
#define RT_STAGES(X)                                                           \
	X(receive, "from the first to the last fragment of a continued Call")  \
	X(read, "RDMA Reads of a Call's chunks, and waiting for memory")       \
	X(dispatch, "until the upper layer begins to execute the Call")        \
	X(execute, "until the upper layer has the Reply")                      \
	X(write, "until the RDMA Writes and the Send of the Reply are posted") \
	X(send, "until the fabric has sent them")                              \
	X(submit, "until a Call of our own is posted")                         \
	X(answer, "until its Reply has come")

enum rt_stage {
#define RT_STAGE_ENUM(name, help) RT_STAGE_##name,
	RT_STAGES(RT_STAGE_ENUM)
#undef RT_STAGE_ENUM
		RT_NSTAGES
};

/*
 * Bucket 0 counts durations up to 1023 ns, each further one up to twice that
 * of the one before and one more; the last all that are longer.
 */
#define RT_STAGE_BUCKETS 28

struct rt_histogram {
	uint64_t sum; /* nanoseconds */
	uint64_t bucket[RT_STAGE_BUCKETS];
};

/* Where a duration is counted. */
static inline unsigned int rt_stage_bucket(uint64_t ns)
{
	unsigned int b = ns >> 10 ? 54 - (unsigned int)__builtin_clzll(ns) : 0;

	return b < RT_STAGE_BUCKETS ? b : RT_STAGE_BUCKETS - 1;
}

/* The longest duration that a bucket counts; UINT64_MAX for the last. */
static inline uint64_t rt_stage_bound(unsigned int bucket)
{
	return bucket < RT_STAGE_BUCKETS - 1 ? (1024ull << bucket) - 1 :
					       UINT64_MAX;
}

/* By one thread at a time, while others read. */
static inline void rt_histogram_add(struct rt_histogram *h, uint64_t ns)
{
	uint64_t *at = &h->bucket[rt_stage_bucket(ns)];

	__atomic_store_n(at, *at + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&h->sum, h->sum + ns, __ATOMIC_RELAXED);
}

/* Add what @h has now to @total, which is the caller's alone. */
static inline void rt_histogram_sum(struct rt_histogram *total,
				    const struct rt_histogram *h)
{
	total->sum += __atomic_load_n(&h->sum, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < RT_STAGE_BUCKETS; i++)
		total->bucket[i] +=
			__atomic_load_n(&h->bucket[i], __ATOMIC_RELAXED);
}

/* Of a histogram that nobody adds to now. */
static inline uint64_t rt_histogram_count(const struct rt_histogram *h)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < RT_STAGE_BUCKETS; i++)
		n += h->bucket[i];
	return n;
}

#endif /* RPCRDMA_TRANSPORT_STAGE_H */
