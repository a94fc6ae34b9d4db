/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that a peer can cause: what goes through at once and later, what is
 * counted, and that nobody takes the budget of others.
 */
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "base/log.h"
#include "test_clock.h"
#include "unit.h"

/* So many of one host that say the same. */
#define REPEATED (FAB_LOG_HOST - FAB_LOG_KEPT)
/* Fewer. */
#define SOME 8

struct seen {
	unsigned int lines, tells;
	uint64_t left_out; /* as told */
	int level;
	char last[512], told[512];
};

static void sink(void *ctx, int level, const char *text)
{
	struct seen *s = ctx;
	const char *at = strstr(text, " more line");
	unsigned long n;

	if (!at) {
		s->lines++;
		s->level = level;
		snprintf(s->last, sizeof(s->last), "%s", text);
		return;
	}
	s->tells++;
	snprintf(s->told, sizeof(s->told), "%s", text);
	while (at > text && at[-1] != ' ')
		at--;
	CU_ASSERT_EQUAL_FATAL(sscanf(at, "%lu", &n), 1);
	s->left_out += n;
}

static struct in6_addr host_at(unsigned int n)
{
	struct in6_addr a = { .s6_addr = { [10] = 0xff,
					   [11] = 0xff,
					   [12] = 10,
					   [13] = (uint8_t)(n >> 16),
					   [14] = (uint8_t)(n >> 8),
					   [15] = (uint8_t)n } };

	return a;
}

static void say(struct fab_log *l, struct fab_log_budget *b, unsigned int host,
		int level, unsigned int n)
{
	struct in6_addr a = host_at(host);

	while (n--)
		fab_log_put(l, b, &a, "peer", level, "line %u", n);
}

/* One connection: some at once, one from time to time, nothing lost count of. */
static void connection(void)
{
	struct seen s = { 0 };
	struct fab_log *l = fab_log_create(sink, &s);
	struct fab_log_budget b = { 0 };
	struct in6_addr a = host_at(1);

	test_clock_hold();
	say(l, &b, 1, LOG_WARNING, 1000);
	CU_ASSERT_EQUAL(s.lines, FAB_LOG_CONN);
	CU_ASSERT_STRING_EQUAL(s.last, "peer: line 990");
	CU_ASSERT_EQUAL(s.tells, 0);
	/* What goes by others is not touched by it. */
	say(l, NULL, 1, LOG_WARNING, 1);
	CU_ASSERT_EQUAL(s.lines, FAB_LOG_CONN + 1);
	test_clock_pass(FAB_LOG_CONN_MS);
	say(l, &b, 1, LOG_ERR, 2);
	CU_ASSERT_EQUAL(s.lines, FAB_LOG_CONN + 2);
	CU_ASSERT_STRING_EQUAL(s.told, "peer: 990 more lines left out");
	fab_log_leave(l, &b, &a, "peer");
	CU_ASSERT_STRING_EQUAL(s.told, "peer: 1 more line left out");
	/* Once. */
	fab_log_leave(l, &b, &a, "peer");
	CU_ASSERT_EQUAL(s.tells, 2);
	/* Long after, as many as at first. */
	test_clock_pass(FAB_LOG_CONN * FAB_LOG_CONN_MS);
	s.lines = 0;
	say(l, &b, 1, LOG_ERR, 100);
	CU_ASSERT_EQUAL(s.lines, FAB_LOG_CONN);
	fab_log_destroy(l);
	test_clock_release();
}

/* What is only read by who looks for something takes nothing of the rest. */
static void classes(void)
{
	struct seen s = { 0 };
	struct fab_log *l = fab_log_create(sink, &s);
	struct fab_log_budget b = { 0 };

	test_clock_hold();
	say(l, &b, 1, LOG_DEBUG, 5000);
	CU_ASSERT_EQUAL(s.lines, FAB_LOG_CONN * FAB_LOG_MORE);
	say(l, &b, 1, LOG_INFO, 5000);
	CU_ASSERT_EQUAL(s.lines, 2 * FAB_LOG_CONN * FAB_LOG_MORE);
	/* Nor do those who come and go hide a warning. */
	s.lines = 0;
	say(l, &b, 1, LOG_NOTICE, 5000);
	CU_ASSERT_EQUAL(s.lines, FAB_LOG_CONN);
	say(l, NULL, 1, LOG_NOTICE, 5000);
	CU_ASSERT_EQUAL(s.lines, REPEATED);
	say(l, &b, 1, LOG_WARNING, 1);
	CU_ASSERT_EQUAL(s.level, LOG_WARNING);
	CU_ASSERT_EQUAL(s.lines, REPEATED + 1);
	fab_log_destroy(l);
	test_clock_release();
}

