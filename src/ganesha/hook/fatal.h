/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fatal - why Ganesha ends, on standard error as well
 */
#ifndef RPCRDMA_GANESHA_FATAL_H
#define RPCRDMA_GANESHA_FATAL_H

/* When Ganesha's log is there, which goes to @log_path (NULL: syslog). Main
 * thread. */
void fatal_start(const char *log_path);

#endif /* RPCRDMA_GANESHA_FATAL_H */
