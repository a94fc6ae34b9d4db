/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bk_server - what Ganesha does with back channels
 *
 * A session has one CLIENT at a time, which whoever sends by it keeps for as long. It
 * is made while the Call is executed that makes the session, or binds a connection to
 * one that has none.
 *
 * Threads: workers of the platform's.
 */
#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "bk.h"
#include "transport/core/connection.h"

#define PROG 0x40000000
#define VERS 1

/* ---- Workers ---------------------------------------------------------------- */

static void push(struct bks_job j)
{
	if (bks.njobs == BKS_JOBS)
		sim_fail("model: too many jobs");
	bks.job[(bks.first + bks.njobs++) % BKS_JOBS] = j;
	bks_progress++;
}

void *bks_work(void *arg)
{
	while (!bks.stop || bks.njobs) {
		struct bks_job j;

		if (!bks.njobs) {
			platform_yield();
			continue;
		}
		j = bks.job[bks.first];
		bks.first = (bks.first + 1) % BKS_JOBS;
		bks.njobs--;
		bks_progress++;
		j.run(&j);
		bks_progress++;
	}
	return NULL;
}

static void run_resumed(struct bks_job *j)
{
	if (j->req->rq_resume_cb(j->req) != XPRT_SUSPEND)
		sim_fail("model: a worker does more with a request");
}

void bks_resume(struct svc_req *req)
{
	push((struct bks_job){ .run = run_resumed, .req = req });
}

/* ---- Callbacks -------------------------------------------------------------- */

struct bks_call *bks_find(uint32_t id)
{
	struct bks_call *b = &bks.call[id % BKS_CALLS];

	return id && b->id == id ? b : NULL;
}

static struct bks_call *call_new(void)
{
	for (unsigned int i = 0; i < BKS_CALLS; i++) {
		uint32_t id = ++bks.next_id;
		struct bks_call *b = &bks.call[id % BKS_CALLS];

		if (b->id && !b->over)
			continue;
		memset(b, 0, sizeof(*b));
		b->id = id;
		return b;
	}
	return NULL;
}

static void freed(struct clnt_req *cc, size_t size COMPAT_FREE_PARAMETERS)
{
	struct bks_call *b = (struct bks_call *)(void *)cc;

	if (b->over)
		sim_fail("answered: callback %u is freed twice", b->id);
	b->over = true;
}

/* It has waited so long at least, ms, when it was told that its time is over. */
static uint64_t least(const struct bks_call *b)
{
	uint64_t patience = rt_instance_config(bks.server)->reverse_ms;

	if (b->of->ended || bks.closed)
		return 0;
	return b->timeout < patience ? b->timeout : patience;
}

static void judge(struct bks_call *b)
{
	enum clnt_stat stat = b->req.cc_error.re_status;

	sim_note("ends", b->id, stat, b->result);
	if (b->processed)
		sim_fail("answered: callback %u is processed twice", b->id);
	b->processed = true;
	bks.w->rpcs_done++;
	if (stat == RPC_SUCCESS) {
		if (!b->answered || b->result != b->said)
			sim_fail("data: callback %u gives %u and not %u%s",
				 b->id, b->result, b->said,
				 b->answered ? "" : ", nobody has answered");
		bks.w->rpcs_right++;
		return;
	}
	if (stat == RPC_TIMEDOUT && platform_ms() + 1 < b->sent + least(b))
		sim_fail(
			"early: callback %u has timed out after %llu ms of %llu",
			b->id, (unsigned long long)(platform_ms() - b->sent),
			(unsigned long long)b->timeout);
	if (bks.w->calm && (b->how == BKS_ANSWER || b->how == BKS_HOLD) &&
	    !b->of->ended)
		sim_fail("calm: callback %u ends with %u, errno %d", b->id,
			 stat, b->req.cc_error.re_errno);
}

static void processed(struct clnt_req *cc)
{
	struct bks_call *b = (struct bks_call *)(void *)cc;

	judge(b);
	bc_req_release(cc);
}

static void fill(struct bks_call *b, struct bks_session *s, CLIENT *clnt,
		 struct draw *d)
{
	/* As far as there is nothing to fail. */
	static const unsigned int hows[] = { BKS_ANSWER, BKS_ANSWER, BKS_HOLD,
					     BKS_HOLD, BKS_DELAY };

