/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fstype - file systems that Ganesha passes over, by their types
 *
 * FSALs that export local files find those of a Path among the mounted file systems, but
 * for these. For --check-config; any thread.
 */
#ifndef RPCRDMA_GANESHA_FSTYPE_H
#define RPCRDMA_GANESHA_FSTYPE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define GR_FSTYPE 32

/* Of which type is the file system of @dev, in @mounts: /proc/self/mountinfo? False: it is
 * not there, as a subvolume of btrfs is not. */
bool gr_fstype_of(FILE *mounts, dev_t dev, char type[GR_FSTYPE]);
/* Is that one Ganesha passes over? */
bool gr_fstype_is_skipped(const char *type);

#endif /* RPCRDMA_GANESHA_FSTYPE_H */
