/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What looks in ganesha.conf as if it was meant otherwise.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ganesha/near.h"
#include "unit.h"

static char said[4096];

static void listen_to(void *ctx, const char *text)
{
	size_t n = strlen(said);

	(void)ctx;
	snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

static unsigned int look(const char *text)
{
	char path[] = "/tmp/rpcrdma-near-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	unsigned int n;

	said[0] = '\0';
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
	n = near_look(path, listen_to, NULL);
	unlink(path);
	return n;
}

static void names(void)
{
	static const char *const near[] = { "NFS_RDMA", "RDMA2",      "rdmas",
					    "RMDA",	"RDM",	      "RDNA",
					    "RPCRDMA",	"RDMA_Debugg" };
	static const char *const others[] = {
		"RDMA", "rdma", "RDMA_Debug", "rdma_debug", "EXPORT", "LOG",
		"FSAL", "VFS",	"NFSv4",      "RADOS_KV",   "RGW",    "",
		"GPFS", "9P",	"MDCACHE",    "CEPH",
	};

	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
		if (!near_name(near[i])) {
			printf("\n%s\n", near[i]);
			CU_FAIL("not near");
		}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (near_name(others[i])) {
			printf("\n%s\n", others[i]);
			CU_FAIL("near");
		}
}

static void files(void)
{
	CU_ASSERT_EQUAL(look("RDMA { Port = 7; }\nRDMA_Debug{}\n"), 0);
	CU_ASSERT_EQUAL(look("# NFS_RDMA { }\nRDMA { X = \"RDMA2 {\"; }\n"), 0);
	CU_ASSERT_EQUAL(look("EXPORT { RDMA2 { } RDMAX = 7; }\n"), 0);
	CU_ASSERT_EQUAL(look("EXPORT {\n}\nRDMA2\n{\n}\n"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ":3): block RDMA2 is not read"));
	CU_ASSERT_EQUAL(look("RDMA {\n\tMax_Memory = 64M;\n}\n"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said,
				      ":2): a number with a unit must be "
				      "in quotes: Max_Memory = \"64M\";"));
	CU_ASSERT_EQUAL(look("rdma_debug { A = 1k ; Send_Size= 64K; }\n"), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ": Send_Size = \"64K\";"));
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
	CU_ASSERT_EQUAL(look("A = \"open\n}}} RDMAS { }\n"), 1);
	CU_ASSERT_EQUAL(near_look("/nowhere/at-all", listen_to, NULL), 0);
	CU_ASSERT_EQUAL(near_look(NULL, listen_to, NULL), 0);
}

static const struct unit_test tests[] = {
	{ "names", names },
	{ "files", files },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-near", tests)
