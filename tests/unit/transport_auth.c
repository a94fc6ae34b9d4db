/* SPDX-License-Identifier: BSD-3-Clause */
/* Host authentication ([F5]) between two ends of the transport, with tokens of
 * a script: policies, rounds, lengths, refusals, and ends in between. */
#include <errno.h>

#include "auth_script.h"
#include "test_clock.h"
#include "unit.h"

static struct rt_config with(enum rt_auth_policy policy)
{
	return (struct rt_config){ .auth = policy,
				   .request_user_size = 8,
				   .max_segments = 16 };
}

static struct rt_conn_info info(struct rt_conn *c)
{
	struct rt_conn_info i;

	rt_conn_info(c, &i);
	return i;
}

static bool listening(struct rt_pair *p, enum rt_auth_policy client,
		      enum rt_auth_policy server)
{
	struct rt_config c = with(client), s = with(server);

	return rt_pair_listen(p, &c, &s, NULL);
}

/* Neither an exchange nor a refusal may be left over. */
static void close_pair(struct rt_pair *p)
{
	rt_pair_close(p);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(auth_script_exchanges(&auth_script[i]), 0);
}

static const struct rt_watch_end *end_of(const struct rt_pair *p, bool active)
{
	for (unsigned int i = 0; i < p->watch.nends; i++)
		if (p->watch.end[i].active == active)
			return &p->watch.end[i];
	return NULL;
}

static void good(unsigned int rounds, size_t len)
{
	struct rt_pair p;
	struct rt_stats s;

	auth_script_reset(rounds, len);
	CU_ASSERT_TRUE_FATAL(listening(&p, RT_AUTH_REQUIRED, RT_AUTH_REQUIRED));
	CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
	CU_ASSERT_TRUE_FATAL(
		AUTH_WAIT(&p, (p.client_up && p.server_up) || p.client_closed));
	CU_ASSERT_TRUE_FATAL(p.client_up && p.server_up);
	CU_ASSERT_STRING_EQUAL(info(p.client).auth_peer, "nfs/server");
	CU_ASSERT_STRING_EQUAL(info(p.server).auth_peer, "host/client");
	CU_ASSERT_TRUE(info(p.client).theirs.complete);
	CU_ASSERT_EQUAL(info(p.client).theirs.recv_size, 4096);
	CU_ASSERT_EQUAL(info(p.server).theirs.send_size, 65536);
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 20000, true, 30000, 1,
				   10000, 1, 10000));
	CU_ASSERT_EQUAL(auth_script[0].steps, rounds + 1);
	CU_ASSERT_EQUAL(auth_script[1].steps, rounds);
	/* 6.3.4: one FINAL each, whatever was before. */
	for (unsigned int active = 0; active < 2; active++) {
		const struct rt_watch_end *e = end_of(&p, active);

		CU_ASSERT_EQUAL(e->count[RDMA2_CONNPROP_FINAL], 1);
		CU_ASSERT_TRUE(e->count[RDMA2_CONNPROP_MIDDLE] >=
			       rounds * ((len + 4095) / 4096));
		CU_ASSERT_EQUAL(e->count[RDMA2_ERROR], 0);
	}
	s = rt_pair_stats(p.client_inst);
	CU_ASSERT_TRUE(s.auth_passed == 1 && !s.auth_failed);
	s = rt_pair_stats(p.server_inst);
	CU_ASSERT_TRUE(s.auth_passed == 1 && !s.auth_failed);
	/* Threads that make steps run no connections: this one does. */
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_TRUE(
			pthread_equal(auth_script[i].ended_by, pthread_self()));
	close_pair(&p);
}

static void rounds(void)
{
	/* Whole in a first message; more than that; more than one message;
	 * more than the credits of one turn; the longest. */
	static const size_t len[] = { 44,   45,	  900,	 940,	1000,
				      4060, 4096, 20001, 65535, 65536 };

	for (unsigned int n = 1; n <= 3; n++)
		for (size_t i = 0; i < sizeof(len) / sizeof(*len); i++)
			good(n, len[i]);
	good(16, 100);
}

/* A connection that comes up, or does not. */
static void meet(enum rt_auth_policy client, enum rt_auth_policy server,
		 bool up, bool known)
{
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(listening(&p, client, server));
	CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
	CU_ASSERT_TRUE_FATAL(
		AUTH_WAIT(&p, (p.client_up && p.server_up) ||
				      (p.client_closed && p.server_closed)));
	CU_ASSERT_EQUAL(p.client_up, up);
	CU_ASSERT_EQUAL(p.server_up, up);
	if (up) {
		CU_ASSERT_EQUAL(*info(p.client).auth_peer != 0, known);
		CU_ASSERT_EQUAL(*info(p.server).auth_peer != 0, known);
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 100, false, 100, 0,
					   0, 0, 0));
	} else {
		CU_ASSERT_TRUE(p.client_error == -EACCES ||
			       p.server_error == -EACCES);
		CU_ASSERT_EQUAL(p.calls, 0);
	}
	close_pair(&p);
}

