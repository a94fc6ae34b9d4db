/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fatal - why Ganesha ends, on standard error as well
 *
 * Ganesha tells its log alone. Whoever starts the server by systemctl sees just
 * its exit status, and looks for the reason among the lines about RDMA, where it
 * is not. So Ganesha is given one log facility more, for the gravest messages:
 * GSH_FATAL, and GSH_MAJ, after which it often ends without another.
 * What begins with "rpcrdma:" has been told (gr_server_fault()).
 *
 * Threads: any that logs.
 */
#include "ganesha/fatal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/launch.h"

#define FACILITY "RPCRDMA_FATAL"
#define HEADERS_NONE 0

static int to_stderr(int headers, void *private, int level, void *buffer,
		     char *component, char *message)
{
	if (level < GSH_FATAL || !message || strstr(message, "rpcrdma: "))
		return 0;
	fprintf(stderr, "rpcrdma: Ganesha: %s\n", message);
	if (strstr(message, "Cannot register "))
		fputs("rpcrdma: is rpcbind running? Start it, or set Protocols = "
		      "4 and Enable_RQUOTA = false in block NFS_Core_Param\n",
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

void fatal_start(const char *log_path)
{
	if (log_path && is_stderr(log_path))
		return;
	/* Without it the log has it all the same. */
	if (!create_log_facility(FACILITY, to_stderr, GSH_MAJ, HEADERS_NONE,
				 NULL))
		(void)enable_log_facility(FACILITY);
}
