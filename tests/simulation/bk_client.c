/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bk_client - clients with sessions, which are called back
 *
 * Threads: one.
 */
#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "bk.h"

/* RPC head without credentials, operation, place and number of the session. */
#define WORDS 12
#define CALLBACK_WORDS 11

/* ---- Calls to the server ---------------------------------------------------- */

struct forward {
	struct rt_piece piece;
	struct bks_session *made; /* it is known once there is a Reply */
	struct bks_conn *conn;
	uint8_t words[4 * WORDS];
};

struct bks_session *bks_new_session(void)
{
	for (unsigned int i = 0; i < BKS_SESSIONS; i++) {
		struct bks_session *s = &bks.session[i];

		if (s->used)
			continue;
		memset(s, 0, sizeof(*s));
		s->used = true;
		be32_put(s->id, ++bks.sessions);
		be32_put(s->id + 8, i);
		return s;
	}
	return NULL;
}

static void forward_done(struct rt_request *rq)
{
	struct forward *f = *(struct forward **)rt_request_user(rq);

	sim_note("done", rq->xid, (uint64_t)rq->status, 0);
	f->conn->calls--;
	if (f->made && !rq->status)
		f->made->known = true;
	else if (f->made)
		f->made->lost = true;
	bks_progress++;
	sim_free(f);
	rt_request_free(rq);
}

void bks_call_server(struct bks_conn *c, enum bks_op op, struct bks_session *s)
{
	struct rt_request *rq = rt_request_alloc(bks.client[c->client]);
	struct forward *f;

	if (!rq)
		return;
	f = sim_alloc(sizeof(*f));
	f->conn = c;
	f->piece = (struct rt_piece){ f->words, sizeof(f->words), NULL };
	rq->xid = ++bks.xid;
	be32_put(f->words, rq->xid);
	be32_put(f->words + 8, 2);
	be32_put(f->words + 12, 100003);
	be32_put(f->words + 16, 4);
	be32_put(f->words + 20, op);
	be32_put(f->words + 40, s ? (uint32_t)(s - bks.session) : 0);
	if (s)
		memcpy(f->words + 44, s->id, 4);
	if (s)
		s->alone |= op == BKS_LONE;
	f->made = op == BKS_CREATE || op == BKS_LONE ? s : NULL;
	rq->pieces = &f->piece;
	rq->npieces = 1;
	rq->reply_max = 100;
	rq->done = forward_done;
	*(struct forward **)rt_request_user(rq) = f;
	c->calls++;
	sim_note("call", op, s ? (uint64_t)(s - bks.session) : 99, rq->xid);
	rt_request_submit(c->c, rq);
}

/* ---- Callbacks -------------------------------------------------------------- */

struct answer {
	struct rt_reply reply;
	struct rt_piece piece;
	uint8_t words[4 * 16];
};

static void answer_gone(void *arg)
{
	sim_free(arg);
}

static void reply(struct rt_call *call, const uint32_t *words, unsigned int n)
{
	struct answer *a = sim_alloc(sizeof(*a));

	be32_put(a->words, call->xid);
	be32_put(a->words + 4, 1);
	for (unsigned int i = 0; i < n; i++)
		be32_put(a->words + 8 + (size_t)4 * i, words[i]);
	a->piece = (struct rt_piece){ a->words, 8 + (size_t)4 * n, NULL };
	a->reply = (struct rt_reply){
		.pieces = &a->piece, .npieces = 1, .done = answer_gone, .arg = a
	};
	rt_reply(call, &a->reply);
}

/* A CB_COMPOUND that ends with its CB_SEQUENCE. */
static void reply_sequence(struct rt_call *call, struct bks_call *b,
			   uint32_t status)
{
	const uint32_t words[] = { 0, 0, 0, 0, status, 0, 1, 11, status };

	b->answered = true;
	b->said = status;
	reply(call, words, 9);
}

