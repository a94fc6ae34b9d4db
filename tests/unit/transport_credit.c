/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow control (4.2.1, [A1] to [A6], [G3]): what peers may do with it, and
 * that nothing gets stuck. The rules themselves are checked by rt_watch on
 * every message here.
 */
#include <errno.h>

#include "rt_raw.h"
#include "unit.h"

static const struct rt_config with_user = { .request_user_size = 8,
					    .call_read_chunks = 2,
					    .call_write_chunks = 2 };

/* No credit, one, many, fewer, and values that are no limit. */
static void limits_of_a_peer(void)
{
	struct rt_raw r;
	unsigned int n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.credits = 0;
	for (uint32_t i = 0; i < 8; i++)
		rt_raw_call(&r, i, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* One at a time. */
	r.credits = 1;
	for (uint32_t i = 0; i < 2; i++) {
		rt_raw_grant(&r);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, i));
		CU_ASSERT_TRUE(rt_raw_silent(&r));
	}
	/* Taken back: the newest value counts, lower or not [A6]. */
	r.p.hold = true;
	r.credits = 20;
	rt_raw_call(&r, 8, NULL, NULL, 8);
	for (uint32_t i = 2; i < 8; i++)
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, i));
	r.credits = 0;
	rt_raw_grant(&r);
	rt_raw_run(&r);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* 2^31 or more ahead is behind [A4]. */
	r.credits = 0x80000000;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 0xffffffff;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 0x7ffffffe;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 8));
	/* 40 fragments within a limit of 7. */
	r.p.hold = false;
	r.credits = 7;
	rt_raw_call(&r, 9, NULL, NULL, 40 * 4000);
	for (n = 0; rt_raw_next(&r) == RDMA2_REPLY_MIDDLE; n++)
		;
	CU_ASSERT_EQUAL(n, 7);
	do {
		rt_raw_grant(&r);
		for (n = 0; rt_raw_next(&r) == RDMA2_REPLY_MIDDLE; n++)
			;
		CU_ASSERT_TRUE(n <= 7);
	} while (n);
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* [A1]: the limit is on the peer's scale; every message counts [A4]. */
static void values(void)
{
	struct rt_config cfg = { .credits = 10 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	CU_ASSERT_EQUAL(r.limit, 1 + 10);
	/* Many messages the other way change nothing. */
	rt_raw_call(&r, 1, NULL, NULL, 60000);
	while (rt_raw_next(&r) == RDMA2_REPLY_MIDDLE)
		CU_ASSERT_EQUAL(r.limit, 2 + 10);
	CU_ASSERT_EQUAL(r.limit, 2 + 10);
	/* A Call in progress keeps its credit [A5]. */
	r.p.hold = true;
	rt_raw_call(&r, 2, NULL, NULL, 8);
	rt_raw_call(&r, 3, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(r.p.nheld, 2);
	rt_pair_answer(&r.p, r.p.held[1]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 3));
	CU_ASSERT_EQUAL(r.limit, 4 + 9);
	/* What is dropped counts: short, unknown, of other versions. */
	rt_raw_send(&r, "xyz", 3);
	rt_raw_error(&r, 1, 77);
	rt_raw_grant(&r);
	rt_pair_answer(&r.p, r.p.held[0]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 2));
	CU_ASSERT_EQUAL(r.limit, 7 + 10);
	r.p.nheld = 0;
	rt_raw_close(&r);
}

static void answer_held(struct rt_pair *p)
{
	while (p->nheld)
		rt_pair_answer(p, p->held[--p->nheld]);
}

/* [A5] rules 5 and 6, 4.2.1.1. */
static void grants(void)
{
	struct rt_config cfg = { .credits = 16 };
	uint8_t *big = calloc(1, 600 * 4);
	struct rt_raw r;
	unsigned int sent = 0, n, grants = 0;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	/* Of all that were announced, and one beyond, one takes the news. */
	while ((int32_t)(r.limit - r.sent) >= 0)
		rt_raw_grant(&r);
	CU_ASSERT_EQUAL(r.sent, 1 + 16 + 1);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
	CU_ASSERT_EQUAL(r.limit, r.sent + 16);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);

	/* A stream: a GRANT before half of the limit is left. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	n = (unsigned int)rt_raw_payload(big, 1, 8, 0, 0, 400 * 4 - 68);
	CU_ASSERT_EQUAL(n, 1600);
	while (n > 4) {
		n -= 4;
		rt_raw_middle(&r, 1, false, n, big + sent, 4);
		sent += 4;
		rt_raw_run(&r);
		if (r.queued) {
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
			CU_ASSERT_EQUAL(r.m.p.xid, 0);
			CU_ASSERT_EQUAL(r.msg_len, 16);
			CU_ASSERT_EQUAL(r.limit, r.sent + 16);
			grants++;
		}
		CU_ASSERT_TRUE((int32_t)(r.limit - r.sent) > 8);
	}
	/* One for eight. */
	CU_ASSERT_EQUAL(grants, 399 / 8);
	rt_raw_call(&r, 1, NULL, big + sent, 4);
	if (rt_raw_next(&r) == RDMA2_GRANT)
		rt_raw_next(&r);
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);

	/* Calls that are dropped give theirs back too. */
	r.p.drop = true;
	for (uint32_t i = 0; i < 100; i++) {
		rt_raw_call(&r, i, NULL, NULL, 8);
		rt_raw_run(&r);
		if (r.queued)
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
		CU_ASSERT_TRUE((int32_t)(r.limit - r.sent) > 8);
	}
	r.p.drop = false;
	free(big);
	rt_raw_close(&r);
}

