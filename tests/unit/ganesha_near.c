/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What looks in ganesha.conf as if it was meant otherwise.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ganesha/near.h"
#include "ganesha/syntax.h"
#include "unit.h"

static char said[4096];

static void listen_to(void *ctx, const char *text)
{
	size_t n = strlen(said);

	(void)ctx;
	snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

static char path[64];
static struct near_text seen;

/* Set @path to a new file that has @text. */
static void make_file(const char *text)
{
	int fd;
	FILE *f;

	said[0] = '\0';
	snprintf(path, sizeof(path), "/tmp/rpcrdma-near-XXXXXX");
	fd = mkstemp(path);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static unsigned int look(const char *text)
{
	unsigned int n;

	make_file(text);
	n = near_look(path, listen_to, NULL, &seen);
	unlink(path);
	return n;
}

static void names(void)
{
	static const struct {
		const char *name, *meant;
	} near[] = {
		{ "NFS_RDMA", "RDMA" },
		{ "RDMA2", "RDMA" },
		{ "rdmas", "RDMA" },
		{ "RMDA", "RDMA" },
		{ "RDM", "RDMA" },
		{ "RDNA", "RDMA" },
		{ "RPCRDMA", "RDMA" },
		{ "RDMA_Debugg", "RDMA_Debug" },
		{ "EXPROT", "EXPORT" },
		{ "exports", "EXPORT" },
		{ "EXORT", "EXPORT" },
		{ "EXPORT_DEFAULT", "EXPORT_DEFAULTS" },
		{ "EXPORTDEFAULTS", "EXPORT_DEFAULTS" },
		{ "NFS_Core_Params", "NFS_Core_Param" },
		{ "NFSCoreParam", "NFS_Core_Param" },
		{ "NFS4", "NFSv4" },
		{ "NSFv4", "NFSv4" },
		{ "NFS_KRB", "NFS_KRB5" },
		{ "LOGS", "LOG" },
		{ "LGO", "LOG" },
		{ "MDCACH", "MDCACHE" },
		{ "Cache_Inode", "CacheInode" },
	};
	/* Ganesha's own, of 4.3 and 6.5 and their FSALs, and what is like nothing. */
	static const char *const others[] = {
		"RDMA",
		"rdma",
		"RDMA_Debug",
		"rdma_debug",
		"EXPORT",
		"export",
		"EXPORT_DEFAULTS",
		"NFS_CORE_PARAM",
		"NFS_IP_Name",
		"NFS_Krb5",
		"NFSv4",
		"NFSV4",
		"LOG",
		"MDCACHE",
		"CACHEINODE",
		"DIRECTORY_SERVICES",
		"PSEUDOFS",
		"DS",
		"9P",
		"_9P",
		"FSAL",
		"FSAL_LIST",
		"RADOS_KV",
		"RADOS_URLS",
		"CEPH",
		"GLUSTER",
		"GPFS",
		"KVSFS",
		"LIZARDFS",
		"LUSTRE",
		"MEM",
		"NULL",
		"PROXY_V3",
		"PROXY_V4",
		"RGW",
		"SAUNAFS",
		"VFS",
		"XFS",
		"",
		"OTHER",
		"PORT",
		"NFS",
		"a_name_that_is_longer_than_any_of_those_that_are_known_anywhere_here",
	};

	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
		const char *meant = near_name(near[i].name);

		if (!meant || strcmp(meant, near[i].meant)) {
			printf("\n%s: %s\n", near[i].name,
			       meant ? meant : "none");
			CU_FAIL("another name");
		}
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (near_name(others[i])) {
			printf("\n%s\n", others[i]);
			CU_FAIL("near");
		}
	/* A short name is like none of them, whatever was looked for before. */
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
		for (char c = 'A'; c <= 'Z'; c++) {
			CU_ASSERT_PTR_NOT_NULL(near_name(near[i].name));
			CU_ASSERT_PTR_NULL(near_name((char[]){ c, '\0' }));
		}
}

static void files(void)
{
	CU_ASSERT_EQUAL(look("RDMA { Port = 7; }\nRDMA_Debug{}\n"), 0);
	CU_ASSERT_EQUAL(look("# NFS_RDMA { }\nRDMA { X = \"RDMA2 {\"; }\n"), 0);
	CU_ASSERT_EQUAL(look("\nRDMA { }\nRDMA_Debug { }\nrdma\n{ }\n"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ":5): this second RDMA block is "
					    "ignored, the first is at line 2"));
	CU_ASSERT_EQUAL(look("EXPORT { RDMA2 { } RDMAX = 7; }\n"), 0);
	CU_ASSERT_EQUAL(look("EXPORT {\n}\nRDMA2\n{\n}\n"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		said,
		":3): unknown block RDMA2 is ignored: did you mean RDMA?"));
	CU_ASSERT_EQUAL(look("NFS_RDMA { }\nRDMA_Debugg { }\n"), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "NFS_RDMA is ignored: did you "
					    "mean RDMA?"));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "did you mean RDMA_Debug?"));
	CU_ASSERT_EQUAL(look("EXPORT { EXPROT { } }\nRDMA { }\nEXPROT\n{\n}\n"),
			1);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		said,
		":3): unknown block EXPROT is ignored: did you mean EXPORT?"));
	CU_ASSERT_EQUAL(look("RDMA {\n\tMax_Memory = 64M;\n}\n"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said,
				      ":2): a number with a unit must be "
				      "in quotes: Max_Memory = \"64M\";"));
	CU_ASSERT_EQUAL(look("rdma_debug { A = 1k ; Send_Size= 64K; }\n"), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ": Send_Size = \"64K\";"));
	CU_ASSERT_EQUAL(look("RDMA {\n Shared_Receives = 64K;\n"
			     " credits = 4K;\n Idle_Timeout = 5m; }\n"),
			3);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ": Shared_Receives = \"64K\";"));
	CU_ASSERT_EQUAL(
		look("RDMA {\n Max_Memory = 512MB;\n"
		     " Recv_Size = 8KiB; X = 8Kx; Y = 8Ki; Z = 8MBs; }\n"),
		2);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ": Max_Memory = \"512M\";"));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ": Recv_Size = \"8K\";"));
	CU_ASSERT_EQUAL(look("RDMA {\n Shared_Receives = 64K;\n"
			     " credits = 4K;\n Idle_Timeout = 5m; }\n"),
			3);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(said, ":3): credits is a number without a unit"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(said, ":4): Idle_Timeout is a number without a unit"));
	CU_ASSERT_EQUAL(look("RDMA {\n Max_Host_Share = 25%;\n"
			     " X = 25%; Credits= 7 % ;\n"
			     " Port = \"5%\"; Idle_Timeout = 5; }\n"),
			2);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		said,
		":2): Max_Host_Share is a number without %: write Max_Host_Share = 25"));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		said, ":3): Credits is a number without %: write Credits = 7"));
	/* Of other blocks nothing is known. */
	CU_ASSERT_EQUAL(look("EXPORT {\n MaxRead = 64M; RDMA { a = 4K; }\n}\n"
			     "X = 4K;\n"),
			0);
	CU_ASSERT_EQUAL(look("LOG { } RDMA\n{\n} EXPORT { A = 4K; }\n"), 0);
	CU_ASSERT_EQUAL(look("LOG { A { } } RDMA\n{\n A = 4K; }\n"), 1);
	/* Quotes, names, addresses, hexadecimal and others are none. */
	CU_ASSERT_EQUAL(look("RDMA { a = \"64M\"; b = M64; c = 64; d = 1:2;\n"
			     " e = 192.0.2.1; f = 0x4G; g = 4Kb; h = 9P; }\n"),
			0);
	/* What a principal or a pattern of them looks like. */
	CU_ASSERT_EQUAL(look("RDMA {\n P = nfs@a.example ;\n}\n"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		said,
		":2): a value like this must be in quotes: P = \"nfs@a.example\""));
	CU_ASSERT_EQUAL(look("RDMA {\n A = b, host/*;\n}\n"), 1);
	CU_ASSERT_EQUAL(look("RDMA {\n A = /a?b; }\n"), 1);
	CU_ASSERT_EQUAL(
		look("RDMA { a = \"nfs@b\"; b = *, /c; d = h*; e = a?b;\n"
		     " f = @g, @h; i = /j; # k = l@m\n n = o;}\n"
		     "X { a = b@c; }\n"),
		0);
	CU_ASSERT_EQUAL(look("A = \"open\n}}} RDMAS { }\n"), 1);
	CU_ASSERT_EQUAL(near_look("/nowhere/at-all", listen_to, NULL, &seen),
			0);
	CU_ASSERT_EQUAL(near_look(NULL, listen_to, NULL, &seen), 0);
}

