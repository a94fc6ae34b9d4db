/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * logs - the LOG block: what keeps Ganesha from starting
 *
 * To read it is to log where it says, which may be the log of a server that runs. So
 * Ganesha's own description of the block is taken, from the call by which it would
 * have it read, and it is read with that but without what comes of it.
 */
#include "ganesha/logs.h"

#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ganesha/config/config.h"

#define MAX_ITEMS 32
/* More than what Ganesha reads it into. */
#define LOGGER_SIZE 1024

/* What a facility writes to, which it does for good; a file may be another one. */
enum kind { STREAM, SYSLOG, TO_FILE };

struct known {
	struct known *next;
	const char *name; /* Ganesha's, until the block has been read */
	enum kind kind;
	const struct gsh_config_node *node; /* NULL: Ganesha has it by itself */
};

/* What the block is read into: as Ganesha has it, and what is wanted here. */
struct reading {
	_Alignas(max_align_t) char logger[LOGGER_SIZE]; /* Ganesha's; the first */
	char facilities; /* only its address: the item Facility, as it is here */
	const struct gsh_config_block *theirs;
	const struct gsh_config_item *facility; /* of theirs */
	struct known *known; /* those that the block has so far */
};

bool gr_logs_take(struct gr_logs *l, const struct gsh_config_block *block)
{
	if (!l->asking || strcmp(block->desc.name, "LOG"))
		return false;
	l->theirs = block;
	return true;
}

static const char *text_of(const struct gsh_config_item *facility,
			   const void *self, const char *name)
{
	const struct gsh_config_item *i =
		gr_config_find(facility->u.blk.params, name);

	return i ? *(const char *const *)((const char *)self + i->off) : NULL;
}

static enum kind kind_of(const char *to)
{
	if (!strcasecmp(to, "STDERR") || !strcasecmp(to, "STDOUT"))
		return STREAM;
	return strcasecmp(to, "SYSLOG") ? TO_FILE : SYSLOG;
}

/* NULL: there is none yet. */
static const struct known *known_of(const struct reading *r, const char *name)
{
	/* FILE is that of the option -L, with which the packages start it. */
	static const struct known own[] = {
		{ .name = "STDERR", .kind = STREAM },
		{ .name = "STDOUT", .kind = STREAM },
		{ .name = "SYSLOG", .kind = SYSLOG },
		{ .name = "FILE", .kind = TO_FILE }
	};

	for (const struct known *k = r->known; k; k = k->next)
		if (!strcasecmp(k->name, name))
			return k;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcasecmp(own[i].name, name))
			return &own[i];
	return NULL;
}

static void remember(struct reading *r, const char *name, enum kind kind,
		     const struct gsh_config_node *node)
{
	struct known *k = malloc(sizeof(*k));

	if (!k)
		return;
	*k = (struct known){ r->known, name, kind, node };
	r->known = k;
}

static void forget(struct reading *r)
{
	struct known *k;

	while ((k = r->known)) {
		r->known = k->next;
		free(k);
	}
}

/* Why Ganesha would not make a file there; NULL: it would. */
static const char *file_fault(const char *to)
{
	char path[PATH_MAX];

	if (!*to)
		return "it is empty";
	if (snprintf(path, sizeof(path), "%s", to) >= PATH_MAX)
		return strerror(ENAMETOOLONG);
	return access(dirname(path), W_OK) ? strerror(errno) : NULL;
}

/* That facility has the name already, and another kind of destination. */
static void complain_of(const struct known *k, const char *name, const char *to,
			const void *node, struct gsh_config_errors *e)
{
	static const char *const what[] = {
		[STREAM] = "STDERR or STDOUT, and cannot be changed to this",
		[SYSLOG] = "syslog, and cannot be set again",
		[TO_FILE] = "a file, so that this is the name of a file too",
	};
	char where[PATH_MAX + 32] = "one of Ganesha's own";

	if (k->node)
		snprintf(where, sizeof(where), "the one at %s:%d",
			 k->node->filename ? k->node->filename : "",
			 k->node->line);
	gr_complain(node, e,
		    "log facility %.64s: destination %.256s: %s has this name: "
		    "it logs to %s: give this one another name",
		    name, to, where, what[k->kind]);
}

