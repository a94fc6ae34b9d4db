/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch - what differs from release to release in starting Ganesha
 *
 * For the launcher alone, which is linked to libganesha_nfsd. In the order of
 * their use:
 *
 *   COMPAT_OPTIONS, COMPAT_USAGE, compat_option()
 *                           options beyond those that all have; false: wrong
 *   compat_prereq_init()    memory, log and what else comes first
 *   compat_start_fsals()    false: an FSAL failed
 *   compat_params_set()     when the parameters are known
 *   compat_configured()     when all blocks have been read
 *   compat_report()         what there was to say of the configuration; true:
 *                           the server shall not start with that
 *   compat_end()            last
 */
#ifndef RPCRDMA_COMPAT_LAUNCH_H
#define RPCRDMA_COMPAT_LAUNCH_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "compat/ganesha.h"

struct compat_options {
	unsigned long stack; /* of threads */
	bool strict; /* no start with an error in the configuration */
};

gsh_log_fn DisplayLogComponentLevel;
void config_errs_to_log(char *msg, void *dest, struct gsh_config_errors *e);
#define COMPAT_HEADERS_NONE 0
/* A place that log messages of @max_level and graver go to as well. @log is
 * given the message without its header; it must not log. 0: done. */
int create_log_facility(const char *name,
			int (*log)(int headers, void *private, int level,
				   void *buffer, char *component,
				   char *message),
			int max_level, int headers, void *private);
int enable_log_facility(const char *name);

#if COMPAT_RELEASE < 600

#define COMPAT_OPTIONS ""
#define COMPAT_USAGE ""

void nfs_prereq_init(const char *program, const char *host, int level,
		     const char *log_path, bool dump_trace);
void start_fsals(void);
void report_config_errors(struct gsh_config_errors *e, void *dest,
			  void (*logger)(char *, void *,
					 struct gsh_config_errors *));

static inline bool compat_option(struct compat_options *o, int c,
				 const char *arg)
{
	return false;
}

static inline void compat_prereq_init(const struct compat_options *o,
				      const char *program, const char *host,
				      int level, const char *log_path,
				      bool dump_trace)
{
	nfs_prereq_init(program, host, level, log_path, dump_trace);
}

static inline bool compat_start_fsals(struct gsh_config *tree,
				      struct gsh_config_errors *e)
{
	start_fsals();
	return true;
}

static inline void compat_params_set(void)
{
}

static inline void compat_configured(struct gsh_config *tree,
				     struct gsh_config_errors *e)
{
}

static inline bool compat_report(const struct compat_options *o,
				 struct gsh_config_errors *e)
{
	report_config_errors(e, NULL, config_errs_to_log);
	return false;
}

static inline void compat_end(void)
{
}

#else /* 6.5 */

#define COMPAT_OPTIONS "S:x"
#define COMPAT_USAGE                                                    \
	"  -S KIB      stack of a thread: a power of two, 16 to 8192\n" \
	"              (default: 8192)\n"                               \
	"  -x          do not start when there is an error in the configuration\n"

void nfs_prereq_init(const char *program, const char *host, int level,
		     const char *log_path, bool dump_trace,
		     unsigned long stack);
void nfs_prereq_destroy(void);
int start_fsals(struct gsh_config *tree, struct gsh_config_errors *e);
void find_unused_blocks(struct gsh_config *tree, struct gsh_config_errors *e);
int report_config_errors(struct gsh_config_errors *e, void *dest,
			 void (*logger)(char *, void *,
					struct gsh_config_errors *));

static inline bool compat_option(struct compat_options *o, int c,
				 const char *arg)
{
	unsigned long kib;
	char *end;

	if (c == 'x') {
		o->strict = true;
		return true;
	}
	kib = strtoul(arg, &end, 10);
	o->stack = kib * 1024;
	return !*end && kib >= 16 && kib <= 8192 && !(kib & (kib - 1));
}

static inline void compat_prereq_init(const struct compat_options *o,
				      const char *program, const char *host,
				      int level, const char *log_path,
				      bool dump_trace)
{
	nfs_prereq_init(program, host, level, log_path, dump_trace,
			o->stack ? o->stack : 8192 * 1024);
}

static inline bool compat_start_fsals(struct gsh_config *tree,
				      struct gsh_config_errors *e)
{
	return start_fsals(tree, e) >= 0;
}

/*
 * Ganesha's own program ends if it may not do this, unless
 * allow_set_io_flusher_fail is set, which is not for us to see. It matters
 * where this machine mounts what it serves.
 */
static inline void compat_params_set(void)
{
#ifdef PR_SET_IO_FLUSHER
	if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) && errno != EINVAL)
		DisplayLogComponentLevel(
			GSH_MAIN, __FILE__, __LINE__, __func__, GSH_WARN,
			"PR_SET_IO_FLUSHER: %s: needs CAP_SYS_RESOURCE; do not "
			"mount here what this server exports",
			strerror(errno));
#endif
}

static inline void compat_configured(struct gsh_config *tree,
				     struct gsh_config_errors *e)
{
	find_unused_blocks(tree, e);
}

static inline bool compat_report(const struct compat_options *o,
				 struct gsh_config_errors *e)
{
	return report_config_errors(e, NULL, config_errs_to_log) > 0 &&
	       o->strict;
}

static inline void compat_end(void)
{
	nfs_prereq_destroy();
}

#endif

#endif /* RPCRDMA_COMPAT_LAUNCH_H */
