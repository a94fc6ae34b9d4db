/* SPDX-License-Identifier: BSD-3-Clause */
/* Host authentication ([F5]) against a peer that keeps to no rules: tokens in
 * pieces, too long, out of turn, broken off, late; Calls before their time. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "auth_script.h"
#include "unit.h"
#include "rpcrdma/rtr.h"
#include "rpcrdma/xchar.h"

#define RAW_WAIT(r, cond) AUTH_WAIT(&(r)->p, cond)

static uint8_t data[80000];
/* What the raw peer has announced, what the other end has, see auth.h. */
static uint8_t announced[40];

/* The defaults, as nobody has said otherwise, but for the transport's own. */
static void announce(bool raw_is_client)
{
	uint32_t raw[5] = { 0, 4096, 1048576, 16, 0 };
	uint32_t theirs[5] = { 65536, 4096, 1048576, 16, 0 };

	for (unsigned int i = 0; i < 5; i++) {
		uint32_t c = htonl(raw_is_client ? raw[i] : theirs[i]);
		uint32_t s = htonl(raw_is_client ? theirs[i] : raw[i]);

		memcpy(announced + 4 * i, &c, 4);
		memcpy(announced + 20 + 4 * i, &s, 4);
	}
}

static bool begin(struct rt_raw *r, enum rt_auth_policy policy,
		  struct rt_config *more)
{
	struct rt_config cfg = more ? *more : (struct rt_config){ 0 };

	auth_script_reset(2, 100);
	announce(true);
	cfg.auth = policy;
	return rt_raw_client(r, &cfg);
}

static bool again(struct rt_raw *r)
{
	r->p.server_closed = r->p.server_up = false;
	r->p.server_error = 0;
	return rt_raw_again(r);
}

static void end(struct rt_raw *r)
{
	rt_raw_close(r);
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(auth_script_exchanges(&auth_script[i]), 0);
}

/* A MIDDLE with @n octets of @p as property 6, whole or cut. */
static void part(struct rt_raw *r, const void *p, size_t n)
{
	uint8_t value[8192];
	uint32_t len = htonl((uint32_t)n);
	struct wire_prop prop = { RDMA2_PROPID_HOSTAUTH, value,
				  (uint32_t)(4 + n + (-n & 3)) };

	memset(value, 0, sizeof(value));
	memcpy(value, &len, 4);
	memcpy(value + 4, p, n);
	rt_raw_connprop(r, false, &prop, 1);
}

static void parts(struct rt_raw *r, const void *p, size_t n, size_t step)
{
	for (size_t at = 0; at < n; at += step) {
		/* What it grants is all that is looked at. */
		RAW_WAIT(r, (int32_t)(r->limit - r->sent) > 0 ||
				    (r->first && rt_raw_next(r) && false) ||
				    r->down);
		if (r->down)
			return;
		part(r, (const uint8_t *)p + at, step < n - at ? step : n - at);
	}
}

/* The value of property 6 in the next CONNPROP_MIDDLE; its length. */
static size_t token(struct rt_raw *r, uint8_t *to)
{
	struct wire_iter it = { 0 };
	struct wire_prop v;
	const uint8_t *p;
	uint32_t n;

	if (!RAW_WAIT(r, r->first || r->down) ||
	    rt_raw_next(r) != RDMA2_CONNPROP_MIDDLE)
		return 0;
	while (wire_prop_next(&r->m.props, &it, &v))
		if (v.which == RDMA2_PROPID_HOSTAUTH &&
		    wire_prop_opaque(&v, &p, &n)) {
			memcpy(to, p, n);
			return n;
		}
	return 0;
}

/* The server's token @n comes. */
static bool answered(struct rt_raw *r, unsigned int n)
{
	uint8_t got[4096], want[4096];
	size_t len = auth_script_token(want, false, n, auth_script[1].len,
				       announced);

	return token(r, got) == len && !memcmp(got, want, len);
}

static void send_token(struct rt_raw *r, unsigned int n)
{
	size_t len = auth_script_token(data, true, n, auth_script[1].len,
				       n ? announced : NULL);

	part(r, data, len);
}

