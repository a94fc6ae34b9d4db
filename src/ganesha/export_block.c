/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_block - EXPORT and EXPORT_DEFAULTS, as Ganesha itself reads them
 *
 * Ganesha's description of the block is in the call by which it would have it read. It
 * is read with that, but for two commits: FSAL's does nothing, and that of the block
 * itself comes after Ganesha's, which finds, last of all that it looks at before
 * there is an effect, that there is no FSAL. That is no fault here, and silent.
 *
 * An FSAL's own items are read by it, as it begins to make the export. Where that is
 * wanted, FSAL's commit is Ganesha's; and FSALs are told that their items are wrong, so
 * that they end there.
 *
 * Threads: those of export_block.h.
 */
#include "ganesha/export_block.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ganesha/config.h"
#include "ganesha/fsal.h"

#define MAX_ITEMS 64
/* More than what Ganesha reads it into, by far. */
#define EXPORT_SIZE 16384

/* What the blocks are read into where Ganesha has none; and, behind it, what the
 * commit has to know. */
struct reading {
	_Alignas(max_align_t) char none[EXPORT_SIZE];
	const struct gsh *g;
	const struct gsh_config_block *theirs;
	const struct gsh_config_item *protocols, *pseudo, *path, *fsal;
	struct gr_export_block *x;
	struct gsh_config_errors e;
};

static struct reading *reading_of(struct gsh_config_errors *e)
{
	return (void *)((char *)e - offsetof(struct reading, e));
}

/* Nothing of the log's component CONFIG, until loud(); its level till now. */
static int hush(const struct gsh *g)
{
	int *levels = g->log_level ? *g->log_level : NULL;
	int was = levels ? levels[GSH_CONFIG] : 0;

	if (levels)
		levels[GSH_CONFIG] = GSH_FATAL;
	return was;
}

static void loud(const struct gsh *g, int was)
{
	if (g->log_level && *g->log_level)
		(*g->log_level)[GSH_CONFIG] = was;
}

bool gr_export_block_take(struct gr_export_block *x, const struct gsh *g,
			  const struct gsh_config_block *block)
{
	if (!x->asking || strcmp(block->desc.name, "EXPORT"))
		return false;
	x->theirs = block;
	/* What it has to say of a fault that is none. */
	x->level = hush(g);
	return true;
}

static const struct gsh_config_block *
ask(struct gr_export_block *x, const struct gsh *g, struct gsh_config *tree,
    void (*tell)(char *msg, void *dest, struct gsh_config_errors *e))
{
	int (*read_exports)(struct gsh_config *, struct gsh_config_errors *);
	struct gsh_config_errors e;

	*(void **)&read_exports = dlsym(RTLD_DEFAULT, "ReadExports");
	x->theirs = NULL;
	if (!read_exports || !g->init_error_type(&e))
		return NULL;
	x->asking = true;
	(void)read_exports(tree, &e);
	x->asking = false;
	if (x->theirs)
		loud(g, x->level);
	/* Of the defaults, which it has read. */
	g->report_config_errors(&e, NULL, tell);
	return x->theirs;
}

static const struct gsh_config_item *find(const struct gsh_config_item *items,
					  const char *name)
{
	for (; items->name; items++)
		if (!strcasecmp(items->name, name))
			return items;
	return NULL;
}

static const void *value(const void *self, const struct gsh_config_item *i)
{
	return (const char *)self + i->off;
}

static int fsal_read(void *node, void *link_mem, void *self,
		     struct gsh_config_errors *e)
{
	const struct reading *r = reading_of(e);
	const char *export = (const char *)link_mem - r->fsal->off;

	/* Ganesha does not ask whether there is a Path. */
	if (r->x->items && *(char *const *)value(export, r->path))
		(void)r->fsal->u.blk.commit(node, link_mem, self, e);
	e->dispose = true; /* Ganesha frees what was read */
	return 0;
}

static void tell_items(const struct gr_export_block *x, const struct gsh *g,
		       struct gsh_config_errors *e)
{
	int hushed = hush(g);

	loud(g, x->items_level);
	g->report_config_errors(e, NULL, g->config_errs_to_log);
	loud(g, hushed);
}

int gr_export_block_node(struct gr_export_block *x, const struct gsh *g,
			 gsh_node_fn *read, void *node,
			 const struct gsh_config_block *block, void *param,
			 bool unique)
{
	struct gsh_config_errors e;

	if (!g->init_error_type(&e))
		return -1;
	(void)read(node, block, param, unique, &e);
	tell_items(x, g, &e);
	gr_fsal_ask(x->tree, &x->asked);
	return -1;
}

