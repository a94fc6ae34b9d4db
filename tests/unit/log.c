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

static void say(struct base_log *l, unsigned int host, int level,
		unsigned int n)
{
	struct in6_addr a = host_at(host);

	while (n--)
		base_log_put(l, &a, "peer", level, "line %u", n);
}

/* One host: a burst, then a line in a while, and every other line is counted. */
static void host(void)
{
	struct seen s = { 0 };
	struct base_log *l = base_log_create(sink, &s);

	test_clock_hold();
	say(l, 1, LOG_WARNING, 1000);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST);
	CU_ASSERT_STRING_EQUAL(s.last, "peer: line 970");
	CU_ASSERT_EQUAL(s.tells, 0);
	test_clock_pass(BASE_LOG_HOST_MS - 1);
	say(l, 1, LOG_ERR, 1);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST);
	test_clock_pass(1);
	say(l, 1, LOG_ERR, 2);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST + 1);
	CU_ASSERT_EQUAL(s.level, LOG_ERR);
	CU_ASSERT_STRING_EQUAL(s.told,
			       "host 10.0.0.1: 971 more lines left out");
	/* Long after, as many as at first. */
	test_clock_pass(BASE_LOG_HOST * BASE_LOG_HOST_MS);
	s.lines = 0;
	say(l, 1, LOG_ERR, 100);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST);
	CU_ASSERT_STRING_EQUAL(s.told, "host 10.0.0.1: 1 more line left out");
	base_log_destroy(l);
	CU_ASSERT_STRING_EQUAL(s.told, "all hosts: 70 more lines left out");
	test_clock_release();
}

/* Lines of one class or of one host take nothing of those of another. */
static void apart(void)
{
	struct seen s = { 0 };
	struct base_log *l = base_log_create(sink, &s);

	test_clock_hold();
	say(l, 1, LOG_DEBUG, 5000);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST * BASE_LOG_MORE);
	say(l, 1, LOG_INFO, 5000);
	CU_ASSERT_EQUAL(s.lines, 2 * BASE_LOG_HOST * BASE_LOG_MORE);
	s.lines = 0;
	say(l, 1, LOG_NOTICE, 5000);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST);
	say(l, 1, LOG_WARNING, 1);
	CU_ASSERT_EQUAL(s.level, LOG_WARNING);
	say(l, 2, LOG_NOTICE, 1);
	CU_ASSERT_EQUAL(s.level, LOG_NOTICE);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST + 2);
	base_log_destroy(l);
	test_clock_release();
}

/* A quiet host's count comes by itself, that of a noisy one before its next line. */
static void counts(void)
{
	struct seen s = { 0 };
	struct base_log *l = base_log_create(sink, &s);

	test_clock_hold();
	CU_ASSERT_FALSE(base_log_owes(l));
	say(l, 1, LOG_WARNING, BASE_LOG_HOST + 9);
	for (unsigned int i = 0; i < 50; i++) {
		test_clock_pass(BASE_LOG_HOST_MS / 10);
		base_log_tick(l);
		CU_ASSERT_EQUAL(s.tells, s.lines - BASE_LOG_HOST);
		say(l, 1, LOG_WARNING, 1);
	}
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST + 5);
	s.tells = 0;
	CU_ASSERT_TRUE(base_log_owes(l));
	say(l, 1, LOG_WARNING, 3);
	test_clock_pass(BASE_LOG_HOST_MS - 1);
	base_log_tick(l);
	CU_ASSERT_EQUAL(s.tells, 0);
	test_clock_pass(1);
	base_log_tick(l);
	CU_ASSERT_EQUAL(s.tells, 1);
	base_log_tick(l);
	CU_ASSERT_FALSE(base_log_owes(l));
	CU_ASSERT_EQUAL(s.lines + s.left_out, BASE_LOG_HOST + 9 + 50 + 3);
	base_log_destroy(l);
	CU_ASSERT_EQUAL(s.tells, 1);
	test_clock_release();
}

/* More hosts than have buckets: there is one for all together. */
static void all(void)
{
	struct seen s = { 0 };
	struct base_log *l = base_log_create(sink, &s);

	test_clock_hold();
	for (unsigned int i = 0; i < 1000; i++)
		say(l, i, LOG_WARNING, 3);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_ALL);
	test_clock_pass(BASE_LOG_HOST_MS);
	base_log_tick(l);
	/* It is no host's fault, so one line tells of all. */
	CU_ASSERT_EQUAL(s.tells, 1);
	CU_ASSERT_STRING_EQUAL(s.told, "all hosts: 2900 more lines left out");
	base_log_tick(l);
	CU_ASSERT_FALSE(base_log_owes(l));
	/* One host alone has less. */
	s.lines = 0;
	for (unsigned int i = 0; i < 100; i++) {
		test_clock_pass(BASE_LOG_ALL_MS);
		say(l, 5000, LOG_WARNING, 1);
	}
	CU_ASSERT(s.lines < BASE_LOG_HOST + 5);
	s.lines = s.left_out = 0;
	say(l, 5000, LOG_WARNING, 100);
	base_log_destroy(l);
	CU_ASSERT(s.left_out >= 100);
	test_clock_release();
}

/* Lines as a sink gets them, of a host and of none; a long one; no sink; no log. */
static void sinks(void)
{
	struct seen s = { 0 };
	struct base_log *l = base_log_create(sink, &s), *none;
	struct in6_addr a = host_at(1);
	char text[2000];

	test_clock_hold();
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	for (unsigned int i = 0; i < 50; i++)
		base_log_host_line(l, &a, LOG_WARNING, "of one host");
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST);
	CU_ASSERT_STRING_EQUAL(s.last, "of one host");
	test_clock_pass(BASE_LOG_HOST_MS);
	base_log_tick(l);
	CU_ASSERT_STRING_EQUAL(s.told, "host 10.0.0.1: 20 more lines left out");
	s.lines = 0;
	for (unsigned int i = 0; i < 50; i++)
		base_log_line(l, LOG_WARNING, text);
	CU_ASSERT_EQUAL(s.lines, BASE_LOG_HOST);
	CU_ASSERT_EQUAL(strlen(s.last), 511);
	test_clock_pass(BASE_LOG_HOST_MS);
	base_log_tick(l);
	CU_ASSERT_STRING_EQUAL(s.told,
			       "lines of no host: 20 more lines left out");
	a = (struct in6_addr){ .s6_addr = { 0x20, 1, 0xd, 0xb8 } };
	for (unsigned int i = 0; i < BASE_LOG_HOST + 2; i++)
		base_log_host_line(l, &a, LOG_WARNING, "of IPv6");
	test_clock_pass(BASE_LOG_HOST_MS);
	base_log_tick(l);
	CU_ASSERT_STRING_EQUAL(s.told,
			       "host 2001:db8::/64: 2 more lines left out");
	base_log_destroy(l);
	none = base_log_create(NULL, NULL);
	say(none, 1, LOG_ERR, 1000);
	base_log_tick(none);
	base_log_destroy(none);
	base_log_line(NULL, LOG_ERR, text);
	base_log_tick(NULL);
	base_log_destroy(NULL);
	test_clock_release();
}

static const struct unit_test tests[] = {
	{ "a host", host },   { "apart", apart }, { "counts", counts },
	{ "all hosts", all }, { "sinks", sinks }, { NULL, NULL },
};

UNIT_MAIN("log", tests)
