/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_hosts - whose place a new client may take */
#include "gateway/policy/hosts.h"
#include "unit.h"

static struct gw_places places;

static struct in6_addr host(unsigned char n)
{
	struct in6_addr a = { 0 };

	a.s6_addr[15] = n;
	return a;
}

/* @n clients of the host. */
static struct gw_host *fill(unsigned char id, unsigned int n)
{
	struct in6_addr addr = host(id);
	struct gw_host *h = NULL;

	while (n--) {
		h = gw_place_take(&places, &addr);
		CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	}
	return h;
}

static void give(struct gw_host *h, unsigned int n)
{
	while (n--)
		gw_place_give(&places, h);
}

static void clear(void)
{
	while (!cds_list_empty(&places.hosts))
		gw_place_give(&places,
			      cds_list_first_entry(&places.hosts,
						   struct gw_host, list));
	CU_ASSERT_EQUAL(places.taken, 0);
}

static struct gw_claim claim(unsigned char id)
{
	struct in6_addr addr = host(id);
	struct gw_claim c;

	gw_claim_init(&c, &places, &addr);
	return c;
}

/* One host has all but a few. */
static void one_has_most(void)
{
	struct gw_host *many, *few, *one;
	struct gw_claim c;

	gw_places_init(&places, 16);
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
	give(many, 6);
	c = claim(2);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, many));
	CU_ASSERT_TRUE(gw_claim_covers(&c, few));
	CU_ASSERT_FALSE(gw_claim_covers(&c, one));
	c = claim(3);
	CU_ASSERT_TRUE(c.busy);
	clear();
}

/* Hosts that have as many do not take turns at each other. */
static void even(void)
{
	struct gw_host *a, *b;
	struct gw_claim c;

	gw_places_init(&places, 16);
	a = fill(1, 2);
	b = fill(2, 2);
	CU_ASSERT_EQUAL(places.taken, 4);
	c = claim(1);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, a));
	CU_ASSERT_FALSE(gw_claim_covers(&c, b));
	give(a, 1);
	c = claim(1);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, b));
	clear();
}

/* All of one host, as on loopback. */
static void loopback(void)
{
	struct gw_host *h;
	struct gw_claim c;

	gw_places_init(&places, 16);
	h = fill(1, 4);
	c = claim(1);
	CU_ASSERT_FALSE(c.busy);
	CU_ASSERT_TRUE(gw_claim_covers(&c, h));
	clear();
}

static void users(void)
{
	CU_ASSERT_EQUAL(gw_user_places(1), 1);
	CU_ASSERT_EQUAL(gw_user_places(8), 4);
	CU_ASSERT_EQUAL(gw_user_places(16), 8);
	CU_ASSERT_EQUAL(gw_user_places(256), 32);
}

static const struct unit_test tests[] = {
	{ "one has most", one_has_most },
	{ "even", even },
	{ "loopback", loopback },
	{ "users", users },
	{ 0 },
};

UNIT_MAIN("gateway-hosts", tests)
