/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - the Responder takes a Call: its life, and what limits it
 *
 * Runner only. Nothing is allocated or read before every limit has been looked
 * at, and no RDMA starts before the last fragment [D5].
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/responder/responder.h"

static struct rt_call_priv *call_get(struct rt_conn *c)
{
	struct rt_call_priv *call = c->resp.free_calls;

	if (call) {
		c->resp.free_calls = call->next_free;
	} else {
		call = calloc(1, rt_call_size(c->inst));
		if (!call)
			return NULL;
	}
	call->spare = false;
	call->pub.conn = c;
	call->pub.reverse = false;
	call->pub.npieces = 0;
	call->pub.len = 0;
	call->pub.nwrites = 0;
	call->pub.has_reply_chunk = false;
	call->pub.op_class = 0;
	call->pub.ranged = false;
	call->pub.torn = false;
	call->pub.vetted = false;
	call->stage = RT_CALL_LOOK;
	call->failed = false;
	call->starved = false;
	call->short_told = false;
	call->starved_since = 0;
	call->waiting = false;
	call->format = &rt_reply_base;
	call->nplaced = 0;
	call->reads_pending = 0;
	call->bufs = NULL;
	call->memory = 0;
	call->reply_octets = 0;
	call->arrived = base_now_ns();
	call->begun = 0;
	call->inv_handle = 0;
	call->nsegs = 0;
	call->nbody = 0;
	call->nreads = 0;
	call->nreads_all = 0;
	call->reads_begun = 0;
	call->nbase = 0;
	call->reply.done = NULL;
	call->external = false;
	call->posted_first = false;
	call->written = 0;
	call->writing = 0;
	cds_list_add_tail(&call->link, &c->resp.calls);
	c->calls_all++;
	return call;
}

/*
 * Calls beyond the Advertised credits, which the peer may have sent with those
 * that draw the fragments of a Reply, or while it was called back ([A5] rule
 * 6): as their number has no limit, they count as the host's memory, once there
 * are as many as version 1 takes at most. False: there is none for this one, which
 * the peer had the credit for: so it fails alone (7.4.1).
 */
static bool take_surplus(struct rt_conn *c, size_t *n)
{
	*n = 0;
	if (c->v->number == WIRE_VERS1 || c->credit.holding < 2 * c->credit.max)
		return true;
	*n = rt_call_size(c->inst) + c->recv_size;
	return rt_memory_take(c, 0, *n);
}

void rt_calls_shorten(struct rt_conn *c, unsigned int n)
{
	struct rt_call_priv **list = &c->resp.free_calls;

	rt_assert_strand(c);
	while (*list && n--)
		list = &(*list)->next_free;
	while (*list) {
		struct rt_call_priv *call = *list;

		*list = call->next_free;
		free(call);
	}
}

bool rt_calls_trim(struct rt_conn *c)
{
	struct rt_call_priv **at = &c->resp.free_calls, *call;
	bool some = false;

	rt_assert_strand(c);
	/* One is kept, and what was taken last comes first. */
	for (bool first = true; *at; first = false) {
		call = *at;
		if (!first && call->spare) {
			*at = call->next_free;
			free(call);
			some = true;
		} else {
			call->spare = true;
			at = &call->next_free;
		}
	}
	return some;
}

void rt_call_free(struct rt_conn *c, struct rt_call_priv *call)
{
	bool waiting = call->waiting;

	rt_assert_strand(c);
	if (call->starved || waiting) {
		call->starved = false;
		call->waiting = false;
		cds_list_del(&call->queue);
	}
	if (call->reads_pending) {
		/* The fabric still writes into its buffers. */
		call->failed = true;
		return;
	}
	assert(call->stage < RT_CALL_UPPER || c->calls_upper);
	if (call->stage >= RT_CALL_UPPER)
		c->calls_upper--;
	if (call->stage == RT_CALL_UPPER && !waiting)
		rt_executing_add(c, -1);
	assert(!call->pub.reverse || c->calls_reverse);
	if (call->pub.reverse)
		c->calls_reverse--;
	assert(c->calls_all && c->calls_all >= c->credit.holding);
	assert(call->posted_first || c->credit.holding);
	if (!call->posted_first)
		c->credit.holding--;
	rt_xid_count(c, call->pub.xid, -1);
	rt_memory_give(c, call->memory);
	rt_receive_back(c, &call->bufs);
	cds_list_del(&call->link);
	c->calls_all--;
	call->next_free = c->resp.free_calls;
	c->resp.free_calls = call;
}

