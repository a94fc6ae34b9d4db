/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - what --check-config finds out about this machine
 *
 * By the functions that the server calls when it starts, as far as they leave no
 * trace. So for an address of a device the listener takes any free port, and
 * whether Port is free there is not looked at; nor how much memory may be locked,
 * which is up to the unit that the server runs in. A port that is in use may be the
 * running server's: its statistics tell.
 *
 * Threads: those of check.h.
 */
#include "ganesha/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/addr.h"
#include "ganesha/needs.h"
#include "gss/gss.h"
#include "rpcrdma/fabric.h"
#include "rpcrdma/transport.h"

/* ---- NFS over TCP ----------------------------------------------------- */

struct tcp {
	struct sockaddr_storage at;
	uint16_t port;
	bool rdma; /* among Protocols */
};

/* Ganesha's own parser has said what is wrong with it. */
static int take_address(const char *token, int term,
			struct gsh_config_item *item, void *param, void *node,
			struct gsh_config_errors *e)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, token, &in.sin_addr) == 1)
		memcpy(param, &in, sizeof(in));
	else if (inet_pton(AF_INET6, token, &in6.sin6_addr) == 1)
		memcpy(param, &in6, sizeof(in6));
	return 0;
}

static int take_protocol(const char *token, int term,
			 struct gsh_config_item *item, void *param, void *node,
			 struct gsh_config_errors *e)
{
	if (!strcasecmp(token, "NFSRDMA") || !strcasecmp(token, "RDMA"))
		*(bool *)param = true;
	return 0;
}

static void *block_init(void *link_mem, void *self)
{
	return self ? self : link_mem;
}

static int block_commit(void *node, void *link_mem, void *self,
			struct gsh_config_errors *e)
{
	return 0;
}

/* Ganesha's socket is of IPv6 wherever the kernel has that. */
static bool has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool is_any4(const struct sockaddr_storage *at)
{
	struct sockaddr_in in;

	memcpy(&in, at, sizeof(in));
	return in.sin_family == AF_INET &&
	       in.sin_addr.s_addr == htonl(INADDR_ANY);
}

bool gr_check_tcp(const struct gsh *g, struct gsh_config *tree,
		  struct sockaddr_storage *tcp, FILE *said)
{
	static const struct gsh_config_item items[] = {
		{ .name = "Bind_addr",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_keep, .handler = take_address },
		  .off = offsetof(struct tcp, at) },
		{ .name = "NFS_Port",
		  .type = GSH_CONFIG_UINT16,
		  .u.u16 = { .min = 0,
			     .max = UINT16_MAX,
			     .def = 2049,
			     .zero_ok = true },
		  .off = offsetof(struct tcp, port) },
		{ .name = "Protocols",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_keep, .handler = take_protocol },
		  .off = offsetof(struct tcp, rdma) },
		{ .name = NULL },
	};
	struct gsh_config_block block = {
		.dbus_interface_name = "org.ganesha.nfsd.config.core",
		.desc = { .name = "NFS_Core_Param",
			  .type = GSH_CONFIG_BLOCK,
			  .flags = GSH_CONFIG_UNIQUE,
			  .u.blk = { .init = block_init,
				     .params = items,
				     .commit = block_commit } },
	};
	struct tcp t = { .at.ss_family = AF_INET, .port = 2049 };
	struct gsh_config_errors e;

	if (g->init_error_type(&e)) {
		g->load_config_from_parse(tree, &block, &t, true, &e);
		g->report_config_errors(&e, NULL, gr_config_silent);
	}
	*tcp = t.at;
	fab_addr_set_port(tcp, t.port);
	/* The socket of all addresses; but for the port it is zero here. */
	if (has_ipv6()) {
		if (is_any4(tcp))
			tcp->ss_family = AF_INET6;
		else
			fab_addr_map(tcp);
	}
	if (t.rdma)
		fputs("rpcrdma: NFS_Core_Param: with RDMA among its Protocols Ganesha serves no NFS at all: let them be 3, 4; the RDMA block is enough\n",
		      said);
	return !t.rdma;
}

/* ---- The machine ------------------------------------------------------ */

struct check {
	const struct gsh *gsh;
	const struct gr_config *cfg;
	const struct sockaddr_storage *tcp;
	FILE *out, *said;
	unsigned int complaints;
	bool good;
};