/* Many connections of one host, and a line of another one. */
static void host(void)
{
	struct seen s = { 0 };
	struct fab_log *l = fab_log_create(sink, &s);

	test_clock_hold();
	for (unsigned int i = 0; i < 1000; i++) {
		struct fab_log_budget b = { 0 };
		struct in6_addr a = host_at(1);

		say(l, &b, 1, LOG_WARNING, 12);
		fab_log_leave(l, &b, &a, "peer");
	}
	CU_ASSERT_EQUAL(s.lines + s.tells, REPEATED);
	say(l, NULL, 2, LOG_WARNING, 1);
	CU_ASSERT_STRING_EQUAL(s.last, "peer: line 0");
	/* Nothing has been lost, and it is told without another line. */
	fab_log_tick(l);
	CU_ASSERT_EQUAL(s.left_out + s.lines, 2 + REPEATED - s.tells + 1);
	CU_ASSERT_TRUE(fab_log_owes(l));
	test_clock_pass(FAB_LOG_HOST_MS);
	fab_log_tick(l);
	CU_ASSERT_FALSE(fab_log_owes(l));
	CU_ASSERT_EQUAL(s.left_out + s.lines, 12001);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.told, "host 10.0.0.1: "));
	fab_log_destroy(l);
	CU_ASSERT_EQUAL(s.left_out + s.lines, 12001);
	test_clock_release();
}

static void put(struct fab_log *l, unsigned int host, int level,
		const char *text)
{
	struct in6_addr a = host_at(host);

	fab_log_put(l, NULL, &a, "peer", level, "%s", text);
}

/* One that says the same each second does not hide what somebody else there causes. */
static void again(void)
{
	static const char *const other[] = { "a", "b", "c", "d" };
	struct seen s = { 0 };
	struct fab_log *l = fab_log_create(sink, &s);
	char text[32];

	test_clock_hold();
	for (unsigned int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "try %u: refused", i);
		put(l, 1, LOG_WARNING, text);
		fab_log_tick(l);
		test_clock_pass(1000);
	}
	/* Each time that there is one it is a line, which brings the count along. */
	CU_ASSERT_EQUAL(s.tells, s.lines - REPEATED - 4);
	CU_ASSERT(s.lines >= REPEATED + 15 && s.lines <= REPEATED + 20);
	for (unsigned int i = 0; i < FAB_LOG_KEPT; i++) {
		snprintf(text, sizeof(text), "new, %s", "abcdefghij" + i);
		put(l, 1, LOG_WARNING, text);
		CU_ASSERT_STRING_EQUAL(s.last + 6, text);
	}
	put(l, 1, LOG_WARNING, "and more");
	put(l, 1, LOG_WARNING, "even more");
	CU_ASSERT_STRING_NOT_EQUAL(s.last, "peer: even more");
	/* Notices have their own, and other hosts. */
	put(l, 1, LOG_NOTICE, "and more");
	CU_ASSERT_STRING_EQUAL(s.last, "peer: and more");
	put(l, 2, LOG_WARNING, "of another");
	CU_ASSERT_STRING_EQUAL(s.last, "peer: of another");
	/* It is quiet: the count comes by itself. */
	s.tells = 0;
	test_clock_pass(FAB_LOG_HOST_MS - 1);
	fab_log_tick(l);
	CU_ASSERT_EQUAL(s.tells, 0);
	test_clock_pass(1);
	fab_log_tick(l);
	CU_ASSERT_EQUAL(s.tells, 1);
	/* It has taken what there was. */
	put(l, 1, LOG_WARNING, "later");
	CU_ASSERT_STRING_EQUAL(s.last, "peer: of another");
	/* Of several that alternate, too; the fifth makes the first new. */
	s.lines = 0;
	for (unsigned int i = 0; i < 400; i++)
		put(l, 3, LOG_WARNING, other[i % 4]);
	CU_ASSERT_EQUAL(s.lines, REPEATED);
	put(l, 3, LOG_WARNING, "e");
	put(l, 3, LOG_WARNING, "b");
	CU_ASSERT_EQUAL(s.lines, REPEATED + 1);
	put(l, 3, LOG_WARNING, "a");
	CU_ASSERT_EQUAL(s.lines, REPEATED + 2);
	/* Counts of its connections are as what is said again, and not learnt. */
	for (unsigned int i = 0; i < SOME; i++)
		put(l, 4, LOG_WARNING, other[i % 4]);
	s.lines = s.tells = 0;
	for (unsigned int i = 0; i < 100; i++) {
		struct fab_log_budget b = { .of[0].left_out = 1 };
		struct in6_addr at = host_at(4);

		fab_log_leave(l, &b, &at, "peer");
	}
	CU_ASSERT_EQUAL(s.tells, REPEATED - SOME);
	put(l, 4, LOG_WARNING, "a");
	CU_ASSERT_STRING_EQUAL(s.last, "peer: d");
	put(l, 4, LOG_WARNING, "new");
	CU_ASSERT_STRING_EQUAL(s.last, "peer: new");
	fab_log_destroy(l);
	test_clock_release();
}