/* An RDMA block that a fault before it hides from the parser. */
static void hidden(void)
{
	static const struct {
		const char *text;
		bool block, required;
	} rows[] = {
		{ "", false, false },
		{ "RDMA { }", true, false },
		{ "# RDMA { Required = true; }\n", false, false },
		{ "A { B = 3, 4 }\n\trdma\n{\n Required = Yes;\n}\n", true,
		  true },
		/* Inside of a block that has no end. */
		{ "A {\n B = 1;\nRDMA {\n Required=on;\n}\n", true, true },
		{ "A { RDMA { Required = true; } }\n", false, false },
		{ "RDMA { Required = false; }\n", true, false },
		{ "RDMA { Required = truely; }\n", true, false },
		{ "RDMA { # Required = true;\n}\n", true, false },
		{ "RDMA { A { } } X { Required = true; }\n", true, false },
		{ "RDMA_Debug { Required = true; }\n", false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		look(rows[i].text);
		if (seen.block != rows[i].block ||
		    seen.required != rows[i].required) {
			printf("\n%s\n", rows[i].text);
			CU_FAIL("seen otherwise");
		}
	}
}

/* What is missing where the parser does not go on. */
static void syntax(void)
{
	static const struct {
		const char *text;
		unsigned int line; /* as the parser names it; 0: none */
		const char *hint;
	} rows[] = {
		{ "A {\n B = 3, 4\n}\n", 2,
		  ":2): is a \";\" missing at the end of line 2?" },
		{ "A {\n B = 3,\n # C\n 4 # D;\n}\n", 2,
		  ":4): is a \";\" missing at the end of line 4?" },
		{ "A { B = \"#\" }\n", 1, ":1): is a \";\" missing" },
		{ "A {\n B = 64M;\n}\n", 2, NULL },
		{ "A {\n B = 64M; }\n", 2, NULL },
		{ "A {\n B = 1;\n", 9, NULL },
		{ "X { }\nA {\n B = 1;\nC { }\n", 0,
		  ":2): is a \"}\" missing? Block A has no end" },
		{ "A\n{\n B = 1; }\n} # too many\n", 0,
		  ":4): is this \"}\" one too many, or a \"{\" missing above?" },
		{ "A {\n B = 1;;\n}\n", 2, ":2): is this \";\" one too many?" },
		{ "A {\n B { C = 1; };\n D = 2;\n}\n", 0,
		  ":2): is this \";\" one too many?" },
		{ "A {\n B = 1;\n};\nC { }\n", 0,
		  ":3): is this \";\" one too many?" },
		/* More than one statement in a line. */
		{ "X { }\nA { B = 1 C = /c; D { } }\n", 2,
		  ":2): is a \";\" missing before C in line 2?" },
		{ "A { B = /b D { E = F; } }\n", 1,
		  ":1): is a \";\" missing before D in line 1?" },
		{ "A { B = \"}; #\", '=' C = 1; }\n", 1,
		  ":1): is a \";\" missing before C in line 1?" },
		{ "A { B = 1; D { E = F } }\n", 1,
		  ":1): is a \";\" missing before \"}\" in line 1?" },
		/* The statement is another one. */
		{ "A {\n B = 1\n C = 2;\n D = %;\n}\n", 4, NULL },
		/* A name without what makes it a block or a statement. */
		{ "A\n B = 1;\n C { D = 2; }\n}\n", 0,
		  ":1): is a \"{\" missing after A in line 1?" },
		{ "X { Y = 1; }\nA B = 1; }\n", 0,
		  ":2): is a \"{\" missing after A in line 2?" },
		{ "A {\n B = 1;\n C\n  D = 2;\n }\n}\n", 0,
		  ":3): is a \"{\" missing after C in line 3?" },
		{ "A {\n B 1;\n}\n", 0,
		  ":2): is a \"=\" missing after B in line 2?" },
		{ "A { B = 1; }\nC\n", 0,
		  ":2): is a \"{\" missing after C in line 2?" },
		{ "A {\n B = 1", 0,
		  ":2): is a \";\" missing at the end of line 2?" },
		{ "%include x\nA\n\n{\n B = 1,\n 2;\n C = 3\n}\n", 0,
		  ":7): is a \";\" missing at the end of line 7?" },
		/* A block as if it were a value; a quote that does not end. */
		{ "X {\n Y = 1;\n}\nA = {\n B = 1;\n}\n", 4,
		  ":4): a block has no \"=\": write A { in line 4" },
		{ "X { Y = 1;\n A =\n {\n B = 1; } }\n", 2,
		  ":3): a block has no \"=\": write A { in line 2" },
		{ "A {\n B = \"2G;\n C = 3;\n}\n", 2,
		  ":2): is a closing quote missing in line 2?" },
		{ "A {\n B = 'c, d;\n}\n", 2,
		  ":2): is a closing quote missing in line 2?" },
		{ "A {\n B = \"c\", \"d\";\n D = %;\n}\n", 3, NULL },
		/* Words where one value may be. */
		{ "A {\n B = /c/d e;\n}\n", 2,
		  ":2): B: a value with a blank must be in quotes" },
		{ "A {\n B = f, /c/d e f;\n}\n", 2,
		  ":2): B: a value with a blank must be in quotes" },
		{ "A { B = 3 4; }\n", 1,
		  ":1): is a \",\" missing before 4 in line 1?" },
		{ "A { B = c, d e; }\n", 1,
		  ":1): is a \",\" missing before e in line 1?" },
		{ "A {\n B = 7 %;\n}\n", 2, NULL },
		{ "A {\n B = 64 M;\n}\n", 2, NULL },
		{ "A {\n B = 3, 4;\n C = d, e;\n D = %;\n}\n", 4, NULL },
	};
	char messages[256], first[96], want[96];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_file(rows[i].text);
		snprintf(messages, sizeof(messages),
			 "no place\fConfig File (%s:%u): %s\fConfig File "
			 "(/nowhere:7): Unexpected character (6)\f",
			 path, rows[i].line,
			 rows[i].line ? "Syntax error in statement" :
					"Configuration syntax errors found");
		syntax_look(messages, first, sizeof(first), listen_to, NULL);
		unlink(path);
		snprintf(want, sizeof(want), "%s:%u", path, rows[i].line);
		CU_ASSERT_TRUE(rows[i].line ?
				       !strcmp(first, want) :
				       !strncmp(first, path, strlen(path)));
		/* The parser's line, or the hint's. */
		CU_ASSERT_EQUAL(strchr(first, ':') != NULL,
				rows[i].line || rows[i].hint);
		if (rows[i].hint ? !strstr(said, rows[i].hint) : *said) {
			printf("\n%s\n%s\n", rows[i].text, said);
			CU_FAIL("another hint");
		}
	}
	syntax_look("", first, sizeof(first), listen_to, NULL);
	CU_ASSERT_STRING_EQUAL(first, "");
}

