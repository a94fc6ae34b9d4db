/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose connections a server accepts: by iwarp, which asks first, and by the loop. */
#include <errno.h>
#include <string.h>

#include "base/prefix.h"
#include "rt_pair.h"
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
	unsigned int up, closed;
	int error;
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
	struct sockaddr_storage at;
};

static void iwarp_start(struct iwarp *w, const struct rt_allow *a)
{
	struct rt_params sp = { .provider = fab_provider("iwarp"),
				.log = end_log,
				.log_ctx = &w->s };
	struct rt_params cp = { .provider = fab_provider("iwarp") };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rt_listener *l;

	memset(w, 0, sizeof(*w));
	if (a)
		sp.config.allow = *a;
	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&sp, &w->server), 0);
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
	struct rt_conn *c;

	CU_ASSERT_EQUAL_FATAL(
		rt_connect(w->client, 0, (struct sockaddr *)&w->at,
			   sizeof(struct sockaddr_in), &end_ops, &w->c, &c),
		0);
	for (unsigned int i = 0;
	     i < 100000 && w->c.up == up && w->c.closed == closed; i++)
		iwarp_run(w);
	return w->c.up > up;
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

/* ---- By the loop, which does not ask -------------------------------------- */

static void asked_late(void)
{
	struct rt_config cfg = { .allow = allow("192.0.2.1", NULL) };
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, NULL, &cfg, NULL));
	CU_ASSERT_FALSE(rt_pair_connect(&p));
	CU_ASSERT_EQUAL(refused(p.server_inst, RT_REFUSED_not_allowed), 1);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_EQUAL(p.client_error, -ECONNREFUSED);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "not allowed", not_allowed },
	{ "is allowed", is_allowed },
	{ "asked late", asked_late },
	{ NULL, NULL },
};

UNIT_MAIN("transport-admission", tests)
