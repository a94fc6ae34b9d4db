/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_server - the servers behind the gateway
 *
 * Threads: one.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/be.h"
#include "gw.h"

/* ---- Calls ------------------------------------------------------------------ */

struct answer {
	uint8_t *octets;
	struct rt_piece piece[3];
	struct rt_item item[GWS_BULKS];
	unsigned int nitems;
};

static void answer_gone(void *arg)
{
	struct answer *a = arg;

	gws.answers_gone++;
	sim_free(a->octets);
	sim_free(a);
}

static void reply_to(struct rt_call *call, const struct gws_rpc *r)
{
	struct answer *a = sim_alloc(sizeof(*a));
	size_t len = 24, at = 0;
	struct rt_reply reply = {
		.pieces = a->piece,
		.items = a->item,
		.done = answer_gone,
		.arg = a,
	};

	if (r) {
		a->octets = sim_alloc(gws_reply_most(r));
		len = gws_reply(r, a->octets, a->item, &a->nitems);
	} else {
		a->octets = sim_alloc(len);
		be32_put(a->octets, call->xid);
		be32_put(a->octets + 4, 1);
	}
	reply.nitems = a->nitems;
	for (unsigned int i = 0; i < 3; i++) {
		size_t n = i < 2 ? (len - at) / 2 : len - at;

		a->piece[reply.npieces++] =
			(struct rt_piece){ a->octets + at, n, NULL };
		at += n;
	}
	gws.answers++;
	rt_reply(call, &reply);
}

static void finish(struct gws_conn *c, struct rt_call *call, uint64_t id)
{
	struct gws_rpc *r = gws_find(id);

	sim_note("finish", id, call->xid, r ? r->kind : 0);
	c->held--;
	if (r && r->refused) {
		rt_call_refuse(call, RDMA2_ERR_SYSTEM);
		return;
	}
	rt_call_begin(call);
	reply_to(call, r);
}

void gws_answer(unsigned int i)
{
	struct gws_held h = gws.held[i];

	gws.held[i] = gws.held[--gws.nheld];
	finish(h.conn, h.call, h.id);
}

/* It is never answered: its connection must end. */
void gws_drop(unsigned int i)
{
	struct gws_held h = gws.held[i];

	gws.held[i] = gws.held[--gws.nheld];
	sim_note("drop", h.id, 0, 0);
	h.conn->held--;
	if (h.conn->c)
		rt_conn_close(h.conn->c, true);
	rt_call_drop(h.call);
}

static uint8_t *gather(const struct rt_call *call)
{
	uint8_t *to = sim_alloc(call->len);
	size_t at = 0;

	for (unsigned int i = 0; i < call->npieces; i++) {
		memcpy(to + at, call->pieces[i].addr, call->pieces[i].len);
		at += call->pieces[i].len;
	}
	if (at != call->len)
		sim_fail("data: the pieces of a Call are %zu octets of %zu", at,
			 call->len);
	return to;
}

static void wrong(const struct gws_rpc *r, const char *what, size_t len)
{
	sim_fail(
		"data: %s of Call %llu, kind %u: %zu octets sent, %zu come, counts %u and %u, seen as %u and %u",
		what, (unsigned long long)r->id, r->kind, r->len, len,
		r->count[0], r->count[1], r->seen[0], r->seen[1]);
}

/* What was asked for may be less than what the client did, and is the same each
 * time; how a record lay in memory matters, so that another copy may be cut
 * otherwise. */
static void check_counts(struct gws_rpc *r, const uint8_t *p, size_t len)
{
	for (unsigned int i = 0; i < r->nbulks; i++) {
		uint32_t now = r->at[i] + 4 <= len ? be32_get(p + r->at[i]) :
						     UINT32_MAX;

		if (now > r->count[i] ||
		    (now != r->count[i] && (now < 4096 || now % 4096)))
			wrong(r, "a count", len);
		if (r->delivered && r->copies == 1 && r->seen[i] != now)
			wrong(r, "a count, the second time,", len);
		r->seen[i] = now;
	}
}