/*
 * A client that gives no credit, and has none in the middle of a Call: the
 * server's GRANT comes in the extra Receive (4.2.1.1), once.
 */
static void reserve(void)
{
	struct rt_config cfg = { .credits = 2 };
	uint8_t pay[512];
	struct rt_raw r;
	size_t n = rt_raw_payload(pay, 1, 8, 0, 0, 300), at = 0;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.credits = 0;
	while ((int32_t)(r.limit - r.sent) > 0) {
		rt_raw_middle(&r, 1, false, (uint32_t)(n - at) - 4, pay + at,
			      4);
		at += 4;
	}
	CU_ASSERT_EQUAL(at, 8);
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.queued));
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
	CU_ASSERT_EQUAL(r.limit, r.sent + 2);
	rt_raw_middle(&r, 1, false, (uint32_t)(n - at) - 4, pay + at, 4);
	at += 4;
	rt_raw_call(&r, 1, NULL, pay + at, n - at);
	/* Nothing but a GRANT may come, not even the Reply. */
	for (unsigned int i = 0; i < 40; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(r.queued <= 1);
	if (r.queued)
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_GRANT);
	r.credits = 1;
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_raw_close(&r);
}

/* ---- Nothing gets stuck ----------------------------------------------- */

#define FORWARD 10
#define REVERSE 5

static uint32_t seed_of_run;

static void with_seed(struct fab_domain *dom)
{
	struct loop_faults f = { .order_seed = seed_of_run,
				 .delay_polls = seed_of_run % 3 };

	loop_set_faults(dom, LOOP_ACTIVE, &f);
	f.order_seed = 0;
	loop_set_faults(dom, LOOP_PASSIVE, &f);
}

static uint32_t rng(uint32_t *s)
{
	*s = *s * 1664525 + 1013904223;
	return *s >> 8;
}

static void one_rpc(struct rt_pair *p, struct rt_conn *from, struct rt_rpc *r,
		    uint32_t xid, uint32_t *s)
{
	static const size_t size[] = { 0, 100, 4000, 9000, 30001 };
	unsigned int items = rng(s) % 3;
	uint32_t len = (uint32_t)size[rng(s) % 5];

	rt_rpc_init(p, from, r, xid, size[rng(s) % 5], rng(s) % 2,
		    8 + 4 * items + (size[rng(s) % 5] & ~3u), items, len,
		    rng(s) % (items + 1), len);
	rt_rpc_submit(from, r);
}

/* All formats, both directions, answers in another order. */
static bool storm(const struct rt_config *client,
		  const struct rt_config *server, uint32_t seed)
{
	struct rt_rpc f[FORWARD], v[REVERSE];
	struct rt_pair p;
	uint32_t s = seed;
	unsigned int rounds = 0;
	bool ok = true;

	seed_of_run = seed;
	if (!rt_pair_open(&p, client, server, with_seed))
		return false;
	ok = rt_rpc_trip(&p, p.client, 1, 0, false, 8, 0, 0, 0, 0);
	p.hold = true;
	for (uint32_t i = 0; i < FORWARD || i < REVERSE; i++) {
		if (i < FORWARD)
			one_rpc(&p, p.client, &f[i], 100 + i, &s);
		if (i < REVERSE)
			one_rpc(&p, p.server, &v[i], 500 + i, &s);
		if (rng(&s) % 2)
			rt_run(p.server_inst, 0, 0);
		if (rng(&s) % 2)
			rt_run(p.client_inst, 0, 0);
	}
	for (rounds = 0; rounds < 100; rounds++) {
		rt_pair_run(&p);
		if (!p.nheld)
			break;
		for (unsigned int n = 1 + rng(&s) % 3; n && p.nheld; n--) {
			unsigned int k = rng(&s) % p.nheld;
			struct rt_call *call = p.held[k];

			p.held[k] = p.held[--p.nheld];
			rt_pair_answer(&p, call);
		}
	}
	for (unsigned int i = 0; i < FORWARD; i++) {
		ok &= rt_rpc_check(&f[i]);
		if (!f[i].done)
			rt_conn_close(p.client, true);
	}
	for (unsigned int i = 0; i < REVERSE; i++)
		ok &= rt_rpc_check(&v[i]);
	rt_pair_run(&p);
	for (unsigned int i = 0; i < FORWARD; i++)
		rt_rpc_free(&f[i]);
	for (unsigned int i = 0; i < REVERSE; i++)
		rt_rpc_free(&v[i]);
	ok &= !p.watch.faults;
	rt_pair_close(&p);
	return ok;
}

