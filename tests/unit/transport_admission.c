/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose connections a server accepts: by iwarp, which asks first, and by the loop. And what
 * it keeps of each host.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/prefix.h"
#include "rt_pair.h"
#include "rt_raw1.h"
#include "transport/core/core.h"
#include "unit.h"

static struct rt_allow allow(const char *one, const char *two)
{
	struct rt_allow a = { 0 };

	CU_ASSERT_PTR_NULL_FATAL(base_prefix_parse(one, &a.prefix[a.n++]));
	if (two)
		CU_ASSERT_PTR_NULL_FATAL(
			base_prefix_parse(two, &a.prefix[a.n++]));
	return a;
}

static uint64_t refused(struct rt_instance *inst, enum rt_refusal why)
{
	struct rt_totals t;

	rt_totals(inst, &t);
	for (unsigned int i = 0; i < RT_NREFUSALS; i++)
		CU_ASSERT_TRUE(i == why || !t.refused[i]);
	return t.refused[why];
}

/* ---- By iwarp ------------------------------------------------------------ */

struct end {
	atomic_uint up, closed; /* connections are run by several threads */
	atomic_int error;
	char said[256];
};

static void *end_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	return ctx;
}

static void end_up(struct rt_conn *c)
{
	((struct end *)rt_conn_user(c))->up++;
}

static void end_call(struct rt_conn *c, struct rt_call *call)
{
	rt_call_refuse(call, RDMA2_ERR_SYSTEM);
}

static void end_closed(struct rt_conn *c, int error, const char *reason)
{
	struct end *e = rt_conn_user(c);

	e->closed++;
	e->error = error;
	rt_conn_put(c);
}

static const struct rt_ops end_ops = {
	.open = end_open,
	.established = end_up,
	.call = end_call,
	.closed = end_closed,
};

static void end_log(void *ctx, int level, const char *text)
{
	snprintf(((struct end *)ctx)->said, sizeof(((struct end *)ctx)->said),
		 "%s", text);
}

struct iwarp {
	struct rt_instance *server, *client;
	struct end s, c;
	struct rt_conn *latest; /* of the client */
	struct sockaddr_storage at;
};

/* What peers have instead of 127.0.0.1, if it is not 0. */
static uint32_t seems;

void __real_fab_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void __wrap_fab_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void __wrap_fab_conn_info(const struct fab_conn *c, struct fab_conn_info *info)
{
	__real_fab_conn_info(c, info);
	if (seems)
		((struct sockaddr_in *)&info->peer)->sin_addr.s_addr =
			htonl(seems);
}

static uint64_t max_memory; /* of the next server; 0: the default */

static void iwarp_start(struct iwarp *w, const struct rt_allow *a)
{
	struct rt_params sp = { .provider = fab_provider("iwarp"),
				.log = a ? end_log : NULL,
				.log_ctx = &w->s };
	struct rt_params cp = { .provider = fab_provider("iwarp") };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rt_listener *l;

	memset(w, 0, sizeof(*w));
	if (a)
		sp.config.allow = *a;
	sp.config.max_memory = max_memory;
	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&sp, &w->server), 0);
	/* All clients may come at once. */
	CU_ASSERT_EQUAL(w->server->dom->params.max_new,
			RT_DEFAULT(max_connections));
	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&cp, &w->client), 0);
	CU_ASSERT_EQUAL_FATAL(rt_listen(w->server, (struct sockaddr *)&in,
					sizeof(in), &end_ops, &w->s, &l),
			      0);
	rt_listener_addr(l, &w->at);
}

static void iwarp_run(struct iwarp *w)
{
	rt_run(w->server, 0, 0);
	rt_run(w->client, 0, 0);
}

/* Connect. Returns true if both ends are up, false if the client was refused. */
static bool iwarp_connect(struct iwarp *w)
{
	unsigned int closed = w->c.closed, up = w->c.up;

	CU_ASSERT_EQUAL_FATAL(rt_connect(w->client, 0,
					 (struct sockaddr *)&w->at,
					 sizeof(struct sockaddr_in), &end_ops,
					 &w->c, &w->latest),
			      0);
	for (unsigned int i = 0;
	     i < 100000 && w->c.up == up && w->c.closed == closed; i++)
		iwarp_run(w);
	return w->c.up > up;
}

