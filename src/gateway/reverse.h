/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reverse - reverse-direction Calls, carried to the TCP client and back
 *
 * Threads: gw_reverse_vet() and gw_reverse_call() are the strand's, the others the
 * worker's.
 */
#ifndef RPCRDMA_GATEWAY_REVERSE_H
#define RPCRDMA_GATEWAY_REVERSE_H

#include "gateway/out.h"
#include "gateway/record.h"
#include "rpcrdma/call.h"
#include "tools/record.h"

/* A reverse-direction Call that the TCP client is to answer: its area. */
struct gw_reverse {
	struct gw_out out; /* first */
	struct gw_reverse *next; /* c->reverse */
	struct rt_call *call;
	uint32_t xid;
	bool written; /* out of the output queue */
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
/* @rec is the Reply; it is empty then. */
void gw_reverse_reply(struct gw_client *c, struct gw_record *rec, uint32_t xid);
/* Their RDMA connection has ended. */
void gw_reverse_orphan(struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_REVERSE_H */
