/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout - how ntirpc's structures differ between builds of one release
 *
 * The table of a release, COMPAT_LAYOUT(AT, SIZE), has the offsets and sizes on x86-64
 * without RDMA in ntirpc. packaging/layout prints it. Two things move members, the same
 * ones in all releases: the size of a mutex, which is 48 on arm64, and ntirpc's own RDMA
 * (USE_RPC_RDMA). TLS adds a mutex; the table of a release with TLS (15.2) includes it.
 */
#ifndef RPCRDMA_COMPAT_LAYOUT_H
#define RPCRDMA_COMPAT_LAYOUT_H

#include <pthread.h>
#include <stddef.h>

#include <rpc/rpc.h>
#include <rpc/clnt.h>
#include <rpc/svc.h>
#include <version.h>

#define COMPAT_MUTEX (sizeof(pthread_mutex_t) - 40)

#ifdef USE_RPC_RDMA
#define COMPAT_RDMA 1
#else
#define COMPAT_RDMA 0
#endif

#ifdef USE_TLS
#define COMPAT_TLS 1
#else
#define COMPAT_TLS 0
#endif

/* Members after @member of @owner have moved by @bytes. */
#define COMPAT_MOVED(type, at, owner, member, bytes)      \
	(__builtin_types_compatible_p(type, owner) &&     \
			 (at) > offsetof(owner, member) ? \
		 (bytes) :                                \
		 0)

/* By how much the offset or size @at of @type exceeds that of the table. */
#define COMPAT_SHIFT(type, at)                                                \
	(COMPAT_MOVED(type, at, struct svc_xprt, xp_ops,                      \
		      COMPAT_TLS * COMPAT_MUTEX) +                            \
	 COMPAT_MOVED(type, at, struct svc_xprt, xp_u2, 8 * COMPAT_RDMA) +    \
	 COMPAT_MOVED(type, at, struct svc_xprt, xp_lock, COMPAT_MUTEX) +     \
	 COMPAT_MOVED(type, at, struct svc_req, rq_cksum, 16 * COMPAT_RDMA) + \
	 COMPAT_MOVED(type, at, struct svc_init_params, channels,             \
		      8 * COMPAT_RDMA * (NTIRPC_VERSION_MAJOR < 15)) +        \
	 COMPAT_MOVED(type, at, CLIENT, cl_lock, COMPAT_MUTEX) +              \
	 COMPAT_MOVED(type, at, struct clnt_req, cc_we, COMPAT_MUTEX))

#endif /* RPCRDMA_COMPAT_LAYOUT_H */
