/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outstanding - a client's outstanding Calls: made of records, submitted, freed
 */
#include <syslog.h>

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

/* ---- From a record to the transport ------------------------------------- */

static void call_sent(struct gw_client *c, struct gw_send *o, bool written)
{
	gw_call_free(c, (struct gw_call *)o, written);
}

static void call_prepare(struct gw_call *call)
{
	struct rt_request *rq = call->rq;

	rq->xid = call->head.xid;
	rq->pieces = call->rec.piece;
	rq->npieces = call->rec.npieces;
	rq->items = call->items;
	rq->sinks = call->sinks;
	for (unsigned int i = 0; i < rq->nsinks; i++)
		call->sinks[i].used = 0;
	rq->op_class = call->head.op_class;
	rq->call_only = false;
	rq->done = gw_call_done;
}

enum gw_take gw_call_take(struct gw_client *c, struct gw_record *rec,
			  uint32_t xid, const struct ulb_denial *denial)
{
	static const struct ulb_denial weak = {
		.why = "from a port that is not below 1024 only Kerberos is accepted, as --reserved-ports requires",
		.auth_stat = RPC_AUTH_TOOWEAK,
	};
	struct gw_call *call = NULL;
	struct rt_request *rq = NULL;
	bool full, dup, up = false;

	pthread_mutex_lock(&c->lock);
	full = gw_call_table_is_full(c);
	dup = gw_call_table_find(&c->calls, xid) != NULL;
	if (dup) {
		c->stats.tcp_calls++;
		c->stats.duplicates++;
	} else if (full) {
		if (!c->calls.paused)
			c->stats.pauses++;
		c->calls.paused = true;
	}
	pthread_mutex_unlock(&c->lock);
	if (dup) {
		/* Its answer is on the way; the server would do it twice. */
		gw_client_log(c, LOG_DEBUG, "Call %08x is outstanding: dropped",
			      xid);
		gw_record_release(rec);
		return GW_TAKEN;
	}
	if (full)
		return GW_PAUSE;

	rq = rt_request_alloc(c->gw->inst);
	if (!rq)
		return GW_NO_MEMORY;
	call = rt_request_user(rq);
	call->send.done = call_sent;
	call->c = c;
	call->rq = rq;
	call->plain = c->calls.no_chunks;
	call->charge = 0;
	call->head = *gw_shorten_head(&c->shorten, rec);
	if (!denial && c->only_gss && !gw_call_is_gss(call))
		denial = &weak;
	/* What will be denied needs no memory for results. */
	call->plain |= denial != NULL;
	gw_record_move(&call->rec, rec);
	if (!gw_call_plan(call) || !gw_call_charge(call)) {
		gw_sinks_release(call);
		gw_record_move(rec, &call->rec);
		rt_request_free(rq);
		return GW_NO_MEMORY;
	}
	call->head.xid = xid;
	call->cost = call->rec.len;
	for (unsigned int i = 0; i < rq->nsinks; i++)
		call->cost += call->sinks[i].len;
	call_prepare(call);
	gw_client_get(c);
	pthread_mutex_lock(&c->lock);
	gw_call_table_insert(&c->calls, call);
	c->stats.tcp_calls++;
	c->stats.arguments_reduced += rq->nitems;
	up = c->calls.to && !denial;
	call->submitted = up;
	call->gen = c->calls.gen;
	pthread_mutex_unlock(&c->lock);
	if (up)
		rt_request_submit(c->calls.to, rq);
	if (denial)
		gw_call_deny(call, denial);
	return GW_TAKEN;
}

void gw_calls_open(struct gw_client *c, struct rt_conn *rc, bool no_chunks)
{
	struct gw_calls *b = &c->calls;

	b->no_chunks = no_chunks;
	pthread_mutex_lock(&c->lock);
	b->to = rc;
	b->gen++;
	/* With Calls outstanding, only a Reply shows that the server serves. */
	if (!b->outstanding)
		b->lost_since = 0;
	pthread_mutex_unlock(&c->lock);
}

uint64_t gw_calls_close(struct gw_client *c, uint64_t now, bool *any)
{
	struct gw_calls *b = &c->calls;
	uint64_t oldest;

	pthread_mutex_lock(&c->lock);
	b->to = NULL;
	if (!b->lost_since)
		b->lost_since = now;
	oldest = b->lost_since;
	*any = b->first;
	for (struct gw_call *call = b->first; call; call = call->next)
		if (call->lost_since && call->lost_since < oldest)
			oldest = call->lost_since;
	pthread_mutex_unlock(&c->lock);
	return oldest;
}

void gw_calls_submit(struct gw_client *c)
{
	struct gw_call *first = NULL, **tail = &first, *next;

	pthread_mutex_lock(&c->lock);
	if (!c->calls.to) {
		pthread_mutex_unlock(&c->lock);
		return;
	}
	for (struct gw_call *call = c->calls.first; call; call = call->next) {
		if (call->submitted)
			continue;
		if (call->lost_since && call->gen != c->calls.gen)
			c->stats.retransmits++;
		call->submitted = true;
		call->gen = c->calls.gen;
		*tail = call;
		tail = &call->snext;
	}
	*tail = NULL;
	pthread_mutex_unlock(&c->lock);
	/* A Call may be gone when its submission returns. */
	for (; first; first = next) {
		next = first->snext;
		if (c->calls.no_chunks && !first->plain) {
			first->plain = true;
			gw_sinks_release(first);
			gw_call_plan(first); /* a plain one cannot fail */
		}
		call_prepare(first);
		rt_request_submit(c->calls.to, first->rq);
	}
}

struct rt_conn *gw_calls_hold(struct gw_client *c)
{
	struct rt_conn *rc = c->calls.to;

	/* The client may be gone before the end, and its reference with it. */
	if (rc)
		rt_conn_get(rc);
	if (rc && !rt_conn_hold(rc)) {
		rt_conn_put(rc);
		rc = NULL;
	}
	return rc;
}

void gw_calls_unhold(struct rt_conn *rc)
{
	if (!rc)
		return;
	rt_conn_unhold(rc);
	rt_conn_put(rc);
}

void gw_calls_abandon(struct gw_client *c)
{
	struct gw_call *first = NULL, *next;

	pthread_mutex_lock(&c->lock);
	for (struct gw_call *call = c->calls.first; call; call = next) {
		next = call->next;
		if (call->submitted)
			continue;
		gw_call_table_remove(&c->calls, call);
		call->snext = first;
		first = call;
	}
	pthread_mutex_unlock(&c->lock);
	for (; first; first = next) {
		next = first->snext;
		gw_call_free(c, first, false);
	}
}
