/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xprt - operations and life of our SVCXPRT
 *
 * Context: the transport's strand creates and closes it, Ganesha's workers call its
 * operations, and whoever drops the last reference frees it. Where SVC_DESTROY() takes locks
 * of Ganesha's, a worker calls it, because the strand may be run by a thread that holds
 * them.
 *
 * xp_type is XPRT_TCP, which means "connection-oriented" to Ganesha. It would give an
 * XPRT_RDMA no back channel, and not check an export's Transports. So clients by RDMA need
 * TCP among the export's Transports, which is the default. In the dialect Ganesha must not
 * check Transports, because dialect_hooks.c does.
 *
 * The port in xp_remote says only whether the peer's is below 1024: see hide_port(). Exports
 * with PrivilegedPort = true need no more.
 *
 * xp_fd is -1, as there is no descriptor. Ganesha only prints it. NLM, which does not run over
 * RDMA, would ask it for the local address.
 */
#include "ganesha/serve/xprt.h"

#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/addr.h"
#include "ganesha/config/dialect.h"
#include "ganesha/serve/server.h"
#include "ntirpc/read_buffer.h"

bool gr_xprt_dead(SVCXPRT *xprt)
{
	return __atomic_load_n(&xprt->xp_flags, __ATOMIC_RELAXED) &
	       SVC_XPRT_FLAG_DESTROYED;
}

struct rt_conn *gr_xprt_conn(struct gr_xprt *x)
{
	struct rt_conn *c;

	pthread_mutex_lock(&x->conn_lock);
	c = x->conn;
	if (c)
		rt_conn_get(c);
	pthread_mutex_unlock(&x->conn_lock);
	return c;
}

/* Returns the connection of @x with its reference, which @x had, or NULL. */
static struct rt_conn *detach(struct gr_xprt *x)
{
	struct rt_conn *c;

	pthread_mutex_lock(&x->conn_lock);
	c = x->conn;
	x->conn = NULL;
	pthread_mutex_unlock(&x->conn_lock);
	return c;
}

static enum xprt_stat op_stat(SVCXPRT *xprt)
{
	return gr_xprt_dead(xprt) ? XPRT_DESTROYED : XPRT_IDLE;
}

/* ntirpc's event loop never sees this SVCXPRT, so nobody calls this. gr_xprt_of() recognizes our
 * SVCXPRTs by it. */
static enum xprt_stat op_recv(SVCXPRT *xprt)
{
	return op_stat(xprt);
}

static struct gr_call *call_of(struct svc_req *req)
{
	return (struct gr_call *)(void *)nrt_call_of(req->rq_xdrs);
}

static bool is_closed(struct gr_xprt *x, struct rt_conn *c)
{
	return gr_xprt_dead(&x->xprt) || rt_conn_is_closing(c);
}

static __thread struct gr_xprt *of_nfs3_call;

struct gr_xprt *gr_xprt_of_nfs3_call(void)
{
	return of_nfs3_call;
}

/* Answer that only version @is of NFS is served. Do not call ntirpc's svcerr_progvers(), because the
 * loader may find the C library's function of that name. */
static enum xprt_stat reply_mismatch(struct svc_req *req, uint32_t is)
{
	struct accepted_reply *reply = &req->rq_msg.RPCM_ack;

	req->rq_msg.rm_direction = REPLY;
	req->rq_msg.rm_reply.rp_stat = MSG_ACCEPTED;
	reply->ar_verf.oa_flavor = AUTH_NONE;
	reply->ar_verf.oa_length = 0;
	reply->ar_stat = PROG_MISMATCH;
	reply->ar_vers.low = is;
	reply->ar_vers.high = is;
	return nrt_xp_reply(req);
}

/* Let Ganesha execute a Call, if its version of NFS is served. dialect_hooks.c checks minor
 * versions. */
static enum xprt_stat execute(struct gr_xprt *x, struct svc_req *req)
{
	const struct ulb_call *head = &nrt_call_of(req->rq_xdrs)->head;
	uint32_t served = x->srv->cfg.nfs_versions;
	enum xprt_stat stat;

	if (x->srv->cfg.dialect) {
		if (head->prog == ULB_PROG_NFS && head->vers == 3 &&
		    !(served & GR_NFS_3))
			return reply_mismatch(req, 4);
		if (head->prog == ULB_PROG_NFS && head->vers == 4 &&
		    served == GR_NFS_3)
			return reply_mismatch(req, 3);
		of_nfs3_call = head->vers == 3 ? x : NULL;
	}
	stat = x->xprt.xp_dispatch.process_cb(req);
	nrt_read_withdraw();
	of_nfs3_call = NULL;
	return stat;
}

/* rq_resume_cb of a Call whose header has been decoded, also after it has waited for others of its
 * host: let Ganesha execute it. @req may be freed afterwards. */
static enum xprt_stat proceed(struct svc_req *req)
{
	struct gr_xprt *x = gr_xprt_of(req->rq_xprt);
	/* The Call keeps it. */
	struct rt_conn *c = nrt_call_of(req->rq_xdrs)->call->conn;

