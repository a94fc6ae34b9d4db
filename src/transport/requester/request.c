/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request - the life of a Call of ours: sending, ERRORs, completion
 *
 * A request is on rt_requesting.requests from submission to done, on rt_conn.call_queue
 * until its first message is posted, and in the table of XIDs (xid.c). It belongs to the
 * transport from rt_request_submit() to done, and otherwise to the upper layer. The
 * buffers of its Reply remain until rt_request_reset() or rt_request_free().
 *
 * Context: the runner. Any thread may call rt_request_alloc(), _reset(), _free() and
 * _submit(). The instance's request_lock guards the free list, and is a leaf.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "transport/requester/requester.h"

/* ---- Free list -------------------------------------------------------- */

struct rt_request *rt_request_alloc(struct rt_instance *inst)
{
	size_t user = inst->cfg.request_user_size;
	struct rt_request_priv *rq;

	pthread_mutex_lock(&inst->request_lock);
	rq = inst->free_requests;
	if (rq)
		inst->free_requests = rq->next_free;
	pthread_mutex_unlock(&inst->request_lock);
	if (!rq) {
		rq = calloc(1, rt_request_size(inst));
		if (!rq)
			return NULL;
		rq->inst = inst;
	} else {
		memset(&rq->pub, 0, offsetof(struct rt_request, reply));
		rq->pub.reply_len = 0;
		memset(rq->user, 0, user);
	}
	return &rq->pub;
}

void *rt_request_user(struct rt_request *rq)
{
	return caa_container_of(rq, struct rt_request_priv, pub)->user;
}

void rt_request_reset(struct rt_request *pub)
{
	struct rt_request_priv *rq =
		caa_container_of(pub, struct rt_request_priv, pub);

	rt_bufs_put(&rq->bufs);
	fab_pool_put(rq->reply_buf);
	rq->reply_buf = NULL;
	pub->nreply = 0;
	pub->reply_len = 0;
}

void rt_request_free(struct rt_request *pub)
{
	struct rt_request_priv *rq =
		caa_container_of(pub, struct rt_request_priv, pub);
	struct rt_instance *inst = rq->inst;

	rt_request_reset(pub);
	pthread_mutex_lock(&inst->request_lock);
	rq->next_free = inst->free_requests;
	inst->free_requests = rq;
	pthread_mutex_unlock(&inst->request_lock);
}

/* ---- Finding and finishing -------------------------------------------- */

void rt_request_refuse_reply(struct rt_conn *c, uint32_t xid)
{
	rt_assert_strand(c);
	if (c->v->answers_replies)
		rt_error_code(c, xid, RDMA2_ERR_BAD_XDR);
}

/*
 * The peer could change the Reply chunk until its memory was closed, so the XID in it can
 * be checked only now (11.1.3). If it is wrong, only this RPC fails.
 */
static void check_reply_chunk(struct rt_conn *c, struct rt_request_priv *rq)
{
	if (rq->pub.status || !rt_request_in_chunk(rq))
		return;
	if (be32_get(rq->reply_buf->addr) == rq->pub.xid)
		return;
	if (c->state < RT_CLOSING)
		rt_request_refuse_reply(c, rq->pub.xid);
	rq->pub.status = -EPROTO;
	rq->pub.nreply = 0;
	rq->pub.reply_len = 0;
}

static void complete_request(struct rt_conn *c, struct rt_request_priv *rq)
{
	cds_list_del(&rq->link);
	check_reply_chunk(c, rq);
	rq->pub.done(&rq->pub);
}

static void uncount_posted(struct rt_conn *c)
{
	assert(c->requests_out);
	assert(c->server ? c->credit.reverse : c->credit.forward);
	c->requests_out--;
	if (c->server)
		c->credit.reverse--;
	else
		c->credit.forward--;
}

void rt_request_finish(struct rt_conn *c, struct rt_request_priv *rq,
		       int status)
{
	rt_assert_strand(c);
	if (rq->finished)
		return;
	rq->finished = true;
	rq->pub.status = status;
	rt_xid_del(c, &rq->own);
	rt_request_rollback(c, rq, 0, 0);
	if (!cds_list_empty(&rq->outgoing.queue))
		cds_list_del_init(&rq->outgoing.queue);
	if (c->sending == &rq->outgoing)
		c->sending = NULL;
	if (rq->own.posted)
		uncount_posted(c);
	if (!rq->sends_pending)
		complete_request(c, rq);
}

