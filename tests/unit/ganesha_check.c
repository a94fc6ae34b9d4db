/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What --check-config finds out about this machine: addresses, ports, a keytab,
 * a device; where NFS over TCP would listen, read by the parser of the installed
 * Ganesha. integration/check-config.test and hostauth.test compare with the server.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ganesha/hook/check.h"
#include "ganesha/config/config.h"
#include "ganesha/hook/file.h"
#include "ganesha/serve/server.h"
#include "rpcrdma/transport.h"
#include "unit.h"

/* Ganesha's parser does not free all it allocates. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libganesha_nfsd.so";
}

static char said[4096];
static unsigned int complaints;

static void count(int component, const char *file, int line,
		  const char *function, int level, const char *format, ...)
{
	complaints += level <= GSH_WARN;
}

static struct gsh gsh = { .log = count };

/* What nobody here has: RFC 5737, RFC 3849. */
#define FOREIGN "192.0.2.77"
#define FOREIGN6 "2001:db8::77"

/* Nobody is accepted. */
const struct rt_ops gr_server_ops = { 0 };

static void address(const char *text, struct sockaddr_storage *ss)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memcpy(ss, &in, sizeof(in));
	} else {
		CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, text, &in6.sin6_addr),
				      1);
		memcpy(ss, &in6, sizeof(in6));
	}
}

/* A configuration with these addresses and a port that is free. */
static struct gr_config config(const char *first, const char *second)
{
	struct gr_config cfg = { .provider = GR_IWARP };
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t len = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	CU_ASSERT_EQUAL(getsockname(fd, (struct sockaddr *)&any, &len), 0);
	close(fd);
	cfg.port = ntohs(any.sin_port);
	if (first)
		address(first, &cfg.bind.addr[cfg.bind.n++]);
	if (second)
		address(second, &cfg.bind.addr[cfg.bind.n++]);
	return cfg;
}

/* What is no fault. */
static FILE *out;
static char told[1024];

static bool check(const struct gr_config *cfg, const char *tcp)
{
	struct sockaddr_storage at;
	FILE *f = fmemopen(said, sizeof(said), "w");
	bool good;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	said[0] = '\0';
	address(tcp, &at);
	rewind(out);
	good = gr_check_machine(&gsh, cfg, &at, out, f);
	fclose(f);
	fputc('\0', out);
	fflush(out);
	return good;
}

static unsigned int lines(void)
{
	unsigned int n = 0;

	for (const char *at = said; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static bool has(const char *text)
{
	if (strstr(said, text))
		return true;
	printf("\n%s: not in\n%s", text, said);
	return false;
}

static void addresses(void)
{
	struct gr_config cfg = config("127.0.0.1", NULL);

	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_STRING_EQUAL(said, "");
	/* By default where NFS over TCP listens. */
	cfg = config(NULL, NULL);
	CU_ASSERT_TRUE(check(&cfg, "127.0.0.1"));
	CU_ASSERT_TRUE(check(&cfg, "0.0.0.0"));
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_TRUE(check(&cfg, "::ffff:127.0.0.1"));
	CU_ASSERT_STRING_EQUAL(said, "");
	CU_ASSERT_FALSE(check(&cfg, FOREIGN));
	CU_ASSERT_TRUE(has("cannot listen on " FOREIGN ":"));
	CU_ASSERT_TRUE(has(": no interface has this address: correct "
			   "Bind_Addr in NFS_Core_Param; for an address"));
	CU_ASSERT_FALSE(check(&cfg, "::ffff:" FOREIGN));
	CU_ASSERT_TRUE(has("cannot listen on " FOREIGN ":"));
	/* One does not hide the next, and those that are there are no fault. */
	cfg = config(FOREIGN, "127.0.0.1");
	address(FOREIGN6, &cfg.bind.addr[cfg.bind.n++]);
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 2);
	CU_ASSERT_TRUE(has("cannot listen on " FOREIGN ":"));
	CU_ASSERT_TRUE(has("cannot listen on [" FOREIGN6 "]:"));
	CU_ASSERT_TRUE(has("sysctl net.ipv6.ip_nonlocal_bind=1\n"));
}

/* A Ganesha without IPv6. */
static void families(void)
{
	struct gr_config cfg = config("127.0.0.1", "::1");

	CU_ASSERT_FALSE(check(&cfg, "0.0.0.0"));
	CU_ASSERT_EQUAL(lines(), 1);
	CU_ASSERT_TRUE(has("cannot listen on [::1]:"));
	CU_ASSERT_TRUE(has(": NFS over TCP uses IPv4 only: "));
	/* [::] beside others is left out, as by the server. */
	cfg = config("127.0.0.1", "::");
	CU_ASSERT_TRUE(check(&cfg, "0.0.0.0"));
	CU_ASSERT_STRING_EQUAL(said, "");
	cfg = config("::", NULL);
	CU_ASSERT_FALSE(check(&cfg, "0.0.0.0"));
}

/* Another program may listen at once: nothing is kept, and nothing is in its
 * way. */
static void port(void)
{
	struct gr_config cfg = config("127.0.0.1", NULL);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(cfg.port) };
	static char nobody[] = "/nonexistent/s";
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 1), 0);
	/* In use, and no server runs. */
	cfg.stats_socket = nobody;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 1);
	CU_ASSERT_TRUE(
		has(": the port is in use: stop the program that has it "
		    "(ss -tlnp shows it) or set another Port in the RDMA "
		    "block\n"));
	/* On all addresses, too. */
	cfg.bind.n = 0;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 1);
	close(fd);
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_PTR_NULL(strstr(said, "in use"));
}

