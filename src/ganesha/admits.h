/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admits - whom Access_Type lets in, in EXPORT_DEFAULTS, EXPORT and CLIENT
 *
 * Without one anywhere Ganesha serves an export, and lets nobody use it. For
 * --check-config; any thread.
 */
#ifndef RPCRDMA_GANESHA_ADMITS_H
#define RPCRDMA_GANESHA_ADMITS_H

#include "ganesha/bind/gsh.h"

/* Of EXPORT_DEFAULTS; a release without CLIENT there has none. */
struct gr_admits {
	bool all, client; /* it lets in all, or those of a CLIENT */
};

/* Has @self, of which @i is the Access_Type, one? */
bool gr_admits_is_set(const void *self, const struct gsh_config_item *i);
/* And does it let anybody do anything? */
bool gr_admits_any(const void *self, const struct gsh_config_item *i);
/* Read the EXPORT_DEFAULTS of @tree, of which @theirs is Ganesha's description. Silent: it
 * has been read by Ganesha. */
struct gr_admits gr_admits_by_default(const struct gsh *g,
				      struct gsh_config *tree,
				      const struct gsh_config_block *theirs);

#endif /* RPCRDMA_GANESHA_ADMITS_H */
