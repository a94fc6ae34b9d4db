/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_call - one Call on its way through the gateway
 *
 * Threads: the worker makes and submits Calls; call_done() is the strand's.
 * A Call is in c->calls and c->hash from gw_call_take() until its answer is
 * queued, and counted in c->outstanding until the answer is written. While
 * it is with the transport (submitted), only the strand touches it.
 */
#include "gateway/gw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "tools/latency.h"

/* What a Call is of the heap: its area and the transport's. */
#define CALL_HEAP (sizeof(struct gw_call) + 4096)
/* How many times the limit while the client is asked something itself. */
#define CALL_SURGE 16
/* Room for a Reply of which nothing can be told, from the second on. */
#define GSS_REPLY_LEAST (256u << 10)

static void call_done(struct rt_request *rq);

/* ---- Books: client.lock held -------------------------------------------- */

static struct gw_call *calls_find(struct gw_client *c, uint32_t xid)
{
	struct gw_call *call = c->hash[xid % GW_HASH];

	while (call && call->head.xid != xid)
		call = call->hnext;
	return call;
}

static void calls_insert(struct gw_client *c, struct gw_call *call)
{
	struct gw_call **slot = &c->hash[call->head.xid % GW_HASH];

	call->hnext = *slot;
	*slot = call;
	call->next = NULL;
	call->prev = c->calls_last;
	if (call->prev)
		call->prev->next = call;
	else
		c->calls = call;
	c->calls_last = call;
	c->outstanding++;
	c->held += call->cost;
}

static void calls_remove(struct gw_client *c, struct gw_call *call)
{
	struct gw_call **p = &c->hash[call->head.xid % GW_HASH];

	while (*p != call)
		p = &(*p)->hnext;
	*p = call->hnext;
	if (call->prev)
		call->prev->next = call->next;
	else
		c->calls = call->next;
	if (call->next)
		call->next->prev = call->prev;
	else
		c->calls_last = call->prev;
}

static bool calls_full(const struct gw_client *c)
{
	const struct gw_options *o = &c->gw->opt;
	unsigned int most = o->max_calls;

	/*
	 * Calls outstanding may all wait for a callback; the Reply to it stands
	 * behind further Calls in the socket, so these must be let through.
	 */
	if (c->nreverse)
		most *= CALL_SURGE;
	return c->outstanding >= most ||
	       (c->outstanding && c->held >= o->config.max_conn_memory);
}

/* ---- Life --------------------------------------------------------------- */

/* Off the books and gone. Not linked any more; no lock held. */
static void call_free(struct gw_client *c, struct gw_call *call, bool written)
{
	unsigned int events = 0;
	size_t cost = call->cost;

	gw_record_release(&call->rec);
	gw_sinks_release(call);
	gw_share_give(&c->share, call->charge);
	rt_request_free(call->rq);
	pthread_mutex_lock(&c->lock);
	c->outstanding--;
	c->held -= cost;
	if (written)
		c->stats.tcp_replies++;
	if (c->paused && (!calls_full(c) || c->dead)) {
		c->paused = false;
		events |= GW_EV_ROOM;
	}
	/* What has come back may be what it waits for. */
	if (atomic_load_explicit(&c->share.waiting, memory_order_relaxed))
		events |= GW_EV_ROOM;
	if (!c->outstanding) {
		c->active_at = lat_now();
		events |= c->idle_wanted ? GW_EV_IDLE : 0;
	}
	pthread_mutex_unlock(&c->lock);
	if (events)
		gw_kick(c, events);
	gw_client_put(c);
}

static void call_fin(struct gw_client *c, struct gw_out *o, bool written)
{
	call_free(c, (struct gw_call *)o, written);
}

/* ---- Making ------------------------------------------------------------- */

static bool call_is_gss(const struct gw_call *call)
{
	return call->head.flavor == RPC_FLAVOR_GSS;
}

