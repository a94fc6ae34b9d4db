/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exports - of the EXPORT blocks, what can crash Ganesha or what it does not tell
 *
 * Threads: whichever of Ganesha's reads the file.
 */
#include "ganesha/exports.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ganesha/config/config.h"
#include "ganesha/fsal.h"
#include "ganesha/made.h"

#define NO_ID UINT32_MAX

/* What a block is read into. */
struct block {
	uint32_t id;
	bool path;
	bool by_rdma;
	enum { UNSAID, WITHOUT4, WITH4 } protocols;
	char pseudo[PATH_MAX]; /* "": it has none */
	struct gr_fsal fsal;
	unsigned int loaded; /* gr_fsal_wary() of those that are */
	struct gr_exports *p;
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

static void *is_there_init(void *link_mem, void *self)
{
	if (self)
		*(bool *)self = false;
	return self;
}

static int is_there_take(const char *token, int term,
			 struct gsh_config_item *item, void *param, void *node,
			 struct gsh_config_errors *e)
{
	*(bool *)param = true;
	return 0;
}

/* Called for each. Ganesha's manual has RDMA among them, its parser has not. */
static int transport_take(const char *token, int term,
			  struct gsh_config_item *item, void *param, void *node,
			  struct gsh_config_errors *e)
{
	if (!strcasecmp(token, "RDMA"))
		*(bool *)param = true;
	return 0;
}

static void *protocols_init(void *link_mem, void *self)
{
	struct block *b = self;

	if (b)
		b->protocols = UNSAID;
	return self;
}

static int protocol_take(const char *token, int term,
			 struct gsh_config_item *item, void *param, void *node,
			 struct gsh_config_errors *e)
{
	struct block *b = param;

	if (gr_config_is_version(token, '4'))
		b->protocols = WITH4;
	else if (b->protocols == UNSAID)
		b->protocols = WITHOUT4;
	return 0;
}

static void *pseudo_init(void *link_mem, void *self)
{
	if (self)
		*(char *)self = '\0';
	return self;
}

static const struct gsh_config_item items[] = {
	{ .name = "Export_Id",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = id_init, .handler = id_take },
	  .off = offsetof(struct block, id) },
	{ .name = "Pseudo",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = pseudo_init, .handler = gr_fsal_take_path },
	  .off = offsetof(struct block, pseudo) },
	{ .name = "Path",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = is_there_init, .handler = is_there_take },
	  .off = offsetof(struct block, path) },
	{ .name = "Transports",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = is_there_init, .handler = transport_take },
	  .off = offsetof(struct block, by_rdma) },
	{ .name = "Protocols",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = protocols_init, .handler = protocol_take },
	  .off = 0 },
};

static void note_place(char place[GR_EXPORT_PLACE],
		       const struct gsh_config_node *n)
{
	snprintf(place, GR_EXPORT_PLACE, "%.240s:%d",
		 n->filename ? n->filename : "", n->line);
}

/* Ganesha copies the Path for the FSAL without asking whether there is one. So it
 * passes over a block whose FSAL it cannot load. */
static void note_pathless(struct block *b, const struct gsh_config_node *n)
{
	unsigned int wary = gr_fsal_wary(b->fsal.name);
	bool deadly = b->fsal.found && (!wary || b->loaded & wary);

	if (*b->p->pathless && (b->p->deadly || !deadly))
		return;
	b->p->deadly = deadly;
	note_place(b->p->pathless, n);
}

static void keep_pseudo(struct gr_exports *p, uint32_t id, const char *path)
{
	struct gr_pseudo *more =
		reallocarray(p->pseudo, p->npseudo + 1, sizeof(*more));
	char *copy = strdup(path);

	/* Ganesha does not mind a "/" at the end. */
	for (size_t n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/';)
		copy[--n] = '\0';
	if (more)
		p->pseudo = more;
	if (!more || !copy) {
		free(copy);
		return;
	}
	p->pseudo[p->npseudo].id = id;
	p->pseudo[p->npseudo++].path = copy;
}

static int block_read(void *node, void *link_mem, void *self,
		      struct gsh_config_errors *e)
{
	struct block *b = self;

	uint8_t bit = (uint8_t)(1u << b->id % 8);

	if (b->by_rdma && !*b->p->by_rdma)
		note_place(b->p->by_rdma, node);
	if (!b->path)
		note_pathless(b, node);
	else if (b->fsal.found)
		b->loaded |= gr_fsal_wary(b->fsal.name);
	if (b->id >= GR_EXPORT_IDS)
		return 0;
	if (b->p->named[b->id / 8] & bit) {
		b->p->twice = (int)b->id;
		return 0;
	}
	b->p->named[b->id / 8] |= bit;
	if (b->protocols == WITHOUT4)
		b->p->hidden[b->id / 8] |= bit;
	else if (b->protocols == WITH4)
		b->p->with4[b->id / 8] |= bit;
	if (*b->pseudo)
		keep_pseudo(b->p, b->id, b->pseudo);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct gr_pseudo *)a)->id;
	uint32_t y = ((const struct gr_pseudo *)b)->id;

	return (x > y) - (x < y);
}

