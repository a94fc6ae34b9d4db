/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control arithmetic (4.2.1), also across the wrap of the counters. */
#include "unit.h"
#include "transport/flow/credit.h"

static void first_message(void)
{
	struct rt_credit c;

	rt_credit_init(&c, 8);
	CU_ASSERT_TRUE(rt_credit_may_send(&c));
	CU_ASSERT_EQUAL(rt_credit_value(&c), 8);
	rt_credit_announce(&c);
	/* One message, not two [A2]. */
	CU_ASSERT_FALSE(rt_credit_may_send(&c));
	/* Nor a GRANT before anything has come [A5] rule 7. */
	CU_ASSERT_FALSE(rt_credit_may_grant(&c));
	c.received = 1;
	c.limit = 1;
	CU_ASSERT_TRUE(rt_credit_may_grant(&c));
	c.sent = 2;
	CU_ASSERT_FALSE(rt_credit_may_grant(&c));
}

/* The asymmetric example of [A1]: the limit is on the peer's scale. */
static void asymmetric(void)
{
	struct rt_credit c;

	rt_credit_init(&c, 8);
	c.received = 2;
	c.sent = 100;
	CU_ASSERT_EQUAL(rt_credit_value(&c), 10);
}

static void holding(void)
{
	struct rt_credit c;

	rt_credit_init(&c, 4);
	c.received = 1;
	rt_credit_announce(&c);
	CU_ASSERT_EQUAL(c.announced, 5);
	/* Four Calls held: nothing new to tell. */
	c.received = 5;
	c.holding = 4;
	CU_ASSERT_EQUAL(rt_credit_value(&c), 5);
	CU_ASSERT_FALSE(rt_credit_grant_due(&c));
	c.holding = 3;
	CU_ASSERT_EQUAL(rt_credit_value(&c), 6);
	CU_ASSERT_TRUE(rt_credit_grant_due(&c));
	/* A reverse Call outstanding frees them all [G3]. */
	c.holding = 4;
	c.reverse = 1;
	CU_ASSERT_EQUAL(rt_credit_value(&c), 10);
	CU_ASSERT_TRUE(rt_credit_receives(&c) >= 7);
	rt_credit_announce(&c);
	/* And what was announced is never taken back [A6]. */
	c.reverse = 0;
	CU_ASSERT_EQUAL(rt_credit_value(&c), 10);
	CU_ASSERT_EQUAL(rt_credit_receives(&c), 7);
}

/* Each second GRANT gives two credits back, [A5] rule 5. */
static void grants_alone(void)
{
	struct rt_credit c;

	/* With 1 as with 2, which is the least. */
	for (uint32_t max = 1; max <= 3; max++) {
		rt_credit_init(&c, max);
		rt_credit_announce(&c);
		c.received = 1;
		c.grants = 1;
		CU_ASSERT_FALSE(rt_credit_grant_due(&c));
		c.received = 2;
		CU_ASSERT_TRUE(rt_credit_grant_due(&c)); /* another message */
		c.grants = 2;
		CU_ASSERT_TRUE(rt_credit_grant_due(&c));
		rt_credit_announce(&c);
		CU_ASSERT_EQUAL(c.announced, 2 + c.max);
		CU_ASSERT_FALSE(rt_credit_grant_due(&c));
	}
	/* One credit, for the other is a Call's: the last GRANT may come
	 * beyond it, and then both are given back. */
	rt_credit_init(&c, 2);
	c.received = c.holding = 1;
	rt_credit_announce(&c);
	c.received += c.grants = 1;
	CU_ASSERT_TRUE(rt_credit_exhausted(&c));
	CU_ASSERT_FALSE(rt_credit_grant_due(&c));
	c.received++;
	c.grants++;
	CU_ASSERT_FALSE(rt_credit_overrun(&c));
	CU_ASSERT_TRUE(rt_credit_grant_due(&c));
	/* Before half of many is used. */
	rt_credit_init(&c, 64);
	c.received = 1;
	rt_credit_announce(&c);
	for (c.grants = 1; c.grants < 32; c.grants++) {
		c.received++;
		CU_ASSERT_FALSE(rt_credit_grant_due(&c));
	}
	c.received++;
	CU_ASSERT_TRUE(rt_credit_grant_due(&c));
}

