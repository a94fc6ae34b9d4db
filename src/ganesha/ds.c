/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ds - the DS blocks, of pNFS: what keeps Ganesha from starting
 *
 * Ganesha would load their FSALs, so here the same parser reads them into what has no
 * effect. Whether an FSAL takes what its block has only the FSAL knows.
 */
#include "ganesha/ds.h"

#include <string.h>

#include "ganesha/config/config.h"
#include "ganesha/fsal.h"

/* What a block is read into. */
struct block {
	uint16_t number;
	struct gr_fsal fsal;
	uint8_t *used; /* a bit for each Number */
};

/* Ganesha takes the last that it can load, but does not start where there is another. */
static bool fsal_good(const struct gr_fsal *f, const void *node,
		      struct gsh_config_errors *e)
{
	const char *what = f->found ? "which keeps Ganesha from starting" :
				      "which crashes Ganesha " GSH_VERSION;

	if (*f->missing)
		gr_complain(node, e,
			    "DS block: %s has no FSAL %.64s, %s: correct the "
			    "Name in FSAL { }, or install the package",
			    f->dir, f->missing, what);
	else if (f->nameless)
		gr_complain(node, e,
			    "DS block with an FSAL { } without a Name, %s: add "
			    "Name = ...;",
			    what);
	else if (!f->found)
		gr_complain(node, e,
			    "DS block without an FSAL, %s: add "
			    "FSAL { Name = ...; }",
			    what);
	return f->found && !f->nameless && !*f->missing;
}

static int block_read(void *node, void *link_mem, void *self,
		      struct gsh_config_errors *e)
{
	struct block *b = self;
	uint8_t bit = (uint8_t)(1u << b->number % 8);

	if (!fsal_good(&b->fsal, node, e)) {
		e->invalid = true;
		return 1;
	}
	if (b->used[b->number / 8] & bit) {
		e->exists = true;
		gr_complain(node, e,
			    "DS block: Number = %u is used twice: give each "
			    "its own",
			    b->number);
		return 1;
	}
	b->used[b->number / 8] |= bit;
	return 0;
}

bool gr_ds_check(const struct gsh *g, struct gsh_config *tree)
{
	const struct gsh_config_item items[] = {
		{ .name = "Number",
		  .type = GSH_CONFIG_UINT16,
		  .flags = GSH_CONFIG_ONCE,
		  .u.u16 = { .min = 0, .max = UINT16_MAX },
		  .off = offsetof(struct block, number) },
		gr_fsal_item(offsetof(struct block, fsal)),
		{ .name = NULL },
	};
	struct gsh_config_block ds = gr_config_block(
		"org.ganesha.nfsd.config.ds", "DS", items, block_read);
	uint8_t used[(UINT16_MAX + 1) / 8] = { 0 };
	char dir[PATH_MAX];
	struct block block = { .fsal.dir = dir, .used = used };
	struct gsh_config_errors e;
	bool good;

	if (!g->init_error_type(&e))
		return false;
	gr_fsal_dir(g, tree, dir);
	ds.desc.flags = 0; /* as often as it is there */
	g->load_config_from_parse(tree, &ds, &block, false, &e);
	good = !e.invalid && !e.exists && !e.unique && !e.init;
	g->report_config_errors(&e, NULL, g->config_errs_to_log);
	return good;
}
