/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pseudo - which EXPORT blocks have a Pseudo, by their Export_Id
 */
#ifndef RPCRDMA_GANESHA_PSEUDO_H
#define RPCRDMA_GANESHA_PSEUDO_H

#include "ganesha/gsh.h"

#define GR_EXPORT_IDS 65536

struct gr_pseudo {
	/* A bit for each Export_Id. */
	uint8_t named[GR_EXPORT_IDS / 8]; /* there is such a block */
	uint8_t placed[GR_EXPORT_IDS / 8]; /* and it has a Pseudo */
};

/* Of @tree, which stays as it is. */
void gr_pseudo_read(const struct gsh *g, struct gsh_config *tree,
		    struct gr_pseudo *p);
/* The least Export_Id that has lost its Pseudo, but is there; or -1. */
int gr_pseudo_lost(const struct gr_pseudo *was, const struct gr_pseudo *now);

#endif /* RPCRDMA_GANESHA_PSEUDO_H */
