/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gateway_place - whose place a new client may take [src/gateway/place.h]
 */
#include "gateway/place.h"
#include "unit.h"

static struct gw_places places;

static struct in6_addr host(unsigned char n)
{
	struct in6_addr a = { 0 };

	a.s6_addr[15] = n;
	return a;
}

/* @n clients of the host @id. */
static struct gw_place *fill(unsigned char id, unsigned int n)
{
	struct in6_addr a = host(id);
	struct gw_place *h = NULL;

	while (n--) {
		h = gw_place_get(&places, &a);
		CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	}
	return h;
}

static void clear(struct gw_place *h)
{
	for (unsigned int n = h->clients; n; n--) {
		if (h->stay)
			gw_place_leave(h);
		gw_place_put(&places, h);
	}
}

static struct gw_wish wish(unsigned char id)
{
	struct in6_addr a = host(id);
	struct gw_wish w;

	gw_wish_init(&w, &places, &a, false);
	return w;
}

/* One host has all but a few. */
static void crowd(void)
{
	struct gw_place *many, *few, *one;
	struct gw_wish w;

	gw_places_init(&places);
	many = fill(1, 10);
	few = fill(2, 3);
	one = fill(3, 1);
	/* Others take the places of that host alone, until they have as many. */
	for (unsigned char id = 2; id < 5; id++) {
		w = wish(id);
		CU_ASSERT_TRUE(w.due);
		CU_ASSERT_TRUE(gw_wish_takes(&w, many));
		CU_ASSERT_FALSE(gw_wish_takes(&w, few));
		CU_ASSERT_FALSE(gw_wish_takes(&w, one));
	}
	/* It has no other's place. */
	w = wish(1);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, many));
	CU_ASSERT_FALSE(gw_wish_takes(&w, few));
	/* Those on their way out do not count. */
	for (unsigned int i = 0; i < 6; i++)
		gw_place_leave(many);
	w = wish(2);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, many));
	CU_ASSERT_TRUE(gw_wish_takes(&w, few));
	CU_ASSERT_FALSE(gw_wish_takes(&w, one));
	w = wish(3);
	CU_ASSERT_TRUE(w.due);
	clear(many);
	clear(few);
	clear(one);
}

/* Hosts that have as many do not take turns at each other. */
static void even(void)
{
	struct gw_place *a, *b;
	struct gw_wish w;

	gw_places_init(&places);
	a = fill(1, 2);
	b = fill(2, 2);
	w = wish(1);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, a));
	CU_ASSERT_FALSE(gw_wish_takes(&w, b));
	gw_place_leave(a);
	w = wish(1);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, b));
	gw_place_return(a);
	/* Nobody knows whose it will be. */
	gw_wish_init(&w, &places, NULL, false);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, a));
	CU_ASSERT_TRUE(gw_wish_takes(&w, b));
	clear(a);
	clear(b);
}

/* All of one host, as on loopback. */
static void loopback(void)
{
	struct gw_place *h;
	struct gw_wish w;

	gw_places_init(&places);
	h = fill(1, 4);
	w = wish(1);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, h));
	clear(h);
	for (unsigned int i = 0; i < GW_PLACE_SLOTS; i++)
		CU_ASSERT_PTR_NULL(places.slot[i]);
}

/* Users take places of each other, and others take theirs. */
static void users(void)
{
	struct in6_addr all = GW_PLACE_USERS;
	struct gw_place *h, *u = NULL;
	struct gw_wish w;

	gw_places_init(&places);
	h = fill(0, 9); /* of "::1" all that counts is "::" */
	gw_wish_init(&w, &places, &all, false);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_FALSE(gw_wish_takes(&w, h));
	CU_ASSERT_EQUAL(gw_place_stay(&places, &all), 0);
	for (unsigned int i = 0; i < 11; i++)
		u = gw_place_get(&places, &all);
	CU_ASSERT_PTR_NOT_EQUAL(u, h);
	CU_ASSERT_EQUAL(gw_place_stay(&places, &all), 11);
	gw_wish_init(&w, &places, &all, false);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, u));
	CU_ASSERT_FALSE(gw_wish_takes(&w, h));
	w = wish(0);
	CU_ASSERT_TRUE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, u));
	gw_place_leave(u);
	CU_ASSERT_EQUAL(gw_place_stay(&places, &all), 10);
	clear(h);
	clear(u);
	CU_ASSERT_EQUAL(gw_place_users_most(1), 1);
	CU_ASSERT_EQUAL(gw_place_users_most(15), 1);
	CU_ASSERT_EQUAL(gw_place_users_most(256), 32);
}

static const struct unit_test tests[] = {
	{ "crowd", crowd },
	{ "even", even },
	{ "loopback", loopback },
	{ "users", users },
	{ 0 },
};

UNIT_MAIN("gateway-place", tests)
