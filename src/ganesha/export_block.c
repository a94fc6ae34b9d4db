/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_block - EXPORT and EXPORT_DEFAULTS, as Ganesha itself reads them
 *
 * Ganesha's description of the block is in the call by which it would have it read. It
 * is read with that, but for two commits: FSAL's only looks whether there is one that
 * could serve the Path, and that of the block itself comes after Ganesha's, which finds,
 * last of all that it looks at before there is an effect, that there is no FSAL. That is
 * no fault here, and silent.
 *
 * An FSAL's own items are read by it, as it begins to make the export. Where that is
 * wanted, FSAL's commit is Ganesha's; and FSALs are told that their items are wrong, so
 * that they end there.
 *
 * Threads: those of export_block.h.
 */
#include "ganesha/export_block.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ganesha/admits.h"
#include "ganesha/config/config.h"
#include "ganesha/fsal.h"
#include "ganesha/made.h"

#define MAX_ITEMS 64
/* More than what Ganesha reads it into, by far. */
#define EXPORT_SIZE 16384

/* What the blocks are read into where Ganesha has none; and, behind it, what the
 * commit has to know. */
struct reading {
	_Alignas(max_align_t) char none[EXPORT_SIZE];
	const struct gsh *g;
	const struct gsh_config_block *theirs;
	const struct gsh_config_item *protocols, *pseudo, *path, *fsal_item,
		*id;
	const struct gsh_config_item *tag, *name; /* the FSAL's */
	const struct gsh_config_item *client, *access, *client_access;
	struct gr_export_block *x;
	struct gsh_config_errors e;
	uint32_t nfs4; /* the bit of that among its Protocols */
	bool nfs4_by_default;
	char dir[PATH_MAX]; /* of FSALs */
	const void *of; /* the export whose FSAL was read last */
	bool good; /* and it can be made, */
	bool useless; /* though nobody can use it, */
	char fsal[64]; /* by this one */
	/* It has a CLIENT; one lets somebody in; one has no Access_Type. */
	bool clients, admits, inherits;
	struct gr_admits by_default;
	unsigned int loaded; /* gr_fsal_wary() of those that are */
	struct gr_made made;
	unsigned int found;
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
	if (x->asking && !strcmp(block->desc.name, "EXPORT_DEFAULTS"))
		x->defaults = block;
	if (!x->asking || strcmp(block->desc.name, "EXPORT"))
		return false;
	x->theirs = block;
	/* What it has to say of a fault that is none. */
	x->level = hush(g);
	return true;
}

/* *@left: what Ganesha has against the file from then on. */
static const struct gsh_config_block *
ask(struct gr_export_block *x, const struct gsh *g, struct gsh_config *tree,
    void (*tell)(char *msg, void *dest, struct gsh_config_errors *e),
    struct gsh_config_errors *left)
{
	int (*read_exports)(struct gsh_config *, struct gsh_config_errors *);
	struct gsh_config_errors e;

	*(void **)&read_exports = dlsym(RTLD_DEFAULT, "ReadExports");
	x->theirs = x->defaults = NULL;
	if (!read_exports || !g->init_error_type(&e))
		return NULL;
	x->asking = true;
	(void)read_exports(tree, &e);
	x->asking = false;
	if (x->theirs)
		loud(g, x->level);
	*left = e;
	/* Of the defaults, which it has read. */
	g->report_config_errors(&e, NULL, tell);
	return x->theirs;
}

static const void *value(const void *self, const struct gsh_config_item *i)
{
	return (const char *)self + i->off;
}

static char *text(const void *self, const struct gsh_config_item *i)
{
	return *(char *const *)value(self, i);
}

static int refuse(void *node, struct gsh_config_errors *e, const char *fault)
{
	gr_complain(node, e, "EXPORT is not served: %s", fault);
	return 1;
}

static int client_read(void *node, void *link_mem, void *self,
		       struct gsh_config_errors *e)
{
	struct reading *r = reading_of(e);

	r->clients = true;
	r->admits |= gr_admits_any(self, r->client_access);
	r->inherits |= !gr_admits_is_set(self, r->client_access);
	return r->client->u.blk.commit(node, link_mem, self, e);
}

/* Why an export lets nobody in, or NULL. What says so of itself, and is not only passed
 * on to a CLIENT, is meant. */
static const char *admits_nobody(const struct reading *r, const void *self)
{
	if (r->clients ? r->admits : r->by_default.client)
		return NULL;
	if (!gr_admits_is_set(self, r->access))
		return r->by_default.all ?
			       NULL :
			       "EXPORT without an Access_Type lets no client "
			       "in: add Access_Type = RW (or RO), here or in a "
			       "CLIENT block";
	if (r->inherits && !gr_admits_any(self, r->access))
		return "EXPORT lets no client in: its Access_Type, None, holds "
		       "for a CLIENT block that has none, too: add Access_Type "
		       "= RW (or RO) there";
	return NULL;
}

