/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsal_load - the FSALs of EXPORT blocks, for what they say of their items
 *
 * Ganesha loads an FSAL so that it finds Ganesha's functions before any that stand
 * before them (RTLD_DEEPBIND), and finds those that are loaded already as its own. So
 * they are loaded here, as long as Ganesha takes them for a part of the program.
 *
 * Threads: those of check.h.
 */
#include "ganesha/fsal.h"

#include <dlfcn.h>
#include <strings.h>

#include "ganesha/config/config.h"

/* These read their items first of all, in 4.3 and 6.5; PROXY_V4, GLUSTER and CEPH by
 * their source. */
static const char *const known[] = { "VFS", "MEM", "PROXY_V4", "GLUSTER",
				     "CEPH" };
#define KNOWN (sizeof(known) / sizeof(*known))

struct block {
	struct gr_fsal fsal;
	bool loaded;
};

static int block_read(void *node, void *link_mem, void *self,
		      struct gsh_config_errors *e)
{
	struct block *b = self;
	char path[GR_FSAL_PATH];

	gr_fsal_path(&b->fsal, path);
	for (size_t i = 0; i < KNOWN; i++)
		if (b->fsal.found && !strcasecmp(b->fsal.name, known[i]) &&
		    dlopen(path, RTLD_NOW | RTLD_LOCAL))
			b->loaded = true;
	return 0;
}

bool gr_fsal_load(const struct gsh *g, struct gsh_config *tree)
{
	const struct gsh_config_item items[] = {
		gr_fsal_item(offsetof(struct block, fsal)),
		{ .name = NULL },
	};
	struct gsh_config_block exports = gr_config_block(
		"org.ganesha.nfsd.config.exports", "EXPORT", items, block_read);
	char dir[PATH_MAX];
	struct block b = { .fsal.dir = dir };
	struct gsh_config_errors e;

	if (!g->init_error_type(&e))
		return false;
	gr_fsal_dir(g, tree, dir);
	exports.desc.flags = GSH_CONFIG_RELAX; /* as often as it is there */
	g->load_config_from_parse(tree, &exports, &b, false, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
	return b.loaded;
}

void gr_fsal_ask(struct gsh_config *tree, unsigned int *asked)
{
	struct gsh_fsal_module *(*lookup)(const char *), *m;
	struct gsh_config_errors e = { 0 };

	*(void **)&lookup = dlsym(RTLD_DEFAULT, "lookup_fsal");
	for (unsigned int i = 0; lookup && i < KNOWN; i++) {
		m = *asked & 1u << i ? NULL : lookup(known[i]);
		if (!m)
			continue;
		*asked |= 1u << i;
		/* By way of gr_export_block_parse(). */
		(void)m->init_config(m, tree, &e);
	}
}