static void answer(struct rt_call *call, struct bks_call *b)
{
	const uint32_t good[] = { 0, 0, 0, 0, b ? b->arg + 1 : 0 };
	const uint32_t denied[] = { 1, 1, 5 };

	sim_note("answer", b ? b->id : 0, b ? b->how : 99, call->xid);
	switch (b ? b->how : BKS_ANSWER) {
	case BKS_DELAY:
		if (b->delays) {
			b->delays--;
			b->on_this--;
			reply_sequence(call, b, ULB_NFS4ERR_DELAY);
			return;
		}
		break;
	case BKS_MISORDER:
		reply_sequence(call, b, 10063);
		return;
	case BKS_DENY:
		reply(call, denied, 3);
		return;
	case BKS_GARBAGE:
		reply(call, good, 4);
		return;
	case BKS_REFUSE:
		rt_call_refuse(call, RDMA2_ERR_BAD_XDR);
		return;
	case BKS_DROP:
		rt_call_drop(call);
		return;
	default:
		break;
	}
	if (b) {
		b->answered = true;
		b->said = b->arg + 1;
	}
	reply(call, good, 5);
}

void bks_answer(unsigned int i)
{
	struct bks_held h = bks.held[i];

	bks.held[i] = bks.held[--bks.nheld];
	answer(h.call, bks_find(h.id));
}

/* Does the server take it for one of no session? So it is if no Reply has named that, or
 * not while its callbacks waited. */
static bool is_nameless(const struct bks_call *b)
{
	const struct bc_client *client =
		(struct bc_client *)(void *)b->req.cc_clnt;

	return !b->over && !client->channel->named;
}

/* In the order in which they were made, and not before their session is known; but for
 * those that somebody waits for, which are not parked, and those of no session, which
 * wait for no others. With threads that lose the processor nobody can tell which was
 * first. */
static void check_order(const struct bks_call *b)
{
	struct bks_session *s = b->of;

	if (b->session != be32_get(s->id))
		return;
	if (bks.w->calm && !b->waits && !s->known && !s->alone && !s->lost)
		sim_fail("order: callback %u comes before its session is known",
			 b->id);
	if (b->delivered > 1 || b->waits || bks.preempts)
		return;
	s->alone |= is_nameless(b);
	if (s->alone)
		return;
	if (b->id < s->latest)
		sim_fail("order: callback %u comes after %u", b->id, s->latest);
	s->latest = b->id;
}

static void on_call(struct rt_conn *rc, struct rt_call *call)
{
	struct bks_conn *c = rt_conn_user(rc);
	uint8_t words[4 * CALLBACK_WORDS];
	struct bks_call *b;
	size_t at = 0;

	for (unsigned int i = 0; i < call->npieces && at < sizeof(words); i++) {
		size_t n = call->pieces[i].len;

		n = n < sizeof(words) - at ? n : sizeof(words) - at;
		memcpy(words + at, call->pieces[i].addr, n);
		at += n;
	}
	if (at != sizeof(words) || call->len != sizeof(words) ||
	    be32_get(words) != call->xid || be32_get(words + 4) ||
	    be32_get(words + 12) != 0x40000000 || !call->reverse)
		sim_fail("data: a callback of %zu octets", call->len);
	b = bks_find(be32_get(words + 40));
	sim_note("back", be32_get(words + 40), call->xid,
		 (uint64_t)(c - bks.conn));
	bks_progress++;
	if (b) {
		uint64_t conn = rt_conn_id(rc) << 2 | c->client;

		if (b->conn != conn)
			b->on_this = 0;
		b->conn = conn;
		b->delivered++;
		if (++b->on_this > 1)
			sim_fail(
				"twice: callback %u comes %u times, %u by this connection",
				b->id, b->delivered, b->on_this);
		check_order(b);
		if (be32_get(words + 20) != (uint32_t)b->how)
			sim_fail("data: callback %u is another", b->id);
	}
	if (b && b->how == BKS_HOLD && bks.nheld < BKS_HELD) {
		bks.held[bks.nheld++] = (struct bks_held){ call, c, b->id };
		return;
	}
	answer(call, b);
}

/* ---- Connections ------------------------------------------------------------ */

static void on_up(struct rt_conn *rc)
{
	struct bks_conn *c = rt_conn_user(rc);

	c->up = true;
}

static void on_closed(struct rt_conn *rc, int error, const char *reason)
{
	struct bks_conn *c = rt_conn_user(rc);

	sim_note("closed", (uint64_t)(c - bks.conn), (uint64_t)error, 1);
	bks_progress++;
	c->c = NULL;
	rt_conn_put(rc);
}

const struct rt_ops bks_client_ops = {
	.established = on_up,
	.call = on_call,
	.closed = on_closed,
};