	switch (gr_host_admit(&x->xprt, &x->admission, x->host,
			      &call_of(req)->waiter, req, &x->ended,
			      compat_xprt_admit)) {
	case GR_PENDING:
		return XPRT_SUSPEND; /* it may have been freed */
	case GR_ADMITTED:
		break;
	default:
		rt_conn_close(c, true);
		return op_stat(&x->xprt);
	}
	/* The client may have sent it again, see gr_xprt_decode(). */
	if (is_closed(x, c))
		return op_stat(&x->xprt);
	return execute(x, req);
}

/* Log a denial; the first malformed Call of a connection at a level that all servers log. */
static void log_denial(struct gr_xprt *x, struct rt_conn *c, const char *why,
		       bool malformed)
{
	bool quiet = !malformed || atomic_exchange(&x->complained, true);

	rt_log(c, quiet ? LOG_DEBUG : LOG_NOTICE, "Call refused: %s%s", why,
	       quiet ? "" : "; more of these are only counted");
}

enum xprt_stat gr_xprt_decode(struct svc_req *req)
{
	SVCXPRT *xprt = req->rq_xprt;
	struct gr_xprt *x = gr_xprt_of(xprt);
	/* The Call keeps it. */
	struct rt_conn *c = nrt_call_of(req->rq_xdrs)->call->conn;
	bool malformed;
	const char *why;

	/* The client sends it again on another connection. This one must not be executed
	 * after Calls that follow it there. */
	if (is_closed(x, c))
		return op_stat(xprt);
	if (rt_conn_replies_full(c)) {
		rt_call_wait(nrt_call_of(req->rq_xdrs)->call);
		return XPRT_SUSPEND; /* it may have been freed */
	}
	rt_call_begin(nrt_call_of(req->rq_xdrs)->call);
	why = nrt_denies(req, &malformed);
	if (why) {
		log_denial(x, c, why, malformed);
		nrt_deny(req);
		return op_stat(xprt);
	}
	req->rq_xdrs->x_op = XDR_DECODE;
	xs_msg_init(&req->rq_msg);
	/* What nrt_denies() accepts can be decoded. */
	if (!xdr_dplx_decode(req->rq_xdrs, &req->rq_msg)) {
		rt_conn_close(c, true);
		return op_stat(xprt);
	}
	req->rq_resume_cb = proceed;
	return proceed(req);
}

static void op_unlink(SVCXPRT *xprt, u_int flags, const char *tag,
		      const int line)
{
	struct rt_conn *c = gr_xprt_conn(gr_xprt_of(xprt));

	/* The first SVC_DESTROY() calls this, for example when Ganesha could not send a Reply. */
	if (!c)
		return;
	rt_conn_close(c, true);
	rt_conn_put(c);
}

static void op_destroy(SVCXPRT *xprt, u_int flags, const char *tag,
		       const int line)
{
	struct gr_xprt *x = gr_xprt_of(xprt);
	struct rt_conn *c = detach(x);

	/* Ganesha's reference count orders this after what others did. Let a sanitizer see it,
	 * too, if Ganesha drops the last reference. */
	__atomic_load_n(&xprt->xp_refcnt, __ATOMIC_ACQUIRE);
	/* Ganesha keeps the client's duplicate request cache in xp_u2. */
	if (x->ops.xp_free_user_data)
		x->ops.xp_free_user_data(xprt);
	SVC_RELEASE(xprt->xp_parent, SVC_RELEASE_FLAG_NONE);
	if (c)
		rt_conn_put(c);
	gr_host_put(x->host);
	nrt_bound_destroy(&x->bound);
	nrt_client_destroy(&x->client);
	pthread_mutex_destroy(&x->conn_lock);
	pthread_mutex_destroy(&xprt->xp_lock);
	free(x);
}

static bool op_control(SVCXPRT *xprt, const u_int rq, void *in)
{
	struct gr_xprt *x = gr_xprt_of(xprt);

	switch (rq) {
	case SVCGET_XP_FLAGS:
		*(u_int *)in =
			__atomic_load_n(&xprt->xp_flags, __ATOMIC_RELAXED);
		return true;
	case SVCSET_XP_FLAGS:
		xprt->xp_flags = *(u_int *)in;
		return true;
	case SVCGET_XP_FREE_USER_DATA:
		*(svc_xprt_fun_t *)in = x->ops.xp_free_user_data;
		return true;
	case SVCSET_XP_FREE_USER_DATA:
		x->ops.xp_free_user_data = *(svc_xprt_fun_t)in;
		return true;
	default:
		return compat_xprt_control(xprt, rq, in);
	}
}

static const struct xp_ops template = {
	.xp_recv = op_recv,
	.xp_stat = op_stat,
	.xp_decode = gr_xprt_decode,
	.xp_reply = nrt_xp_reply,
	.xp_checksum = nrt_xp_checksum,
	.xp_unlink = op_unlink,
	.xp_destroy = op_destroy,
	.xp_control = op_control,
};