static void check_call(struct gws_rpc *r, const uint8_t *p, size_t len)
{
	uint8_t *want = sim_alloc(gws_call_most(r));

	check_counts(r, p, len);
	if (gws_call(r, r->seen, want) != len)
		wrong(r, "the length", len);
	if (memcmp(want, p, len))
		wrong(r, "an octet", len);
	sim_free(want);
}

/* How often may the same server see it on one connection? */
static void check_times(struct gws_conn *c, struct gws_rpc *r)
{
	uint64_t conn = (uint64_t)c->server->starts << 32 |
			rt_conn_id(c->c) << 1 | c->server->index;
	unsigned int most = r->copies;

	if (r->conn != conn)
		r->on_this = 0;
	r->conn = conn;
	r->on_this++;
	r->delivered++;
	/* Once with more room for its results, once for the Reply [E5]. */
	if (gws_repeatable(r))
		most += 2;
	if (r->on_this > most || (r->kind == GWS_GSS && r->delivered > most))
		sim_fail(
			"twice: Call %llu, kind %u, sent %u times, comes %u times, %u by this connection",
			(unsigned long long)r->id, r->kind, r->copies,
			r->delivered, r->on_this);
}

static struct gws_rpc *known(struct gws_conn *c, const uint8_t *p, size_t len)
{
	uint64_t id = gws_id_of(p, len);
	struct gws_rpc *r = gws_find(id);

	if (!r)
		return NULL;
	if (be32_get(p) != r->xid)
		sim_fail("data: Call %llu has XID %08x and not %08x",
			 (unsigned long long)id, be32_get(p), r->xid);
	if (c->of && c->of != r->from->serial)
		sim_fail("data: Calls of two clients come by one connection");
	c->of = r->from->serial;
	return r;
}

static void on_call(struct rt_conn *rc, struct rt_call *call)
{
	struct gws_conn *c = rt_conn_user(rc);
	uint8_t *p = gather(call);
	struct gws_rpc *r = known(c, p, call->len);
	uint64_t id = r ? r->id : 0;

	sim_note("take", id, call->len, call->xid);
	c->held++;
	if (r) {
		check_call(r, p, call->len);
		check_times(c, r);
	}
	sim_free(p);
	if (rt_conn_replies_full(rc) && (!r || r->salt % 4)) {
		*(uint64_t *)rt_call_user(call) = id;
		rt_call_wait(call);
		return;
	}
	if (gws.nheld < GWS_HELD &&
	    (c->server->holds || (r && r->salt % 8 == 1))) {
		gws.held[gws.nheld++] =
			(struct gws_held){ .call = call, .conn = c, .id = id };
		return;
	}
	finish(c, call, id);
}

static void on_resume(struct rt_conn *rc, struct rt_call *call)
{
	finish(rt_conn_user(rc), call, *(uint64_t *)rt_call_user(call));
}

/* ---- Connections ------------------------------------------------------------ */

static void *on_open(struct rt_conn *rc, void *ctx, bool *refuse)
{
	struct gws_conn *c = NULL;

	for (unsigned int i = 0; i < GWS_CONNS && !c; i++)
		if (!gws.conn[i].c && !gws.conn[i].held && !gws.conn[i].backs)
			c = &gws.conn[i];
	if (!c) {
		*refuse = true;
		return ctx;
	}
	*c = (struct gws_conn){ .c = rc, .server = ctx };
	sim_note("open", c->server->index, (uint64_t)(c - gws.conn), 0);
	return c;
}

static void on_up(struct rt_conn *rc)
{
	struct gws_conn *c = rt_conn_user(rc);

	c->established = true;
}

static void on_closed(struct rt_conn *rc, int error, const char *reason)
{
	struct gws_conn *c = rt_conn_user(rc);

	sim_note("closed", c->server->index, (uint64_t)error, c->held);
	sim_log("a server's connection ends: %d, %s", error, reason);
	c->c = NULL;
	rt_conn_put(rc);
}

