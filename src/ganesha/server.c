/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server - starting, serving and ending RPC-over-RDMA beside NFS over TCP
 *
 * Threads: start, drain and free are called by Ganesha's main and admin
 * threads, one at a time; the keeper (keeper.h) does what they are called for,
 * because of the device. Ganesha's other threads come to the transport by
 * Replies, reverse Calls and the end of connections. The operations given to
 * the transport run in a connection's strand and do not block. What they read
 * of struct gr_server is not changed while the transport runs.
 */
#include "ganesha/server.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>
#include <time.h>

#include "gss/gss.h"
#include "base/addr.h"
#include "ganesha/stats_dbus.h"
#include "ganesha/xprt.h"
#include "ntirpc/call.h"
#include "ntirpc/lend.h"
#include "rpcrdma/nfs.h"

#define FAULT_ROOM 512

static void transport_log(void *ctx, int level, const char *text)
{
	const struct gr_server *s = ctx;
	int l = level <= LOG_ERR     ? GSH_CRIT :
		level == LOG_WARNING ? GSH_WARN :
		level == LOG_NOTICE  ? GSH_EVENT :
		level == LOG_INFO    ? GSH_INFO :
				       GSH_DEBUG;

	gsh_log(s->gsh, l, "%s", text);
}

void gr_server_fault(struct gr_server *s, const char *what)
{
	/* For whoever starts the server by hand; a daemon's goes nowhere. */
	fprintf(stderr, "rpcrdma: %s\n", what);
	if (s->cfg.required)
		gsh_log(s->gsh, GSH_FATAL,
			"%s. The server ends because of Required = true", what);
	gsh_log(s->gsh, GSH_CRIT,
		"%s. NFS is served without RDMA (Required = false)", what);
}

/* ---- Operations ------------------------------------------------------- */

/* "1.5 MiB" */
static const char *bytes_text(uint64_t n, char text[24])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB",
					     "TiB" };
	unsigned int i = 0;
	double v = (double)n;

	while (i < 4 && v >= 1024) {
		v /= 1024;
		i++;
	}
	snprintf(text, 24, i ? "%.1f %s" : "%.0f %s", v, units[i]);
	return text;
}

/* Once for each connection, and once for its end: within what base/log.h lets
 * a host and all hosts cause. */
static void op_established(struct rt_conn *c)
{
	struct gr_xprt *x = rt_conn_user(c);
	struct rt_conn_info info;

	rt_conn_info(c, &info);
	rt_conn_log(c, LOG_NOTICE,
		    "connected: RPC-over-RDMA version %u, provider %s%s%s",
		    info.version, x->srv->provider,
		    *info.auth_peer ? ", host " : "", info.auth_peer);
}

static void log_end(struct rt_conn *c, const struct gr_xprt *x, int error,
		    const char *reason)
{
	struct rt_conn_info info;
	const struct rt_stats *st = &info.stats;
	char in[24], out[24];

	rt_conn_info(c, &info);
	rt_conn_log(c, error && error != -ECONNRESET ? LOG_WARNING : LOG_NOTICE,
		    "closed: %s; after %.1f s, %" PRIu64
		    " Calls, %s received, %s sent",
		    reason, (double)(rt_now_ns() - x->since) / 1e9,
		    st->calls_received,
		    bytes_text(st->inline_bytes_received + st->read_bytes +
				       st->placed_bytes_received,
			       in),
		    bytes_text(st->inline_bytes_sent + st->write_bytes +
				       st->placed_bytes_sent,
			       out));
}

static void *op_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	struct gr_server *s = ctx;
	struct gr_xprt *x = gr_xprt_create(s, c, s->parent);

	if (x) {
		x->since = rt_now_ns();
		rt_conn_log(c, LOG_DEBUG, "accepted");
	} else {
		rt_conn_log(c, LOG_INFO, "refused, the server is ending");
		*refuse = true;
	}
	return x;
}

