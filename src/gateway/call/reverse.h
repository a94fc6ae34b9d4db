/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reverse - reverse-direction Calls, carried to the TCP client and back
 *
 * All there is of such a Call is in the area of its struct rt_call, so that none is
 * lost for want of memory. A Call whose connection has ended stays only until it is
 * out of the send queue. The transport bounds their number on one connection.
 *
 * Context: gw_reverse_vet() and gw_reverse_call() are the strand's, the others the
 * worker's.
 */
#ifndef RPCRDMA_GATEWAY_CALL_REVERSE_H
#define RPCRDMA_GATEWAY_CALL_REVERSE_H

#include "gateway/loop/send_queue.h"
#include "gateway/call/tcp_record.h"
#include "rpcrdma/call.h"
#include "tools/record.h"

/* A reverse-direction Call that the TCP client is to answer. */
struct gw_reverse {
	struct gw_send send; /* first: both have one address */
	struct gw_reverse *next; /* c->reverse */
	struct rt_call *call;
	uint32_t xid;
	bool written; /* out of the send queue */
	bool answered; /* rec is the Reply; no longer in c->reverse */
	bool orphan; /* its RDMA connection has ended */
	uint8_t mark[REC_MARK_LEN];
	struct iovec iov[1 + RT_MAX_PIECES];
	struct gw_record rec; /* the Reply */
	struct rt_reply reply;
};

/* Those that the TCP client has yet to answer. client.lock held. */
struct gw_reverses {
	struct gw_reverse *first;
	unsigned int n;
};

static inline unsigned int gw_reverse_count(const struct gw_reverses *r)
{
	return r->n;
}

void gw_reverse_call(struct rt_conn *rc, struct rt_call *call);
uint32_t gw_reverse_vet(struct rt_conn *rc, struct rt_vet *v, uint32_t *max);
/* Answer with @rec, which is empty on return. */
void gw_reverse_reply(struct gw_client *c, struct gw_record *rec, uint32_t xid);
/* The RDMA connection has ended: drop its Calls. */
void gw_reverse_orphan(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_CALL_REVERSE_H */
