/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops - the loop provider's domain, and its table of operations
 *
 * Threads: any.
 */
#include <errno.h>
#include <stdlib.h>

#include "loop/loop_priv.h"

#define LOOP_MAX_SGE 16
#define LOOP_READ_DEPTH 16
#define LOOP_MAX_MESSAGE ((size_t)1 << 30)
#define LOOP_MAX_EXPOSED 4096
#define LOOP_FIRST_PORT 20049

static int loop_domain_open(const struct fab_domain_params *params,
			    struct fab_domain **out)
{
	struct loop_domain *dom = calloc(1, sizeof(*dom));

	if (!dom)
		return -ENOMEM;
	dom->base.ops = &fab_loop_ops;
	dom->base.params = *params;
	dom->base.limits = (struct fab_limits){
		.caps = FAB_CAP_ANY_LOCAL | FAB_CAP_SEND_INV | FAB_CAP_EXPOSE,
		.max_sge = LOOP_MAX_SGE,
		.max_read_depth = params->read_depth ? params->read_depth :
						       LOOP_READ_DEPTH,
		.max_message = LOOP_MAX_MESSAGE,
	};
	dom->max_exposed = LOOP_MAX_EXPOSED;
	dom->next_port = LOOP_FIRST_PORT;
	dom->next_ephemeral = 40000;
	pthread_mutex_init(&dom->lock, NULL);
	pthread_mutex_init(&dom->mem_lock, NULL);
	pthread_mutex_init(&dom->observer_lock, NULL);
	*out = &dom->base;
	return 0;
}

static void loop_domain_close(struct fab_domain *fd)
{
	struct loop_domain *dom = (struct loop_domain *)fd;

	LOOP_CHECK(!atomic_load(&dom->users), "the domain is still in use");
	pthread_mutex_destroy(&dom->lock);
	pthread_mutex_destroy(&dom->mem_lock);
	pthread_mutex_destroy(&dom->observer_lock);
	free(dom);
}

/* There is no queue: a message gets its memory when it comes. */
static void loop_share_stats(struct fab_domain *fd, struct fab_srq_stats *out)
{
}

const struct fab_ops fab_loop_ops = {
	.name = "loop",
	.domain_open = loop_domain_open,
	.domain_close = loop_domain_close,
	.srq_stats = loop_share_stats,
	.poller_create = loop_poller_create,
	.poller_destroy = loop_poller_destroy,
	.poller_run = loop_poller_run,
	.poller_wake = loop_poller_wake,
	.reg = loop_reg,
	.dereg = loop_dereg,
	.expose = loop_expose,
	.unexpose = loop_unexpose,
	.post = loop_post,
	.post_recv = loop_post_recv,
	.poll = loop_poll,
	.schedule = loop_kick,
	.listen = loop_listen,
	.listener_addr = loop_listener_addr,
	.listener_close = loop_listener_close,
	.conn_create = loop_conn_create,
	.conn_set_ready = loop_conn_set_ready,
	.connect = loop_connect,
	.accept = loop_accept,
	.reject = loop_reject,
	.disconnect = loop_disconnect,
	.conn_destroy_deferred = loop_conn_destroy_deferred,
	.conn_info = loop_conn_info,
	.conn_counters = loop_conn_counters,
};
