/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bk_world - the server, its clients, and what is drawn once
 *
 * Threads: one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bk.h"
#include "transport/core/core.h"

#define PORT 20049
#define BK_TICK_MS 200
#define SETTLE_MS 1000000
#define ROUNDS 100000
#define XPRT_REFS 1000

struct bks_world bks;
uint64_t bks_progress;

/* ---- Settings --------------------------------------------------------------- */

static void log_line(void *ctx, int level, const char *text)
{
	sim_log("%s: %s", ctx ? "client" : "server", text);
}

static void draw_config(struct sim_world *w, struct draw *d,
			struct rt_config *cfg)
{
	static const unsigned int credits[] = { 0, 2, 4, 16 };

	cfg->credits = DRAW_OF(d, credits);
	cfg->reverse = RDMA2_RVRSDIR_GENL;
	cfg->reverse_credits = DRAW_OF(d, credits);
	cfg->extensions = draw_below(d, 4);
	cfg->request_user_size = bc_request_size();
	cfg->call_user_size = sizeof(void *);
	if (w->calm)
		return;
	if (draw_one_in(d, 5)) {
		cfg->versions = 2;
		cfg->extensions = 0;
	}
	cfg->reverse_ms = draw_one_in(d, 2) ? 5000 : 0;
	cfg->idle_ms = draw_one_in(d, 4) ? draw_range(d, 1000, 100000) : 0;
	/* No callback at all. */
	if (draw_one_in(d, 12))
		cfg->reverse = RDMA2_RVRSDIR_NONE;
}

static struct rt_instance *instance(struct sim_world *w, struct draw *d,
				    bool client)
{
	struct rt_params params = {
		.provider = &fab_loop_ops,
		.shared_domain = w->dom,
		.log = log_line,
		.log_ctx = client ? w : NULL,
	};
	struct rt_instance *inst;

	draw_config(w, d, &params.config);
	if (rt_instance_create(&params, &inst))
		sim_fail("model: an instance does not start");
	return inst;
}

static struct sockaddr_in server_addr(void)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(PORT) };
}

static void start_server(struct sim_world *w)
{
	struct sockaddr_in addr = server_addr();

	bks.server = instance(w, &w->draw, false);
	if (bc_server_create(bks.server, bks_resume, &bks.back))
		sim_fail("model: bc_server_create()");
	if (!draw_one_in(&w->draw, 3))
		bks.back->host_max = draw_range(&w->draw, 2, 6);
	if (w->calm)
		bks.back->host_max = BC_HOST_MIN;
	bks.xprt.xp_refcnt = XPRT_REFS;
	bks.auth = authnone_ncreate();
	if (rt_listen(bks.server, (struct sockaddr *)&addr, sizeof(addr),
		      &bks_server_ops, NULL, &bks.listener))
		sim_fail("model: rt_listen()");
	bks.nworkers = draw_range(&w->draw, 2, BKS_WORKERS);
	for (unsigned int i = 0; i < bks.nworkers; i++)
		if (pthread_create(&bks.worker[i], NULL, bks_work, NULL))
			abort();
}

void bks_open(struct sim_world *w, const struct sim_options *opt)
{
	bool uneven;

	memset(w, 0, sizeof(*w));
	memset(&bks, 0, sizeof(bks));
	sim = w;
	bks.w = w;
	w->opt = *opt;
	w->draw = draw_from(opt->seed, 3);
	w->calm = draw_one_in(&w->draw, 3);
	uneven = !w->calm && draw_one_in(&w->draw, 3);
	w->kinds = UINT32_MAX;
	for (unsigned int i = 0; i < bks_kinds(); i++)
		if (draw_one_in(&w->draw, 3))
			w->kinds &= ~(1u << i);
	platform_begin(opt->seed, uneven);
	bks.preempts = !draw_one_in(&w->draw, 4);
	platform_preempt(bks.preempts ? draw_range(&w->draw, 2, 100) : 0);
	sim_open_domain(w);
	start_server(w);
	for (unsigned int i = 0; i < BKS_CLIENTS; i++)
		bks.client[i] = instance(w, &w->draw, true);
}

