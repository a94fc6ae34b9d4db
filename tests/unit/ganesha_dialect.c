/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files for a Ganesha with RDMA of its own, read by the parser of the installed one, by
 * tables such as its own: without the words they are refused.
 */
#include <string.h>

#include "ganesha/config/dialect.h"
#include "ganesha/config/exports.h"
#include "ganesha/keywords/keywords.h"
#include "parsed.h"

/* As an ntirpc with RDMA of its own has it. */
static bool native;
void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name)
{
	if (!strcmp(name, "rpc_rdma_ncreatef"))
		return native ? &native : NULL;
	return __real_dlsym(handle, name);
}

/* ---- The words in Ganesha's tables --------------------------------------- */

struct values {
	uint32_t protocols, transports, client;
	uint16_t port;
};

static void *values_init(void *link_mem, void *self)
{
	return self ? self : link_mem;
}

static const struct gsh_config_token protocols[] = {
	{ "3", 1 },
	{ "4", 2 },
	{ NULL, 0 },
};
static const struct gsh_config_token transports[] = {
	{ "UDP", 0x1000000 },
	{ "TCP", 0x2000000 },
	{ NULL, 0 },
};
#define LIST(nm, member, words, all)                   \
	{                                              \
		.name = (nm), .type = GSH_CONFIG_LIST, \
		.u.lst = { .mask = (all),              \
			   .tokens = (words),          \
			   .set_off = UINT32_MAX },    \
		.off = offsetof(struct values, member) \
	}
static const struct gsh_config_item core_items[] = {
	{ .name = "NFS_Port",
	  .type = GSH_CONFIG_UINT16,
	  .u.u16 = { .max = UINT16_MAX, .def = 2049 },
	  .off = offsetof(struct values, port) },
	LIST("Protocols", protocols, protocols, 3),
	{ .name = NULL },
};
static const struct gsh_config_item client_items[] = {
	LIST("Transports", client, transports, 0x7000000),
	{ .name = NULL },
};
static const struct gsh_config_item export_items[] = {
	LIST("Transports", transports, transports, 0x7000000),
	{ .name = "Client",
	  .type = GSH_CONFIG_BLOCK,
	  .u.blk = { .init = values_init,
		     .params = client_items,
		     .commit = gr_block_accept } },
	{ .name = NULL },
};

static struct values got;
static const struct gsh_config_block *by;

static bool look_block(struct gsh_config *tree)
{
	struct gsh_config_errors e;
	bool good;

	memset(&got, 0, sizeof(got));
	CU_ASSERT_TRUE_FATAL(gsh.init_error_type(&e));
	good = gsh.load_config_from_parse(tree, by, &got, true, &e) == 1 &&
	       !e.errors && !e.bogus;
	gsh.report_config_errors(&e, NULL, parsed_say);
	return good;
}

static void words(void)
{
	static const char core[] =
		"NFS_CORE_PARAM { NFS_Port = 9; protocols = 4, "
		"nfsrdma, RPCRDMA; NFS_RDMA_Port = 0; "
		"NFS_RDMA_Protocol_Versions = 3, 4.2; "
		"RPC_Max_RDMA_Connections = 1; "
		"MaxRPCRdmaCredits = 2; }\n";
	static const char export[] =
		"EXPORT { Transports = tcp, rdma; CLIENT { "
		"Transports = RDMA; } }\n";
	struct gsh_config_block block =
		gr_block("NFS_Core_Param", core_items, gr_block_accept);
	const struct gsh_config_block *with = gr_keywords_extend(&block);

	by = &block;
	CU_ASSERT_FALSE(parsed(core, look_block));
	by = with;
	CU_ASSERT_TRUE(parsed(core, look_block));
	CU_ASSERT_EQUAL(got.protocols, 2);
	CU_ASSERT_EQUAL(got.port, 9);
	/* What is no word is still refused. */
	CU_ASSERT_FALSE(
		parsed("NFS_Core_Param { NFS_RDMA_Ports = 1; }\n", look_block));
	CU_ASSERT_TRUE(said_at(1, "Unknown parameter (NFS_RDMA_Ports)"));
	CU_ASSERT_FALSE(
		parsed("NFS_Core_Param { Protocols = rdma; }\n", look_block));
	/* One copy for each, and none of one that needs nothing. */
	CU_ASSERT_PTR_EQUAL(gr_keywords_extend(&block), with);
	block.desc.name = "NFSv4";
	CU_ASSERT_PTR_EQUAL(gr_keywords_extend(&block), &block);

	block = gr_block("EXPORT", export_items, gr_block_accept);
	by = &block;
	CU_ASSERT_FALSE(parsed(export, look_block));
	by = gr_keywords_extend(&block);
	CU_ASSERT_PTR_NOT_EQUAL(by, with);
	CU_ASSERT_TRUE(parsed(export, look_block));
	CU_ASSERT_EQUAL(got.transports, 0x6000000);
	CU_ASSERT_EQUAL(got.client, GR_EXPORT_RDMA);
	/* A release that knows them keeps what it has. */
	block = *by;
	CU_ASSERT_EQUAL(gr_keywords_extend(&block)
				->desc.u.blk.params[0]
				.u.lst.tokens[3]
				.token,
			NULL);
}

