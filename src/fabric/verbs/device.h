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
 * NULL and sets *@rc if it cannot be used: -EACCES if it is not to be. */
struct vb_device *vb_device_get(struct vb_domain *d, struct rdma_cm_id *id,
				int *rc);
/* Returns a text for what vb_device_get() has set. */
const char *vb_device_fault(int rc);
/* Domain lock held: @p listens to its events. */
void vb_device_watch(struct vb_device *dev, struct vb_poller *p);
/* The connection is freed. */
void vb_device_put(struct vb_device *dev);
/* The device was removed. The caller has an id that is bound to it. */
void vb_device_lost(struct vb_domain *d, struct ibv_context *ctx);
/* Poller thread: retire removed devices that are not in use. */
void vb_device_reclaim(struct vb_poller *p);
/* And those that had its index before. */
void vb_device_free(struct vb_device *dev);
/* A call to release something of @dev has returned @rc. Returns true if the
 * device still has it; after its removal the kernel has freed all. Context:
 * threads of the domain. */
bool vb_device_keeps(struct vb_device *dev, int rc);
/* Move *@at to the next name of a list of devices (struct fab_domain_params), and
 * return its length, 0 at the end. */
size_t vb_next_name(const char **at);
/* Returns true if @devices (struct fab_domain_params) has @name, or is empty. */
bool vb_device_is_chosen(const char *devices, const char *name);
/* Set @l to the limits of a device. Returns 0, -ENODEV, or -EOPNOTSUPP after
 * logging what it lacks. */
int vb_device_limits(struct vb_domain *d, struct ibv_context *ctx,
		     struct fab_limits *l);
/* Reduce @l to what @other has too. */
void vb_limits_intersect(struct fab_limits *l, const struct fab_limits *other);
void vb_device_read_caps(struct vb_device *dev,
			 const struct ibv_device_attr *a);
/* shortage.c */
/* Returns true if this process uses as many of @dev's objects as it has. */
bool vb_shortage_is_of(const struct vb_device *dev, enum vb_object what);
/* Say why there is no further object; @err is what the driver says. */
void vb_shortage_text(const struct vb_device *dev, enum vb_object what, int err,
		      char *text, size_t room);
/* fab_ops.for_each_device */
void vb_for_each_device(struct fab_domain *d, fab_device_fn fn, void *arg);
/* Domain lock held: register all memory of the domain with @dev, or deregister
 * it. Returns 0 or -errno. */
int vb_memory_add(struct vb_device *dev);
void vb_memory_remove(struct vb_device *dev);
/* For async_src. */
int vb_device_event(struct fab_ev_loop *ev, struct fab_source *src,
		    uint32_t events);

#endif /* RPCRDMA_VERBS_DEVICE_H */
