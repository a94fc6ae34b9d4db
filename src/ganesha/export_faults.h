/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export_faults - of EXPORT blocks, what Ganesha finds out only as it makes the exports
 */
#ifndef RPCRDMA_GANESHA_EXPORT_FAULTS_H
#define RPCRDMA_GANESHA_EXPORT_FAULTS_H

#include "ganesha/gsh.h"

/* Tell in the log of FSALs that are missing, of a Pseudo or Tag that is used twice, and
 * of what keeps a Path from being served by an FSAL that serves local folders. For
 * --check-config; any thread that has @tree. */
void gr_export_faults_check(const struct gsh *g, struct gsh_config *tree);

#endif /* RPCRDMA_GANESHA_EXPORT_FAULTS_H */
