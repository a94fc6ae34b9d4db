/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which FSALs Ganesha can load, and which DS blocks keep it from starting, read by
 * the parser of the installed Ganesha. integration/ganesha.test compares with the
 * server.
 */
#include <fcntl.h>

#include "ganesha/config/config.h"
#include "ganesha/ds.h"
#include "ganesha/fsal.h"
#include "parsed.h"

static char dir[] = "/tmp/rpcrdma-FSAL-XXXXXX";

static void remove_dir(void)
{
	char path[sizeof(dir) + 16];

	snprintf(path, sizeof(path), "%s/libfsalvfs.so", dir);
	unlink(path);
	rmdir(dir);
}

/* A folder of FSALs, with one in it. Only the name of the file is in small letters. */
static const char *folder(void)
{
	static bool made;
	char path[sizeof(dir) + 16];
	int fd;

	if (made)
		return dir;
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	made = true;
	snprintf(path, sizeof(path), "%s/libfsalvfs.so", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	CU_ASSERT_EQUAL(atexit(remove_dir), 0);
	return dir;
}

/* ---- A block with an FSAL ------------------------------------------------ */

/* Something before it: it is not where the block is. */
struct host {
	char before[40];
	struct gr_fsal fsal;
};

static const char *look_in; /* the folder */
static struct gr_fsal found[4];
static unsigned int nfound;

static int host_read(void *node, void *link_mem, void *self,
		     struct gsh_config_errors *e)
{
	CU_ASSERT_FATAL(nfound < 4);
	found[nfound++] = ((struct host *)self)->fsal;
	return 0;
}

static bool look_hosts(struct gsh_config *tree)
{
	const struct gsh_config_item items[] = {
		gr_fsal_item(offsetof(struct host, fsal)),
		{ .name = NULL },
	};
	struct gsh_config_block block =
		gr_config_block("org.example.host", "HOST", items, host_read);
	struct host h = { .before = "before" };
	struct gsh_config_errors e;
	bool good;

	/* What was there before counts for nothing. */
	strcpy(h.fsal.name, "VFS");
	h.fsal.nameless = h.fsal.found = true;
	strcpy(h.fsal.missing, "NONE");
	h.fsal.dir = look_in;
	nfound = 0;
	block.desc.flags = 0;
	CU_ASSERT_TRUE_FATAL(gsh.init_error_type(&e));
	gsh.load_config_from_parse(tree, &block, &h, false, &e);
	good = !e.errors && !e.bogus;
	gsh.report_config_errors(&e, NULL, parsed_say);
	CU_ASSERT_STRING_EQUAL(h.before, "before");
	return good && !*said;
}

/* One HOST block with that. */
static struct gr_fsal host(const char *in, const char *text)
{
	char conf[512];

	look_in = in;
	snprintf(conf, sizeof(conf), "HOST {\n%s\n}\n", text);
	CU_ASSERT_TRUE(parsed(conf, look_hosts));
	CU_ASSERT_EQUAL_FATAL(nfound, 1);
	CU_ASSERT_PTR_EQUAL(found[0].dir, in);
	return found[0];
}

/* Of one FSAL: it is there. */
static bool is_there(const char *in, const char *text)
{
	struct gr_fsal f = host(in, text);

	CU_ASSERT_FALSE(f.nameless);
	CU_ASSERT_EQUAL(f.found, !*f.missing);
	return f.found;
}

static void names(void)
{
	static const char *const there[] = { "VFS",	"vfs",	   "vFs",
					     "PSEUDO",	"pseudo",  "MDCACHE",
					     "MdCache", "\"VFS\"", NULL };
	static const char *const not_there[] = {
		"NONE", "VF", "VFSS", "libfsalvfs.so", "PSEUDO2", "MDCACH", NULL
	};
	char text[128];

	for (size_t i = 0; there[i]; i++) {
		snprintf(text, sizeof(text), "FSAL { Name = %s; }", there[i]);
		CU_ASSERT_TRUE(is_there(folder(), text));
	}
	for (size_t i = 0; not_there[i]; i++) {
		snprintf(text, sizeof(text), "FSAL { Name = %s; }",
			 not_there[i]);
		CU_ASSERT_FALSE(is_there(folder(), text));
		CU_ASSERT_STRING_EQUAL(found[0].missing, not_there[i]);
	}
	/* As it was written, for the message. */
	CU_ASSERT_FALSE(is_there(folder(), "FSAL { name = NoNe; }"));
	CU_ASSERT_STRING_EQUAL(found[0].missing, "NoNe");
	/* Of a long one the beginning. */
	snprintf(text, sizeof(text), "FSAL { Name = x%0100d; }", 7);
	CU_ASSERT_FALSE(is_there(folder(), text));
	CU_ASSERT_EQUAL(strlen(found[0].missing), sizeof(found[0].missing) - 1);
	/* What it does not know is the FSAL's. */
	CU_ASSERT_TRUE(is_there(folder(),
				"FSAL { Name = VFS; Color = red; Shape { } }"));
	/* The last of two is its name. */
	if (!GSH_CONFIG_ONCE)
		CU_ASSERT_TRUE(is_there(folder(),
					"FSAL { Name = NONE; Name = VFS; }"));
}

/* One that was named, and is not there, has none. */
static void no_folder(void)
{
	char none[sizeof(dir) + 8];

	snprintf(none, sizeof(none), "%s/none", folder());
	CU_ASSERT_FALSE(is_there(none, "FSAL { Name = NONE; }"));
	CU_ASSERT_TRUE(is_there(none, "FSAL { Name = PSEUDO; }"));
	/* But there must be a name. */
	CU_ASSERT_TRUE(host(none, "FSAL { Color = red; }").nameless);
	CU_ASSERT_FALSE(found[0].found);
}

/* A folder of the longest name has nothing in it that could be opened. */
static void long_folder(void)
{
	char path[PATH_MAX];
	size_t pad = sizeof(path) - sizeof(dir);

	memset(path, '/', pad);
	memcpy(path + pad, folder(), sizeof(dir));
	CU_ASSERT_EQUAL(access(path, X_OK), 0);
	CU_ASSERT_FALSE(is_there(path, "FSAL { Name = VFS; }"));
	CU_ASSERT_TRUE(is_there(path + sizeof("/libfsalvfs.so"),
				"FSAL { Name = VFS; }"));
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
/* While it is not 0: that of Ganesha's own folder, and of the one around it. */
static int own_error, around_error;
int __wrap_access(const char *path, int mode)
{
	size_t n = strlen(GSH_FSALS);

	if (!strncmp(path, GSH_FSALS, n) && own_error) {
		errno = own_error;
		return -1;
	}
	if (!strncmp(path, GSH_FSALS, strlen(path)) && around_error) {
		errno = around_error;
		return -1;
	}
	return __real_access(path, mode);
}

/* Where nothing is installed, nothing is there; what cannot be seen may be. */
static void own_folder(void)
{
	own_error = ENOENT;
	CU_ASSERT_FALSE(gr_fsal_is_there(GSH_FSALS, "VFS"));
	CU_ASSERT_TRUE(gr_fsal_is_there(GSH_FSALS, "MDCACHE"));
	around_error = ENOENT;
	CU_ASSERT_TRUE(gr_fsal_is_there(GSH_FSALS, "VFS"));
	CU_ASSERT_FALSE(gr_fsal_is_there("/nowhere", "VFS"));
	around_error = 0;
	own_error = EACCES;
	CU_ASSERT_TRUE(gr_fsal_is_there(GSH_FSALS, "VFS"));
	own_error = 0;
	CU_ASSERT_FALSE(gr_fsal_is_there(GSH_FSALS, "NOSUCH"));
}

static void no_name(void)
{
	static const char *const texts[] = { "FSAL { Color = 7; }",
					     "FSAL { Name = \"\"; }", NULL };
	/* Ganesha passes over an empty block, too. */
	static const char *const none[] = { "FSAL { }", "", NULL };

	for (size_t i = 0; texts[i]; i++)
		CU_ASSERT_TRUE(host(folder(), texts[i]).nameless &&
			       !found[0].found && !*found[0].missing);
	for (size_t i = 0; none[i]; i++)
		CU_ASSERT_FALSE(host(folder(), none[i]).nameless ||
				found[0].found || *found[0].missing);
}

/* FSALs of one block, which can be before release 6 only. */
static void several(void)
{
	if (GSH_CONFIG_ONCE)
		return;
	CU_ASSERT_TRUE(host(folder(), "FSAL { Name = VFS; } FSAL { Name = A; } "
				      "FSAL { Name = B; }")
			       .found);
	CU_ASSERT_STRING_EQUAL(found[0].missing, "A");
	CU_ASSERT_TRUE(
		host(folder(), "FSAL { Name = A; } FSAL { Name = VFS; }").found);
	CU_ASSERT_STRING_EQUAL(found[0].missing, "A");
	CU_ASSERT_FALSE(found[0].nameless);
	/* One has nothing of the one before it. */
	CU_ASSERT_TRUE(
		host(folder(), "FSAL { Name = VFS; } FSAL { Color = red; }")
			.found);
	CU_ASSERT_TRUE(found[0].nameless && !*found[0].missing);
	CU_ASSERT_TRUE(
		host(folder(), "FSAL { Color = red; } FSAL { Name = VFS; }")
			.nameless);
}

/* A block has nothing of the one before it. */
static void blocks(void)
{
	look_in = folder();
	CU_ASSERT_FALSE(parsed("HOST { FSAL { Name = VFS; } }\n"
			       "HOST { FSAL { Color = red; } }\n"
			       "HOST { Color { } FSAL { Name = NONE; } }\n"
			       "HOST { FSAL { Name = VFS; } }\n",
			       look_hosts));
	CU_ASSERT_EQUAL(said_n, 1);
	CU_ASSERT_TRUE(said_at(3, "Unknown parameter (Color)"));
	CU_ASSERT_EQUAL_FATAL(nfound, 4);
	CU_ASSERT_TRUE(found[0].found && !found[0].nameless);
	CU_ASSERT_TRUE(!found[1].found && found[1].nameless);
	CU_ASSERT_STRING_EQUAL(found[2].missing, "NONE");
	CU_ASSERT_TRUE(!found[2].found && !found[2].nameless);
	CU_ASSERT_TRUE(found[3].found && !*found[3].missing);
}

/* ---- Plugins_Dir ---------------------------------------------------------- */

static char got[PATH_MAX];

static bool look_dir(struct gsh_config *tree)
{
	memset(got, 'x', sizeof(got) - 1);
	gr_fsal_dir(&gsh, tree, got);
	return !*said;
}

static void plugins(void)
{
	static const struct {
		const char *text, *dir;
	} rows[] = {
		{ "LOG { }", GSH_FSALS },
		{ "NFS_Core_Param { }", GSH_FSALS },
		{ "NFS_Core_Param { NFS_Port = 7; }", GSH_FSALS },
		{ "NFS_Core_Param { Plugins_Dir = /a/B; }", "/a/B" },
		{ "nfs_core_param { plugins_dir = \"/a/b c\"; }", "/a/b c" },
		/* It tells of none that is not its own. */
		{ "NFS_Core_Param { NFS_Port = 70000; Plugins_Dir = /a; No = 1; }",
		  "/a" },
		{ "NFS_Core_Param { Plugins_Dir = /a; }\n"
		  "NFS_Core_Param { Plugins_Dir = /b; }",
		  "/a" },
		{ "EXPORT { Plugins_Dir = /a; }", GSH_FSALS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_TRUE(parsed(rows[i].text, look_dir));
		CU_ASSERT_STRING_EQUAL(got, rows[i].dir);
	}
	parsed_memory = 0;
	CU_ASSERT_TRUE(parsed(rows[3].text, look_dir));
	CU_ASSERT_STRING_EQUAL(got, GSH_FSALS);
	parsed_memory = -1;
}

/* ---- DS blocks -------------------------------------------------------------- */

static bool look_ds(struct gsh_config *tree)
{
	return gr_ds_check(&gsh, tree);
}

/* The folder, and these lines from line 3 on. */
static bool ds(const char *text)
{
	char conf[1024];

	snprintf(conf, sizeof(conf),
		 "NFS_Core_Param {\nPlugins_Dir = \"%s\"; }\n%s\n", folder(),
		 text);
	return parsed(conf, look_ds);
}

#define VFS "FSAL { Name = VFS; } }\n"

static void ds_good(void)
{
	static const char *const texts[] = {
		"",
		"DS { " VFS,
		"DS { Number = 7; " VFS,
		"ds { number = 65535; fsal { name = Vfs; color = red; } }",
		/* Of another byte, or another bit of it. */
		"DS { " VFS "DS { Number = 8; " VFS "DS { Number = 7; " VFS
		"DS { Number = 15; " VFS "DS { Number = 65527; " VFS
		"DS { Number = 65535; " VFS,
		"DS { FSAL { Name = PSEUDO; } }",
		NULL,
	};

	for (size_t i = 0; texts[i]; i++)
		CU_ASSERT_TRUE(ds(texts[i]) && !said_n);
	/* What is not known is told, and no more. */
	CU_ASSERT_TRUE(ds("DS {\nColor = red; " VFS));
	CU_ASSERT_EQUAL(said_n, 1);
	CU_ASSERT_TRUE(said_at(4, "Unknown parameter (Color)"));
}

static void ds_faults(void)
{
	char text[256];

	CU_ASSERT_FALSE(ds("DS {\n Number = 7;\n}"));
	CU_ASSERT_TRUE(said_at(3, "DS block without an FSAL, which crashes "
				  "Ganesha " GSH_VERSION
				  ": add FSAL { Name = ...; }\n"));
	CU_ASSERT_TRUE(said_at(3, "1 validation errors in block DS\n"));
	CU_ASSERT_FALSE(ds("DS { Number = 7; FSAL { Color = red; } }"));
	CU_ASSERT_TRUE(said_at(3, "DS block with an FSAL { } without a Name, "
				  "which crashes Ganesha " GSH_VERSION
				  ": add Name = ...;\n"));
	CU_ASSERT_FALSE(ds("DS { " VFS "DS {\nFSAL { Name = None; } }"));
	snprintf(text, sizeof(text),
		 "DS block: %s has no FSAL None, which crashes "
		 "Ganesha " GSH_VERSION
		 ": correct the Name in FSAL { }, or install the package\n",
		 dir);
	CU_ASSERT_TRUE(said_at(4, text));
	CU_ASSERT_FALSE(ds("\nDS { Number = 65536; " VFS));
	CU_ASSERT_TRUE(said_at(4, "(65536) is out of range"));
	CU_ASSERT_FALSE(ds("DS { Number = banana; " VFS));
	CU_ASSERT_TRUE(said_at(3, "Expected a number"));
	CU_ASSERT_FALSE(ds("DS { Number = 7, 8; " VFS));
	CU_ASSERT_FALSE(ds("DS { FSAL = VFS; }"));
	/* One fault does not hide the next. */
	CU_ASSERT_FALSE(ds("DS { Number = 7; }\nDS { FSAL { Name = no; } }"));
	CU_ASSERT_TRUE(said_at(3, "DS block without") &&
		       said_at(4, "DS block: "));
}

/* One that is good is not enough; and since release 6 it is the only one. */
static void ds_fsals(void)
{
	static const char *const once[] = {
		"DS { FSAL { Name = VFS; } " VFS,
		"DS { FSAL { } " VFS,
		"DS { FSAL { Name = NONE; Name = VFS; } }",
		"DS { Number = 7; Number = 8; " VFS,
		NULL,
	};

	for (size_t i = 0; once[i]; i++) {
		CU_ASSERT_EQUAL(ds(once[i]), !GSH_CONFIG_ONCE);
		CU_ASSERT_EQUAL(!strstr(said, " set more than once"),
				!GSH_CONFIG_ONCE);
	}
	CU_ASSERT_FALSE(ds("DS { FSAL { Color = red; } " VFS));
	if (!GSH_CONFIG_ONCE)
		CU_ASSERT_TRUE(said_at(
			3, "DS block with an FSAL { } without a Name, which "
			   "keeps Ganesha from starting: add Name = ...;\n"));
	CU_ASSERT_FALSE(ds("DS { FSAL { Name = None; } " VFS));
	if (!GSH_CONFIG_ONCE)
		CU_ASSERT_PTR_NOT_NULL(
			strstr(said, " has no FSAL None, which keeps Ganesha "
				     "from starting: correct "));
}

static void ds_twice(void)
{
	CU_ASSERT_FALSE(ds("DS { Number = 4711; " VFS "DS { Number = 7; " VFS
			   "DS { Number = 4711; " VFS));
	CU_ASSERT_TRUE(said_at(5, "DS block: Number = 4711 is used twice: give "
				  "each its own\n"));
	CU_ASSERT_TRUE(said_at(5, "1 validation errors in block DS\n"));
	/* 0 is the number of one without. */
	CU_ASSERT_FALSE(ds("DS { " VFS "DS { " VFS));
	CU_ASSERT_TRUE(said_at(4, "DS block: Number = 0 is used twice"));
	CU_ASSERT_FALSE(
		ds("DS { Number = 65535; " VFS "DS { Number = 65535; " VFS));
	/* That of a block that is refused is free. */
	CU_ASSERT_FALSE(ds("DS { Number = 7; }\nDS { Number = 7; " VFS));
	CU_ASSERT_PTR_NULL(strstr(said, "twice"));
	/* Of the next file nothing is known. */
	CU_ASSERT_TRUE(ds("DS { Number = 7; " VFS));
}

/* Each number has a bit of its own. */
static void ds_numbers(void)
{
	char text[256], twice[512];

	for (unsigned int n = 0; n < 20; n++) {
		snprintf(text, sizeof(text),
			 "DS { Number = %u; " VFS "DS { Number = %u; " VFS
			 "DS { Number = %u; " VFS "DS { Number = 20; " VFS,
			 n, n + 21, n + 29);
		CU_ASSERT_TRUE(ds(text) && !said_n);
		snprintf(twice, sizeof(twice), "%sDS { Number = %u; " VFS, text,
			 n);
		CU_ASSERT_FALSE(ds(twice));
	}
}

/* Without memory for a complaint there is no verdict for the good. */
static void ds_memory(void)
{
	parsed_memory = 0;
	CU_ASSERT_FALSE(ds("DS { " VFS));
	parsed_memory = -1;
}

static const struct unit_test tests[] = {
	{ "names", names },
	{ "no-folder", no_folder },
	{ "long-folder", long_folder },
	{ "own-folder", own_folder },
	{ "no-name", no_name },
	{ "several", several },
	{ "blocks", blocks },
	{ "plugins", plugins },
	{ "ds-good", ds_good },
	{ "ds-faults", ds_faults },
	{ "ds-fsals", ds_fsals },
	{ "ds-twice", ds_twice },
	{ "ds-numbers", ds_numbers },
	{ "ds-memory", ds_memory },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-fsal", tests)
