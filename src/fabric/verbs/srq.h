/* SPDX-License-Identifier: BSD-3-Clause */
/* srq - shared receive queues. Context: the runner unless said otherwise. */
#ifndef RPCRDMA_VERBS_SRQ_H
#define RPCRDMA_VERBS_SRQ_H

#include "vb.h"

/* Join the shared queue of the device, which sets c->srq, or do not if there
 * can be none. Leave when the queue pair is destroyed. */
void vb_srq_join(struct vb_conn *c);
void vb_srq_leave(struct vb_conn *c);
/* For the queue pair; NULL without a shared queue. */
struct ibv_srq *vb_srq_of(const struct vb_conn *c);
bool vb_srq_broken(const struct vb_conn *c);
/* The queue pair may have taken @n Receives along. */
void vb_srq_lost(struct vb_conn *c, unsigned int n);
/* @n more Receives of @c are promised, or no longer. */
void vb_srq_promise(struct vb_conn *c, unsigned int n);
void vb_srq_redeem(struct vb_conn *c, unsigned int n);
/* Returns how many promised Receives of all connections of the queue have no memory. */
unsigned int vb_srq_deficit(struct vb_conn *c);
/* Post what is missing. Returns 0, -ENOMEM without memory or room, or what the
 * driver says. */
int vb_srq_fill(struct vb_conn *c);
/* Returns the memory of the completed Receive @id, or NULL if it was not
 * posted. */
void *vb_srq_take(struct vb_conn *c, uint64_t id);
/* Any thread. */
void vb_srq_event(struct vb_srq *s, enum ibv_event_type type);
void vb_srq_stats(struct fab_domain *d, struct fab_srq_stats *out);

#endif /* RPCRDMA_VERBS_SRQ_H */
