/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fatal - why Ganesha ends, on standard error as well
 *
 * Ganesha tells its log alone. Whoever starts the server by systemctl sees just
 * its exit status, and looks for the reason among the lines about RDMA, where it
 * is not. So Ganesha is given one log facility more, for the gravest messages:
 * GSH_FATAL, with the GSH_CRIT just before it, which say more; and GSH_MAJ, after
 * which it often ends without another.
 * What begins with "rpcrdma:" has been told (gr_server_fault()).
 *
 * Threads: any that logs.
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
#include "ganesha/config/place.h"

#define FACILITY "RPCRDMA_FATAL"

#define REASONS 3
/* What came this long before the end has led to it. */
#define RECENT_S 2

struct reason {
	time_t at;
	char text[512];
};

/* The latest messages that are not the end yet; and the first of such that names a
 * line of a file, since those after it mostly say that there was one. */
static struct {
	pthread_mutex_t lock;
	unsigned int n; /* that there have been */
	struct reason of[REASONS], first;
} reasons = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void set(struct reason *r, const char *message)
{
	r->at = time(NULL);
	snprintf(r->text, sizeof(r->text), "%s", message);
}

static bool is_recent(const struct reason *r)
{
	return *r->text && r->at >= time(NULL) - RECENT_S;
}

/* Where the latest are kept, it is told among these. */
static bool among_latest(const struct reason *first)
{
	for (unsigned int i = 0; i < REASONS; i++)
		if (!strcmp(reasons.of[i].text, first->text))
			return true;
	return false;
}

static void keep(const char *message)
{
	struct gr_place at;

	pthread_mutex_lock(&reasons.lock);
	set(&reasons.of[reasons.n++ % REASONS], message);
	if (!is_recent(&reasons.first) && gr_place_read(message, &at) &&
	    at.line)
		set(&reasons.first, message);
	pthread_mutex_unlock(&reasons.lock);
}

static void tell(const char *message)
{
	fprintf(stderr, "rpcrdma: Ganesha: %s\n", message);
}

/* Of a file, and of no line in it. */
static bool is_vague(const struct reason *r)
{
	struct gr_place at;

	return gr_place_read(r->text, &at) && !at.line;
}

static void tell_reasons(void)
{
	bool first;

	pthread_mutex_lock(&reasons.lock);
	first = is_recent(&reasons.first);
	if (first && !among_latest(&reasons.first))
		tell(reasons.first.text);
	for (unsigned int i = 0; i < REASONS; i++) {
		struct reason *r = &reasons.of[(reasons.n + i) % REASONS];

		if (is_recent(r) && !(first && is_vague(r)))
			tell(r->text);
		*r->text = '\0';
	}
	pthread_mutex_unlock(&reasons.lock);
}

static int to_stderr(int headers, void *private, int level, void *buffer,
		     char *component, char *message)
{
	/* What was said of a server that served is not true any more. */
	if (level == GSH_FATAL)
		notify_manager("STATUS=");
	if (level < GSH_FATAL || !message || strstr(message, "rpcrdma: "))
		return 0;
	if (level == GSH_CRIT) {
		keep(message);
		return 0;
	}
	/* Ganesha goes on: NFSv4 needs no rpcbind. And the lines of a backtrace, which
	 * Ganesha 6 writes whenever it exits so, are in the log alone. */
	if (strstr(message, "Cannot register NFS V4") ||
	    strstr(message, "stack backtrace follows"))
		return 0;
	if (level == GSH_FATAL)
		tell_reasons();
	tell(message);
	if (strstr(message, "Cannot register "))
		fputs("rpcrdma: rpcbind does not answer: start it, or set "
		      "Protocols = 4 and Enable_RQUOTA = false in "
		      "NFS_Core_Param to serve NFS without it\n",
		      stderr);
	return 0;
}

static bool is_stderr(const char *path)
{
	struct stat log, err;

	return !strcmp(path, "STDERR") ||
	       (!stat(path, &log) && !fstat(STDERR_FILENO, &err) &&
		log.st_dev == err.st_dev && log.st_ino == err.st_ino);
}

void fatal_start(const struct gsh *g, const char *log_path)
{
	if ((log_path && is_stderr(log_path)) || !g->create_log_facility ||
	    !g->enable_log_facility)
		return;
	/* Without it the log has it all the same. */
	if (!g->create_log_facility(FACILITY, to_stderr, GSH_CRIT,
				    GSH_HEADERS_NONE, NULL))
		(void)g->enable_log_facility(FACILITY);
}
