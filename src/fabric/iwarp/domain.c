/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * domain - settings and limits, registration, the table of operations
 *
 * Context: any thread; an open domain does not change, but for an atomic count.
 * Registering costs nothing: memory need not be pinned.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "iw.h"

#define DEFAULT_DEPTH 16u
/* Room for headers, trailer and some payload. */
#define MIN_FPDU 128u

static int iw_domain_open(const struct fab_domain_params *params,
			  struct fab_domain **out)
{
	struct iw_domain *d = calloc(1, sizeof(*d));
	size_t fpdu;

	if (!d)
		return -ENOMEM;
	d->fab.ops = &fab_iwarp_ops;
	d->fab.params = *params;
	d->depth = params->read_depth ? params->read_depth : DEFAULT_DEPTH;
	d->depth = MIN(d->depth, IW_MAX_DEPTH);
	d->max_ulpdu = MPA_MAX_ULPDU;
	fpdu = params->max_fpdu;
	if (fpdu) {
		fpdu = MAX(fpdu, MIN_FPDU);
		/* Length field, CRC and the longest padding. */
		fpdu -= MPA_LEN_SIZE + MPA_CRC_SIZE + 3;
		d->max_ulpdu = MIN(d->max_ulpdu, fpdu);
	}
	d->fab.limits.caps = FAB_CAP_ANY_LOCAL | FAB_CAP_SEND_INV |
			     FAB_CAP_EXPOSE | FAB_CAP_PARTS;
	d->fab.limits.max_sge = IW_MAX_SGE;
	d->fab.limits.max_read_depth = d->depth;
	d->fab.limits.max_message = IW_MAX_MESSAGE;
	*out = &d->fab;
	return 0;
}

static void iw_domain_close(struct fab_domain *d)
{
	free(iw_domain(d));
}

static int iw_reg(struct fab_domain *d, void *addr, size_t len,
		  struct fab_mr **out)
{
	struct fab_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return -ENOMEM;
	mr->dom = d;
	mr->addr = addr;
	mr->len = len;
	*out = mr;
	return 0;
}

static bool iw_dereg(struct fab_mr *mr)
{
	free(mr);
	return true;
}

/* ---- Pollers --------------------------------------------------------- */

static int iw_poller_create(struct fab_domain *dom, struct fab_poller **out)
{
	struct fab_ev_loop *ev = calloc(1, sizeof(*ev));
	int rc = ev ? fab_ev_loop_init(ev, dom) : -ENOMEM;

	if (rc)
		free(ev);
	else
		*out = &ev->fab;
	return rc;
}

static void iw_poller_destroy(struct fab_poller *p)
{
	struct fab_ev_loop *ev = fab_ev_loop(p);

	fab_ev_loop_destroy(ev);
	free(ev);
}

static int iw_poller_run(struct fab_poller *p, int timeout_ms)
{
	return fab_ev_loop_run(fab_ev_loop(p), timeout_ms);
}

const struct fab_ops fab_iwarp_ops = {
	.name = "iwarp",
	.domain_open = iw_domain_open,
	.domain_close = iw_domain_close,
	.poller_create = iw_poller_create,
	.poller_destroy = iw_poller_destroy,
	.poller_run = iw_poller_run,
	.poller_wake = fab_ev_loop_wake,
	.reg = iw_reg,
	.dereg = iw_dereg,
	.expose = iw_expose,
	.unexpose = iw_unexpose,
	.post = iw_post,
	.post_recv = iw_post_recv,
	.poll = iw_poll,
	.schedule = fab_ev_conn_schedule,
	.mask = iw_mask,
	.trim = iw_trim,
	.silent_ms = iw_silent_ms,
	.listen = iw_listen,
	.listener_addr = fab_ev_listener_addr,
	.listener_spread = iw_listener_spread,
	.listener_close = iw_listener_close,
	.conn_create = iw_conn_create,
	.conn_set_ready = fab_ev_conn_set_ready,
	.connect = iw_connect,
	.accept = iw_accept,
	.reject = iw_reject,
	.disconnect = iw_disconnect,
	.conn_destroy_deferred = iw_conn_destroy_deferred,
	.conn_info = iw_conn_info,
	.conn_counters = fab_ev_conn_counters,
};