/* However many there are. */
static void iwarp_finish(struct iwarp *w)
{
	rt_instance_shutdown(w->client, 0, true);
	for (unsigned int i = 0; i < 100000 && w->s.closed < w->s.up; i++)
		iwarp_run(w);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w->server, 1000, true), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w->client, 1000, true), 0);
	rt_instance_destroy(w->server);
	rt_instance_destroy(w->client);
}

static void iwarp_end(struct iwarp *w)
{
	CU_ASSERT_EQUAL(rt_instance_shutdown(w->client, 0, true), w->c.up);
	for (unsigned int i = 0; i < 100000 && w->s.closed < w->s.up; i++)
		iwarp_run(w);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w->server, 1000, true), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w->client, 1000, true), 0);
	rt_instance_destroy(w->server);
	rt_instance_destroy(w->client);
}

static void not_allowed(void)
{
	struct rt_allow a = allow("10.0.0.0/8", "::/0");
	struct rt_totals t;
	struct iwarp w;

	iwarp_start(&w, &a);
	CU_ASSERT_FALSE(iwarp_connect(&w));
	/* An older server might have closed it for its revision of MPA, so the client tries
	 * another. */
	CU_ASSERT_TRUE(refused(w.server, RT_REFUSED_not_allowed) > 0);
	rt_totals(w.server, &t);
	/* The fabric has not begun. */
	CU_ASSERT_EQUAL(t.failed_starts, 0);
	CU_ASSERT_EQUAL(t.accepted, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.s.said, "127.0.0.1:"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(w.s.said, "connection refused: the host's address is "
				 "not among those allowed"));
	iwarp_end(&w);
}

static void is_allowed(void)
{
	struct rt_allow a = allow("10.0.0.0/8", "127.0.0.0/8");
	struct iwarp w;

	iwarp_start(&w, &a);
	CU_ASSERT_TRUE(iwarp_connect(&w));
	CU_ASSERT_EQUAL(refused(w.server, RT_REFUSED_not_allowed), 0);
	iwarp_end(&w);
	/* Without a list all are. */
	iwarp_start(&w, NULL);
	CU_ASSERT_TRUE(iwarp_connect(&w));
	iwarp_end(&w);
}

/* The fabric says so. */
static void by_another_device(void)
{
	struct rt_allow a = allow("127.0.0.0/8", NULL);
	struct iwarp w;

	iwarp_start(&w, &a);
	CU_ASSERT_TRUE(rt_admission_early(w.server, &w.at, true));
	CU_ASSERT_FALSE(rt_admission_early(w.server, &w.at, false));
	CU_ASSERT_EQUAL(refused(w.server, RT_REFUSED_device), 1);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(w.s.said, ": connection refused: it comes by a device "
				 "that is not to be used"));
	iwarp_end(&w);
}

#define TRUNK 64

/* By default a host may have the connections of four mounts with nconnect=16. */
static void of_a_host(void)
{
	struct rt_allow all = allow("127.0.0.0/8", "::/0");
	struct rt_config cfg;
	struct iwarp w;

	iwarp_start(&w, &all);
	for (unsigned int i = 0; i < TRUNK; i++)
		CU_ASSERT_TRUE_FATAL(iwarp_connect(&w));
	CU_ASSERT_EQUAL(refused(w.server, RT_REFUSED_host_connections), 0);
	cfg = *rt_instance_config(w.server);
	cfg.max_host_connections = TRUNK;
	CU_ASSERT_EQUAL(rt_instance_configure(w.server, &cfg), 0);
	CU_ASSERT_FALSE(iwarp_connect(&w));
	CU_ASSERT_TRUE(refused(w.server, RT_REFUSED_host_connections) > 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.s.said,
				      "the limit of connections of its host is "
				      "reached (64)"));
	iwarp_end(&w);
}