/* As far as Ganesha's, which makes the export; with the same flags. */
static int fsal_check(struct reading *r, const char *export, const char *name,
		      void *node, struct gsh_config_errors *e)
{
	char fault[GR_MADE_FAULT];
	const char *path = text(export, r->path);
	unsigned int wary = name ? gr_fsal_wary(name) : 0;

	r->of = export;
	if (!name || !*name) {
		e->missing = true;
		return refuse(node, e, "FSAL { } has no Name: add one");
	}
	if (!gr_fsal_is_there(r->dir, name) || !strcasecmp(name, "MDCACHE")) {
		e->fsal = true;
		if (r->good) {
			/* Ganesha makes it all the same. */
			gr_complain(node, e, "%.200s has no FSAL %.64s", r->dir,
				    name);
			return 1;
		}
		snprintf(fault, sizeof(fault),
			 "%.200s has no FSAL %.64s: correct the Name in FSAL { "
			 "}, or install the package",
			 r->dir, name);
		return refuse(node, e, fault);
	}
	if (wary && !(r->loaded & wary) && !gsh_harmless(e)) {
		e->fsal = true;
		snprintf(
			fault, sizeof(fault),
			"FSAL %.64s does not load after a fault above: correct "
			"that first",
			name);
		return refuse(node, e, fault);
	}
	r->loaded |= wary;
	if (path && !gr_made_path(name, path, &r->useless, fault)) {
		(void)refuse(node, e, fault);
		if (!r->useless) {
			e->cur_exp_create_err = true;
			return 1;
		}
	}
	snprintf(r->fsal, sizeof(r->fsal), "%s", name);
	r->good = true;
	return 0;
}

static int fsal_read(void *node, void *link_mem, void *self,
		     struct gsh_config_errors *e)
{
	struct reading *r = reading_of(e);
	const char *export = (const char *)link_mem - r->fsal_item->off;
	int errors = 0;

	if (!r->x->items)
		errors = fsal_check(r, export, text(self, r->name), node, e);
	/* Ganesha does not ask whether there is a Path. */
	else if (text(export, r->path))
		(void)r->fsal_item->u.blk.commit(node, link_mem, self, e);
	e->dispose = true; /* Ganesha frees what was read */
	return errors;
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

	if (r && !self) {
		r->of = NULL;
		r->good = r->useless = false;
		r->clients = r->admits = r->inherits = false;
	}
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

static bool serves_nfs4(const struct reading *r, const void *self)
{
	uint32_t has = *(const uint32_t *)value(self, r->protocols);
	uint32_t set = *(const uint32_t *)((const char *)self +
					   r->protocols->u.lst.set_off);

	return set & r->nfs4 ? has & r->nfs4 : r->nfs4_by_default;
}

/* What Ganesha's looks at where there is an FSAL. */
static int make(struct reading *r, void *node, void *self,
		struct gsh_config_errors *e)
{
	struct gr_made_export x = {
		.node = node,
		.id = *(const uint16_t *)value(self, r->id),
		.nfs4 = serves_nfs4(r, self),
		.useless = r->useless,
		.path = text(self, r->path),
		.pseudo = text(self, r->pseudo),
		.tag = text(self, r->tag),
		.fsal = r->fsal,
	};
	char fault[GR_MADE_FAULT];

	if (r->of != self || !r->good) {
		e->validate = true;
		if (r->of != self)
			gr_complain(node, e,
				    "EXPORT without an FSAL is not served: add "
				    "FSAL { Name = ...; }");
		return 1;
	}
	if (!gr_made_add(&r->made, &x, fault)) {
		e->invalid = true;
		return refuse(node, e, fault);
	}
	r->found += !r->useless;
	return 0;
}

static int export_read(void *node, void *link_mem, void *self,
		       struct gsh_config_errors *e)
{
	struct reading *r = link_mem;
	uint32_t had = *(const uint32_t *)value(self, r->protocols), has;
	const char *nobody;
	int errors;