static uint32_t op_vet(struct rt_conn *c, struct rt_vet *v, uint32_t *max)
{
	struct gr_xprt *x = rt_conn_user(c);
	struct iovec iov[RT_MAX_PIECES];
	struct ulb_read reads[RT_MAX_CHUNKS];
	unsigned int n, most;
	bool misfit;

	/* Of a torn Call, which nothing is read of, just their number. */
	for (n = 0; n < v->nreads && !v->torn; n++)
		reads[n] = (struct ulb_read){ v->reads[n].position,
					      v->reads[n].length };
	if (ulb_take_reads(iov, rt_to_iov(v->pieces, v->npieces, iov), reads, n,
			   v->total, x->srv->cfg.max_read_chunks, &most,
			   &misfit)) {
		v->torn = v->torn || misfit;
		return 0;
	}
	*max = most;
	return RDMA2_ERR_READ_CHUNKS;
}

/* By the first Call the peer is known. */
static uint64_t peer_sum(struct gr_xprt *x, struct rt_conn *c)
{
	struct rt_conn_info info;

	if (!x->peer_known) {
		rt_conn_info(c, &info);
		x->peer = x->srv->secret ^
			  nrt_checksum(info.auth_peer, strlen(info.auth_peer));
		x->peer_known = true;
	}
	return x->peer;
}

/*
 * Results in Write chunks take no memory of ours but, where a device sends from
 * registered memory alone, that of their copies: they may be as long as what we
 * take ourselves in the segments of one message, in all.
 */
static size_t placeable(const struct rt_config *cfg, const struct rt_call *call)
{
	size_t most = (size_t)cfg->max_segments * cfg->max_segment_size;
	size_t sum = 0;

	for (unsigned int i = 0; i < call->nwrites; i++)
		sum += call->writes[i];
	if (most > cfg->max_conn_memory / 4)
		most = cfg->max_conn_memory / 4;
	return sum < most ? sum : most;
}

static void op_call(struct rt_conn *c, struct rt_call *call)
{
	struct gr_xprt *x = rt_conn_user(c);
	struct gr_server *s = x->srv;
	struct nrt_call *nc;
	struct svc_req *req;
	XDR *xdrs;

	/* Ganesha has given the connection up: its end is under way. */
	if (gr_xprt_dead(&x->xprt)) {
		rt_call_drop(call);
		return;
	}
	xdrs = nrt_call_open(call, rt_instance_pool(s->inst),
			     rt_instance_config(s->inst)->max_message);
	if (!xdrs) {
		rt_call_drop(call);
		return;
	}
	req = s->alloc_cb(&x->xprt, xdrs);
	req->rq_resume_cb = gr_xprt_decode;
	nc = rt_call_user(call);
	memset(&((struct gr_call *)(void *)nc)->pass, 0,
	       sizeof(struct gr_pass));
	nc->owner = req;
	nc->clnts = s->clnts;
	nc->beside = placeable(rt_instance_config(s->inst), call);
	nc->bound = COMPAT_BOUND ? &x->bound : NULL;
	nc->peer = peer_sum(x, c);
	gr_workers_submit(&s->workers, req);
}

/* What has waited goes on. */
static void resume(struct gr_server *s, struct svc_req *req)
{
	if (atomic_load(&s->workers_gone))
		gr_workers_run(&s->workers, req);
	else
		gr_workers_submit(&s->workers, req);
}

static void op_resume(struct rt_conn *c, struct rt_call *call)
{
	struct svc_req *req = ((struct nrt_call *)rt_call_user(call))->owner;

	resume(((struct gr_xprt *)rt_conn_user(c))->srv, req);
}

static void resume_at_gate(struct gr_gates *g, struct svc_req *req)
{
	resume((struct gr_server *)((char *)g -
				    offsetof(struct gr_server, gates)),
	       req);
}

static void op_closed(struct rt_conn *c, int error, const char *reason)
{
	struct gr_xprt *x = rt_conn_user(c);

	if (!x)
		return;
	log_end(c, x, error, reason);
	nrt_clnts_lost(x->srv->clnts, c);
	gr_xprt_closed(x);
}

