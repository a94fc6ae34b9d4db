/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/config/dialect.h"

#include <dlfcn.h>
#include <string.h>

#include "ganesha/keywords/keywords.h"

#define OFF(member) .off = offsetof(struct gr_config, member)
#define PROTOCOLS(nm)                                                      \
	{                                                                  \
		.name = (nm), .type = GSH_CONFIG_PROC,                     \
		.u.proc = { .init = gr_block_keep, .handler = note_rdma }, \
		.off = offsetof(struct gr_dialect, rdma)                   \
	}

static int note_rdma(const char *token, int term, struct gsh_config_item *item,
		     void *param, void *node, struct gsh_config_errors *e)
{
	if (gr_keywords_is_rdma(token))
		*(bool *)param = true;
	return 0;
}

void gr_dialect_read(const struct gsh *g, struct gsh_config *tree,
		     struct gr_dialect *d)
{
	static const struct gsh_config_item items[] = {
		PROTOCOLS("Protocols"),
		PROTOCOLS("NFS_Protocols"),
		{ .name = "NFS_RDMA_Port",
		  .type = GSH_CONFIG_UINT16,
		  .u.u16 = { .max = UINT16_MAX, .def = 20049, .zero_ok = true },
		  .off = offsetof(struct gr_dialect, port) },
		{ .name = NULL },
	};

	memset(d, 0, sizeof(*d));
	gr_block_peek(g, g->load_config_from_parse, tree, "NFS_Core_Param",
		      items, NULL, d);
}

static const struct gsh_config_token versions[] = {
	{ "3", GR_NFS_3 },	   { "v3", GR_NFS_3 },
	{ "NFS3", GR_NFS_3 },	   { "NFSv3", GR_NFS_3 },
	{ "4.0", GR_NFS_4(0) },	   { "v4.0", GR_NFS_4(0) },
	{ "NFS4.0", GR_NFS_4(0) }, { "NFSv4.0", GR_NFS_4(0) },
	{ "4.1", GR_NFS_4(1) },	   { "v4.1", GR_NFS_4(1) },
	{ "NFS4.1", GR_NFS_4(1) }, { "NFSv4.1", GR_NFS_4(1) },
	{ "4.2", GR_NFS_4(2) },	   { "v4.2", GR_NFS_4(2) },
	{ "NFS4.2", GR_NFS_4(2) }, { "NFSv4.2", GR_NFS_4(2) },
	{ "ALL", GR_NFS_ALL },	   { NULL, 0 },
};

/* The defaults are those of the RDMA block. */
const struct gsh_config_item gr_dialect_items[] = {
	{ .name = "NFS_RDMA_Port",
	  .type = GSH_CONFIG_UINT16,
	  .u.u16 = { .min = 1, .max = UINT16_MAX, .def = 20049 },
	  OFF(port) },
	{ .name = "NFS_RDMA_Protocol_Versions",
	  .type = GSH_CONFIG_LIST,
	  .u.lst = { .def = GR_NFS_ALL,
		     .mask = GR_NFS_ALL,
		     .tokens = versions,
		     .set_off = UINT32_MAX },
	  OFF(nfs_versions) },
	{ .name = "RPC_Max_RDMA_Connections",
	  .type = GSH_CONFIG_UINT32,
	  .u.u32 = { .min = 1, .max = 1024, .def = 1024 },
	  OFF(rt.max_connections) },
	{ .name = "MaxRPCRdmaCredits",
	  .type = GSH_CONFIG_UINT32,
	  .u.u32 = { .min = 1, .max = RT_CREDITS_MAX, .def = 64 },
	  OFF(rt.credits) },
	{ .name = NULL },
};

bool gr_dialect_is_native(void)
{
	return dlsym(RTLD_DEFAULT, "rpc_rdma_ncreatef");
}

void gr_dialect_block(const struct gr_config *cfg, char *text, size_t room)
{
	snprintf(text, room,
		 "RDMA { Port = %u; Credits = %u; Max_Connections = %u; }",
		 cfg->port, cfg->rt.credits, cfg->rt.max_connections);
}

void gr_dialect_versions(uint32_t set, char *text, size_t room)
{
	static const char *const names[] = { "3", "4.0", "4.1", "4.2" };
	size_t n = 0;

	*text = '\0';
	for (unsigned int i = 0; i < 4 && n < room; i++)
		if (set >> i & 1)
			n += (size_t)snprintf(text + n, room - n, "%s%s",
					      n ? ", " : "", names[i]);
}
