/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * totals - what all connections of an instance have counted
 *
 * Any thread. inst->lock guards the list and the totals of those that are gone;
 * a connection's info_lock may be taken inside it.
 */
#include "transport/core/core.h"

static void add(struct rt_totals *sum, const struct rt_conn *c)
{
#define ADD(name, help) \
	sum->stats.name += __atomic_load_n(&c->stats.name, __ATOMIC_RELAXED);
	RT_STATS(ADD)
#undef ADD
	for (unsigned int i = 0; i < RT_NSTAGES; i++)
		rt_histogram_sum(&sum->stages.stage[i], &c->stages.stage[i]);
	rt_classes_sum(&sum->classes, &c->classes);
}

void rt_totals_keep(struct rt_conn *c)
{
	add(&c->inst->totals, c);
}

void rt_count_refused(struct rt_instance *inst)
{
	pthread_mutex_lock(&inst->lock);
	inst->totals.refused++;
	pthread_mutex_unlock(&inst->lock);
}

void rt_totals(struct rt_instance *inst, struct rt_totals *out)
{
	const struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->totals;
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link) add(out, c);
	out->connections = inst->nconns;
	pthread_mutex_unlock(&inst->lock);
	out->failed_starts = atomic_load(&inst->dom->failed_starts);
	out->stats.shortages += atomic_load(&inst->dom->shortages);
}

void rt_for_each_conn(struct rt_instance *inst,
		      void (*fn)(const struct rt_conn_info *info, void *arg),
		      void *arg)
{
	struct rt_conn_info info;
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
	{
		rt_conn_info(c, &info);
		fn(&info, arg);
	}
	pthread_mutex_unlock(&inst->lock);
}
