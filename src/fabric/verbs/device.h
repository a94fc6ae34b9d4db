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
/*
 * Close the files of a device that is no more, and that nobody uses but librdmacm,
 * which has it open for the caller. librdmacm closes their numbers some day; until
 * then nothing answers there.
 */
void vb_device_sever(struct ibv_context *ctx);
/* Domain lock held: keep the device open, of which @id has an address, until it
 * is removed; not any more. */
void vb_hold_open(struct vb_device *dev, struct rdma_cm_id *id);
void vb_hold_close(struct vb_device *dev);
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
unsigned int vb_device_local_access(const struct vb_device *dev);
/* Of its async_src. */
int vb_device_event(struct fab_events *ev, struct fab_source *src,
		    uint32_t events);

#endif /* RPCRDMA_VERBS_DEVICE_H */