/* Which arguments and results go by chunks. False: no memory for sinks. */
static bool call_plan(struct gw_client *c, struct gw_call *call)
{
	const struct gw_options *o = &c->gw->opt;
	struct rt_request *rq = call->rq;
	struct iovec iov[GW_PIECES];
	size_t sum = 0, inlined = 0, most = gw_sinks_most(c->gw);
	int rc;

	gw_fit_counts(call);
	rc = ulb_scan_call(iov,
			   rt_to_iov(call->rec.piece, call->rec.npieces, iov),
			   &call->head, &call->scan);
	if (rc) {
		/* As it is, for the server to judge [nfs.h]. */
		call->scan.nargs = 0;
		call->scan.nresults = 0;
		call->scan.reply_max = 0;
	}
	rq->nitems = 0;
	rq->nsinks = 0;
	for (unsigned int i = 0; i < call->scan.nargs && !call->plain; i++) {
		const struct ulb_item *a = &call->scan.args[i];

		if (a->present && a->length >= o->reduce_min &&
		    rq->nitems < o->config.call_read_chunks)
			call->items[rq->nitems++] =
				(struct rt_item){ .position = a->position,
						  .length = a->length,
						  .present = true };
	}
	for (unsigned int i = 0; i < call->scan.nresults; i++) {
		size_t len = call->scan.results[i];
		bool chunk = !call->plain && i < o->config.call_write_chunks &&
			     len >= o->reduce_min && sum + len <= most;

		memset(&call->sinks[i], 0, sizeof(call->sinks[i]));
		if (!chunk) {
			inlined += gw_round4(len);
			continue;
		}
		if (!gw_sink_get(call, i, len, GW_MEM_CALL)) {
			gw_sinks_release(call);
			return false;
		}
		sum += len;
		/* Empty chunks count up to the last real one only [H2]. */
		rq->nsinks = i + 1;
	}
	/* A session executes a Call once and need not keep the Reply. A GSS
	 * sequence number is taken once, the next time dropped in silence. */
	rq->once = call_is_gss(call) ||
		   (call->head.nfs && call->head.vers == 4);
	rq->reply_max = call->scan.reply_max;
	if (call_is_gss(call) && !call->head.ddp)
		rq->reply_max = atomic_load(&c->gw->gss_reply_max);
	if (rq->reply_max)
		rq->reply_max += inlined;
	/* What it may ask for, but cannot get. */
	if (rq->reply_max > o->config.max_message)
		rq->reply_max = o->config.max_message & ~(size_t)3;
	return true;
}

/* Its heap, and the Reply that it announces. Worker. */
static bool call_charge(struct gw_call *call)
{
	call->charge = CALL_HEAP + call->rq->reply_max;
	return gw_share_take(&call->c->share, call->charge);
}

/* The same with the Reply that the transport really holds. */
static void call_recharge(struct gw_call *call)
{
	size_t now = CALL_HEAP + call->rq->reply_len;

	if (now > call->charge)
		gw_share_force(&call->c->share, now - call->charge, false);
	else
		gw_share_give(&call->c->share, call->charge - now);
	call->charge = now;
}

static void call_prepare(struct gw_call *call)
{
	struct rt_request *rq = call->rq;

	rq->xid = call->head.xid;
	rq->pieces = call->rec.piece;
	rq->npieces = call->rec.npieces;
	rq->items = call->items;
	rq->sinks = call->sinks;
	for (unsigned int i = 0; i < rq->nsinks; i++)
		call->sinks[i].used = 0;
	rq->op_class = call->head.op_class;
	rq->call_only = false;
	rq->done = call_done;
}

enum gw_take gw_call_take(struct gw_client *c, uint32_t xid)
{
	struct gw_call *call = NULL;
	struct rt_request *rq = NULL;
	bool full, dup, up = false;

	pthread_mutex_lock(&c->lock);
	full = calls_full(c);
	dup = calls_find(c, xid) != NULL;
	if (dup) {
		c->stats.tcp_calls++;
		c->stats.duplicates++;
	} else if (full) {
		if (!c->paused)
			c->stats.pauses++;
		c->paused = true;
	}
	pthread_mutex_unlock(&c->lock);
	if (dup) {
		/* Its answer is on the way; the server would do it twice. */
		gw_client_log(c, LOG_DEBUG, "Call %08x is outstanding: dropped",
			      xid);
		gw_record_release(&c->acc);
		return GW_TAKEN;
	}
	if (full)
		return GW_PAUSE;

