/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * upper - the upper layer of every end, and what the model knows of its RPCs
 *
 * A Call's first words are those of an RPC Call: XID, CALL, 2, and the number of the
 * RPC in the model. All other octets, and those of the Reply, follow from the RPC's
 * salt and their place. So whoever gets a Call finds what it should be, and how it is
 * to be answered.
 *
 * Threads: one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "rpcrdma/wire.h"
#include "simulate.h"
#include "transport/core/connection.h"

#define HEAD 16
/* The shortest time that is set for something to come. */
#define LATE_MS 500
#define LARGEST (300u << 10)

/* ---- Octets ---------------------------------------------------------------- */

static void put32(uint8_t *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return ntohl(v);
}

/* Any octets but those of another place, in steps of eight. */
static void pattern(uint8_t *to, uint64_t salt, size_t len)
{
	size_t at = 0;

	for (; at + 8 <= len; at += 8) {
		uint64_t v = (salt + at) * 0x9e3779b97f4a7c15ull;

		v ^= v >> 29;
		memcpy(to + at, &v, 8);
	}
	for (; at < len; at++)
		to[at] = (uint8_t)(salt + at);
}

static void stream(uint8_t *to, uint64_t salt, size_t len,
		   const struct rt_item *items, unsigned int n)
{
	pattern(to, salt, len);
	for (unsigned int i = 0; i < n; i++)
		for (size_t at = items[i].length; at % 4; at++)
			to[items[i].position + at] = 0;
}

static uint8_t *call_stream(const struct sim_rpc *r, uint8_t *to)
{
	stream(to, r->salt, r->call_len, r->args, r->nargs);
	put32(to, r->xid);
	put32(to + 4, 0);
	put32(to + 8, 2);
	put32(to + 12, r->id);
	return to;
}

static uint8_t *reply_stream(const struct sim_rpc *r, uint8_t *to)
{
	stream(to, ~r->salt, r->reply_len, r->result, r->nresults);
	put32(to, r->xid);
	put32(to + 4, 1);
	put32(to + 8, 0);
	return to;
}

static size_t gather(const struct rt_piece *p, unsigned int n, uint8_t *to,
		     size_t room)
{
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++) {
		size_t len = MIN(p[i].len, room - at);

		memcpy(to + at, p[i].addr, len);
		at += len;
	}
	return at;
}

/* ---- The Requester --------------------------------------------------------- */

/* Lengths of which some fit inline, some are continued, and some need chunks. */
static uint32_t length(struct draw *d, uint32_t most)
{
	static const uint32_t up_to[] = { 64,	64,   400,   1000,  4096,
					  5000, 9000, 20000, 70000, LARGEST };

	uint32_t n = 1 + draw_below(d, DRAW_OF(d, up_to));

	return MIN(n, most);
}

/* Items in a stream that has @head octets before them. Returns its length. */
static size_t items(struct draw *d, struct rt_item *item, unsigned int n,
		    size_t head, uint32_t most)
{
	size_t at = head;

	for (unsigned int i = 0; i < n; i++) {
		at += 4 * draw_below(d, 4);
		item[i] = (struct rt_item){ .position = (uint32_t)at,
					    .length = length(d, most),
					    .present = true };
		at += (item[i].length + 3) & ~3u;
	}
	return at + 4 * draw_below(d, 4);
}

static struct sim_rpc *rpc_new(void)
{
	for (unsigned int i = 0; i < SIM_RPCS; i++) {
		struct sim_rpc *r = &sim->rpc[sim->next_rpc++ % SIM_RPCS];

		if (!r->busy) {
			memset(r, 0, sizeof(*r));
			return r;
		}
	}
	return NULL;
}

/* What has not come yet may still do so when its Requester has given up: it is of the
 * model until it has come, or cannot any more. */
static void rpc_free(struct sim_rpc *r)
{
	rt_request_free(r->rq);
	r->rq = NULL;
	fab_pool_put(r->call_buf);
	for (unsigned int i = 0; i < SIM_ITEMS; i++)
		fab_pool_put(r->sink_buf[i]);
	r->orphan = !r->delivered && r->rq_made && r->from->peer &&
		    !r->from->peer->closed;
	r->busy = r->orphan;
}

