/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_print - what an RDMA block means, item by item
 *
 * Threads: Ganesha's main thread only.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/addr.h"
#include "rpcrdma/fabric.h"
#include "ganesha/config/dialect.h"

static void print_tokens(FILE *f, const struct gsh_config_token *t,
			 uint32_t value, bool list)
{
	const char *comma = "";

	for (; t->token; t++) {
		/* In a list the word for nothing stands alone. */
		if (list && t->value ? !(value & t->value) : value != t->value)
			continue;
		fprintf(f, "%s%s", comma, t->token);
		comma = ", ";
	}
}

static void print_addrs(FILE *f, const struct gr_addrs *a)
{
	char text[BASE_ADDR_TEXT];

	for (unsigned int i = 0; i < a->n; i++) {
		const char *quote;

		base_addr_text((const struct sockaddr *)&a->addr[i], text,
			       sizeof(text));
		/* The parser takes '%' in quotes only. */
		quote = strchr(text, '%') ? "\"" : "";
		fprintf(f, "%s%s%s%s", i ? ", " : "", quote, text, quote);
	}
}

/* As it may be given: with a unit it must be in quotes. */
static void print_size(FILE *f, const void *at)
{
	const char *quote;
	char text[24];

	gr_size_text(*(const uint64_t *)at, text, sizeof(text));
	quote = strpbrk(text, "KMG") ? "\"" : "";
	fprintf(f, "%s%s%s", quote, text, quote);
}

/* An item with a handler of its own is known by where its value goes. */
static void print_proc(FILE *f, const struct gsh_config_item *item,
		       const struct gr_config *cfg)
{
	size_t off = item->off;
	static const char *const crc[] = {
		[FAB_CRC_AUTO] = "auto", [FAB_CRC_ON] = "true", [FAB_CRC_OFF] = "false"
	};

	if (gr_size_of(item->name))
		print_size(f, (const char *)cfg + off);
	else if (off == offsetof(struct gr_config, shared) && cfg->shared.on &&
		 cfg->shared.max)
		fprintf(f, "%" PRIu32, cfg->shared.max);
	else if (off == offsetof(struct gr_config, shared))
		fputs(cfg->shared.on ? "true" : "false", f);
	else if (off == offsetof(struct gr_config, bind))
		print_addrs(f, &cfg->bind);
	else if (off == offsetof(struct gr_config, crc))
		fputs(crc[cfg->crc], f);
}

static void print_item(FILE *f, const struct gsh_config_item *item,
		       const struct gr_config *cfg)
{
	const char *at = (const char *)cfg + item->off;
	const void *value = at;

	fprintf(f, "\t%s = ", item->name);
	switch (item->type) {
	case GSH_CONFIG_BOOL:
		fputs(*(const bool *)value ? "true" : "false", f);
		break;
	case GSH_CONFIG_UINT16:
		fprintf(f, "%" PRIu16, *(const uint16_t *)value);
		break;
	case GSH_CONFIG_UINT32:
		fprintf(f, "%" PRIu32, *(const uint32_t *)value);
		break;
	case GSH_CONFIG_TOKEN:
	case GSH_CONFIG_LIST:
		print_tokens(f, item->u.lst.tokens, *(const uint32_t *)value,
			     item->type == GSH_CONFIG_LIST);
		break;
	case GSH_CONFIG_STRING:
	case GSH_CONFIG_PATH: {
		const char *text = *(const char *const *)value;

		fprintf(f, "\"%s\"", text ? text : "");
		break;
	}
	default:
		print_proc(f, item, cfg);
		break;
	}
	fputs(";\n", f);
}

/* Has it another value than where the file does not have it? */
static bool is_set(const struct gsh_config_item *item,
		   const struct gr_config *cfg)
{
	const void *at = (const char *)cfg + item->off;

	switch (item->type) {
	case GSH_CONFIG_BOOL:
		return *(const bool *)at != item->u.b;
	case GSH_CONFIG_UINT32:
		return *(const uint32_t *)at != item->u.u32.def;
	default:
		return *(const uint64_t *)at != gr_size_of(item->name)->def;
	}
}

static void print_debug(FILE *f, const struct gr_config *cfg)
{
	bool any = false;

	for (const struct gsh_config_item *item = gr_debug_items; item->name;
	     item++) {
		if (!is_set(item, cfg))
			continue;
		if (!any)
			fputs("RDMA_Debug {\n", f);
		any = true;
		print_item(f, item, cfg);
	}
	if (any)
		fputs("}\n", f);
}

/* Not printed: what stands for another item, or would not be read again. */
static bool is_silent(const struct gsh_config_item *item,
		      const struct gr_config *cfg)
{
	switch (item->off) {
	case offsetof(struct gr_config, required_said):
	case offsetof(struct gr_config, host_share_said):
		return true;
	case offsetof(struct gr_config, host_share):
		return !cfg->host_share_said;
	case offsetof(struct gr_config, bind):
		/* An empty one is no address at all to the parser. */
		return !cfg->bind.n;
	default:
		return false;
	}
}

/* Rounded down: a small one that is not whole MiB in KiB. */
static const char *about(uint64_t size, char *text, size_t room)
{
	if (size >= 10u << 20 || (size && !(size & ((1u << 20) - 1))))
		snprintf(text, room, "%" PRIu64 " MiB", size >> 20);
	else
		snprintf(text, room, "%" PRIu64 " KiB", size >> 10);
	return text;
}

