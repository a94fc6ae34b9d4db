/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words - the words by which a Ganesha with RDMA of its own is configured
 *
 *   NFS_Core_Param    nfsrdma or rpcrdma among Protocols, NFS_RDMA_Port,
 *                     NFS_RDMA_Protocol_Versions, RPC_Max_RDMA_Connections,
 *                     MaxRPCRdmaCredits
 *   exports           RDMA among Transports
 *
 * A Ganesha that was built without RDMA refuses a block that has such a word. So its
 * descriptions of these blocks get the words that they lack.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_WORDS_H
#define RPCRDMA_GANESHA_WORDS_H

#include "compat/ganesha.h"

/* The bit of RDMA among Transports in Ganesha's permissions of an export. */
#define GR_EXPORT_RDMA 0x04000000u

/*
 * Returns the description to read Ganesha's @block by: a copy that has the words
 * which @block lacks and is never freed, or @block itself if it lacks none.
 */
const struct gsh_config_block *
gr_words_extend(const struct gsh_config_block *block);
/* Returns true if @token, of Protocols, asks for RDMA. */
bool gr_words_protocol(const char *token);

#endif /* RPCRDMA_GANESHA_WORDS_H */