/* The refusal, and the end; nothing was executed. */
static bool refused(struct rt_raw *r, int error, const char *why)
{
	uint8_t got[4096];
	uint32_t kind = 1;
	size_t n = token(r, got);

	memcpy(&kind, got, 4);
	if (n < 8 || kind != RT_AUTH_REFUSAL) {
		fprintf(stderr, "expected a refusal, got %s, %zu octets\n",
			wire_htype_name(r->m.p.htype), n);
		return false;
	}
	RAW_WAIT(r, r->down && r->p.server_closed);
	if (r->p.server_error != error || !strstr(r->p.server_reason, why))
		fprintf(stderr, "expected '%s', got %d '%s'\n", why,
			r->p.server_error, r->p.server_reason);
	return r->down && r->p.server_error == error &&
	       strstr(r->p.server_reason, why) && !r->p.calls;
}

/* Without a second message of the client's there is none to say so [A7]. */
static bool timed_out(struct rt_raw *r)
{
	RT_RAW_WAIT(r, r->p.server_closed);
	return r->p.server_error == -ETIMEDOUT &&
	       strstr(r->p.server_reason, "in time (1 s)") && !rt_raw_next(r);
}

/* One that is right, in pieces of all lengths, GRANTs between them. */
static void pieces(void)
{
	static const size_t steps[] = { 4, 5, 7, 8, 9, 12, 60, 1000 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_REQUIRED, NULL));
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		size_t len;

		if (i)
			CU_ASSERT_TRUE_FATAL(again(&r));
		len = auth_script_token(data, true, 0, 100, NULL);
		parts(&r, data, len, steps[i]);
		rt_raw_grant(&r);
		while (r.queued > 1)
			rt_raw_next(&r);
		CU_ASSERT_TRUE(answered(&r, 0));
		send_token(&r, 1);
		CU_ASSERT_TRUE(answered(&r, 1));
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.first));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		rt_raw_connprop(&r, true, NULL, 0);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(r.p.server_up);
		rt_raw_call(&r, 5, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 5));
		/* 6.3.4: nothing more, least of all a token. */
		send_token(&r, 2);
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 0x7001, RDMA2_ERR_INVAL_CONT));
	}
	end(&r);
}

/* Ended for that, with no refusal, since the FINAL has gone. */
static bool uncovered(struct rt_raw *r)
{
	RAW_WAIT(r, r->down && r->p.server_closed);
	return r->p.server_error == -EACCES && !r->p.server_up &&
	       strstr(r->p.server_reason, "cover") && !r->p.calls;
}

/*
 * Properties after the client's last token, while it is looked at (then there
 * may be a refusal) or when it is known: none that changes what it covers.
 */
static void after(void)
{
	const struct {
		uint32_t which, value;
		bool refused;
	} v[] = {
		/* As it was, if only by default. */
		{ RDMA2_PROPID_RBSIZ, 4096, false },
		{ RDMA2_PROPID_RCSIZ, 16, false },
		{ 4711, 1, false },
		{ RDMA2_PROPID_SBSIZ, 4096, true },
		{ RDMA2_PROPID_RBSIZ, 65536, true },
		{ RDMA2_PROPID_RSSIZ, 4096, true },
		{ RDMA2_PROPID_RCSIZ, 1, true },
		{ RDMA2_PROPID_BRS, RDMA2_RVRSDIR_GENL, true },
		{ RDMA2_PROPID_X_XCHSUPP, XCHSUPP_ALL, true },
		{ RDMA2_PROPID_X_RTRSUPP, RTRS_XREQ, true },
		{ RDMA2_PROPID_X_RESPSXLIM, 4, true },
	};
	struct rt_config cfg = { .extensions = RT_EXT_RTR | RT_EXT_XCHAR };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_REQUIRED, &cfg));
	for (unsigned int i = 0; i < 4 * sizeof(v) / sizeof(*v); i++) {
		bool wait = i & 1, final = i & 2;

		if (i)
			CU_ASSERT_TRUE_FATAL(again(&r));
		/* Its Receives have a structure. */
		announced[24] = 0;
		announced[25] = 1;
		announced[26] = announced[27] = 0;
		send_token(&r, 0);
		CU_ASSERT_TRUE(answered(&r, 0));
		send_token(&r, 1);
		if (wait) {
			CU_ASSERT_TRUE(answered(&r, 1));
			CU_ASSERT_TRUE(RAW_WAIT(&r, r.first));
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		}
		rt_raw_prop(&r, final, v[i / 4].which, v[i / 4].value);
		if (v[i / 4].refused) {
			CU_ASSERT_TRUE(uncovered(&r));
			rt_raw_flush(&r);
			continue;
		}
		if (!final)
			rt_raw_connprop(&r, true, NULL, 0);
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.server_up));
		rt_conn_close(r.p.server, true);
		rt_raw_flush(&r);
		RAW_WAIT(&r, r.p.server_closed);
	}
	end(&r);
}