/* ---- Two ends that face each other ------------------------------------ */

enum kind { PLAIN, CALL, REPLY, GRANT };

struct end {
	struct rt_credit c;
	bool server;
	bool patient; /* the 200 ms are over */
	unsigned int plain, calls, replies; /* to be sent */
	/* What is on its way to it. */
	struct {
		enum kind kind;
		uint32_t limit;
	} way[64];
	unsigned int head, tail;
};

static uint32_t rng(uint32_t *s)
{
	*s = *s * 1664525 + 1013904223;
	return *s >> 8;
}

static void send_to(struct end *from, struct end *to, enum kind kind)
{
	unsigned int at = to->tail++ % 64;

	CU_ASSERT_TRUE_FATAL(to->tail - to->head <= 64);
	to->way[at].kind = kind;
	to->way[at].limit = rt_credit_value(&from->c);
	rt_credit_announce(&from->c);
}

static bool deliver(struct end *e)
{
	unsigned int at = e->head % 64;

	if (e->head == e->tail)
		return false;
	e->head++;
	e->c.received++;
	CU_ASSERT_FALSE(rt_credit_overrun(&e->c));
	rt_credit_take(&e->c, e->way[at].limit);
	switch (e->way[at].kind) {
	case CALL:
		e->c.holding++;
		e->replies++;
		break;
	case REPLY:
		e->c.forward--;
		break;
	case GRANT:
		e->c.grants++;
		break;
	case PLAIN:
		break;
	}
	return true;
}

/* As flow/pump.c does it. */
static bool post(struct end *e, struct end *to)
{
	bool active = e->server ? !e->c.holding : e->c.forward;

	if (rt_credit_may_send(&e->c)) {
		if (e->plain) {
			e->plain--;
			send_to(e, to, PLAIN);
			return true;
		}
		if (e->replies) {
			e->replies--;
			e->c.holding--;
			send_to(e, to, REPLY);
			return true;
		}
		if (e->calls) {
			e->calls--;
			e->c.forward++;
			send_to(e, to, CALL);
			return true;
		}
	}
	if (rt_credit_grant_due(&e->c) && rt_credit_may_grant(&e->c) &&
	    rt_credit_grant_safe(&e->c, !e->server || e->patient, active)) {
		e->patient = false;
		send_to(e, to, GRANT);
		return true;
	}
	return false;
}

static bool wants(const struct end *e)
{
	return e->plain || e->calls || e->replies || e->c.forward;
}

/* Until nothing moves; true if that comes. Of what goes at last, GRANTs alone,
 * there are no more than [A5] says. */
static bool come_to_rest(struct end *a, struct end *b)
{
	unsigned int steps = 0, grants = 0;

	for (;;) {
		uint32_t sent = a->c.sent + b->c.sent;
		bool idle = !wants(a) && !wants(b), moved = false;

		moved |= post(a, b);
		moved |= post(b, a);
		grants = idle ? grants + a->c.sent + b->c.sent - sent : 0;
		moved |= deliver(a);
		moved |= deliver(b);
		if (grants > 2 * (a->c.max + b->c.max) || ++steps > 10000)
			return false;
		if (moved)
			continue;
		if (b->patient)
			return true;
		b->patient = true;
	}
}

static void greet(struct end *a, struct end *b)
{
	send_to(a, b, PLAIN);
	deliver(b);
	send_to(b, a, PLAIN);
	deliver(a);
}

