/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload - functions that are interposed for the main() of ganesha.nfsd
 *
 * It calls these functions of libganesha_nfsd, in this order:
 *
 *   nfs_prereq_init  before it, set up malloc; after it, there is a log
 *   ReadExports      returns how many exports are served
 *   nfs_start        the last call: returns when the server has ended
 *
 * Context: Ganesha's main thread.
 */
#include "ganesha/hook/preload.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/notify.h"
#include "base/thread.h"
#include "ganesha/bind/gsh.h"
#include "ganesha/bind/next.h"
#include "ganesha/hook/hooks.h"
#include "ganesha/hook/fatal.h"
#include "ganesha/hook/trim.h"

/* Releases before 6 have no @stack, and do not look into its register. */
GR_EXPORT void nfs_prereq_init(const char *program, const char *host, int level,
			       const char *log_path, bool dump_trace,
			       unsigned long stack);
GR_EXPORT int ReadExports(struct gsh_config *tree, struct gsh_config_errors *e);
GR_EXPORT void nfs_start(struct gsh_start_info *info);

#define HOOKED(X)          \
	X(nfs_prereq_init) \
	X(ReadExports)     \
	X(nfs_start)

GR_NEXT(HOOKED)

static struct {
	struct gsh gsh;
	bool ours; /* this is the Ganesha that this library was built for */
	bool keeps; /* malloc keeps freed memory, until trim.c returns it */
	char exports[GR_EXPORTS_ROOM];
} preload;

/* This process may crash if the parser of this Ganesha has another layout. */
static void answer_probe(void)
{
	const char *wrong = gsh_bind(&preload.gsh);

	if (!wrong)
		wrong = gsh_check_parser(&preload.gsh);
	if (!wrong)
		_exit(GR_PROBED);
	dprintf(atoi(getenv(GR_ENV_PROBE)), "%s", wrong);
	_exit(GR_PROBED_UNFIT);
}

__attribute__((constructor)) static void loaded(void)
{
	const char *before = getenv(GR_ENV_PRELOAD);

	if (getenv(GR_ENV_PROBE))
		answer_probe();
	if (!before)
		return; /* preloaded by hand */
	if (*before)
		setenv("LD_PRELOAD", before, 1);
	else
		unsetenv("LD_PRELOAD");
	unsetenv(GR_ENV_PRELOAD);
}

/*
 * Ganesha allocates the payload of each READ and frees it when it is sent. By default the C
 * library returns such memory to the kernel and gets it back by page faults, which cost as
 * much as a copy. So let it keep some. With one arena for each processor instead of eight,
 * which 256 workers would fill, the server is half as large and no slower
 * (docs/notes/measurements.md). Returns false, and changes nothing, if the administrator has
 * set up malloc.
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

/* For --check-config by any user: do not log to a file, for which that user may have no
 * directory, and drop the line that Ganesha logs for the level of each component. */
static void init_silent(const char *program, const char *host,
			unsigned long stack)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int err = dup(STDERR_FILENO);

	dup2(null, STDERR_FILENO);
	next.nfs_prereq_init(program, host, 0, "STDERR", false, stack);
	dup2(err, STDERR_FILENO);
	close(err);
	close(null);
}

GR_EXPORT void nfs_prereq_init(const char *program, const char *host, int level,
			       const char *log_path, bool dump_trace,
			       unsigned long stack)
{
	/* The main() of 15.2 has printed a line without a newline. */
	if (COMPAT_RELEASE >= 1502)
		fputc('\n', stderr);
	if (getenv(GR_ENV_CHECK)) {
		init_silent(program, host, stack);
		return;
	}
	preload.ours = !gsh_bind(&preload.gsh);
	preload.keeps = preload.ours && keep_freed_memory();
	next.nfs_prereq_init(program, host, level, log_path, dump_trace, stack);
	if (!preload.ours)
		return;
	gr_fatal_start(&preload.gsh, log_path);
	gsh_log(&preload.gsh, GSH_EVENT,
		"RPC-over-RDMA " RPCRDMA_VERSION " for Ganesha " GSH_VERSION);
}

GR_EXPORT int ReadExports(struct gsh_config *tree, struct gsh_config_errors *e)
{
	int n = next.ReadExports(tree, e);

	if (preload.ours && n >= 0)
		gr_hooks_exports(tree, preload.exports);
	return n;
}

static void *ready_main(void *arg)
{
	gr_hooks_ready(preload.exports);
	return NULL;
}

GR_EXPORT void nfs_start(struct gsh_start_info *info)
{
	pthread_t thread;

	if (!preload.ours) {
		next.nfs_start(info);
		return;
	}
	if (preload.keeps)
		gr_trim_start();
	if (base_thread_start(&thread, NULL, ready_main, NULL))
		base_notify("WATCHDOG_USEC=0\nREADY=1");
	else
		pthread_detach(thread);
	next.nfs_start(info);
	base_notify("STATUS=");
}
