/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keywords - the keywords by which a Ganesha with RDMA of its own is configured
 *
 *   NFS_Core_Param    nfsrdma or rpcrdma among Protocols, NFS_RDMA_Port,
 *                     NFS_RDMA_Protocol_Versions, RPC_Max_RDMA_Connections,
 *                     MaxRPCRdmaCredits
 *   exports           RDMA among Transports
 *
 * A Ganesha without RDMA refuses a block that has such a keyword. So the keywords are added to
 * its descriptions of these blocks.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_KEYWORDS_H
#define RPCRDMA_GANESHA_KEYWORDS_H

#include "compat/ganesha.h"

/* The bit of RDMA among Transports in Ganesha's permissions of an export. */
#define GR_EXPORT_RDMA 0x04000000u

/* Returns the description to read Ganesha's @block by: a copy with the keywords, which is
 * never freed, or @block itself if it needs none. */
const struct gsh_config_block *
gr_keywords_extend(const struct gsh_config_block *block);
/* Returns true if @token, of Protocols, asks for RDMA. */
bool gr_keywords_is_rdma(const char *token);

#endif /* RPCRDMA_GANESHA_KEYWORDS_H */