/* Before its time, or without any token. */
static void early(void)
{
	static const char absent[] = "does not use it";
	struct rt_config cfg = { .request_user_size = sizeof(void *) };
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_REQUIRED, &cfg));
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(refused(&r, -EACCES, absent));
	CU_ASSERT_TRUE_FATAL(again(&r));
	rt_raw_reply(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(refused(&r, -EACCES, absent));
	CU_ASSERT_TRUE_FATAL(again(&r));
	rt_raw_middle(&r, 5, false, 400, data, 400);
	CU_ASSERT_TRUE(refused(&r, -EACCES, absent));
	CU_ASSERT_TRUE_FATAL(again(&r));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(refused(&r, -EACCES, absent));
	CU_ASSERT_TRUE_FATAL(again(&r));
	rt_raw_connprop(&r, false, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_INVAL_CONT));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(refused(&r, -EACCES, absent));
	/* A GRANT is answered, but settles nothing. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(refused(&r, -EACCES, absent));
	/* An exchange that has begun: a Call in the middle of it. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	send_token(&r, 0);
	CU_ASSERT_TRUE(answered(&r, 0));
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_INVAL_CONT));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "broken off"));
	/* ... and before its step has been made. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	auth_script_hold(&auth_script[1], true);
	rt_raw_prop(&r, false, RDMA2_PROPID_BRS, RDMA2_RVRSDIR_SIMPLE);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	send_token(&r, 0);
	rt_raw_call(&r, 5, NULL, NULL, 8);
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_FALSE(r.p.server_up);
	CU_ASSERT_PTR_NOT_NULL_FATAL(r.p.server);
	/* Nor is it called back, whatever it has announced. */
	CU_ASSERT_FALSE(rt_conn_can_call(r.p.server));
	rt_rpc_init(&r.p, r.p.server, &rpc, 77, 0, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(r.p.server, &rpc);
	rt_raw_run(&r);
	auth_script_hold(&auth_script[1], false);
	CU_ASSERT_TRUE(RAW_WAIT(&r, r.first));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(refused(&r, -EACCES, "in the middle of it"));
	CU_ASSERT_EQUAL(r.p.server_ups, 0);
	CU_ASSERT(rpc.done && rpc.rq->status);
	rt_rpc_free(&rpc);
	end(&r);
}

