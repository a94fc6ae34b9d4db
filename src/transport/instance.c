/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * instance - making, counting up and ending all of it
 *
 * Any thread. Locks: inst->lock guards the lists of connections and listeners
 * and the totals; a connection's info_lock may be taken inside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport/internal.h"

static int start_parts(struct rt_instance *inst)
{
	int rc = 0;

	for (const struct rt_part *const *p = rt_parts; *p && !rc; p++)
		if ((*p)->start)
			rc = (*p)->start(inst);
	return rc;
}

int rt_instance_create(const struct rt_params *p, struct rt_instance **out)
{
	struct rt_instance *inst = calloc(1, sizeof(*inst));
	struct fab_domain_params dp = p->domain;
	struct fab_pool_params pp;
	int rc = -ENOMEM;

	if (!inst)
		return -ENOMEM;
	inst->cfg = p->config;
	rt_config_defaults(&inst->cfg);
	inst->log = fab_log_create(p->log, p->log_ctx);
	inst->provider = p->provider;
	inst->npollers = p->pollers ? p->pollers : 1;
	inst->auth.ops = p->auth;
	inst->auth.ctx = p->auth_ctx;
	CDS_INIT_LIST_HEAD(&inst->auth.queue);
	pthread_mutex_init(&inst->auth.lock, NULL);
	pthread_cond_init(&inst->auth.wake, NULL);
	atomic_init(&inst->refs, 1);
	pthread_mutex_init(&inst->lock, NULL);
	pthread_mutex_init(&inst->request_lock, NULL);
	CDS_INIT_LIST_HEAD(&inst->conns);
	CDS_INIT_LIST_HEAD(&inst->hosts);
	CDS_INIT_LIST_HEAD(&inst->crowd);
	CDS_INIT_LIST_HEAD(&inst->listeners);
	if (rt_config_check(&inst->cfg) ||
	    (inst->cfg.auth != RT_AUTH_NONE && !p->auth)) {
		rc = -EINVAL;
		goto fail;
	}
	if (inst->cfg.auth == RT_AUTH_REQUIRED) {
		/* Version 1 has none: as if it were not spoken here. */
		inst->auth.version1 = inst->cfg.versions >> WIRE_VERS1 & 1;
		inst->cfg.versions = 1u << WIRE_VERS2;
	}
	inst->pollers = calloc(inst->npollers, sizeof(*inst->pollers));
	if (!inst->log || !inst->pollers || rt_turns_create(inst))
		goto fail;
	inst->dom = p->shared_domain;
	if (!inst->dom) {
		if (dp.log == p->log && dp.log_ctx == p->log_ctx) {
			/* One budget, since it is one log. */
			dp.log = fab_log_line;
			dp.log_ctx = inst->log;
		}
		rc = fab_domain_open(p->provider, &dp, &inst->dom);
		if (rc)
			goto fail;
		inst->own_domain = true;
	}
	inst->limits = fab_domain_limits(inst->dom);
	inst->bound = p->strangers && (inst->limits->caps & FAB_CAP_BOUND);
	pp = (struct fab_pool_params){ .max_bytes = inst->cfg.max_memory,
				       .reserve = inst->cfg.max_memory /
						  RT_POOL_RESERVE,
				       .huge_pages = inst->cfg.huge_pages };
	rc = fab_pool_create(inst->dom, &pp, &inst->pool);
	if (!rc)
		rc = rt_share_receives(inst);
	if (!rc && (inst->cfg.extensions & RT_EXT_RTR)) {
		inst->zeros = fab_pool_get(inst->pool, RT_RTR_ZEROS);
		if (inst->zeros)
			memset(inst->zeros->addr, 0, inst->zeros->size);
		else
			rc = -ENOMEM;
	}
	for (unsigned int i = 0; !rc && i < inst->npollers; i++)
		rc = fab_poller_create(inst->dom, &inst->pollers[i]);
	if (!rc)
		rc = start_parts(inst);
	if (rc)
		goto fail;
	*out = inst;
	return 0;
fail:
	rt_instance_destroy(inst);
	return rc;
}