/* ---- Connections ------------------------------------------------------------ */

static struct bks_conn *unused(void)
{
	for (unsigned int i = 0; i < BKS_CONNS; i++) {
		struct bks_conn *c = &bks.conn[i];

		if (!c->used)
			return c;
	}
	return NULL;
}

/* Nothing has to do with it any more. */
static bool is_over(const struct bks_conn *c)
{
	bool over = !c->c && !c->s && !c->calls && !c->held;

	for (unsigned int i = 0; i < bks.nheld; i++)
		over &= bks.held[i].conn != c;
	for (unsigned int i = 0; i < bks.njobs; i++)
		over &= bks.job[(bks.first + i) % BKS_JOBS].conn != c;
	return over;
}

static bool has_calls(const struct bks_session *s)
{
	for (unsigned int i = 0; i < BKS_CALLS; i++)
		if (bks.call[i].id && !bks.call[i].over && bks.call[i].of == s)
			return true;
	for (unsigned int i = 0; i < bks.njobs; i++)
		if (bks.job[(bks.first + i) % BKS_JOBS].session == s)
			return true;
	return false;
}

static void tidy(void)
{
	for (unsigned int i = 0; i < BKS_CONNS; i++) {
		struct bks_conn *c = &bks.conn[i];

		if (!c->used || !is_over(c))
			continue;
		c->used = false;
		for (unsigned int k = 0; k < BKS_SESSIONS; k++)
			if (bks.session[k].on == c)
				bks.session[k].on = NULL;
	}
	/* A worker that executes a Call may have its session still. */
	if (platform_amid())
		return;
	for (unsigned int i = 0; i < BKS_SESSIONS; i++) {
		struct bks_session *s = &bks.session[i];

		if (!s->used || s->busy || !(s->lost || s->ended))
			continue;
		bks_forget(s);
		s->used = has_calls(s);
	}
}

struct bks_conn *bks_connect(unsigned int client)
{
	struct sockaddr_in addr = server_addr();
	struct bks_conn *c;
	int rc;

	tidy();
	c = unused();
	if (!c)
		return NULL;
	*c = (struct bks_conn){ .used = true, .client = client };
	rc = rt_connect(bks.client[client], 0, (struct sockaddr *)&addr,
			sizeof(addr), &bks_client_ops, c, &c->c);
	sim_note("connect", client, (uint64_t)(c - bks.conn), (uint64_t)rc);
	bks.w->conns += !rc;
	if (!rc)
		return c;
	c->c = NULL;
	c->used = false;
	return NULL;
}

/* ---- Everybody runs --------------------------------------------------------- */

void bks_run_quiet(void)
{
	unsigned int quiet = 0, one_in = platform_preempt(0);

	for (unsigned int i = 0; quiet < 4; i++) {
		uint64_t before = bks_progress;

		if (i == ROUNDS)
			sim_fail(
				"circle: somebody finds something to do for ever");
		bks_progress += rt_run(bks.server, 0, 0) > 0;
		for (unsigned int k = 0; k < BKS_CLIENTS; k++)
			bks_progress += rt_run(bks.client[k], 0, 0) > 0;
		platform_resume_all();
		quiet = platform_amid() || bks_progress != before ? 0 :
								    quiet + 1;
	}
	platform_preempt(one_in);
}

static bool waiting(void)
{
	if (bks.nheld || bks.njobs)
		return true;
	for (unsigned int i = 0; i < BKS_CALLS; i++)
		if (bks.call[i].id && !bks.call[i].over)
			return true;
	for (unsigned int i = 0; i < BKS_CONNS; i++)
		if (bks.conn[i].calls)
			return true;
	return false;
}