/* A quarter of the memory is for the Receives of a host. */
static void memory_of_a_host(void)
{
	struct rt_allow all = allow("127.0.0.0/8", "::/0");
	unsigned int n = 0;
	struct iwarp w;

	max_memory = 16 << 20;
	iwarp_start(&w, &all);
	max_memory = 0;
	while (n < TRUNK && iwarp_connect(&w))
		n++;
	CU_ASSERT_TRUE(n > 1 && n < TRUNK);
	CU_ASSERT_TRUE(refused(w.server, RT_REFUSED_host_memory) > 0);
	iwarp_finish(&w);
}

/* ---- By the loop, which does not ask -------------------------------------- */

static void asked_late(void)
{
	struct rt_config cfg = { .allow = allow("192.0.2.1", NULL) };
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, NULL, &cfg, NULL));
	CU_ASSERT_FALSE(rt_pair_connect(&p));
	CU_ASSERT_EQUAL(refused(p.server_inst, RT_REFUSED_not_allowed), 1);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_EQUAL(p.client_error, -EPERM);
	rt_pair_close(&p);
}

/* ---- Evictions -------------------------------------------------------------- */

static struct base_prefix prefix(const char *text)
{
	struct base_prefix p;

	CU_ASSERT_PTR_NULL_FATAL(base_prefix_parse(text, &p));
	return p;
}

struct ports {
	unsigned int n;
	uint16_t port[8];
};

static void note_port(const struct rt_conn_info *info, void *arg)
{
	struct ports *p = arg;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&info->peer;

	p->port[p->n++] = ntohs(in->sin_port);
}

/* Of the server, and of the client, which may have been refused before. */
static void run_until_closed(struct iwarp *w, unsigned int server,
			     unsigned int client)
{
	for (unsigned int i = 0;
	     i < 100000 && (w->s.closed < server || w->c.closed < client); i++)
		iwarp_run(w);
	CU_ASSERT_EQUAL(w->s.closed, server);
	CU_ASSERT_EQUAL(w->c.closed, client);
}

static void evicts(void)
{
	struct base_prefix other = prefix("10.0.0.0/8");
	struct base_prefix here = prefix("127.0.0.1");
	struct rt_evicted e[RT_EVICTIONS_MAX];
	struct ports p = { 0 };
	struct iwarp w;

	iwarp_start(&w, NULL);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_TRUE_FATAL(iwarp_connect(&w));
	/* Nobody, and one of three. */
	CU_ASSERT_EQUAL(rt_instance_evict(w.server, &other, 0, 0), 0);
	rt_for_each_conn(w.server, note_port, &p);
	CU_ASSERT_EQUAL_FATAL(p.n, 3);
	CU_ASSERT_EQUAL(rt_instance_evict(w.server, &here, p.port[1], 0), 1);
	run_until_closed(&w, 1, 1);
	CU_ASSERT_EQUAL(w.s.error, 0);
	CU_ASSERT_EQUAL(w.c.error, 0);
	CU_ASSERT_EQUAL(rt_instance_evict(w.server, &here, p.port[1], 0), 0);
	/* The host may come back. */
	CU_ASSERT_TRUE(iwarp_connect(&w));
	/* All of a host, which then may not. */
	CU_ASSERT_EQUAL(rt_instance_evict(w.server, &here, 0, 86400000), 3);
	run_until_closed(&w, 4, 4);
	CU_ASSERT_FALSE(iwarp_connect(&w));
	CU_ASSERT_TRUE(refused(w.server, RT_REFUSED_evicted) > 0);
	CU_ASSERT_EQUAL(rt_evictions(w.server, e), 1);
	CU_ASSERT_TRUE(e[0].who.bits == here.bits &&
		       IN6_ARE_ADDR_EQUAL(&e[0].who.addr, &here.addr));
	CU_ASSERT_TRUE(e[0].seconds > 80000 && e[0].seconds <= 86400);
	/* Its time is replaced, and over. */
	CU_ASSERT_EQUAL(rt_instance_evict(w.server, &here, 0, 1), 0);
	usleep(5000);
	CU_ASSERT_TRUE(iwarp_connect(&w));
	CU_ASSERT_EQUAL(rt_evictions(w.server, e), 0);
	rt_instance_drain(w.server, 1000);
	run_until_closed(&w, 5, 6);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w.server, 1000, true), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w.client, 1000, true), 0);
	rt_instance_destroy(w.server);
	rt_instance_destroy(w.client);
}

