/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log - a log sink that no peer can flood
 *
 * Each host has a token bucket for each class of level, and all hosts together have
 * another. A line is written if both have a token. One that is not is counted, and
 * the count is a line of its own: before the next line of that host, or once the host
 * has been quiet for a while (fab_log_tick()), or when the log is destroyed. Classes
 * keep connections that come and go from hiding warnings.
 *
 * Context: any thread. The lock is a leaf, and no sink is called under it.
 */
#ifndef RPCRDMA_BASE_LOG_H
#define RPCRDMA_BASE_LOG_H

#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>

/* Tokens of a host and of all hosts, and the ms in which one comes back. INFO and
 * DEBUG have FAB_LOG_MORE times as many. docs/operations.md quotes them. */
#define FAB_LOG_HOST 30
#define FAB_LOG_HOST_MS 5000
#define FAB_LOG_ALL 100
#define FAB_LOG_ALL_MS 200
#define FAB_LOG_MORE 10

struct fab_log;

/* A log sink: @level as in <syslog.h>. Context: any thread. */
typedef void (*fab_log_fn)(void *ctx, int level, const char *text);

/* The same for a line that @host caused, as fab_addr_host() returns it. */
typedef void (*fab_log_host_fn)(void *ctx, const struct in6_addr *host,
				int level, const char *text);

/* Returns NULL if there is no memory. With @sink NULL nothing is ever written. */
struct fab_log *fab_log_create(fab_log_fn sink, void *ctx);
/* Writes the counts that are still due. @l may be NULL. */
void fab_log_destroy(struct fab_log *l);

/*
 * Write "@name: text", or the text alone if @name is NULL. @host caused the line; those
 * with @host NULL share a bucket. @l may be NULL: nothing is written.
 */
void fab_log_vput(struct fab_log *l, const struct in6_addr *host,
		  const char *name, int level, const char *fmt, va_list ap)
	__attribute__((format(printf, 5, 0)));
void fab_log_put(struct fab_log *l, const struct in6_addr *host,
		 const char *name, int level, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* These are sinks themselves: @log is the struct fab_log. */
void fab_log_line(void *log, int level, const char *text);
void fab_log_host_line(void *log, const struct in6_addr *host, int level,
		       const char *text);

/* Returns true while a count waits to be written, now or later. @l may be NULL. */
bool fab_log_owes(const struct fab_log *l);
/* Write the counts of hosts that are quiet. To be called now and then. */
void fab_log_tick(struct fab_log *l);

#endif /* RPCRDMA_BASE_LOG_H */
