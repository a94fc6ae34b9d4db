/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - what --check-config finds out about this machine
 *
 * By the functions that the server calls when it starts, as far as they leave no
 * trace. So for an address of a device the listener takes any free port, and
 * whether Port is free there is not looked at; and how much memory may be locked is
 * this process's limit, which the unit that the server runs in may raise. A port that
 * is in use may be the running server's: its statistics tell.
 *
 * Threads: those of check.h.
 */
#include "ganesha/hook/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/addr.h"
#include "ganesha/holder.h"
#include "ganesha/serve/needs.h"
#include "ganesha/serve/reach.h"
#include "ganesha/serve/rpcbind.h"
#include "ganesha/running.h"
#include "gss/gss.h"
#include "rpcrdma/fabric.h"
#include "rpcrdma/transport.h"

/* ---- NFS over TCP ----------------------------------------------------- */

struct tcp {
	uint16_t port;
	/* Protocols, if there are any; RDMA, which is none, among them. */
	bool listed, v3, v4, rdma;
	char unknown[32]; /* the first that Ganesha does not know, or "" */
	bool rquota;
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
	struct tcp *t = param;

	t->listed = true;
	if (!strcasecmp(token, "NFSRDMA") || !strcasecmp(token, "RDMA"))
		t->rdma = true;
	else if (gr_config_is_version(token, '3'))
		t->v3 = true;
	else if (gr_config_is_version(token, '4'))
		t->v4 = true;
	else if (strcasecmp(token, "9P") && strcasecmp(token, "none") &&
		 !*t->unknown)
		snprintf(t->unknown, sizeof(t->unknown), "%s", token);
	return 0;
}

/* Ganesha serves NFS by these. */
static bool check_protocols(const struct tcp *t, FILE *said)
{
	if (t->rdma)
		fputs("rpcrdma: NFS_Core_Param: with RDMA among its Protocols Ganesha serves no NFS at all: set Protocols = 3, 4; the RDMA block alone turns RDMA on\n",
		      said);
	else if (*t->unknown)
		fprintf(said,
			"rpcrdma: NFS_Core_Param: with %s among its Protocols, "
			"which it does not know, Ganesha serves no NFS at all: "
			"set Protocols = 3, 4\n",
			t->unknown);
	else if (t->listed && !t->v3 && !t->v4)
		fputs("rpcrdma: NFS_Core_Param: Protocols has neither 3 nor 4, so Ganesha serves no NFS at all: set Protocols = 3, 4\n",
		      said);
	else
		return true;
	return false;
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

/*
 * Has a program rpcbind's socket? One that was stopped leaves the file. A socket of
 * another type is told so, and whoever has it notices nothing: to connect would start
 * an rpcbind that systemd has not started yet.
 */
static bool has_rpcbind(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX,
				  .sun_path = GR_RPCBIND_SOCKET };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = fd < 0 || !connect(fd, (struct sockaddr *)&un, sizeof(un)) ||
		   (errno != ENOENT && errno != ECONNREFUSED);

	if (fd >= 0)
		close(fd);
	return has;
}

static void load_core(const struct gsh *g, struct gsh_config *tree,
		      const struct gsh_config_item *items, void *to)
{
	struct gsh_config_block block =
		gr_config_block("org.ganesha.nfsd.config.core",
				"NFS_Core_Param", items, gr_config_accept);
	struct gsh_config_errors e;

	if (!g->init_error_type(&e))
		return;
	g->load_config_from_parse(tree, &block, to, true, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
}

void gr_check_bind(const struct gsh *g, struct gsh_config *tree,
		   struct sockaddr_storage *at)
{
	static const struct gsh_config_item items[] = {
		{ .name = "Bind_addr",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_keep, .handler = take_address },
		  .off = 0 },
		{ .name = NULL },
	};

	*at = (struct sockaddr_storage){ .ss_family = AF_INET };
	load_core(g, tree, items, at);
}