static void pending_done(struct rt_conn *c, struct rt_request_priv *rq)
{
	assert(rq->sends_pending);
	rq->sends_pending--;
	if (rq->sends_pending)
		return;
	if (rq->finished) {
		complete_request(c, rq);
	} else if (rq->error_deferred && c->sending != &rq->outgoing) {
		struct wire_error err = rq->pub.error;

		rq->error_deferred = false;
		rt_request_error(c, rq, &err);
	} else if (rq->pub.call_only && rq->out.off == rq->out.len) {
		rt_request_finish(c, rq, 0);
	}
}

static void call_sent(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc)
{
	struct rt_request_priv *rq = w->owner;

	rt_work_put(c, w);
	pending_done(c, rq);
}

static void range_closed(struct rt_conn *c, struct rt_closing *range)
{
	pending_done(c,
		     caa_container_of(range, struct rt_request_priv, closing));
}

void rt_request_fail_queued(struct rt_conn *c, int status)
{
	struct rt_outgoing *o, *tmp;

	rt_assert_strand(c);
	cds_list_for_each_entry_safe(o, tmp, &c->call_queue, queue)
		rt_request_finish(c,
				  caa_container_of(o, struct rt_request_priv,
						   outgoing),
				  status);
}

void rt_request_refused(struct rt_conn *c, struct rt_request_priv *rq,
			const struct wire_error *err)
{
	rt_assert_strand(c);
	rq->pub.error = *err;
	rt_request_finish(c, rq, -EREMOTEIO);
}

void rt_request_resend(struct rt_conn *c, struct rt_request_priv *rq)
{
	rt_assert_strand(c);
	rt_request_rollback(c, rq, 0, 0);
	if (c->sending == &rq->outgoing)
		c->sending = NULL;
	uncount_posted(c);
	rq->own.posted = false;
	rq->prepared = false;
	rq->error_deferred = false;
	cds_list_add(&rq->outgoing.queue, &c->call_queue);
}

/* ---- ERRORs ------------------------------------------------------------- */

/*
 * 7.1.3: a header type that the peer does not know is not sent again. If that is the type
 * of fragments, a Call that is being sent in fragments cannot be completed.
 */
static void avoid_htype(struct rt_conn *c, const struct rt_request_priv *rq,
			const struct wire_error *err)
{
	struct rt_request_priv *begun = rt_request_begun(c);
	uint32_t htype = rt_request_htype(c, rq);

	c->req.refused_htypes |= 1u << htype;
	rt_log(c, LOG_WARNING, "the peer takes no %s", wire_htype_name(htype));
	if (begun && begun != rq && !begun->format &&
	    htype != RDMA2_CALL_EXTERNAL)
		rt_request_refused(c, begun, err);
}

/* Send the Call again with fewer chunks, if it was refused for their number [D8]. */
static bool resend_with_fewer(struct rt_conn *c, struct rt_request_priv *rq,
			      const struct wire_error *err)
{
	if (!rt_request_reduce_chunks(rq, err))
		return false;
	rq->pub.error = *err;
	rq->resent = true;
	rq->base_only = true;
	rt_request_resend(c, rq);
	return true;
}

void rt_request_error(struct rt_conn *c, struct rt_request_priv *rq,
		      const struct wire_error *err)
{
	rt_assert_strand(c);
	if (resend_with_fewer(c, rq, err))
		return;
	/* The peer cannot continue this Reply, or none. */
	if (err->code == RDMA2_ERR_REPLY_RESOURCE && !rq->format)
		c->req.reply_refused = true;
	if (err->code == RDMA2_ERR_INVAL_HTYPE && !rq->format)
		avoid_htype(c, rq, err);
	rt_request_refused(c, rq, err);
}

/* ---- Sending ---------------------------------------------------------- */

static bool send_call(struct rt_conn *c, struct rt_outgoing *o);

