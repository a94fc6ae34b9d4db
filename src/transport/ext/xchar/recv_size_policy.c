/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recv_size_policy - when Receives change their size, by xcharext
 *
 *   - If a quarter of a busy client's Calls do not fit the server's Receives, the server
 *     raises its own. If a quarter of the Replies do not fit the client's Receives, the
 *     server asks the client to raise its own.
 *   - Either end asks an idle peer to lower its Receives. An end that has lowered its own
 *     raises them to the configured size when it is busy again.
 *
 * RT_XCHAR_SAMPLE says when a client is busy; a peer is idle after idle_recv_ms without a
 * message. None of this is needed for correctness: a peer that rejects a request is asked
 * again only after it has been busy, or idle, again.
 *
 * Context: the runner.
 */
#include "transport/ext/xchar/xchar.h"

/* Returns true if the peer's Receives cannot change: by their structure (rtrext), or
 * because the peer has announced so (4.1). */
static bool keeps_size(const struct rt_conn *c)
{
	return c->peer_recv_fixed || xchar(c)->fixed & 1u << RDMA2_PROPID_RBSIZ;
}

static void want_size(struct rt_conn *c, uint32_t octets)
{
	if (keeps_size(c))
		return;
	if (octets != c->theirs.recv_size)
		xchar(c)->wanted_size = octets;
}

/* Returns how much a counter has grown since the last sample. */
#define SINCE(name, now)                           \
	({                                         \
		uint64_t n_ = (now);               \
		uint64_t d_ = n_ - x->sample.name; \
		x->sample.name = n_;               \
		d_;                                \
	})

static void sample_load(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;
	const struct rt_stats *s = &c->stats;
	struct rt_xchar *x = xchar(c);
	uint64_t now, took, calls, in, out, reads, octets;
	uint32_t size = cfg->busy_recv_size;

	if (s->calls_received + s->calls_sent - x->sample.calls <
	    RT_XCHAR_SAMPLE)
		return;
	now = rt_now_ms();
	took = now - x->sampled_at;
	x->sampled_at = now;
	calls = SINCE(calls, s->calls_received + s->calls_sent);
	in = SINCE(long_calls, s->continued_received);
	reads = SINCE(reads, s->read_chunks);
	octets = SINCE(read_bytes, s->read_bytes);
	out = SINCE(long_replies, s->continued_sent + s->special_sent);
	if (took > RT_XCHAR_SAMPLE_MS)
		return;
	/* Undo a reduction that the peer asked for when it was idle. */
	rt_xchar_raise(c, cfg->recv_size);
	if (!c->server)
		return;
	/* Count chunks only if they would fit longer Receives on average. */
	if (octets <= reads * size)
		in += reads;
	if (in * 4 >= calls)
		rt_xchar_raise(c, size);
	if (out * 4 >= calls && c->theirs.recv_size < size &&
	    !x->request_sent && !x->request_pending)
		want_size(c, size);
}

static void xchar_turn(struct rt_conn *c)
{
	struct rt_xchar *x = xchar(c);
	uint64_t rpcs = c->stats.calls_received + c->stats.calls_sent;

	if (!x->peer || c->state != RT_OPEN)
		return;
	if (rpcs != x->rpcs) {
		x->rpcs = rpcs;
		x->idle_asked = false;
	}
	sample_load(c);
}

static uint64_t xchar_due(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;
	const struct rt_xchar *x = xchar(c);

	if (!(x->peer & XCHSUPP_REQ) || c->state != RT_OPEN || x->idle_asked ||
	    x->request_sent || x->request_pending || x->wanted_size ||
	    keeps_size(c) || c->theirs.recv_size <= cfg->idle_recv_size ||
	    c->calls_all || rt_requests_any(c))
		return 0;
	return c->last_active + RT_CURRENT(c->inst, idle_recv_ms);
}

static void xchar_expire(struct rt_conn *c, uint64_t now)
{
	uint64_t d = xchar_due(c);

	if (!d || d > now)
		return;
	xchar(c)->idle_asked = true;
	want_size(c, c->inst->cfg.idle_recv_size);
}

const struct rt_part rt_part_xchar = {
	.size = sizeof(struct rt_xchar),
	.slot = RT_SLOT_XCHAR,
	.optional = true,
	.init = rt_xchar_init,
	.due = xchar_due,
	.expire = xchar_expire,
	.turn = xchar_turn,
	.disconnected = rt_xchar_reset,
};
