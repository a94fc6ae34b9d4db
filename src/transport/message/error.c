/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * error - ERRORs to be sent, which wait for a credit, and ERRORs received
 *
 * How many may wait [E6]: a peer may send as many messages as it has credits (4.2.1), and
 * each may be answered by an ERROR (7), so many ERRORs are no fault of the peer. Instead,
 * no credits are advertised while max_errors wait (rt_credit.withheld). More ERRORs can
 * then arise only from messages granted before, from Calls in progress and, since a
 * message beyond the limit is tolerated [A5], from one message for each fragment of ours,
 * which takes ten times the memory. In version 1 a Call holds its credit until it is
 * answered, so a peer with more ERRORs waiting has broken the rules.
 *
 * Context: the runner.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/message/message.h"

static bool enlarge_ring(struct rt_conn *c)
{
	unsigned int room = 2 * c->msg.errors_room;
	struct rt_error_out *e = calloc(room, sizeof(*e));

	if (!e)
		return false;
	for (unsigned int i = 0; i < c->nerrors; i++)
		e[i] = c->msg.errors[(c->msg.errors_at + i) %
				     c->msg.errors_room];
	free(c->msg.errors);
	c->msg.errors = e;
	c->msg.errors_at = 0;
	c->msg.errors_room = room;
	return true;
}

static void count_waiting(struct rt_conn *c, int n)
{
	c->nerrors += (unsigned int)n;
	c->credit.withheld = c->nerrors >= c->max_errors;
}

void rt_error_send(struct rt_conn *c, uint32_t xid, uint32_t vers,
		   const struct wire_error *err)
{
	struct rt_error_out *e;

	rt_assert_strand(c);
	/* Other codes are about limits of this end. */
	if (err->code >= RDMA2_ERR_VERS && err->code <= RDMA2_ERR_INVAL_CONT)
		rt_bad_message(c);
	if (c->v->number == WIRE_VERS1 && c->nerrors >= c->max_errors) {
		rt_conn_stop(c, EV_ABORT, -EPROTO,
			     "too many errors wait to be taken");
		return;
	}
	/* 7.4: if it cannot be sent, the connection ends. */
	if (c->nerrors == c->msg.errors_room && !enlarge_ring(c)) {
		rt_conn_stop(c, EV_ABORT, -ENOMEM, "no memory for an ERROR");
		return;
	}
	e = &c->msg.errors[(c->msg.errors_at + c->nerrors) % c->msg.errors_room];
	count_waiting(c, 1);
	e->xid = xid;
	e->vers = vers;
	e->err = *err;
	e->rep.code = 0;
}

void rt_repterr_send(struct rt_conn *c, const struct wire_repterr *rep)
{
	struct wire_error err = { 0 };
	unsigned int n = c->nerrors;

	rt_assert_strand(c);
	rt_error_send(c, rep->bad.xid, WIRE_VERS2, &err);
	if (c->nerrors > n)
		c->msg.errors[(c->msg.errors_at + n) % c->msg.errors_room].rep =
			*rep;
}

void rt_error_code(struct rt_conn *c, uint32_t xid, uint32_t code)
{
	struct wire_error err = { .code = code };

	rt_assert_strand(c);
	rt_error_about(c, xid, &err);
}

void rt_error_about(struct rt_conn *c, uint32_t xid,
		    const struct wire_error *err)
{
	rt_assert_strand(c);
	rt_error_send(c, xid, c->v->number, err);
}

/* Errors about versions have the same form in all versions [B1, B3]. */
static size_t encode_error(struct rt_conn *c, const struct rt_error_out *e,
			   void *buf)
{
	uint32_t credit = c->v->credit_word(c, RT_OUT_CONTROL);

	if (e->rep.code)
		return wire_encode_repterr(buf, RT_HEADER_ROOM, credit,
					   &e->rep);
	if (e->err.code == RDMA2_ERR_VERS ||
	    e->err.code == RDMA2_ERR_VERS_MISMATCH)
		return wire_encode_error(buf, RT_HEADER_ROOM, e->xid, e->vers,
					 credit, &e->err);
	return c->v->encode_error(buf, RT_HEADER_ROOM, e->xid, e->vers, credit,
				  &e->err);
}