static void evicts_so_many(void)
{
	struct rt_evicted e[RT_EVICTIONS_MAX];
	struct iwarp w;

	iwarp_start(&w, NULL);
	for (unsigned int i = 0; i <= RT_EVICTIONS_MAX; i++) {
		struct base_prefix p = prefix("10.0.0.0");

		p.addr.s6_addr[15] = (uint8_t)i;
		CU_ASSERT_EQUAL(rt_instance_evict(w.server, &p, 0, 60000),
				i < RT_EVICTIONS_MAX ? 0 : -ENOSPC);
	}
	CU_ASSERT_EQUAL(rt_evictions(w.server, e), RT_EVICTIONS_MAX);
	CU_ASSERT_TRUE(iwarp_connect(&w));
	iwarp_end(&w);
}

/* ---- Drains ------------------------------------------------------------------- */

/* Calls in progress are answered, and nobody new is accepted. */
static void drains(void)
{
	struct rt_config with_user = { .request_user_size = sizeof(void *) };
	struct rt_totals t;
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, NULL, NULL));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 7, 100, false, 200, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	rt_instance_drain(p.server_inst, 60000);
	rt_pair_run(&p);
	CU_ASSERT_FALSE(p.server_closed);
	rt_totals(p.server_inst, &t);
	CU_ASSERT_TRUE(t.draining);
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done);
	CU_ASSERT_EQUAL(r.rq->status, 0);
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	CU_ASSERT_TRUE(p.server_closed);
	CU_ASSERT_EQUAL(p.server_error, 0);
	CU_ASSERT_EQUAL(p.client_error, 0);
	rt_rpc_free(&r);

	CU_ASSERT_FALSE(rt_pair_connect(&p));
	CU_ASSERT_EQUAL(refused(p.server_inst, RT_REFUSED_draining), 1);
	rt_instance_drain(p.server_inst, 0);
	CU_ASSERT_TRUE(rt_pair_connect(&p));
	CU_ASSERT_EQUAL(refused(p.server_inst, RT_REFUSED_draining), 1);
	rt_pair_close(&p);
}

/* One that is not answered ends after the time of the latest drain, not of one before or of the
 * setting. */
static void drains_in_time(void)
{
	struct rt_config with_user = { .request_user_size = sizeof(void *) };
	struct rt_config server = { .drain_ms = 3600000 };
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &server, NULL));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 7, 100, false, 200, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	rt_instance_drain(p.server_inst, 3600000);
	rt_pair_run(&p);
	rt_instance_drain(p.server_inst, 50);
	for (unsigned int i = 0; i < 2000 && !p.server_closed; i++) {
		usleep(1000);
		rt_pair_run(&p);
	}
	CU_ASSERT_TRUE(p.server_closed);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done);
	CU_ASSERT_NOT_EQUAL(r.rq->status, 0);
	rt_rpc_free(&r);
	rt_pair_close(&p);
}

/* ---- Accounts ------------------------------------------------------------------ */

struct accounts {
	unsigned int n;
	struct rt_account of[8];
};

static void note_account(const struct rt_account *x, void *arg)
{
	struct accounts *a = arg;

	a->of[a->n++] = *x;
}

/* Take up to @max; returns how many hosts there are, and checks how many are left. */
static unsigned int take(struct iwarp *w, struct accounts *a, bool all,
			 unsigned int max, unsigned int want_left)
{
	unsigned int left, hosts;

	a->n = 0;
	hosts = rt_accounts_take(w->server, all, max, note_account, a, &left);
	CU_ASSERT_EQUAL(left, want_left);
	return hosts;
}

/* That of 192.0.2.@last, which must be among them. */
static void account_is(const struct accounts *a, uint8_t last,
		       unsigned int connections, unsigned int opened,
		       unsigned int closed, bool some_refused)
{
	for (unsigned int i = 0; i < a->n; i++) {
		const struct rt_account *x = &a->of[i];

		if (x->addr.s6_addr[15] != last)
			continue;
		CU_ASSERT_EQUAL(x->connections, connections);
		CU_ASSERT_EQUAL(x->opened, opened);
		CU_ASSERT_EQUAL(x->closed, closed);
		CU_ASSERT_EQUAL(x->refused > 0, some_refused);
		return;
	}
	CU_FAIL("no such host");
}