static void storms(void)
{
	static const enum rt_call_format format[] = { RT_FORMAT_AUTO,
						      RT_FORMAT_CONTINUED,
						      RT_FORMAT_SPECIAL };
	struct rt_config c = with_user, s = with_user;
	/* More of them by hand. */
	const char *more = getenv("RPCRDMA_TEST_SEEDS");
	unsigned int runs = more ? (unsigned int)atoi(more) : 8;
	uint32_t seed = 1;

	c.reverse = RDMA2_RVRSDIR_GENL;
	for (unsigned int f = 0; f < 3; f++)
		for (c.credits = 1; c.credits <= 4; c.credits++)
			for (s.credits = 1; s.credits <= 4; s.credits++)
				for (unsigned int n = 0; n < runs;
				     n++, seed++) {
					bool ok;

					c.call_format = format[f];
					s.call_format = format[(f + n) % 3];
					ok = storm(&c, &s, seed);
					CU_ASSERT_TRUE(ok);
					if (!ok)
						fprintf(stderr,
							"credits %u, %u, "
							"format %u, seed %u\n",
							c.credits, s.credits, f,
							seed);
				}
}

/* One credit each way: GRANTs drawn out of both in the middle of messages. */
static void both_continue(void)
{
	struct rt_config c = with_user, s = with_user;
	struct rt_rpc r[6];
	struct rt_pair p;

	c.call_format = s.call_format = RT_FORMAT_CONTINUED;
	c.reverse = RDMA2_RVRSDIR_CONT;
	for (c.credits = 1; c.credits <= 3; c.credits++)
		for (s.credits = 1; s.credits <= 3; s.credits++) {
			CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 8,
						   0, 0, 0, 0));
			for (uint32_t i = 0; i < 6; i++) {
				struct rt_conn *from = i % 2 ? p.server :
							       p.client;

				rt_rpc_init(&p, from, &r[i], 10 + i, 50000,
					    false, 50000, 0, 0, 0, 0);
				rt_rpc_submit(from, &r[i]);
			}
			rt_pair_run(&p);
			for (uint32_t i = 0; i < 6; i++) {
				bool ok = rt_rpc_check(&r[i]);

				CU_ASSERT_TRUE(ok);
				if (!ok)
					fprintf(stderr, "credits %u, %u: %u\n",
						c.credits, s.credits, i);
			}
			rt_conn_close(p.client, true);
			rt_pair_run(&p);
			for (uint32_t i = 0; i < 6; i++)
				rt_rpc_free(&r[i]);
			rt_pair_close(&p);
		}
}

/*
 * [G3]: each of the forward Calls waits for a reverse Call on the same
 * connection, and the server takes no more Calls than there are.
 */
static void recall(void)
{
	for (unsigned int credits = 1; credits <= 2; credits++)
		for (unsigned int ccredits = 1; ccredits <= 2; ccredits++) {
			struct rt_config c = with_user, s = with_user;
			struct rt_rpc f[2], v[2];
			struct rt_pair p;

			c.reverse = RDMA2_RVRSDIR_CONT;
			c.credits = ccredits;
			s.credits = credits;
			CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 8,
						   0, 0, 0, 0));
			p.hold = true;
			for (uint32_t i = 0; i < 2; i++) {
				rt_rpc_init(&p, p.client, &f[i], 10 + i, 9000,
					    false, 8, 0, 0, 0, 0);
				rt_rpc_submit(p.client, &f[i]);
			}
			rt_pair_run(&p);
			CU_ASSERT_EQUAL(p.nheld, 2);
			p.hold = false;
			for (uint32_t i = 0; i < 2; i++) {
				rt_rpc_init(&p, p.server, &v[i], 20 + i, 9000,
					    false, 9000, 0, 0, 0, 0);
				rt_rpc_submit(p.server, &v[i]);
			}
			rt_pair_run(&p);
			rt_rpc_finish(v, 2);
			while (p.nheld)
				rt_pair_answer(&p, p.held[--p.nheld]);
			rt_pair_run(&p);
			rt_rpc_finish(f, 2);
			rt_pair_close(&p);
		}
}

/*
 * The same from the other side: the client answers the server's Calls only
 * when its own Calls have been answered.
 */
