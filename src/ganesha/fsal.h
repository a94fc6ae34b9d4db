/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsal - which FSALs Ganesha can load
 */
#ifndef RPCRDMA_GANESHA_FSAL_H
#define RPCRDMA_GANESHA_FSAL_H

#include <limits.h>

#include "ganesha/bind/gsh.h"

#define GR_FSAL_PATH (PATH_MAX + 80)

/* What FSAL blocks are read into. */
struct gr_fsal {
	char name[64]; /* while it is read */
	bool named; /* a block has a Name */
	bool nameless; /* a block has none */
	bool found; /* of one Ganesha has, for all one can see, the FSAL */
	char missing[64]; /* the first that it has not, or "" */
	const char *dir; /* where the FSALs are */
};

/* The block FSAL as an item of another; @off: of a struct gr_fsal, whose dir is set,
 * and which is cleared by the item's init otherwise. */
struct gsh_config_item gr_fsal_item(size_t off);
/* Where its library is, if it has one. */
void gr_fsal_path(const struct gr_fsal *f, char path[GR_FSAL_PATH]);
/* Has Ganesha, for all one can see, an FSAL @name, where they are in @dir? */
bool gr_fsal_is_there(const char *dir, const char *name);
/* A bit for an FSAL that does not load once anything before it in the file was wrong,
 * such as a Path that is missing; 0 for others. */
unsigned int gr_fsal_wary(const char *name);
/* A handler for items that are paths; @param has PATH_MAX. */
int gr_fsal_take_path(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e);
/* Plugins_Dir, as @tree has it. */
void gr_fsal_dir(const struct gsh *g, struct gsh_config *tree,
		 char dir[PATH_MAX]);

/* rpcrdma_ganesha_fsals() */
bool gr_fsal_load(const struct gsh *g, struct gsh_config *tree);

/* Have those that are loaded so read the block of their name, but for the @asked,
 * which are more then. Where Ganesha makes an export. */
void gr_fsal_ask(struct gsh_config *tree, unsigned int *asked);

#endif /* RPCRDMA_GANESHA_FSAL_H */
