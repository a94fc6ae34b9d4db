/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fsal - which FSALs Ganesha can load
 */
#ifndef RPCRDMA_GANESHA_FSAL_H
#define RPCRDMA_GANESHA_FSAL_H

#include <limits.h>

#include "ganesha/gsh.h"

/* What an FSAL block is read into. */
struct gr_fsal {
	char name[64];
	bool named; /* a block has a Name */
	bool found; /* and Ganesha has, for all one can see, such an FSAL */
	const char *dir; /* where the FSALs are */
};

/* The block FSAL as an item of another; @off: of a struct gr_fsal, whose dir is set,
 * and which is cleared by the item's init otherwise. */
struct gsh_config_item gr_fsal_item(size_t off);
/* Plugins_Dir, as @tree has it. */
void gr_fsal_dir(const struct gsh *g, struct gsh_config *tree,
		 char dir[PATH_MAX]);

#endif /* RPCRDMA_GANESHA_FSAL_H */
