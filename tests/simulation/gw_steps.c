/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_steps - what can happen in one step of a world with a gateway
 *
 * Threads: one.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "gw.h"
#include "transport/core/connection.h"

/* ---- Choosing -------------------------------------------------------------- */

static struct gws_client *some_client(struct draw *d)
{
	unsigned int from = draw_below(d, GWS_CLIENTS);

	for (unsigned int i = 0; i < GWS_CLIENTS; i++) {
		struct gws_client *c = &gws.client[(from + i) % GWS_CLIENTS];

		if (c->net)
			return c;
	}
	return NULL;
}

/* One that can send. */
static struct gws_client *some_sender(struct draw *d)
{
	struct gws_client *c = some_client(d);

	return c && !c->shut && !c->spoiled ? c : NULL;
}

static struct gws_conn *some_conn(struct draw *d)
{
	unsigned int from = draw_below(d, GWS_CONNS);

	for (unsigned int i = 0; i < GWS_CONNS; i++) {
		struct gws_conn *c = &gws.conn[(from + i) % GWS_CONNS];

		if (c->c)
			return c;
	}
	return NULL;
}

static struct gws_server *some_server(struct draw *d)
{
	return &gws.server[draw_below(d, gws.nservers)];
}

/* ---- Running --------------------------------------------------------------- */

static void run(struct draw *d)
{
	unsigned int n = platform_threads();

	if (n)
		platform_resume(draw_below(d, n));
}

static void serve(struct draw *d)
{
	struct gws_server *s = some_server(d);

	if (s->inst)
		rt_run(s->inst, 0, 0);
}

static void rest(struct draw *d)
{
	gws_run_quiet();
}

static void calm_down(struct draw *d)
{
	gws_run_quiet();
	if (!gws.w->calm)
		return;
	/* Nobody is late. */
	for (unsigned int i = 0; i < GWS_BACKS; i++)
		if (gws.back[i].waits)
			gws_answer_back(&gws.back[i], d);
	gws_flush();
	gws_run_quiet();
}

static void pass(struct draw *d)
{
	static const uint32_t up_to[] = { 10, 100, 100, 1000, 3000, 70000 };
	uint32_t ms = 1 + draw_below(d, DRAW_OF(d, up_to));

	if (!gws.w->calm) {
		platform_pass(ms);
		sim_note("pass", ms, 0, 0);
		return;
	}
	ms = MIN(ms, 3000u);
	for (; ms > 100; ms -= 100) {
		calm_down(d);
		platform_pass(100);
	}
	calm_down(d);
	platform_pass(ms);
	sim_note("pass", ms, 0, 0);
	calm_down(d);
}

/* ---- Clients --------------------------------------------------------------- */

static void join(struct draw *d)
{
	gws_connect(d);
}

static void call(struct draw *d)
{
	struct gws_client *c = some_sender(d);

	if (c && c->waiting < 40)
		gws_send(c, d);
}

static void call_many(struct draw *d)
{
	struct gws_client *c = some_sender(d);

	for (unsigned int n = draw_range(d, 2, 12); c && n; n--)
		if (c->waiting < 40)
			gws_send(c, d);
}

static void arrive(struct draw *d)
{
	static const uint32_t up_to[] = { 4, 100, 5000, 200000 };
	struct gws_client *c = some_client(d);

	if (c)
		net_arrive(c->net, 1 + draw_below(d, DRAW_OF(d, up_to)));
}

static void arrive_all(struct draw *d)
{
	struct gws_client *c = some_client(d);

	if (c)
		net_arrive(c->net, SIZE_MAX);
}

static void take(struct draw *d)
{
	struct gws_client *c = some_client(d);

	if (c && c->reads)
		gws_take(c, draw_one_in(d, 2) ? SIZE_MAX :
						1 + draw_below(d, 3000));
}

static void stall(struct draw *d)
{
	struct gws_client *c = some_client(d);

	if (c)
		c->reads = draw_one_in(d, 3);
}

static void shut(struct draw *d)
{
	struct gws_client *c = some_sender(d);

	if (!c)
		return;
	sim_note("shut", c->index, c->waiting, 0);
	c->shut = true;
	net_shut(c->net);
}

static void reset(struct draw *d)
{
	struct gws_client *c = some_client(d);

	if (!c)
		return;
	sim_note("reset", c->index, c->waiting, 0);
	c->was_reset = true;
	gws_gone(c);
}

static void again(struct draw *d)
{
	struct gws_client *c = some_sender(d);

	if (c)
		gws_again(c, d);
}

static void spoil(struct draw *d)
{
	struct gws_client *c = some_sender(d);

	if (c)
		gws_spoil(c, d);
}

static void answer_back(struct draw *d)
{
	unsigned int from = draw_below(d, GWS_BACKS);

	for (unsigned int i = 0; i < GWS_BACKS; i++) {
		struct gws_back *b = &gws.back[(from + i) % GWS_BACKS];

		if (b->rq && b->waits) {
			gws_answer_back(b, d);
			return;
		}
	}
}

/* ---- Servers --------------------------------------------------------------- */

static void answer(struct draw *d)
{
	if (gws.nheld)
		gws_answer(draw_below(d, gws.nheld));
}

