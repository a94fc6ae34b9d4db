/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder that ganesha.conf includes is found where Ganesha's scanner would meet it: in
 * the file itself and in those that it includes, and only there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ganesha/include.h"
#include "unit.h"

static char dir[] = "/tmp/rpcrdma-include-XXXXXX";
static struct gr_include at;

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static unsigned int n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", dir, name);
	return path[n];
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static int begin(void)
{
	return !mkdtemp(dir) || mkdir(in_dir("sub"), 0700) ||
	       mkdir(in_dir("sub/x"), 0700);
}

static int end(void)
{
	static const char *const names[] = { "g.conf", "a", "b", "c",
					     "sub/d",  "e", NULL };

	for (const char *const *n = names; *n; n++)
		unlink(in_dir(*n));
	rmdir(in_dir("sub/x"));
	rmdir(in_dir("sub"));
	return rmdir(dir);
}

/* The main file is @text. */
static bool finds(const char *text)
{
	put("g.conf", text);
	memset(&at, 0, sizeof(at));
	return gr_include_folder(in_dir("g.conf"), &at);
}

static void itself(void)
{
	char text[256];

	CU_ASSERT_TRUE(finds("A { B = 1; }\n# one\n%include sub\n"));
	CU_ASSERT_STRING_EQUAL(at.file, in_dir("g.conf"));
	CU_ASSERT_STRING_EQUAL(at.folder, in_dir("sub"));
	CU_ASSERT_EQUAL(at.line, 3);
	snprintf(text, sizeof(text), "%%include\n\t\"%s\"", dir);
	CU_ASSERT_TRUE(finds(text));
	CU_ASSERT_STRING_EQUAL(at.folder, dir);
	CU_ASSERT_EQUAL(at.line, 2);
	/* What is left of it is not a part of the name. */
	CU_ASSERT_TRUE(finds("%include sub/"));
	CU_ASSERT_TRUE(finds("%include sub//x"));
	CU_ASSERT_STRING_EQUAL(at.folder, in_dir("sub"));
	CU_ASSERT_TRUE(finds("%include sub/x;"));
	CU_ASSERT_STRING_EQUAL(at.folder, in_dir("sub/x"));
	CU_ASSERT_TRUE(finds("A { } } %include .\n"));
	CU_ASSERT_TRUE(finds("A { B { C = \"}\"; } } %include sub"));
	CU_ASSERT_TRUE(finds("A = 'it\"s'; %include sub"));
	CU_ASSERT_TRUE(finds("A = \"a\\\"b\"; %include sub"));
}

static void none(void)
{
	CU_ASSERT_FALSE(finds(""));
	CU_ASSERT_FALSE(finds("A { }\n"));
	CU_ASSERT_FALSE(finds("%include nothing\n"));
	/* These it cannot read, and says so. */
	CU_ASSERT_FALSE(finds("%include \"sub/\"\n"));
	CU_ASSERT_FALSE(finds("%include \"sub x\"\n"));
	CU_ASSERT_FALSE(finds("%include \"sub"));
	CU_ASSERT_FALSE(finds("%include"));
	CU_ASSERT_FALSE(finds("%include *\n"));
	CU_ASSERT_FALSE(finds("%inclusion sub\n"));
	CU_ASSERT_FALSE(finds("%dir sub\n"));
	CU_ASSERT_FALSE(finds("include sub\n"));
	CU_ASSERT_FALSE(finds("# %include sub\n"));
	CU_ASSERT_FALSE(finds("#"));
	CU_ASSERT_FALSE(finds("A = \"%include sub\";\n"));
	CU_ASSERT_FALSE(finds("A = '%include sub';\n"));
	CU_ASSERT_FALSE(finds("A = \"\\\"%include sub\";\n"));
	CU_ASSERT_FALSE(finds("A = \"%include sub\n"));
	CU_ASSERT_FALSE(finds("A { %include sub\n}\n"));
	CU_ASSERT_FALSE(gr_include_folder(in_dir("missing"), &at));
	/* Of that itself others tell. */
	CU_ASSERT_FALSE(gr_include_folder(dir, &at));
}

static void others(void)
{
	char long_name[6000];

	put("a", "%include b\n");
	put("b", "\n%include sub/d\n");
	put("sub/d", "C { }\n%include c # and so on\n");
	put("c", "\n\n\n%include sub\n");
	CU_ASSERT_TRUE(finds("%include a\n"));
	CU_ASSERT_STRING_EQUAL(at.file, in_dir("c"));
	CU_ASSERT_EQUAL(at.line, 4);
	/* Round and round. */
	put("c", "%include a\n%include c\n%include g.conf\n");
	CU_ASSERT_FALSE(finds("%include a\n"));
	CU_ASSERT_TRUE(finds("%include a\n%include sub\n"));
	CU_ASSERT_EQUAL(at.line, 2);
	/* Longer than any path is. */
	memset(long_name, 'a', sizeof(long_name));
	memcpy(long_name, "%include ", 9);
	strcpy(long_name + sizeof(long_name) - 14, "\n%include sub");
	CU_ASSERT_TRUE(finds(long_name));
	CU_ASSERT_EQUAL(at.line, 2);
}

/* Each file is read once, however often it is included, and no more than 256 and 8 within
 * each other. */
static void bounds(void)
{
	char name[16], text[8192];
	size_t n;

	for (int i = 0; i < 7; i++) {
		n = 0;
		for (int k = 0; k < 100; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "%%include n%d\n", i + 1);
		snprintf(name, sizeof(name), "n%d", i);
		put(name, i < 6 ? text : "%include sub\n");
	}
	CU_ASSERT_TRUE(finds("%include n0\n"));
	CU_ASSERT_STRING_EQUAL(at.file, in_dir("n6"));
	put("n6", "%include a\n");
	put("a", "%include sub\n");
	CU_ASSERT_FALSE(finds("%include n0\n"));
	CU_ASSERT_TRUE(finds("%include n0\n%include a\n"));
	put("n6", "");
	CU_ASSERT_FALSE(finds("%include n0\n"));
	n = 0;
	for (int i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		put(name, "");
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%%include %s\n", name);
	}
	put("n254", "%include sub");
	CU_ASSERT_TRUE(finds(text));
	CU_ASSERT_STRING_EQUAL(at.file, in_dir("n254"));
	put("n254", "");
	/* With the first file, one too many. */
	put("n255", "%include sub");
	CU_ASSERT_FALSE(finds(text));
	for (int i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		unlink(in_dir(name));
	}
}

/* Names without a "/" in front are beside a file that has one. */
static void relative(void)
{
	char was[1024];

	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(was, sizeof(was)));
	CU_ASSERT_EQUAL_FATAL(chdir(dir), 0);
	put("sub/d", "%include x\n");
	CU_ASSERT_FALSE(gr_include_folder("sub/d", &at));
	CU_ASSERT_TRUE(gr_include_folder(in_dir("sub/d"), &at));
	put("sub/d", "%include sub\n");
	CU_ASSERT_TRUE(gr_include_folder("sub/d", &at));
	CU_ASSERT_STRING_EQUAL(at.folder, "./sub");
	CU_ASSERT_EQUAL(chdir(was), 0);
}

static const struct unit_test tests[] = {
	{ "itself", itself }, { "none", none },		{ "others", others },
	{ "bounds", bounds }, { "relative", relative }, { NULL, NULL },
};

int main(int argc, char **argv)
{
	int res = begin();

	if (!res)
		res = unit_run("ganesha-include", tests, argc, argv);
	return end() || res;
}
