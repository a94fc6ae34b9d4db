/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call_stages - the stages of a Call until the upper layer has it
 *
 *   BODY   its Call chunk is being read
 *   VET    the stream without its data items is complete; they are to be checked
 *   ITEMS  its data items are being read
 *   READY  it is complete
 *   UPPER  the upper layer has it, also while it waits by rt_call_wait()
 *   REPLY  its Reply waits or is being sent (reply.c)
 *
 * A Call may stop for four reasons:
 *
 *   - an RDMA Read is pending;
 *   - its host has enough RDMA Reads under way (rt_responding.unread, flow/reads.c);
 *   - there is no memory for the next chunk (rt_responding.starved);
 *   - the Replies that are queued for its host exceed the limit, or the pool is short of
 *     memory (rt_responding.waiting). Otherwise data read from storage would pile up when
 *     clients ask for more than the network carries. This applies to Calls that arrive
 *     and, if the upper layer calls rt_call_wait(), to those that it has. It never ends a
 *     connection; the limits on Replies do so if a peer does not receive them.
 *
 * A Call in `waiting` waits for a queued Reply of its own connection, or behind a Call
 * that does. Each turn of the connection looks at the waiting Calls, and a turn follows when
 * a Send completes, and at the latest after RT_TICK_MS (responder_due()).
 *
 * Context: the runner. Any thread may call rt_call_wait() and rt_conn_replies_full().
 */
#include <errno.h>
#include <sys/param.h>

#include "base/be.h"
#include "transport/responder/responder.h"

/* The data of a longer Read arrive in several FPDUs of iWARP, which have up to 64 KiB. */
#define LONG_READ (64u << 10)
/* ms: Reads that take longer do not count as under way, see flow/reads.c. */
#define SLOW_READ_MS 1000

static void refuse_code(struct rt_conn *c, struct rt_call_priv *call,
			uint32_t code)
{
	struct wire_error err = { .code = code };

	rt_call_error(c, call, &err);
}

/* ---- Reading ------------------------------------------------------------ */

static void read_done(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc);

/* Returns 0 or -ENOMEM. */
static int post_read(struct rt_conn *c, struct rt_call_priv *call,
		     const struct wire_segment *s, size_t offset,
		     const struct rt_piece *to)
{
	struct rt_work *w = rt_work_get(c, read_done);

	if (!w)
		return -ENOMEM;
	w->owner = call;
	w->wr.op = FAB_READ;
	w->wr.flags = FAB_F_SIGNALED;
	w->wr.handle = s->handle;
	w->wr.offset = s->offset + offset;
	w->wr.nsge = 1;
	w->sge[0] = (struct fab_sge){ to->addr, to->len, to->mr };
	if (!call->reads_pending++) {
		call->reading_since = rt_now_ms();
		c->resp.calls_reading++;
	}
	rt_chain_add(c, w);
	RT_COUNT(c, read_bytes, to->len);
	return 0;
}

/*
 * Allocate @len octets. A data item takes one buffer, as the Responder refuses items longer
 * than FAB_POOL_MAX_BUF [E4]. A Call chunk may take two, as max_message is at most 128 KiB
 * more than that (config.h). Returns the number of pieces, 0 if there is no memory now.
 */
static unsigned int chunk_memory(struct rt_conn *c, struct rt_call_priv *call,
				 size_t len, struct rt_piece *piece)
{
	struct fab_buf *bufs = NULL, *b;
	size_t memory = 0, here;
	unsigned int n = 0;

	do {
		here = MIN(len, FAB_POOL_MAX_BUF);
		b = rt_memory_get(c, call->memory + memory,
				  here ? rt_round4(here) : 4);
		if (!b) {
			rt_memory_uncharge(c, memory);
			rt_bufs_put(&bufs);
			return 0;
		}
		piece[n++] = (struct rt_piece){ b->addr, here, b->mr };
		memory += b->size;
		rt_bufs_add(&bufs, b);
		len -= here;
	} while (len);
	while ((b = bufs)) {
		bufs = b->next;
		rt_bufs_add(&call->bufs, b);
	}
	call->memory += memory;
	return n;
}