static void forget_orphans(const struct sim_end *e)
{
	for (unsigned int i = 0; i < SIM_RPCS; i++) {
		struct sim_rpc *r = &sim->rpc[i];

		if (r->orphan && r->from->peer == e)
			r->busy = r->orphan = false;
	}
}

static bool has_xid(const struct sim_end *e, uint32_t xid)
{
	for (unsigned int i = 0; i < SIM_RPCS; i++)
		if (sim->rpc[i].busy && sim->rpc[i].from == e &&
		    sim->rpc[i].xid == xid)
			return true;
	return false;
}

/* In some worlds the directions have the same ones [E1]: the lowest that are free. */
static uint32_t new_xid(struct sim_end *e)
{
	uint32_t xid = 1;

	if (!sim->xids_meet)
		return e->server ? e->next_xid++ ^ 0x40000000u : e->next_xid++;
	while (has_xid(e, xid))
		xid++;
	return xid;
}

/* Pieces of the Call: borders anywhere. */
static void cut_call(struct sim_rpc *r, struct draw *d)
{
	unsigned int n = draw_one_in(d, 3) ? 1 + draw_below(d, 4) : 1;
	uint8_t *at = r->call_buf->addr;
	size_t left = r->call_len;

	for (unsigned int i = 0; i < n; i++) {
		size_t len = i + 1 < n ? draw_below(d, (uint32_t)left + 1) :
					 left;

		r->piece[i] = (struct rt_piece){
			at, len,
			/* Arguments that may be read must be registered. */
			!r->nargs && draw_one_in(d, 8) ? NULL : r->call_buf->mr
		};
		at += len;
		left -= len;
	}
	r->rq->pieces = r->piece;
	r->rq->npieces = n;
}

static bool make_sink(struct sim_rpc *r, unsigned int i, struct draw *d,
		      struct fab_pool *pool)
{
	uint32_t len = r->result[i].length;

	if (draw_one_in(d, 8))
		return true; /* an empty one */
	if (draw_one_in(d, 12)) {
		len = 1 + draw_below(d, len);
		r->small_sink |= len < r->result[i].length;
	} else if (draw_one_in(d, 3)) {
		len += draw_below(d, 5000);
	}
	r->sink_buf[i] = sim_buf(pool, len + 8);
	if (!r->sink_buf[i])
		return false;
	r->sink[i] = (struct rt_sink){ .addr = r->sink_buf[i]->addr,
				       .len = len,
				       .mr = r->sink_buf[i]->mr };
	if (len > 8 && draw_one_in(d, 4)) {
		/* In two stretches, with a gap. */
		uint8_t *at = r->sink_buf[i]->addr;
		size_t first = 1 + draw_below(d, len - 2);

		r->sink_piece[i][0] =
			(struct rt_piece){ at, first, r->sink_buf[i]->mr };
		r->sink_piece[i][1] = (struct rt_piece){ at + first + 8,
							 len - first,
							 r->sink_buf[i]->mr };
		r->sink[i].pieces = r->sink_piece[i];
		r->sink[i].npieces = 2;
	}
	return true;
}

static bool make_reply(struct sim_rpc *r, struct draw *d, struct fab_pool *pool,
		       uint32_t most)
{
	uint64_t reduced;

	r->nresults = draw_one_in(d, 2) ? 0 : 1 + draw_below(d, SIM_ITEMS);
	if (r->nresults > 1 && draw_one_in(d, 2))
		r->nresults = 1;
	r->reply_len =
		items(d, r->result, r->nresults,
		      12 + (length(d, draw_one_in(d, 4) ? most : 200) & ~3u),
		      most / (r->nresults ? r->nresults : 1));
	r->nsinks = r->nresults ? draw_below(d, r->nresults + 1) : 0;
	reduced = r->reply_len;
	for (unsigned int i = 0; i < r->nsinks; i++) {
		if (!make_sink(r, i, d, pool))
			return false;
		if (r->sink[i].len >= r->result[i].length)
			reduced -= (r->result[i].length + 3) & ~3u;
	}
	r->rq->sinks = r->sink;
	r->rq->nsinks = r->nsinks;
	r->rq->reply_max =
		draw_one_in(d, 8) ?
			0 :
			reduced + draw_one_in(d, 4) * draw_below(d, 2000);
	r->rq->once = draw_one_in(d, 3);
	return true;
}

