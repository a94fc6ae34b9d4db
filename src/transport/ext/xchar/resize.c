/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xchar_resize - the size of our Receives changes while they are posted
 *
 * Runner only. Receives complete in the order in which they were posted, and
 * what is posted cannot be had back. So when the size is raised new ones get
 * the new size at once, and the peer hears of it (UPDXCH) when the last of the
 * shorter ones has completed; with no traffic that is never [X6]. It is lowered
 * only because the peer asks: new ones get the new size, and the longer ones
 * that are posted do no harm (3.1). None has less than 4096 octets, whatever is
 * announced.
 *
 * A raise needs memory before there is any use of it, so it is not begun if half
 * of it is in use; and its memory is there before it is (reserve.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/internal.h"
#include "rpcrdma/xchar.h"

/* The Receives have a structure that the peer knows by another property, and
 * it fits no other size. */
bool rt_xchar_fixed(const struct rt_conn *c)
{
	return rt_rtr_structured(c);
}

uint32_t rt_recv_size(const struct rt_conn *c)
{
	uint32_t n = c->xchar.target;

	if (n < c->ours.recv_size)
		n = c->ours.recv_size;
	if (n < WIRE_DEFAULT_INLINE)
		n = WIRE_DEFAULT_INLINE;
	return (n + 3) & ~3u;
}

/* Is all that is posted as long as what is to be announced? */
bool rt_xchar_raised(const struct rt_conn *c)
{
	return c->xchar.target && !c->xchar.shorter;
}

/* UPDXCH with the new size goes now. Was it asked for? */
bool rt_xchar_raise_done(struct rt_conn *c)
{
	struct rt_xchar *x = &c->xchar;
	bool asked = x->asked;

	c->ours.recv_size = x->target;
	x->target = 0;
	x->asked = false;
	rt_connprop_threshold(c);
	rt_log(c, LOG_DEBUG, "our Receives have %u octets", c->ours.recv_size);
	return asked;
}

void rt_xchar_received(struct rt_conn *c, const struct rt_work *w)
{
	struct rt_xchar *x = &c->xchar;

	if (x->target && x->shorter && w->sge[0].len < x->target)
		x->shorter--;
}

/* Is there so much memory that this connection may have more than its due? */
static bool memory_for(const struct rt_conn *c, uint32_t size)
{
	struct fab_pool_stats s;
	size_t more = (size_t)size * (c->v->receives(c) + 1);

	fab_pool_get_stats(c->inst->pool, &s);
	return more <= s.limit / RT_XCHAR_SHARE &&
	       s.bytes_in_use <= s.limit / RT_XCHAR_SHARE - more;
}

/* The most that is ever received at once. */
static uint32_t most(const struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;

	return cfg->busy_recv_size > cfg->recv_size ? cfg->busy_recv_size :
						      cfg->recv_size;
}

bool rt_xchar_raise(struct rt_conn *c, uint32_t size)
{
	struct rt_xchar *x = &c->xchar;
	struct rt_work *w;

	if (rt_xchar_fixed(c))
		return false;
	if (size > most(c))
		size = most(c);
	if (size <= c->ours.recv_size)
		return false;
	if (size <= x->target)
		return true;
	if (size > WIRE_DEFAULT_INLINE && !memory_for(c, size)) {
		rt_log(c, LOG_INFO, "no memory to spare for longer Receives");
		return false;
	}
	if (!rt_reserve_resize(c, (size + 3) & ~3u)) {
		rt_log(c, LOG_INFO, "no memory for Receives of %u octets",
		       size);
		return false;
	}
	x->target = size;
	x->shorter = 0;
	cds_list_for_each_entry(w, &c->lent, lent) if (w->sge[0].len < size)
		x->shorter++;
	return true;
}

/* ---- Requests of the peer, 4.2 ---------------------------------------- */

enum verdict { REJECTED, DONE, PENDING };

/* Change the free ones for shorter ones, and those that come back later. */
static void shorter(struct rt_conn *c)
{
	struct fab_buf *b, *list = c->free_recv;
	size_t n = c->inst->shares ? 0 : c->v->receives(c);

	(void)rt_host_receives(c, n * rt_recv_size(c));
	c->free_recv = NULL;
	while ((b = list)) {
		list = b->next;
		rt_receive_put(c, b);
	}
}

static enum verdict resize(struct rt_conn *c, uint32_t size)
{
	struct rt_xchar *x = &c->xchar;

	if (rt_xchar_fixed(c) || size < WIRE_FIRST_MESSAGE_MAX)
		return REJECTED;
	if (x->asked)
		return REJECTED; /* [X7] */
	if (size == c->ours.recv_size && !x->target)
		return DONE;
	if (size <= c->ours.recv_size) {
		/* The peer keeps to it from the moment it asked. */
		x->target = 0;
		c->ours.recv_size = size;
		shorter(c);
		rt_connprop_threshold(c);
		return DONE;
	}
	if (!rt_xchar_raise(c, size))
		return REJECTED;
	if (rt_xchar_raised(c) && x->target == size) {
		/* Longer ones were posted already. */
		rt_xchar_raise_done(c);
		return DONE;
	}
	x->asked = true;
	return PENDING;
}

/*
 * What a peer may ask for is another Receive Buffer Size. All else follows from
 * the settings here, and a request for it is rejected, as is one for what is
 * not known (4.3).
 */
static enum verdict judge(struct rt_conn *c, const struct wire_prop *v)
{
	if (v->which == RDMA2_PROPID_RBSIZ)
		return resize(c, wire_prop_u32(v, WIRE_DEFAULT_INLINE));
	return REJECTED;
}

uint32_t rt_xchar_request(struct rt_conn *c, const struct wire_xchar *m)
{
	const uint32_t answers = XCHSUPP_RESP | XCHSUPP_UPD;
	struct rt_xchar *x = &c->xchar;
	struct rt_rtr_peer rtr = c->rtr.theirs;
	struct wire_iter it = { 0 }, jt = { 0 };
	struct rt_xchar_resp *r;
	struct wire_prop v;

	RT_COUNT(c, xchar_requests_received, 1);
	/* It could not take the answer: xcharext 4 wants it to [M2]. */
	if ((x->peer & answers) != answers)
		return RDMA2_ERR_INVAL_HTYPE;
	if (m->props.count > RT_XCHAR_VALUES)
		return RDMA2_ERR_SYSTEM;
	/* [X4]; the decoder knows the values of the others. */
	while (wire_prop_next(&m->props, &jt, &v))
		if (!rt_rtr_apply(c, &rtr, &v))
			return RDMA2_ERR_BAD_PROPVAL;
	if (x->nresp == c->max_errors) {
		rt_conn_fail(c, -EPROTO, "too many requests wait for credits");
		rt_event(c, EV_ABORT);
		return 0;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return RDMA2_ERR_SYSTEM;
	r->xid = m->p.xid;
	r->count = m->props.count;
	while (wire_prop_next(&m->props, &it, &v)) {
		uint32_t i = it.index - 1, bit = 1u << (i % 32);
		enum verdict how = judge(c, &v);

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