/* Answer with an ERROR and forget the Call. */
void rt_call_error(struct rt_conn *c, struct rt_call_priv *call,
		   const struct wire_error *err)
{
	uint32_t xid = call->pub.xid;

	rt_assert_strand(c);
	rt_log(c, LOG_NOTICE, "Call %08x refused: %s", xid,
	       wire_errcode_name(err->code));
	rt_error_about(c, xid, err);
	rt_call_free(c, call);
}

void rt_call_begin(struct rt_call *call)
{
	caa_container_of(call, struct rt_call_priv, pub)->begun = base_now_ns();
}

void *rt_call_user(struct rt_call *call)
{
	return caa_container_of(call, struct rt_call_priv, pub)->user;
}

bool rt_reply_may_continue(const struct rt_conn *c)
{
	rt_assert_strand(c);
	if (c->inst->cfg.no_continuation || !c->v->continuation)
		return false;
	/* [F4]: the level bounds Replies of the reverse direction too. */
	return c->server || c->ours.reverse >= RDMA2_RVRSDIR_CONT;
}

/*
 * [G1]: chunks that the level of reverse direction does not allow, the lowest
 * included. False, and one of the errors of 7.3: 4.6.4.
 */
static bool chunks_allowed(const struct rt_conn *c, bool reads, bool writes,
			   struct wire_error *err)
{
	if (c->server || c->ours.reverse == RDMA2_RVRSDIR_GENL)
		return true;
	err->max_chunks = 0;
	err->length_needed = 0;
	err->code = RDMA2_ERR_READ_CHUNKS;
	if (reads)
		return false;
	/* 7.3.2 */
	err->code = rt_reply_may_continue(c) ? RDMA2_ERR_WRITE_CHUNKS :
					       RDMA2_ERR_REPLY_RESOURCE;
	return !writes;
}

struct rt_call_priv *rt_call_admit(struct rt_conn *c, uint32_t xid, bool reads,
				   bool writes)
{
	struct wire_error err = { 0 };
	struct rt_call_priv *call;
	size_t surplus;

	rt_assert_strand(c);
	if (c->state == RT_DRAINING) {
		/* The end of the connection is the answer (7.4): it lets the
		 * Requester send again elsewhere, as an ERROR would not. */
		RT_COUNT(c, dropped, 1);
		return NULL;
	}
	/* A Call's credit is back when its Reply is posted, and not when the
	 * peer has taken that. */
	if (c->calls_all - c->credit.holding >= rt_conn_most(c)) {
		rt_conn_stop(c, EV_ABORT, -ENOBUFS, "%u Replies are not taken",
			     c->calls_all - c->credit.holding);
		return NULL;
	}
	if (!chunks_allowed(c, reads, writes, &err)) {
		rt_log(c, LOG_NOTICE, "Call %08x refused: %s", xid,
		       wire_errcode_name(err.code));
		rt_error_about(c, xid, &err);
		return NULL;
	}
	if (!c->ops->call || (!c->server && !c->ours.reverse)) {
		err.code = RDMA2_ERR_SYSTEM;
		rt_error_about(c, xid, &err);
		return NULL;
	}
	if (!take_surplus(c, &surplus)) {
		c->v->turn_away(c, xid);
		return NULL;
	}
	/* [A9]: it does without properties, so the defaults hold. */
	rt_conn_tell_established(c);
	call = call_get(c);
	if (!call) {
		rt_memory_give(c, surplus);
		c->v->turn_away(c, xid);
		return NULL;
	}
	call->memory = surplus;
	call->pub.xid = xid;
	rt_xid_count(c, xid, 1);
	call->pub.reverse = !c->server;
	/* Its Reply needs a credit [G3]. */
	c->calls_reverse += call->pub.reverse;
	/* Its credit is given back with the answer, so that no GRANT is spent
	 * on it meanwhile. */
	c->credit.holding++;
	return call;
}
