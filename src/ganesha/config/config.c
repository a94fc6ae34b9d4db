/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - read the blocks RDMA { } and RDMA_Debug { }
 *
 * As everywhere in ganesha.conf, an unknown setting is reported and ignored. A wrong value
 * makes the whole block bad, because the server would not run as its operator meant. All
 * faults are reported.
 *
 * Version 0.1 had the settings of RDMA_Debug in the RDMA block. They still work there, and
 * a line is logged for each that says what to do with it.
 */
#include "ganesha/config/config.h"

#include <stdarg.h>
#include <string.h>
#include <sys/param.h>

#include "ganesha/config/dialect.h"
#include "ganesha/config/fault.h"

/* Room for the items of a block, two for some settings. */
#define MAX_ITEMS 128
/* Shared Receives are so many more than the credits of one connection, at least: two that
 * version 2 always advertises, and those for messages beyond the limit. */
#define SHARED_BEYOND (2 + RT_CREDIT_BEYOND)

static int keep_node(void *node, void *link_mem, void *self,
		     struct gsh_config_errors *e)
{
	((struct gr_config *)self)->node = node;
	return 0;
}

/* A second handler of a setting of version 0.1 in the RDMA block: say what to do with it. */
static int warn_old(const char *token, int term, struct gsh_config_item *item,
		    void *param, void *node, struct gsh_config_errors *e)
{
	const char *instead = gr_setting_lookup(item->name)->instead;

	gr_block_complain(
		node, e, "%s is a setting of version 0.1; it still works: %s",
		item->name,
		instead ?
			instead :
			"remove it, as the default is good, or move it to an RDMA_Debug block");
	return 0;
}

/* A second handler of each setting of the RDMA_Debug block: note that the file has it. */
static int note_present(const char *token, int term,
			struct gsh_config_item *item, void *param, void *node,
			struct gsh_config_errors *e)
{
	uint64_t *present = param;

	*present |= 1ull << (gr_setting_lookup(item->name) - gr_settings);
	return 0;
}

/*
 * Append the settings of @block at @to, and each once more with the handler @also, if that is
 * not NULL. Returns the end, an item without a name.
 */
static struct gsh_config_item *append_items(struct gsh_config_item *to,
					    enum gr_setting_block block,
					    gr_handler_fn *also)
{
	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		if (s->block != block)
			continue;
		*to++ = s->item;
		if (!also)
			continue;
		*to++ = (struct gsh_config_item){
			.name = s->item.name,
			.type = GSH_CONFIG_PROC,
			.u.proc = { .init = gr_block_keep, .handler = also },
			.off = offsetof(struct gr_config, present),
		};
	}
	to->name = NULL;
	return to;
}

/* Set the sizes among @items to their defaults, which the parser does not know. */
static void default_sizes(const struct gsh_config_item *items,
			  struct gr_config *cfg)
{
	for (; items->name; items++) {
		const struct gr_setting *s = gr_setting_lookup(items->name);

		if (s && s->step && items->off == s->item.off)
			gr_size_set((char *)cfg + s->item.off, s->width,
				    s->def);
	}
}

/* Read block @name into @cfg. After a wrong value @cfg has the other values, so that they can be
 * checked as well. */
static enum gr_config_result load_block(const struct gsh *g,
					struct gsh_config *tree,
					const char *name,
					const struct gsh_config_item *items,
					int flags, struct gr_config *cfg)
{
	struct gsh_config_block block = gr_block(name, items, keep_node);
	struct gsh_config_item good[MAX_ITEMS];
	struct gsh_config_errors e;
	int found;

	block.desc.flags |= flags;
	default_sizes(items, cfg);
	if (!g->init_error_type(&e))
		return GR_CONFIG_BAD;
	found = g->load_config_from_parse(tree, &block, cfg, true, &e);
	/* An unknown parameter, which sets only the bit bogus, is no reason to
	 * refuse the block. */
	if (found >= 0 && !e.errors && !e.scan && !e.parse && !e.init &&
	    !e.resource && !e.unique && !e.invalid && !e.missing &&
	    !e.internal) {
		g->report_config_errors(&e, NULL, g->config_errs_to_log);
		return found ? GR_CONFIG_GOOD : GR_CONFIG_ABSENT;
	}
	gr_fault_report(g, tree, &block, &e, good, cfg);
	block.desc.u.blk.params = good;
	default_sizes(items, cfg);
	if (g->init_error_type(&e)) {
		g->load_config_from_parse(tree, &block, cfg, true, &e);
		g->report_config_errors(&e, NULL, gr_block_silent);
	}
	return GR_CONFIG_BAD;
}

