/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ganesha_9 - Ganesha 9.14 with ntirpc 7.2, as trixie-backports packages them
 *
 * Included by ntirpc.h alone, which says what the names here mean.
 */
#define COMPAT_RELEASE 914
#define COMPAT_GANESHA "9.14"
#define COMPAT_NTIRPC "7.2"
#define COMPAT_LOG_COMPONENT 36 /* XPRT */
#define COMPAT_EXPORT_ID 448
#define COMPAT_CONTEXTS false
#define COMPAT_BOUND false
#define COMPAT_LENDS false
#define COMPAT_EMPTY_READ false
#define COMPAT_WAITING_LOCK false
#define COMPAT_WORD_HAS_PARENT 1
#define COMPAT_FSAL_UPDATES 1
#define COMPAT_UNREFS 1
#define COMPAT_FREE_SAYS_WHERE 0
#define COMPAT_READ2 1

#define COMPAT_LAYOUT(AT, SIZE)                         \
	SIZE(struct svc_xprt, 640)                      \
	AT(struct svc_xprt, xp_ops, 0)                  \
	AT(struct svc_xprt, xp_dispatch, 8)             \
	AT(struct svc_xprt, xp_parent, 24)              \
	AT(struct svc_xprt, xp_tp, 32)                  \
	AT(struct svc_xprt, xp_netid, 40)               \
	AT(struct svc_xprt, xp_u1, 72)                  \
	AT(struct svc_xprt, xp_u2, 80)                  \
	AT(struct svc_xprt, xp_local, 88)               \
	AT(struct svc_xprt, xp_remote, 232)             \
	AT(struct svc_xprt, xp_proxy, 376)              \
	AT(struct svc_xprt, xp_lock, 552)               \
	AT(struct svc_xprt, xp_fd, 592)                 \
	AT(struct svc_xprt, xp_fd_send, 596)            \
	AT(struct svc_xprt, xp_type, 608)               \
	AT(struct svc_xprt, xp_refcnt, 612)             \
	AT(struct svc_xprt, xp_flags, 616)              \
	AT(struct svc_xprt, xp_unique_id, 620)          \
	AT(struct svc_xprt, recv_rearm_allowed, 624)    \
	SIZE(struct xp_ops, 80)                         \
	AT(struct xp_ops, xp_recv, 0)                   \
	AT(struct xp_ops, xp_control, 56)               \
	AT(struct xp_ops, xp_unref_user_data, 64)       \
	AT(struct xp_ops, xp_free_user_data, 72)        \
	SIZE(struct rpc_address, 144)                   \
	AT(struct rpc_address, nb, 0)                   \
	AT(struct rpc_address, ss, 16)                  \
	SIZE(struct svc_req, 1848)                      \
	AT(struct svc_req, rq_xprt, 0)                  \
	AT(struct svc_req, rq_xdrs, 24)                 \
	AT(struct svc_req, rq_u1, 32)                   \
	AT(struct svc_req, rq_cksum, 48)                \
	AT(struct svc_req, rq_auth, 56)                 \
	AT(struct svc_req, rq_resume_cb, 80)            \
	AT(struct svc_req, rq_wpe, 88)                  \
	AT(struct svc_req, rq_msg, 136)                 \
	AT(struct svc_req, rq_refcnt, 1840)             \
	SIZE(struct svc_init_params, 80)                \
	AT(struct svc_init_params, max_connections, 32) \
	SIZE(struct rpc_msg, 1704)                      \
	AT(struct rpc_msg, rm_xid, 0)                   \
	AT(struct rpc_msg, cb_prog, 476)                \
	AT(struct rpc_msg, cb_vers, 480)                \
	AT(struct rpc_msg, cb_proc, 484)                \
	AT(struct rpc_msg, rm_xdr, 456)                 \
	SIZE(XDR, 112)                                  \
	AT(XDR, x_ops, 0)                               \
	AT(XDR, x_v, 56)                                \
	AT(XDR, x_base, 48)                             \
	AT(XDR, x_data, 40)                             \
	AT(XDR, x_op, 104)                              \
	SIZE(struct xdr_ops, 128)                       \
	AT(struct xdr_ops, x_getunit, 0)                \
	AT(struct xdr_ops, x_getstartdatapos, 40)       \
	AT(struct xdr_ops, x_setpostn, 56)              \
	AT(struct xdr_ops, x_control, 72)               \
	SIZE(struct xdr_vio, 40)                        \
	AT(struct xdr_vio, vio_base, 0)                 \
	AT(struct xdr_vio, vio_wrap, 24)                \
	AT(struct xdr_vio, vio_length, 32)              \
	AT(struct xdr_vio, vio_type, 36)                \
	SIZE(struct xdr_uio, 72)                        \
	AT(struct xdr_uio, uio_release, 8)              \
	AT(struct xdr_uio, uio_count, 56)               \
	AT(struct xdr_uio, uio_vio, 72)                 \
	SIZE(CLIENT, 104)                               \
	AT(CLIENT, cl_ops, 0)                           \
	AT(CLIENT, cl_u1, 24)                           \
	AT(CLIENT, cl_error, 80)                        \
	AT(CLIENT, cl_refcnt, 92)                       \
	AT(CLIENT, cl_flags, 96)                        \
	SIZE(struct clnt_ops, 40)                       \
	AT(struct clnt_ops, cl_call, 0)                 \
	AT(struct clnt_ops, cl_control, 32)             \
	SIZE(struct clnt_req, 736)                      \
	AT(struct clnt_req, cc_auth, 608)               \
	AT(struct clnt_req, cc_clnt, 616)               \
	AT(struct clnt_req, cc_call, 624)               \
	AT(struct clnt_req, cc_reply, 640)              \
	AT(struct clnt_req, cc_process_cb, 656)         \
	AT(struct clnt_req, cc_free_cb, 664)            \
	AT(struct clnt_req, cc_error, 688)              \
	AT(struct clnt_req, cc_xid, 724)                \
	AT(struct clnt_req, cc_refcnt, 728)             \
	AT(struct clnt_req, cc_flags, 732)              \
	SIZE(tirpc_pkg_params, 64)                      \
	AT(tirpc_pkg_params, malloc_, 32)               \
	AT(tirpc_pkg_params, free_size_, 24)