static void done(struct rt_request *rq);

bool sim_call(struct sim_end *e, struct draw *d)
{
	struct rt_instance *inst = rt_conn_instance(e->conn);
	struct fab_pool *pool = rt_instance_pool(inst);
	const struct rt_config *cfg = &e->node->cfg;
	struct sim_rpc *r = rpc_new();
	struct rt_conn_info info;
	/* A head, and items of as much together. At times it is more than an end
	 * takes: then the RPC fails. */
	size_t most = draw_one_in(d, 16) ?
			      LARGEST :
			      MIN(cfg->max_message,
				  sim_peer(e)->node->cfg.max_message) *
				      2 / 5;
	unsigned int n;

	if (!r)
		return false;
	most = MIN(most, LARGEST);
	r->rq = rt_request_alloc(inst);
	if (!r->rq)
		return false;
	r->busy = true;
	r->from = e;
	r->id = (uint32_t)(r - sim->rpc);
	r->salt = draw(d);
	r->xid = new_xid(e);
	*(struct sim_rpc **)rt_request_user(r->rq) = r;
	rt_conn_info(e->conn, &info);
	r->fate = draw_one_in(d, 40)		 ? SIM_DROP :
		  draw_one_in(d, sim->refuse_in) ? SIM_REFUSE :
						   SIM_ANSWER;
	if (sim->calm && r->fate == SIM_DROP)
		r->fate = SIM_ANSWER;
	n = draw_one_in(d, 3) ? 1 + draw_below(d, SIM_ITEMS - 1) : 0;
	r->call_len = items(d, r->args, n,
			    HEAD + (length(d, n ? 300 : (uint32_t)most) & ~3u),
			    (uint32_t)most / (n ? n : 1));
	r->rq->xid = r->xid;
	r->rq->items = r->args;
	r->rq->nitems = r->nargs = n;
	r->rq->call_max = draw_one_in(d, 4) ? (uint32_t)r->call_len :
					      UINT32_MAX;
	r->rq->op_class = draw_below(d, 4);
	r->rq->done = done;
	r->call_buf = sim_buf(pool, r->call_len);
	if (!r->call_buf || !make_reply(r, d, pool, (uint32_t)most)) {
		rpc_free(r);
		return false;
	}
	if (info.version == WIRE_VERS2 && draw_one_in(d, 40)) {
		r->call_only = r->rq->call_only = true;
		r->fate = SIM_DROP;
	}
	call_stream(r, r->call_buf->addr);
	cut_call(r, d);
	r->rq_made = true;
	e->calls_out++;
	sim->rpcs_submitted++;
	r->submitted = platform_ms();
	sim_note("call", r->xid, r->call_len, r->reply_len);
	rt_request_submit(e->conn, r->rq);
	return true;
}

static void wrong(const struct sim_rpc *r, const char *what)
{
	for (unsigned int i = 0; i < r->nresults; i++)
		sim_log("result %u: %u octets at %u, sink of %zu, %zu used%s",
			i, r->result[i].length, r->result[i].position,
			i < r->nsinks ? r->sink[i].len : 0,
			i < r->nsinks ? r->sink[i].used : 0,
			r->sink[i].in_stream ? ", in the stream" : "");
	sim_fail(
		"data: %s of rpc %u, xid %08x: call %zu, reply %zu, %u args, %u results, %u sinks",
		what, r->id, r->xid, r->call_len, r->reply_len, r->nargs,
		r->nresults, r->nsinks);
}