static void say(struct check *c, const char *fault, int err)
{
	c->good = false;
	fprintf(c->said, "rpcrdma: %s%s\n", *fault ? fault : "cannot start: ",
		*fault ? "" : strerror(-err));
}

static void check_auth(struct check *c)
{
	char fault[GR_FAULT_ROOM] = "";
	struct auth_gss *auth = NULL;
	int err = gr_needs_auth(c->gsh, c->cfg, &auth, fault);

	if (err)
		say(c, fault, err);
	auth_gss_destroy(auth);
}

static void domain_log(void *ctx, int level, const char *text)
{
	const struct check *c = ctx;

	/* What may be wrong; what the server would say in any case, it will. */
	if (level <= LOG_WARNING)
		gsh_log(c->gsh, GSH_WARN, "%s", text);
}

static int open_provider(struct check *c, const char *name,
			 struct fab_domain **dom)
{
	struct fab_domain_params p = { .log = domain_log, .log_ctx = c };
	const struct fab_ops *ops = fab_provider(name);

	return ops ? fab_domain_open(ops, &p, dom) : -ENOPROTOOPT;
}

/* The provider that the server would take, or NULL. */
static const char *check_provider(struct check *c, struct fab_domain **dom)
{
	const char *name = c->cfg->provider == GR_VERBS ? "verbs" : "iwarp";
	char fault[GR_FAULT_ROOM] = "";
	int err;

	if (c->cfg->provider == GR_AUTO &&
	    gr_needs_devices(c->gsh, c->cfg, c->tcp)) {
		err = open_provider(c, "verbs", dom);
		if (!err)
			return "verbs";
		gr_needs_auto_fault(c->gsh, err);
	}
	err = open_provider(c, name, dom);
	if (!err)
		return name;
	gr_needs_provider_fault(name, err, fault);
	say(c, fault, err);
	return NULL;
}

/* A socket that is bound and does not listen is in nobody's way who does so,
 * too, as this server's listeners do. */
static int try_bind(const struct sockaddr_storage *at)
{
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1, err = 0;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (at->ss_family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) ||
	    bind(fd, (const struct sockaddr *)at, fab_addr_len(at)))
		err = -errno;
	close(fd);
	return err;
}

/* Nobody runs the poller. */
static void no_request(struct fab_listener *l, struct fab_conn *c,
		       const void *priv, size_t priv_len, void *user)
{
}

static int try_device(struct fab_domain *dom, const struct sockaddr_storage *at)
{
	struct sockaddr_storage any_port = *at;
	struct fab_listener *l;
	struct fab_poller *p;
	int err = fab_poller_create(dom, &p);

	if (err)
		return err;
	fab_addr_set_port(&any_port, 0);
	err = fab_listen(p, (struct sockaddr *)&any_port, fab_addr_len(at),
			 no_request, NULL, &l);
	if (!err)
		fab_listener_close(l);
	fab_poller_destroy(p);
	return err;
}

/* Of the statistics' one object: is that port among the listeners? */
static bool lists_port(const char *text, uint16_t port)
{
	const char *from = strstr(text, "\"listeners\": [");
	const char *end = from ? strstr(from, "\"]") : NULL;
	char want[16];

	snprintf(want, sizeof(want), ":%u\"", port);
	return end &&
	       memmem(from, (size_t)(end + 1 - from), want, strlen(want));
}

/* Does a server that runs with these settings listen on that port? Its process, or
 * 0: no; -1: it cannot be asked. */
static pid_t running_has(const struct gr_config *cfg, uint16_t port)
{
	const struct timeval patience = { .tv_sec = 5 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct ucred who = { .pid = -1 };
	socklen_t len = sizeof(who);
	char *text = NULL;
	size_t room = 0;
	pid_t pid = 0;
	FILE *f = NULL;
	int fd;

	if (!cfg->stats_socket || !*cfg->stats_socket ||
	    strlen(cfg->stats_socket) >= sizeof(un.sun_path))
		return -1;
	strcpy(un.sun_path, cfg->stats_socket);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&un, sizeof(un))) {
		pid = errno == EACCES ? -1 : 0;
		goto out;
	}
	f = fdopen(fd, "r");
	if (!f || getdelim(&text, &room, '\0', f) <= 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		pid = -1;
	else if (lists_port(text, port))
		pid = who.pid;
out:
	free(text);
	if (f)
		fclose(f);
	else
		close(fd);
	return pid;
}

