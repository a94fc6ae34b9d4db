/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint - what connections and listeners of the providers have alike
 *
 * Threads: see endpoint.h.
 */
#include "base/addr.h"
#include "fabric/provider/endpoint.h"

/* ---- Connections ------------------------------------------------------- */

static const struct fab_ev_conn *conn_of(const struct fab_conn *c)
{
	return (const struct fab_ev_conn *)(const void *)c;
}

void fab_ev_conn_end(struct fab_ev_conn *c, int error, const char *reason)
{
	c->done.error = error;
	c->done.reason = reason;
	fab_ev_conn_timer_stop(c);
}

void fab_ev_conn_info(const struct fab_conn *fc, struct fab_conn_info *info)
{
	const struct fab_ev_conn *c = conn_of(fc);

	info->local = c->local;
	info->peer = c->peer;
	info->read_depth = c->ord;
	info->provider = fc->ops->name;
}

void fab_ev_conn_counters(const struct fab_conn *c, struct fab_counters *out)
{
	*out = conn_of(c)->count;
}

/* ---- Listeners --------------------------------------------------------- */

void fab_ev_listener_init(struct fab_ev_listener *l, struct fab_poller *p,
			  fab_request_fn fn, void *user, base_timer_fn expired,
			  void (*release)(struct fab_retired *g))
{
	l->fab.ops = p->ops;
	l->fab.poller = p;
	l->fn = fn;
	l->user = user;
	l->retired.free = release;
	l->pace.key = base_addr_key();
	base_timer_init(&l->timer, expired);
	pthread_mutex_init(&l->lock, NULL);
}

void fab_ev_listener_addr(const struct fab_listener *fl,
			  struct sockaddr_storage *addr)
{
	*addr = ((const struct fab_ev_listener *)(const void *)fl)->addr;
}