static size_t in_sink(const struct rt_sink *s, uint8_t *to, size_t room)
{
	struct rt_piece one = { s->addr, s->len, s->mr };

	return gather(s->npieces ? s->pieces : &one,
		      s->npieces ? s->npieces : 1, to, room);
}

/* The Reply as it came, results put back, is what was sent. */
static void check_reply(const struct sim_rpc *r)
{
	const struct rt_request *rq = r->rq;
	uint8_t *want = sim_alloc(r->reply_len), *got = sim_alloc(r->reply_len);
	uint8_t *in = sim_alloc(rq->reply_len);
	size_t at = 0, from = 0;

	if (gather(rq->reply, rq->nreply, in, rq->reply_len) != rq->reply_len)
		wrong(r, "the length");
	for (unsigned int i = 0; i <= r->nresults; i++) {
		size_t upto = i < r->nresults ? r->result[i].position :
						r->reply_len;

		if (from + (upto - at) > rq->reply_len)
			wrong(r, "a short stream");
		memcpy(got + at, in + from, upto - at);
		from += upto - at;
		at = upto;
		if (i == r->nresults || i >= r->nsinks || !rq->sinks[i].addr ||
		    rq->sinks[i].in_stream)
			continue;
		if (rq->sinks[i].used != r->result[i].length ||
		    in_sink(&rq->sinks[i], got + at, rq->sinks[i].used) !=
			    r->result[i].length)
			wrong(r, "the length of a result");
		at += (r->result[i].length + 3) & ~3u;
	}
	if (from != rq->reply_len)
		wrong(r, "a long stream");
	if (memcmp(got, reply_stream(r, want), r->reply_len))
		wrong(r, "the Reply");
	sim_free(want);
	sim_free(got);
	sim_free(in);
}

/* May a Call that came to its Responder end so, if its end is not spoiled? */
static bool may_end(const struct sim_rpc *r, int status)
{
	size_t most = MAX(r->call_len, r->reply_len);

	switch (status) {
	case 0:
		return r->call_only ||
		       (r->fate == SIM_ANSWER && r->delivered == 1);
	case -ECONNRESET:
	case -ENOTCONN:
		return true; /* the end itself is looked at */
	case -EREMOTEIO:
		/* Of version 1 it says nothing; there nobody knows what the peer
		 * takes. */
		return r->rq->error.code == RDMA1_ERR_CHUNK ||
		       r->fate == SIM_REFUSE || sim->short_of || most > 500 ||
		       (r->rq->error.code == RDMA2_ERR_SYSTEM &&
			sim_scarce(sim_peer(r->from)->node)) ||
		       r->small_sink || r->nresults || r->nargs;
	case -EPROTO:
		/* More than the result may have, or than a message; no memory for
		 * it; the rest of it has not come in time. */
		return r->small_sink || sim->short_of ||
		       r->reply_len > r->from->node->cfg.max_message ||
		       sim_scarce(r->from->node) ||
		       (!sim->calm && platform_ms() >= r->submitted + LATE_MS);
	case -E2BIG:
	case -EPROTONOSUPPORT:
		return most > 500 || r->nresults || r->nargs;
	case -EOPNOTSUPP:
		return r->from->server;
	case -ENOMEM:
		return sim->short_of || most > 500;
	default:
		return sim->short_of;
	}
}