static void mirrored(void)
{
	struct rt_config c = with_user, s = with_user;
	struct rt_rpc f[3], v[2];
	struct rt_pair p;

	c.reverse = RDMA2_RVRSDIR_SIMPLE;
	c.credits = 2;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false, 8, 0, 0, 0, 0));
	p.hold = true;
	for (uint32_t i = 0; i < 2; i++) {
		rt_rpc_init(&p, p.server, &v[i], 20 + i, 0, false, 8, 0, 0, 0,
			    0);
		rt_rpc_submit(p.server, &v[i]);
	}
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(p.nheld, 2);
	p.hold = false;
	for (uint32_t i = 0; i < 3; i++) {
		rt_rpc_init(&p, p.client, &f[i], 10 + i, 0, false, 20000, 0, 0,
			    0, 0);
		rt_rpc_submit(p.client, &f[i]);
	}
	rt_pair_run(&p);
	rt_rpc_finish(f, 3);
	while (p.nheld)
		rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	rt_rpc_finish(v, 2);
	rt_pair_close(&p);
}

/* Dropped Calls cost nothing, down to one credit each way. */
static void dropped(void)
{
	for (unsigned int credits = 1; credits <= 3; credits++)
		for (unsigned int held = 0; held < 2 && held < credits;
		     held++) {
			struct rt_config c = with_user, s = with_user;
			struct rt_rpc a, b[4];
			struct rt_pair p;

			c.credits = 1;
			s.credits = credits;
			CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
			if (held) {
				p.hold = true;
				rt_rpc_init(&p, p.client, &a, 1, 0, false, 8, 0,
					    0, 0, 0);
				rt_rpc_submit(p.client, &a);
				rt_pair_run(&p);
				CU_ASSERT_EQUAL(p.nheld, 1);
			}
			p.drop = true;
			for (uint32_t i = 0; i < 4; i++) {
				rt_rpc_init(&p, p.client, &b[i], 2 + i, 0,
					    false, 8, 0, 0, 0, 0);
				rt_rpc_submit(p.client, &b[i]);
				rt_pair_run(&p);
			}
			p.drop = p.hold = false;
			if (held) {
				rt_pair_answer(&p, p.held[--p.nheld]);
				rt_pair_run(&p);
				CU_ASSERT_TRUE(rt_rpc_check(&a));
				rt_rpc_free(&a);
			}
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 9, 0, false, 8,
						   0, 0, 0, 0));
			rt_conn_close(p.client, true);
			rt_pair_run(&p);
			for (uint32_t i = 0; i < 4; i++) {
				CU_ASSERT_TRUE(b[i].done);
				rt_rpc_free(&b[i]);
			}
			rt_pair_close(&p);
		}
}

/* All that was announced, and two beyond, as a peer sends that reads 4.2.1 to
 * the letter [A2, A5]; more is the end. */
static void beyond(void)
{
	struct rt_config cfg = { .credits = 4 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	while (r.sent < r.limit)
		rt_raw_call(&r, r.sent, NULL, NULL, 8);
	rt_raw_grant(&r);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(r.p.nheld, 4);
	CU_ASSERT_FALSE(r.p.server_closed);
	rt_raw_call(&r, r.sent, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(r.p.nheld, 5);
	CU_ASSERT_FALSE(r.p.server_closed);
	answer_held(&r.p);
	/* A GRANT of the server would be news to it. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	r.p.hold = false;
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	while (r.sent < r.limit + 3)
		rt_raw_call(&r, r.sent, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_EQUAL(r.p.server_error, -EPROTO);
	CU_ASSERT_EQUAL(r.p.nheld, 6);
	answer_held(&r.p);
	rt_raw_close(&r);
}

/* A Reply waits for a credit, but not for ever. */
static void unready(void)
{
	struct rt_config cfg = { .continuation_ms = 500 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	for (unsigned int late = 0; late < 2; late++) {
		r.credits = 0;
		rt_raw_call(&r, 1 + late, NULL, NULL, late ? 60000 : 8);
		for (int i = 0; i < 40; i++)
			rt_raw_nap(&r);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		if (!late) {
			r.credits = 1;
			rt_raw_grant(&r);
			CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
			for (int i = 0; i < 100; i++)
				rt_raw_nap(&r);
			CU_ASSERT_FALSE(r.p.server_closed);
		}
	}
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.p.server_closed));
	CU_ASSERT_EQUAL(r.p.server_error, -ETIMEDOUT);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "limits of a peer", limits_of_a_peer },
	{ "values", values },
	{ "grants", grants },
	{ "reserve", reserve },
	{ "both continue", both_continue },
	{ "recall", recall },
	{ "mirrored", mirrored },
	{ "dropped", dropped },
	{ "beyond", beyond },
	{ "unready", unready },
	{ "storms", storms },
	{ NULL, NULL },
};

UNIT_MAIN("transport-credit", tests)
