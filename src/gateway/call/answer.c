/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * answer - what becomes of a Call when the transport is done with it
 *
 * Context: the strand; of gw_call_deny() the worker.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "base/clock.h"
#include "gateway/client.h"

/* Send what call->send has to the client, and take the Call off the table. */
static void call_answer(struct gw_call *call, unsigned int placed, bool failed)
{
	struct gw_client *c = call->c;
	bool dead;

	pthread_mutex_lock(&c->lock);
	gw_call_table_remove(&c->calls, call);
	c->calls.lost_since = 0;
	c->stats.results_reduced += placed;
	if (failed)
		c->stats.errors_answered++;
	dead = c->dead;
	pthread_mutex_unlock(&c->lock);
	/* The arguments are not needed while the answer waits. */
	gw_record_release(&call->rec);
	gw_call_recharge(call);
	if (dead)
		gw_call_free(c, call, false);
	else
		gw_send_queue_push(c, &call->send);
}

/* @denial NULL: SYSTEM_ERR. */
static void call_error(struct gw_call *call, const struct ulb_denial *denial,
		       const char *why)
{
	struct xw w;

	gw_client_log(call->c, LOG_WARNING, "Call %08x (%s) failed: %s",
		      call->head.xid,
		      ulb_proc_name(call->head.prog, call->head.vers,
				    call->head.proc),
		      why);
	xw_init(&w, call->mark + REC_MARK_LEN, RPC_REPLY_HEAD);
	if (denial)
		rpc_denial(&w, call->head.xid, denial->auth_stat);
	else
		rpc_reply_head(&w, call->head.xid, RPC_ACCEPT_SYSTEM_ERR);
	rec_mark(call->mark, w.len);
	call->iov[0] = (struct iovec){ call->mark, REC_MARK_LEN + w.len };
	call->send.iov = call->iov;
	call->send.niov = 1;
	call_answer(call, 0, true);
}

/*
 * Answer with an error, so that the client does not wait in vain. With RPCSEC_GSS it is
 * a denial: the verifier of an accepted Reply only the server can make.
 */
static void call_fail(struct gw_call *call, const char *why)
{
	static const struct ulb_denial failed = { .auth_stat =
							  RPC_AUTH_FAILED };

	call_error(call, gw_call_is_gss(call) ? &failed : NULL, why);
}

void gw_call_deny(struct gw_call *call, const struct ulb_denial *denial)
{
	call_error(call, denial, denial->why);
}

/*
 * Give the Call back to the worker, which submits it again, in its place among the
 * others. Under RPCSEC_GSS the server would drop a Call that it has @seen as a replay:
 * the client must send it again with the next sequence number (RFC 2203, 5.3.3.1), and
 * does so when its connection ends.
 */
static void requeue(struct gw_call *call, bool again, bool seen)
{
	struct gw_client *c = call->c;
	bool renew = seen && gw_call_is_gss(call);
	bool resend, dead;

	/* From the unlock on the Call is the worker's. */
	rt_request_reset(call->rq);
	pthread_mutex_lock(&c->lock);
	call->submitted = false;
	if (!again && !call->lost_since)
		call->lost_since = base_now_ns();
	dead = c->dead;
	if (dead)
		gw_call_table_remove(&c->calls, call);
	/* Lost on a connection that has a successor already? */
	resend = !dead && (again || (c->calls.to && call->gen != c->calls.gen));
	pthread_mutex_unlock(&c->lock);
	if (dead)
		gw_call_free(c, call, false);
	else if (renew)
		gw_wakeup(c, GW_EV_RENEW);
	else if (resend)
		gw_wakeup(c, GW_EV_RESEND);
}

/*
 * Returns true if a Call may be executed twice, as when the server finds only
 * afterwards that the Reply has no room [E5]. A session prevents it; under RPCSEC_GSS
 * the client decides, see requeue().
 */
static bool call_repeatable(const struct gw_call *call)
{
	const struct ulb_call *head = &call->head;

	if (gw_call_is_gss(call) || head->prog != ULB_PROG_NFS)
		return true;
	if (head->vers == 4)
		/* Of a class behind that may be what changes something too. */
		return head->sequence || (head->op_class != ULB_CLASS_other &&
					  head->op_class < ULB_CLASS_change);
	return head->op_class != ULB_CLASS_other &&
	       head->op_class != ULB_CLASS_change;
}

/* Try once more with the room that RDMA2_ERROR asks for [E5]. */
static bool call_retry(struct gw_call *call)
{
	struct rt_request *rq = call->rq;
	const struct wire_error *e = &rq->error;
	struct gw_client *c = call->c;
	const struct gw_options *o = &c->gw->opt;

	if (!call_repeatable(call))
		return false;
	if (e->code == RDMA2_ERR_WRITE_RESOURCE && !call->write_retry) {
		unsigned int i = e->chunk_index - 1;

		if (!e->chunk_index || i >= rq->nsinks || !e->length_needed ||
		    !call->sinks[i].addr ||
		    e->length_needed <= call->sinks[i].len ||
		    e->length_needed > o->max_record)
			return false;
		if (!gw_sink_get(call, i, e->length_needed, true))
			return false;
		call->write_retry = true;
	} else if (e->code == RDMA2_ERR_REPLY_RESOURCE && !call->reply_retry) {
		if (!e->length_needed || e->length_needed > o->max_record)
			return false;
		/* Its bound was wrong, or there was no memory for a chunk. */
		rq->reply_max = e->length_needed;
		call->reply_retry = true;
		if (gw_call_is_gss(call) && !call->head.ddp)
			gw_plan_expect(c->gw, e->length_needed);
	} else {
		return false;
	}
	gw_client_count(c, resource_retries);
	requeue(call, true, true);
	return true;
}

/* The Call has more chunks or segments than one header can have: send it without
 * chunks, with the results in the Reply. */
static bool call_retry_plain(struct gw_call *call)
{
	struct rt_request *rq = call->rq;

	if (call->plain || (!rq->nitems && !rq->nsinks))
		return false;
	call->plain = true;
	gw_sinks_release(call);
	/* Cannot fail: a plain Call needs no sinks. */
	if (!gw_call_plan(call))
		return false;
	requeue(call, true, false);
	return true;
}

void gw_call_done(struct rt_request *rq)
{
	struct gw_call *call = rt_request_user(rq);
	unsigned int placed = 0;
	char why[96];

	switch (rq->status) {
	case 0:
		/* The client would take anything else for a Call. */
		if (!rt_response_is_reply(call->c->calls.to, rq))
			call_fail(call, "the server's answer is not a Reply");
		else if (gw_call_layout(call, &placed))
			call_fail(call, "the Reply does not match its chunks");
		else
			call_answer(call, placed, false);
		return;
	case -ECONNRESET:
		requeue(call, false, true);
		return;
	case -ENOTCONN:
		requeue(call, false, false);
		return;
	case -EREMOTEIO:
		if (call_retry(call))
			return;
		snprintf(why, sizeof(why), "the server answered %s",
			 wire_errcode_name(rq->error.code));
		call_fail(call, why);
		return;
	case -E2BIG:
		if (call_retry_plain(call))
			return;
		call_fail(call, "too large for any format");
		return;
	default:
		call_fail(call, strerror(-rq->status));
		return;
	}
}