static const struct rt_ops ops = {
	.open = op_open,
	.established = op_established,
	.vet = op_vet,
	.call = op_call,
	.resume = op_resume,
	.closed = op_closed,
	.tells_end = true,
};

/* ---- Starting --------------------------------------------------------- */

static void set_port(struct sockaddr_storage *ss, uint16_t port)
{
	if (ss->ss_family == AF_INET6)
		((struct sockaddr_in6 *)ss)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)ss)->sin_port = htons(port);
}

/*
 * Where NFS over TCP listens. Its one socket may stand for both families; a
 * listener here is of one family.
 */
static void parent_addresses(SVCXPRT *parent, struct gr_addrs *at)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&at->addr[0];
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in6 in6;
	socklen_t len = sizeof(ss);

	at->n = 1;
	memset(&at->addr[0], 0, sizeof(at->addr[0]));
	in->sin_family = AF_INET;
	if (getsockname(parent->xp_fd, (struct sockaddr *)&ss, &len))
		return;
	if (ss.ss_family == AF_INET) {
		at->addr[0] = ss;
	} else if (ss.ss_family == AF_INET6) {
		memcpy(&in6, &ss, sizeof(in6));
		if (IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr))
			at->addr[at->n++] = ss;
		else if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
			memcpy(&in->sin_addr, in6.sin6_addr.s6_addr + 12, 4);
		else
			at->addr[0] = ss;
	}
}

static void addresses(const struct gr_server *s, struct gr_addrs *at)
{
	*at = s->cfg.bind;
	if (!at->n)
		parent_addresses(s->parent, at);
	for (unsigned int i = 0; i < at->n; i++)
		set_port(&at->addr[i], s->cfg.port);
}

/* Provider = auto: is every address that of an RDMA device? */
static bool devices_serve(const struct gr_server *s)
{
	const struct fab_ops *verbs = fab_provider("verbs");
	const struct sockaddr_storage *of = NULL, *not_of = NULL;
	struct gr_addrs at;
	char has[64], lacks[64];

	if (!verbs) {
		gsh_log(s->gsh, GSH_INFO,
			"Provider = auto: verbs is not built in");
		return false;
	}
	addresses(s, &at);
	for (unsigned int i = 0; i < at.n; i++) {
		if (fab_provider_owns(verbs, (struct sockaddr *)&at.addr[i]))
			of = &at.addr[i];
		else
			not_of = &at.addr[i];
	}
	if (not_of)
		fab_addr_name((const struct sockaddr *)not_of, lacks,
			      sizeof(lacks));
	if (of)
		fab_addr_name((const struct sockaddr *)of, has, sizeof(has));
	if (of && not_of)
		gsh_log(s->gsh, GSH_WARN,
			"Provider = auto: %s is of an RDMA device, %s is not: "
			"iwarp serves both; for the device take the other out "
			"of Bind_Addr",
			has, lacks);
	else if (not_of)
		gsh_log(s->gsh, GSH_INFO,
			"Provider = auto: no RDMA device has %s", lacks);
	return !not_of;
}

/* With FSAL_VFS Ganesha's workers change their user; these threads do not. */
static int create_auth(struct gr_server *s, char *fault)
{
	struct auth_gss_params p = { .keytab = s->cfg.auth_keytab,
				     .principal = s->cfg.auth_principal,
				     .allow = s->cfg.auth_allow };
	char why[RT_AUTH_TEXT];
	int err;

	if (s->cfg.auth == RT_AUTH_NONE)
		return 0;
	err = auth_gss_create(&p, &s->auth, why);
	if (err == -EINVAL)
		snprintf(fault, FAULT_ROOM,
			 "Host_Authentication: %s: put a key of nfs/ or host/ "
			 "of this host there, or correct "
			 "Host_Authentication_Keytab and _Principal in block "
			 "RDMA",
			 why);
	return err;
}

