/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work - work requests, and mail from other threads
 *
 * Work requests belong to the runner, and so does mail once it has taken it.
 */
#ifndef RPCRDMA_TRANSPORT_WORK_H
#define RPCRDMA_TRANSPORT_WORK_H

#include <urcu/list.h>

#include "base/stack.h"
#include "rpcrdma/transport.h"

/* The most elements of a gather list; a provider may allow fewer. */
#define RT_SGE 16
/* Octets of the longest header that this implementation sends. */
#define RT_HEADER_ROOM 4096

struct rt_work;
/* Called when a work request has completed, or with @wc NULL if the fabric has refused
 * it. It must call rt_work_put(). */
typedef void (*rt_work_fn)(struct rt_conn *c, struct rt_work *w,
			   const struct fab_wc *wc);

static inline bool rt_work_ok(const struct fab_wc *wc)
{
	return wc && wc->status == FAB_OK;
}

/*
 * One work request with its gather list. RDMA Writes are unsignaled: they have no @done,
 * and are freed with the Send that follows them, in its list `writes`.
 */
struct rt_work {
	struct fab_wr wr;
	struct fab_sge sge[RT_SGE];
	struct cds_list_head posted_link; /* Receive: rt_flow.posted */
	struct rt_work *next;
	struct rt_work *writes;
	rt_work_fn done;
	bool is_send;
	bool idle; /* free, and not used since rt_works_trim() */
	struct fab_buf *buf; /* Receive: its buffer; Send: the header's */
	struct fab_buf *bounce; /* payload that had to be copied */
	bool reserved; /* `bounce` is the buffer that is reserved for copies */
	void *owner; /* the Call or request that it belongs to */
};

/* Work for the runner, see rt_inbox_put(). */
struct rt_mail {
	struct base_stack_node node;
	void (*run)(struct rt_conn *c, struct rt_mail *m);
};

/* Called when the fabric has closed a range of memory to the peer (fab_unexpose()). */
struct rt_closing {
	void (*closed)(struct rt_conn *c, struct rt_closing *range);
};

/* A point in the chain, and the counters as they were there. */
struct rt_mark {
	struct fab_wr **tail;
	uint64_t writes, copied, chunks;
};

#endif /* RPCRDMA_TRANSPORT_WORK_H */