/* Is a port that is in use nobody's fault? */
static bool is_ours(struct check *c, const struct sockaddr_storage *at,
		    const char *fault)
{
	uint16_t port = fab_addr_port(at);
	pid_t pid = running_has(c->cfg, port);

	if (pid > 0)
		fprintf(c->out,
			"# The running server, process %d, has port %u.\n",
			(int)pid, port);
	else if (pid < 0)
		fprintf(c->said,
			"rpcrdma: %s. Ignore this if it is this server, already running\n",
			fault);
	return pid != 0;
}

static void check_addresses(struct check *c, const char *provider,
			    struct fab_domain *dom)
{
	bool device = !strcmp(provider, "verbs");
	struct gr_addrs at;

	gr_needs_addresses(c->cfg, c->tcp, &at);
	for (unsigned int i = 0; i < at.n; i++) {
		char fault[GR_FAULT_ROOM] = "";
		bool nfs = !device && gr_needs_nfs_port(c->tcp, &at.addr[i]);
		int err = gr_needs_family(c->tcp, &at.addr[i]);

		if (!err && nfs)
			err = -EADDRINUSE;
		if (!err)
			err = device ? try_device(dom, &at.addr[i]) :
				       try_bind(&at.addr[i]);
		if (!err || gr_needs_spared(c->cfg, i, err))
			continue;
		gr_needs_listen_fault(provider, c->cfg, c->tcp, &at.addr[i],
				      err, fault);
		if (err == -EADDRINUSE && !nfs &&
		    is_ours(c, &at.addr[i], fault))
			continue;
		say(c, fault, err);
	}
}

/* If nothing answers there, Ganesha itself may end. */
static void check_rpcbind(struct check *c)
{
	static const struct sockaddr_un un = {
		.sun_family = AF_UNIX, .sun_path = "/run/rpcbind.sock"
	};
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(111) };
	int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (local >= 0 && tcp >= 0 &&
	    connect(local, (const struct sockaddr *)&un, sizeof(un)) &&
	    connect(tcp, (const struct sockaddr *)&in, sizeof(in)))
		fputs("# rpcbind does not answer. Ganesha needs it, unless NFS_Core_Param has Protocols = 4 and Enable_RQUOTA = false.\n",
		      c->out);
	if (local >= 0)
		close(local);
	if (tcp >= 0)
		close(tcp);
}

/* What the server would warn of, or find out later. */
static void check_settings(struct check *c)
{
	uint64_t has = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		       (uint64_t)sysconf(_SC_PAGESIZE);
	const char *path = c->cfg->stats_socket;
	const char *slash = path ? strrchr(path, '/') : NULL;
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char pattern[RT_AUTH_TEXT];

	if (has && c->cfg->max_memory > has)
		fprintf(c->out,
			"# Max_Memory is more than this machine has: %" PRIu64
			" MiB.\n",
			has >> 20);
	/* Logged with the keys. */
	if (c->cfg->auth != RT_AUTH_NONE &&
	    auth_gss_no_realm(c->cfg->auth_allow, pattern))
		c->complaints++;
	if (!slash || (size_t)(slash - path) >= sizeof(dir))
		return;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = 0;
	/* Ganesha's own is made when it starts. */
	if (*dir && strcmp(dir, "/run/ganesha") && access(dir, F_OK)) {
		c->complaints++;
		gsh_log(c->gsh, GSH_WARN, "Stats_Socket: %s: %s", dir,
			strerror(errno));
	}
}

bool gr_check_machine(const struct gsh *g, const struct gr_config *cfg,
		      const struct sockaddr_storage *tcp, FILE *out, FILE *said,
		      unsigned int *complaints)
{
	struct check c = { .gsh = g,
			   .cfg = cfg,
			   .tcp = tcp,
			   .out = out,
			   .said = said,
			   .good = true };
	struct fab_domain *dom = NULL;
	const char *provider;

	check_rpcbind(&c);
	check_settings(&c);
	check_auth(&c);
	provider = check_provider(&c, &dom);
	if (provider)
		check_addresses(&c, provider, dom);
	fab_domain_close(dom);
	*complaints += c.complaints;
	return c.good;
}
