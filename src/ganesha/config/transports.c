/* SPDX-License-Identifier: BSD-3-Clause */
/* transports.h says what this is. */
#include "ganesha/config/transports.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ganesha/config/block.h"

/* What Transports has, and more that is known of an export. */
enum {
	UDP = 1,
	TCP = 2,
	RDMA = 4,
	NAMED = UDP | TCP | RDMA,
	CLIENT_WITHOUT = 8, /* that of a CLIENT block lacks RDMA */
	READ = 16,
};

static _Atomic uint8_t exports[UINT16_MAX + 1], defaults;

static uint8_t named(uint16_t id)
{
	uint8_t is = atomic_load_explicit(&exports[id], memory_order_relaxed);
	uint8_t def = atomic_load_explicit(&defaults, memory_order_relaxed);

	/* Ganesha's own root takes nothing from EXPORT_DEFAULTS. */
	if (is & READ)
		is |= def & (is & NAMED ? CLIENT_WITHOUT : 0xff);
	return is;
}

bool gr_transports_refuse(uint16_t id)
{
	uint8_t is = named(id);

	return is & CLIENT_WITHOUT || (is & NAMED && !(is & RDMA));
}

bool gr_transports_rdma_only(uint16_t id)
{
	return (named(id) & NAMED) == RDMA;
}

unsigned int gr_transports_list(bool (*is)(uint16_t id), char *text,
				size_t room)
{
	unsigned int n = 0;
	size_t len = 0;

	*text = '\0';
	for (unsigned int id = 0; id <= UINT16_MAX; id++) {
		if (!atomic_load_explicit(&exports[id], memory_order_relaxed) ||
		    !is((uint16_t)id))
			continue;
		if (len < room)
			len += (size_t)snprintf(text + len, room - len,
						n ? ", %u" : "%u", id);
		n++;
	}
	return n;
}

/* ---- Reading them -------------------------------------------------------- */

/* Of an EXPORT block, or of one in it. */
struct block {
	uint32_t id;
	uint8_t named;
	bool client_without;
};

static void *reset_named(void *link_mem, void *self)
{
	*(uint8_t *)self = 0;
	return self;
}

static int take_transport(const char *token, int term,
			  struct gsh_config_item *item, void *param, void *node,
			  struct gsh_config_errors *e)
{
	uint8_t *has = param;

	*has |= !strcasecmp(token, "RDMA") ? RDMA :
		!strcasecmp(token, "TCP")  ? TCP :
					     UDP;
	return 0;
}

static void *reset_id(void *link_mem, void *self)
{
	*(uint32_t *)self = 0;
	return self;
}

static int take_id(const char *token, int term, struct gsh_config_item *item,
		   void *param, void *node, struct gsh_config_errors *e)
{
	*(uint32_t *)param = (uint32_t)strtoul(token, NULL, 0);
	return 0;
}

/* All CLIENT blocks of an export are read into one. */
static void *client_init(void *link_mem, void *self)
{
	return self ? self : link_mem;
}

static int client_commit(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e)
{
	struct block *client = self;

	if (client->named && !(client->named & RDMA))
		client->client_without = true;
	return 0;
}

/* What there is of both blocks. */
struct export
{
	struct block block, client;
};

static uint8_t take_export(struct export *x)
{
	uint8_t is = x->block.named | READ;

	if (x->client.client_without)
		is |= CLIENT_WITHOUT;
	x->client.client_without = false;
	return is;
}

static int export_commit(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e)
{
	struct export *x = self;

	if (x->block.id <= UINT16_MAX)
		atomic_store(&exports[x->block.id], take_export(x));
	return 0;
}

static int defaults_commit(void *node, void *link_mem, void *self,
			   struct gsh_config_errors *e)
{
	atomic_store(&defaults, take_export(self) & (uint8_t)~READ);
	return 0;
}

#define TRANSPORTS(at)                                                        \
	{                                                                     \
		.name = "Transports", .type = GSH_CONFIG_PROC,                \
		.u.proc = { .init = reset_named, .handler = take_transport }, \
		.off = (at)                                                   \
	}

static const struct gsh_config_item client_items[] = {
	TRANSPORTS(offsetof(struct block, named)),
	{ .name = NULL },
};

static const struct gsh_config_item items[] = {
	{ .name = "Export_Id",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = reset_id, .handler = take_id },
	  .off = offsetof(struct export, block.id) },
	TRANSPORTS(offsetof(struct export, block.named)),
	{ .name = "Client",
	  .type = GSH_CONFIG_BLOCK,
	  .flags = GSH_CONFIG_RELAX,
	  .u.blk = { .init = client_init,
		     .params = client_items,
		     .commit = client_commit },
	  .off = offsetof(struct export, client) },
	{ .name = NULL },
};

void gr_transports_read(const struct gsh *g, gr_load_fn *load,
			struct gsh_config *tree, const char *name)
{
	bool export = !strcasecmp(name, "EXPORT");
	struct gsh_config_block block =
		gr_block("org.ganesha.nfsd.config.transports", name, items,
			 export ? export_commit : defaults_commit);
	struct gsh_config_errors e;
	struct export x = { 0 };

	if ((!export && strcasecmp(name, "EXPORT_DEFAULTS")) || !tree ||
	    !g->init_error_type(&e))
		return;
	block.desc.flags = GSH_CONFIG_RELAX; /* as often as it is there */
	if (!export)
		atomic_store(&defaults, 0);
	load(tree, &block, &x, false, &e);
	g->report_config_errors(&e, NULL, gr_block_silent);
}
