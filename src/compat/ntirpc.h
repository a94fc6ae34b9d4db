/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ntirpc - ntirpc's types, and what differs between releases
 *
 * There is a ganesha_MAJOR.h for each Ganesha and its ntirpc. The installed headers of ntirpc
 * choose it, and must have its layout to compile. At run time gsh_bind() and
 * gsh_check_listener() refuse another ntirpc. Each ganesha_MAJOR.h defines:
 *
 *   COMPAT_RELEASE        major * 100 + minor. Never compare it with ==: ask for a
 *                         feature, which a later release has as well
 *   COMPAT_GANESHA        the release of Ganesha
 *   COMPAT_NTIRPC         that of its ntirpc
 *   COMPAT_LOG_COMPONENT  of Ganesha's log, for our lines
 *   COMPAT_CONTEXTS       whether it needs ganesha/quirks/context.h
 *   COMPAT_BOUND          whether it identifies the connections of a session by their
 *                         addresses: see ntirpc/quirks/bound.h
 *   COMPAT_LENDS          whether it would copy a WRITE's data: see ntirpc/quirks/lend.h
 *   COMPAT_EMPTY_READ     whether an NFSv3 READ of 0 bytes crashes it
 *   COMPAT_WAITING_LOCK   whether it aborts when it grants a lock to a client of NFSv4.0 that
 *                         has waited: for both, see ntirpc/quirks/withheld.h
 *   COMPAT_WORD_HAS_PARENT  whether a word of the parse tree has its parent (1 or 0)
 *   COMPAT_EXPORT_ID      where an export has its Export_Id
 *   COMPAT_FSAL_UPDATES   1 if an FSAL may have its block read again, else 0
 *   COMPAT_UNREFS         whether SVC_DESTROY() has Ganesha drop its references (1 or 0).
 *                         It takes locks under which Ganesha sends reverse Calls
 *   COMPAT_FREE_SAYS_WHERE  whether ntirpc's functions that free get the place (1 or 0)
 *   COMPAT_READ2          whether fsal_read2() takes memory for the data of a READ, and a
 *                         function that frees it (1 or 0)
 *   COMPAT_LAYOUT(AT, SIZE)  the layout; see layout.h
 */
#ifndef RPCRDMA_COMPAT_NTIRPC_H
#define RPCRDMA_COMPAT_NTIRPC_H

#include <netdb.h>
#include <stdbool.h>

#include "compat/layout.h"

_Static_assert(sizeof(void *) == 8, "measured on LP64 only");

#if NTIRPC_VERSION_MAJOR == 4
#include "compat/ganesha_4.h"
#elif NTIRPC_VERSION_MAJOR == 5
#include "compat/ganesha_5.h"
#elif NTIRPC_VERSION_MAJOR == 6
#include "compat/ganesha_6.h"
#elif NTIRPC_VERSION_MAJOR == 7
#include "compat/ganesha_9.h"
#elif NTIRPC_VERSION_MAJOR == 15
#include "compat/ganesha_15.h"
#else
#error "unknown ntirpc: src/compat has no header for it"
#endif

#define COMPAT_EXPECT(what, type, at)                             \
	_Static_assert((what) == (at) + COMPAT_SHIFT(type, what), \
		       "the headers are not those of ntirpc " COMPAT_NTIRPC);
#define COMPAT_AT(type, member, at) \
	COMPAT_EXPECT(offsetof(type, member), type, at)
#define COMPAT_SIZE(type, size) COMPAT_EXPECT(sizeof(type), type, size)

COMPAT_LAYOUT(COMPAT_AT, COMPAT_SIZE)

/* ---- What differs in kind ------------------------------------------------ */

/* Members of struct xdr_ops that only some releases have: where a WRITE's data begin and end, so
 * that x_fillbufs can refer to them. */
#if COMPAT_RELEASE >= 605
#define COMPAT_XDR_OPS(start_of_data, end_of_data) \
	.x_getstartdatapos = (start_of_data), .x_getenddatapos = (end_of_data),
#else
#define COMPAT_XDR_OPS(start_of_data, end_of_data)
#endif

/* Further parameters of functions that free, and arguments for them. */
#if COMPAT_FREE_SAYS_WHERE
#define COMPAT_FREE_PARAMETERS \
	, const char *file, int line, const char *function
#define COMPAT_FREE_ARGUMENTS , __FILE__, __LINE__, __func__
#else
#define COMPAT_FREE_PARAMETERS
#define COMPAT_FREE_ARGUMENTS
#endif

/* Flags of an SVCXPRT that is complete. SVC_DESTROY() waits for the second. */
#ifdef SVC_XPRT_FLAG_READY
#define COMPAT_XPRT_COMPLETE (SVC_XPRT_FLAG_INITIALIZED | SVC_XPRT_FLAG_READY)
#else
#define COMPAT_XPRT_COMPLETE SVC_XPRT_FLAG_INITIALIZED
#endif

/* Prepare a new SVCXPRT of ours, whose xp_remote is set, before Ganesha sees it. @parent has the
 * operations of the listener. */
static inline void compat_xprt_open(SVCXPRT *xprt, const struct xp_ops *parent)
{
#if COMPAT_RELEASE >= 1502
	/* For ntirpc's log. */
	(void)getnameinfo((struct sockaddr *)&xprt->xp_remote.ss,
			  xprt->xp_remote.nb.len, xprt->xp_clnt_addr,
			  sizeof(xprt->xp_clnt_addr), NULL, 0, NI_NUMERICHOST);
#endif
#if COMPAT_UNREFS
	xprt->xp_ops->xp_unref_user_data = parent->xp_unref_user_data;
	/* Not set, but logged. */
	__rpc_address_setup(&xprt->xp_proxy);
#endif
}

/* Handle the xp_control requests that only some releases have. Returns false if @rq is none. */
static inline bool compat_xprt_control(SVCXPRT *xprt, u_int rq, void *in)
{
#if COMPAT_UNREFS
	switch (rq) {
	case SVCGET_XP_UNREF_USER_DATA:
		*(svc_xprt_void_fun_t *)in = xprt->xp_ops->xp_unref_user_data;
		return true;
	case SVCSET_XP_UNREF_USER_DATA:
		xprt->xp_ops->xp_unref_user_data = *(svc_xprt_void_fun_t)in;
		return true;
	}
#endif
	return false;
}

/* Ask Ganesha once, before the first Call of a connection, whether the client may be served. It
 * may block. Returns XPRT_IDLE; if not, the connection must end. Context: worker. */
static inline enum xprt_stat compat_xprt_admit(SVCXPRT *xprt)
{
#ifdef SVC_XPRT_FLAG_REMOTE_ADDR_SET
	atomic_set_uint16_t_bits(&xprt->xp_flags,
				 SVC_XPRT_FLAG_REMOTE_ADDR_SET);
	if (xprt->xp_dispatch.remote_addr_set_cb)
		return xprt->xp_dispatch.remote_addr_set_cb(xprt);
#endif
	return XPRT_IDLE;
}

/* Returns true if SVC_DESTROY() takes locks of Ganesha's. */
static inline bool compat_xprt_unrefs(const SVCXPRT *xprt)
{
#if COMPAT_UNREFS
	return xprt->xp_ops->xp_unref_user_data;
#else
	return false;
#endif
}

#endif /* RPCRDMA_COMPAT_NTIRPC_H */