static void done(struct rt_request *rq)
{
	struct sim_rpc *r = *(struct sim_rpc **)rt_request_user(rq);
	struct sim_end *e = r->from;
	bool again;
	struct draw d;

	if (!r->busy || r->done++)
		sim_fail("answered: rpc %u, xid %08x, is done twice", r->id,
			 r->xid);
	sim_note("done", r->xid, (uint64_t)rq->status, rq->reply_len);
	if (!e->spoiled && !may_end(r, rq->status))
		sim_fail(
			"answered: rpc %u, xid %08x, ends with %d (error %u), delivered %u, fate %d, call %zu, reply %zu",
			r->id, r->xid, rq->status, rq->error.code, r->delivered,
			r->fate, r->call_len, r->reply_len);
	/* Who has the Call refuses it, and nobody before. */
	r->refused = rq->status == -EREMOTEIO;
	if (!e->spoiled && r->refused && r->delivered && !r->finished)
		sim_fail(
			"answered: rpc %u, xid %08x, which is being executed, ends with ERROR %u",
			r->id, r->xid, rq->error.code);
	if (!rq->status && !r->call_only) {
		bool reply = rt_response_is_reply(e->conn, rq);

		if (!e->spoiled && !reply)
			sim_fail("data: no Reply to rpc %u", r->id);
		if (!e->spoiled && !r->spoiled) {
			check_reply(r);
			sim->rpcs_right++;
		}
	}
	e->peer_slow |= rq->status == -ECONNRESET && r->delivered &&
			!r->finished;
	sim->rpcs_done++;
	e->calls_out--;
	d = draw_from(r->salt, 7);
	/* Also once more when it has been told that there is no connection. */
	again = (!rq->status || rq->status == -ECONNRESET) && !sim->ending &&
		draw_one_in(&d, 6);
	rpc_free(r);
	if (again && !e->closed)
		sim_call(e, &d);
}

/* ---- The Responder --------------------------------------------------------- */

struct answer {
	uint8_t *octets;
	struct rt_piece piece[5];
	struct rt_item item[SIM_ITEMS];
};

static void reply_gone(void *arg)
{
	struct answer *a = arg;

	sim->answers_gone++;
	sim_free(a->octets);
	sim_free(a);
}

static void reply_to(struct rt_call *call, const struct sim_rpc *r)
{
	struct answer *a = sim_alloc(sizeof(*a));
	size_t len = r ? r->reply_len : 16, left = len;
	struct draw d = draw_from(r ? r->salt : call->xid, 5);
	struct rt_reply reply = {
		.pieces = a->piece,
		.npieces = 1 + draw_below(&d, 5),
		.items = a->item,
		.nitems = r ? r->nresults : 0,
		.done = reply_gone,
		.arg = a,
	};
	uint8_t *at;

	a->octets = at = sim_alloc(len);
	if (r) {
		reply_stream(r, a->octets);
		memcpy(a->item, r->result, sizeof(a->item));
	} else {
		put32(a->octets, call->xid);
		put32(a->octets + 4, 1);
	}
	for (unsigned int i = 0; i < reply.npieces; i++) {
		size_t n = i + 1 < reply.npieces ?
				   draw_below(&d, (uint32_t)left + 1) :
				   left;

		a->piece[i] = (struct rt_piece){ at, n, NULL };
		at += n;
		left -= n;
	}
	sim->answers++;
	rt_reply(call, &reply);
}

static void finish(struct sim_end *e, struct rt_call *call, struct sim_rpc *r,
		   enum sim_fate fate)
{
	sim_note("answer", call->xid, fate, r ? r->reply_len : 0);
	if (r) {
		r->finished = true;
		/* Those behind it have waited as well. */
		r->from->peer_slow |= platform_ms() >= r->taken + TICK_MS;
	}
	if (e->held == 0)
		sim_fail("model: a Call is answered that is not held");
	e->held--;
	switch (fate) {
	case SIM_DROP:
		/* Its credit comes back and nothing else: nobody may wait. */
		if (r && !r->call_only)
			sim_peer(e)->asked = e->asked = true;
		if (r && !r->call_only && !e->closed)
			rt_conn_close(e->conn, true);
		rt_call_drop(call);
		return;
	case SIM_REFUSE:
		rt_call_refuse(call, RDMA2_ERR_SYSTEM);
		return;
	case SIM_ANSWER:
		rt_call_begin(call);
		reply_to(call, r);
	}
}

/* Its RPC may be over, and another in its place. */
static struct sim_rpc *still(const struct sim_end *e,
			     const struct rt_call *call, struct sim_rpc *r)
{
	return r && r->busy && !r->orphan && r->xid == call->xid &&
			       r->from->peer == e ?
		       r :
		       NULL;
}