/* A server's statistics, once. */
struct server {
	int fd;
	const char *text;
};

static void *tell_once(void *arg)
{
	const struct server *s = arg;
	int fd = accept(s->fd, NULL, NULL);

	if (fd >= 0) {
		size_t n = strlen(s->text);

		CU_ASSERT_EQUAL(write(fd, s->text, n), (ssize_t)n);
		close(fd);
	}
	return NULL;
}

/* The port is in use, and a server tells @text: is it no fault? */
static bool beside(struct gr_config *cfg, const char *text)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct server s = { socket(AF_UNIX, SOCK_STREAM, 0), text };
	pthread_t thread;
	bool good;

	strcpy(un.sun_path, cfg->stats_socket);
	CU_ASSERT_EQUAL_FATAL(bind(s.fd, (void *)&un, sizeof(un)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(s.fd, 1), 0);
	pthread_create(&thread, NULL, tell_once, &s);
	good = check(cfg, "::");
	shutdown(s.fd, SHUT_RDWR); /* if nobody has come */
	pthread_join(thread, NULL);
	close(s.fd);
	unlink(un.sun_path);
	return good;
}

static void whose_port(void)
{
	char path[] = "/tmp/rpcrdma-check-XXXXXX", socket_path[64];
	struct gr_config cfg = config("127.0.0.1", NULL);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(cfg.port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char line[128];

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(fd, 1), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
	snprintf(socket_path, sizeof(socket_path), "%s/s", path);
	cfg.stats_socket = socket_path;
	/* No server runs. */
	complaints = 0;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 1);
	CU_ASSERT_TRUE(has(": the port is in use: stop the program"));
	CU_ASSERT_PTR_NULL(strstr(said, "Ignore this"));
	CU_ASSERT_EQUAL(complaints, 0);
	/* One runs, and has it; has it not; has told nothing. */
	snprintf(line, sizeof(line),
		 "{\"listeners\": [\"[::1]:1\", \"127.0.0.1:%d\"], }\n",
		 cfg.port);
	CU_ASSERT_TRUE(beside(&cfg, line));
	CU_ASSERT_STRING_EQUAL(said, "");
	snprintf(line, sizeof(line),
		 "# The running server, process %d, has 127.0.0.1:%d.\n",
		 (int)getpid(), cfg.port);
	CU_ASSERT_PTR_NOT_NULL(strstr(told, line));
	snprintf(line, sizeof(line), "{\"listeners\": [\"127.0.0.1:%d1\"]}",
		 cfg.port);
	CU_ASSERT_FALSE(beside(&cfg, line));
	CU_ASSERT_EQUAL(lines(), 1);
	CU_ASSERT_FALSE(beside(&cfg, ""));
	/* Nobody can tell. */
	*socket_path = '\0';
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 1);
	CU_ASSERT_TRUE(has("RDMA block. Ignore this if it is this server"));
	close(fd);
	rmdir(path);
}