/*
 * Post RDMA Reads of one chunk into new memory, of which @piece and @npieces are set. Returns
 * 0; -EAGAIN if there is no memory now, and nothing was posted; -ENOMEM if the Call must
 * fail, perhaps after some Reads were posted.
 */
static int read_chunk(struct rt_conn *c, struct rt_call_priv *call,
		      unsigned int first, unsigned int nsegs, size_t len,
		      struct rt_piece *piece, unsigned int *npieces)
{
	struct rt_piece to, *at = piece;
	size_t off = 0, done;
	int rc;

	/* Wait behind those that wait already. retry_starved() empties the list first. */
	if (!cds_list_empty(&c->resp.starved))
		return -EAGAIN;
	*npieces = chunk_memory(c, call, len, piece);
	if (!*npieces)
		return -EAGAIN;
	if (len > LONG_READ && !call->long_read &&
	    (c->inst->limits->caps & FAB_CAP_PARTS)) {
		/* The poller may nap while the parts arrive (poller_run.c). */
		call->long_read = true;
		rt_long_read(c, true);
	}
	for (unsigned int i = first; i < first + nsegs; i++) {
		const struct wire_segment *s = &call->seg[i];

		for (done = 0; done < s->length; done += to.len) {
			if (off == at->len) {
				at++;
				off = 0;
			}
			to = (struct rt_piece){
				(uint8_t *)at->addr + off,
				MIN(s->length - done, at->len - off), at->mr
			};
			rc = post_read(c, call, s, done, &to);
			if (rc)
				return rc;
			off += to.len;
		}
	}
	RT_COUNT(c, read_chunks, 1);
	RT_PROBE(chunk__read, c, call->pub.xid, len, nsegs);
	return 0;
}

/* Count the Reads of @call no longer. */
static void discount_reads(struct rt_conn *c, struct rt_call_priv *call)
{
	rt_reads_end(c, call->under_way);
	call->under_way = 0;
}

/* A Call that has memory goes before those that have none, which may wait for just that:
 * then neither would go on. */
static void enqueue_starved(struct rt_conn *c, struct rt_call_priv *call)
{
	struct cds_list_head *before = &c->resp.starved;
	struct rt_call_priv *other;

	call->starved = true;
	cds_list_for_each_entry(other, &c->resp.starved, queue)
	{
		if (call->memory && !other->memory) {
			before = &other->queue;
			break;
		}
	}
	cds_list_add_tail(&call->queue, before);
}

/*
 * There is no memory for a chunk. With @rc -EAGAIN the Call waits until others free some,
 * since an ERROR would fail its RPC. Calls that hold memory while they wait could wait
 * for each other, so retry_starved() fails one after continuation_ms. With -ENOMEM it fails.
 */
static void starve_or_fail(struct rt_conn *c, struct rt_call_priv *call, int rc)
{
	uint32_t xid = call->pub.xid;

	if (rc == -EAGAIN) {
		/* It reads nothing meanwhile. */
		if (!call->memory)
			discount_reads(c, call);
		if (!call->shortage_counted)
			RT_COUNT(c, shortages, 1);
		call->shortage_counted = true;
		if (call->memory && !call->starved_since)
			call->starved_since = rt_now_ms();
		if (cds_list_empty(&c->resp.starved))
			c->resp.starved_deadline =
				rt_now_ms() + c->inst->cfg.memory_wait_ms;
		enqueue_starved(c, call);
		return;
	}
	rt_log(c, LOG_NOTICE, "Call %08x: no memory for its chunks", xid);
	rt_call_free(c, call);
	c->v->refuse_call(c, xid);
}

/* ---- Waiting ------------------------------------------------------------ */

/* Returns true if a Call must wait. A connection with no Call in progress is never over the
 * limit: the second argument matters only as zero or not. */
static bool over_limit(struct rt_conn *c)
{
	return rt_replies_over_limit(c, c->resp.calls_executing +
						c->resp.calls_reading);
}

/* First come, first served. */
static bool must_wait(struct rt_conn *c)
{
	return c->state < RT_CLOSING &&
	       (!cds_list_empty(&c->resp.waiting) || over_limit(c));
}

