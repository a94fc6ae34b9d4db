/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exports - of the EXPORT blocks, what can crash Ganesha or what it does not tell
 */
#ifndef RPCRDMA_GANESHA_EXPORTS_H
#define RPCRDMA_GANESHA_EXPORTS_H

#include "ganesha/bind/gsh.h"

#define GR_EXPORT_IDS 65536
#define GR_EXPORT_PLACE 256

/* Where an export is in NFSv4's tree of names. */
struct gr_pseudo {
	uint32_t id;
	char *path;
};

/* Zero before the first use. */
struct gr_exports {
	/* A bit for each Export_Id: there is such a block. */
	uint8_t named[GR_EXPORT_IDS / 8];
	uint8_t with4[GR_EXPORT_IDS / 8]; /* its Protocols name 4 */
	/* Ganesha has no place for it in NFSv4's tree of names: if it is new, because its
	 * Protocols do not name 4. */
	uint8_t hidden[GR_EXPORT_IDS / 8];
	/* An Export_Id that two have, or -1. At the start Ganesha makes the first. */
	int twice;
	/* One has no Path: "FILE:LINE", or "". */
	char pathless[GR_EXPORT_PLACE];
	bool deadly; /* Ganesha dies of that one when it reads it */
	/* One has RDMA among its Transports: "FILE:LINE", or "". */
	char by_rdma[GR_EXPORT_PLACE];
	/* Of those with a Pseudo, by Export_Id; as far as there was memory. */
	struct gr_pseudo *pseudo;
	size_t npseudo;
};

/* Of @tree, which stays as it is. */
void gr_exports_read(const struct gsh *g, struct gsh_config *tree,
		     struct gr_exports *p);
/* Forget those that Ganesha does not serve, for a fault of the block, or any more: what
 * comes in their place is new to it. Any thread of Ganesha's. */
void gr_exports_served(struct gr_exports *p, const struct gsh *g);
/* The least Export_Id that has lost its Pseudo, but is there; or -1. */
int gr_exports_lost(const struct gr_exports *was, const struct gr_exports *now);
/* The least one that has another Pseudo, and with @nested is within the Pseudo of another
 * one there; or -1. */
int gr_exports_moved(const struct gr_exports *was, const struct gr_exports *now,
		     bool nested);
/* The least one that NFSv4 does not find before a restart, although it has 4 among its
 * Protocols; or -1. For an export that is there Ganesha makes no place, and with @leaves
 * it gives up the one of an export that has no 4 any more. @now learns which are hidden. */
int gr_exports_hidden(const struct gr_exports *was, struct gr_exports *now,
		      bool leaves);
/* @to gets what @from has, which is empty then. */
void gr_exports_move(struct gr_exports *to, struct gr_exports *from);
void gr_exports_free(struct gr_exports *p);

#endif /* RPCRDMA_GANESHA_EXPORTS_H */