static void bad_tokens(void)
{
	struct rt_raw r;
	size_t len;
	uint32_t v;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_OPTIONAL, NULL));
	/* Wrong in its kind, its length, an octet of it. */
	for (size_t i = 0; i < 100; i += 33) {
		if (i)
			CU_ASSERT_TRUE_FATAL(again(&r));
		len = auth_script_token(data, true, 0, 100, NULL);
		data[i < 8 ? 3 : 8 + i] ^= 1;
		part(&r, data, len);
		CU_ASSERT_TRUE(refused(&r, -EACCES, "a wrong token"));
	}
	CU_ASSERT_TRUE_FATAL(again(&r));
	len = auth_script_token(data, true, 0, 96, NULL);
	part(&r, data, len);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "a wrong token"));
	/* Longer than any may be, or than it says. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	v = htonl(RT_AUTH_TOKEN_MAX + 1);
	memcpy(data + 4, &v, 4);
	part(&r, data, 8);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "too long"));
	CU_ASSERT_TRUE_FATAL(again(&r));
	v = 0xffffffff;
	memcpy(data + 4, &v, 4);
	part(&r, data, 400);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "too long"));
	/* One as long as it may be, and the last part of it is longer. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	v = htonl(RT_AUTH_TOKEN_MAX);
	memcpy(data + 4, &v, 4);
	parts(&r, data, 8 + RT_AUTH_TOKEN_MAX + 4, 4000);
	/* The parts of a long one are looked at together, after a while. */
	CU_ASSERT_FALSE(r.down || r.p.server_closed);
	for (int i = 0; i < 20; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "too long"));
	CU_ASSERT_TRUE_FATAL(again(&r));
	len = auth_script_token(data, true, 0, 100, NULL);
	part(&r, data, len + 4);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "bytes after a token"));
	/* Two in one message, two in a row, one while ours is being made. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	{
		uint8_t value[200];
		struct wire_prop p[2] = {
			{ RDMA2_PROPID_HOSTAUTH, value, 112 },
			{ RDMA2_PROPID_HOSTAUTH, value, 112 },
		};

		v = htonl(108);
		memcpy(value, &v, 4);
		auth_script_token(value + 4, true, 0, 100, NULL);
		rt_raw_connprop(&r, false, p, 2);
		CU_ASSERT_TRUE(refused(&r, -EACCES, "out of turn"));
	}
	CU_ASSERT_TRUE_FATAL(again(&r));
	auth_script_hold(&auth_script[1], true);
	send_token(&r, 0);
	send_token(&r, 1);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "out of turn"));
	auth_script_hold(&auth_script[1], false);
	/* Too many. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	auth_script_rounds(&auth_script[1], RT_AUTH_TOKENS_MAX + 1);
	for (unsigned int i = 0; i < RT_AUTH_TOKENS_MAX; i++) {
		send_token(&r, i);
		CU_ASSERT_TRUE_FATAL(answered(&r, i));
	}
	send_token(&r, RT_AUTH_TOKENS_MAX);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "too many"));
	auth_script_rounds(&auth_script[1], 2);
	/* Their refusal is the end, though not ours. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	memset(data, 0, 8);
	part(&r, data, 8);
	CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.server_closed));
	CU_ASSERT_EQUAL(r.p.server_error, -EACCES);
	/* A property that is no opaque<>: as ever, and nothing is taken. */
	for (int fill = 0xff; fill >= 0; fill -= 0xff) {
		struct wire_prop p = { RDMA2_PROPID_HOSTAUTH, data, 8 };

		CU_ASSERT_TRUE_FATAL(again(&r));
		memset(data, fill, 8);
		rt_raw_connprop(&r, false, &p, 1);
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 0x7001, RDMA2_ERR_BAD_PROPVAL));
	}
	send_token(&r, 0);
	CU_ASSERT_TRUE(answered(&r, 0));
	end(&r);
}

/* Broken off, by FINAL, by the end, by silence. */
static void broken(void)
{
	struct rt_config soon = { .auth_ms = 100, .first_message_ms = 10000 };
	struct rt_raw r;
	size_t len;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_OPTIONAL, &soon));
	len = auth_script_token(data, true, 0, 100, NULL);
	part(&r, data, len - 4);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(refused(&r, -EACCES, "broken off"));
	/* By an ERROR for what we announced: whoever has begun must succeed. */
	for (size_t n = len - 4; n <= len; n += 4) {
		CU_ASSERT_TRUE_FATAL(again(&r));
		part(&r, data, n);
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.first));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
		rt_raw_error(&r, r.m.p.xid, RDMA2_ERR_BAD_PROPVAL);
		CU_ASSERT_TRUE(refused(&r, -EACCES, "broken off"));
	}
	/* Silence after a part of a token, and after a token. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	part(&r, data, len - 4);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	CU_ASSERT_TRUE(timed_out(&r));
	CU_ASSERT_TRUE_FATAL(again(&r));
	send_token(&r, 0);
	CU_ASSERT_TRUE(answered(&r, 0));
	CU_ASSERT_TRUE(timed_out(&r));
	/* Their end, while ours is being made. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	auth_script_hold(&auth_script[1], true);
	send_token(&r, 0);
	CU_ASSERT_TRUE(RAW_WAIT(&r, auth_script_inside(&auth_script[1], 1)));
	fab_disconnect(r.fab, true);
	CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.server_closed));
	auth_script_hold(&auth_script[1], false);
	end(&r);

	/* Who does not begin has the time that a policy gives. */
	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_REQUIRED, &soon));
	rt_raw_connprop(&r, false, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	CU_ASSERT_TRUE(timed_out(&r));
	end(&r);
	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_OPTIONAL, &soon));
	rt_raw_connprop(&r, false, NULL, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	/* Before the client's second message no second one of ours [A7]. */
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.first));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.server_up);
	end(&r);
}

