/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom EXPORT_DEFAULTS lets in, read by the parser of the installed Ganesha.
 * integration/ganesha.test compares with the server.
 */
#include "ganesha/admits.h"
#include "ganesha/config/config.h"
#include "parsed.h"

#define READ 0x20u
#define WRITE 0x40u
#define OTHER 0x100000u /* among the same options */

#define ENUM 12
#define MARK_SET 0x010

/* Something before and between: it is not where the block is read. */
struct perms {
	char before[24];
	uint32_t options;
	char between[8];
	uint32_t set;
};

static const struct gsh_config_token types[] = { { "None", 0 },
						 { "RW", READ | WRITE },
						 { "RO", READ },
						 { NULL, 0 } };

#define ACCESS                                                          \
	{                                                               \
		.name = "Access_Type", .type = ENUM, .flags = MARK_SET, \
		.u.lst = { .mask = READ | WRITE,                        \
			   .tokens = types,                             \
			   .set_off = offsetof(struct perms, set) },    \
		.off = offsetof(struct perms, options)                  \
	}

static const struct gsh_config_item in_client[] = { ACCESS, { .name = NULL } };
static const struct gsh_config_item with_client[] = {
	ACCESS,
	{ .name = "Client",
	  .type = GSH_CONFIG_BLOCK,
	  .u.blk = { .params = in_client },
	  .off = sizeof(struct perms) },
	{ .name = NULL },
};
static const struct gsh_config_item nothing[] = { { .name = NULL } };

static const struct gsh_config_item *params; /* of the block */
static struct gr_admits found;

static bool look(struct gsh_config *tree)
{
	struct gsh_config_block theirs = gr_config_block(
		"org.example", "EXPORT_DEFAULTS", params, gr_config_accept);

	found = gr_admits_by_default(&gsh, tree, &theirs);
	CU_ASSERT_EQUAL(said_n, 0);
	return found.all;
}

/* What a block with these items lets in: "", "all", "client" or both. */
static const char *of(const char *items)
{
	char text[256];

	snprintf(text, sizeof(text), "EXPORT_DEFAULTS { %s }\n", items);
	(void)parsed(text, look);
	return found.all && found.client ? "all client" :
	       found.all		 ? "all" :
	       found.client		 ? "client" :
					   "";
}

static void defaults(void)
{
	params = with_client;
	CU_ASSERT_STRING_EQUAL(of(""), "");
	CU_ASSERT_STRING_EQUAL(of("Access_Type = RW;"), "all");
	CU_ASSERT_STRING_EQUAL(of("access_type = RO;"), "all");
	CU_ASSERT_STRING_EQUAL(of("Access_Type = None;"), "");
	CU_ASSERT_STRING_EQUAL(of("Squash = none; Access_Type = RW;"), "all");
	CU_ASSERT_FALSE(parsed("EXPORT { Access_Type = RW; }\n", look));
	/* Of one that may be there once the second does not count. */
	CU_ASSERT_FALSE(parsed("EXPORT_DEFAULTS { Squash = none; }\n"
			       "EXPORT_DEFAULTS { Access_Type = RO; }\n",
			       look));
}

static void clients(void)
{
	params = with_client;
	CU_ASSERT_STRING_EQUAL(of("CLIENT { Clients = *; }"), "");
	CU_ASSERT_STRING_EQUAL(of("CLIENT { Clients = *; Access_Type = RO; }"),
			       "client");
	CU_ASSERT_STRING_EQUAL(of("CLIENT { Access_Type = None; }"), "");
	CU_ASSERT_STRING_EQUAL(
		of("CLIENT { Access_Type = RW; } CLIENT { Clients = *; }"),
		"client");
	/* What one has the next has not. */
	CU_ASSERT_STRING_EQUAL(
		of("CLIENT { Access_Type = None; } CLIENT { Access_Type = RO; }"),
		"client");
	CU_ASSERT_STRING_EQUAL(
		of("Access_Type = RO; CLIENT { Access_Type = RW; }"),
		"all client");
	/* A release that knows none there. */
	params = in_client;
	CU_ASSERT_STRING_EQUAL(
		of("Access_Type = RO; CLIENT { Access_Type = RW; }"), "all");
	params = nothing;
	CU_ASSERT_STRING_EQUAL(of("Access_Type = RW;"), "");
}

static void no_memory(void)
{
	params = with_client;
	parsed_memory = 0;
	CU_ASSERT_STRING_EQUAL(of("Access_Type = RW;"), "");
	parsed_memory = -1;
}

/* In a structure of Ganesha's, which has other options beside. */
static void own(void)
{
	struct perms p = { .options = READ };
	const struct gsh_config_item *i = &in_client[0];

	CU_ASSERT_FALSE(gr_admits_is_set(&p, i));
	CU_ASSERT_FALSE(gr_admits_any(&p, i));
	p.set = OTHER;
	CU_ASSERT_FALSE(gr_admits_is_set(&p, i));
	CU_ASSERT_FALSE(gr_admits_any(&p, i));
	p.set = OTHER | READ | WRITE;
	CU_ASSERT_TRUE(gr_admits_is_set(&p, i));
	CU_ASSERT_TRUE(gr_admits_any(&p, i));
	p.options = OTHER;
	CU_ASSERT_TRUE(gr_admits_is_set(&p, i));
	CU_ASSERT_FALSE(gr_admits_any(&p, i));
}

static const struct unit_test tests[] = {
	{ "defaults", defaults },
	{ "clients", clients },
	{ "no memory", no_memory },
	{ "own", own },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return unit_run("ganesha-admits", tests, argc, argv);
}
