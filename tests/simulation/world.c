/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world - the nodes, their ends, and what is drawn once
 *
 * Threads: one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "rpcrdma/wire.h"
#include "simulate.h"
#include "transport/core/connection.h"

#define FIRST_PORT 20049
#define LEAST_READS 8192
/* While nothing moves time passes in steps of TICK_MS, as long. */
#define SETTLE_MS 400000
/* So many rounds of all pollers; then somebody goes round in circles. */
#define ROUNDS 100000

struct sim_world *sim;

/* ---- What is told ---------------------------------------------------------- */

void sim_log(const char *fmt, ...)
{
	va_list ap;

	if (!sim || !sim->opt.log)
		return;
	va_start(ap, fmt);
	fprintf(stderr, "%6u %10llu  ", sim->step,
		(unsigned long long)platform_ms());
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

void sim_note(const char *what, uint64_t a, uint64_t b, uint64_t c)
{
	sim_log("%-8s %llx %lld %lld", what, (unsigned long long)a,
		(long long)b, (long long)c);
	for (; *what; what++)
		sim->hash = (sim->hash ^ (uint8_t)*what) * 0x100000001b3ull;
	sim->hash = draw_mix(sim->hash ^ a);
	sim->hash = draw_mix(sim->hash ^ b);
	sim->hash = draw_mix(sim->hash ^ c);
}

static void log_line(void *ctx, int level, const char *text)
{
	const struct sim_node *n = ctx;

	sim_log("%s %u: %s", n->server ? "server" : "client", n->index, text);
}

static bool is_grant(const struct loop_event *ev)
{
	struct wire_prefix p;

	return ev->len >= 16 && wire_prefix_decode(ev->data, ev->len, &p) &&
	       p.htype == RDMA2_GRANT;
}

static void observe(void *ctx, const struct loop_event *ev)
{
	struct sim_world *w = ctx;
	struct sim_end *from = sim_end_of(ev->from);
	const struct sim_end *to = sim_end_of(ev->to);
	uint64_t sum = 0;

	for (size_t i = 0; ev->data && i + 8 <= ev->len; i += 8) {
		uint64_t v;

		memcpy(&v, ev->data + i, 8);
		sum = (sum ^ v) * 0x9e3779b97f4a7c15ull;
	}
	for (size_t i = ev->len & ~(size_t)7; ev->data && i < ev->len; i++)
		sum = (sum ^ ev->data[i]) * 0x9e3779b97f4a7c15ull;
	sim_note("wire", ev->kind << 1 | ev->from_active, ev->len, sum);
	w->messages += ev->kind == LOOP_EV_SEND || ev->kind == LOOP_EV_SEND_INV;
	if (from && ev->kind == LOOP_EV_SEND && is_grant(ev))
		sim_check_grant(from);
	/* What has come is not yet known to whom it has come to, which matters
	 * only with a peer that takes back what it has said. */
	w->watch.ours = 0;
	if (!(from && from->spoiled) && !(to && to->spoiled)) {
		w->watch.ours |= ev->from_active ? LOOP_ACTIVE : LOOP_PASSIVE;
		if (!w->lacks_receives)
			w->watch.ours |= LOOP_ACTIVE | LOOP_PASSIVE;
	}
	/* Of Receives some may be lacking, and then less is granted. */
	w->watch.late = !w->calm;
	rt_watch_event(&w->watch, ev);
	if (ev->kind == LOOP_EV_END && from)
		from->over = sim_peer(from)->over = true;
}

/* ---- Settings -------------------------------------------------------------- */

static void draw_sizes(struct draw *d, struct rt_config *cfg)
{
	static const uint32_t sizes[] = { 0,	0,    1024,  1028, 2048,
					  4096, 8192, 16384, 65536 };
	static const unsigned int segments[] = { 0, 0, 1, 2, 5, 64 };
	static const uint32_t segment[] = { 0, 0, 4096, 10000, 65536 };
	static const size_t message[] = { 0, 0, RT_MIN(max_message), 200000 };

	cfg->recv_size = DRAW_OF(d, sizes);
	cfg->send_size = DRAW_OF(d, sizes);
	cfg->busy_recv_size = DRAW_OF(d, sizes);
	cfg->idle_recv_size = DRAW_OF(d, sizes);
	cfg->idle_recv_ms = draw_one_in(d, 2) ? 0 : 500;
	cfg->max_segments = DRAW_OF(d, segments);
	cfg->max_segment_size = DRAW_OF(d, segment);
	cfg->max_message = DRAW_OF(d, message);
	if (draw_one_in(d, 3))
		cfg->max_conn_memory = cfg->max_message > RT_MIN(max_message) ||
						       !cfg->max_message ?
					       RT_MAX(max_message) :
					       RT_MIN(max_message);
	cfg->max_memory = draw_one_in(d, 2) ? RT_MIN(max_memory) : 0;
	cfg->max_read_chunks = draw_one_in(d, 4) ? 1 : 0;
	cfg->max_write_chunks = draw_one_in(d, 4) ? 1 : 0;
	cfg->call_read_chunks = draw_below(d, 5);
	cfg->call_write_chunks = draw_below(d, 5);
	cfg->max_fragments = draw_one_in(d, 3) ? draw_range(d, 1, 3) : 0;
	cfg->call_format = draw_below(d, 3);
	cfg->no_continuation = draw_one_in(d, 4);
	cfg->no_remote_invalidation = draw_one_in(d, 4);
	cfg->no_placement = draw_one_in(d, 4);
	cfg->placement_size =
		draw_one_in(d, 2) ? 0 : RT_RTR_SEGMENT * draw_range(d, 1, 6);
	cfg->max_transmissions = draw_below(d, 6);
}

static void draw_config(struct sim_world *w, struct draw *d,
			struct rt_config *cfg)
{
	static const unsigned int credits[] = { 0, 1, 1, 2, 2, 3, 5, 16 };
	static const unsigned int versions[] = { 0, 0, 0, 2, 4, 4 };

	draw_sizes(d, cfg);
	cfg->versions = DRAW_OF(d, versions);
	if (cfg->versions != 2) {
		cfg->extensions = draw_below(d, 4);
		cfg->auth = draw_one_in(d, 3) ? draw_below(d, 3) : RT_AUTH_NONE;
	}
	cfg->credits = DRAW_OF(d, credits);
	cfg->reverse = draw_below(d, 4);
	cfg->reverse_credits = DRAW_OF(d, credits);
	cfg->max_connections = draw_one_in(d, 6) ? draw_range(d, 1, 4) : 0;
	cfg->max_host_connections = draw_one_in(d, 6) ? 2 : 0;
	cfg->idle_ms = draw_one_in(d, 3) ? draw_range(d, 1000, 100000) : 0;
	cfg->memory_wait_ms = draw_one_in(d, 3) ? 500 : 0;
	cfg->continuation_ms = draw_one_in(d, 3) ? 3000 : 0;
	cfg->reverse_ms = draw_one_in(d, 3) ? 5000 : 0;
	cfg->version1_ms = draw_one_in(d, 2) ? 5000 : 0;
	cfg->busy_poll_us = draw_one_in(d, 2) ? 50 : 0;
	cfg->share_receives = w->shared_receives;
	cfg->call_user_size = sizeof(struct sim_held) + 1;
	cfg->request_user_size = sizeof(void *);
}

static void draw_fabric(struct sim_world *w, struct draw *d)
{
	struct loop_settings s;

	loop_get_settings(w->dom, &s);
	if (draw_one_in(d, 4))
		s.limits.caps &= ~(unsigned int)FAB_CAP_ANY_LOCAL;
	if (draw_one_in(d, 4))
		s.limits.caps &= ~(unsigned int)FAB_CAP_SEND_INV;
	if (draw_one_in(d, 6))
		s.limits.caps &=
			~(unsigned int)(FAB_CAP_EXPOSE | FAB_CAP_SEND_INV);
	if (draw_one_in(d, 4))
		s.limits.caps |= FAB_CAP_BOUND;
	if (draw_one_in(d, 4))
		s.limits.caps |= FAB_CAP_PARTS;
	if (draw_one_in(d, 3))
		s.limits.max_sge = draw_range(d, 4, 6);
	if (draw_one_in(d, 3))
		s.limits.max_read_depth = draw_range(d, 1, 3);
	if (draw_one_in(d, 4) && !w->calm)
		s.max_exposed = draw_range(d, 2, 12);
	loop_set_settings(w->dom, &s);
	w->faults.order_seed = draw_one_in(d, 4) ? 0 : 1 + draw_below(d, 1000);
	w->faults.delay_polls = draw_one_in(d, 3) ? draw_below(d, 4) : 0;
	loop_set_faults(w->dom, LOOP_ACTIVE | LOOP_PASSIVE, &w->faults);
}

/* ---- Nodes ----------------------------------------------------------------- */

static void node_addr(const struct sim_node *n, struct sockaddr_in *addr)
{
	*addr = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)(FIRST_PORT + n->index)),
	};
}