/* Connections that come and go: what no thread has begun is taken back. */
static void come_and_go(void)
{
	struct auth_script *s = &auth_script[1];
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_REQUIRED, NULL));
	auth_script_hold(s, true);
	for (unsigned int i = 0; i < 20; i++) {
		/* There are two threads. */
		unsigned int begun = i < 2 ? i + 1 : 2;

		if (i)
			CU_ASSERT_TRUE_FATAL(again(&r));
		send_token(&r, 0);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(RAW_WAIT(&r, auth_script_inside(s, begun)));
		fab_disconnect(r.fab, i & 1);
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.server_closed));
		CU_ASSERT_EQUAL(auth_script_exchanges(s), begun);
	}
	auth_script_hold(s, false);
	CU_ASSERT_TRUE(RAW_WAIT(&r, !auth_script_exchanges(s)));
	CU_ASSERT_EQUAL(s->steps, 2);
	/* One that stays is served. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	send_token(&r, 0);
	CU_ASSERT_TRUE(answered(&r, 0));
	end(&r);
}

#define UNKNOWN 20

/* Connections that say nothing; one is down when it is not there any more. */
struct unknown {
	struct fab_conn *fab;
	bool up, down;
};

static void unknown_ready(struct fab_conn *c, void *user)
{
	struct unknown *s = user;
	struct fab_wc wc;

	while (fab_poll(c, &wc, 1) == 1) {
		s->up |= wc.kind == FAB_WC_ESTABLISHED;
		s->down |= wc.kind == FAB_WC_DISCONNECTED;
	}
}

static bool unknown_comes(struct rt_raw *r, struct unknown *s)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(20049) };
	struct fab_conn_params params = { 0 };

	*s = (struct unknown){ 0 };
	return !fab_conn_create(r->poller, unknown_ready, s, &s->fab) &&
	       !fab_connect(s->fab, (struct sockaddr *)&addr, sizeof(addr),
			    &params) &&
	       RAW_WAIT(r, s->up);
}

static void unknown_go(struct rt_raw *r, struct unknown *s, unsigned int n)
{
	while (n--) {
		if (!s[n].down)
			fab_disconnect(s[n].fab, true);
		CU_ASSERT_TRUE(RAW_WAIT(r, s[n].down));
		fab_conn_destroy_deferred(s[n].fab, NULL, NULL);
	}
	rt_raw_run(r);
}