/* What a Call was held for may be over; of a Call-only one nobody waits for more. */
static void go_on(struct sim_held h, enum sim_fate fate)
{
	h.rpc = still(h.end, h.call, h.rpc);
	finish(h.end, h.call, h.rpc,
	       h.rpc	   ? h.rpc->fate :
	       h.call_only ? SIM_DROP :
			     fate);
}

void sim_answer(unsigned int i, enum sim_fate fate)
{
	struct sim_held h = sim->held[i];

	sim->held[i] = sim->held[--sim->nheld];
	go_on(h, fate);
}

static struct sim_rpc *find(struct sim_end *e, uint32_t xid,
			    const uint8_t head[HEAD], size_t n)
{
	struct sim_rpc *r;
	uint32_t id;

	if (n < HEAD)
		return NULL;
	id = get32(head + 12);
	r = id < SIM_RPCS ? &sim->rpc[id] : NULL;
	if (!r || !r->busy || r->xid != xid || r->from != sim_peer(e))
		return NULL;
	return r;
}

static void check_call(const struct sim_rpc *r, const struct rt_call *call)
{
	uint8_t *want = sim_alloc(r->call_len), *got = sim_alloc(r->call_len);

	if (call->len != r->call_len || call->torn)
		wrong(r, "the length of the Call");
	if (gather(call->pieces, call->npieces, got, r->call_len) !=
		    r->call_len ||
	    memcmp(got, call_stream(r, want), r->call_len))
		wrong(r, "the Call");
	sim_free(want);
	sim_free(got);
}

static void deal_with(struct sim_end *e, struct rt_call *call,
		      struct sim_rpc *r)
{
	const struct sim_held held = {
		.call = call, .end = e, .rpc = r, .call_only = r && r->call_only
	};
	bool full = rt_conn_replies_full(call->conn);

	if (full && (!r || r->salt % 4)) {
		sim_note("wait", call->xid, 0, 0);
		*(struct sim_held *)rt_call_user(call) = held;
		rt_call_wait(call);
		return;
	}
	if (sim->nheld < SIM_HELD && (e->holds || (r && r->salt % 8 == 1))) {
		sim->held[sim->nheld++] = held;
		return;
	}
	finish(e, call, r, r ? r->fate : SIM_ANSWER);
}

static void on_call(struct rt_conn *c, struct rt_call *call)
{
	struct sim_end *e = rt_conn_user(c);
	uint8_t head[HEAD];
	size_t n = gather(call->pieces, call->npieces, head, HEAD);
	struct sim_rpc *r = find(e, call->xid, head, n);

	sim_note("take", call->xid, call->len, call->reverse);
	if (e->closed || !e->established)
		sim_fail("order: a Call %s",
			 e->closed ? "after the end" : "before established");
	if (call->reverse == e->server)
		sim_fail("order: a Call of the other direction");
	e->held++;
	if (e->spoiled) {
		if (r)
			r->spoiled = true;
		deal_with(e, call, NULL);
		return;
	}
	if (!r)
		sim_fail("data: a Call that nobody has made, xid %08x",
			 call->xid);
	if (r->delivered++)
		sim_fail("answered: rpc %u, xid %08x, is delivered twice",
			 r->id, r->xid);
	check_call(r, call);
	r->taken = platform_ms();
	if (r->refused)
		sim_fail(
			"answered: rpc %u, xid %08x, comes when it has been refused",
			r->id, r->xid);
	if (r->orphan) {
		r->busy = r->orphan = false;
		finish(e, call, NULL, SIM_DROP);
		return;
	}
	deal_with(e, call, r);
}

static void on_resume(struct rt_conn *c, struct rt_call *call)
{
	sim_note("resume", call->xid, 0, 0);
	go_on(*(struct sim_held *)rt_call_user(call), SIM_ANSWER);
}

