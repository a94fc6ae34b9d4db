/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work - work requests, and what comes into the strand from other threads
 *
 * A work request is the strand's. So is mail, from when the runner has taken it.
 */
#ifndef RPCRDMA_TRANSPORT_WORK_H
#define RPCRDMA_TRANSPORT_WORK_H

#include <urcu/list.h>

#include "base/stack.h"
#include "rpcrdma/transport.h"

/* Elements of a gather list, at most; a provider may allow fewer. */
#define RT_SGE 16
/* Room for any header this implementation sends. */
#define RT_HEADER_ROOM 4096

struct rt_work;
/* A work request has come back; @wc NULL: the fabric has not taken it. Whoever
 * posts it says what is to be done then, which begins or ends with
 * rt_work_put(). */
typedef void (*rt_work_fn)(struct rt_conn *c, struct rt_work *w,
			   const struct fab_wc *wc);

static inline bool rt_work_ok(const struct fab_wc *wc)
{
	return wc && wc->status == FAB_OK;
}

/*
 * One work request with its gather list. Unsignaled Writes hang on the Send
 * that follows them and are freed with it; they have no @done.
 */
struct rt_work {
	struct fab_wr wr;
	struct fab_sge sge[RT_SGE];
	struct cds_list_head lent; /* Receive: while posted */
	struct rt_work *next;
	struct rt_work *writes;
	rt_work_fn done;
	bool is_send;
	bool spare; /* nobody has taken it since it was last looked at */
	struct fab_buf *buf; /* Receive: its buffer; Send: the header's */
	struct fab_buf *bounce; /* payload that had to be copied */
	bool reserved; /* into what the connection has of its own for that */
	void *owner; /* its poster's: the Call or request that it is of */
};

/* Something on its way into the strand, see rt_inbox_put(). */
struct rt_mail {
	struct base_stack_node node;
	void (*run)(struct rt_conn *c, struct rt_mail *m);
};

/* A range that is open to the peer, and was to be closed, is so now. */
struct rt_closing {
	void (*closed)(struct rt_conn *c, struct rt_closing *range);
};

/* The end of the chain, and the counts of what is in it. */
struct rt_mark {
	struct fab_wr **tail;
	uint64_t writes, copied, chunks;
};

#endif /* RPCRDMA_TRANSPORT_WORK_H */