/* ---- Without an RDMA block ------------------------------------------------ */

static struct gr_config cfg;
static enum gr_config_result result;

static bool look_config(struct gsh_config *tree)
{
	result = gr_config_load(&gsh, tree, &cfg);
	return result == GR_CONFIG_GOOD;
}

static void dialect(void)
{
	char text[128];

	CU_ASSERT_TRUE(parsed("NFS_Core_Param { Protocols = 4, nfsrdma; }\n",
			      look_config));
	CU_ASSERT_TRUE(cfg.dialect && cfg.enable && !cfg.required);
	CU_ASSERT_EQUAL(cfg.port, 20049);
	CU_ASSERT_EQUAL(cfg.rt.credits, 64);
	CU_ASSERT_EQUAL(cfg.rt.max_connections, 1024);
	CU_ASSERT_EQUAL(cfg.nfs_versions, GR_NFS_ALL);
	CU_ASSERT_STRING_EQUAL(said, "");
	CU_ASSERT_TRUE(parsed("NFS_Core_Param { NFS_Protocols = rpcrdma; "
			      "NFS_RDMA_Port = 99; "
			      "NFS_RDMA_Protocol_Versions = v3, NFS4.1; "
			      "RPC_Max_RDMA_Connections = 3; "
			      "MaxRPCRdmaCredits = 4096; Nonsense = 1; }\n"
			      "RDMA_Debug { Busy_Poll = 7; }\n",
			      look_config));
	CU_ASSERT_EQUAL(cfg.nfs_versions, GR_NFS_3 | GR_NFS_4(1));
	CU_ASSERT_EQUAL(cfg.rt.busy_poll_us, 7);
	CU_ASSERT_STRING_EQUAL(said, "");
	gr_dialect_block(&cfg, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(
		text,
		"RDMA { Port = 99; Credits = 4096; Max_Connections = 3; }");
	gr_dialect_versions(cfg.nfs_versions, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "3, 4.1");

	CU_ASSERT_FALSE(parsed("NFS_Core_Param { Protocols = 3, 4; "
			       "NFS_RDMA_Port = 99; }\n",
			       look_config));
	CU_ASSERT_EQUAL(result, GR_CONFIG_ABSENT);
	CU_ASSERT_FALSE(parsed("\nNFS_Core_Param { Protocols = nfsrdma;\n"
			       "NFS_RDMA_Port = 0;\n"
			       "MaxRPCRdmaCredits = 5000; }\n",
			       look_config));
	CU_ASSERT_EQUAL(result, GR_CONFIG_BAD);
	CU_ASSERT_TRUE(said_at(3, "(0) is out of range") ||
		       strstr(said, "NFS_RDMA_Port is a number from 1"));
	CU_ASSERT_TRUE(
		strstr(said, "MaxRPCRdmaCredits is a number from 1 to 4096") !=
		NULL);
	CU_ASSERT_FALSE(parsed("\nNFS_Core_Param { Protocols = nfsrdma;\n"
			       "NFS_RDMA_Protocol_Versions = NONE; }\n",
			       look_config));
	CU_ASSERT_EQUAL(result, GR_CONFIG_BAD);
}

static void beside(void)
{
	static const char both[] =
		"NFS_Core_Param { Protocols = 4, nfsrdma; NFS_RDMA_Port = 99; "
		"MaxRPCRdmaCredits = 0; }\nRDMA { Port = 98; }\n";
	static const char same[] =
		"NFS_Core_Param { Protocols = 4, nfsrdma; }\nRDMA { }\n";

	CU_ASSERT_TRUE(parsed(both, look_config));
	CU_ASSERT_FALSE(cfg.dialect);
	CU_ASSERT_TRUE(cfg.dialect_ignored);
	CU_ASSERT_EQUAL(cfg.port, 98);
	CU_ASSERT_STRING_EQUAL(said, "");
	CU_ASSERT_TRUE(parsed(same, look_config));
	/* Ganesha serves what its words say, if it can. */
	native = true;
	CU_ASSERT_TRUE(parsed(both, look_config));
	CU_ASSERT_EQUAL(cfg.native_port, 99);
	CU_ASSERT_FALSE(cfg.dialect_ignored);
	CU_ASSERT_FALSE(parsed(same, look_config));
	CU_ASSERT_EQUAL(result, GR_CONFIG_BAD);
	CU_ASSERT_TRUE(said_at(2, "Port = 20049 of the RDMA block is also "
				  "NFS_RDMA_Port of NFS_Core_Param"));
	CU_ASSERT_FALSE(parsed("NFS_Core_Param { Protocols = 4, nfsrdma; }\n",
			       look_config));
	CU_ASSERT_EQUAL(result, GR_CONFIG_ABSENT);
	CU_ASSERT_EQUAL(cfg.native_port, 20049);
	native = false;
}

/* ---- Transports ------------------------------------------------------------ */

static bool look_transports(struct gsh_config *tree)
{
	gr_exports_read_file(&gsh, tree);
	gr_exports_read(&gsh, gsh.load_config_from_parse, tree, "NFSv4");
	return true;
}

static void exports(void)
{
	static const char file[] =
		"EXPORT { Export_Id = 7; Transports = TCP; Path = /; }\n"
		"export { export_id = 8; transports = tcp, rdma; }\n"
		"EXPORT { Export_Id = 9; }\n"
		"EXPORT { Export_Id = 65535; Transports = RDMA;\n"
		"  CLIENT { Clients = 1.2.3.4; Transports = TCP, RDMA; } }\n"
		"EXPORT { Export_Id = 10; CLIENT { Transports = RDMA; }\n"
		"  CLIENT { Clients = *; Transports = UDP; } }\n"
		"EXPORT { Export_Id = 11; CLIENT { Clients = *; } }\n";
	char more[1024], text[64];

	CU_ASSERT_TRUE(parsed(file, look_transports));
	CU_ASSERT_STRING_EQUAL(said, "");
	CU_ASSERT_EQUAL(
		gr_exports_list(gr_exports_lacks_rdma, text, sizeof(text)), 2);
	CU_ASSERT_STRING_EQUAL(text, "7, 10");
	CU_ASSERT_EQUAL(
		gr_exports_list(gr_exports_rdma_only, text, sizeof(text)), 1);
	CU_ASSERT_STRING_EQUAL(text, "65535");
	CU_ASSERT_FALSE(gr_exports_lacks_rdma(0));

	snprintf(more, sizeof(more),
		 "EXPORT_DEFAULTS { Transports = TCP; }\n%s", file);
	CU_ASSERT_TRUE(parsed(more, look_transports));
	gr_exports_list(gr_exports_lacks_rdma, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "7, 9, 10, 11");
	/* Ganesha's own root, which is in no file. */
	CU_ASSERT_FALSE(gr_exports_lacks_rdma(0));

	snprintf(more, sizeof(more),
		 "EXPORT_DEFAULTS { CLIENT { Transports = TCP; } }\n%s", file);
	CU_ASSERT_TRUE(parsed(more, look_transports));
	gr_exports_list(gr_exports_lacks_rdma, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "7, 8, 9, 10, 11, 65535");
	/* Cut off, not overrun. */
	CU_ASSERT_EQUAL(gr_exports_list(gr_exports_lacks_rdma, text, 4), 6);
	CU_ASSERT_STRING_EQUAL(text, "7, ");
	/* Once it is allowed again it is. */
	CU_ASSERT_TRUE(parsed("EXPORT { Export_Id = 7; Transports = RDMA; }\n",
			      look_transports));
	CU_ASSERT_FALSE(gr_exports_lacks_rdma(7));
}

static const struct unit_test tests[] = {
	{ "words", words },	{ "dialect", dialect }, { "beside", beside },
	{ "exports", exports }, { NULL, NULL },
};

UNIT_MAIN("ganesha-dialect", tests)
