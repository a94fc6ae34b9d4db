/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shortage - what a device has too few of
 *
 * Drivers report ENOMEM when the device has no more objects, when memory is short,
 * and when no more may be locked. Only the number of objects tells these apart, and
 * other programs have some too.
 *
 * Context: any thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device.h"

static const char *const names[] = {
	[VB_QP] = "queue pair",
	[VB_CQ] = "completion queue",
	[VB_MR] = "memory region",
};

void vb_shortage_text(const struct vb_device *dev, enum vb_object what, int err,
		      char *text, size_t room)
{
	unsigned int used = atomic_load(&dev->used[what]);
	unsigned int most = dev->most[what];

	if (vb_shortage_is_of(dev, what))
		snprintf(text, room,
			 "%s has no %s left: %u of %u are used here (rdma "
			 "resource shows all)",
			 dev->name, names[what], used, most);
	else
		snprintf(text, room,
			 "%s creates no %s: %s (%u of %u are used here; rdma "
			 "resource shows all)",
			 dev->name, names[what], strerror(err), used, most);
}

void vb_for_each_device(struct fab_domain *fd, fab_device_fn fn, void *arg)
{
	struct vb_domain *d = vb_domain(fd);

	_Static_assert((int)VB_OBJECTS == FAB_NDEVICE_OBJECTS &&
			       (int)VB_MR == FAB_DEVICE_memory_regions,
		       "both have the same order");
	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++) {
		const struct vb_device *dev = atomic_load(&d->dev[i]);
		struct fab_device out = { 0 };

		if (!dev)
			break;
		if (atomic_load(&dev->gone))
			continue;
		memcpy(out.name, dev->name, sizeof(out.name));
		for (unsigned int k = 0; k < VB_OBJECTS; k++) {
			out.used[k] = atomic_load(&dev->used[k]);
			out.most[k] = dev->most[k];
		}
		fn(&out, arg);
	}
}

bool vb_shortage_is_of(const struct vb_device *dev, enum vb_object what)
{
	return dev->most[what] &&
	       atomic_load(&dev->used[what]) >= dev->most[what];
}
