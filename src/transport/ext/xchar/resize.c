/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resize - the size of our Receives changes while they are posted
 *
 * Posted Receives cannot be taken back, and complete in the order of posting. When the
 * size is raised, new ones have the new size at once, and the peer is told (UPDXCH) when
 * the last shorter one has completed; without traffic that is never [X6]. The size is
 * lowered only at the peer's request: new ones have the new size, and longer ones that
 * are posted do no harm (3.1). Whatever is announced, no Receive has less than 4096
 * octets.
 *
 * Raising needs memory before that is of use, so it is not begun if half of all memory is
 * in use, or if there is no memory for the new Receives (receives.c).
 *
 * Context: the runner.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/ext/xchar/xchar.h"

bool rt_xchar_raised(const struct rt_conn *c)
{
	rt_assert_strand(c);
	return c->recv_target && !c->recvs_shorter;
}

bool rt_xchar_raise_done(struct rt_conn *c)
{
	struct rt_xchar *x = xchar(c);
	bool asked = x->peer_asked;

	rt_assert_strand(c);
	c->ours.recv_size = c->recv_target;
	c->recv_target = 0;
	x->peer_asked = false;
	rt_connprop_threshold(c);
	rt_log(c, LOG_DEBUG, "our Receives have %u bytes", c->ours.recv_size);
	return asked;
}

/* Returns true if less than half of the memory would be in use afterwards. */
static bool memory_to_spare(const struct rt_conn *c, uint32_t size)
{
	struct fab_pool_stats s;
	size_t more = (size_t)size * (c->v->receives(c) + 1);

	fab_pool_get_stats(c->inst->pool, &s);
	return more <= s.limit / RT_XCHAR_SHARE &&
	       s.bytes_in_use <= s.limit / RT_XCHAR_SHARE - more;
}

static uint32_t max_recv_size(const struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;

	return cfg->busy_recv_size > cfg->recv_size ? cfg->busy_recv_size :
						      cfg->recv_size;
}

bool rt_xchar_raise(struct rt_conn *c, uint32_t size)
{
	rt_assert_strand(c);
	if (c->recv_fixed)
		return false;
	if (size > max_recv_size(c))
		size = max_recv_size(c);
	if (size <= c->ours.recv_size)
		return false;
	if (size <= c->recv_target)
		return true;
	if (size > WIRE_DEFAULT_INLINE && !memory_to_spare(c, size)) {
		rt_log(c, LOG_INFO, "no memory to spare for longer Receives");
		return false;
	}
	if (!rt_reserve_resize(c, (size + 3) & ~3u)) {
		rt_log(c, LOG_INFO, "no memory for Receives of %u bytes", size);
		return false;
	}
	rt_receives_raise(c, size, c->ours.recv_size);
	return true;
}

/* ---- Requests of the peer, 4.2 ---------------------------------------- */

enum verdict { REJECTED, DONE, PENDING };

static enum verdict request_resize(struct rt_conn *c, uint32_t size)
{
	struct rt_xchar *x = xchar(c);

	if (c->recv_fixed || size < WIRE_FIRST_MESSAGE_MAX)
		return REJECTED;
	if (x->peer_asked)
		return REJECTED; /* [X7] */
	if (size == c->ours.recv_size && !c->recv_target)
		return DONE;
	if (size <= c->ours.recv_size) {
		/* The peer obeys the lower size since it has sent the request. */
		c->recv_target = 0;
		c->ours.recv_size = size;
		rt_receives_size(c, size);
		rt_reserve_shorten(c);
		rt_connprop_threshold(c);
		return DONE;
	}
	if (!rt_xchar_raise(c, size))
		return REJECTED;
	if (rt_xchar_raised(c) && c->recv_target == size) {
		/* Longer ones were posted already. */
		rt_xchar_raise_done(c);
		return DONE;
	}
	x->peer_asked = true;
	return PENDING;
}

/* A peer may ask for another Receive Buffer Size. All other properties follow from our
 * settings, so requests to change them are rejected, as are unknown ones (4.3). */
static enum verdict request_value(struct rt_conn *c, const struct wire_prop *v)
{
	if (v->which == RDMA2_PROPID_RBSIZ)
		return request_resize(c, wire_prop_u32(v, WIRE_DEFAULT_INLINE));
	return REJECTED;
}

uint32_t rt_xchar_request(struct rt_conn *c, const struct wire_xchar *m)
{
	const uint32_t answers = XCHSUPP_RESP | XCHSUPP_UPD;
	struct rt_xchar *x = xchar(c);
	struct rt_properties unused;
	struct wire_iter it = { 0 };
	struct rt_xchar_resp *r;
	struct wire_prop v;

	rt_assert_strand(c);
	RT_COUNT(c, xchar_requests_received, 1);
	/* xcharext 4 requires a peer that sends REQXCH to accept the answers [M2]. */
	if ((x->peer & answers) != answers)
		return RDMA2_ERR_INVAL_HTYPE;
	if (m->props.count > RT_XCHAR_VALUES)
		return RDMA2_ERR_SYSTEM;
	/* [X4]: wire_xchar_decode() has not checked the values of all properties. */
	if (!rt_values_read(c, &m->props, &unused))
		return RDMA2_ERR_BAD_PROPVAL;
	/* The number of answers that wait for credits is limited. */
	r = x->nresp < c->max_errors ? calloc(1, sizeof(*r)) : NULL;
	if (!r)
		return RDMA2_ERR_SYSTEM;
	r->xid = m->p.xid;
	r->count = m->props.count;
	while (wire_prop_next(&m->props, &it, &v)) {
		uint32_t i = it.index - 1, bit = 1u << (i % 32);
		enum verdict how = request_value(c, &v);

		if (how == DONE)
			r->done[i / 32] |= bit;
		else if (how == PENDING)
			r->pend[i / 32] |= bit;
		rt_log(c, LOG_DEBUG, "REQXCH %08x: %s: %s", r->xid,
		       wire_propid_name(v.which),
		       how == DONE    ? "done" :
		       how == PENDING ? "pending" :
					"rejected");
	}
	*x->resp_tail = r;
	x->resp_tail = &r->next;
	x->nresp++;
	return 0;
}