void rt_share_stats(struct rt_instance *inst, struct fab_share_stats *out)
{
	fab_share_stats(inst->dom, out);
}

bool rt_instance_held(const struct rt_instance *inst)
{
	return atomic_load(&inst->refs) > 1;
}

void rt_instance_put(struct rt_instance *inst)
{
	if (atomic_fetch_sub_explicit(&inst->refs, 1, memory_order_acq_rel) !=
	    1)
		return;
	while (inst->free_requests) {
		struct rt_request_priv *rq = inst->free_requests;

		inst->free_requests = rq->next_free;
		free(rq);
	}
	fab_pool_put(inst->zeros);
	if (inst->pool)
		fab_pool_destroy(inst->pool);
	if (inst->own_domain)
		fab_domain_close(inst->dom);
	fab_log_destroy(inst->log);
	pthread_mutex_destroy(&inst->lock);
	pthread_mutex_destroy(&inst->request_lock);
	pthread_mutex_destroy(&inst->auth.lock);
	pthread_cond_destroy(&inst->auth.wake);
	free(inst->pollers);
	rt_turns_free(inst);
	free(inst);
}

void rt_instance_destroy(struct rt_instance *inst)
{
	if (!inst)
		return;
	RT_EACH_PART(stop, inst);
	for (unsigned int i = 0; inst->pollers && i < inst->npollers; i++)
		if (inst->pollers[i]) {
			rt_turns_stop(inst, i);
			fab_poller_destroy(inst->pollers[i]);
		}
	/* Connections that have ended and are still held need the rest. */
	rt_instance_put(inst);
}

struct fab_pool *rt_instance_pool(struct rt_instance *inst)
{
	return inst->pool;
}

const struct rt_config *rt_instance_config(const struct rt_instance *inst)
{
	return &inst->cfg;
}

bool rt_instance_bound(const struct rt_instance *inst)
{
	return inst->bound;
}

unsigned int rt_instance_pollers(const struct rt_instance *inst)
{
	return inst->npollers;
}

/* ---- The list of connections ------------------------------------------ */

static void add_stats(struct rt_stats *sum, struct rt_conn *c)
{
#define ADD(name, help) \
	sum->name += __atomic_load_n(&c->stats.name, __ATOMIC_RELAXED);
	RT_STATS(ADD)
#undef ADD
}

static void add_stages(struct rt_stages *sum, const struct rt_conn *c)
{
	for (unsigned int i = 0; i < RT_NSTAGES; i++)
		rt_histogram_sum(&sum->stage[i], &c->stages.stage[i]);
}

void rt_instance_forget(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	pthread_mutex_lock(&inst->lock);
	if (!cds_list_empty(&c->inst_link)) {
		cds_list_del_init(&c->inst_link);
		inst->nconns--;
		rt_host_ended(c);
		RT_EACH_PART(left, c);
		add_stats(&inst->ended, c);
		add_stages(&inst->ended_stages, c);
		rt_classes_sum(&inst->ended_classes, &c->classes);
	}
	pthread_mutex_unlock(&inst->lock);
}

bool rt_conn_try_get(struct rt_conn *c)
{
	long n = atomic_load(&c->refs);

	while (n > 0)
		if (atomic_compare_exchange_weak(&c->refs, &n, n + 1))
			return true;
	return false;
}

void rt_stats_total(struct rt_instance *inst, struct rt_stats *out,
		    unsigned int *connections, uint64_t *accepted)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended;
	cds_list_for_each_entry(c, &inst->conns, inst_link) add_stats(out, c);
	if (connections)
		*connections = inst->nconns;
	if (accepted)
		*accepted = inst->accepted;
	pthread_mutex_unlock(&inst->lock);
}

void rt_stages_total(struct rt_instance *inst, struct rt_stages *out)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended_stages;
	cds_list_for_each_entry(c, &inst->conns, inst_link) add_stages(out, c);
	pthread_mutex_unlock(&inst->lock);
}

