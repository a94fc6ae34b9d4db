/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/text.h"
#include "rpcrdma/fabric.h"
#include "ganesha/config/dialect.h"

static void print_tokens(FILE *f, const struct gsh_config_token *t,
			 uint32_t value, bool list)
{
	const char *comma = "";

	for (; t->token; t++) {
		/* The word for an empty set stands alone. */
		if (list && t->value ? !(value & t->value) : value != t->value)
			continue;
		fprintf(f, "%s%s", comma, t->token);
		comma = ", ";
	}
}

static void print_value(FILE *f, const struct gr_setting *s, const void *value)
{
	const struct gsh_config_item *item = &s->item;
	const char *text;

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
	case GSH_CONFIG_PATH:
		text = *(const char *const *)value;
		fprintf(f, "\"%s\"", text ? text : "");
		break;
	default:
		if (s->step)
			gr_size_print(f, value, s->width);
		else
			s->print(f, value);
		break;
	}
}

/* Returns true for a setting without a line of its own, or whose value the parser would not
 * accept. */
static bool is_hidden(const struct gr_setting *s, const struct gr_config *cfg)
{
	switch (s->item.off) {
	case offsetof(struct gr_config, host_share):
		return !cfg->host_share_given;
	case offsetof(struct gr_config, service_type):
		return !cfg->service_type_given;
	case offsetof(struct gr_config, bind):
		return !cfg->bind.n;
	case offsetof(struct gr_config, rt.allow):
		return !cfg->rt.allow.n;
	case offsetof(struct gr_config, devices):
		return !*cfg->devices.names;
	default:
		return s->hidden;
	}
}

static void print_setting(FILE *f, const struct gr_setting *s,
			  const struct gr_config *cfg)
{
	if (is_hidden(s, cfg))
		return;
	fprintf(f, "\t%s = ", s->item.name);
	print_value(f, s, gr_setting_value(s, cfg));
	fputs(";\n", f);
}

static void print_debug(FILE *f, const struct gr_config *cfg)
{
	bool any = false;

	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		if (s->block != GR_RDMA_DEBUG || !gr_setting_is_changed(s, cfg))
			continue;
		if (!any)
			fputs("RDMA_Debug {\n", f);
		any = true;
		print_setting(f, s, cfg);
	}
	if (any)
		fputs("}\n", f);
}

/* Format a size, rounded down: in MiB, or in KiB if it is small. */
static const char *mib_text(uint64_t size, char *text, size_t room)
{
	if (size >= 10u << 20 || (size && !(size & ((1u << 20) - 1))))
		snprintf(text, room, "%" PRIu64 " MiB", size >> 20);
	else
		snprintf(text, room, "%" PRIu64 " KiB", size >> 10);
	return text;
}

/* Print the memory that connections need, and how many fit into Max_Memory, without shared
 * Receives, which not all devices have. */
