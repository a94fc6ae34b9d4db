/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * version - which version a connection speaks (4.3, [B1] to [B8])
 *
 * A server speaks the version of the first message whose version it supports. A client
 * that supports both begins with version 2. If the server refuses it, the client goes on
 * with version 1 on the same connection. If the server does not answer at all, the
 * connection ends, and for version1_ms further connections to it begin with version 1. A
 * refusal that comes later ends the connection.
 *
 * Context: the runner, or before it runs. inst->lock guards the list of servers that
 * speak version 1.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "transport/message/message.h"

static bool is_supported(const struct rt_conn *c, uint32_t vers)
{
	return (vers == WIRE_VERS1 || vers == WIRE_VERS2) &&
	       (c->msg.versions >> vers & 1);
}

/* ---- Servers without version 2, [B6] ---------------------------------- */

static bool same_addr(const struct sockaddr_storage *a,
		      const struct sockaddr_storage *b)
{
	return base_addr_same(a, b) && base_addr_port(a) == base_addr_port(b);
}

static bool is_version1_server(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;
	uint64_t now = rt_now_ms();
	bool found = false;

	pthread_mutex_lock(&inst->lock);
	for (unsigned int i = 0; i < RT_VERSION1_SERVERS && !found; i++)
		found = inst->version1_servers[i].until > now &&
			same_addr(&inst->version1_servers[i].addr,
				  &c->server_addr);
	pthread_mutex_unlock(&inst->lock);
	return found;
}

static void forget_version1_server(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	pthread_mutex_lock(&inst->lock);
	for (unsigned int i = 0; i < RT_VERSION1_SERVERS; i++)
		if (same_addr(&inst->version1_servers[i].addr, &c->server_addr))
			inst->version1_servers[i].until = 0;
	pthread_mutex_unlock(&inst->lock);
}

static void remember_version1_server(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;
	struct rt_version1_server *o = &inst->version1_servers[0];

	pthread_mutex_lock(&inst->lock);
	/* Replace the entry that expires first. */
	for (unsigned int i = 0; i < RT_VERSION1_SERVERS; i++) {
		if (same_addr(&inst->version1_servers[i].addr,
			      &c->server_addr)) {
			o = &inst->version1_servers[i];
			break;
		}
		if (inst->version1_servers[i].until < o->until)
			o = &inst->version1_servers[i];
	}
	o->addr = c->server_addr;
	o->until = rt_now_ms() + inst->cfg.version1_ms;
	pthread_mutex_unlock(&inst->lock);
}

/* If a server has refused the client's version, and not closed the connection itself,
 * give that as the reason of the end. */
static void explain_refusal(struct rt_conn *c)
{
	const char *why = c->inst->no_version1;

	if (!c->msg.refused || c->msg.version || c->closed_locally ||
	    c->end_error == -EPROTO)
		return;
	if (c->msg.refused_version != WIRE_VERS1 || !why)
		why = !is_supported(c, WIRE_VERS1) ?
			      "only version 2 is served" :
		      !is_supported(c, WIRE_VERS2) ?
			      "only version 1 is served" :
			      "only versions 1 and 2 are served";
	snprintf(c->end_text, sizeof(c->end_text), "version %u refused: %s",
		 c->msg.refused_version, why);
	c->end_reason = c->end_text;
	c->end_error = -EPROTONOSUPPORT;
	rt_count_refused(c->inst, RT_REFUSED_version, &c->info.peer);
}

static void version_ended(struct rt_conn *c)
{
	char reason[sizeof(c->end_text)];

	if (c->server)
		explain_refusal(c);
	if (!c->unanswered || c->closed_locally || !is_supported(c, WIRE_VERS1))
		return;
	switch (c->end_error) {
	case -EPROTO: /* the server has answered */
	case -EPROTONOSUPPORT:
	case -ENOMEM: /* not the server's fault */
		return;
	default:
		break;
	}
	remember_version1_server(c);
	snprintf(reason, sizeof(reason), "%s",
		 c->end_reason ? c->end_reason : "disconnected");
	snprintf(c->end_text, sizeof(c->end_text),
		 "%.400s; version 1 will be tried", reason);
	c->end_reason = c->end_text;
	c->end_error = -EAGAIN;
}

