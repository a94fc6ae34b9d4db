/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ganesha-rdma.nfsd - start the packaged ganesha.nfsd with librpcrdma-ganesha preloaded
 *
 * The soname of the libganesha_nfsd that ganesha.nfsd needs has its release. Each library is
 * in a directory that is named for the release that it was built for; it serves later
 * releases with the same major version, too, while their layout stays the same. A child
 * tries them, the newest that is not newer than Ganesha first: the library checks the
 * Ganesha that it is loaded into. That also shows whether the loader ignores a preload,
 * which it does for many reasons: file capabilities, a change of the security domain, a
 * missing dependency.
 *
 * Without the library Ganesha serves NFS over TCP only, unless RDMA is required.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/notify.h"
#include "ganesha/config/text.h"
#include "ganesha/hook/preload.h"
#include "ganesha/launch/rehearse.h"

#define CONFIG_DEFAULT "/etc/ganesha/ganesha.conf"
#define LIBRARY "librpcrdma-ganesha.so"
/* For Ganesha to read a configuration. */
#define LIMIT_S 20
#define REHEARSAL "librpcrdma-rehearsal.so"

struct launch {
	char release[32]; /* of Ganesha, as "4.3"; "": not known */
	char dir[PATH_MAX]; /* has a directory for each release that is supported */
	char own[PATH_MAX + 64]; /* the directory of the library */
	char library[PATH_MAX + 128];
	char *fault; /* why RDMA is not served; or NULL */
};

static void usage(FILE *f)
{
	fputs("Usage: ganesha-rdma.nfsd [OPTION of " GANESHA_PROGRAM "]...\n"
	      "       ganesha-rdma.nfsd [--strict] --check-config FILE\n"
	      "       ganesha-rdma.nfsd --version | --help\n"
	      "NFS-Ganesha with RPC-over-RDMA " RPCRDMA_VERSION
	      ". -h lists Ganesha's options.\n"
	      "  --check-config FILE  check it, print its RDMA block, and exit: with status 0 if\n"
	      "                       the server would start and serve RDMA, else 1\n"
	      "  --strict             with --check-config: status 1 also for serious errors\n"
	      "                       in other blocks and unknown settings of the RDMA block\n"
	      "SIGHUP rereads LOG, EXPORT and RDMA blocks, SIGTERM ends the server.\n"
	      "The RDMA block of the configuration turns RDMA on.\n",
	      f);
}

/* ---- The library -------------------------------------------------------- */

static void find_release(struct launch *l)
{
	static const char soname[] = "libganesha_nfsd.so.";
	int fd = open(GANESHA_PROGRAM, O_RDONLY | O_CLOEXEC);
	char *at, *text = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			    fd, 0);
	close(fd);
	if (text == MAP_FAILED)
		return;
	at = memmem(text, (size_t)st.st_size, soname, sizeof(soname) - 1);
	/* It ends with a NUL within the file. */
	if (at)
		snprintf(l->release, sizeof(l->release), "%s",
			 at + sizeof(soname) - 1);
	munmap(text, (size_t)st.st_size);
}

/* The directory of a library: MAJOR.MINOR of the Ganesha that it was built for, and "+rdma" if the
 * ntirpc had RDMA. */
struct release {
	unsigned int major, minor;
};

static bool read_release(const char *name, struct release *r)
{
	return sscanf(name, "%u.%u", &r->major, &r->minor) == 2;
}

static int is_release(const struct dirent *e)
{
	struct release r;

	return read_release(e->d_name, &r);
}