/* The oldest of those who are not known gives way, and no one else. */
static void unknown_hosts(void)
{
	/* A quarter: 16. */
	struct rt_config few = { .max_connections = 64 };
	struct unknown s[UNKNOWN];
	struct rt_stats stats;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_REQUIRED, &few));
	send_token(&r, 0);
	CU_ASSERT_TRUE(answered(&r, 0));
	for (unsigned int i = 0; i < 15; i++)
		CU_ASSERT_TRUE_FATAL(unknown_comes(&r, &s[i]));
	CU_ASSERT_FALSE(r.down);
	CU_ASSERT_TRUE_FATAL(unknown_comes(&r, &s[15]));
	CU_ASSERT_TRUE(RAW_WAIT(&r, r.down && r.p.server_closed));
	CU_ASSERT_EQUAL(r.p.server_error, -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.p.server_reason, "too many others"));
	for (unsigned int i = 0; i < 16; i++)
		CU_ASSERT_FALSE(s[i].down);
	stats = rt_pair_stats(r.p.server_inst);
	CU_ASSERT_EQUAL(stats.auth_failed, 1);
	unknown_go(&r, s, 16);
	CU_ASSERT_EQUAL(auth_script_exchanges(&auth_script[1]), 0);

	/* Who is known stays, and one that comes to be is not unknown. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	send_token(&r, 0);
	CU_ASSERT_TRUE(answered(&r, 0));
	for (unsigned int i = 0; i < 8; i++)
		CU_ASSERT_TRUE_FATAL(unknown_comes(&r, &s[i]));
	send_token(&r, 1);
	CU_ASSERT_TRUE(answered(&r, 1));
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_run(&r);
	for (unsigned int i = 8; i < UNKNOWN; i++)
		CU_ASSERT_TRUE_FATAL(unknown_comes(&r, &s[i]));
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_TRUE(RAW_WAIT(&r, s[i].down));
	for (unsigned int i = 4; i < UNKNOWN; i++)
		CU_ASSERT_FALSE(s[i].down);
	CU_ASSERT_FALSE(r.down);
	unknown_go(&r, s, UNKNOWN);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 5));
	end(&r);

	/* Without a policy nobody is unknown. */
	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_NONE, &few));
	for (unsigned int i = 0; i < UNKNOWN; i++)
		CU_ASSERT_TRUE_FATAL(unknown_comes(&r, &s[i]));
	for (unsigned int i = 0; i < UNKNOWN; i++)
		CU_ASSERT_FALSE(s[i].down);
	CU_ASSERT_FALSE(r.down);
	unknown_go(&r, s, UNKNOWN);
	end(&r);
}

