/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply - the Responder sends a Reply
 *
 * When the upper layer gives a Reply, the struct rt_reply_format of its Call plans how it
 * is sent. The format of base messages is in this file, in the order of [D7]: results are
 * paired with Write chunks (WRITE_RESOURCE if one is too short), and the rest is sent in
 * Simple, Special or Continued format (REPLY_RESOURCE if it fits none). All RDMA Writes
 * and the Send of a Reply are posted in one chain.
 *
 * Context: any thread may call rt_reply(), rt_call_refuse() and rt_call_drop(); the
 * runner does the rest.
 */
#include <errno.h>
#include <string.h>

#include "transport/responder/responder.h"

static void reply_done(struct rt_call_priv *call)
{
	void (*done)(void *) = call->reply.done;

	call->reply.done = NULL;
	rt_replies_sub(call->pub.conn, call->reply_octets);
	call->reply_octets = 0;
	if (done)
		done(call->reply.arg);
}

void rt_reply_abandon(struct rt_conn *c, struct rt_call_priv *call)
{
	rt_assert_strand(c);
	reply_done(call);
	rt_call_free(c, call);
}

static void reply_error(struct rt_conn *c, struct rt_call_priv *call,
			const struct wire_error *err)
{
	uint32_t xid = call->pub.xid;

	/* The ERROR returns the credit. */
	rt_reply_abandon(c, call);
	rt_error_about(c, xid, err);
}

/* ---- By base messages --------------------------------------------------- */

/* An unused Reply chunk is returned in version 1 too (RFC 8166 4.3.3). */
static size_t reply_header_len(const struct rt_conn *c,
			       const struct rt_call_priv *call, bool external)
{
	struct wire_reply_desc d = {
		.writes = call->write,
		.nwrites = call->pub.nwrites,
		.reply = call->pub.has_reply_chunk ? &call->reply_chunk : NULL,
	};

	return c->v->reply_len(external, &d);
}

/* Pair results with Write chunks [H2]. Returns false, and sets @err, if one is too
 * short. */
static bool pair_results(struct rt_call_priv *call, struct wire_error *err)
{
	const struct rt_reply *r = &call->reply;
	struct rt_item items[RT_MAX_CHUNKS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < r->nitems && i < call->pub.nwrites; i++) {
		const struct rt_item *item = &r->items[i];

		if (!item->present || !call->write[i].count)
			continue;
		if (item->length > rt_chunk_len(&call->write[i])) {
			/* 7.3.4, [E5] */
			err->code = RDMA2_ERR_WRITE_RESOURCE;
			err->chunk_index = i + 1;
			err->length_needed = item->length;
			return false;
		}
		call->cut_chunk[n] = i;
		items[n++] = *item;
	}
	err->code = RDMA2_ERR_SYSTEM;
	return !rt_reduce(r->pieces, r->npieces, items, n, &call->out,
			  &call->cuts);
}

/* Returns false, and sets @err, if no format fits. */
static bool choose_format(struct rt_conn *c, struct rt_call_priv *call,
			  struct wire_error *err)
{
	size_t head = reply_header_len(c, call, false);
	size_t len = call->out.len;

	call->external = false;
	call->threshold = c->send_threshold;
	if (head + len <= c->send_threshold)
		return true;
	if (call->pub.has_reply_chunk &&
	    rt_chunk_len(&call->reply_chunk) >= len &&
	    reply_header_len(c, call, true) <= c->send_threshold) {
		call->external = true;
		return true;
	}
	if (head + 4 > c->send_threshold) {
		/* No message can return the lists. */
		err->code = RDMA2_ERR_SYSTEM;
		return false;
	}
	if (rt_reply_may_continue(c) && len <= c->inst->cfg.max_message)
		return true;
	err->code = RDMA2_ERR_REPLY_RESOURCE;
	err->length_needed = len > UINT32_MAX ? 0 : (uint32_t)len;
	return false;
}

static bool plan_reply(struct rt_conn *c, struct rt_call_priv *call,
		       struct wire_error *err)
{
	if (!pair_results(call, err)) {
		rt_log(c, LOG_NOTICE, "Reply %08x: %s, %u bytes needed",
		       call->pub.xid, wire_errcode_name(err->code),
		       err->length_needed);
		return false;
	}
	if (call->out.len < 4 || call->out.len % 4) {
		err->code = RDMA2_ERR_SYSTEM;
		return false;
	}
	return choose_format(c, call, err);
}

static bool reply_outdated(const struct rt_conn *c,
			   const struct rt_call_priv *call)
{
	return call->threshold != c->send_threshold;
}