static void deliver(struct rt_conn *c, struct rt_call_priv *call)
{
	rt_executing_add(c, 1);
	/* The upper layer has passed it to rt_call_wait(). */
	if (call->stage == RT_CALL_UPPER) {
		c->ops->resume(c, &call->pub);
		return;
	}
	call->stage = RT_CALL_UPPER;
	c->calls_upper++;
	c->resp.calls_unanswered++;
	if (!c->server)
		RT_COUNT(c, reverse_calls_received, 1);
	else
		RT_COUNT(c, calls_received, 1);
	rt_conn_get(c);
	c->ops->call(c, &call->pub);
}

static bool items_unread(const struct rt_call_priv *call)
{
	return call->reads_begun < call->nreads;
}

static void enqueue_waiting(struct rt_conn *c, struct rt_call_priv *call)
{
	struct cds_list_head *before = &c->resp.waiting;
	struct rt_call_priv *other;

	if (!c->resp.wait_logged)
		rt_log(c, LOG_NOTICE, "Calls wait: %s",
		       rt_replies_limit_text(c));
	c->resp.wait_logged = true;
	RT_COUNT(c, reply_waits, 1);
	call->waiting = true;
	/* Its connection may stand still. */
	discount_reads(c, call);
	/* A Call whose items have been read holds memory, so it precedes those whose
	 * items are still to be read. */
	cds_list_for_each_entry(other, &c->resp.waiting, queue)
	{
		if (call->nreads && !items_unread(call) &&
		    items_unread(other)) {
			before = &other->queue;
			break;
		}
	}
	cds_list_add_tail(&call->queue, before);
}

/* Returns true if @call must wait before memory is allocated for its items. */
static bool wait_before_items(struct rt_conn *c, struct rt_call_priv *call)
{
	if (call->nreads == call->nplaced || !must_wait(c))
		return false;
	enqueue_waiting(c, call);
	return true;
}

/* ---- RDMA Reads under way ------------------------------------------------- */

/* Returns false if the Reads of @call may not begin now. */
static bool count_reads(struct rt_conn *c, struct rt_call_priv *call, bool must)
{
	size_t n = rt_call_read_octets(call) - call->under_way;

	if (!rt_reads_begin(c, n, must))
		return false;
	call->under_way += n;
	return true;
}

/* The same; then it waits in `unread`. */
static bool may_read(struct rt_conn *c, struct rt_call_priv *call)
{
	bool must = call->memory || call->shortage_counted;

	if (rt_call_read_octets(call) <= call->under_way)
		return true;
	if ((must ||
	     (!c->resp.reads_stalled && cds_list_empty(&c->resp.unread))) &&
	    count_reads(c, call, must))
		return true;
	RT_COUNT(c, read_waits, 1);
	call->unread = true;
	cds_list_add_tail(&call->queue, &c->resp.unread);
	return false;
}

/* Advance the Calls whose Reads may begin now. */
static void begin_unread(struct rt_conn *c)
{
	while (c->state < RT_CLOSING && !c->resp.reads_stalled &&
	       !cds_list_empty(&c->resp.unread)) {
		struct rt_call_priv *call = cds_list_first_entry(
			&c->resp.unread, struct rt_call_priv, queue);

		if (!count_reads(c, call, false))
			return;
		call->unread = false;
		cds_list_del(&call->queue);
		rt_call_advance(c, call);
	}
}

/* ---- Stages --------------------------------------------------------------- */

static void deliver_or_wait(struct rt_conn *c, struct rt_call_priv *call)
{
	if (must_wait(c))
		enqueue_waiting(c, call);
	else
		deliver(c, call);
}

/* Returns true when the Call chunk has been read. */
static bool read_body(struct rt_conn *c, struct rt_call_priv *call)
{
	int rc;

	if (!call->nbase) {
		if (!may_read(c, call))
			return false;
		rc = read_chunk(c, call, 0, call->nbody, call->body_len,
				call->base, &call->nbase);
		if (rc)
			starve_or_fail(c, call, rc);
		else if (!call->reads_pending) /* an empty Call chunk */
			refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return false;
	}
	/* 7.2: rdma_xid must be the XID of the RPC message. */
	if (call->body_len < 4 ||
	    be32_get(call->base[0].addr) != call->pub.xid) {
		refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return false;
	}
	return true;
}

