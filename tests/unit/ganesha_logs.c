/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which LOG blocks keep Ganesha from starting, read by the parser of the installed
 * Ganesha with its own description of the block. integration/ganesha.test compares
 * with the server.
 */
#include <errno.h>
#include <limits.h>

#include "ganesha/logs.h"
#include "parsed.h"

#define DOWN "/nonexistent/x.log"

static struct gr_logs logs;
/* What is done to Ganesha's description. */
static void (*change)(struct gsh_config_block *block,
		      struct gsh_config_item items[64]);
static unsigned int taken; /* so often it was handed over */

/* As hooks.c: in the place of Ganesha's, also for its library. */
__attribute__((visibility("default"))) int
load_config_from_parse(struct gsh_config *tree,
		       const struct gsh_config_block *block, void *param,
		       bool unique, struct gsh_config_errors *e);
int load_config_from_parse(struct gsh_config *tree,
			   const struct gsh_config_block *block, void *param,
			   bool unique, struct gsh_config_errors *e)
{
	static struct gsh_config_block changed;
	static struct gsh_config_item items[64];
	size_t n = 0;

	if (change && !strcmp(block->desc.name, "LOG")) {
		memset(items, 0, sizeof(items));
		changed = *block;
		for (const struct gsh_config_item *i = block->desc.u.blk.params;
		     i->name; i++)
			items[n++] = *i;
		changed.desc.u.blk.params = items;
		change(&changed, items);
		block = &changed;
	}
	if (gr_logs_take(&logs, block)) {
		taken++;
		return 0;
	}
	return gsh.load_config_from_parse(tree, block, param, unique, e);
}

/* Of what is linked with this, and nothing of Ganesha's. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void __real_free(void *p);
void __wrap_free(void *p);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
static bool no_memory;
static int held; /* so many pieces of it */
static bool here_readonly; /* the working directory */

void *__wrap_malloc(size_t size)
{
	if (no_memory)
		return NULL;
	held++;
	return __real_malloc(size);
}

void __wrap_free(void *p)
{
	held -= !!p;
	__real_free(p);
}

int __wrap_access(const char *path, int mode)
{
	if (!here_readonly || strcmp(path, ".") || mode != W_OK)
		return __real_access(path, mode);
	errno = EROFS;
	return -1;
}

static bool look(struct gsh_config *tree)
{
	return gr_logs_check(&logs, &gsh, tree);
}

/* Of what is its own Ganesha writes to its log, which has to be there. */
static bool check(const char *text)
{
	static bool begun;
	bool good;
	/* The last is of release 6.5 alone. */
	void (*start)(const char *program, const char *host, int level,
		      const char *log, bool dump, unsigned long stack);

	parsed_bind();
	if (!begun) {
		*(void **)&start = dlsym(parsed_lib, "nfs_prereq_init");
		CU_ASSERT_PTR_NOT_NULL_FATAL(start);
		start("unit", "localhost", -1, "STDERR", false, 8192 * 1024);
		begun = true;
	}
	good = parsed(text, look);
	CU_ASSERT_EQUAL(held, 0);
	return good;
}

/* These facilities from line 2 on, a line each. */
static bool facilities(const char *text)
{
	char conf[2 * PATH_MAX];

	snprintf(conf, sizeof(conf), "LOG {\n%s}\n", text);
	return check(conf);
}

#define F(name, to) "Facility { name = " name "; destination = " to "; }\n"

static void good(void)
{
	static const char *const texts[] = {
		"RDMA { }\n",
		"LOG { }\n",
		"LOG { Default_Log_Level = DEBUG; Components { ALL = EVENT; } }\n",
		"LOG { Format { date_format = ISO-8601; PID = false; } }\n",
		"LOG {\n" F("x", "STDERR") F("y", "stdout") F("z", "Syslog")
			F("a", "/tmp/none.log") F("b", "none.log") "}\n",
		"log { facility { NAME = x; DESTINATION = /tmp/none.log;\n"
		"enable = default; headers = all; max_level = FULL_DEBUG; } }\n",
		"LOG {\n" F("x", "\"/tmp/none.log\"")
			F("x", "/tmp/none.log") "}\n",
		NULL,
	};

	for (size_t i = 0; texts[i]; i++) {
		CU_ASSERT_TRUE(check(texts[i]));
		if (said_n)
			printf("\n%s", said);
		CU_ASSERT_EQUAL(said_n, 0);
	}
	/* Nothing was made. */
	CU_ASSERT_NOT_EQUAL(access("/tmp/none.log", F_OK), 0);
	CU_ASSERT_NOT_EQUAL(access("none.log", F_OK), 0);
	/* Only the first block counts. */
	CU_ASSERT_TRUE(check("LOG { }\nLOG { " F("x", DOWN) "}\n"));
	CU_ASSERT_EQUAL(said_n, 1);
	CU_ASSERT_TRUE(said_at(2, "Only one LOG block allowed"));
}