static void accounts(void)
{
	struct base_prefix third = prefix("192.0.2.3");
	struct accounts a;
	struct iwarp w;

	iwarp_start(&w, NULL);
	/* Before anybody asks nothing is kept. */
	seems = 0xc0000201;
	CU_ASSERT_TRUE_FATAL(iwarp_connect(&w));
	CU_ASSERT_EQUAL(take(&w, &a, false, 8, 0), 1);
	CU_ASSERT_EQUAL(a.n, 0);
	CU_ASSERT_TRUE_FATAL(iwarp_connect(&w));
	seems = 0xc0000202;
	CU_ASSERT_TRUE_FATAL(iwarp_connect(&w));
	CU_ASSERT_EQUAL(take(&w, &a, false, 8, 0), 2);
	CU_ASSERT_EQUAL(a.n, 2);
	account_is(&a, 1, 2, 1, 0, false);
	account_is(&a, 2, 1, 1, 0, false);
	take(&w, &a, false, 8, 0);
	CU_ASSERT_EQUAL(a.n, 0);
	/* One that has gone is reported; one that never came in, too. */
	rt_conn_close(w.latest, false);
	run_until_closed(&w, 1, 1);
	CU_ASSERT_EQUAL(rt_instance_evict(w.server, &third, 0, 60000), 0);
	seems = 0xc0000203;
	CU_ASSERT_FALSE(iwarp_connect(&w));
	CU_ASSERT_EQUAL(take(&w, &a, false, 1, 1), 1);
	CU_ASSERT_EQUAL(a.n, 1);
	{
		struct accounts rest;

		CU_ASSERT_EQUAL(take(&w, &rest, false, 8, 0), 1);
		CU_ASSERT_EQUAL_FATAL(rest.n, 1);
		a.of[a.n++] = rest.of[0];
	}
	account_is(&a, 2, 0, 0, 1, false);
	account_is(&a, 3, 0, 0, 0, true);
	/* All that are there; not those that are gone. */
	take(&w, &a, true, 8, 0);
	CU_ASSERT_EQUAL(a.n, 1);
	account_is(&a, 1, 2, 0, 0, false);
	/* One that waits to be reported when the server ends. */
	CU_ASSERT_FALSE(iwarp_connect(&w));
	seems = 0;
	iwarp_finish(&w);
}

/* No more hosts without a connection are kept than there may be. */
static void accounts_so_many(void)
{
	struct base_prefix all = prefix("192.0.0.0/16");
	struct sockaddr_storage peer = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct accounts a;
	unsigned int left;
	struct iwarp w;

	iwarp_start(&w, NULL);
	take(&w, &a, false, 0, 0);
	CU_ASSERT_EQUAL(rt_instance_evict(w.server, &all, 0, 60000), 0);
	in->sin_family = AF_INET;
	for (uint32_t i = 0; i < RT_ACCOUNTS_MAX + 100; i++) {
		in->sin_addr.s_addr =
			htonl(0xc0000000 + i % (RT_ACCOUNTS_MAX + 50));
		CU_ASSERT_FALSE(rt_admission_early(w.server, &peer, true));
	}
	a.n = 0;
	rt_accounts_take(w.server, false, 8, note_account, &a, &left);
	CU_ASSERT_EQUAL(a.n, 8);
	CU_ASSERT_EQUAL(left, RT_ACCOUNTS_MAX - 8);
	iwarp_finish(&w);
}

struct sums {
	unsigned int n;
	struct rt_host_info host;
};

static void note_host(const struct rt_host_info *h, void *arg)
{
	struct sums *s = arg;

	s->n++;
	s->host = *h;
}