static int post_writes(struct rt_conn *c, struct rt_call_priv *call,
		       struct rt_work *send, struct rt_written *g)
{
	const struct rt_cuts *cuts = &call->cuts;
	int rc;

	for (unsigned int i = 0; i < call->nsegs; i++) {
		call->result[i] = call->seg[i];
		call->result[i].length = 0;
	}
	for (unsigned int i = 0; i < cuts->count; i++) {
		const struct wire_chunk_desc *d =
			&call->write[call->cut_chunk[i]];

		rc = rt_write_chunk(c, send, &cuts->piece[cuts->cut[i].first],
				    cuts->cut[i].npieces, d->seg, d->count,
				    &call->result[d->seg - call->seg], g);
		if (rc)
			return rc;
		RT_COUNT(c, write_chunks, 1);
		RT_PROBE(chunk__write, c, call->pub.xid, cuts->cut[i].length,
			 d->count);
	}
	if (call->external) {
		const struct wire_chunk_desc *d = &call->reply_chunk;

		rc = rt_write_chunk(c, send, call->out.piece, call->out.npieces,
				    d->seg, d->count,
				    &call->result[d->seg - call->seg], g);
		if (rc)
			return rc;
		RT_COUNT(c, reply_chunks, 1);
		RT_PROBE(chunk__write, c, call->pub.xid, call->out.len,
			 d->count);
	}
	return 0;
}

/* Encode the header of the last (or only) message of a Reply. Returns its length. */
static size_t encode_last(struct rt_conn *c, struct rt_call_priv *call,
			  struct rt_work *w)
{
	struct wire_chunk_desc writes[RT_MAX_CHUNKS], reply;
	struct wire_reply_desc d = { .writes = writes,
				     .nwrites = call->pub.nwrites };

	for (unsigned int i = 0; i < call->pub.nwrites; i++) {
		writes[i].count = call->write[i].count;
		writes[i].seg = &call->result[call->write[i].seg - call->seg];
	}
	if (call->pub.has_reply_chunk) {
		reply.count = call->reply_chunk.count;
		reply.seg = &call->result[call->reply_chunk.seg - call->seg];
		d.reply = &reply;
	}
	return c->v->encode_reply(w->buf->addr, RT_HEADER_ROOM, call->pub.xid,
				  c->v->credit_word(c, RT_OUT_REPLY),
				  call->external, &d);
}

static void set_invalidation(struct rt_conn *c, const struct rt_call_priv *call,
			     struct rt_work *w)
{
	if (!call->inv_handle || c->inst->cfg.no_remote_invalidation ||
	    c->theirs.invalidate == RT_INVALIDATE_NO ||
	    !(fab_conn_limits(c->fab)->caps & FAB_CAP_SEND_INV))
		return;
	w->wr.op = FAB_SEND_INV;
	w->wr.handle = call->inv_handle;
	RT_COUNT(c, invalidations_sent, 1);
}

static int fill_reply(struct rt_conn *c, struct rt_call_priv *call,
		      struct rt_work *w, size_t *hlen, bool *last)
{
	struct rt_transmission t = {
		.out = &call->out,
		.xid = call->pub.xid,
		.kind = RT_OUT_REPLY,
		.external = call->external,
		.hlen = reply_header_len(c, call, call->external),
		.shorter = !w->writes && rt_reply_may_continue(c),
	};
	int rc = rt_transmit(c, w, &t, hlen, last);

	if (rc || !*last)
		return rc;
	*hlen = encode_last(c, call, w);
	set_invalidation(c, call, w);
	return 0;
}

static uint64_t reply_written(const struct rt_call_priv *call)
{
	uint64_t n = call->external ? call->out.len : 0;

	for (unsigned int i = 0; i < call->cuts.count; i++)
		n += call->cuts.cut[i].length;
	return n;
}

const struct rt_reply_format rt_reply_base = {
	.plan = plan_reply,
	.stale = reply_outdated,
	.writes = post_writes,
	.fill = fill_reply,
	.written = reply_written,
};

/* ---- Sending ------------------------------------------------------------ */

static void refuse_call(struct rt_conn *c, struct rt_call_priv *call)
{
	struct wire_error err = { .code = call->refuse_code };

	RT_COUNT(c, calls_denied, 1);
	if (c->state >= RT_CLOSING)
		rt_call_free(c, call);
	else
		reply_error(c, call, &err);
}

static bool send_reply(struct rt_conn *c, struct rt_outgoing *o);

