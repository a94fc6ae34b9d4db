/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start - what the server is made of: provider, listeners, workers, statistics
 *
 * What cannot be had is told so that an operator knows what to do.
 *
 * Threads: the control thread (control.h).
 */
#include "ganesha/start.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "base/addr.h"
#include "ganesha/stats_dbus.h"
#include "ganesha/xprt.h"
#include "gss/gss.h"
#include "ntirpc/call.h"
#include "ntirpc/lend.h"
#include "rpcrdma/nfs.h"

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
static void tcp_addresses(const struct sockaddr_storage *tcp,
			  struct gr_addrs *at)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&at->addr[0];
	struct sockaddr_in6 in6;

	at->n = 1;
	memset(&at->addr[0], 0, sizeof(at->addr[0]));
	in->sin_family = AF_INET;
	if (tcp->ss_family == AF_INET) {
		at->addr[0] = *tcp;
	} else if (tcp->ss_family == AF_INET6) {
		memcpy(&in6, tcp, sizeof(in6));
		if (IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr))
			at->addr[at->n++] = *tcp;
		else if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
			memcpy(&in->sin_addr, in6.sin6_addr.s6_addr + 12, 4);
		else
			at->addr[0] = *tcp;
	}
}

/* Ganesha could not be told of a peer there: see gr_xprt_create(). */
static bool foreign(const struct gr_server *s,
		    const struct sockaddr_storage *at)
{
	return s->tcp.ss_family == AF_INET && at->ss_family == AF_INET6;
}

static bool is_any6(const struct sockaddr_storage *at)
{
	struct sockaddr_in6 in6;

	if (at->ss_family != AF_INET6)
		return false;
	memcpy(&in6, at, sizeof(in6));
	return IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
}

/* As configured, but for a [::] beside others that cannot be served. */
static void addresses(const struct gr_server *s, struct gr_addrs *at)
{
	const struct gr_addrs *bind = &s->cfg.bind;

	at->n = 0;
	for (unsigned int i = 0; i < bind->n; i++) {
		if (bind->n == 1 || !foreign(s, &bind->addr[i]) ||
		    !is_any6(&bind->addr[i]))
			at->addr[at->n++] = bind->addr[i];
	}
	if (!bind->n)
		tcp_addresses(&s->tcp, at);
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
		snprintf(fault, GR_FAULT_ROOM,
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
		.foreign_threads = true,
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
		snprintf(fault, GR_FAULT_ROOM,
			 "provider %s is not built in: set Provider to another "
			 "one in block RDMA",
			 name);
		break;
	case -ENODEV:
		snprintf(fault, GR_FAULT_ROOM,
			 "provider %s finds no RDMA device: load its driver "
			 "(rdma link shows devices), or set Provider = iwarp, "
			 "which needs none",
			 name);
		break;
	case -ENOMEM:
	case -EPERM:
		snprintf(fault, GR_FAULT_ROOM,
			 "provider %s cannot register memory (%s): raise the "
			 "limit of locked memory (LimitMEMLOCK=infinity, "
			 "ulimit -l) or lower Max_Memory",
			 name, strerror(-err));
		break;
	default:
		snprintf(fault, GR_FAULT_ROOM,
			 "provider %s cannot be opened: %s", name,
			 strerror(-err));
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
	int err;

	fab_addr_name((const struct sockaddr *)at, text, sizeof(text));
	if (foreign(s, at)) {
		snprintf(fault, GR_FAULT_ROOM,
			 "cannot listen on %s: NFS over TCP is served by IPv4 "
			 "alone: enable IPv6 on this machine or take the "
			 "address out of Bind_Addr in block RDMA",
			 text);
		return -EAFNOSUPPORT;
	}
	err = rt_listen(s->inst, (const struct sockaddr *)at, len,
			&gr_server_ops, s, &l);
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
		snprintf(fault, GR_FAULT_ROOM,
			 "cannot listen on %s: the port is in use: stop the "
			 "program that has it (%s shows it) or set another "
			 "Port in block RDMA",
			 text,
			 device ? "rdma resource show cm_id" : "ss -tlnp");
		break;
	case -EADDRNOTAVAIL:
		snprintf(fault, GR_FAULT_ROOM,
			 "cannot listen on %s: no %s has this address: correct "
			 "Bind_Addr%s in block RDMA",
			 text, device ? "RDMA device" : "interface",
			 device ? " or set Provider = iwarp" : "");
		break;
	case -EACCES:
		snprintf(fault, GR_FAULT_ROOM,
			 "cannot listen on %s: ports below 1024 need "
			 "CAP_NET_BIND_SERVICE: set another Port in block RDMA",
			 text);
		break;
	default:
		snprintf(fault, GR_FAULT_ROOM, "cannot listen on %s: %s", text,
			 strerror(-err));
	}
	return err;
}

static int listen_all(struct gr_server *s, char *fault)
{
	struct gr_addrs at;

	_Static_assert(GR_MAX_ADDRS <= STATS_MAX_LISTENERS, "room for all");
	addresses(s, &at);
	if (at.n < s->cfg.bind.n)
		gsh_log(s->gsh, GSH_EVENT,
			"Bind_Addr: [::] is left out, NFS over TCP is served "
			"by IPv4 alone");
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

int gr_server_begin(struct gr_server *s, char *fault)
{
	int err;

	err = create_auth(s, fault);
	if (!err)
		err = create(s, fault);
	if (err)
		return err;
	s->source.inst = s->inst;
	s->source.program = "ganesha";
	s->source.provider = s->provider;
	s->source.started = stats_now();
	err = nrt_clnts_create(s->inst, NULL, &s->clnts);
	if (err)
		return err;
	err = listen_all(s, fault);
	if (err)
		return err;
	nrt_lend_start();
	err = gr_workers_start(&s->workers, s->inst, s->free_cb, kind_of,
			       workers_poll(s));
	if (err)
		return err;
	start_stats(s);
	for (unsigned int i = 0; i < s->source.nlisteners; i++)
		gsh_log(s->gsh, GSH_EVENT,
			"serving RPC-over-RDMA version %s on %s, provider %s%s",
			versions_text(rt_instance_config(s->inst)->versions),
			s->source.listener[i], s->provider,
			auth_text[s->cfg.auth]);
	return 0;
}
