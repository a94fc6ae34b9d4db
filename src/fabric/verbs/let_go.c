/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * let_go - a device is kept open while it is used, and closed when it is removed
 *
 * The drivers of some devices, such as rxe's, wait with a removal until nobody has
 * the device open, and so does who asked for it. librdmacm opens each device that
 * an id has an address of, and keeps it; it closes one that is no more when it
 * looks which are still there, but does not look for that (as of 44). So the files
 * of one that is removed are closed here; the protection domain that librdmacm has
 * of it, some octets in the driver's library, is lost with that.
 *
 * Who has no id there does not hear of a removal: of all that serve any address,
 * no one has. So a device that is used has an id of its own, which also keeps
 * librdmacm from closing it too early.
 *
 * Threads: any, but for hold_event().
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "device.h"

void vb_device_sever(struct ibv_context *ctx)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup3(null, ctx->async_fd, O_CLOEXEC);
	dup3(null, ctx->cmd_fd, O_CLOEXEC);
	close(null);
}

static bool bind_there(struct vb_device *dev, struct rdma_cm_id *id)
{
	struct sockaddr_storage at = { 0 };

	vb_copy_addr(&at, rdma_get_local_addr(id));
	base_addr_set_port(&at, 0);
	return !vb_set_nonblock(dev->hold_channel->fd) &&
	       !rdma_create_id(dev->hold_channel, &dev->hold, NULL,
			       RDMA_PS_TCP) &&
	       !rdma_bind_addr(dev->hold, (struct sockaddr *)&at) &&
	       dev->hold->verbs == dev->ctx;
}

/* Poller thread. */
static int hold_event(struct fab_events *events_of, struct fab_source *src,
		      uint32_t events)
{
	struct vb_device *dev = container_of(src, struct vb_device, hold_src);
	struct rdma_cm_event *ev;
	bool removed;

	/* Each event reaches one of the pollers. */
	if (rdma_get_cm_event(dev->hold_channel, &ev))
		return 0;
	removed = ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	rdma_ack_cm_event(ev);
	if (removed)
		vb_device_lost(dev->dom, dev->ctx);
	return 0;
}

void vb_hold_open(struct vb_device *dev, struct rdma_cm_id *id)
{
	dev->hold_src.event = hold_event;
	dev->hold_channel = rdma_create_event_channel();
	/* Then nothing is held, which harms only at its removal. */
	if (dev->hold_channel && !bind_there(dev, id))
		vb_hold_close(dev);
}

void vb_hold_close(struct vb_device *dev)
{
	if (dev->hold)
		rdma_destroy_id(dev->hold);
	if (dev->hold_channel)
		rdma_destroy_event_channel(dev->hold_channel);
	dev->hold = NULL;
	dev->hold_channel = NULL;
}
