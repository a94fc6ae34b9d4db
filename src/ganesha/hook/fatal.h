/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fatal - print the reason for which Ganesha exits to standard error, too
 */
#ifndef RPCRDMA_GANESHA_FATAL_H
#define RPCRDMA_GANESHA_FATAL_H

#include "ganesha/bind/gsh.h"

/* Start, after Ganesha has set up its log, which goes to @log_path (NULL: syslog). Context:
 * main thread. */
void gr_fatal_start(const struct gsh *g, const char *log_path);

#endif /* RPCRDMA_GANESHA_FATAL_H */
