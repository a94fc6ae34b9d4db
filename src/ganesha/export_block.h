/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_block - EXPORT and EXPORT_DEFAULTS, as Ganesha itself reads them
 *
 * For --check-config: with Ganesha's own description of the block, items and CLIENT
 * blocks, and with its own word on whether they go together; but no FSAL is loaded and
 * no export is made.
 */
#ifndef RPCRDMA_GANESHA_EXPORT_BLOCK_H
#define RPCRDMA_GANESHA_EXPORT_BLOCK_H

#include "ganesha/bind/gsh.h"

typedef int gsh_node_fn(void *node, const struct gsh_config_block *block,
			void *param, bool unique, struct gsh_config_errors *e);

/* Zero before the first use. */
struct gr_export_block {
	bool asking;
	bool items; /* FSALs read theirs, */
	int items_level; /* and the log's level for what they say, */
	struct gsh_config *tree; /* of this file */
	unsigned int asked; /* whose own blocks are read */
	const struct gsh_config_block *theirs, *defaults;
	int level; /* of the log, while Ganesha says what is not meant */
};

/* Tell in the log what is wrong with the blocks of @tree. *@served: how many of them are
 * served. @nfs4: those are by NFSv4 that do not say. Ganesha's own parameters have been set
 * from it. False: Ganesha would end. Main thread, where no server runs. */
bool gr_export_block_check(struct gr_export_block *x, const struct gsh *g,
			   struct gsh_config *tree, bool nfs4,
			   unsigned int *served);
/* The same of the items that FSALs have of their own in these blocks; to be called where
 * rpcrdma_ganesha_items() is. The log has nothing else. */
void gr_export_block_items(struct gr_export_block *x, const struct gsh *g,
			   struct gsh_config *tree);
/* An FSAL would have its items read, by @read: read and told of, but the answer is a
 * fault. Only while x->items. */
int gr_export_block_node(struct gr_export_block *x, const struct gsh *g,
			 gsh_node_fn *read, void *node,
			 const struct gsh_config_block *block, void *param,
			 bool unique);
/* The same of an FSAL's own block, of a whole file. */
int gr_export_block_parse(struct gr_export_block *x, const struct gsh *g,
			  struct gsh_config *tree,
			  const struct gsh_config_block *block, void *param,
			  bool unique, struct gsh_config_errors *e);
/* Ganesha would have this block read: is that what was asked for? Then it must not be
 * read, and its answer is a fault. Any thread. */
bool gr_export_block_take(struct gr_export_block *x, const struct gsh *g,
			  const struct gsh_config_block *block);

#endif /* RPCRDMA_GANESHA_EXPORT_BLOCK_H */