static void enqueue_reply(struct rt_conn *c, struct rt_call_priv *call)
{
	struct wire_error err = { 0 };

	call->stage = RT_CALL_REPLY;
	call->outgoing.kind = RT_OUT_REPLY;
	call->outgoing.send = send_reply;
	rt_executing_add(c, -1);
	if (call->reply.denial) {
		RT_COUNT(c, calls_denied, 1);
		rt_bad_message(c);
	}
	if (c->state >= RT_CLOSING) {
		rt_reply_abandon(c, call);
		return;
	}
	if (!call->format->plan(c, call, &err)) {
		reply_error(c, call, &err);
		return;
	}
	cds_list_add_tail(&call->outgoing.queue, &c->reply_queue);
	if (c->server && !c->resp.peer_confirmed) {
		c->resp.peer_confirmed = true;
		fab_conn_vouch(c->fab);
	}
}

/* Prepare for the first message of a Reply. */
static void start_reply(struct rt_conn *c, struct rt_call_priv *call)
{
	assert(c->credit.holding);
	call->posted_first = true;
	cds_list_del(&call->outgoing.queue);
	rt_xid_replied(c, call->pub.xid);
	/* This message returns the Call's credit, which the Requester needs for the
	 * GRANTs that draw the next fragments. */
	c->credit.holding--;
}

static void undo_start_reply(struct rt_conn *c, struct rt_call_priv *call)
{
	call->posted_first = false;
	cds_list_add(&call->outgoing.queue, &c->reply_queue);
	c->credit.holding++;
}

/* The last Send of a Reply is complete. */
static void reply_sent(struct rt_conn *c, struct rt_work *w,
		       const struct fab_wc *wc)
{
	struct rt_call_priv *call = w->owner;

	rt_work_put(c, w);
	if (rt_work_ok(wc)) {
		uint64_t now = base_now_ns();

		c->resp.calls_unanswered--;
		RT_STAGE(c, send, call->posted, now);
		RT_PROBE(call__sent, c, call->pub.xid, now - call->posted);
	}
	rt_reply_abandon(c, call);
}

static void replies_posted(struct rt_conn *c);

/* Prepare for the last message of a Reply. */
static void finish_reply(struct rt_conn *c, struct rt_call_priv *call,
			 struct rt_work *w)
{
	c->sending = NULL;
	RT_COUNT(c, replies_sent, 1);
	w->owner = call;
	w->done = reply_sent;
	call->posting_next = c->resp.posting;
	c->resp.posting = call;
	c->chain_posted = replies_posted;
}

/* Messages in the chain cannot be taken back, so end the connection. */
static bool abort_reply(struct rt_conn *c, struct rt_work *w, int rc)
{
	rt_conn_stop(c, EV_ABORT, rc, "sending a Reply: %s", strerror(-rc));
	rt_chain_post(c);
	if (w)
		rt_work_put(c, w);
	c->sending = NULL;
	return false;
}

/* There is no memory to copy a Reply into: take its Writes out of the chain again. */
static bool wait_for_memory(struct rt_conn *c, struct rt_work *w,
			    const struct rt_mark *mark)
{
	rt_chain_cut(c, mark);
	rt_work_put(c, w);
	if (!c->resp.memory_deadline) {
		RT_COUNT(c, shortages, 1);
		c->resp.memory_deadline =
			rt_now_ms() + c->inst->cfg.continuation_ms;
	}
	return false;
}

static void part_written(struct rt_conn *c, struct rt_work *w,
			 const struct fab_wc *wc)
{
	struct rt_call_priv *call = w->owner;

	rt_work_put(c, w);
	if (rt_work_ok(wc))
		call->written += call->writing;
	call->writing = 0;
}

/*
 * There is no memory for all RDMA Writes of a Reply. Post those that are in the chain
 * without the Send. When they have completed, their memory serves for the others, and the
 * Reply goes on. Returns false if there are none.
 */
static bool post_some_writes(struct rt_conn *c, struct rt_call_priv *call,
			     struct rt_work *w, const struct rt_mark *mark,
			     size_t n)
{
	struct rt_work *last = w->writes;

	if (!last)
		return false;
	w->writes = NULL;
	last->writes = last->next;
	last->next = NULL;
	last->wr.flags = FAB_F_SIGNALED;
	last->done = part_written;
	last->owner = call;
	call->writing = n;
	rt_work_put(c, w);
	/* A chunk counts when all of it has been written. */
	RT_COUNT(c, write_chunks, mark->chunks - c->stats.write_chunks);
	c->resp.memory_deadline = 0;
	return true;
}

