/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_hostauth - of which server's name a principal is made, and of which none is */
#include <string.h>

#include "tools/hostauth.h"
#include "unit.h"

/* Is --server enough to know whom to ask the KDC about? */
static bool enough(const char *server)
{
	/* Nothing before it is looked at. */
	char room[512] = { 0 };
	struct hostauth o = { .server = strcpy(room + 256, server) };

	return !hostauth_check(&o, RT_AUTH_REQUIRED);
}

static void test_names(void)
{
	static const char *const names[] = { "server", "server.example.com",
					     "server:20049",
					     "server.example.com:20049" };
	static const char *const others[] = { "",
					      ":20049",
					      "192.0.2.1",
					      "192.0.2.1:20049",
					      "::1",
					      "2001:db8::1",
					      "[2001:db8::1]",
					      "[2001:db8::1]:20049",
					      "server:20049:1" };
	struct hostauth o = { 0 };
	char longest[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT_TRUE(enough(names[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CU_ASSERT_FALSE(enough(others[i]));
	memset(longest, 'a', sizeof(longest));
	longest[255] = 0;
	CU_ASSERT_TRUE(enough(longest + 1));
	/* None at all; then whoever is named. */
	CU_ASSERT_PTR_NOT_NULL(hostauth_check(&o, RT_AUTH_REQUIRED));
	o.server_principal = "nfs@server";
	CU_ASSERT_PTR_NULL(hostauth_check(&o, RT_AUTH_REQUIRED));
	CU_ASSERT_PTR_NULL(hostauth_check(&o, RT_AUTH_OPTIONAL));
}

/* What is for host authentication is of no use without. */
static void test_none(void)
{
	struct hostauth o = { .server = "192.0.2.1" };

	CU_ASSERT_PTR_NULL(hostauth_check(&o, RT_AUTH_NONE));
	o.timeout = 1;
	CU_ASSERT_PTR_NOT_NULL(hostauth_check(&o, RT_AUTH_NONE));
	o.timeout = 0;
	o.keytab = "keytab";
	CU_ASSERT_PTR_NOT_NULL(hostauth_check(&o, RT_AUTH_NONE));
	o.keytab = NULL;
	o.principal = "host@client";
	CU_ASSERT_PTR_NOT_NULL(hostauth_check(&o, RT_AUTH_NONE));
	o.principal = NULL;
	o.server_principal = "nfs@server";
	CU_ASSERT_PTR_NOT_NULL(hostauth_check(&o, RT_AUTH_NONE));
}

static const struct unit_test tests[] = {
	{ "names", test_names },
	{ "none", test_none },
	{ NULL, NULL },
};

UNIT_MAIN("tools-hostauth", tests)
