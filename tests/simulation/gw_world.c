/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_world - the gateway, its servers, and what is drawn once
 *
 * Threads: one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "gw.h"
#include "transport/core/core.h"

#define FIRST_PORT 20049
#define GW_TICK_MS 200
#define SETTLE_MS 400000
#define CALM_MS 5000
#define IDLE_MS 12000
#define ROUNDS 100000

struct gws_world gws;

int gateway_main(int argc, char **argv);

/* ---- What the gateway has of others ----------------------------------------- */

int __real_rt_instance_create(const struct rt_params *p,
			      struct rt_instance **inst);
int __wrap_rt_instance_create(const struct rt_params *p,
			      struct rt_instance **inst);
int __real_rt_run(struct rt_instance *inst, unsigned int n, int ms);
int __wrap_rt_run(struct rt_instance *inst, unsigned int n, int ms);
bool __wrap_rpc_tcp_answers(const struct sockaddr *addr, socklen_t len,
			    uint32_t prog, uint32_t vers, unsigned int ms);

static struct sockaddr_in server_addr(unsigned int i)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)(FIRST_PORT + i)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

/* That of the gateway is one over the loop provider, and its server has more than
 * one address, as if it was a name that was given. */
int __wrap_rt_instance_create(const struct rt_params *p,
			      struct rt_instance **inst)
{
	struct rt_params mine = *p;
	struct arg_addrs *addrs;

	if (!platform_in_thread())
		return __real_rt_instance_create(p, inst);
	mine.provider = &fab_loop_ops;
	mine.shared_domain = gws.w->dom;
	gws.gw = p->log_ctx;
	addrs = &gws.gw->server.addrs;
	for (addrs->n = 0; addrs->n < gws.nservers; addrs->n++) {
		struct sockaddr_in in = server_addr(addrs->n);

		memcpy(&addrs->at[addrs->n].addr, &in, sizeof(in));
		addrs->at[addrs->n].len = sizeof(in);
	}
	return __real_rt_instance_create(&mine, inst);
}

int __wrap_rt_run(struct rt_instance *inst, unsigned int n, int ms)
{
	int found = __real_rt_run(inst, n, ms);

	net_progress += found > 0;
	return found;
}

bool __wrap_rpc_tcp_answers(const struct sockaddr *addr, socklen_t len,
			    uint32_t prog, uint32_t vers, unsigned int ms)
{
	return false;
}

struct in6_addr gw_user_host(int fd)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	getpeername(fd, (struct sockaddr *)&in, &len);
	return (struct in6_addr){ .s6_addr[15] = ntohs(in.sin_port) % 3 };
}

void gw_log_text(void *ctx, int level, const char *text)
{
	sim_log("gateway: %s", text);
}

void gw_log(struct gateway *gw, int level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gw_log_text(gw, level, text);
}

/* ---- Settings --------------------------------------------------------------- */

static void __attribute__((format(printf, 1, 2))) option(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(gws.argv[gws.argc], sizeof(gws.argv[0]), fmt, ap);
	va_end(ap);
	gws.args[gws.argc] = gws.argv[gws.argc];
	gws.argc++;
}

static void with_value(struct draw *d, unsigned int one_in, const char *name,
		       const char *const *values, unsigned int n)
{
	if (!draw_one_in(d, one_in))
		return;
	option("--%s", name);
	option("%s", values[draw_below(d, n)]);
}

#define WITH(d, one_in, name, ...)                              \
	do {                                                    \
		static const char *const v[] = { __VA_ARGS__ }; \
		with_value((d), (one_in), (name), v,            \
			   sizeof(v) / sizeof(v[0]));           \
	} while (0)

static void draw_options(struct sim_world *w, struct draw *d)
{
	static const unsigned int calls[] = { 1, 2, 8, 128 };

	option("rpcrdma-gateway");
	option("--server");
	option("127.0.0.1:%u", FIRST_PORT);
	option("--verbose");
	gws.max_calls = DRAW_OF(d, calls);
	option("--max-calls");
	option("%u", gws.max_calls);
	WITH(d, 2, "threads", "2");
	/* Extensions need version 2. */
	if (draw_one_in(d, 4))
		WITH(d, 1, "version-rdma", "1");
	else
		WITH(d, 2, "extensions", "xcharext", "rtrext",
		     "xcharext,rtrext");
	WITH(d, 2, "credits", "1", "2", "4", "16");
	WITH(d, 2, "recv-size", "1024", "2048", "16384");
	WITH(d, 2, "reverse", "none", "simple", "continued", "general");
	WITH(d, 2, "debug", "chunks=1", "chunks=2", "chunks=4");
	WITH(d, 3, "debug", "reduce-min=1", "reduce-min=200",
	     "reduce-min=20000");
	WITH(d, 4, "debug", "no-invalidate");
	WITH(d, 4, "debug", "call-format=special", "call-format=continued");
	WITH(d, 4, "debug", "send-size=1024", "send-size=4096");
	gws.reserved_ports = draw_one_in(d, 4);
	if (gws.reserved_ports)
		option("--reserved-ports");
	if (w->calm) {
		WITH(d, 1, "max-memory", "256M");
		return;
	}
	WITH(d, 4, "debug", "max-segment-size=4096", "max-segment-size=65536");
	WITH(d, 2, "max-clients", "1", "2", "4", "8");
	WITH(d, 2, "max-record", "4096", "65536", "300000");
	WITH(d, 1, "max-memory", "16M", "16M", "20M", "64M");
	WITH(d, 2, "retry-seconds", "0", "5", "120");
}

