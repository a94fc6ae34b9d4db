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

static bool asking;
static const struct gsh_config_block *theirs;
static const struct gsh_config_item *facility; /* of theirs */

bool gr_logs_take(const struct gsh_config_block *block)
{
	if (!asking || strcmp(block->desc.name, "LOG"))
		return false;
	theirs = block;
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

static const char *text_of(const void *self, const char *name)
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

static int facility_read(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e)
{
	const char *name = text_of(self, "name");
	const char *to = text_of(self, "destination");
	const char *fault = name && to ? fault_of(name, to) : NULL;

	/* What Ganesha's has taken it keeps, so that is for good ones. */
	if (!fault)
		return facility->u.blk.commit(node, link_mem, self, e);
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
	(void)theirs->desc.u.blk.init(self, self);
	return 0;
}

static const struct gsh_config_block *ask(const struct gsh *g,
					  struct gsh_config *tree)
{
	int (*read_log)(struct gsh_config *, struct gsh_config_errors *);
	struct gsh_config_errors e;

	*(void **)&read_log = dlsym(RTLD_DEFAULT, "read_log_config");
	theirs = NULL;
	if (!read_log || !g->init_error_type(&e))
		return NULL;
	asking = true;
	(void)read_log(tree, &e);
	asking = false;
	g->report_config_errors(&e, NULL, gr_config_silent);
	return theirs;
}

bool gr_logs_check(const struct gsh *g, struct gsh_config *tree)
{
	_Alignas(max_align_t) char logger[LOGGER_SIZE] = { 0 };
	struct gsh_config_item items[MAX_ITEMS] = { 0 };
	struct gsh_config_errors e;
	struct gsh_config_block b;
	size_t n = 0;
	bool good;

	if (!ask(g, tree))
		return true;
	facility = find(theirs->desc.u.blk.params, "Facility");
	if (!facility || facility->type != GSH_CONFIG_BLOCK)
		return true;
	for (const struct gsh_config_item *i = theirs->desc.u.blk.params;
	     i->name; i++) {
		if (n == MAX_ITEMS - 1)
			return true;
		items[n] = *i;
		if (i == facility)
			items[n].u.blk.commit = facility_read;
		n++;
	}
	if (!g->init_error_type(&e))
		return false;
	b = *theirs;
	b.desc.u.blk.params = items;
	b.desc.u.blk.commit = logs_read;
	g->load_config_from_parse(tree, &b, logger, true, &e);
	good = !e.invalid && !e.missing && !e.unique && !e.init && !e.resource;
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	return good;
}
