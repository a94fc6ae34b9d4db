/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exports - of the EXPORT blocks, what can crash Ganesha and it does not tell
 */
#ifndef RPCRDMA_GANESHA_EXPORTS_H
#define RPCRDMA_GANESHA_EXPORTS_H

#include "ganesha/gsh.h"

#define GR_EXPORT_IDS 65536
#define GR_EXPORT_PLACE 256

struct gr_exports {
	/* A bit for each Export_Id. */
	uint8_t named[GR_EXPORT_IDS / 8]; /* there is such a block */
	uint8_t placed[GR_EXPORT_IDS / 8]; /* and it has a Pseudo */
	int twice; /* an Export_Id that two have, or -1 */
	/* One has no Path: "FILE:LINE", or "". */
	char pathless[GR_EXPORT_PLACE];
	bool deadly; /* Ganesha dies of that one when it reads it */
};

/* Of @tree, which stays as it is. */
void gr_exports_read(const struct gsh *g, struct gsh_config *tree,
		     struct gr_exports *p);
/* The least Export_Id that has lost its Pseudo, but is there; or -1. */
int gr_exports_lost(const struct gr_exports *was, const struct gr_exports *now);

#endif /* RPCRDMA_GANESHA_EXPORTS_H */
