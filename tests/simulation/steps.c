/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps - what can happen in one step
 *
 * Threads: one.
 */
#include <errno.h>
#include <string.h>

#include "simulate.h"
#include "transport/core/connection.h"

/* How late a poller may be in a calm world. */
#define LATE_MAX_MS 1000

/* ---- Choosing -------------------------------------------------------------- */

static struct sim_node *some_node(struct draw *d)
{
	struct sim_node *n = &sim->node[draw_below(d, sim->nnodes)];

	return n->inst ? n : NULL;
}

/* A server, or a client. */
static struct sim_node *node_that(struct draw *d, bool server)
{
	struct sim_node *n;

	do
		n = &sim->node[draw_below(d, sim->nnodes)];
	while (n->server != server);
	return n->inst ? n : NULL;
}

/* One that has not closed; NULL: there is none. */
static struct sim_end *some_end(struct draw *d)
{
	unsigned int from = draw_below(d, SIM_ENDS);

	for (unsigned int i = 0; i < sim->nends; i++) {
		struct sim_end *e = &sim->end[(from + i) % sim->nends];

		if (e->busy && !e->closed)
			return e;
	}
	return NULL;
}

static unsigned int open_ends(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < sim->nends; i++)
		n += sim->end[i].busy && !sim->end[i].closed;
	return n;
}

static bool may_call(const struct sim_end *e)
{
	return e->calls_out < 100;
}

static void ask_end(struct sim_end *e, bool abort)
{
	e->asked = sim_peer(e)->asked = true;
	sim_note("close", e->server, abort, e->calls_out);
	rt_conn_close(e->conn, abort);
}

/* ---- Running --------------------------------------------------------------- */

static void run(struct draw *d)
{
	struct sim_node *n = some_node(d);

	if (n)
		sim_note("run", n->index, (uint64_t)rt_run(n->inst, 0, 0), 0);
}

static void resume(struct draw *d)
{
	unsigned int n = platform_threads();

	if (n)
		platform_resume(draw_below(d, n));
}

static void rest(struct draw *d)
{
	sim_run_quiet();
}

static void pass(struct draw *d)
{
	static const uint32_t up_to[] = { 10, 100, 100, 1000, 3000, 70000 };
	uint32_t ms = 1 + draw_below(d, DRAW_OF(d, up_to));

	/* In a calm world one may be late, by less than anybody waits: what has come to
	 * it until it runs has come in time. */
	if (sim->calm) {
		const struct sim_node *late =
			sim->faults.delay_polls ?
				NULL :
				&sim->node[draw_below(d, sim->nnodes)];

		sim_run_quiet_but(late);
		for (unsigned int t = 0; ms > 100; ms -= 100) {
			platform_pass(100);
			t += 100;
			sim_run_quiet_but(t < LATE_MAX_MS ? late : NULL);
		}
	}
	platform_pass(ms);
	sim_note("pass", ms, 0, 0);
	if (sim->calm)
		sim_run_quiet();
}

/* ---- What upper layers do -------------------------------------------------- */

static void join(struct draw *d)
{
	struct sim_node *from = node_that(d, false), *to = node_that(d, true);

	struct sim_end *e;

	if (!from || !to || open_ends() >= 14)
		return;
	e = sim_connect(from, to);
	/* An attacker from the first message on. */
	if (e && sim_may_tamper() && draw_one_in(d, 6))
		sim_tamper_from(e, d, 1 + draw_below(d, 3));
}

static void call(struct draw *d)
{
	struct sim_end *e = some_end(d);

	if (!e || !rt_conn_can_call(e->conn) || !may_call(e))
		return;
	sim_call(e, d);
}

/* A client also before it is known that it can, and after its end has been asked for. */
static void call_early(struct draw *d)
{
	struct sim_end *e = some_end(d);

	if (e && !e->server && may_call(e))
		sim_call(e, d);
}

static void call_many(struct draw *d)
{
	struct sim_end *e = some_end(d);
	struct rt_conn *c;
	bool held;

	if (!e || !rt_conn_can_call(e->conn))
		return;
	c = e->conn;
	/* The connection may end meanwhile. */
	rt_conn_get(c);
	held = rt_conn_hold(c);
	for (unsigned int n = draw_range(d, 2, draw_one_in(d, 3) ? 60 : 8);
	     n && may_call(e); n--)
		sim_call(e, d);
	if (held)
		rt_conn_unhold(c);
	rt_conn_put(c);
}

static void answer(struct draw *d)
{
	if (sim->nheld)
		sim_answer(draw_below(d, sim->nheld), SIM_ANSWER);
}

static void answer_all(struct draw *d)
{
	while (sim->nheld)
		sim_answer(draw_below(d, sim->nheld), SIM_ANSWER);
}

static void slow(struct draw *d)
{
	struct sim_end *e = some_end(d);

	if (e)
		e->holds = !draw_one_in(d, 3);
}

static void close_end(struct draw *d)
{
	struct sim_end *e = some_end(d);

	if (e && draw_one_in(d, 2))
		ask_end(e, draw_one_in(d, 2));
}

/* ---- What goes wrong ------------------------------------------------------- */

static void break_conn(struct draw *d)
{
	static const int errors[] = { -ECONNRESET, -ETIMEDOUT, -EPROTO,
				      -ENETRESET };
	struct sim_end *e = some_end(d);
	int error = DRAW_OF(d, errors);

	if (!e || !e->conn->fab)
		return;
	e->asked = sim_peer(e)->asked = true;
	sim_note("break", e->server, (uint64_t)error, 0);
	loop_break(e->conn->fab, error);
}