/* What connections take, and where Max_Memory is not enough for them. Without
 * shared Receives: a device may have none. */
static void print_memory(FILE *f, const struct gr_config *cfg,
			 const struct rt_config *rt)
{
	uint64_t usable = rt->max_memory - rt->max_memory / RT_POOL_RESERVE;
	uint64_t of_host = rt->max_memory / 4;
	size_t each = gr_config_receives(cfg);
	unsigned int host = rt->max_host_connections;
	char one[32], all[32];

	host = MIN(host, rt->max_connections);
	/* As account.c has it: the first is always admitted. */
	of_host = MIN(MAX(of_host, rt->max_host_memory), usable);
	if (host > of_host / each)
		host = of_host / each ? (unsigned int)(of_host / each) : 1;
	fprintf(f, "# One client host may have %u connection%s and %s.\n", host,
		host == 1 ? "" : "s",
		about(rt->max_host_memory, one, sizeof(one)));
	fprintf(f,
		"# A connection needs %s of receive buffers, and %u of them %s.\n",
		about(each, one, sizeof(one)), rt->max_connections,
		about((uint64_t)each * rt->max_connections, all, sizeof(all)));
	fprintf(f, "# Max_Memory limits all registered memory: %s.\n",
		about(rt->max_memory, all, sizeof(all)));
	if (usable / each < rt->max_connections)
		fprintf(f,
			"# That is enough for at most %" PRIu64
			" connections at once.\n",
			usable / each);
	if (cfg->shared.on && cfg->shared.max && cfg->provider != GR_IWARP)
		fprintf(f,
			"# A device with shared receive queues takes %s for all "
			"of its connections together instead.\n",
			about(cfg->shared.max *
				      (each / (rt->credits + RT_CREDIT_BEYOND)),
			      one, sizeof(one)));
}

void gr_config_print(FILE *f, const struct gr_config *given)
{
	struct gr_config cfg = *given;
	struct rt_config rt;

	char text[64];

	gr_config_transport(&cfg, &rt);
	cfg.shared.max = rt.max_shared_receives;
	if (cfg.dialect)
		fputs("# No RDMA block: this one is made of what NFS_Core_Param says of RDMA.\n",
		      f);
	fputs("RDMA {\n", f);
	for (const struct gsh_config_item *item = gr_config_items; item->name;
	     item++)
		if (!is_silent(item, &cfg))
			print_item(f, item, &cfg);
	fputs("}\n", f);
	print_debug(f, &cfg);
	if (!cfg.bind.n)
		fprintf(f,
			"# No Bind_Addr: port %u at the addresses where NFS is "
			"served over TCP.\n",
			cfg.port);
	if (!cfg.host_share_said && !cfg.rt.max_host_connections)
		fprintf(f,
			rt.max_host_connections < rt.max_connections ?
				"# No Max_Host_Share: %u %%, but at least 64 "
				"connections if its share of Max_Memory holds "
				"them.\n" :
				"# No Max_Host_Share: %u %% of Max_Memory; "
				"Max_Connections is too small to share.\n",
			cfg.host_share);
	if (cfg.provider == GR_AUTO)
		fputs("# Provider: verbs if an RDMA device has each address "
		      "that is served (for 0.0.0.0 and [::] any will do), else "
		      "iwarp.\n",
		      f);
	print_memory(f, &cfg, &rt);
	if (cfg.auth == RT_AUTH_REQUIRED && (cfg.rt.versions & 1u << 1))
		fputs("# Host_Authentication = required: version 1 is "
		      "refused.\n",
		      f);
	if (!cfg.enable)
		fputs("# Enable = false: RDMA is not served.\n", f);
	if (cfg.words_ignored)
		fputs("# What NFS_Core_Param says of RDMA has no effect beside the RDMA block.\n",
		      f);
	gr_dialect_versions(cfg.nfs_versions, text, sizeof(text));
	if (cfg.dialect && cfg.nfs_versions != GR_NFS_ALL)
		fprintf(f,
			"# By RDMA, NFS is served in the versions %s only.\n",
			text);
}

/* As gr_config_print() has them. */
static bool differs(const struct gsh_config_item *item,
		    const struct gr_config *a, const struct gr_config *b)
{
	const struct gr_config *of[] = { a, b };
	char *text[2] = { NULL, NULL };
	bool same = true;

	for (unsigned int i = 0; i < 2; i++) {
		size_t len;
		FILE *f = open_memstream(&text[i], &len);

		if (!f)
			continue;
		if (!is_silent(item, of[i]))
			print_item(f, item, of[i]);
		fclose(f);
	}
	if (text[0] && text[1])
		same = !strcmp(text[0], text[1]);
	free(text[0]);
	free(text[1]);
	return !same;
}

unsigned int gr_config_differences(FILE *f, const struct gr_config *a,
				   const struct gr_config *b)
{
	const struct gsh_config_item *const tables[] = { gr_config_items,
							 gr_debug_items,
							 gr_old_items };
	unsigned int n = 0;

	for (unsigned int t = 0; t < 3; t++)
		for (const struct gsh_config_item *i = tables[t]; i->name; i++)
			if (differs(i, a, b))
				fprintf(f, "%s%s", n++ ? ", " : "", i->name);
	if (a->nfs_versions != b->nfs_versions)
		fprintf(f, "%sNFS_RDMA_Protocol_Versions", n++ ? ", " : "");
	return n;
}