static void draw_server(struct sim_world *w, struct draw *d,
			struct rt_config *cfg)
{
	static const unsigned int credits[] = { 0, 1, 2, 4, 16 };
	static const uint32_t sizes[] = { 0, 0, 1024, 2048, 8192 };
	static const uint32_t segment[] = { 0, 0, 4096, 65536 };

	cfg->credits = DRAW_OF(d, credits);
	cfg->recv_size = DRAW_OF(d, sizes);
	cfg->send_size = draw_one_in(d, 3) ? 1024 : 0;
	cfg->extensions = draw_below(d, 4);
	cfg->reverse_credits = DRAW_OF(d, credits);
	cfg->max_message = RT_MAX(max_message);
	cfg->max_read_chunks = 4;
	cfg->max_write_chunks = 4;
	cfg->call_user_size = sizeof(uint64_t);
	cfg->request_user_size = sizeof(void *);
	if (w->calm)
		return;
	if (draw_one_in(d, 4)) {
		cfg->versions = 2;
		cfg->extensions = 0;
	}
	cfg->max_segments = draw_one_in(d, 3) ? draw_range(d, 1, 8) : 0;
	cfg->max_segment_size = DRAW_OF(d, segment);
	cfg->max_message = draw_one_in(d, 3) ? RT_MIN(max_message) :
					       RT_MAX(max_message);
	cfg->max_read_chunks = draw_range(d, 1, 4);
	cfg->max_write_chunks = draw_range(d, 1, 4);
	cfg->no_continuation = draw_one_in(d, 4);
	cfg->idle_ms = draw_one_in(d, 3) ? draw_range(d, 1000, 100000) : 0;
	cfg->max_connections = draw_one_in(d, 4) ? draw_range(d, 1, 4) : 0;
	cfg->max_memory = draw_one_in(d, 4) ? RT_MIN(max_memory) : 0;
}

/* ---- Servers ---------------------------------------------------------------- */

static void server_log(void *ctx, int level, const char *text)
{
	const struct gws_server *s = ctx;

	sim_log("server %u: %s", s->index, text);
}

static void server_listen(struct gws_server *s)
{
	struct sockaddr_in addr = server_addr(s->index);

	if (rt_listen(s->inst, (struct sockaddr *)&addr, sizeof(addr), &gws_ops,
		      s, &s->listener))
		s->listener = NULL;
}

bool gws_server_start(struct gws_server *s)
{
	struct rt_params params = {
		.provider = &fab_loop_ops,
		.shared_domain = gws.w->dom,
		.config = s->cfg,
		.log = server_log,
		.log_ctx = s,
	};
	int rc = rt_instance_create(&params, &s->inst);

	sim_note("start", s->index, (uint64_t)rc, 0);
	if (rc == -EINVAL)
		sim_fail("model: the settings of a server are not sound: %s",
			 rt_config_check(&params.config));
	s->starts++;
	if (rc) {
		s->inst = NULL;
		return false;
	}
	server_listen(s);
	return true;
}

static bool has_conns(const struct gws_server *s)
{
	struct rt_totals t;

	rt_totals(s->inst, &t);
	return t.connections;
}

void gws_server_crash(struct gws_server *s)
{
	sim_note("crash", s->index, 0, 0);
	if (s->listener)
		rt_listener_close(s->listener);
	s->listener = NULL;
	for (unsigned int i = 0; i < GWS_CONNS; i++) {
		struct gws_conn *c = &gws.conn[i];

		if (!c->c || c->server != s)
			continue;
		if (c->c->fab)
			loop_break(c->c->fab, -ECONNRESET);
		if (c->c)
			rt_conn_close(c->c, true);
	}
	for (unsigned int i = 0; has_conns(s); i++) {
		if (i == ROUNDS)
			sim_fail("waits: connections of a server do not end");
		rt_run(s->inst, 0, 0);
		platform_resume_all();
	}
	rt_run(s->inst, 0, 0);
	rt_instance_destroy(s->inst);
	s->inst = NULL;
}

