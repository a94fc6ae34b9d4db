/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srq - a shared receive queue
 *
 * Threads: the runner unless said otherwise.
 */
#ifndef RPCRDMA_VERBS_SRQ_H
#define RPCRDMA_VERBS_SRQ_H

#include "vb.h"

/* Have @c use the shared queue of its device, if there is to be one: sets
 * c->srq. And not any more, when its queue pair is no more; poller thread. */
void vb_srq_join(struct vb_conn *c);
void vb_srq_leave(struct vb_conn *c);
/* For the queue pair; NULL: it has its own. */
struct ibv_srq *vb_srq_of(const struct vb_conn *c);
bool vb_srq_broken(const struct vb_conn *c);
/* Its queue pair may have taken so many Receives along. */
void vb_srq_lost(struct vb_conn *c, unsigned int n);
/* @n Receives of @c more are posted, or have become something else. */
void vb_srq_promise(struct vb_conn *c, unsigned int n);
void vb_srq_redeem(struct vb_conn *c, unsigned int n);
/* How many that are promised have no memory. */
unsigned int vb_srq_deficit(struct vb_conn *c);
/* Post what is missing. 0; -ENOMEM: no memory, or no room, at present; or what the
 * driver says. */
int vb_srq_fill(struct vb_conn *c);
/* The memory of the completed Receive @id, or NULL: there is none such. */
void *vb_srq_take(struct vb_conn *c, uint64_t id);
/* Any thread. */
void vb_srq_event(struct vb_srq *s, enum ibv_event_type type);
void vb_srq_stats(struct fab_domain *d, struct fab_srq_stats *out);

#endif /* RPCRDMA_VERBS_SRQ_H */
