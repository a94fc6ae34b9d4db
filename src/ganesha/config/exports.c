/* SPDX-License-Identifier: BSD-3-Clause */
/* exports.h says what this is. */
#include "ganesha/config/exports.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ganesha/config/block.h"

#define WORD 16

struct block {
	char id[WORD], required[WORD];
	const struct gsh *gsh;
	const char *name;
	struct gr_exports *count;
	uint8_t seen[(UINT16_MAX + 1) / 8];
};

static void *reset(void *link_mem, void *self)
{
	*(char *)self = '\0';
	return self;
}

static int take(const char *token, int term, struct gsh_config_item *item,
		void *param, void *node, struct gsh_config_errors *e)
{
	snprintf(param, WORD, "%s", token);
	return 0;
}

/* Of blocks with one number Ganesha takes the first. */
static bool is_first(struct block *b, uint16_t id)
{
	uint8_t bit = (uint8_t)(1u << id % 8);
	bool first = !(b->seen[id / 8] & bit);

	b->seen[id / 8] |= bit;
	return first;
}

static bool is_served(uint16_t id)
{
	void *(*get)(uint16_t id);
	void (*put)(void *export, bool config, const char *file, int line,
		    const char *function);
	void *export;

	*(void **)&get = dlsym(RTLD_DEFAULT, "get_gsh_export");
	*(void **)&put = dlsym(RTLD_DEFAULT, "_put_gsh_export");
	export = get && put ? get(id) : NULL;
	if (export)
		put(export, false, __FILE__, __LINE__, __func__);
	return export;
}

static int count(void *node, void *link_mem, void *self,
		 struct gsh_config_errors *e)
{
	struct block *b = self;
	/* Ganesha's default is 1. */
	uint16_t id = (uint16_t)(*b->id ? atoi(b->id) : 1);

	b->count->blocks++;
	b->count->served += is_first(b, id) && is_served(id);
	return 0;
}

static int warn(void *node, void *link_mem, void *self,
		struct gsh_config_errors *e)
{
	struct block *b = self;

	if (COMPAT_RELEASE >= 1502 && *b->required &&
	    strcasecmp(b->required, "none") != 0)
		gsh_log(b->gsh, GSH_WARN,
			"%s%s%s: XprtSec = %s refuses clients by RDMA, which has no TLS",
			b->name, *b->id ? " " : "", b->id, b->required);
	return 0;
}

#define WORD_ITEM(word, member)                               \
	{                                                     \
		.name = (word), .type = GSH_CONFIG_PROC,      \
		.u.proc = { .init = reset, .handler = take }, \
		.off = offsetof(struct block, member)         \
	}

static void each(const struct gsh *g, struct gsh_config *tree, const char *name,
		 int (*commit)(void *node, void *link_mem, void *self,
			       struct gsh_config_errors *e),
		 struct gr_exports *x)
{
	static const struct gsh_config_item items[] = {
		WORD_ITEM("Export_Id", id),
		WORD_ITEM("XprtSec", required),
		{ .name = NULL },
	};
	struct gsh_config_block block = gr_block(
		"org.ganesha.nfsd.config.exports", name, items, commit);
	struct block b = { .gsh = g, .name = name, .count = x };
	struct gsh_config_errors e;

	if (!tree || !g->init_error_type(&e))
		return;
	block.desc.flags = 0; /* as often as it is there */
	g->load_config_from_parse(tree, &block, &b, false, &e);
	g->report_config_errors(&e, NULL, gr_block_silent);
}

void gr_exports_count(const struct gsh *g, struct gsh_config *tree,
		      struct gr_exports *x)
{
	*x = (struct gr_exports){ 0 };
	each(g, tree, "EXPORT", count, x);
}

void gr_exports_warn(const struct gsh *g, struct gsh_config *tree)
{
	each(g, tree, "EXPORT_DEFAULTS", warn, NULL);
	each(g, tree, "EXPORT", warn, NULL);
}
