/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device - devices that come and go
 *
 * Threads: any unless said otherwise.
 */
#ifndef RPCRDMA_VERBS_DEVICE_H
#define RPCRDMA_VERBS_DEVICE_H

#include "vb.h"

/* The device of @id for a connection, made ready for use if it is met for the
 * first time. NULL and *rc if that is impossible. */
struct vb_device *vb_device_get(struct vb_domain *d, struct rdma_cm_id *id,
				int *rc);
/* Domain lock held: @p listens to what happens to it. */
void vb_device_watch(struct vb_device *dev, struct vb_poller *p);
/* The connection is no more. */
void vb_device_put(struct vb_device *dev);
/* The device is no more, of which an id of the caller's is still there. */
void vb_device_lost(struct vb_domain *d, struct ibv_context *ctx);
/* Poller thread: let go of devices that have gone and are in no use. */
void vb_device_reclaim(struct vb_poller *p);
void vb_device_free(struct vb_device *dev);
/* A call to let go of something of @dev has failed with @rc: does the device
 * still have it? Not after its removal, when the kernel has freed all. Threads
 * of the domain. */
bool vb_device_keeps(struct vb_device *dev, int rc);
/* Fold what @ctx can do into the limits of all. */
int vb_device_limits(const struct vb_domain *d, struct ibv_context *ctx,
		     struct fab_limits *l);
bool vb_device_meets_limits(struct vb_domain *d, struct ibv_context *ctx);
void vb_device_read_caps(struct vb_device *dev,
			 const struct ibv_device_attr *a);
/* Register with @dev what the domain has registered. Returns 0 or -errno. Domain lock held. */
int vb_memory_add(struct vb_device *dev);
void vb_memory_remove(struct vb_device *dev);
/* Of its async_src. */
int vb_device_event(struct fab_ev_loop *ev, struct fab_source *src,
		    uint32_t events);

#endif /* RPCRDMA_VERBS_DEVICE_H */
