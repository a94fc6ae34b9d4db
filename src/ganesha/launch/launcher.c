/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ganesha-rdma.nfsd - ganesha.nfsd with librpcrdma-ganesha before ntirpc
 *
 * A program of its own, and not ganesha.nfsd with LD_PRELOAD, because its link
 * order cannot be lost: the loader ignores LD_PRELOAD when a program is entered
 * with more privileges or into another security domain than its parent has,
 * and the variable would go on to every child of the server. The price is this
 * file: everything that ganesha.nfsd does is in its library and is called
 * from here in the same order, with the same options; the program itself is
 * only option parsing, becoming a daemon and the pid file. nfs_libmain(), the
 * library's own entry for embedding, does neither and keeps capabilities that
 * the daemon drops.
 *
 * It is linked to the libganesha_nfsd of one release by that very name, so it
 * cannot be started with another release by accident. What differs from release
 * to release is in compat/launch.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/notify.h"
#include "ganesha/hook/check.h"
#include "compat/launch.h"
#include "ganesha/hook/fatal.h"
#include "ganesha/hook/ready.h"
#include "ganesha/hook/rest.h"

#define PID_FILE_DEFAULT "/var/run/ganesha/ganesha.pid"
#define CONFIG_DEFAULT "/etc/ganesha/ganesha.conf"
/* What FSALs may take to read their items, and the lines that are counted of that. */
#define ITEMS_SECONDS 20
#define MOST_ITEMS 100

/* Exported by libganesha_nfsd. */
extern struct timespec nfs_ServerBootTime;
extern time_t nfs_ServerEpoch;
extern char *nfs_config_path;
extern char *nfs_pidfile_path;
extern int g_nodeid;

int ReturnLevelAscii(const char *level);
void set_const_log_str(void);
void nfs_init_init(void);
void config_url_init(void);
extern int *component_log_level;
bool init_error_type(struct gsh_config_errors *e);
char *err_type_str(struct gsh_config_errors *e);
struct gsh_config *config_ParseFile(char *path, struct gsh_config_errors *e);
void config_Free(struct gsh_config *tree);
int read_log_config(struct gsh_config *tree, struct gsh_config_errors *e);
int nfs_set_param_from_conf(struct gsh_config *tree,
			    struct gsh_start_info *info,
			    struct gsh_config_errors *e);
int init_server_pkgs(void);
int ReadDataServers(struct gsh_config *tree, struct gsh_config_errors *e);
int nfs4_recovery_init(void);
int nfs_start_grace(void *event);
void nfs_wait_for_grace_enforcement(void);
int ReadExports(struct gsh_config *tree, struct gsh_config_errors *e);
void nfs_start(struct gsh_start_info *info);

#define LOG(component, level, ...)                                          \
	DisplayLogComponentLevel((component), __FILE__, __LINE__, __func__, \
				 (level), __VA_ARGS__)

struct options {
	const char *name; /* of the program, for the log */
	char *log_path;
	int level;
	bool detach;
	bool dump_trace;
	bool check; /* the configuration, and end */
	bool strict; /* ... with any complaint as an error */
	struct gsh_start_info start;
	struct compat_options more;
};

/*
 * The server allocates the payload of each READ and frees it when it is sent.
 * As it comes, the C library gives such memory back to the kernel and gets
 * it again, page fault by page fault, which costs as much as a copy of it.
 * So let it keep some, for as long as the server has something to do (rest.c).
 * And not in eight arenas for each processor, which is what 256 workers make of
 * it: each would keep its own, and has to get it first. With one for each the
 * server is no slower, and half as large (docs/notes/measurements.md).
 * Who has set it up otherwise knows better. False: somebody has.
 */
