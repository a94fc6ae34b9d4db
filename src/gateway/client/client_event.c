/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client_event - which part of a client handles which event
 *
 * Context: the client's worker.
 */
#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "gateway/client.h"

static void begin(struct gw_client *c)
{
	int rc = gw_worker_adopt(c);

	if (rc == -ECANCELED)
		gw_client_kill(c, LOG_DEBUG, NULL);
	else if (rc)
		gw_client_kill(c, LOG_ERR, strerror(-rc));
}

/* End the client for an event that says so. Returns false if there is none. */
static bool end(struct gw_client *c, unsigned int ev)
{
	if (ev & GW_EV_STOP) {
		gw_client_kill(c, LOG_DEBUG, NULL);
	} else if (ev & GW_EV_ERROR) {
		gw_client_kill(c, LOG_INFO, "closed");
	} else if (ev & GW_EV_BROKEN) {
		gw_client_kill(c, LOG_INFO, "closed while Replies were due");
	} else if (ev & GW_EV_RENEW) {
		gw_client_count(c, renewals);
		gw_client_kill(c, LOG_NOTICE,
			       "closed: RPCSEC_GSS Calls must be sent again");
	} else {
		return false;
	}
	return true;
}

void gw_client_event(struct gw_client *c, unsigned int ev)
{
	if (ev & GW_EV_NEW)
		begin(c);
	/* The end of the RDMA connection matters also after the client's. */
	if (gw_link_events(c, ev))
		gw_rx_read(c);
	if (c->gone)
		return;
	if (end(c, ev))
		return;
	if (ev & (GW_EV_TICK | GW_EV_LEAVE))
		gw_disconnect_events(c, ev);
	if (c->gone)
		return;
	if (ev & GW_EV_TICK)
		gw_link_tick(c);
	if (ev & GW_EV_HANGUP)
		gw_rx_set_hangup(&c->rx);
	if (ev & GW_EV_OUT)
		gw_send_queue_writable(c);
	if (ev & GW_EV_CONNECT)
		gw_link_connect(c);
	if (c->gone)
		return;
	if (ev & GW_EV_RESEND)
		gw_calls_submit(c);
	if (ev & (GW_EV_IN | GW_EV_READ | GW_EV_ROOM))
		gw_rx_read(c);
	if (!c->gone && (ev & GW_EV_DRAIN))
		gw_rx_stop(&c->rx);
	if (!c->gone && gw_rx_ended(&c->rx))
		gw_rx_eof(c);
}