bool gr_check_tcp(const struct gsh *g, struct gsh_config *tree,
		  struct sockaddr_storage *tcp, FILE *said)
{
	static const struct gsh_config_item items[] = {
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
		  .off = 0 },
		{ .name = "Enable_RQUOTA",
		  .type = GSH_CONFIG_BOOL,
		  .u.b = true,
		  .off = offsetof(struct tcp, rquota) },
		{ .name = NULL },
	};
	struct tcp t = { .port = 2049, .rquota = true };

	gr_check_bind(g, tree, tcp);
	load_core(g, tree, items, &t);
	fab_addr_set_port(tcp, t.port);
	/* The socket of all addresses; but for the port it is zero here. */
	if (has_ipv6()) {
		if (fab_addr_is_any(tcp))
			tcp->ss_family = AF_INET6;
		else
			fab_addr_map(tcp);
	}
	if ((!t.listed || t.v3 || t.rquota) && !has_rpcbind())
		fputs("rpcrdma: rpcbind is not running (" GR_RPCBIND_SOCKET
		      "): start it before the server, or set Protocols = 4 and Enable_RQUOTA = false in NFS_Core_Param to serve NFS without it\n",
		      said);
	return check_protocols(&t, said);
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

bool gr_check_tcp_address(const struct sockaddr_storage *tcp, FILE *said)
{
	static const struct gr_config any_port;
	char text[FAB_ADDR_TEXT];
	struct gr_addrs at;

	gr_needs_addresses(&any_port, tcp, &at);
	if (try_bind(&at.addr[0]) != -EADDRNOTAVAIL)
		return true;
	fab_addr_text((const struct sockaddr *)&at.addr[0], text, sizeof(text));
	fprintf(said,
		"rpcrdma: NFS_Core_Param: no interface has the address of "
		"Bind_Addr, %s: correct it\n",
		text);
	return false;
}

/* ---- The machine ------------------------------------------------------ */

struct check {
	const struct gsh *gsh;
	const struct gr_config *cfg;
	const char *file; /* that it is from */
	const struct sockaddr_storage *tcp;
	FILE *out, *said;
	unsigned int complaints;
	bool good, asked;
	struct gr_running running; /* once asked */
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
	int err = gr_needs_auth(c->gsh, c->cfg, &auth, fault, &c->complaints);

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

/* Of -ENOMEM @fault may say more. */
static int open_provider(struct check *c, const char *name,
			 struct fab_domain **dom, char *fault)
{
	struct fab_domain_params p = { .log = domain_log, .log_ctx = c };
	const struct fab_ops *ops = fab_provider(name);

	int err = ops ? fab_domain_open(ops, &p, dom) : -ENOPROTOOPT;

	if (err || strcmp(name, "verbs"))
		return err;
	err = gr_needs_locked(c->cfg, fault);
	if (err) {
		fab_domain_close(*dom);
		*dom = NULL;
	}
	return err;
}

/* The provider that the server would take, or NULL. */
static const char *check_provider(struct check *c, struct fab_domain **dom)
{
	const char *name = c->cfg->provider == GR_VERBS ? "verbs" : "iwarp";
	char fault[GR_FAULT_ROOM] = "";
	int err;

	if (c->cfg->provider == GR_AUTO &&
	    gr_needs_devices(c->gsh, c->cfg, c->tcp, GSH_INFO)) {
		err = open_provider(c, "verbs", dom, fault);
		if (!err)
			return "verbs";
		gr_needs_auto_fault(c->gsh, err, fault);
		*fault = '\0';
	}
	err = open_provider(c, name, dom, fault);
	if (!err)
		return name;
	if (!*fault)
		gr_needs_provider_fault(name, err, fault);
	say(c, fault, err);
	return NULL;
}

/* Nobody runs the poller. */
static void no_request(struct fab_listener *l, struct fab_conn *c,
		       const void *priv, size_t priv_len, void *user)
{
}

static int try_device(struct fab_domain *dom, const struct sockaddr_storage *at,
		      bool *up)
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
	if (!err) {
		*up = fab_listener_up(l);
		fab_listener_close(l);
	}
	fab_poller_destroy(p);
	return err;
}

/* It would be served, but for whom? The server waits for a device. */
static void say_down(struct check *c, const struct sockaddr_storage *at)
{
	char addr[64], text[GR_REACH_ROOM];

	fab_addr_name((const struct sockaddr *)at, addr, sizeof(addr));
	gr_reach_down(addr, text);
	fprintf(c->said, "rpcrdma: %s\n", text);
	c->complaints++;
}

