/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grace periods that are too short for the lease, as the parser of the installed Ganesha
 * reads them.
 */
#include "ganesha/grace.h"
#include "parsed.h"

static char told[512];
static unsigned int lines;

static bool look(struct gsh_config *tree)
{
	FILE *f = fmemopen(told, sizeof(told), "w");

	*told = '\0';
	lines = gr_grace_check(&gsh, tree, f);
	fclose(f);
	return true;
}

static bool is_good(const char *text)
{
	CU_ASSERT_TRUE(parsed(text, look));
	CU_ASSERT_EQUAL(lines, *told != '\0');
	return !lines;
}

static void times(void)
{
	CU_ASSERT_TRUE(is_good("LOG { }"));
	CU_ASSERT_TRUE(is_good("NFSv4 { }"));
	CU_ASSERT_TRUE(is_good("NFSv4 { Grace_Period = 60; }"));
	CU_ASSERT_FALSE(is_good("NFSv4 { Grace_Period = 59; }"));
	CU_ASSERT_STRING_EQUAL(
		told, "rpcrdma: NFSv4: Grace_Period = 59 is shorter than "
		      "Lease_Lifetime = 60: clients can lose their locks when "
		      "the server restarts: lower Lease_Lifetime, too\n");
	CU_ASSERT_FALSE(is_good("NFSv4 { Grace_Period = 0; }"));
	CU_ASSERT_TRUE(is_good("NFSv4 { Lease_Lifetime = 90; }"));
	CU_ASSERT_FALSE(is_good("NFSv4 { Lease_Lifetime = 91; }"));
	CU_ASSERT_TRUE(
		is_good("nfsv4 { lease_lifetime = 20; GRACE_PERIOD = 20; }"));
	CU_ASSERT_FALSE(
		is_good("NFSv4 { Lease_Lifetime = 21; Grace_Period = 20; }"));
	/* Of what it does not take, Ganesha tells. */
	CU_ASSERT_TRUE(is_good("NFSv4 { Grace_Period = many; }"));
	parsed_memory = 0;
	CU_ASSERT_TRUE(is_good("NFSv4 { Grace_Period = 5; }"));
	parsed_memory = -1;
}

static const struct unit_test tests[] = {
	{ "times", times },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-grace", tests)
