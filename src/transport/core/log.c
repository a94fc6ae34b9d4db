/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log - a connection's lines in the log, and why it ends
 *
 * rt_conn_fail(), rt_conn_vfail(): runner. rt_log(): any thread.
 */
#include <stdio.h>

#include "transport/core/core.h"

void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	base_log_vput(c->inst->log, &c->who.log_host, c->who.name, level, fmt,
		      ap);
	va_end(ap);
}

void rt_conn_vfail(struct rt_conn *c, int error, const char *fmt, va_list ap)
{
	rt_assert_strand(c);
	if (c->end_reason)
		return;
	vsnprintf(c->end_text, sizeof(c->end_text), fmt, ap);
	c->end_reason = c->end_text;
	c->end_error = error;
}

void rt_conn_fail(struct rt_conn *c, int error, const char *fmt, ...)
{
	va_list ap;

	rt_assert_strand(c);
	va_start(ap, fmt);
	rt_conn_vfail(c, error, fmt, ap);
	va_end(ap);
}