/* ---- Everybody runs --------------------------------------------------------- */

void gws_run_quiet(void)
{
	unsigned int quiet = 0, one_in = platform_preempt(0);

	for (unsigned int i = 0; quiet < 4; i++) {
		uint64_t before = net_progress;

		if (i == ROUNDS)
			sim_fail(
				"circle: somebody finds something to do for ever");
		for (unsigned int k = 0; k < gws.nservers; k++)
			if (gws.server[k].inst)
				rt_run(gws.server[k].inst, 0, 0);
		platform_resume_all();
		quiet = platform_amid() || net_progress != before ? 0 :
								    quiet + 1;
	}
	platform_preempt(one_in);
}

void gws_flush(void)
{
	for (unsigned int i = 0; i < GWS_CLIENTS; i++) {
		struct gws_client *c = &gws.client[i];

		if (!c->net)
			continue;
		net_arrive(c->net, SIZE_MAX);
		gws_take(c, SIZE_MAX);
	}
}

/* What its client answers may stand behind what cannot be read. */
static bool is_spoiled(const struct gws_back *b)
{
	for (unsigned int i = 0; i < GWS_CLIENTS; i++)
		if (gws.client[i].serial == b->on->of && gws.client[i].spoiled)
			return true;
	return b->at && b->at->spoiled;
}

static bool waiting(void)
{
	bool any = gws.nheld;

	for (unsigned int i = 0; i < GWS_CLIENTS; i++)
		any |= gws.client[i].net && !gws.client[i].spoiled &&
		       gws.client[i].waiting;
	for (unsigned int i = 0; i < GWS_BACKS; i++)
		any |= gws.back[i].rq && !is_spoiled(&gws.back[i]);
	return any;
}

static void answer_all(void)
{
	struct draw d = draw_from(gws.w->opt.seed, 77);

	while (gws.nheld)
		gws_answer(0);
	for (unsigned int i = 0; i < GWS_BACKS; i++)
		if (gws.back[i].rq && gws.back[i].waits)
			gws_answer_back(&gws.back[i], &d);
}

static void heal(struct sim_world *w)
{
	struct loop_shortage *s = loop_shortage(w->dom);

	platform_fail_alloc(0);
	platform_fail_pool(0);
	net_short_of_descriptors(0);
	atomic_store(&s->regs, 0);
	atomic_store(&s->windows, 0);
	atomic_store(&s->recvs, 0);
	loop_set_faults(w->dom, LOOP_ACTIVE | LOOP_PASSIVE, &w->faults);
	for (unsigned int i = 0; i < gws.nservers; i++) {
		struct gws_server *s2 = &gws.server[i];

		s2->holds = false;
		if (!s2->inst)
			gws_server_start(s2);
		else if (!s2->listener)
			server_listen(s2);
	}
	for (unsigned int i = 0; i < GWS_CONNS; i++)
		if (gws.conn[i].c && gws.conn[i].c->fab)
			loop_set_conn_faults(gws.conn[i].c->fab, &w->faults);
	for (unsigned int i = 0; i < GWS_CLIENTS; i++)
		gws.client[i].reads = true;
}

/* Nothing goes wrong any more, and everybody gets to run. */
static void settle(struct sim_world *w)
{
	uint64_t until = platform_ms() + (w->calm ? CALM_MS : SETTLE_MS);

	heal(w);
	for (;;) {
		uint64_t before;

		do {
			before = net_progress;
			gws_flush();
			answer_all();
			gws_run_quiet();
			gws_check(GWS_QUIET);
		} while (net_progress != before);
		if (!waiting())
			return;
		if (platform_ms() > until) {
			gws_tell();
			sim_fail("waits: a Call has had no answer for %u s%s",
				 (w->calm ? CALM_MS : SETTLE_MS) / 1000,
				 w->calm ? ", though nothing has gone wrong" :
					   "");
		}
		platform_pass(GW_TICK_MS);
	}
}

/* ---- Beginning and end ------------------------------------------------------ */

static void *run_main(void *arg)
{
	gws.status = gateway_main(gws.argc, gws.args);
	gws.over = true;
	return NULL;
}

static void start(struct sim_world *w)
{
	if (pthread_create(&gws.main, NULL, run_main, NULL))
		abort();
	gws_run_quiet();
	if (gws.over)
		sim_fail("model: the gateway does not start: %d", gws.status);
}

