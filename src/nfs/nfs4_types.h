/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4_types - the basic types of NFSv4 as steps of skip programs
 *
 * RFC 7530 (4.0), RFC 8881 and 5662 (4.1), RFC 7862 and 7863 (4.2).
 */
#ifndef RPCRDMA_ULB_NFS4_TYPES_H
#define RPCRDMA_ULB_NFS4_TYPES_H

#include "nfs/rows.h"

/* clang-format off */
#define WORD		WORDS(1)
#define HYPER		WORDS(2)
#define TIME		WORDS(3)	/* nfstime4 */
#define VERIFIER	WORDS(2)
#define SESSIONID	WORDS(4)
#define DEVICEID	WORDS(4)
#define BITMAP		VEC(1)
#define FATTR		BITMAP, OPAQUE
#define OWNER		CLIENT, OPAQUE	/* state_owner4 */
#define NETADDR		OPAQUE, OPAQUE	/* netid, address */
#define CHANGE_INFO	WORDS(5)
#define LAYOUT_BODY	WORD, OPAQUE	/* a type and its opaque body */
#define IMPL_ID		OPAQUE, OPAQUE, TIME
#define CHANNEL_ATTRS	WORDS(6), VEC(1)
#define PROTECT_OPS	BITMAP, BITMAP	/* state_protect_ops4 */
/* clang-format on */

#endif /* RPCRDMA_ULB_NFS4_TYPES_H */