static void policies(void)
{
	for (unsigned int c = RT_AUTH_NONE; c <= RT_AUTH_REQUIRED; c++)
		for (unsigned int s = RT_AUTH_NONE; s <= RT_AUTH_REQUIRED;
		     s++) {
			auth_script_reset(2, 500);
			meet(c, s,
			     (c && s) || (c != RT_AUTH_REQUIRED &&
					  s != RT_AUTH_REQUIRED),
			     c && s);
		}
	/* A client without a key: as if it took no part. */
	for (unsigned int s = RT_AUTH_NONE; s <= RT_AUTH_REQUIRED; s++) {
		auth_script_reset(2, 500);
		auth_script[0].unable = true;
		meet(RT_AUTH_OPTIONAL, s, s != RT_AUTH_REQUIRED, false);
		auth_script_reset(2, 500);
		auth_script[0].unable = true;
		meet(RT_AUTH_REQUIRED, s, false, false);
	}
}

/* Whoever takes part must succeed, optional or not. */
static void refusals(void)
{
	for (unsigned int side = 0; side < 2; side++)
		for (unsigned int n = 1; n < 4; n++)
			for (size_t len = 0; len < 10000; len += 4999) {
				struct rt_pair p;
				enum rt_auth_policy policy =
					n & 1 ? RT_AUTH_OPTIONAL :
						RT_AUTH_REQUIRED;
				int mine, theirs;

				auth_script_reset(n, 700);
				auth_script[side].refuse = true;
				auth_script[side].refusal = len;
				test_clock_hold();
				CU_ASSERT_TRUE_FATAL(
					listening(&p, policy, policy));
				CU_ASSERT_TRUE_FATAL(
					rt_pair_connect_to(&p, 20049));
				CU_ASSERT_TRUE(
					AUTH_WAIT(&p, p.client_closed &&
							      p.server_closed));
				mine = side ? p.server_error : p.client_error;
				theirs = side ? p.client_error : p.server_error;
				CU_ASSERT_EQUAL(mine, -EACCES);
				CU_ASSERT_PTR_NOT_NULL(
					strstr(side ? p.server_reason :
						      p.client_reason,
					       "not liked"));
				CU_ASSERT_FALSE(p.client_up);
				/* The server was content with the client: the
				 * connection was good for it until the end. */
				if (side) {
					char text[20];

					snprintf(text, sizeof(text), "%zu",
						 len);
					CU_ASSERT_EQUAL(theirs, -EACCES);
					CU_ASSERT_TRUE(AUTH_WAIT(
						&p, !auth_script_exchanges(
							    &auth_script[0])));
					CU_ASSERT_STRING_EQUAL(
						auth_script[0].told, text);
				}
				close_pair(&p);
			}
}

/* The end comes while a step is being made. */
static void ends(void)
{
	for (unsigned int i = 0; i < 12; i++) {
		unsigned int holder = i & 1;
		struct rt_pair p;

		auth_script_reset(2, 3000);
		auth_script_hold(&auth_script[holder], true);
		CU_ASSERT_TRUE_FATAL(
			listening(&p, RT_AUTH_REQUIRED, RT_AUTH_OPTIONAL));
		CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
		CU_ASSERT_TRUE(AUTH_WAIT(
			&p, auth_script_inside(&auth_script[holder], 1)));
		CU_ASSERT_FALSE(p.client_up || p.server_up);
		if (i & 2)
			rt_conn_close(p.client, i & 4);
		else if (p.server)
			rt_conn_close(p.server, i & 4);
		rt_pair_run(&p);
		if (!(i & 8))
			auth_script_hold(&auth_script[holder], false);
		CU_ASSERT_TRUE(
			AUTH_WAIT(&p, p.client_closed && p.server_closed));
		CU_ASSERT_EQUAL(p.calls, 0);
		/* The instances wait for what is under way. */
		auth_script_hold(&auth_script[holder], false);
		close_pair(&p);
	}
}