void gws_open(struct sim_world *w, const struct sim_options *opt)
{
	bool uneven;

	memset(w, 0, sizeof(*w));
	memset(&gws, 0, sizeof(gws));
	sim = w;
	gws.w = w;
	w->opt = *opt;
	w->draw = draw_from(opt->seed, 2);
	w->calm = draw_one_in(&w->draw, 3);
	uneven = !w->calm && draw_one_in(&w->draw, 3);
	gws.large = draw_one_in(&w->draw, 4);
	w->kinds = UINT32_MAX;
	for (unsigned int i = 0; i < gws_kinds(); i++)
		if (draw_one_in(&w->draw, 3))
			w->kinds &= ~(1u << i);
	platform_begin(opt->seed, uneven);
	platform_preempt(
		draw_one_in(&w->draw, 4) ? 0 : draw_range(&w->draw, 2, 200));
	net_begin();
	sim_open_domain(w);
	gws.nservers = w->calm ? 1 : draw_range(&w->draw, 1, GWS_SERVERS);
	for (unsigned int i = 0; i < gws.nservers; i++) {
		struct gws_server *s = &gws.server[i];

		s->index = i;
		draw_server(w, &w->draw, &s->cfg);
		rt_config_defaults(&s->cfg);
		if (!gws_server_start(s))
			sim_fail("model: a server does not start");
	}
	draw_options(w, &w->draw);
	for (int i = 0; i < gws.argc; i++)
		sim_log("%s", gws.argv[i]);
	start(w);
}

static void check_over(struct sim_world *w)
{
	if (gws.status)
		sim_fail("leak: the gateway ends with %d", gws.status);
	net_end();
	for (unsigned int i = 0; i < gws.nservers; i++) {
		struct gws_server *s = &gws.server[i];
		struct fab_pool_stats st;

		fab_pool_get_stats(rt_instance_pool(s->inst), &st);
		if (s->inst->zeros)
			st.bytes_in_use -= s->inst->zeros->size;
		if (st.bytes_in_use)
			sim_fail("leak: %zu octets of a server's pool",
				 st.bytes_in_use);
		if (has_conns(s) || rt_instance_held(s->inst))
			sim_fail("leak: a server still has connections");
		if (s->listener)
			rt_listener_close(s->listener);
		rt_run(s->inst, 0, 0);
		rt_instance_destroy(s->inst);
	}
	fab_domain_close(w->dom);
	if (gws.answers != gws.answers_gone)
		sim_fail("leak: %u Replies given, %u gone", gws.answers,
			 gws.answers_gone);
	if (platform_allocated())
		sim_fail("leak: %ld pieces of memory", platform_allocated());
}

/* Until every client has been looked at. */
static void be_idle(void)
{
	for (unsigned int i = 0; i < IDLE_MS / GW_TICK_MS; i++) {
		platform_pass(GW_TICK_MS);
		gws_run_quiet();
		gws_flush();
	}
	gws_check(GWS_IDLE);
}

/* The clients leave, or most of them, and then the gateway is told to end, while those
 * that are left have Calls. */
static void leave(struct sim_world *w)
{
	be_idle();
	for (unsigned int i = 0; i < GWS_CLIENTS; i++) {
		struct gws_client *c = &gws.client[i];

		if (c->net && !draw_one_in(&w->draw, 4)) {
			c->shut = true;
			net_shut(c->net);
		}
	}
	gws_run_quiet();
	gws_flush();
	gws_run_quiet();
	gws_check(GWS_QUIET);
	for (unsigned int i = 0; i < GWS_CLIENTS; i++) {
		struct gws_client *c = &gws.client[i];

		if (c->net && !c->shut && !c->spoiled)
			gws_send(c, &w->draw);
	}
	gws_flush();
	gws_count_stats();
	gws.stopping = true;
	gws.gw = NULL;
	net_signal(SIGTERM);
	for (uint64_t until = platform_ms() + SETTLE_MS; !gws.over;) {
		gws_run_quiet();
		gws_flush();
		answer_all();
		if (platform_ms() > until)
			sim_fail("waits: the gateway does not end");
		platform_pass(GW_TICK_MS);
	}
	pthread_join(gws.main, NULL);
	for (unsigned int i = 0; i < GWS_CLIENTS; i++)
		if (gws.client[i].net)
			gws_gone(&gws.client[i]);
	gws_run_quiet();
	for (unsigned int i = 0; i < GWS_BACKS; i++)
		gws_forget_back(&gws.back[i]);
}

void gws_close(struct sim_world *w)
{
	w->doing = "the end";
	settle(w);
	w->ending = true;
	leave(w);
	check_over(w);
	sim_note("end", w->rpcs_done, w->rpcs_right, w->messages);
	sim = NULL;
}
