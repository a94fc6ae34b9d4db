/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * domain - settings and limits, the table of operations
 *
 * Context: any thread.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/memlock.h"
#include "device.h"
#include "port_counters.h"
#include "report.h"
#include "srq.h"
#include "vb.h"
#include "window.h"

#define DEFAULT_STARTUP_MS 10000u
#define DEFAULT_DEPTH 16u

static void vb_domain_close(struct fab_domain *fd)
{
	struct vb_domain *d = vb_domain(fd);

	vb_memory_destroy(d);
	for (unsigned int i = 0; i < d->ndevs; i++)
		vb_device_free(atomic_load(&d->dev[i]));
	pthread_mutex_destroy(&d->lock);
	free(d->devices);
	free(d);
}

/* A device may come later, so this is no error. */
static void log_unknown(const struct vb_domain *d,
			struct ibv_device *const *list)
{
	const char *at = d->devices ? d->devices : "";

	for (size_t n; (n = vb_next_name(&at)); at += n) {
		bool known = false;

		for (int i = 0; list && list[i]; i++) {
			const char *name = ibv_get_device_name(list[i]);

			known |= strlen(name) == n && !memcmp(name, at, n);
		}
		if (!known)
			fab_domain_log(&d->fab, 4,
				       "verbs: there is no RDMA device %.*s",
				       (int)n, at);
	}
}

/* Set the domain's limits to what all devices that can be used have in common. */
static int query_limits(struct vb_domain *d)
{
	struct fab_limits *all = &d->fab.limits, l;
	struct ibv_device **list;
	int found = 0, unfit = 0;

	/* rdma_get_devices() would keep them open (device.c). */
	list = ibv_get_device_list(NULL);
	log_unknown(d, list);
	for (int i = 0; list && list[i]; i++) {
		const char *name = ibv_get_device_name(list[i]);
		struct ibv_context *ctx;
		int rc;

		if (!vb_device_is_chosen(d->devices, name))
			continue;
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			continue;
		rc = vb_device_limits(d, ctx, &l);
		ibv_close_device(ctx);
		unfit += rc == -EOPNOTSUPP;
		if (rc)
			continue;
		if (!found++)
			*all = l;
		vb_limits_intersect(all, &l);
	}
	if (list)
		ibv_free_device_list(list);
	if (!found)
		return unfit ? -EOPNOTSUPP : -ENODEV;
	return 0;
}

static int vb_domain_open(const struct fab_domain_params *params,
			  struct fab_domain **out)
{
	struct vb_domain *d = calloc(1, sizeof(*d));
	unsigned long long kib;
	int rc;

	if (!d)
		return -ENOMEM;
	d->fab.ops = &fab_verbs_ops;
	d->fab.params = *params;
	d->startup_ms = params->startup_timeout_ms ?
				params->startup_timeout_ms :
				DEFAULT_STARTUP_MS;
	if (params->keepalive_ms != FAB_NEVER)
		d->keepalive_ms = params->keepalive_ms ? params->keepalive_ms :
							 VB_KEEPALIVE_MS;
	d->unprobed.key = base_addr_key();
	d->depth = params->read_depth ? params->read_depth : DEFAULT_DEPTH;
	if (d->depth > VB_MAX_DEPTH)
		d->depth = VB_MAX_DEPTH;
	pthread_mutex_init(&d->lock, NULL);
	TAILQ_INIT(&d->mrs);
	TAILQ_INIT(&d->pollers);
	if (params->devices)
		d->devices = strdup(params->devices);
	rc = params->devices && !d->devices ? -ENOMEM : query_limits(d);
	if (rc) {
		vb_domain_close(&d->fab);
		return rc;
	}
	if (base_memlock_limit(&kib))
		fab_domain_log(
			&d->fab, 5,
			"verbs: this process may lock, and so register, at most "
			"%llu KiB; for more set LimitMEMLOCK=infinity in the "
			"systemd unit, or \"ulimit -l unlimited\"",
			kib);
	*out = &d->fab;
	return 0;
}

const struct fab_ops fab_verbs_ops = {
	.name = "verbs",
	.domain_open = vb_domain_open,
	.domain_close = vb_domain_close,
	.srq_stats = vb_srq_stats,
	.owns = vb_owns,
	.for_each_port = vb_for_each_port,
	.for_each_device = vb_for_each_device,
	.report = vb_report,
	.poller_create = vb_poller_create,
	.poller_destroy = vb_poller_destroy,
	.poller_run = vb_poller_run,
	.poller_wake = fab_ev_loop_wake,
	.reg = vb_reg,
	.dereg = vb_dereg,
	.expose = vb_expose,
	.unexpose = vb_unexpose,
	.post = vb_post,
	.post_recv = vb_post_recv,
	.poll = vb_poll,
	.schedule = fab_ev_conn_schedule,
	.silent_ms = vb_silent_ms,
	.listen = vb_listen,
	.listener_addr = fab_ev_listener_addr,
	.listener_up = vb_listener_up,
	.listener_close = vb_listener_close,
	.conn_create = vb_conn_create,
	.conn_set_ready = fab_ev_conn_set_ready,
	.connect = vb_connect,
	.accept = vb_accept,
	.reject = vb_reject,
	.disconnect = vb_disconnect,
	.conn_destroy_deferred = fab_ev_conn_retire,
	.conn_info = fab_ev_conn_info,
	.conn_counters = fab_ev_conn_counters,
};
