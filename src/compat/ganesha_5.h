/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ganesha_5 - Ganesha 5.9 with ntirpc 5.8, as bookworm-backports packages them
 *
 * Included by ntirpc.h alone, which says what the names here mean.
 */
#define COMPAT_RELEASE 509
#define COMPAT_GANESHA "5.9"
#define COMPAT_NTIRPC "5.8"
#define COMPAT_LOG_COMPONENT 26 /* RPC */
#define COMPAT_EXPORT_ID 440
#define COMPAT_CONTEXTS false
#define COMPAT_BOUND true
#define COMPAT_LENDS true
#define COMPAT_EMPTY_READ false
#define COMPAT_WAITING_LOCK false
#define COMPAT_WORD_HAS_PARENT 1
#define COMPAT_FSAL_UPDATES 0
#define COMPAT_UNREFS 1
#define COMPAT_FREE_SAYS_WHERE 0
#define COMPAT_READ2 0

#define COMPAT_LAYOUT(AT, SIZE)                         \
	SIZE(struct svc_xprt, 592)                      \
	AT(struct svc_xprt, xp_ops, 0)                  \
	AT(struct svc_xprt, xp_dispatch, 8)             \
	AT(struct svc_xprt, xp_parent, 16)              \
	AT(struct svc_xprt, xp_tp, 24)                  \
	AT(struct svc_xprt, xp_netid, 32)               \
	AT(struct svc_xprt, xp_u1, 64)                  \
	AT(struct svc_xprt, xp_u2, 72)                  \
	AT(struct svc_xprt, xp_local, 80)               \
	AT(struct svc_xprt, xp_remote, 224)             \
	AT(struct svc_xprt, xp_proxy, 368)              \
	AT(struct svc_xprt, xp_lock, 512)               \
	AT(struct svc_xprt, xp_fd, 552)                 \
	AT(struct svc_xprt, xp_fd_send, 556)            \
	AT(struct svc_xprt, xp_type, 568)               \
	AT(struct svc_xprt, xp_refcnt, 572)             \
	AT(struct svc_xprt, xp_flags, 576)              \
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
	SIZE(struct xdr_ops, 112)                       \
	AT(struct xdr_ops, x_getunit, 0)                \
	AT(struct xdr_ops, x_setpostn, 40)              \
	AT(struct xdr_ops, x_control, 56)               \
	SIZE(struct xdr_vio, 40)                        \
	AT(struct xdr_vio, vio_base, 0)                 \
	AT(struct xdr_vio, vio_wrap, 24)                \
	AT(struct xdr_vio, vio_length, 32)              \
	AT(struct xdr_vio, vio_type, 36)                \
	SIZE(struct xdr_uio, 64)                        \
	AT(struct xdr_uio, uio_release, 8)              \
	AT(struct xdr_uio, uio_count, 48)               \
	AT(struct xdr_uio, uio_vio, 64)                 \
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
