/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fatal - print the reason for which Ganesha exits to standard error, too
 *
 * Ganesha writes the reason only to its log, so systemctl shows just an exit status. This
 * log facility prints GSH_FATAL lines, after the latest GSH_CRIT lines, which say more. It
 * also prints GSH_MAJ lines, after which Ganesha often exits without a GSH_FATAL line. Lines
 * with "rpcrdma: " have been printed already (gr_server_fault()).
 *
 * Context: any thread that logs.
 */
#include "ganesha/hook/fatal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/notify.h"

#define FACILITY "RPCRDMA_FATAL"

#define REASONS 8
/* Lines that are not older than this belong to the reason. */
#define RECENT_S 2

/* The latest GSH_CRIT lines. */
static struct {
	pthread_mutex_t lock;
	unsigned int n; /* ever kept; the next goes to reason[n % REASONS] */
	struct reason {
		time_t at;
		char text[512];
	} reason[REASONS];
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void print_line(const char *message)
{
	/* Some messages end with a newline. */
	fprintf(stderr, "rpcrdma: Ganesha: %.*s\n", (int)strcspn(message, "\n"),
		message);
}

static void keep_reason(const char *message)
{
	struct reason *r;

	pthread_mutex_lock(&kept.lock);
	r = &kept.reason[kept.n++ % REASONS];
	r->at = time(NULL);
	snprintf(r->text, sizeof(r->text), "%s", message);
	pthread_mutex_unlock(&kept.lock);
}

static void print_reasons(void)
{
	pthread_mutex_lock(&kept.lock);
	for (unsigned int i = 0; i < REASONS; i++) {
		struct reason *r = &kept.reason[(kept.n + i) % REASONS];

		if (*r->text && r->at >= time(NULL) - RECENT_S)
			print_line(r->text);
		*r->text = '\0';
	}
	pthread_mutex_unlock(&kept.lock);
}

static int to_stderr(int headers, void *private, int level, void *buffer,
		     char *component, char *message)
{
	/* Clear the state that the service manager shows. */
	if (level == GSH_FATAL)
		base_notify("STATUS=");
	/* Ganesha 6 adds a backtrace to each GSH_FATAL line. */
	if (level < GSH_FATAL || !message || strstr(message, "rpcrdma: ") ||
	    strstr(message, "stack backtrace follows") ||
	    !strncmp(message, "BACKTRACE:", strlen("BACKTRACE:")))
		return 0;
	if (level == GSH_CRIT) {
		keep_reason(message);
		return 0;
	}
	if (level == GSH_FATAL)
		print_reasons();
	print_line(message);
	return 0;
}

static bool is_stderr(const char *path)
{
	struct stat log, err;

	return !strcmp(path, "STDERR") ||
	       (!stat(path, &log) && !fstat(STDERR_FILENO, &err) &&
		log.st_dev == err.st_dev && log.st_ino == err.st_ino);
}

void gr_fatal_start(const struct gsh *g, const char *log_path)
{
	if ((log_path && is_stderr(log_path)) || !g->create_log_facility ||
	    !g->enable_log_facility)
		return;
	/* If this fails, the log still has the lines. */
	if (!g->create_log_facility(FACILITY, to_stderr, GSH_CRIT,
				    GSH_HEADERS_NONE, NULL))
		(void)g->enable_log_facility(FACILITY);
}