bool sim_node_start(struct sim_node *n)
{
	struct rt_params params = {
		.provider = &fab_loop_ops,
		.shared_domain = sim->dom,
		.foreign_threads = true,
		.config = n->cfg,
		.auth = &sim_auth_ops,
		.auth_ctx = &n->auth,
		.log = log_line,
		.log_ctx = n,
	};
	struct sockaddr_in addr;
	int rc = rt_instance_create(&params, &n->inst);

	sim_note("start", n->index, (uint64_t)rc, n->lives);
	sim_log("versions %x, extensions %x, auth %u, credits %u and %u, receives %u (%u to %u), sends %u, segments %u of %u, message %zu, memory %zu, reverse %u, placement %u%s",
		n->cfg.versions, n->cfg.extensions, n->cfg.auth, n->cfg.credits,
		n->cfg.reverse_credits, n->cfg.recv_size, n->cfg.idle_recv_size,
		n->cfg.busy_recv_size, n->cfg.send_size, n->cfg.max_segments,
		n->cfg.max_segment_size, n->cfg.max_message, n->cfg.max_memory,
		n->cfg.reverse, n->cfg.placement_size,
		sim->shared_receives ? ", shared Receives" : "");
	if (rc == -EINVAL)
		sim_fail("model: the settings of a node are not sound: %s",
			 rt_config_check(&params.config));
	if (rc) {
		n->inst = NULL;
		return false;
	}
	n->lives++;
	/* So few that Calls wait. */
	if (n->cfg.max_memory)
		n->inst->reads.least = LEAST_READS;
	if (!n->server)
		return true;
	node_addr(n, &addr);
	rc = rt_listen(n->inst, (struct sockaddr *)&addr, sizeof(addr),
		       &sim_server_ops, n, &n->listener);
	if (rc)
		n->listener = NULL;
	return true;
}

