/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * release43 - Ganesha 4.3 with ntirpc 4.3, as Debian 12 packages them
 *
 * Included by ntirpc.h alone, which says what the names here mean.
 */
#define COMPAT_RELEASE 403
#define COMPAT_GANESHA "4.3"
#define COMPAT_NTIRPC "4.3"
#define COMPAT_LOG_COMPONENT 26 /* RPC */
#define COMPAT_CONTEXTS true
#define COMPAT_BOUND true
#define COMPAT_LENDS true
#define COMPAT_EMPTY_READ false
#define COMPAT_WAITING_LOCK false
#define COMPAT_WORD_HAS_PARENT 0
#define COMPAT_FSAL_UPDATES 0

_Static_assert(sizeof(struct svc_xprt) == 448 + COMPAT_MUTEX, "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_dispatch) == 8, "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_parent) == 16, "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_u2) == 72, "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_remote) == 224, "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_fd) == 408 + COMPAT_MUTEX,
	       "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_type) == 424 + COMPAT_MUTEX,
	       "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_refcnt) == 428 + COMPAT_MUTEX,
	       "ntirpc 4.3");
_Static_assert(offsetof(struct svc_xprt, xp_flags) == 432 + COMPAT_MUTEX,
	       "ntirpc 4.3");
_Static_assert(offsetof(struct xp_ops, xp_free_user_data) == 64, "ntirpc 4.3");
_Static_assert(offsetof(struct xdr_ops, x_setpostn) == 40, "ntirpc 4.3");
_Static_assert(sizeof(struct xdr_ops) == 112, "ntirpc 4.3");
_Static_assert(sizeof(struct xdr_uio) == 64, "ntirpc 4.3");

#define COMPAT_XDR_OPS(start_of_data, end_of_data)

static inline void compat_xprt_open(SVCXPRT *xprt, const struct xp_ops *parent)
{
}

static inline bool compat_xprt_control(SVCXPRT *xprt, u_int rq, void *in)
{
	return false;
}

static inline enum xprt_stat compat_xprt_greet(SVCXPRT *xprt)
{
	return XPRT_IDLE;
}

static inline bool compat_xprt_unrefs(const SVCXPRT *xprt)
{
	return false;
}
