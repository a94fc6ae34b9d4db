/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of the log that say whose connections there were. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>

#include "base/addr.h"
#include "ganesha/serve/accounting.h"
#include "rpcrdma/stats.h"
#include "unit.h"

/* ---- In the place of the transport ------------------------------------------ */

#define HOSTS 2000

static struct rt_totals totals;
static struct rt_account host[HOSTS];
static unsigned int nhosts, at; /* how many there are, how many were taken */
static bool asked_all;

void rt_totals(struct rt_instance *inst, struct rt_totals *out)
{
	*out = totals;
}

unsigned int rt_accounts_take(struct rt_instance *inst, bool all,
			      unsigned int max,
			      void (*fn)(const struct rt_account *x, void *arg),
			      void *arg, unsigned int *left)
{
	asked_all |= all;
	for (; max && at < nhosts; max--)
		fn(&host[at++], arg);
	*left = nhosts - at;
	return nhosts;
}

/* ---- The log ------------------------------------------------------------------ */

static char logged[2 * HOSTS / GR_ACCOUNTING_HOSTS][4096];
static unsigned int nlogged;

static void keep(int component, const char *file, int line,
		 const char *function, int level, const char *format, ...)
{
	va_list args;

	CU_ASSERT_EQUAL(level, GSH_EVENT);
	va_start(args, format);
	if (nlogged < sizeof(logged) / sizeof(logged[0]))
		vsnprintf(logged[nlogged++], sizeof(logged[0]), format, args);
	va_end(args);
}

static const struct gsh gsh = { .log = keep };
static struct gr_accounting a;
static uint64_t now;

static void begin(void)
{
	memset(&totals, 0, sizeof(totals));
	memset(host, 0, sizeof(host));
	nhosts = at = 0;
	asked_all = false;
	now = 1000;
	gr_accounting_start(&a, &gsh, (struct rt_instance *)(void *)&a, now);
}

static void set_host(unsigned int i, const char *text)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	host[i] = (struct rt_account){ .connections = 0 };
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		host[i].addr = base_addr_host((struct sockaddr *)&in);
	else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
		host[i].addr = base_addr_host((struct sockaddr *)&in6);
}

/* Look after so long; returns how many lines there were. */
static unsigned int look(uint64_t ms)
{
	nlogged = 0;
	now += ms;
	gr_accounting_look(&a, now, false);
	return nlogged;
}

static void lines(void)
{
	begin();
	totals.accepted = 3;
	totals.connections = 2;
	totals.refused[RT_REFUSED_evicted] = 4;
	totals.refused[RT_REFUSED_version] = 1;
	set_host(0, "192.0.2.1");
	host[0].connections = 2;
	host[0].opened = 3;
	host[0].closed = 1;
	set_host(1, "2001:db8:0:1:5:6:7:8");
	host[1].refused = 5;
	nhosts = 2;
	/* Not before its time, even a little later than the last. */
	CU_ASSERT_EQUAL(look(GR_ACCOUNTING_MS / 2), 0);
	CU_ASSERT_EQUAL_FATAL(look(GR_ACCOUNTING_MS / 2), 1);
	CU_ASSERT_STRING_EQUAL(
		logged[0],
		"rpcrdma: accounting: 2 hosts with 2 connections; in 60 s 3 opened, 1 closed, 5 refused: 192.0.2.1 2 +3 -1, 2001:db8:0:1::/64 0 refused 5");
	/* Nothing has happened. */
	nhosts = at = 0;
	CU_ASSERT_EQUAL(look(GR_ACCOUNTING_MS), 0);
	/* One has gone, two minutes later. */
	totals.connections = 1;
	set_host(0, "192.0.2.1");
	host[0].connections = 1;
	host[0].closed = 1;
	at = 0;
	nhosts = 1;
	CU_ASSERT_EQUAL_FATAL(look(2 * GR_ACCOUNTING_MS), 1);
	CU_ASSERT_STRING_EQUAL(
		logged[0],
		"rpcrdma: accounting: 1 host with 1 connection; in 120 s 0 opened, 1 closed, 0 refused: 192.0.2.1 1 -1");
	/* Refused ones of hosts that are not known. */
	nhosts = at = 0;
	totals.refused[RT_REFUSED_connections]++;
	CU_ASSERT_EQUAL_FATAL(look(GR_ACCOUNTING_MS), 1);
	CU_ASSERT_STRING_EQUAL(
		logged[0],
		"rpcrdma: accounting: 0 hosts with 1 connection; in 60 s 0 opened, 0 closed, 1 refused");
	/* The tick may come a little early; at the end it comes whenever that is. */
	totals.accepted++;
	CU_ASSERT_EQUAL(look(GR_ACCOUNTING_MS - 100), 1);
	totals.accepted++;
	nlogged = 0;
	gr_accounting_look(&a, now + 2000, true);
	CU_ASSERT_EQUAL_FATAL(nlogged, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(logged[0], "in 2 s 1 opened"));
}

