/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of options: what is taken, and that a refusal says what would be.
 */
#include "base/addr.h"
#include "unit.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include "tools/args.h"
#include "rpcrdma/config.h"

static void test_number(void)
{
	static const struct {
		const char *s;
		uint64_t want;
	} good[] = {
		{ "1", 1 },	{ "64", 64 },		{ "4K", 4096 },
		{ "4k", 4096 }, { "1M", 1 << 20 },	{ "1G", 1 << 30 },
		{ "0x10", 16 }, { "1000000", 1000000 },
	};
	static const char *const bad[] = {
		"",    "0",   "-1",	      "+1",
		" 1",  "1 ",  "1x",	      "K",
		"4KK", "1.5", "abc",	      "99999999999999999999",
		"2G",  "0x",  "17179869184G", "1T",
	};
	static const struct {
		unsigned int max;
		const char *end;
	} ends[] = {
		{ 1023, "" },
		{ 1024, "; it may end in K" },
		{ (1 << 20) - 1, "; it may end in K" },
		{ 1 << 20, "; it may end in K or M" },
		{ (1 << 30) - 1, "; it may end in K or M" },
		{ 1 << 30, "; it may end in K, M or G" },
	};
	struct arg_err err;
	uint64_t v;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		v = 0;
		CU_ASSERT_PTR_NULL(arg_number(good[i].s, 1, 1 << 30, &v, &err));
		CU_ASSERT_EQUAL(v, good[i].want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why;

		v = 77;
		why = arg_number(bad[i], 1, 1 << 30, &v, &err);
		CU_ASSERT_PTR_NOT_NULL_FATAL(why);
		CU_ASSERT_EQUAL(v, 77);
		CU_ASSERT_PTR_NOT_NULL(
			strstr(why, "a number from 1 to 1073741824"));
		CU_ASSERT_PTR_NULL(strchr(why, '\n'));
	}
	/* Units are named where a number that is allowed can have them. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const char *why = arg_number("2X", 1, ends[i].max, &v, &err);
		char want[80];

		CU_ASSERT_PTR_NOT_NULL_FATAL(why);
		snprintf(want, sizeof(want),
			 "'2X' is not a number from 1 to %u%s", ends[i].max,
			 ends[i].end);
		CU_ASSERT_STRING_EQUAL(why, want);
	}
	CU_ASSERT_PTR_NULL(
		arg_number("18446744073709551615", 0, UINT64_MAX, &v, &err));
	CU_ASSERT_EQUAL(v, UINT64_MAX);
	CU_ASSERT_PTR_NULL(arg_ms("500", 1, 1000, &v, &err));
	CU_ASSERT_EQUAL(v, 500);
	CU_ASSERT_STRING_EQUAL(
		arg_ms("0.5", 1, 1000, &v, &err),
		"'0.5' is not a number of milliseconds from 1 to 1000");
	CU_ASSERT_EQUAL(v, 500);
}

static void test_choice(void)
{
	static const char *const names[] = { "auto", "continued", "special",
					     NULL };
	struct arg_err err;
	unsigned int v = 9;
	const char *why;

	CU_ASSERT_PTR_NULL(arg_choice("special", names, &v, &err));
	CU_ASSERT_EQUAL(v, 2);
	CU_ASSERT_PTR_NULL(arg_choice("auto", names, &v, &err));
	CU_ASSERT_EQUAL(v, 0);
	why = arg_choice("spec", names, &v, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(why);
	CU_ASSERT_STRING_EQUAL(why,
			       "'spec' is not one of auto, continued, special");
	CU_ASSERT_EQUAL(v, 0);
}

static void test_versions(void)
{
	struct arg_err err;
	unsigned int v = 9;

	CU_ASSERT_PTR_NULL(arg_rdma_versions("1", &v, &err));
	CU_ASSERT_EQUAL(v, 2);
	CU_ASSERT_PTR_NULL(arg_rdma_versions("2", &v, &err));
	CU_ASSERT_EQUAL(v, 4);
	CU_ASSERT_PTR_NULL(arg_rdma_versions("any", &v, &err));
	CU_ASSERT_EQUAL(v, 6);
	CU_ASSERT_PTR_NOT_NULL(arg_rdma_versions("3", &v, &err));
	CU_ASSERT_EQUAL(v, 6);
}

static void test_extensions(void)
{
	static const char *const bad[] = {
		"",
		"xchar",
		"xcharext,",
		",rtrext",
		"xcharext rtrext",
		"none,rtrext",
		"both",
		"xcharext,,rtrext",
		"XCHAREXT",
	};
	struct arg_err err;
	unsigned int v = 9;

	CU_ASSERT_PTR_NULL(arg_extensions("none", &v, &err));
	CU_ASSERT_EQUAL(v, 0);
	CU_ASSERT_PTR_NULL(arg_extensions("xcharext", &v, &err));
	CU_ASSERT_EQUAL(v, RT_EXT_XCHAR);
	CU_ASSERT_PTR_NULL(arg_extensions("rtrext", &v, &err));
	CU_ASSERT_EQUAL(v, RT_EXT_RTR);
	CU_ASSERT_PTR_NULL(arg_extensions("rtrext,xcharext", &v, &err));
	CU_ASSERT_EQUAL(v, RT_EXT_XCHAR | RT_EXT_RTR);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = arg_extensions(bad[i], &v, &err);

		CU_ASSERT_PTR_NOT_NULL_FATAL(why);
		CU_ASSERT_PTR_NOT_NULL(strstr(
			why, "none, xcharext, rtrext or xcharext,rtrext"));
		CU_ASSERT_EQUAL(v, RT_EXT_XCHAR | RT_EXT_RTR);
	}
}

static void check_addr(const char *s, unsigned int port, const char *want)
{
	struct arg_addr a = { 0 };
	struct arg_err err;
	char name[64];
	const char *bad = arg_addr(s, port, &a, &err);

	if (!want) {
		CU_ASSERT_PTR_NOT_NULL(bad);
		CU_ASSERT_EQUAL(a.len, 0);
		return;
	}
	CU_ASSERT_PTR_NULL_FATAL(bad);
	base_addr_name((struct sockaddr *)&a.addr, name, sizeof(name));
	CU_ASSERT_STRING_EQUAL(name, want);
}

static void test_addr(void)
{
	static const struct {
		const char *s;
		unsigned int port; /* if none is given; 0: one has to be */
		const char *want; /* NULL: refused */
	} rows[] = {
		{ "127.0.0.1:2049", 0, "127.0.0.1:2049" },
		{ "127.0.0.1:0", 0, "127.0.0.1:0" },
		{ "127.0.0.1", 20049, "127.0.0.1:20049" },
		{ "[127.0.0.1]:1", 20049, "127.0.0.1:1" },
		{ "[::1]:2049", 0, "[::1]:2049" },
		{ "[::1]:0", 0, "[::1]:0" },
		{ "[::1]", 20049, "[::1]:20049" },
		{ "::1", 20049, "[::1]:20049" },
		{ "::", 20049, "[::]:20049" },
		{ "[2001:db8::7]:65535", 0, "[2001:db8::7]:65535" },
		{ "2001:db8:1:2:3:4:5:6", 1, "[2001:db8:1:2:3:4:5:6]:1" },
		{ "::ffff:192.0.2.1", 1, "[::ffff:192.0.2.1]:1" },
		/* Of one link: with the interface's name, or its number. */
		{ "[fe80::1%lo]:2049", 0, "[fe80::1%lo]:2049" },
		{ "[fe80::1%lo]", 20049, "[fe80::1%lo]:20049" },
		{ "fe80::1%lo", 20049, "[fe80::1%lo]:20049" },
		{ "fe80::1%1", 20049, "[fe80::1%lo]:20049" },
		{ "[fe80::1%4000000000]:1", 0, "[fe80::1%4000000000]:1" },

		{ "127.0.0.1", 0, NULL },
		{ "::1", 0, NULL },
		{ "[::1]", 0, NULL },
		{ "::1:2049x", 0, NULL },
		{ "[::1", 20049, NULL },
		{ "[::1]2049", 20049, NULL },
		{ "[::1]:", 20049, NULL },
		{ "[::1]:70000", 20049, NULL },
		{ "[::1]:1:2", 20049, NULL },
		{ "[[::1]]:1", 20049, NULL },
		{ "::1]:1", 20049, NULL },
		{ "1::2::3", 20049, NULL },
		{ "[fe80::1%nonesuch0]:1", 0, NULL },
		{ "[fe80::1%]:1", 0, NULL },
		{ "fe80::1", 20049, NULL },
		{ "[fe80::1]:1", 0, NULL },
		{ "127.0.0.1:", 20049, NULL },
		{ "127.0.0.1:65536", 20049, NULL },
		{ "127.0.0.1:port", 20049, NULL },
		{ "127.0.0.1:-1", 20049, NULL },
		{ "", 20049, NULL },
		{ ":2049", 20049, NULL },
		{ "[]:2049", 20049, NULL },
		{ "[", 20049, NULL },
		{ ":", 20049, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_addr(rows[i].s, rows[i].port, rows[i].want);

	struct arg_addr a = { 0 };
	struct arg_err err = { 0 };

	CU_ASSERT_NOT_EQUAL(arg_addr("fd00::1:20049", 20049, &a, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is [ADDR]:PORT"));
	CU_ASSERT_NOT_EQUAL(arg_addr("\"server\"", 20049, &a, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ": leave out the quotes"));
}

/* Of 64 letters, which is one too many: no server is asked for it. */
#define LONG "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"

/* A name that somebody may know later, and what never will be one. */
static void test_names(void)
{
	static const struct {
		const char *s;
		bool name;
	} rows[] = {
		{ LONG ":1", true },	     { LONG "-1.test:1", true },
		{ "-" LONG ":1", false },    { LONG "_.test:1", false },
		{ LONG " b.test:1", false }, { "1.2.3.4.5:1", false },
		{ LONG ":x", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arg_addr a = { 0 };
		struct arg_err err = { .unknown_name = !rows[i].name };

		CU_ASSERT_PTR_NOT_NULL(arg_addr(rows[i].s, 0, &a, &err));
		CU_ASSERT_EQUAL(err.unknown_name, rows[i].name);
	}
}

static void check_text(const char *host, unsigned int scope, const char *text,
		       const char *name)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(65535),
				    .sin6_scope_id = scope };
	char buf[64];

	CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
	base_addr_text((struct sockaddr *)&in6, buf, sizeof(buf));
	CU_ASSERT_STRING_EQUAL(buf, text);
	base_addr_name((struct sockaddr *)&in6, buf, sizeof(buf));
	CU_ASSERT_STRING_EQUAL(buf, name);
}

static void test_text(void)
{
	struct sockaddr other = { .sa_family = AF_UNIX };
	char buf[64];

	check_text("2001:db8::1", 0, "2001:db8::1", "[2001:db8::1]:65535");
	check_text("fe80::1", 1, "fe80::1%lo", "[fe80::1%lo]:65535");
	/* The longest of one link, and an interface that is not there. */
	check_text(
		"fe80:1111:2222:3333:4444:5555:6666:7777", 4294967295u,
		"fe80:1111:2222:3333:4444:5555:6666:7777%4294967295",
		"[fe80:1111:2222:3333:4444:5555:6666:7777%4294967295]:65535");
	base_addr_text(&other, buf, sizeof(buf));
	CU_ASSERT_STRING_EQUAL(buf, "?");
	base_addr_name(&other, buf, sizeof(buf));
	CU_ASSERT_STRING_EQUAL(buf, "?");
}

/* Nothing else of it may be left, octets behind the address included. */
static void check_map(const char *host, unsigned int port, const char *want)
{
	struct arg_err err;
	struct arg_addr a, b;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	CU_ASSERT_PTR_NULL_FATAL(arg_addr(host, port, &a, &err));
	CU_ASSERT_PTR_NULL_FATAL(arg_addr(want, port, &b, &err));
	if (a.addr.ss_family == AF_INET)
		memset((char *)&a.addr + sizeof(struct sockaddr_in), 0xff,
		       sizeof(a.addr) - sizeof(struct sockaddr_in));
	base_addr_map(&a.addr);
	CU_ASSERT_EQUAL(memcmp(&a.addr, &b.addr, sizeof(a.addr)), 0);
}

static void test_map(void)
{
	check_map("192.0.2.1", 1024, "::ffff:192.0.2.1");
	check_map("0.0.0.0", 65535, "::ffff:0.0.0.0");
	check_map("::ffff:192.0.2.1", 1, "::ffff:192.0.2.1");
	check_map("2001:db8::1", 1023, "2001:db8::1");
	check_map("fe80::1%lo", 1, "fe80::1%lo");
}

static void check_any(const char *host, bool any, bool loopback)
{
	struct arg_err err;
	struct arg_addr a;

	memset(&a, 0, sizeof(a));
	CU_ASSERT_PTR_NULL_FATAL(arg_addr(host, 20049, &a, &err));
	CU_ASSERT_EQUAL(base_addr_is_any(&a.addr), any);
	CU_ASSERT_EQUAL(base_addr_is_loopback(&a.addr), loopback);
}

static void test_any(void)
{
	struct sockaddr_storage none = { .ss_family = AF_UNIX };

	check_any("0.0.0.0", true, false);
	check_any("::", true, false);
	check_any("0.0.0.1", false, false);
	check_any("::1", false, true);
	check_any("::ffff:0.0.0.0", false, false);
	check_any("127.0.0.1", false, true);
	check_any("127.255.255.254", false, true);
	check_any("128.0.0.1", false, false);
	check_any("::2", false, false);
	check_any("::ffff:127.0.0.1", false, true);
	check_any("::ffff:128.0.0.1", false, false);
	CU_ASSERT_FALSE(base_addr_is_any(&none));
	CU_ASSERT_FALSE(base_addr_is_loopback(&none));
}

/* ---- Names, in the place of a name server -------------------------------- */

/* NULL: the real one. */
static const char *const *known;

int __wrap_getaddrinfo(const char *name, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);
int __real_getaddrinfo(const char *name, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);

int __wrap_getaddrinfo(const char *name, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out)
{
	if (!known)
		return __real_getaddrinfo(name, service, hints, out);
	for (const char *const *k = known; *k; k++, out = &(*out)->ai_next)
		if (__real_getaddrinfo(*k, service, hints, out))
			return EAI_FAIL;
	return 0;
}

static void check_all(const char *const *name_has, const char *want)
{
	struct arg_addrs all;
	struct arg_err err;
	char text[2048] = "", one[64];

	known = name_has;
	CU_ASSERT_PTR_NULL_FATAL(arg_addrs("name", 7, &all, &err));
	CU_ASSERT_TRUE(all.is_name);
	known = NULL;
	for (unsigned int i = 0; i < all.n; i++) {
		base_addr_name((struct sockaddr *)&all.at[i].addr, one,
			       sizeof(one));
		strcat(strcat(text, one), " ");
	}
	CU_ASSERT_STRING_EQUAL(text, want);
}

/* All addresses of a name in their order, each once, without those of a link that
 * is not named, and no more than there is room for. */
static void test_addrs(void)
{
	static const char *const mixed[] = { "2001:db8::1", "fe80::1",
					     "192.0.2.1",   "192.0.2.1",
					     "192.0.2.2",   "2001:db8::1",
					     NULL };
	static const char *const link[] = { "fe80::1", NULL };
	const char *many[ARG_ADDRS + 4] = { 0 };
	char text[ARG_ADDRS + 3][16];
	struct arg_addrs all = { 0 };
	struct arg_err err;

	check_all(mixed, "[2001:db8::1]:7 192.0.2.1:7 192.0.2.2:7 ");
	for (unsigned int i = 0; i < ARG_ADDRS + 3; i++) {
		snprintf(text[i], sizeof(text[i]), "192.0.2.%u", i);
		many[i] = text[i];
	}
	known = many;
	CU_ASSERT_PTR_NULL(arg_addrs("name", 7, &all, &err));
	CU_ASSERT_EQUAL(all.n, ARG_ADDRS);
	known = link;
	CU_ASSERT_PTR_NOT_NULL(arg_addrs("name", 7, &all, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "needs an interface"));
	CU_ASSERT_EQUAL(all.n, ARG_ADDRS);
	known = NULL;
	CU_ASSERT_PTR_NULL(arg_addrs("192.0.2.1", 7, &all, &err));
	CU_ASSERT_EQUAL(all.n, 1);
	CU_ASSERT_FALSE(all.is_name);
}

static void test_addr_long(void)
{
	char s[600];

	memset(s, 'a', sizeof(s));
	s[sizeof(s) - 1] = 0;
	check_addr(s, 20049, NULL);
}

static void test_provider(void)
{
	const char *name = "iwarp", *said;
	struct arg_err err;

	CU_ASSERT_PTR_NULL(arg_provider("iwarp", &name, &err));
	CU_ASSERT_STRING_EQUAL(name, "iwarp");
	name = NULL;
	said = arg_provider("iwarps", &name, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(said);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "'iwarps' is not a provider"));
	CU_ASSERT_EQUAL(!!strstr(said, " or verbs"), !!fab_provider("verbs"));
	CU_ASSERT_PTR_NULL(name);
}

static const struct unit_test tests[] = {
	{ "provider", test_provider },
	{ "number", test_number },
	{ "choice", test_choice },
	{ "versions", test_versions },
	{ "extensions", test_extensions },
	{ "addr", test_addr },
	{ "names", test_names },
	{ "addr_long", test_addr_long },
	{ "addrs", test_addrs },
	{ "text", test_text },
	{ "map", test_map },
	{ "any", test_any },
	{ 0 },
};

UNIT_MAIN("tools-args", tests)