/* More hosts than are counted apart: all together have a budget, too. */
static void all(void)
{
	struct seen s = { 0 };
	struct fab_log *l = fab_log_create(sink, &s);

	test_clock_hold();
	for (unsigned int i = 0; i < 1000; i++)
		say(l, NULL, i, LOG_WARNING, 3);
	CU_ASSERT_EQUAL(s.lines, FAB_LOG_ALL);
	test_clock_pass(FAB_LOG_ALL_MS);
	fab_log_tick(l);
	CU_ASSERT_EQUAL(s.left_out + s.lines, 3000);
	/* One host alone would not have come so far. */
	fab_log_tick(l);
	CU_ASSERT_EQUAL(s.tells, 1);
	for (unsigned int i = 0; i < 100; i++) {
		test_clock_pass(FAB_LOG_ALL_MS);
		say(l, NULL, 5000, LOG_WARNING, 1);
	}
	CU_ASSERT(s.lines < FAB_LOG_ALL + 40);
	fab_log_destroy(l);
	CU_ASSERT_EQUAL(s.left_out + s.lines, 3100);
	test_clock_release();
}

/* Of no host; longer than a line; to nobody. */
static void odd(void)
{
	struct seen s = { 0 };
	struct fab_log *l = fab_log_create(sink, &s), *none;
	char text[2000];

	test_clock_hold();
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	/* One of a host, as a sink: it takes nothing of theirs. */
	for (unsigned int i = 0; i < 50; i++) {
		struct in6_addr a = host_at(1);

		fab_log_host_line(l, &a, LOG_WARNING, "of one host");
	}
	CU_ASSERT_EQUAL(s.lines, REPEATED);
	CU_ASSERT_STRING_EQUAL(s.last, "of one host");
	test_clock_pass(FAB_LOG_HOST_MS);
	fab_log_tick(l);
	CU_ASSERT_STRING_EQUAL(s.told, "host 10.0.0.1: 30 more lines left out");
	s.lines = 0;
	for (unsigned int i = 0; i < 50; i++)
		fab_log_line(l, LOG_WARNING, text);
	CU_ASSERT_EQUAL(s.lines, REPEATED);
	CU_ASSERT_EQUAL(strlen(s.last), 511);
	test_clock_pass(FAB_LOG_HOST_MS);
	fab_log_tick(l);
	CU_ASSERT_STRING_EQUAL(s.told, "lines of no host: 30 more lines left "
				       "out");
	fab_log_destroy(l);
	none = fab_log_create(NULL, NULL);
	say(none, NULL, 1, LOG_ERR, 1000);
	fab_log_tick(none);
	fab_log_destroy(none);
	fab_log_line(NULL, LOG_ERR, text);
	fab_log_tick(NULL);
	fab_log_destroy(NULL);
	test_clock_release();
}

static const struct unit_test tests[] = {
	{ "a connection", connection },
	{ "classes", classes },
	{ "a host", host },
	{ "again", again },
	{ "all", all },
	{ "odd", odd },
	{ NULL, NULL },
};

UNIT_MAIN("log", tests)