static int create_with(struct gr_server *s, const char *name)
{
	struct rt_params p = {
		.provider = fab_provider(name),
		.domain = { .log = transport_log,
			    .log_ctx = s,
			    .startup_timeout_ms = s->cfg.startup_timeout * 1000,
			    .crc = s->cfg.crc },
		.pollers = s->cfg.pollers,
		.strangers = true,
		.log = transport_log,
		.log_ctx = s,
		.auth = &auth_gss_ops,
		.auth_ctx = s->auth,
	};

	if (!p.provider)
		return -ENOPROTOOPT;
	gr_config_transport(&s->cfg, &p.config);
	p.config.call_user_size = sizeof(struct gr_call);
	p.config.request_user_size = nrt_clnt_request_size();
	s->provider = name;
	return rt_instance_create(&p, &s->inst);
}

static int create(struct gr_server *s, char *fault)
{
	const char *name = s->cfg.provider == GR_VERBS ? "verbs" : "iwarp";
	int err = -ENODEV;

	if (s->cfg.provider == GR_AUTO && devices_serve(s)) {
		err = create_with(s, "verbs");
		if (err)
			gsh_log(s->gsh, GSH_WARN,
				"provider verbs cannot be used (%s), taking "
				"iwarp",
				strerror(-err));
	}
	if (err)
		err = create_with(s, name);
	switch (err) {
	case 0:
		break;
	case -ENOPROTOOPT:
		snprintf(fault, FAULT_ROOM,
			 "provider %s is not built in: set Provider to another "
			 "one in block RDMA",
			 name);
		break;
	case -ENODEV:
		snprintf(fault, FAULT_ROOM,
			 "provider %s finds no RDMA device: load its driver "
			 "(rdma link shows devices), or set Provider = iwarp, "
			 "which needs none",
			 name);
		break;
	case -ENOMEM:
	case -EPERM:
		snprintf(fault, FAULT_ROOM,
			 "provider %s cannot register memory (%s): raise the "
			 "limit of locked memory (LimitMEMLOCK=infinity, "
			 "ulimit -l) or lower Max_Memory",
			 name, strerror(-err));
		break;
	default:
		snprintf(fault, FAULT_ROOM, "provider %s cannot be opened: %s",
			 name, strerror(-err));
	}
	return err;
}

static int listen_one(struct gr_server *s, const struct sockaddr_storage *at,
		      char *fault)
{
	socklen_t len = at->ss_family == AF_INET6 ?
				sizeof(struct sockaddr_in6) :
				sizeof(struct sockaddr_in);
	bool device = !strcmp(s->provider, "verbs");
	struct sockaddr_storage got, *first;
	struct rt_listener *l;
	char text[64];
	int err = rt_listen(s->inst, (const struct sockaddr *)at, len, &ops, s,
			    &l);

	fab_addr_name((const struct sockaddr *)at, text, sizeof(text));
	switch (err) {
	case 0:
		rt_listener_addr(l, &got);
		fab_addr_name((struct sockaddr *)&got,
			      s->source.listener[s->source.nlisteners++],
			      sizeof(s->source.listener[0]));
		first = got.ss_family == AF_INET6 ? &s->rpcbind.at6 :
						    &s->rpcbind.at;
		if (!first->ss_family)
			*first = got;
		break;
	case -EADDRINUSE:
		snprintf(fault, FAULT_ROOM,
			 "cannot listen on %s: the port is in use: stop the "
			 "program that has it (%s shows it) or set another "
			 "Port in block RDMA",
			 text,
			 device ? "rdma resource show cm_id" : "ss -tlnp");
		break;
	case -EADDRNOTAVAIL:
		snprintf(fault, FAULT_ROOM,
			 "cannot listen on %s: no %s has this address: correct "
			 "Bind_Addr%s in block RDMA",
			 text, device ? "RDMA device" : "interface",
			 device ? " or set Provider = iwarp" : "");
		break;
	case -EACCES:
		snprintf(fault, FAULT_ROOM,
			 "cannot listen on %s: ports below 1024 need "
			 "CAP_NET_BIND_SERVICE: set another Port in block RDMA",
			 text);
		break;
	default:
		snprintf(fault, FAULT_ROOM, "cannot listen on %s: %s", text,
			 strerror(-err));
	}
	return err;
}