/* What Ganesha bears it bears here, and is told of. */
static void words(void)
{
	CU_ASSERT_TRUE(check("LOG {\nDefault_Log_Level = LOUD;\n"
			     "Components {\nNONESUCH = EVENT;\n}\n"
			     "Facility { name = x; destination = STDERR;\n"
			     "enable = perhaps; } }\n"));
	CU_ASSERT_TRUE(said_at(2, "Unknown token (LOUD)") &&
		       said_at(4, "Unknown parameter (NONESUCH)") &&
		       said_at(7, "Unknown token (perhaps)"));
	CU_ASSERT_TRUE(
		check("LOG { Format { date_format = user_defined; } }\n"));
	CU_ASSERT_TRUE(check("LOG { Components { NFS4 = LOUD; } }\n"));
}

static void faults(void)
{
	CU_ASSERT_FALSE(check("LOG {\nRPC_Debug_Flags = banana;\n}\n"));
	CU_ASSERT_TRUE(said_at(2, "Expected a number"));
	CU_ASSERT_FALSE(check("LOG {\n\nComponents = DEBUG;\n}\n"));
	CU_ASSERT_TRUE(said_at(3, "Components is not a block"));
	CU_ASSERT_FALSE(facilities("\nFacility { name = x; }\n"));
	CU_ASSERT_TRUE(said_at(3, "Mandatory field, destination is missing"));
	CU_ASSERT_FALSE(facilities("Facility { destination = STDERR; }\n"));
	CU_ASSERT_TRUE(said_at(2, "1 validation errors in block Facility"));
	CU_ASSERT_FALSE(facilities(
		"Facility { name = x;\ndestination = STDERR;\ndestination = STDERR; }\n"));
	CU_ASSERT_TRUE(said_at(4, "Parameter destination set more than once"));
}

static void files(void)
{
	char text[PATH_MAX + 128], path[PATH_MAX + 1] = "/tmp";

	CU_ASSERT_FALSE(facilities(F("x", "STDERR") F("y", DOWN)));
	CU_ASSERT_TRUE(said_at(3, "log facility y: destination " DOWN
				  ": No such file or directory: correct it\n"));
	CU_ASSERT_TRUE(said_at(3, "1 validation errors in block Facility\n"));
	CU_ASSERT_FALSE(facilities(F("y", "/dev/null/y/x.log")));
	CU_ASSERT_TRUE(said_at(2,
			       "log facility y: destination /dev/null/y/x.log"
			       ": Not a directory: correct it\n"));
	CU_ASSERT_FALSE(facilities(F("y", "\"\"")));
	CU_ASSERT_TRUE(said_at(
		2, "log facility y: destination : it is empty: correct it\n"));
	CU_ASSERT_FALSE(facilities(F("\"\"", "STDERR")));
	CU_ASSERT_TRUE(said_at(2, "log facility : destination STDERR: the name "
				  "is empty: correct it\n"));
	CU_ASSERT_FALSE(facilities(F("\"\"", "/tmp/none.log")));
	/* What has no folder is of the working directory, whatever it is called where
	 * the facility has a file. */
	here_readonly = true;
	CU_ASSERT_FALSE(facilities(F("x", "none.log")));
	CU_ASSERT_TRUE(said_at(2, "log facility x: destination none.log: "
				  "Read-only file system: correct it\n"));
	CU_ASSERT_TRUE(facilities(F("x", "STDERR") F("y", "SYSLOG")));
	CU_ASSERT_TRUE(facilities(F("x", "STDERR") F("x", "STDOUT")));
	CU_ASSERT_FALSE(facilities(F("x", "/tmp/none.log") F("x", "STDERR")));
	CU_ASSERT_TRUE(said_at(3, "log facility x: destination STDERR: "
				  "Read-only file system: correct it\n"));
	CU_ASSERT_PTR_NULL(strstr(said, "another name"));
	CU_ASSERT_FALSE(facilities(F("FILE", "SYSLOG")));
	here_readonly = false;
	/* All of them. */
	CU_ASSERT_FALSE(facilities(F("x", DOWN) F("y", "STDERR") F("z", DOWN)));
	CU_ASSERT_TRUE(said_at(2, "log facility x: ") &&
		       said_at(4, "log facility z: "));
	CU_ASSERT_PTR_NULL(strstr(said, "facility y"));
	/* The longest. */
	memset(path + 4, '/', sizeof(path) - 5);
	path[PATH_MAX - 2] = 'x';
	path[PATH_MAX - 1] = '\0';
	snprintf(text, sizeof(text), F("x", "\"%s\""), path);
	CU_ASSERT_TRUE(facilities(text) && !said_n);
	path[PATH_MAX - 1] = 'x';
	snprintf(text, sizeof(text), F("x", "\"%s\""), path);
	CU_ASSERT_FALSE(facilities(text));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(said, ": File name too long: correct it"));
}