/* ---- The beginning ---------------------------------------------------- */

static void version_init(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;

	c->msg.versions = RT_CURRENT(c->inst, versions);
	rt_credit_init(&c->credit, cfg->credits);
	if (c->server)
		rt_credit1_init(&c->credit1, cfg->reverse_credits,
				cfg->credits);
	else
		rt_credit1_init(&c->credit1, cfg->credits,
				cfg->reverse ? cfg->reverse_credits : 0);
	c->v = &rt_version2;
	if (!is_supported(c, WIRE_VERS2) ||
	    (!c->server && is_supported(c, WIRE_VERS1) &&
	     is_version1_server(c)))
		c->v = &rt_version1;
	rt_private_take(c, NULL, 0);
}

/* ---- A message -------------------------------------------------------- */

/* The message has another version: [B2], or [B3] if this end supports that. */
static void other_version(struct rt_conn *c, const struct wire_prefix *p)
{
	struct wire_error err = { .code = RDMA2_ERR_VERS_MISMATCH };

	if (!rt_event(c, EV_MSG_VERSION))
		return;
	if (!is_supported(c, p->vers)) {
		err.code = RDMA2_ERR_VERS;
		err.vers_low = is_supported(c, WIRE_VERS1) ? WIRE_VERS1 :
							     WIRE_VERS2;
		err.vers_high = is_supported(c, WIRE_VERS2) ? WIRE_VERS2 :
							      WIRE_VERS1;
		if (!c->msg.refused)
			c->msg.refused_version = p->vers;
		c->msg.refused = true;
	}
	if (++c->msg.bad_versions >= RT_BAD_VERSIONS) {
		rt_conn_stop(c, EV_ABORT, -EPROTO,
			     "%u messages in a row of other versions",
			     c->msg.bad_versions);
		return;
	}
	if (p->htype == RDMA2_ERROR) {
		/* No error is ever answered. */
		RT_COUNT(c, dropped, 1);
		return;
	}
	rt_error_send(c, p->xid, p->vers, &err);
}

static bool in_range(uint32_t vers, const struct wire_error *err)
{
	return vers >= err->vers_low && vers <= err->vers_high;
}

/*
 * The answer to our first message is ERR_VERS, or RDMA_ERROR of version 1. Its version
 * word and credits are ignored, since the peer does not know our version [B1].
 */
static void version_refused(struct rt_conn *c, const struct wire_error *err)
{
	bool again = false;
	char range[40];

	RT_COUNT(c, errors_received, 1);
	if (c->state == RT_GREETING && is_supported(c, WIRE_VERS1) &&
	    in_range(WIRE_VERS1, err)) {
		rt_event(c, EV_VERSION1);
		return;
	}
	if (c->v == &rt_version1 && is_supported(c, WIRE_VERS2)) {
		/* The server must have been upgraded since version 1 was noted. */
		again = !c->unanswered && in_range(WIRE_VERS2, err);
		forget_version1_server(c);
	}
	if (err->vers_low == err->vers_high)
		snprintf(range, sizeof(range), "version %u", err->vers_low);
	else
		snprintf(range, sizeof(range), "versions %u to %u",
			 err->vers_low, err->vers_high);
	rt_conn_stop(c, EV_ABORT, again ? -EAGAIN : -EPROTONOSUPPORT,
		     "the server speaks %s only", range);
}

/* Returns true if the peer refuses the settled version: by an ERR_VERS whose range
 * excludes it, or by any error about versions that answers a message of ours. */
