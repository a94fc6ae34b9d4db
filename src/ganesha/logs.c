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
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ganesha/config.h"

#define MAX_ITEMS 32
/* More than what Ganesha reads it into. */
#define LOGGER_SIZE 1024

/* What the block is read into: as Ganesha has it, and what is wanted here. */
struct reading {
	_Alignas(max_align_t) char logger[LOGGER_SIZE]; /* Ganesha's; the first */
	char facilities; /* only its address: the item Facility, as it is here */
	const struct gsh_config_block *theirs;
	const struct gsh_config_item *facility; /* of theirs */
};

bool gr_logs_take(struct gr_logs *l, const struct gsh_config_block *block)
{
	if (!l->asking || strcmp(block->desc.name, "LOG"))
		return false;
	l->theirs = block;
	return true;
}

static const struct gsh_config_item *find(const struct gsh_config_item *items,
					  const char *name)
{
	for (; items->name; items++)
		if (!strcasecmp(items->name, name))
			return items;
	return NULL;
}

static const char *text_of(const struct gsh_config_item *facility,
			   const void *self, const char *name)
{
	const struct gsh_config_item *i = find(facility->u.blk.params, name);

	return i ? *(const char *const *)((const char *)self + i->off) : NULL;
}

static bool is_stream(const char *name)
{
	return !strcasecmp(name, "STDERR") || !strcasecmp(name, "STDOUT");
}

/* What Ganesha would not make of it; NULL: nothing. It has some by these names. */
static const char *fault_of(const char *name, const char *to)
{
	char path[PATH_MAX];

	if (!*name)
		return "the name is empty";
	if (!strcasecmp(name, "SYSLOG"))
		return "that of this name cannot be set";
	if (is_stream(name))
		return is_stream(to) ? NULL :
				       "that of this name is STDERR or STDOUT";
	if (is_stream(to) || !strcasecmp(to, "SYSLOG"))
		return NULL;
	if (!*to)
		return "it is empty";
	if (snprintf(path, sizeof(path), "%s", to) >= PATH_MAX)
		return strerror(ENAMETOOLONG);
	return access(dirname(path), W_OK) ? strerror(errno) : NULL;
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
	const char *fault = name && to ? fault_of(name, to) : NULL;

	/* What Ganesha's has taken it keeps, so that is for good ones. */
	if (!fault)
		return r->facility->u.blk.commit(node, place_of(r), self, e);
	e->resource = true;
	gr_complain(node, e,
		    "log facility %.64s: destination %.256s: %s: correct it",
		    name, to, fault);
	return 1;
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
	r.facility = find(params, "Facility");
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
	good = !e.invalid && !e.missing && !e.unique && !e.init && !e.resource;
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	return good;
}
