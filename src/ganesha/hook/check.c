/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - --check-config: check the RDMA block and this machine
 *
 * This process does what the server does when it starts, up to the listeners. Its limit of
 * locked memory is checked, which may be lower than that of the server's unit.
 */
#include "ganesha/hook/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/local.h"
#include "ganesha/config/exports.h"
#include "ganesha/hook/file.h"
#include "ganesha/hook/rados.h"
#include "ganesha/serve/listeners.h"
#include "ganesha/serve/server.h"
#include "gss/gss.h"
#include "rpcrdma/transport.h"

/* For the statistics of a running server. */
#define TIMEOUT_MS 5000

/* ---- The machine ------------------------------------------------------ */

struct check {
	const struct gsh *gsh;
	const struct gr_config *cfg;
	const struct sockaddr_storage *tcp;
	FILE *out, *said;
	bool good;
};

static void print_fault(struct check *c, const char *fault, int err)
{
	c->good = false;
	fprintf(c->said, "rpcrdma: %s%s\n", *fault ? fault : "cannot start: ",
		*fault ? "" : strerror(-err));
}

/*
 * Returns true if the port is in use by the server that runs with this configuration, as its
 * statistics say, or if they cannot be read.
 */
static bool is_own_port(struct check *c, const struct sockaddr_storage *at,
			const char *fault)
{
	const char *path = c->cfg->stats_socket;
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);
	char text[8192], addr[64], port[16];
	size_t n = 0;
	ssize_t got;
	int fd = path && *path ? base_local_connect(path, TIMEOUT_MS) : -EINVAL;

	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return false;
	if (fd < 0) {
		fprintf(c->said,
			"rpcrdma: %s. Ignore this if it is this server, already running\n",
			fault);
		return true;
	}
	/* The document begins with the listeners, as "ADDRESS:PORT". */
	while ((got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
	close(fd);
	snprintf(port, sizeof(port), ":%u\"", base_addr_port(at));
	if (!strstr(text, port))
		return false;
	base_addr_name((const struct sockaddr *)at, addr, sizeof(addr));
	fprintf(c->out, "# The running server, process %d, has %s.\n",
		(int)who.pid, addr);
	return true;
}

static void check_addresses(struct check *c, struct gr_server *s)
{
	bool device = !strcmp(s->provider, "verbs");
	struct gr_addrs at;

	gr_listen_addresses(c->cfg, c->tcp, &at);
	(void)gr_listeners_want(c->gsh, &s->listeners, &at);
	for (unsigned int i = 0; i < at.n; i++) {
		char fault[GR_FAULT_ROOM] = "";
		bool nfs = !device &&
			   gr_listen_is_nfs_port(c->tcp, &at.addr[i]);
		int err = nfs ? -EADDRINUSE :
				gr_server_listen(s, c->cfg, &s->listeners.of[i],
						 fault);

		if (nfs)
			gr_listen_fault(s->provider, c->cfg, c->tcp,
					&at.addr[i], err, fault);
		if (!err || gr_listen_may_fail(c->cfg, i, err) ||
		    (err == -EADDRINUSE && !nfs &&
		     is_own_port(c, &at.addr[i], fault)))
			continue;
		print_fault(c, fault, err);
	}
	/* The server would wait for a device. Log that. */
	if (device)
		(void)gr_listeners_check(c->gsh, &s->listeners, &s->source);
}

/* Print what is known of the devices that have the addresses. */
static void print_devices(struct check *c)
{
	struct gr_addrs at;
	struct fab_report how = { .brief = true,
				  .conn_memory = gr_config_receives(c->cfg),
				  .devices = c->cfg->devices.names,
				  .addr = at.addr };

	gr_listen_addresses(c->cfg, c->tcp, &at);
	how.naddrs = at.n;
	(void)fab_report(fab_provider("verbs"), c->out, &how);
}

static void check_start(struct check *c)
{
	struct gr_server s = { .gsh = c->gsh, .cfg = *c->cfg, .tcp = *c->tcp };
	char fault[GR_FAULT_ROOM] = "";
	int err = gr_auth_create(c->gsh, c->cfg, &s.auth, fault);

	if (err)
		print_fault(c, fault, err);
	*fault = '\0';
	err = gr_server_create(&s, fault);
	if (err)
		print_fault(c, fault, err);
	else
		check_addresses(c, &s);
	/* After -EOPNOTSUPP it says what the devices lack. */
	if (!strcmp(s.provider, "verbs") && fab_provider("verbs"))
		print_devices(c);
	if (s.inst && !rt_instance_shutdown(s.inst, 1000, true))
		rt_instance_destroy(s.inst);
	auth_gss_destroy(s.auth);
}

/* Returns true if systemd may create @dir when the server starts. */
static bool is_runtime(const char *dir)
{
	return !strncmp(dir, "/run/", 5) || !strncmp(dir, "/var/run/", 9);
}

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
		gsh_log(c->gsh, GSH_WARN,
			"Stats_Socket: %s is no absolute path: the server would look for it where it runs, in / as a service",
			path);
	}
	if (path && !lstat(path, &st) && !S_ISSOCK(st.st_mode)) {
		gsh_log(c->gsh, GSH_WARN,
			"Stats_Socket: %s is there, and is no socket", path);
	}
	if (!slash || (size_t)(slash - path) >= sizeof(dir))
		return;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = 0;
	/* Ganesha creates its own directory. */
	if (!*dir || !strcmp(dir, "/run/ganesha") || !access(dir, F_OK))
		return;
	if (errno == ENOENT && is_runtime(dir)) {
		fprintf(c->out,
			"# Stats_Socket: %s does not exist yet: RuntimeDirectory "
			"of the server's unit must make it.\n",
			dir);
	} else {
		gsh_log(c->gsh, GSH_WARN, "Stats_Socket: %s: %s", dir,
			strerror(errno));
	}
}

