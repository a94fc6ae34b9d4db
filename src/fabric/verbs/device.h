/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - RDMA devices in use
 *
 * Context: any thread unless said otherwise.
 */
#ifndef RPCRDMA_VERBS_DEVICE_H
#define RPCRDMA_VERBS_DEVICE_H

#include "vb.h"

/* Get the device of @id for a connection; adds it at the first use. Returns
 * NULL and sets *@rc if it cannot be used. */
struct vb_device *vb_device_get(struct vb_domain *d, struct rdma_cm_id *id,
				int *rc);
/* Domain lock held: @p listens to its events. */
void vb_device_watch(struct vb_device *dev, struct vb_poller *p);
/* The connection is freed. */
void vb_device_put(struct vb_device *dev);
/* The device was removed. The caller has an id that is bound to it. */
void vb_device_lost(struct vb_domain *d, struct ibv_context *ctx);
/* Poller thread: retire removed devices that are not in use. */
void vb_device_reclaim(struct vb_poller *p);
void vb_device_free(struct vb_device *dev);
/* A call to release something of @dev has returned @rc. Returns true if the
 * device still has it; after its removal the kernel has freed all. Context:
 * threads of the domain. */
bool vb_device_keeps(struct vb_device *dev, int rc);
/* Reduce @l to what @ctx can do. Returns 0, -ENODEV, or -EOPNOTSUPP after logging
 * what it lacks. */
int vb_device_limits(const struct vb_domain *d, struct ibv_context *ctx,
		     struct fab_limits *l);
bool vb_device_meets_limits(struct vb_domain *d, struct ibv_context *ctx);
void vb_device_read_caps(struct vb_device *dev,
			 const struct ibv_device_attr *a);
/* Domain lock held: register all memory of the domain with @dev, or deregister
 * it. Returns 0 or -errno. */
int vb_memory_add(struct vb_device *dev);
void vb_memory_remove(struct vb_device *dev);
/* For async_src. */
int vb_device_event(struct fab_ev_loop *ev, struct fab_source *src,
		    uint32_t events);

#endif /* RPCRDMA_VERBS_DEVICE_H */