static bool has_ends(const struct sim_node *n)
{
	struct rt_totals t;

	rt_totals(n->inst, &t);
	return t.connections;
}

void sim_node_crash(struct sim_node *n)
{
	sim_note("crash", n->index, 0, 0);
	if (n->listener)
		rt_listener_close(n->listener);
	n->listener = NULL;
	for (unsigned int i = 0; i < sim->nends; i++) {
		struct sim_end *e = &sim->end[i];

		if (!e->busy || e->closed || e->node != n)
			continue;
		e->asked = sim_peer(e)->asked = true;
		if (e->conn->fab)
			loop_break(e->conn->fab, -ECONNRESET);
		rt_conn_close(e->conn, true);
	}
	for (unsigned int i = 0; has_ends(n); i++) {
		if (i == ROUNDS)
			sim_fail("waits: connections of a node do not end");
		rt_run(n->inst, 0, 0);
		if (platform_threads())
			platform_resume(i % platform_threads());
	}
	rt_run(n->inst, 0, 0);
	rt_instance_destroy(n->inst);
	n->inst = NULL;
}

/* ---- Ends ------------------------------------------------------------------ */

static bool over(const struct sim_end *e)
{
	return e->closed && !e->held && !e->calls_out;
}

/* Ends go together, for what one has sent the other may still come by. */
static void tidy(void)
{
	for (unsigned int i = 0; i < sim->nends; i++) {
		struct sim_end *e = &sim->end[i];

		if (!e->busy || !over(e) || (e->peer && !over(e->peer)))
			continue;
		if (e->peer)
			e->peer->busy = false;
		e->busy = false;
	}
}