static bool refuses_version(struct rt_conn *c, uint32_t xid,
			    const struct wire_error *err)
{
	struct rt_own_call *own = rt_xid_find(c, xid);

	if (err->code == RDMA2_ERR_VERS && !in_range(c->msg.version, err))
		return true;
	return (err->code == RDMA2_ERR_VERS ||
		err->code == RDMA2_ERR_VERS_MISMATCH) &&
	       ((own && own->posted) ||
		(c->values_sent && xid == c->msg.props_xid));
}

/*
 * The peer refuses the settled version. No message of this version (7.1.1, 7.1.2) or
 * another (4.3.3) may be sent any more, so the connection ends, and a client connects
 * again with a version in the range [B8].
 */
static void version_withdrawn(struct rt_conn *c, uint32_t xid,
			      const struct wire_error *err)
{
	struct rt_own_call *own = rt_xid_find(c, xid);
	uint32_t other = c->msg.version == WIRE_VERS2 ? WIRE_VERS1 : WIRE_VERS2;
	bool known = err->code == RDMA2_ERR_VERS;
	int error = -EAGAIN;

	RT_COUNT(c, errors_received, 1);
	if (known && !in_range(c->msg.version, err)) {
		if (!is_supported(c, other) || !in_range(other, err))
			error = -EPROTONOSUPPORT;
		else if (!c->server && other == WIRE_VERS1)
			remember_version1_server(c);
		else if (!c->server)
			forget_version1_server(c);
	}
	error = c->server ? -EPROTO : error;
	if (known)
		rt_conn_stop(c, EV_ABORT, error,
			     "version %u is refused; the peer supports %u to "
			     "%u",
			     c->msg.version, err->vers_low, err->vers_high);
	else
		rt_conn_stop(c, EV_ABORT, error,
			     "version %u is refused on this connection",
			     c->msg.version);
	if (known && own && own->posted) {
		/* 7.1.1: the RPC fails. After a MISMATCH it may be sent again. */
		c->requester->refused(c, own, err);
	}
}

/*
 * Decode an ERROR. If RDMA_ERROR of version 1 answers a client's first message, the peer
 * speaks no other version, whatever the code [B1].
 */
static bool decode_error(const struct rt_conn *c, const struct rt_in *in,
			 struct wire_error *err)
{
	bool known = wire_error_decode(in->buf, in->len, err);

	if (c->state != RT_GREETING || in->p.vers != WIRE_VERS1 ||
	    in->p.htype != RDMA2_ERROR ||
	    (known && err->code == RDMA2_ERR_VERS))
		return known;
	*err = (struct wire_error){ .code = RDMA2_ERR_VERS,
				    .vers_low = WIRE_VERS1,
				    .vers_high = WIRE_VERS1 };
	return true;
}

/* Returns true if the message has the connection's version, which it may settle. */
static bool settle_version(struct rt_conn *c, const struct rt_in *in)
{
	struct wire_error err;
	uint32_t want = c->msg.version;

	if (c->state < RT_CLOSING && decode_error(c, in, &err)) {
		if (!c->server && !c->msg.messages &&
		    err.code == RDMA2_ERR_VERS) {
			version_refused(c, &err);
			return false;
		}
		if (c->msg.version && c->msg.messages &&
		    refuses_version(c, in->p.xid, &err)) {
			version_withdrawn(c, in->p.xid, &err);
			return false;
		}
	}
	/* A client's own first message has named the version. */
	if (!want)
		want = c->server ? in->p.vers : c->v->number;
	if (!is_supported(c, in->p.vers) || in->p.vers != want) {
		other_version(c, &in->p);
		return false;
	}
	c->msg.bad_versions = 0;
	if (c->msg.version || c->state >= RT_CLOSING)
		return true;
	if (in->p.vers == WIRE_VERS1)
		rt_event(c, EV_VERSION1);
	else
		c->msg.version = WIRE_VERS2;
	return true;
}

