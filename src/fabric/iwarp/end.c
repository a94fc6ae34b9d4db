/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * end - that a connection has to end
 *
 * Whoever finds it says so here, and goes back to where it was called from:
 * nothing more is sent, received or posted by then. The rest is done in conn.c,
 * before the runner has left this provider or in its next fab_poll().
 *
 * Threads: the runner of the connection.
 */
#include "iw.h"

void iw_end(struct iw_conn *c, int error, const char *reason)
{
	if (c->state == IW_ST_ENDING || c->state == IW_ST_DEAD)
		return;
	c->state = IW_ST_ENDING;
	fab_ev_conn_end(&c->ev, error, reason);
}