	rq = rt_request_alloc(c->gw->inst);
	if (!rq)
		return GW_NO_MEMORY;
	call = rt_request_user(rq);
	call->out.fin = call_fin;
	call->c = c;
	call->rq = rq;
	call->plain = c->no_chunks;
	call->charge = 0;
	gw_record_move(&call->rec, &c->acc);
	if (!call_plan(c, call) || !call_charge(call)) {
		bool never = call->charge > c->gw->shares.limit;

		gw_sinks_release(call);
		gw_record_move(&c->acc, &call->rec);
		rt_request_free(rq);
		return never ? GW_NEVER : GW_NO_MEMORY;
	}
	call->head.xid = xid;
	call->cost = call->rec.len;
	for (unsigned int i = 0; i < rq->nsinks; i++)
		call->cost += call->sinks[i].len;
	call_prepare(call);
	gw_client_get(c);
	pthread_mutex_lock(&c->lock);
	calls_insert(c, call);
	c->stats.tcp_calls++;
	c->stats.arguments_reduced += rq->nitems;
	up = c->link == GW_LINK_UP;
	call->submitted = up;
	call->gen = c->gen;
	pthread_mutex_unlock(&c->lock);
	if (up)
		rt_request_submit(c->rc, rq);
	return GW_TAKEN;
}

void gw_calls_submit(struct gw_client *c)
{
	struct gw_call *first = NULL, **tail = &first, *next;

	pthread_mutex_lock(&c->lock);
	if (c->link != GW_LINK_UP) {
		pthread_mutex_unlock(&c->lock);
		return;
	}
	for (struct gw_call *call = c->calls; call; call = call->next) {
		if (call->submitted)
			continue;
		if (call->lost_since && call->gen != c->gen)
			c->stats.retransmits++;
		call->submitted = true;
		call->gen = c->gen;
		*tail = call;
		tail = &call->snext;
	}
	*tail = NULL;
	pthread_mutex_unlock(&c->lock);
	/* A Call may be gone when its submission returns. */
	for (; first; first = next) {
		next = first->snext;
		if (c->no_chunks && !first->plain) {
			first->plain = true;
			gw_sinks_release(first);
			call_plan(c, first); /* a plain one cannot fail */
		}
		call_prepare(first);
		rt_request_submit(c->rc, first->rq);
	}
}

void gw_calls_abandon(struct gw_client *c)
{
	struct gw_call *first = NULL, *next;

	pthread_mutex_lock(&c->lock);
	for (struct gw_call *call = c->calls; call; call = next) {
		next = call->next;
		if (call->submitted)
			continue;
		calls_remove(c, call);
		call->snext = first;
		first = call;
	}
	pthread_mutex_unlock(&c->lock);
	for (; first; first = next) {
		next = first->snext;
		call_free(c, first, false);
	}
}

/* ---- The answer: strand ------------------------------------------------- */

/* The answer stands in call->out: off the books, to the socket. */
static void call_answer(struct gw_call *call, unsigned int placed, bool failed)
{
	struct gw_client *c = call->c;
	bool dead;

	pthread_mutex_lock(&c->lock);
	calls_remove(c, call);
	c->lost_since = 0;
	c->stats.results_reduced += placed;
	if (failed)
		c->stats.errors_answered++;
	dead = c->dead;
	pthread_mutex_unlock(&c->lock);
	/* The arguments are not needed while the answer waits. */
	gw_record_release(&call->rec);
	call_recharge(call);
	if (dead)
		call_free(c, call, false);
	else
		gw_out_push(c, &call->out);
}

/*
 * So that the client does not wait for what will never come. With RPCSEC_GSS
 * it would not believe an accepted Reply, whose verifier only the server can
 * make.
 */
static void call_fail(struct gw_call *call, const char *why)
{
	struct xw w;

	gw_client_log(call->c, LOG_WARNING, "Call %08x (%s) failed: %s",
		      call->head.xid,
		      ulb_proc_name(call->head.prog, call->head.vers,
				    call->head.proc),
		      why);
	xw_init(&w, call->mark + REC_MARK_LEN, RPC_REPLY_HEAD);
	if (call_is_gss(call))
		rpc_denial(&w, call->head.xid, RPC_AUTH_FAILED);
	else
		rpc_reply_head(&w, call->head.xid, RPC_ACCEPT_SYSTEM_ERR);
	rec_mark(call->mark, w.len);
	call->iov[0] = (struct iovec){ call->mark, REC_MARK_LEN + w.len };
	call->out.iov = call->iov;
	call->out.niov = 1;
	call_answer(call, 0, true);
}

/*
 * Back to the worker: to be submitted again in its place. But what the server
 * has seen under RPCSEC_GSS it would drop the second time, as a replay: the
 * client must send it again, with the sequence number that is the next (RFC
 * 2203, 5.3.3.1), and does so when its connection ends.
 */