/* What the parser does not take outside of quotes and comments. */
static void characters(void)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *hint; /* the only one, or NULL */
	} rows[] = {
		{ "A {\n\xc2\xa0\xc2\xa0"
		  "B = 1;\n}\n",
		  2,
		  ":2): a character that is not ASCII, 0xC2 0xA0, a no-break "
		  "space: type a space\n" },
		{ "A {\n \xc2\xa0 B = 1;\n}\n", 2, ":2): a character that is" },
		{ "A { B = \xe2\x80\x9c"
		  "64M\xe2\x80\x9d; }\n",
		  1,
		  ", 0xE2 0x80 0x9C, a typographic quotation mark: type \"\n" },
		{ "A { B = c\xe2\x80\x93"
		  "d; }\n",
		  1, ", 0xE2 0x80 0x93, a dash: type -\n" },
		{ "A { B = 1;\xe2\x80\x8b }\n", 1,
		  ", 0xE2 0x80 0x8B, which cannot be seen: delete it\n" },
		{ "\xef\xbb\xbf"
		  "A { B = 1; }\n",
		  1,
		  ", 0xEF 0xBB 0xBF, a byte order mark: save the file without it\n" },
		{ "A { B = /\xc3\xbc; }\n", 1,
		  ", 0xC3 0xBC: put it in quotes or delete it\n" },
		/* Not in UTF-8, cut off, and of four bytes. */
		{ "A {\xa0}\n", 1, ", 0xA0, a no-break space: type a space\n" },
		{ "A {\xfc}\n", 1, ", 0xFC: put it in quotes" },
		{ "A {\xe2\x80 }\n", 1, ", 0xE2: put it in quotes" },
		{ "A {\xf0\x9f\x98\x80}\n", 1,
		  ", 0xF0 0x9F 0x98 0x80: put it" },
		/* In quotes and comments they may be. */
		{ "A { B = \"\xc3\xbc\"; C = ?; } # \xc3\xbc\n", 1, NULL },
		/* Of another line. */
		{ "A { C = ?; }\nB {\xa0}\n", 1, NULL },
		/* Comments of other languages. */
		{ "A { // B\n}\n", 1, ":1): comments begin with #\n" },
		{ "// A\nB { }\n", 1, ":1): comments begin with #\n" },
		{ "A { B = 1; /* C */\n}\n", 1,
		  ":1): comments begin with #\n" },
		{ "A { B = //c; C = ?; }\n", 1, NULL },
	};
	char messages[512], first[96], want[96];

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *end;

		make_file(rows[i].text);
		/* As the parser does: each byte, and then the block, or the file. */
		snprintf(messages, sizeof(messages),
			 "Config File (%s:%u): Unexpected character (\xc2)\f"
			 "Config File (%s:%u): Unexpected character (\xa0)\f"
			 "Config File (%s:%u): %s\f",
			 path, rows[i].line, path, rows[i].line, path,
			 rows[i].hint ? i % 2 : rows[i].line,
			 !rows[i].hint ? "Syntax error in statement" :
			 i % 2	       ? "Syntax error in block" :
					 "Configuration syntax errors found");
		syntax_look(messages, first, sizeof(first), listen_to, NULL);
		unlink(path);
		snprintf(want, sizeof(want), "%s:%u", path, rows[i].line);
		CU_ASSERT_STRING_EQUAL(first, want);
		end = strchr(said, '\n');
		if (rows[i].hint ?
			    !strstr(said, rows[i].hint) || !end || end[1] :
			    *said) {
			printf("\n%s\n%s\n", rows[i].text, said);
			CU_FAIL("another hint");
		}
	}
}

