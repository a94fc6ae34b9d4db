/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dialect - a configuration file for a Ganesha with RDMA of its own
 *
 * Without an RDMA block, if NFS_Core_Param has nfsrdma or rpcrdma among Protocols, RDMA is
 * served with the settings of NFS_Core_Param that keywords.h lists.
 *
 * Context: Ganesha's main thread.
 */
#ifndef RPCRDMA_GANESHA_DIALECT_H
#define RPCRDMA_GANESHA_DIALECT_H

#include "ganesha/config/config.h"

/* Bits of gr_config.nfs_versions. */
#define GR_NFS_3 1u
#define GR_NFS_4(minor) (2u << (minor))
#define GR_NFS_ALL 15u /* 3, 4.0, 4.1, 4.2 */

/* Whether NFS_Core_Param asks for RDMA, and where a Ganesha with its own would serve it. */
struct gr_dialect {
	bool rdma; /* nfsrdma or rpcrdma is among Protocols */
	uint16_t port; /* NFS_RDMA_Port */
};
/* Set @d from @tree, which may be NULL. Ganesha reports the faults. */
void gr_dialect_read(const struct gsh *g, struct gsh_config *tree,
		     struct gr_dialect *d);
/* The settings of NFS_Core_Param, which are read into a struct gr_config. */
extern const struct gsh_config_item gr_dialect_items[];

/* Returns true if Ganesha and its ntirpc can serve RDMA themselves. */
bool gr_dialect_is_native(void);
/* Format the RDMA block with the same settings, on one line. */
void gr_dialect_block(const struct gr_config *cfg, char *text, size_t room);
/* Format a set of versions, which is not empty: "3, 4.1". */
void gr_dialect_versions(uint32_t set, char *text, size_t room);

#endif /* RPCRDMA_GANESHA_DIALECT_H */