static uint32_t on_vet(struct rt_conn *c, struct rt_vet *v, uint32_t *max)
{
	struct sim_end *e = rt_conn_user(c);
	uint8_t head[HEAD];
	size_t n = gather(v->pieces, v->npieces, head, HEAD);
	struct sim_rpc *r = n == HEAD ? find(e, get32(head), head, n) : NULL;

	if (e->spoiled)
		return 0;
	if (!r || v->torn)
		sim_fail("data: a Call that nobody has made is vetted");
	/* Some procedures take fewer. */
	if (r->salt % 16 == 3 && v->total > 1) {
		*max = 1;
		return RDMA2_ERR_READ_CHUNKS;
	}
	return 0;
}

/* ---- The life of an end ---------------------------------------------------- */

static void on_up(struct rt_conn *c)
{
	struct sim_end *e = rt_conn_user(c);
	struct rt_conn_info info;

	if (e->established || e->closed)
		sim_fail("order: established twice, or after the end");
	e->established = true;
	rt_conn_info(c, &info);
	sim_note("up", e->server, info.version, info.extensions);
	sim_check_end(e);
}

/* It has decided so, and may be late to learn that it has come to that. */
static bool ends_itself(const struct sim_end *e)
{
	return !e->closed && e->conn->state >= RT_CLOSING;
}

static bool may_fail(struct sim_end *e, int error, const char *reason)
{
	const struct sim_end *server = e->server ? e : sim_peer(e);

	if (!sim->calm || sim->ending || e->asked)
		return true;
	/* That is judged when its own end comes. */
	if (sim_peer(e) != e && ends_itself(sim_peer(e)))
		return true;
	/* Whose ERROR it is nobody can tell. */
	if (sim->xids_meet && strstr(reason, "of a Call, or of a Reply"))
		return true;
	if (!error && (server->node->cfg.idle_ms ||
		       server->node->cfg.auth == RT_AUTH_REQUIRED ||
		       sim_peer(e)->node->cfg.auth == RT_AUTH_REQUIRED))
		return true;
	/* The other end has had no memory for Receives, and so granted nothing. */
	if (error == -ETIMEDOUT && sim_peer(e) != e && !sim_peer(e)->closed &&
	    sim_peer(e)->conn->flow.shortage_logged)
		return true;
	/* Its upper layer is slow, or has nothing to say and version 1. */
	if (error == -ETIMEDOUT && e->server &&
	    (e->peer_slow || !e->established))
		return true;
	switch (error) {
	case -ENOMEM: /* all that version 1 can do */
		return sim_scarce(e->node) || sim_scarce(sim_peer(e)->node);
	case -EPERM: /* a limit */
	case -EACCES: /* policies that do not go together */
	case -EPROTONOSUPPORT: /* no version is in common */
	case -EAGAIN:
		return true;
	default:
		return false;
	}
}

static void on_closed(struct rt_conn *c, int error, const char *reason)
{
	struct sim_end *e = rt_conn_user(c), *peer = sim_peer(e);

	sim_note("closed", e->server, (uint64_t)error, e->established);
	sim_log("%s end: %d, %s", e->server ? "server's" : "client's", error,
		reason);
	if (e->closed)
		sim_fail("order: closed twice");
	e->closed = true;
	e->fab = NULL;
	if (!cds_list_empty(&c->req.requests) || e->calls_out)
		sim_fail("answered: %u Calls outlive their connection",
			 e->calls_out);
	if (!may_fail(e, error, reason))
		sim_fail(
			"calm: the %s end of a connection ends by itself: %d, %s",
			e->server ? "server's" : "client's", error, reason);
	forget_orphans(e);
	/* From here on its peer may find that out. */
	if (peer != e && !ends_itself(peer))
		peer->asked = true;
	/* Calls that it holds keep the connection. */
	rt_conn_put(c);
}

