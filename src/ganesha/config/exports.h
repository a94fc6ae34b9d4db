/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exports - what the EXPORT blocks say of clients by RDMA
 *
 * Ganesha takes a connection of ours for one by TCP, and checks whether an export's
 * Transports has TCP. Beside an RDMA block nothing else is checked. In the dialect
 * (dialect.h) an export whose Transports lacks RDMA is not reached over RDMA. Transports
 * may be in EXPORT, in EXPORT_DEFAULTS, and in a CLIENT block of either. Clients of a
 * CLIENT block cannot be told from others, so that counts for the whole export.
 *
 * Context: gr_exports_lacks_rdma() any thread; the others whichever of Ganesha's threads
 * reads the file, one at a time.
 */
#ifndef RPCRDMA_GANESHA_EXPORTS_H
#define RPCRDMA_GANESHA_EXPORTS_H

#include "ganesha/bind/block.h"

/* If @block is EXPORT or EXPORT_DEFAULTS, keep the Transports that @load finds in @tree. Call
 * this before Ganesha reads the block, because then it serves the exports at once. */
void gr_exports_read(const struct gsh *g, gr_load_fn *load,
		     struct gsh_config *tree, const char *block);
/* The same for all such blocks of a file. */
void gr_exports_read_file(const struct gsh *g, struct gsh_config *tree);

/* Returns true if Transports keeps export @id from being reached over RDMA. */
bool gr_exports_lacks_rdma(uint16_t id);
/* Returns true if Transports of export @id has RDMA and neither TCP nor UDP. */
bool gr_exports_rdma_only(uint16_t id);
/* Format the numbers of the exports read so far for which @match returns true, as "7, 9". Returns how
 * many there are. */
unsigned int gr_exports_list(bool (*match)(uint16_t id), char *text,
			     size_t room);
/* What to log of the list of gr_exports_rdma_only(). */
#define GR_RDMA_ONLY                                                               \
	"exports with Transports = RDMA cannot be reached: beside an RDMA block, " \
	"RDMA clients need TCP there: Export_Id %s"

/* Returns how many of the exports of all files that were read are served now; how many blocks
 * the file had that gr_exports_count() has counted last. Context: any thread. */
unsigned int gr_exports_served(void);
unsigned int gr_exports_expected(void);

struct gr_exports {
	unsigned int blocks;
	unsigned int served;
};
/*
 * Count the EXPORT blocks of @tree, and the exports that Ganesha has made of all that were
 * read: it goes on without those that are wrong, and since 15.2 counts them as well. Call
 * this after Ganesha has read them.
 */
void gr_exports_count(const struct gsh *g, struct gsh_config *tree,
		      struct gr_exports *x);
/*
 * Log a line for each block that requires TLS (XprtSec = tls or mtls, since 15.2). There is
 * no TLS over RDMA, so Ganesha refuses clients by RDMA there, without a line in its log at
 * the default level.
 */
void gr_exports_warn(const struct gsh *g, struct gsh_config *tree);

#endif /* RPCRDMA_GANESHA_EXPORTS_H */