int gr_export_block_parse(struct gr_export_block *x, const struct gsh *g,
			  struct gsh_config *tree,
			  const struct gsh_config_block *block, void *param,
			  bool unique, struct gsh_config_errors *e)
{
	struct gsh_config_errors own;
	int n;

	/* It goes no further with a block that is wrong. */
	e->invalid = true;
	e->errors++;
	if (!g->init_error_type(&own))
		return -1;
	n = g->load_config_from_parse(tree, block, param, unique, &own);
	tell_items(x, g, &own);
	return n;
}

/* Nothing comes of it. */
static int items_read(void *node, void *link_mem, void *self,
		      struct gsh_config_errors *e)
{
	e->dispose = true;
	return 0;
}

static void *export_init(void *link_mem, void *self)
{
	struct reading *r = link_mem;

	/* Of all blocks, of one, and of its end. */
	return r ? r->theirs->desc.u.blk.init(NULL, self) : self;
}

/* Ganesha's own commit of it: is the missing FSAL all that it finds? */
static bool is_good(struct reading *r, void *node, void *self,
		    struct gsh_config_errors *e)
{
	struct gsh_config_errors only = *e;
	bool good;
	int level;

	only.invalid = only.missing = only.validate = only.exists = false;
	only.resource = only.internal = false;
	level = hush(r->g);
	good = r->theirs->desc.u.blk.commit(node, NULL, self, &only) == 1 &&
	       only.validate && !only.invalid && !only.missing &&
	       !only.exists && !only.resource && !only.internal;
	loud(r->g, level);
	return good;
}

static int export_read(void *node, void *link_mem, void *self,
		       struct gsh_config_errors *e)
{
	struct reading *r = link_mem;
	uint32_t had = *(const uint32_t *)value(self, r->protocols), has;

	if (!is_good(r, node, self, e))
		/* It says why. */
		return r->theirs->desc.u.blk.commit(node, NULL, self, e);
	has = *(const uint32_t *)value(self, r->protocols);
	if (has != had && !*(char *const *)value(self, r->pseudo))
		gr_complain(node, e,
			    "EXPORT without a Pseudo is not served by NFSv4: "
			    "give it one");
	else if (has != had)
		gr_complain(node, e,
			    "EXPORT with a protocol that is not among the "
			    "Protocols of NFS_Core_Param is not served by it");
	e->dispose = true;
	return 0;
}

/* Ganesha's items with our commit for FSAL. False: they are not as they are known. */
static bool take_items(struct reading *r, struct gsh_config_item *to)
{
	const struct gsh_config_item *theirs = r->theirs->desc.u.blk.params;
	size_t n = 0;

	r->protocols = find(theirs, "Protocols");
	r->pseudo = find(theirs, "Pseudo");
	r->path = find(theirs, "Path");
	r->fsal = find(theirs, "FSAL");
	if (!r->fsal || r->fsal->type != GSH_CONFIG_BLOCK || !r->protocols ||
	    !r->pseudo || !r->path)
		return false;
	for (const struct gsh_config_item *i = theirs; i->name; i++) {
		if (n == MAX_ITEMS - 1 || i->off > EXPORT_SIZE - 256)
			return false;
		to[n] = *i;
		if (i == r->fsal)
			to[n].u.blk.commit = fsal_read;
		n++;
	}
	to[n] = (struct gsh_config_item){ .name = NULL };
	return true;
}

static void read_all(struct gr_export_block *x, const struct gsh *g,
		     struct gsh_config *tree,
		     int (*commit)(void *node, void *link_mem, void *self,
				   struct gsh_config_errors *e),
		     void (*tell)(char *msg, void *dest,
				  struct gsh_config_errors *e))
{
	struct gsh_config_item items[MAX_ITEMS];
	struct gsh_config_block b;
	struct reading *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	r->x = x;
	r->g = g;
	r->theirs = ask(x, g, tree, tell);
	if (!r->theirs || !take_items(r, items) || !g->init_error_type(&r->e))
		goto out;
	b = *r->theirs;
	b.desc.u.blk.init = export_init;
	b.desc.u.blk.params = items;
	b.desc.u.blk.commit = commit;
	g->load_config_from_parse(tree, &b, r, false, &r->e);
	g->report_config_errors(&r->e, NULL, tell);
out:
	free(r);
}

void gr_export_block_check(struct gr_export_block *x, const struct gsh *g,
			   struct gsh_config *tree)
{
	read_all(x, g, tree, export_read, g->config_errs_to_log);
}

void gr_export_block_items(struct gr_export_block *x, const struct gsh *g,
			   struct gsh_config *tree)
{
	static const int quiet[] = { GSH_FSAL, GSH_EXPORT, GSH_INIT };

	for (size_t i = 0; g->log_level && i < sizeof(quiet) / sizeof(*quiet);
	     i++)
		(*g->log_level)[quiet[i]] = GSH_FATAL;
	x->items_level = hush(g);
	x->items = true;
	x->tree = tree;
	x->asked = 0;
	read_all(x, g, tree, items_read, gr_config_silent);
	x->items = false;
	loud(g, x->items_level);
}