struct sim_end *sim_end_new(struct sim_node *n, bool server)
{
	unsigned int i = 0;

	tidy();
	while (i < SIM_ENDS && sim->end[i].busy)
		i++;
	if (i == SIM_ENDS)
		return NULL;
	if (i >= sim->nends)
		sim->nends = i + 1;
	sim->end[i] = (struct sim_end){
		.busy = true,
		.node = n,
		.server = server,
		.faults = sim->faults,
		.next_xid = draw_below(&sim->draw, 2) ? 0xfffffff0u : 1,
	};
	return &sim->end[i];
}

struct sim_end *sim_end_of(const struct fab_conn *f)
{
	for (unsigned int i = 0; f && i < sim->nends; i++)
		if (sim->end[i].busy && sim->end[i].fab == f)
			return &sim->end[i];
	return NULL;
}

struct sim_end *sim_connect(struct sim_node *from, const struct sim_node *to)
{
	struct sim_end *e = sim_end_new(from, false);
	struct sockaddr_in addr;
	struct rt_conn *c;
	int rc;

	if (!e)
		return NULL;
	node_addr(to, &addr);
	rc = rt_connect(from->inst, 0, (struct sockaddr *)&addr, sizeof(addr),
			&sim_client_ops, e, &c);
	sim_note("connect", from->index, to->index, (uint64_t)rc);
	if (rc) {
		if (!sim->short_of && rc != -ENOMEM)
			sim_fail("model: connecting gives %d", rc);
		e->busy = false;
		return NULL;
	}
	sim->conns++;
	e->conn = c;
	if (!e->closed)
		e->fab = c->fab;
	return e;
}

/* ---- Everybody runs -------------------------------------------------------- */

static bool round_of_all(const struct sim_node *but)
{
	bool any = false;

	for (unsigned int i = 0; i < sim->nnodes; i++)
		if (sim->node[i].inst && &sim->node[i] != but)
			any |= rt_run(sim->node[i].inst, 0, 0) > 0;
	return any;
}

void sim_run_quiet(void)
{
	sim_run_quiet_but(NULL);
}

void sim_run_quiet_but(const struct sim_node *late)
{
	unsigned int quiet = 0;

	for (unsigned int i = 0; quiet < 4; i++) {
		if (i == ROUNDS)
			sim_fail(
				"circle: the pollers find something to do for ever");
		quiet = round_of_all(late) ? 0 : quiet + 1;
		for (unsigned int k = platform_threads(); k; k--)
			platform_resume(k - 1);
	}
}

/* Which Call has had no answer, for the log. */
static void log_waiting(void)
{
	for (unsigned int i = 0; i < SIM_RPCS; i++) {
		const struct sim_rpc *r = &sim->rpc[i];

		if (r->busy && r->rq && !r->done)
			sim_log("%s %s waits: xid %08x, call %zu, reply %zu, delivered %u, since %llu; %s",
				r->from->server ? "server" : "client",
				rt_conn_name(r->from->conn), r->xid,
				r->call_len, r->reply_len, r->delivered,
				(unsigned long long)r->submitted,
				rt_state_names[r->from->conn->state]);
	}
}

