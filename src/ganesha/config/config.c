/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - reading the blocks RDMA { } and RDMA_Debug { }
 *
 * Threads: Ganesha's main thread only, during its start.
 *
 * As everywhere in ganesha.conf an unknown parameter is reported and passed
 * over. A wrong value of a known one makes the whole block bad: with it the
 * server would not run as its operator meant. What is wrong is all told, not
 * just the first of it.
 *
 * Version 0.1 had the items of RDMA_Debug in the RDMA block. There they do what
 * they did, and each gets a line that says what to do with it.
 */
#include "ganesha/config/config.h"

#include <stdarg.h>
#include <string.h>
#include <sys/param.h>

#include "ganesha/config/dialect.h"

/* Items of a block, with those that stand for a second purpose. */
#define MAX_ITEMS 128
/* Shared Receives beyond the credits of one connection: version 2 advertises
 * two at least, and two messages more are borne. */
#define SHARED_BEYOND (2 + RT_CREDIT_BEYOND)

static int block_commit(void *node, void *link_mem, void *self,
			struct gsh_config_errors *e)
{
	((struct gr_config *)self)->node = node;
	return 0;
}

/* An item of version 0.1 in the RDMA block: what to do with it. */
static int old_take(const char *token, int term, struct gsh_config_item *item,
		    void *param, void *node, struct gsh_config_errors *e)
{
	static const struct {
		const char *name, *instead;
	} rows[] = {
		{ "Enable", "remove it; to turn RDMA off, remove the block" },
		{ "Max_Shared_Receives",
		  "remove it if it is 0, or give this number to "
		  "Shared_Receives instead" },
		{ "Max_Host_Connections",
		  "set Max_Host_Share, in percent, instead" },
		{ "Max_Host_Memory",
		  "set Max_Host_Share, in percent, instead" },
	};
	const char *instead = "remove it, as the default is good, or move it "
			      "to an RDMA_Debug block";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].name, item->name))
			instead = rows[i].instead;
	gr_complain(node, e,
		    "%s is a setting of version 0.1; it still works: %s",
		    item->name, instead);
	return 0;
}

static int debug_take(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	uint64_t *there = param;

	for (unsigned int i = 0; gr_debug_items[i].name; i++)
		if (!strcmp(gr_debug_items[i].name, item->name))
			*there |= 1ull << i;
	return 0;
}

/* Append @items at @to, and each once more with @also, if that is not NULL. */
static struct gsh_config_item *
append(struct gsh_config_item *to, const struct gsh_config_item *items,
       int (*also)(const char *, int, struct gsh_config_item *, void *, void *,
		   struct gsh_config_errors *))
{
	for (; items->name; items++) {
		*to++ = *items;
		if (!also)
			continue;
		*to++ = (struct gsh_config_item){
			.name = items->name,
			.type = GSH_CONFIG_PROC,
			.u.proc = { .init = gr_keep, .handler = also },
			.off = offsetof(struct gr_config, there),
		};
	}
	to->name = NULL;
	return to;
}

/*
 * A wrong value leaves @cfg with the others that the block has, so that these
 * can be checked as well.
 */
static enum gr_config_result load_block(const struct gsh *g,
					struct gsh_config *tree,
					const char *name,
					const struct gsh_config_item *items,
					int flags, struct gr_config *cfg)
{
	struct gsh_config_block block = gr_config_block(
		"org.ganesha.nfsd.config.rdma", name, items, block_commit);
	struct gsh_config_item good[MAX_ITEMS];
	struct gsh_config_errors e;
	int found;

	block.desc.flags |= flags;
	gr_config_sizes(items, cfg);
	if (!g->init_error_type(&e))
		return GR_CONFIG_BAD;
	found = g->load_config_from_parse(tree, &block, cfg, true, &e);
	/* Unknown parameters set only the bit named bogus: no reason to
	 * refuse. The count goes up for everything that was not taken. */
	if (found >= 0 && !e.errors && !e.scan && !e.parse && !e.init &&
	    !e.resource && !e.unique && !e.invalid && !e.missing &&
	    !e.internal) {
		g->report_config_errors(&e, NULL, g->config_errs_to_log);
		return found ? GR_CONFIG_GOOD : GR_CONFIG_ABSENT;
	}
	gr_config_faults(g, tree, &block, &e, good, cfg);
	block.desc.u.blk.params = good;
	gr_config_sizes(items, cfg);
	if (g->init_error_type(&e)) {
		g->load_config_from_parse(tree, &block, cfg, true, &e);
		g->report_config_errors(&e, NULL, gr_config_silent);
	}
	return GR_CONFIG_BAD;
}

