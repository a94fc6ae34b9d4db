/* SPDX-License-Identifier: BSD-3-Clause */
/* block.h says what this is. */
#include "ganesha/config/block.h"

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

/* The parser hands back what it was given as @param. */
static void *block_init(void *link_mem, void *self)
{
	return self ? self : link_mem;
}

struct gsh_config_block gr_block(const char *interface, const char *name,
				 const struct gsh_config_item *items,
				 gr_commit_fn *commit)
{
	return (struct gsh_config_block){
		.dbus_interface_name = interface,
		.desc = { .name = name,
			  .type = GSH_CONFIG_BLOCK,
			  .flags = GSH_CONFIG_UNIQUE,
			  .u.blk = { .init = block_init,
				     .params = items,
				     .commit = commit } },
		.memory = GSH_MEMORY_CONFIG,
	};
}

void *gr_block_keep(void *link_mem, void *self)
{
	return self;
}

void gr_block_silent(char *msg, void *dest, struct gsh_config_errors *e)
{
}
