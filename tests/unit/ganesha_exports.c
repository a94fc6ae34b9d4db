/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of EXPORT blocks can crash Ganesha, when it reads them or reads them again, as
 * the parser of the installed Ganesha gives them. integration/ganesha.test reloads the
 * server.
 */
#include "ganesha/exports.h"
#include "ganesha/config/config.h"
#include "parsed.h"

static struct gr_exports was, now, *reads;

static bool read_them(struct gsh_config *tree)
{
	gr_exports_read(&gsh, tree, reads);
	return true;
}

static void take(struct gr_exports *to, const char *text)
{
	reads = to;
	CU_ASSERT_TRUE(parsed(text, read_them));
}

#define EXPORT(id, more) \
	"EXPORT { Export_Id = " #id "; Path = /srv; " more " }\n"
/* Of a file without any block Ganesha would write to its log. */
#define NONE "EXPORT_DEFAULTS { }\n"
#define AT(id, pseudo) EXPORT(id, "Pseudo = " pseudo ";")

static int moved(const char *from, const char *to, bool nested)
{
	take(&was, from);
	take(&now, to);
	return gr_exports_moved(&was, &now, nested);
}

static int lost(const char *from, const char *to)
{
	take(&was, from);
	take(&now, to);
	return gr_exports_lost(&was, &now);
}

static void test_moved(void)
{
	CU_ASSERT_EQUAL(moved(NONE, NONE, false), -1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a"), AT(1, "/a"), false), -1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a"), AT(1, "/b"), false), 1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a"), AT(1, "/ab"), false), 1);
	CU_ASSERT_EQUAL(moved(AT(1, "/ab"), AT(1, "/a"), false), 1);
	/* Not what comes, goes, or has no place at all. */
	CU_ASSERT_EQUAL(moved(NONE, AT(1, "/b"), false), -1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a"), NONE, false), -1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a"), AT(2, "/b"), false), -1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a"), EXPORT(1, ""), false), -1);
	CU_ASSERT_EQUAL(moved(EXPORT(1, ""), AT(1, "/a"), false), -1);
	/* The "/" at the end, and the order of the blocks, make no difference. */
	CU_ASSERT_EQUAL(moved(AT(1, "/a"), AT(1, "/a/"), false), -1);
	CU_ASSERT_EQUAL(moved(AT(1, "\"/a//\""), AT(1, "/a"), false), -1);
	CU_ASSERT_EQUAL(moved(AT(1, "\"/a\""), AT(1, "/a"), false), -1);
	CU_ASSERT_EQUAL(moved(AT(2, "/b") AT(1, "/a") AT(3, "/c"),
			      AT(3, "/c") AT(2, "/b") AT(1, "/a"), false),
			-1);
	CU_ASSERT_EQUAL(moved(AT(2, "/b") AT(300, "/a") AT(3, "/c"),
			      AT(3, "/d") AT(300, "/b") AT(2, "/b"), false),
			3);
	CU_ASSERT_EQUAL(moved(AT(0, "/a") AT(65535, "/z"),
			      AT(0, "/a") AT(65535, "/y"), false),
			65535);
}

/* To a place within another export. */
static void test_nested(void)
{
	CU_ASSERT_EQUAL(moved(AT(1, "/a") AT(2, "/b"), AT(1, "/a") AT(2, "/c"),
			      true),
			-1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a") AT(2, "/b"),
			      AT(1, "/a") AT(2, "/a/c"), true),
			2);
	CU_ASSERT_EQUAL(moved(AT(1, "/a/") AT(2, "/b"),
			      AT(1, "/a/") AT(2, "/a/b/c"), true),
			2);
	CU_ASSERT_EQUAL(moved(AT(1, "/a") AT(2, "/b"), AT(1, "/a") AT(2, "/ab"),
			      true),
			-1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a") AT(2, "/b"), AT(1, "/a") AT(2, "/a/"),
			      true),
			-1);
	CU_ASSERT_EQUAL(
		moved(AT(1, "/") AT(2, "/b"), AT(1, "/") AT(2, "/c"), true), 2);
	CU_ASSERT_EQUAL(moved(AT(1, "/a/b"), AT(1, "/a/c"), true), -1);
}

static void test_lost(void)
{
	CU_ASSERT_EQUAL(lost(AT(1, "/a"), AT(1, "/a")), -1);
	CU_ASSERT_EQUAL(lost(AT(1, "/a"), AT(1, "/b")), -1);
	CU_ASSERT_EQUAL(lost(AT(1, "/a"), NONE), -1);
	CU_ASSERT_EQUAL(lost(EXPORT(1, ""), EXPORT(1, "")), -1);
	CU_ASSERT_EQUAL(
		lost(AT(9, "/b") AT(7, "/a"), EXPORT(9, "") EXPORT(7, "")), 7);
	CU_ASSERT_EQUAL(lost(AT(1000, "/b"), EXPORT(1000, "")), 1000);
	CU_ASSERT_EQUAL(lost(AT(65535, "/b"), EXPORT(65535, "")), 65535);
}