/* Is a port that is in use nobody's fault? */
static bool is_ours(struct check *c, const struct sockaddr_storage *at,
		    const char *fault)
{
	struct gr_running *running = &c->running;
	struct gr_holder h;
	bool other;
	char addr[64];

	if (!c->asked)
		gr_running_ask(running, c->cfg->stats_socket, GR_STATS_SOCKET,
			       c->file);
	c->asked = true;
	fab_addr_name((const struct sockaddr *)at, addr, sizeof(addr));
	/* A device's port no process is seen to have. */
	gr_holder_find("/proc", at, false, &h);
	other = h.by == GR_HELD_PROCESS && h.pid != running->pid;
	if ((running->how == GR_RUNS &&
	     (gr_running_has(running, addr) ||
	      /* Or for NFS over TCP, until it is started again. */
	      (h.by == GR_HELD_PROCESS && !other))) ||
	    (other && gr_running_is(h.pid, h.name, c->file))) {
		fprintf(c->out, "# The running server, process %d, has %s.\n",
			other ? (int)h.pid : (int)running->pid, addr);
		return true;
	}
	if (running->how != GR_RUNS_UNKNOWN ||
	    (other && !gr_running_is(h.pid, h.name, NULL)))
		return false;
	fprintf(c->said,
		"rpcrdma: %s. Ignore this if it is this server, already running\n",
		fault);
	return true;
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
		bool up = true;

		if (!err && nfs)
			err = -EADDRINUSE;
		if (!err)
			err = device ? try_device(dom, &at.addr[i], &up) :
				       try_bind(&at.addr[i]);
		if (!up)
			say_down(c, &at.addr[i]);
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

/* What there is in it may be made by systemd as the server starts. */
static bool is_runtime(const char *dir)
{
	return !strncmp(dir, "/run/", 5) || !strncmp(dir, "/var/run/", 9);
}

/* What the server would warn of, or find out later. */
static void check_settings(struct check *c)
{
	uint64_t has = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		       (uint64_t)sysconf(_SC_PAGESIZE);
	const char *path = c->cfg->stats_socket;
	const char *slash = path ? strrchr(path, '/') : NULL;
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat st;

	if (has && c->cfg->rt.max_memory > has)
		fprintf(c->out,
			"# Max_Memory is more than this machine has: %" PRIu64
			" MiB.\n",
			has >> 20);
	if (path && *path && *path != '/') {
		c->complaints++;
		gsh_log(c->gsh, GSH_WARN,
			"Stats_Socket: %s is no absolute path: the server would look for it where it runs, in / as a service",
			path);
	}
	if (path && !lstat(path, &st) && !S_ISSOCK(st.st_mode)) {
		c->complaints++;
		gsh_log(c->gsh, GSH_WARN,
			"Stats_Socket: %s is there, and is no socket", path);
	}
	if (!slash || (size_t)(slash - path) >= sizeof(dir))
		return;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = 0;
	/* Ganesha's own is made when it starts. */
	if (!*dir || !strcmp(dir, "/run/ganesha") || !access(dir, F_OK))
		return;
	if (errno == ENOENT && is_runtime(dir)) {
		fprintf(c->out,
			"# Stats_Socket: %s does not exist yet: RuntimeDirectory "
			"of the server's unit must make it.\n",
			dir);
	} else {
		c->complaints++;
		gsh_log(c->gsh, GSH_WARN, "Stats_Socket: %s: %s", dir,
			strerror(errno));
	}
}

bool gr_check_machine(const struct gsh *g, const struct gr_config *cfg,
		      const char *file, const struct sockaddr_storage *tcp,
		      FILE *out, FILE *said, unsigned int *complaints)
{
	struct check c = { .gsh = g,
			   .cfg = cfg,
			   .file = file,
			   .tcp = tcp,
			   .out = out,
			   .said = said,
			   .good = true };
	struct fab_domain *dom = NULL;
	const char *provider;

	check_settings(&c);
	check_auth(&c);
	provider = check_provider(&c, &dom);
	if (provider)
		check_addresses(&c, provider, dom);
	fab_domain_close(dom);
	gr_running_free(&c.running);
	*complaints += c.complaints;
	return c.good;
}