static bool send_reply(struct rt_conn *c, struct rt_outgoing *o)
{
	struct rt_call_priv *call =
		caa_container_of(o, struct rt_call_priv, outgoing);
	const struct rt_reply_format *format = call->format;
	bool begun = call->posted_first, last;
	struct wire_error err = { 0 };
	struct rt_mark mark;
	struct rt_work *w;
	struct rt_written g;
	size_t hlen;
	int rc = 0;

	if (call->writing)
		return false;
	/* The peer may have sent other properties since the Reply was planned. */
	if (!begun && format->stale(c, call)) {
		call->written = 0;
		if (!format->plan(c, call, &err)) {
			cds_list_del(&call->outgoing.queue);
			reply_error(c, call, &err);
			return true;
		}
	}
	w = rt_send_get(c);
	if (!w && c->sends_inflight)
		return false;
	if (!w)
		return abort_reply(c, w, -ENOMEM);
	mark = rt_chain_mark(c);
	g = (struct rt_written){ .before = call->written };
	if (!begun) {
		start_reply(c, call);
		rc = format->writes(c, call, w, &g);
	}
	if (!rc)
		rc = format->fill(c, call, w, &hlen, &last);
	if (rc == -ENOMEM) {
		if (!begun)
			undo_start_reply(c, call);
		if (post_some_writes(c, call, w, &mark, g.now))
			return false;
		return wait_for_memory(c, w, &mark);
	}
	if (rc)
		return abort_reply(c, w, rc);
	c->resp.memory_deadline = 0;
	if (last)
		finish_reply(c, call, w);
	else
		c->sending = &call->outgoing;
	rt_send_work(c, w, hlen);
	c->credit.reply_in_fragments = !last;
	return true;
}

static void count_class(struct rt_conn *c, const struct rt_call_priv *call,
			uint64_t now)
{
	size_t read = rt_call_read_octets(call);

	if (read)
		rt_reads_answered(c, read);
	rt_class_add(rt_class_of(c, call->pub.op_class), call->pub.len, read,
		     call->reply_octets, call->format->written(call),
		     now - call->arrived);
}

static void replies_posted(struct rt_conn *c)
{
	struct rt_call_priv *call = c->resp.posting;
	uint64_t now = call ? base_now_ns() : 0;

	rt_assert_strand(c);
	c->resp.posting = NULL;
	for (; call; call = call->posting_next) {
		uint64_t begun = call->begun ? call->begun : call->complete_at;

		call->posted = now;
		if (call->begun)
			RT_STAGE(c, dispatch, call->complete_at, begun);
		RT_STAGE(c, execute, begun, call->replied);
		RT_STAGE(c, write, call->replied, now);
		count_class(c, call, now);
		RT_PROBE(call__answered, c, call->pub.xid,
			 call->complete_at - call->arrived,
			 begun - call->complete_at, call->replied - begun,
			 now - call->replied, call->pub.op_class);
	}
}

/* ---- From the upper layer, any thread ----------------------------------- */

static struct rt_call_priv *call_of(struct rt_mail *m)
{
	return caa_container_of(m, struct rt_call_priv, mail);
}

static void mail_reply(struct rt_conn *c, struct rt_mail *m)
{
	enqueue_reply(c, call_of(m));
	rt_conn_put(c);
}

static void mail_refusal(struct rt_conn *c, struct rt_mail *m)
{
	refuse_call(c, call_of(m));
	rt_conn_put(c);
}

static void mail_drop(struct rt_conn *c, struct rt_mail *m)
{
	rt_call_free(c, call_of(m));
	rt_conn_put(c);
}

static int check_reply(const struct rt_reply *r, size_t *octets)
{
	size_t len = 0;

	if (r->npieces > RT_MAX_PIECES)
		return -E2BIG;
	for (unsigned int i = 0; i < r->npieces; i++)
		len += r->pieces[i].len;
	if (len < 4 || len % 4)
		return -EINVAL;
	*octets = len;
	return 0;
}

int rt_reply(struct rt_call *pub, const struct rt_reply *reply)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);
	bool over = rt_conn_is_closing(pub->conn);
	int rc = check_reply(reply, &call->reply_octets);

	call->replied = base_now_ns();
	call->reply = *reply;
	rt_replies_add(pub->conn, call->reply_octets);
	if (rc) {
		/* enqueue_reply() answers an empty Reply by an ERROR. */
		call->reply.npieces = 0;
		call->reply.nitems = 0;
	}
	rt_inbox_put(pub->conn, &call->mail, mail_reply);
	return over ? -ENOTCONN : rc;
}

void rt_call_refuse(struct rt_call *pub, uint32_t code)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);

	call->refuse_code = code;
	rt_inbox_put(pub->conn, &call->mail, mail_refusal);
}

void rt_call_drop(struct rt_call *pub)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);

	rt_inbox_put(pub->conn, &call->mail, mail_drop);
}