static void call_park(struct gw_call *call, bool again, bool seen)
{
	struct gw_client *c = call->c;
	bool renew = seen && call_is_gss(call);
	bool kick, dead;

	/* From the unlock on the Call is the worker's. */
	rt_request_reset(call->rq);
	pthread_mutex_lock(&c->lock);
	call->submitted = false;
	if (!again && !call->lost_since)
		call->lost_since = lat_now();
	dead = c->dead;
	if (dead)
		calls_remove(c, call);
	/* Lost on a connection that has a successor already? */
	kick = !dead &&
	       (again || (c->link == GW_LINK_UP && call->gen != c->gen));
	pthread_mutex_unlock(&c->lock);
	if (dead)
		call_free(c, call, false);
	else if (renew)
		gw_kick(c, GW_EV_RENEW);
	else if (kick)
		gw_kick(c, GW_EV_RESEND);
}

/*
 * What protected Replies need can be learnt only from those that found no
 * room. In steps, so that few clients have to be told to try again.
 */
static void expect_replies(struct gateway *gw, size_t len)
{
	size_t old = atomic_load(&gw->gss_reply_max), n = GSS_REPLY_LEAST;

	while (n < len)
		n *= 2;
	if (n > gw->opt.max_record)
		n = gw->opt.max_record;
	while (old < n &&
	       !atomic_compare_exchange_weak(&gw->gss_reply_max, &old, n))
		;
}

/*
 * May a Call be executed twice? The server has done so when it finds that the
 * Reply has no room [E5]. A session keeps it from doing so again; under
 * RPCSEC_GSS it is the client that decides, see call_park().
 */
static bool call_repeatable(const struct gw_call *call)
{
	struct iovec iov[GW_PIECES];
	struct ulb_call head;

	if (call_is_gss(call) || call->head.prog != ULB_PROG_NFS)
		return true;
	if (ulb_classify(iov,
			 rt_to_iov(call->rec.piece, call->rec.npieces, iov),
			 &head))
		return false;
	if (head.vers == 4)
		/* Of a class behind that may be what changes something too. */
		return head.sequence || (head.op_class != ULB_CLASS_other &&
					 head.op_class < ULB_CLASS_change);
	return head.op_class != ULB_CLASS_other &&
	       head.op_class != ULB_CLASS_change;
}

/* RDMA2_ERROR names what is missing: try once with that [E5]. */
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
		if (!gw_sink_get(call, i, e->length_needed, GW_MEM_MUST))
			return false;
		call->write_retry = true;
	} else if (e->code == RDMA2_ERR_REPLY_RESOURCE && !call->reply_retry) {
		if (!e->length_needed || e->length_needed > o->max_record)
			return false;
		/* Its bound was wrong, or there was no memory for a chunk. */
		rq->reply_max = e->length_needed;
		call->reply_retry = true;
		if (call_is_gss(call) && !call->head.ddp)
			expect_replies(c->gw, e->length_needed);
	} else {
		return false;
	}
	pthread_mutex_lock(&c->lock);
	c->stats.resource_retries++;
	pthread_mutex_unlock(&c->lock);
	call_park(call, true, true);
	return true;
}

/*
 * More chunks or segments than one header can have: send it again whole,
 * which needs none for the arguments and leaves the results to the Reply.
 */
static bool call_retry_plain(struct gw_call *call)
{
	struct rt_request *rq = call->rq;

	if (call->plain || (!rq->nitems && !rq->nsinks))
		return false;
	call->plain = true;
	gw_sinks_release(call);
	/* Cannot fail: a plain Call needs no sinks. */
	if (!call_plan(call->c, call))
		return false;
	call_park(call, true, false);
	return true;
}

static void call_done(struct rt_request *rq)
{
	struct gw_call *call = rt_request_user(rq);
	unsigned int placed = 0;
	char why[96];
	int rc;

	switch (rq->status) {
	case 0:
		gw_shares_answered(&call->c->gw->shares);
		rc = gw_call_layout(call, &placed);
		if (!rc) {
			call_answer(call, placed, false);
			return;
		}
		/* The client would take it for a Call to itself. */
		if (rc == -EPROTO)
			rt_response_refuse(call->c->rc, rq->xid);
		call_fail(call, rc == -EPROTO ?
					"what came is no Reply" :
					"the Reply does not match its chunks");
		return;
	case -ECONNRESET:
		call_park(call, false, true);
		return;
	case -ENOTCONN:
		call_park(call, false, false);
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