/* Returns false if the Call has been answered. */
static bool vet_items(struct rt_conn *c, struct rt_call_priv *call)
{
	struct wire_error err = { 0 };
	bool torn;

	if (!rt_call_vet(c, call, &torn, &err)) {
		rt_call_error(c, call, &err);
		return false;
	}
	/* A Position is beyond the end of the stream. The RPC layer answers, and no items
	 * are read (7.2 [C7]). */
	if (torn) {
		call->pub.torn = true;
		call->nreads = 0;
	}
	return true;
}

/* Returns true when all data items have been read. */
static bool read_items(struct rt_conn *c, struct rt_call_priv *call)
{
	if (!may_read(c, call))
		return false;
	while (call->reads_begun < call->nreads) {
		struct rt_read_chunk *r = &call->read[call->reads_begun];
		unsigned int n;
		int rc = 0;

		if (!r->placed)
			rc = read_chunk(c, call, r->first, r->nsegs, r->length,
					&r->to, &n);
		if (rc) {
			starve_or_fail(c, call, rc);
			return false;
		}
		call->reads_begun++;
	}
	return !call->reads_pending;
}

/* Returns false if the Call has been answered. */
static bool assemble(struct rt_conn *c, struct rt_call_priv *call)
{
	if (!rt_call_assemble(call)) {
		refuse_code(c, call, RDMA2_ERR_BAD_XDR);
		return false;
	}
	call->complete_at = call->arrived;
	if (call->nbody || call->nreads > call->nplaced) {
		call->complete_at = base_now_ns();
		RT_STAGE(c, read, call->arrived, call->complete_at);
	}
	return true;
}

void rt_call_advance(struct rt_conn *c, struct rt_call_priv *call)
{
	rt_assert_strand(c);
	switch (call->stage) {
	case RT_CALL_BODY:
		if (!read_body(c, call))
			return;
		call->stage = RT_CALL_VET;
		/* fall through */
	case RT_CALL_VET:
		if (!vet_items(c, call))
			return;
		call->stage = RT_CALL_ITEMS;
		if (wait_before_items(c, call))
			return;
		/* fall through */
	case RT_CALL_ITEMS:
		if (!read_items(c, call) || !assemble(c, call))
			return;
		call->stage = RT_CALL_READY;
		/* fall through */
	default:
		deliver_or_wait(c, call);
	}
}

static void read_done(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc)
{
	struct rt_call_priv *call = w->owner;

	rt_work_put(c, w);
	assert(call->reads_pending && c->resp.calls_reading);
	call->reads_pending--;
	c->resp.reads_stalled = false;
	if (!rt_work_ok(wc) || c->state >= RT_CLOSING)
		call->failed = true;
	if (call->reads_pending)
		return;
	c->resp.calls_reading--;
	if (call->long_read) {
		call->long_read = false;
		rt_long_read(c, false);
	}
	if (call->failed) {
		rt_call_free(c, call);
		return;
	}
	if (!call->starved)
		rt_call_advance(c, call);
}

/* ---- Calls that have waited ----------------------------------------------- */

/* Returns the oldest Call whose Reads are pending and, if @counted, count as under way; or
 * NULL. */
static struct rt_call_priv *oldest_reading(const struct rt_conn *c,
					   bool counted)
{
	struct rt_call_priv *call;

	if (!c->resp.calls_reading)
		return NULL;
	cds_list_for_each_entry(call, &c->resp.calls, link)
	{
		if (call->stage < RT_CALL_UPPER && call->reads_pending &&
		    (call->under_way || !counted))
			return call;
	}
	return NULL;
}

/* Returns when the Reads of the oldest Call must have completed, or 0. */
static uint64_t read_deadline(const struct rt_conn *c)
{
	const struct rt_call_priv *call = oldest_reading(c, false);

	return call ? call->reading_since + c->inst->cfg.continuation_ms : 0;
}

