/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * policy - when characteristics change, xcharext
 *
 * What the upper layer wishes (any thread: a wish is one atomic word, and the
 * runner takes it), and what the transport does by itself:
 *
 *   - a server raises its Receives for a busy client whose Calls do not fit,
 *     and asks a client whose Replies do not fit to raise its own;
 *   - either end asks a peer that is idle to lower its own, and who has lowered
 *     them has them as configured again when there is something to do.
 *
 * Busy is said in RT_XCHAR_LOOK; idle is no message for idle_recv_ms. Nothing
 * of this is needed for correctness: whoever says no is left alone until it has
 * been busy, or idle, again.
 */
#include "transport/ext/xchar/xchar.h"

/* ---- Wishes ----------------------------------------------------------- */

static void wish(struct rt_conn *c, _Atomic uint32_t *where, uint32_t value)
{
	atomic_store_explicit(where, value + 1, memory_order_relaxed);
	rt_strand_run(c);
}

void rt_conn_raise_recv_size(struct rt_conn *c, uint32_t octets)
{
	wish(c, &xchar(c)->wish_raise, octets);
}

void rt_conn_ask_recv_size(struct rt_conn *c, uint32_t octets)
{
	wish(c, &xchar(c)->wish_ask, octets);
}

void rt_conn_set_reverse(struct rt_conn *c, uint32_t level)
{
	wish(c, &xchar(c)->wish_reverse, level);
}

void rt_conn_set_invalidation(struct rt_conn *c, bool offer)
{
	wish(c, &xchar(c)->wish_invalidate, offer);
}

static bool take(_Atomic uint32_t *where, uint32_t *value)
{
	if (!atomic_load_explicit(where, memory_order_relaxed))
		return false;
	*value = atomic_exchange_explicit(where, 0, memory_order_relaxed) - 1;
	return true;
}

/* The peer has a structure that only fits what it is, or has said that its
 * Receives do not change (4.1). */
static bool keeps_size(const struct rt_conn *c)
{
	return c->theirs_fixed || xchar(c)->fixed & 1u << RDMA2_PROPID_RBSIZ;
}

static void ask(struct rt_conn *c, uint32_t octets)
{
	if (keeps_size(c))
		return;
	if (octets >= WIRE_FIRST_MESSAGE_MAX && octets <= RT_SEND_MAX &&
	    octets != c->theirs.recv_size)
		xchar(c)->ask = octets & ~3u;
}

static void take_wishes(struct rt_conn *c)
{
	struct rt_xchar *x = xchar(c);
	uint32_t v;

	if (take(&x->wish_raise, &v))
		rt_xchar_raise(c, v & ~3u);
	if (take(&x->wish_ask, &v))
		ask(c, v);
	/* What the peer cannot be told does not change. */
	if (!(x->peer & XCHSUPP_UPD))
		return;
	if (take(&x->wish_reverse, &v) && !c->server &&
	    v <= RDMA2_RVRSDIR_GENL && v != c->ours.reverse) {
		/* Calls may be under way that were right when they went. */
		c->reverse_most = rt_reverse_level(c);
		c->ours.reverse = v;
		rt_xchar_update(c, RDMA2_PROPID_BRS);
	}
	if (take(&x->wish_invalidate, &v) && c->offers != (bool)v) {
		c->offers = v;
		rt_xchar_update(c, RDMA2_PROPID_X_REQREMINV);
	}
}

/* ---- Policy ----------------------------------------------------------- */

/* What the counts have grown by since the last look. */
#define SINCE(name, now)                         \
	({                                       \
		uint64_t n_ = (now);             \
		uint64_t d_ = n_ - x->then.name; \
		x->then.name = n_;               \
		d_;                              \
	})

static void look(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;
	const struct rt_stats *s = &c->stats;
	struct rt_xchar *x = xchar(c);
	uint64_t now, took, calls, in, out, reads, octets;
	uint32_t size = cfg->busy_recv_size;

	if (s->calls_received + s->calls_sent - x->then.calls < RT_XCHAR_LOOK)
		return;
	now = rt_now_ms();
	took = now - x->looked;
	x->looked = now;
	calls = SINCE(calls, s->calls_received + s->calls_sent);
	in = SINCE(long_calls, s->continued_received);
	reads = SINCE(reads, s->read_chunks);
	octets = SINCE(read_bytes, s->read_bytes);
	out = SINCE(long_replies, s->continued_sent + s->special_sent);
	if (took > RT_XCHAR_LOOK_MS)
		return;
	/* Lowered because the peer asked, when it was idle. */
	rt_xchar_raise(c, cfg->recv_size);
	if (!c->server)
		return;
	/* Chunks that would be too long all the same are none of these. */
	if (octets <= reads * size)
		in += reads;
	if (in * 4 >= calls)
		rt_xchar_raise(c, size);
	if (out * 4 >= calls && c->theirs.recv_size < size && !x->asking &&
	    !x->pending)
		ask(c, size);
}

static void turn(struct rt_conn *c)
{
	struct rt_xchar *x = xchar(c);
	uint64_t rpcs = c->stats.calls_received + c->stats.calls_sent;

	if (!x->peer || c->state != RT_OPEN)
		return;
	take_wishes(c);
	if (rpcs != x->rpcs) {
		x->rpcs = rpcs;
		x->idle_asked = false;
	}
	look(c);
}

static uint64_t due(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;
	const struct rt_xchar *x = xchar(c);

	if (!(x->peer & XCHSUPP_REQ) || c->state != RT_OPEN || x->idle_asked ||
	    x->asking || x->pending || x->ask || keeps_size(c) ||
	    c->theirs.recv_size <= cfg->idle_recv_size || c->calls_all ||
	    rt_requests_any(c))
		return 0;
	return c->last_active + cfg->idle_recv_ms;
}

static void expire(struct rt_conn *c, uint64_t now)
{
	uint64_t d = due(c);

	if (!d || d > now)
		return;
	xchar(c)->idle_asked = true;
	ask(c, c->inst->cfg.idle_recv_size);
}

const struct rt_part rt_part_xchar = {
	.room = sizeof(struct rt_xchar),
	.slot = RT_SLOT_XCHAR,
	.init = rt_xchar_init,
	.due = due,
	.expire = expire,
	.turn = turn,
	.down = rt_xchar_reset,
};
