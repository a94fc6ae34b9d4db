/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn_state - what any file may do to a connection: end it, set its timer
 *
 * After vb_conn_end() nothing more is posted. conn.c does the rest, before the
 * runner leaves the provider or in its next fab_poll().
 *
 * Context: the runner of the connection.
 */
#include <stdarg.h>
#include <stdio.h>

#include "vb.h"

void vb_conn_end(struct vb_conn *c, int error, const char *reason)
{
	if (c->state == VB_ST_ENDING || c->state == VB_ST_DEAD)
		return;
	c->state = VB_ST_ENDING;
	fab_ev_conn_set_end(&c->ev, error, reason);
}

void vb_conn_fail(struct vb_conn *c, int error, const char *reason)
{
	if (c->broke)
		return;
	c->broke = error;
	c->broke_reason = reason;
}

const char *vb_conn_reason(struct vb_conn *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->reason_text, sizeof(c->reason_text), fmt, ap);
	va_end(ap);
	return c->reason_text;
}

static unsigned int timer_ms(const struct vb_conn *c, enum vb_timer_kind kind)
{
	switch (kind) {
	case VB_TIMER_STARTUP:
		return vb_conn_domain(c)->startup_ms;
	case VB_TIMER_KEEPALIVE:
		return vb_conn_domain(c)->keepalive_ms;
	case VB_TIMER_FIRST:
		return VB_FIRST_MS;
	case VB_TIMER_SHORT:
		return VB_SHORT_MS;
	case VB_TIMER_LINGER:
		break;
	}
	return VB_LINGER_MS;
}

void vb_conn_timer_set(struct vb_conn *c, enum vb_timer_kind kind)
{
	unsigned int ms = timer_ms(c, kind);

	/* Without keepalive. */
	if (!ms)
		fab_ev_conn_timer_stop(&c->ev);
	else
		fab_ev_conn_timer_set(&c->ev, ms, kind);
}

void vb_conn_retry_later(struct vb_conn *c)
{
	atomic_fetch_add(&c->ev.fab.poller->dom->shortages, 1);
	/* Keepalive resumes when the shortage is over. */
	if (c->state == VB_ST_OPEN)
		vb_conn_timer_set(c, VB_TIMER_SHORT);
}
