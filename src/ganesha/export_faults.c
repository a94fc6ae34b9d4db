/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_faults - of EXPORT blocks, what Ganesha finds out only as it makes the exports
 *
 * Threads: those of export_faults.h.
 */
#include "ganesha/export_faults.h"

#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "ganesha/config.h"
#include "ganesha/fsal.h"

/* What a block is read into. */
struct block {
	char path[PATH_MAX], pseudo[PATH_MAX], tag[PATH_MAX]; /* or "" */
	struct gr_fsal fsal;
	void *pseudos, *tags; /* trees of texts */
};

static void *text_init(void *link_mem, void *self)
{
	if (self)
		*(char *)self = '\0';
	return self;
}

static int text_take(const char *token, int term, struct gsh_config_item *item,
		     void *param, void *node, struct gsh_config_errors *e)
{
	snprintf(param, PATH_MAX, "%s", token);
	return 0;
}

/* Ganesha leaves slashes at the end out. */
static void trim(char *path)
{
	size_t n = strlen(path);

	while (*path == '/' && n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Is @text there already? It is now. */
static bool is_second(void **tree, const char *text)
{
	char *own = *text ? strdup(text) : NULL;
	char **at = own ? tsearch(own, tree, compare) : NULL;

	if (!at || *at == own)
		return false;
	free(own);
	return true;
}

static void check_fsal(const struct block *b, void *node,
		       struct gsh_config_errors *e)
{
	if (!b->fsal.named)
		gr_complain(node, e,
			    "EXPORT without an FSAL is not served: add FSAL { "
			    "Name = ...; }");
	else if (!b->fsal.found)
		gr_complain(node, e,
			    "EXPORT is not served: %s has no FSAL %.64s: "
			    "correct the Name in FSAL { }, or install the "
			    "package",
			    b->fsal.dir, b->fsal.name);
}

static bool is_local(const struct block *b)
{
	return !strcasecmp(b->fsal.name, "VFS") ||
	       !strcasecmp(b->fsal.name, "XFS");
}

static void check_path(struct block *b, void *node, struct gsh_config_errors *e)
{
	struct stat st;

	if (!is_local(b) || *b->path != '/')
		return;
	trim(b->path);
	if (lstat(b->path, &st))
		gr_complain(node, e,
			    "EXPORT is not served: Path = %s: %s: create it or "
			    "correct it",
			    b->path, strerror(errno));
	else if (S_ISLNK(st.st_mode))
		gr_complain(node, e,
			    "EXPORT is not served: Path = %s is a symbolic "
			    "link: write what it leads to",
			    b->path);
	else if (!S_ISDIR(st.st_mode))
		gr_complain(node, e,
			    "EXPORT is not served: Path = %s is not a "
			    "directory: correct it",
			    b->path);
}

static int block_read(void *node, void *link_mem, void *self,
		      struct gsh_config_errors *e)
{
	struct block *b = self;

	check_fsal(b, node, e);
	check_path(b, node, e);
	trim(b->pseudo);
	if (is_second(&b->pseudos, b->pseudo))
		gr_complain(node, e,
			    "EXPORT is not served: Pseudo = %s is used twice: "
			    "give each its own",
			    b->pseudo);
	if (is_second(&b->tags, b->tag))
		gr_complain(node, e,
			    "EXPORT is not served: Tag = %s is used twice: "
			    "give each its own",
			    b->tag);
	return 0;
}

#define TEXT(item, member)                                             \
	{                                                              \
		.name = (item), .type = GSH_CONFIG_PROC,               \
		.u.proc = { .init = text_init, .handler = text_take }, \
		.off = offsetof(struct block, member)                  \
	}

void gr_export_faults_check(const struct gsh *g, struct gsh_config *tree)
{
	const struct gsh_config_item items[] = {
		TEXT("Path", path), TEXT("Pseudo", pseudo),
		TEXT("Tag", tag),   gr_fsal_item(offsetof(struct block, fsal)),
		{ .name = NULL },
	};
	struct gsh_config_block exports = gr_config_block(
		"org.ganesha.nfsd.config.exports", "EXPORT", items, block_read);
	struct block *b = calloc(1, sizeof(*b));
	struct gsh_config_errors e;
	char dir[PATH_MAX];

	if (!b || !g->init_error_type(&e))
		goto out;
	gr_fsal_dir(g, tree, dir);
	b->fsal.dir = dir;
	exports.desc.flags = GSH_CONFIG_RELAX; /* as often as it is there */
	g->load_config_from_parse(tree, &exports, b, false, &e);
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	tdestroy(b->pseudos, free);
	tdestroy(b->tags, free);
out:
	free(b);
}
