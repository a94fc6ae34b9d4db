/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log - a log that no peer can flood
 *
 * Each host has a token bucket for each class of levels, and all hosts together have
 * another. A line is written if both have a token. Other lines are counted by the bucket that
 * had none. The count is written as a line of its own: before the next line of that host, once
 * the host has been quiet for a while (base_log_tick()), or when the log is destroyed. Because
 * each class has its buckets, lines about connections that come and go do not suppress warnings.
 *
 * Context: any thread. The lock is a leaf, and no sink is called under it.
 */
#ifndef RPCRDMA_BASE_LOG_H
#define RPCRDMA_BASE_LOG_H

#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>

/* Tokens of a host and of all hosts, and in how many ms one comes back. For INFO and DEBUG
 * it is BASE_LOG_MORE times as many. docs/operations.md quotes these numbers. */
#define BASE_LOG_HOST 30
#define BASE_LOG_HOST_MS 5000
#define BASE_LOG_ALL 100
#define BASE_LOG_ALL_MS 200
#define BASE_LOG_MORE 10

struct base_log;

/* A log sink. @level is one of <syslog.h>. Context: any thread. */
typedef void (*base_log_fn)(void *ctx, int level, const char *text);

/* The same for a line that @host caused, as base_addr_host() returns it. */
typedef void (*base_log_host_fn)(void *ctx, const struct in6_addr *host,
				 int level, const char *text);

/* Returns NULL if there is no memory. @sink may be NULL: nothing is ever written. */
struct base_log *base_log_create(base_log_fn sink, void *ctx);
/* Write the counts that are left, and free @l, which may be NULL. */
void base_log_destroy(struct base_log *l);

/*
 * Write "@name: text", or the text alone if @name is NULL. @host, from base_addr_host(),
 * caused the line; all lines with @host NULL share a bucket. @l may be NULL: nothing is
 * written.
 */
void base_log_vput(struct base_log *l, const struct in6_addr *host,
		   const char *name, int level, const char *fmt, va_list ap)
	__attribute__((format(printf, 5, 0)));
void base_log_put(struct base_log *l, const struct in6_addr *host,
		  const char *name, int level, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Sinks that write to @log, a struct base_log. */
void base_log_line(void *log, int level, const char *text);
void base_log_host_line(void *log, const struct in6_addr *host, int level,
			const char *text);

/* Returns true while counts are left. @l may be NULL. */
bool base_log_owes(const struct base_log *l);
/* Write the counts of hosts that are quiet. Call it once in a while. */
void base_log_tick(struct base_log *l);

#endif /* RPCRDMA_BASE_LOG_H */