/* What the server would only warn of. */
static void settings(void)
{
	static char missing[] = "/nonexistent/s", here[] = "/run/ganesha/s";
	static char runtime[] = "/run/nonexistent/s";
	static char older[] = "/var/run/nonexistent/s";
	static char relative[] = "nonexistent.sock", none[] = "";
	static char pattern[] = "host/a.example", any[] = "host/*";
	static char domains[] = "host/*.a.example, nfs/*@A, *.b.example";
	struct gr_config cfg = config("127.0.0.1", NULL);

	complaints = 0;
	cfg.stats_socket = here;
	cfg.auth_allow = pattern;
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 0);
	CU_ASSERT_PTR_NULL(strstr(told, "Max_Memory"));
	cfg.stats_socket = missing;
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 1);
	/* What the start of the server makes is not missing yet. */
	cfg.stats_socket = runtime;
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		told, "# Stats_Socket: /run/nonexistent does not exist yet: "));
	cfg.stats_socket = older;
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 1);
	cfg.stats_socket = relative;
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 2);
	complaints = 1;
	cfg.stats_socket = none;
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 1);
	cfg.stats_socket = here;
	cfg.auth = RT_AUTH_OPTIONAL;
	cfg.auth_keytab = missing;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 2);
	cfg.auth_allow = any;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 2);
	cfg.auth_allow = domains;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(complaints, 4);
	/* More than a machine that runs this test has. */
	cfg = config("127.0.0.1", NULL);
	cfg.rt.max_memory = RT_MAX(max_memory);
	CU_ASSERT_TRUE(check(&cfg, "::"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(told, "# Max_Memory is more than this machine has: "));
}

/* That of NFS over TCP is in use whenever Ganesha runs, and not before. */
static void nfs_port(void)
{
	struct gr_config cfg = config("127.0.0.1", NULL);
	struct sockaddr_storage at;
	FILE *f = fmemopen(said, sizeof(said), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	said[0] = '\0';
	address("::", &at);
	((struct sockaddr_in6 *)&at)->sin6_port = htons(cfg.port);
	CU_ASSERT_FALSE(gr_check_machine(&gsh, &cfg, &at, out, f));
	fclose(f);
	CU_ASSERT_EQUAL(lines(), 1);
	CU_ASSERT_TRUE(has(": this is the port of NFS over TCP (NFS_Port): set "
			   "another Port in the RDMA block\n"));
}

static void keytab(void)
{
	static char none[] = "/nonexistent/kt", empty[] = "";
	struct gr_config cfg = config(FOREIGN, NULL);

	cfg.auth_keytab = none;
	cfg.auth_principal = empty;
	cfg.auth_allow = empty;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 1);
	cfg.auth = RT_AUTH_OPTIONAL;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 2);
	CU_ASSERT_TRUE(has(
		"rpcrdma: Host_Authentication: keytab /nonexistent/kt does not "
		"exist: put a key of nfs/ or host/ "));
	CU_ASSERT_TRUE(has("or correct Host_Authentication_Keytab and "
			   "_Principal in the RDMA block\n"));
	CU_ASSERT_TRUE(has("cannot listen on " FOREIGN ":"));
}

static void device(void)
{
	struct gr_config cfg = config("127.0.0.1", NULL);

	/* iwarp serves where no device does. */
	cfg.provider = GR_AUTO;
	CU_ASSERT_TRUE(check(&cfg, "::"));
	if (!access("/sys/class/infiniband", F_OK))
		return;
	cfg.provider = GR_VERBS;
	CU_ASSERT_FALSE(check(&cfg, "::"));
	CU_ASSERT_EQUAL(lines(), 1);
	CU_ASSERT_TRUE(has("rpcrdma: provider verbs "));
	CU_ASSERT_TRUE(has("Provider"));
}