/* The counts of a host stay when one of its connections ends, and go with the last. */
static void sums(void)
{
	struct rt_totals t;
	struct sums s = { 0 };
	struct iwarp w;

	iwarp_start(&w, NULL);
	CU_ASSERT_TRUE_FATAL(iwarp_connect(&w));
	CU_ASSERT_TRUE_FATAL(iwarp_connect(&w));
	for (unsigned int i = 0; i < 2; i++) {
		s.n = 0;
		rt_for_each_host(w.server, note_host, &s);
		rt_totals(w.server, &t);
		CU_ASSERT_EQUAL(s.n, 1);
		CU_ASSERT_EQUAL(s.host.connections, 2 - i);
		CU_ASSERT_EQUAL(
			memcmp(&s.host.stats, &t.stats, sizeof(t.stats)), 0);
		if (!i) {
			rt_conn_close(w.latest, false);
			run_until_closed(&w, 1, 1);
		}
	}
	rt_instance_drain(w.server, 1000);
	run_until_closed(&w, 2, 2);
	s.n = 0;
	rt_for_each_host(w.server, note_host, &s);
	CU_ASSERT_EQUAL(s.n, 0);
	iwarp_finish(&w);
}

/* ---- Settings ------------------------------------------------------------------ */

static void changes(void)
{
	struct rt_config cfg = { .max_connections = 8 };
	struct rt_totals t;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, NULL, &cfg, NULL));
	cfg = *rt_instance_config(p.server_inst);
	/* Wrong ones change nothing. */
	cfg.max_connections = 0xffffff;
	cfg.versions = 1u << WIRE_VERS1;
	CU_ASSERT_EQUAL(rt_instance_configure(p.server_inst, &cfg), -EINVAL);
	/* A limit below what there is: that stays, and nothing new. */
	cfg.max_connections = 1;
	cfg.versions = 0;
	CU_ASSERT_EQUAL(rt_instance_configure(p.server_inst, &cfg), 0);
	rt_pair_run(&p);
	CU_ASSERT_FALSE(p.server_closed);
	{
		struct rt_conn *client = p.client, *server = p.server;

		CU_ASSERT_FALSE(rt_pair_connect(&p));
		CU_ASSERT_EQUAL(refused(p.server_inst, RT_REFUSED_connections),
				1);
		p.client = client;
		p.server = server;
	}
	/* An idle connection learns of its new end. */
	cfg.idle_ms = 20;
	CU_ASSERT_EQUAL(rt_instance_configure(p.server_inst, &cfg), 0);
	p.server_closed = false;
	for (unsigned int i = 0; i < 2000 && !p.server_closed; i++) {
		usleep(1000);
		rt_pair_run(&p);
	}
	CU_ASSERT_TRUE(p.server_closed);
	CU_ASSERT_EQUAL(p.server_error, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(p.server_reason, "idle for 20 ms"));
	rt_totals(p.server_inst, &t);
	CU_ASSERT_EQUAL(t.connections, 0);
	/* Versions of new connections. */
	cfg.idle_ms = 0;
	cfg.versions = 1u << WIRE_VERS1;
	CU_ASSERT_EQUAL(rt_instance_configure(p.server_inst, &cfg), 0);
	CU_ASSERT_TRUE(rt_pair_connect(&p));
	CU_ASSERT_TRUE(p.v1);
	/* And addresses. */
	cfg.allow = allow("192.0.2.1", NULL);
	CU_ASSERT_EQUAL(rt_instance_configure(p.server_inst, &cfg), 0);
	rt_pair_run(&p);
	CU_ASSERT_FALSE(p.server_closed);
	rt_pair_close(&p);
}

/* A client that has sent nothing yet. */
static bool is_answered(struct rt_raw *r, unsigned int vers)
{
	if (vers == WIRE_VERS2)
		return rt_raw_greet(r);
	rt_raw1_call(r, 1, 8, NULL, NULL, 12);
	return rt_raw1_is_reply(r, 1);
}

/* A connection keeps the versions that were allowed when it began, also before it has settled on
 * one; the next one negotiates anew. */