void gr_exports_read(const struct gsh *g, struct gsh_config *tree,
		     struct gr_exports *p)
{
	struct gsh_config_item all[] = {
		items[0],	  items[1],
		items[2],	  items[3],
		items[4],	  gr_fsal_item(offsetof(struct block, fsal)),
		{ .name = NULL },
	};
	struct gsh_config_block exports = gr_config_block(
		"org.ganesha.nfsd.config.exports", "EXPORT", all, block_read);
	char dir[PATH_MAX];
	struct block block = { .p = p, .fsal.dir = dir };
	struct gsh_config_errors e;

	gr_exports_free(p);
	p->twice = -1;
	if (!tree || !g->init_error_type(&e))
		return;
	gr_fsal_dir(g, tree, dir);
	exports.desc.flags = 0; /* as often as it is there */
	g->load_config_from_parse(tree, &exports, &block, false, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
	if (p->npseudo)
		qsort(p->pseudo, p->npseudo, sizeof(*p->pseudo), by_id);
}

void gr_exports_free(struct gr_exports *p)
{
	for (size_t i = 0; i < p->npseudo; i++)
		free(p->pseudo[i].path);
	free(p->pseudo);
	memset(p, 0, sizeof(*p));
}

static bool is_served(const struct gsh *g, uint32_t id)
{
	void *x = g->get_gsh_export((uint16_t)id);

	if (x)
		g->put_gsh_export(x, false, __FILE__, __LINE__, __func__);
	return x;
}

void gr_exports_served(struct gr_exports *p, const struct gsh *g)
{
	size_t n = 0;

	if (!g->get_gsh_export || !g->put_gsh_export)
		return;
	for (uint32_t id = 0; id < GR_EXPORT_IDS; id++) {
		uint8_t bit = (uint8_t)(1u << id % 8);

		if (!(p->named[id / 8] & bit) || is_served(g, id))
			continue;
		p->named[id / 8] &= (uint8_t)~bit;
		p->with4[id / 8] &= (uint8_t)~bit;
		p->hidden[id / 8] &= (uint8_t)~bit;
	}
	for (size_t i = 0; i < p->npseudo; i++) {
		uint32_t id = p->pseudo[i].id;

		if (p->named[id / 8] & 1u << id % 8)
			p->pseudo[n++] = p->pseudo[i];
		else
			free(p->pseudo[i].path);
	}
	p->npseudo = n;
}

void gr_exports_move(struct gr_exports *to, struct gr_exports *from)
{
	gr_exports_free(to);
	*to = *from;
	from->pseudo = NULL;
	from->npseudo = 0;
}

static const struct gr_pseudo *find(const struct gr_exports *p, uint32_t id)
{
	const struct gr_pseudo key = { .id = id };

	return p->npseudo ? bsearch(&key, p->pseudo, p->npseudo, sizeof(key),
				    by_id) :
			    NULL;
}

int gr_exports_lost(const struct gr_exports *was, const struct gr_exports *now)
{
	for (size_t i = 0; i < was->npseudo; i++) {
		uint32_t id = was->pseudo[i].id;

		if (now->named[id / 8] & 1u << id % 8 && !find(now, id))
			return (int)id;
	}
	return -1;
}

static bool is_nested(const struct gr_exports *p, const char *path)
{
	for (size_t i = 0; i < p->npseudo; i++)
		if (gr_made_below(path, p->pseudo[i].path))
			return true;
	return false;
}

int gr_exports_moved(const struct gr_exports *was, const struct gr_exports *now,
		     bool nested)
{
	for (size_t i = 0; i < now->npseudo; i++) {
		const struct gr_pseudo *to = &now->pseudo[i];
		const struct gr_pseudo *from = find(was, to->id);

		if (from && strcmp(from->path, to->path) &&
		    (!nested || is_nested(now, to->path)))
			return (int)to->id;
	}
	return -1;
}

int gr_exports_hidden(const struct gr_exports *was, struct gr_exports *now,
		      bool leaves)
{
	int least = -1;

	for (int i = 0; i < GR_EXPORT_IDS / 8; i++) {
		uint8_t stays = was->named[i] & now->named[i], late;

		now->hidden[i] = (now->hidden[i] & (leaves ? 0xff : ~stays)) |
				 (was->hidden[i] & stays);
		late = now->hidden[i] & now->with4[i];
		if (late && least < 0)
			least = 8 * i + __builtin_ctz(late);
	}
	return least;
}
