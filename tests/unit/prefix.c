/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefixes: what is parsed and how it is printed, what is refused, and what is within. */
#include <arpa/inet.h>
#include <string.h>

#include "base/prefix.h"
#include "unit.h"

static struct sockaddr_storage addr_of(const char *text)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(700);
	} else {
		CU_ASSERT_EQUAL_FATAL(
			inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(700);
		in6->sin6_scope_id = 2;
	}
	return ss;
}

static bool has(const char *prefix, const char *addr)
{
	struct sockaddr_storage ss = addr_of(addr);
	struct base_prefix p;

	CU_ASSERT_PTR_NULL_FATAL(base_prefix_parse(prefix, &p));
	return base_prefix_has(&p, &ss);
}

static void text(void)
{
	static const char *const same[] = {
		"192.0.2.1",   "10.1.0.0/16",	 "0.0.0.0/0", "10.0.0.0/7",
		"2001:db8::1", "fd00::/8",	 "::/0",      "128.0.0.0/1",
		"fe80::/10",   "2001:db8::/127",
	};
	static const char *const other[][2] = {
		{ "192.0.2.1/32", "192.0.2.1" },
		{ "::1/128", "::1" },
		{ "::ffff:10.1.0.0/112", "10.1.0.0/16" },
		{ "::ffff:192.0.2.1", "192.0.2.1" },
		{ "FD00:0::/8", "fd00::/8" },
	};
	char out[BASE_PREFIX_TEXT];
	struct base_prefix p;

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		CU_ASSERT_PTR_NULL_FATAL(base_prefix_parse(same[i], &p));
		base_prefix_text(&p, out, sizeof(out));
		CU_ASSERT_STRING_EQUAL(out, same[i]);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		CU_ASSERT_PTR_NULL_FATAL(base_prefix_parse(other[i][0], &p));
		base_prefix_text(&p, out, sizeof(out));
		CU_ASSERT_STRING_EQUAL(out, other[i][1]);
	}
}

static void wrong(void)
{
	static const char *const all[] = {
		"",
		"x",
		"10.1.0.0/",
		"10.1.0.0/33",
		"10.1.0.0/-1",
		"10.1.0.0/+8",
		"10.1.0.0/16x",
		"10.1.0.0/8",
		"10.1/16",
		"::/129",
		"fd00::1/8",
		"::/9999",
		"1::2::3",
		"fe80::1%lo",
		"10.0.0.0/8/8",
		"/8",
		"[::1]",
		" 10.0.0.0/8",
		"::ffff:0.0.0.0/33x",
		"2001:0db8:0000:0000:0000:0000:0000:0000:0000:0000:0000/8",
	};
	struct base_prefix p;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(base_prefix_parse(all[i], &p));
}

static void within(void)
{
	CU_ASSERT_TRUE(has("10.1.0.0/16", "10.1.255.255"));
	CU_ASSERT_TRUE(has("10.1.0.0/16", "::ffff:10.1.0.0"));
	CU_ASSERT_FALSE(has("10.1.0.0/16", "10.2.0.0"));
	CU_ASSERT_FALSE(has("10.1.0.0/16", "10.0.255.255"));
	CU_ASSERT_TRUE(has("10.0.0.0/7", "11.255.255.255"));
	CU_ASSERT_FALSE(has("10.0.0.0/7", "12.0.0.0"));
	CU_ASSERT_TRUE(has("192.0.2.1", "192.0.2.1"));
	CU_ASSERT_FALSE(has("192.0.2.1", "192.0.2.0"));
	CU_ASSERT_TRUE(has("0.0.0.0/0", "255.255.255.255"));
	CU_ASSERT_FALSE(has("0.0.0.0/0", "2001:db8::1"));
	CU_ASSERT_TRUE(has("fd00::/8", "fdff::1"));
	CU_ASSERT_FALSE(has("fd00::/8", "fe00::1"));
	CU_ASSERT_TRUE(has("fe80::/10", "fe80::1"));
	CU_ASSERT_TRUE(has("2001:db8::1", "2001:db8::1"));
	CU_ASSERT_FALSE(has("2001:db8::1", "2001:db8::2"));
	/* All of one family. */
	CU_ASSERT_TRUE(has("::/0", "2001:db8::1"));
	CU_ASSERT_FALSE(has("::/0", "192.0.2.1"));
	CU_ASSERT_FALSE(has("::/0", "::ffff:192.0.2.1"));
	CU_ASSERT_FALSE(has("::/64", "192.0.2.1"));
}

/* A peer of another family. */
static void no_address(void)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	struct base_prefix p;

	CU_ASSERT_PTR_NULL_FATAL(base_prefix_parse("::/0", &p));
	CU_ASSERT_FALSE(base_prefix_has(&p, &ss));
	CU_ASSERT_PTR_NULL_FATAL(base_prefix_parse("0.0.0.0/0", &p));
	CU_ASSERT_FALSE(base_prefix_has(&p, &ss));
}

static const struct unit_test tests[] = {
	{ "text", text },     { "wrong", wrong },
	{ "within", within }, { "no address", no_address },
	{ NULL, NULL },
};

UNIT_MAIN("prefix", tests)
