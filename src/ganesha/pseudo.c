/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pseudo - which EXPORT blocks have a Pseudo, by their Export_Id
 *
 * Threads: whichever of Ganesha's reads the file.
 */
#include "ganesha/pseudo.h"

#include <stdlib.h>
#include <string.h>

#include "ganesha/config.h"

#define NO_ID UINT32_MAX

/* What a block is read into. */
struct block {
	uint32_t id;
	bool placed;
	struct gr_pseudo *p;
};

static void *id_init(void *link_mem, void *self)
{
	if (self)
		*(uint32_t *)self = NO_ID;
	return self;
}

/* What is no number Ganesha refuses, and that block alone. */
static int id_take(const char *token, int term, struct gsh_config_item *item,
		   void *param, void *node, struct gsh_config_errors *e)
{
	char *end;
	unsigned long id = strtoul(token, &end, 0);

	if (end != token && !*end && id < GR_EXPORT_IDS)
		*(uint32_t *)param = (uint32_t)id;
	return 0;
}

static void *pseudo_init(void *link_mem, void *self)
{
	if (self)
		*(bool *)self = false;
	return self;
}

static int pseudo_take(const char *token, int term,
		       struct gsh_config_item *item, void *param, void *node,
		       struct gsh_config_errors *e)
{
	*(bool *)param = true;
	return 0;
}

static const struct gsh_config_item items[] = {
	{ .name = "Export_Id",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = id_init, .handler = id_take },
	  .off = offsetof(struct block, id) },
	{ .name = "Pseudo",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = pseudo_init, .handler = pseudo_take },
	  .off = offsetof(struct block, placed) },
	{ .name = NULL },
};

static int block_read(void *node, void *link_mem, void *self,
		      struct gsh_config_errors *e)
{
	struct block *b = self;

	if (b->id < GR_EXPORT_IDS) {
		b->p->named[b->id / 8] |= (uint8_t)(1 << b->id % 8);
		if (b->placed)
			b->p->placed[b->id / 8] |= (uint8_t)(1 << b->id % 8);
	}
	return 0;
}

void gr_pseudo_read(const struct gsh *g, struct gsh_config *tree,
		    struct gr_pseudo *p)
{
	struct gsh_config_block exports = gr_config_block(
		"org.ganesha.nfsd.config.pseudo", "EXPORT", items, block_read);
	struct block block = { .p = p };
	struct gsh_config_errors e;

	memset(p, 0, sizeof(*p));
	if (!tree || !g->init_error_type(&e))
		return;
	exports.desc.flags = 0; /* as often as it is there */
	g->load_config_from_parse(tree, &exports, &block, false, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
}

int gr_pseudo_lost(const struct gr_pseudo *was, const struct gr_pseudo *now)
{
	for (int id = 0; id < GR_EXPORT_IDS; id++) {
		unsigned int bit = 1u << id % 8;

		if (was->placed[id / 8] & now->named[id / 8] &
		    ~now->placed[id / 8] & bit)
			return id;
	}
	return -1;
}