/* Whoever may lock memory has no limit: *@had, if it was so. */
static bool give_up_locking(bool *had)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct cap[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, cap))
		return false;
	*had = cap[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &
	       CAP_TO_MASK(CAP_IPC_LOCK);
	cap[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~CAP_TO_MASK(CAP_IPC_LOCK);
	return !syscall(SYS_capset, &head, cap);
}

/* In a process of its own; 0, or the number of the line that it did not get past. */
static int lock_little(void)
{
	struct gr_config cfg = { .rt.credits = 64, .rt.recv_size = 4096 };
	char fault[GR_FAULT_ROOM] = "", want[64];
	bool had = false, free_before;
	struct rlimit little;

	if (getrlimit(RLIMIT_MEMLOCK, &little))
		return 1;
	little.rlim_cur = 64 << 10;
	if (setrlimit(RLIMIT_MEMLOCK, &little))
		return 2;
	free_before = !gr_memlock_check(&cfg, fault);
	if (!give_up_locking(&had) || free_before != had)
		return 2;
	if (gr_memlock_check(&cfg, fault) != -ENOMEM)
		return 3;
	snprintf(want, sizeof(want), "64 KiB, is less than the %zu KiB",
		 gr_config_receives(&cfg) / 1024);
	if (!strstr(fault, want) || !strstr(fault, "LimitMEMLOCK=infinity") ||
	    !strstr(fault, "Provider = iwarp"))
		return 4;
	/* As much as it needs is enough. */
	cfg.rt.credits = 4;
	*fault = '\0';
	if (gr_config_receives(&cfg) > little.rlim_cur ||
	    gr_memlock_check(&cfg, fault) || *fault)
		return 5;
	cfg.rt.credits = 64;
	little.rlim_cur = little.rlim_max;
	if (gr_config_receives(&cfg) <= little.rlim_max &&
	    (setrlimit(RLIMIT_MEMLOCK, &little) ||
	     gr_memlock_check(&cfg, fault)))
		return 6;
	return 0;
}

static void locked(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(lock_little());
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL(status, 0);
}

/* ---- NFS over TCP ------------------------------------------------------- */

static struct gsh_config *(*parse)(const char *path,
				   struct gsh_config_errors *e);
static void (*release)(struct gsh_config *tree);

/* So many lines about faults of the block are to come. */
static unsigned int expected;

static void complain(char *msg, void *dest, struct gsh_config_errors *e)
{
	if (expected)
		expected--;
	else
		CU_FAIL("a line in the log");
}

static char conf[] = "/tmp/rpcrdma-check-XXXXXX";

static void found(void)
{
	void *lib = dlopen(GANESHA_NFSD, RTLD_NOW | RTLD_GLOBAL);
	void (*init)(const char *program, const char *host, int level,
		     const char *log, bool trace, unsigned long stack);
	const char **path;

	CU_ASSERT_PTR_NOT_NULL_FATAL(lib);
	*(void **)&parse = dlsym(lib, "config_ParseFile");
	*(void **)&release = dlsym(lib, "config_Free");
	*(void **)&gsh.init_error_type = dlsym(lib, "init_error_type");
	*(void **)&gsh.report_config_errors =
		dlsym(lib, "report_config_errors");
	*(void **)&gsh.load_config_from_parse =
		dlsym(lib, "load_config_from_parse");
	gsh.config_errs_to_log = complain;
	*(void **)&init = dlsym(lib, "nfs_prereq_init");
	path = dlsym(lib, "nfs_config_path");
	CU_ASSERT_FATAL(init && path);
	init("unit", "host", -1, "/dev/null", false, 0);
	*path = conf;
	CU_ASSERT_FATAL(parse && release && gsh.init_error_type &&
			gsh.report_config_errors && gsh.load_config_from_parse);
}

static struct gsh_config *tree_of(const char *text)
{
	char path[] = "/tmp/rpcrdma-check-XXXXXX";
	struct gsh_config_errors e;
	struct gsh_config *tree;
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	CU_ASSERT_TRUE_FATAL(gsh.init_error_type(&e));
	tree = parse(path, &e);
	CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
	unlink(path);
	return tree;
}

/* The addresses of a server with this file. */
static void served(const char *text, unsigned int n, const char *first,
		   const char *second)
{
	struct gr_config cfg = { .port = 20049 };
	struct gsh_config *tree = tree_of(text);
	struct sockaddr_storage at_tcp, want;
	struct gr_addrs at;

	gr_tcp_address(&gsh, tree, &at_tcp);
	release(tree);
	cfg.port = strstr(text, "NFS_Port = 7") ? 7 : 2049;
	gr_listen_addresses(&cfg, &at_tcp, &at);
	CU_ASSERT_EQUAL_FATAL(at.n, n);
	CU_ASSERT_TRUE(gr_listen_is_nfs_port(&at_tcp, &at.addr[0]));
	for (unsigned int i = 0; i < n; i++) {
		address(i ? second : first, &want);
		if (want.ss_family == AF_INET6)
			((struct sockaddr_in6 *)&want)->sin6_port =
				htons(cfg.port);
		else
			((struct sockaddr_in *)&want)->sin_port =
				htons(cfg.port);
		CU_ASSERT_EQUAL(memcmp(&at.addr[i], &want,
				       want.ss_family == AF_INET6 ?
					       sizeof(struct sockaddr_in6) :
					       sizeof(struct sockaddr_in)),
				0);
	}
}

static void tcp(void)
{
	served("LOG { }\n", 1, "0.0.0.0", NULL);
	served("NFS_Core_Param { NFS_Port = 2049; Protocols = 4; }\n", 1,
	       "0.0.0.0", NULL);
	served("NFS_Core_Param { NFS_Port = 7; Bind_addr = " FOREIGN "; }\n", 1,
	       FOREIGN, NULL);
	served("NFS_Core_Param { Bind_addr = \"::\"; NFS_Port = 7; }\n", 2,
	       "0.0.0.0", "::");
	served("NFS_Core_Param { Bind_addr = \"::1\"; }\n", 1, "::1", NULL);
}

/* ---- What Provider = auto chose before ------------------------------------- */

static void recovery_root(const char *text, const char *want)
{
	struct gsh_config *tree = tree_of(text);
	char root[GR_ROOT_ROOM];

	gr_recovery_root(&gsh, tree, root);
	CU_ASSERT_STRING_EQUAL(root, want);
	release(tree);
}

static void recovery_roots(void)
{
	recovery_root("RDMA { }\n", "/var/lib/nfs/ganesha");
	recovery_root("NFSv4 { Graceless = true; }\n", "/var/lib/nfs/ganesha");
	recovery_root("NFSv4 { RecoveryRoot = /srv/a; Graceless = true; }\n",
		      "/srv/a");
	recovery_root("nfsv4 { recoveryroot = \"/srv/a b\"; }\n", "/srv/a b");
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void last_provider(void)
{
	char dir[] = "/tmp/rpcrdma-check-XXXXXX", path[64], text[16] = "";
	struct stat st;
	FILE *f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rdma-provider", dir);
	complaints = 0;
	/* The first start, and two alike. */
	for (int i = 0; i < 3; i++)
		CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "verbs", true));
	/* Whoever has written that is of no concern. */
	write_file(path, "else\n");
	CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "verbs", true));
	write_file(path, "");
	CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "iwarp", true));
	CU_ASSERT_EQUAL(complaints, 0);
	CU_ASSERT_STRING_EQUAL(gr_last_provider(&gsh, dir, "verbs", true),
			       "iwarp");
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "verbs", true));
	/* A choice of the administrator's is noted, and no surprise. */
	CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "iwarp", false));
	CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "iwarp", true));
	CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "verbs", false));
	CU_ASSERT_EQUAL(complaints, 1);
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof(text), f));
	CU_ASSERT_STRING_EQUAL(text, "verbs\n");
	fclose(f);
	unlink(path);
	/* Nothing else is left, and without the directory it is no fault. */
	CU_ASSERT_EQUAL(rmdir(dir), 0);
	CU_ASSERT_PTR_NULL(gr_last_provider(&gsh, dir, "iwarp", true));
	CU_ASSERT_EQUAL(complaints, 1);
}

