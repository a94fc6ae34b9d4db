/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log - what is said of a connection, as far as its budget goes (base/log.h), and
 * why it ends
 *
 * rt_log(), rt_log_ended(), rt_conn_fail(), rt_conn_vfail(): runner;
 * rt_conn_log(): any thread.
 */
#include <stdio.h>

#include "transport/core/core.h"

void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
{
	rt_assert_strand(c);
	/* Why it has ended is said whatever was said before. */
	bool last = c->state == RT_CLOSED;
	va_list ap;

	va_start(ap, fmt);
	fab_log_vput(c->inst->log, last ? NULL : &c->who.log_budget,
		     &c->who.log_host, c->who.name, level, fmt, ap);
	va_end(ap);
}

void rt_conn_log(struct rt_conn *c, int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fab_log_vput(c->inst->log,
		     atomic_load(&c->strand.over) ? NULL : &c->who.log_budget,
		     &c->who.log_host, c->who.name, level, fmt, ap);
	va_end(ap);
}

void rt_log_ended(struct rt_conn *c)
{
	rt_assert_strand(c);
	fab_log_leave(c->inst->log, &c->who.log_budget, &c->who.log_host,
		      c->who.name);
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
