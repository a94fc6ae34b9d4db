/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dialect - a file for a Ganesha with RDMA of its own
 *
 * If NFS_Core_Param has nfsrdma or rpcrdma among Protocols and there is no RDMA block,
 * RDMA is served as if there were one that says the same as the words of words.h.
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

/* What NFS_Core_Param says of RDMA. */
struct gr_words {
	bool rdma; /* nfsrdma or rpcrdma is among Protocols */
	uint16_t port; /* NFS_RDMA_Port */
};
void gr_dialect_words(const struct gsh *g, struct gsh_config *tree,
		      struct gr_words *w);
/* The items of NFS_Core_Param that have a counterpart in struct gr_config. */
extern const struct gsh_config_item gr_dialect_items[];

/* Returns true if Ganesha and its ntirpc can serve these words themselves. */
bool gr_dialect_is_native(void);
/* Print the RDMA block that says the same as the words, on one line. */
void gr_dialect_block(const struct gr_config *cfg, char *text, size_t room);
/* "3, 4.1": the versions in @set, of which there are some. */
void gr_dialect_versions(uint32_t set, char *text, size_t room);

#endif /* RPCRDMA_GANESHA_DIALECT_H */