bool rt_error_post(struct rt_conn *c)
{
	struct rt_error_out *e = &c->msg.errors[c->msg.errors_at];
	struct rt_work *w = rt_send_get(c);
	size_t n;

	rt_assert_strand(c);
	assert(c->nerrors);
	if (!w)
		return false;
	n = encode_error(c, e, w->buf->addr);
	if (e->rep.code)
		RT_COUNT(c, repterrs_sent, 1);
	else
		RT_COUNT(c, errors_sent, 1);
	rt_log(c, LOG_INFO, "ERROR %s for xid %08x",
	       e->rep.code ? wire_optrerr_name(e->rep.code) :
			     wire_errcode_name(e->err.code),
	       e->xid);
	c->msg.errors_at = (c->msg.errors_at + 1) % c->msg.errors_room;
	count_waiting(c, -1);
	rt_send_work(c, w, n);
	return true;
}

/* ---- Refused messages ----------------------------------------------------- */

void rt_refuse_reply(struct rt_conn *c, uint32_t xid)
{
	struct rt_own_call *own = rt_xid_find(c, xid);

	rt_assert_strand(c);
	if (own)
		c->requester->unusable(c, own);
}

bool rt_invalidation_allowed(struct rt_conn *c, const struct rt_in *in,
			     bool reply)
{
	struct rt_own_call *own = rt_xid_find(c, in->p.xid);

	rt_assert_strand(c);
	RT_COUNT(c, invalidations_received, 1);
	if (reply && own && own->posted &&
	    c->requester->offered(c, own, in->inv_handle))
		return true;
	rt_conn_fail(c, -EPROTO,
		     "message type %u of %08x invalidated a handle not offered",
		     in->p.htype, in->p.xid);
	if (reply)
		rt_refuse_reply(c, in->p.xid);
	rt_event(c, EV_ABORT);
	return false;
}

/*
 * An ERROR has an XID but no direction (7). If its code is one that both roles send, it
 * may be about a Call of ours or about a Reply of ours with the same XID [E1].
 */
static bool is_ambiguous(const struct rt_conn *c, const struct rt_own_call *own,
			 const struct wire_error *err)
{
	return own->posted && c->v->answers_replies &&
	       (err->code == RDMA2_ERR_INVAL_HTYPE ||
		err->code == RDMA2_ERR_BAD_XDR ||
		err->code == RDMA2_ERR_INVAL_CONT) &&
	       rt_xids_contain(&c->msg.replied, own->xid);
}

void rt_error_received(struct rt_conn *c, uint32_t xid,
		       const struct wire_error *err)
{
	struct rt_own_call *own = rt_xid_find(c, xid);

	rt_assert_strand(c);
	rt_log(c, LOG_NOTICE, "ERROR %s received for xid %08x",
	       wire_errcode_name(err->code), xid);
	if (own && is_ambiguous(c, own, err)) {
		/* A Call must not fail for the ERROR of a Reply. The connection ends,
		 * after which the upper layer sends its Calls again. */
		rt_conn_stop(c, EV_ABORT, -ECONNRESET,
			     "ERROR %s for xid %08x: of a Call, or of a Reply?",
			     wire_errcode_name(err->code), xid);
		return;
	}
	if (own && c->requester->error(c, own, err))
		return;
	if (c->values_sent && xid == c->msg.props_xid) {
		rt_connprop_refused(c);
		return;
	}
	for (const struct rt_ext *const *x = c->inst->exts; *x; x++)
		if ((*x)->error && (*x)->error(c, xid, err))
			return;
	rt_bad_message(c);
	RT_COUNT(c, dropped, 1);
}

/* ---- The hooks of struct rt_part ---------------------------------------- */

static int error_init(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;

	/* In version 1 a client grants reverse_credits. */
	c->max_errors = c->server ? cfg->credits :
				    MAX(cfg->credits, cfg->reverse_credits);
	c->max_errors += RT_ERROR_SLACK;
	c->msg.errors_room = c->max_errors;
	c->msg.errors = calloc(c->max_errors, sizeof(*c->msg.errors));
	return c->msg.errors ? 0 : -ENOMEM;
}

static bool error_drained(struct rt_conn *c)
{
	return !c->nerrors;
}

static void error_disconnected(struct rt_conn *c)
{
	count_waiting(c, -(int)c->nerrors);
}

static void error_release(struct rt_conn *c)
{
	free(c->msg.errors);
	c->msg.errors = NULL;
	c->msg.errors_room = 0;
}

const struct rt_part rt_part_error = {
	.init = error_init,
	.drained = error_drained,
	.disconnected = error_disconnected,
	.release = error_release,
};