static bool waiting(void)
{
	for (unsigned int i = 0; i < sim->nends; i++) {
		const struct sim_end *e = &sim->end[i];

		if (e->busy && e->calls_out && !e->spoiled)
			return true;
	}
	return sim->nheld;
}

/* Calls that have memory of their own may wait for each other's, for a while [D6]. */
static bool scarce(void)
{
	for (unsigned int i = 0; i < sim->nnodes; i++)
		if (sim_scarce(&sim->node[i]))
			return true;
	return false;
}

void sim_settle(void)
{
	uint64_t until = platform_ms() + SETTLE_MS;
	struct loop_shortage *s = loop_shortage(sim->dom);

	platform_fail_alloc(0);
	platform_fail_pool(0);
	atomic_store(&s->regs, 0);
	atomic_store(&s->windows, 0);
	atomic_store(&s->recvs, 0);
	loop_set_faults(sim->dom, LOOP_ACTIVE | LOOP_PASSIVE, &sim->faults);
	for (unsigned int i = 0; i < sim->nends; i++) {
		struct sim_end *e = &sim->end[i];

		e->holds = false;
		e->tamper = 0;
		e->faults = sim->faults;
		if (e->busy && !e->closed && e->fab)
			loop_set_conn_faults(e->fab, &e->faults);
	}
	for (;;) {
		sim_run_quiet();
		sim_check();
		if (sim->nheld) {
			sim_answer(0, SIM_ANSWER);
			continue;
		}
		if (!waiting())
			break;
		if (platform_ms() + SETTLE_MS > until + 5000)
			log_waiting();
		if (sim->calm && !scarce() &&
		    platform_ms() + SETTLE_MS > until + 5000)
			sim_fail(
				"waits: a Call has had no answer for 5 s, though nothing has gone wrong");
		if (platform_ms() > until)
			sim_fail("waits: a Call has had no answer for %u s",
				 SETTLE_MS / 1000);
		platform_pass(TICK_MS);
	}
	sim_check_quiet();
}

/* ---- Beginning and end ----------------------------------------------------- */

void sim_open_domain(struct sim_world *w)
{
	struct fab_domain_params dp = { 0 };

	if (fab_domain_open(&fab_loop_ops, &dp, &w->dom))
		abort();
	draw_fabric(w, &w->draw);
	if (w->shared_receives) {
		struct fab_srq_params s = { .size = 65536, .each = 4096 };

		if (fab_pool_create(w->dom, NULL, &w->pool))
			abort();
		fab_pool_srq_memory(w->pool, &s);
		if (fab_srq_enable(w->dom, &s))
			abort();
	}
	rt_watch_start(&w->watch, w->dom, LOOP_ACTIVE | LOOP_PASSIVE);
	w->watch.quiet = true;
	loop_set_observer(w->dom, observe, w);
}

void sim_open(struct sim_world *w, const struct sim_options *opt)
{
	unsigned int rounds, len;
	bool uneven;

	memset(w, 0, sizeof(*w));
	sim = w;
	w->opt = *opt;
	w->draw = draw_from(opt->seed, 1);
	w->calm = draw_one_in(&w->draw, 3);
	uneven = !w->calm && draw_one_in(&w->draw, 2);
	w->shared_receives = draw_one_in(&w->draw, 6);
	w->kinds = UINT32_MAX;
	/* Worlds in which some things never happen get further in others. */
	for (unsigned int i = 0; i < sim_kinds(); i++)
		if (draw_one_in(&w->draw, 3))
			w->kinds &= ~(1u << i);
	w->xids_meet = draw_one_in(&w->draw, 2);
	w->refuse_in = draw_one_in(&w->draw, 4) ? 2 : 40;
	rounds = draw_range(&w->draw, 1, 3);
	len = 44 + draw_below(&w->draw, 4) * 1500;
	platform_begin(opt->seed, uneven);
	sim_open_domain(w);
	w->nnodes = 2 + draw_below(&w->draw, 3);
	for (unsigned int i = 0; i < w->nnodes; i++) {
		struct sim_node *n = &w->node[i];

		n->index = i;
		/* Of four two are servers, of fewer one. */
		n->server = i % 3 == 0;
		n->auth = (struct sim_auth){
			.rounds = rounds,
			.len = len,
			.refuses = !w->calm && draw_one_in(&w->draw, 6),
		};
		draw_config(w, &w->draw, &n->cfg);
		rt_config_defaults(&n->cfg);
		if (!sim_node_start(n))
			sim_fail("model: a node does not start");
	}
}

