/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * version1 - RFC 8166, RFC 8167, and the private data of RFC 8797
 *
 * Version 1 has no properties. Its thresholds and remote invalidation come from the
 * private data, which either version sends. For everything else the properties get
 * values that any peer accepts, so the roles need not know the difference.
 *
 * Context: the runner, or before it runs.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/message/message.h"

/* ---- Private data of the connection manager, RFC 8797 ----------------------- */

static void private_ours(const struct rt_conn *c, struct wire_cm_private *p)
{
	const struct rt_instance *inst = c->inst;
	/* A client sends it before the connection has a device. */
	unsigned int caps = c->server ? fab_conn_limits(c->fab)->caps :
					inst->limits->caps;
	/* [B7], [P5]: Receives are never under 4096. */
	size_t size = MAX(inst->cfg.recv_size, WIRE_DEFAULT_INLINE);
	uint8_t octets[WIRE_CM_LEN];

	*p = (struct wire_cm_private){
		.send_size = inst->cfg.send_size,
		/* rtrext posts Receives of another size. */
		.recv_size = (uint32_t)MIN(size, rt_config_receive(&inst->cfg)),
		/* [P4]: every handle of ours is made by fab_expose() for one
		 * RPC, or none may be invalidated. */
		.remote_invalidation = !inst->cfg.no_remote_invalidation &&
				       (caps & (c->server ? FAB_CAP_SEND_INV :
							    FAB_CAP_EXPOSE)),
	};
	/* The encoding rounds, and what was announced counts [P3]. */
	wire_cm_encode(octets, p);
	wire_cm_decode(octets, sizeof(octets), p);
}

void rt_private_data(const struct rt_conn *c, uint8_t out[WIRE_CM_LEN])
{
	struct wire_cm_private p;

	private_ours(c, &p);
	wire_cm_encode(out, &p);
}

void rt_private_take(struct rt_conn *c, const void *priv, size_t len)
{
	rt_assert_strand(c);
	/* RFC 8797 5.1: the defaults without private data. */
	c->msg.private = (struct wire_cm_private){
		.send_size = WIRE1_DEFAULT_INLINE,
		.recv_size = WIRE1_DEFAULT_INLINE,
	};
	if (priv)
		(void)wire_cm_decode(priv, len, &c->msg.private);
}

/* ---- The version is settled ---------------------------------------------- */

void rt_version1_settled(struct rt_conn *c)
{
	struct wire_cm_private ours;

	rt_assert_strand(c);
	private_ours(c, &ours);
	c->msg.version = WIRE_VERS1;
	c->v = &rt_version1;
	/* RFC 8797 4.1: both ends must support it. */
	c->remote_invalidation = ours.remote_invalidation &&
				 c->msg.private.remote_invalidation;
	/* RFC 8797 4.2, each way. */
	c->send_threshold = MIN(ours.send_size, c->msg.private.recv_size) &
			    ~(uint32_t)3;
	c->recv_threshold = MIN(ours.recv_size, c->msg.private.send_size);
	c->ours.send_size = ours.send_size;
	c->ours.recv_size = ours.recv_size;
	rt_receives_size(c, c->ours.recv_size);
	c->theirs.send_size = c->msg.private.send_size;
	c->theirs.recv_size = c->msg.private.recv_size;
	/*
	 * RFC 8167 5.3, 6: reverse Calls go inline; only the upper layers know
	 * whether the client accepts one [G5].
	 */
	c->ours.reverse = MIN(c->ours.reverse, RDMA2_RVRSDIR_SIMPLE);
	c->theirs.reverse = c->server ? RDMA2_RVRSDIR_SIMPLE :
					RDMA2_RVRSDIR_NONE;
	c->theirs.complete = true;
	rt_log(c, LOG_INFO, "version 1, inline %u out, %u in%s",
	       c->send_threshold, c->recv_threshold,
	       c->remote_invalidation ? ", remote invalidation" : "");
	rt_conn_notify_established(c);
}

static bool version1_grant_due(struct rt_conn *c)
{
	return false;
}

/* ---- Receiving -------------------------------------------------------- */

/* Returns the Call of ours that waits for a Reply with that XID, or NULL. */
static const struct rt_own_call *awaited_call(struct rt_conn *c, uint32_t xid)
{
	const struct rt_own_call *own = rt_xid_find(c, xid);

	return own && own->posted ? own : NULL;
}

/*
 * Returns true if a bad message is taken for a Reply. If its header does not say, and a
 * Call of ours waits for its XID, it is, since an answer by RDMA_ERROR could be taken to
 * be about another Call: both directions may use one XID (RFC 8167 2.4.1). But an
 * unsupported procedure must be refused to a server that sends reverse Calls, which takes
 * an RDMA_ERROR to be about one of those.
 */
