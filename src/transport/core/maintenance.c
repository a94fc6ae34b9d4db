/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maintenance - close connections of a server, and change its settings while it runs
 *
 * Whoever is to be refused from now on is refused first; then the connections that there are
 * are closed. Each asks whether it is refused after it has entered the list of the instance
 * (admission.c). So none escapes: either it is found in the list, or it has been refused.
 *
 * Connections are closed by their own strands, which rt_conn_close() asks to.
 *
 * Context: any thread. No lock is held while a connection is closed or run.
 */
#include <errno.h>

#include "base/addr.h"
#include "transport/core/core.h"

/* ---- Connections that there are ------------------------------------------- */

#define BATCH 64

/* Call @fn for each connection. It may end the connection, or run it. Those that begin
 * meanwhile may be left out. */
static void for_each_conn(struct rt_instance *inst,
			  void (*fn)(struct rt_conn *c, void *arg), void *arg)
{
	struct rt_conn *batch[BATCH], *c;
	uint64_t last = 0;
	unsigned int n;

	do {
		n = 0;
		pthread_mutex_lock(&inst->lock);
		/* Their numbers ascend. */
		cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
		{
			if (n == BATCH)
				break;
			if (c->who.id <= last)
				continue;
			last = c->who.id;
			if (rt_conn_try_get(c))
				batch[n++] = c;
		}
		pthread_mutex_unlock(&inst->lock);
		for (unsigned int i = 0; i < n; i++) {
			fn(batch[i], arg);
			rt_conn_put(batch[i]);
		}
	} while (n == BATCH);
}

struct eviction {
	const struct base_prefix *who;
	uint16_t port;
	int closed;
};

static void evict_one(struct rt_conn *c, void *arg)
{
	struct eviction *e = arg;
	struct sockaddr_storage peer;

	pthread_mutex_lock(&c->info_lock);
	peer = c->info.peer;
	pthread_mutex_unlock(&c->info_lock);
	if (!c->server || rt_conn_is_closing(c) ||
	    !base_prefix_has(e->who, &peer) ||
	    (e->port && base_addr_port(&peer) != e->port))
		return;
	rt_conn_close(c, false);
	e->closed++;
}

int rt_instance_evict(struct rt_instance *inst, const struct base_prefix *who,
		      uint16_t port, unsigned int ms)
{
	struct eviction e = { .who = who, .port = port };
	int rc = ms ? rt_refuse_until(inst, who, rt_now_ms() + ms) : 0;

	if (rc)
		return rc;
	for_each_conn(inst, evict_one, &e);
	return e.closed;
}

static void close_one(struct rt_conn *c, void *unused)
{
	if (!c->server)
		return;
	atomic_store(&c->strand.drain_again, true);
	rt_conn_close(c, false);
}

void rt_instance_drain(struct rt_instance *inst, unsigned int ms)
{
	atomic_store(&inst->admission.draining_ms, ms);
	if (ms)
		for_each_conn(inst, close_one, NULL);
}

/* ---- Settings --------------------------------------------------------------- */

/* Let the connection compute its deadlines from the changed settings. */
static void run_one(struct rt_conn *c, void *unused)
{
	rt_strand_run(c);
}

int rt_instance_configure(struct rt_instance *inst,
			  const struct rt_config *given)
{
	struct rt_config cfg = *given;

	rt_config_defaults(&cfg);
	if (rt_config_check(&cfg))
		return -EINVAL;
	/* As at the start (ext/auth): version 1 has no host authentication. */
	if (inst->cfg.auth == RT_AUTH_REQUIRED)
		cfg.versions &= ~(1u << WIRE_VERS1);
	pthread_mutex_lock(&inst->lock);
	rt_current_set(&inst->current, &cfg);
	pthread_mutex_unlock(&inst->lock);
	for_each_conn(inst, run_one, NULL);
	return 0;
}