static void answer_all(struct draw *d)
{
	while (gws.nheld)
		gws_answer(draw_below(d, gws.nheld));
}

static void slow(struct draw *d)
{
	some_server(d)->holds = !draw_one_in(d, 3);
}

static void call_back(struct draw *d)
{
	struct gws_conn *c = some_conn(d);

	if (c)
		gws_call_back(c, d);
}

/* ---- What goes wrong ------------------------------------------------------- */

static void drop(struct draw *d)
{
	if (gws.nheld)
		gws_drop(draw_below(d, gws.nheld));
}

static void close_conn(struct draw *d)
{
	struct gws_conn *c = some_conn(d);

	if (!c)
		return;
	sim_note("close", c->server->index, c->held, 0);
	rt_conn_close(c->c, draw_one_in(d, 2));
}

static void break_conn(struct draw *d)
{
	static const int errors[] = { -ECONNRESET, -ETIMEDOUT, -EPROTO,
				      -ENETRESET };
	struct gws_conn *c = some_conn(d);
	int error = DRAW_OF(d, errors);

	if (!c || !c->c->fab)
		return;
	sim_note("break", c->server->index, (uint64_t)error, 0);
	loop_break(c->c->fab, error);
}

static void faults(struct draw *d)
{
	struct gws_conn *c = some_conn(d);
	struct fab_conn *end;
	struct loop_faults f = { 0 };

	if (!c || !c->c->fab)
		return;
	end = draw_one_in(d, 2) ? c->c->fab : loop_peer(c->c->fab);
	if (!end)
		return;
	switch (draw_below(d, 4)) {
	case 0:
		f.delay_polls = draw_below(d, 20);
		break;
	case 1:
		f.refuse_post = 1 + draw_below(d, 60);
		break;
	case 2:
		f.fail_request = 1 + draw_below(d, 100);
		break;
	case 3:
		f.break_after_octets = 1 + draw_below(d, 500000);
		break;
	}
	sim_note("fault", f.delay_polls, f.refuse_post, f.fail_request);
	loop_set_conn_faults(end, &f);
}

static void deaf(struct draw *d)
{
	struct loop_faults f = gws.w->faults;

	f.reject_connects = draw_one_in(d, 3);
	f.ignore_connects = draw_one_in(d, 4);
	sim_note("deaf", f.reject_connects, f.ignore_connects, 0);
	loop_set_faults(gws.w->dom, LOOP_ACTIVE, &f);
}

static void shortage(struct draw *d)
{
	struct loop_shortage *s = loop_shortage(gws.w->dom);
	uint32_t n = draw_below(d, 6);

	gws.w->short_of = true;
	switch (draw_below(d, 4)) {
	case 0:
		atomic_store(&s->regs, n);
		break;
	case 1:
		atomic_store(&s->windows, n);
		break;
	case 2:
		gws.w->lacks_receives = true;
		atomic_store(&s->recvs, n * 3);
		break;
	case 3:
		net_short_of_descriptors(n);
		break;
	}
	sim_note("short", n, 0, 0);
}

static void no_memory(struct draw *d)
{
	platform_fail_alloc(1 + draw_below(d, draw_one_in(d, 2) ? 3 : 40));
}

static void no_buffer(struct draw *d)
{
	platform_fail_pool(1 + draw_below(d, draw_one_in(d, 2) ? 3 : 40));
}

static void restart(struct draw *d)
{
	struct gws_server *s = some_server(d);

	if (s->inst && draw_one_in(d, 3))
		gws_server_crash(s);
	else if (!s->inst)
		gws_server_start(s);
}

/* ---- All of them ----------------------------------------------------------- */

static const struct sim_action actions[] = {
	{ "run", 600, run, false, true },
	{ "serve", 200, serve, false, true },
	{ "rest", 40, rest, false, true },
	{ "pass", 20, pass, false, true },
	{ "connect", 25, join, false, true },
	{ "call", 150, call, false, true },
	{ "arrive", 100, arrive, false, true },
	{ "all", 80, arrive_all, false, true },
	{ "take", 150, take, false, true },
	{ "answer", 60, answer, false, true },
	{ "answers", 6, answer_all, false, true },
	{ "many", 20, call_many, false, false },
	{ "slow", 10, slow, false, false },
	{ "callback", 20, call_back, false, false },
	{ "back", 20, answer_back, false, true },
	{ "shut", 4, shut, false, false },
	{ "reset", 3, reset, false, false },
	{ "again", 6, again, false, false },
	{ "spoil", 3, spoil, false, false },
	{ "stall", 8, stall, true, false },
	{ "drop", 2, drop, true, false },
	{ "close", 3, close_conn, true, false },
	{ "break", 4, break_conn, true, false },
	{ "fault", 3, faults, true, false },
	{ "deaf", 2, deaf, true, false },
	{ "shortage", 3, shortage, true, false },
	{ "memory", 4, no_memory, true, false },
	{ "buffer", 4, no_buffer, true, false },
	{ "restart", 3, restart, true, false },
};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

unsigned int gws_kinds(void)
{
	return ACTIONS;
}

void gws_step(unsigned int i)
{
	sim_act(i, actions, ACTIONS);
	gws_check(GWS_STEP);
}