struct gr_xprt *gr_xprt_of(const SVCXPRT *xprt)
{
	if (!xprt || !xprt->xp_ops || xprt->xp_ops->xp_recv != op_recv)
		return NULL;
	return (struct gr_xprt *)(uintptr_t)xprt;
}

static void xprt_end(struct gr_xprt *x)
{
	SVC_DESTROY(&x->xprt);
	SVC_RELEASE(&x->xprt, SVC_RELEASE_FLAG_NONE);
}

/*
 * Ganesha keeps clients, whatever their transport, in trees that are ordered by address. With
 * several families in one tree it would not find entries again, and free them in use (duplicate
 * request caches). So use the @family that clients by TCP have.
 */
static void set_address(struct rpc_address *to,
			const struct sockaddr_storage *from, sa_family_t family)
{
	__rpc_address_setup(to);
	to->ss = *from;
	if (family == AF_INET6)
		base_addr_map(&to->ss);
	__rpc_address_set_length(to, 0);
}

/*
 * Ganesha identifies a client that reconnects by its address and port: to find the duplicate
 * request cache and, in release 4.3, the connections of a session, of which it forgets none. A
 * client by TCP uses its port again, one by RDMA does not. So show only whether the port is
 * privileged. nrt_xp_checksum() and ntirpc/quirks/bound.h keep apart what clients of one address
 * must not share.
 */
static void hide_port(struct sockaddr_storage *of)
{
	base_addr_set_port(of, base_addr_port(of) < IPPORT_RESERVED ?
				       IPPORT_RESERVED - 1 :
				       IPPORT_RESERVED);
}

struct gr_xprt *gr_xprt_create(struct gr_server *srv, struct rt_conn *c,
			       SVCXPRT *parent)
{
	static char netid4[] = "rdma", netid6[] = "rdma6";
	struct gr_xprt *x = calloc(1, sizeof(*x));
	struct rt_conn_info info;
	SVCXPRT *xprt;

	if (!x)
		return NULL;
	rt_conn_info(c, &info);
	x->srv = srv;
	x->conn = c;
	x->host = gr_host_get(&srv->hosts, &info.peer);
	if (!x->host) {
		free(x);
		return NULL;
	}
	nrt_bound_init(&x->bound);
	nrt_client_init(&x->client, &srv->names);
	x->ops = template;
	/* Ganesha sets it for the listener. */
	x->ops.xp_free_user_data = parent->xp_ops->xp_free_user_data;
	xprt = &x->xprt;
	xprt->xp_ops = &x->ops;
	xprt->xp_type = srv->cfg.dialect ? XPRT_NON_RENDEZVOUS : XPRT_TCP;
	xprt->xp_netid = info.peer.ss_family == AF_INET6 ? netid6 : netid4;
	set_address(&xprt->xp_local, &info.local, srv->tcp.ss_family);
	set_address(&xprt->xp_remote, &info.peer, srv->tcp.ss_family);
	hide_port(&xprt->xp_remote.ss);
	/* Ganesha takes a connection to NFS_RDMA_Port, 20049 by default, for one of its own
	 * RDMA, by which it does not serve every version of NFS. */
	if (COMPAT_RDMA)
		base_addr_set_port(&xprt->xp_local.ss,
				   base_addr_port(&srv->tcp));
	compat_xprt_open(xprt, parent->xp_ops);
	pthread_mutex_init(&xprt->xp_lock, NULL);
	pthread_mutex_init(&x->conn_lock, NULL);
	xprt->xp_fd = -1;
	xprt->xp_fd_send = -1;
	xprt->xp_refcnt = 2;
	xprt->xp_flags = COMPAT_XPRT_COMPLETE;
	SVC_REF(parent, SVC_REF_FLAG_NONE);
	xprt->xp_parent = parent;
	if (parent->xp_dispatch.rendezvous_cb(xprt) != XPRT_IDLE) {
		/* This also frees what Ganesha has attached to it. */
		(void)detach(x);
		xprt_end(x);
		return NULL;
	}
	return x;
}

static enum xprt_stat end_by_worker(struct svc_req *req)
{
	xprt_end((struct gr_xprt *)((char *)req -
				    offsetof(struct gr_xprt, ending)));
	return XPRT_SUSPEND; /* it has been freed */
}

void gr_xprt_closed(struct gr_xprt *x)
{
	struct rt_conn *c = detach(x);

	/* Calls that wait need not be executed. */
	atomic_store(&x->ended, true);
	gr_host_flush(x->host, x);
	/* This is not the last reference, as the strand has its own. */
	if (c)
		rt_conn_put(c);
	if (!compat_xprt_unrefs(&x->xprt) ||
	    atomic_load(&x->srv->workers_gone)) {
		xprt_end(x);
		return;
	}
	x->ending.rq_resume_cb = end_by_worker;
	gr_workers_submit(&x->srv->workers, &x->ending);
}