/* Returns when the Reads of the oldest Call are slow, or 0. */
static uint64_t slow_read_at(const struct rt_conn *c)
{
	const struct rt_call_priv *call = oldest_reading(c, true);

	return call ? call->reading_since + SLOW_READ_MS : 0;
}

/* Returns the first Call that has waited too long while it holds memory, which other
 * connections may be waiting for; or NULL. */
static struct rt_call_priv *starved_too_long(const struct rt_conn *c)
{
	struct rt_call_priv *call;

	cds_list_for_each_entry(call, &c->resp.starved, queue)
	{
		if (call->starved_since && rt_now_ms() - call->starved_since >=
						   c->inst->cfg.continuation_ms)
			return call;
	}
	return NULL;
}

/*
 * Retry the Calls that wait for memory. A Call that still finds none is put back by
 * starve_or_fail(), which also sets a new deadline: so the one before is restored unless a
 * Call went on or was failed ("progress"). If @late, one Call is failed: that which has held
 * memory for too long, or else the first, if no other Call will free memory.
 */
static void retry_starved(struct rt_conn *c, bool late)
{
	struct cds_list_head again;
	uint64_t deadline = c->resp.starved_deadline;
	struct rt_call_priv *first, *held;
	bool progress = false;

	CDS_INIT_LIST_HEAD(&again);
	cds_list_splice(&c->resp.starved, &again);
	CDS_INIT_LIST_HEAD(&c->resp.starved);
	while (!cds_list_empty(&again)) {
		struct rt_call_priv *call = cds_list_first_entry(
			&again, struct rt_call_priv, queue);

		cds_list_del(&call->queue);
		call->starved = false;
		rt_call_advance(c, call);
		if (cds_list_empty(&c->resp.starved)) {
			progress = true;
			continue;
		}
		cds_list_splice(&again, c->resp.starved.prev);
		if (!progress)
			c->resp.starved_deadline = deadline;
		break;
	}
	if (!late || progress || cds_list_empty(&c->resp.starved))
		return;
	first = cds_list_first_entry(&c->resp.starved, struct rt_call_priv,
				     queue);
	held = starved_too_long(c);
	if (!held &&
	    (c->resp.calls_executing || !cds_list_empty(&c->resp.waiting) ||
	     rt_memory_elsewhere(c)))
		/* Others will free memory, however long that takes. */
		c->resp.starved_deadline =
			rt_now_ms() + c->inst->cfg.memory_wait_ms;
	else
		starve_or_fail(c, held ? held : first, -ENOMEM);
}

/* Advance the Calls that need not wait any longer. */
static void release_waiting(struct rt_conn *c)
{
	while (!cds_list_empty(&c->resp.waiting) &&
	       (c->state >= RT_CLOSING || !over_limit(c))) {
		struct rt_call_priv *call = cds_list_first_entry(
			&c->resp.waiting, struct rt_call_priv, queue);

		call->waiting = false;
		cds_list_del(&call->queue);
		if (call->stage < RT_CALL_READY)
			rt_call_advance(c, call);
		else
			deliver(c, call);
	}
}

static void mail_wait(struct rt_conn *c, struct rt_mail *m)
{
	struct rt_call_priv *call =
		caa_container_of(m, struct rt_call_priv, mail);

	rt_executing_add(c, -1);
	deliver_or_wait(c, call);
}

void rt_call_wait(struct rt_call *pub)
{
	struct rt_call_priv *call =
		caa_container_of(pub, struct rt_call_priv, pub);

	rt_inbox_put(pub->conn, &call->mail, mail_wait);
}

bool rt_conn_replies_full(struct rt_conn *c)
{
	unsigned int executing = atomic_load_explicit(&c->resp.calls_executing,
						      memory_order_relaxed);

	/* The Call that asks is one of them. */
	return rt_replies_over_limit(c, executing > 1);
}

/* ---- The hooks of struct rt_part ------------------------------------------ */

