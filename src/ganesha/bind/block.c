/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/bind/block.h"

#include <stdarg.h>

void gr_block_complain(const void *node, struct gsh_config_errors *e,
		       const char *format, ...)
{
	const struct gsh_config_node *n = node;
	va_list args;

	if (!e->fp)
		return;
	fprintf(e->fp, "Config File (%s:%d): ",
		n && n->filename ? n->filename : "<unknown file>",
		n ? n->line : 0);
	va_start(args, format);
	vfprintf(e->fp, format, args);
	va_end(args);
	fputc('\f', e->fp);
}

int gr_block_accept(void *node, void *link_mem, void *self,
		    struct gsh_config_errors *e)
{
	return 0;
}

void *gr_block_init(void *link_mem, void *self)
{
	return self ? self : link_mem;
}

void *gr_block_keep(void *link_mem, void *self)
{
	return self;
}

void gr_block_silent(char *msg, void *dest, struct gsh_config_errors *e)
{
}

struct gsh_config_block gr_block(const char *name,
				 const struct gsh_config_item *items,
				 gr_commit_fn *commit)
{
	return (struct gsh_config_block){
		.dbus_interface_name = "org.ganesha.nfsd.config.rdma",
		.desc = { .name = name,
			  .type = GSH_CONFIG_BLOCK,
			  .flags = GSH_CONFIG_UNIQUE,
			  .u.blk = { .init = gr_block_init,
				     .params = items,
				     .commit = commit } },
		.memory = GSH_MEMORY_CONFIG,
	};
}

void gr_block_peek(const struct gsh *g, gr_load_fn *load,
		   struct gsh_config *tree, const char *name,
		   const struct gsh_config_item *items, gr_commit_fn *commit,
		   void *param)
{
	struct gsh_config_block block =
		gr_block(name, items, commit ? commit : gr_block_accept);
	struct gsh_config_errors e;

	if (!tree || !g->init_error_type(&e))
		return;
	block.desc.flags = GSH_CONFIG_RELAX | (commit ? 0 : GSH_CONFIG_UNIQUE);
	load(tree, &block, param, !commit, &e);
	g->report_config_errors(&e, NULL, gr_block_silent);
}
