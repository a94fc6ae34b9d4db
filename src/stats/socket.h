/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * socket - statistics on a UNIX stream socket
 *
 * Whoever connects gets one JSON document and the end of the stream. The
 * socket has mode 0600. A thread of its own serves it, several readers at a
 * time; a reader that does not read is let go after a few seconds.
 */
#ifndef RPCRDMA_STATS_SOCKET_H
#define RPCRDMA_STATS_SOCKET_H

#include "stats/json.h"

struct stats_socket;

/* Print one document into memory. Context: the socket's thread. */
typedef void (*stats_print_fn)(FILE *f, void *ctx);

/* @ctx must live until the stop. Returns 0 or -errno. -EEXIST: @path is not a
 * socket; -EADDRINUSE: another process serves it. */
int stats_socket_start_with(const char *path, stats_print_fn print, void *ctx,
			    struct stats_socket **out);
/* With stats_json(). */
int stats_socket_start(const char *path, const struct stats_source *src,
		       struct stats_socket **out);
/* @s may be NULL. Removes the socket. */
void stats_socket_stop(struct stats_socket *s);

#endif /* RPCRDMA_STATS_SOCKET_H */