static void enqueue_call(struct rt_conn *c, struct rt_request_priv *rq)
{
	int status = 0;

	rt_part_set(c, RT_SLOT_REQUESTER, true);
	rq->finished = false;
	rq->own.posted = false;
	rq->prepared = false;
	rq->sends_pending = 0;
	rq->nsegs = rq->nrsegs = 0;
	rq->inv_handle = 0;
	rq->max_reads = rq->max_writes = UINT32_MAX;
	rq->no_call_chunk = rq->no_reply_chunk = rq->resent = false;
	rq->error_deferred = false;
	rq->format = NULL;
	rq->base_only = false;
	if (c->ext_format)
		c->ext_format->reset(rq);
	rq->outgoing.kind = RT_OUT_CALL;
	rq->outgoing.send = send_call;
	rq->closing.closed = range_closed;
	CDS_INIT_LIST_HEAD(&rq->outgoing.queue);
	rt_out_init(&rq->out);
	for (unsigned int i = 0; i < rq->pub.nsinks; i++) {
		rq->pub.sinks[i].used = 0;
		rq->pub.sinks[i].in_stream = false;
	}
	if (c->state >= RT_DRAINING)
		status = -ENOTCONN;
	else if (c->server && (!c->theirs.complete || !c->theirs.reverse))
		status = -EOPNOTSUPP;
	else if (rt_xid_find(c, rq->pub.xid))
		status = -EEXIST;
	if (status) {
		rq->pub.status = status;
		rq->finished = true;
		rq->pub.done(&rq->pub);
		return;
	}
	rq->own.xid = rq->pub.xid;
	rt_xid_add(c, &rq->own);
	cds_list_add_tail(&rq->link, &c->req.requests);
	cds_list_add_tail(&rq->outgoing.queue, &c->call_queue);
}

/* Prepare for the first message of a Call. Returns 0, -EAGAIN if it must wait, or another
 * -errno if the connection fails. */
static int start_call(struct rt_conn *c, struct rt_request_priv *rq)
{
	int rc;

	rq->own.posted = true;
	cds_list_del_init(&rq->outgoing.queue);
	c->requests_out++;
	if (!c->server) {
		c->credit.forward++;
		RT_COUNT(c, calls_sent, 1);
		return 0;
	}
	/* [G3] rule 1: the header of this Call grants one more credit. */
	c->credit.reverse++;
	rc = rt_reserve_reverse(c);
	if (!rc)
		RT_COUNT(c, reverse_calls_sent, 1);
	if (rc != -EAGAIN)
		return rc;
	uncount_posted(c);
	rq->own.posted = false;
	cds_list_add(&rq->outgoing.queue, &c->call_queue);
	return rc;
}

static int fill_call(struct rt_conn *c, struct rt_request_priv *rq,
		     struct rt_work *w, size_t *hlen, bool *last)
{
	struct rt_transmission t = {
		.out = &rq->out,
		.xid = rq->pub.xid,
		.kind = RT_OUT_CALL,
		.external = rq->external,
		.hlen = rt_request_header_len(c, rq, rq->external),
	};
	struct wire_call_desc d;
	int rc = rt_transmit(c, w, &t, hlen, last);

	if (rc || !*last)
		return rc;
	rt_request_describe(rq, &d);
	*hlen = c->v->encode_call(w->buf->addr, RT_HEADER_ROOM, rq->pub.xid,
				  c->v->credit_word(c, RT_OUT_CALL),
				  rq->external, &d);
	return 0;
}

/* The Call cannot be sent. It fails @alone if nothing of it has been posted; otherwise
 * the connection ends. */
static bool fail_call(struct rt_conn *c, struct rt_request_priv *rq,
		      struct rt_work *w, bool alone, int rc)
{
	if (alone) {
		rt_request_finish(c, rq, rc);
	} else {
		rt_conn_stop(c, EV_ABORT, rc, "sending a Call: %s",
			     strerror(-rc));
		rt_chain_post(c);
	}
	if (w)
		rt_work_put(c, w);
	return alone;
}