static bool is_for_reply(struct rt_conn *c, const struct wire_msg *m,
			 enum wire_status status)
{
	if (m->role != WIRE_CONTROL)
		return m->role == WIRE_REPLY;
	if (status == WIRE_BAD_HTYPE && !c->server && c->ours.reverse)
		return false;
	return awaited_call(c, m->p.xid);
}

/*
 * RFC 8166 4.5: a Responder answers a bad Call; a Requester drops a bad Reply silently.
 */
static void version1_bad_message(struct rt_conn *c, const struct wire_msg *m,
				 enum wire_status status)
{
	rt_log(c, LOG_WARNING, "%s with xid %08x: %s",
	       wire1_proc_name(m->p.htype), m->p.xid, wire_status_name(status));
	rt_bad_message(c);
	if (!is_for_reply(c, m, status)) {
		rt_error_code(c, m->p.xid, RDMA1_ERR_CHUNK);
		return;
	}
	RT_COUNT(c, dropped, 1);
	if (awaited_call(c, m->p.xid))
		rt_refuse_reply(c, m->p.xid);
}

/*
 * RFC 8167 4.1: the credit value of a message that may have either direction is ignored.
 * Without an RPC message in it, it is certainly a Reply only if it answers a Call that
 * had a Reply chunk.
 */
static bool is_certain_reply(struct rt_conn *c, const struct wire_msg *m)
{
	const struct rt_own_call *own = awaited_call(c, m->p.xid);

	return !m->external || (own && own->reply_chunk);
}

static void version1_call(struct rt_conn *c, struct rt_work *w,
			  const struct wire_msg *m)
{
	if (!rt_credit1_may_take(&c->credit1, c->credit.holding)) {
		rt_conn_stop(c, EV_ABORT, -EPROTO,
			     "%u Calls in progress, %u were granted",
			     c->credit.holding, c->credit1.grant);
		return;
	}
	c->responder->call(c, m, w, NULL);
}

static void version1_receive(struct rt_conn *c, struct rt_work *w,
			     const struct rt_in *in)
{
	enum wire_status status;
	struct wire_msg m;
	enum rt_event ev = EV_MSG_BAD;

	status = wire1_decode(in->buf, in->len, &m);
	if (status == WIRE_OK)
		ev = m.role == WIRE_CALL  ? EV_MSG_CALL :
		     m.role == WIRE_REPLY ? EV_MSG_REPLY :
					    EV_MSG_ERROR;
	if (in->invalidated &&
	    !rt_invalidation_allowed(c, in, ev == EV_MSG_REPLY))
		return;
	if (!rt_event(c, ev))
		return;
	switch (status) {
	case WIRE_OK:
		break;
	case WIRE_BAD_HTYPE:
	case WIRE_BAD_XDR:
		version1_bad_message(c, &m, status);
		return;
	default:
		rt_log(c, LOG_INFO, "%s with xid %08x: %s",
		       wire1_proc_name(m.p.htype), m.p.xid,
		       wire_status_name(status));
		RT_COUNT(c, dropped, 1);
		return;
	}
	c->msg.messages++;
	c->unanswered = false;
	if (m.surplus)
		RT_COUNT(c, surplus, 1);
	switch (m.role) {
	case WIRE_CALL:
		RT_COUNT(c, inline_bytes_received, m.payload_len);
		version1_call(c, w, &m);
		break;
	case WIRE_REPLY:
		RT_COUNT(c, inline_bytes_received, m.payload_len);
		if (is_certain_reply(c, &m))
			rt_credit1_granted(&c->credit1, m.p.credit);
		c->requester->reply(c, &m, w, NULL);
		break;
	case WIRE_CONTROL:
		RT_COUNT(c, errors_received, 1);
		rt_error_received(c, m.p.xid, &m.error);
		break;
	}
}

/*
 * An RDMA_ERROR is final: the Requester ends the RPC (RFC 8166 4.5). If this connection
 * holds memory, its end frees that, and the client may send its Calls again on another
 * one. Otherwise an RDMA_ERROR is the only answer.
 */
static void version1_refuse_call(struct rt_conn *c, uint32_t xid)
{
	if (!rt_memory_held(c)) {
		rt_error_code(c, xid, RDMA1_ERR_CHUNK);
		return;
	}
	RT_COUNT(c, dropped, 1);
	rt_conn_stop(c, EV_VIOLATION, -ENOMEM, "no memory for Call %08x", xid);
}

const struct rt_version rt_version1 = {
	.number = WIRE_VERS1,
	.receives = rt_credit1_wanted,
	.credit_word = rt_credit1_word,
	.may_send = rt_credit1_may_post,
	.posted = rt_credit1_count,
	.grant_due = version1_grant_due,
	.fill_info = rt_credit1_info,
	.call_len = wire1_call_len,
	.reply_len = wire1_reply_len,
	.encode_call = wire1_encode_call,
	.encode_reply = wire1_encode_reply,
	.encode_error = wire1_encode_error,
	.receive = version1_receive,
	.refuse_call = version1_refuse_call,
};