/* With optional, whoever takes no part is served as ever. */
static void bystanders(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(begin(&r, RT_AUTH_OPTIONAL, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_call(&r, 5, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 5));
	/* A Call first [A9]; tokens afterwards come too late to count. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	rt_raw_call(&r, 6, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 6));
	send_token(&r, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_call(&r, 7, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 7));
	/* Values in several messages, no token. */
	CU_ASSERT_TRUE_FATAL(again(&r));
	rt_raw_prop(&r, false, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
	rt_raw_prop(&r, true, RDMA2_PROPID_SBSIZ, 2048);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_call(&r, 8, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 8));
	CU_ASSERT_EQUAL(r.p.calls, 4);
	end(&r);
}

/* ---- A client, and a server that keeps to no rules ------------------------ */

static bool begin_client(struct rt_raw *r, enum rt_auth_policy policy)
{
	struct rt_config cfg = { .auth = policy,
				 .first_message_ms = 1000,
				 .auth_ms = 300 };

	auth_script_reset(2, 100);
	announce(false);
	return rt_raw_server(r, &cfg) && RAW_WAIT(r, r->first);
}

static bool client_again(struct rt_raw *r)
{
	return rt_raw_again(r) && RAW_WAIT(r, r->first);
}

/* Its first message: all that it announces, and its first token. */
static bool client_began(struct rt_raw *r)
{
	uint8_t got[4096], want[4096];
	size_t len = auth_script_token(want, true, 0, 100, NULL);

	return r->first && token(r, got) == len && !memcmp(got, want, len) &&
	       r->m.props.count == 5 && r->msg_len <= 1024;
}

static void servers(void)
{
	for (unsigned int p = RT_AUTH_OPTIONAL; p <= RT_AUTH_REQUIRED; p++) {
		bool may = p == RT_AUTH_OPTIONAL;
		struct rt_raw r;

		/* One that knows nothing of it. */
		CU_ASSERT_TRUE_FATAL(begin_client(&r, p));
		CU_ASSERT_TRUE(client_began(&r));
		rt_raw_connprop(&r, true, NULL, 0);
		CU_ASSERT_TRUE(
			RAW_WAIT(&r, r.p.client_up || r.p.client_closed));
		CU_ASSERT_EQUAL(r.p.client_up, may);
		if (may) {
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		} else {
			CU_ASSERT_EQUAL(r.p.client_error, -EACCES);
		}
		/* One that does not understand a MIDDLE. */
		CU_ASSERT_TRUE_FATAL(client_again(&r));
		CU_ASSERT_TRUE(client_began(&r));
		rt_raw_error(&r, r.m.p.xid, RDMA2_ERR_BAD_PROPVAL);
		if (may) {
			CU_ASSERT_TRUE(RAW_WAIT(&r, r.first));
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
			rt_raw_connprop(&r, true, NULL, 0);
			CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.client_up));
		} else {
			CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.client_closed));
			CU_ASSERT_EQUAL(r.p.client_error, -EACCES);
		}
		/* One that breaks it off. */
		CU_ASSERT_TRUE_FATAL(client_again(&r));
		CU_ASSERT_TRUE(client_began(&r));
		part(&r, data,
		     auth_script_token(data, false, 0, 100, announced));
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.first));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
		rt_raw_connprop(&r, true, NULL, 0);
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.client_closed));
		CU_ASSERT_FALSE(r.p.client_up);
		CU_ASSERT_EQUAL(r.p.client_error, -EACCES);
		/* One that says more at the end than its tokens cover, or the
		 * same again. */
		for (uint32_t size = 4096; size <= 8192; size += 4096) {
			CU_ASSERT_TRUE_FATAL(client_again(&r));
			CU_ASSERT_TRUE(client_began(&r));
			part(&r, data,
			     auth_script_token(data, false, 0, 100, announced));
			CU_ASSERT_TRUE(RAW_WAIT(&r, r.first));
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_MIDDLE);
			part(&r, data,
			     auth_script_token(data, false, 1, 100, announced));
			rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, size);
			CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.client_up ||
							    r.p.client_closed));
			CU_ASSERT_EQUAL(r.p.client_up, size == 4096);
			if (size > 4096)
				CU_ASSERT_EQUAL(r.p.client_error, -EACCES);
		}
		/* ... or does not want to have begun. */
		CU_ASSERT_TRUE_FATAL(client_again(&r));
		CU_ASSERT_TRUE(client_began(&r));
		part(&r, data, 60);
		rt_raw_run(&r);
		rt_raw_error(&r, r.m.p.xid, RDMA2_ERR_BAD_PROPVAL);
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.client_closed));
		CU_ASSERT_FALSE(r.p.client_up);
		CU_ASSERT_EQUAL(r.p.client_error, -EACCES);
		/* One that is not who it should be. */
		CU_ASSERT_TRUE_FATAL(client_again(&r));
		CU_ASSERT_TRUE(client_began(&r));
		data[50] ^= 1;
		part(&r, data, 108);
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.client_closed));
		CU_ASSERT_EQUAL(r.p.client_error, -EACCES);
		/* One that calls first. */
		CU_ASSERT_TRUE_FATAL(client_again(&r));
		CU_ASSERT_TRUE(client_began(&r));
		rt_raw_call(&r, 9, NULL, NULL, 8);
		/* Its answer, and our FINAL, or the end. */
		CU_ASSERT_TRUE(RAW_WAIT(&r, r.p.client_closed || r.queued > 1));
		CU_ASSERT_TRUE(may || r.p.client_error == -EACCES);
		CU_ASSERT_TRUE(may || !r.p.reverse_calls);
		CU_ASSERT_FALSE(r.p.client_closed && may);
		/* One that says nothing: what it could be is not known. */
		CU_ASSERT_TRUE_FATAL(client_again(&r));
		CU_ASSERT_TRUE(client_began(&r));
		CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.p.client_closed));
		end(&r);
	}
}

static const struct unit_test tests[] = {
	{ "pieces", pieces },
	{ "after", after },
	{ "early", early },
	{ "bad tokens", bad_tokens },
	{ "broken", broken },
	{ "come and go", come_and_go },
	{ "unknown hosts", unknown_hosts },
	{ "bystanders", bystanders },
	{ "servers", servers },
	{ NULL, NULL },
};

UNIT_MAIN("transport-auth-raw", tests)
