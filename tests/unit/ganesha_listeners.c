/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that goes away and comes back: what the log and the line of state say of each
 * listener, and that each change is told once. And other addresses than before: which listeners
 * are closed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/addr.h"
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

static char closed[STATS_MAX_LISTENERS * 3];

void rt_listener_close(struct rt_listener *l)
{
	snprintf(closed + strlen(closed), 4, "%d ",
		 (int)((char *)l - listeners));
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
static struct gr_listeners table;

/* Add the address @host, of either family, to @to. */
static void add(struct gr_addrs *to, const char *host, uint16_t port)
{
	struct sockaddr_storage *ss = &to->addr[to->n++];

	memset(ss, 0, sizeof(*ss));
	ss->ss_family = strchr(host, ':') ? AF_INET6 : AF_INET;
	CU_ASSERT_EQUAL(
		inet_pton(
			ss->ss_family, host,
			ss->ss_family == AF_INET ?
				(void *)&((struct sockaddr_in *)ss)->sin_addr :
				(void *)&((struct sockaddr_in6 *)ss)->sin6_addr),
		1);
	base_addr_set_port(ss, port);
}

static void serve(const char *first, const char *second)
{
	struct gr_addrs want = { 0 };

	memset(&table, 0, sizeof(table));
	memset(&src, 0, sizeof(src));
	src.provider = "verbs";
	pthread_mutex_init(&table.lock, NULL);
	src.lock = &table.lock;
	add(&want, first, 20049);
	if (second)
		add(&want, second, 20049);
	*logged = '\0';
	CU_ASSERT_FALSE(gr_listeners_want(&gsh, &table, &want));
	CU_ASSERT_STRING_EQUAL(logged, "");
	for (unsigned int i = 0; i < STATS_MAX_LISTENERS; i++)
		up[i] = true;
	for (unsigned int i = 0; i < table.n; i++)
		table.of[i].l = (struct rt_listener *)(void *)(listeners + i);
	gr_listeners_publish(&table, &src);
}

static bool look(void)
{
	*logged = '\0';
	nlogged = 0;
	return gr_listeners_check(&gsh, &table, &src);
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
	serve("0.0.0.0", NULL);
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
	serve("0.0.0.0", "::");
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
	serve("192.0.2.1", "2001:db8::1");
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

#define GONE "rpcrdma: no longer serving RPC-over-RDMA on "

/* Listeners for the same address and port stay, in the order of the file; all others are closed. */
static void others(void)
{
	struct gr_addrs want = { 0 };
	const struct rt_listener *kept;

	serve("192.0.2.1", "2001:db8::1");
	kept = table.of[1].l;
	*closed = *logged = '\0';
	add(&want, "2001:db8::1", 20049);
	add(&want, "2001:db8::1", 20050);
	CU_ASSERT_TRUE(gr_listeners_want(&gsh, &table, &want));
	CU_ASSERT_STRING_EQUAL(closed, "0 ");
	CU_ASSERT_STRING_EQUAL(logged, GONE "192.0.2.1:20049; connections made "
					    "there go on\n");
	CU_ASSERT_EQUAL(table.n, 2);
	CU_ASSERT_PTR_EQUAL(table.of[0].l, kept);
	CU_ASSERT_PTR_NULL(table.of[1].l);
	/* What could not be opened is not closed, but gone; nor is it kept. */
	table.of[1].err = -EADDRNOTAVAIL;
	*closed = *logged = '\0';
	CU_ASSERT_TRUE(gr_listeners_want(&gsh, &table, &want));
	CU_ASSERT_EQUAL(table.of[1].err, 0);
	want.n = 1;
	CU_ASSERT_TRUE(gr_listeners_want(&gsh, &table, &want));
	CU_ASSERT_EQUAL(table.n, 1);
	CU_ASSERT_FALSE(gr_listeners_want(&gsh, &table, &want));
	CU_ASSERT_PTR_EQUAL(table.of[0].l, kept);
	CU_ASSERT_STRING_EQUAL(closed, "");
	CU_ASSERT_STRING_EQUAL(logged, "");
}

/* An address that could not be opened, with and without devices. */
static void not_open(void)
{
	serve("192.0.2.1", "192.0.2.2");
	table.of[1].l = NULL;
	gr_listeners_publish(&table, &src);
	CU_ASSERT_STRING_EQUAL(
		text(),
		"RDMA is served on 192.0.2.1:20049, provider verbs; cannot be "
		"reached on 192.0.2.2:20049: " PORT_HERE "this address");
	src.provider = "iwarp";
	CU_ASSERT_STRING_EQUAL(
		text(),
		"RDMA is served on 192.0.2.1:20049, provider iwarp; cannot be "
		"reached on 192.0.2.2:20049: the log says why");
	/* Only an open one is looked at. */
	CU_ASSERT_FALSE(look());
}

/* However much there is to say, there is an end. */
static void room(void)
{
	char small[24];
	struct gr_addrs want = { 0 };

	serve("192.0.2.1", NULL);
	memset(small, 'x', sizeof(small));
	gr_listeners_text(&src, small, 20);
	CU_ASSERT_STRING_EQUAL(small, "RDMA is served o...");
	CU_ASSERT_EQUAL(small[20], 'x');
	for (unsigned int i = 0; i < STATS_MAX_LISTENERS; i++) {
		add(&want, "2001:db8:1111:2222:3333:4444:5555:6666",
		    (uint16_t)(20000 + i));
		up[i] = false;
	}
	CU_ASSERT_TRUE(gr_listeners_want(&gsh, &table, &want));
	for (unsigned int i = 0; i < STATS_MAX_LISTENERS; i++)
		table.of[i].l = (struct rt_listener *)(void *)(listeners + i);
	gr_listeners_publish(&table, &src);
	CU_ASSERT_TRUE(look());
	CU_ASSERT_EQUAL(strlen(text()), 639);
}

static const struct unit_test tests[] = {
	{ "any", any },
	{ "both families", both_families },
	{ "addresses", addresses },
	{ "others", others },
	{ "not open", not_open },
	{ "room", room },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-listeners", tests)
