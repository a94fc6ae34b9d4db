/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xid - XIDs in use
 *
 * Both ends choose XIDs, for their Calls and for other messages. The peer's Calls are
 * counted by the low bits of their XIDs; ours are in a hash table. Other messages of ours
 * have an XID that no Call of ours has.
 *
 * Context: the runner; any thread may call rt_conn_xid_busy().
 */
#include "transport/message/message.h"

/* ---- The peer's Calls --------------------------------------------------- */

void rt_xid_count(struct rt_conn *c, uint32_t xid, int n)
{
	_Atomic uint16_t *at = &c->msg.xids[xid % RT_XIDS];

	rt_assert_strand(c);
	/* The runner alone writes. */
	atomic_store_explicit(
		at,
		(uint16_t)(atomic_load_explicit(at, memory_order_relaxed) + n),
		memory_order_relaxed);
}

bool rt_conn_xid_busy(struct rt_conn *c, uint32_t xid)
{
	return atomic_load_explicit(&c->msg.xids[xid % RT_XIDS],
				    memory_order_relaxed);
}

void rt_xid_replied(struct rt_conn *c, uint32_t xid)
{
	rt_assert_strand(c);
	rt_xids_add(&c->msg.replied, xid);
}

/* ---- Our Calls and other messages --------------------------------------- */

static struct rt_own_call **bucket(struct rt_conn *c, uint32_t xid)
{
	/* XIDs are often counted up: the low octet spreads well enough. */
	return &c->msg.own[(xid ^ xid >> 8) % RT_HASH];
}

struct rt_own_call *rt_xid_find(struct rt_conn *c, uint32_t xid)
{
	struct rt_own_call *o;

	rt_assert_strand(c);
	for (o = *bucket(c, xid); o; o = o->next)
		if (o->xid == xid)
			return o;
	return NULL;
}

void rt_xid_add(struct rt_conn *c, struct rt_own_call *o)
{
	rt_assert_strand(c);
	o->next = *bucket(c, o->xid);
	*bucket(c, o->xid) = o;
}

void rt_xid_del(struct rt_conn *c, const struct rt_own_call *o)
{
	struct rt_own_call **p = bucket(c, o->xid);

	rt_assert_strand(c);
	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
}

uint32_t rt_xid_props(struct rt_conn *c)
{
	rt_assert_strand(c);
	while (!c->msg.props_xid || rt_xid_find(c, c->msg.props_xid))
		c->msg.props_xid = c->msg.next_xid++;
	return c->msg.props_xid;
}

uint32_t rt_xid_fresh(struct rt_conn *c)
{
	uint32_t xid;

	rt_assert_strand(c);
	do
		xid = c->msg.next_xid++;
	while (!xid || xid == c->msg.props_xid || rt_xid_find(c, xid));
	return xid;
}