/* The settings that the RDMA_Debug block has prevail over those of the RDMA block. */
static void merge(struct gr_config *cfg, const struct gr_config *debug)
{
	for (const struct gr_setting *s = gr_settings; s->item.name; s++)
		if (debug->present >> (s - gr_settings) & 1)
			memcpy((char *)cfg + s->item.off,
			       gr_setting_value(s, debug), s->width);
}

/* Report a fault of the whole block. */
__attribute__((format(printf, 3, 4))) static void
refuse_block(struct gr_config *cfg, struct gsh_config_errors *e,
	     const char *format, ...)
{
	const struct gsh_config_node *n = cfg->node;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	e->errors++;
	gr_block_complain(n, e, "%s", text);
	/* The fault of a setting is more specific. */
	if (!*cfg->fault)
		gr_fault_keep(cfg, n && n->filename ? n->filename : "",
			      n ? (unsigned int)n->line : 0, text);
}

/* The parser accepts texts of any length. */
static void check_texts(struct gr_config *cfg, struct gsh_config_errors *e)
{
	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		const char *const *text = gr_setting_value(s, cfg);

		if (s->item.type != GSH_CONFIG_STRING &&
		    s->item.type != GSH_CONFIG_PATH)
			continue;
		if (*text && strlen(*text) > (size_t)s->item.u.str.maxsize)
			refuse_block(cfg, e, "%s is text of %d bytes at most",
				     s->item.name, s->item.u.str.maxsize);
	}
}

/* Check that the Receives of one connection fit into the memory that the transport does not
 * reserve. Shared Receives belong to a device instead. */
static void check_fits(struct gr_config *cfg, struct gsh_config_errors *e)
{
	size_t each = gr_config_receives(cfg);
	char max[24];

	if ((cfg->provider == GR_VERBS && cfg->shared.on) ||
	    each <= cfg->rt.max_memory - cfg->rt.max_memory / RT_POOL_RESERVE)
		return;
	gr_size_text(cfg->rt.max_memory, max, sizeof(max));
	refuse_block(
		cfg, e,
		"no connection fits into Max_Memory = %s: each needs %zu MiB for "
		"its Credits: raise Max_Memory or lower Credits%s",
		max, (each + (1u << 20) - 1) >> 20,
		cfg->rt.extensions & RT_EXT_RTR ? "" : " or Recv_Size");
}

static void check_native_port(struct gr_config *cfg,
			      struct gsh_config_errors *e)
{
	if (cfg->native_port && cfg->native_port == cfg->port)
		refuse_block(
			cfg, e,
			"Port = %u of the RDMA block is also NFS_RDMA_Port of "
			"NFS_Core_Param, where Ganesha serves RDMA itself: change "
			"one of them, or take nfsrdma and rpcrdma out of Protocols",
			cfg->port);
}

/* Check that the settings are consistent. Returns false after reporting the faults. */
static bool check_block(const struct gsh *g, struct gr_config *cfg)
{
	bool v2 = cfg->rt.versions >> 2 & 1;
	struct gsh_config_errors e;
	struct rt_config rt;
	const char *fault;
	unsigned int least;
	bool good;

	if (!g->init_error_type(&e))
		return false;
	gr_config_transport(cfg, &rt);
	least = rt.credits + rt.reverse_credits + SHARED_BEYOND;
	check_texts(cfg, &e);
	check_native_port(cfg, &e);
	if (cfg->rt.extensions && !v2)
		refuse_block(cfg, &e,
			     "Extensions needs version 2 among Versions");
	if (cfg->auth != RT_AUTH_NONE && !v2)
		refuse_block(
			cfg, &e,
			"Host_Authentication needs version 2 among Versions");
	if (rt.max_shared_receives && rt.max_shared_receives < least)
		refuse_block(
			cfg, &e,
			"Shared_Receives = %u: with these Credits it must be at least %u",
			rt.max_shared_receives, least);
	if (cfg->rt.max_conn_memory < cfg->rt.max_message)
		refuse_block(cfg, &e,
			     "Max_Connection_Memory must hold one message of "
			     "Max_Message bytes");
	if (rt.max_host_memory < rt.max_message)
		refuse_block(
			cfg, &e,
			"Max_Host_Memory must hold one message of Max_Message "
			"bytes");
	/* The checks above name settings; this one does not. */
	fault = e.errors ? NULL : rt_config_check(&rt);
	if (fault)
		refuse_block(cfg, &e, "RDMA block: %s", fault);
	if (!e.errors)
		check_fits(cfg, &e);
	good = !e.errors;
	e.invalid = !good;
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	return good;
}

