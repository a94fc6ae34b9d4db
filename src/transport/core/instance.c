/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * instance - an instance of the transport: its pollers, its pool, its parts (part.h)
 *
 * Context: transport.h says which threads may create and destroy an instance; the other
 * functions any thread. inst->lock guards the lists of connections and listeners and the
 * totals; a connection's info_lock may be taken inside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/core/core.h"

/* The hooks that each turn calls have a mask of the parts that have them (part.h). */
static void gather_hooks(struct rt_instance *inst)
{
	struct rt_hooks *h = &inst->hooks;

	for (unsigned int i = 0; inst->parts[i]; i++) {
		const struct rt_part *p = inst->parts[i];

		h->due |= (uint32_t) !!p->due << i;
		h->expire |= (uint32_t) !!p->expire << i;
		h->busy |= (uint32_t) !!p->busy << i;
		h->fill_info |= (uint32_t) !!p->fill_info << i;
		h->turn |= (uint32_t) !!p->turn << i;
	}
}

static void log_suppressed(struct base_timer *t, unsigned int unused)
{
	base_log_tick(caa_container_of(t, struct rt_poller_state, log_timer)
			      ->inst->log);
}

/* ---- The state of each poller -------------------------------------------- */

static int poller_states_create(struct rt_instance *inst)
{
	inst->poller_states =
		calloc(inst->npollers, sizeof(*inst->poller_states));
	if (!inst->poller_states)
		return -ENOMEM;
	for (unsigned int i = 0; i < inst->npollers; i++) {
		struct rt_poller_state *t = &inst->poller_states[i];

		pthread_mutex_init(&t->lock, NULL);
		t->handed_tail = &t->handed;
		t->inst = inst;
		base_timer_init(&t->log_timer, log_suppressed);
	}
	return 0;
}

static void poller_timers_stop(struct rt_instance *inst)
{
	for (unsigned int i = 0; inst->pollers && i < inst->npollers; i++)
		if (inst->pollers[i])
			base_timer_stop(fab_poller_timers(inst->pollers[i]),
					&inst->poller_states[i].log_timer);
}

static void poller_states_destroy(struct rt_instance *inst)
{
	for (unsigned int i = 0; inst->poller_states && i < inst->npollers; i++)
		pthread_mutex_destroy(&inst->poller_states[i].lock);
	free(inst->poller_states);
}

/* ---- The instance --------------------------------------------------------- */

int rt_instance_new(const struct rt_params *p,
		    const struct rt_part *const *parts,
		    const struct rt_ext *const *exts, struct rt_instance **out)
{
	struct rt_instance *inst = calloc(1, sizeof(*inst));
	struct fab_domain_params dp = p->domain;
	struct fab_pool_params pp;
	int rc;

	if (!inst)
		return -ENOMEM;
	inst->parts = parts;
	inst->exts = exts;
	gather_hooks(inst);
	inst->cfg = p->config;
	rt_config_defaults(&inst->cfg);
	inst->log = base_log_create(p->log, p->log_ctx);
	inst->npollers = p->pollers ? p->pollers : 1;
	atomic_init(&inst->refs, 1);
	pthread_mutex_init(&inst->lock, NULL);
	CDS_INIT_LIST_HEAD(&inst->conns);
	CDS_INIT_LIST_HEAD(&inst->listeners);
	rc = RT_TRY_PARTS(inst, prepare, inst, p);
	if (!rc)
		rc = poller_states_create(inst);
	/* The parts may have changed the settings. */
	if (rt_config_check(&inst->cfg))
		rc = -EINVAL;
	rt_current_set(&inst->current, &inst->cfg);
	if (rc)
		goto fail;
	rc = -ENOMEM;
	inst->pollers = calloc(inst->npollers, sizeof(*inst->pollers));
	if (!inst->log || !inst->pollers)
		goto fail;
	inst->dom = p->shared_domain;
	if (!inst->dom) {
		if (dp.log == p->log && dp.log_ctx == p->log_ctx) {
			/* Lines of both share one budget, since they go to one log. */
			dp.log = base_log_line;
			dp.log_host = base_log_host_line;
			dp.log_ctx = inst->log;
		}
		dp.admit = rt_admission_early;
		dp.admit_ctx = inst;
		dp.max_new = inst->cfg.max_connections;
		rc = fab_domain_open(p->provider, &dp, &inst->dom);
		if (rc)
			goto fail;
		inst->own_domain = true;
	}
	inst->limits = fab_domain_limits(inst->dom);
	inst->bound = p->foreign_threads &&
		      (inst->limits->caps & FAB_CAP_BOUND);
	pp = (struct fab_pool_params){ .max_bytes = inst->cfg.max_memory,
				       .reserve = inst->cfg.max_memory /
						  RT_POOL_RESERVE,
				       .also = rt_config_receive(&inst->cfg),
				       .huge_pages = inst->cfg.huge_pages };
	rc = fab_pool_create(inst->dom, &pp, &inst->pool);
	for (unsigned int i = 0; !rc && i < inst->npollers; i++)
		rc = fab_poller_create(inst->dom, &inst->pollers[i]);
	if (!rc)
		rc = RT_TRY_PARTS(inst, start, inst);
	if (rc)
		goto fail;
	*out = inst;
	return 0;
fail:
	rt_instance_destroy(inst);
	return rc;
}

void rt_share_stats(struct rt_instance *inst, struct fab_srq_stats *out)
{
	fab_srq_stats(inst->dom, out);
}

void rt_for_each_port(struct rt_instance *inst, fab_port_fn fn, void *arg)
{
	fab_for_each_port(inst->dom, fn, arg);
}

void rt_for_each_device(struct rt_instance *inst, fab_device_fn fn, void *arg)
{
	fab_for_each_device(inst->dom, fn, arg);
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
	RT_EACH_PART(inst, destroy, inst);
	poller_states_destroy(inst);
	if (inst->pool)
		fab_pool_destroy(inst->pool);
	if (inst->own_domain)
		fab_domain_close(inst->dom);
	base_log_destroy(inst->log);
	pthread_mutex_destroy(&inst->lock);
	free(inst->pollers);
	free(inst);
}

void rt_instance_destroy(struct rt_instance *inst)
{
	if (!inst)
		return;
	RT_EACH_PART(inst, stop, inst);
	poller_timers_stop(inst);
	for (unsigned int i = 0; inst->pollers && i < inst->npollers; i++)
		if (inst->pollers[i])
			fab_poller_destroy(inst->pollers[i]);
	/* Connections that have ended and are still referenced need the rest. */
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

void rt_instance_remove_conn(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	pthread_mutex_lock(&inst->lock);
	if (!cds_list_empty(&c->strand.inst_link)) {
		cds_list_del_init(&c->strand.inst_link);
		inst->nconns--;
		RT_EACH_PART(c->inst, removed, c);
		rt_totals_add(c);
	}
	pthread_mutex_unlock(&inst->lock);
}