/* In the order in which Ganesha looks. False: it has been said what is wrong. */
static bool is_good(const struct known *k, const char *name, const char *to,
		    const void *node, struct gsh_config_errors *e)
{
	enum kind kind = kind_of(to);
	const char *fault = NULL;

	if (!*name)
		fault = "the name is empty";
	else if (kind == TO_FILE || (k && k->kind == TO_FILE))
		fault = file_fault(to);
	if (fault) {
		gr_complain(node, e,
			    "log facility %.64s: destination %.256s: %s: "
			    "correct it",
			    name, to, fault);
		return false;
	}
	if (!k || (k->kind == kind && kind != SYSLOG))
		return true;
	complain_of(k, name, to, node, e);
	return k->kind == TO_FILE;
}

static struct reading *reading_of(void *facilities)
{
	return (void *)((char *)facilities -
			offsetof(struct reading, facilities));
}

/* Where Ganesha has its facilities. */
static void *place_of(struct reading *r)
{
	return r->logger + r->facility->off;
}

static void *facility_init(void *link_mem, void *self)
{
	struct reading *r = reading_of(link_mem ? link_mem : self);
	const struct gsh_config_item *f = r->facility;

	if (link_mem)
		return f->u.blk.init(place_of(r), self);
	return f->u.blk.init(NULL, place_of(r)) ? self : NULL;
}

static int facility_read(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e)
{
	struct reading *r = reading_of(link_mem);
	const char *name = text_of(r->facility, self, "name");
	const char *to = text_of(r->facility, self, "destination");
	const struct known *k;
	int errors;

	/* That one is missing Ganesha's tells. */
	if (!name || !to)
		return r->facility->u.blk.commit(node, place_of(r), self, e);
	k = known_of(r, name);
	/* What Ganesha's has taken it keeps, so that is for good ones. */
	if (!is_good(k, name, to, node, e)) {
		e->resource = true;
		return 1;
	}
	errors = r->facility->u.blk.commit(node, place_of(r), self, e);
	if (!errors && !k)
		remember(r, name, kind_of(to), node);
	return errors;
}

/* To free what was read is Ganesha's. */
static int logs_read(void *node, void *link_mem, void *self,
		     struct gsh_config_errors *e)
{
	struct reading *r = self;

	(void)r->theirs->desc.u.blk.init(self, self);
	return 0;
}

static const struct gsh_config_block *
ask(struct gr_logs *l, const struct gsh *g, struct gsh_config *tree)
{
	int (*read_log)(struct gsh_config *, struct gsh_config_errors *);
	struct gsh_config_errors e;

	*(void **)&read_log = dlsym(RTLD_DEFAULT, "read_log_config");
	l->theirs = NULL;
	if (!read_log || !g->init_error_type(&e))
		return NULL;
	l->asking = true;
	(void)read_log(tree, &e);
	l->asking = false;
	g->report_config_errors(&e, NULL, gr_config_silent);
	return l->theirs;
}

bool gr_logs_check(struct gr_logs *l, const struct gsh *g,
		   struct gsh_config *tree)
{
	struct gsh_config_item items[MAX_ITEMS] = { 0 };
	struct reading r = { .theirs = ask(l, g, tree) };
	const struct gsh_config_item *params;
	struct gsh_config_errors e;
	struct gsh_config_block b;
	size_t n = 0;
	bool good;

	if (!r.theirs)
		return true;
	params = r.theirs->desc.u.blk.params;
	r.facility = gr_config_find(params, "Facility");
	if (!r.facility || r.facility->type != GSH_CONFIG_BLOCK)
		return true;
	for (const struct gsh_config_item *i = params; i->name; i++) {
		if (n == MAX_ITEMS - 1)
			return true;
		items[n] = *i;
		if (i == r.facility) {
			items[n].u.blk.init = facility_init;
			items[n].u.blk.commit = facility_read;
			items[n].off = offsetof(struct reading, facilities);
		}
		n++;
	}
	if (!g->init_error_type(&e))
		return false;
	b = *r.theirs;
	b.desc.u.blk.params = items;
	b.desc.u.blk.commit = logs_read;
	g->load_config_from_parse(tree, &b, &r, true, &e);
	forget(&r);
	good = !e.invalid && !e.missing && !e.unique && !e.init && !e.resource;
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	return good;
}
