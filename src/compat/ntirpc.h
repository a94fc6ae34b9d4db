/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ntirpc - ntirpc's types, and what differs in them from release to release
 *
 * This folder is no layer but facts: src/ntirpc includes this file, src/ganesha
 * all of it. There is a release*.h for each pair of Ganesha
 * and ntirpc that is known. It is chosen by the installed headers, whose layout
 * it holds against what the packages were built with: whatever else is
 * installed does not compile. At run time gsh_bind() and gsh_check_listener()
 * refuse an ntirpc that is another. Each release*.h defines:
 *
 *   COMPAT_RELEASE        major * 100 + minor. Never compare it with ==: ask for a
 *                         feature, which a later release has as well
 *   COMPAT_GANESHA        the release of Ganesha
 *   COMPAT_NTIRPC         that of its ntirpc
 *   COMPAT_LOG_COMPONENT  of Ganesha's log, for our lines
 *   COMPAT_CONTEXTS       whether it needs context.h
 *   COMPAT_BOUND          whether it knows the connections of a session by their
 *                         addresses: see ntirpc/quirks/bound.h
 *   COMPAT_LENDS          whether it would copy a WRITE's data: see ntirpc/quirks/lend.h
 *   COMPAT_EMPTY_READ     whether it dies of an NFSv3 READ of nothing
 *   COMPAT_WAITING_LOCK   whether it dies when it grants a waiting lock to a client
 *                         of NFSv4.0: for both, see ntirpc/quirks/withheld.h
 *   COMPAT_WORD_HAS_PARENT  whether a word of the parse tree has its parent (1 or 0)
 *   COMPAT_FSAL_UPDATES   1 if an FSAL may have its block read again, else 0
 *   COMPAT_XDR_OPS(start_of_data, end_of_data)
 *                         members of struct xdr_ops that only some have: where
 *                         a WRITE's data begin and end, so that they are taken
 *                         by x_fillbufs from where they are
 *   compat_xprt_open()    of a new SVCXPRT of ours, before Ganesha sees it;
 *                         @parent: the operations of the listener
 *   compat_xprt_control() the xp_control requests that only some have; false:
 *                         this is none of them
 *   compat_xprt_greet()   once, before the first Call of a connection, by a
 *                         worker: Ganesha may decline or hold up the client.
 *                         XPRT_IDLE, or the connection is to end
 *   compat_xprt_unrefs()  SVC_DESTROY() takes locks of Ganesha's, under which
 *                         Ganesha sends reverse Calls
 *
 * The ntirpc macros that turn RDMA on in its headers shift every field behind
 * them and must never be defined: the packages are built without.
 */
#ifndef RPCRDMA_COMPAT_NTIRPC_H
#define RPCRDMA_COMPAT_NTIRPC_H

#if defined(USE_RPC_RDMA) || defined(_USE_NFS_RDMA)
#error "the packaged ntirpc is built without RDMA: its layout would not match"
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <rpc/rpc.h>
#include <rpc/clnt.h>
#include <rpc/svc.h>
#include <version.h>

_Static_assert(sizeof(void *) == 8, "measured on LP64 only");

/* What a mutex has more than on x86-64, where the numbers were measured; on arm64
 * all else is alike. */
#define COMPAT_MUTEX (sizeof(pthread_mutex_t) - 40)

#if NTIRPC_VERSION_MAJOR == 4
#include "compat/release43.h"
#elif NTIRPC_VERSION_MAJOR == 6
#include "compat/release65.h"
#else
#error "unknown ntirpc: src/compat knows 4.3 and 6.3"
#endif

_Static_assert(!__builtin_strcmp(NTIRPC_VERSION, COMPAT_NTIRPC),
	       "unknown ntirpc: src/compat knows 4.3 and 6.3");

/* Alike in all that are known. */
_Static_assert(sizeof(struct svc_req) == 1848, "ntirpc");
_Static_assert(offsetof(struct svc_req, rq_xdrs) == 24, "ntirpc");
_Static_assert(offsetof(struct svc_req, rq_auth) == 56, "ntirpc");
_Static_assert(offsetof(struct svc_req, rq_msg) == 136, "ntirpc");
_Static_assert(sizeof(struct svc_init_params) == 80, "ntirpc");
_Static_assert(sizeof(CLIENT) == 104 + COMPAT_MUTEX, "ntirpc");
_Static_assert(sizeof(struct clnt_req) == 736 + COMPAT_MUTEX, "ntirpc");

#endif /* RPCRDMA_COMPAT_NTIRPC_H */