static void faults(struct draw *d)
{
	struct sim_end *e = some_end(d);
	struct loop_faults *f;

	if (!e || !e->fab)
		return;
	f = &e->faults;
	e->asked = sim_peer(e)->asked = true;
	switch (draw_below(d, 5)) {
	case 0:
		f->delay_polls = draw_below(d, 20);
		break;
	case 1:
		f->keep_sends = !f->keep_sends;
		break;
	case 2:
		f->refuse_post = 1 + draw_below(d, 60);
		break;
	case 3:
		f->fail_request = 1 + draw_below(d, 100);
		break;
	case 4:
		f->break_after_octets = 1 + draw_below(d, 500000);
		break;
	}
	sim_note("fault", e->server, f->delay_polls, f->keep_sends);
	loop_set_conn_faults(e->fab, f);
}

static void deaf(struct draw *d)
{
	struct loop_faults f = sim->faults;

	f.reject_connects = draw_one_in(d, 4);
	f.ignore_connects = draw_one_in(d, 4);
	sim_note("deaf", f.reject_connects, f.ignore_connects, 0);
	loop_set_faults(sim->dom, LOOP_ACTIVE, &f);
}

static void shortage(struct draw *d)
{
	struct loop_shortage *s = loop_shortage(sim->dom);
	uint32_t n = draw_below(d, 6);

	sim->short_of = true;
	switch (draw_below(d, 3)) {
	case 0:
		atomic_store(&s->regs, n);
		break;
	case 1:
		atomic_store(&s->windows, n);
		break;
	case 2:
		sim->lacks_receives = true;
		atomic_store(&s->recvs, n * 3);
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

void sim_tamper_from(struct sim_end *e, struct draw *d, unsigned int n)
{
	if (!e->fab)
		return;
	e->tamper = n;
	e->tamper_draw = *d;
	e->faults.tamper = sim_tamper;
	e->faults.tamper_ctx = e;
	loop_set_conn_faults(e->fab, &e->faults);
}

static void tamper(struct draw *d)
{
	struct sim_end *e = some_end(d);

	if (e)
		sim_tamper_from(e, d, 1 + draw_below(d, 6));
}

static void restart(struct draw *d)
{
	struct sim_node *n = &sim->node[draw_below(d, sim->nnodes)];

	if (n->inst && draw_one_in(d, 3))
		sim_node_crash(n);
	else if (!n->inst)
		sim_node_start(n);
}

static void deafen(struct draw *d)
{
	struct sim_node *n = some_node(d);

	if (!n || !n->server || !n->listener)
		return;
	sim_note("deafen", n->index, 0, 0);
	for (unsigned int i = 0; i < sim->nends; i++) {
		/* Who has asked to connect and was not heard is refused. */
		if (!sim->end[i].server)
			sim->end[i].asked = true;
	}
	rt_listener_close(n->listener);
	n->listener = NULL;
}

/* ---- All of them ----------------------------------------------------------- */

static const struct kind {
	const char *name;
	unsigned int weight;
	void (*make)(struct draw *d);
	bool harsh; /* not in a calm world */
	bool always; /* in every world */
} kinds[] = {
	{ "run", 500, run, false, true },
	{ "rest", 12, rest, false, true },
	{ "pass", 25, pass, false, true },
	{ "thread", 60, resume, false, true },
	{ "connect", 14, join, false, true },
	{ "call", 180, call, false, true },
	{ "answer", 100, answer, false, true },
	{ "early", 10, call_early, false, false },
	{ "many", 14, call_many, false, false },
	{ "all", 8, answer_all, false, false },
	{ "slow", 10, slow, false, false },
	{ "close", 6, close_end, false, false },
	{ "break", 3, break_conn, true, false },
	{ "fault", 3, faults, true, false },
	{ "deaf", 2, deaf, true, false },
	{ "shortage", 4, shortage, true, false },
	{ "memory", 4, no_memory, true, false },
	{ "buffer", 4, no_buffer, true, false },
	{ "tamper", 4, tamper, true, false },
	{ "restart", 3, restart, true, false },
	{ "unlisten", 1, deafen, true, false },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

unsigned int sim_kinds(void)
{
	return KINDS;
}

const char *sim_kind_name(unsigned int kind)
{
	return kinds[kind].name;
}

static bool is_there(unsigned int k)
{
	return kinds[k].always ||
	       ((sim->kinds >> k & 1) && !(sim->calm && kinds[k].harsh));
}

bool sim_may_tamper(void)
{
	unsigned int k = 0;

	while (kinds[k].make != tamper)
		k++;
	return is_there(k);
}

void sim_step(unsigned int i)
{
	struct draw d = draw_from(sim->opt.seed, 0x100000000ull + i);
	unsigned int sum = 0, at, k = 0;

	sim->step = i;
	for (unsigned int j = 0; j < KINDS; j++)
		sum += is_there(j) ? kinds[j].weight : 0;
	at = draw_below(&d, sum);
	for (;; k++) {
		if (!is_there(k))
			continue;
		if (at < kinds[k].weight)
			break;
		at -= kinds[k].weight;
	}
	sim->doing = kinds[k].name;
	kinds[k].make(&d);
	sim_check();
}
