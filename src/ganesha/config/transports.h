/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transports - which exports may be reached over RDMA, by their Transports
 *
 * Ganesha takes a connection of ours for one by TCP, and checks whether an export's
 * Transports has TCP. Where there is an RDMA block that is all. A file in the
 * dialect (dialect.h) names RDMA: there an export that has Transports without RDMA is
 * not reached over RDMA. Transports may be in EXPORT, in EXPORT_DEFAULTS, and in a CLIENT block
 * of either: such a client cannot be told from others, so that counts for the export.
 *
 * Context: gr_transports_refuse() any thread; the others whichever of Ganesha's threads
 * reads the file, one at a time.
 */
#ifndef RPCRDMA_GANESHA_TRANSPORTS_H
#define RPCRDMA_GANESHA_TRANSPORTS_H

#include "ganesha/bind/gsh.h"

/* One of Ganesha's functions load_config_from_parse() and load_config_from_node(), which
 * takes a node of the tree. */
typedef int gr_load_fn(struct gsh_config *tree,
		       const struct gsh_config_block *block, void *param,
		       bool unique, struct gsh_config_errors *e);

/* If @block is one of those above, take Transports from what @load finds of it in
 * @tree. Before Ganesha reads it: it serves an export as soon as it has read it. */
void gr_transports_read(const struct gsh *g, gr_load_fn *load,
			struct gsh_config *tree, const char *block);
/* Returns true if Transports keeps export @id from being reached over RDMA. */
bool gr_transports_refuse(uint16_t id);
/* The exports read so far for which @is is true, as "7, 9". Returns how many. */
unsigned int gr_transports_list(bool (*is)(uint16_t id), char *text,
				size_t room);
/* Returns true if Transports of export @id has RDMA and neither TCP nor UDP. */
bool gr_transports_rdma_only(uint16_t id);
/* What to log of those, with their list. */
#define GR_RDMA_ONLY                                                               \
	"exports with Transports = RDMA cannot be reached: beside an RDMA block, " \
	"RDMA clients need TCP there: Export_Id %s"

#endif /* RPCRDMA_GANESHA_TRANSPORTS_H */
