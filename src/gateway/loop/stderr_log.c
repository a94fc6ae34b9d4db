/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stderr_log - lines on stderr
 *
 * Threads: any.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "gateway/client.h"

void gw_log_text(void *ctx, int level, const char *text)
{
	struct gateway *gw = ctx;
	struct timespec ts;
	struct tm tm;
	char when[32];

	if (level > gw->opt.log_level)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	localtime_r(&ts.tv_sec, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	fprintf(stderr, "%s.%03ld rpcrdma-gateway: %s\n", when,
		ts.tv_nsec / 1000000, text);
}

void gw_log(struct gateway *gw, int level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (level > gw->opt.log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gw_log_text(gw, level, text);
}