/* @wild: the one that now and then sends a GRANT for no reason. */
static bool facing(uint32_t amax, uint32_t bmax, struct end *wild,
		   struct end *a, struct end *b, uint32_t lacking,
		   uint32_t seed)
{
	uint32_t s = seed;

	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	b->server = true;
	rt_credit_init(&a->c, amax);
	rt_credit_init(&b->c, bmax);
	a->c.lacking = b->c.lacking = lacking;
	greet(a, b);
	for (unsigned int i = 0; i < 60; i++) {
		switch (rng(&s) % 8) {
		case 0:
			a->plain++;
			break;
		case 1:
			b->plain++;
			break;
		case 2:
			a->calls++;
			break;
		case 3:
		case 4:
			if (wild && rt_credit_may_send(&wild->c))
				send_to(wild, wild == a ? b : a, GRANT);
			break;
		case 5:
			post(a, b);
			deliver(b);
			break;
		case 6:
			post(b, a);
			deliver(a);
			break;
		default:
			post(a, b);
			post(b, a);
			break;
		}
	}
	if (!come_to_rest(a, b))
		return false;
	/* With one credit an end may have to wait for the other's news. */
	if (lacking)
		return true;
	if (wants(a) || wants(b))
		return false;
	/* And each can go on. */
	a->calls = 2;
	b->plain = 2;
	return come_to_rest(a, b) && !wants(a) && !wants(b);
}

static void two_ends(void)
{
	struct end a, b;

	for (uint32_t amax = 2; amax <= 5; amax++)
		for (uint32_t bmax = 2; bmax <= 5; bmax++)
			for (uint32_t seed = 0; seed < 3000; seed++) {
				struct end *wild = seed % 3 == 0 ? NULL :
						   seed % 3 == 1 ? &a :
								   &b;
				uint32_t least = amax < bmax ? amax : bmax;
				uint32_t lacking = seed % 5 ? 0 : least - 1;
				bool ok = facing(amax, bmax, wild, &a, &b,
						 lacking, seed);

				CU_ASSERT_TRUE(ok);
				if (!ok)
					fprintf(stderr,
						"credits %u, %u, seed %u\n",
						amax, bmax, seed);
			}
}

static void wrap(void)
{
	struct rt_credit c;
	uint32_t start = UINT32_MAX - 10;

	for (uint32_t i = 0; i < 40; i++) {
		rt_credit_init(&c, 16);
		c.sent = start + i;
		c.limit = c.sent + 3;
		CU_ASSERT_TRUE(rt_credit_may_send(&c));
		CU_ASSERT_EQUAL(rt_credit_available(&c), 3);
		c.limit = c.sent;
		CU_ASSERT_FALSE(rt_credit_may_send(&c));
		CU_ASSERT_EQUAL(rt_credit_available(&c), 0);
		/* Far ahead is behind: no permission [A4]. */
		c.limit = c.sent + 0x80000000u;
		CU_ASSERT_FALSE(rt_credit_may_send(&c));
		c.received = start + i;
		rt_credit_announce(&c);
		CU_ASSERT_EQUAL(c.announced, start + i + 16);
		CU_ASSERT_EQUAL(rt_credit_receives(&c), 18);
		/* Two beyond what was announced are borne [A2, A5]. */
		c.received += 18;
		CU_ASSERT_FALSE(rt_credit_overrun(&c));
		c.received += 1;
		CU_ASSERT_TRUE(rt_credit_overrun(&c));
		c.received -= 19;
		c.received += 7;
		CU_ASSERT_FALSE(rt_credit_grant_due(&c));
		c.received += 1;
		CU_ASSERT_TRUE(rt_credit_grant_due(&c));
	}
}

static const struct unit_test tests[] = {
	{ "first message", first_message },
	{ "asymmetric", asymmetric },
	{ "holding", holding },
	{ "grants alone", grants_alone },
	{ "two ends", two_ends },
	{ "wrap", wrap },
	{ NULL, NULL },
};

UNIT_MAIN("credit", tests)