static void responder_receive(struct rt_conn *c, const struct wire_msg *m,
			      struct rt_work *w, struct rt_sequence *s)
{
	struct rt_call_priv *call =
		rt_call_admit(c, m->p.xid, m->call.count || m->reads.count,
			      m->writes.count || m->has_reply, &rt_reply_base);
	struct wire_error err = { .code = RDMA2_ERR_SYSTEM };

	if (!call)
		return;
	if (rt_call_decode(c, call, m, w, s, &err))
		rt_call_advance(c, call);
	else
		rt_call_error(c, call, &err);
}

static uint64_t responder_due(struct rt_conn *c)
{
	uint64_t d = rt_earlier(read_deadline(c), slow_read_at(c));

	d = rt_earlier(c->resp.memory_deadline, d);
	/* Other connections may free memory, or send Replies. */
	if (!cds_list_empty(&c->resp.starved) ||
	    !cds_list_empty(&c->resp.waiting) ||
	    !cds_list_empty(&c->resp.unread) || c->resp.memory_deadline)
		d = rt_earlier(rt_now_ms() + RT_TICK_MS, d);
	return d;
}

static void responder_expire(struct rt_conn *c, uint64_t now)
{
	for (uint64_t at; (at = slow_read_at(c)) && at <= now;) {
		discount_reads(c, oldest_reading(c, true));
		c->resp.reads_stalled = true;
		rt_reads_cancel(c);
	}
	rt_end_if_late(c, read_deadline(c), now,
		       "an RDMA Read is not answered");
	rt_end_if_late(c, c->resp.memory_deadline, now,
		       "no memory to copy a Reply into");
}

static bool responder_busy(struct rt_conn *c)
{
	return !cds_list_empty(&c->resp.calls);
}

static void responder_turn(struct rt_conn *c)
{
	if (c->state >= RT_CLOSING) {
		rt_reads_cancel(c);
		return;
	}
	if (!cds_list_empty(&c->resp.starved))
		retry_starved(c, c->resp.starved_deadline <= rt_now_ms());
	if (c->state < RT_CLOSING)
		release_waiting(c);
	begin_unread(c);
}

static void responder_disconnected(struct rt_conn *c)
{
	struct rt_call_priv *call, *tmp;

	if (c->sending && c->sending->kind == RT_OUT_REPLY)
		c->sending = NULL;
	c->resp.posting = NULL;
	cds_list_for_each_entry_safe(call, tmp, &c->resp.calls, link)
	{
		if (call->stage == RT_CALL_REPLY)
			rt_reply_abandon(c, call);
		else if (call->stage != RT_CALL_UPPER)
			rt_call_free(c, call);
	}
	/* The upper layer must end those that it has. */
	release_waiting(c);
}

static void responder_on_idle(struct rt_conn *c)
{
	rt_calls_shrink(c, 1);
}

static void responder_release(struct rt_conn *c)
{
	rt_calls_shrink(c, 0);
	/* A connection counts as one of its host's until the upper layer has returned all
	 * its Calls. Otherwise a host could have any number of Calls executed by ending
	 * its connections. */
	if (c->resp.calls_returned || !cds_list_empty(&c->resp.calls))
		return;
	c->resp.calls_returned = true;
	rt_host_calls_returned(c);
}

static void responder_fill_info(struct rt_conn *c, struct rt_conn_info *info)
{
	info->calls_in_progress = c->calls_upper;
	info->calls_unanswered = c->resp.calls_unanswered;
}

static const struct rt_responder_ops ops = {
	.call = responder_receive,
};

static int responder_init(struct rt_conn *c)
{
	c->responder = &ops;
	CDS_INIT_LIST_HEAD(&c->resp.calls);
	CDS_INIT_LIST_HEAD(&c->resp.starved);
	CDS_INIT_LIST_HEAD(&c->resp.waiting);
	CDS_INIT_LIST_HEAD(&c->resp.unread);
	return 0;
}

const struct rt_part rt_part_responder = {
	.init = responder_init,
	.fill_info = responder_fill_info,
	.due = responder_due,
	.expire = responder_expire,
	.busy = responder_busy,
	.turn = responder_turn,
	.on_idle = responder_on_idle,
	.trim = rt_calls_trim,
	.disconnected = responder_disconnected,
	.release = responder_release,
};
