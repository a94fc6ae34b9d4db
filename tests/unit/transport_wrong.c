/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that sends what is wrong without end: the server looks at no more of
 * it than its pace allows, but at all of it in time; an honest Call behind it is
 * answered; and the end of the connection does not wait.
 */
#include <arpa/inet.h>

#include "rt_raw.h"
#include "unit.h"

/* At once; messages are looked at 16 at a time. */
#define BURST 16
#define BATCH 16
#define MANY 56

static uint64_t seen(struct rt_raw *r)
{
	struct rt_stats s = rt_pair_stats(r->p.server_inst);

	return s.dropped + s.errors_sent;
}

/* An ERROR of a code that there is not: nothing is ever answered to it. */
static void no_error(struct rt_raw *r, uint32_t xid)
{
	rt_raw_error(r, xid, 4096);
}

/* An ERROR about nothing that the server has sent. */
static void stray_error(struct rt_raw *r, uint32_t xid)
{
	rt_raw_error(r, xid, RDMA2_ERR_BAD_XDR);
}

/* A header type that there is not. */
static void no_htype(struct rt_raw *r, uint32_t xid)
{
	rt_raw_begin(r, 77, xid);
	rt_raw_end(r);
}

/* Lists that are none. */
static void no_lists(struct rt_raw *r, uint32_t xid)
{
	wire_put_u32(rt_raw_begin(r, RDMA2_CALL_EXTERNAL, xid), 77);
	rt_raw_end(r);
}

static void (*const wrong[])(struct rt_raw *r,
			     uint32_t xid) = { no_error, stray_error, no_htype,
					       no_lists };

static bool greeted(struct rt_raw *r)
{
	static const struct rt_config cfg = { .credits = 64,
					      .max_wrong = BURST };

	if (!rt_raw_client(r, &cfg) || !rt_raw_greet(r))
		return false;
	/* For all the answers. */
	r->credits = 90;
	return !seen(r);
}

static void reply_gone(void *arg)
{
}

static void paced(void)
{
	for (unsigned int k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
		struct rt_raw r;
		uint64_t n, was;

		CU_ASSERT_TRUE_FATAL(greeted(&r));
		for (uint32_t i = 0; i < MANY; i++)
			wrong[k](&r, 1000 + i);
		rt_raw_call(&r, 7, NULL, NULL, 64);
		rt_raw_run(&r);
		n = seen(&r);
		CU_ASSERT_TRUE(n >= BURST && n <= BURST + BATCH);
		/* However often it is asked: only time helps. */
		for (int i = 0; i < 10; i++)
			rt_raw_run(&r);
		CU_ASSERT_EQUAL(seen(&r), n);
		was = n;
		for (int i = 0; i < 10; i++)
			rt_raw_nap(&r);
		n = seen(&r);
		CU_ASSERT_TRUE(n <= was + 10 + BATCH);
		CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.p.calls == 1));
		CU_ASSERT_TRUE(RT_RAW_WAIT(&r, seen(&r) == MANY));
		CU_ASSERT_FALSE(r.down);
		/* A while later it is as good as any. */
		for (int i = 0; i < 60; i++)
			rt_raw_nap(&r);
		wrong[k](&r, 2000);
		rt_raw_run(&r);
		CU_ASSERT_EQUAL(seen(&r), MANY + 1);
		rt_raw_close(&r);
	}
}

/* A Call whose header the upper layer denies is wrong, too. */
static void denied(void)
{
	static uint32_t words[5]; /* MSG_DENIED, AUTH_ERROR, AUTH_BADCRED */
	struct rt_piece piece = { words, sizeof(words), NULL };
	struct rt_reply reply = { .pieces = &piece,
				  .npieces = 1,
				  .denial = true,
				  .done = reply_gone };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(greeted(&r));
	r.p.hold = true;
	for (uint32_t i = 0; i < MANY; i++) {
		for (uint32_t w = 1; w < 5; w++)
			words[w] = htonl(1);
		words[0] = htonl(1000 + i);
		rt_raw_call(&r, 1000 + i, NULL, NULL, 64);
		rt_raw_run(&r);
		while (r.p.nheld)
			rt_reply(r.p.held[--r.p.nheld], &reply);
		rt_raw_run(&r);
	}
	CU_ASSERT_TRUE(r.p.calls >= BURST && r.p.calls <= BURST + BATCH);
	/* In time all are looked at, and what comes behind them. */
	r.p.hold = false;
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.p.calls == MANY));
	CU_ASSERT_FALSE(r.down);
	rt_raw_close(&r);
}

static uint64_t grants(struct rt_raw *r)
{
	struct rt_stats s = rt_pair_stats(r->p.server_inst);

	return s.grants_received;
}

static void take(struct rt_raw *r)
{
	rt_raw_run(r);
	while (r->queued)
		rt_raw_next(r);
}

/* Alone they have a pace, too; a Call and its Reply are good for two. */
static void grants_alone(void)
{
	struct rt_raw r;
	unsigned int n;

	CU_ASSERT_TRUE_FATAL(greeted(&r));
	for (uint32_t i = 0; i < 300; i++) {
		rt_raw_call(&r, 1000 + i, NULL, NULL, 64);
		rt_raw_run(&r);
		rt_raw_grant(&r);
		rt_raw_grant(&r);
		take(&r);
		CU_ASSERT_EQUAL(grants(&r), 2 * i + 2);
	}
	CU_ASSERT_EQUAL(r.p.calls, 300);
	for (n = 0; n < 1000 && grants(&r) == 600 + n; n++) {
		rt_raw_grant(&r);
		take(&r);
	}
	/* What there is without, the answers to them, what may be wrong. */
	CU_ASSERT_TRUE(n > 64 && n < 2 * 64 + 2 * BURST + BATCH);
	rt_raw_call(&r, 7, NULL, NULL, 64);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(r.p.calls, 300);
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.p.calls == 301));
	CU_ASSERT_FALSE(r.down);
	rt_raw_close(&r);
}

/* As many as may be wrong hold up nothing. */
static void few(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(greeted(&r));
	for (uint32_t i = 0; i < BURST; i++)
		no_error(&r, 1000 + i);
	rt_raw_call(&r, 7, NULL, NULL, 64);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(seen(&r), BURST);
	CU_ASSERT_EQUAL(r.p.calls, 1);
	rt_raw_close(&r);
}

static void ends(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(greeted(&r));
	for (uint32_t i = 0; i < MANY; i++)
		no_error(&r, 1000 + i);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(seen(&r) < MANY);
	CU_ASSERT_FALSE(r.p.server_closed);
	rt_conn_close(r.p.server, true);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_TRUE(r.down);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "paced", paced },
	{ "denied", denied },
	{ "grants alone", grants_alone },
	{ "few", few },
	{ "ends", ends },
	{ NULL, NULL },
};

UNIT_MAIN("transport-wrong", tests)