static void print_memory(FILE *f, const struct gr_config *cfg,
			 const struct rt_config *rt)
{
	uint64_t usable = rt->max_memory - rt->max_memory / RT_POOL_RESERVE;
	uint64_t of_host = rt->max_memory / 4;
	size_t each = gr_config_receives(cfg);
	unsigned int host = rt->max_host_connections;
	char one[32], all[32];

	host = MIN(host, rt->max_connections);
	/* The first connection is always admitted (transport/flow/account.c). */
	of_host = MIN(MAX(of_host, rt->max_host_memory), usable);
	if (host > of_host / each)
		host = of_host / each ? (unsigned int)(of_host / each) : 1;
	fprintf(f, "# One client host may have %u connection%s and %s.\n", host,
		host == 1 ? "" : "s",
		mib_text(rt->max_host_memory, one, sizeof(one)));
	fprintf(f,
		"# A connection needs %s of receive buffers, and %u of them %s.\n",
		mib_text(each, one, sizeof(one)), rt->max_connections,
		mib_text((uint64_t)each * rt->max_connections, all,
			 sizeof(all)));
	fprintf(f, "# Max_Memory limits all registered memory: %s.\n",
		mib_text(rt->max_memory, all, sizeof(all)));
	if (usable / each < rt->max_connections)
		fprintf(f,
			"# That is enough for at most %" PRIu64
			" connections at once.\n",
			usable / each);
	if (cfg->shared.on && cfg->shared.max && cfg->provider != GR_IWARP)
		fprintf(f,
			"# A device with shared receive queues takes %s for all "
			"of its connections together instead.\n",
			mib_text(cfg->shared.max * (each / (rt->credits +
							    RT_CREDIT_BEYOND)),
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
	for (const struct gr_setting *s = gr_settings; s->item.name; s++)
		if (s->block == GR_RDMA)
			print_setting(f, s, &cfg);
	fputs("}\n", f);
	print_debug(f, &cfg);
	if (!cfg.bind.n)
		fprintf(f,
			"# No Bind_Addr: port %u at the addresses where NFS is "
			"served over TCP.\n",
			cfg.port);
	if (!cfg.rt.allow.n)
		fputs("# No Allow: any address may connect.\n", f);
	if (!*cfg.devices.names && cfg.provider != GR_IWARP)
		fputs("# No Device: all RDMA devices.\n", f);
	if (!cfg.service_type_given)
		fputs("# No Service_Type: that of the system.\n", f);
	if (!cfg.host_share_given && !cfg.rt.max_host_connections)
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
	if (cfg.dialect_ignored)
		fputs("# What NFS_Core_Param says of RDMA has no effect beside the RDMA block.\n",
		      f);
	gr_dialect_versions(cfg.nfs_versions, text, sizeof(text));
	if (cfg.dialect && cfg.nfs_versions != GR_NFS_ALL)
		fprintf(f,
			"# By RDMA, NFS is served in the versions %s only.\n",
			text);
}

void gr_setting_text(const struct gr_setting *s, const struct gr_config *cfg,
		     char text[GR_SETTING_ROOM])
{
	FILE *f = is_hidden(s, cfg) ? NULL :
				      fmemopen(text, GR_SETTING_ROOM, "w");

	snprintf(text, GR_SETTING_ROOM, "not set");
	if (!f)
		return;
	print_value(f, s, gr_setting_value(s, cfg));
	if (fclose(f))
		base_cut(text, GR_SETTING_ROOM);
}

/* Print what the file must have for @value. The parser takes sizes and some addresses in quotes
 * only. */
static void print_given(FILE *f, const struct gr_setting *s, const char *value)
{
	const char *quote = s->item.type == GSH_CONFIG_PROC ? "\"" : "";
	const char *comma = "";

	fprintf(f, "\t%s = ", s->item.name);
	do {
		size_t n = strcspn(value, ",");
		size_t blank = strspn(value, " ");

		blank = MIN(blank, n);
		fprintf(f, "%s%s%.*s%s", comma, quote, (int)(n - blank),
			value + blank, quote);
		comma = ", ";
		value += n;
	} while (*value++);
	fputs(";\n", f);
}

void gr_config_print_with(FILE *f, const struct gr_config *given,
			  const struct gr_setting *set, const char *value)
{
	static const struct {
		enum gr_setting_block block;
		const char *name;
	} blocks[] = { { GR_RDMA, "RDMA" }, { GR_RDMA_DEBUG, "RDMA_Debug" } };
	struct gr_config cfg = *given;
	struct rt_config rt;

	gr_config_transport(&cfg, &rt);
	cfg.shared.max = rt.max_shared_receives;
	for (unsigned int i = 0; i < 2; i++) {
		fprintf(f, "%s {\n", blocks[i].name);
		for (const struct gr_setting *s = gr_settings; s->item.name;
		     s++)
			if (s->block == blocks[i].block &&
			    strcmp(s->item.name, set->item.name))
				print_setting(f, s, &cfg);
		if (set->block == blocks[i].block)
			print_given(f, set, value);
		fputs("}\n", f);
	}
}

/* Returns true if gr_config_print() would print the setting differently. */
static bool differs(const struct gr_setting *s, const struct gr_config *a,
		    const struct gr_config *b)
{
	const struct gr_config *of[] = { a, b };
	char *text[2] = { NULL, NULL };
	bool same = true;

	for (unsigned int i = 0; i < 2; i++) {
		size_t len;
		FILE *f = open_memstream(&text[i], &len);

		if (!f)
			continue;
		print_setting(f, s, of[i]);
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
	unsigned int n = 0;

	for (const struct gr_setting *s = gr_settings; s->item.name; s++)
		if (differs(s, a, b))
			fprintf(f, "%s%s", n++ ? ", " : "", s->item.name);
	if (a->nfs_versions != b->nfs_versions)
		fprintf(f, "%sNFS_RDMA_Protocol_Versions", n++ ? ", " : "");
	return n;
}
