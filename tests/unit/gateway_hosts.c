/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_hosts - whose place a new client may take */
#include "gateway/policy/hosts.h"
#include "unit.h"

static struct gw_hosts hosts;

static struct in6_addr host(unsigned char n)
{
	struct in6_addr a = { 0 };

	a.s6_addr[15] = n;
	return a;
}

/* @n clients of the host, or user, @addr. */
static struct gw_host *fill_at(struct in6_addr addr, unsigned int n)
{
	struct gw_host *h = NULL;

	while (n--) {
		h = gw_host_get(&hosts, &addr);
		CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	}
	return h;
}

static struct gw_host *fill(unsigned char id, unsigned int n)
{
	return fill_at(host(id), n);
}

static void clear(struct gw_host *h)
{
	for (unsigned int n = h->refs; n; n--)
		gw_host_put(h);
}

static struct gw_claim claim_at(struct in6_addr addr)
{
	struct gw_claim c;

	gw_claim_init(&c, &hosts, &addr, false);
	return c;
}

static struct gw_claim claim(unsigned char id)
{
	return claim_at(host(id));
}

/* One host has all but a few. */
static void one_has_most(void)
{
	struct gw_host *many, *few, *one;
	struct gw_claim c;

	gw_hosts_init(&hosts);
	many = fill(1, 10);
	few = fill(2, 3);
	one = fill(3, 1);
	/* Others take the places of that host alone, until they have as many. */
	for (unsigned char id = 2; id < 5; id++) {
		c = claim(id);
		CU_ASSERT_TRUE(c.busy);
		CU_ASSERT_TRUE(gw_claim_covers(&c, many));
		CU_ASSERT_FALSE(gw_claim_covers(&c, few));
		CU_ASSERT_FALSE(gw_claim_covers(&c, one));
	}
	/* It has no other's place. */
	c = claim(1);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, many));
	CU_ASSERT_FALSE(gw_claim_covers(&c, few));
	/* Those on their way out do not count. */
	many->clients -= 6;
	c = claim(2);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, many));
	CU_ASSERT_TRUE(gw_claim_covers(&c, few));
	CU_ASSERT_FALSE(gw_claim_covers(&c, one));
	c = claim(3);
	CU_ASSERT_TRUE(c.busy);
	clear(many);
	clear(few);
	clear(one);
}

/* Hosts that have as many do not take turns at each other. */
static void even(void)
{
	struct gw_host *a, *b;
	struct gw_claim c;
	struct in6_addr first = host(1);

	gw_hosts_init(&hosts);
	a = fill(1, 2);
	b = fill(2, 2);
	c = claim(1);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, a));
	CU_ASSERT_FALSE(gw_claim_covers(&c, b));
	/* One that counts already has a place of its own. */
	gw_claim_init(&c, &hosts, &first, true);
	CU_ASSERT_TRUE(gw_claim_covers(&c, b));
	a->clients--;
	c = claim(1);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, b));
	a->clients++;
	/* Nobody knows whose it will be. */
	gw_claim_init(&c, &hosts, NULL, false);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, a));
	CU_ASSERT_TRUE(gw_claim_covers(&c, b));
	clear(a);
	clear(b);
}

/* All of one host, as on loopback. */
static void loopback(void)
{
	struct gw_host *h;
	struct gw_claim c;

	gw_hosts_init(&hosts);
	h = fill(1, 4);
	c = claim(1);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, h));
	clear(h);
	CU_ASSERT_TRUE(cds_list_empty(&hosts.list));
}

/* Users take places of each other, hosts' new clients theirs first. */
static void users(void)
{
	struct gw_host *h, *a, *b;
	struct gw_claim c;

	gw_hosts_init(&hosts);
	h = fill(0, 9); /* of "::1" all that counts is "::" */
	CU_ASSERT_EQUAL(gw_hosts_users(&hosts), 0);
	c = claim_at(gw_host_of_user(0));
	CU_ASSERT_FALSE(gw_claim_covers(&c, h));
	a = fill_at(gw_host_of_user(1000), 5);
	CU_ASSERT_PTR_NOT_EQUAL(a, h);
	b = fill_at(gw_host_of_user(0), 1);
	CU_ASSERT_PTR_NOT_EQUAL(b, a);
	CU_ASSERT_EQUAL(gw_hosts_users(&hosts), 6);
	/* The one that has the most: its own, those that do nothing. */
	c = claim_at(gw_host_of_user(1000));
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, a));
	CU_ASSERT_FALSE(gw_claim_covers(&c, b));
	CU_ASSERT_FALSE(gw_claim_covers(&c, h));
	/* Others, and hosts: its places, busy or not. */
	for (uint32_t uid = 0; uid < 3; uid++) {
		c = uid < 2 ? claim_at(gw_host_of_user(uid)) : claim(0);
		CU_ASSERT_TRUE(c.busy);
		CU_ASSERT_TRUE(gw_claim_covers(&c, a));
		CU_ASSERT_FALSE(gw_claim_covers(&c, b));
		CU_ASSERT_FALSE(gw_claim_covers(&c, h));
	}
	clear(a);
	c = claim(0);
	CU_ASSERT_TRUE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, b));
	/* Those that are on their way out have none to give. */
	b->clients--;
	CU_ASSERT_EQUAL(gw_hosts_users(&hosts), 0);
	c = claim(0);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_FALSE(gw_claim_covers(&c, b));
	CU_ASSERT_TRUE(gw_claim_covers(&c, h));
	clear(h);
	clear(b);
	CU_ASSERT_EQUAL(gw_hosts_users_max(1), 1);
	CU_ASSERT_EQUAL(gw_hosts_users_max(8), 4);
	CU_ASSERT_EQUAL(gw_hosts_users_max(16), 8);
	CU_ASSERT_EQUAL(gw_hosts_users_max(256), 32);
}

static const struct unit_test tests[] = {
	{ "one has most", one_has_most },
	{ "even", even },
	{ "loopback", loopback },
	{ "users", users },
	{ 0 },
};

UNIT_MAIN("gateway-hosts", tests)
