/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * let_go - librdmacm closes devices that are no more
 *
 * It opens each device that has the address of an id, used or not, and closes it
 * when it looks which are still there and this one is not. It looks when it is
 * asked for all of them. Where there are none any more it finds nothing out, as
 * of version 44, and keeps the last one open: then `rdma link delete` waits for
 * the end of this process. So the files of that one are closed here.
 *
 * Threads: any.
 */
#include <fcntl.h>
#include <unistd.h>

#include "device.h"

void vb_device_sever(struct ibv_context *ctx)
{
	struct ibv_device **list;
	int n = 0, null;

	list = ibv_get_device_list(&n);
	if (list)
		ibv_free_device_list(list);
	if (!list || n)
		return;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return;
	dup3(null, ctx->async_fd, O_CLOEXEC);
	dup3(null, ctx->cmd_fd, O_CLOEXEC);
	close(null);
}

void vb_device_look(void)
{
	struct ibv_context **list = rdma_get_devices(NULL);

	if (list)
		rdma_free_devices(list);
}