/* Ganesha, which serves some exports. */
static uint32_t serves[4];
static unsigned int got, gave;

static void *get(uint16_t id)
{
	for (size_t i = 0; i < sizeof(serves) / sizeof(serves[0]); i++)
		if (serves[i] == id) {
			got++;
			return &serves[i];
		}
	return NULL;
}

static void put(void *x, bool config, const char *file, int line,
		const char *function)
{
	CU_ASSERT_FALSE(config);
	CU_ASSERT_TRUE(x >= (void *)serves && x < (void *)(serves + 4));
	gave++;
}

/* What it does not serve is new, and has no place that it could leave; and of two with
 * one Export_Id it serves the first. */
static void test_served(void)
{
	struct gsh g = { .get_gsh_export = get, .put_gsh_export = put };

	memset(serves, 0xff, sizeof(serves));
	got = gave = 0;
	take(&was, AT(1, "/a") AT(2, "/b") AT(65535, "/c") AT(4, "/d"));
	take(&now, AT(1, "/a") AT(2, "/e") AT(65535, "/f") AT(4, "/g"));
	serves[0] = 1;
	serves[1] = 65535;
	gr_exports_served(&was, &g);
	CU_ASSERT_EQUAL(got, 2);
	CU_ASSERT_EQUAL(gave, 2);
	CU_ASSERT_EQUAL(was.npseudo, 2);
	CU_ASSERT_EQUAL(gr_exports_moved(&was, &now, false), 65535);
	take(&now, EXPORT(2, "") AT(4, "/d"));
	CU_ASSERT_EQUAL(gr_exports_lost(&was, &now), -1);
	/* Nor is it one that Ganesha has without a place. */
	take(&was, EXPORT(3, "Protocols = 3;") EXPORT(1, "Protocols = 3;"));
	gr_exports_served(&was, &g);
	take(&now, EXPORT(3, "Protocols = 4;"));
	CU_ASSERT_EQUAL(gr_exports_hidden(&was, &now, false), -1);
	take(&now, EXPORT(1, "Protocols = 4;"));
	CU_ASSERT_EQUAL(gr_exports_hidden(&was, &now, false), 1);
	serves[0] = UINT32_MAX;
	gr_exports_served(&was, &g);
	CU_ASSERT_EQUAL(was.npseudo, 0);
	/* Of two. */
	CU_ASSERT_EQUAL(moved(AT(1, "/a") AT(1, "/b"), AT(1, "/a") AT(2, "/b"),
			      false),
			-1);
	CU_ASSERT_EQUAL(was.twice, 1);
	CU_ASSERT_EQUAL(moved(AT(1, "/a") AT(1, "/b"), AT(2, "/a") AT(1, "/b"),
			      false),
			1);
	/* A release without these functions. */
	g.put_gsh_export = NULL;
	gr_exports_served(&was, &g);
	CU_ASSERT_EQUAL(was.npseudo, 1);
}

/* Of exports without a Path the first is named; but for one that Ganesha dies of, which
 * has an FSAL that it can load. */
