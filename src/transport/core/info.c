/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * info - statistics and state of a connection, and the totals of an instance
 *
 * Context: the runner calls rt_conn_publish() and rt_conn_notify_established(); any
 * thread calls the others. inst->lock guards the list of connections and the totals of
 * those that are gone. A connection's info_lock is a leaf, and is taken within
 * inst->lock.
 */
#include <stdio.h>
#include <string.h>

#include "transport/core/core.h"

void *rt_conn_user(struct rt_conn *c)
{
	return c->who.user;
}

struct rt_instance *rt_conn_instance(struct rt_conn *c)
{
	return c->inst;
}

uint64_t rt_conn_id(const struct rt_conn *c)
{
	return c->who.id;
}

const char *rt_conn_name(const struct rt_conn *c)
{
	return c->who.name;
}

bool rt_conn_can_call(struct rt_conn *c)
{
	return atomic_load_explicit(&c->strand.can_call, memory_order_acquire);
}

void rt_conn_publish(struct rt_conn *c)
{
	struct rt_conn_info *i = &c->info;
	const struct rt_properties *peer = &i->theirs;
	bool may_call;

	rt_assert_strand(c);
	pthread_mutex_lock(&c->info_lock);
	i->state = rt_state_names[c->state];
	RT_EACH_HOOK(c, fill_info, c, i);
	/* Host authentication may take longer than the properties. */
	may_call = c->established;
	if (c->server)
		may_call = may_call && peer->complete &&
			   peer->reverse > RDMA2_RVRSDIR_NONE &&
			   peer->reverse <= RDMA2_RVRSDIR_GENL;
	pthread_mutex_unlock(&c->info_lock);
	atomic_store_explicit(&c->strand.can_call,
			      c->state == RT_OPEN && may_call,
			      memory_order_release);
}

void rt_conn_set_client(struct rt_conn *c, const char *client,
			const char *session)
{
	struct rt_conn_info *i = &c->info;

	pthread_mutex_lock(&c->info_lock);
	if (client)
		snprintf(i->client, sizeof(i->client), "%s", client);
	if (session)
		snprintf(i->session, sizeof(i->session), "%s", session);
	pthread_mutex_unlock(&c->info_lock);
}

void rt_conn_info(struct rt_conn *c, struct rt_conn_info *info)
{
	pthread_mutex_lock(&c->info_lock);
	*info = c->info;
	memcpy(info->peer_name, c->who.peer_name, sizeof(info->peer_name));
	pthread_mutex_unlock(&c->info_lock);
	info->id = c->who.id;
	info->server = c->server;
	info->age_ms = rt_now_ms() - c->who.since;
	info->poller = c->strand.poller;
#define LOAD(name, help) \
	info->stats.name = __atomic_load_n(&c->stats.name, __ATOMIC_RELAXED);
	RT_STATS(LOAD)
#undef LOAD
	memset(&info->stages, 0, sizeof(info->stages));
	for (unsigned int i = 0; i < RT_NSTAGES; i++)
		rt_histogram_sum(&info->stages.stage[i], &c->stages.stage[i]);
	memset(&info->classes, 0, sizeof(info->classes));
	rt_classes_sum(&info->classes, &c->classes);
}

void rt_conn_notify_established(struct rt_conn *c)
{
	rt_assert_strand(c);
	if (c->established)
		return;
	c->established = true;
	if (!c->server)
		c->state_deadline = 0;
	rt_conn_publish(c);
	if (c->ops->established)
		c->ops->established(c);
}

/* ---- All connections of an instance --------------------------------------- */

void rt_each_conn(struct rt_instance *inst,
		  void (*fn)(struct rt_conn *c, void *arg), void *arg)
{
	struct rt_conn *c;

	cds_list_for_each_entry(c, &inst->conns, strand.inst_link) fn(c, arg);
}

static void sum_conn(struct rt_totals *sum, const struct rt_conn *c)
{
#define ADD(name, help) \
	sum->stats.name += __atomic_load_n(&c->stats.name, __ATOMIC_RELAXED);
	RT_STATS(ADD)
#undef ADD
	for (unsigned int i = 0; i < RT_NSTAGES; i++)
		rt_histogram_sum(&sum->stages.stage[i], &c->stages.stage[i]);
	rt_classes_sum(&sum->classes, &c->classes);
}

void rt_totals_add(struct rt_conn *c)
{
	sum_conn(&c->inst->totals, c);
}

void rt_count_refused(struct rt_instance *inst, enum rt_refusal why,
		      const struct sockaddr_storage *peer)
{
	pthread_mutex_lock(&inst->lock);
	inst->totals.refused[why]++;
	RT_EACH_PART(inst, refused, inst, peer);
	pthread_mutex_unlock(&inst->lock);
}

void rt_totals(struct rt_instance *inst, struct rt_totals *out)
{
	const struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->totals;
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
		sum_conn(out, c);
	out->connections = inst->nconns;
	out->draining = atomic_load(&inst->admission.draining_ms);
	pthread_mutex_unlock(&inst->lock);
	out->failed_starts = atomic_load(&inst->dom->failed_starts);
	out->connections_limit = RT_CURRENT(inst, max_connections);
	out->host_connections_limit = RT_CURRENT(inst, max_host_connections);
	out->host_memory_limit = RT_CURRENT(inst, max_host_memory);
	out->reply_octets = atomic_load(&inst->reply_octets);
	pthread_mutex_lock(&inst->reads.lock);
	out->reads_under_way = inst->reads.octets;
	pthread_mutex_unlock(&inst->reads.lock);
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