/* A step that takes too long. */
static void slow(void)
{
	static const struct {
		enum rt_auth_policy client, server;
		unsigned int holder;
		bool up;
	} cases[] = {
		{ RT_AUTH_OPTIONAL, RT_AUTH_OPTIONAL, 0, true },
		{ RT_AUTH_OPTIONAL, RT_AUTH_REQUIRED, 0, false },
		{ RT_AUTH_REQUIRED, RT_AUTH_OPTIONAL, 0, false },
		{ RT_AUTH_OPTIONAL, RT_AUTH_OPTIONAL, 1, false },
		{ RT_AUTH_REQUIRED, RT_AUTH_REQUIRED, 1, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rt_config c = with(cases[i].client);
		struct rt_config s = with(cases[i].server);
		struct auth_script *held = &auth_script[cases[i].holder];
		struct rt_pair p;

		c.first_message_ms = 400;
		s.auth_ms = 200;
		auth_script_reset(2, 100);
		auth_script_hold(held, true);
		test_clock_hold();
		CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &c, &s, NULL));
		CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
		CU_ASSERT_TRUE(AUTH_WAIT(&p, auth_script_inside(held, 1)));
		for (unsigned int ms = 0; ms < 1000; ms += 10) {
			test_clock_pass(10);
			rt_pair_run(&p);
		}
		CU_ASSERT_TRUE((p.client_up && p.server_up) ||
			       (p.client_closed && p.server_closed));
		CU_ASSERT_EQUAL(p.client_up, cases[i].up);
		if (p.client_up) {
			CU_ASSERT_STRING_EQUAL(info(p.server).auth_peer, "");
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 100, false,
						   100, 0, 0, 0, 0));
		} else {
			/* It was answered, or nothing was sent: no reason to
			 * take the server for one of version 1. */
			CU_ASSERT_NOT_EQUAL(p.client_error, -EAGAIN);
		}
		auth_script_hold(held, false);
		close_pair(&p);
	}
}

/* Settings that make no sense, and what becomes of version 1. */
static void settings(void)
{
	struct rt_config v1 = { .versions = 1u << 1, .auth = RT_AUTH_REQUIRED };
	struct rt_config cfg = with(RT_AUTH_REQUIRED), plain = with(0);
	struct rt_params params = { .provider = &fab_loop_ops, .config = cfg };
	struct rt_instance *inst;
	struct rt_pair p;

	rt_config_defaults(&v1);
	CU_ASSERT_PTR_NOT_NULL(rt_config_check(&v1));
	v1.auth = RT_AUTH_NONE;
	CU_ASSERT_PTR_NULL(rt_config_check(&v1));
	v1.auth = (enum rt_auth_policy)3;
	CU_ASSERT_PTR_NOT_NULL(rt_config_check(&v1));
	v1.auth = RT_AUTH_NONE;
	v1.auth_ms = 3600000;
	CU_ASSERT_PTR_NULL(rt_config_check(&v1));
	v1.auth_ms++;
	CU_ASSERT_PTR_NOT_NULL(rt_config_check(&v1));
	/* Without an authenticator. */
	CU_ASSERT_EQUAL(rt_instance_create(&params, &inst), -EINVAL);

	/* A client of version 1 alone is told that there is none. */
	auth_script_reset(1, 100);
	plain.versions = 1u << 1;
	CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &plain, &cfg, NULL));
	CU_ASSERT_TRUE_FATAL(rt_pair_connect(&p));
	{
		struct rt_rpc r;

		rt_rpc_init(&p, p.client, &r, 1, 100, false, 100, 0, 0, 0, 0);
		rt_rpc_submit(p.client, &r);
		CU_ASSERT_TRUE(AUTH_WAIT(&p, r.done));
		CU_ASSERT_NOT_EQUAL(r.rq->status, 0);
		CU_ASSERT_EQUAL(p.calls, 0);
		rt_rpc_free(&r);
	}
	close_pair(&p);

	/* A server of version 1 alone: not for whoever requires it. */
	for (unsigned int c = RT_AUTH_OPTIONAL; c <= RT_AUTH_REQUIRED; c++) {
		cfg = with(c);
		auth_script_reset(1, 100);
		CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &cfg, &plain, NULL));
		CU_ASSERT_TRUE_FATAL(rt_pair_connect_to(&p, 20049));
		CU_ASSERT_TRUE(AUTH_WAIT(&p, p.client_up || p.client_closed));
		CU_ASSERT_EQUAL(p.client_up, c == RT_AUTH_OPTIONAL);
		if (p.client_up) {
			CU_ASSERT_TRUE(p.v1);
			CU_ASSERT_STRING_EQUAL(info(p.client).auth_peer, "");
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 100, false,
						   100, 0, 0, 0, 0));
		} else {
			CU_ASSERT_EQUAL(p.client_error, -EPROTONOSUPPORT);
		}
		close_pair(&p);
	}
}

static const struct unit_test tests[] = {
	{ "rounds", rounds },	  { "policies", policies },
	{ "refusals", refusals }, { "ends", ends },
	{ "slow", slow },	  { "settings", settings },
	{ NULL, NULL },
};

UNIT_MAIN("transport-auth", tests)
