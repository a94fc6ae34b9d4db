/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit - the flow control members of struct rt_version, for each version
 *
 * The arithmetic is in credit.h and credit1.h.
 *
 * Context: the runner.
 */
#include "transport/flow/flow.h"

/* ---- Version 1 ------------------------------------------------------------ */

uint32_t rt_credit1_wanted(const struct rt_conn *c)
{
	rt_assert_strand(c);
	return rt_credit1_receives(&c->credit1, !c->server, c->requests_out);
}

uint32_t rt_credit1_word(const struct rt_conn *c, enum rt_out_kind kind)
{
	rt_assert_strand(c);
	if (kind == RT_OUT_CALL)
		return c->credit1.request;
	return rt_credit1_grant(&c->credit1, c->credit.holding);
}

bool rt_credit1_may_post(const struct rt_conn *c, enum rt_out_kind kind)
{
	const struct rt_credit1 *k = &c->credit1;

	rt_assert_strand(c);
	if (kind != RT_OUT_CALL)
		return rt_credit1_may_reply(k, c->credit.holding -
						       (kind == RT_OUT_REPLY));
	return rt_credit1_may_call(k, c->requests_out) &&
	       (c->server || c->requests_out + k->lacking < k->request);
}

void rt_credit1_count(struct rt_conn *c)
{
	rt_assert_strand(c);
	assert(rt_credit1_is_valid(&c->credit1));
	c->credit1.sent++;
}

void rt_credit1_info(const struct rt_conn *c, struct rt_conn_info *i)
{
	rt_assert_strand(c);
	i->sent = c->credit1.sent;
	i->received = c->credit1.received;
	i->credit_limit = c->credit1.limit;
	i->advertised = c->credit1.grant;
}

/* ---- Version 2 ------------------------------------------------------------ */

uint32_t rt_credit2_wanted(const struct rt_conn *c)
{
	rt_assert_strand(c);
	return rt_credit_receives(&c->credit);
}

uint32_t rt_credit2_word(const struct rt_conn *c, enum rt_out_kind kind)
{
	rt_assert_strand(c);
	return rt_credit_value(&c->credit);
}

bool rt_credit2_may_post(const struct rt_conn *c, enum rt_out_kind kind)
{
	rt_assert_strand(c);
	/* One credit is kept for the Reply to each reverse Call in progress, [G3]
	 * rule 2. */
	if (kind == RT_OUT_CALL)
		return rt_credit_available(&c->credit) > c->calls_reverse;
	return rt_credit_may_send(&c->credit);
}

void rt_credit2_count(struct rt_conn *c)
{
	rt_assert_strand(c);
	assert(rt_credit_is_valid(&c->credit));
	rt_credit_announce(&c->credit);
}

void rt_credit2_info(const struct rt_conn *c, struct rt_conn_info *i)
{
	rt_assert_strand(c);
	i->sent = c->credit.sent;
	i->received = c->credit.received;
	i->credit_limit = c->credit.limit;
	i->advertised = rt_credit_advertised(&c->credit);
}
