/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registration - memory registered with the devices of a domain
 *
 * Each registration is made with every device in use, for local use only. A device
 * that is added later registers what there is by then.
 *
 * Context: any thread. The domain's lock protects the list of registrations.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memlock.h"
#include "device.h"

void vb_memlock_hint(struct vb_domain *d, int err)
{
	unsigned long long kib;

	if (err != ENOMEM || !base_memlock_limit(&kib))
		return;
	if (atomic_exchange(&d->memlock_told, true))
		return;
	fab_domain_log(
		&d->fab, 3,
		"verbs: the limit on locked memory, %llu KiB, is too small for "
		"RDMA; raise it with LimitMEMLOCK=infinity in the systemd unit "
		"or \"ulimit -l unlimited\"",
		kib);
}

struct ibv_mr *vb_register(struct vb_device *dev, void *addr, size_t len,
			   unsigned int access,
			   const struct sockaddr_storage *peer, int *err)
{
	unsigned long long kib;
	char limit[160] = "";
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(dev->pd, addr, len, access);
	if (mr) {
		atomic_fetch_add(&dev->used[VB_MR], 1);
		return mr;
	}
	*err = errno ? errno : ENOMEM;
	if (vb_shortage_is_of(dev, VB_MR)) {
		vb_shortage_text(dev, VB_MR, *err, limit, sizeof(limit));
		fab_domain_log_peer(&dev->dom->fab, peer, 4,
				    "verbs: registering %zu bytes: %s", len,
				    limit);
		return NULL;
	}
	if (*err == ENOMEM && base_memlock_limit(&kib))
		snprintf(limit, sizeof(limit),
			 " (limit of locked memory: %llu KiB; "
			 "LimitMEMLOCK=infinity or ulimit -l unlimited)",
			 kib);
	fab_domain_log_peer(&dev->dom->fab, peer, 4,
			    "verbs: %s: registering %zu bytes: %s%s", dev->name,
			    len, strerror(*err), limit);
	vb_memlock_hint(dev->dom, *err);
	return NULL;
}

int vb_deregister(struct vb_device *dev, struct ibv_mr *mr)
{
	int rc = ibv_dereg_mr(mr);

	if (!rc)
		atomic_fetch_sub(&dev->used[VB_MR], 1);
	return rc;
}

static unsigned int local_access(const struct vb_device *dev)
{
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING |
	       (dev->windows ? IBV_ACCESS_MW_BIND : 0);
}

bool vb_device_keeps(struct vb_device *dev, int rc)
{
	struct ibv_device_attr a;

	if (!rc || atomic_load(&dev->gone))
		return false;
	/* EIO is what every command returns for a removed device; the event may
	 * still be on its way. */
	return rc != EIO || ibv_query_device(dev->ctx, &a) != EIO;
}

/* Domain lock held. */
void vb_memory_remove(struct vb_device *dev)
{
	struct vb_mr *mr;

	TAILQ_FOREACH(mr, &dev->dom->mrs, link)
	{
		struct ibv_mr *m = atomic_exchange(&mr->mr[dev->index], NULL);

		if (m)
			(void)vb_deregister(dev, m);
	}
}

/* Domain lock held. */
int vb_memory_add(struct vb_device *dev)
{
	struct vb_mr *mr;
	int err = 0;

	TAILQ_FOREACH(mr, &dev->dom->mrs, link)
	{
		struct ibv_mr *m;

		/* Nobody uses it any more. */
		if (mr->lost)
			continue;
		m = vb_register(dev, mr->fab.addr, mr->fab.len,
				local_access(dev), NULL, &err);
		if (!m)
			break;
		atomic_store(&mr->mr[dev->index], m);
	}
	if (!err)
		return 0;
	vb_memory_remove(dev);
	return -err;
}

/* Domain lock held. Returns false if a device cannot deregister it, and may
 * still write there. */
static bool mr_release(struct vb_mr *mr)
{
	struct vb_domain *d = vb_domain(mr->fab.dom);
	bool all = true;

	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++) {
		struct ibv_mr *m = atomic_load(&mr->mr[i]);
		struct vb_device *dev = atomic_load(&d->dev[i]);
		int rc = m ? vb_deregister(dev, m) : 0;

		/* The kernel has freed what a removed device had. */
		if (!rc || !vb_device_keeps(dev, rc)) {
			atomic_store(&mr->mr[i], NULL);
			continue;
		}
		all = false;
		fab_domain_log(&d->fab, 4,
			       "verbs: %s: deregistering: %s; %zu bytes are "
			       "lost",
			       dev->name, strerror(rc), mr->fab.len);
	}
	return all;
}

int vb_reg(struct fab_domain *fd, void *addr, size_t len, struct fab_mr **out)
{
	struct vb_domain *d = vb_domain(fd);
	struct vb_mr *mr = calloc(1, sizeof(*mr));
	int err = 0;

	if (!mr)
		return -ENOMEM;
	mr->fab = (struct fab_mr){ .dom = fd, .addr = addr, .len = len };
	pthread_mutex_lock(&d->lock);
	for (unsigned int i = 0; i < d->ndevs && !err; i++) {
		struct vb_device *dev = atomic_load(&d->dev[i]);

		if (!atomic_load(&dev->gone))
			atomic_store(&mr->mr[i], vb_register(dev, addr, len,
							     local_access(dev),
							     NULL, &err));
	}
	/* Under the lock, so that no device is retired meanwhile. */
	mr->lost = err && !mr_release(mr);
	if (!err || mr->lost)
		TAILQ_INSERT_TAIL(&d->mrs, mr, link);
	pthread_mutex_unlock(&d->lock);
	if (mr->lost)
		return -EBUSY;
	if (err) {
		free(mr);
		/* EBUSY means quarantine. */
		return err == EBUSY ? -EIO : -err;
	}
	*out = &mr->fab;
	return 0;
}

bool vb_dereg(struct fab_mr *fm)
{
	struct vb_mr *mr = vb_mr(fm);
	struct vb_domain *d = vb_domain(fm->dom);
	bool lost;

	pthread_mutex_lock(&d->lock);
	/* Under the lock, so that no device is retired meanwhile. */
	mr->lost = !mr_release(mr);
	lost = mr->lost;
	if (!lost)
		TAILQ_REMOVE(&d->mrs, mr, link);
	pthread_mutex_unlock(&d->lock);
	if (!lost)
		free(mr);
	return !lost;
}

void vb_memory_destroy(struct vb_domain *d)
{
	struct vb_mr *mr;

	while ((mr = TAILQ_FIRST(&d->mrs))) {
		TAILQ_REMOVE(&d->mrs, mr, link);
		(void)mr_release(mr);
		free(mr);
	}
}
