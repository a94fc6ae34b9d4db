/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that goes away and comes back: what the log and the line of state say of each
 * listener, and that each change is told once.
 */
#include <stdarg.h>
#include <string.h>

#include "ganesha/serve/listeners.h"
#include "unit.h"

#define PORT_ANY "no RDMA device has an active port"
#define PORT_HERE "no RDMA device with an active port has "
#define WAITS " (rdma link shows devices). The server waits for one"

/* Never looked into. */
static char listeners[STATS_MAX_LISTENERS];
static bool up[STATS_MAX_LISTENERS];

bool rt_listener_up(struct rt_listener *l)
{
	return up[(char *)l - listeners];
}

static char logged[8192];
static int levels[4];
static unsigned int nlogged;

static void keep(int component, const char *file, int line,
		 const char *function, int level, const char *format, ...)
{
	size_t n = strlen(logged);
	va_list args;

	va_start(args, format);
	vsnprintf(logged + n, sizeof(logged) - n, format, args);
	va_end(args);
	strcat(logged, "\n");
	levels[nlogged++ % 4] = level;
}

static const struct gsh gsh = { .log = keep };
static struct stats_source src;
static struct rt_listener *l[STATS_MAX_LISTENERS];

static void serve(const char *first, const char *second)
{
	memset(&src, 0, sizeof(src));
	src.provider = "verbs";
	strcpy(src.listener[src.nlisteners++], first);
	if (second)
		strcpy(src.listener[src.nlisteners++], second);
	for (unsigned int i = 0; i < STATS_MAX_LISTENERS; i++) {
		l[i] = (struct rt_listener *)(void *)(listeners + i);
		up[i] = true;
	}
}

static bool look(void)
{
	*logged = '\0';
	nlogged = 0;
	return gr_listeners_check(&gsh, &src, l);
}

static const char *text(void)
{
	static char state[640];

	memset(state, 'x', sizeof(state));
	gr_listeners_text(&src, state, sizeof(state));
	return state;
}

static void any(void)
{
	serve("0.0.0.0:20049", NULL);
	CU_ASSERT_FALSE(look());
	CU_ASSERT_STRING_EQUAL(logged, "");
	CU_ASSERT_STRING_EQUAL(
		text(), "RDMA is served on 0.0.0.0:20049, provider verbs");
	up[0] = false;
	CU_ASSERT_TRUE(look());
	CU_ASSERT_STRING_EQUAL(
		logged,
		"rpcrdma: RDMA cannot be reached on 0.0.0.0:20049: " PORT_ANY
			WAITS "\n");
	CU_ASSERT_EQUAL(levels[0], GSH_WARN);
	CU_ASSERT_STRING_EQUAL(
		text(),
		"RDMA cannot be reached on 0.0.0.0:20049, provider verbs: " PORT_ANY);
	CU_ASSERT_FALSE(look());
	CU_ASSERT_STRING_EQUAL(logged, "");
	up[0] = true;
	CU_ASSERT_TRUE(look());
	CU_ASSERT_STRING_EQUAL(
		logged,
		"rpcrdma: RDMA can be reached on 0.0.0.0:20049 again\n");
	CU_ASSERT_EQUAL(levels[0], GSH_EVENT);
	CU_ASSERT_STRING_EQUAL(
		text(), "RDMA is served on 0.0.0.0:20049, provider verbs");
}

static void both_families(void)
{
	serve("0.0.0.0:20049", "[::]:20049");
	up[0] = up[1] = false;
	CU_ASSERT_TRUE(look());
	CU_ASSERT_EQUAL(nlogged, 2);
	CU_ASSERT_STRING_EQUAL(
		text(),
		"RDMA cannot be reached on 0.0.0.0:20049, [::]:20049, provider "
		"verbs: " PORT_ANY);
}

static void addresses(void)
{
	serve("192.0.2.1:20049", "[2001:db8::1]:20049");
	CU_ASSERT_STRING_EQUAL(
		text(),
		"RDMA is served on 192.0.2.1:20049, [2001:db8::1]:20049, provider verbs");
	up[1] = false;
	CU_ASSERT_TRUE(look());
	CU_ASSERT_STRING_EQUAL(
		logged,
		"rpcrdma: RDMA cannot be reached on [2001:db8::1]:20049: " PORT_HERE
		"this address" WAITS "\n");
	CU_ASSERT_STRING_EQUAL(
		text(),
		"RDMA is served on 192.0.2.1:20049, provider verbs; cannot be "
		"reached on [2001:db8::1]:20049: " PORT_HERE "this address");
	/* One more, and one back, in one look. */
	up[0] = false;
	up[1] = true;
	CU_ASSERT_TRUE(look());
	CU_ASSERT_EQUAL(nlogged, 2);
	CU_ASSERT_EQUAL(levels[0], GSH_WARN);
	CU_ASSERT_EQUAL(levels[1], GSH_EVENT);
	up[1] = false;
	CU_ASSERT_TRUE(look());
	CU_ASSERT_STRING_EQUAL(
		text(),
		"RDMA cannot be reached on 192.0.2.1:20049, [2001:db8::1]:20049, "
		"provider verbs: " PORT_HERE "these addresses");
}

/* However much there is to say, there is an end. */
static void room(void)
{
	char small[24];

	serve("192.0.2.1:20049", NULL);
	memset(small, 'x', sizeof(small));
	gr_listeners_text(&src, small, 20);
	CU_ASSERT_STRING_EQUAL(small, "RDMA is served on 1");
	CU_ASSERT_EQUAL(small[20], 'x');
	for (unsigned int i = 0; i < STATS_MAX_LISTENERS; i++) {
		memset(src.listener[i], 'a', 63);
		up[i] = false;
	}
	src.nlisteners = STATS_MAX_LISTENERS;
	CU_ASSERT_TRUE(look());
	CU_ASSERT_EQUAL(strlen(text()), 639);
}

static const struct unit_test tests[] = {
	{ "any", any },
	{ "both families", both_families },
	{ "addresses", addresses },
	{ "room", room },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-listeners", tests)