/* Which lines are of a block that is read here, and whether an error in one of
 * them is told before others. */
static void inside(void)
{
	static const char text[] =
		"A { B = 1 }\nRDMA {\n C = 1;\n D\n}\n"
		"E {\n RDMA = 1;\n}\n"
		"rdma_debug { F = 1 } G { }\n# RDMA {\nH {\n}\n";
	static const bool want[] = { false, true,  true, true,	true,  false,
				     false, false, true, false, false, false };
	char messages[256], first[96], at[96];

	make_file(text);
	for (unsigned int i = 0; i < sizeof(want); i++)
		CU_ASSERT_EQUAL(near_inside(path, i + 1), want[i]);
	CU_ASSERT_FALSE(near_inside(path, 0));
	CU_ASSERT_FALSE(near_inside(path, 77));
	CU_ASSERT_FALSE(near_inside("/nowhere", 1));
	for (unsigned int i = 3; i <= 7; i += 4) {
		snprintf(messages, sizeof(messages),
			 "Config File (%s:1): Syntax error in statement\f"
			 "Config File (%s:%u): Syntax error in statement\f",
			 path, path, i);
		CU_ASSERT_EQUAL(syntax_look(messages, first, sizeof(first),
					    listen_to, NULL),
				i == 3);
		snprintf(at, sizeof(at), "%s:%u", path, i == 3 ? 3 : 1);
		CU_ASSERT_STRING_EQUAL(first, at);
	}
	unlink(path);
	/* Of a block the parser has the first line alone. */
	make_file("A { B = 1; }\nRDMA {\n C = 1;\n D = 2;;\n}\n");
	snprintf(messages, sizeof(messages),
		 "Config File (%s:3): Syntax error in block\f", path);
	CU_ASSERT_TRUE(
		syntax_look(messages, first, sizeof(first), listen_to, NULL));
	snprintf(at, sizeof(at), "%s:4", path);
	CU_ASSERT_STRING_EQUAL(first, at);
	unlink(path);
}

static const struct unit_test tests[] = {
	{ "names", names },
	{ "inside", inside },
	{ "files", files },
	{ "a hidden block", hidden },
	{ "syntax errors", syntax },
	{ "characters", characters },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-near", tests)
