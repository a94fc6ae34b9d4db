/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit - the arithmetic of flow control, transport/flow/credit.h and credit1.h
 *
 * For all counts, also across the wrap of 2^32, and all settings that
 * rt_config_check() lets through. The counts are what rt_credit_is_valid() and
 * rt_credit1_is_valid() say, which the transport asserts; each step leaves them so.
 */
#include "transport/core/settings.c"
#include "transport/flow/credit.h"
#include "transport/flow/credit1.h"

#include "proof.h"

static struct rt_credit any_credit(void)
{
	struct rt_credit c;

	ASSUME(rt_credit_is_valid(&c));
	return c;
}

static struct rt_credit1 any_credit1(void)
{
	struct rt_credit1 c;

	ASSUME(rt_credit1_is_valid(&c));
	return c;
}

/* What rt_config_check() lets through is a valid beginning, which allows one message. */
void credit_init(void)
{
	struct rt_config cfg;
	struct rt_credit c;
	struct rt_credit1 c1;
	bool client = nondet_bool();

	ASSUME(!rt_config_check(&cfg));
	rt_credit_init(&c, cfg.credits);
	PROVE(rt_credit_is_valid(&c));
	PROVE(rt_credit_available(&c) == 1);
	PROVE(!rt_credit_may_grant(&c) || rt_credit_may_send(&c));
	rt_credit1_init(&c1, client ? cfg.credits : cfg.reverse_credits,
			client ? cfg.reverse_credits : cfg.credits);
	PROVE(rt_credit1_is_valid(&c1));
	PROVE(rt_credit1_may_call(&c1, 0) && !rt_credit1_may_call(&c1, 1));
}

/*
 * A message is posted, or a GRANT that uses the extra Receive. The limit that is told
 * never falls, and what is new in it has its Receive.
 */
void credit_announce(void)
{
	struct rt_credit c = any_credit(), was = c;
	uint32_t value = rt_credit_value(&c);
	uint32_t receives = rt_credit_receives(&c);

	ASSUME(rt_credit_may_send(&c) || rt_credit_may_grant(&c));
	ASSUME(was.lacking <= receives);
	rt_credit_announce(&c);
	PROVE(rt_credit_is_valid(&c));
	PROVE(c.announced == value && c.sent == was.sent + 1);
	PROVE((int32_t)(c.limit - c.sent) >= -1);
	if (!was.has_announced)
		return;
	PROVE((int32_t)(c.announced - was.announced) >= 0);
	PROVE(c.announced == was.announced || c.announced == c.received ||
	      c.announced - c.received + RT_CREDIT_BEYOND <=
		      receives - was.lacking);
}

/* A message comes that is within what is borne: it has a Receive, and is counted. */
void credit_receive(void)
{
	struct rt_credit c = any_credit();
	uint32_t receives = rt_credit_receives(&c);

	PROVE(receives >= c.max + c.reverse + RT_CREDIT_BEYOND);
	PROVE(!c.has_announced ||
	      (int32_t)(receives - (c.announced - c.received)) >=
		      RT_CREDIT_BEYOND);
	c.received++;
	c.grants += nondet_bool();
	if (rt_credit_overrun(&c))
		return;
	rt_credit_take(&c, nondet_u32());
	PROVE(rt_credit_is_valid(&c));
	PROVE(rt_credit_available(&c) <= INT32_MAX);
	PROVE(rt_credit_may_send(&c) == (rt_credit_available(&c) > 0));
	PROVE(!rt_credit_may_send(&c) || rt_credit_may_grant(&c));
}

/* What is advertised: as many as are idle, never more than there are Receives for, and
 * a GRANT is due only if it says something new, or is the first message. */
void credit_grant(void)
{
	struct rt_credit c = any_credit();
	uint32_t n = rt_credit_advertised(&c), value = rt_credit_value(&c);

	PROVE(n <= c.max + c.reverse);
	PROVE(c.lacking >= c.max + c.reverse ||
	      n <= c.max + c.reverse - c.lacking);
	PROVE(c.reverse || c.forward || c.reply_in_fragments ||
	      c.holding < c.max || !n);
	PROVE(!c.has_announced || (int32_t)(value - c.announced) >= 0);
	if (rt_credit_grant_due(&c) && c.has_announced)
		PROVE(value != c.announced);
	/* Without a credit, only a side that has the reserve may use the extra
	 * Receive. */
	if (c.has_announced && !rt_credit_available(&c))
		PROVE(!rt_credit_grant_safe(&c, false, nondet_bool()));
}

/* Version 1: what a Reply grants keeps the counts valid, and allows a Call. */
void credit1_granted(void)
{
	struct rt_credit1 c = any_credit1();

	rt_credit1_granted(&c, nondet_u32());
	PROVE(rt_credit1_is_valid(&c));
	PROVE(rt_credit1_may_call(&c, 0));
	PROVE(!rt_credit1_may_call(&c, MAX(c.request, 1)));
}

/*
 * Version 1: a grant is never zero nor more than the setting, and where a Reply may go,
 * the Receives that are left, with the one to spare, are enough for what is granted
 * beyond the Calls in progress.
 */
void credit1_grant(void)
{
	struct rt_credit1 c = any_credit1();
	uint32_t taken = nondet_u32(), n;

	/* As the Calls were taken. */
	ASSUME(!taken || rt_credit1_may_take(&c, taken - 1));
	n = rt_credit1_grant(&c, taken);
	PROVE(n && n <= MAX(c.grant, 1));
	if (c.grant && rt_credit1_may_reply(&c, taken))
		PROVE((uint64_t)n + c.lacking <= (uint64_t)taken + c.grant + 1);
	PROVE(rt_credit1_receives(&c, true, 0) >= c.grant + c.limit);
}
