/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exports - the EXPORT blocks, and what became of them
 *
 * Context: main thread.
 */
#ifndef RPCRDMA_GANESHA_EXPORTS_H
#define RPCRDMA_GANESHA_EXPORTS_H

#include "ganesha/bind/gsh.h"

struct gr_exports {
	unsigned int blocks;
	unsigned int served;
};

/*
 * Count the EXPORT blocks in @tree, and those of which Ganesha has an export: it goes on
 * without those that are wrong, and since 15.2 it counts them as well. Once Ganesha has
 * read them.
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