static bool send_call(struct rt_conn *c, struct rt_outgoing *o)
{
	struct rt_request_priv *rq =
		caa_container_of(o, struct rt_request_priv, outgoing);
	bool begun = rq->own.posted, last;
	struct rt_work *w;
	size_t hlen;
	int rc;

	if (rq->prepared && !begun && rt_request_outdated(c, rq)) {
		rt_request_rollback(c, rq, 0, 0);
		rq->prepared = false;
	}
	if (!rq->prepared) {
		rc = rt_request_prepare(c, rq);
		if (rc) {
			rt_request_finish(c, rq, rq->resent ? -EREMOTEIO : rc);
			return true;
		}
		rq->prepared = true;
	}
	w = rt_send_get(c);
	if (!w && c->sends_inflight)
		return false;
	if (!w)
		return fail_call(c, rq, w, !begun, -ENOMEM);
	if (!begun) {
		rc = start_call(c, rq);
		if (rc == -EAGAIN) {
			rt_work_put(c, w);
			return false;
		}
		if (rc)
			return fail_call(c, rq, w, false, rc);
	}
	rc = (rq->format ? rq->format->fill : fill_call)(c, rq, w, &hlen,
							 &last);
	if (rc)
		return fail_call(c, rq, w, !begun, rc);
	c->sending = last ? NULL : &rq->outgoing;
	if (last) {
		rq->sent = base_now_ns();
		RT_STAGE(c, submit, rq->submitted, rq->sent);
	}
	w->owner = rq;
	w->done = call_sent;
	rq->sends_pending++;
	rt_send_work(c, w, hlen);
	return true;
}

static void mail_request(struct rt_conn *c, struct rt_mail *m)
{
	enqueue_call(c, caa_container_of(m, struct rt_request_priv, mail));
	rt_conn_put(c);
}

void rt_request_submit(struct rt_conn *c, struct rt_request *pub)
{
	struct rt_request_priv *rq =
		caa_container_of(pub, struct rt_request_priv, pub);

	pub->status = 0;
	rq->submitted = base_now_ns();
	rt_request_reset(pub);
	rt_conn_get(c);
	rt_inbox_put(c, &rq->mail, mail_request);
}

/* ---- The hooks of struct rt_part ---------------------------------------- */

/*
 * Server: returns when the client must have answered the oldest reverse Call, sent or
 * not; 0 if there is none. An unanswered Call holds its credit, perhaps the only one,
 * which only the end of the connection returns (RFC 8166 3.3.2). So others would wait for
 * ever.
 */
static uint64_t answer_due(const struct rt_conn *c)
{
	struct rt_request_priv *rq;

	if (!c->server)
		return 0;
	cds_list_for_each_entry(rq, &c->req.requests, link)
	{
		if (!rq->finished)
			return rq->submitted / 1000000 +
			       c->inst->cfg.reverse_ms;
	}
	return 0;
}

static bool requester_busy(struct rt_conn *c)
{
	return rt_requests_any(c);
}

static uint64_t requester_due(struct rt_conn *c)
{
	uint64_t d = answer_due(c);

	/* Other connections may free memory for Receives. */
	if (c->recvs_lacking && requester_busy(c))
		d = rt_earlier(rt_now_ms() + RT_TICK_MS, d);
	return d;
}

static void requester_expire(struct rt_conn *c, uint64_t now)
{
	rt_end_if_late(c, answer_due(c), now, "a reverse Call is not answered");
}

static void requester_disconnected(struct rt_conn *c)
{
	struct rt_request_priv *rq, *tmp;

	if (c->sending && c->sending->kind == RT_OUT_CALL)
		c->sending = NULL;
	cds_list_for_each_entry_safe(rq, tmp, &c->req.requests, link)
	{
		rq->sends_pending = 0;
		if (rq->finished)
			complete_request(c, rq);
		else
			rt_request_finish(c, rq, -ECONNRESET);
	}
}

static void requester_fill_info(struct rt_conn *c, struct rt_conn_info *info)
{
	info->requests_outstanding = c->requests_out;
}

static int requester_init(struct rt_conn *c)
{
	CDS_INIT_LIST_HEAD(&c->req.requests);
	return 0;
}

static int requester_prepare(struct rt_instance *inst,
			     const struct rt_params *p)
{
	pthread_mutex_init(&inst->request_lock, NULL);
	return 0;
}

static void requester_destroy(struct rt_instance *inst)
{
	while (inst->free_requests) {
		struct rt_request_priv *rq = inst->free_requests;

		inst->free_requests = rq->next_free;
		free(rq);
	}
	pthread_mutex_destroy(&inst->request_lock);
}

const struct rt_part rt_part_requester = {
	.slot = RT_SLOT_REQUESTER,
	.optional = true,
	.prepare = requester_prepare,
	.destroy = requester_destroy,
	.init = requester_init,
	.fill_info = requester_fill_info,
	.due = requester_due,
	.expire = requester_expire,
	.busy = requester_busy,
	.disconnected = requester_disconnected,
};