/* ---- The process that checks ---------------------------------------------- */

/* Why RDMA is not served. */
void gr_server_fault(struct gr_server *s, const char *what)
{
	snprintf(s->fault, sizeof(s->fault), "%s", what);
}

static const char *conf_before; /* what the server was started with */
static struct gsh_config *tree_before;

static struct gsh_config *parse_text(const char *text,
				     struct gsh_config_errors *e)
{
	FILE *f = fopen(conf, "w");

	CU_ASSERT_FATAL(f && gsh.init_error_type(e));
	fputs(text, f);
	fclose(f);
	if (!*text)
		unlink(conf);
	return parse(conf, e);
}

/* Returns what @run returns with the parsed @text; what it prints is in said. */
static int captured(const char *text, bool strict,
		    int (*run)(struct gsh_config *tree,
			       struct gsh_config_errors *e, bool strict))
{
	int out_was = dup(STDOUT_FILENO), err_was = dup(STDERR_FILENO);
	struct gsh_config_errors e;
	FILE *f = tmpfile();
	int res;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fflush(NULL);
	dup2(fileno(f), STDOUT_FILENO);
	dup2(fileno(f), STDERR_FILENO);
	if (conf_before)
		tree_before = parse_text(conf_before, &e);
	res = run(parse_text(text, &e), &e, strict);
	fflush(NULL);
	dup2(out_was, STDOUT_FILENO);
	dup2(err_was, STDERR_FILENO);
	close(out_was);
	close(err_was);
	rewind(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
	fclose(f);
	return res;
}

static int check_all(struct gsh_config *tree, struct gsh_config_errors *e,
		     bool strict)
{
	struct gsh g = { 0 };
	struct gr_file file = { .gsh = &g };

	return (int)gr_check(&file, conf, tree, e, strict);
}

/* A port that is free as a rule, so that a server may run here. */
#define OURS "Provider = iwarp; Port = 20477; Stats_Socket = \"\";"

static void verdicts(void)
{
	enum {
		YES = GR_CHECKED_SERVED,
		NO = GR_CHECKED_NOT_SERVED,
		NO_SERVER = GR_CHECKED_NO_SERVER,
		REFUSED = GR_CHECKED_REFUSED
	};
	static const struct {
		const char *text;
		int plain, strict;
		const char *says[2]; /* lines, without "Config File (conf" */
	} rows[] = {
		{ "RDMA { " OURS " }", YES, YES, { "\tPort = 20477;" } },
		{ "A { }",
		  NO,
		  NO,
		  { "# No RDMA block: NFS is served over TCP" } },
		{ "RDMA { " OURS "\nTypo = 1; }",
		  YES,
		  REFUSED,
		  { ":2): Unknown parameter (Typo)" } },
		{ "RDMA { " OURS " }\nRDMA { }",
		  YES,
		  REFUSED,
		  { ":2): Only one RDMA block allowed" } },
		{ "RDMA { " OURS " }\nRDMAS { }\nEXPROT { }",
		  YES,
		  REFUSED,
		  { ":2): unknown block RDMAS is ignored: did you mean RDMA?" } },
		{ "RDMA { " OURS " } RDMA_Debog { }",
		  YES,
		  REFUSED,
		  { ":1): unknown block RDMA_Debog is ignored: did you mean RDMA_Debug?" } },
		{ "NFS_RDMA { }",
		  NO,
		  NO,
		  { "did you mean RDMA?", "# No RDMA block" } },
		{ "RDMA {\nPort = 70000;\nCredits = 0; }",
		  NO,
		  NO,
		  { ":2): (70000) is out of range; Port is a number from 1 to",
		    ":3): (0) is out of range; Credits" } },
		{ "RDMA { Enable = false; }",
		  NO,
		  NO,
		  { "Enable is a setting of version 0.1" } },
		/* What the parser cannot read. */
		{ "RDMA { " OURS "\nCredits = 7\nReverse_Direction = true; }",
		  NO,
		  NO,
		  { ":2): Syntax error in statement",
		    "rpcrdma: syntax error at " } },
		{ "RDMA { " OURS "\nCredits = 7\n}",
		  NO,
		  NO,
		  { "rpcrdma: no RDMA block could be read: syntax error at " } },
		{ "\nRDMA { " OURS "\n\n",
		  NO,
		  NO,
		  { "rpcrdma: no RDMA block could be read: syntax error at ",
		    ":2: correct it" } },
		{ "RDMA { " OURS " }\nA {\nB = 1\nC = 2;\n}",
		  REFUSED,
		  REFUSED,
		  { ":3): Syntax error in statement",
		    ":3: correct it: Ganesha would ignore the statement" } },
		{ "RDMA { " OURS " }\nA { B = \xc2\xa7; }",
		  NO_SERVER,
		  NO_SERVER,
		  { ":2): " } },
		{ "RDMA { " OURS " }\nNFS_Core_Param { NFS_Port = 20477; }",
		  NO,
		  NO,
		  { ":20477: this is the port of NFS over TCP" } },
		/* What the machine lacks is said of all of it. */
		{ "RDMA { Provider = iwarp; Bind_Addr = " FOREIGN ";\n"
		  "Host_Authentication = required;\n"
		  "Host_Authentication_Keytab = /nonexistent/kt;\n"
		  "Host_Authentication_Allow = \"host/a.example\"; }",
		  NO,
		  NO,
		  { "keytab /nonexistent/kt does not exist",
		    "cannot listen on " FOREIGN ":20049: no interface" } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int strict = 0; strict < 2; strict++) {
			int want = strict ? rows[i].strict : rows[i].plain;
			int is = captured(rows[i].text, strict, check_all);

			if (is != want)
				printf("\nrow %zu: %d, not %d:\n%s", i, is,
				       want, said);
			CU_ASSERT_EQUAL(is, want);
			for (int n = 0; n < 2 && rows[i].says[n]; n++)
				CU_ASSERT_TRUE(has(rows[i].says[n]));
		}
	}
	CU_ASSERT_EQUAL(captured("RDMA { " OURS " }", true, check_all), YES);
	CU_ASSERT_PTR_NULL(strstr(said, "rpcrdma:"));
}

/* The server's answer: why RDMA is not served, or where NFS over TCP is to listen. */
static int start(struct gsh_config *tree, struct gsh_config_errors *e,
		 bool strict)
{
	struct gsh g = { 0 };
	struct gr_file file = { .gsh = &g };
	static struct gr_server s;

	gr_file_parsed(&file, conf, e);
	if (gr_file_start(&file, &s, tree))
		return 0;
	printf("%s%s\n", s.cfg.required ? "required: " : "", s.fault);
	return 1;
}

static void starts(void)
{
	static const struct {
		const char *text;
		int status;
		const char *says; /* before and behind the name of the file */
		const char *then;
	} rows[] = {
		{ "RDMA { }", 0, "", "" },
		{ "A { B = 1\nC = 2; } RDMA { }", 0, "", "" },
		{ "RDMA { Enable = false; }", 1, "\n", "" },
		{ "A { }", 1, "\n", "" },
		/* Nobody meant to be served. */
		{ "A { B = 1\n}", 1, "\n", "" },
		{ "RDMA { Credits = 0; }", 1,
		  "the RDMA block of ganesha.conf cannot be used: ",
		  ":1: (0) is out of range" },
		{ "RDMA {\nA = 1\nRequired = true; }", 1,
		  "required: syntax error at ", ":2: correct it" },
		{ "RDMA {\nRequired = true;\n", 1,
		  "required: no RDMA block could be read: syntax error at ",
		  ":1: correct it" },
		/* Rather what is ours, in either order. */
		{ "A {\nB = 1\nC = 2;\n}\nRDMA {\nCredits = 7\nPort = 7;\n}", 1,
		  "syntax error at ", ":6: correct it" },
		{ "RDMA {\nCredits = 7\nPort = 7;\n}\nA {\nB = 1\nC = 2;\n}", 1,
		  "syntax error at ", ":2: correct it" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int is = captured(rows[i].text, false, start);

		if (is != rows[i].status)
			printf("\nrow %zu: %d: %s", i, is, said);
		CU_ASSERT_EQUAL(is, rows[i].status);
		CU_ASSERT_TRUE(has(rows[i].says));
		CU_ASSERT_TRUE(has(rows[i].then));
	}
}

/* @text replaces the file that the server was started with. */
static int reload(struct gsh_config *tree, struct gsh_config_errors *e,
		  bool strict)
{
	static struct gr_config cfg;
	struct gr_admin admin = {
		.gsh = NULL
	}; /* as before the server starts */
	struct gr_file file = { .gsh = &gsh,
				.lock = PTHREAD_MUTEX_INITIALIZER };
	char why[GR_REFUSED_ROOM];
	enum gr_reload res;

	if (gr_file_reload(&file, &cfg, &admin, conf, tree, e, why) !=
	    GR_RELOAD_OTHER)
		return 96; /* nothing has been read yet */
	file.was_read = true;
	file.config = gr_config_load(&gsh, tree_before, &cfg);
	if (gr_file_reload(&file, &cfg, &admin, "/other", tree, e, why) !=
	    GR_RELOAD_OTHER)
		return 94;
	res = gr_file_reload(&file, &cfg, &admin, conf, tree, e, why);
	puts(why);
	return (int)res;
}

static void reloads(void)
{
	static const struct {
		const char *before, *text;
		enum gr_reload is;
		const char *why, *then; /* before and behind the file's name */
	} rows[] = {
		{ "RDMA { }", "RDMA { }", GR_RELOAD_GOOD, "", "" },
		{ "RDMA { }", "RDMA { Port = 7; Credits = 9; }", GR_RELOAD_GOOD,
		  "restart to apply Port, Credits", "" },
		{ "RDMA { }", "A { }", GR_RELOAD_GOOD,
		  "restart: the RDMA block has been removed", "" },
		{ "A { }", "RDMA { }", GR_RELOAD_GOOD,
		  "restart: the RDMA block has been added", "" },
		{ "A { }", "RDMA { Credits = 0; }", GR_RELOAD_GOOD,
		  "the RDMA block has errors now: ", ":1: " },
		{ "A { }", "\nA { B = 1\nC = 2; }", GR_RELOAD_REFUSED,
		  "syntax error at ",
		  ":2: nothing was changed. Correct it and reload" },
		{ "A { }", "\nA { B = 1;\n", GR_RELOAD_REFUSED,
		  "syntax error at ",
		  ":2: nothing was changed. Correct it and reload" },
		{ "A { }", "A { }\n}", GR_RELOAD_REFUSED, "syntax error at ",
		  ":2: nothing was changed" },
		/* There is no file. */
		{ "A { }", "", GR_RELOAD_REFUSED, "",
		  " cannot be read: nothing was changed. Correct it and reload" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int is;

		conf_before = rows[i].before;
		expected = strstr(rows[i].why, "has errors") != NULL;
		is = captured(rows[i].text, false, reload);
		CU_ASSERT_EQUAL(expected, 0);
		if (is != (int)rows[i].is)
			printf("\nrow %zu: %d: %s", i, is, said);
		CU_ASSERT_EQUAL(is, (int)rows[i].is);
		CU_ASSERT_TRUE(has(rows[i].why));
		CU_ASSERT_TRUE(has(rows[i].then));
		conf_before = NULL;
		/* Alone on its line. */
		if (!*rows[i].why)
			CU_ASSERT_TRUE(*rows[i].then || !strcmp(said, "\n"));
	}
}

/* What to do, or else what the error is called. */
static void faults(void)
{
	static const struct {
		int err;
		const char *says;
	} provider[] = {
		{ -ENOPROTOOPT, "provider x is not built in: " },
		{ -ENODEV, "provider x finds no RDMA device: " },
		{ -ENOMEM, "register memory (Cannot allocate memory): raise" },
		{ -EPERM, "register memory (Operation not permitted): raise" },
		{ -EIO, "provider x cannot be opened: Input/output error" },
	}, listening[] = {
		{ -EAFNOSUPPORT, "IPv4 only: enable IPv6" },
		{ -EADDRINUSE, "the port is in use: stop" },
		{ -EADDRNOTAVAIL, "no interface has this address: correct" },
		{ -EADDRNOTAVAIL, "later: sysctl net.ipv4.ip_nonlocal_bind=1" },
		{ -EACCES, "ports below 1024 need CAP_NET_BIND_SERVICE" },
		{ -EIO, "cannot listen on " FOREIGN ":0: Input/output error" },
	};
	struct gr_config cfg = config("127.0.0.1", NULL);
	struct sockaddr_storage none = { 0 }, at;
	char fault[GR_FAULT_ROOM];

	for (size_t i = 0; i < sizeof(provider) / sizeof(provider[0]); i++) {
		gr_provider_fault("x", "", provider[i].err, fault);
		CU_ASSERT_PTR_NOT_NULL(strstr(fault, provider[i].says));
	}
	CU_ASSERT_TRUE(
		gr_device_is_hidden("/proc/self/stat*", "/proc/self/x*"));
	CU_ASSERT_FALSE(
		gr_device_is_hidden("/proc/self/stat*", "/proc/s[e]lf"));
	CU_ASSERT_FALSE(gr_device_is_hidden("/proc/self/x*", "/proc/self/y*"));
	CU_ASSERT_FALSE(
		gr_device_is_hidden("/proc/self/x*", "/proc/self/stat*"));
	address(FOREIGN, &at);
	gr_listen_fault("verbs", &cfg, &none, &at, -EADDRNOTAVAIL, fault);
	CU_ASSERT_PTR_NOT_NULL(strstr(fault, "Bind_Addr in the RDMA block, or "
					     "set Provider = iwarp there"));
	for (size_t i = 0; i < sizeof(listening) / sizeof(listening[0]); i++) {
		gr_listen_fault("iwarp", &cfg, &none, &at, listening[i].err,
				fault);
		CU_ASSERT_PTR_NOT_NULL(strstr(fault, listening[i].says));
	}
}

static const struct unit_test tests[] = {
	{ "addresses", addresses },
	{ "families", families },
	{ "whose port", whose_port },
	{ "settings", settings },
	{ "port", port },
	{ "the port of NFS", nfs_port },
	{ "keytab", keytab },
	{ "device", device },
	{ "locked memory", locked },
	{ "found", found },
	{ "NFS over TCP", tcp },
	{ "recovery root", recovery_roots },
	{ "last provider", last_provider },
	{ "verdicts", verdicts },
	{ "starts", starts },
	{ "reloads", reloads },
	{ "faults", faults },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	int status, fd = mkstemp(conf);

	if (fd < 0)
		return 2;
	close(fd);
	out = fmemopen(told, sizeof(told), "w+");
	status = unit_run("ganesha-check", tests, argc, argv);
	fclose(out);
	unlink(conf);
	return status;
}
