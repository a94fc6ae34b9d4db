/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - host authentication in CONNPROP messages (5.2.6 [F5])
 *
 * A token is a uint32 kind and an opaque<>. It is cut into as many values of property 6
 * as it needs, each in a CONNPROP_MIDDLE of its own. The ends send tokens in turn, the
 * client first. Until the exchange ends, an end holds its CONNPROP_FINAL back. Its
 * properties 1 to 5 are in its first CONNPROP message, so that the authenticator can
 * cover them; a change of them after its last token is refused.
 *
 * Context: the runner.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "transport/ext/auth/auth.h"

/* ms: with the policy `optional` a server waits so long for a client's first token. */
#define BEGIN_MS RT_SETTLE_MS

/* ---- Sending tokens ----------------------------------------------------- */

static size_t auth_token_part(struct rt_conn *c, size_t room,
			      const uint8_t **part)
{
	struct rt_auth *a = auth(c);
	size_t n;

	rt_auth_set_answer_due(c, false);
	if (!a->out)
		return 0;
	n = a->out_len - a->out_at;
	n = MIN(n, room);
	*part = a->out + a->out_at;
	a->out_at += n;
	rt_auth_update_conn(c);
	return n;
}

static void auth_token_part_sent(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	if (!c->server && c->state == RT_GREETING) {
		/* From here on the server has to answer, [B6]. */
		c->unanswered = true;
		a->deadline = rt_now_ms() + c->inst->cfg.auth_ms;
	}
	if (!a->out || a->out_at < a->out_len)
		return;
	rt_auth_free_out(c);
	if (a->phase == RT_AUTH_SENDING)
		rt_auth_set_phase(c, RT_AUTH_LISTENING);
	if (a->phase == RT_AUTH_REFUSING) {
		rt_chain_post(c);
		rt_event(c, EV_VIOLATION);
	}
}

/* ---- Receiving tokens ------------------------------------------------- */

/* Allocate @n octets more, for octets that were received, not for those announced. */
static bool grow_token(struct rt_conn *c, size_t n)
{
	struct rt_auth *a = auth(c);
	uint8_t *p;

	if (a->in_len + n <= a->in_room)
		return true;
	if (!rt_memory_charge(c, a->in_room, a->in_len + n - a->in_room))
		return false;
	a->in_room = a->in_len + n;
	p = realloc(a->in, a->in_room);
	if (p)
		a->in = p;
	return p;
}

/*
 * Each part of a token that arrives alone wakes the poller. So while a long token is
 * being received, its parts are read together every GATHER_MS. Tokens of the usual length
 * are shorter.
 */
#define LONG 16384
#define GATHER_MS 10
static void gather_parts(struct rt_conn *c, size_t want)
{
	struct rt_auth *a = auth(c);
	uint64_t now = rt_now_ms();

	if (!c->server || want < LONG || now < a->gather_until + GATHER_MS)
		return;
	a->gather_until = now + GATHER_MS;
	rt_delay_poll(c, a->gather_until);
}

/* Take a part of a token. */
static void take_part(struct rt_conn *c, const uint8_t *data, size_t n)
{
	struct rt_auth *a = auth(c);
	uint32_t head[2];
	size_t want;

	if (a->phase != RT_AUTH_LISTENING) {
		rt_auth_deny(c, "a token out of turn");
		return;
	}
	if (!a->begun && !rt_auth_start(c)) {
		rt_auth_deny(c, "no memory");
		return;
	}
	if (n > RT_AUTH_HEAD + RT_AUTH_TOKEN_MAX - a->in_len) {
		rt_auth_deny(c, "a token that is too long");
		return;
	}
	if (!grow_token(c, n)) {
		rt_auth_deny(c, "no memory for a token");
		return;
	}
	memcpy(a->in + a->in_len, data, n);
	a->in_len += n;
	if (a->in_len < RT_AUTH_HEAD)
		return;
	memcpy(head, a->in, RT_AUTH_HEAD);
	want = ntohl(head[1]);
	if (want > RT_AUTH_TOKEN_MAX) {
		rt_auth_deny(c, "a token that is too long");
		return;
	}
	if (a->in_len < RT_AUTH_HEAD + rt_round4(want)) {
		gather_parts(c, want);
		return;
	}
	if (a->in_len > RT_AUTH_HEAD + rt_round4(want)) {
		rt_auth_deny(c, "bytes after a token");
		return;
	}
	if (++a->tokens > RT_AUTH_TOKENS_MAX) {
		rt_auth_deny(c, "too many tokens");
		return;
	}
	if (ntohl(head[0]) == RT_AUTH_REFUSAL) {
		/* The connection may end before the step has read the reason in the
		 * token, which is for the log alone. */
		rt_conn_fail(
			c, -EACCES,
			"host authentication: refused by the peer; its log says why");
		RT_COUNT(c, auth_failed, 1);
	}
	if (!rt_auth_run(c, ntohl(head[0]), a->in, a->in + RT_AUTH_HEAD, want))
		rt_auth_deny(c, "no memory");
}

/* 5.1: unless host authentication is enabled, the property is unknown [F5]. */
static bool auth_read_prop(struct rt_conn *c, struct rt_properties *next,
			   const struct wire_prop *v)
{
	const uint8_t *data;
	uint32_t n;

	return v->which != RDMA2_PROPID_HOSTAUTH || !v->len ||
	       rt_auth_policy(c) == RT_AUTH_NONE ||
	       wire_prop_opaque(v, &data, &n);
}

static bool auth_props_allowed(struct rt_conn *c,
			       const struct rt_properties *next)
{
	const struct rt_auth *a = auth(c);

	/* A token covers what was announced before it, or with it. The peer's last token
	 * is the last that covers anything. */
	if (a->phase != RT_AUTH_PASSED &&
	    !(a->phase == RT_AUTH_WORKING && a->tokens))
		return true;
	if (!rt_values_change(c, next))
		return true;
	rt_auth_deny(c, "properties that came after the tokens that would "
			"cover them");
	return false;
}

