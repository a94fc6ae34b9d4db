/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * include - a folder where ganesha.conf includes a file
 *
 * Ganesha's scanner opens it, cannot read from it, and ends the program with a line that
 * names neither: at the start, and in a server that runs and reads the file again.
 */
#ifndef RPCRDMA_GANESHA_INCLUDE_H
#define RPCRDMA_GANESHA_INCLUDE_H

#include <limits.h>
#include <stdbool.h>

struct gr_include {
	char file[PATH_MAX]; /* where the folder is included, in line */
	unsigned int line;
	char folder[PATH_MAX];
};

/*
 * Does ganesha.conf at @path, or a file that it includes, include a folder? *@at says
 * where, of the first. False also where @path cannot be read, which Ganesha tells. What
 * %dir and %url bring is not looked at. Any thread.
 */
bool gr_include_folder(const char *path, struct gr_include *at);

#endif /* RPCRDMA_GANESHA_INCLUDE_H */
