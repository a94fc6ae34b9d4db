/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bk_steps - what can happen in one step of a world with back channels
 *
 * Threads: one.
 */
#include <errno.h>

#include "bk.h"
#include "transport/core/connection.h"

/* ---- Choosing -------------------------------------------------------------- */

static struct bks_conn *some_conn(struct draw *d)
{
	unsigned int from = draw_below(d, BKS_CONNS);

	for (unsigned int i = 0; i < BKS_CONNS; i++) {
		struct bks_conn *c = &bks.conn[(from + i) % BKS_CONNS];

		if (c->used && c->c)
			return c;
	}
	return NULL;
}

static struct bks_session *some_session(struct draw *d)
{
	unsigned int from = draw_below(d, BKS_SESSIONS);

	for (unsigned int i = 0; i < BKS_SESSIONS; i++) {
		struct bks_session *s = &bks.session[(from + i) % BKS_SESSIONS];

		if (s->used && s->known)
			return s;
	}
	return NULL;
}

/* ---- Running --------------------------------------------------------------- */

static void run(struct draw *d)
{
	struct rt_instance *const all[] = { bks.server, bks.server,
					    bks.client[0], bks.client[1] };

	rt_run(DRAW_OF(d, all), 0, 0);
}

static void thread(struct draw *d)
{
	unsigned int n = platform_threads();

	if (n)
		platform_resume(draw_below(d, n));
}

static void rest(struct draw *d)
{
	bks_run_quiet();
}

static void pass(struct draw *d)
{
	static const uint32_t up_to[] = { 10,	100,  100,   300,
					  1000, 3000, 15000, 400000 };
	uint32_t ms = 1 + draw_below(d, DRAW_OF(d, up_to));

	if (bks.w->calm) {
		/* Nobody is late. */
		ms %= 3000;
		while (bks.nheld)
			bks_answer(0);
		bks_run_quiet();
	}
	sim_note("pass", ms, 0, 0);
	platform_pass(ms);
	if (bks.w->calm)
		bks_run_quiet();
}

/* ---- Clients --------------------------------------------------------------- */

static void join(struct draw *d)
{
	bks_connect(draw_below(d, BKS_CLIENTS));
}

static void ask(struct draw *d, enum bks_op op, struct bks_session *s)
{
	struct bks_conn *c = some_conn(d);

	if (c && c->up && c->calls < 8)
		bks_call_server(c, op, s);
}

static void create(struct draw *d)
{
	struct bks_session *s = bks_new_session();

	if (s)
		ask(d, BKS_CREATE, s);
}

static void bind_conn(struct draw *d)
{
	struct bks_session *s = some_session(d);

	if (s)
		ask(d, BKS_BIND, s);
}

static void end(struct draw *d)
{
	struct bks_session *s = some_session(d);

	if (s)
		ask(d, BKS_DESTROY, s);
}

static void lone(struct draw *d)
{
	struct bks_session *s = bks_new_session();

	if (s)
		ask(d, BKS_LONE, s);
}

static void nothing(struct draw *d)
{
	ask(d, BKS_NOTHING, some_session(d));
}

static void answer(struct draw *d)
{
	if (bks.nheld)
		bks_answer(draw_below(d, bks.nheld));
}

/* ---- The server ------------------------------------------------------------ */

static void call_back(struct draw *d)
{
	struct bks_session *s = some_session(d);

	if (s)
		bks_send(s, d);
}

static void call_back_often(struct draw *d)
{
	struct bks_session *s = some_session(d);

	for (unsigned int n = draw_range(d, 2, 40); s && n; n--)
		bks_send(s, d);
}

/* As when a lease runs out. */
static void forget(struct draw *d)
{
	struct bks_session *s = some_session(d);

	if (s && !bks.w->calm)
		bks_forget(s);
}

/* ---- What goes wrong ------------------------------------------------------- */

static void close_conn(struct draw *d)
{
	struct bks_conn *c = some_conn(d);

	if (!c)
		return;
	sim_note("close", (uint64_t)(c - bks.conn), 0, 0);
	if (c->s && draw_one_in(d, 2))
		rt_conn_close(c->s, draw_one_in(d, 2));
	else
		rt_conn_close(c->c, draw_one_in(d, 2));
}

static void break_conn(struct draw *d)
{
	static const int errors[] = { -ECONNRESET, -ETIMEDOUT, -EPROTO };
	struct bks_conn *c = some_conn(d);
	int error = DRAW_OF(d, errors);

	if (!c || !c->c->fab)
		return;
	sim_note("break", (uint64_t)(c - bks.conn), (uint64_t)error, 0);
	loop_break(c->c->fab, error);
}

static void faults(struct draw *d)
{
	struct bks_conn *c = some_conn(d);
	struct loop_faults f = { 0 };

	if (!c || !c->s || !c->s->fab)
		return;
	if (draw_one_in(d, 2))
		f.delay_polls = draw_below(d, 20);
	else
		f.fail_request = 1 + draw_below(d, 60);
	sim_note("fault", f.delay_polls, f.fail_request, 0);
	loop_set_conn_faults(c->s->fab, &f);
}

static void no_memory(struct draw *d)
{
	platform_fail_alloc(1 + draw_below(d, draw_one_in(d, 2) ? 3 : 40));
}

static void no_buffer(struct draw *d)
{
	platform_fail_pool(1 + draw_below(d, draw_one_in(d, 2) ? 3 : 40));
}

/* ---- All of them ----------------------------------------------------------- */

static const struct sim_action actions[] = {
	{ "run", 300, run, false, true },
	{ "thread", 300, thread, false, true },
	{ "rest", 30, rest, false, true },
	{ "pass", 25, pass, false, true },
	{ "connect", 20, join, false, true },
	{ "create", 30, create, false, true },
	{ "bind", 40, bind_conn, false, true },
	{ "end", 8, end, false, false },
	{ "lone", 8, lone, false, false },
	{ "nothing", 10, nothing, false, false },
	{ "answer", 60, answer, false, true },
	{ "callback", 100, call_back, false, true },
	{ "often", 8, call_back_often, false, false },
	{ "forget", 6, forget, true, false },
	{ "close", 10, close_conn, true, false },
	{ "break", 10, break_conn, true, false },
	{ "fault", 3, faults, true, false },
	{ "memory", 4, no_memory, true, false },
	{ "buffer", 4, no_buffer, true, false },
};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

unsigned int bks_kinds(void)
{
	return ACTIONS;
}

void bks_step(unsigned int i)
{
	sim_act(i, actions, ACTIONS);
	bks_check(false);
}
