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

/* @n clients of the host, or user, @a. */
static struct gw_place *fill_at(struct in6_addr a, unsigned int n)
{
	struct gw_place *h = NULL;

	while (n--) {
		h = gw_place_get(&places, &a);
		CU_ASSERT_PTR_NOT_NULL_FATAL(h);
	}
	return h;
}

static struct gw_place *fill(unsigned char id, unsigned int n)
{
	return fill_at(host(id), n);
}

static void clear(struct gw_place *h)
{
	for (unsigned int n = h->clients; n; n--) {
		if (h->stay)
			gw_place_leave(h);
		gw_place_put(&places, h);
	}
}

static struct gw_wish wish_at(struct in6_addr a)
{
	struct gw_wish w;

	gw_wish_init(&w, &places, &a, false);
	return w;
}

static struct gw_wish wish(unsigned char id)
{
	return wish_at(host(id));
}

/* One host has all but a few. */
static void one_has_most(void)
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

/* Users take places of each other, hosts' newcomers theirs first. */
static void users(void)
{
	struct gw_place *h, *a, *b;
	struct gw_wish w;

	gw_places_init(&places);
	h = fill(0, 9); /* of "::1" all that counts is "::" */
	CU_ASSERT_EQUAL(gw_place_users(&places), 0);
	w = wish_at(gw_place_user(0));
	CU_ASSERT_FALSE(gw_wish_takes(&w, h));
	a = fill_at(gw_place_user(1000), 5);
	CU_ASSERT_PTR_NOT_EQUAL(a, h);
	b = fill_at(gw_place_user(0), 1);
	CU_ASSERT_PTR_NOT_EQUAL(b, a);
	CU_ASSERT_EQUAL(gw_place_users(&places), 6);
	/* The one that has the most: its own, those that do nothing. */
	w = wish_at(gw_place_user(1000));
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, a));
	CU_ASSERT_FALSE(gw_wish_takes(&w, b));
	CU_ASSERT_FALSE(gw_wish_takes(&w, h));
	/* Others: its places, busy or not. */
	for (uint32_t uid = 0; uid < 2; uid++) {
		w = wish_at(gw_place_user(uid));
		CU_ASSERT_TRUE(w.due);
		CU_ASSERT_TRUE(gw_wish_takes(&w, a));
		CU_ASSERT_FALSE(gw_wish_takes(&w, b));
		CU_ASSERT_FALSE(gw_wish_takes(&w, h));
	}
	w = wish(0);
	CU_ASSERT_TRUE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, a));
	CU_ASSERT_TRUE(gw_wish_takes(&w, b));
	CU_ASSERT_FALSE(gw_wish_takes(&w, h));
	/* Those that are on their way out have none to give. */
	gw_place_leave(b);
	w = wish(0);
	CU_ASSERT_FALSE(gw_wish_takes(&w, b));
	clear(a);
	CU_ASSERT_EQUAL(gw_place_users(&places), 0);
	w = wish(0);
	CU_ASSERT_FALSE(w.due);
	CU_ASSERT_TRUE(gw_wish_takes(&w, h));
	clear(h);
	clear(b);
	CU_ASSERT_EQUAL(gw_place_users_most(1), 1);
	CU_ASSERT_EQUAL(gw_place_users_most(8), 4);
	CU_ASSERT_EQUAL(gw_place_users_most(16), 8);
	CU_ASSERT_EQUAL(gw_place_users_most(256), 32);
}

static const struct unit_test tests[] = {
	{ "one has most", one_has_most },
	{ "even", even },
	{ "loopback", loopback },
	{ "users", users },
	{ 0 },
};

UNIT_MAIN("gateway-place", tests)