static void close_ends(struct sim_world *w)
{
	for (unsigned int i = 0; i < w->nends; i++) {
		struct sim_end *e = &w->end[i];

		if (!e->busy || e->closed)
			continue;
		e->asked = sim_peer(e)->asked = true;
		rt_conn_close(e->conn, e->spoiled);
	}
}

static void check_empty(struct rt_instance *inst)
{
	size_t memory = atomic_load(&inst->memory);
	size_t replies = atomic_load(&inst->reply_octets);

	if (memory || replies)
		sim_fail(
			"leak: the accounts of a node have %zu octets, and %zu of Replies",
			memory, replies);
	for (unsigned int i = 0; i < RT_HOST_BUCKETS; i++)
		if (!cds_list_empty(&inst->hosts[i]))
			sim_fail("leak: the account of a host");
}

static void leave(struct sim_world *w)
{
	for (unsigned int i = 0; i < w->nends; i++)
		if (w->end[i].busy && !over(&w->end[i]))
			sim_fail("waits: a connection does not end");
	for (unsigned int i = 0; i < w->nnodes; i++) {
		struct sim_node *n = &w->node[i];
		struct fab_pool_stats s;

		if (!n->inst)
			continue;
		fab_pool_get_stats(rt_instance_pool(n->inst), &s);
		if (n->inst->zeros)
			s.bytes_in_use -= n->inst->zeros->size;
		if (s.bytes_in_use)
			sim_fail("leak: %zu octets of a pool are still in use",
				 s.bytes_in_use);
		if (has_ends(n) || rt_instance_held(n->inst))
			sim_fail("leak: a node still has connections");
		check_empty(n->inst);
		if (n->listener)
			rt_listener_close(n->listener);
		rt_run(n->inst, 0, 0);
		rt_instance_destroy(n->inst);
	}
	if (w->pool) {
		struct fab_pool_stats s;

		fab_pool_get_stats(w->pool, &s);
		if (s.bytes_in_use)
			sim_fail("leak: %zu octets of shared Receives",
				 s.bytes_in_use);
		fab_pool_destroy(w->pool);
	}
	fab_domain_close(w->dom);
	if (w->exchanges)
		sim_fail("leak: %u exchanges of host authentication",
			 w->exchanges);
	if (w->answers != w->answers_gone)
		sim_fail("leak: %u Replies given, %u gone", w->answers,
			 w->answers_gone);
	for (unsigned int i = 0; i < SIM_RPCS; i++)
		if (w->rpc[i].busy)
			sim_fail("leak: rpc %u is not done", i);
	if (platform_allocated())
		sim_fail("leak: %ld pieces of memory", platform_allocated());
}

void sim_close(struct sim_world *w)
{
	uint64_t until;

	w->doing = "the end";
	sim_settle();
	w->ending = true;
	close_ends(w);
	until = platform_ms() + SETTLE_MS;
	for (;;) {
		unsigned int left = 0;

		sim_run_quiet();
		sim_check();
		while (w->nheld)
			sim_answer(0, SIM_ANSWER);
		for (unsigned int i = 0; i < w->nends; i++)
			left += w->end[i].busy && !over(&w->end[i]);
		if (!left || platform_ms() > until)
			break;
		platform_pass(TICK_MS);
	}
	sim_run_quiet();
	leave(w);
	sim_note("end", w->rpcs_done, w->rpcs_right, w->messages);
	sim = NULL;
}