const struct rt_ops gws_ops = {
	.open = on_open,
	.established = on_up,
	.call = on_call,
	.resume = on_resume,
	.closed = on_closed,
};

/* ---- Callbacks -------------------------------------------------------------- */

static void check_reply(const struct gws_back *b)
{
	const struct rt_request *rq = b->rq;
	uint8_t *want = sim_alloc(b->reply_len);
	size_t at = 0;

	gws_pattern(want, ~b->salt, b->reply_len);
	memset(want, 0, 24);
	be32_put(want, b->xid);
	be32_put(want + 4, 1);
	if (rq->reply_len != b->reply_len)
		sim_fail("data: a callback's Reply has %zu octets and not %zu",
			 rq->reply_len, b->reply_len);
	for (unsigned int i = 0; i < rq->nreply; i++) {
		if (memcmp(want + at, rq->reply[i].addr, rq->reply[i].len))
			sim_fail("data: a callback's Reply is another");
		at += rq->reply[i].len;
	}
	sim_free(want);
}

static void back_done(struct rt_request *rq)
{
	struct gws_back *b = *(struct gws_back **)rt_request_user(rq);

	sim_note("done", b->xid, (uint64_t)rq->status, b->answered);
	if (!rq->status) {
		if (!rt_response_is_reply(b->on->c, rq))
			sim_fail("data: no Reply to a callback");
		if (!b->answered)
			sim_fail(
				"answered: a callback that nobody has answered");
		check_reply(b);
	}
	/* It may still be on its way to the client. */
	b->on->backs--;
	b->rq = NULL;
	b->at = NULL;
	b->waits = false;
	rt_request_free(rq);
}

void gws_forget_back(struct gws_back *b)
{
	sim_free(b->piece.addr);
	memset(b, 0, sizeof(*b));
}

static struct gws_back *back_new(void)
{
	for (unsigned int i = 0; i < GWS_BACKS; i++) {
		struct gws_back *b = &gws.back[gws.next_back++ % GWS_BACKS];

		if (b->rq)
			continue;
		gws_forget_back(b);
		return b;
	}
	return NULL;
}

/* Who sends no more cannot answer, and is ended for it. */
static void tell_client(const struct gws_conn *c)
{
	for (unsigned int i = 0; i < GWS_CLIENTS; i++)
		if (gws.client[i].net && gws.client[i].serial == c->of)
			gws.client[i].had_back = true;
}

bool gws_call_back(struct gws_conn *c, struct draw *d)
{
	struct gws_back *b = back_new();
	struct rt_request *rq;
	uint8_t *p;

	/* Not before its client has called (4.6.3). */
	if (!b || !c->c || !c->of || !c->established || !rt_conn_can_call(c->c))
		return false;
	rq = rt_request_alloc(c->server->inst);
	if (!rq)
		return false;
	*b = (struct gws_back){ .rq = rq, .on = c };
	b->salt = draw(d);
	b->xid = (uint32_t)draw(d) | 0x40000000u;
	b->len = 44 + 4 * (size_t)draw_below(d, draw_one_in(d, 3) ? 700 : 150);
	b->reply_len = 24 + 4 * (size_t)draw_below(d, 200);
	p = sim_alloc(b->len);
	gws_pattern(p, b->salt, b->len);
	memset(p, 0, 44);
	be32_put(p, b->xid);
	be32_put(p + 8, 2);
	be32_put(p + 12, 0x40000000);
	be32_put(p + 16, 1);
	be32_put(p + 20, 1);
	be32_put(p + 40, (uint32_t)(b - gws.back));
	b->piece = (struct rt_piece){ p, b->len, NULL };
	*(struct gws_back **)rt_request_user(rq) = b;
	rq->xid = b->xid;
	rq->pieces = &b->piece;
	rq->npieces = 1;
	rq->reply_max = b->reply_len;
	rq->call_max = (uint32_t)b->len;
	rq->done = back_done;
	c->backs++;
	tell_client(c);
	sim_note("callback", b->xid, b->len, b->reply_len);
	rt_request_submit(c->c, rq);
	return true;
}