static int listen_all(struct gr_server *s, char *fault)
{
	struct gr_addrs at;

	_Static_assert(GR_MAX_ADDRS <= STATS_MAX_LISTENERS, "room for all");
	addresses(s, &at);
	for (unsigned int i = 0; i < at.n; i++) {
		int err = listen_one(s, &at.addr[i], fault);

		/* Of both families by default, one may be missing here. */
		if (err == -EAFNOSUPPORT && !s->cfg.bind.n && i)
			err = 0;
		if (err)
			return err;
	}
	return 0;
}

static void start_stats(struct gr_server *s)
{
	const char *path = s->cfg.stats_socket;
	const char *wrong;
	int err;

	wrong = s->cfg.stats_dbus ? stats_dbus_start(s->gsh, &s->source) : NULL;
	if (wrong)
		gsh_log(s->gsh, GSH_EVENT, "no statistics on D-Bus: %s", wrong);
	if (!path || !*path)
		return;
	err = stats_socket_start(path, &s->source, &s->stats);
	if (err)
		gsh_log(s->gsh, GSH_WARN,
			"no statistics at %s: %s: set Stats_Socket in block "
			"RDMA to a place this server may use alone",
			path, strerror(-err));
}

static const char *versions_text(uint32_t set)
{
	if (set == 1u << WIRE_VERS1)
		return "1";
	return set == 1u << WIRE_VERS2 ? "2" : "2 and 1";
}

static const char *const auth_text[] = {
	[RT_AUTH_NONE] = "",
	[RT_AUTH_OPTIONAL] = ", host authentication optional",
	[RT_AUTH_REQUIRED] = ", host authentication required",
};

/* Workers may not be near a device that minds whose credentials they have. */
static bool workers_poll(const struct gr_server *s)
{
	if (!s->cfg.worker_polling)
		return false;
	if (!rt_instance_bound(s->inst))
		return true;
	gsh_log(s->gsh, GSH_EVENT,
		"provider %s: each poller has a thread of its own, as with "
		"Worker_Polling = false",
		s->provider);
	return false;
}

/* By the class of its operations; the end of an SVCXPRT has none. */
static unsigned int kind_of(struct svc_req *req)
{
	_Static_assert(ULB_NCLASSES < GR_KINDS, "a number for each, and one");
	return req->rq_xdrs ? nrt_call_of(req->rq_xdrs)->call->op_class :
			      ULB_NCLASSES;
}

struct start {
	struct gr_server *s;
	int err;
	char fault[FAULT_ROOM];
};

/* By the keeper. What is there after an error, free_all() gives back. */
static void start_all(void *arg)
{
	struct start *st = arg;
	struct gr_server *s = st->s;
	int err;

	err = create_auth(s, st->fault);
	if (!err)
		err = create(s, st->fault);
	if (err)
		goto out;
	s->source.inst = s->inst;
	s->source.program = "ganesha";
	s->source.provider = s->provider;
	s->source.started = stats_now();
	err = nrt_clnts_create(s->inst, NULL, &s->clnts);
	if (err)
		goto out;
	err = listen_all(s, st->fault);
	if (err)
		goto out;
	nrt_lend_start();
	err = gr_workers_start(&s->workers, s->inst, s->free_cb, kind_of,
			       workers_poll(s));
	if (err)
		goto out;
	start_stats(s);
	for (unsigned int i = 0; i < s->source.nlisteners; i++)
		gsh_log(s->gsh, GSH_EVENT,
			"serving RPC-over-RDMA version %s on %s, provider %s%s",
			versions_text(rt_instance_config(s->inst)->versions),
			s->source.listener[i], s->provider,
			auth_text[s->cfg.auth]);
out:
	st->err = err;
}