	b->of = s;
	b->session = be32_get(s->id);
	b->arg = b->id;
	b->how = draw_one_in(d, 4) && !bks.w->calm ? draw_below(d, BKS_HOWS) :
						     DRAW_OF(d, hows);
	b->delays = 1 + draw_below(d, 3);
	clnt_req_fill(&b->req, clnt, bks.auth, (rpcproc_t)b->how,
		      (xdrproc_t)xdr_u_int, &b->arg, (xdrproc_t)xdr_u_int,
		      &b->result);
	b->req.cc_free_cb = freed;
}

static void send_one(struct bks_session *s, CLIENT *clnt, struct draw *d)
{
	static const uint32_t timeouts[] = { 50, 3000, 3000, 30000, 200000 };
	struct bks_call *b = call_new();
	struct timespec timeout;
	enum clnt_stat stat;

	if (!b)
		return;
	fill(b, s, clnt, d);
	b->waits = draw_one_in(d, 6);
	b->timeout = bks.w->calm ? 200000 : DRAW_OF(d, timeouts);
	timeout = (struct timespec){
		.tv_sec = (time_t)(b->timeout / 1000),
		.tv_nsec = (long)(b->timeout % 1000) * 1000000,
	};
	b->sent = platform_ms();
	bks.w->rpcs_submitted++;
	sim_note("send", b->id, b->how, b->timeout);
	if (bc_req_setup(&b->req, timeout) != RPC_SUCCESS)
		sim_fail("model: bc_req_setup()");
	if (b->waits) {
		bc_req_wait_reply(&b->req);
		judge(b);
		bc_req_release(&b->req);
		return;
	}
	b->req.cc_process_cb = processed;
	stat = bc_req_callback(&b->req);
	if (stat == RPC_SUCCESS)
		return;
	sim_note("unsent", b->id, stat, 0);
	if (b->processed)
		sim_fail("answered: callback %u is processed and not sent",
			 b->id);
	bc_req_release(&b->req);
}

static void run_send(struct bks_job *j)
{
	struct draw d = draw_from(j->salt, 3);
	struct bks_session *s = j->session;
	CLIENT *clnt = s->clnt;

	/* The session may be another by now, or have no CLIENT any more. */
	if (!clnt || s->ended)
		return;
	CLNT_REF(clnt, CLNT_REF_FLAG_NONE);
	send_one(s, clnt, &d);
	CLNT_RELEASE(clnt, CLNT_RELEASE_FLAG_NONE);
}

void bks_send(struct bks_session *s, struct draw *d)
{
	push((struct bks_job){
		.run = run_send, .session = s, .salt = draw(d) });
}

/* ---- Calls ------------------------------------------------------------------ */

struct answer {
	struct rt_reply reply;
	struct rt_piece piece;
	uint8_t words[28];
};

static void answer_gone(void *arg)
{
	sim_free(arg);
}

static void reply(struct rt_call *call, uint32_t flags)
{
	struct answer *a = sim_alloc(sizeof(*a));

	be32_put(a->words, call->xid);
	be32_put(a->words + 4, 1);
	be32_put(a->words + 24, flags);
	a->piece = (struct rt_piece){ a->words, sizeof(a->words), NULL };
	a->reply = (struct rt_reply){
		.pieces = &a->piece, .npieces = 1, .done = answer_gone, .arg = a
	};
	rt_reply(call, &a->reply);
}

void bks_forget(struct bks_session *s)
{
	CLIENT *clnt = s->clnt;

	s->clnt = NULL;
	if (clnt)
		CLNT_DESTROY(clnt);
}

/* The session has a CLIENT from now on, if it can have one. */
static void make_client(struct bks_session *s, struct rt_conn *rc,
			struct draw *d)
{
	CLIENT *clnt = bc_client_create(bks.back, rc, &bks.xprt, PROG, VERS);
	CLIENT *old;

	if (!clnt)
		return;
	if (CLNT_FAILURE(clnt)) {
		sim_note("no", clnt->cl_error.re_status,
			 (uint64_t)clnt->cl_error.re_errno, 0);
		CLNT_DESTROY(clnt);
		return;
	}
	old = s->clnt;
	s->clnt = clnt;
	if (old)
		CLNT_DESTROY(old);
	/* Before the client knows of its session. */
	if (draw_one_in(d, 3))
		bks_send(s, d);
}

static void take_time(struct draw *d)
{
	unsigned int n = draw_one_in(d, 3) ? draw_below(d, 60) : 0;

	for (; n; n--) {
		bks_progress++;
		platform_yield();
	}
}

