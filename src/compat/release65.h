/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * release65 - Ganesha 6.5 with ntirpc 6.3, as Debian 13 packages them
 *
 * Included by ntirpc.h alone, which says what the names here mean.
 */
#define COMPAT_RELEASE 605
#define COMPAT_GANESHA "6.5"
#define COMPAT_NTIRPC "6.3"
#define COMPAT_LOG_COMPONENT 36 /* XPRT: there is none of RPC any more */
#define COMPAT_CONTEXTS false
#define COMPAT_BOUND false
#define COMPAT_LENDS false
#define COMPAT_EMPTY_READ true
#define COMPAT_WAITING_LOCK true
#define COMPAT_WORD_HAS_PARENT 1
#define COMPAT_FSAL_UPDATES 1

_Static_assert(sizeof(struct svc_xprt) == 600 + COMPAT_MUTEX, "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_dispatch) == 8, "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_parent) == 24, "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_u1) == 72, "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_u2) == 80, "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_remote) == 232, "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_proxy) == 376, "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_fd) == 560 + COMPAT_MUTEX,
	       "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_type) == 576 + COMPAT_MUTEX,
	       "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_refcnt) == 580 + COMPAT_MUTEX,
	       "ntirpc 6.3");
_Static_assert(offsetof(struct svc_xprt, xp_flags) == 584 + COMPAT_MUTEX,
	       "ntirpc 6.3");
_Static_assert(offsetof(struct xp_ops, xp_unref_user_data) == 64, "ntirpc 6.3");
_Static_assert(offsetof(struct xp_ops, xp_free_user_data) == 72, "ntirpc 6.3");
_Static_assert(offsetof(struct xdr_ops, x_getstartdatapos) == 40, "ntirpc 6.3");
_Static_assert(offsetof(struct xdr_ops, x_setpostn) == 56, "ntirpc 6.3");
_Static_assert(sizeof(struct xdr_ops) == 128, "ntirpc 6.3");
_Static_assert(sizeof(struct xdr_uio) == 72, "ntirpc 6.3");

#define COMPAT_XDR_OPS(start_of_data, end_of_data) \
	.x_getstartdatapos = (start_of_data), .x_getenddatapos = (end_of_data),

static inline void compat_xprt_open(SVCXPRT *xprt, const struct xp_ops *parent)
{
	xprt->xp_ops->xp_unref_user_data = parent->xp_unref_user_data;
	/* Logged, as what it is: not set. */
	__rpc_address_setup(&xprt->xp_proxy);
}

static inline bool compat_xprt_control(SVCXPRT *xprt, u_int rq, void *in)
{
	switch (rq) {
	case SVCGET_XP_UNREF_USER_DATA:
		*(svc_xprt_void_fun_t *)in = xprt->xp_ops->xp_unref_user_data;
		return true;
	case SVCSET_XP_UNREF_USER_DATA:
		xprt->xp_ops->xp_unref_user_data = *(svc_xprt_void_fun_t)in;
		return true;
	default:
		return false;
	}
}

static inline enum xprt_stat compat_xprt_greet(SVCXPRT *xprt)
{
	atomic_set_uint16_t_bits(&xprt->xp_flags,
				 SVC_XPRT_FLAG_REMOTE_ADDR_SET);
	if (!xprt->xp_dispatch.remote_addr_set_cb)
		return XPRT_IDLE;
	return xprt->xp_dispatch.remote_addr_set_cb(xprt);
}

static inline bool compat_xprt_unrefs(const SVCXPRT *xprt)
{
	return xprt->xp_ops->xp_unref_user_data;
}