static bool keep_freed_memory(void)
{
	static const char *const set_up[] = { "MALLOC_MMAP_THRESHOLD_",
					      "MALLOC_TRIM_THRESHOLD_",
					      "MALLOC_ARENA_MAX",
					      "GLIBC_TUNABLES" };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	for (size_t i = 0; i < sizeof(set_up) / sizeof(set_up[0]); i++)
		if (getenv(set_up[i]))
			return false;
	mallopt(M_MMAP_THRESHOLD, 8 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
	mallopt(M_ARENA_MAX, processors > 2 ? (int)processors : 2);
	return true;
}

static void usage(FILE *f, const char *name)
{
	fprintf(f,
		"Usage: %s [-vFTCh] [-L LOGFILE] [-N LEVEL] [-f CONFIG] [-p PIDFILE]\n"
		"       [-E EPOCH] [-I NODEID]\n"
		"       %s [--strict] --check-config CONFIG\n"
		"NFS-Ganesha " GSH_VERSION
		" with RPC-over-RDMA " RPCRDMA_VERSION
		". Options are those of ganesha.nfsd:\n"
		"  -v          print versions\n"
		"  -L LOGFILE  log there (default: syslog)\n"
		"  -N LEVEL    NIV_NULL, NIV_FATAL, NIV_MAJ, NIV_CRIT, NIV_WARN, NIV_EVENT,\n"
		"              NIV_INFO, NIV_DEBUG, NIV_MID_DEBUG or NIV_FULL_DEBUG\n"
		"              (default: NIV_EVENT)\n"
		"  -f CONFIG   configuration file (default: " CONFIG_DEFAULT
		")\n"
		"  -p PIDFILE  pid file (default: " PID_FILE_DEFAULT ")\n"
		"  -F          stay in the foreground\n"
		"  -T          print the default configuration\n"
		"  -E EPOCH    server epoch instead of the boot time\n"
		"  -I NODEID   node in a cluster\n"
		"  -C          dump a trace on a crash\n" COMPAT_USAGE
		"  -h          this text\n"
		"  --check-config CONFIG  check it, print its RDMA block, and exit: with\n"
		"              status 0, or 1 if RDMA would not be served or on a syntax\n"
		"              error\n"
		"  --strict    with --check-config: status 1 also for warnings, such as\n"
		"              unknown settings and a second block\n"
		"SIGHUP rereads LOG and EXPORT blocks, SIGTERM ends the server.\n"
		"The RDMA block of the configuration turns RDMA on.\n",
		name, name);
}

/* A number from 0 to @max, or the end of the program. */
static long long number(const struct options *o, int opt, long long max)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(optarg, &end, 10);
	if (end == optarg || *end || errno || v < 0 || v > max) {
		fprintf(stderr,
			"%s: -%c: '%.60s' is not a number from 0 to %lld\n",
			o->name, opt, optarg, max);
		exit(1);
	}
	return v;
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option more[] = {
		{ "check-config", required_argument, NULL, 'c' },
		{ "strict", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *slash = strrchr(argv[0], '/');
	int c;

	*o = (struct options){ .name = slash && slash[1] ? slash + 1 : argv[0],
			       .level = -1,
			       .detach = true,
			       .start = { .drop_caps = true } };
	while ((c = getopt_long(argc, argv,
				"v@L:N:f:p:FRTE:ChI:" COMPAT_OPTIONS, more,
				NULL)) != -1) {
		switch (c) {
		case 'v':
		case '@':
			printf("NFS-Ganesha Release = V" GSH_VERSION "\n"
			       "RPC-over-RDMA = " RPCRDMA_VERSION "\n");
			exit(0);
		case 'L':
			o->log_path = optarg;
			break;
		case 'N':
			o->level = ReturnLevelAscii(optarg);
			if (o->level == -1) {
				fprintf(stderr,
					"%s: -N: '%.60s' is not a level such as NIV_EVENT, see -h\n",
					o->name, optarg);
				exit(1);
			}
			break;
		case 'f':
			nfs_config_path = optarg;
			break;
		case 'p':
			nfs_pidfile_path = optarg;
			break;
		case 'F':
			o->detach = false;
			break;
		case 'R':
			fprintf(stderr,
				"%s: -R is no longer an option: set Active_krb5 "
				"in block NFS_KRB5 of the configuration\n",
				o->name);
			exit(1);
		case 'T':
			o->start.dump_default_config = true;
			break;
		case 'E':
			nfs_ServerEpoch = (time_t)number(o, c, LLONG_MAX);
			break;
		case 'I':
			g_nodeid = (int)number(o, c, INT_MAX);
			break;
		case 'c':
			o->check = true;
			nfs_config_path = optarg;
			break;
		case 's':
			o->strict = true;
			break;
		case 'C':
			o->dump_trace = true;
			break;
		case 'h':
			usage(stdout, o->name);
			exit(0);
		default:
			if (c != '?' && compat_option(&o->more, c, optarg))
				break;
			/* getopt has said what. */
			exit(1);
		}
	}
	if (o->strict && !o->check)
		fprintf(stderr, "%s: --strict needs --check-config; see -h\n",
			o->name);
	else if (optind < argc)
		fprintf(stderr, "%s: '%.60s' is not an option; see -h\n",
			o->name, argv[optind]);
	else
		return;
	exit(1);
}

/* The file's lock keeps a second server with the same file from starting; it
 * is held until the exit. */
static int lock_pid_file(void)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(nfs_pidfile_path, O_CREAT | O_RDWR, 0644);

	if (fd < 0)
		LOG(GSH_MAIN, GSH_FATAL,
		    "pid file %s: %s: make its directory, or name another file "
		    "with -p",
		    nfs_pidfile_path, strerror(errno));
	if (fcntl(fd, F_SETLK, &whole))
		LOG(GSH_MAIN, GSH_FATAL,
		    "pid file %s is locked: the server is already running",
		    nfs_pidfile_path);
	return fd;
}

static int take_pid_file(void)
{
	int fd = lock_pid_file();

	if (ftruncate(fd, 0) ||
	    dprintf(fd, "%u\n", (unsigned int)getpid()) < 0 || fsync(fd) < 0)
		LOG(GSH_MAIN, GSH_FATAL, "pid file %s cannot be written: %s",
		    nfs_pidfile_path, strerror(errno));
	return fd;
}

static bool any_error(const struct gsh_config_errors *e)
{
	return !gsh_harmless(e) || e->cur_exp_create_err || e->validate ||
	       e->bogus || e->deprecated;
}

/* Of what ends the server the journal has it as well: fatal.c. */
static void hint_to_log(void *ctx, const char *text)
{
	const struct gsh_config_errors *e = ctx;

	LOG(GSH_INIT, gsh_harmless(e) ? GSH_WARN : GSH_CRIT, "%s", text);
}

static void hint_to_user(void *ctx, const char *text)
{
	fprintf(stderr, "%s\n", text);
}

/* NULL: go on; @some is set to what there is to say of the exports. Otherwise what
 * has failed. */
static const char *configure(struct options *o, struct gsh_config **tree,
			     struct gsh_config_errors *e,
			     char some[RPCRDMA_EXPORTS])
{
	int ds, exports;

	*tree = NULL;
	if (!nfs_config_path || !*nfs_config_path)
		LOG(GSH_INIT, GSH_WARN, "No configuration file named.");
	else
		*tree = config_ParseFile(nfs_config_path, e);
	rpcrdma_ganesha_syntax(e, hint_to_log, e);
	if (any_error(e)) {
		char *what = err_type_str(e);

		LOG(GSH_INIT, gsh_harmless(e) ? GSH_WARN : GSH_CRIT,
		    "Error %s while parsing (%s)", what ? what : "unknown",
		    nfs_config_path);
		free(what);
		if (!gsh_harmless(e))
			return "parsing the configuration file";
	}
	if (read_log_config(*tree, e) < 0)
		return "reading the log configuration";
	/* Exports name their FSALs, so these come first. */
	if (!compat_start_fsals(*tree, e))
		return "starting FSALs";
	if (nfs_set_param_from_conf(*tree, &o->start, e))
		return "setting parameters from the configuration file";
	compat_params_set();
	if (init_server_pkgs())
		return "initializing the server's packages";
	ds = ReadDataServers(*tree, e);
	if (ds < 0)
		return "reading DS entries";
	if (nfs4_recovery_init())
		return "initializing the recovery backend";
	nfs_start_grace(NULL);
	nfs_wait_for_grace_enforcement();
	exports = ReadExports(*tree, e);
	if (exports < 0)
		return "reading export entries";
	if (exports || !ds)
		rpcrdma_ganesha_exports(*tree, (unsigned int)exports, some);
	if (!exports && !ds)
		LOG(GSH_INIT, GSH_WARN,
		    "No export entries found in configuration file !!!");
	compat_configured(*tree, e);
	return NULL;
}

/* Of Ganesha's own FSALs; others are not loaded. An EXPORT block that is read and not
 * taken over needs what comes with them. */
static bool check_fsals(const struct options *o, struct gsh_config *tree,
			unsigned int *complaints)
{
	struct gsh_config_errors e;
	bool good;

	if (!init_error_type(&e))
		return false;
	good = compat_start_fsals(tree, &e);
	if (e.fp && ftell(e.fp) > 0)
		(*complaints)++;
	(void)compat_report(&o->more, &e);
	return good;
}

/* What FSALs say of their own items, in a process that ends with it: they were not made
 * to be asked. How many lines. */
static unsigned int check_items(struct gsh_config *tree)
{
	struct gsh_config_errors e;
	unsigned int lines;
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		alarm(ITEMS_SECONDS);
		if (!rpcrdma_ganesha_fsals(tree) || !init_error_type(&e) ||
		    !compat_start_fsals(tree, &e))
			_exit(0);
		lines = rpcrdma_ganesha_items(tree);
		fflush(NULL);
		_exit(lines < MOST_ITEMS ? (int)lines : MOST_ITEMS);
	}
	if (child > 0)
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	if (child > 0 && WIFEXITED(status))
		return (unsigned int)WEXITSTATUS(status);
	puts("# The items of FSALs could not be checked.");
	return 0;
}

