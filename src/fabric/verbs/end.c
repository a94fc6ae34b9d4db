/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * end - that a connection has to end, and why
 *
 * Whoever finds it says so here, and goes back to where it was called from:
 * nothing more is posted by then. The rest is done in conn.c, before the runner
 * has left this provider or in its next fab_poll().
 *
 * Threads: the runner of the connection.
 */
#include <stdarg.h>
#include <stdio.h>

#include "vb.h"

void vb_end(struct vb_conn *c, int error, const char *reason)
{
	if (c->state == VB_ST_ENDING || c->state == VB_ST_DEAD)
		return;
	c->state = VB_ST_ENDING;
	fab_ev_conn_end(&c->ev, error, reason);
}

void vb_broke(struct vb_conn *c, int error, const char *reason)
{
	if (c->broke)
		return;
	c->broke = error;
	c->broke_reason = reason;
}

const char *vb_reason(struct vb_conn *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->reason_text, sizeof(c->reason_text), fmt, ap);
	va_end(ap);
	return c->reason_text;
}