static void heal(struct sim_world *w)
{
	struct loop_shortage *s = loop_shortage(w->dom);

	platform_fail_alloc(0);
	platform_fail_pool(0);
	atomic_store(&s->regs, 0);
	atomic_store(&s->recvs, 0);
	loop_set_faults(w->dom, LOOP_ACTIVE | LOOP_PASSIVE, &w->faults);
	for (unsigned int i = 0; i < BKS_CONNS; i++) {
		struct bks_conn *c = &bks.conn[i];

		if (c->s && c->s->fab)
			loop_set_conn_faults(c->s->fab, &w->faults);
		if (c->c && c->c->fab)
			loop_set_conn_faults(c->c->fab, &w->faults);
	}
}

static void settle(struct sim_world *w)
{
	uint64_t until = platform_ms() + SETTLE_MS;

	heal(w);
	for (;;) {
		uint64_t before;

		do {
			before = bks_progress;
			while (bks.nheld)
				bks_answer(0);
			bks_run_quiet();
			bks_check(true);
		} while (bks_progress != before || bks.nheld);
		if (!waiting())
			return;
		if (platform_ms() > until)
			sim_fail("waits: a callback has not ended for %u s",
				 SETTLE_MS / 1000);
		platform_pass(BK_TICK_MS);
	}
}

/* ---- The end ---------------------------------------------------------------- */

static bool any_conn(void)
{
	for (unsigned int i = 0; i < BKS_CONNS; i++)
		if (bks.conn[i].used && !is_over(&bks.conn[i]))
			return true;
	return false;
}

static void check_pool(struct rt_instance *inst)
{
	struct fab_pool_stats s;

	fab_pool_get_stats(rt_instance_pool(inst), &s);
	if (inst->zeros)
		s.bytes_in_use -= inst->zeros->size;
	if (s.bytes_in_use)
		sim_fail("leak: %zu octets of a pool are still in use",
			 s.bytes_in_use);
	if (rt_instance_held(inst))
		sim_fail("leak: an instance is still held");
}

static void leave(struct sim_world *w)
{
	for (unsigned int i = 0; i < BKS_SESSIONS; i++)
		bks_forget(&bks.session[i]);
	for (unsigned int i = 0; i < BKS_CONNS; i++)
		if (bks.conn[i].c)
			rt_conn_close(bks.conn[i].c, false);
	bc_server_close(bks.back);
	bks.closed = true;
	for (uint64_t until = platform_ms() + SETTLE_MS; any_conn();) {
		bks_run_quiet();
		while (bks.nheld)
			bks_answer(0);
		if (platform_ms() > until)
			sim_fail("waits: a connection does not end");
		platform_pass(BK_TICK_MS);
	}
	bks_run_quiet();
	if (bc_server_busy(bks.back))
		sim_fail("leak: callbacks are left");
	bks.stop = true;
	for (unsigned int i = 0; i < bks.nworkers; i++)
		pthread_join(bks.worker[i], NULL);
}

void bks_close(struct sim_world *w)
{
	w->doing = "the end";
	settle(w);
	w->ending = true;
	leave(w);
	bc_server_destroy(bks.back);
	if (bks.xprt.xp_refcnt != XPRT_REFS)
		sim_fail("leak: %d references to SVCXPRTs",
			 bks.xprt.xp_refcnt - XPRT_REFS);
	AUTH_DESTROY(bks.auth);
	rt_listener_close(bks.listener);
	rt_run(bks.server, 0, 0);
	check_pool(bks.server);
	rt_instance_destroy(bks.server);
	for (unsigned int i = 0; i < BKS_CLIENTS; i++) {
		check_pool(bks.client[i]);
		rt_instance_destroy(bks.client[i]);
	}
	fab_domain_close(w->dom);
	if (platform_allocated())
		sim_fail("leak: %ld pieces of memory", platform_allocated());
	sim_note("end", w->rpcs_done, w->rpcs_right, w->messages);
	sim = NULL;
}