/* What the RDMA_Debug block has comes before what the RDMA block says of the same. */
static void merge(struct gr_config *cfg, const struct gr_config *debug)
{
	for (unsigned int i = 0; gr_debug_items[i].name; i++) {
		const struct gsh_config_item *item = &gr_debug_items[i];
		size_t size = item->type == GSH_CONFIG_BOOL   ? sizeof(bool) :
			      item->type == GSH_CONFIG_UINT32 ? 4 :
								8;

		if (debug->there >> i & 1)
			memcpy((char *)cfg + item->off,
			       (const char *)debug + item->off, size);
	}
}

/* A fault of the whole block. */
__attribute__((format(printf, 3, 4))) static void
wrong(struct gr_config *cfg, struct gsh_config_errors *e, const char *format,
      ...)
{
	const struct gsh_config_node *n = cfg->node;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	e->errors++;
	gr_complain(n, e, "%s", text);
	/* The line of a block says less than that of a setting. */
	if (!*cfg->fault)
		gr_config_first(cfg, n && n->filename ? n->filename : "",
				n ? (unsigned int)n->line : 0, text);
}

/* The library takes texts of any length. */
static void check_texts(struct gr_config *cfg, struct gsh_config_errors *e)
{
	for (const struct gsh_config_item *i = gr_config_items; i->name; i++) {
		const char *const *text =
			(const void *)((const char *)cfg + i->off);

		if ((i->type != GSH_CONFIG_STRING &&
		     i->type != GSH_CONFIG_PATH) ||
		    !*text || strlen(*text) <= (size_t)i->u.str.maxsize)
			continue;
		wrong(cfg, e, "%s is text of %d bytes at most", i->name,
		      i->u.str.maxsize);
	}
}

/* A connection has memory for its Receives from its start to its end; the
 * transport keeps a part of Max_Memory for other things. Shared Receives have
 * theirs from the device. */
static void check_fits(struct gr_config *cfg, struct gsh_config_errors *e)
{
	size_t each = gr_config_receives(cfg);
	char max[24];

	if ((cfg->provider == GR_VERBS && cfg->shared.on) ||
	    each <= cfg->rt.max_memory - cfg->rt.max_memory / RT_POOL_RESERVE)
		return;
	gr_size_text(cfg->rt.max_memory, max, sizeof(max));
	wrong(cfg, e,
	      "no connection fits into Max_Memory = %s: each needs %zu MiB for "
	      "its Credits: raise Max_Memory or lower Credits%s",
	      max, (each + (1u << 20) - 1) >> 20,
	      cfg->rt.extensions & RT_EXT_RTR ? "" : " or Recv_Size");
}

/* Of what NFS_Core_Param says of RDMA. */
static void check_words(struct gr_config *cfg, struct gsh_config_errors *e)
{
	if (cfg->native_port && cfg->native_port == cfg->port)
		wrong(cfg, e,
		      "Port = %u of the RDMA block is also NFS_RDMA_Port of "
		      "NFS_Core_Param, where Ganesha serves RDMA itself: change "
		      "one of them, or take nfsrdma and rpcrdma out of Protocols",
		      cfg->port);
}