static void versions_stay(void)
{
	for (unsigned int vers = WIRE_VERS1; vers <= WIRE_VERS2; vers++) {
		unsigned int other = WIRE_VERS1 + WIRE_VERS2 - vers;
		struct rt_config one = { .versions = 1u << vers,
					 .request_user_size = 8 };
		struct rt_config cfg;
		struct rt_pair p;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &one, NULL, NULL));
		cfg = *rt_instance_config(p.server_inst);
		cfg.versions = 1u << other;
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 3000, true, 12, 0,
					   0, 0, 0));
		CU_ASSERT_EQUAL(rt_instance_configure(p.server_inst, &cfg), 0);
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 2, 3000, true, 12, 0,
					   0, 0, 0));
		CU_ASSERT_FALSE(p.server_closed);
		rt_pair_close(&p);

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
		CU_ASSERT_EQUAL(rt_instance_configure(r.p.server_inst, &cfg),
				0);
		CU_ASSERT_TRUE(is_answered(&r, vers));
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		CU_ASSERT_TRUE(is_answered(&r, other));
		rt_raw_close(&r);
	}
}

/* ---- While others run the connections ------------------------------------------ */

static atomic_bool over;

static void *run_server(void *server)
{
	while (!atomic_load(&over))
		rt_run(server, 0, 10);
	return NULL;
}

static void ignore_account(const struct rt_account *x, void *unused)
{
}

static void *maintain(void *server)
{
	struct rt_config cfg = *rt_instance_config(server);
	struct base_prefix here = prefix("127.0.0.1");
	struct sums s = { 0 };
	struct rt_totals t;
	unsigned int left;

	for (unsigned int i = 0; i < 100; i++) {
		cfg.max_connections = i % 2 ? 1024 : 1;
		cfg.idle_ms = i % 3 ? 0 : 3600000;
		cfg.allow = allow("127.0.0.0/8", i % 2 ? "::/0" : NULL);
		CU_ASSERT_EQUAL(rt_instance_configure(server, &cfg), 0);
		CU_ASSERT_TRUE(rt_instance_evict(server, &here, 0, i % 2) >= 0);
		rt_instance_drain(server, 1000);
		rt_totals(server, &t);
		rt_for_each_host(server, note_host, &s);
		rt_accounts_take(server, i % 2, i % 3, ignore_account, NULL,
				 &left);
		rt_instance_drain(server, 0);
		usleep(500);
	}
	atomic_store(&over, true);
	return NULL;
}

static void all_at_once(void)
{
	pthread_t runner, admin;
	struct iwarp w;

	iwarp_start(&w, NULL);
	atomic_store(&over, false);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&admin, NULL, maintain, w.server),
			      0);
	CU_ASSERT_EQUAL_FATAL(
		pthread_create(&runner, NULL, run_server, w.server), 0);
	while (!atomic_load(&over)) {
		struct rt_conn *c;

		CU_ASSERT_EQUAL_FATAL(rt_connect(w.client, 0,
						 (struct sockaddr *)&w.at,
						 sizeof(struct sockaddr_in),
						 &end_ops, &w.c, &c),
				      0);
		for (unsigned int i = 0; i < 20; i++)
			rt_run(w.client, 0, 0);
	}
	pthread_join(admin, NULL);
	pthread_join(runner, NULL);
	/* Some had begun, whatever was refused. */
	for (unsigned int i = 0; i < 100000 && !iwarp_connect(&w); i++)
		;
	CU_ASSERT_TRUE(w.c.up > 0);
	rt_instance_drain(w.server, 1000);
	for (unsigned int i = 0; i < 100000 && w.s.closed < w.s.up; i++)
		iwarp_run(&w);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w.server, 2000, true), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(w.client, 2000, true), 0);
	rt_instance_destroy(w.server);
	rt_instance_destroy(w.client);
}

static const struct unit_test tests[] = {
	{ "not allowed", not_allowed },
	{ "is allowed", is_allowed },
	{ "by another device", by_another_device },
	{ "of a host", of_a_host },
	{ "memory of a host", memory_of_a_host },
	{ "asked late", asked_late },
	{ "evicts", evicts },
	{ "evicts so many", evicts_so_many },
	{ "drains", drains },
	{ "drains in time", drains_in_time },
	{ "changes", changes },
	{ "versions stay", versions_stay },
	{ "all at once", all_at_once },
	{ "accounts", accounts },
	{ "so many accounts", accounts_so_many },
	{ "sums", sums },
	{ NULL, NULL },
};

UNIT_MAIN("transport-admission", tests)