bool gr_check_machine(const struct gsh *g, const struct gr_config *cfg,
		      const struct sockaddr_storage *tcp, FILE *out, FILE *said)
{
	struct check c = { .gsh = g,
			   .cfg = cfg,
			   .tcp = tcp,
			   .out = out,
			   .said = said,
			   .good = true };

	check_settings(&c);
	check_start(&c);
	return c.good;
}

/* ---- The process that checks -------------------------------------------- */

static unsigned int complaints; /* lines of warnings and worse */

/* In place of Ganesha's log. */
static void print_log(int component, const char *file, int line,
		      const char *function, int level, const char *format, ...)
{
	va_list args;

	if (level > GSH_WARN)
		return;
	complaints++;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void print_errors(char *msg, void *dest, struct gsh_config_errors *e)
{
	complaints++;
	fprintf(stderr, "%s\n", msg);
}

/* Set @tcp to where NFS over TCP would listen. Its socket is of IPv6 if the kernel has IPv6. */
static void find_tcp(const struct gsh *g, struct gsh_config *tree,
		     struct sockaddr_storage *tcp)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	gr_tcp_address(g, tree, tcp);
	if (fd < 0)
		return;
	close(fd);
	/* The address is zero for both families. */
	if (base_addr_is_any(tcp))
		tcp->ss_family = AF_INET6;
	else
		base_addr_map(tcp);
}

/* Report exports that cannot be reached over RDMA. */
static void check_exports(const struct gsh *g, struct gsh_config *tree,
			  bool dialect)
{
	char text[256];

	gr_exports_warn(g, tree);
	gr_exports_read_file(g, tree);
	if (!gr_exports_list(dialect ? gr_exports_lacks_rdma :
				       gr_exports_rdma_only,
			     text, sizeof(text)))
		return;
	if (dialect)
		printf("# Not over RDMA, as their Transports or those of a CLIENT block lack RDMA: Export_Id %s.\n",
		       text);
	else
		gsh_log(g, GSH_WARN, GR_RDMA_ONLY, text);
}

/* Returns true if RDMA would be served with @tree. */
static bool check_block(struct gr_file *f, const struct gsh *g,
			struct gsh_config *tree, const struct gr_text *text)
{
	struct sockaddr_storage tcp;
	char fault[GR_FAULT_ROOM];
	struct gr_config cfg;
	bool lost;

	f->config = gr_config_load(g, tree, &cfg);
	lost = gr_file_is_lost(f, text, cfg.dialect, fault);
	if (lost)
		fprintf(stderr, "rpcrdma: %s\n", fault);
	else if (f->config == GR_CONFIG_ABSENT)
		puts(cfg.native_port ?
			     "# No RDMA block: Ganesha serves RDMA itself, as NFS_Core_Param says." :
			     "# No RDMA block: NFS is served over TCP alone.");
	else if (f->config == GR_CONFIG_GOOD)
		gr_config_print(stdout, &cfg);
	if (lost || f->config != GR_CONFIG_GOOD || !cfg.enable)
		return false;
	check_exports(g, tree, cfg.dialect);
	find_tcp(g, tree, &tcp);
	return gr_check_machine(g, &cfg, &tcp, stdout, stderr);
}

enum gr_checked gr_check(struct gr_file *f, const char *path,
			 struct gsh_config *tree, struct gsh_config_errors *e,
			 bool strict)
{
	const char *wrong = gsh_bind(f->gsh);
	struct gsh g = *f->gsh;
	struct gr_text text;
	bool harmless, served;

	if (wrong) {
		fprintf(stderr, "rpcrdma: %s\n", wrong);
		return GR_CHECKED_NOT_SERVED;
	}
	complaints = 0;
	g.log = print_log;
	g.log_level = NULL;
	g.config_errs_to_log = print_errors;
	gr_file_parsed(f, path, e);
	harmless = tree && gsh_harmless(e);
	harmless &= gr_rados_check(&g, tree, e, NULL);
	g.report_config_errors(e, NULL, print_errors);
	gr_file_text(&g, path, &text);
	if (!harmless)
		return GR_CHECKED_NO_SERVER;
	served = check_block(f, &g, tree, &text);
	if (fflush(stdout)) {
		perror("standard output");
		return GR_CHECKED_NOT_SERVED;
	}
	if (!served)
		return GR_CHECKED_NOT_SERVED;
	if (*f->syntax)
		fprintf(stderr,
			"rpcrdma: syntax error at %s: correct it: Ganesha would ignore the statement or block that has it\n",
			f->syntax);
	return *f->syntax || (strict && complaints) ? GR_CHECKED_REFUSED :
						      GR_CHECKED_SERVED;
}