/* What single items cannot tell: do they go together? False: no. */
static bool check(const struct gsh *g, struct gr_config *cfg)
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
	check_words(cfg, &e);
	if (cfg->rt.extensions && !v2)
		wrong(cfg, &e, "Extensions needs version 2 among Versions");
	if (cfg->auth != RT_AUTH_NONE && !v2)
		wrong(cfg, &e,
		      "Host_Authentication needs version 2 among Versions");
	if (rt.max_shared_receives && rt.max_shared_receives < least)
		wrong(cfg, &e,
		      "Shared_Receives = %u: with these Credits it must be at least %u",
		      rt.max_shared_receives, least);
	if (cfg->rt.max_conn_memory < cfg->rt.max_message)
		wrong(cfg, &e,
		      "Max_Connection_Memory must hold one message of "
		      "Max_Message bytes");
	if (rt.max_host_memory < rt.max_message)
		wrong(cfg, &e,
		      "Max_Host_Memory must hold one message of Max_Message "
		      "bytes");
	/* None of these: there is no item for it. */
	fault = e.errors ? NULL : rt_config_check(&rt);
	if (fault)
		wrong(cfg, &e, "RDMA block: %s", fault);
	if (!e.errors)
		check_fits(cfg, &e);
	good = !e.errors;
	e.invalid = !good;
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	return good;
}

/* There is no RDMA block, but perhaps what stands for one. @cfg has the defaults. */
static enum gr_config_result load_words(const struct gsh *g,
					struct gsh_config *tree,
					const struct gr_words *words,
					struct gr_config *cfg)
{
	if (!words->rdma || cfg->native_port)
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
	struct gr_words words;

	memset(cfg, 0, sizeof(*cfg));
	if (!tree)
		return GR_CONFIG_ABSENT;
	append(append(append(items, gr_config_items, NULL), gr_debug_items,
		      old_take),
	       gr_old_items, old_take);
	res = load_block(g, tree, "RDMA", items, 0, cfg);
	gr_dialect_words(g, tree, &words);
	if (words.rdma && gr_dialect_is_native())
		cfg->native_port = words.port;
	if (res == GR_CONFIG_ABSENT)
		res = load_words(g, tree, &words, cfg);
	else
		cfg->words_ignored = words.rdma && !cfg->native_port;
	if (res == GR_CONFIG_ABSENT)
		return res;
	append(items, gr_debug_items, debug_take);
	more = load_block(g, tree, "RDMA_Debug", items, 0, &debug);
	merge(cfg, &debug);
	if (!*cfg->fault)
		memcpy(cfg->fault, debug.fault, sizeof(cfg->fault));
	cfg->required = cfg->required_said;
	/* A block that could not be read at all has no values to look at. */
	if ((cfg->node && !check(g, cfg)) || more == GR_CONFIG_BAD)
		res = GR_CONFIG_BAD;
	return res;
}

static uint64_t share(uint64_t of, uint64_t percent, uint64_t least)
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
	*rt = cfg->rt;
	rt->recv_size = (uint32_t)cfg->recv_size;
	rt->send_size = (uint32_t)cfg->send_size;
	rt->busy_recv_size = (uint32_t)cfg->busy_recv_size;
	rt->idle_recv_size = (uint32_t)cfg->idle_recv_size;
	rt->idle_recv_ms = cfg->idle_after * 1000;
	rt->placement_size = (uint32_t)cfg->placement_size;
	rt->no_placement = !cfg->placement_size;
	rt->max_segment_size = (uint32_t)cfg->max_segment_size;
	rt->no_remote_invalidation = !cfg->remote_invalidation;
	rt->no_continuation = !cfg->continued_replies;
	rt->first_message_ms = cfg->startup_timeout * 1000;
	rt->idle_ms = cfg->idle_timeout * 1000;
	/* 0 would be the transport's default. */
	rt->drain_ms = cfg->drain_timeout ? cfg->drain_timeout * 1000 : 1;
	rt->share_receives = cfg->shared.on;
	rt->max_shared_receives = cfg->max_shared_old ? cfg->max_shared_old :
							cfg->shared.max;
	rt->auth = (enum rt_auth_policy)cfg->auth;
	rt->auth_ms = cfg->auth_timeout * 1000;
	/* Otherwise it is a quarter, and 64 connections at least. */
	if (cfg->host_share_said && !rt->max_host_connections)
		rt->max_host_connections = (unsigned int)share(
			rt->max_connections, cfg->host_share, 1);
	if (cfg->host_share_said && !rt->max_host_memory)
		rt->max_host_memory =
			share(rt->max_memory, cfg->host_share, rt->max_message);
	rt_config_defaults(rt);
}
