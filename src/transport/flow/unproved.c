/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unproved - how many may be connected whose host is not known yet
 *
 * Where a server takes part in host authentication, anybody can begin an
 * exchange, and nobody has to end it before its time is over. So that those who
 * do not end it cannot take all connections of those who can, a quarter of them
 * is the most they get, and the oldest gives way to the newest.
 *
 * inst->lock guards the list and the links in it. A connection is in it from
 * its beginning until its exchange is settled or it ends.
 */
#include <sys/param.h>

#include "transport/flow/flow.h"

#define LEAST 16

static unsigned int most(const struct rt_instance *inst)
{
	return MAX(inst->cfg.max_connections / 4, LEAST);
}

void rt_unproved_init(struct rt_conn *c)
{
	rt_assert_strand(c);
	CDS_INIT_LIST_HEAD(&c->flow.unproved_link);
}

void rt_unproved_join(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;
	struct rt_conn *oldest = NULL;

	rt_assert_strand(c);
	pthread_mutex_lock(&inst->lock);
	cds_list_add_tail(&c->flow.unproved_link, &inst->unproved);
	if (++inst->nunproved > most(inst)) {
		oldest = cds_list_first_entry(&inst->unproved, struct rt_conn,
					      flow.unproved_link);
		rt_unproved_leave_locked(oldest);
		if (!rt_conn_try_get(oldest))
			oldest = NULL;
	}
	pthread_mutex_unlock(&inst->lock);
	if (!oldest)
		return;
	atomic_store(&oldest->gives_way, true);
	rt_conn_close(oldest, true);
	rt_conn_put(oldest);
}

void rt_unproved_leave_locked(struct rt_conn *c)
{
	if (cds_list_empty(&c->flow.unproved_link))
		return;
	cds_list_del_init(&c->flow.unproved_link);
	c->inst->nunproved--;
}

void rt_unproved_leave(struct rt_conn *c)
{
	rt_assert_strand(c);
	pthread_mutex_lock(&c->inst->lock);
	rt_unproved_leave_locked(c);
	pthread_mutex_unlock(&c->inst->lock);
}