/* Sort the newest first, and those without RDMA first, as distributions build ntirpc so. */
static int by_release(const struct dirent **a, const struct dirent **b)
{
	struct release one, two;

	read_release((*a)->d_name, &one);
	read_release((*b)->d_name, &two);
	if (one.major != two.major)
		return one.major < two.major ? 1 : -1;
	if (one.minor != two.minor)
		return one.minor < two.minor ? 1 : -1;
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Returns true if a library of directory @name may fit: the same major release, and none that is
 * newer. */
static bool may_fit(const struct launch *l, const char *name)
{
	struct release installed, built;

	return read_release(l->release, &installed) &&
	       read_release(name, &built) && built.major == installed.major &&
	       built.minor <= installed.minor;
}

/* Report that there is no library for this release, and which there are. */
static void report_unsupported(const struct launch *l, struct dirent **names,
			       int n, FILE *to)
{
	fprintf(to, "Ganesha %s is installed, and " LIBRARY " for ",
		*l->release ? l->release : "of an unknown release");
	for (int i = n; i-- > 0;)
		fprintf(to, "%s%s", names[i]->d_name, i ? ", " : "");
	fprintf(to,
		"%s: install the library of nfs-ganesha-rdma that was built for this Ganesha",
		n > 0 ? "" : "none");
}

static void set_preload(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char *preload;

	if (!before)
		before = "";
	if (asprintf(&preload, LAUNCH_FIRST "%s%s%s", library,
		     *before ? ":" : "", before) < 0 ||
	    setenv(GR_ENV_PRELOAD, before, 1) ||
	    setenv("LD_PRELOAD", preload, 1))
		abort(); /* no memory */
	free(preload);
}

/* Run the program with @library and @name = @value in the environment. Returns its
 * wait status, or -1. */
static int run_with(const char *library, char **argv, const char *name,
		    const char *value, bool silent)
{
	int status;
	pid_t child = fork();

	if (!child) {
		/* Ganesha blocks signals, and may wait for a file for ever. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(LIMIT_S);
		set_preload(library);
		setenv(name, value, 1);
		if (silent)
			dup2(open("/dev/null", O_WRONLY | O_CLOEXEC),
			     STDOUT_FILENO);
		execv(GANESHA_PROGRAM, argv);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return child > 0 ? status : -1;
}

/* Returns the wait status of a program that only loads @library, and its answer: what does not
 * fit. Without the library it prints its release, and nothing is started. */
static int probe(const char *library, char answer[512])
{
	char program[] = GANESHA_PROGRAM, option[] = "-v", fd_text[16];
	char *argv[] = { program, option, NULL };
	int fd = memfd_create("probe", 0), status;
	ssize_t n;

	snprintf(fd_text, sizeof(fd_text), "%d", fd);
	status = run_with(library, argv, GR_ENV_PROBE, fd_text, true);
	n = pread(fd, answer, 511, 0);
	answer[n > 0 ? n : 0] = '\0';
	close(fd);
	return status;
}

static bool fits(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == GR_PROBED;
}

/* Print why the probe of the library failed. */
static void report_unfit(const struct launch *l, int status, const char *answer,
			 FILE *to)
{
	bool capable =
		geteuid() &&
		getxattr(GANESHA_PROGRAM, "security.capability", NULL, 0) > 0;

	if (WIFEXITED(status) && WEXITSTATUS(status) == GR_PROBED_UNFIT)
		fprintf(to, "%s does not fit: %s", l->library, answer);
	else if (WIFSIGNALED(status))
		fprintf(to,
			"%s does not fit: Ganesha %s ends with it by signal %d "
			"(%s): install the library of nfs-ganesha-rdma that was built for "
			"this Ganesha",
			l->library, l->release, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (capable)
		fprintf(to,
			"the loader ignores %s: only root may preload into " GANESHA_PROGRAM
			", which has file capabilities: start it "
			"as root",
			l->library);
	else
		fprintf(to,
			"the loader ignores %s: if it says why above, install the package again; otherwise see what "
			"SELinux does when " GANESHA_PROGRAM " starts",
			l->library);
}

/* In LD_PRELOAD a blank or a colon ends a name. Replace @library by a path without. */
static void make_loadable(char *library, size_t room)
{
	if (strpbrk(library, " :") && !access(library, F_OK))
		snprintf(library, room, "/proc/self/fd/%d",
			 open(library, O_RDONLY));
}

/* Find the library in the directory @name, and try it. Returns true if it fits; if not, write to
 * @to why, unless that is NULL. */
static bool try_library(struct launch *l, const char *name, FILE *to)
{
	char answer[512];
	int status;

	snprintf(l->own, sizeof(l->own), "%s/%.60s", l->dir, name);
	snprintf(l->library, sizeof(l->library), "%s/" LIBRARY, l->own);
	make_loadable(l->library, sizeof(l->library));
	status = probe(l->library, answer);
	if (fits(status))
		return true;
	if (to)
		report_unfit(l, status, answer, to);
	return false;
}

/* Find the library that fits, or the fault. */
static void find_library(struct launch *l)
{
	char self[PATH_MAX] = "", dir[PATH_MAX + sizeof(LAUNCH_DIR)];
	struct dirent **names = NULL;
	bool found = false;
	size_t len = 0;
	FILE *to = open_memstream(&l->fault, &len);
	int n;

	if (!to)
		abort(); /* no memory */
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
		*strrchr(self, '/') = '\0';
	snprintf(dir, sizeof(dir), "%s/" LAUNCH_DIR, self);
	if (!realpath(dir, l->dir))
		*l->dir = '\0';
	find_release(l);
	n = scandir(l->dir, &names, is_release, by_release);
	for (int i = 0; i < n && !found; i++) {
		/* Only the fault of the first library is reported. */
		if (may_fit(l, names[i]->d_name))
			found = try_library(l, names[i]->d_name,
					    ftell(to) ? NULL : to);
	}
	if (!found && !ftell(to))
		report_unsupported(l, names, n, to);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	fclose(to);
	if (found) {
		free(l->fault);
		l->fault = NULL;
	}
}

/* ---- --check-config ----------------------------------------------------- */

/* In the order of enum gr_checked. */
static const char *const verdicts[] = {
	"the server would start with it",
	"RDMA would not be served with it",
	"the server would not start with it",
	"refused: correct what is said above",
};
#define N_VERDICTS (sizeof(verdicts) / sizeof(verdicts[0]))

static int check_config(const struct launch *l, char *file, bool strict)
{
	char program[] = GANESHA_PROGRAM, pid_file[32];
	char foreground[] = "-F", pid[] = "-p", config[] = "-f";
	char *argv[] = {
		program, foreground, pid, pid_file, config, file, NULL
	};
	char library[PATH_MAX + 128], preload[PATH_MAX + 512], answer[512];
	struct rehearsal r = { .program = program,
			       .preload = preload,
			       .config = file,
			       .strict = strict };
	unsigned int verdict = GR_CHECKED_NO_SERVER;
	enum rehearsed rehearsed = NOT_REHEARSED;
	struct stat st;
	int status;

	/* The file is read more than once. */
	if (stat(file, &st) || !S_ISREG(st.st_mode)) {
		fprintf(stderr, "ganesha-rdma.nfsd: %s: %s\n", file,
			access(file, F_OK) ? strerror(errno) :
					     "it is not a regular file");
		return 1;
	}
	snprintf(pid_file, sizeof(pid_file), "/proc/self/fd/%d",
		 memfd_create("pid", 0));
	status = run_with(l->library, argv, GR_ENV_CHECK,
			  strict ? "strict" : "1", false);
	if (WIFEXITED(status) && WEXITSTATUS(status) < (int)N_VERDICTS)
		verdict = (unsigned int)WEXITSTATUS(status);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		fprintf(stderr, "Ganesha has not read it within %d s\n",
			LIMIT_S);
	snprintf(library, sizeof(library), "%s/" REHEARSAL, l->own);
	make_loadable(library, sizeof(library));
	snprintf(preload, sizeof(preload), LAUNCH_FIRST "%s", library);
	/* Without the library, Ganesha would touch the state of a running server. */
	if (!fits(probe(library, answer)))
		fprintf(stderr, "Not rehearsed: the loader ignores %s\n",
			library);
	else if (verdict != GR_CHECKED_NO_SERVER)
		rehearsed = rehearse(&r);
	if (rehearsed == REHEARSAL_FAILED)
		return 1; /* it has printed a verdict */
	fprintf(stderr, "ganesha-rdma.nfsd: %s: %s\n", file,
		verdict == GR_CHECKED_SERVED && rehearsed == NOT_REHEARSED ?
			"nothing is wrong with the RDMA block" :
			verdicts[verdict]);
	return verdict == GR_CHECKED_SERVED ? 0 : 1;
}

/* ---- Start -------------------------------------------------------------- */

/* Returns true if the configuration that Ganesha's options name has Required = true. */
static bool is_required(int argc, char **argv)
{
	const char *file = CONFIG_DEFAULT;
	struct gr_text text;
	int c;

	opterr = 0;
	while ((c = getopt(argc, argv, "v@L:N:f:p:FRTE:ChI:S:x")) != -1)
		if (c == 'f')
			file = optarg;
	return gr_text_read(file, &text) && text.required;
}

/* Tell the service manager why RDMA is not served. */
static void notify_fault(const struct launch *l, bool starts)
{
	char *state;

	/* Ganesha by itself does not answer a watchdog. */
	if (asprintf(&state, "%sSTATUS=RDMA is not served: %s",
		     starts ? "WATCHDOG_USEC=0\nREADY=1\n" : "", l->fault) < 0)
		abort(); /* no memory */
	(void)base_notify(state);
	free(state);
}

int main(int argc, char **argv)
{
	static struct launch l;
	char program[] = GANESHA_PROGRAM;
	char *check = NULL;
	bool strict = false, own;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--strict")) {
			strict = true;
		} else if (!strcmp(argv[i], "--check-config") && i + 1 < argc) {
			check = argv[++i];
		} else if (!strcmp(argv[i], "--help")) {
			usage(stdout);
			return 0;
		} else if (!strcmp(argv[i], "--version")) {
			puts("RPC-over-RDMA " RPCRDMA_VERSION);
			return 0;
		} else {
			break;
		}
	}
	/* Ganesha has no long options. */
	own = check || strict;
	for (int k = i; k < argc; k++)
		own |= !strncmp(argv[k], "--", 2);
	if (own && (!check || i < argc)) {
		usage(stderr);
		return 1;
	}
	find_library(&l);
	if (l.fault)
		fprintf(stderr, "rpcrdma: RDMA is not served: %s\n", l.fault);
	if (check)
		return l.fault ? 1 : check_config(&l, check, strict);
	if (l.fault) {
		bool starts = !is_required(argc, argv);

		notify_fault(&l, starts);
		if (!starts)
			return 1;
	} else {
		set_preload(l.library);
	}
	argv[0] = program;
	execv(program, argv);
	fprintf(stderr, "ganesha-rdma.nfsd: " GANESHA_PROGRAM ": %s\n",
		strerror(errno));
	return 1;
}