static struct bks_session *session_of(const uint8_t *words)
{
	struct bks_session *s =
		&bks.session[be32_get(words + 40) % BKS_SESSIONS];

	return s->used && !memcmp(words + 44, s->id, 4) ? s : NULL;
}

static void execute(struct bks_job *j, enum bks_op op, struct bks_session *s)
{
	struct bc_reply says = { .event = ULB_SESSION_NONE };
	struct rt_conn *rc = j->call->conn;
	struct draw d = draw_from(j->salt, 4);
	uint32_t flags = 0;

	if (s)
		memcpy(says.id, s->id, ULB_SESSION_ID);
	switch (s && !s->ended ? op : BKS_NOTHING) {
	case BKS_CREATE:
		if (!draw_one_in(&d, 8))
			make_client(s, rc, &d);
		take_time(&d);
		/* It has thought better of it. */
		if (draw_one_in(&d, 10) && !bks.w->calm)
			bks_forget(s);
		says.event = ULB_SESSION_BACK;
		says.call_max = 4096;
		break;
	case BKS_BIND:
		if (!s->clnt && draw_one_in(&d, 2))
			make_client(s, rc, &d);
		take_time(&d);
		if (bc_can_bind(bks.back, s->id, rc))
			says.event = ULB_SESSION_BACK;
		break;
	case BKS_DESTROY:
		s->ended = true;
		says.event = ULB_SESSION_ENDED;
		break;
	case BKS_LONE:
		/* A CREATE_SESSION whose Reply cannot be read. */
		make_client(s, rc, &d);
		break;
	default:
		break;
	}
	if (s)
		flags = bc_session_flags(bks.back, says.id);
	rt_conn_get(rc);
	bc_reply_begin(bks.back, &says, rc);
	j->conn->held--;
	reply(j->call, flags);
	take_time(&d);
	bc_reply_sent(bks.back, &says, rc);
	rt_conn_put(rc);
	/* Unless that has ended, and may be another by now. */
	if (says.channel)
		s->on = j->conn->s == rc ? j->conn : NULL;
	if (says.event == ULB_SESSION_ENDED)
		bks_forget(s);
}

static void run_call(struct bks_job *j)
{
	struct bks_session *s;
	uint8_t words[48];
	size_t at = 0;

	for (unsigned int i = 0; i < j->call->npieces; i++) {
		memcpy(words + at, j->call->pieces[i].addr,
		       j->call->pieces[i].len);
		at += j->call->pieces[i].len;
	}
	s = session_of(words);
	/* Which of two is done first its client cannot know. */
	if (s && s->busy++)
		s->raced = true;
	rt_call_begin(j->call);
	execute(j, be32_get(words + 20), s);
	if (s)
		s->busy--;
}

static void on_call(struct rt_conn *rc, struct rt_call *call)
{
	struct bks_conn *c = rt_conn_user(rc);

	if (call->len != 48)
		sim_fail("data: a Call of %zu octets", call->len);
	sim_note("take", call->xid, 0, 0);
	c->held++;
	push((struct bks_job){ .run = run_call,
			       .call = call,
			       .conn = c,
			       .salt = draw_mix(call->xid) ^ bks.w->opt.seed });
}

/* ---- Connections ------------------------------------------------------------ */

static void *on_open(struct rt_conn *rc, void *ctx, bool *refuse)
{
	struct fab_conn *peer = loop_peer(rc->fab);

	for (unsigned int i = 0; i < BKS_CONNS; i++) {
		struct bks_conn *c = &bks.conn[i];

		if (!c->used || !c->c || c->s || c->c->fab != peer)
			continue;
		c->s = rc;
		return c;
	}
	/* Who wanted to connect has gone. */
	*refuse = true;
	return ctx;
}

static void on_closed(struct rt_conn *rc, int error, const char *reason)
{
	struct bks_conn *c = rt_conn_user(rc);

	sim_note("closed", (uint64_t)(c - bks.conn), (uint64_t)error, 0);
	sim_log("a server's end: %d, %s", error, reason);
	bks_progress++;
	bc_conn_closed(bks.back, rc);
	c->s = NULL;
	rt_conn_put(rc);
}

const struct rt_ops bks_server_ops = {
	.open = on_open,
	.call = on_call,
	.closed = on_closed,
};