static void test_pathless(void)
{
	take(&now,
	     AT(1, "/a") "EXPORT { Export_Id = 2; FSAL { Name = NONE; } }\n"
			 "EXPORT { Export_Id = 3; FSAL { Name = NONE; } }\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(now.pathless, ":2"));
	CU_ASSERT_FALSE(now.deadly);
	take(&now, "EXPORT { Export_Id = 2; FSAL { Name = NONE; } }\n"
		   "EXPORT { Export_Id = 3; FSAL { Name = VFS; } }\n"
		   "EXPORT { Export_Id = 4; FSAL { Name = VFS; } }\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(now.pathless, ":2"));
	CU_ASSERT_TRUE(now.deadly);
	/* This one not after another fault, unless it was loaded before. */
	take(&now, "EXPORT { Export_Id = 2; FSAL { Name = MEM; } }\n");
	CU_ASSERT_FALSE(now.deadly);
	/* Where they are the file may say. */
	take(&now, "NFS_Core_Param { Plugins_Dir = /nowhere; }\n"
		   "EXPORT { Export_Id = 3; FSAL { Name = VFS; } }\n");
	CU_ASSERT_FALSE(now.deadly);
}

/* Of those with RDMA among their Transports the first is named. */
static void test_by_rdma(void)
{
	take(&now, EXPORT(1, "Transports = UDP, TCP;") EXPORT(2, ""));
	CU_ASSERT_STRING_EQUAL(now.by_rdma, "");
	take(&now, EXPORT(1, "Transports = TCP;")
			   EXPORT(2, "Transports = TCP, rdma, UDP;")
				   EXPORT(3, "Transports = RDMA;"));
	CU_ASSERT_PTR_NOT_NULL(strstr(now.by_rdma, ":2"));
	take(&now, EXPORT(1, "Transports = RDMA;") EXPORT(2, ""));
	CU_ASSERT_PTR_NOT_NULL(strstr(now.by_rdma, ":1"));
	take(&now, EXPORT(1, "FSAL { Transports = RDMA; }"));
	CU_ASSERT_STRING_EQUAL(now.by_rdma, "");
}

#define BY(id, protocols) EXPORT(id, "Protocols = " protocols ";")

static int hidden(const char *to, bool leaves)
{
	int id;

	take(&now, to);
	id = gr_exports_hidden(&was, &now, leaves);
	gr_exports_move(&was, &now);
	return id;
}

/* NFSv4 does not find what was there before it had that among its Protocols. */
static void test_hidden(void)
{
	take(&was, BY(1, "3") BY(2, "3, 4") EXPORT(3, "") BY(65535, "3"));
	CU_ASSERT_EQUAL(hidden(BY(1, "3") BY(2, "NFSv4"), false), -1);
	CU_ASSERT_EQUAL(hidden(BY(1, "3, 4") BY(2, "4"), false), 1);
	/* Nor later, but once it has been removed. */
	CU_ASSERT_EQUAL(hidden(BY(1, "4, 3"), false), 1);
	CU_ASSERT_EQUAL(hidden(EXPORT(1, ""), false), -1);
	CU_ASSERT_EQUAL(hidden(BY(1, "4"), false), 1);
	CU_ASSERT_EQUAL(hidden(NONE, false), -1);
	CU_ASSERT_EQUAL(hidden(BY(1, "4"), false), -1);
	/* What has been there stays, or goes when it has no 4 any more. */
	CU_ASSERT_EQUAL(hidden(BY(1, "3"), false), -1);
	CU_ASSERT_EQUAL(hidden(BY(1, "4"), false), -1);
	CU_ASSERT_EQUAL(hidden(BY(1, "3"), true), -1);
	CU_ASSERT_EQUAL(hidden(BY(1, "4"), true), 1);
	/* The least is told, of those that are new none. */
	take(&was, BY(65535, "3") BY(15, "3") BY(14, "3"));
	CU_ASSERT_EQUAL(hidden(BY(13, "4") BY(65535, "4") BY(15, "4")
				       BY(14, "3"),
			       false),
			15);
	CU_ASSERT_EQUAL(hidden(BY(13, "4") BY(65535, "4"), false), 65535);
}

/* It comes out of one, and into another; what that had goes. */
static void test_taken(void)
{
	take(&was, AT(1, "/a") AT(2, "/b"));
	take(&now, AT(1, "/c"));
	gr_exports_move(&was, &now);
	CU_ASSERT_EQUAL(now.npseudo, 0);
	CU_ASSERT_EQUAL_FATAL(was.npseudo, 1);
	CU_ASSERT_STRING_EQUAL(was.pseudo[0].path, "/c");
	take(&now, AT(1, "/d"));
	CU_ASSERT_EQUAL(gr_exports_moved(&was, &now, false), 1);
}

static void test_faults(void)
{
	take(&now, AT(1, "/a") AT(2, "/b"));
	CU_ASSERT_EQUAL(now.twice, -1);
	CU_ASSERT_STRING_EQUAL(now.pathless, "");
	CU_ASSERT_FALSE(now.deadly);
	take(&now, AT(1, "/a") AT(2, "/b") AT(1, "/c"));
	CU_ASSERT_EQUAL(now.twice, 1);
	take(&now, AT(1000, "/a") AT(1000, "/b"));
	CU_ASSERT_EQUAL(now.twice, 1000);
	take(&now, AT(1008, "/a") AT(1000, "/b") AT(889, "/c"));
	CU_ASSERT_EQUAL(now.twice, -1);
	take(&now, "\nEXPORT { Export_Id = 3; Pseudo = /x; }\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(now.pathless, ":2"));
	CU_ASSERT_FALSE(now.deadly);
	/* What is no number of an export is Ganesha's to tell. */
	take(&now, AT(65536, "/a") AT(65536, "/b"));
	CU_ASSERT_EQUAL(now.twice, -1);
	/* A file that could not be read, or no memory for messages. */
	gr_exports_read(&gsh, NULL, &now);
	CU_ASSERT_EQUAL(now.npseudo, 0);
	parsed_memory = 0;
	take(&now, AT(1, "/a"));
	parsed_memory = -1;
	CU_ASSERT_EQUAL(now.npseudo, 0);
	gr_exports_free(&was);
	gr_exports_free(&now);
}

static const struct unit_test tests[] = {
	{ "moved", test_moved },       { "nested", test_nested },
	{ "lost", test_lost },	       { "served", test_served },
	{ "pathless", test_pathless }, { "taken", test_taken },
	{ "faults", test_faults },     { "by_rdma", test_by_rdma },
	{ "hidden", test_hidden },     { NULL, NULL },
};

UNIT_MAIN("ganesha-exports", tests)
