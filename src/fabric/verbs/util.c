/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * util - what all files of the provider need, and needs none of them
 *
 * Threads: any.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memlock.h"
#include "vb.h"

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
	char limit[128] = "";
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(dev->pd, addr, len, access);
	if (mr)
		return mr;
	*err = errno ? errno : ENOMEM;
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

void vb_copy_addr(struct sockaddr_storage *to, const struct sockaddr *from)
{
	if (!from)
		return;
	if (from->sa_family == AF_INET)
		memcpy(to, from, sizeof(struct sockaddr_in));
	else if (from->sa_family == AF_INET6)
		memcpy(to, from, sizeof(struct sockaddr_in6));
}

int vb_set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

static unsigned int duration(const struct vb_conn *c, enum vb_timer_kind kind)
{
	switch (kind) {
	case VB_TIMER_STARTUP:
		return vb_conn_domain(c)->startup_ms;
	case VB_TIMER_KEEPALIVE:
		return vb_conn_domain(c)->keepalive_ms;
	case VB_TIMER_FIRST:
		return VB_FIRST_MS;
	case VB_TIMER_SHORT:
		return VB_SHORT_MS;
	case VB_TIMER_LINGER:
		break;
	}
	return VB_LINGER_MS;
}

void vb_timer_start(struct vb_conn *c, enum vb_timer_kind kind)
{
	fab_ev_conn_timer(&c->ev, duration(c, kind), kind);
}

void vb_short(struct vb_conn *c)
{
	atomic_fetch_add(&c->ev.fab.poller->dom->shortages, 1);
	/* The peer is looked after again when that is over. */
	if (c->state == VB_ST_OPEN)
		vb_timer_start(c, VB_TIMER_SHORT);
}
