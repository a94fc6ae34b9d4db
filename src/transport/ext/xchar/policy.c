/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * policy - when Receives change their size, by xcharext
 *
 *   - A server raises its Receives for a busy client whose Calls do not fit, and asks a
 *     client whose Replies do not fit to raise its own.
 *   - Either end asks an idle peer to lower its Receives. An end that has lowered its own
 *     raises them to the configured size when it is busy again.
 *
 * A client is busy as RT_XCHAR_LOOK says; a peer is idle after idle_recv_ms without a
 * message. None of this is needed for correctness: a peer that says no is asked again
 * only after it has been busy, or idle, again.
 *
 * Context: the runner.
 */
#include "transport/ext/xchar/xchar.h"

/* Returns true if the peer's Receives are fixed: by their structure, or as it has said
 * (4.1). */
static bool keeps_size(const struct rt_conn *c)
{
	return c->peer_recv_fixed || xchar(c)->fixed & 1u << RDMA2_PROPID_RBSIZ;
}

static void ask(struct rt_conn *c, uint32_t octets)
{
	if (keeps_size(c))
		return;
	if (octets != c->theirs.recv_size)
		xchar(c)->ask = octets;
}

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
	.size = sizeof(struct rt_xchar),
	.slot = RT_SLOT_XCHAR,
	.optional = true,
	.init = rt_xchar_init,
	.due = due,
	.expire = expire,
	.turn = turn,
	.disconnected = rt_xchar_reset,
};
