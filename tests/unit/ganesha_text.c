/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of ganesha.conf is read with its comments, quotes and braces: is there a block
 * of ours, is it required, is one misspelled, and which lines are in it.
 */
#include <unistd.h>

#include "ganesha/config/text.h"
#include "unit.h"

static char path[] = "/tmp/rpcrdma-text-XXXXXX";
static struct gr_text t;

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
	(void)gr_text_read(path, &t);
}

/* The lines of 1 to 9 that are inside. */
static const char *lines(const char *text)
{
	static char found[16];
	size_t n = 0;

	put(text);
	for (unsigned int i = 0; i <= 9; i++)
		if (gr_text_inside_rdma(path, i))
			found[n++] = (char)('0' + i);
	found[n] = '\0';
	return found;
}

static bool has(const char *text)
{
	put(text);
	return t.rdma;
}

static bool requires(const char *text)
{
	put(text);
	return t.required;
}

static const char *almost(const char *text)
{
	put(text);
	return t.misspelled;
}

static void block(void)
{
	CU_ASSERT_TRUE(has("RDMA { }"));
	CU_ASSERT_TRUE(has("rdma\n#{\n{}"));
	CU_ASSERT_TRUE(has("A { B = 1 }\nRDMA{"));
	CU_ASSERT_FALSE(has("RDMA_Debug { }"));
	CU_ASSERT_FALSE(has("# RDMA { }\n"));
	CU_ASSERT_FALSE(has("A { RDMA = 1; }"));
	CU_ASSERT_FALSE(has("A { B = \"RDMA {\", 'RDMA {'; }"));
	CU_ASSERT_FALSE(has("A { B = \"\\\"RDMA {\"; }"));
	/* A backslash means nothing in single quotes. */
	CU_ASSERT_TRUE(has("A { B = '\\'; } RDMA { }"));
	/* What is missing hides nothing. */
	CU_ASSERT_TRUE(has("A { B = 1;\nRDMA { }"));
	CU_ASSERT_TRUE(has("%include \"x\"\nA = 1\nRDMA { }"));
	CU_ASSERT_TRUE(has("A { B = \"x; }\nRDMA { }"));
	CU_ASSERT_TRUE(has("A { B = \"x\\\\; }\nRDMA { }"));
}

static void required(void)
{
	CU_ASSERT_TRUE(requires("RDMA { Required = true; }"));
	CU_ASSERT_TRUE(requires("RDMA { required=YES; }"));
	CU_ASSERT_TRUE(requires("RDMA { Port = 1\n Required = # yes\n on }"));
	CU_ASSERT_TRUE(requires("RDMA { A { } Required = \"true\"; }"));
	CU_ASSERT_FALSE(requires("RDMA { Required = false; }"));
	CU_ASSERT_FALSE(requires("RDMA { Required = trueish; }"));
	CU_ASSERT_FALSE(requires("RDMA { # Required = true;\n }"));
	CU_ASSERT_FALSE(requires("RDMA { X = \"Required = true\"; }"));
	CU_ASSERT_FALSE(requires("RDMA { } A { Required = true; }"));
	CU_ASSERT_FALSE(requires("RDMA { Required = ; true = false; }"));
}

static void misspelled(void)
{
	static const char *const yes[] = {
		"RDM",	   "RDMAA",	"RMDA",	       "rdna",
		"NFSRDMA", "RDMA_Debg", "RDMADebug",   "RMDA_Debug",
		"DRMA",	   "RDAM",	"RDMA_Device", "ARDMA"
	};
	static const char *const no[] = { "RDMA", "rdma_debug", "EXPORT", "RGW",
					  "R",	  "RADOS_KV",	"DNAMR",  "RM",
					  "AMDR", "NFS_KRB5" };
	char text[64];

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		snprintf(text, sizeof(text), "A { }\n%s { }", yes[i]);
		CU_ASSERT_STRING_EQUAL(almost(text), yes[i]);
		CU_ASSERT_EQUAL(t.misspelled_line, 2);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		snprintf(text, sizeof(text), "%s { }", no[i]);
		CU_ASSERT_STRING_EQUAL(almost(text), "");
	}
	/* The first; of blocks, and not within another. */
	CU_ASSERT_STRING_EQUAL(almost("RDMAA\n{ }\nRDMAB { }"), "RDMAA");
	CU_ASSERT_EQUAL(t.misspelled_line, 1);
	CU_ASSERT_STRING_EQUAL(almost("A { RDMAA { } RDMB = 1; }"), "");
	snprintf(text, sizeof(text), "RDMA%032d { }", 0);
	CU_ASSERT_EQUAL(strlen(almost(text)), sizeof(t.misspelled) - 1);
}

static void inside(void)
{
	CU_ASSERT_STRING_EQUAL(lines("A {\n}\nRDMA {\nB = 1;\n}\nC {\n}\n"),
			       "345");
	CU_ASSERT_STRING_EQUAL(lines("RDMA\n{ }\n\nRDMA_Debug { }\n"), "124");
	CU_ASSERT_STRING_EQUAL(lines("A { B = \"\n\nRDMA {\n\"; }\nRDMA { }"),
			       "5");
	CU_ASSERT_STRING_EQUAL(lines("RDMA { A {\n}\n}\nB { }"), "123");
	/* Without an end it is to the end of the file. */
	CU_ASSERT_STRING_EQUAL(lines("\nRDMA {\nA = 1;\n"), "234");
	CU_ASSERT_STRING_EQUAL(lines("}\nA {\n}\n"), "");
}

static unsigned int brace(const char *text)
{
	put(text);
	return t.brace_line;
}

static void braces(void)
{
	CU_ASSERT_EQUAL(brace("A {\n}\nB { C\n{ } }"), 0);
	CU_ASSERT_EQUAL(brace("A { }\nB\n{\nC { }\n"), 2);
	CU_ASSERT_EQUAL(brace("A {\nB { }\nC { }\n"), 1);
	CU_ASSERT_EQUAL(brace("A\nB { }\n}\n}"), 3);
	CU_ASSERT_EQUAL(brace("A { \"}\"\n} }\nB {"), 2);
}

static void unreadable(void)
{
	t.rdma = true;
	CU_ASSERT_FALSE(gr_text_read("/nonexistent", &t));
	CU_ASSERT_FALSE(t.rdma);
	CU_ASSERT_FALSE(gr_text_read(NULL, &t));
	CU_ASSERT_FALSE(gr_text_inside_rdma(NULL, 1));
	put("");
	CU_ASSERT_FALSE(t.rdma);
	put("A");
	CU_ASSERT_TRUE(gr_text_read(path, &t));
}

static const struct unit_test tests[] = {
	{ "block", block },
	{ "required", required },
	{ "misspelled", misspelled },
	{ "inside", inside },
	{ "braces", braces },
	{ "unreadable", unreadable },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 2;
	close(fd);
	failed = unit_run("ganesha_text", tests, argc, argv);
	unlink(path);
	return failed;
}