bool gr_server_start(struct gr_server *s, SVCXPRT *parent)
{
	struct start st = { .s = s };

	SVC_REF(parent, SVC_REF_FLAG_NONE);
	s->parent = parent;
	memset(&s->source, 0, sizeof(s->source));
	memset(&s->rpcbind, 0, sizeof(s->rpcbind));
	gr_gates_init(&s->gates, resume_at_gate);
	/* Without, the checksum of a Call could be foreseen; no more. */
	if (getrandom(&s->secret, sizeof(s->secret), 0) < 0)
		s->secret = 0;
	s->rpcbind.gsh = s->cfg.rpcbind ? s->gsh : NULL;
	st.err = gr_keeper_start(&s->keeper);
	if (!st.err)
		gr_keeper_do(&s->keeper, start_all, &st);
	if (!st.err)
		return true;
	if (!*st.fault)
		snprintf(st.fault, sizeof(st.fault), "cannot start: %s",
			 strerror(-st.err));
	gr_server_free(s);
	gr_server_fault(s, st.fault);
	return false;
}

/* ---- Ending ----------------------------------------------------------- */

/* Beyond the Drain_Timeout, after which connections end by themselves. */
#define DRAIN_SLACK_MS 1000

/* By the keeper. */
static void drain_all(void *arg)
{
	struct gr_server *s = arg;
	unsigned int left;

	stats_dbus_stop();
	stats_socket_stop(s->stats);
	s->stats = NULL;
	nrt_clnts_close(s->clnts);
	left = rt_instance_shutdown(
		s->inst, s->cfg.drain_timeout * 1000 + DRAIN_SLACK_MS, false);
	if (!gr_workers_stop(&s->workers, 10000)) {
		/* They may still look at anything, pollers at the instance:
		 * leave all of it to the exit. */
		gsh_log(s->gsh, GSH_WARN,
			"a worker does not come back from a request");
		s->abandoned = true;
		return;
	}
	if (left)
		left = rt_instance_shutdown(s->inst, 1000, true);
	gsh_log(s->gsh, GSH_EVENT, "no longer serving RPC-over-RDMA%s",
		left ? ", some connections did not end" : "");
	/* While ntirpc still frees what loses its last reference. */
	SVC_RELEASE(s->parent, SVC_RELEASE_FLAG_NONE);
	s->parent = NULL;
}

void gr_server_drain(struct gr_server *s)
{
	gr_keeper_do(&s->keeper, drain_all, s);
	if (s->abandoned)
		gr_keeper_stop(&s->keeper);
}

/* By the keeper. */
static void free_all(void *arg)
{
	struct gr_server *s = arg;

	/* What the fabric has put off until its poller runs again. */
	if (s->inst && rt_instance_shutdown(s->inst, 1000, true))
		return;
	gr_workers_free(&s->workers);
	/*
	 * What still holds the instance may be let go by any thread at any
	 * time, even while the program's exit takes the device's libraries
	 * apart. The last one would close the device then: so that is left to
	 * the kernel.
	 */
	if (s->inst && (rt_instance_held(s->inst) ||
			(s->clnts && nrt_clnts_busy(s->clnts))))
		return;
	/*
	 * Ganesha keeps sessions, and with them CLIENTs and SVCXPRTs, beyond
	 * its shutdown. They use nothing of the transport any more; the CLIENTs'
	 * own part stays until the program's exit.
	 */
	if (!atomic_load(&s->clients))
		nrt_clnts_destroy(s->clnts);
	s->clnts = NULL;
	if (s->inst)
		rt_instance_destroy(s->inst);
	s->inst = NULL;
	auth_gss_destroy(s->auth);
	s->auth = NULL;
}

void gr_server_free(struct gr_server *s)
{
	atomic_store(&s->workers_gone, true);
	if (s->keeper.running)
		gr_keeper_do(&s->keeper, free_all, s);
	gr_keeper_stop(&s->keeper);
	if (s->parent)
		SVC_RELEASE(s->parent, SVC_RELEASE_FLAG_NONE);
	s->parent = NULL;
	/* The gates stay: SVCXPRTs that Ganesha still keeps belong to them. */
}