static void message_received(struct rt_conn *c, struct rt_work *w,
			     const struct fab_wc *wc)
{
	struct rt_in in = { .buf = w->buf->addr,
			    .len = wc->len,
			    .invalidated = wc->invalidated,
			    .inv_handle = wc->inv_handle };
	bool whole = wire_prefix_decode(in.buf, in.len, &in.p);

	rt_assert_strand(c);
	c->credit.received++;
	c->credit1.received++;
	c->last_active = rt_now_ms();
	c->used_since_idle = true;
	if (in.invalidated && (!whole || in.p.vers != c->msg.version) &&
	    !rt_invalidation_allowed(c, &in, false))
		return;
	if (!whole) {
		/* [C1] */
		RT_COUNT(c, dropped, 1);
		return;
	}
	RT_PROBE(message__received, c, in.p.xid, in.p.vers, in.p.htype,
		 in.p.credit, in.len);
	if (settle_version(c, &in))
		c->v->receive(c, w, &in);
}

/* ---- The hooks of struct rt_part ------------------------------------------ */

static const struct rt_traffic traffic = {
	.received = message_received,
	.error = rt_error_post,
	.props = rt_connprop_post,
};

/* Refuse settings of an extension that was left out of the build. */
static int message_prepare(struct rt_instance *inst, const struct rt_params *p)
{
	unsigned int bits = 0;
	bool gate = false;

	for (const struct rt_ext *const *x = inst->exts; *x; x++) {
		bits |= (*x)->bit;
		gate |= (*x)->admits != NULL;
	}
	if (inst->cfg.extensions & (RT_EXT_XCHAR | RT_EXT_RTR) & ~bits)
		return -EINVAL;
	return inst->cfg.auth != RT_AUTH_NONE && !gate ? -EINVAL : 0;
}

static int message_init(struct rt_conn *c)
{
	c->traffic = &traffic;
	/* Random, since it is sent to peers that are not authenticated. */
	c->msg.next_xid = arc4random();
	rt_connprop_init(c);
	version_init(c);
	return 0;
}

static size_t message_private_data(struct rt_conn *c, void *buf)
{
	_Static_assert(WIRE_CM_LEN <= RT_PRIVATE_DATA_MAX, "private data fits");
	rt_private_data(c, buf);
	return WIRE_CM_LEN;
}

static void message_effect(struct rt_conn *c, enum rt_effect e)
{
	switch (e) {
	case RT_DO_GREET:
		if (c->props_held)
			return;
		/* [A8]: the first message is our CONNPROP_FINAL. */
		c->props_due = true;
		c->unanswered = true;
		return;
	case RT_DO_FIRST:
		if (c->server)
			return;
		c->unanswered = false;
		forget_version1_server(c);
		if (!c->props_held)
			c->state_deadline = rt_now_ms() + RT_SETTLE_MS;
		return;
	case RT_DO_ANSWER:
		c->props_due = true;
		return;
	case RT_DO_SECOND:
		if (!c->props_sent)
			c->props_due = true;
		return;
	case RT_DO_VERSION1:
		rt_version1_settled(c);
		return;
	default:
		return;
	}
}

static void message_fill_info(struct rt_conn *c, struct rt_conn_info *i)
{
	i->version = c->msg.version;
	i->ours = c->ours;
	i->ours.complete = c->props_sent;
	i->theirs = c->theirs;
	i->extensions = c->extensions;
	i->call_inline = c->server ? c->recv_threshold : c->send_threshold;
	i->reply_inline = c->server ? c->send_threshold : c->recv_threshold;
}

static void message_connected(struct rt_conn *c, const void *priv, size_t len)
{
	if (!c->server)
		rt_private_take(c, priv, len);
	/* Version 1 has no first message of its own. */
	rt_event(c, !c->server && c->v == &rt_version1 ? EV_VERSION1 : EV_UP);
}

const struct rt_part rt_part_message = {
	.prepare = message_prepare,
	.init = message_init,
	.private_data = message_private_data,
	.peer_private_data = rt_private_take,
	.connected = message_connected,
	.effect = message_effect,
	.fill_info = message_fill_info,
	.disconnected = version_ended,
};
