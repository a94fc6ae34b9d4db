/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault - say which settings of a refused block are wrong, and what they may be
 *
 * Ganesha's parser reports the line of a wrong value, but neither the name of the item nor
 * its range, and takes four lines for that. So each item of a refused block is read once
 * more by itself. If that fails, the item is at fault.
 *
 * Context: Ganesha's main thread; gr_location_parse() any.
 */
#ifndef RPCRDMA_GANESHA_FAULT_H
#define RPCRDMA_GANESHA_FAULT_H

#include <limits.h>

#include "ganesha/config/config.h"

/* Where a message of Ganesha's parser points. */
struct gr_location {
	char path[PATH_MAX];
	unsigned int line; /* 0: the file as a whole */
	const char *text; /* what the message says of it, a part of the message */
};

/* Parse "Config File (PATH:LINE): TEXT". Returns false if @message has another form. */
bool gr_location_parse(const char *message, struct gr_location *at);

/* Print @before and the values that @item may have. Nothing for items with handlers of ours, which
 * say that themselves. */
void gr_fault_allowed(FILE *f, const char *before,
		      const struct gsh_config_item *item);

/* Keep a fault in @cfg, unless that has one of an earlier line. */
void gr_fault_keep(struct gr_config *cfg, const char *path, unsigned int line,
		   const char *text);
/*
 * Report a block that the parser refused: log one line for each fault, keep the first in @cfg,
 * and end @e. Set @good, with room for all items of @block, to the items without a fault.
 */
void gr_fault_report(const struct gsh *g, struct gsh_config *tree,
		     const struct gsh_config_block *block,
		     struct gsh_config_errors *e, struct gsh_config_item *good,
		     struct gr_config *cfg);

#endif /* RPCRDMA_GANESHA_FAULT_H */
