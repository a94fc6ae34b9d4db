/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table - the Calls that a client has outstanding
 *
 * Context: client.lock is held, but for gw_call_free().
 */
#include "base/clock.h"
#include "gateway/client.h"

/* How many times --max-calls a client may have while it owes callbacks answers. */
#define CALL_SURGE 16

struct gw_call *gw_call_table_find(struct gw_calls *b, uint32_t xid)
{
	struct gw_call *call = b->hash[xid % GW_HASH];

	while (call && call->head.xid != xid)
		call = call->hnext;
	return call;
}

void gw_call_table_insert(struct gw_calls *b, struct gw_call *call)
{
	struct gw_call **slot = &b->hash[call->head.xid % GW_HASH];

	call->hnext = *slot;
	*slot = call;
	call->next = NULL;
	call->prev = b->last;
	if (call->prev)
		call->prev->next = call;
	else
		b->first = call;
	b->last = call;
	b->outstanding++;
	b->held += call->cost;
}

void gw_call_table_remove(struct gw_calls *b, struct gw_call *call)
{
	struct gw_call **p = &b->hash[call->head.xid % GW_HASH];

	while (*p != call)
		p = &(*p)->hnext;
	*p = call->hnext;
	if (call->prev)
		call->prev->next = call->next;
	else
		b->first = call->next;
	if (call->next)
		call->next->prev = call->prev;
	else
		b->last = call->prev;
}

bool gw_call_table_is_full(const struct gw_client *c)
{
	const struct gw_options *o = &c->gw->opt;
	unsigned int most = o->max_calls;

	/* Calls outstanding may all wait for the answer to a callback, which stands
	 * behind further Calls in the socket: these must be let through. */
	if (gw_reverse_count(&c->reverse))
		most *= CALL_SURGE;
	return c->calls.outstanding >= most ||
	       (c->calls.outstanding &&
		c->calls.held >= o->rdma.config.max_conn_memory);
}

void gw_call_free(struct gw_client *c, struct gw_call *call, bool written)
{
	unsigned int events = 0;
	size_t cost = call->cost;

	gw_record_release(&call->rec);
	gw_sinks_release(call);
	gw_account_give(&c->account, call->charge);
	rt_request_free(call->rq);
	pthread_mutex_lock(&c->lock);
	c->calls.outstanding--;
	c->calls.held -= cost;
	if (written)
		c->stats.tcp_replies++;
	if (c->calls.paused && (!gw_call_table_is_full(c) || c->dead)) {
		c->calls.paused = false;
		events |= GW_EV_ROOM;
	}
	if (gw_account_waits(&c->account))
		events |= GW_EV_ROOM;
	if (!c->calls.outstanding) {
		gw_progress(&c->progress, base_now_ns());
		events |= c->calls.idle_wanted ? GW_EV_IDLE : 0;
	}
	pthread_mutex_unlock(&c->lock);
	if (events)
		gw_wakeup(c, events);
	gw_client_put(c);
}
