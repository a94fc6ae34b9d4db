/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsal - which FSALs Ganesha can load
 *
 * To load one has effects, so it is only looked for. Where nothing is known of the
 * folder, it is taken for there.
 *
 * Threads: whichever of Ganesha's reads the file.
 */
#include "ganesha/fsal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ganesha/config/config.h"

static int take_name(const char *token, int term, struct gsh_config_item *item,
		     void *param, void *node, struct gsh_config_errors *e)
{
	snprintf(param, sizeof(((struct gr_fsal *)0)->name), "%s", token);
	return 0;
}

static void *no_name(void *link_mem, void *self)
{
	if (self)
		*(char *)self = '\0';
	return self;
}

static const struct gsh_config_item items[] = {
	{ .name = "Name",
	  .type = GSH_CONFIG_PROC,
	  .flags = GSH_CONFIG_ONCE,
	  .u.proc = { .init = no_name, .handler = take_name },
	  .off = offsetof(struct gr_fsal, name) },
	{ .name = NULL },
};

void gr_fsal_path(const struct gr_fsal *f, char path[GR_FSAL_PATH])
{
	int n = snprintf(path, GR_FSAL_PATH, "%s/", f->dir);

	snprintf(path + n, GR_FSAL_PATH - (size_t)n, "libfsal%s.so", f->name);
	for (char *c = path + n; *c; c++)
		*c = (char)tolower((unsigned char)*c);
}

/* Is that where they are, and nobody may look? On Debian that folder comes with the first
 * package of an FSAL; on what has not even the folder around it, they are elsewhere. */
static bool is_hidden(const char *dir)
{
	char around[] = GSH_FSALS;

	if (strcmp(dir, GSH_FSALS) || !access(dir, X_OK))
		return false;
	if (errno != ENOENT)
		return true;
	*strrchr(around, '/') = '\0';
	return access(around, F_OK);
}

static bool is_there(const struct gr_fsal *f)
{
	char path[GR_FSAL_PATH];

	/* Of Ganesha itself. */
	if (!strcasecmp(f->name, "PSEUDO") || !strcasecmp(f->name, "MDCACHE"))
		return true;
	if (is_hidden(f->dir))
		return true;
	gr_fsal_path(f, path);
	return !access(path, F_OK);
}

bool gr_fsal_is_there(const char *dir, const char *name)
{
	struct gr_fsal f = { .dir = dir };

	snprintf(f.name, sizeof(f.name), "%s", name);
	return is_there(&f);
}

unsigned int gr_fsal_wary(const char *name)
{
	static const char *const wary[] = { "MEM", "PROXY_V4", "CEPH" };

	for (unsigned int i = 0; i < sizeof(wary) / sizeof(*wary); i++)
		if (!strcasecmp(name, wary[i]))
			return 1u << i;
	return 0;
}

static int fsal_read(void *node, void *link_mem, void *self,
		     struct gsh_config_errors *e)
{
	struct gr_fsal *f = self;

	if (!*f->name) {
		f->nameless = true;
		return 0;
	}
	f->named = true;
	if (is_there(f))
		f->found = true;
	else if (!*f->missing)
		memcpy(f->missing, f->name, sizeof(f->missing));
	return 0;
}

/* Of the block around it, of this one, and of its end. */
static void *fsal_init(void *link_mem, void *self)
{
	struct gr_fsal *f = self;

	if (!f)
		return link_mem;
	if (!link_mem) {
		*f->name = *f->missing = '\0';
		f->named = f->nameless = f->found = false;
	}
	return f;
}

struct gsh_config_item gr_fsal_item(size_t off)
{
	return (struct gsh_config_item){
		.name = "FSAL",
		.type = GSH_CONFIG_BLOCK,
		.flags = GSH_CONFIG_RELAX | GSH_CONFIG_ONCE,
		.u.blk = { .init = fsal_init,
			   .params = items,
			   .commit = fsal_read },
		.off = off,
	};
}

int gr_fsal_take_path(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	snprintf(param, PATH_MAX, "%s", token);
	return 0;
}

void gr_fsal_dir(const struct gsh *g, struct gsh_config *tree,
		 char dir[PATH_MAX])
{
	static const struct gsh_config_item core[] = {
		{ .name = "Plugins_Dir",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_keep, .handler = gr_fsal_take_path },
		  .off = 0 },
		{ .name = NULL },
	};
	struct gsh_config_block block =
		gr_config_block("org.ganesha.nfsd.config.core",
				"NFS_Core_Param", core, gr_config_accept);
	struct gsh_config_errors e;

	snprintf(dir, PATH_MAX, "%s", GSH_FSALS);
	if (!g->init_error_type(&e))
		return;
	g->load_config_from_parse(tree, &block, dir, true, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
}