/* For %url in the file. That there is no library for rados:// is not worth a line. */
static void prepare_urls(void)
{
	int was = component_log_level[GSH_CONFIG];

	component_log_level[GSH_CONFIG] = GSH_FATAL;
	config_url_init();
	component_log_level[GSH_CONFIG] = was;
}

/* In the log's words, warnings and worse. Those of blocks have been counted too. */
static int count_warning(int headers, void *private, int level, void *buffer,
			 char *component, char *message)
{
	unsigned int *n = private;

	(*n)++;
	return 0;
}

static void count_warnings(unsigned int *n)
{
	if (!create_log_facility("RPCRDMA_WARNED", count_warning, GSH_WARN,
				 COMPAT_HEADERS_NONE, n))
		(void)enable_log_facility("RPCRDMA_WARNED");
}

/* Nothing of a server is begun: one may be running, and goes on. */
static int check_config(const struct options *o, char *host)
{
	struct gsh_config_errors errors;
	unsigned int complaints = 0, more = 0, items = 0, warned = 0;
	struct gsh_config *tree;
	enum rpcrdma_verdict verdict = RPCRDMA_NO_SERVER;
	bool starts, syntax, good;

	compat_prereq_init(&o->more, o->name, host, o->level, "STDERR", false);
	if (!init_error_type(&errors))
		return 1;
	count_warnings(&warned);
	prepare_urls();
	tree = config_ParseFile(nfs_config_path, &errors);
	starts = tree && gsh_harmless(&errors);
	rpcrdma_ganesha_syntax(&errors, hint_to_user, NULL);
	/* Of most syntax errors Ganesha sets no flag: it says so, and goes on
	 * without the statement or the block that it is in. */
	syntax = errors.fp && ftell(errors.fp) > 0;
	(void)compat_report(&o->more, &errors);
	if (starts)
		items = check_items(tree);
	if (starts && check_fsals(o, tree, &more))
		verdict = rpcrdma_ganesha_check(tree, nfs_config_path, stdout,
						&complaints);
	complaints += more + items + warned;
	good = verdict == RPCRDMA_SERVED && !syntax &&
	       !(o->strict && complaints);
	if (verdict == RPCRDMA_NO_SERVER)
		fprintf(stderr, "%s: %s: the server would not start with it\n",
			o->name, nfs_config_path);
	else if (verdict == RPCRDMA_NOT_SERVED)
		fprintf(stderr, "%s: %s: RDMA would not be served with it\n",
			o->name, nfs_config_path);
	else if (syntax)
		fprintf(stderr,
			"%s: %s: correct the syntax error: the server would "
			"ignore the statement or block that has it\n",
			o->name, nfs_config_path);
	else if (complaints)
		fprintf(stderr, "%s: %s: %s\n", o->name, nfs_config_path,
			good ? "the server would start with it, despite the warnings above" :
			       "refused because of --strict: correct what is said above");
	if (tree)
		config_Free(tree);
	return good && !fflush(stdout) ? 0 : 1;
}

