/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invalidate - which handle of a Call its Reply may invalidate
 *
 * Runner only.
 */
#include "transport/responder/responder.h"

static bool has_handle(const struct rt_call_priv *call, uint32_t handle)
{
	for (unsigned int i = 0; i < call->nsegs; i++)
		if (call->seg[i].handle == handle)
			return true;
	return false;
}

/*
 * RFC 8797 4.1: one that is of this XID only, but an empty segment's need not be a real one.
 * What another Call in progress has as well neither Reply invalidates, whichever
 * goes first.
 */
static uint32_t choose(struct rt_conn *c, const struct rt_call_priv *call)
{
	struct rt_call_priv *other;
	uint32_t handle = 0;

	if (!c->remote_invalidation)
		return 0;
	for (unsigned int i = 0; i < call->nsegs && !handle; i++)
		if (call->seg[i].length)
			handle = call->seg[i].handle;
	cds_list_for_each_entry(other, &c->resp.calls, link)
	{
		if (other == call || other->posted_first)
			continue;
		if (other->inv_handle && has_handle(call, other->inv_handle))
			other->inv_handle = 0;
		if (handle && has_handle(other, handle))
			handle = 0;
	}
	return handle;
}

/* rdma_inv_handle counts only if the header has such a handle [C11]. */
static uint32_t as_said(struct rt_conn *c, const struct rt_call_priv *call,
			uint32_t said)
{
	if (!said)
		return 0;
	if (has_handle(call, said))
		return said;
	rt_log(c, LOG_NOTICE, "Call %08x: rdma_inv_handle %08x is in no chunk",
	       call->pub.xid, said);
	return 0;
}

uint32_t rt_call_invalidates(struct rt_conn *c, const struct rt_call_priv *call,
			     uint32_t said)
{
	rt_assert_strand(c);
	return c->v->inv_field ? as_said(c, call, said) : choose(c, call);
}