void rt_classes_total(struct rt_instance *inst, struct rt_classes *out)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended_classes;
	cds_list_for_each_entry(c, &inst->conns, inst_link)
		rt_classes_sum(out, &c->classes);
	pthread_mutex_unlock(&inst->lock);
}

void rt_for_each_conn(struct rt_instance *inst,
		      void (*fn)(const struct rt_conn_info *info, void *arg),
		      void *arg)
{
	struct rt_conn_info info;
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	cds_list_for_each_entry(c, &inst->conns, inst_link)
	{
		rt_conn_info(c, &info);
		fn(&info, arg);
	}
	pthread_mutex_unlock(&inst->lock);
}

#define BATCH 64

unsigned int rt_with_conns(struct rt_instance *inst,
			   bool (*want)(struct rt_conn *, uint64_t),
			   void (*fn)(struct rt_conn *), uint64_t arg)
{
	struct rt_conn *batch[BATCH], *c;
	unsigned int n = 0;

	pthread_mutex_lock(&inst->lock);
	cds_list_for_each_entry(c, &inst->conns, inst_link)
	{
		if (n == BATCH)
			break;
		if (want(c, arg) && rt_conn_try_get(c))
			batch[n++] = c;
	}
	pthread_mutex_unlock(&inst->lock);
	for (unsigned int i = 0; i < n; i++) {
		fn(batch[i]);
		rt_conn_put(batch[i]);
	}
	return n;
}

/* ---- The end ---------------------------------------------------------- */

static bool not_closing(struct rt_conn *c, uint64_t unused)
{
	const char *state;

	pthread_mutex_lock(&c->info_lock);
	state = c->info.state;
	pthread_mutex_unlock(&c->info_lock);
	/* close_wanted goes back to 0 once an abort has been seen. */
	return !atomic_load(&c->close_wanted) &&
	       strcmp(state, rt_state_names[RT_CLOSED]) &&
	       strcmp(state, rt_state_names[RT_CLOSING]);
}

static void close_one(struct rt_conn *c)
{
	rt_conn_close(c, false);
}

/* One that waits for the peer's end of an orderly close, too. */
static bool not_aborted(struct rt_conn *c, uint64_t unused)
{
	return !atomic_load(&c->shut);
}

static void abort_one(struct rt_conn *c)
{
	atomic_store(&c->shut, true);
	rt_conn_close(c, true);
}

/* Wait until @end for the connections to be gone. Returns how many are left. */
static unsigned int wait_ended(struct rt_instance *inst, uint64_t end, bool run)
{
	for (;;) {
		unsigned int left;

		pthread_mutex_lock(&inst->lock);
		left = inst->nconns;
		pthread_mutex_unlock(&inst->lock);
		if (!left || rt_now_ms() >= end)
			return left;
		if (run) {
			for (unsigned int i = 0; i < inst->npollers; i++)
				rt_run(inst, i, 10);
		} else {
			struct timespec ts = { 0, 5000000 };

			nanosleep(&ts, NULL);
		}
	}
}

unsigned int rt_instance_shutdown(struct rt_instance *inst, unsigned int ms,
				  bool run)
{
	unsigned int left;

	for (;;) {
		struct rt_listener *l = NULL;

		pthread_mutex_lock(&inst->lock);
		if (!cds_list_empty(&inst->listeners))
			l = cds_list_first_entry(&inst->listeners,
						 struct rt_listener, link);
		pthread_mutex_unlock(&inst->lock);
		if (!l)
			break;
		rt_listener_close(l);
	}
	while (rt_with_conns(inst, not_closing, close_one, 0))
		;
	left = wait_ended(inst, rt_now_ms() + ms, run);
	if (!left || !ms)
		return left;
	/*
	 * However late this thread comes to it: nothing is left to a drain
	 * time that nobody waits for.
	 */
	while (rt_with_conns(inst, not_aborted, abort_one, 0))
		;
	return wait_ended(inst, rt_now_ms() + RT_ABORT_MS, run);
}
