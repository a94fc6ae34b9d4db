/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log - lines that a peer can cause have a budget
 *
 * In front of a log sink stand three: of the connection, of its host, and of
 * all together. Each lets some lines through at once and then one now and then;
 * a host's share of the last is small, so that it cannot hide what there is to
 * say of others. What was left out is counted, and the count is a line of its
 * own before the next that is written, or once the host has had none for a
 * while, or at the end. A line that is, but for its numbers, one of the latest
 * of its host leaves the last few to others: what is said again and again does
 * not hide what is new. What is worth a notice, such as that somebody has
 * connected, has budgets of its own, so that it does not hide a warning; and so
 * have lines for information and for debugging, ten times as large.
 *
 * Threads: any. The lock is a leaf, and no sink is called under it.
 */
#ifndef RPCRDMA_BASE_LOG_H
#define RPCRDMA_BASE_LOG_H

#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* Lines at once, and then one in so many ms: of a connection, a host, all.
 * docs/operations.md tells them. */
#define FAB_LOG_CONN 10
#define FAB_LOG_CONN_MS 10000
#define FAB_LOG_HOST 30
#define FAB_LOG_HOST_MS 5000
#define FAB_LOG_KEPT 10 /* for what its host has not said lately */
#define FAB_LOG_ALL 100
#define FAB_LOG_ALL_MS 200
/* Factor for LOG_INFO and LOG_DEBUG. */
#define FAB_LOG_MORE 10

/* Levels up to LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG. */
#define FAB_LOG_CLASSES 4

struct fab_log;

/* A log sink: @level as in <syslog.h>. Any thread. */
typedef void (*fab_log_fn)(void *ctx, int level, const char *text);

/* The same for a line that @host caused, as fab_addr_host() tells it. */
typedef void (*fab_log_host_fn)(void *ctx, const struct in6_addr *host,
				int level, const char *text);

/* Of one connection or the like; zeroed at first. Guarded by the log's lock. */
struct fab_log_budget {
	struct fab_log_bucket {
		uint64_t until; /* ms; what has been taken is back then */
		uint64_t left_out;
	} of[FAB_LOG_CLASSES];
};

/* NULL: no memory. Without a @sink nothing is ever written. */
struct fab_log *fab_log_create(fab_log_fn sink, void *ctx);
/* Tells what was left out and not yet told. */
void fab_log_destroy(struct fab_log *l);

/*
 * Write "NAME: text", where the budgets allow it: @mine (NULL: no limit but the
 * others), of @host (NULL: those of no host share one), of all. @name NULL:
 * the text alone. @l NULL: nothing.
 */
void fab_log_vput(struct fab_log *l, struct fab_log_budget *mine,
		  const struct in6_addr *host, const char *name, int level,
		  const char *fmt, va_list ap)
	__attribute__((format(printf, 6, 0)));
void fab_log_put(struct fab_log *l, struct fab_log_budget *mine,
		 const struct in6_addr *host, const char *name, int level,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* A line of no host, as a sink: @log is the struct fab_log. */
void fab_log_line(void *log, int level, const char *text);
/* A line of a host, likewise. */
void fab_log_host_line(void *log, const struct in6_addr *host, int level,
		       const char *text);
/* It has ended: tell what was left out of its lines. */
void fab_log_leave(struct fab_log *l, struct fab_log_budget *mine,
		   const struct in6_addr *host, const char *name);
/* Is there something that fab_log_tick() has to tell, now or later? */
bool fab_log_owes(const struct fab_log *l);
/* Now and then: tell what was left out where there may be a line again. */
void fab_log_tick(struct fab_log *l);

#endif /* RPCRDMA_BASE_LOG_H */