/* How often the hosts of begin_many() are named; no line is longer than Ganesha's. */
static unsigned int count_named(void)
{
	unsigned int named = 0;

	for (unsigned int i = 0; i < nlogged; i++) {
		CU_ASSERT_TRUE(strlen(logged[i]) < 2048);
		for (const char *p = logged[i];
		     (p = strstr(p, "2001:db8:1234:")); p++)
			named++;
	}
	return named;
}

static void begin_many(void)
{
	char text[64];

	begin();
	nhosts = HOSTS;
	for (unsigned int i = 0; i < HOSTS; i++) {
		snprintf(text, sizeof(text), "2001:db8:1234:%x::", i + 0x1000);
		set_host(i, text);
		host[i].connections = host[i].opened = 1000000000;
		host[i].closed = host[i].refused = 1000000000;
	}
	totals.accepted = totals.connections = HOSTS;
}

/* Each of very many is named. */
static void many(void)
{
	unsigned int named = 0, minutes = 0;

	begin_many();
	do {
		unsigned int n = look(GR_ACCOUNTING_MS);

		CU_ASSERT_TRUE_FATAL(n <= GR_ACCOUNTING_LINES + 1);
		named += count_named();
		minutes++;
		if (at < HOSTS)
			CU_ASSERT_PTR_NOT_NULL(
				strstr(logged[n - 1],
				       "more hosts follow in a minute"));
	} while (at < HOSTS && minutes < 100);
	CU_ASSERT_EQUAL(named, HOSTS);
	CU_ASSERT_EQUAL(minutes, 5);
	/* There is no minute after the end. */
	begin_many();
	nlogged = 0;
	gr_accounting_look(&a, now + 1, true);
	CU_ASSERT_EQUAL(nlogged, HOSTS / GR_ACCOUNTING_HOSTS);
	CU_ASSERT_EQUAL(count_named(), HOSTS);
}

/* Once a day all are asked for. */
static void daily(void)
{
	begin();
	for (unsigned int i = 1; i < 24 * 60; i++)
		(void)look(GR_ACCOUNTING_MS);
	CU_ASSERT_FALSE(asked_all);
	(void)look(GR_ACCOUNTING_MS);
	CU_ASSERT_TRUE(asked_all);
	asked_all = false;
	(void)look(GR_ACCOUNTING_MS);
	CU_ASSERT_FALSE(asked_all);
}

/* A server that could not start has nothing to account for. */
static void never_started(void)
{
	memset(&a, 0, sizeof(a));
	nlogged = 0;
	gr_accounting_look(&a, 1000000, true);
	CU_ASSERT_EQUAL(nlogged, 0);
}

static const struct unit_test tests[] = {
	{ "lines", lines }, { "many", many },
	{ "daily", daily }, { "never started", never_started },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-accounting", tests)
