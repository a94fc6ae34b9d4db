/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control arithmetic (4.2.1), also across the wrap of the counters. */
#include "unit.h"
#include "transport/credit.h"

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

static void grants_alone(void)
{
	struct rt_credit c;

	rt_credit_init(&c, 2);
	rt_credit_announce(&c);
	c.received = 1;
	c.grants = 1;
	/* Only a GRANT came: no GRANT for it [A5] rule 5. */
	CU_ASSERT_FALSE(rt_credit_grant_due(&c));
	c.received = 2;
	CU_ASSERT_TRUE(rt_credit_grant_due(&c));
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
	{ "wrap", wrap },
	{ NULL, NULL },
};

UNIT_MAIN("credit", tests)