	/* Ganesha frees it then, whatever is returned. */
	e->dispose = true;
	if (!is_good(r, node, self, e)) {
		/* It says why. */
		errors = r->theirs->desc.u.blk.commit(node, NULL, self, e);
		gr_complain(node, e, "EXPORT is not served, as said above");
		return errors;
	}
	has = *(const uint32_t *)value(self, r->protocols);
	errors = make(r, node, self, e);
	if (errors)
		return errors;
	if (has != had && !text(self, r->pseudo))
		gr_complain(node, e,
			    "EXPORT without a Pseudo is not served by NFSv4: "
			    "give it one");
	else if (has != had)
		gr_complain(node, e,
			    "EXPORT with a protocol that is not among the "
			    "Protocols of NFS_Core_Param: it is served by the "
			    "others");
	nobody = admits_nobody(r, self);
	if (nobody)
		gr_complain(node, e, "%s", nobody);
	return 0;
}

/* Ganesha's items with our commit for FSAL. False: they are not as they are known. */
static bool take_items(struct reading *r, struct gsh_config_item *to)
{
	const struct gsh_config_item *theirs = r->theirs->desc.u.blk.params;
	size_t n = 0;

	r->protocols = gr_config_find(theirs, "Protocols");
	r->pseudo = gr_config_find(theirs, "Pseudo");
	r->path = gr_config_find(theirs, "Path");
	r->fsal_item = gr_config_find(theirs, "FSAL");
	r->id = gr_config_find(theirs, "Export_Id");
	r->tag = gr_config_find(theirs, "Tag");
	r->client = gr_config_find(theirs, "Client");
	r->access = gr_config_find(theirs, "Access_Type");
	if (!r->fsal_item || r->fsal_item->type != GSH_CONFIG_BLOCK ||
	    !r->protocols || r->protocols->type != GSH_CONFIG_LIST ||
	    !r->pseudo || !r->path || !r->id || !r->tag || !r->client ||
	    r->client->type != GSH_CONFIG_BLOCK || !r->access)
		return false;
	r->name = gr_config_find(r->fsal_item->u.blk.params, "Name");
	for (const struct gsh_config_token *t = r->protocols->u.lst.tokens;
	     t->token; t++)
		if (!strcmp(t->token, "4"))
			r->nfs4 = t->value;
	r->client_access =
		gr_config_find(r->client->u.blk.params, "Access_Type");
	if (!r->name || !r->nfs4 || !r->client_access)
		return false;
	for (const struct gsh_config_item *i = theirs; i->name; i++) {
		if (n == MAX_ITEMS - 1 || i->off > EXPORT_SIZE - 256)
			return false;
		to[n] = *i;
		if (i == r->fsal_item)
			to[n].u.blk.commit = fsal_read;
		else if (i == r->client)
			to[n].u.blk.commit = client_read;
		n++;
	}
	to[n] = (struct gsh_config_item){ .name = NULL };
	return true;
}

static bool read_all(struct reading *r, struct gsh_config *tree,
		     int (*commit)(void *node, void *link_mem, void *self,
				   struct gsh_config_errors *e),
		     void (*tell)(char *msg, void *dest,
				  struct gsh_config_errors *e))
{
	const struct gsh *g = r->g;
	struct gsh_config_item items[MAX_ITEMS];
	const struct gsh_config_node *node;
	struct gsh_config_errors left;
	struct gsh_config_block b;
	char fault[GR_MADE_FAULT];
	bool starts;

	r->theirs = ask(r->x, g, tree, tell, &left);
	if (!r->theirs || !take_items(r, items) || !g->init_error_type(&r->e))
		return true;
	/* The flags alone. */
	memcpy(&r->e, &left, offsetof(struct gsh_config_errors, errors));
	gr_fsal_dir(g, tree, r->dir);
	if (r->x->defaults)
		r->by_default = gr_admits_by_default(g, tree, r->x->defaults);
	b = *r->theirs;
	b.desc.u.blk.init = export_init;
	b.desc.u.blk.params = items;
	b.desc.u.blk.commit = commit;
	g->load_config_from_parse(tree, &b, r, false, &r->e);
	starts = gr_made_nested(&r->made, &node, fault);
	if (!starts)
		gr_complain(node, &r->e, "%s", fault);
	g->report_config_errors(&r->e, NULL, tell);
	return starts;
}

bool gr_export_block_check(struct gr_export_block *x, const struct gsh *g,
			   struct gsh_config *tree, bool nfs4,
			   unsigned int *served)
{
	struct reading *r = calloc(1, sizeof(*r));
	bool starts = true;

	*served = 0;
	if (!r)
		return true;
	r->x = x;
	r->g = g;
	r->nfs4_by_default = nfs4;
	starts = read_all(r, tree, export_read, g->config_errs_to_log);
	*served = r->found;
	gr_made_free(&r->made);
	free(r);
	return starts;
}

void gr_export_block_items(struct gr_export_block *x, const struct gsh *g,
			   struct gsh_config *tree)
{
	static const int quiet[] = { GSH_FSAL, GSH_EXPORT, GSH_INIT };
	struct reading *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	for (size_t i = 0; g->log_level && i < sizeof(quiet) / sizeof(*quiet);
	     i++)
		(*g->log_level)[quiet[i]] = GSH_FATAL;
	x->items_level = hush(g);
	x->items = true;
	x->tree = tree;
	x->asked = 0;
	r->x = x;
	r->g = g;
	(void)read_all(r, tree, items_read, gr_config_silent);
	x->items = false;
	loud(g, x->items_level);
	free(r);
}
