/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * totals - what all connections of an instance have counted
 *
 * Any thread. inst->lock guards the list and the totals of those that are gone;
 * a connection's info_lock may be taken inside it.
 */
#include "transport/core/core.h"

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

void rt_totals_keep(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	add_stats(&inst->ended, c);
	add_stages(&inst->ended_stages, c);
	rt_classes_sum(&inst->ended_classes, &c->classes);
}

void rt_stats_total(struct rt_instance *inst, struct rt_stats *out,
		    unsigned int *connections, uint64_t *accepted)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended;
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
		add_stats(out, c);
	if (connections)
		*connections = inst->nconns;
	if (accepted)
		*accepted = inst->accepted;
	pthread_mutex_unlock(&inst->lock);
}

void rt_count_refused(struct rt_instance *inst)
{
	pthread_mutex_lock(&inst->lock);
	inst->refused++;
	pthread_mutex_unlock(&inst->lock);
}

void rt_refused_total(struct rt_instance *inst, uint64_t *refused,
		      uint64_t *failed_starts)
{
	pthread_mutex_lock(&inst->lock);
	*refused = inst->refused;
	pthread_mutex_unlock(&inst->lock);
	*failed_starts = atomic_load(&inst->dom->failed_starts);
}

void rt_stages_total(struct rt_instance *inst, struct rt_stages *out)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended_stages;
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
		add_stages(out, c);
	pthread_mutex_unlock(&inst->lock);
}

void rt_classes_total(struct rt_instance *inst, struct rt_classes *out)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended_classes;
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
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
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
	{
		rt_conn_info(c, &info);
		fn(&info, arg);
	}
	pthread_mutex_unlock(&inst->lock);
}