/* ---- Facilities of one name ------------------------------------------------ */

#define FIXED(kind) "has this name: it logs to " kind
#define STREAMS "STDERR or STDOUT, and cannot be changed to this: "
#define SYSLOGS "syslog, and cannot be set again: "
#define A_FILE "a file, so that this is the name of a file too: "
#define RENAME "give this one another name\n"

static void one_name(void)
{
	static const struct {
		const char *first, *second;
		bool good;
		const char *says; /* of the second */
	} rows[] = {
		{ "STDERR", "STDERR", true, NULL },
		{ "STDERR", "stdout", true, NULL },
		{ "STDOUT", "Stderr", true, NULL },
		{ "STDERR", "SYSLOG", false, FIXED(STREAMS) RENAME },
		{ "stdout", "/tmp/x.log", false, FIXED(STREAMS) RENAME },
		{ "STDERR", DOWN, false, "No such file or directory" },
		{ "SYSLOG", "SYSLOG", false, FIXED(SYSLOGS) RENAME },
		{ "syslog", "STDERR", false, FIXED(SYSLOGS) RENAME },
		{ "SYSLOG", "/tmp/x.log", false, FIXED(SYSLOGS) RENAME },
		{ "/tmp/x.log", "/tmp/y.log", true, NULL },
		{ "/tmp/x.log", DOWN, false, "No such file or directory" },
		{ "/tmp/x.log", "SYSLOG", true, FIXED(A_FILE) RENAME },
		{ "/tmp/x.log", "STDOUT", true, FIXED(A_FILE) RENAME },
	};
	char text[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text),
			 F("x", "%s") F("y", "SYSLOG") F("X", "%s"),
			 rows[i].first, rows[i].second);
		CU_ASSERT_EQUAL(facilities(text), rows[i].good);
		if (rows[i].good)
			CU_ASSERT_EQUAL(said_n, rows[i].says ? 1 : 0);
		if (!rows[i].says)
			continue;
		snprintf(text, sizeof(text),
			 "log facility X: destination %s: ", rows[i].second);
		CU_ASSERT_TRUE(said_at(4, text));
		CU_ASSERT_PTR_NOT_NULL(strstr(said, rows[i].says));
		snprintf(text, sizeof(text), "the one at %s:2 has this name",
			 parsed_path);
		CU_ASSERT_EQUAL(!strstr(said, text),
				!strstr(rows[i].says, "has this name"));
	}
}

/* Each of several, by the first of its name that is good. */
static void several(void)
{
	CU_ASSERT_FALSE(facilities(F("x", DOWN) F("x", "STDERR") F(
		"y", "SYSLOG") F("x", "/tmp/x.log") F("x", "STDOUT")));
	CU_ASSERT_TRUE(said_at(2, "log facility x: destination " DOWN));
	CU_ASSERT_TRUE(said_at(5, "log facility x: destination /tmp/x.log: the "
				  "one at "));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ":3 has this name"));
	CU_ASSERT_PTR_NULL(strstr(said, "STDOUT: "));
	/* Of the next file nothing is known. */
	CU_ASSERT_TRUE(facilities(F("y", "STDERR") F("x", "SYSLOG")));
}