int main(int argc, char **argv)
{
	static char host[HOST_NAME_MAX + 1];
	char exports[RPCRDMA_EXPORTS] = "";
	struct gsh_config_errors errors;
	struct gsh_config *tree;
	const char *failed;
	struct options o;
	sigset_t blocked;
	int pid_file;
	bool keeps;

	clock_gettime(CLOCK_REALTIME, &nfs_ServerBootTime);
	nfs_ServerEpoch = nfs_ServerBootTime.tv_sec;
	srand((unsigned int)nfs_ServerEpoch);
	keeps = keep_freed_memory();
	parse_options(argc, argv, &o);
	if (gethostname(host, sizeof(host) - 1)) {
		fprintf(stderr, "%s: gethostname: %s\n", o.name,
			strerror(errno));
		return 1;
	}

	if (o.check)
		return check_config(&o, host);
	compat_prereq_init(&o.more, o.name, host, o.level, o.log_path,
			   o.dump_trace);
	fatal_start(o.log_path);
	LOG(GSH_MAIN, GSH_EVENT,
	    "%s Starting: Ganesha Version " GSH_VERSION
	    ", RPC-over-RDMA " RPCRDMA_VERSION,
	    o.name);
	nfs_init_init();
	if (o.detach) {
		/* While there is somebody to tell that it cannot be. */
		close(lock_pid_file());
		if (daemon(0, 0))
			LOG(GSH_MAIN, GSH_FATAL, "cannot become a daemon: %s",
			    strerror(errno));
		/* Log lines carry the process number. */
		set_const_log_str();
	}
	signal(SIGXFSZ, SIG_IGN);
	pid_file = take_pid_file();

	/* For the server's signal thread; every other inherits the mask. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigaddset(&blocked, SIGPIPE);
	if (pthread_sigmask(SIG_BLOCK, &blocked, NULL))
		LOG(GSH_MAIN, GSH_FATAL, "cannot block signals");
	config_url_init();

	if (!init_error_type(&errors))
		LOG(GSH_INIT, GSH_FATAL, "no memory for messages");
	failed = configure(&o, &tree, &errors, exports);
	if (compat_report(&o.more, &errors) && !failed)
		failed = "checking the configuration (-x)";
	if (failed) {
		LOG(GSH_INIT, GSH_CRIT, "Error while %s.", failed);
		/* A journal may miss the last lines of a short life. */
		sleep(1);
		LOG(GSH_INIT, GSH_FATAL,
		    "Fatal errors while %s.  Server exiting...", failed);
	}
	config_Free(tree);
	if (keeps)
		rest_start();
	ready_start(exports);

	/* Returns after SIGTERM or the administrator's shutdown. */
	nfs_start(&o.start);
	close(pid_file);
	compat_end();
	notify_manager("STATUS=");
	return 0;
}
