/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/config/exports.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What is known of an export: what its Transports has, and more. */
enum {
	UDP = 1,
	TCP = 2,
	RDMA = 4,
	TRANSPORTS = UDP | TCP | RDMA,
	CLIENT_LACKS_RDMA = 8, /* Transports of one of its CLIENT blocks */
	FROM_FILE = 16, /* there is a block of it */
};

static _Atomic uint8_t exports[UINT16_MAX + 1], defaults;
static atomic_uint expected; /* blocks of the file that was counted last */

static uint8_t export_of(uint16_t id)
{
	uint8_t bits = atomic_load_explicit(&exports[id], memory_order_relaxed);
	uint8_t def = atomic_load_explicit(&defaults, memory_order_relaxed);

	/* An export that has no Transports takes those of EXPORT_DEFAULTS, and each also
	 * has the CLIENT blocks there. The root that Ganesha makes itself, which no block
	 * describes, takes nothing. */
	if (bits & FROM_FILE)
		bits |= def & (bits & TRANSPORTS ? CLIENT_LACKS_RDMA : 0xff);
	return bits;
}

bool gr_exports_lacks_rdma(uint16_t id)
{
	uint8_t bits = export_of(id);

	return bits & CLIENT_LACKS_RDMA ||
	       (bits & TRANSPORTS && !(bits & RDMA));
}

bool gr_exports_rdma_only(uint16_t id)
{
	return (export_of(id) & TRANSPORTS) == RDMA;
}

unsigned int gr_exports_list(bool (*match)(uint16_t id), char *text,
			     size_t room)
{
	unsigned int n = 0;
	size_t len = 0;

	*text = '\0';
	for (unsigned int id = 0; id <= UINT16_MAX; id++) {
		if (!exports[id] || !match((uint16_t)id))
			continue;
		if (len < room)
			len += (size_t)snprintf(text + len, room - len,
						n ? ", %u" : "%u", id);
		n++;
	}
	return n;
}

/* ---- Reading the blocks -------------------------------------------------- */

#define WORD 16

/* The parser reads all blocks of a name into one of these, one after the other, and calls the
 * commit after each. The items' init and take_transports() clear what the next must not see. */
struct block {
	char id[WORD], xprtsec[WORD];
	uint8_t transports;
	struct {
		uint8_t transports;
		bool lacks_rdma; /* this one or another one of the block */
	} client;
	/* What the commit needs. */
	const struct gsh *gsh;
	const char *name;
	struct gr_exports *count;
};

/* The init of an item: clear a number of 8 bits, or a text. */
static void *clear_item(void *link_mem, void *self)
{
	*(char *)self = '\0';
	return self;
}

static int store_word(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	snprintf(param, WORD, "%s", token);
	return 0;
}

static int add_transport(const char *token, int term,
			 struct gsh_config_item *item, void *param, void *node,
			 struct gsh_config_errors *e)
{
	uint8_t *has = param;

	*has |= !strcasecmp(token, "RDMA") ? RDMA :
		!strcasecmp(token, "TCP")  ? TCP :
					     UDP;
	return 0;
}

static int commit_client(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e)
{
	struct block *b = self;

	if (b->client.transports && !(b->client.transports & RDMA))
		b->client.lacks_rdma = true;
	return 0;
}

#define ITEM(nm, handle, member)                                     \
	{                                                            \
		.name = (nm), .type = GSH_CONFIG_PROC,               \
		.u.proc = { .init = clear_item, .handler = handle }, \
		.off = offsetof(struct block, member)                \
	}

static const struct gsh_config_item client_items[] = {
	ITEM("Transports", add_transport, client.transports),
	{ .name = NULL },
};

static const struct gsh_config_item items[] = {
	ITEM("Export_Id", store_word, id),
	ITEM("XprtSec", store_word, xprtsec),
	ITEM("Transports", add_transport, transports),
	{ .name = "Client",
	  .type = GSH_CONFIG_BLOCK,
	  .flags = GSH_CONFIG_RELAX,
	  .u.blk = { .init = gr_block_init,
		     .params = client_items,
		     .commit = commit_client } },
	{ .name = NULL },
};

/* Returns the bits of the table for the block, which is then ready for the next one. */
static uint8_t take_transports(struct block *b)
{
	uint8_t bits = b->transports |
		       (b->client.lacks_rdma ? CLIENT_LACKS_RDMA : 0);

	b->client.lacks_rdma = false;
	return bits;
}

static int commit_export(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e)
{
	struct block *b = self;
	/* Ganesha's default is 1. */
	unsigned long id = *b->id ? strtoul(b->id, NULL, 0) : 1;
	uint8_t bits = take_transports(b) | FROM_FILE;

	if (id <= UINT16_MAX)
		atomic_store(&exports[id], bits);
	return 0;
}

static int commit_defaults(void *node, void *link_mem, void *self,
			   struct gsh_config_errors *e)
{
	atomic_store(&defaults, take_transports(self));
	return 0;
}

void gr_exports_read(const struct gsh *g, gr_load_fn *load,
		     struct gsh_config *tree, const char *name)
{
	struct block b = { 0 };

	if (!strcasecmp(name, "EXPORT")) {
		gr_block_peek(g, load, tree, name, items, commit_export, &b);
	} else if (!strcasecmp(name, "EXPORT_DEFAULTS")) {
		if (tree)
			atomic_store(&defaults, 0);
		gr_block_peek(g, load, tree, name, items, commit_defaults, &b);
	}
}

void gr_exports_read_file(const struct gsh *g, struct gsh_config *tree)
{
	gr_exports_read(g, g->load_config_from_parse, tree, "EXPORT_DEFAULTS");
	gr_exports_read(g, g->load_config_from_parse, tree, "EXPORT");
}

/* ---- What Ganesha has made of them --------------------------------------- */

/* By Ganesha's function, or the one of hook/ that stands before it. */
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

static int commit_count(void *node, void *link_mem, void *self,
			struct gsh_config_errors *e)
{
	((struct block *)self)->count->blocks++;
	return 0;
}

unsigned int gr_exports_served(void)
{
	unsigned int n = 0;

	for (unsigned int id = 0; id <= UINT16_MAX; id++)
		n += exports[id] & FROM_FILE && is_served((uint16_t)id);
	return n;
}

unsigned int gr_exports_expected(void)
{
	return atomic_load(&expected);
}

void gr_exports_count(const struct gsh *g, struct gsh_config *tree,
		      struct gr_exports *x)
{
	struct block b = { .count = x };

	*x = (struct gr_exports){ 0 };
	gr_block_peek(g, g->load_config_from_parse, tree, "EXPORT", items,
		      commit_count, &b);
	atomic_store(&expected, x->blocks);
	x->served = gr_exports_served();
}

static int commit_warn(void *node, void *link_mem, void *self,
		       struct gsh_config_errors *e)
{
	const struct block *b = self;

	if (COMPAT_RELEASE >= 1502 && *b->xprtsec &&
	    strcasecmp(b->xprtsec, "none") != 0)
		gsh_log(b->gsh, GSH_WARN,
			"%s%s%s: XprtSec = %s refuses clients by RDMA, which has no TLS",
			b->name, *b->id ? " " : "", b->id, b->xprtsec);
	return 0;
}

void gr_exports_warn(const struct gsh *g, struct gsh_config *tree)
{
	static const char *const names[] = { "EXPORT_DEFAULTS", "EXPORT" };

	for (unsigned int i = 0; i < 2; i++) {
		struct block b = { .gsh = g, .name = names[i] };

		gr_block_peek(g, g->load_config_from_parse, tree, names[i],
			      items, commit_warn, &b);
	}
}