/* Those that it has by itself. */
static void own(void)
{
	static const char *const bad[] = {
		F("STDERR", "SYSLOG"),	   F("stdout", "/tmp/x.log"),
		F("SYSLOG", "SYSLOG"),	   F("syslog", "STDERR"),
		F("SYSLOG", "/tmp/x.log"), NULL,
	};

	CU_ASSERT_TRUE(facilities(F("STDERR", "STDOUT") F("stdout", "STDERR")
					  F("File", "/tmp/x.log")));
	CU_ASSERT_EQUAL(said_n, 0);
	for (size_t i = 0; bad[i]; i++) {
		CU_ASSERT_FALSE(facilities(bad[i]));
		CU_ASSERT_PTR_NOT_NULL(
			strstr(said, ": one of Ganesha's own has this name"));
	}
	/* That of -L. */
	CU_ASSERT_TRUE(facilities(F("FILE", "STDERR") F("FILE", "/tmp/x.log")));
	CU_ASSERT_EQUAL(said_n, 1);
	CU_ASSERT_TRUE(said_at(
		2,
		"log facility FILE: destination STDERR: one "
		"of Ganesha's own has this name: it logs to " A_FILE RENAME));
	CU_ASSERT_FALSE(facilities(F("FILE", DOWN)));
}

/* ---- Ganesha's description --------------------------------------------------- */

static void take(void)
{
	struct gsh_config_block log = { .desc.name = "LOG" };
	struct gsh_config_block other = { .desc.name = "LOGS" };
	struct gr_logs l = { 0 };

	CU_ASSERT_FALSE(gr_logs_take(&l, &log));
	CU_ASSERT_PTR_NULL(l.theirs);
	l.asking = true;
	CU_ASSERT_FALSE(gr_logs_take(&l, &other));
	CU_ASSERT_PTR_NULL(l.theirs);
	CU_ASSERT_TRUE(gr_logs_take(&l, &log));
	CU_ASSERT_PTR_EQUAL(l.theirs, &log);
	/* It is asked for once, and not when it is read. */
	taken = 0;
	CU_ASSERT_TRUE(check("LOG { }\n"));
	CU_ASSERT_EQUAL(taken, 1);
	CU_ASSERT_FALSE(logs.asking);
}

static struct gsh_config_item *facility_of(struct gsh_config_item *items)
{
	while (strcmp(items->name, "Facility"))
		items++;
	return items;
}

static void no_facility(struct gsh_config_block *block,
			struct gsh_config_item *items)
{
	facility_of(items)->name = "Place";
}

static void no_block(struct gsh_config_block *block,
		     struct gsh_config_item *items)
{
	facility_of(items)->type = GSH_CONFIG_STRING;
}

static size_t count; /* of items */

static void more(struct gsh_config_block *block, struct gsh_config_item *items)
{
	size_t n = 0;

	while (items[n].name)
		n++;
	for (; n < count; n++)
		items[n].name = "Nothing"; /* of type 0 */
}

static void no_log(struct gsh_config_block *block,
		   struct gsh_config_item *items)
{
	block->desc.name = "LOGS";
}

/* With one that is not as it was there is no verdict. */
static void unknown(void)
{
	change = no_facility;
	CU_ASSERT_TRUE(facilities(F("x", DOWN)) && !said_n);
	change = no_block;
	CU_ASSERT_TRUE(facilities(F("x", DOWN)) && !said_n);
	change = more;
	count = 32;
	CU_ASSERT_TRUE(facilities(F("x", DOWN)) && !said_n);
	count = 31;
	CU_ASSERT_FALSE(facilities(F("x", DOWN)));
	change = no_log;
	CU_ASSERT_TRUE(facilities(F("x", DOWN)) && !said_n);
	change = NULL;
}

static void memory(void)
{
	CU_ASSERT_FALSE(facilities(F("x", DOWN)));
	/* To ask. */
	parsed_memory = 0;
	CU_ASSERT_TRUE(facilities(F("x", DOWN)));
	/* To say it. */
	parsed_memory = 1;
	CU_ASSERT_FALSE(facilities(F("x", "STDERR")));
	CU_ASSERT_EQUAL(said_n, 0);
	parsed_memory = -1;
	/* To remember: it is as with the first. */
	no_memory = true;
	CU_ASSERT_TRUE(facilities(F("x", "STDERR") F("x", "SYSLOG")));
	no_memory = false;
}

static const struct unit_test tests[] = {
	{ "good", good },     { "words", words },	{ "faults", faults },
	{ "files", files },   { "one-name", one_name }, { "several", several },
	{ "own", own },	      { "take", take },		{ "unknown", unknown },
	{ "memory", memory }, { NULL, NULL },
};

UNIT_MAIN("ganesha-logs", tests)