static void auth_connprop_received(struct rt_conn *c, const struct wire_msg *m)
{
	struct rt_auth *a = auth(c);
	struct wire_iter it = { 0 };
	struct wire_prop v;
	const uint8_t *data;
	uint32_t n;

	/* [F5]: this end takes no part, or no longer. */
	if (rt_auth_policy(c) == RT_AUTH_NONE || a->phase == RT_AUTH_OFF)
		return;
	while (wire_prop_next(&m->props, &it, &v)) {
		if (v.which != RDMA2_PROPID_HOSTAUTH)
			continue;
		if (wire_prop_opaque(&v, &data, &n) && n)
			take_part(c, data, n);
		if (a->phase == RT_AUTH_REFUSING || c->state >= RT_CLOSING)
			return;
	}
	/* The answer is in the message of the token that is being made, if there is one,
	 * since only one message may precede the client's second [A7]. */
	if (c->server && !c->values_sent)
		rt_auth_set_answer_due(c, a->phase == RT_AUTH_LISTENING);
	if (m->p.htype != RDMA2_CONNPROP_FINAL)
		return;
	/* So answers a server that does not know host authentication. */
	if (a->phase == RT_AUTH_LISTENING || a->phase == RT_AUTH_SENDING)
		rt_auth_peer_absent(c);
}

static bool auth_admits(struct rt_conn *c, bool rpc)
{
	struct rt_auth *a = auth(c);

	if (a->phase == RT_AUTH_REFUSING)
		return false;
	if (!rpc)
		return true;
	if (a->phase == RT_AUTH_LISTENING || a->phase == RT_AUTH_SENDING)
		rt_auth_peer_absent(c);
	else if (a->phase == RT_AUTH_WORKING)
		rt_auth_deny(c, "a Call or Reply in the middle of it");
	return rt_auth_settled(c) && c->state < RT_CLOSING;
}

static void auth_props_refused(struct rt_conn *c)
{
	if (!rt_auth_settled(c) && auth(c)->phase != RT_AUTH_REFUSING)
		rt_auth_peer_absent(c);
}

/* ---- The hooks of struct rt_part ---------------------------------------- */

static int auth_init(struct rt_conn *c)
{
	auth(c)->ext = &rt_ext_auth;
	if (c->server && rt_auth_policy(c) != RT_AUTH_NONE)
		rt_auth_set_phase(c, RT_AUTH_LISTENING);
	return 0;
}

/* Server: the client's first message was received, and its first token must follow. */
static void await_token(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	if (a->phase != RT_AUTH_LISTENING || a->begun || a->deadline)
		return;
	a->deadline = rt_now_ms() + (rt_auth_policy(c) == RT_AUTH_REQUIRED ?
					     c->inst->cfg.auth_ms :
					     BEGIN_MS);
}

static uint64_t auth_due(struct rt_conn *c)
{
	return rt_auth_settled(c) ? 0 : auth(c)->deadline;
}

static void refuse_late(struct rt_conn *c)
{
	char why[64];

	snprintf(why, sizeof(why), "not completed in time (%u s)",
		 (c->inst->cfg.auth_ms + 999) / 1000);
	rt_auth_refuse(c, -ETIMEDOUT, NULL, 0, why);
}

static void auth_expire(struct rt_conn *c, uint64_t now)
{
	struct rt_auth *a = auth(c);

	if (c->state >= RT_CLOSING || !auth_due(c) || auth_due(c) > now)
		return;
	a->deadline = 0;
	if (a->phase == RT_AUTH_REFUSING)
		rt_event(c, EV_ABORT);
	else if (!c->server && !c->first_sent)
		rt_auth_cannot_begin(c,
				     "no token in time (does the KDC answer?)");
	else if (!a->begun && rt_auth_policy(c) == RT_AUTH_OPTIONAL)
		rt_auth_peer_absent(c);
	else
		refuse_late(c);
}

static void auth_effect(struct rt_conn *c, enum rt_effect e)
{
	switch (e) {
	case RT_DO_GREET:
		rt_auth_begin(c);
		return;
	case RT_DO_ANSWER:
		/* A MIDDLE answers, and the FINAL follows later [F5]. */
		rt_auth_set_answer_due(c, c->props_held);
		await_token(c);
		return;
	case RT_DO_FIRST:
		if (c->server)
			await_token(c);
		return;
	case RT_DO_VERSION1:
		rt_auth_reset(c);
		return;
	default:
		return;
	}
}

static void auth_accepted(struct rt_conn *c)
{
	if (!rt_auth_settled(c))
		rt_unauthenticated_join(c);
}

const struct rt_ext rt_ext_auth = {
	.read_prop = auth_read_prop,
	.props_allowed = auth_props_allowed,
	.connprop_received = auth_connprop_received,
	.props_refused = auth_props_refused,
	.token_part = auth_token_part,
	.token_part_sent = auth_token_part_sent,
	.admits = auth_admits,
};

const struct rt_part rt_part_auth = {
	.size = sizeof(struct rt_auth),
	.slot = RT_SLOT_AUTH,
	.optional = true,
	.prepare = rt_auth_pool_prepare,
	.start = rt_auth_pool_start,
	.stop = rt_auth_pool_stop,
	.destroy = rt_auth_pool_destroy,
	.init = auth_init,
	.accepted = auth_accepted,
	.effect = auth_effect,
	.due = auth_due,
	.expire = auth_expire,
	.on_abort = rt_auth_evicted,
	.disconnected = rt_auth_reset,
};