static void *on_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	struct sim_end *e = sim_end_new(ctx, true);
	struct draw d = draw_from(sim->opt.seed, 0x200000000ull + sim->step);

	if (!e || (!sim->calm && draw_one_in(&d, 60))) {
		if (e)
			e->busy = false;
		*refuse = true;
		return ctx;
	}
	e->conn = c;
	e->fab = c->fab;
	e->peer = sim_end_of(loop_peer(c->fab));
	if (e->peer)
		e->peer->peer = e;
	/* Who wanted to connect may have gone. */
	e->asked = !e->peer || e->peer->asked;
	sim_note("open", e->node->index, 0, 0);
	if (sim_may_tamper() && draw_one_in(&d, 10))
		sim_tamper_from(e, &d, 1 + draw_below(&d, 3));
	/* It has thought better of it. */
	if (draw_one_in(&d, 60)) {
		e->asked = sim_peer(e)->asked = true;
		rt_conn_close(c, draw_one_in(&d, 2));
	}
	return e;
}

const struct rt_ops sim_server_ops = {
	.open = on_open,
	.established = on_up,
	.vet = on_vet,
	.call = on_call,
	.resume = on_resume,
	.closed = on_closed,
};

const struct rt_ops sim_client_ops = {
	.established = on_up,
	.vet = on_vet,
	.call = on_call,
	.resume = on_resume,
	.closed = on_closed,
};

/* ---- Host authentication ---------------------------------------------------- */

#define ANNOUNCED 40

struct exchange {
	struct sim_auth *auth;
	bool client, busy, over;
	unsigned int in, out;
};

static void token(uint8_t *to, bool client, unsigned int n, size_t len,
		  const void *announced)
{
	pattern(to, n * 2 + client, len);
	/* The client's first is made before it knows the server's. */
	if (announced)
		memcpy(to, announced, ANNOUNCED);
}

static void *auth_start(void *ctx, bool client)
{
	struct exchange *e = sim_alloc(sizeof(*e));

	e->auth = ctx;
	e->client = client;
	sim->exchanges++;
	return e;
}

static bool token_right(struct exchange *e, const struct rt_auth_step *s)
{
	uint8_t *want;
	bool ok;

	if (s->kind != 7 || s->len != e->auth->len ||
	    s->announced_len != ANNOUNCED)
		return false;
	want = sim_alloc(s->len);
	token(want, !e->client, e->in, s->len,
	      e->client || e->in ? s->announced : NULL);
	ok = !memcmp(want, s->token, s->len);
	sim_free(want);
	return ok;
}

static enum rt_auth_status judge(struct exchange *e, struct rt_auth_step *s)
{
	struct sim_auth *a = e->auth;

	if (s->token && (s->kind == RT_AUTH_REFUSAL || !token_right(e, s) ||
			 (a->refuses && e->in + 1 == a->rounds))) {
		snprintf(s->text, sizeof(s->text), "refused");
		return RT_AUTH_FAILED;
	}
	e->in += !!s->token;
	if (e->out < a->rounds) {
		s->send = true;
		s->out_kind = 7;
		s->out_len = a->len;
		/* It is freed by the transport, which counts it. */
		s->out = malloc(a->len);
		token(s->out, e->client, e->out++, a->len, s->announced);
	}
	if (e->in < a->rounds)
		return RT_AUTH_MORE;
	snprintf(s->text, sizeof(s->text), "host");
	return RT_AUTH_DONE;
}

static enum rt_auth_status auth_step(void *exchange, struct rt_auth_step *s)
{
	struct exchange *e = exchange;
	enum rt_auth_status status;

	if (e->busy || e->over)
		sim_fail("auth: a step %s",
			 e->busy ? "within another" : "after the last");
	e->busy = true;
	/* It asks somebody else. */
	for (unsigned int i = 0; i < (e->in + e->auth->len) % 3; i++)
		platform_yield();
	status = judge(e, s);
	e->busy = false;
	e->over = status != RT_AUTH_MORE;
	sim_note("auth", e->client, status, s->len);
	return status;
}

static void auth_end(void *exchange)
{
	struct exchange *e = exchange;

	if (e->busy)
		sim_fail("auth: ended amid a step");
	sim->exchanges--;
	sim_free(e);
}

const struct rt_auth_ops sim_auth_ops = { auth_start, auth_step, auth_end };