/* Without an RDMA block, read the settings of the dialect if NFS_Core_Param asks for RDMA. @cfg
 * has the defaults. */
static enum gr_config_result load_dialect(const struct gsh *g,
					  struct gsh_config *tree,
					  const struct gr_dialect *dialect,
					  struct gr_config *cfg)
{
	if (!dialect->rdma || cfg->native_port)
		return GR_CONFIG_ABSENT;
	cfg->dialect = true;
	return load_block(g, tree, "NFS_Core_Param", gr_dialect_items,
			  GSH_CONFIG_RELAX, cfg);
}

enum gr_config_result gr_config_load(const struct gsh *g,
				     struct gsh_config *tree,
				     struct gr_config *cfg)
{
	struct gsh_config_item items[MAX_ITEMS];
	enum gr_config_result res, more;
	struct gr_config debug = { 0 };
	struct gr_dialect dialect;

	memset(cfg, 0, sizeof(*cfg));
	if (!tree)
		return GR_CONFIG_ABSENT;
	append_items(append_items(append_items(items, GR_RDMA, NULL),
				  GR_RDMA_DEBUG, warn_old),
		     GR_OLD, warn_old);
	res = load_block(g, tree, "RDMA", items, 0, cfg);
	gr_dialect_read(g, tree, &dialect);
	if (dialect.rdma && gr_dialect_is_native())
		cfg->native_port = dialect.port;
	if (res == GR_CONFIG_ABSENT)
		res = load_dialect(g, tree, &dialect, cfg);
	else
		cfg->dialect_ignored = dialect.rdma && !cfg->native_port;
	if (res == GR_CONFIG_ABSENT)
		return res;
	append_items(items, GR_RDMA_DEBUG, note_present);
	more = load_block(g, tree, "RDMA_Debug", items, 0, &debug);
	merge(cfg, &debug);
	if (!*cfg->fault)
		memcpy(cfg->fault, debug.fault, sizeof(cfg->fault));
	cfg->required = cfg->required_given;
	/* A block that could not be read at all has no values to check. */
	if ((cfg->node && !check_block(g, cfg)) || more == GR_CONFIG_BAD)
		res = GR_CONFIG_BAD;
	return res;
}

/* Returns @percent of @of, but at least @least. */
static uint64_t percent_of(uint64_t of, uint64_t percent, uint64_t least)
{
	uint64_t part = of / 100 * percent + of % 100 * percent / 100;

	return MAX(part, least);
}

size_t gr_config_receives(const struct gr_config *cfg)
{
	struct rt_config rt;

	gr_config_transport(cfg, &rt);
	return rt_config_receives(&rt, false);
}

void gr_config_transport(const struct gr_config *cfg, struct rt_config *rt)
{
	struct gr_config all = *cfg;

	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		const void *value = gr_setting_value(s, cfg);

		if (s->milliseconds)
			*(unsigned int *)((char *)&all + s->milliseconds) =
				*(const uint32_t *)value * 1000;
		if (s->opposite)
			*(bool *)((char *)&all + s->opposite) =
				!*(const bool *)value;
	}
	*rt = all.rt;
	rt->no_placement = !rt->placement_size;
	/* 0 would be the transport's default. */
	rt->drain_ms = MAX(rt->drain_ms, 1u);
	rt->share_receives = cfg->shared.on;
	rt->max_shared_receives = cfg->max_shared_old ? cfg->max_shared_old :
							cfg->shared.max;
	rt->auth = (enum rt_auth_policy)cfg->auth;
	/* The transport's default is a quarter, but at least 64 connections. */
	if (cfg->host_share_given && !rt->max_host_connections)
		rt->max_host_connections = (unsigned int)percent_of(
			rt->max_connections, cfg->host_share, 1);
	if (cfg->host_share_given && !rt->max_host_memory)
		rt->max_host_memory = percent_of(
			rt->max_memory, cfg->host_share, rt->max_message);
	rt_config_defaults(rt);
}
